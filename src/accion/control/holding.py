"""Whether a law that answers to small changes holds an equilibrium at all."""

import jax
import numpy as np

from accion.control.balance import AT_REST, balance
from accion.control.linear import Linear
from accion.control.states import Slopes, law_of
from accion.numerics.batches import at_times

# when a system is looked at for what changes with t, in parts of the duration of its problem
LATER = np.array([0.0, 0.0973, 0.2718, 0.4142, 0.6931, 1.0])


def obstacle(linear: Linear) -> str | None:
    """Why no law of the changes z holds an equilibrium, in words; None where one may."""
    return without_room(linear) or changing(linear)


def without_room(linear: Linear) -> str | None:
    """What is said where controls are on their bounds or beyond them: these answer to one side at
    most.
    """
    problem, u, (lower, upper) = linear.problem, linear.about.u[0, 0], linear.problem.u_bounds
    slack = AT_REST * np.where(np.isfinite(upper - lower), upper - lower, np.abs(u))
    for i in np.flatnonzero((u <= lower + slack) | (u >= upper - slack)):
        return (
            f"{problem.controls[i]} must be {u[i]:.6g} to hold this equilibrium, which leaves it no"
            f" room within its control_bounds, {lower[i]:g} to {upper[i]:g}, to answer to both"
            " sides. Widen them, or give another equilibrium, at=(q, None), or other controls that"
            " hold it, u=."
        )
    return None


def changing(linear: Linear) -> str | None:
    """What is said where A, B or what the controls must be change with the time."""
    problem, (t, q, v, u, _) = linear.problem, linear.about
    times = t[0] + problem.longest * LATER
    rows = jax.tree.map(lambda a: np.repeat(a, len(times), axis=0), (q, v, u[:, 0]))
    f, units = Slopes(law_of(problem)), linear.units
    A, B = (np.asarray(a) for a in at_times(f, False, problem.system, times, *rows)[:2])
    A, B = A * units / units[:, None], B / units[:, None]
    off_A, off_B = np.abs(A - A[0]), np.abs(B - B[0])
    still = off_A <= AT_REST * np.max(np.abs(A[0]))
    same = off_B <= AT_REST * np.max(np.abs(B[0]), axis=0)
    at = jax.tree.map(lambda a: a[0], q)
    for k, now in enumerate(times):
        _, left, terms = balance(problem, float(now), at, u[0, 0])
        if not (np.all(still[k]) and np.all(same[k]) and left <= AT_REST * terms):
            return (
                f"{problem.name} changes with t near this equilibrium: A, B or the controls that"
                f" hold it are others at t = {now:g} than at t = {t[0]:g}, and one law does not"
                " hold it. Take t out of its functions, or follow a Solution that stays there, by"
                " track."
            )
    return None
