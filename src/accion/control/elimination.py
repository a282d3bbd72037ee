"""Controls eliminated from the equations of motion: what the actuated directions lack is the
control, what the others lack is a constraint (Vakonomic thesis, sections 7.1 and 8.5).

A force balance E, such as d/dt dL/dv - dL/dq - F, is split into

    E = B u + K Phi,        (u, Phi) = [B K]^-1 E = (Wu E, Wphi E)

with the columns of K complementary to those of B. The motion is one under the controls u where Phi
= 0; then u does not depend on the choice of K.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.control.actuation import Actuation, Selected
from accion.numerics import newton
from accion.numerics.dependence import depends
from accion.systems import System
from accion.systems.rank import evened
from accion.types import Array, Configuration, Covector, Params, Scalar, Vector

OTHER = 'try optimize(problem, method, steps, formulation="direct")'
WRITTEN_OUT = 4  # rows of B, up to which its minors are


@dataclass(frozen=True)
class Constant:
    """A complement that is the same everywhere: the columns of K, as tuples so that it is compared
    by value.
    """

    columns: tuple[tuple[float, ...], ...]

    def __call__(self, B: Array) -> Array:
        return jnp.asarray(np.array(self.columns).reshape(-1, B.shape[0]).T)


@dataclass(frozen=True)
class Minors:
    """The complement of n - 1 columns in n rows: the vector of their minors, at right angles to all
    of them, and smooth wherever they are independent.
    """

    def __call__(self, B: Array) -> Array:
        rows = [[B[i, j] for j in range(B.shape[1])] for i in range(B.shape[0])]
        minors = [(-1) ** i * determinant([*rows[:i], *rows[i + 1 :]]) for i in range(B.shape[0])]
        return jnp.stack(minors)[:, None]


def determinant(rows: list[list[Any]]) -> Any:
    """That of a small matrix, along its first row."""
    if not rows:
        return 1.0
    first, *rest = rows
    return sum(
        (-1) ** j * x * determinant([[*row[:j], *row[j + 1 :]] for row in rest])
        for j, x in enumerate(first)
    )


@dataclass(frozen=True)
class Elimination:
    """How the controls of an actuation B are eliminated, with the complement K of its columns."""

    B: Actuation
    K: Constant | Minors
    count: int  # of constraints

    def split(
        self, t: Scalar, q: Configuration, params: Params, E: Covector
    ) -> tuple[Array, Array]:
        """(u, Phi) with B u + K Phi = E."""
        if isinstance(self.B, Selected):
            others = [i for i in range(self.B.n) if i not in self.B.chosen]
            return E[np.array(self.B.chosen)], E[np.array(others, dtype=int)]
        found = newton.solve(self.whole(t, q, params), E)
        return found[: len(E) - self.count], found[len(E) - self.count :]

    def whole(self, t: Scalar, q: Configuration, params: Params) -> Array:
        """[B K], shape (dim, dim)."""
        B = jnp.asarray(self.B(t, q, params), dtype=float)
        return jnp.concatenate([B, self.K(B)], axis=1)

    def by_constraint(self, t: Scalar, q: Configuration, params: Params, slope: Vector) -> Array:
        """The derivative of a scalar by Phi, from that by E: K^T slope."""
        return self.whole(t, q, params)[:, len(slope) - self.count :].T @ slope


def elimination_of(problem: Any) -> Elimination:
    """How the controls of `problem` are eliminated.

    Where B is constant, or selects coordinates, so is its complement; of one control less than
    coordinates it is the vector of minors; else it is the complement at the start.

    Raises:
        ValueError: where controls are not forces B(t, q) u, where some combination of them does
            nothing at an end, or where the complement of the start does not serve at the end.
    """
    system, B = problem.system, problem.B
    check_eliminable(problem)
    n, t0 = system.space.dim, problem.t0
    count = n - problem.control_count
    if isinstance(B, Selected):
        others = [i for i in range(n) if i not in B.chosen]
        return Elimination(B, Constant(tuple(map(tuple, np.eye(n)[others].tolist()))), count)
    if count == 1 and n <= WRITTEN_OUT and varies(system, B):
        return Elimination(B, Minors(), count)
    from scipy.linalg import null_space  # takes long to import

    here = np.asarray(B(t0, problem.ends[0].q, system.params), dtype=float)
    rest = null_space(here.T).T if count else np.zeros((0, n))
    found = Elimination(B, Constant(tuple(map(tuple, rest.tolist()))), count)
    whole = found.whole(t0 + problem.longest, problem.ends[1].q, system.params)
    if np.linalg.matrix_rank(evened(np.asarray(whole)), tol=1e-10) < n:
        raise ValueError(
            "the controls cannot be eliminated from start to end: the directions that they leave"
            " free at the start are not complementary to B(t, q) at the end. Try the direct"
            ' formulation, optimize(problem, method, steps, formulation="direct").'
        )
    return found


def check_eliminable(problem: Any) -> None:
    """Raise ValueError unless forces are B(t, q) u, and B has the rank of its columns at the
    ends.
    """
    if problem.B is None:
        raise ValueError(
            "the controls cannot be eliminated: by control_force=f they enter in a form of their"
            f" own. Give forces B(t, q) u as actuation=B, or {OTHER}."
        )
    times, count = (problem.t0, problem.t0 + problem.longest), problem.control_count
    for name, end, t in zip(("start", "end"), problem.ends, times, strict=True):
        B = np.asarray(problem.B(t, end.q, problem.system.params), dtype=float)
        if not np.all(np.isfinite(B)) or np.linalg.matrix_rank(evened(B), tol=1e-10) < count:
            raise ValueError(
                f"the actuation is singular at the {name}: B(t, q) has rank below its {count}"
                " columns, so that some combination of the controls does nothing there and they"
                f" cannot be eliminated. Leave out a control, move the end, or {OTHER}."
            )


def varies(system: System, B: Actuation) -> bool:
    """Whether B depends on time or on the configuration."""
    space = system.space

    def at(t: Scalar, e: Vector) -> Array:
        return jnp.asarray(B(t, space.displace(space.identity(), e), system.params))

    zero = jnp.zeros(space.dim)
    return depends(lambda t: at(t, zero), jnp.zeros(())) or depends(
        partial(at, jnp.zeros(())), zero
    )


def force_balance(system: System, t: Scalar, q: Configuration, v: Vector, a: Vector) -> Covector:
    """E = d/dt dL/dv - ad*_v dL/dv - dL/dq - F at an acceleration `a`: the force that is missing,
    shape (dim,).
    """
    space, zero = system.space, jnp.zeros(system.space.dim)

    def p(t: Scalar, e: Vector, v: Vector) -> Covector:
        return system.legendre(t, space.displace(q, e), v)

    here = (jnp.asarray(t, dtype=float), zero, v)
    momentum, rate = jax.jvp(p, here, (jnp.ones(()), v, a))
    by_q = jax.grad(lambda e: system.L(t, space.displace(q, e), v))(zero)
    return rate - space.coad(v, momentum) - by_q - system.F(t, q, v)
