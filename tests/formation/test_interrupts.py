"""Ctrl-C stops a map of attraction within a second; where its runs are cut does not show."""

import numpy as np

import accion as ac
from accion.formation import settling
from tests.interrupts import interrupted

EDGES, POSITIONS = ac.formation.shapes.square(5.0)
TEAM = ac.formation.Formation.from_shape(EDGES, POSITIONS, 13.0)
GRID = [np.linspace(-8.0, 8.0, 8)] * 2


def attraction(steps):
    return ac.formation.attraction(TEAM, 0, GRID, h=0.014, steps=steps)


def test_a_map_stops_within_a_second():
    attraction(10)  # compiled
    interrupted(lambda: attraction(10**7))


def test_the_outcomes_do_not_depend_on_where_runs_are_cut(monkeypatch):
    whole, sizes = attraction(355), []
    monkeypatch.setattr(settling, "FIRST", 1)
    monkeypatch.setattr(settling, "fitting", lambda amount, seconds: sizes.append(amount) or 7)
    cut = attraction(355)
    assert {1, 7} <= set(sizes)  # of all threads, which take turns as they like
    assert cut.identical(whole)
    assert len(np.unique(whole["outcome"])) > 1
