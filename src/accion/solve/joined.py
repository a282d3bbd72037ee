"""What a two-point problem asks of each kind of system: whether it is regular, and what its
trajectory has at the nodes.
"""

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise
from accion.discretise.window import combine, derivatives, differencing
from accion.instant import constrained
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.solve.equations import Path, TwoPoint
from accion.stepping import nodal
from accion.systems import AbstractSystem, DiscreteSystem, HigherOrderSystem, System
from accion.systems.rank import direction_words, regular_or_raise, relative_rank
from accion.types import Array, Configuration, Scalar

BETWEEN = "between qa and qb"


@singledispatch
def regularity(
    system: AbstractSystem, h: Scalar, t: Scalar, q: Configuration, x: Array, lam: Any
) -> Array:
    """The matrix that is to be regular, on a window from (t, q) with increments `x` and the
    multipliers `lam`, None where they are not in the action; each kind of system registers its own.
    """
    raise ValueError(f"connect does not support {system.kind}.")


@singledispatch
def check_regular(system: AbstractSystem, K: np.ndarray) -> None:
    """Raise ValueError where the matrix K of `regularity` is singular, in the words of the kind."""
    regular_or_raise(system, K, BETWEEN)


@singledispatch
def at_nodes(system: AbstractSystem, problem: TwoPoint, path: Path) -> dict[str, Any]:
    """The momenta and all else that a `Trajectory` has at the nodes of a path, besides t and q."""
    raise ValueError(f"connect does not support {system.kind}.")


def trajectory_of(problem: TwoPoint, path: Path, iterations: int) -> Trajectory:
    """A path with momenta, velocities and multipliers at its nodes."""
    steps = problem.steps
    return Trajectory(
        t=problem.t0 + problem.h * jnp.arange(steps + 1),
        q=jax.tree.map(jnp.asarray, path.q),
        h=jnp.asarray(problem.h),
        system=problem.system,
        method=problem.method,
        success=jnp.array(True),
        steps_completed=jnp.array(steps),
        iterations=jnp.full(steps + 1, iterations),
        **at_nodes(problem.system, problem, path),
    )


# ---------------------------------------------------------------- of order one


@regularity.register
def _(system: System, h: Scalar, t: Scalar, q: Configuration, x: Array, lam: Any) -> Array:
    """d2L/dv2 bordered by the constraints."""
    return constrained.bordered(system, t, q, x[0] / h, lam)


@at_nodes.register
def _(system: System, problem: TwoPoint, path: Path) -> dict[str, Any]:
    own = problem.module(path)
    guess = jnp.asarray(own.concatenate([path.x[:1], path.x]) / problem.h)
    # what the step before adds, at the first node minus what the step after does
    G = problem.variations(path)
    p = jnp.asarray(own.concatenate([-G[:1, 0], G[:, 1]]))
    if system.constraint is None:
        return {"p": p, "guess": guess}
    q = jax.tree.map(jnp.asarray, path.q)
    guess, p, lam = at_times(constrained.node, False, system, problem.times, q, p, guess)
    return {"p": p, "guess": guess, "lam": lam}


# ---------------------------------------------------------------- of higher order


@regularity.register
def _(
    system: HigherOrderSystem, h: Scalar, t: Scalar, q: Configuration, x: Array, lam: Any
) -> Array:
    """d2L/dq^(r)2 bordered by the constraints."""
    jets = derivatives(combine(differencing(len(x)), x), 0.0, h)
    return system.regularity(t, q, jets, lam)


@at_nodes.register
def _(system: HigherOrderSystem, problem: TwoPoint, path: Path) -> dict[str, Any]:
    r, steps, own = system.order, problem.steps, nodes_of_rows(problem, path)
    windows, module = np.minimum(first_nodes(problem), steps - r), problem.module(path)
    highest = module.stack([differencing(r)[-1] @ path.x[s : s + r] for s in windows])
    q, h = jax.tree.map(jnp.asarray, path.q), module.full(steps + 1, problem.h)
    rows = (q, own.P, own.d, highest, h, own.ahead)
    p, jets, lam = at_times(nodal.at_node, False, system, problem.times, *rows)
    return {
        "p": p,
        "jets": jets,
        "lam": lam if system.multipliers else None,
        "nodal": jax.tree.map(jnp.asarray, own),
    }


def nodes_of_rows(problem: TwoPoint, path: Path) -> nodal.Nodal:
    """The r nodes of each row, with their momenta.

    The last r nodes have no increment after them: their differences are those of the r - 1 before.
    """
    r, start, own = problem.system.order, first_nodes(problem), problem.module(path)
    d = own.zeros((len(start), r - 1, problem.system.space.dim))
    if r > 1:
        d = own.stack([differencing(r - 1) @ path.x[s : s + r - 1] for s in start])
    return nodal.Nodal(window_momenta(problem, path), d, np.arange(len(start)) - start + 0.0)


def first_nodes(problem: TwoPoint) -> np.ndarray:
    """The first of the r nodes of each row: they begin there, near the end they are the last r."""
    last = problem.steps + 1 - problem.system.order
    return np.minimum(np.arange(problem.steps + 1), last)


def window_momenta(problem: TwoPoint, path: Path) -> np.ndarray:
    """The momenta of the r nodes of each row, shape (steps + 1, r, dim).

    That of a node is what the windows before add to it; at the first r nodes, minus what those from
    there on do.
    """
    G, r, own = problem.variations(path), problem.system.order, problem.module(path)

    def momentum(s: int, i: int) -> Any:
        if i < r:
            return -sum(G[w, i - w] for w in range(s, i + 1))
        return sum(G[w, i - w] for w in range(i - r, s))

    start = first_nodes(problem)
    return own.stack([own.stack([momentum(s, s + j) for j in range(r)]) for s in start])


# ---------------------------------------------------------------- given in discrete time


@regularity.register
def _(system: DiscreteSystem, h: Scalar, t: Scalar, q: Configuration, x: Array, lam: Any) -> Array:
    """d(D_1 Ld, c)/d(q_{r+1}, lam): what the next configuration follows from."""
    form, n = discretise(system, None), system.space.dim
    m = 0 if lam is None else len(lam)

    def equations(unknowns: Array) -> Array:
        last = system.space.relative(x[-1], jnp.zeros(n), unknowns[:n])
        own = None if lam is None else lam + unknowns[n:]
        G, closed = form.window(t, h, q, jnp.concatenate([x[:-1], last[None]]), own)
        return jnp.concatenate([G[0], closed])

    return jax.jacfwd(equations)(jnp.zeros(n + m))


@check_regular.register
def _(system: DiscreteSystem, K: np.ndarray) -> None:
    rank, direction = relative_rank(K, system.space.dim)
    if rank == len(K):
        return
    words = direction_words(system, direction[: system.space.dim])
    bordered = "" if len(K) == system.space.dim else ", bordered by its constraint,"
    raise ValueError(
        f"the discrete Lagrangian of {system.name} is singular: D1 D{system.order + 1} Ld{bordered}"
        f" has rank {rank} of {len(K)} {BETWEEN}. Nothing says how far the next configuration is in"
        f" the direction {words or 'of the multipliers'}."
    )


@at_nodes.register
def _(system: DiscreteSystem, problem: TwoPoint, path: Path) -> dict[str, Any]:
    """As a simulation has them: multipliers are those of the window that led to a row."""
    lam = None
    if system.multipliers:
        m, after = system.multipliers, problem.steps - len(path.own)
        none = (np.full((1, m), np.nan), np.full((after, m), np.nan))
        lam = problem.module(path).concatenate([none[0], path.own, none[1]])
    own = nodes_of_rows(problem, path)
    lam, own = jax.tree.map(jnp.asarray, (lam, own))
    if system.order == 1:
        return {"p": own.P[:, 0], "lam": lam}
    return {"p": own.P, "lam": lam, "nodal": own}
