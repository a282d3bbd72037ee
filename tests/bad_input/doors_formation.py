"""Formations and campaigns."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import accion as ac
from tests.bad_input import systems as own
from tests.bad_input.doors import Door
from tests.bad_input.doors_results import folder
from tests.bad_input.doors_runs import WORDS

F, C = ac.formation, ac.campaign
EDGES = [(0, 1), (1, 2), (0, 2)]
SHAPE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])


def potential(z, d):
    return 0.25 * (z @ z - d**2) ** 2


def push(t, q, v, params):
    return params["u"] - v


@cache
def triangle() -> Any:
    return F.Formation.from_shape(EDGES, SHAPE, 1.0)


@cache
def moving() -> Any:
    start = {"q0": SHAPE.ravel() + 0.1, "v0": np.linspace(0.1, 0.6, 6)}
    return ac.simulate(triangle().system(), ac.Trapezoid(), **start, h=0.01, steps=4)


@cache
def campaign() -> Any:
    plan = C.grid({"q0[0]": np.array([0.1, 0.2])}, q0=own.Q, v0=own.V)
    where = {"store": stored(), "progress": False, "overwrite": True}
    return C.run(own.system("free"), own.MIDPOINT, plan, h=own.H, steps=2, **where)


def stored() -> Path:
    return Path(folder().name) / "campaign.zarr"


@cache
def region() -> Any:
    axis = np.array([0.4, 0.6])
    return F.attraction(triangle(), 2, (axis, axis + 0.3), h=0.05, steps=20, workers=1)


def plot_attraction(ds: Any, axes: Any) -> Any:
    import matplotlib.pyplot as plt

    try:
        return F.plot_attraction(ds, axes)
    finally:
        plt.close("all")


def final(parts: Any) -> Any:
    return C.final(*parts) if isinstance(parts, tuple | list) else C.final(parts)


def grid(axes: Any, q0: Any, v0: Any) -> Any:
    return C.grid(axes, q0=q0, v0=v0)


def table(columns: Any, q0: Any, v0: Any) -> Any:
    return C.table(columns, q0=q0, v0=v0)


def sample(size: Any, ranges: Any, how: Any, seed: Any, v0: Any) -> Any:
    return C.sample(size, ranges, how=how, seed=seed, v0=v0).rows(0, 2)


def campaigns() -> list[Door]:
    values = {"q0[0]": np.array([0.1, 0.2])}
    plan = C.grid(values, q0=own.Q, v0=own.V)
    rest = {"q0": own.Q, "v0": own.V}
    parts = {"q0": ("ragged",)}  # as on a product
    names = {
        "ranges": ("range", "samples", "sets nothing"),
        "size": ("samples",),
        "how": ("sample",),
    }
    run = {
        "system": own.system("free"),
        "method": own.MIDPOINT,
        "plan": plan,
        "h": own.H,
        "steps": 2,
        "t0": 0.0,
        "store": None,
        "reductions": None,
        "chunk": 2,
        "progress": False,
        "client": None,
        "overwrite": False,
        "throw": False,
    }
    return [
        Door(
            "campaign.grid",
            grid,
            {"axes": values, **rest},
            {"axes": ("axis", "sets nothing")},
            allowed=parts,
        ),
        Door(
            "campaign.table",
            table,
            {"columns": values, **rest},
            {"columns": ("table", "sets nothing")},
            allowed=parts,
        ),
        Door(
            "campaign.sample",
            sample,
            {"size": 3, "ranges": {"q0[0]": (0.0, 1.0)}, "how": "sobol", "seed": 1, "v0": own.V},
            names,
        ),
        Door("campaign.run", C.run, run, WORDS, often=0.5, hours={"steps": ("3e9",)}),
        Door("campaign.final", final, {"parts": ("q", "p")}, {"parts": ("part",)}),
        Door("campaign.event", C.event, {"f": "q", "name": "up", "level": 0.0}),
        Door("campaign.mean", C.mean, {"f": "q", "name": "up"}),
        Door("campaign.extrema", C.extrema, {"f": "q", "name": "up"}),
        Door("campaign.Reduction", C.Reduction, {"init": len, "update": len, "name": "x"}),
        Door("campaign.failures", C.failures, {"dataset": campaign()}),
        Door("campaign.summary", C.summary, {"dataset": campaign()}),
        Door("campaign.unfold", C.unfold, {"dataset": campaign()}),
        Door("campaign.load", C.load, {"path": stored()}),
    ]


def graphs() -> list[Door]:
    graph = F.Graph(3, EDGES)
    both = {"graph": graph, "q": SHAPE}
    one = (
        "framework",
        "infinitesimally_rigid",
        "minimally_rigid",
        "missing",
        "rank",
        "redundant",
        "relative_positions",
        "rigidity_matrix",
    )
    words = {"q": ("configuration", "positions")}
    return [
        Door(
            "formation.Graph",
            F.Graph,
            {"n": 3, "edges": np.array(EDGES)},
            {"n": ("agents", "edges")},
        ),
        Door("formation.complete", F.complete, {"n": 3}, {"n": ("agents",)}),
        Door("formation.laman", F.laman, {"graph": graph}),
        *(Door(f"formation.{name}", getattr(F, name), both, words, 0.5) for name in one),
        Door("formation.pair_distances", F.pair_distances, {"q": SHAPE}, words),
        Door("formation.congruent", F.congruent, {"q1": SHAPE, "q2": SHAPE + 1, "tolerance": 1e-6}),
        Door("formation.quartic", F.quartic, {"z": SHAPE[0], "d": 1.0}, often=0.3),
        Door("formation.spring", F.spring, {"z": SHAPE[0], "d": 1.0}, often=0.3),
    ]


def formations() -> list[Door]:
    own_f = triangle()
    words = {"q": ("configuration",), "edges": ("edge", "agents"), "agents": ("edges",)}
    words |= {"dimension": ("shape",)}
    axis = np.array([0.4, 0.6])
    whole = {
        "edges": np.array(EDGES),
        "distances": 1.0,
        "dimension": 2,
        "damping": 1.0,
        "potential": potential,
        "agents": 3,
        "shape": SHAPE,
        "force": push,
        "params": {"u": 1.0},
        "name": "own",
    }
    space = Path(folder().name) / "region.zarr"
    bounds = {"R": 1.0, "c": 1.0}
    return [
        Door("Formation", F.Formation, whole, words, often=2.0),
        Door(
            "Formation.from_shape",
            F.Formation.from_shape,
            {"edges": np.array(EDGES), "positions": SHAPE, "damping": 1.0},
            words | {"positions": ("distances",)},
        ),
        Door(
            "RigidFormation",
            F.RigidFormation,
            {
                "edges": np.array(EDGES),
                "distances": 1.0,
                "dimension": 2,
                "damping": 1.0,
                "mass": 1.0,
                "inertia": 1.0,
                "alignment": 0.5,
                "potential": potential,
                "retraction": "cayley",
                "agents": 3,
                "shape": SHAPE,
                "name": "own",
            },
            words | {"dimension": ("inertia", "shape")},
            often=0.5,
        ),
        Door(
            "RigidFormation.from_shape",
            F.RigidFormation.from_shape,
            {"edges": np.array(EDGES), "positions": SHAPE, "damping": 1.0},
            words | {"positions": ("distances",)},
        ),
        Door("Formation.points", own_f.points, {"q": SHAPE}, words),
        Door("Formation.errors", own_f.errors, {"q": SHAPE.ravel(), "t": 0.5}, words),
        Door("Formation.shares", own_f.shares, {"q": SHAPE.ravel(), "t": 0.5}, words),
        Door("Formation.distances_at", own_f.distances_at, {"t": 0.5}),
        Door(
            "Formation.steered",
            own_f.steered,
            {"velocity": np.array([1.0, 0.0]), "spin": 0.1},
            often=0.5,
        ),
        Door("Formation.classify", own_f.classify, {"q": SHAPE, "tolerance": 0.01}, words),
        Door("Formation.largest_speed", own_f.largest_speed, bounds),
        Door("Formation.alpha", own_f.alpha, bounds),
        Door("Formation.system", own_f.system, {"forced": True}, often=0.2),
        Door("Formation.energies", own_f.energies, {"trajectory": moving()}, often=0.2),
        Door("Formation.laws", own_f.laws, {"trajectory": moving()}, often=0.2),
        Door(
            "formation.euler",
            F.euler,
            {"formation": own_f, "q0": SHAPE.ravel(), "v0": None, "h": 0.01, "steps": 3},
        ),
        Door(
            "formation.attraction",
            F.attraction,
            {
                "formation": own_f,
                "agent": 2,
                "grid": (axis, axis + 0.3),
                "h": 0.05,
                "steps": 20,
                "shape": None,
                "v0": np.array([0.1, 0.0]),
                "attitudes": None,
                "method": None,
                "rule": None,
                "workers": 1,
                "progress": False,
            },
            often=0.3,
        ),
        Door(
            "formation.refine",
            F.refine,
            {"ds": region(), "formation": None, "factor": 2, "workers": 1, "progress": False},
            {"ds": ("dataset",)},
            often=0.2,
        ),
        Door(
            "formation.plot_attraction",
            plot_attraction,
            {"ds": region(), "axes": None},
            {"ds": ("dataset",)},
            often=0.1,
        ),
        Door(
            "formation.save_attraction",
            F.save_attraction,
            {"dataset": region(), "path": space, "overwrite": True},
            often=0.2,
        ),
        Door("formation.load_attraction", F.load_attraction, {"path": space}),
    ]


def doors() -> list[Door]:
    return [*campaigns(), *graphs(), *formations()]
