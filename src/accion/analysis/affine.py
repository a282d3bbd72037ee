"""An affine symmetry: its field, its f, what it conserves, and the words for it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.noether import Field, Symmetry
from accion.instant.constrained import project_at
from accion.results.trajectory import Trajectory
from accion.stepping.views import discrete
from accion.types import Configuration, Scalar, Vector

GAUSS = np.polynomial.legendre.leggauss(16)
PARTS = 2**14  # of an integral, at most
CONVERGED = 1e-13


def coefficients(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(A, b) of the vector of both."""
    n = int((np.sqrt(4 * len(u) + 1) - 1) / 2)
    return u[: n * n].reshape(n, n), u[n * n :]


def turned_forward(u: np.ndarray) -> np.ndarray:
    """The field, a rotation with the sign that turns from the first coordinate to the second."""
    A = coefficients(u)[0]
    is_rotation = np.any(A) and not np.any(A + A.T)
    return -u if is_rotation and A[np.nonzero(np.triu(A))][0] > 0 else u


@dataclass(frozen=True)
class ClosedForm:
    """f(t, q) = e^(rate t) (e + c.q + q.S q/2), with e t in place of e where the rate is zero."""

    e: float
    c: np.ndarray
    S: np.ndarray
    rate: float = 0.0

    def __call__(self, t: Scalar, q: Vector) -> Scalar:
        c, S = jnp.asarray(self.c), jnp.asarray(self.S)
        alone = self.e if self.rate else self.e * t
        return jnp.exp(self.rate * t) * (alone + c @ q + q @ S @ q / 2)

    def text(self, names: tuple[str, ...]) -> str:
        """f = ..., "" where it is zero."""
        alone = "1" if self.rate else "t"
        products, squares = quadratic(self.S, names)
        inner = written([self.e, *self.c, *products], (alone, *names, *squares))
        if inner == "0":
            return ""
        if not self.rate:
            return f"f = {inner}"
        growth = f"exp({self.rate:.6g} t)"
        only = not np.any(self.c) and not np.any(self.S)
        return f"f = {inner} {growth}" if only else f"f = {growth} ({inner})"


@dataclass(frozen=True)
class Integrated:
    """f(t, q) of a field X = A q + b of an unconstrained system, from df/dt = X^C(L) = a(t, q) +
    b(t, q).v by integration.

    It goes from (0, base) in time and then straight to q, and is NaN where the integrals do not
    converge.
    """

    system: Any
    A: np.ndarray
    b: np.ndarray
    base: np.ndarray
    v: np.ndarray  # a velocity at which L is regular

    def __call__(self, t: Scalar, q: Vector) -> Scalar:
        return self.found(jnp.asarray(t, float), jnp.asarray(q, float))

    @property
    def found(self) -> Any:
        """f as a function that JAX differentiates exactly."""
        base = jnp.asarray(self.base)

        @jax.custom_jvp
        def f(t: Scalar, q: Configuration) -> Any:
            ahead = integral(lambda s: t * self.slopes(s * t, base)[0])
            return ahead + integral(lambda s: self.slopes(t, base + s * (q - base))[1] @ (q - base))

        @f.defjvp
        def tangent(point: Any, change: Any) -> Any:
            # The form a dt + b.dq is closed: its integral has it as its derivative, exactly.
            a, b = self.slopes(*point)
            return f(*point), a * change[0] + b @ change[1]

        return f

    def slopes(self, t: Scalar, q: Vector) -> tuple[Scalar, Vector]:
        """The derivatives of f by t and by q: X^C(L) is affine in v, so its value and its slope at
        any v give both.
        """
        A, b, v = map(jnp.asarray, (self.A, self.b, self.v))

        def lifted(v: Vector) -> Any:
            return jax.jvp(partial(self.system.L, t), (q, v), (A @ q + b, A @ v))[1]

        value, slope = jax.value_and_grad(lifted)(v)
        return value - slope @ v, slope

    def text(self, names: tuple[str, ...]) -> str:
        """How f is known."""
        return "f(t, q) by integration"


def integral(g: Any) -> Scalar:
    """The integral of g over (0, 1) by Gauss's rule on parts that are halved until it no longer
    changes; NaN where it does not settle.
    """
    x, w = (jnp.asarray((GAUSS[0] + 1) / 2), jnp.asarray(GAUSS[1] / 2))

    def on_parts(count: int) -> Any:
        def add(k: Any, sums: Any) -> Any:
            values = jax.vmap(g)((k + x) / count)
            return sums + jnp.stack([w @ values, w @ jnp.abs(values)]) / count

        return jax.lax.fori_loop(0, count, add, jnp.zeros(2))

    def halve(state: Any) -> Any:
        count, sums, _ = state
        return 2 * count, on_parts(2 * count), sums[0]

    def unsettled(state: Any) -> Any:
        count, sums, before = state
        return (jnp.abs(sums[0] - before) > CONVERGED * sums[1]) & (count < PARTS)

    _, sums, before = jax.lax.while_loop(unsettled, halve, (1, on_parts(1), jnp.array(jnp.inf)))
    return jnp.where(jnp.abs(sums[0] - before) <= CONVERGED * sums[1], sums[0], jnp.nan)


@dataclass(frozen=True)
class AffineSymmetry:
    """X(q) = A q + b with X^C(L) = df/dt: p.X - f is conserved.

    `f(t, q)` is a `ClosedForm` or, by integration, an `Integrated`; None where it exists but is not
    known (under constraints). `survives` says whether the system discretised by `method` has the
    symmetry, D1 Ld.X(q_k) + D2 Ld.X(q_{k+1}) = f_{k+1} - f_k with f_k its own; None where no method
    was given.
    """

    A: np.ndarray
    b: np.ndarray
    f: ClosedForm | Integrated | None
    names: tuple[str, ...]
    method: Any = None
    survives: bool | None = None

    def X(self, q: Vector) -> Vector:
        """The field, shape (dim,)."""
        return jnp.asarray(self.A) @ q + jnp.asarray(self.b)

    @property
    def symmetry(self) -> Symmetry:
        """As a `Symmetry`, with the f of the continuous system."""
        if self.f is None:
            raise ValueError(
                f"p.X - f is conserved for {self.kind} X with an f(t, q) on the constraint that is"
                " not known in closed form."
            )
        return Symmetry(self.X, self.f)

    def has_own(self, trajectory: Trajectory) -> bool:
        """Whether the f_k of the discretisation is known along a trajectory."""
        many = trajectory.is_ensemble or np.ndim(trajectory.h)
        same = self.survives and trajectory.method == self.method
        return bool(same and not many and not trajectory.system.holds_velocities)

    def can_follow(self, trajectory: Trajectory) -> bool:
        """Whether p.X - f is known along a trajectory."""
        return self.f is not None or self.has_own(trajectory)

    def along(self, trajectory: Trajectory) -> Any:
        """p.X - f at each saved time of a trajectory: where the symmetry survives its method with
        the f_k of the discretisation, to roundoff.

        f_k is the sum of D1 Ld.X + D2 Ld.X along a resting base and one step from there. Where the
        symmetry is lost, of nonholonomic systems, whose steps cannot end anywhere, and of ensembles
        it is the f of the continuous system.
        """
        if not self.has_own(trajectory):
            return self.symmetry.along(trajectory)
        return np.asarray(trajectory.momentum(self.X)) - self.discrete_f(trajectory)

    def discrete_f(self, trajectory: Trajectory) -> np.ndarray:
        """f_k(q_k) at each saved time; zero at the base, where the trajectory starts, before the
        first step.
        """
        return discrete_f(self.X, trajectory)

    def drift(self, trajectory: Trajectory) -> float:
        """The largest change of p.X - f_k along a trajectory, relative to the size of its terms."""
        return drift_of(self, trajectory)

    @property
    def kind(self) -> str:
        """translation, rotation, scaling or linear."""
        if not np.any(self.A):
            return "translation"
        if not np.any(self.A + self.A.T):
            return "rotation"
        return "scaling" if not np.any(self.A - np.diag(np.diag(self.A))) else "linear"

    def field_text(self) -> str:
        """The field in words and in letters."""
        words = self.kind
        if self.kind == "translation":
            words += " along " + written(self.b, self.names)
        elif self.kind == "rotation":
            planes = [
                f"({self.names[j]}, {self.names[i]})"
                for i in range(len(self.b))
                for j in range(i)
                if self.A[i, j]
            ]
            words += (" in the plane " if len(planes) == 1 else " in the planes ") + ", ".join(
                planes
            )
        field = ", ".join(
            f"X_{name} = {written([*row, shift], (*self.names, '1'))}"
            for name, row, shift in zip(self.names, self.A, self.b, strict=True)
        )
        return f"{words}: {field}"

    def text(self) -> str:
        """The field, its f, and whether the discretised system has it."""
        f = "f(t, q) exists, not in closed form" if self.f is None else self.f.text(self.names)
        lines = [self.field_text() + (f"; {f}" if f else "")]
        if self.survives is not None:
            lines.append(f"    {'kept' if self.survives else 'lost'} by the discretisation")
        return "\n".join(lines)


def discrete_f(X: Field, trajectory: Trajectory) -> np.ndarray:
    """f_k(q_k) of a symmetry of a discretised system at each saved time; zero at the base, where
    the trajectory starts, before the first step.
    """
    system, h = trajectory.system, float(trajectory.h)
    d, n = discrete(system, trajectory.method), system.space.dim
    t, q = np.asarray(trajectory.t), jax.tree.map(np.asarray, trajectory.q)
    first = jax.tree.map(lambda a: a[0], q)

    @jax.jit
    def changes(t: Scalar, q: Configuration, every: Any) -> Any:
        base = jax.vmap(lambda t: project_at(system, t, first, jnp.zeros(n))[0])
        change = jax.vmap(lambda t, a, b: d.D1(t, h, a, b) @ X(a) + d.D2(t, h, a, b) @ X(b))
        return change(every, base(every), base(every + h)), change(t, q, base(t + h))

    steps = np.rint((t - t[0]) / h).astype(int)
    rest, back = changes(t, q, t[0] + h * np.arange(steps[-1] + 1))
    return np.cumsum(rest)[steps] - np.asarray(back)


def drift_of(symmetry: Any, trajectory: Trajectory) -> float:
    """The largest change of p.X - f along a trajectory, relative to the size of its terms."""
    J, p = np.asarray(symmetry.along(trajectory)), np.asarray(trajectory.momentum(symmetry.X))
    scale = np.max(np.abs(p)) + np.max(np.abs(p - J))
    start = np.take(J, [0], int(trajectory.is_ensemble))
    return float(np.max(np.abs(J - start)) / (scale if scale > 0 else 1.0))


def written(coefficients: Any, names: tuple[str, ...]) -> str:
    """A linear combination as a person writes it; the name "1" stands for the constant."""
    text = ""
    for c, name in zip(coefficients, names, strict=True):
        if c:
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            size = f"{abs(c):.6g}"
            text += sign + (size if name == "1" else name if size == "1" else f"{size} {name}")
    return text or "0"


def quadratic(S: np.ndarray, names: tuple[str, ...]) -> tuple[list[Any], list[str]]:
    """(coefficients, products of names) of q.S q/2."""
    pairs = [(i, j) for i in range(len(S)) for j in range(i, len(S))]
    return [S[i, j] / (2 if i == j else 1) for i, j in pairs], [
        f"{names[i]}^2" if i == j else f"{names[i]} {names[j]}" for i, j in pairs
    ]
