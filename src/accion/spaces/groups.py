"""Matrix Lie groups: rotations and rigid motions of the plane and of space."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.spaces import rotations
from accion.spaces.base import Space
from accion.spaces.rotations import apply, product

ON_GROUP = 1e-9  # how far from the group a matrix may be that a user passes


class Group(Space):
    """A group of matrices. A configuration is a matrix g; a velocity xi is that of the body, g' = g
    hat(xi) (left trivialised).

    The retraction is g tau(eta) with tau = `exp` or `cayley`; `tau_inverse`, `dtau` (the
    left-trivialised tangent tau(x)^-1 d tau(x).eta = dtau(x) eta) and its inverse belong to it.
    Functions take one element; use jax.vmap for many.
    """

    retraction: str

    @property
    def flat(self):
        return False

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows of a matrix of the group."""

    @abstractmethod
    def hat(self, xi) -> jax.Array:
        """The matrix of the algebra with the components `xi`."""

    @abstractmethod
    def vee(self, A) -> jax.Array:
        """The components of a matrix of the algebra (of another, those of its part in it), shape
        (dim,).
        """

    @abstractmethod
    def tau_minus_one(self, x) -> jax.Array:
        """tau(x) - 1, to relative accuracy."""

    @abstractmethod
    def tau_inverse(self, g) -> jax.Array:
        """x with tau(x) = g, shape (dim,)."""

    @abstractmethod
    def inverse(self, g) -> jax.Array:
        """g^-1."""

    @abstractmethod
    def distance(self, g) -> tuple[float, str]:
        """How far a matrix is from the group, and which of its laws it breaks."""

    @abstractmethod
    def corrected(self, g) -> jax.Array:
        """`g` with its rounding errors off the group taken away, at the cost of a few products."""

    @abstractmethod
    def letters(self) -> tuple[Any, tuple[str, ...]]:
        """Names for the entries of g, as a nested list with numbers where they are fixed, and for
        the components of a velocity.
        """

    def tau(self, x):
        return jnp.eye(self.size) + self.tau_minus_one(x)

    def dtau(self, x):
        """The left-trivialised tangent of tau at `x`, shape (dim, dim)."""
        back = self.inverse(self.tau(x))
        return jax.vmap(lambda A: self.vee(product(back, A)), in_axes=-1, out_axes=-1)(
            jax.jacfwd(self.tau_minus_one)(x)
        )

    @abstractmethod
    def dtau_inverse(self, x, e) -> jax.Array:
        """Its inverse applied to `e`, shape (dim,): the change of tau^-1(tau(x) tau(e)) with e."""

    def relative(self, x, e0, e1):
        y = x - self.dtau_inverse(-x, e0)
        return y + self.dtau_inverse(y, e1)

    def Ad(self, g):
        """The matrix of xi -> g xi g^-1, shape (dim, dim)."""
        back = self.inverse(g)
        return jax.vmap(lambda xi: self.vee(product(product(g, self.hat(xi)), back)), out_axes=-1)(
            jnp.eye(self.dim)
        )

    def ad(self, xi, eta):
        X, Y = self.hat(xi), self.hat(eta)
        return self.vee(product(X, Y) - product(Y, X))

    def identity(self):
        return jnp.eye(self.size)

    def retract(self, q, eta):
        return q + product(q, self.tau_minus_one(eta))

    def displace(self, q, e):
        A = self.hat(e)
        return q + product(q, A + product(A, A) / 2)

    def local(self, q0, q1):
        return self.tau_inverse(product(self.inverse(q0), q1))

    def displacement(self, q, moved):
        return self.vee(product(self.inverse(q), moved - q))

    def accumulate(self, q, c, x):
        D = product(q, self.tau_minus_one(x + c))
        q1 = self.corrected(q + D)
        return q1, self.vee(product(self.inverse(q1), D - (q1 - q)))

    def check(self, q, name="q"):
        words = f"a matrix of {type(self).__name__}, shape ({self.size}, {self.size})"
        try:
            q = jnp.asarray(q, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be {words}; got {q!r}.") from error
        if q.shape != (self.size, self.size):
            raise ValueError(f"{name} must be {words}; got shape {q.shape}.")
        if isinstance(q, Tracer):
            return q
        if not np.all(np.isfinite(q)):
            raise ValueError(f"{name} must be finite; got {np.asarray(q)}.")
        far, law = self.distance(np.asarray(q))
        if far > ON_GROUP:
            raise ValueError(
                f"{name} is not in {self}: {law}, off by {far:.3g}. The nearest matrix that is:"
                f" space.project({name})."
            )
        return q


def check_retraction(retraction):
    if retraction not in rotations.RETRACTIONS:
        raise ValueError(
            f"there is no retraction {retraction!r}."
            f" Try one of: {', '.join(rotations.RETRACTIONS)}."
        )


class Rigid(Group):
    """What rotations and rigid motions share; `plane` and `moves` say which of the four it is.

    A velocity is (omega, v): one number or three for the rotation, then the translation where there
    is one.
    """

    plane: bool
    moves: bool

    def __post_init__(self):
        check_retraction(self.retraction)

    @property
    def angles(self):
        """The number of components of a rotation."""
        return 1 if self.plane else 3

    @property
    def axes(self):
        return 2 if self.plane else 3

    @property
    def dim(self):
        return self.angles + (self.axes if self.moves else 0)

    @property
    def size(self):
        return self.axes + (1 if self.moves else 0)

    @property
    def tau_of(self):
        return rotations.RETRACTIONS[self.retraction]

    def split(self, x):
        return x[: self.angles], x[self.angles :]

    def assemble(self, R, p):
        """The matrix with rotation block R and translation p, its last row zero."""
        return (
            jnp.concatenate([jnp.concatenate([R, p[:, None]], axis=1), jnp.zeros((1, self.size))])
            if self.moves
            else R
        )

    def hat(self, xi):
        omega, v = self.split(xi)
        return self.assemble(rotations.hat(omega), v)

    def vee(self, A):
        n = self.axes
        return (
            jnp.concatenate([rotations.vee(A[:n, :n]), A[:n, n]])
            if self.moves
            else rotations.vee(A)
        )

    def tau_minus_one(self, x):
        omega, v = self.split(x)
        return self.assemble(
            rotations.to_matrix(self.tau_of.turn(omega)),
            self.tau_of.translation(omega, v) if self.moves else v,
        )

    def tau_inverse(self, g):
        n = self.axes
        omega = self.tau_of.vector(rotations.from_matrix(g[:n, :n]))
        return (
            jnp.concatenate([omega, self.tau_of.inverse_translation(omega, g[:n, n])])
            if self.moves
            else omega
        )

    def dtau_inverse(self, x, e):
        return self.tau_of.dtau_inverse(*self.split(x), e, lambda eta: self.ad(x, eta))

    def inverse(self, g):
        n = self.axes
        R = g[:n, :n].T
        return self.assemble(R, -apply(R, g[:n, n])).at[n:, n:].set(1.0) if self.moves else R

    def ad(self, xi, eta):
        (w, v), (w1, v1) = self.split(xi), self.split(eta)
        turned = rotations.cross(w, w1)
        return (
            jnp.concatenate([turned, rotations.cross(w, v1) - rotations.cross(w1, v)])
            if self.moves
            else turned
        )

    def corrected(self, g):
        n = self.axes
        R = g[:n, :n]
        # One Newton step towards the nearest rotation.
        R = R + product(R, jnp.eye(n) - product(R.T, R)) / 2
        return g.at[:n, :n].set(R) if self.moves else R

    def project(self, q):
        n = self.axes
        U, _, Vt = jnp.linalg.svd(q[:n, :n])
        R = (U * jnp.ones(n).at[-1].set(jnp.linalg.det(U @ Vt))) @ Vt
        return self.assemble(R, q[:n, n]).at[n:, n:].set(1.0) if self.moves else R

    def distance(self, g):
        n = self.axes
        R = g[:n, :n]
        far = float(np.max(np.abs(R.T @ R - np.eye(n))))
        if far > ON_GROUP:
            return far, (
                "its rotation block R should have R^T R = 1" if self.moves else "R^T R should be 1"
            )
        if np.linalg.det(R) < 0:
            return 2.0, "it is a reflection, its determinant should be 1"
        last = np.eye(self.size)[-1]
        return (
            (float(np.max(np.abs(g[-1] - last))), f"its last row should be {last.astype(int)}")
            if self.moves
            else (far, "")
        )

    def magnitude(self, q):
        n = self.axes
        turned = jnp.ones(self.angles)
        return (
            jnp.concatenate([turned, jnp.full(n, jnp.max(jnp.abs(q[:n, n])))])
            if self.moves
            else turned
        )

    def asked(self, x):
        """For cayley (1 + |omega|^2/4) x.

        dtau^-1(x) x is that multiple of x, and the momenta of a step are dtau^-1(x)^T dL/dv at v =
        x/h: about the axis of x they are those of a body that turns by |omega| (1 + |omega|^2/4) in
        the time h. The retraction makes a turn of 2 arctan(|omega|/2) of it, however large it is.
        """
        omega = x[: self.angles]
        return x if self.retraction == "exp" else (1 + rotations.dot(omega, omega) / 4) * x

    def within(self, x):
        return rotations.dot(x[: self.angles], x[: self.angles]) < self.tau_of.reach**2

    @property
    def chart(self):
        return (
            f"the chart of the retraction {self.retraction} ends at {self.tau_of.reach:.3g} rad,"
            f" {self.tau_of.end}"
        )

    def beyond(self, x):
        turned, reach = float(np.linalg.norm(np.asarray(x)[: self.angles])), self.tau_of.reach
        if not turned >= reach:
            return None
        return (
            f"one step turns by {turned:.3g} rad: {self.chart}. Take an h at least"
            f" {turned / reach * 2:.2g} times smaller"
        )

    def letters(self):
        n = self.axes
        rows: list[list[Any]] = [[f"R_{i + 1}{j + 1}" for j in range(n)] for i in range(n)]
        omega = ("omega",) if self.plane else tuple(f"omega_{i + 1}" for i in range(3))
        if not self.moves:
            return rows, omega
        rows = [[*row, name] for row, name in zip(rows, "xyz", strict=False)]
        return [*rows, [0] * n + [1]], omega + tuple(f"v_{i + 1}" for i in range(n))

    def coordinates(self):
        turned = ("theta [rad]",) if self.plane else tuple(f"theta{i} [rad]" for i in (1, 2, 3))
        return turned + (("x", "y", "z")[: self.axes] if self.moves else ())


@dataclass(frozen=True)
class SO2(Rigid):
    """Rotations of the plane, matrices (2, 2); a velocity is the angular velocity, shape (1,)."""

    retraction: str = "exp"
    plane, moves = True, False


@dataclass(frozen=True)
class SO3(Rigid):
    """Rotations of space, matrices (3, 3) from body to space; a velocity is the angular velocity in
    the body, shape (3,).
    """

    retraction: str = "exp"
    plane, moves = False, False


@dataclass(frozen=True)
class SE2(Rigid):
    """Rigid motions of the plane, matrices [[R, p], [0, 1]] of shape (3, 3); a velocity is (omega,
    v) in the body, shape (3,).
    """

    retraction: str = "exp"
    plane, moves = True, True


@dataclass(frozen=True)
class SE3(Rigid):
    """Rigid motions of space, matrices [[R, p], [0, 1]] of shape (4, 4); a velocity is (omega, v)
    in the body, shape (6,).
    """

    retraction: str = "exp"
    plane, moves = False, True
