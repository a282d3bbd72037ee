"""Velocities split into those that a constraint determines, s, and the others, r:

    v_s = Psi(t, q, v_r) = -A(t, q) v_r - gamma(t, q)

where the constraint is linear in velocities. The displacements that it allows, X_a = e_a -
A_sa e_s, and with time X_0 = d/dt - gamma_s e_s, are the connection; its curvature is what their
brackets leave outside of them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import shown
from accion.numerics import newton
from accion.types import Array, Configuration, Scalar, Vector


def positions_of(system: Any, chosen: Any, name: str) -> tuple[int, ...]:
    """The numbers of the velocities that are given by name or number, one for each constraint."""
    given = list(chosen) if isinstance(chosen, tuple | list | range) else [chosen]
    found = tuple(position_of(system, item, name) for item in given)
    m, n = system.multipliers, system.space.dim
    if len(found) != m or len(set(found)) != m:
        raise ValueError(
            f"{name} must be {m} different velocities of {n}, one for each constraint of"
            f" {system.name}; got {shown(chosen)}."
        )
    return tuple(sorted(found))


def position_of(system: Any, item: Any, name: str) -> int:
    if isinstance(item, str) and item in system.names:
        return system.names.index(item)
    if (
        isinstance(item, int | np.integer)
        and not isinstance(item, bool)
        and 0 <= item < system.space.dim
    ):
        return int(item)
    raise ValueError(
        f"{name}: {shown(item)} is no velocity of {system.name}. Try one of:"
        f" {', '.join(system.names)}."
    )


class Curvature(NamedTuple):
    """R[s, i, j] of X_i and X_j, i, j = 0 being time, and the sizes of the terms that it is the sum
    of.
    """

    R: Array
    terms: Array


@dataclass(frozen=True)
class Split:
    """The dependent and the independent velocities of a system, by their numbers; `steps` of
    Newton's method from a guess lead to the constraint, one where it is written linear in the
    velocities.
    """

    dependent: tuple[int, ...]
    independent: tuple[int, ...]
    steps: int = 1

    def joined(self, s: Vector, r: Vector) -> Vector:
        """All velocities, in their order."""
        # Not by `.at[...].set`, whose derivatives take many times as long to trace.
        order = np.argsort((*self.dependent, *self.independent))
        return jnp.concatenate([s, r])[order]

    def parts(self, C: Array) -> tuple[Array, Array]:
        """The columns of s and those of r."""
        return C[:, jnp.asarray(self.dependent, int)], C[:, jnp.asarray(self.independent, int)]

    def Psi(self, system: Any, t: Scalar, q: Configuration, r: Vector, guess: Vector) -> Vector:
        """v_s on the constraint, from a guess near it, shape (m,)."""
        constraint = system.constraint

        def held(s: Vector) -> Array:
            return constraint.on_velocities(system, t, q, self.joined(s, r))

        s = guess
        for _ in range(self.steps):
            s = s - newton.solve(jax.jacfwd(held)(s), held(s))
        return s

    def slopes(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> Array:
        """dPsi/dv_r at a velocity on the constraint, shape (m, dim - m): minus A."""
        constraint = system.constraint
        C = jax.jacfwd(lambda v: constraint.on_velocities(system, t, q, v))(v)
        own, rest = self.parts(C)
        return -jnp.stack([newton.solve(own, column) for column in rest.T], axis=1)

    def bend(self, system: Any, t: Scalar, q: Configuration, v: Vector) -> tuple[Array, Array]:
        """d2Psi/dv_r2 at a velocity on the constraint, shape (m, dim - m, dim - m), zero where it
        is linear there, and the sizes of its terms.
        """
        S = self.slopes(system, t, q, v)
        D = jax.jacfwd(lambda v: self.slopes(system, t, q, v))(v)
        held, free = (
            D[..., jnp.asarray(self.dependent, int)],
            D[..., jnp.asarray(self.independent, int)],
        )
        along = jnp.einsum("sac,cb->sab", held, S)
        size = jnp.einsum("sac,cb->sab", jnp.abs(held), jnp.abs(S))
        return free + along, jnp.abs(free) + size

    def still(self, system: Any, t: Scalar, q: Configuration, guess: Vector) -> Array:
        """(Psi(0), dPsi/dv_r at v_r = 0), shape (m, 1 + dim - m): minus (gamma, A)."""
        zero = jnp.zeros(len(self.independent))
        s = self.Psi(system, t, q, zero, guess)
        slopes = self.slopes(system, t, q, self.joined(s, zero))
        return jnp.concatenate([s[:, None], slopes], axis=1)

    def fields(self, system: Any, t: Scalar, q: Configuration, guess: Vector) -> Array:
        """X_0, X_1, ... as columns, their component by time first: shape (1 + dim, 1 + dim - m)."""
        found, k = self.still(system, t, q, guess), len(self.independent)
        free: Any = np.eye(k, 1 + k, 1)
        columns = jax.vmap(self.joined, 1, 1)(found, free)
        return jnp.concatenate([np.eye(1, 1 + k), columns])

    def curvature(self, system: Any, t: Scalar, q: Configuration, guess: Vector) -> Curvature:
        """What brackets of allowed displacements leave: ds + A dr + gamma dt of [X_i, X_j]."""
        space = system.space
        zero = jnp.zeros(1 + space.dim)
        X, S = self.fields(system, t, q, guess), self.still(system, t, q, guess)

        def moved(e: Vector) -> Array:
            return self.still(system, t + e[0], space.displace(q, e[1:]), guess)

        D = jax.jacfwd(moved)(zero)  # [s, i, l], l a displacement or time
        own = jnp.einsum("sjl,li->sij", D, X)  # X_i of the s-component of X_j
        size = jnp.einsum("sjl,li->sij", jnp.abs(D), jnp.abs(X))
        one = np.eye(space.dim)
        c = jax.vmap(lambda a: jax.vmap(lambda b: space.ad(a, b))(one))(one)  # [a, b, component]
        bracket = jnp.einsum("abk,ai,bj->kij", c, X[1:], X[1:])
        whole = jnp.einsum("abk,ai,bj->kij", *map(jnp.abs, (c, X[1:], X[1:])))
        s, r = (jnp.asarray(i, int) for i in (self.dependent, self.independent))
        R = (
            own
            - jnp.swapaxes(own, 1, 2)
            + bracket[s]
            - jnp.einsum("sa,aij->sij", S[:, 1:], bracket[r])
        )
        terms = size + jnp.swapaxes(size, 1, 2) + whole[s]
        return Curvature(R, terms + jnp.einsum("sa,aij->sij", jnp.abs(S[:, 1:]), whole[r]))
