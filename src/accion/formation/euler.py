"""The explicit Euler method for formations: what Colombo-Gamonal section 6.3 compares with."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import count, door, instance, positive
from accion.engines.xla import kept_jit
from accion.formation.formation import Formation
from accion.memory import check_room
from accion.systems import System
from accion.types import Array, ArrayLike


class EulerRun(NamedTuple):
    """Times, shape (steps + 1,); positions and velocities, shape (steps + 1, n d)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


@door(formation=instance(Formation, "a Formation"), h=positive, steps=count)
def euler(
    formation: Formation,
    *,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    h: float,
    steps: int,
) -> EulerRun:
    """q_{k+1} = q_k + h v_k, v_{k+1} = v_k - h (k v_k + grad V(q_k) - u_k), of Colombo-Gamonal eq
    (38), u the force of one's own where there is one.

    Arguments: `q0` and `v0`, positions and velocities at the start, flat or of shape (n, d), at
    rest where `v0` is None. Where it diverges the numbers become inf and NaN.
    """
    check_room(
        32 * (steps + 1) * formation.n * formation.dimension, f"steps = {steps}", "Take fewer."
    )
    q = jnp.asarray(formation.points(q0, "q0").ravel())
    v = jnp.zeros_like(q) if v0 is None else jnp.asarray(formation.points(v0, "v0").ravel())
    qs, vs = run(formation.system(forced=True), q, v, float(h), steps)
    return EulerRun(
        h * np.arange(steps + 1), np.concatenate([q[None], qs]), np.concatenate([v[None], vs])
    )


@partial(kept_jit, static_argnums=(4,))
def run(system: System, q: Array, v: Array, h: float, steps: int) -> tuple[Array, Array]:
    """Positions and velocities after each step, of a system whose mass is one."""

    def step(state: tuple[Array, Array], k: Array) -> tuple[tuple[Array, Array], Any]:
        q, v = state
        slope = jax.grad(system.L, 1)(k * h, q, v)
        after = (q + h * v, v + h * (slope + system.F(k * h, q, v)))
        return after, after

    return jax.lax.scan(step, (q, v), jnp.arange(steps))[1]
