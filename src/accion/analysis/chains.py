"""Chains of submanifolds on which equations with free variables have motions: the constraint
algorithm of Gotay, Nester and Hinds (1978), for any presymplectic system that gives its equations.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_map
from accion.types import Array, Configuration

SMALL = 1e-8  # a singular value or a residual below this, relative to the largest, counts as zero
STEPS = 200


class Words(NamedTuple):
    """How a chain speaks of its system."""

    subject: str  # the system, and what it has
    point: str  # what gives a point of W1
    free: str  # what is not determined where W1 is not symplectic
    follows: str  # what follows where it is
    test: str = "The determinant of the test 4.11"  # of whether W1 is symplectic


@dataclass(frozen=True)
class Cut:
    """Equations that follow from g = 0 by differentiation: rows that the pivots cannot reach, b_r -
    G_rC (G_RC)^-1 b_R.
    """

    pivots: tuple[tuple[int, ...], tuple[int, ...]]
    rows: tuple[int, ...]


class Chain(ABC):
    """The functions on z = (t, q, p, free variables) and their derivatives along a motion.

    q stands for n numbers that are moved, p for their momenta; the rates of the free variables
    follow from the equations or not at all. z is measured in units in which all sizes are alike
    (`scale`), so that ranks do not depend on those of the user.
    """

    n: int
    m: int  # the equations that define W0, the first of `equations`
    first: int  # where the free variables begin
    size: int  # of z
    scale: np.ndarray
    beside: int  # free variables that are no coordinates of W0
    words: Words

    @abstractmethod
    def equations(self, z: Array) -> Array:
        """What is zero on W1, those of W0 first."""

    @abstractmethod
    def drift(self, z: Array) -> Array:
        """The rates of (t, q, p) along a motion, zero for the free variables."""

    @abstractmethod
    def form(self, z: Array) -> Array:
        """dq ^ dp on changes of (q, p), shape (2 n, 2 n)."""

    @abstractmethod
    def random(self, rng: np.random.Generator, samples: int) -> np.ndarray:
        """Points to start from, shape (samples, size)."""

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
        """A compiled function of many points: g, its derivative, its rate (b, G) and the form at
        each.
        """
        return partial(small_map(lambda _, z: (*self.rate(g, z), self.form(z))), ())

    def points(
        self, rates: Callable[..., Any], rng: np.random.Generator, samples: int
    ) -> list[np.ndarray]:
        """(g, its derivative, b, G, the form) at points with g = 0, found by Gauss-Newton from
        random ones; those where it failed are left out.
        """
        z = self.random(rng, samples)
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


class Followed(NamedTuple):
    """What was found of a chain: the dimension of each W_k and how many it lost, the cuts, where it
    ends and whether that is symplectic, and the least singular value of G on W1.
    """

    dimensions: list[int]
    counts: list[int]
    cuts: list[Cut]
    stable: int | None
    symplectic: bool
    smallest: float


def followed(
    chain: Chain, rng: np.random.Generator, samples: int, check: Callable[[np.ndarray], None]
) -> Followed:
    """The chain from W0 on until nothing new comes; `check` sees the derivative of the equations
    that define W0.
    """
    m, whole = chain.m, chain.size - 1
    g, before, cuts = chain.equations, chain.equations, []
    dimensions, counts = [whole - m - chain.beside], [m]
    stable, symplectic, smallest = None, False, 0.0
    for k in range(1, whole + 2):
        _, J, b, G, form = chain.points(chain.rates_of(g), rng, samples)
        if not len(J):
            break
        if k == 1:
            check(J[:, :m, 1:])
        else:
            kept, keep = independent(cuts[-1], J[:, :, 1:])
            cuts[-1], g = kept, chain.extend(before, kept)
            J, b, G = J[:, keep], b[:, keep], G[:, keep]
        dimensions.append(whole - max(rank(x[:, 1:]) for x in J))
        counts.append(dimensions[-2] - dimensions[-1])
        if k == 1:
            smallest = min(float(np.linalg.svd(x, compute_uv=False)[-1]) for x in G)
        cut = next_cut(b, G)
        if cut is None:
            both = zip(J, form, strict=True)
            stable, symplectic = k, all(is_symplectic(x[:, 1:], w) for x, w in both)
            break
        cuts.append(cut)
        before, g = g, chain.extend(g, cut)
    return Followed(dimensions, counts, cuts, stable, symplectic, smallest)


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


def is_symplectic(derivative: np.ndarray, form: np.ndarray) -> bool:
    """Whether the form on (q, p) is nondegenerate on the kernel of the derivative of the equations
    (columns q, p and the free variables).
    """
    from scipy import linalg  # takes long to import

    kernel = linalg.null_space(derivative, rcond=SMALL)
    moved = kernel[: len(form)]
    return rank(moved.T @ form @ moved) == kernel.shape[1]
