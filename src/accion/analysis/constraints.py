"""The constraint algorithm of Gotay, Nester and Hinds for vakonomic systems and singular Lagrangians (004 section 4.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from accion.systems import System

SMALL = 1e-8  # a singular value or a residual below this, relative to the largest, counts as zero
STEPS = 200


@dataclass(frozen=True)
class Level:
    """One submanifold W_k: its dimension, the equations that cut it out of the one before and, where SymPy can, what they are."""

    dimension: int
    count: int
    equations: Any  # a tuple of sympy.Eq, or None


@dataclass(frozen=True)
class ConstraintAlgorithm:
    """The chain W0 > W1 > ... of a system with Lagrangian L + lam.Phi on T*Q + TQ (variables q, p, v and the multipliers lam).

    `stabilises_at` is the k with W_{k+1} = W_k, None where no point is left. `symplectic` says whether dq ^ dp restricted to that
    final submanifold is nondegenerate, so that the motion is unique; `determinant` is the determinant of the bordered Hessian
    [[L_vv + lam.Phi_vv, Phi_v^T], [Phi_v, 0]], which is not zero where W1 is symplectic (the test 4.11), or None where SymPy could not
    follow the functions; `why_not_symbolic` then says why.
    """

    system: System
    levels: tuple[Level, ...]
    stabilises_at: int | None
    symplectic: bool
    regular_at: float
    determinant: Any
    why_not_symbolic: str | None

    @property
    def dimensions(self):
        return tuple(level.dimension for level in self.levels)

    def text(self):
        """The result in words."""
        n, m = self.system.space.dim, self.system.multipliers
        what = f"{m} vakonomic constraint{'s' if m != 1 else ''}" if m else "no constraints"
        lines = [f"{self.system.name}: {n} coordinate{'s' if n != 1 else ''}, {what}."]
        for k, level in enumerate(self.levels):
            lines.append(f"W{k} has dimension {level.dimension}" + (f", {level.count} less" if k else "") + (":" if level.equations else "."))
            lines += [f"    {equation.lhs} = {equation.rhs}" for equation in level.equations or ()]
        if self.determinant is not None:
            lines.append(f"The determinant of the test 4.11 is {self.determinant}.")
        lines.append(self.verdict())
        if self.why_not_symbolic:
            lines.append(f"The equations are not printed: {self.why_not_symbolic}")
        return "\n".join(lines)

    def verdict(self):
        k = self.stabilises_at
        if k is None:
            return "No point is left: the equations contradict each other, and there is no motion."
        where = f"The algorithm stabilises at W{k}"
        if self.symplectic and k <= 1:
            return (
                where + ", which is symplectic: through each of its points, given by (q, p), passes one motion, and the multipliers follow from it."
            )
        if self.symplectic:
            return (
                where + f", which is symplectic: motions are unique, but only initial data in W{k} have one. In W1 the velocities and multipliers "
                "are not determined by (q, p), so the marching step is singular; start on the final submanifold, or leave out what has no inertia."
            )
        return (
            where
            + ", where dq ^ dp is degenerate: a motion exists through each of its points but is not unique; some velocities or multipliers are free."
        )

    def __str__(self):
        return self.text()


@dataclass(frozen=True)
class Cut:
    """Equations that follow from g = 0 by differentiation: rows that the pivots cannot reach, b_r - G_rC (G_RC)^-1 b_R."""

    pivots: tuple[tuple[int, ...], tuple[int, ...]]
    rows: tuple[int, ...]


class Chain:
    """The functions on z = (t, q, p, v, lam) and their derivatives along a motion."""

    def __init__(self, system):
        self.system, self.n, self.m = system, system.space.dim, system.multipliers
        self.ends = np.cumsum([1, self.n, self.n, self.n])
        self.first = 1 + 2 * self.n  # where (v, lam), whose rates are free, begin

    def parts(self, z):
        t, q, p, v, lam = jnp.split(z, self.ends)
        return t[0], self.system.space.retract(self.system.space.identity(), q), p, v, lam if self.m else None

    def equations(self, z):
        """Phi = 0 and p = dL/dv + lam.dPhi/dv: the submanifold W1."""
        t, q, p, v, lam = self.parts(z)
        legendre = p - self.system.momentum(t, q, v, lam)
        return jnp.concatenate([self.system.constraint.value(self.system, t, q, v), legendre]) if self.m else legendre

    def drift(self, z):
        """The rates of (t, q, p) along a motion: 1, v and dL/dq + F; those of (v, lam) are left out."""
        t, q, _, v, lam = self.parts(z)
        space = self.system.space
        force = jax.grad(lambda e: self.system.L(t, space.retract(q, e), v, lam))(jnp.zeros(self.n)) + self.system.F(t, q, v)
        return jnp.concatenate([jnp.ones(1), v, force, jnp.zeros(self.n + self.m)])

    def rate(self, g, z):
        """(b, G) with dg/dt = b + G (v', lam')."""
        J = jax.jacfwd(g)(z)
        return J @ self.drift(z), J[:, self.first :]

    def extend(self, g, cut: Cut) -> Callable[..., Any]:
        """g together with the equations of a cut."""
        R, C = (jnp.array(i, dtype=int) for i in cut.pivots)
        rows = jnp.array(cut.rows, dtype=int)

        def extended(z):
            b, G = self.rate(g, z)
            new = b[rows] - G[rows][:, C] @ jnp.linalg.solve(G[R][:, C], b[R]) if len(cut.pivots[0]) else b[rows]
            return jnp.concatenate([g(z), new])

        return extended

    def look(self, g):
        """A compiled function of many points: g, its derivative and its rate (b, G) at each."""
        return jax.jit(jax.vmap(lambda z: (g(z), jax.jacfwd(g)(z), *self.rate(g, z))))

    def points(self, look, rng, samples):
        """Points with g = 0, found by Gauss-Newton from random ones, and what `look` sees there; those where it failed are left out."""
        z = rng.normal(size=(samples, 1 + 3 * self.n + self.m))
        for _ in range(STEPS):
            r, J = (np.nan_to_num(np.asarray(x)) for x in look(z)[:2])
            if np.max(np.abs(r), initial=0.0) < 1e-13:
                break
            step = np.array([np.linalg.lstsq(A, x, rcond=SMALL)[0] for A, x in zip(J, r, strict=True)])
            z = z - step / np.maximum(1.0, np.max(np.abs(step), axis=1, keepdims=True))
        seen = [np.asarray(x) for x in look(z)]
        good = np.all(np.abs(seen[0]) < 1e-10, axis=1)  # False for NaN
        return [x[good] for x in seen]


def rank(A):
    s = np.linalg.svd(A, compute_uv=False)
    return int(np.sum(s > SMALL * max(1.0, s[0] if len(s) else 0.0)))


def pivots(G, r):
    """Rows and columns of a regular r x r block of G, by elimination with full pivoting."""
    order: Any = lambda A: scipy.linalg.qr(A, pivoting=True)[-1]  # noqa: E731
    columns = order(G)
    rows = order(G[:, columns[:r]].T)
    return tuple(int(i) for i in sorted(rows[:r])), tuple(int(i) for i in sorted(columns[:r]))


def constraint_algorithm(system, *, samples=12, seed=0, seconds=10.0):
    """The chain of submanifolds W0 > W1 > ... on which a vakonomic system has motions.

    At `samples` random points of each W_k the ranks of the equations are found by singular values: W_{k+1} is where the motion can stay
    in W_k. A system without constraints is looked at in the same way, which is Dirac's algorithm for a singular Lagrangian. With the
    `seconds` for simplification, the equations are printed where SymPy can follow the functions of the system.

    Reference: 004 section 4.2, eq 4.5-4.11.
    """
    if not isinstance(system, System):
        raise ValueError(f"constraint_algorithm needs a System; got {system!r}.")
    if system.holonomic is not None or system.nonholonomic is not None:
        raise ValueError("constraint_algorithm is for vakonomic constraints (or none); holonomic and nonholonomic ones give no such chain.")
    if not system.space.flat:
        raise ValueError(f"constraint_algorithm needs a flat space; got {system.space}.")
    system.check()
    chain, rng = Chain(system), np.random.default_rng(seed)
    n, m = chain.n, chain.m
    g, cuts, dimensions, counts = chain.equations, [], [3 * n - m], [m]
    stable, symplectic, smallest = None, False, 0.0
    for k in range(1, 3 * n + m + 2):
        _, J, b, G = chain.points(chain.look(g), rng, samples)
        if not len(J):
            break
        dimensions.append(3 * n + m - max(rank(x[:, 1:]) for x in J))
        counts.append(dimensions[-2] - dimensions[-1])
        if k == 1:
            smallest = min(float(np.linalg.svd(x, compute_uv=False)[-1]) for x in G)
        cut = next_cut(b, G)
        if cut is None:
            stable, symplectic = k, all(is_symplectic(x[:, 1:], n) for x in J)
            break
        cuts.append(cut)
        g = chain.extend(g, cut)
    from accion.symbolic.chain import printed  # SymPy takes long to import

    equations, determinant, reason = printed(system, cuts, seconds)
    levels = tuple(Level(d, c, e) for d, c, e in zip(dimensions, counts, equations[: len(dimensions)], strict=True))
    return ConstraintAlgorithm(system, levels, stable, symplectic, smallest, determinant, reason)


def next_cut(b, G):
    """The equations that a motion in W_k must satisfy besides those of W_k, None where there are none."""
    r = max(map(rank, G))
    R, C = pivots(next(A for A in G if rank(A) == r), r)
    others = [j for j in range(G.shape[1]) if j not in R]
    new = np.array(
        [x[others] - A[np.ix_(others, C)] @ np.linalg.lstsq(A[np.ix_(R, C)], x[list(R)], rcond=None)[0] for x, A in zip(b, G, strict=True)]
    )
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    rows = tuple(j for j, column in zip(others, new.T, strict=True) if np.max(np.abs(column)) > SMALL * scale)
    return Cut((R, C), rows) if rows else None


def is_symplectic(derivative, n):
    """Whether dq ^ dp is nondegenerate on the kernel of the derivative of the equations (columns q, p, v, lam)."""
    kernel = scipy.linalg.null_space(derivative, rcond=SMALL)
    q, p = kernel[:n], kernel[n : 2 * n]
    return rank(q.T @ p - p.T @ q) == kernel.shape[1]
