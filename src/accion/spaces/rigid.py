"""Rotations and rigid motions of the plane and of space."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.numerics.arrays import determinant, unit_matrix
from accion.spaces import rotations
from accion.spaces.groups import ON_GROUP, Group
from accion.spaces.retractions import Retraction, TauMap
from accion.spaces.rotations import TurnRetraction, apply, product
from accion.types import Array, Vector


@final
@dataclass(frozen=True)
class RigidTau(TauMap):
    """`exp` or `cayley` of rotations and rigid motions, by half-angle numbers."""

    group: "Rigid"
    name: str
    functions: TurnRetraction

    def minus_one(self, x: Vector) -> Array:
        omega, v = self.group.split(x)
        return self.group.assemble(
            rotations.to_matrix(self.functions.turn(omega)),
            self.functions.translation(omega, v) if self.group.translates else v,
        )

    def inverse(self, g: Array) -> Vector:
        n = self.group.axes
        omega = self.functions.vector(rotations.from_matrix(g[:n, :n]))
        return (
            jnp.concatenate([omega, self.functions.inverse_translation(omega, g[:n, n])])
            if self.group.translates
            else omega
        )

    def dtau(self, x: Vector, e: Vector) -> Vector:
        omega, turned = x[: self.group.angles], e[: self.group.angles]
        turned = self.functions.dtau(omega, turned)
        if not self.group.translates:
            return turned
        translation = self.functions.translation
        moved = jax.jvp(translation, self.group.split(x), self.group.split(e))[1]
        back = rotations.to_matrix(self.functions.turn(omega)).T
        return jnp.concatenate([turned, moved + apply(back, moved)])

    def dtau_inverse(self, x: Vector, e: Vector) -> Vector:
        omega, v = self.group.split(x)
        return self.functions.dtau_inverse(omega, v, e, lambda eta: self.group.ad(x, eta))

    def stretched(self, x: Vector) -> Vector:
        return self.functions.stretched(x[: self.group.angles], x)

    def within(self, x: Vector) -> Array:
        omega, _ = self.group.split(x)
        return rotations.dot(omega, omega) < self.functions.reach**2

    @property
    def chart(self) -> str:
        return (
            f"the chart of the retraction {self.name} ends at {self.functions.reach:.3g} rad,"
            f" {self.functions.end}"
        )

    def beyond(self, x: Vector) -> str | None:
        omega, reach = np.asarray(x)[: self.group.angles], self.functions.reach
        turned = float(np.linalg.norm(omega))
        if not turned >= reach:
            return None
        return (
            f"one step turns by {turned:.3g} rad: {self.chart}. Take an h at least"
            f" {turned / reach * 2:.2g} times smaller"
        )

    def check(self) -> None:
        """Both are retractions of all four groups."""


class Rigid(Group):
    """What rotations and rigid motions share; `plane` and `translates` say which of the four it
    is.

    A velocity is (omega, v): one number or three for the rotation, then the translation where there
    is one.
    """

    plane: bool
    translates: bool

    def __post_init__(self) -> None:
        self.check_retraction()

    @property
    def angles(self) -> int:
        """The number of components of a rotation."""
        return 1 if self.plane else 3

    @property
    def axes(self) -> int:
        """The dimension of the plane or of space."""
        return 2 if self.plane else 3

    @property
    def dim(self) -> int:
        return self.angles + (self.axes if self.translates else 0)

    @property
    def size(self) -> int:
        return self.axes + (1 if self.translates else 0)

    @property
    def retractions(self) -> Mapping[str, Callable[[], TauMap]]:
        known = rotations.RETRACTIONS | {rotations.FORMULA: rotations.WRITTEN_EXP}
        return {name: partial(RigidTau, self, name, functions) for name, functions in known.items()}

    def in_letters(self) -> "Rigid":
        own: Any = self  # each of the four is a dataclass
        return replace(own, retraction=rotations.FORMULA) if self.retraction == "exp" else self

    def split(self, x: Vector) -> tuple[Vector, Vector]:
        """The rotation and the translation of an increment."""
        return x[: self.angles], x[self.angles :]

    def assemble(self, R: Array, p: Vector) -> Array:
        """The matrix with rotation block R and translation p, its last row zero."""
        return (
            jnp.concatenate([jnp.concatenate([R, p[:, None]], axis=1), jnp.zeros((1, self.size))])
            if self.translates
            else R
        )

    def hat(self, xi: Vector) -> Array:
        omega, v = self.split(xi)
        return self.assemble(rotations.hat(omega), v)

    def vee(self, A: Array) -> Vector:
        n = self.axes
        return (
            jnp.concatenate([rotations.vee(A[:n, :n]), A[:n, n]])
            if self.translates
            else rotations.vee(A)
        )

    def inverse(self, g: Array) -> Array:
        n = self.axes
        R = g[:n, :n].T
        return self.assemble(R, -apply(R, g[:n, n])).at[n:, n:].set(1.0) if self.translates else R

    def ad(self, xi: Vector, eta: Vector) -> Vector:
        (w, v), (w1, v1) = self.split(xi), self.split(eta)
        turned = rotations.cross(w, w1)
        return (
            jnp.concatenate([turned, rotations.cross(w, v1) - rotations.cross(w1, v)])
            if self.translates
            else turned
        )

    def corrected(self, g: Array) -> Array:
        n = self.axes
        R = g[:n, :n]
        # One Newton step towards the nearest rotation.
        R = R + product(R, jnp.eye(n) - product(R.T, R)) / 2
        return g.at[:n, :n].set(R) if self.translates else R

    def project(self, q: Array) -> Array:
        n = self.axes
        U, _, Vt = jnp.linalg.svd(q[:n, :n])
        R = (U * jnp.ones(n).at[-1].set(jnp.linalg.det(U @ Vt))) @ Vt
        return self.assemble(R, q[:n, n]).at[n:, n:].set(1.0) if self.translates else R

    def distance(self, g: np.ndarray) -> tuple[float, str]:
        n = self.axes
        R = g[:n, :n]
        far = float(abs(R.T @ R - unit_matrix(n)).max())
        if far > ON_GROUP:
            return far, (
                "its rotation block R should have R^T R = 1"
                if self.translates
                else "R^T R should be 1"
            )
        if determinant(R) < 0:
            return 2.0, "it is a reflection, its determinant should be 1"
        last = unit_matrix(self.size)[-1]
        return (
            (float(np.max(np.abs(g[-1] - last))), f"its last row should be {last.astype(int)}")
            if self.translates
            else (far, "")
        )

    def magnitude(self, q: Array) -> Vector:
        n = self.axes
        turned = jnp.ones(self.angles)
        return (
            jnp.concatenate([turned, jnp.full(n, jnp.max(jnp.abs(q[:n, n])))])
            if self.translates
            else turned
        )

    def letters(self) -> tuple[list[list[Any]], tuple[str, ...]]:
        n = self.axes
        rows: list[list[Any]] = [[f"R_{i + 1}{j + 1}" for j in range(n)] for i in range(n)]
        omega = ("omega",) if self.plane else tuple(f"omega_{i + 1}" for i in range(3))
        if not self.translates:
            return rows, omega
        rows = [[*row, name] for row, name in zip(rows, "xyz", strict=False)]
        return [*rows, [0] * n + [1]], omega + tuple(f"v_{i + 1}" for i in range(n))

    def coordinates(self) -> tuple[str, ...]:
        turned = ("theta [rad]",) if self.plane else tuple(f"theta{i} [rad]" for i in (1, 2, 3))
        return turned + (("x", "y", "z")[: self.axes] if self.translates else ())


@final
@dataclass(frozen=True)
class SO2(Rigid):
    """Rotations of the plane, matrices (2, 2); a velocity is the angular velocity, shape (1,)."""

    retraction: str | Retraction = "exp"
    plane, translates = True, False


@final
@dataclass(frozen=True)
class SO3(Rigid):
    """Rotations of space, matrices (3, 3) from body to space; a velocity is the angular velocity in
    the body, shape (3,).
    """

    retraction: str | Retraction = "exp"
    plane, translates = False, False


@final
@dataclass(frozen=True)
class SE2(Rigid):
    """Rigid motions of the plane, matrices [[R, p], [0, 1]] of shape (3, 3); a velocity is (omega,
    v) in the body, shape (3,).
    """

    retraction: str | Retraction = "exp"
    plane, translates = True, True


@final
@dataclass(frozen=True)
class SE3(Rigid):
    """Rigid motions of space, matrices [[R, p], [0, 1]] of shape (4, 4); a velocity is (omega, v)
    in the body, shape (6,).
    """

    retraction: str | Retraction = "exp"
    plane, translates = False, True
