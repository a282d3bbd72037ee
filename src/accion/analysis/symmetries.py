"""The affine symmetries of a system, found by themselves."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from accion.analysis.noether import Symmetry
from accion.discrete import discrete
from accion.inputs import check_mechanical
from accion.nodes import matrix, project_at

SMALL = 1e-9  # a singular value, relative to the largest, or a residual that counts as zero
LARGEST_DENOMINATOR = 12
STEP = 0.1  # of the discretised system that is looked at


@dataclass(frozen=True)
class AffineSymmetry:
    """X(q) = A q + b with f(t, q) = e t + c.q + q.S q/2: p.X - f is conserved.

    `survives` says whether the discretised system has it, None where no method was given.
    """

    A: np.ndarray
    b: np.ndarray
    e: float
    c: np.ndarray
    S: np.ndarray
    names: tuple[str, ...]
    survives: bool | None = None

    @property
    def symmetry(self):
        """As a `Symmetry`."""
        A, b, e, c, S = (jnp.asarray(x) for x in (self.A, self.b, self.e, self.c, self.S))
        return Symmetry(lambda q: A @ q + b, lambda t, q: e * t + c @ q + q @ S @ q / 2)

    @property
    def kind(self):
        """translation, rotation, scaling or linear."""
        if not np.any(self.A):
            return "translation"
        if not np.any(self.A + self.A.T):
            return "rotation"
        return "scaling" if not np.any(self.A - np.diag(np.diag(self.A))) else "linear"

    def text(self):
        words = self.kind
        if self.kind == "translation":
            words += " along " + written(self.b, self.names)
        elif self.kind == "rotation":
            planes = [f"({self.names[j]}, {self.names[i]})" for i in range(len(self.b)) for j in range(i) if self.A[i, j]]
            words += (" in the plane " if len(planes) == 1 else " in the planes ") + ", ".join(planes)
        field = ", ".join(
            f"X_{name} = {written([*row, shift], (*self.names, '1'))}" for name, row, shift in zip(self.names, self.A, self.b, strict=True)
        )
        f = written([self.e, *self.c], ("t", *self.names))
        f = " + ".join(part for part in (f if f != "0" else "", quadratic(self.S, self.names)) if part)
        lines = [f"{words}: {field}" + (f"; f = {f}" if f else "")]
        if self.survives is not None:
            lines.append(f"    {'kept' if self.survives else 'lost'} by the discretisation")
        return "\n".join(lines)


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

    def text(self):
        if not self.found:
            return f"{self.system.name} has no affine symmetries."
        return f"{self.system.name}: affine symmetries with p.X - f conserved\n" + "\n".join(f"  {s.text()}" for s in self.found)

    def __str__(self):
        return self.text()


def written(coefficients, names):
    """A linear combination as a person writes it; the name "1" stands for the constant."""
    text = ""
    for c, name in zip(coefficients, names, strict=True):
        if c:
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            size = f"{abs(c):.6g}"
            text += sign + (size if name == "1" else name if size == "1" else f"{size} {name}")
    return text or "0"


def quadratic(S, names):
    """q.S q/2, "" where it is zero."""
    pairs = [(i, j) for i in range(len(S)) for j in range(i, len(S)) if S[i, j]]
    words = [f"{names[i]}^2" if i == j else f"{names[i]} {names[j]}" for i, j in pairs]
    return written([S[i, j] / (2 if i == j else 1) for i, j in pairs], words) if pairs else ""


class Unknowns:
    """The numbers of an affine field and its f in one vector: A, b, e, c and the upper part of S."""

    def __init__(self, n):
        self.n = n
        self.upper = np.triu_indices(n)
        self.ends = np.cumsum([n * n, n, 1, n])
        self.size = int(self.ends[-1]) + len(self.upper[0])
        self.field = n * n + n  # where f begins

    def parts(self, u):
        A, b, e, c, s = np.split(u, self.ends)
        S = np.zeros((self.n, self.n))
        S[self.upper] = s
        return A.reshape(self.n, self.n), b, float(e[0]), c, S + np.triu(S, 1).T

    def force(self, q, force):
        """The row of force.X(q)."""
        return jnp.concatenate([jnp.outer(force, q).ravel(), force])

    def f(self, t, q):
        """The row of f(t, q)."""
        square = jnp.outer(q, q)
        square = (square * (2 - jnp.eye(self.n)) / 2)[self.upper]
        return jnp.concatenate([jnp.array([t]), q, square])


def continuous_rows(system, unknowns, t, q, v):
    """The rows of X^C(L) - df/dt, of F.X, and of A X for constraints, at one point."""
    Lq, Lv = jax.grad(system.L, (1, 2))(t, q, v)
    lifted = jnp.concatenate([(jnp.outer(Lq, q) + jnp.outer(Lv, v)).ravel(), Lq])
    df = jax.jvp(unknowns.f, (t, q), (jnp.ones(()), v))[1]
    rows = [jnp.concatenate([lifted, -df])]
    nothing = jnp.zeros(unknowns.size - unknowns.field)
    if system.force is not None:
        rows.append(jnp.concatenate([unknowns.force(q, system.F(t, q, v)), nothing]))
    if system.constraint is not None:
        rows += [jnp.concatenate([unknowns.force(q, a), nothing]) for a in matrix(system, t, q, v)]
    return jnp.stack(rows)


def discrete_row(system, method, unknowns, t, h, q0, q1):
    """The row of D1 Ld.X(q0) + D2 Ld.X(q1) - f(t + h, q1) + f(t, q0)."""
    d = discrete(system, method)
    field = unknowns.force(q0, d.D1(t, h, q0, q1)) + unknowns.force(q1, d.D2(t, h, q0, q1))
    return jnp.concatenate([field, unknowns.f(t, q0) - unknowns.f(t + h, q1)])


def symmetries(system, method=None, *, seed=0) -> Symmetries:
    """All affine fields X(q) = A q + b with X^C(L) = df/dt for some f = e t + c.q + q.S q/2: what is conserved without looking for it.

    They are the null space of a linear system over random points, brought to simple numbers. With forces F.X = 0 is asked for, too, and
    under constraints that X be a virtual displacement, on the constraint. With a `method`, each one says whether the discretised system
    has it. On flat spaces; vakonomic systems are not looked at.
    """
    if not system.space.flat or isinstance(system.space.identity(), tuple):
        raise ValueError(f"symmetries needs Euclidean or Torus; got {system.space}.")
    if system.vakonomic is not None:
        raise ValueError("symmetries does not look at vakonomic systems.")
    check_mechanical(system, "symmetries")
    system.check()
    n = system.space.dim
    unknowns, rng = Unknowns(n), np.random.default_rng(seed)
    count = 2 * unknowns.size + 20
    t, (q, v) = rng.uniform(0.1, 2, count), rng.normal(size=(2, count, n))
    if system.constraint is not None:
        q, v = jax.jit(jax.vmap(lambda *z: project_at(system, *z)))(t, q, v)
    rows = np.asarray(jax.jit(jax.vmap(lambda *z: continuous_rows(system, unknowns, *z)))(t, q, v)).reshape(-1, unknowns.size)
    rows = normalised(rows)
    basis = simple(null_space(rows), unknowns, rows)
    if system.constraint is not None:
        basis = different(basis, unknowns, np.asarray(q))
    kept: list[Any] = [None] * len(basis)
    if method is not None and len(basis):
        h = np.full(count, STEP)
        look = jax.jit(jax.vmap(lambda *z: discrete_row(system, method, unknowns, *z)))
        steps = normalised(np.asarray(look(t, h, q, q + STEP * v)))
        kept = [has(steps, u, unknowns) for u in basis]
    return Symmetries(system, method, tuple(AffineSymmetry(*unknowns.parts(u), system.names, k) for u, k in zip(basis, kept, strict=True)))


def normalised(rows):
    rows = rows[np.all(np.isfinite(rows), axis=1)]
    size = np.linalg.norm(rows, axis=1)
    return rows[size > 0] / size[size > 0, None]


def null_space(rows):
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, Vt = scipy.linalg.svd(rows, full_matrices=True)
    rank = int(np.sum(s > SMALL * s[0]))
    return Vt[rank:]


def simple(basis, unknowns, rows):
    """The same space by reduced echelon form, entries near simple fractions made so; constant f alone is no symmetry."""
    basis = basis.copy()
    row = 0
    for column in range(unknowns.size):
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
        if np.max(np.abs(u[: unknowns.field])) < 1e-7:
            continue
        clean = np.array([float(Fraction(x).limit_denominator(LARGEST_DENOMINATOR)) for x in u])
        clean = np.where(np.abs(clean - u) < 1e-6, clean, u) + 0.0  # no -0
        u = clean if not len(rows) or np.max(np.abs(rows @ clean)) < 1e-8 * np.linalg.norm(clean) else u
        A = unknowns.parts(u)[0]
        # A rotation turns from the first coordinate to the second.
        found.append(-u if np.any(A) and not np.any(A + A.T) and A[np.nonzero(np.triu(A))][0] > 0 else u)
    return found


def different(basis, unknowns, q):
    """Fields that are different on the constraint, where the points `q` are; of several that are equal there the simplest."""
    found, seen = [], np.zeros((0, q.size))
    for u in sorted(basis, key=lambda u: (np.count_nonzero(u[: unknowns.n**2]), np.count_nonzero(u))):
        A, b, *_ = unknowns.parts(u)
        more = np.vstack([seen, (q @ A.T + b).ravel()])
        if np.linalg.matrix_rank(more, tol=1e-7 * np.max(np.abs(more))) > len(seen):
            found.append(u)
            seen = more
    return found


def has(rows, u, unknowns):
    """Whether the field of `u` satisfies the rows with some f."""
    left, right = rows[:, : unknowns.field] @ u[: unknowns.field], rows[:, unknowns.field :]
    f = np.linalg.lstsq(right, -left, rcond=None)[0]
    return bool(np.max(np.abs(left + right @ f)) < 1e-8 * np.linalg.norm(u))
