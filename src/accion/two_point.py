"""The equations of a two-point problem: what each window, each node and each end adds to them, and their derivatives."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion import pullback, windows
from accion.systems import HigherOrderSystem, System


class Path(NamedTuple):
    """The unknowns: configurations at all nodes, and the multipliers of nodes (holonomic) or windows (vakonomic).

    The increments between nodes are kept besides, as in a step: from the configurations they would lose the digits that q has in front of them.
    """

    q: Any
    x: jax.Array
    lam: jax.Array


class Ends(NamedTuple):
    """What is given: configurations at the first and the last nodes, stacked; or one at each end with derivatives there, shape (r - 1, dim)."""

    qa: Any
    qb: Any
    va: Any
    vb: Any


def order(system):
    """How many steps a window has."""
    return system.order if isinstance(system, HigherOrderSystem) else 1


def window(system, method, h, t, q, x, e, lam):
    """D_1 Ld, ..., D_{r+1} Ld of a window that starts at (t, q) with increments `x`, its nodes displaced by `e`, (r + 1, dim); and Phi."""
    space = system.space
    q, x = space.displace(q, e[0]), displaced(space, x, e)
    if isinstance(system, HigherOrderSystem):
        d = windows.combine(windows.differencing(len(x)), x)
        G = windows.variation(system, method, t, h, q, d, lam)
        return G, windows.closure(system, method, t, h, q, d) if system.vakonomic is not None else jnp.zeros(0)
    G = jnp.stack(pullback.variation(system, method, t, h, q, x[0], lam if system.vakonomic is not None else None))
    if system.vakonomic is None:
        return G, jnp.zeros(0)
    samples = method.samples(space, t, h, q, x[0])
    return G, system.constraint.closure(system, samples, t + h, space.retract(q, x[0]))


def displaced(space, x, e):
    """Increments after their nodes are displaced by `e`, to first order."""
    return jnp.stack([space.relative(x[i], e[i], e[i + 1]) for i in range(len(x))])


def node(system, h, t, q, e, lam):
    """The force of a holonomic constraint on a node displaced by `e`, and the constraint there."""
    q = system.space.retract(q, e)
    return h * system.constraint.reaction(system, t, q, None, lam), system.constraint.value(system, t, q, None)


def edge(system, h, x, e, c):
    """The derivatives q', ..., q^(r-1) of the polynomial through the r + 1 configurations of a window, at c steps after the first."""
    d = windows.combine(windows.differencing(len(x)), displaced(system.space, x, e))
    return windows.derivatives(d, float(c), h)[:-1]


def all_windows(system, path, steps):
    """The first configuration of each window, its increments, and its multipliers."""
    count = steps + 1 - order(system)
    q, x = jax.tree.map(lambda a: a[:count], path.q), jnp.stack([path.x[i : i + count] for i in range(order(system))], axis=1)
    return q, x, path.lam if system.vakonomic is not None else jnp.zeros((count, 0))


def is_held(system):
    return isinstance(system, System) and system.holonomic is not None


@jax.jit(static_argnames=("method", "steps"))
def equations(system, method, t0, h, steps, path, ends):
    """What is left of the equations: at each node, shape (steps + 1, dim), and of the constraints, one row for each window or node."""
    r, n = order(system), system.space.dim
    q, x, lam = all_windows(system, path, steps)
    times, zero = t0 + h * jnp.arange(steps + 1), jnp.zeros((r + 1, n))
    G, closed = jax.vmap(lambda t, q, x, lam: window(system, method, h, t, q, x, zero, lam))(times[: len(lam)], q, x, lam)
    balance = jnp.zeros((steps + 1, n))
    for i in range(r + 1):
        balance = balance.at[i : i + len(G)].add(G[:, i])
    if is_held(system):
        force, closed = jax.vmap(lambda t, q, lam: node(system, h, t, q, zero[0], lam))(times, path.q, path.lam)
        balance, closed = balance + force, closed.at[0].set(0.0).at[-1].set(0.0)
    balance = balance.at[:r].set(0.0).at[steps + 1 - r :].set(0.0)
    if ends.va is not None:
        balance = balance.at[1:r].set(edge(system, h, x[0], zero, 0) - ends.va)
        balance = balance.at[steps + 1 - r : steps].set((edge(system, h, x[-1], zero, r) - ends.vb)[::-1])
    return balance, closed


@jax.jit(static_argnames=("method", "steps"))
def derivatives(system, method, t0, h, steps, path, ends):
    """The derivatives of what windows, nodes and ends add, by displacements and multipliers."""
    r, n = order(system), system.space.dim
    q, x, lam = all_windows(system, path, steps)
    times, zero = t0 + h * jnp.arange(steps + 1), jnp.zeros((r + 1, n))
    jacobian = lambda t, q, x, lam: jax.jacfwd(partial(window, system, method, h, t, q, x), (0, 1))(zero, lam)  # noqa: E731
    of_windows, of_nodes, of_ends = jax.vmap(jacobian)(times[: len(lam)], q, x, lam), None, None
    if is_held(system):
        one = lambda t, q, lam: jax.jacfwd(partial(node, system, h, t, q), (0, 1))(zero[0], lam)  # noqa: E731
        of_nodes = jax.vmap(one)(times, path.q, path.lam)
    if ends.va is not None:
        of_ends = [jax.jacfwd(lambda e, x=x, c=c: edge(system, h, x, e, c))(zero) for x, c in ((x[0], 0), (x[-1], r))]
    return of_windows, of_nodes, of_ends


@jax.jit(static_argnames=("method", "steps"))
def pieces(system, method, t0, h, steps, path):
    """D_j Ld of all windows."""
    q, x, lam = all_windows(system, path, steps)
    times, zero = t0 + h * jnp.arange(len(lam)), jnp.zeros((order(system) + 1, system.space.dim))
    return jax.vmap(lambda t, q, x, lam: window(system, method, h, t, q, x, zero, lam)[0])(times, q, x, lam)
