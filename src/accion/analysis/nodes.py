"""The states of systems whose steps are windows, as points of a cotangent bundle: r configurations
with their momenta are one of T*(Q^r), on which the steps keep dq ^ dP.
"""

from functools import lru_cache, singledispatch
from math import factorial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from accion.discretise.window import combine, derivatives, differencing, nodes_of, summation
from accion.engines.auto import small_jit
from accion.spaces import Product, Space
from accion.stepping import scheme_of
from accion.systems import AbstractSystem, DiscreteSystem, HigherOrderSystem, Start
from accion.systems.first_order import Levels
from accion.types import Array, Configuration, Covector, Scalar, Vector


class Opened(NamedTuple):
    """Where a run begins, as a point of a cotangent bundle on which the steps keep dq ^ dP."""

    q: Configuration
    p: Covector  # one number for each displacement of q
    x: Vector  # how far q is from what follows it, about


def opened(system: Any, method: Any, t: Any, h: Any, start: Start) -> Opened:
    """A run of a system of order r: r nodes with their momenta, a point of T*(Q^r); of one whose
    steps lead from (q, ..., q^(r-1)) to the next, a point of T*(T^(r-1)Q).
    """
    scheme, r = scheme_of(system, method), system.order
    state = small_jit(lambda start: scheme.begin(t, h, start)[0])(start)
    if method is not None and method.on_levels:
        return Opened(state.q, state.p, state.x)
    d, n = state.memory[0], system.space.dim
    nodes = tuple(nodes_of(system.space, state.q, d)) if r > 1 else (state.q,)
    x = combine(summation(r), jnp.concatenate([d, state.guess[None, :n]]))
    return Opened(nodes, jnp.ravel(state.p), jnp.ravel(x))


@lru_cache(maxsize=64)
def power(space: Space, r: int) -> Space:
    """Q^r."""
    return Product(*(space,) * r)


@singledispatch
def configurations(system: AbstractSystem, method: Any) -> Space:
    """The space on whose cotangent bundle steps are symplectic: Q, of a system of order r Q^r or
    T^(r-1)Q.
    """
    return system.space


@configurations.register
def _(system: HigherOrderSystem, method: Any) -> Space:
    if method.on_levels:
        return Levels(system.space, system.order).whole
    return power(system.space, system.order)


@configurations.register
def _(system: DiscreteSystem, method: Any) -> Space:
    return system.space if system.order == 1 else power(system.space, system.order)


@singledispatch
def moving(system: AbstractSystem, method: Any, h: Any, q: Configuration, x: Any) -> Any:
    """(q, v) where the first step begins, of a system of order r (q, (q', ..., q^(r)))."""
    return q, x / h


@moving.register
def _(system: HigherOrderSystem, method: Any, h: Any, q: Configuration, x: Any) -> Any:
    r, rows = system.order, jnp.reshape(x, (system.order, system.space.dim))
    if method.on_levels:
        return Levels(system.space, r).parts(q)[0], rows / h
    return q[0], derivatives(combine(differencing(r), rows), 0.0, h)


def levels_of(system: Any, method: Any, h: float) -> Any:
    """(M, M^-1): M makes of changes of (q, q', ..., q^(r-1)) at the middle of r nodes those of the
    nodes, which are nearly the same for all of them. None where states are no windows.
    """
    r = system.order
    if r == 1 or (method is not None and method.on_levels):
        return None
    tau = (np.arange(r) - (r - 1) / 2) * h
    M = np.stack([tau**s / factorial(s) for s in range(r)], axis=1)
    unit = np.eye(system.space.dim)
    return np.kron(M, unit), np.kron(np.linalg.inv(M), unit)


def first_windows(
    system: Any, method: Any, t: Scalar, h: Scalar, start: Start
) -> tuple[list[Configuration], Array]:
    """(2r configurations, multipliers of their r windows) of a run from `start`."""
    scheme, r = scheme_of(system, method), system.order
    state = small_jit(lambda start: scheme.begin(t, h, start)[0])(start)
    step, nodes, lams = small_jit(lambda state, t: scheme.step(state, t, h)[0]), [], []
    for k in range(r):
        nodes.append(state.q)
        state = step(state, t + k * h)
        lams.append(state.memory[-1])
    ahead = state.memory[0]
    nodes += nodes_of(system.space, state.q, ahead) if r > 1 else [state.q]
    return nodes, jnp.stack(lams)
