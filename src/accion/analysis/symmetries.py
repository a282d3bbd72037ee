"""The affine symmetries of a system, found by themselves.

X is a symmetry where X^C(L) = df/dt for some f(t, q): where X^C(L) is a null Lagrangian, one whose
Euler-Lagrange equations E say nothing. For X = A q + b these are

    E(X^C(L)) = dE(L).(X, A v, A a) + A^T E(L) = 0         at all (t, q, v, a),

linear equations for A and b in which f does not appear. A discrete X^(1)(Ld) = D1 Ld.X(q0) + D2
Ld.X(q1) is f_{k+1} - f_k where the same holds with the discrete E = D2 Ld(q0, q1) + D1 Ld(q1, q2),
whose arguments all move by X. Under holonomic constraints the equations are asked for on them,
along their virtual displacements. Under nonholonomic ones X^C(L) = df/dt is asked for on the
velocities that they allow, with f = e^(k t) times a polynomial.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.affine import AffineSymmetry, ClosedForm, Integrated
from accion.checks import check_mechanical
from accion.instant.constrained import matrix, nearest, project_at
from accion.stepping.views import discrete

SMALL = 1e-9  # a singular value of equations whose terms are of size one, that counts as zero
FITS = 1e-8  # so does a residual of them
LARGEST_DENOMINATOR = 12
STEP = 0.1  # of the discretised system that is looked at


@dataclass(frozen=True)
class Symmetries:
    """The affine symmetries of a system; iterate over them."""

    system: Any
    method: Any
    found: tuple[AffineSymmetry, ...]

    def __iter__(self):
        return iter(self.found)

    def __len__(self):
        return len(self.found)

    def __getitem__(self, i):
        return self.found[i]

    @property
    def searched(self):
        """What was looked for, in words."""
        f = (
            "any f(t, q)"
            if self.system.nonholonomic is None
            else "f = e^(k t) (e + c.q + q.S q/2) or e t + c.q + q.S q/2"
        )
        return f"X = A q + b with constant A and b, X^C(L) = df/dt with {f}"

    def text(self):
        if not self.found:
            return f"{self.system.name}: no affine symmetries were found, {self.searched}."
        return (
            f"{self.system.name}: affine symmetries with p.X - f conserved, {self.searched}\n"
            + "\n".join(f"  {s.text()}" for s in self.found)
        )

    def __str__(self):
        return self.text()


class Points(NamedTuple):
    """Random points (t, q, v, a), on the constraint where there is one."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def symmetries(system, method=None, *, seed=0) -> Symmetries:
    """All affine fields X(q) = A q + b, A and b constant, with X^C(L) = df/dt for some f(t, q):
    what is conserved without looking for it.

    f may be any function; it is given in closed form where it is e^(k t) times a polynomial of
    second degree in q, and by integration otherwise. With forces F.X = 0 is asked for, too, and
    under constraints that X be a virtual displacement, on the constraint; under nonholonomic
    constraints f is looked for in closed form only, with k the rate of growth of L. Fields that
    depend on time are not looked for. With a `method`, each one says whether the discretised system
    has it, for its own f_k. On flat spaces; vakonomic systems are not looked at.
    """
    if not system.space.flat or isinstance(system.space.identity(), tuple):
        raise ValueError(f"symmetries needs Euclidean or Torus; got {system.space}.")
    check_mechanical(system, "symmetries")
    if system.enters_action:
        raise ValueError("symmetries does not look at vakonomic systems.")
    system.check()
    points = sample(system, seed)
    growth = Growth(system, points)
    rows = np.concatenate(
        [
            growth.rows() if system.nonholonomic is not None else null_rows(system, points),
            acting_rows(system, points),
        ]
    )
    basis = simple(null_space(rows), rows)
    if system.constraint is not None:
        basis = different(basis, points.q)
    kept: Any = (
        [None] * len(basis) if method is None else survive(system, method, growth, points, basis)
    )
    found = [
        AffineSymmetry(*parts(u), growth.closed(u), system.names, method, k)
        for u, k in zip(basis, kept, strict=True)
    ]
    return Symmetries(system, method, tuple(found))


def sample(system, seed):
    """Random points; where there are constraints they are moved there, the accelerations by the
    constraint's second derivative.
    """
    n, rng = system.space.dim, np.random.default_rng(seed)
    count = 2 * (n * n + n) + 20
    t, (q, v, a) = rng.uniform(0.1, 2, count), rng.normal(size=(3, count, n))
    if system.constraint is None:
        return Points(t, q, v, a)

    def moved(t, q, v, a):
        q, v = project_at(system, t, q, v)

        def hidden(t, q, v):
            return system.constraint.on_velocities(system, t, q, v)

        off = jax.jvp(hidden, (t, q, v), (jnp.ones(()), v, a))[1]
        return t, q, v, a - jnp.linalg.lstsq(jax.jacfwd(hidden, 2)(t, q, v), off)[0]

    return Points(*map(np.asarray, jax.jit(jax.vmap(moved))(t, q, v, a)))


# ---------------------------------------------------------------- rows over (A, b)


def parts(u):
    """(A, b) of the vector of both."""
    n = int((np.sqrt(4 * len(u) + 1) - 1) / 2)
    return u[: n * n].reshape(n, n), u[n * n :]


def pairing(covector, q):
    """The row of covector.X(q)."""
    return jnp.concatenate([jnp.outer(covector, q).ravel(), covector])


def change_of(E: Callable[..., Any], arguments, moves):
    """The rows of dE.(X of each argument) + A^T E, shape (terms, n, size), of an E of shape (terms,
    n); `moves` says which arguments b moves.
    """
    value, slopes = E(*arguments), jax.jacfwd(E, tuple(range(len(arguments))))(*arguments)
    terms, n = value.shape
    linear = sum(J[..., None] * z for J, z in zip(slopes, arguments, strict=True))
    linear = linear + jnp.einsum("ki,tj->tijk", jnp.eye(n), value)
    shift = sum(J for J, move in zip(slopes, moves, strict=True) if move)
    return jnp.concatenate([linear.reshape(terms, n, n * n), shift], axis=-1)


def along_allowed(system, rows, t, q, v):
    """Rows of shape (points, terms, n, size) combined along the virtual displacements at (t, q, v),
    their terms added, in units of the terms.
    """
    if system.constraint is not None:
        A = np.asarray(jax.jit(jax.vmap(lambda *z: matrix(system, *z)))(t, q, v))
        good = np.all(np.isfinite(A), axis=(1, 2))
        _, _, Vt = np.linalg.svd(A[good])
        rows = np.einsum("pij,ptjk->ptik", Vt[:, A.shape[1] :], rows[good])
    rows = np.moveaxis(rows, 1, 0).reshape(rows.shape[1], -1, rows.shape[-1])
    return in_units(np.sum(rows, axis=0), np.sum(np.linalg.norm(rows, axis=-1), axis=0))


def in_units(rows, size):
    """Finite rows, divided by the size of the terms that they are sums of: what is left by
    cancellation is then small.
    """
    good = np.all(np.isfinite(rows), axis=1) & (size > 0)
    return rows[good] / size[good, None]


def null_rows(system, points):
    """E(X^C(L)) = 0, with E = d/dt dL/dv - dL/dq in two terms."""

    def at(t, q, v, a):
        def E(q, v, a):
            momentum = jax.grad(system.L, 2)
            return jnp.stack(
                [
                    jax.jvp(momentum, (t, q, v), (jnp.ones(()), v, a))[1],
                    -jax.grad(system.L, 1)(t, q, v),
                ]
            )

        return change_of(E, (q, v, a), (True, False, False))

    return along_allowed(
        system, np.asarray(jax.jit(jax.vmap(at))(*points)), points.t, points.q, points.v
    )


def acting_rows(system, points):
    """F.X = 0 and, for constraints, A X = 0."""

    def at(t, q, v):
        rows = [pairing(system.F(t, q, v), q)] if system.force is not None else []
        if system.constraint is not None:
            rows += [pairing(a, q) for a in matrix(system, t, q, v)]
        return jnp.stack(rows)

    size = points.q.shape[1] * (points.q.shape[1] + 1)
    if system.force is None and system.constraint is None:
        return np.zeros((0, size))
    rows = np.asarray(jax.jit(jax.vmap(at))(*points[:3])).reshape(-1, size)
    return in_units(rows, np.linalg.norm(rows, axis=1))


# ---------------------------------------------------------------- f in closed form


def polynomials(q):
    """1, q and the products of second degree, a row for each configuration."""
    i, j = np.triu_indices(q.shape[1])
    return np.hstack([np.ones((len(q), 1)), q, q[:, i] * q[:, j]])


def candidates(k, t, q):
    """e^(k t) times them; with k = 0, t in place of 1."""
    found = np.exp(k * t)[:, None] * polynomials(q)
    if k == 0:
        found[:, 0] = t
    return found


def candidate_rates(k, t, q, v):
    """d/dt of the candidates along (q, v)."""
    i, j = np.triu_indices(q.shape[1])
    along = np.hstack(
        [np.full((len(q), 1), float(k == 0)), v, q[:, i] * v[:, j] + v[:, i] * q[:, j]]
    )
    return np.exp(k * t)[:, None] * (k * polynomials(q) + along)


class Growth:
    """X^C(L) at the points, and the f in closed form whose rates it may be."""

    def __init__(self, system, points):
        self.system = system
        lifted, later = jax.jit(jax.vmap(self.lifted))(*points[:3])
        self.good = np.all(np.isfinite(lifted), axis=1) & np.all(np.isfinite(later), axis=1)
        self.points = Points(*(x[self.good] for x in points))
        self.lifted_rows, self.later = np.asarray(lifted)[self.good], np.asarray(later)[self.good]
        self.size = np.linalg.norm(self.lifted_rows, axis=1)
        self.size = np.where(self.size > 0, self.size, 1.0)

    def lifted(self, t, q, v):
        """The row of X^C(L), and its derivative by time."""

        def row(t):
            Lq, Lv = jax.grad(self.system.L, (1, 2))(t, q, v)
            return jnp.concatenate([(jnp.outer(Lq, q) + jnp.outer(Lv, v)).ravel(), Lq])

        return jax.jvp(row, (t,), (jnp.ones(()),))

    @cached_property
    def rates(self):
        """The k that are tried under nonholonomic constraints: zero and, where dL/dt = k L, that
        one.
        """
        L, dL = jax.jit(jax.vmap(jax.value_and_grad(self.system.L)))(*self.points[:3])
        k = rate_of(np.asarray(L), np.asarray(dL))
        return (0.0,) if not k else (0.0, k)

    def rows(self):
        """Rows over (A, b) that are zero where X^C(L) = df/dt for a candidate f: what is left of
        X^C(L) beside them.
        """
        columns = np.hstack([candidate_rates(k, *self.points[:3]) for k in self.rates])
        return beside(self.lifted_rows / self.size[:, None], columns / self.size[:, None])

    def closed(self, u):
        """The f of a field: in closed form, else by integration, None where a constraint forbids
        that.
        """
        R, later = self.lifted_rows @ u, self.later @ u
        scale = self.size * np.linalg.norm(u)
        for k in dict.fromkeys((0.0, rate_of(R, later))):
            f = self.fitted(R, scale, k)
            if f is not None:
                return f
        if self.system.constraint is not None:
            return None
        return Integrated(self.system, *parts(u), self.points.q[0], self.points.v[0])

    def fitted(self, R, scale, k):
        """The simplest `ClosedForm` with the rate k whose df/dt is R at the points, None where
        there is none.
        """
        n, columns = self.points.q.shape[1], candidate_rates(k, *self.points[:3])
        # Under a constraint several f are equal: without q, linear in q, then quadratic.
        for used in (1, 1 + n, columns.shape[1]):
            good = np.linalg.lstsq(columns[:, :used] / scale[:, None], R / scale, rcond=None)[0]
            for w in (fractions(good), good):
                if np.max(np.abs(columns[:, :used] @ w - R) / scale) < FITS:
                    w = np.concatenate([w, np.zeros(columns.shape[1] - used)])
                    S = np.zeros((n, n))
                    S[np.triu_indices(n)] = w[1 + n :]
                    return ClosedForm(float(w[0]), w[1 : 1 + n], S + S.T, k)
        return None


def rate_of(values, slopes):
    """k with slopes = k values, 0 where there is none."""
    square = values @ values
    k = float(slopes @ values / square) if square > 0 else 0.0
    return (
        float(fractions(np.array([k]))[0])
        if np.max(np.abs(slopes - k * values)) <= FITS * np.max(np.abs(values))
        else 0.0
    )


def fractions(numbers):
    """The same, those near simple fractions made so."""
    clean = np.array([float(Fraction(x).limit_denominator(LARGEST_DENOMINATOR)) for x in numbers])
    return np.where(np.abs(clean - numbers) < 1e-6, clean, numbers) + 0.0  # no -0


def beside(rows, columns):
    """What is left of rows when combinations of columns are taken away."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    U = U[:, s > SMALL * s[0]]
    return rows - U @ (U.T @ rows)


# ---------------------------------------------------------------- the null space


def null_space(rows):
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, Vt = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
    rank = int(np.sum(s > SMALL * np.sqrt(len(rows))))
    return Vt[rank:]


def simple(basis, rows):
    """The same space by reduced echelon form, entries near simple fractions made so."""
    basis = basis.copy()
    row = 0
    for column in range(basis.shape[1]):
        if row == len(basis):
            break
        k = row + int(np.argmax(np.abs(basis[row:, column])))
        if abs(basis[k, column]) < 1e-7:
            continue
        basis[[row, k]] = basis[[k, row]]
        basis[row] /= basis[row, column]
        others = np.arange(len(basis)) != row
        basis[others] -= np.outer(basis[others, column], basis[row])
        row += 1
    found = []
    for u in basis[:row]:
        clean = fractions(u)
        u = (
            clean
            if not len(rows) or np.max(np.abs(rows @ clean)) < FITS * np.linalg.norm(clean)
            else u
        )
        A = parts(u)[0]
        # A rotation turns from the first coordinate to the second.
        found.append(
            -u if np.any(A) and not np.any(A + A.T) and A[np.nonzero(np.triu(A))][0] > 0 else u
        )
    return found


def different(basis, q):
    """Fields that are different on the constraint, where the points `q` are; of several that are
    equal there the simplest.
    """
    found, seen = [], np.zeros((0, q.size))
    for u in sorted(basis, key=lambda u: (np.count_nonzero(parts(u)[0]), np.count_nonzero(u))):
        A, b = parts(u)
        more = np.vstack([seen, (q @ A.T + b).ravel()])
        if np.linalg.matrix_rank(more, tol=1e-7 * np.max(np.abs(more))) > len(seen):
            found.append(u)
            seen = more
    return found


# ---------------------------------------------------------------- the discretised system


def survive(system, method, growth, points, basis):
    """Whether the discretised system has each field, with some f_k."""
    if not basis:
        return []
    rows = (
        paired_rows(system, method, growth, points)
        if system.nonholonomic is not None
        else discrete_null_rows(system, method, points)
    )
    rows = np.concatenate([rows, work_rows(system, method, points)])
    return [bool(np.max(np.abs(rows @ u), initial=0.0) < FITS * np.linalg.norm(u)) for u in basis]


def discrete_null_rows(system, method, points):
    """The discrete E of D1 Ld.X(q0) + D2 Ld.X(q1) = 0, at three configurations on the
    constraint.
    """
    d, h = discrete(system, method), STEP

    def at(t, q, v, a):
        def E(q0, q1, q2):
            return jnp.stack([d.D2(t, h, q0, q1), d.D1(t + h, h, q1, q2)])

        three = [
            project_at(system, t + k * h, q + k * h * v + h**2 * a * (k == 2), v)[0]
            for k in range(3)
        ]
        return change_of(E, three, (True, True, True)), three[1]

    rows, middle = map(np.asarray, jax.jit(jax.vmap(at))(*points))
    return along_allowed(system, rows, points.t + h, middle, points.v)


def paired_rows(system, method, growth, points):
    """What is left of D1 Ld.X(q0) + D2 Ld.X(q1) beside f(t + h, q1) - f(t, q0) of the candidates,
    on steps that satisfy the constraint.
    """
    d, h = discrete(system, method), STEP

    def at(t, q, v):
        def closure(x):
            return system.constraint.closure(
                system, method.samples(system.space, t, h, q, x), t + h, q + x
            )

        x, ok = nearest(closure, h * v)
        ends = (q, jnp.where(ok, q + x, jnp.nan))
        return pairing(d.D1(t, h, *ends), ends[0]) + pairing(d.D2(t, h, *ends), ends[1]), ends[1]

    rows, end = map(np.asarray, jax.jit(jax.vmap(at))(*points[:3]))
    columns = np.hstack(
        [candidates(k, points.t + h, end) - candidates(k, points.t, points.q) for k in growth.rates]
    )
    size = np.linalg.norm(rows, axis=1)
    good = np.isfinite(size) & (size > 0)
    return beside(rows[good] / size[good, None], columns[good] / size[good, None])


def work_rows(system, method, points):
    """Fd^-.X(q0) + Fd^+.X(q1) = 0, where a force acts."""
    size = points.q.shape[1] * (points.q.shape[1] + 1)
    if system.force is None:
        return np.zeros((0, size))
    d, h = discrete(system, method), STEP

    def at(t, q, v):
        return jnp.stack(
            [
                pairing(d.force_minus(t, h, q, q + h * v), q),
                pairing(d.force_plus(t, h, q, q + h * v), q + h * v),
            ]
        )

    both = np.asarray(jax.jit(jax.vmap(at))(*points[:3]))
    return in_units(np.sum(both, axis=1), np.sum(np.linalg.norm(both, axis=-1), axis=1))
