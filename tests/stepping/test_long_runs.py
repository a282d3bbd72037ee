"""Rounding over many steps: `benchmarks/long_run.py` in small."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.stepping import collocated

EPS = float(np.finfo(float).eps)
STEPS = 100_000
# With steps for which truncation is below rounding.
SHORT = {
    "Galerkin": (ac.Galerkin(4), 2 * np.pi / 500),
    "Composition": (ac.Composition(ac.Trapezoid(), 8), 2 * np.pi / 600),
}


def walked(name, compensated):
    """The relative energy error of Kepler's motion, e = 0.5, over eps sqrt(steps): the root of the
    mean square along three runs, which differ in their last digits.
    """
    method, h = SHORT[name]
    space = ac.Euclidean(2, compensated=compensated)
    kepler = ac.mechanical(np.eye(2), lambda t, q, p: -1 / jnp.sqrt(q @ q), space)
    errors = []
    for i in range(3):
        start = {"q0": [0.5, 0.0], "v0": [1e-9 * i, np.sqrt(3.0)]}
        run = ac.simulate(kepler, method, **start, h=h, steps=STEPS, save_every=STEPS // 50)
        E = np.asarray(run.energy())
        errors.append(E / E[0] - 1)
    return np.sqrt(np.mean(np.square(errors))) / (EPS * np.sqrt(STEPS))


@pytest.mark.parametrize("name", SHORT)
def test_sums_lose_nothing_to_rounding(name):
    """Without compensated sums, of configurations or of momenta, it is 0.1 to 0.9."""
    assert walked(name, compensated=True) < 0.04


def test_what_sums_lose_is_seen():
    assert walked("Galerkin", compensated=False) > 0.08


def test_what_sweeps_leave_undone_is_no_drift(monkeypatch):
    """It changes the energy in each step, in proportion to `LEFT` and always with the same sign:
    along 10^8 steps less than a part of the random walk of rounding, eps sqrt(n).
    """
    large, steps, many = 2.0**-44, 40_000, 1e8
    part = collocated.LEFT / large
    monkeypatch.setattr(collocated, "LEFT", large)
    # A strength of its own, so that this program is not taken for one without the change.
    kepler = ac.mechanical(
        np.eye(2), lambda t, q, p: -1.000000001 / jnp.sqrt(q @ q), ac.Euclidean(2)
    )
    start = {"q0": [0.5, 0.0], "v0": [0.0, np.sqrt(3.0)]}
    h = 2 * np.pi / 40.618
    run = ac.simulate(kepler, ac.Galerkin(8), **start, h=h, steps=steps, save_every=steps // 200)
    E = np.asarray(run.energy())
    drift = np.polyfit(np.linspace(0, steps, len(E)), E / E[0] - 1, 1)[0]
    assert 1e-17 < abs(drift) < 1e-15  # and is seen
    assert abs(drift) * part * many < 0.03 * EPS * np.sqrt(many)
