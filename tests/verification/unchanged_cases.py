"""What is compared between two versions of accion: every gallery system and a sample of every kind.

`CASES` gives for each name a function that builds the case from the version that is imported.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import accion as ac
from accion import gallery, methods
from tests.verification import unchanged_systems as systems

STEPS = 20
H = 0.05


class Motion(NamedTuple):
    """An initial value problem; `starts` are where it is restarted, if not along its own motion."""

    system: Any
    method: Any
    start: dict[str, Any]
    h: float = H
    steps: int = STEPS
    starts: tuple[dict[str, Any], ...] = ()
    many: bool = False  # an ensemble


class Joined(NamedTuple):
    """A two-point problem."""

    system: Any
    method: Any
    ends: dict[str, Any]
    duration: float
    steps: int = STEPS


class Best(NamedTuple):
    """A problem of optimal control."""

    problem: Any
    method: Any
    steps: int
    formulation: str = "direct"


Case = Motion | Joined | Best


# ---------------------------------------------------------------- the gallery


def motion_of(name: str) -> Motion:
    """The motion of an entry; that of a control problem with all controls 1, since most rest."""
    entry = gallery.ENTRIES[name]
    system = entry.system if entry.problem is None else entry.printed
    return Motion(system, entry.method, dict(entry.start), entry.h, min(STEPS, entry.steps))


def control_of(name: str, formulation: str = "direct") -> Best:
    entry = gallery.ENTRIES[name]
    return Best(entry.problem, entry.method, entry.steps, formulation)


def is_controlled(name: str) -> bool:
    try:
        return gallery.ENTRIES[name].problem is not None
    except Exception:
        return False  # an entry that cannot be built says so where its motion is asked for


def of_gallery() -> dict[str, Callable[[], Case]]:
    """The motion of every entry and, where it has one, its problem of control."""
    found: dict[str, Callable[[], Case]] = {}
    for name in gallery.ENTRIES:
        found[f"gallery: {name}"] = partial(motion_of, name)
        if is_controlled(name):
            found[f"control: {name}"] = partial(control_of, name)
    found["control: block_move, vakonomic"] = partial(control_of, "block_move", "vakonomic")
    return found


# ---------------------------------------------------------------- methods


def weighted(h, q0, q1):
    """A finite-difference map of two samples, neither of them at a fraction of the straight way."""
    v, q = (q1 - q0) / h, (q0 + q1) / 2
    return [(0.25, 0.3, q - 0.2 * (q1 - q0), v), (0.75, 0.6, q + 0.1 * h * v, v)]


METHODS: dict[str, Callable[[], Any]] = {
    "Midpoint": lambda: ac.Midpoint(),
    "Trapezoid": lambda: ac.Trapezoid(),
    "LeftRectangle": lambda: ac.LeftRectangle(),
    "RightRectangle": lambda: ac.RightRectangle(),
    "Alpha(0.3)": lambda: ac.Alpha(0.3),
    "FiniteDifference": lambda: ac.FiniteDifference(weighted),
    "Adjoint(LeftRectangle)": lambda: methods.Adjoint(ac.LeftRectangle()),
    "Adjoint(FiniteDifference)": lambda: methods.Adjoint(ac.FiniteDifference(weighted)),
    "GeneralizedAlpha(0.8)": lambda: methods.GeneralizedAlpha(0.8),
    "EnergyConsistent(Midpoint)": lambda: ac.EnergyConsistent(ac.Midpoint()),
    "EnergyConsistent(Trapezoid)": lambda: ac.EnergyConsistent(ac.Trapezoid()),
    "EnergyEntropyConsistent": lambda: ac.EnergyEntropyConsistent(),
    "Galerkin(3)": lambda: ac.Galerkin(3),
    "Galerkin(3, lobatto)": lambda: ac.Galerkin(3, quadrature="lobatto"),
    "Composition(Midpoint, 4)": lambda: ac.Composition(ac.Midpoint(), 4),
    "Composition(Trapezoid, 6)": lambda: ac.Composition(ac.Trapezoid(), 6),
    "Adaptive(q)": lambda: ac.Adaptive(ac.Midpoint(), lambda q, params: 1 + 0.5 * q @ q),
    "Adaptive(q, v)": lambda: ac.Adaptive(ac.Midpoint(), lambda q, v, params: 1 + 0.5 * v @ v),
    "None": lambda: None,
}
QUADRATURES = ("Midpoint", "Trapezoid", "LeftRectangle", "RightRectangle", "Alpha(0.3)")
MAPS = ("FiniteDifference", "Adjoint(LeftRectangle)", "Adjoint(FiniteDifference)")
STEPPERS = (*QUADRATURES, *MAPS, "GeneralizedAlpha(0.8)")
SECOND = ("Midpoint", "Trapezoid")
HIGH = ("Galerkin(3)", "Composition(Midpoint, 4)")
CONSISTENT = ("EnergyConsistent(Midpoint)", "EnergyConsistent(Trapezoid)")


# ---------------------------------------------------------------- kinds

# How a system is made, and by which methods it is stepped.
SAMPLES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "free": (
        systems.double_pendulum,
        (*STEPPERS, *HIGH, "Galerkin(3, lobatto)", "Adaptive(q)", "Adaptive(q, v)"),
    ),
    "forced": (systems.forced, (*SECOND, "Alpha(0.3)", "FiniteDifference", *HIGH)),
    "Rayleigh": (systems.rubbed, ("Midpoint",)),
    "of time": (systems.driven, (*QUADRATURES, "Adjoint(LeftRectangle)", "GeneralizedAlpha(0.8)")),
    "from q1": (systems.two_configurations, SECOND),
    "mechanical": (
        systems.mechanical,
        (*QUADRATURES, "Galerkin(3)", "Composition(Trapezoid, 6)", "Adaptive(q)"),
    ),
    "magnetic": (systems.magnetic, SECOND),
    "particles": (systems.particles, ("Midpoint",)),
    "holonomic": (
        systems.holonomic,
        (*QUADRATURES, "FiniteDifference", "GeneralizedAlpha(0.8)", *HIGH),
    ),
    "holonomic of time": (systems.moving_rod, SECOND),
    "nonholonomic": (
        systems.nonholonomic,
        (*QUADRATURES, "Adjoint(LeftRectangle)", "GeneralizedAlpha(0.8)", *HIGH),
    ),
    "nonholonomic, variational": (systems.drifting, SECOND),
    "both constraints": (systems.both_constraints, SECOND),
    "vakonomic": (systems.vakonomic, (*SECOND, "Alpha(0.3)", "FiniteDifference", *HIGH)),
    "thermal": (
        systems.thermal,
        (*QUADRATURES, *CONSISTENT, "EnergyEntropyConsistent", "Adjoint(LeftRectangle)", *HIGH),
    ),
    "two entropies": (
        systems.two_entropies,
        (*SECOND, "LeftRectangle", *CONSISTENT, "EnergyEntropyConsistent"),
    ),
    "thermal on SO(3)": (systems.warm_top, ("Midpoint", "EnergyConsistent(Midpoint)")),
    "discrete thermal": (systems.discrete_thermal, ("None",)),
    "order 1": (partial(systems.bent, 1), SECOND),
    "order 2": (partial(systems.bent, 2), (*SECOND, "LeftRectangle", "Alpha(0.3)")),
    "order 3": (partial(systems.bent, 3), ("Midpoint",)),
    "order 2, vakonomic": (systems.curve, SECOND),
    "order 2 on SO(3)": (systems.cubic_of_rotations, SECOND),
    "SO(3) forced, exp": (partial(systems.pushed_top, "exp"), (*STEPPERS[:5], *HIGH)),
    "SO(3) forced, cayley": (
        partial(systems.pushed_top, "cayley"),
        ("Midpoint", "GeneralizedAlpha(0.8)"),
    ),
    "SE(3) held": (systems.held_body, ("Midpoint", "GeneralizedAlpha(0.8)")),
    "SE(2) nonholonomic": (systems.skate_on_group, SECOND),
    "Product": (systems.product, (*SECOND, "Galerkin(3)")),
}
SPACES: dict[str, Callable[[], Any]] = {
    "SO2 exp": lambda: ac.SO2(),
    "SO2 cayley": lambda: ac.SO2("cayley"),
    "SO3 exp": lambda: ac.SO3(),
    "SO3 cayley": lambda: ac.SO3("cayley"),
    "SE2 exp": lambda: ac.SE2(),
    "SE2 cayley": lambda: ac.SE2("cayley"),
    "SE3 exp": lambda: ac.SE3("exp"),
    "SE3 cayley": lambda: ac.SE3("cayley"),
    "MatrixGroup exp": lambda: ac.MatrixGroup(systems.SL2_BASIS),
    "MatrixGroup cayley": lambda: ac.MatrixGroup(systems.SL2_BASIS, "cayley"),
}


def sampled(make: Callable[[], Any], method: str) -> Motion:
    system, start = make()
    if isinstance(start, list):
        return Motion(system, METHODS[method](), start[0], starts=tuple(start))
    return Motion(system, METHODS[method](), start)


def on_space(space: str) -> tuple[Any, dict[str, Any]]:
    return systems.on_group(SPACES[space]())


def ensemble() -> Motion:
    system, start = systems.double_pendulum()
    wide = {name: np.stack([np.asarray(a), 0.5 * np.asarray(a)]) for name, a in start.items()}
    return Motion(system, ac.Midpoint(), wide, starts=(wide,), many=True)


# ---------------------------------------------------------------- two-point problems


def joined(make: Callable[[], Any], method: str = "Midpoint") -> Joined:
    """The ends of a simulated motion, so that there is one between them."""
    system, start = make()
    if isinstance(start, list):
        start = start[0]
    run = ac.simulate(system, METHODS[method](), **start, h=H, steps=STEPS)
    r = 1 if run.jets is None else run.jets.shape[-2]
    q = np.asarray(run.q)
    ends = {"qa": q[0], "qb": q[-1]} if r == 1 else {"qa": q[:r], "qb": q[-r:]}
    return Joined(system, METHODS[method](), ends, H * STEPS)


def scaled_start(make: Callable[[], Any]) -> Callable[[], Any]:
    """Without `t0`, which a two-point problem takes as its own."""

    def made():
        system, start = make()
        return system, {name: value for name, value in start.items() if name != "t0"}

    return made


TWO_POINT: dict[str, Callable[[], Any]] = {
    "free": systems.double_pendulum,
    "of time": scaled_start(systems.driven),
    "holonomic": systems.holonomic,
    "vakonomic": systems.vakonomic,
    "order 2": partial(systems.bent, 2),
    "order 2, vakonomic": systems.curve,
    "SO3 exp": partial(on_space, "SO3 exp"),
}


def of_kinds() -> dict[str, Callable[[], Case]]:
    found: dict[str, Callable[[], Case]] = {}
    for kind, (make, names) in SAMPLES.items():
        for method in names:
            found[f"{kind}, {method}"] = partial(sampled, make, method)
    for space in SPACES:
        found[f"{space}, Midpoint"] = partial(sampled, partial(on_space, space), "Midpoint")
    found["ensemble, Midpoint"] = ensemble
    for kind, make in TWO_POINT.items():
        found[f"connect: {kind}"] = partial(joined, make)
    return found


CASES: dict[str, Callable[[], Case]] = of_kinds() | of_gallery()
