"""The constraint algorithm of Gotay, Nester and Hinds (1978) for vakonomic systems and singular
Lagrangians (Vakonomic thesis, section 4.2; of order r, section 5.3).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.constraint_chain import ConstraintAlgorithm, Level
from accion.arguments import door, positive, seed
from accion.checks import check_mechanical, refuse
from accion.memory import rows
from accion.systems import HigherOrderSystem, System
from accion.systems.first_order import of_first_order
from accion.types import Array, Configuration, Scalar, Vector

SMALL = 1e-8  # a singular value or a residual below this, relative to the largest, counts as zero
NO_INERTIA = 1e-14  # a mass below this, relative to the largest, is roundoff
STEPS = 200


@dataclass(frozen=True)
class Cut:
    """Equations that follow from g = 0 by differentiation: rows that the pivots cannot reach, b_r -
    G_rC (G_RC)^-1 b_R.
    """

    pivots: tuple[tuple[int, ...], tuple[int, ...]]
    rows: tuple[int, ...]


class Chain:
    """The functions on z = (t, q, p, v, lam) and their derivatives along a motion.

    Each coordinate is measured by its inertia and L by the largest one, so that ranks do not depend
    on the units of the user.
    """

    def __init__(self, system: System, rng: np.random.Generator, samples: int) -> None:
        self.system, self.n, self.m = system, system.space.dim, system.multipliers
        self.ends = np.cumsum([1, self.n, self.n, self.n])
        self.first = 1 + 2 * self.n  # where (v, lam), whose rates are free, begin
        size, unit = units(system, rng.normal(size=(samples, 1 + 2 * self.n)))
        self.momentum = size * unit
        self.scale = np.concatenate(
            [np.ones(1), 1 / unit, self.momentum, 1 / unit, np.full(self.m, size)]
        )

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
        """The rates of (t, q, p) along a motion: 1, v and dL/dq + F; those of (v, lam) are left
        out.
        """
        t, q, _, v, lam = self.parts(z)
        space = self.system.space
        force = jax.grad(lambda e: self.system.L(t, space.retract(q, e), v, lam))(
            jnp.zeros(self.n)
        ) + self.system.F(t, q, v)
        return jnp.concatenate(
            [
                jnp.ones(1),
                z[self.ends[2] : self.ends[3]],
                force / self.momentum,
                jnp.zeros(self.n + self.m),
            ]
        )

    def rate(self, g: Callable[..., Any], z: Array) -> tuple[Array, ...]:
        """(g, its derivative, b, G) with dg/dt = b + G (v', lam').

        `g` is called once: each level of the chain calls the one before.
        """

        def twice(z: Configuration) -> Any:
            value = g(z)
            return value, value

        J, value = jax.jacfwd(twice, has_aux=True)(z)
        return value, J, J @ self.drift(z), J[:, self.first :]

    def extend(self, g: Callable[..., Any], cut: Cut) -> Callable[..., Any]:
        """g together with the equations of a cut."""
        R, C = (jnp.array(i, dtype=int) for i in cut.pivots)
        rows = jnp.array(cut.rows, dtype=int)

        def extended(z: Configuration) -> Any:
            value, _, b, G = self.rate(g, z)
            new = (
                b[rows] - G[rows][:, C] @ jnp.linalg.solve(G[R][:, C], b[R])
                if len(cut.pivots[0])
                else b[rows]
            )
            return jnp.concatenate([value, new])

        return extended

    def rates_of(self, g: Callable[..., Any]) -> Callable[..., Any]:
        """A compiled function of many points: g, its derivative and its rate (b, G) at each."""
        return jax.jit(jax.vmap(lambda z: self.rate(g, z)))

    def points(
        self, rates: Callable[..., Any], rng: np.random.Generator, samples: int
    ) -> list[np.ndarray]:
        """(g, its derivative, b, G) at points with g = 0, found by Gauss-Newton from random ones;
        those where it failed are left out.
        """
        z = rng.normal(size=(samples, 1 + 3 * self.n + self.m))
        # Configurations and velocities are random in the user's units, where her functions are at
        # home; momenta in those of L.
        for first in (self.ends[0], self.ends[2]):
            z[:, first : first + self.n] /= self.scale[first : first + self.n]
        first = np.abs(z)  # where a number goes to zero, its size is what it had
        for _ in range(STEPS):
            r, J = (np.nan_to_num(np.asarray(x)) for x in rates(z)[:2])
            terms = np.einsum("pij,pj->pi", np.abs(J), np.abs(z) + first)
            if np.all(np.abs(r) <= 1e-13 * terms):
                break
            step = np.array(
                [np.linalg.lstsq(A, x, rcond=SMALL)[0] for A, x in zip(J, r, strict=True)]
            )
            z = z - step / np.maximum(
                1.0, np.max(np.abs(step) / (1 + np.abs(z)), axis=1, keepdims=True)
            )
        found = [np.asarray(x) for x in rates(z)]
        terms = np.einsum("pij,pj->pi", np.abs(found[1]), np.abs(z) + first)
        good = np.all(np.abs(found[0]) <= 1e-10 * terms, axis=1)  # False for NaN
        return [x[good] for x in found]


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


def rank(A: np.ndarray) -> int:
    """The number of singular values that are not small beside the largest, or one."""
    s = np.linalg.svd(A, compute_uv=False)
    return int(np.sum(s > SMALL * max(1.0, s[0] if len(s) else 0.0)))


def pivoted(A: np.ndarray) -> Any:
    """The columns of A, the most independent ones first."""
    from scipy import linalg  # takes long to import

    return linalg.qr(A, pivoting=True)[-1]


def pivots(G: np.ndarray, r: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows and columns of a regular r x r block of G, by elimination with full pivoting."""
    columns = pivoted(G)
    rows = pivoted(G[:, columns[:r]].T)
    return tuple(int(i) for i in sorted(rows[:r])), tuple(int(i) for i in sorted(columns[:r]))


@door(samples=rows(10_000), seed=seed, seconds=positive)
def constraint_algorithm(
    system: System | HigherOrderSystem, *, samples: int = 12, seed: int = 0, seconds: float = 10.0
) -> ConstraintAlgorithm:
    """The chain of submanifolds W0 > W1 > ... on which a vakonomic system has motions.

    W_{k+1} is where the motion can stay in W_k: at random points of each W_k the ranks of the
    equations are found by singular values. A system without constraints is looked at in the same
    way, which is Dirac's algorithm for a singular Lagrangian.

    Of a system of order r it is that of `first_order(system)`, which has the same W_k: its
    coordinates are (q, ..., q^(r-1)), its multipliers p_0, ..., p_{r-2} and lam.

    Arguments:
        system: vakonomic or without constraints, on a flat space; of any order.
        samples, seed: how many random points of each W_k, and which.
        seconds: for the simplification of the equations, which are printed where SymPy can follow
            the functions of the system.

    Reference: Vakonomic thesis, section 4.2, eq 4.5-4.11, and section 5.3, eq 5.8-5.10; Gotay,
    Nester & Hinds 1978.
    """
    what = "constraint_algorithm"
    own: Any = of_first_order(system)
    check_mechanical(own, what)
    if system.constraint is not None and not system.enters_action:
        kind = "holonomic" if system.holds_positions else "nonholonomic"
        refuse(what, f"{kind} systems", "constraints that act by forces give no such chain")
    if not system.space.flat:
        refuse(what, f"systems on {system.space}", "its points are vectors of (q, p, v, lam)")
    system.check()
    rng = np.random.default_rng(seed)
    chain = Chain(own, rng, samples)
    n, m, first = chain.n, chain.m, [system.multipliers]
    g, before, cuts, dimensions, counts = chain.equations, chain.equations, [], [3 * n - m], first
    stable, symplectic, smallest = None, False, 0.0
    for k in range(1, 3 * n + m + 2):
        _, J, b, G = chain.points(chain.rates_of(g), rng, samples)
        if not len(J):
            break
        if k == 1:
            check_independent(system, J[:, :m, 1:])
        else:
            kept, keep = independent(cuts[-1], J[:, :, 1:])
            cuts[-1], g, J, b, G = (
                kept,
                chain.extend(before, kept),
                J[:, keep],
                b[:, keep],
                G[:, keep],
            )
        dimensions.append(3 * n + m - max(rank(x[:, 1:]) for x in J))
        counts.append(dimensions[-2] - dimensions[-1])
        if k == 1:
            smallest = min(float(np.linalg.svd(x, compute_uv=False)[-1]) for x in G)
        cut = next_cut(b, G)
        if cut is None:
            stable, symplectic = k, all(is_symplectic(x[:, 1:], n) for x in J)
            break
        cuts.append(cut)
        before, g = g, chain.extend(g, cut)
    from accion.symbols.constraint_levels import level_equations  # SymPy takes long to import

    equations, determinant, reason = level_equations(system, cuts, seconds)
    levels = tuple(
        Level(d, c, e)
        for d, c, e in zip(dimensions, counts, equations[: len(dimensions)], strict=True)
    )
    return ConstraintAlgorithm(system, levels, stable, symplectic, smallest, determinant, reason)


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


def independent(cut: Cut, J: np.ndarray) -> tuple[Cut, list[int]]:
    """The cut without rows that follow from its others, and the rows of all equations that are
    left.
    """
    old = J.shape[1] - len(cut.rows)
    A = max(J, key=rank)
    count = rank(A) - rank(A[:old])
    if not 0 < count < len(cut.rows):
        return cut, list(range(J.shape[1]))
    beside = A[old:] - A[old:] @ np.linalg.pinv(A[:old], rcond=SMALL) @ A[:old]
    chosen = sorted(int(i) for i in pivoted(beside.T)[:count])
    return Cut(cut.pivots, tuple(cut.rows[i] for i in chosen)), [
        *range(old),
        *(old + i for i in chosen),
    ]


def next_cut(b: np.ndarray, G: np.ndarray) -> Cut | None:
    """The equations that a motion in W_k must satisfy besides those of W_k, None where there are
    none.
    """
    r = max(map(rank, G))
    R, C = pivots(next(A for A in G if rank(A) == r), r)
    others = [j for j in range(G.shape[1]) if j not in R]
    new = np.array(
        [
            x[others]
            - A[np.ix_(others, C)] @ np.linalg.lstsq(A[np.ix_(R, C)], x[list(R)], rcond=None)[0]
            for x, A in zip(b, G, strict=True)
        ]
    )
    least = SMALL * max(1.0, float(np.max(np.abs(b), initial=0.0)))
    large = np.max(np.abs(new), axis=0) > least
    rows = tuple(j for j, seen in zip(others, large, strict=True) if seen)
    return Cut((R, C), rows) if rows else None


def is_symplectic(derivative: np.ndarray, n: int) -> bool:
    """Whether dq ^ dp is nondegenerate on the kernel of the derivative of the equations (columns q,
    p, v, lam).
    """
    from scipy import linalg  # takes long to import

    kernel = linalg.null_space(derivative, rcond=SMALL)
    q, p = kernel[:n], kernel[n : 2 * n]
    return rank(q.T @ p - p.T @ q) == kernel.shape[1]
