"""The classical Runge-Kutta method of order 4, which everyone knows: for comparison."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door
from accion.checks import (
    check_counts,
    check_mechanical,
    check_rows_fit,
    check_start,
    check_times,
)
from accion.engines.auto import native
from accion.engines.xla import kept_jit
from accion.instant.continuous import accelerations
from accion.systems import Start, System
from accion.types import Array, ArrayLike, Configuration, Scalar, Vector


def rk4_step(
    system: System, t: Scalar, h: Scalar, q: Configuration, v: Vector
) -> tuple[Configuration, Vector]:
    """(q, v) after one step of the classical Runge-Kutta method."""
    a = accelerations(system)

    def rate(t: Scalar, z: Any) -> Any:
        return z[1], a(t, *z)

    def shifted(z: Any, k: Any, c: Scalar) -> Any:
        return tuple(x + c * dx for x, dx in zip(z, k, strict=True))

    z = (q, v)
    k1 = rate(t, z)
    k2 = rate(t + h / 2, shifted(z, k1, h / 2))
    k3 = rate(t + h / 2, shifted(z, k2, h / 2))
    k4 = rate(t + h, shifted(z, k3, h))
    q, v = (
        x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(z, k1, k2, k3, k4, strict=True)
    )
    return q, v


def saved_row(constants: Any, z: Any, j: Array) -> tuple[Any, Any]:
    """(q, v) after the steps up to the j-th one that is saved."""
    system, t0, h, save_every = constants
    z = jax.lax.fori_loop(
        0, save_every, lambda k, z: rk4_step(system, t0 + (j * save_every + k) * h, h, *z), z
    )
    return z, z


@kept_jit
def rk4_loop(constants: Any, z: Any, rows: Array) -> tuple[Any, Any]:
    """All rows that are saved, by XLA."""
    return jax.lax.scan(partial(saved_row, constants), z, rows)


@door()
def rk4(
    system: System,
    *,
    q0: ArrayLike,
    v0: ArrayLike,
    t0: float = 0.0,
    h: float,
    steps: int,
    save_every: int = 1,
) -> tuple[Array, Array, Array]:
    """(t, q, v) by the classical Runge-Kutta method of order 4, which is not symplectic: what
    variational methods are held against.

    Arguments:
        system: unconstrained, on a flat space where q is a vector.
        q0, v0: the start.
        t0, h, steps: its time, the length and the number of steps.
        save_every: which steps are saved.

    Returns:
        Arrays with one row for each saved time.
    """
    check_mechanical(system, "rk4")
    if (
        system.constraint is not None
        or not system.space.flat
        or isinstance(system.space.identity(), tuple)
    ):
        raise ValueError(
            f"rk4 is for unconstrained systems on Euclidean or Torus; got {system.name} on"
            f" {system.space}."
        )
    at, size = check_times(t0, h, steps, save_every)
    steps, save_every = check_counts(steps, save_every)
    check_rows_fit(system, steps, save_every)
    begin: Any = check_start(system, Start(q0, v0))[:2]
    constants, rows = (system, float(at), float(size), save_every), np.arange(steps // save_every)
    program = native("folded", "rk4", saved_row, constants, begin, 0)
    _, (q, v) = (
        rk4_loop(constants, begin, rows)
        if program is None
        else program(constants, begin, rows, len(rows))
    )
    t = at + size * save_every * jnp.arange(steps // save_every + 1)
    q, v = (jnp.concatenate([a[None], b]) for a, b in zip(begin, (q, v), strict=True))
    return t, q, v
