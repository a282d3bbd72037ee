"""What acts on the agents of a formation: bonds along edges, damping, steering."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp

from accion.arguments import wrong
from accion.engines.xla import kept_jit
from accion.formation.graph import Graph
from accion.formation.potentials import quartic
from accion.systems.arity import chosen
from accion.systems.functions import check_returns, evaluate
from accion.types import Array, Covector, Params, Scalar, Vector

WRITTEN_OUT = 64  # edges; below it a potential is written edge by edge, without gather and scatter


@final
@dataclass(frozen=True)
class Bonds:
    """V(t, q) = sum of `potential`(q_i - q_j, d_ij) over the edges; compared by value, so that
    equal formations share compiled code.
    """

    graph: Graph
    dimension: int
    potential: Callable[[Array, Scalar], Array]
    # d(t, params) where the distances change with time; else they are params["d"]
    lengths: Callable[[Scalar, Params], Array] | None = None

    def __call__(self, t: Scalar, q: Vector, params: Params) -> Array:
        """V(t, q)."""
        return jnp.sum(self.each(q, self.wanted(t, params)))

    def wanted(self, t: Scalar, params: Params) -> Array:
        """The distances at a time, shape (m,)."""
        return params["d"] if self.lengths is None else self.lengths(t, params)

    def each(self, q: Vector, d: Array) -> Array:
        """V of each edge, shape (m,). Cost and memory are linear in the number of edges."""
        g = self.graph
        if g.m <= WRITTEN_OUT:
            # its transpose is one concatenation, that of an index a padding for each edge
            x = jnp.split(q, g.n)
            z = [x[i] - x[j] for i, j in g.edges.tolist()]
            if self.potential is quartic:
                return 0.25 * (jnp.stack([jnp.sum(each * each) for each in z]) - d**2) ** 2
            return jnp.stack(
                [
                    self.potential(each, length)
                    for each, length in zip(z, jnp.unstack(d), strict=True)
                ]
            )
        x = q.reshape(g.n, self.dimension)
        return jax.vmap(self.potential)(x[g.tails] - x[g.heads], d)


@final
@dataclass(frozen=True)
class Lengths:
    """d(t, params), shape (m,), of a user's function of (t) or (t, params), which may return one
    number for all edges.
    """

    f: Callable[..., Any]
    timed: bool  # whether the function takes the time alone
    edges: int

    def __call__(self, t: Scalar, params: Params) -> Array:
        found = self.f(t) if self.timed else self.f(t, params)
        return jnp.broadcast_to(jnp.asarray(found), (self.edges,))


def weight(t: Scalar, params: Params) -> Array:
    """e^{kappa t}, with which the Lagrangian gives the damping -kappa v (Colombo-Gamonal, eq
    39).
    """
    return jnp.exp(params["kappa"] * t)


@final
@dataclass(frozen=True)
class Damping:
    """The force -k_i v_i on each agent (Colombo-Gamonal, eq 38), where the gains differ, and one of
    the user's beside it.
    """

    dimension: int
    other: Callable[..., Any] | None = None

    def __call__(self, t: Scalar, q: Vector, v: Vector, params: Params) -> Covector:
        """The force, with the gains params["k"]."""
        own = -jnp.repeat(params["k"], self.dimension) * v
        return own if self.other is None else own + self.other(t, q, v, params)


def translation(d: int, a: int, q: Vector) -> Vector:
    """Every agent in direction a."""
    return jnp.tile(jnp.eye(d)[a], q.shape[-1] // d)


def rotation(d: int, a: int, b: int, q: Vector) -> Vector:
    """Every agent about the origin, from axis a to axis b."""
    x = q.reshape(-1, d)
    return jnp.zeros_like(x).at[:, a].set(-x[:, b]).at[:, b].set(x[:, a]).ravel()


@partial(kept_jit, static_argnums=(0,))
def edge_energies(bonds: Bonds, q: Array, d: Array) -> Array:
    """V of each edge in each configuration, shape (configurations, m)."""
    return jax.lax.map(lambda each: bonds.each(*each), (q, d))


RESERVED = ("kappa", "k", "d")  # the params of a formation


def check_lengths(f: Callable[..., Any], own: Params, edges: int, shape: Any) -> Lengths:
    """Distances that are a function of (t) or (t, params).

    Raises: ValueError where it returns something else, or a shape is given too.
    """
    if shape is not None:
        raise ValueError(
            "distances that are a function of time have no one shape; leave out `shape`."
        )
    timed = chosen("distances", f, "t", "t, params") == "t"
    arguments = (jnp.zeros(()),) if timed else (jnp.zeros(()), own)
    found = evaluate("distances", f, *arguments, takes="(t) or (t, params)")
    shapes = [each for each in ((), (edges,)) if each == getattr(found, "shape", None)]
    words = f"a number, or one for each of the {edges} edges, shape ({edges},)"
    check_returns("distances", found, (*shapes, (edges,))[0], words)
    return Lengths(f, timed, edges)


def check_own_params(params: Any) -> dict[str, Any]:
    """The params of a user's force and distances.

    Raises: ValueError where they are no dictionary, or have a name that a formation takes.
    """
    if params is None:
        return {}
    if not isinstance(params, dict):
        wrong("params", "a dictionary, or None", params)
    taken = [name for name in RESERVED if name in params]
    if taken:
        raise ValueError(
            f"params: {taken[0]!r} is the name of a number of the formation itself; choose another."
        )
    return dict(params)
