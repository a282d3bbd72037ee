"""The connection that constraints on velocities make, in numbers, and its curvature; whether the
constraints are holonomic.
"""

from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.at_point import at_point
from accion.analysis.matrices import Random
from accion.arguments import door, positive, seed, wrong
from accion.checks import check_mechanical, refuse
from accion.engines.auto import small_map
from accion.instant.constrained import project_at
from accion.instant.split import Split, positions_of
from accion.memory import rows
from accion.numerics.newton import EPS
from accion.systems import System
from accion.systems.rank import evened
from accion.told import Told
from accion.types import Array, Configuration, Covector, Scalar, Vector

CHOICES = 500  # of dependent velocities that are looked at
# from a point of a constraint that is linear in velocities though it is not written so: exact in
# seven derivatives
ITERATIONS = 3
ROUNDED = 256 * EPS
DEPENDENT = 1e-10  # a determinant below this, of rows and columns of size one, is zero


@dataclass(frozen=True)
class Connection:
    """The constraints of a system, linear in velocities, as a connection

        v_s + A(t, q) v_r + gamma(t, q) = 0,    X_a = e_a - A_sa e_s,    X_0 = d/dt - gamma_s e_s

    with the dependent velocities s and the independent ones r, and its curvature B, the part of the
    brackets [X_a, X_b] that the constraints do not allow, and Gamma, that of [X_a, X_0]. On a group
    velocities are those of the body. Derivatives by q are those by displacements.
    """

    system: System
    split: Split

    @property
    def dependent(self) -> tuple[str, ...]:
        """The names of the dependent velocities."""
        return tuple(self.system.names[i] for i in self.split.dependent)

    @property
    def independent(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(self.system.names[i] for i in self.split.independent)

    def still(self, t: Scalar, q: Configuration) -> Array:
        return self.split.still(self.system, t, q, jnp.zeros(len(self.split.dependent)))

    @at_point
    def A(self, t: Scalar, q: Configuration) -> Array:
        """The connection, shape (m, dim - m)."""
        return -self.still(t, q)[:, 1:]

    @at_point
    def gamma(self, t: Scalar, q: Configuration) -> Array:
        """The part without velocities, shape (m,)."""
        return -self.still(t, q)[:, 0]

    @at_point
    def velocity(self, t: Scalar, q: Configuration, r: Vector) -> Vector:
        """The velocity that the constraints make of the independent ones, shape (dim,)."""
        found = self.still(t, q)
        r = jnp.asarray(r)
        return self.split.joined(found[:, 0] + found[:, 1:] @ r, r)

    def curvature(self, t: Scalar, q: Configuration) -> Array:
        zero = jnp.zeros(len(self.split.dependent))
        return self.split.curvature(self.system, t, q, zero).R

    @at_point
    def B(self, t: Scalar, q: Configuration) -> Array:
        """The curvature, shape (m, dim - m, dim - m), antisymmetric in the last two: B_s[a, b] =
        dA_sa/dr_b - A_s'b dA_sa/ds' - (a and b exchanged) on a flat space.
        """
        return self.curvature(t, q)[:, 1:, 1:]

    @at_point
    def Gamma(self, t: Scalar, q: Configuration) -> Array:
        """The curvature with time, shape (m, dim - m)."""
        return self.curvature(t, q)[:, 1:, 0]

    @at_point
    def force(self, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Covector:
        """-mu_s (B_s v_r + Gamma_s), by which the motion differs from that of a holonomic system
        with the same Lagrangian on the constraints, shape (dim - m,): mu = dL/dv_s of nonholonomic
        motions, and p_s, from L + lam.Phi, of vakonomic ones.
        """
        mu = self.system.legendre(t, q, v, lam)[jnp.asarray(self.split.dependent, int)]
        R, r = self.curvature(t, q), jnp.asarray(v)[jnp.asarray(self.split.independent, int)]
        return -mu @ (R[:, 1:, 1:] @ r + R[:, 1:, 0])


@dataclass(frozen=True, repr=False)
class Integrability(Told):
    """Whether the constraints of a system on velocities are holonomic, by the theorem of Frobenius.

    `linear` says whether they allow, at each place, a plane of velocities: others are never
    holonomic. `curvature` is the largest part that is left of B and Gamma, of the terms of which
    they are the sum. `growth` has the dimensions of the displacements that are allowed, of these
    with their brackets, and so on, until nothing new comes; `integrals` is how many independent
    functions f(t, q) the motion keeps, all m where the constraints are holonomic, none where every
    configuration can be reached.
    """

    system: System
    dependent: tuple[str, ...]
    linear: bool
    curvature: float
    growth: tuple[int, ...] | None
    integrals: int | None
    holonomic: bool

    def __bool__(self) -> bool:
        return self.holonomic

    def text(self) -> str:
        """The result in words."""
        name, m = self.system.name, self.system.multipliers
        if not self.linear:
            return (
                f"{name} is not holonomic: the velocities that its constraints allow are no plane,"
                " and those of a holonomic constraint are."
            )
        assert self.growth is not None
        grown = ", ".join(map(str, self.growth))
        words = f"growth of the allowed displacements: {grown} of {self.system.space.dim}"
        if self.holonomic:
            apart = (
                " Their virtual displacements are given apart, so that forces need not be those of"
                " a holonomic constraint."
                if self.system.variational is not None
                else ""
            )
            return (
                f"{name} is holonomic: the curvature of its constraints is zero, to"
                f" {self.curvature:.1e} of its terms ({words}). They hold {m} functions of (t, q),"
                f" whose values are given by the start.{apart}"
            )
        kept = f"{self.integrals} of its {m} constraints" if self.integrals else "None of them"
        held = "holds a function" if self.integrals == 1 or not self.integrals else "hold functions"
        return (
            f"{name} is not holonomic: the curvature of its constraints is {self.curvature:.1e} of"
            f" its terms ({words}). {kept} {held} of (t, q)."
        )

    def __str__(self) -> str:
        return self.text()


class Looked(NamedTuple):
    """Random points that satisfy the constraints, with dc/dv there and at v = 0, and the natural
    sizes of velocities and of their time.
    """

    t: Any
    q: Any
    v: Any
    C: Any
    C0: Any
    rates: np.ndarray
    time: float


def check_velocities(system: Any, what: str) -> None:
    """Raise ValueError where there are no constraints."""
    check_mechanical(system, what)
    if system.constraint is None:
        refuse(what, "systems without constraints", "every displacement is allowed")
    system.check()


def looked_at(system: System, samples: int, seed: int) -> Looked:
    """The constraints at random points of natural size."""
    space, random = system.space, Random(system, samples, seed)
    constraint: Any = system.constraint
    x, v = random.vectors(2, space.dim)

    def at(_: Any, point: Any) -> Any:
        t, x, v = point
        q, v = project_at(system, t, space.retract(space.identity(), x), v)

        def held(v: Vector) -> Array:
            return constraint.on_velocities(system, t, q, v)

        return q, v, jax.jacfwd(held)(v), jax.jacfwd(held)(0 * v)

    rates = random.sizes.rates[0]
    points = random.t, random.sizes.x * x, rates * v
    q, v, C, C0 = small_map(at)((), points)
    good = np.all(np.isfinite(C), axis=(1, 2)) & np.all(np.isfinite(v), axis=1)
    if not np.any(good):
        raise ValueError(
            f"no points were found that satisfy the constraints of {system.name}, out of"
            f" {samples} random ones."
        )
    q = jax.tree.map(lambda a: np.asarray(a)[good], q)
    t, v, C, C0 = (np.asarray(a)[good] for a in (random.t, v, C, C0))
    return Looked(t, q, v, C, C0, rates, random.sizes.time)


def split_of(system: System, found: Looked, dependent: Any) -> Split:
    """The given velocities as the dependent ones, or those that the constraints determine best."""
    n, m = system.space.dim, system.multipliers
    even = np.array([evened(C * found.rates) for C in found.C])

    def size(chosen: tuple[int, ...]) -> float:
        return float(np.min(np.abs(np.linalg.det(even[:, :, chosen]))))

    own = None if dependent is None else positions_of(system, dependent, "dependent")
    best = max(islice(combinations(range(n), m), CHOICES), key=size) if own is None else own
    if not size(best) > DEPENDENT:
        words = ", ".join(system.names[i] for i in best)
        raise ValueError(
            f"the constraints of {system.name} do not determine {words}: "
            + (
                "they depend on each other; leave out what the others say already."
                if own is None
                else "choose other `dependent` velocities."
            )
        )
    apart = np.max(np.abs(found.C - found.C0), axis=(0, 2))
    straight = np.all(apart <= ROUNDED * np.max(np.abs(found.C), axis=(0, 2)))
    rest = tuple(i for i in range(n) if i not in best)
    return Split(best, rest, 1 if straight else ITERATIONS)


def bent(system: System, split: Split, found: Looked) -> float:
    """The largest d2Psi/dv_r2 on the constraints, of the terms of which it is the sum."""

    def at(_: Any, point: Any) -> Any:
        return split.bend(system, *point)

    second, terms = map(np.asarray, small_map(at)((), (found.t, found.q, found.v)))
    s, r = found.rates[list(split.dependent)], found.rates[list(split.independent)]
    floor = ROUNDED * s[:, None, None] / (r[:, None] * r)
    return share(second, terms + floor)


def share(found: np.ndarray, terms: np.ndarray) -> float:
    """The largest part that is left of sums of terms."""
    return float(np.max(np.abs(found) / np.where(terms > 0, terms, 1.0), initial=0.0))


def guess_at(split: Split, system: System, t: Any, q: Any, v: Any) -> Array:
    """v_s where v_r is zero, of constraints that are linear in velocities."""
    s, r = (jnp.asarray(i, int) for i in (split.dependent, split.independent))
    if split.steps == 1:
        return jnp.zeros(len(split.dependent))
    return v[s] - split.slopes(system, t, q, v) @ v[r]


@door()
def connection(system: System, dependent: Any = None) -> Connection:
    """The connection of constraints that are linear in velocities, and its curvature, as functions
    of (t, q).

    Arguments:
        system: holonomic, nonholonomic or vakonomic, on any space.
        dependent: the velocities that the constraints determine, by name or number; by default
            those that they determine best.

    Raises:
        ValueError: where the constraints are not written linear in the velocities, or do not
            determine those.

    Reference: Vakonomic thesis, chapter 3.
    """
    check_velocities(system, "connection")
    found = looked_at(system, 8, 0)
    split = split_of(system, found, dependent)
    if split.steps > 1:
        raise ValueError(
            f"connection needs constraints that are linear in the velocities; those of"
            f" {system.name} are not. `integrability` looks at others as well."
        )
    return Connection(system, split)


def part(value: Any, name: str) -> Any:
    """A part of something, above zero and below one."""
    found = positive(value, name)
    if not EPS <= found < 1:
        wrong(name, "a number below 1, and not below rounding, 2e-16", value)
    return found


@door(samples=rows(10_000), seed=seed, tolerance=part)
def integrability(
    system: System, *, samples: int = 12, seed: int = 0, tolerance: float = 1e-9
) -> Integrability:
    """Whether constraints on velocities are holonomic: whether there are functions f(t, q) that
    they hold constant.

    They are where the curvature of their connection is zero (Frobenius). It is looked at at random
    points of natural size, each of its entries against the terms of which it is the sum, so that
    units do not matter, nor how the constraints are written.

    Arguments:
        system: holonomic, nonholonomic or vakonomic, on any space.
        samples, seed: how many random points, and which.
        tolerance: the part of its terms that counts as zero.

    Reference: Vakonomic thesis, Obs 3.0.5 and 3.0.6.
    """
    from accion.analysis.growth import growth_of

    check_velocities(system, "integrability")
    found = looked_at(system, samples, seed)
    split = split_of(system, found, None)
    names = tuple(system.names[i] for i in split.dependent)
    if split.steps > 1 and bent(system, split, found) > tolerance:
        return Integrability(system, names, False, np.inf, None, None, False)

    def at(_: Any, point: Any) -> Any:
        t, q, v = point
        return split.curvature(system, t, q, guess_at(split, system, t, q, v))

    R, terms = map(np.asarray, small_map(at)((), (found.t, found.q, found.v)))
    s = found.rates[list(split.dependent)]
    r = np.append(1.0, found.rates[list(split.independent)])
    floor = ROUNDED * s[:, None, None] / (found.time * r[:, None] * r)
    left = share(R, terms + floor / tolerance)
    holonomic = left <= tolerance
    growth = growth_of(system, split, found, tolerance, partial(guess_at, split, system))
    return Integrability(
        system, names, True, left, growth, system.space.dim - growth[-1], holonomic
    )
