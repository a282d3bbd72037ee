"""The equations of a two-point problem: what each window, each node and each end adds to them, and
their derivatives.
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise, window as windows
from accion.engines.auto import small_map


class Path(NamedTuple):
    """The unknowns: configurations at all nodes, and the multipliers of nodes (holonomic) or
    windows (vakonomic).

    The increments between nodes are kept besides, as in a step: from the configurations they would
    lose the digits that q has in front of them.
    """

    q: Any
    x: jax.Array
    lam: jax.Array


class Ends(NamedTuple):
    """What is given: configurations at the first and the last nodes, stacked; or one at each end
    with derivatives there, shape (r - 1, dim).
    """

    qa: Any
    qb: Any
    va: Any
    vb: Any


def window(system, method, h, t, q, x, e, lam):
    """D_1 Ld, ..., D_{r+1} Ld of a window that starts at (t, q) with increments `x`, its nodes
    displaced by `e`, (r + 1, dim); and Phi.
    """
    space = system.space
    q, x = space.displace(q, e[0]), displaced(space, x, e)
    return discretise(system, method).window(t, h, q, x, lam)


def displaced(space, x, e):
    """Increments after their nodes are displaced by `e`, to first order."""
    return jnp.stack([space.relative(x[i], e[i], e[i + 1]) for i in range(len(x))])


def node(system, h, t, q, e, lam):
    """The force of a holonomic constraint on a node displaced by `e`, and the constraint there."""
    q = system.space.retract(q, e)
    return h * system.constraint.reaction(system, t, q, None, lam), system.constraint.value(
        system, t, q, None
    )


def edge(system, h, x, e, c):
    """The derivatives q', ..., q^(r-1) of the polynomial through the r + 1 configurations of a
    window, at c steps after the first.
    """
    d = windows.combine(windows.differencing(len(x)), displaced(system.space, x, e))
    return windows.derivatives(d, float(c), h)[:-1]


def all_windows(system, path, steps):
    """The first configuration of each window, its increments, and its multipliers."""
    count, x = steps + 1 - system.order, np.asarray(path.x)
    q, x = (
        jax.tree.map(lambda a: np.asarray(a)[:count], path.q),
        np.stack([x[i : i + count] for i in range(system.order)], axis=1),
    )
    return q, x, np.asarray(path.lam) if system.enters_action else np.zeros((count, 0))


class Parts(NamedTuple):
    """What windows, nodes and ends add, functions of ((system, h), rows); `by` are the derivatives
    by displacements and multipliers.
    """

    window: Any
    by_window: Any
    node: Any
    by_node: Any
    by_edge: Any


@lru_cache(maxsize=64)
def parts(method):
    """For all numbers of steps alike: nothing is compiled for another one."""

    def of_window(fixed, row, e=None, lam=None):
        (system, h), (t, q, x, own) = fixed, row
        e = jnp.zeros((system.order + 1, system.space.dim)) if e is None else e
        return window(system, method, h, t, q, x, e, own if lam is None else lam)

    def of_node(fixed, row, e=None, lam=None):
        (system, h), (t, q, own) = fixed, row
        return node(
            system,
            h,
            t,
            q,
            jnp.zeros(system.space.dim) if e is None else e,
            own if lam is None else lam,
        )

    def by_window(fixed, row):
        zero = jnp.zeros((fixed[0].order + 1, fixed[0].space.dim))
        return jax.jacfwd(partial(of_window, fixed, row), (0, 1))(zero, row[-1])

    def by_node(fixed, row):
        return jax.jacfwd(partial(of_node, fixed, row), (0, 1))(
            jnp.zeros(fixed[0].space.dim), row[-1]
        )

    def by_edge(fixed, row):
        (system, h), (x,) = fixed, row
        zero = jnp.zeros((system.order + 1, system.space.dim))
        return [jax.jacfwd(partial(edge, system, h, x, c=c))(zero) for c in (0, system.order)]

    return Parts(
        small_map(of_window),
        small_map(by_window),
        small_map(of_node),
        small_map(by_node),
        small_map(by_edge),
    )


def laid_out(system, t0, h, steps, path):
    """What is the same for all windows, and their rows; the rows of the nodes."""
    q, x, lam = all_windows(system, path, steps)
    times = float(t0) + float(h) * np.arange(steps + 1)
    fixed = (system, np.float64(h))
    return fixed, (times[: len(lam)], q, x, lam), (times, path.q, path.lam)


def equations(system, method, t0, h, steps, path, ends):
    """What is left of the equations: at each node, shape (steps + 1, dim), and of the constraints,
    one row for each window or node.
    """
    r, n = system.order, system.space.dim
    fixed, of_windows, of_nodes = laid_out(system, t0, h, steps, path)
    G, closed = map(np.asarray, parts(method).window(fixed, of_windows))
    balance = np.zeros((steps + 1, n))
    for i in range(r + 1):
        balance[i : i + len(G)] += G[:, i]
    if system.holds_positions:
        force, closed = map(np.array, parts(method).node(fixed, of_nodes))
        balance += force
        closed[0] = closed[-1] = 0.0
    balance[:r] = balance[steps + 1 - r :] = 0.0
    if ends.va is not None:
        x, zero = of_windows[2], np.zeros((r + 1, n))
        balance[1:r] = edge(system, h, x[0], zero, 0) - ends.va
        balance[steps + 1 - r : steps] = (edge(system, h, x[-1], zero, r) - ends.vb)[::-1]
    return balance, closed


def derivatives(system, method, t0, h, steps, path, ends):
    """The derivatives of what windows, nodes and ends add, by displacements and multipliers."""
    fixed, of_windows, of_nodes = laid_out(system, t0, h, steps, path)
    by_nodes, by_ends = None, None
    if system.holds_positions:
        by_nodes = parts(method).by_node(fixed, of_nodes)
    if ends.va is not None:
        first, last = parts(method).by_edge(fixed, (of_windows[2][[0, -1]],))
        by_ends = [np.asarray(first)[0], np.asarray(last)[1]]
    return parts(method).by_window(fixed, of_windows), by_nodes, by_ends


def pieces(system, method, t0, h, steps, path):
    """D_j Ld of all windows."""
    fixed, of_windows, _ = laid_out(system, t0, h, steps, path)
    return jnp.asarray(parts(method).window(fixed, of_windows)[0])
