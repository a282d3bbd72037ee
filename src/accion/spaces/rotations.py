"""Rotations of the plane and of space by half-angle numbers, exact for small ones.

A turn is a pair (w, u): a complex number w + i u[0] in the plane, a quaternion w + u in space. A
small rotation has a small u with all its digits, which a matrix near the identity has not. Turns
may have any length n2 = w^2 + |u|^2: that of `exp` is 1, that of `cayley` is not.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import factorial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.types import Array, Scalar, Vector

TERMS = 10
LIMIT = 1.0  # of s = |x|^2, up to which series serve: one for all, which then share sin and cos


class Turn(NamedTuple):
    """A rotation by half-angle numbers: w, u of shape (1,) or (3,), and n2 = w^2 + |u|^2."""

    w: Array
    u: Array
    n2: Scalar


# ---------------- functions of s = |x|^2 that are smooth at 0


def series(coefficients: Sequence[float]) -> Callable[[Array], Array]:
    """The polynomial of s with these coefficients, the constant first."""
    *lower, last = (float(c) for c in coefficients)

    def f(s: Array) -> Array:
        value = jnp.full_like(s, last)
        for c in reversed(lower):
            value = value * s + c
        return value

    return f


def analytic(
    coefficients: Sequence[float], closed: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """The function of s with these Taylor coefficients, by its series below LIMIT and beyond it in
    `closed` form, a function of x = sqrt(s).

    The series reaches so far that derivatives of the closed form, which cancel near 0, are not
    needed there.
    """
    near = series(coefficients)

    def f(s: Array) -> Array:
        small = s < LIMIT
        value = jnp.where(
            small, near(jnp.where(small, s, 0.0)), closed(jnp.sqrt(jnp.where(small, LIMIT, s)))
        )
        # Else XLA computes it again for each entry of a matrix that it enters.
        return jax.lax.optimization_barrier(value)

    return f


def alternating(k: int) -> list[float]:
    """(-1)^j / (2j + k)!"""
    return [(-1) ** j / factorial(2 * j + k) for j in range(TERMS)]


def bernoulli(count: int) -> list[float]:
    """B_k/k! for k < count, from sum_k B_k/k! x^k (e^x - 1)/x = 1 in fractions: SciPy's have twelve
    digits.
    """
    found: list[Fraction] = []
    for n in range(count):
        found.append(
            Fraction(int(n == 0)) - sum(b / factorial(n + 1 - k) for k, b in enumerate(found))
        )
    return [float(b) for b in found]


cos_half = analytic([c / 4**j for j, c in enumerate(alternating(0))], lambda x: jnp.cos(x / 2))
# sin(x/2)/x
sin_half = analytic(
    [c / 2 / 4**j for j, c in enumerate(alternating(1))], lambda x: jnp.sin(x / 2) / x
)
COTANGENT = [abs(b) for b in bernoulli(2 * TERMS + 5)[2::2]]
cotangent_value = analytic(
    COTANGENT[:-1], lambda x: (1 - x / 2 * (jnp.cos(x / 2) / jnp.sin(x / 2))) / x**2
)


@jax.custom_jvp
def cotangent(s: Array) -> Array:
    """(1 - x/2 cot(x/2))/x^2 with s = x^2; its derivatives need no further function of an angle."""
    return cotangent_value(s)


def cotangent_slope(s: Array) -> Array:
    """Its derivative by s, from c' = (1/8 - c (3 - c s)/2)/s."""
    near = series([k * b for k, b in enumerate(COTANGENT)][1:])
    small, c = s < LIMIT, cotangent(s)
    far = (0.125 - c * (3 - c * s) / 2) / jnp.where(small, LIMIT, s)
    return jax.lax.optimization_barrier(jnp.where(small, near(jnp.where(small, s, 0.0)), far))


cotangent.defjvps(lambda ds, _, s: cotangent_slope(s) * ds)


def stretch(s: Array) -> tuple[Array, Array]:
    """(k, k^2 + x^2/4), k = x/2 cot(x/2): across x dexp^-1 multiplies by k + ix/2, dexp divides."""
    k = 1 - cotangent(s) * s
    return k, k * k + s / 4


def versine(s: Array) -> Array:
    """(1 - cos x)/x^2."""
    return 0.5 / stretch(s)[1]


def excess(s: Array) -> Array:
    """(x - sin x)/x^3."""
    k, square = stretch(s)
    return (0.25 - cotangent(s) * k) / square


class Smooth(NamedTuple):
    """The functions of s = |x|^2 that `exp` and its tangent are made of."""

    cos_half: Callable[[Array], Array]
    sin_half: Callable[[Array], Array]
    versine: Callable[[Array], Array]
    excess: Callable[[Array], Array]
    cotangent: Callable[[Array], Array]


SMOOTH = Smooth(cos_half, sin_half, versine, excess, cotangent)
# As one formula each, for letters; not for numbers near 0.
WRITTEN = Smooth(
    lambda s: jnp.cos(jnp.sqrt(s) / 2),
    lambda s: jnp.sin(jnp.sqrt(s) / 2) / jnp.sqrt(s),
    lambda s: (1 - jnp.cos(jnp.sqrt(s))) / s,
    lambda s: (jnp.sqrt(s) - jnp.sin(jnp.sqrt(s))) / jnp.sqrt(s) ** 3,
    lambda s: (1 - jnp.sqrt(s) / 2 / jnp.tan(jnp.sqrt(s) / 2)) / s,
)
# arctan(y)/y as a function of y^2, for y^2 < NEAR
NEAR = 0.05
arctangent = series([(-1) ** j / (2 * j + 1) for j in range(12)])


# ---------------------------------------------------------------- vectors and small matrices
# As products and sums of whole arrays: written out by components a step takes several times as long
# to compile, and a call of a library for a product would keep XLA from compiling the loop of a
# simulation as one function.

# (u x p)_j = sum u_i CROSS[i, j, k] p_k
CROSS = {3: np.zeros((3, 3, 3)), 2: np.array([[[0.0, -1.0], [1.0, 0.0]]])}
for i, j, k in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):
    CROSS[3][i, j, k], CROSS[3][i, k, j] = 1.0, -1.0


def dot(a: Array, b: Array) -> Array:
    """The sum of the products of the entries of two vectors."""
    return jnp.sum(a * b)


def product(A: Array, B: Array) -> Array:
    """A @ B for small matrices."""
    return jnp.sum(A[:, :, None] * B[None], axis=1)


def apply(A: Array, b: Array) -> Array:
    """A @ b for a small matrix."""
    return jnp.sum(A * b, axis=1)


def hat(u: Vector) -> Array:
    """The matrix of p -> u x p; u is a vector of space, or shape (1,), a multiple of the normal of
    the plane.
    """
    return jnp.sum(u[:, None, None] * CROSS[2 if u.shape == (1,) else 3], axis=0)


def vee(A: Array) -> Vector:
    """u of the antisymmetric part of a matrix."""
    return jnp.sum(A * CROSS[A.shape[0]], axis=(1, 2)) / 2


def cross(u: Vector, p: Vector) -> Vector:
    """u x p; zero for two multiples of the normal of the plane."""
    return jnp.zeros_like(p) if p.shape == (1,) else apply(hat(u), p)


# ---------------------------------------------------------------- turns


def to_matrix(a: Turn) -> Array:
    """The rotation matrix minus the identity, to relative accuracy."""
    U = hat(a.u)
    return (2 / a.n2) * (a.w * U + product(U, U))


def from_matrix(R: Array) -> Turn:
    """The turn of a rotation matrix, of length 1 with w >= 0; accurate for every angle, half a turn
    included.
    """
    if R.shape == (2, 2):
        c, s = (R[0, 0] + R[1, 1]) / 2, (R[1, 0] - R[0, 1]) / 2
        square = 2 * jnp.stack([jnp.stack([1 + c, s]), jnp.stack([s, 1 - c])])
    else:
        # 4 q q^T: each row is a multiple of q, the one with the largest diagonal entry the most
        # accurate.
        trace, a = jnp.trace(R), 2 * vee(R)
        block = R + R.T + (1 - trace) * jnp.eye(3)
        square = jnp.concatenate(
            [
                jnp.concatenate([(1 + trace)[None], a])[None],
                jnp.concatenate([a[:, None], block], axis=1),
            ]
        )
    diagonal = jnp.diagonal(square)
    i = jnp.argmax(diagonal)
    q = square[i] / (2 * jnp.sqrt(diagonal[i]))
    q = jnp.where(q[0] < 0, -q, q)
    return Turn(q[0], q[1:], 1.0)


# ---------------- retractions: from vectors to turns and back


def exp(x: Vector, of: Smooth = SMOOTH) -> Turn:
    """The turn by the angle |x| about x."""
    s = dot(x, x)
    return Turn(of.cos_half(s), of.sin_half(s) * x, 1.0)


def log(a: Turn) -> Vector:
    """The vector of a turn: |x| < pi for w > 0, and up to 2 pi beyond it."""
    s = dot(a.u, a.u)
    near = (s < NEAR * a.w**2) & (a.w > 0)
    w = jnp.where(near, a.w, 1.0)
    y = jnp.sqrt(jnp.where(near, 1.0, jnp.maximum(s, np.finfo(float).tiny)))
    far = jnp.arctan2(y, jnp.where(near, 1.0, a.w)) / y
    return 2 * jnp.where(near, arctangent(jnp.where(near, s, 0.0) / w**2) / w, far) * a.u


def cayley(x: Vector) -> Turn:
    """The turn by 2 arctan(|x|/2) about x."""
    return Turn(jnp.ones_like(x[0]), x / 2, 1 + dot(x, x) / 4)


def inverse_cayley(a: Turn) -> Vector:
    """The vector of a turn; infinite for half a turn, which `cayley` does not reach."""
    return 2 * a.u / a.w


# ---------------- the translation of exp and cayley of (x, v) in the group of rigid motions


def exp_translation(x: Vector, v: Vector, of: Smooth = SMOOTH) -> Vector:
    """p of exp(x, v): v + (1 - cos|x|)/|x|^2 X v + (|x| - sin|x|)/|x|^3 X^2 v, X the matrix of
    x.
    """
    s = dot(x, x)
    once = cross(x, v)
    return v + of.versine(s) * once + of.excess(s) * cross(x, once)


def log_translation(x: Vector, p: Vector) -> Vector:
    """v with `exp_translation(x, v)` = p."""
    once = cross(x, p)
    return p - once / 2 + cotangent(dot(x, x)) * cross(x, once)


def cayley_translation(x: Vector, v: Vector) -> Vector:
    """p of cayley(x, v): (1 - X/2) p = v, X the matrix of x."""
    once = cross(x, v)
    return v + (2 * once + cross(x, once)) / (4 + dot(x, x))


def inverse_cayley_translation(x: Vector, p: Vector) -> Vector:
    """v with `cayley_translation(x, v)` = p."""
    return p - cross(x, p) / 2


# ---------------- dtau^-1(x) e, left trivialised; `ad` is the bracket with x


def dexp_inverse(
    x: Vector, v: Vector, e: Vector, ad: Callable[[Vector], Vector], of: Smooth = SMOOTH
) -> Vector:
    """e + ad/2 e + a ad^2 e + b ad^4 e, the function ad/(1 - exp(-ad)) where ad^2 has the
    eigenvalues 0 and -s, s = |x|^2.
    """
    if v.shape == (0,):
        once = ad(e)
        return e + once / 2 + of.cotangent(dot(x, x)) * ad(once)
    k, slope = jax.jvp(of.cotangent, (dot(x, x),), (jnp.ones(()),))
    # As a matrix, which compiles in half the time.
    A = jax.vmap(ad, out_axes=1)(jnp.eye(e.shape[0]))
    once = apply(A, e)
    twice = apply(A, once)
    return e + once / 2 + (k - dot(x, x) * slope) * twice - slope * apply(A, apply(A, twice))


def dcayley_inverse(x: Vector, v: Vector, e: Vector, ad: Callable[[Vector], Vector]) -> Vector:
    """(1 + X/2) E (1 - X/2) = E + [X, E]/2 - X E X/4, in components."""
    n = x.shape[0]
    turned = dot(x, e[:n]) * x
    moved = -cross(x, cross(e[:n], v)) if v.shape != (0,) else v
    return e + ad(e) / 2 + jnp.concatenate([turned, moved]) / 4


# ---------------- dtau(x) e of a rotation, left trivialised


def dexp(x: Vector, e: Vector, of: Smooth = SMOOTH) -> Vector:
    """(1 - exp(-ad))/ad e = e - (1 - cos|x|)/|x|^2 x x e + (|x| - sin|x|)/|x|^3 x x (x x e)."""
    if x.shape == (1,):
        return e
    s, once = dot(x, x), cross(x, e)
    return e - of.versine(s) * once + of.excess(s) * cross(x, once)


def dcayley(x: Vector, e: Vector) -> Vector:
    """(e - x x e / 2) / (1 + |x|^2/4)."""
    return (e - cross(x, e) / 2) / (1 + dot(x, x) / 4)


# ---------------- h v of a step with the increment x, whose rotation is omega


def unstretched(omega: Vector, x: Vector) -> Vector:
    """x: dtau^-1(x) x is x for exp."""
    return x


def cayley_stretched(omega: Vector, x: Vector) -> Vector:
    """(1 + |omega|^2/4) x.

    dtau^-1(x) x is that multiple of x, and the momenta of a step are dtau^-1(x)^T dL/dv at v = x/h:
    about the axis of x they are those of a body that turns by |omega| (1 + |omega|^2/4) in the time
    h. The retraction makes a turn of 2 arctan(|omega|/2) of it, however large it is.
    """
    return (1 + dot(omega, omega) / 4) * x


class TurnRetraction(NamedTuple):
    """A retraction of rotations and rigid motions, as functions of the rotation x and the
    translation v of an increment.
    """

    turn: Callable[[Vector], Turn]
    vector: Callable[[Turn], Vector]
    translation: Callable[[Vector, Vector], Vector]
    inverse_translation: Callable[[Vector, Vector], Vector]
    dtau: Callable[[Vector, Vector], Vector]  # of the rotation alone
    dtau_inverse: Callable[[Vector, Vector, Vector, Callable[[Vector], Vector]], Vector]
    stretched: Callable[[Vector, Vector], Vector]
    reach: float  # the turn at which its chart ends
    end: str  # what that is


RETRACTIONS = {
    "exp": TurnRetraction(
        exp,
        log,
        exp_translation,
        log_translation,
        dexp,
        dexp_inverse,
        unstretched,
        2 * np.pi,
        "a whole turn, where the tangent of exp is singular",
    ),
    "cayley": TurnRetraction(
        cayley,
        inverse_cayley,
        cayley_translation,
        inverse_cayley_translation,
        dcayley,
        dcayley_inverse,
        cayley_stretched,
        np.pi,
        "half a turn, which no increment of cayley reaches",
    ),
}
FORMULA = "exp in one formula"  # the name of exp where letters are computed with
WRITTEN_EXP = RETRACTIONS["exp"]._replace(
    turn=partial(exp, of=WRITTEN),
    translation=partial(exp_translation, of=WRITTEN),
    dtau=partial(dexp, of=WRITTEN),
    dtau_inverse=partial(dexp_inverse, of=WRITTEN),
)
