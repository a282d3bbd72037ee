"""How bodies exchange heat, and how they rub."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.arguments import door, reals, wrong
from accion.types import Array, ArrayLike, Scalar


@door()
def conduction(T: ArrayLike, G: ArrayLike) -> Array:
    """Fourier's law: the power sum_b G[a, b] (T_b - T_a) into each body, shape (m,), for
    temperatures T and conductances G in W/K.

    `G` is a number for two bodies, or a symmetric matrix of shape (m, m).
    Raises: ValueError where it is neither.
    """
    T, G = jnp.asarray(reals(T, "T")), jnp.asarray(reals(G, "G"))
    if T.ndim != 1:
        raise ValueError(
            f"conduction needs the temperatures of the bodies, shape (m,); got shape {T.shape}."
        )
    if not isinstance(G, Tracer) and G.ndim == 2 and not np.array_equal(G, np.asarray(G).T):
        raise ValueError(
            "conductances must be symmetric, what flows from a to b comes from a; got"
            f" {np.asarray(G).tolist()}."
        )
    if G.shape not in ((), (len(T), len(T))) or (G.shape == () and len(T) != 2):
        raise ValueError(
            f"conduction between {len(T)} bodies needs a symmetric matrix of shape ({len(T)},"
            f" {len(T)}), or a number for two; got shape {G.shape}."
        )
    flow = G * (T[None, :] - T[:, None])
    # Half of it and of what flows back: exactly as much comes as goes.
    return jnp.sum((flow - flow.T) / 2, axis=1)


@door(T=reals, T_bath=reals, G=reals)
def bath(T: Scalar, T_bath: Scalar, G: Scalar) -> Scalar:
    """The power G (T_bath - T) from a bath into a body, with the conductance G in W/K."""
    try:
        return G * (T_bath - T)
    except (TypeError, ValueError) as error:
        raise ValueError("T, T_bath and G must be numbers, or arrays of one shape.") from error


@door(T=reals, G=reals)
def network(T: ArrayLike, edges: Any, G: ArrayLike) -> Array:
    """Fourier's law along the edges of a network: the power into each body, shape (m,), for the
    temperatures T, shape (m,).

    `edges` are the pairs of bodies that touch, shape (k, 2), counted from 0; `G` are their
    conductances in W/K, shape (k,), or one number for all. A chain of m bodies has the edges (0,
    1), (1, 2), ..., (m - 2, m - 1); `conduction` takes the matrix of all pairs instead.
    Raises: ValueError where they do not fit.
    """
    pairs = np.asarray(edges)
    T, G = jnp.asarray(T), jnp.asarray(G)
    if pairs.ndim != 2 or pairs.shape[1:] != (2,) or not np.issubdtype(pairs.dtype, np.integer):
        wrong("edges", "pairs of the numbers of bodies, shape (k, 2)", edges)
    if T.ndim != 1 or G.shape not in ((), (len(pairs),)):
        raise ValueError(
            f"network needs temperatures of shape (m,) and {len(pairs)} conductances, one for each"
            f" edge, or one number; got shapes {T.shape} and {G.shape}."
        )
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(T)):
        raise ValueError(f"edges must be numbers of bodies, from 0 to {len(T) - 1}; got {edges!r}.")
    first, second = pairs.T
    flow = G * (T[second] - T[first])
    # The same number comes and goes.
    return jnp.zeros(len(T)).at[first].add(flow).at[second].add(-flow)


@door(v=reals, most=reals, creep=reals)
def dry_friction(v: Scalar, most: Scalar, creep: Scalar) -> Scalar:
    """Dry friction between two bodies that slide at the speed v, as the limit creep -> 0 of

        F = -most v / sqrt(v^2 + creep^2)

    `most` is its largest force, the coefficient of friction times the normal force. A body that
    would stick, under a force f < most, creeps at creep f / sqrt(most^2 - f^2): small where
    `creep` is, but not zero. A force with sign(v) itself has no solution where a body sticks, and a
    run ends there.
    """
    v, most, creep = jnp.asarray(v), jnp.asarray(most), jnp.asarray(creep)
    if not isinstance(creep, Tracer) and not np.all(np.asarray(creep) > 0):
        wrong("creep", "a positive speed, small against those of the motion", creep)
    return -most * v / jnp.hypot(v, creep)
