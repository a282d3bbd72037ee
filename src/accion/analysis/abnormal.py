"""Abnormal extremals: motions under constraints whose multipliers do not see the Lagrangian
(Vakonomic thesis, section 6.1, p0 = 0; Agrachev and Sachkov 2004).

Along a motion the changes eta that the constraint allows obey a linear equation, eta' = A eta + B w
with w free. Those that they reach at the end are the image of the derivative of the map of end
points; a covector p(T) is at right angles to all of them where

    p' = -A^T p,        B^T p = 0        all along.

Such a motion is an extremal of every Lagrangian: p is dPhi/dv^T lam, and lam.Phi alone is
stationary. It is strictly abnormal where it is no extremal of its own Lagrangian besides, by

    p' = -A^T p + a,    B^T p = b,       a, b the derivatives of L by eta and w.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_every_step
from accion.analysis.principle import check_curve, jets_of
from accion.arguments import count, door, number, positive
from accion.checks import check_kind, refuse
from accion.engines.auto import each
from accion.results.trajectory import Trajectory
from accion.systems.first_order import Levels, of_first_order
from accion.types import Array, Configuration, Scalar, Vector

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(6)
SMALL = 1e-7  # a singular value below this, relative to the largest, counts as zero


class Linear(NamedTuple):
    """eta' = A eta + B w at some times, with the derivatives a, b of the Lagrangian by eta and
    w; `lift` makes multipliers of costates.
    """

    A: np.ndarray  # (times, n, n)
    B: np.ndarray  # (times, n, k)
    a: np.ndarray  # (times, n)
    b: np.ndarray  # (times, k)
    lift: np.ndarray  # (times, m, n)


class Ends(NamedTuple):
    """What is free at the ends, as columns that span it: costates are at right angles to it."""

    start: np.ndarray
    end: np.ndarray


@dataclass(frozen=True)
class Abnormal:
    """The abnormal multipliers of a motion.

    `corank` is how many independent ones there are: as many directions as the ends of motions
    nearby cannot reach to first order. `costates` (corank, times, n) and `multipliers` (corank,
    times, m) are theirs at the times `t`, Gauss points, each costate with a largest entry of one.
    `singular_values`, n of them, are those of the map from costates at the end to B^T p over the
    whole motion, over the largest; `normal` is how far the motion is from an extremal of its own
    Lagrangian, as a part of dL/dw.
    """

    corank: int
    t: np.ndarray
    costates: np.ndarray
    multipliers: np.ndarray
    singular_values: np.ndarray
    normal: float
    tolerance: float

    @property
    def strictly(self) -> bool:
        """Whether it is abnormal and no extremal of its own Lagrangian."""
        return self.corank > 0 and self.normal > self.tolerance

    def __str__(self) -> str:
        values = ", ".join(f"{s:.2g}" for s in self.singular_values)
        words = (
            "not abnormal"
            if not self.corank
            else f"abnormal, of corank {self.corank}"
            + (", strictly" if self.strictly else ", and normal besides")
        )
        return f"{words} (singular values {values}; off a normal one by {self.normal:.2g})"


@door(t0=number, t1=number, tolerance=positive, parts=count)
def abnormal(
    system: Any,
    motion: Any,
    t0: float | None = None,
    t1: float | None = None,
    *,
    tolerance: float = SMALL,
    parts: int = 64,
) -> Abnormal:
    """Whether a motion is an abnormal extremal of the problem that constraints and ends pose: of
    the end-point map's derivative the corank, with the multipliers that belong to it.

        p = dPhi/dv^T lam,        p' = dPhi/dq^T lam (+ ad*_v p),        lam not 0

    An abnormal extremal does not depend on the Lagrangian; one that is strictly abnormal may be a
    minimum that no simulation and no two-point problem of L + lam.Phi finds.

    Arguments:
        system: vakonomic, of any order, on any space.
        motion: a smooth function q(t) that JAX can trace, with the times `t0` and `t1`, or a
            Trajectory of a system of order one. It must satisfy the constraints.
        tolerance: a singular value below this, relative to the largest, counts as zero; of a
            trajectory take the size of its errors.
        parts: into which the time of a curve is divided, six Gauss points in each.

    Returns:
        An `Abnormal`.

    Raises:
        ValueError: where the motion is off the constraint by more than the tolerance.

    References: Vakonomic thesis, section 6.1; Agrachev & Sachkov 2004; Montgomery 1994.
    """
    return abnormal_of(system, motion, t0, t1, tolerance, parts)


@singledispatch
def abnormal_of(
    system: Any, motion: Any, t0: Any, t1: Any, tolerance: float, parts: int
) -> Abnormal:
    """The same of a kind of system, or of problem; each registers its own."""
    check_kind(system)
    if not system.enters_action:
        why = "without a vakonomic constraint all changes of a motion are free"
        refuse("abnormal", system.kind, why)
    if system.discrete_time:
        refuse("abnormal", system.kind, "their steps are no smooth motion")
    t, rows = states_of(motion, system, t0, t1, parts)
    whole: Any = of_first_order(system)
    check_on_constraint(whole, rows, tolerance)
    n = whole.space.dim
    found = linear_along(whole, *rows)
    return judged(t, found, Ends(np.zeros((n, 0)), np.zeros((n, 0))), tolerance)


# ---------------------------------------------------------------- the motion


@singledispatch
def states_of(motion: Any, system: Any, t0: Any, t1: Any, parts: int) -> Any:
    """(ends of parts of the time, (t, z, z') at six Gauss points of each) of a curve."""
    check_curve(system, motion, t0, t1, "abnormal")
    t = np.linspace(float(t0), float(t1), parts + 1)
    levels = Levels(system.space, system.order)

    def curve(t: Any) -> Configuration:
        low = jnp.atleast_2d(jets_of(system, motion, t))[: system.order - 1]
        return levels.join(motion(t), low)

    whole: Any = of_first_order(system)
    ts = points_of(t)
    z, w = each(lambda t: (curve(t), jets_of(whole, curve, t)), ts)
    return t, (ts, z, w)


@states_of.register
def _(motion: Trajectory, system: Any, t0: Any, t1: Any, parts: int) -> Any:
    check_every_step(motion, "abnormal")
    if system.order > 1:
        refuse("abnormal along a trajectory", system.kind, "give the curve q(t)")
    if t0 is not None or t1 is not None:
        raise ValueError("abnormal takes a trajectory as a whole: leave out t0 and t1.")
    t = np.asarray(motion.t)
    ts = points_of(t)
    found = motion.at(ts)
    return t, (ts, found.q, found.v)


def points_of(t: np.ndarray) -> np.ndarray:
    """The Gauss points between neighbouring times, one after the other."""
    return (t[:-1, None] + np.diff(t)[:, None] * (POINTS + 1) / 2).ravel()


def check_on_constraint(system: Any, rows: Any, tolerance: float) -> None:
    """Raise ValueError where a motion breaks its constraints."""

    def one(t: Scalar, q: Configuration, v: Vector) -> Any:
        Phi = system.constraint.value(system, t, q, v)
        slopes = jax.jacfwd(lambda v: system.constraint.value(system, t, q, v))(v)
        return Phi, jnp.abs(slopes) @ jnp.abs(v)

    Phi, size = (np.asarray(a) for a in each(one, *rows))
    off = np.max(np.abs(Phi), axis=0)
    if not np.all(off <= max(tolerance, 1e-9) * np.maximum(np.max(size, axis=0), 1e-300) + 1e-300):
        raise ValueError(
            f"the motion is no motion of {system.name}: it is off the constraint by"
            f" {np.max(off):.3g}. Give one that satisfies it, or a larger tolerance for a"
            " trajectory of long steps."
        )


# ---------------------------------------------------------------- its changes


def linear_along(system: Any, t: Any, q: Configuration, v: Array) -> Linear:
    """The linear equation of the changes that a vakonomic constraint allows.

    A change eta of q changes v by eta' + ad_v eta; what the constraint leaves free of that is w.
    """
    m, space = system.multipliers, system.space

    def one(t: Scalar, q: Configuration, v: Vector) -> Any:
        zero = jnp.zeros(space.dim)

        def by_both(f: Callable[..., Any]) -> Any:
            return jax.jacfwd(lambda e, v: f(t, space.displace(q, e), v), (0, 1))(zero, v)

        Phi_q, Phi_v = by_both(lambda *z: system.constraint.value(system, *z))
        L_q, L_v = by_both(system.L)
        turn = jax.jacfwd(lambda eta: space.ad(v, eta))(zero)
        return Phi_q, Phi_v, L_q, L_v, turn

    Phi_q, Phi_v, L_q, L_v, turn = (np.asarray(a) for a in each(one, t, q, v))
    back = np.linalg.pinv(Phi_v)
    pull = back @ Phi_q
    free = np.swapaxes(np.linalg.svd(Phi_v)[2][:, m:, :], 1, 2)  # what Phi_v takes to zero
    return Linear(
        -pull - turn,
        free,
        L_q - np.einsum("ti,tij->tj", L_v, pull),
        np.einsum("ti,tij->tj", L_v, free),
        np.swapaxes(back, 1, 2),
    )


# ---------------------------------------------------------------- the test of its rank


def collocation() -> tuple[np.ndarray, np.ndarray]:
    """(C, b): the integrals from each Gauss point of [0, 1] to its end, and from its start, of the
    polynomial through values at the points.
    """
    c, k = (POINTS + 1) / 2, np.arange(1, len(POINTS) + 1)
    V = np.linalg.inv(c[:, None] ** (k - 1))
    return ((1 - c[:, None] ** k) / k) @ V, (1 / k) @ V


def costates_along(t: np.ndarray, own: Linear) -> tuple[np.ndarray, np.ndarray, Any]:
    """(P, f, ends): p at each point is P p(T) + f, by collocation in each part from the end to the
    start; `ends` are (P, f) at both ends of the motion.
    """
    n, s = own.A.shape[-1], len(POINTS)
    C, b = collocation()
    here = np.hstack([np.eye(n), np.zeros((n, 1))])  # columns of P, and f
    found, last = np.empty((len(own.A), n, n + 1)), here
    for k in reversed(range(len(t) - 1)):
        h, part = t[k + 1] - t[k], slice(s * k, s * (k + 1))
        A, a = np.swapaxes(own.A[part], 1, 2), own.a[part]
        # p_i = p_end - h sum_j C_ij (-A_j^T p_j + a_j)
        K = np.eye(s * n).reshape(s, n, s, n) - h * np.einsum("ij,jab->iajb", C, A)
        right = np.tile(here, (s, 1, 1))
        right[:, :, -1] -= h * C @ a
        p = np.linalg.solve(K.reshape(s * n, s * n), right.reshape(s * n, n + 1))
        found[part] = p.reshape(s, n, n + 1)
        rates = -A @ found[part]
        rates[:, :, -1] += a
        here = here - h * np.einsum("j,jab->ab", b, rates)
    return found[:, :, :n], found[:, :, n], [(here[:, :n], here[:, n]), (last[:, :n], last[:, n])]


def judged(t: np.ndarray, own: Linear, ends: Ends, tolerance: float) -> Abnormal:
    """The abnormal costates among all p(T), by the singular values of p(T) -> B^T p."""
    n = own.A.shape[-1]
    maps, forced, (first, last) = costates_along(t, own)
    weights = np.sqrt((np.diff(t)[:, None] / 2 * WEIGHTS).ravel())
    B = np.swapaxes(own.B, 1, 2) * weights[:, None, None]
    b = weights[:, None] * own.b
    rows, right = [(B @ maps).reshape(-1, n)], [(b - np.einsum("tij,tj->ti", B, forced)).ravel()]
    # A costate at an end is at right angles to what is free there; it weighs as the whole motion.
    whole = np.sqrt(abs(t[-1] - t[0]))
    for free, (P, f) in ((ends.start, first), (ends.end, last)):
        rows.append(whole * free.T @ P)
        right.append(-whole * free.T @ f)
    M, r = np.concatenate(rows), np.concatenate(right)
    unit = np.linalg.norm(M, axis=0)
    unit = np.where(unit > tolerance * np.max(unit, initial=0.0), unit, 1.0)
    _, s, V = np.linalg.svd(M / unit, full_matrices=False)
    s = s / s[0] if s[0] > 0 else s
    null = V[s <= tolerance].T / unit[:, None]
    left = M / unit @ np.linalg.lstsq(M / unit, r, rcond=tolerance)[0] - r
    size = np.linalg.norm(b)
    p = np.einsum("tij,jc->cti", maps, null)
    p = p / np.max(np.abs(p), axis=(1, 2), keepdims=True, initial=np.finfo(float).tiny)
    return Abnormal(
        corank=null.shape[1],
        t=points_of(t),
        costates=p,
        multipliers=np.einsum("tmi,cti->ctm", own.lift, p),
        singular_values=s,
        normal=float(np.linalg.norm(left) / size) if size > 0 else 0.0,
        tolerance=tolerance,
    )
