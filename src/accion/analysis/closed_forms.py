"""The f of X^C(L) = df/dt in closed form: e^(k t) times polynomials of second degree in q."""

from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.affine import ClosedForm, Integrated, coefficients
from accion.analysis.echelon import FITS, beside, fractions
from accion.analysis.natural import ORDINARY, Natural
from accion.engines.auto import each
from accion.types import Array, Scalar, Vector


class Points(NamedTuple):
    """Random points (t, q, v, a), on the constraint where there is one, with the sizes that
    belong to them.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    size: np.ndarray  # of each coordinate
    h: float  # of a step

    @property
    def each(self) -> tuple[np.ndarray, ...]:
        """(t, q, v, a)."""
        return self[:4]

    @property
    def units(self) -> np.ndarray:
        """Of the coefficients (A, b) of X = A q + b."""
        return np.concatenate([np.outer(self.size, 1 / self.size).ravel(), self.size])


def polynomials(q: np.ndarray) -> np.ndarray:
    """1, q and the products of second degree, a row for each configuration."""
    i, j = np.triu_indices(q.shape[1])
    return np.hstack([np.ones((len(q), 1)), q, q[:, i] * q[:, j]])


def candidates(k: float, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """e^(k t) times them; with k = 0, t in place of 1."""
    found = np.exp(k * t)[:, None] * polynomials(q)
    if k == 0:
        found[:, 0] = t
    return found


def candidate_rates(k: float, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """d/dt of the candidates along (q, v)."""
    i, j = np.triu_indices(q.shape[1])
    along = np.hstack(
        [np.full((len(q), 1), float(k == 0)), v, q[:, i] * v[:, j] + v[:, i] * q[:, j]]
    )
    return np.exp(k * t)[:, None] * (k * polynomials(q) + along)


class Growth:
    """X^C(L) at the points, and the f in closed form whose rates it may be.

    It works in natural units, of time and of the coordinates: coefficients u, rates k and what f is
    of are in those.
    """

    def __init__(self, system: Any, points: Points, natural: Natural) -> None:
        self.system, self.time = system, natural.time
        lifted, later = each(self.lifted, *points[:3])
        self.good = np.all(np.isfinite(lifted), axis=1) & np.all(np.isfinite(later), axis=1)
        self.points = points._replace(
            **{name: getattr(points, name)[self.good] for name in ("t", "q", "v", "a")}
        )
        rows, rates = (np.asarray(a)[self.good] * points.units for a in (lifted, later))
        self.lifted_rows, self.later = self.time * rows, self.time**2 * rates
        self.size = np.linalg.norm(self.lifted_rows, axis=1)
        self.size = np.where(self.size > 0, self.size, 1.0)

    def lifted(self, t: Scalar, q: Vector, v: Vector) -> tuple[Array, Array]:
        """The row of X^C(L) over (A, b), and its derivative by time."""

        def row(t: Scalar) -> Any:
            Lq, Lv = jax.grad(self.system.L, (1, 2))(t, q, v)
            return jnp.concatenate([(jnp.outer(Lq, q) + jnp.outer(Lv, v)).ravel(), Lq])

        return jax.jvp(row, (t,), (jnp.ones(()),))

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """The k that are tried under nonholonomic constraints: zero and, where dL/dt = k L, that
        one.
        """
        L, dL = each(jax.value_and_grad(self.system.L), *self.points[:3])
        k = rate_of(np.asarray(L), self.time * np.asarray(dL))
        return (0.0,) if not k else (0.0, k)

    @property
    def bare(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(t, q, v) of the points in natural units."""
        t, q, v, size = (*self.points[:3], self.points.size)
        return t / self.time, q / size, v * self.time / size

    def changes(self, points: Points, end: np.ndarray) -> np.ndarray:
        """f(t + h, end) - f(t, q) of the candidates."""
        start, later = points.t / self.time, (points.t + points.h) / self.time
        q, q1 = points.q / points.size, end / points.size
        return np.hstack([candidates(k, later, q1) - candidates(k, start, q) for k in self.rates])

    def rows(self) -> np.ndarray:
        """Rows over (A, b) that are zero where X^C(L) = df/dt for a candidate f: what is left of
        X^C(L) beside them.
        """
        columns = np.hstack([candidate_rates(k, *self.bare) for k in self.rates])
        return beside(self.lifted_rows / self.size[:, None], columns / self.size[:, None])

    def closed(self, u: np.ndarray) -> ClosedForm | Integrated | None:
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
        own = coefficients(u * self.points.units)
        return Integrated(self.system, *own, self.points.q[0], self.points.v[0])

    def fitted(self, R: np.ndarray, scale: np.ndarray, k: float) -> ClosedForm | None:
        """The simplest `ClosedForm` with the rate k whose df/dt is R at the points, None where
        there is none.
        """
        n, columns = self.points.q.shape[1], candidate_rates(k, *self.bare)
        unit = unit_of(scale)
        # Under a constraint several f are equal: without q, linear in q, then quadratic.
        for used in (1, 1 + n, columns.shape[1]):
            good = np.linalg.lstsq(columns[:, :used] / scale[:, None], R / scale, rcond=None)[0]
            for w in (unit * fractions(good / unit), good):
                if np.max(np.abs(columns[:, :used] @ w - R) / scale) < FITS:
                    w = np.concatenate([w, np.zeros(columns.shape[1] - used)])
                    S = np.zeros((n, n))
                    S[np.triu_indices(n)] = w[1 + n :]
                    size, alone = self.points.size, 1.0 if k else self.time
                    c, S = w[1 : 1 + n] / size, (S + S.T) / np.outer(size, size)
                    return ClosedForm(float(w[0] / alone), c, S, k / self.time)
        return None


def unit_of(numbers: np.ndarray) -> float:
    """A power of two of the size of the largest number; one where that is an ordinary number."""
    largest = np.max(np.abs(numbers), initial=0.0)
    power = np.round(np.log2(largest)) if largest > 0 else 0.0
    return 1.0 if abs(power) <= ORDINARY else float(2.0**power)


def rate_of(values: np.ndarray, slopes: np.ndarray) -> float:
    """k with slopes = k values, 0 where there is none."""
    square = values @ values
    k = float(slopes @ values / square) if square > 0 else 0.0
    if np.max(np.abs(slopes - k * values)) <= FITS * np.max(np.abs(values)):
        return float(fractions(np.array([k]))[0])
    return 0.0
