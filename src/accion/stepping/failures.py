"""What is said of a step that was not solved."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import callable_of
from accion.errors import StepFailed
from accion.numerics import newton
from accion.numerics.dependence import depends
from accion.types import Scalar, Vector


def failure(
    again: Any,
    scheme: Any,
    first: Any,
    t0: Any,
    h: Any,
    steps: Any,
    trajectory: Any,
    engine: Any,
) -> Any:
    """The error that says which step was not solved, how far it was from it, and what to try.

    `again(scheme, first, k)` is the state of a run after k steps.
    """
    who = ""
    completed = trajectory.steps_completed
    if trajectory.is_ensemble:
        bad = completed < steps
        i = int(jnp.argmax(bad))
        who = f"member {i} ({int(jnp.sum(bad))} of {len(bad)} failed): "
        scheme, first, completed = jax.tree.map(lambda a: a[i], (scheme, first, completed))
    k = int(completed)
    state = again(scheme, first, k)
    t = float(t0 + (np.sum(h[:k]) if np.ndim(h) else k * h))
    h = h[k] if np.ndim(h) else h
    where = f"{who}step {k} of {steps} (t = {t:.6g}, h = {float(h):.3g})"
    whole, found = h, scheme.unsolved(first, state, t, h)
    scheme, first, state, t, h, origin, beyond = found
    if h is not whole:
        where += f", in its inner step of {float(h):.3g} at t = {float(origin + t):.6g},"
    program = callable_of("attempt", attempt, scheme, state, t, h, engine=engine)
    (x, _, converged, _, part), left = program(scheme, state, t, h)
    residual = float(np.max(np.abs(left)))
    known = {"step": k, "t": origin + t, "residual": residual, "trajectory": trajectory}
    beyond = beyond or scheme.beyond(state, t, h)
    if beyond:
        return StepFailed(f"{where} was not solved: {beyond}.", **known)
    solved = bool(converged)
    what = reason(scheme, x, solved, float(part), residual, state, t, h, engine)
    what += scheme.circumstances(first, state, t, h)
    shorter = float(whole) / 4 if depends(scheme.residual, x, state, t, jnp.asarray(h)) else None
    return StepFailed(f"{where} was not solved: {what}.", **known, smaller=shorter)


def reason(
    scheme: Any,
    x: Vector,
    converged: bool,
    part: float,
    residual: Any,
    state: Any,
    t: Scalar,
    h: Scalar,
    engine: Any,
) -> Any:
    """Why a step was not taken, in words; `x` are the unknowns that were found, `part` is how far
    the step could be followed.
    """
    if part < 1:
        return (
            f"the solution that the motion goes on with, which is h v where h is small, ends at h ="
            f" {part * float(h):.3g}; what there is at h = {float(h):.3g} is far from it"
        )
    chart = outside(scheme, x, state, h)
    if chart is not None:
        return chart
    if converged:
        return scheme.obstacle(x, state, t, h)
    if math.isfinite(residual):
        return (
            f"Newton's method did not converge in {newton.ITERATIONS} iterations; the momentum"
            f" balance is off by {residual:.3g}, where |p| ="
            f" {float(jnp.max(jnp.abs(state.p))):.3g}{least_squares(scheme, state, t, h, engine)}"
        )
    return (
        f"the derivatives of the Lagrangian or the force of {scheme.system.name} are not finite on"
        " the way to a solution, or"
        f" D12 Ld is singular there{least_squares(scheme, state, t, h, engine)}"
    )


def attempt(scheme: Any, state: Any, t: Scalar, h: Scalar) -> Any:
    """One step: where it leads, whether it was solved, and what is left of its equations."""
    root = scheme.solve(state, t, h)
    return root, scheme.residual(root.x, state, t, h)


def outside(scheme: Any, unknowns: Any, state: Any, h: Scalar) -> Any:
    """How far a step leads out of the chart of the retraction, in words, None where it does not; of
    one that has no value, its guess.
    """
    moved = scheme.moved(unknowns if np.all(np.isfinite(unknowns)) else state.guess, state, h)
    return scheme.system.step_space.beyond(moved) if np.all(np.isfinite(moved)) else None


def least_squares(scheme: Any, state: Any, t: Scalar, h: Scalar, engine: Any) -> Any:
    """What least squares finds where Newton's method found nothing: whether the equations of the
    step have a solution at all, in words.
    """
    from scipy import optimize

    def remaining(scheme: Any, unknowns: Any, state: Any) -> Any:
        return scheme.residual(unknowns, state, t, h)

    examples = (scheme, state.guess, state)
    value = callable_of(("remaining", t, float(h)), remaining, *examples, engine=engine)
    slope = callable_of(
        ("slopes", t, float(h)),
        jax.jacfwd(remaining, argnums=1),
        *examples,
        engine=engine,
    )
    residual, slopes = (lambda x, f=f: f(scheme, x, state) for f in (value, slope))
    first, J = np.asarray(residual(state.guess)), np.asarray(slopes(state.guess))
    with np.errstate(all="ignore"):
        row = 1 / (np.max(np.abs(J), axis=1) + newton.TINY)
        scaled = np.concatenate([row * first, np.ravel(row[:, None] * J)])
    if not np.all(np.isfinite(scaled)):
        return ""
    options: Any = {
        "jac": lambda x: row[:, None] * slopes(x),
        "xtol": 1e-15,
        "ftol": 1e-15,
        "gtol": 1e-15,
        "max_nfev": 200,
    }
    found = optimize.least_squares(lambda x: row * residual(x), state.guess, **options)
    left, at = float(np.max(np.abs(residual(found.x)))), np.array2string(found.x, precision=4)
    if left > 1e-6 * float(np.max(np.abs(first))):
        return (
            ". No solution exists nearby: by least squares the equations are still off by"
            f" {left:.3g}, at the increment {at}"
        )
    return f". There is a solution at the increment {at}, far from where the motion was going"
