"""The heavy top of Bruels, Cardona and Arnold by accion: on SO(3), and in SE(3) held at a point;
and what is kept of its motion.
"""

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

    @property
    def name(self):
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


def motion(case, steps, duration=1.0):
    """The function () -> Trajectory over `duration`; `steps` is a multiple of SAVES."""
    q0, v0 = STARTS[case.space]
    return lambda: ac.simulate(
        case.system,
        case.method,
        q0=q0,
        v0=v0,
        h=duration / steps,
        steps=steps,
        save_every=steps // SAVES,
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
