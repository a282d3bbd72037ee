"""How long a step may be: the bound of backward error analysis, and the limit of stability."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.phase import checked_start, phase_point
from accion.arguments import door, number, positive, seed
from accion.checks import check_mechanical, check_times, refuse
from accion.engines.auto import small_jit, small_map
from accion.memory import rows
from accion.systems import System
from accion.told import Told
from accion.types import ArrayLike, Configuration, Covector, Scalar

ASCENTS = 60


@dataclass(frozen=True, repr=False)
class StepBound(Told):
    """alpha = R/(c M) with |f| <= M on the ball |z - z0| < 2R (Colombo-Gamonal, section 6.4), and
    the largest frequency at z0 with its limit 2/omega.
    """

    alpha: float
    M: float
    R: float
    c: float
    frequency: float

    @property
    def stable(self) -> float:
        """2/omega, beyond which explicit methods are unstable near z0; infinite where nothing
        oscillates.
        """
        return 2 / self.frequency if self.frequency > 0 else float("inf")

    def text(self) -> str:
        """The bound in words."""
        limit = "nothing oscillates at the centre."
        if self.frequency > 0:
            limit = (
                f"at the centre the fastest oscillation has {self.frequency:.4g} rad/s; explicit"
                f" methods are unstable beyond h = {self.stable:.4g}."
            )
        return (
            f"|f| <= {self.M:.4g} in a ball of radius {2 * self.R:g}: alpha = R/(c M) ="
            f" {self.alpha:.4g}. This is a sufficient bound for the estimates of backward error"
            " analysis. It depends on the units of q and p and on the choice of R and c, and is no"
            f" limit of stability: {limit}"
        )

    def __str__(self) -> str:
        return self.text()


@door(t0=number, R=positive, c=positive, samples=rows(10_000), seed=seed)
def step_bound(
    system: System,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    t0: float = 0.0,
    R: float = 1.0,
    c: float = 1.0,
    samples: int = 256,
    seed: int = 0,
) -> StepBound:
    """An estimate of the usable step alpha = R/(c M) of backward error analysis, for a system and
    the ball of radius 2R around (q0, p0).

    M, the largest |f(q, p)| of Hamilton's equations in the ball, is looked for from random points
    by steps uphill, not by the printed inequality for formations, which is violated (errata). On a
    group the ball and f are those of the coordinates (e, p) with q = retract(q0, e):

        e' = dtau^-1(e) v,    p' = dL/dq + F + ad*_v p.

    Arguments:
        system: without constraints, on any space.
        q0, v0, p0, t0: the centre, with one of v0 and p0.
        R, c: half the radius of the ball, and the constant of the method.
        samples, seed: how many random points, and which.

    Reference: Colombo-Gamonal, section 6.4.
    """
    check_mechanical(system, "step_bound")
    if system.constraint is not None:
        refuse("step_bound", "systems under constraints", "they move on no ball of (q, p)")
    t0, _ = check_times(t0, 1.0, 1, 1)
    start = checked_start(system, "step_bound", q0=q0, v0=v0, p0=p0)
    q0, p0 = phase_point(system, None, t0, 1.0, start, "step_bound")
    field, n = in_chart(system, t0, q0, p0), system.space.dim
    if not all(bool(system.space.within(2 * R * e)) for e in jnp.eye(n)):
        raise ValueError(
            f"the ball of radius {2 * R:g} around q0 leaves the chart of {system.space}"
            f" ({system.space.chart}); choose a smaller R."
        )

    def inside(d: np.ndarray) -> np.ndarray:
        size = np.linalg.norm(d, axis=1, keepdims=True)
        return d * np.minimum(1.0, 2 * R / np.maximum(size, 1e-300))

    @small_map
    def speed(_: Any, d: Any) -> Any:
        return jnp.linalg.norm(field(d))

    def speeds(d: np.ndarray) -> np.ndarray:
        return np.asarray(speed((), d.reshape(-1, 2 * n))).reshape(d.shape[:-1])

    def uphill(d: np.ndarray) -> np.ndarray:
        """Unit vectors, by differences: a program for the derivatives would take ten times as
        long to compile, and directions need no digits.
        """
        shifts = 1e-5 * R * np.eye(2 * n)
        g = speeds(d[:, None] + shifts) - speeds(d[:, None] - shifts)
        return g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300)

    rng = np.random.default_rng(seed)
    d = rng.normal(size=(samples, 2 * n))
    d *= (
        2
        * R
        * rng.uniform(size=(samples, 1)) ** (1 / (2 * n))
        / np.linalg.norm(d, axis=1, keepdims=True)
    )
    values = speeds(d)
    for k in range(ASCENTS if np.all(np.isfinite(values)) else 0):
        d = inside(d + R / (2 + k) * uphill(d))
        values = np.maximum(values, speeds(d))
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"the equations of {system.name} are not finite everywhere in the ball of radius"
            f" {2 * R:g} around (q0, p0); choose a smaller R, or another q0, v0 or p0."
        )
    M = float(np.max(values))
    A = np.asarray(small_jit(jax.jacfwd(field))(jnp.zeros(2 * n)))
    return StepBound(
        R / (c * M), M, float(R), float(c), float(np.max(np.abs(np.linalg.eigvals(A).imag)))
    )


def in_chart(system: System, t: Scalar, q0: Configuration, p0: Covector) -> Any:
    """Hamilton's equations as a function of (e, p - p0), shape (2 dim,), with q = retract(q0, e)
    and the velocity of e.
    """
    space, zero = system.space, jnp.zeros(system.space.dim)

    def field(z: Any) -> Any:
        e, p = z[: len(zero)], p0 + z[len(zero) :]
        q = space.retract(q0, e)
        v = system.velocity(t, q, p, zero)
        slope = jax.grad(lambda d: system.L(t, space.displace(q, d), v))(zero)
        rate = jax.jvp(lambda d: space.relative(e, zero, d), (zero,), (v,))[1]
        return jnp.concatenate([rate, slope + system.F(t, q, v) + space.coad(v, p)])

    return field
