"""Affine fields that change a Lagrangian by a total derivative, X^C(L) = df/dt.

X^C(L) is df/dt for some f(t, q) where it is a null Lagrangian, one whose Euler-Lagrange equations E
say nothing. For X = A q + b these are

    E(X^C(L)) = dE(L).(X, A v, A a) + A^T E(L) = 0         at all (t, q, v, a),

linear equations for A and b in which f does not appear. A discrete X^(1)(Ld) = D1 Ld.X(q0) + D2
Ld.X(q1) is f_{k+1} - f_k where the same holds with the discrete E = D2 Ld(q0, q1) + D1 Ld(q1, q2),
whose arguments all move by X. Under holonomic constraints the equations are asked for on them,
along their virtual displacements. Under nonholonomic ones X^C(L) = df/dt is asked for on the
velocities that they allow, with f = e^(k t) times a polynomial.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.affine import AffineSymmetry, coefficients, turned_forward
from accion.analysis.closed_forms import Growth, Points
from accion.analysis.echelon import (
    also_solving,
    beside,
    different,
    in_own_units,
    in_units,
    null_space,
    simple,
    solves,
)
from accion.analysis.natural import Natural, natural_choices
from accion.engines.auto import each
from accion.instant.constrained import matrix, nearest, project_at
from accion.stepping.views import discrete
from accion.systems import System
from accion.types import Array, Configuration, Covector, Scalar, Vector


def search(system: System, method: Any, seed: int) -> list[AffineSymmetry]:
    """All fields X = A q + b of a `System` on a space of vectors, each with its f."""

    def equations(natural: Natural) -> tuple[Points, Growth, np.ndarray]:
        points = sample(system, seed, natural)
        growth = Growth(system, points, natural)
        own = growth.rows() if system.holds_velocities else null_rows(system, points)
        return points, growth, np.concatenate([own, acting_rows(system, points)])

    natural, *others = natural_choices(system)
    points, growth, rows = equations(natural)
    space = null_space(rows)
    for other in others if len(space) else ():
        more, _, own = equations(other)
        space = also_solving(space, points.units, own, more.units)
    basis = [turned_forward(u) for u in simple(space, rows)]
    if system.constraint is not None:
        basis = different(basis, lambda u: values(u, points.q / points.size), entries)
    kept: list[Any] = [None] * len(basis)
    if method is not None and basis:
        kept = survive(system, method, growth, points, basis)
    found = [in_own_units(u, points.units) for u in basis]
    return [
        AffineSymmetry(*coefficients(u), growth.closed(u / points.units), system.names, method, k)
        for u, k in zip(found, kept, strict=True)
    ]


def values(u: np.ndarray, q: np.ndarray) -> np.ndarray:
    """X at configurations, one in each row."""
    A, b = coefficients(u)
    return q @ A.T + b


def entries(u: np.ndarray) -> tuple[int, int]:
    """How many entries of A, and of A and b, are not zero."""
    return int(np.count_nonzero(coefficients(u)[0])), int(np.count_nonzero(u))


def sample(system: System, seed: int, natural: Natural) -> Points:
    """Random points of natural size; where there are constraints they are moved there, the
    accelerations by the constraint's second derivative.
    """
    n, rng = system.space.dim, np.random.default_rng(seed)
    count = 2 * (n * n + n) + 20
    t, (q, v, a) = natural.t * rng.uniform(0.1, 2, count), rng.normal(size=(3, count, n))
    q, v, a = natural.x * q, natural.rates[0] * v, natural.rates[0] / natural.time * a
    sizes = (natural.x, natural.h)
    constraint = system.constraint
    if constraint is None:
        return Points(t, q, v, a, *sizes)

    def moved(t: Scalar, q: Configuration, v: Vector, a: Any) -> Any:
        q, v = project_at(system, t, q, v)

        def equations(t: Scalar, q: Configuration, v: Vector) -> Any:
            return constraint.on_velocities(system, t, q, v)

        off = jax.jvp(equations, (t, q, v), (jnp.ones(()), v, a))[1]
        # in units of the coordinates, and each equation in its own
        C = jax.jacfwd(equations, 2)(t, q, v) * natural.x
        row = jnp.max(jnp.abs(C), axis=1)
        row = jnp.where(row > 0, row, 1.0)
        return t, q, v, a - natural.x * jnp.linalg.lstsq(C / row[:, None], off / row)[0]

    t, q, v, a = map(np.asarray, jax.jit(jax.vmap(moved))(t, q, v, a))
    return Points(t, q, v, a, *sizes)


# ---------------------------------------------------------------- rows over (A, b)


def pairing(covector: Covector, q: Vector) -> Array:
    """The row of covector.X(q)."""
    return jnp.concatenate([jnp.outer(covector, q).ravel(), covector])


def change_of(E: Callable[..., Any], arguments: Any, moves: tuple[bool, ...]) -> Array:
    """The rows of dE.(X of each argument) + A^T E, shape (terms, n, size), of an E of shape (terms,
    n); `moves` says which arguments b moves.
    """
    value, slopes = E(*arguments), jax.jacfwd(E, tuple(range(len(arguments))))(*arguments)
    terms, n = value.shape
    linear = sum(J[..., None] * z for J, z in zip(slopes, arguments, strict=True))
    linear = linear + jnp.einsum("ki,tj->tijk", jnp.eye(n), value)
    shift = sum(J for J, move in zip(slopes, moves, strict=True) if move)
    return jnp.concatenate([linear.reshape(terms, n, n * n), shift], axis=-1)


def along_allowed(
    system: System, rows: np.ndarray, t: np.ndarray, q: np.ndarray, points: Points
) -> np.ndarray:
    """Rows of shape (points, terms, n, size) combined along the virtual displacements at (t, q),
    their terms added, in units of the terms.
    """
    rows = rows * points.size[:, None] * points.units
    if system.constraint is not None:
        A = np.asarray(each(lambda *z: matrix(system, *z), t, q, points.v))
        A = A * points.size
        good = np.all(np.isfinite(A), axis=(1, 2))
        size = np.max(np.abs(A[good]), axis=2, keepdims=True)
        _, _, Vt = np.linalg.svd(A[good] / np.where(size > 0, size, 1.0))
        rows = np.einsum("pij,ptjk->ptik", Vt[:, A.shape[1] :], rows[good])
    rows = np.moveaxis(rows, 1, 0).reshape(rows.shape[1], -1, rows.shape[-1])
    return in_units(np.sum(rows, axis=0), np.sum(np.linalg.norm(rows, axis=-1), axis=0))


def null_rows(system: System, points: Points) -> np.ndarray:
    """E(X^C(L)) = 0, with E = d/dt dL/dv - dL/dq in two terms."""

    def at(t: Scalar, q: Configuration, v: Vector, a: Any) -> Any:
        def E(q: Configuration, v: Vector, a: Any) -> Any:
            momentum = jax.grad(system.L, 2)
            rate = jax.jvp(momentum, (t, q, v), (jnp.ones(()), v, a))[1]
            return jnp.stack([rate, -jax.grad(system.L, 1)(t, q, v)])

        return change_of(E, (q, v, a), (True, False, False))

    rows = np.asarray(each(at, *points.each))
    return along_allowed(system, rows, points.t, points.q, points)


def acting_rows(system: System, points: Points) -> np.ndarray:
    """F.X = 0 and, for constraints, A X = 0."""

    def at(t: Scalar, q: Configuration, v: Vector) -> Any:
        rows = [pairing(system.F(t, q, v), q)] if system.force is not None else []
        if system.constraint is not None:
            rows += [pairing(a, q) for a in matrix(system, t, q, v)]
        return jnp.stack(rows)

    size = points.q.shape[1] * (points.q.shape[1] + 1)
    if system.force is None and system.constraint is None:
        return np.zeros((0, size))
    rows = np.asarray(each(at, *points[:3])).reshape(-1, size) * points.units
    return in_units(rows, np.linalg.norm(rows, axis=1))


# ---------------------------------------------------------------- the discretised system


def survive(
    system: System, method: Any, growth: Growth, points: Points, basis: list[np.ndarray]
) -> list[bool]:
    """Whether the discretised system has each field, with some f_k."""
    if system.holds_velocities:
        rows = paired_rows(system, method, growth, points)
    else:
        rows = discrete_null_rows(system, method, points)
    rows = np.concatenate([rows, work_rows(system, method, points)])
    return [solves(rows, u) for u in basis]


def discrete_null_rows(system: System, method: Any, points: Points) -> np.ndarray:
    """The discrete E of D1 Ld.X(q0) + D2 Ld.X(q1) = 0, at three configurations on the
    constraint.
    """
    d, h = discrete(system, method), points.h

    def at(t: Scalar, q: Configuration, v: Vector, a: Any) -> Any:
        def E(q0: Configuration, q1: Configuration, q2: Configuration) -> Any:
            return jnp.stack([d.D2(t, h, q0, q1), d.D1(t + h, h, q1, q2)])

        three = [
            project_at(system, t + k * h, q + k * h * v + h**2 * a * (k == 2), v)[0]
            for k in range(3)
        ]
        return change_of(E, three, (True, True, True)), three[1]

    rows, middle = map(np.asarray, each(at, *points.each))
    return along_allowed(system, rows, points.t + h, middle, points)


def paired_rows(system: System, method: Any, growth: Growth, points: Points) -> np.ndarray:
    """What is left of D1 Ld.X(q0) + D2 Ld.X(q1) beside f(t + h, q1) - f(t, q0) of the candidates,
    on steps that satisfy the constraint.
    """
    d, h = discrete(system, method), points.h

    def at(t: Scalar, q: Configuration, v: Vector) -> Any:
        metric = jnp.diag(points.size**-2.0)  # any that knows the units
        x, ok = nearest(lambda x: d.form.closure(t, h, q, x), h * v, metric)
        ends = (q, jnp.where(ok, q + x, jnp.nan))
        return pairing(d.D1(t, h, *ends), ends[0]) + pairing(d.D2(t, h, *ends), ends[1]), ends[1]

    rows, end = map(np.asarray, each(at, *points[:3]))
    rows = rows * points.units
    columns = growth.changes(points, end)
    size = np.linalg.norm(rows, axis=1)
    good = np.isfinite(size) & (size > 0)
    return beside(rows[good] / size[good, None], columns[good] / size[good, None])


def work_rows(system: System, method: Any, points: Points) -> np.ndarray:
    """Fd^-.X(q0) + Fd^+.X(q1) = 0, where a force acts."""
    size = points.q.shape[1] * (points.q.shape[1] + 1)
    if system.force is None:
        return np.zeros((0, size))
    d, h = discrete(system, method), points.h

    def at(t: Scalar, q: Configuration, v: Vector) -> Any:
        end = q + h * v
        minus, plus = d.force_minus(t, h, q, end), d.force_plus(t, h, q, end)
        return jnp.stack([pairing(minus, q), pairing(plus, end)])

    both = np.asarray(each(at, *points[:3])) * points.units
    return in_units(np.sum(both, axis=1), np.sum(np.linalg.norm(both, axis=-1), axis=1))
