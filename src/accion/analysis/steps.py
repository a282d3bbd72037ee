"""How long a step may be: the bound of backward error analysis, and the limit of stability."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_vectors
from accion.analysis.phase import checked_start, phase_point
from accion.arguments import door, number, positive, seed
from accion.checks import check_mechanical, check_times, refuse
from accion.engines.auto import small_jit, small_map
from accion.memory import rows
from accion.systems import System
from accion.types import ArrayLike

ASCENTS = 60


@dataclass(frozen=True)
class StepBound:
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
    q0: ArrayLike,
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
    by steps uphill, not by the printed inequality for formations, which is violated (errata).

    Arguments:
        system: without constraints, on Euclidean or Torus.
        q0, v0, p0, t0: the centre, with one of v0 and p0.
        R, c: half the radius of the ball, and the constant of the method.
        samples, seed: how many random points, and which.

    Reference: Colombo-Gamonal, section 6.4.
    """
    check_mechanical(system, "step_bound")
    check_vectors(system, "step_bound", "it looks at a ball of configurations")
    if system.constraint is not None:
        refuse("step_bound", "systems under constraints", "they move on no ball of (q, p)")
    t0, _ = check_times(t0, 1.0, 1, 1)
    start = checked_start(system, "step_bound", q0=q0, v0=v0, p0=p0)
    q0, p0 = phase_point(system, None, t0, 1.0, start, "step_bound")
    n, z0 = system.space.dim, jnp.concatenate([jnp.asarray(q0), jnp.asarray(p0)])

    def field(z: Any) -> Any:
        q, p = z[:n], z[n:]
        v = system.velocity(t0, q, p, jnp.zeros(n))
        return jnp.concatenate([v, jax.grad(system.L, 1)(t0, q, v) + system.F(t0, q, v)])

    def inside(d: Any) -> Any:
        return d * jnp.minimum(1.0, 2 * R / jnp.maximum(jnp.linalg.norm(d), 1e-300))

    slope = jax.grad(lambda d: jnp.linalg.norm(field(z0 + d)))

    @small_map
    def climb(_: Any, d: Any) -> Any:
        def up(k: Any, d: Any) -> Any:
            g = slope(d)
            return inside(d + R / (2 + k) * g / jnp.maximum(jnp.linalg.norm(g), 1e-300))

        end = jax.lax.fori_loop(0, ASCENTS, up, d)
        return jnp.maximum(jnp.linalg.norm(field(z0 + end)), jnp.linalg.norm(field(z0 + d)))

    rng = np.random.default_rng(seed)
    d = rng.normal(size=(samples, 2 * n))
    d *= (
        2
        * R
        * rng.uniform(size=(samples, 1)) ** (1 / (2 * n))
        / np.linalg.norm(d, axis=1, keepdims=True)
    )
    values = np.asarray(climb((), d))
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"the equations of {system.name} are not finite everywhere in the ball of radius"
            f" {2 * R:g} around (q0, p0); choose a smaller R, or another q0, v0 or p0."
        )
    M = float(np.max(values))
    A = np.asarray(small_jit(jax.jacfwd(field))(z0))
    return StepBound(
        R / (c * M), M, float(R), float(c), float(np.max(np.abs(np.linalg.eigvals(A).imag)))
    )
