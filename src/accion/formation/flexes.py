"""Whether a framework (graph, positions) moves, also where its first-order motions do not tell.

A flex is a motion p' of the agents that keeps all distances to first order, R p' = 0, and moves
more than the whole; a stress is w with w R = 0. With Q_w(p') = sum of w_ij |p'_i - p'_j|^2:

    no flex                                    rigid (infinitesimally)
    the rank of R is the largest of the graph  it moves along its flexes (Asimow and Roth 1978)
    Q_w > 0 on all flexes for one w            rigid, by prestress stability (Connelly and Whiteley
                                               1996)
    a flex with Q_w = 0 for all w              it goes on to second order; it may move or not
"""  # fmt: skip

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from accion.formation.graph import Graph
from accion.formation.rigidity import (
    ROUNDOFF,
    check_positions,
    congruent,
    numerical_rank,
    rigidity_matrix,
)
from accion.told import Told
from accion.types import ArrayLike

SMALL = ROUNDOFF**0.5  # of second derivatives, relative to their size
REACH = (0.02, 0.05, 0.1)  # how far motions are followed, in parts of the size of the framework
CUTS = 200  # of the search for a stress
TRIES = 12  # flexes that are followed, where there are many

Why = Literal["first order", "prestress", "regular point", "motion", "undecided"]
WORDS: dict[Why, str] = {
    "first order": "only motions of the whole keep the distances to first order",
    "prestress": "every flex stretches it to second order, by one stress (prestress stability)",
    "regular point": "no position of its agents has a larger rank, so that it moves along its"
    " flexes",
    "motion": "a motion was followed that keeps all distances, to a tenth of its size",
    "undecided": "the second order does not tell: no stress stops all flexes, and no motion was"
    " found to a tenth of its size",
}


@final
@dataclass(frozen=True, repr=False)
class Framework(Told):
    """What a framework allows: `rigid` is True, False where it moves, None where it could not be
    decided; `why`, in a word, and `text()`.

    `flexes` and `stresses` count those that do not depend on each other; `flex` is the first-order
    motion that `why` is about, shape (n, d), and `stress` the one that stops all flexes, shape
    (m,), where there is one.
    """

    rigid: bool | None
    why: Why
    flexes: int
    stresses: int
    flex: np.ndarray | None = None
    stress: np.ndarray | None = None

    def text(self) -> str:
        """What was found, in words."""
        head = {True: "rigid", False: "it moves", None: "cannot decide"}[self.rigid]
        return f"{head}: {WORDS[self.why]} (flexes {self.flexes}, stresses {self.stresses})"

    def __str__(self) -> str:
        return self.text()


def framework(graph: Graph, q: ArrayLike) -> Framework:
    """Whether a framework is rigid (only motions of the whole keep its distances), or moves, or
    neither could be shown.

    Arguments: `graph`; `q`, positions, shape (n, d) or (n d,). Rigid to first order is
    `infinitesimally_rigid`; where it is not, it moves if the rank of its rigidity matrix is the
    largest that the graph has, and is rigid if one stress gives all flexes a positive second
    derivative. Else motions are looked for along flexes that go on to second order.

    Raises: ValueError where `q` has another shape.
    Reference: Colombo-Gamonal, section 6.1 (rigid); Connelly and Whiteley, SIAM J. Discrete Math. 9
    (1996).
    """
    points = check_positions(graph, q)
    points = points - points.mean(axis=0)
    size = float(np.max(np.linalg.norm(points, axis=1)))
    if size == 0:
        return Framework(None, "undecided", points.size - len(rigid_motions(points)), graph.m)
    points = points / size
    R = rigidity_matrix(graph, points)
    u, s, v = np.linalg.svd(R)
    r = int(np.sum(s > ROUNDOFF * s[0]))
    flexes, stresses = beyond_the_whole(v[r:], points), u[:, r:].T
    counts = (len(flexes), len(stresses))
    shape = points.shape
    if not len(flexes):
        return Framework(True, "first order", *counts)
    if r == largest_rank(graph, *shape):
        return Framework(False, "regular point", *counts, flexes[0].reshape(shape))
    Q, size = second_derivatives(graph, flexes, stresses, shape)
    stress = stopping(Q, size)
    if stress is not None:
        return Framework(True, "prestress", *counts, flexes[0].reshape(shape), stress @ stresses)
    along = moving(graph, points, R, flexes, Q / size)
    if along is not None:
        return Framework(False, "motion", *counts, along.reshape(shape))
    return Framework(None, "undecided", *counts, flexes[0].reshape(shape))


def rigid_motions(points: np.ndarray) -> np.ndarray:
    """Velocities of motions of the whole, orthonormal, shape (k, n d)."""
    n, d = points.shape
    moves = [np.tile(axis, (n, 1)).ravel() for axis in np.eye(d)]
    for a in range(d):
        for b in range(a):
            turn = np.zeros((n, d))
            turn[:, a], turn[:, b] = -points[:, b], points[:, a]
            moves.append(turn.ravel())
    _, s, v = np.linalg.svd(np.array(moves), full_matrices=False)
    return v[s > ROUNDOFF * s[0]]


def beyond_the_whole(kernel: np.ndarray, points: np.ndarray) -> np.ndarray:
    """A basis of what is in `kernel`, orthonormal rows, besides motions of the whole."""
    whole = rigid_motions(points)
    rest = kernel - kernel @ whole.T @ whole
    _, s, v = np.linalg.svd(rest, full_matrices=False)
    return v[s > 0.5]  # the whole is in the kernel: each is 0 or 1


def largest_rank(graph: Graph, n: int, d: int) -> int:
    """Of the rigidity matrix, at any positions: that of random ones."""
    rng = np.random.default_rng(1)
    return numerical_rank(rigidity_matrix(graph, rng.normal(size=(n, d))))


def second_derivatives(
    graph: Graph, flexes: np.ndarray, stresses: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, float]:
    """Q_w of each stress as a matrix on the flexes, shape (stresses, flexes, flexes), and the size
    of the terms of which it is the sum.
    """
    p = flexes.reshape(-1, *shape)
    apart = p[:, graph.tails] - p[:, graph.heads]
    Q = np.einsum("se,aec,bec->sab", stresses, apart, apart)
    terms = np.einsum("se,aec->s", np.abs(stresses), apart**2)
    return Q, float(np.max(terms, initial=1e-300))


def stopping(Q: np.ndarray, size: float) -> np.ndarray | None:
    """The coefficients of a stress for which all flexes have a positive second derivative, or None:
    the least eigenvalue, which is concave in them, at its largest by cutting planes.
    """
    from scipy.optimize import linprog

    count = len(Q)
    if count == 0:
        return None
    cuts, goal = [], np.append(np.zeros(count), -1.0)
    w = np.zeros(count)
    bounds = [(-1.0, 1.0)] * count + [(None, size * count)]
    for _ in range(CUTS):
        values, vectors = np.linalg.eigh(np.tensordot(w, Q, 1))
        if values[0] > SMALL * size:
            return w
        cuts += [np.append(-np.einsum("sab,a,b->s", Q, f, f), 1.0) for f in vectors.T]
        found = linprog(goal, A_ub=np.array(cuts), b_ub=np.zeros(len(cuts)), bounds=bounds)
        if found.x is None or -found.fun <= SMALL * size:
            return None
        w = found.x[:-1]
    return None


def moving(
    graph: Graph, points: np.ndarray, R: np.ndarray, flexes: np.ndarray, Q: np.ndarray
) -> np.ndarray | None:
    """A flex along which a motion is found that keeps all distances: configurations at several
    distances from this one, none of them congruent with it.
    """
    for f in candidates(flexes, Q):
        p = f.reshape(points.shape)
        bent = np.sum((p[graph.tails] - p[graph.heads]) ** 2, axis=1)
        second = np.linalg.lstsq(R, -bent, rcond=SMALL)[0]
        scale = np.max(np.linalg.norm(p, axis=1))
        for sign in (1.0, -1.0):
            starts = (sign * a / scale * f + 0.5 * (a / scale) ** 2 * second for a in REACH)
            if all(
                goes_on(graph, points, start, a) for start, a in zip(starts, REACH, strict=True)
            ):
                return sign * f
    return None


def candidates(flexes: np.ndarray, Q: np.ndarray) -> list[np.ndarray]:
    """Flexes, of length one, that go on to second order: Q_w = 0 for all stresses; `Q` over the
    size of its terms.
    """
    from scipy.optimize import least_squares

    def left(c: np.ndarray) -> np.ndarray:
        return np.einsum("sab,a,b->s", Q, c, c)

    k, rng = len(flexes), np.random.default_rng(2)
    starts = np.ones((1, 1)) if k == 1 else rng.normal(size=(TRIES, k))
    found = []
    for start in starts:
        c = least_squares(lambda c: np.append(left(c), c @ c - 1), start).x
        if np.max(np.abs(left(c)), initial=0.0) <= SMALL:
            found.append(c / np.linalg.norm(c) @ flexes)
    return found


def goes_on(graph: Graph, points: np.ndarray, start: np.ndarray, reach: float) -> bool:
    """Whether near `points` + `start` there are positions with the same distances, and about as far
    from being congruent with these.
    """
    from scipy.optimize import least_squares

    def stretch(x: np.ndarray) -> np.ndarray:
        x = x.reshape(points.shape)
        return np.sum((x[graph.tails] - x[graph.heads]) ** 2, axis=1) - lengths

    lengths = np.sum((points[graph.tails] - points[graph.heads]) ** 2, axis=1)
    at = least_squares(
        stretch,
        points.ravel() + start,
        jac=lambda x: 2 * rigidity_matrix(graph, x),  # pyright: ignore[reportArgumentType]
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    off = np.max(np.abs(at.fun), initial=0.0)
    far = congruent(points, at.x.reshape(points.shape)).distance
    return bool(off < 1e-13 and far > 0.1 * reach)
