"""The measured order of convergence."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.instant.continuous import reference
from accion.solve.simulation import simulate


@dataclass(frozen=True)
class Order:
    """The slope of log(error) over log(h), with the data it was fitted to (points near the roundoff
    plateau cut off).
    """

    slope: float
    h: np.ndarray
    errors: np.ndarray
    used: np.ndarray

    def __float__(self):
        return self.slope

    def __str__(self):
        rows = [f"order {self.slope:.3f}"]
        for h, error, used in zip(self.h, self.errors, self.used, strict=True):
            rows.append(
                f"  h = {h:<10.4g} error = {error:.3e}{'' if used else '  (roundoff, not used)'}"
            )
        return "\n".join(rows)


def order(
    system, method, *, q0, v0, S0=None, lam0=None, t0=0.0, duration, h, exact=None, q1=None
) -> Order:
    """The order of `method` on `system`, from errors at t0 + duration for each step in `h` (three
    or more).

    The error is the largest component of (q, v), of a thermal system of (q, v, S), of one of order
    r of (q, q', ..., q^(r)), of a vakonomic one also of lam, against `exact` at the end, or else
    against the continuous trajectory, integrated with tolerances of 1e-13 for each of its steps. A
    vakonomic system needs `lam0`, as in `simulate`. Errors within a factor 30 of the smallest one
    that roundoff, or the estimated error of that trajectory, lets be seen are not used. `q1(h)`,
    where given, starts the runs from q0 and q1(h) instead of from matched momenta.
    """
    h = step_sizes(h, 3)
    steps = np.rint(duration / h).astype(int)
    if np.any(steps < 1) or np.any(np.abs(steps * h - duration) > 1e-9 * duration):
        raise ValueError(f"each step must divide the duration {duration:g}; got {h}.")
    blur = 0.0
    if exact is None:
        ends = jnp.array([t0, t0 + duration])
        *exact, error = map(
            last,
            reference(
                system,
                q0=q0,
                v0=v0,
                S0=S0,
                lam0=lam0,
                ts=ends,
                rtol=1e-13,
                atol=1e-13,
                with_error=True,
            ),
        )
        blur = float(error)
    space = system.space
    errors = []
    for step, count in zip(h, steps, strict=True):
        start = {"v0": v0, "lam0": lam0} if q1 is None else {"q1": q1(step)}
        traj = simulate(
            system,
            method,
            q0=q0,
            **start,
            S0=S0,
            t0=t0,
            h=float(step),
            steps=int(count),
            save_every=int(count),
        )
        rates = (
            traj.v[-1] - exact[1] if traj.jets is None else traj.jets[-1] - exact[1][: system.order]
        )
        parts = [space.local(exact[0], last(traj.q)), rates]
        if S0 is not None:
            parts.append(traj.S[-1] - exact[2])
        elif lam0 is not None and len(exact) > 2:
            parts.append(traj.lam[-1] - (exact[2] if traj.jets is None else exact[2][0]))
        errors.append(float(max(jnp.max(jnp.abs(part)) for part in parts)))
    errors = np.array(errors)
    scale = float(jnp.max(jnp.abs(exact[1])) + jnp.max(space.magnitude(exact[0])))
    seen = max(1e-13 * scale, blur)
    used = errors > 30 * seen
    if np.sum(used) < 3:
        what = (
            "roundoff"
            if seen > blur
            else f"the error of the continuous trajectory, about {blur:.1e}"
        )
        raise ValueError(
            f"fewer than three errors are well above {what}: {errors}. Take larger steps."
        )
    slope = np.polyfit(np.log(h[used]), np.log(errors[used]), 1)[0]
    return Order(float(slope), h, errors, used)


def step_sizes(h, least):
    """`h` as step sizes, the largest first."""
    try:
        h = np.asarray(h, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"h must be {least} step sizes or more, such as [0.1, 0.05, 0.025]; got {h!r}."
        ) from error
    if h.ndim != 1 or len(h) < least or not np.all(np.isfinite(h)) or not np.all(h > 0):
        raise ValueError(
            "h must be at least"
            f" {('one step size', 'two step sizes', 'three step sizes')[least - 1]}, positive; got"
            f" {h}."
        )
    return np.sort(h)[::-1]


def last(q) -> Any:
    return tuple(part[-1] for part in q) if isinstance(q, tuple) else q[-1]
