"""The heavy top of Bruels, Cardona and Arnold by accion: on SO(3), and in SE(3) held at a point;
and what is kept of its motion.
"""

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import accion as ac
from accion.gallery import heavy_top, heavy_top_se3
from accion.gallery.heavy_top import GRAVITY, INERTIA, R0, W0, M, X
from accion.gallery.heavy_top_se3 import G0, XI0
from accion.methods import GeneralizedAlpha

SAVES = heavy_top.SAVES  # of every run, so that the loop is compiled once for all step sizes


class Case(NamedTuple):
    space: str
    retraction: str
    method: Any
    label: str = ""  # of the method, where its class does not say enough

    @property
    def name(self):
        if self.label:
            return f"{self.label}, {self.retraction}"
        given = f"({self.method.rho:g})" if isinstance(self.method, GeneralizedAlpha) else ""
        return f"{type(self.method).__name__}{given}, {self.retraction}"

    @property
    def system(self):
        return SYSTEMS[self.space, self.retraction]


SYSTEMS = {("SO(3)", name): system for name, system in heavy_top.SYSTEMS.items()} | {
    ("SE(3)", "cayley"): heavy_top_se3.system,
    ("SE(3)", "exp"): replace(heavy_top_se3.system, space=ac.SE3("exp")),
}
STARTS = {"SO(3)": (R0, W0), "SE(3)": (G0, XI0)}

MIDPOINT, MIDPOINT_CAYLEY = (
    Case("SO(3)", retraction, ac.Midpoint()) for retraction in ("exp", "cayley")
)
ALPHA, ALPHA_CAYLEY = (
    Case("SO(3)", retraction, GeneralizedAlpha(0.8)) for retraction in ("exp", "cayley")
)
ALPHA_ONE = Case("SO(3)", "exp", GeneralizedAlpha(1.0))
TRAPEZOID = Case("SO(3)", "exp", ac.Trapezoid())
IN_SPACE = [
    Case("SE(3)", retraction, method)
    for method in (ac.Midpoint(), GeneralizedAlpha(0.8))
    for retraction in ("cayley", "exp")
]


STAGES, ORDERS = (2, 3, 4, 6), (4, 8)


def of_high_order():
    """Cases of high order on SO(3), as far as accion has them, and words about those that it has
    not.
    """
    found, words = [], []
    galerkin, composition = (getattr(ac, name, None) for name in ("Galerkin", "Composition"))
    if galerkin is None:
        words.append("accion has no Galerkin: left out")
    else:
        found += [Case("SO(3)", "exp", galerkin(s), f"Galerkin({s})") for s in STAGES]
    if composition is None:
        words.append("accion has no Composition: left out")
    else:
        found += [
            Case(
                "SO(3)", "exp", composition(ac.Midpoint(), order), f"Composition(Midpoint, {order})"
            )
            for order in ORDERS
        ]
    return found, words


HIGH, LEFT_OUT = of_high_order()
HIGH_STEPS = np.unique(np.round(8 * 1.1 ** np.arange(58))).astype(int)[::-1]  # 1800 .. 8 in 1 s
TOO_LONG = 4  # times the fastest: steps that are too long take more iterations than they save


def fastest(case, target):
    """(steps, error): the steps in 1 s that take the least time of those that have, like all more
    of them, at most the error `target`, only the end being kept.
    """
    best, least = None, math.inf
    motion(case, int(HIGH_STEPS[0]), saves=1)()
    for steps in HIGH_STEPS.tolist():
        begun = time.process_time()
        try:
            traj = motion(case, steps, saves=1)()
        except ac.StepFailed:
            break
        seconds = time.process_time() - begun
        error = centre_error(attitude(traj)[0][-1])
        if not error <= target or seconds > TOO_LONG * least:
            break
        if seconds < least:
            best, least = (steps, error), seconds
    return best


def motion(case, steps, duration=1.0, saves=SAVES):
    """The function () -> Trajectory over `duration`; `steps` is a multiple of `saves`."""
    q0, v0 = STARTS[case.space]
    return lambda: ac.simulate(
        case.system,
        case.method,
        q0=q0,
        v0=v0,
        h=duration / steps,
        steps=steps,
        save_every=steps // saves,
    )


def attitude(traj):
    """(R, omega) at the saved times."""
    return np.asarray(traj.q)[:, :3, :3], np.asarray(traj.v)[:, :3]


def centre_error(R):
    """m, of the centre of mass at the attitude `R`, which should be that at 1 s."""
    return float(np.linalg.norm(R @ X - heavy_top.numbers("x", ("1",))[0]))


def energy(R, w):
    return 0.5 * np.sum(INERTIA * w**2, axis=-1) + M * GRAVITY * (R @ X)[..., 2]


def vertical(R, w):
    """The momentum about the vertical; that about the axis is kept by every method, because Euler's
    equation for it is omega_2' = 0.
    """
    return np.sum(R[..., 2, :] * INERTIA * w, axis=-1)


def change(values):
    """|value - first| along a motion, relative to the first."""
    return np.abs(values / values[0] - 1)
