"""Fields that change a Lagrangian by a total derivative on groups and products, X^C(L) = df/dt.

The rate G(t, q, v) of p.X along a motion, X^C(L) + F.X, is df/dt for some f(t, q) where its
Euler-Lagrange equations say nothing,

    d/dt dG/dv - ad*_v dG/dv - dG/dq = 0        at all (t, q, v, a),

with dG/dq along displacements of the body. A step adds G_k = D1 Ld.X(q0) + D2 Ld.X(q1), with the
discrete forces; that is f_(k+1)(q1) - f_k(q0) where

    D2 G_k(q0, q1) + D1 G_(k+1)(q1, q2) = 0     at all three configurations.

Both are linear in the field, and f does not appear in them. It is found afterwards, as e^(k t)
times a polynomial in vectors and entries of matrices, or by integration where it depends on time
alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis import invariance
from accion.analysis.affine import integral, written
from accion.analysis.closed_forms import rate_of, unit_of
from accion.analysis.echelon import (
    FITS,
    also_solving,
    different,
    fractions,
    in_own_units,
    in_units,
    null_space,
    simple,
    solves,
)
from accion.analysis.families import fields_on
from accion.analysis.invariance import SAMPLES, FieldSymmetry, place, random_points
from accion.analysis.natural import Natural, natural_choices
from accion.engines.auto import small_map
from accion.spaces import Group, Product, Space
from accion.stepping.views import discrete
from accion.systems import System
from accion.types import Array, Configuration, Scalar, Vector

NOTHING = 1e-7  # of the terms of Euler and Lagrange's equations of L: what is below is rounding


def search(system: System, method: Any, seed: int) -> list[FieldSymmetry]:
    """The fields of the family of the space that leave L as it is, and after them those that change
    it by a total derivative.
    """
    same = invariance.search(system, method, seed)
    family, (natural, *others) = fields_on(system.space), natural_choices(system)
    looked = rows_over(family, partial(null_terms, system))

    def equations(natural: Natural) -> Any:
        points = with_accelerations(system, 2 * family.count + SAMPLES, seed, natural)
        units = family.units(natural.x[: system.space.dim])
        return points, units, looked(points, units)

    points, units, rows = equations(natural)
    space = null_space(rows)
    for other in others if len(space) else ():
        _, own, more = equations(other)
        space = also_solving(space, units, more, own)
    known = [s.u / units for s in same]
    found = [family.forward(u) for u in simple(space, rows)]
    found = different([*known, *found], fields_at(system, family, points, units, natural), own_rank)
    found = [u for u in found if not any(u is k for k in known)]
    kept: list[Any] = [None] * len(found)
    if method is not None and found:
        steps = rows_over(family, partial(discrete_null_terms, system, method))(points, units)
        kept = [solves(steps, u) for u in found]
    rates = Rates(system, points, natural) if found else None
    changing = [
        FieldSymmetry(family, in_own_units(u, units), system.names, method, k, None, True)
        for u, k in zip(found, kept, strict=True)
    ]
    return [*same, *(replace(s, f=rates.closed(s)) for s in changing if rates)]


def own_rank(u: np.ndarray) -> int:
    """Entries that are not zero."""
    return int(np.count_nonzero(u))


def with_accelerations(system: System, samples: int, seed: int, natural: Natural) -> Any:
    """Random points with accelerations and directions."""
    points = random_points(system, samples, seed, natural)
    a, w = np.random.default_rng(seed + 1).normal(size=(2, samples, system.space.dim))
    return points | {"a": natural.rates[0] / natural.time * a, "w": natural.x * w}


def fields_at(
    system: System, family: Any, points: Any, units: np.ndarray, natural: Natural
) -> Callable[[np.ndarray], np.ndarray]:
    """The function that gives the values of a field at the points."""
    moved = small_map(lambda u, point: family.X(u, place(system, point)))
    return lambda u: np.asarray(moved(units * u, points)) / natural.x[: system.space.dim]


def rows_over(family: Any, terms: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """The function (points, units) that gives rows over the coefficients, in their units: what has
    to be zero in units of the size of its terms. `terms(X, point)` gives these, shape (equations,
    terms), and the size of what they are small beside, shape (equations,).
    """
    each = small_map(lambda _, row: terms(partial(family.X, row[0]), row[1]))

    def rows(points: Any, units: np.ndarray) -> np.ndarray:
        count, samples = family.count, len(points["t"])
        pairs = (
            np.tile(np.diag(units), (samples, 1)),
            jax.tree.map(lambda a: np.repeat(a, count, axis=0), points),
        )
        found, beside = (np.asarray(a) for a in each((), pairs))
        found = np.moveaxis(found.reshape(samples, count, *found.shape[1:]), 1, -1)
        beside = np.moveaxis(beside.reshape(samples, count, -1), 1, -1)[..., 0]
        size = np.sum(np.linalg.norm(found, axis=-1), axis=-1)
        size = np.maximum(size, NOTHING * beside)
        return in_units(np.sum(found, axis=-2).reshape(-1, count), size.ravel())

    return rows


# ---------------------------------------------------------------- null Lagrangians


def rate_terms(system: System, X: Any, t: Scalar, q: Configuration, v: Vector) -> Array:
    """The terms of X^C(L) + F.X, shape (3,)."""
    space, zero = system.space, jnp.zeros(system.space.dim)
    here, rate = jax.jvp(lambda e: X(space.displace(q, e)), (zero,), (v,))
    Lq, Lv = jax.grad(lambda e, v: system.L(t, space.displace(q, e), v), (0, 1))(zero, v)
    return jnp.stack([Lq @ here, Lv @ (rate + space.ad(v, here)), system.F(t, q, v) @ here])


def null_terms(system: System, X: Any, point: Any) -> tuple[Array, Array]:
    """The terms of the Euler-Lagrange equations of the rate in the direction w, and the size of
    those of L.
    """
    t, q, v, a, w = point["t"], place(system, point), point["v"][0], point["a"], point["w"]
    space, zero = system.space, jnp.zeros(system.space.dim)

    def parts(G: Any) -> Array:
        """Of a function G(t, e, v) with values of shape (terms,)."""

        def momentum(t: Scalar, e: Vector, v: Vector) -> Array:
            return jax.jvp(partial(G, t, e), (v,), (w,))[1]

        rate = jax.jvp(momentum, (t, zero, v), (jnp.ones(()), v, a))[1]
        turned = jax.jvp(partial(G, t, zero), (v,), (space.ad(v, w),))[1]
        return jnp.concatenate([rate, -turned, -jax.jvp(lambda e: G(t, e, v), (zero,), (w,))[1]])

    def L(t: Scalar, e: Vector, v: Vector) -> Array:
        return jnp.stack([system.L(t, space.displace(q, e), v)])

    found, own = parts(lambda t, e, v: rate_terms(system, X, t, space.displace(q, e), v)), parts(L)
    return found[None], jnp.sum(jnp.abs(own), keepdims=True)


def discrete_null_terms(system: System, method: Any, X: Any, point: Any) -> tuple[Array, Array]:
    """The same for what two steps add to p.X - f, by the configuration between them."""
    d, t, h, w = discrete(system, method), point["t"], point["h"], point["w"]
    space, zero = system.space, jnp.zeros(system.space.dim)
    q0, x = place(system, point), h * point["speeds"][0]
    q1 = space.retract(q0, x)
    q2 = space.retract(q1, x + h**2 * point["a"])

    def added(t: Any, a: Any, b: Any) -> Array:
        def Ld(r: Any, s: Any) -> Any:
            return d.Ld(t, h, space.displace(a, r * X(a)), space.displace(b, s * X(b)))

        start, end = (jax.jvp(Ld, (0.0, 0.0), by)[1] for by in ((1.0, 0.0), (0.0, 1.0)))
        if not system.forced:
            return jnp.stack([start, end])
        work = d.force_minus(t, h, a, b) @ X(a), d.force_plus(t, h, a, b) @ X(b)
        return jnp.stack([start, end, *work])

    def between(e: Vector) -> Array:
        middle = space.displace(q1, e)
        return jnp.concatenate([added(t, q0, middle), added(t + h, middle, q2)])

    def actions(e: Vector) -> Array:
        middle = space.displace(q1, e)
        return jnp.stack([d.Ld(t, h, q0, middle), d.Ld(t + h, h, middle, q2)])

    size = jnp.sum(jnp.abs(jax.jvp(actions, (zero,), (w,))[1]))
    return jax.jvp(between, (zero,), (w,))[1][None], size[None]


# ---------------------------------------------------------------- f


@dataclass(frozen=True)
class OfPlaces:
    """f(t, q) = e^(rate t) (e + c.z), z the numbers of a configuration and the products of those of
    its vectors; with e t in place of e where the rate is zero.
    """

    space: Space
    names: tuple[str, ...]
    e: float
    c: np.ndarray
    rate: float = 0.0

    def __call__(self, t: Scalar, q: Configuration) -> Scalar:
        alone = self.e if self.rate else self.e * t
        places = numbers(self.space, q)[: len(self.c)]
        return jnp.exp(self.rate * t) * (alone + jnp.asarray(self.c) @ places)

    def text(self) -> str:
        """f = ... in words."""
        alone = "1" if self.rate else "t"
        inner = written([self.e, *self.c], (alone, *self.names[: len(self.c)]))
        growth = f"exp({self.rate:.6g} t)"
        if not self.rate:
            return f"f = {inner}"
        return f"f = {inner} {growth}" if not np.any(self.c) else f"f = {growth} ({inner})"


@dataclass(frozen=True)
class OfTime:
    """f(t), the integral of X^C(L) from 0, where that depends on time alone."""

    system: Any
    X: Any
    q: Any
    v: np.ndarray

    def __call__(self, t: Scalar, q: Configuration) -> Scalar:
        rate = jax.custom_jvp(lambda t: integral(lambda s: t * self.rate(s * t)))
        rate.defjvp(lambda point, change: (rate(*point), self.rate(*point) * change[0]))
        return rate(jnp.asarray(t, float))

    def rate(self, t: Scalar) -> Scalar:
        """f'."""
        return jnp.sum(rate_terms(self.system, self.X, t, self.q, jnp.asarray(self.v)))

    def text(self) -> str:
        return "f(t) by integration"


def numbers(space: Space, q: Configuration) -> Array:
    """The numbers of a configuration, and after them the products of those of its vectors."""
    parts, spaces = (q, space.factors) if isinstance(space, Product) else ((q,), (space,))
    flat = [part for part, own in zip(parts, spaces, strict=True) if not isinstance(own, Group)]
    vectors = jnp.concatenate(flat) if flat else jnp.zeros(0)
    i, j = np.triu_indices(len(vectors))
    return jnp.concatenate([*(jnp.ravel(part) for part in parts), vectors[i] * vectors[j]])


def names_of(system: System) -> tuple[str, ...]:
    """What `numbers` are called."""
    space, names = system.space, system.names
    factors = space.factors if isinstance(space, Product) else (space,)
    slices = space.slices if isinstance(space, Product) else (slice(None),)
    found, vectors = [], []
    for own, part in zip(factors, slices, strict=True):
        if isinstance(own, Group):
            found += [str(x) for x in np.ravel(np.array(own.letters()[0], dtype=object))]
        else:
            found += names[part]
            vectors += names[part]
    i, j = np.triu_indices(len(vectors))
    squares = [(vectors[a], vectors[b]) for a, b in zip(i, j, strict=True)]
    return (*found, *(f"{a}^2" if a == b else f"{a} {b}" for a, b in squares))


class Rates:
    """X^C(L) of fields at random points, and the f whose rates they are."""

    def __init__(self, system: System, points: Any, natural: Natural) -> None:
        self.system, self.points, self.natural = system, points, natural
        self.names = names_of(system)
        space = system.space

        def at(_: Any, point: Any) -> Any:
            q, v = place(system, point), point["v"][0]
            zero = jnp.zeros(space.dim)
            return q, jax.jvp(lambda e: numbers(space, space.displace(q, e)), (zero,), (v,))

        self.q, (self.z, self.dz) = jax.tree.map(np.asarray, small_map(at)((), points))
        flat = space.factors if isinstance(space, Product) else (space,)
        n = sum(own.dim for own in flat if not isinstance(own, Group))
        self.plain = self.z.shape[1] - n * (n + 1) // 2
        self.used = np.max(np.abs(self.dz), axis=0) > 0

    def closed(self, symmetry: FieldSymmetry) -> Any:
        """The f of a field, None where none is known."""
        at = small_map(lambda _, row: self.terms(symmetry, *row))
        t, v, points = self.points["t"], self.points["v"][:, 0], self.points
        rates, later, scale = (np.asarray(a) for a in at((), (t, points)))
        good = np.isfinite(rates) & np.isfinite(later) & np.isfinite(scale) & (scale > 0)
        for k in dict.fromkeys((0.0, rate_of(rates[good], later[good]))):
            f = self.fitted(good, rates, scale, k)
            if f is not None:
                return f
        turned = jax.tree.map(lambda a: np.roll(a, 1, axis=0), points) | {"t": t}
        other = np.asarray(at((), (t, turned))[0])
        alone = good & np.isfinite(other)
        if np.max(np.abs(other - rates)[alone] / scale[alone]) < FITS:
            first = jax.tree.map(lambda a: a[np.argmax(alone)], self.q)
            return OfTime(self.system, symmetry.X, first, v[np.argmax(alone)])
        return None

    def terms(self, symmetry: FieldSymmetry, t: Scalar, point: Any) -> Any:
        """The rate, how it changes with time, and the size of its terms."""
        q, v = place(self.system, point), point["v"][0]

        def rate(t: Scalar) -> Any:
            return rate_terms(self.system, symmetry.X, t, q, v)

        value, later = jax.jvp(rate, (t,), (jnp.ones(()),))
        return jnp.sum(value), jnp.sum(later), jnp.sum(jnp.abs(value))

    def fitted(self, good: np.ndarray, R: np.ndarray, scale: np.ndarray, k: float) -> Any:
        """The simplest f with the rate k whose df/dt is R at the points, None where there is
        none.
        """
        t, growth = self.points["t"], np.exp(k * self.points["t"])[:, None]
        first = growth * k if k else np.ones((len(t), 1))
        columns = np.hstack([first, growth * (k * self.z + self.dz)])
        size = np.max(np.abs(columns), axis=0)
        unit = unit_of(scale)
        for count in dict.fromkeys((0, self.plain, self.z.shape[1])):
            which = np.flatnonzero(np.append(True, self.used)[: 1 + count])
            A = columns[:, which] / size[which] / scale[:, None]
            w = np.linalg.lstsq(A[good], (R / scale)[good], rcond=None)[0] / size[which]
            for numbers in (unit * fractions(w / unit), w):
                off = (columns[:, which] @ numbers - R)[good] / scale[good]
                if np.max(np.abs(off)) < FITS:
                    full = np.zeros(1 + count)
                    full[which] = numbers
                    return OfPlaces(self.system.space, self.names, full[0], full[1:], k)
        return None
