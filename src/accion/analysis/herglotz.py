"""The action of a contact system (Herglotz): z at the end of a curve along which z' = L(t, q, q',
z), and its first variation,

    eta(T) = integral of e^(integral of dL/dz from t to T) (dL/dq.along + dL/dv.along' + F.along) dt
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.types import Array, Scalar

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)
PARTS = [2**k for k in range(2, 12)]  # into which the time is divided, until two results agree
SWEEPS = 50  # of the values at the points of a part
TOLERANCE = 1e-12


def integrals() -> np.ndarray:
    """C: the integrals from 0 to each Gauss point of [0, 1] of the polynomial through values at the
    points.
    """
    c, k = (POINTS + 1) / 2, np.arange(len(POINTS))
    legendre = np.polynomial.legendre.Legendre
    rows = [legendre.basis(i, domain=[0, 1]).integ(lbnd=0)(c) for i in k]
    V = np.polynomial.legendre.legvander(POINTS, len(POINTS) - 1)
    return np.stack(rows, axis=1) @ np.linalg.inv(V)


def followed(rate: Callable[[Scalar, Array], Array], parts: int, t0: Any, t1: Any, y0: Any) -> Any:
    """y(t1) of y' = rate(t, y), by collocation at Gauss points of so many parts of the time."""
    h, C, c = (t1 - t0) / parts, jnp.asarray(integrals()), (POINTS + 1) / 2
    at = jax.vmap(rate)

    def part(y: Array, start: Scalar) -> tuple[Array, None]:
        ts, stages = start + c * h, jnp.tile(y, (len(c), 1))
        stages = jax.lax.fori_loop(0, SWEEPS, lambda _, Y: y + h * C @ at(ts, Y), stages)
        return y + h * jnp.asarray(WEIGHTS / 2) @ at(ts, stages), None

    return jax.lax.scan(part, y0, t0 + h * jnp.arange(parts))[0]


def last(rate: Callable[[Scalar, Array], Array], t0: float, t1: float, y0: Array) -> np.ndarray:
    """The same with so many parts that two results agree.

    Raises:
        ValueError: where none do.
    """
    run, before = jax.jit(partial(followed, rate), static_argnums=0), None
    for parts in PARTS:
        now = np.asarray(run(parts, jnp.asarray(t0, float), jnp.asarray(t1, float), y0))
        close = before is not None and np.abs(now - before) <= TOLERANCE * (1 + np.abs(now))
        if np.all(close) and np.all(np.isfinite(now)):
            return now
        before = now
    raise ValueError(
        f"the action from t0 = {t0:g} to t1 = {t1:g} did not settle in {PARTS[-1]} parts of the"
        " time. Is the curve smooth, and the Lagrangian finite along it? Divide the time at kinks,"
        " and go on with z0=."
    )
