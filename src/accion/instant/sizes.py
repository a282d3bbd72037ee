"""How large the quantities of a motion are: taken from how far it goes in which time, and from the
masses and forces there, so that nothing depends on units.

    coordinates    how far they move; one that stands still, as far as it would with the kinetic
                   energy of the others
    velocities     that over the duration
    energy         kinetic, or the work of the forces over such displacements
    controls       whose work is that energy; multipliers alike
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_jit
from accion.instant.constrained import matrix
from accion.numerics.batches import at_times
from accion.systems import System
from accion.types import Array, Configuration, Function, Scalar, Vector

NODES = 9  # of a path, at which masses and forces are looked at
ROUGH = 1e-8  # what the terms of an equation may be off by, in data that a person gives
STILL = 1e-3  # part of what its share of the energy would be, below which a coordinate stands still


@dataclass(frozen=True)
class Mechanics:
    """(d2L/dv2, dL/dq + F, A, B) at one point; B(t, q, v, params) turns controls into forces."""

    B: Function | None

    def __call__(
        self, system: System, t: Scalar, q: Configuration, v: Vector
    ) -> tuple[Array, Array, Array, Array]:
        n, space = system.space.dim, system.space
        push = jax.grad(lambda e: system.L(t, space.displace(q, e), v))(jnp.zeros(n))
        A = jnp.zeros((0, n)) if system.constraint is None else matrix(system, t, q, v)
        B = jnp.zeros((n, 0)) if self.B is None else self.B(t, q, v, system.params)
        return jax.hessian(system.L, 2)(t, q, v), push + system.F(t, q, v), A, B


class Sizes(NamedTuple):
    """The sizes of coordinates (dim,), of the time, of energies, controls and multipliers; and how
    far each coordinate would move with all the kinetic energy, by which they compare.
    """

    q: np.ndarray
    share: np.ndarray
    T: float
    energy: float
    u: np.ndarray
    lam: np.ndarray

    @property
    def v(self) -> np.ndarray:
        """Those of velocities."""
        return self.q / self.T


def largest(a: Any, axis: Any = 0) -> np.ndarray:
    """The largest size along an axis, of what is finite; 0 where there is nothing."""
    a = np.abs(np.asarray(a, dtype=float))
    return np.max(np.where(np.isfinite(a), a, 0.0), axis=axis, initial=0.0)


def quotient(a: np.ndarray | float, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is."""
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)


def sizes_of(
    system: System, t: np.ndarray, q: Configuration, v: np.ndarray, B: Function | None = None
) -> Sizes:
    """The sizes of a motion with configurations `q` and velocities `v` (nodes, dim) at the times
    `t`, and of controls that act through B(t, q, v, params); 1 where nothing in it has a size.
    """
    count, duration = len(t), float(t[-1] - t[0])
    first = jax.tree.map(lambda a: np.asarray(a)[0], q)
    local = partial(system.space.local, first)
    # vectors are subtracted all at once, without compilation
    moved = local(q) if system.space.flat and not isinstance(q, tuple) else jax.vmap(local)(q)
    reach = np.maximum(largest(moved), duration * largest(v[[0, -1]]))
    some = np.unique(np.linspace(0, count - 1, NODES).astype(int))
    at = (t[some], jax.tree.map(lambda a: np.asarray(a)[some], q), v[some])
    M, f, A, B_ = (largest(a) for a in at_times(Mechanics(B), False, system, *at))
    mass = np.diagonal(M)
    energy = float(np.max(mass * (reach / duration) ** 2))
    if energy == 0.0:  # nothing moves: what the forces would do
        energy = float(np.max(quotient((f * duration) ** 2, mass)))
    share = duration * np.sqrt(quotient(energy, mass))
    size = np.where(reach > STILL * share, reach, share)
    size = np.where(size > 0, size, np.max(size) or 1.0)
    energy = max(energy, float(np.max(f * size)), float(np.max(mass * (size / duration) ** 2)))
    u, lam = (quotient(energy, largest(W * size[:, None])) for W in (B_, A.T))
    return Sizes(size, np.where(share > 0, share, size), duration, energy, u, lam)


class Off(NamedTuple):
    """What is left of some equations, and the size of the terms that cancel in them."""

    left: np.ndarray
    terms: np.ndarray

    @property
    def far(self) -> bool:
        """Whether it is more than what data are rounded by; what is no number is far, too."""
        return not bool(np.all(np.abs(self.left) <= ROUGH * self.terms))

    @property
    def worst(self) -> float:
        return float(np.max(np.abs(self.left), initial=0.0))

    def joined(self, left: np.ndarray, terms: np.ndarray) -> "Off":
        """These equations and others."""
        return Off(np.append(self.left, left), np.append(self.terms, terms))


def held_off(system: System, t: Scalar, q: Configuration, v: Vector, size: np.ndarray) -> Off:
    """What is left of the constraints that hold positions, at a point of a motion whose coordinates
    have the sizes `size`.
    """
    far, left, slopes = map(np.asarray, held_terms(system, t, q, v))
    far = size + np.where(np.isfinite(far), np.abs(far), 0.0)
    return Off(left, np.abs(slopes) @ far)


@small_jit
def held_terms(
    system: System, t: Scalar, q: Configuration, v: Vector
) -> tuple[Vector, Array, Array]:
    """What coordinates are added to, shape (dim,), what is left of the constraints that hold
    positions, shape (m,), and its derivatives by displacements, shape (m, dim).
    """
    space, zero = system.space, jnp.zeros(system.space.dim)

    def left(e: Vector) -> Array:
        held = [part for part in system.kinds_of_constraint if part.holds_positions]
        found = [part.value(system, t, space.displace(q, e), v) for part in held]
        return jnp.concatenate([jnp.zeros(0), *found])

    return space.local(space.identity(), q), left(zero), jax.jacfwd(left)(zero)
