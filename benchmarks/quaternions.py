"""The heavy top by diffrax: Euler's equations and a unit quaternion."""

from functools import cache
from typing import NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from accion.gallery.heavy_top import GRAVITY, INERTIA, W0, M, X

MOST_STEPS = 10_000_000
TOLERANCES = 10.0 ** -np.arange(2, 11.01, 0.125)  # rtol = atol
STEPS = np.unique(np.round(20 * 2 ** np.arange(0, 9, 0.125)))  # in 1 s


class Solver(NamedTuple):
    name: str
    adaptive: bool

    @property
    def settings(self):
        """From loose to tight: tolerances, or steps in 1 s."""
        return TOLERANCES if self.adaptive else STEPS

    def words(self, setting):
        return f"rtol {setting:.1e}" if self.adaptive else f"h = {1e3 / setting:.3g} ms"


SOLVERS = [Solver(name, adaptive) for name in ("Tsit5", "Dopri8") for adaptive in (True, False)]


def rotation(q):
    """R of a quaternion (s, u) of any length but zero, s first."""
    s, x, y, z = q / jnp.linalg.norm(q)
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)],
            [2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)],
            [2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def field(t, y, args):
    """q' = q omega / 2, I omega' = I omega x omega - m g X x R^T e_z."""
    q, w = y
    s, u = q[0], q[1:]
    dq = 0.5 * jnp.concatenate([-(u @ w)[None], s * w + jnp.cross(u, w)])
    return dq, (jnp.cross(INERTIA * w, w) - M * GRAVITY * jnp.cross(X, rotation(q)[2])) / INERTIA


@cache
def compiled(solver, saves, duration):
    """The function (setting) -> (q, omega, number of steps), at `saves` equal times after the
    start.
    """
    ts = jnp.linspace(0, duration, saves + 1)[1:]

    @jax.jit
    def run(setting):
        control = (
            diffrax.PIDController(rtol=setting, atol=setting)
            if solver.adaptive
            else diffrax.ConstantStepSize()
        )
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            getattr(diffrax, solver.name)(),
            0.0,
            duration,
            None if solver.adaptive else 1 / setting,
            (jnp.array([1.0, 0.0, 0.0, 0.0]), jnp.asarray(W0)),
            saveat=diffrax.SaveAt(t1=True) if saves == 1 else diffrax.SaveAt(ts=ts),
            stepsize_controller=control,
            max_steps=MOST_STEPS,
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        return *solution.ys, solution.stats["num_steps"]

    return run


def motion(solver, setting, saves=1, duration=1.0):
    """The function () -> (q, omega, number of steps)."""
    run = compiled(solver, saves, duration)
    return lambda: run(setting)


def attitude(q, w):
    """(R, omega) at the saved times, the start before them."""
    q = np.concatenate([[[1.0, 0.0, 0.0, 0.0]], q])
    return np.asarray(jax.vmap(rotation)(q)), np.concatenate([[W0], w])
