"""The constraint algorithm of Gotay, Nester and Hinds (1978) for vakonomic systems and singular
Lagrangians (Vakonomic thesis, section 4.2; of order r, section 5.3).
"""

from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.chains import Chain, Followed, Words, followed, rank
from accion.arguments import door, positive, seed
from accion.checks import check_mechanical, refuse
from accion.memory import rows
from accion.numerics import newton
from accion.systems import HigherOrderSystem, System
from accion.systems.first_order import of_first_order
from accion.told import Told
from accion.types import Array, Scalar, Vector

NO_INERTIA = 1e-14  # a mass below this, relative to the largest, is roundoff


@dataclass(frozen=True)
class Level:
    """One submanifold W_k: its dimension, the equations that cut it out of the one before and,
    where SymPy can, what they are.
    """

    dimension: int
    count: int
    equations: Any  # a tuple of sympy.Eq, or None


@dataclass(frozen=True, repr=False)
class ConstraintAlgorithm(Told):
    """The chain W0 > W1 > ... of a system with Lagrangian L + lam.Phi on T*Q + TQ (variables q, p,
    v and the multipliers lam).

    Of a system of order r it is on T*(T^(r-1)Q) + T^(r)Q (q, ..., q^(r), the momenta p_0, ...,
    p_{r-1}, and lam), of a control problem on (q, v, p0, p1, u).

    `stabilises_at` is the k with W_{k+1} = W_k, None where no point is left. `symplectic` says
    whether dq ^ dp restricted to that final submanifold is nondegenerate, so that the motion is
    unique; `determinant` is the determinant of the bordered Hessian [[L_vv + lam.Phi_vv, Phi_v^T],
    [Phi_v, 0]], of a control problem that of d2H/du2, which is not zero where W1 is symplectic (the
    test 4.11, Prop 7.1.2), or None where SymPy could
    not follow the functions; `why_not_symbolic` then says why.
    """

    system: Any
    levels: tuple[Level, ...]
    stabilises_at: int | None
    symplectic: bool
    regular_at: float
    determinant: Any
    why_not_symbolic: str | None
    words: Words

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Those of W0, W1, ..."""
        return tuple(level.dimension for level in self.levels)

    def text(self) -> str:
        """The result in words."""
        lines = [self.words.subject]
        for k, level in enumerate(self.levels):
            lines.append(
                f"W{k} has dimension {level.dimension}"
                + (f", {level.count} less" if k else "")
                + (":" if level.equations else ".")
            )
            lines += [f"    {equation.lhs} = {equation.rhs}" for equation in level.equations or ()]
        if self.determinant is not None:
            lines.append(f"{self.words.test} is {self.determinant}.")
        lines.append(self.verdict())
        if self.why_not_symbolic:
            lines.append(f"The equations are not printed: {self.why_not_symbolic}")
        return "\n".join(lines)

    def verdict(self) -> str:
        """What it means for motions, in words."""
        k = self.stabilises_at
        if k is None:
            return "No point is left: the equations contradict each other, and there is no motion."
        where = f"The algorithm stabilises at W{k}"
        if self.symplectic and k <= 1:
            return (
                where
                + f", which is symplectic: through each of its points, given by {self.words.point},"
                f" passes one motion, and {self.words.follows} follow from it."
            )
        if self.symplectic:
            return (
                where
                + f", which is symplectic: motions are unique, but only initial data in W{k} have"
                f" one. In W1 the {self.words.free} are not determined by {self.words.point}, so"
                " the marching step is singular; start on the final submanifold, or leave out what"
                " has no inertia."
            )
        return (
            where
            + ", where dq ^ dp is degenerate: a motion exists through each of its points but is not"
            + f" unique; some {self.words.free.replace(' and ', ' or ')} are free."
        )

    def __str__(self) -> str:
        return self.text()


class SystemChain(Chain):
    """On z = (t, q, p, v, lam): the equations of a system with Lagrangian L + lam.Phi.

    Each coordinate is measured by its inertia and L by the largest one. On a group q is x, with
    which the retraction leads there from the origin.
    """

    def __init__(self, system: System, rng: np.random.Generator, samples: int) -> None:
        self.system, self.n, self.m = system, system.space.dim, system.multipliers
        self.ends = np.cumsum([1, self.n, self.n, self.n])
        self.first, self.size, self.beside = 1 + 2 * self.n, 1 + 3 * self.n + self.m, self.m
        self.whole, unit = units(system, rng.normal(size=(samples, 1 + 2 * self.n)))
        self.momentum = self.whole * unit
        self.scale = np.concatenate(
            [np.ones(1), 1 / unit, self.momentum, 1 / unit, np.full(self.m, self.whole)]
        )
        self.words = words_of(system)

    def parts(self, z: Array) -> tuple[Any, ...]:
        """(t, q, p, v, lam) of a point, in the user's units."""
        t, q, p, v, lam = jnp.split(z * self.scale, self.ends)
        return (
            t[0],
            self.system.space.retract(self.system.space.identity(), q),
            p,
            v,
            lam if self.m else None,
        )

    def equations(self, z: Array) -> Array:
        """Phi = 0 and p = dL/dv + lam.dPhi/dv: the submanifold W1."""
        t, q, p, v, lam = self.parts(z)
        legendre = (p - self.system.legendre(t, q, v, lam)) / self.momentum
        return (
            legendre
            if self.system.constraint is None
            else jnp.concatenate([self.system.constraint.value(self.system, t, q, v), legendre])
        )

    def drift(self, z: Array) -> Array:
        """The rates of (t, q, p) along a motion: 1, v and dL/dq + ad*_v p + F; those of (v, lam)
        are left out.
        """
        t, q, p, v, lam = self.parts(z)
        space, still = self.system.space, np.zeros(self.n + self.m)
        force = jax.grad(lambda e: self.system.L(t, space.retract(q, e), v, lam))(
            jnp.zeros(self.n)
        ) + self.system.F(t, q, v)
        if space.flat:
            moved = z[self.ends[2] : self.ends[3]]
        else:
            force = force + space.coad(v, p)
            moved = newton.solve(self.frame(z), v) / self.scale[1 : 1 + self.n]
        return jnp.concatenate([jnp.ones(1), moved, force / self.momentum, still])

    def frame(self, z: Array) -> Array:
        """What makes a velocity of the rate of x, shape (n, n): one on a flat space."""
        x, zero = (z * self.scale)[1 : 1 + self.n], jnp.zeros(self.n)
        return jax.jacfwd(lambda rate: self.system.space.velocity(x, rate))(zero)

    def form(self, z: Array) -> Array:
        """dq ^ dp, on a group with p.[e_i, e_j] for displacements of the body."""
        space, one = self.system.space, jnp.eye(self.n)
        p = self.parts(z)[2]
        turned = jax.vmap(lambda a: jax.vmap(lambda b: p @ space.ad(a, b))(one))(one)
        T = self.frame(z) * self.scale[1 : 1 + self.n]
        across = T.T * self.momentum / self.whole
        return jnp.block([[T.T @ turned @ T / self.whole, across], [-across.T, 0 * one]])

    def random(self, rng: np.random.Generator, samples: int) -> np.ndarray:
        """Configurations and velocities are random in the user's units, where her functions are at
        home; momenta in those of L.
        """
        z = rng.normal(size=(samples, self.size))
        for first in (self.ends[0], self.ends[2]):
            z[:, first : first + self.n] /= self.scale[first : first + self.n]
        return z


def subject(system: Any) -> str:
    """A system and what it has, in words."""
    n, m = system.space.dim, system.multipliers
    what = f"{m} vakonomic constraint{'s' if m != 1 else ''}" if m else "no constraints"
    return f"{system.name}: {n} coordinate{'s' if n != 1 else ''}, {what}."


def words_of(system: System) -> Words:
    """How the chain of a system speaks of it."""
    return Words(subject(system), "(q, p)", "velocities and multipliers", "the multipliers")


def words_of_order(system: HigherOrderSystem) -> Words:
    """The same of a system of order r."""
    r = system.order
    state = "(q, q', p_0, p_1)" if r == 2 else f"(q, ..., q^({r - 1}), p_0, ..., p_{r - 1})"
    return Words(subject(system), state, f"derivatives q^({r}) and multipliers", "the multipliers")


def units(system: System, points: np.ndarray) -> tuple[float, np.ndarray]:
    """The size of L and the unit of each coordinate, sqrt of its inertia over that size, from the
    second derivatives at random (t, q, v).
    """
    n, space = system.space.dim, system.space

    def L(x: Vector) -> Scalar:
        return system.L(x[0], space.retract(space.identity(), x[1 : 1 + n]), x[1 + n :])

    found = jax.vmap(lambda x: (jax.grad(L)(x), jax.hessian(L)(x)))(points)
    slope, D = (np.abs(np.nan_to_num(x, posinf=0.0, neginf=0.0)).max(axis=0) for x in found)
    rows = D[1 + n :, 1:]  # of d(dL/dv)/d(q, v)
    size = next((float(x) for x in (np.max(rows), np.max(slope)) if x > 0), 1.0)
    inertia = np.diag(D)[1 + n :] / size
    return size, np.sqrt(np.where(inertia > NO_INERTIA, inertia, 1.0))


@door(samples=rows(10_000), seed=seed, seconds=positive)
def constraint_algorithm(
    system: Any, *, samples: int = 12, seed: int = 0, seconds: float = 10.0
) -> ConstraintAlgorithm:
    """The chain of submanifolds W0 > W1 > ... > Wf on which a vakonomic system has motions, or a
    control problem extremals.

    W_{k+1} is where the motion can stay in W_k: at random points of each W_k the ranks of the
    equations are found by singular values. A system without constraints is looked at in the same
    way, which is Dirac's algorithm for a singular Lagrangian. Of a control problem W0 has the
    points (q, v, p0, p1, u), its Hamiltonian is p0.v + p1.a(t, q, v, u) - C, and W1 is dH/du = 0:
    where d2H/du2 is singular, as of a control that the cost does not see, the algorithm goes on to
    the final submanifold Wf (its singular arcs), on which extremals need not be unique.

    Of a system of order r it is that of `first_order(system)`, which has the same W_k: its
    coordinates are (q, ..., q^(r-1)), its multipliers p_0, ..., p_{r-2} and lam.

    Arguments:
        system: vakonomic or without constraints, of any order, on any space; or a `ControlProblem`
            of a system without constraints.
        samples, seed: how many random points of each W_k, and which.
        seconds: for the simplification of the equations, which are printed where SymPy can follow
            the functions of the system.

    Reference: Vakonomic thesis, section 4.2, eq 4.5-4.11, section 5.3, eq 5.8-5.10, and section
    7.1; Gotay, Nester & Hinds 1978.
    """
    return algorithm_of(system, samples, seed, seconds)


@singledispatch
def algorithm_of(system: Any, samples: int, seed: int, seconds: float) -> ConstraintAlgorithm:
    """The algorithm of a kind of system, or of problem; each registers its own."""
    check_mechanical(system, "constraint_algorithm")
    refuse("constraint_algorithm", system.kind, "nothing is known of them")


@algorithm_of.register
def _(system: System, samples: int, seed: int, seconds: float) -> ConstraintAlgorithm:
    if system.constraint is not None and not system.enters_action:
        kind = "holonomic" if system.holds_positions else "nonholonomic"
        why = "constraints that act by forces give no such chain"
        refuse("constraint_algorithm", f"{kind} systems", why)
    system.check()
    rng = np.random.default_rng(seed)
    chain = SystemChain(system, rng, samples)
    found = followed(chain, rng, samples, partial(check_independent, system))
    from accion.symbols.constraint_levels import level_equations  # SymPy takes long to import

    equations, determinant, reason = level_equations(system, found.cuts, seconds)
    return result_of(system, chain, found, equations, determinant, reason)


@algorithm_of.register
def _(system: HigherOrderSystem, samples: int, seed: int, seconds: float) -> ConstraintAlgorithm:
    system.check()
    rng = np.random.default_rng(seed)
    whole: Any = of_first_order(system)
    chain = SystemChain(whole, rng, samples)
    chain.words = words_of_order(system)
    found = followed(chain, rng, samples, partial(check_independent, system))
    from accion.symbols.constraint_levels import level_equations  # SymPy takes long to import

    equations, determinant, reason = level_equations(system, found.cuts, seconds)
    # Those that say which number is the derivative of which are none of the user's.
    found = found._replace(counts=[system.multipliers, *found.counts[1:]])
    return result_of(system, chain, found, equations, determinant, reason)


def result_of(
    system: Any, chain: Chain, found: Followed, equations: Any, determinant: Any, reason: Any
) -> ConstraintAlgorithm:
    """What was found, with the equations of each level."""
    rows = zip(found.dimensions, found.counts, equations[: len(found.dimensions)], strict=True)
    return ConstraintAlgorithm(
        system,
        tuple(Level(*row) for row in rows),
        found.stable,
        found.symplectic,
        found.smallest,
        determinant,
        reason,
        chain.words,
    )


def check_independent(system: Any, J: np.ndarray) -> None:
    """Raise ValueError where constraints say the same thing: their multipliers would not be
    determined.
    """
    beside, m = J.shape[1] - system.multipliers, system.multipliers
    found = -beside + max(
        rank(x / (np.linalg.norm(x, axis=1, keepdims=True) + np.finfo(float).tiny)) for x in J
    )
    if found < m:
        raise ValueError(
            f"the {m} vakonomic constraints of {system.name} are not independent: their derivatives"
            f" have rank {found} where they hold. Leave out what the others say already."
        )
