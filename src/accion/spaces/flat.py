"""Spaces where the retraction is a sum: vectors and angles."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.spaces.base import Space


def check_vector(q, dim, name, kind="degree of freedom"):
    """`q` as a float64 vector of length `dim`, finite; traced values are checked for shape only."""
    try:
        q = jnp.asarray(q, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of {dim} real numbers; got {q!r}.") from error
    if q.shape != (dim,):
        hint = f" One number needs brackets: {name}=[{q}]." if q.shape == () and dim == 1 else ""
        raise ValueError(
            f"{name} must have shape ({dim},), one number for each {kind}; got shape"
            f" {q.shape}.{hint}"
        )
    if not isinstance(q, Tracer) and not np.all(np.isfinite(q)):
        raise ValueError(f"{name} must be finite; got {np.asarray(q)}.")
    return q


def check_dim(n, kind):
    """`n` as an int of Python, which is how the space is written and compared."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"{kind}(n) needs a number of degrees of freedom n >= 1; got {n!r}.")
    return int(n)


class Flat(Space):
    """What `Euclidean` and `Torus` share: the retraction is q + eta."""

    n: int

    @property
    def dim(self):
        return self.n

    @property
    def flat(self):
        return True

    def identity(self):
        return jnp.zeros(self.n)

    def check(self, q, name="q"):
        return check_vector(q, self.n, name)

    def retract(self, q, eta):
        return q + eta

    def displace(self, q, e):
        return q + e

    def relative(self, x, e0, e1):
        return x + (e1 - e0)

    def displacement(self, q, moved):
        return moved - q

    def ad(self, xi, eta):
        return jnp.zeros_like(eta)

    def project(self, q):
        return q

    def asked(self, x):
        return x

    def within(self, x):
        return True

    @property
    def chart(self):
        return ""

    def beyond(self, x):
        return None

    def accumulate(self, q, c, x):
        y = x + c
        q1 = q + y
        return q1, y - (q1 - q)

    def magnitude(self, q):
        return jnp.abs(q)


@dataclass(frozen=True)
class Euclidean(Flat):
    """R^n: a configuration is a vector of `n` numbers."""

    n: int

    def __post_init__(self):
        object.__setattr__(self, "n", check_dim(self.n, "Euclidean"))

    def local(self, q0, q1):
        return q1 - q0

    def coordinates(self):
        return tuple(f"q{i + 1}" for i in range(self.n))


@dataclass(frozen=True)
class Torus(Flat):
    """`n` angles in radians.

    `local` is the short way round, in [-pi, pi]. A trajectory is not wrapped: its angles count
    whole turns.
    """

    n: int

    def __post_init__(self):
        object.__setattr__(self, "n", check_dim(self.n, "Torus"))

    def local(self, q0, q1):
        d = q1 - q0
        return d - 2 * jnp.pi * jnp.round(d / (2 * jnp.pi))

    def coordinates(self):
        return tuple(f"q{i + 1} [rad]" for i in range(self.n))
