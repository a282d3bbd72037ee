"""The measured order of convergence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import row, step_sizes
from accion.checks import check_kind
from accion.instant.continuous import reference
from accion.methods import Method
from accion.results.trajectory import Trajectory
from accion.solve.simulation import simulate
from accion.systems import AbstractSystem
from accion.types import ArrayLike, Configuration

TOLERANCE = 1e-13  # of each step of the continuous trajectory


@dataclass(frozen=True)
class Order:
    """The slope of log(error) over log(h), with the data it was fitted to (points near the roundoff
    plateau cut off).
    """

    slope: float
    h: np.ndarray
    errors: np.ndarray
    used: np.ndarray

    def __float__(self) -> float:
        return self.slope

    def __str__(self) -> str:
        rows = [f"order {self.slope:.3f}"]
        for h, error, used in zip(self.h, self.errors, self.used, strict=True):
            remark = "" if used else "  (roundoff, not used)"
            rows.append(f"  h = {h:<10.4g} error = {error:.3e}{remark}")
        return "\n".join(rows)


def order(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    t0: float = 0.0,
    duration: float,
    h: Sequence[float] | np.ndarray,
    exact: Any = None,
    q1: Callable[[float], Any] | None = None,
) -> Order:
    """The order of `method` on `system`, from errors at t0 + duration for each step in `h`.

    The error is the largest component of (q, v), of a thermal system of (q, v, S), of one of order
    r of (q, q', ..., q^(r)), of a vakonomic one also of lam; of a system that is given in discrete
    time of (q, p) or (q, p, S). It is measured against `exact` or else against the continuous
    trajectory, integrated with tolerances of 1e-13 for each of its steps. Errors within a factor 30
    of the smallest one that roundoff, or the estimated error of that trajectory, lets be seen are
    not used.

    Arguments:
        system, method: what is stepped; `method` is None for a system given in discrete time.
        q0, v0, p0, S0, lam0, t0: the start, as for `simulate`.
        duration: the time over which errors are measured, a multiple of each step.
        h: three steps or more.
        exact: what the errors are of, at the end. A system that is given in discrete time has no
            continuous trajectory, and needs it.
        q1: `q1(h)`, where given, starts the runs from q0 and q1(h) in place of v0 or p0.
    """
    check_kind(system)
    sizes = step_sizes(h, 3)
    steps = np.rint(duration / sizes).astype(int)
    if np.any(steps < 1) or np.any(np.abs(steps * sizes - duration) > 1e-9 * duration):
        raise ValueError(f"each step must divide the duration {duration:g}; got {sizes}.")
    start: dict[str, Any] = {"q0": q0, "v0": v0, "S0": S0, "lam0": lam0}
    exact, blur = continuous_end(system, start, t0, duration) if exact is None else (exact, 0.0)
    if q1 is not None:
        start |= {"v0": None} if system.discrete_time else {"v0": None, "lam0": None}
    runs = [
        simulate(
            system,
            method,
            **(start if q1 is None else start | {"q1": q1(float(step))}),
            p0=p0,
            t0=t0,
            h=float(step),
            steps=int(count),
            save_every=int(count),
        )
        for step, count in zip(sizes, steps, strict=True)
    ]
    errors = np.array([error_at_end(run, exact) for run in runs])
    scale = jnp.max(jnp.abs(exact[1])) + jnp.max(system.space.magnitude(exact[0]))
    return fitted(sizes, errors, 1e-13 * float(scale), blur)


def continuous_end(system: AbstractSystem, start: Any, t0: float, duration: float) -> Any:
    """Where the continuous trajectory ends, and an estimate of its error."""
    if system.discrete_time:
        raise ValueError(
            f"order does not support {system.kind} without `exact`: they have no continuous motion"
            " to be compared with."
        )
    ends = jnp.array([t0, t0 + duration])
    found = reference(system, **start, ts=ends, rtol=TOLERANCE, atol=TOLERANCE, with_error=True)
    *exact, error = (row(part, -1) for part in found)
    return exact, float(error)


def error_at_end(run: Trajectory, exact: Any) -> float:
    """The largest component of what a run ends with, without that of `exact`."""
    system, end, jets = run.system, row(run.q, -1), run.jets
    if system.discrete_time:
        rates = run.p[-1] - exact[1]
    elif jets is not None:
        rates = jets[-1] - exact[1][: system.order]
    else:
        rates = run.v[-1] - exact[1]
    parts = [system.space.local(exact[0], end), rates]
    if len(exact) > 2 and run.S is not None:
        parts.append(run.S[-1] - exact[2])
    elif len(exact) > 2 and run.lam is not None:
        parts.append(run.lam[-1] - (exact[2] if jets is None else exact[2][0]))
    return float(max(jnp.max(jnp.abs(jnp.asarray(part))) for part in parts))


def fitted(h: np.ndarray, errors: np.ndarray, roundoff: float, blur: float) -> Order:
    """The slope through the errors that are well above what cannot be seen."""
    seen = max(roundoff, blur)
    used = errors > 30 * seen
    if np.sum(used) < 3:
        estimate = f"the error of the continuous trajectory, about {blur:.1e}"
        what = "roundoff" if seen > blur else estimate
        raise ValueError(
            f"fewer than three errors are well above {what}: {errors}. Take larger steps."
        )
    slope = np.polyfit(np.log(h[used]), np.log(errors[used]), 1)[0]
    return Order(float(slope), h, errors, used)
