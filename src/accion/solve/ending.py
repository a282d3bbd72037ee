"""A run that ends at a time: `simulate(..., until=T)`."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

import jax
import numpy as np

from accion.arguments import number, positive
from accion.errors import StepFailed
from accion.memory import check_room
from accion.methods import Method
from accion.results.continuation import AT_TIMES
from accion.results.trajectory import Trajectory
from accion.stepping import scheme_of
from accion.stepping.rows import shorter_scheme
from accion.systems import AbstractSystem
from accion.systems.start import is_traced

MOST = 2**53  # steps
FIRST = 256  # steps of a run whose lengths are not known before
MORE = 1.1  # times the steps that seem to be missing
WHOLE = 1e-9  # of a step: what is as near to the end as that is the end


def run_until(
    run: Callable[[int], Trajectory],
    system: AbstractSystem,
    method: Method | None,
    until: Any,
    t0: Any,
    h: Any,
    save_every: Any,
) -> Trajectory:
    """The run from t0 to the time `until`, whose last step is as long as is left.

    Arguments:
        run: makes a trajectory of so many steps.
        until, t0, h, save_every: as the user gave them.
    """
    until, t0, h = number(until, "until"), number(t0, "t0"), positive(h, "h")
    if is_traced((until, t0, h)):
        raise TypeError("until is a time that must be known: inside of jax.jit give steps.")
    if not until > t0:
        raise ValueError(f"until, the time of the end, must be after t0 = {t0:g}; got {until:g}.")
    if save_every != 1:
        raise ValueError(
            f"until keeps every step, so save_every must be 1; got {save_every!r}. Give steps in"
            " its place."
        )
    if method is not None and method.own_lengths:
        found = without_failure(run, FIRST)
        while found.success and found.t[-1] < until:
            length = (float(found.t[-1]) - t0) / (len(found) - 1)
            missing = MORE * (until - float(found.t[-1])) / length
            found = without_failure(found.extend, min(ceil(missing) + 16, 4 * len(found)))
        return cut(found, until)
    count = (until - t0) / h
    if not count < MOST:
        raise ValueError(
            f"until = {until:g} is {count:.3g} steps of h = {h:g} after t0: too many to be told"
            " apart; take longer ones."
        )
    whole = abs(count - round(count)) < WHOLE * max(1.0, abs(count))
    if not whole and (system.discrete_time or shorter_scheme(scheme_of(system, method)) is None):
        raise ValueError(
            f"until must be a whole number of steps after t0 here, because a step of {system.kind}"
            f" cannot be shorter than the others; got {count:g} of them."
        )
    steps = max(1, round(count) if whole else ceil(count))
    per_row = 2 * 8 * (2 + 6 * system.space.dim)
    hint = "Take longer ones, or steps= with save_every=."
    check_room(steps * per_row, f"until = {until:g}, {steps} steps of h = {h:g},", hint)
    return run(steps) if whole else cut(run(steps), until)


def without_failure(run: Callable[[int], Trajectory], steps: int) -> Trajectory:
    """The run of so many steps, or of half as many, ..., the first that does not fail, which it may
    do beyond the end that is asked for; one that fails in its first step is that failure.
    """
    while steps > 1:
        try:
            found = run(steps)
        except StepFailed:
            found = None
        if found is not None and found.success:
            return found
        steps //= 2
    return run(1)


def cut(trajectory: Trajectory, until: float) -> Trajectory:
    """The trajectory up to a time, at which it ends; one that failed before stays as it is."""
    t = np.asarray(trajectory.t)
    if not trajectory.success and not t[int(trajectory.steps_completed)] >= until:
        return trajectory
    before = int(np.searchsorted(t, until))
    before -= before > 0 and until - t[before - 1] < WHOLE * (t[before] - t[before - 1])
    end = trajectory.at(until).rows

    def with_end(a: Any, b: Any) -> np.ndarray:
        rows = np.concatenate([np.asarray(a)[:before], np.asarray(b)])
        rows.flags.writeable = False
        return rows

    pairs = {name: (getattr(trajectory, name), getattr(end, name)) for name in AT_TIMES}
    fields = {
        name: None if b is None else jax.tree.map(with_end, a, b) for name, (a, b) in pairs.items()
    }
    done = np.asarray(before)
    return replace(trajectory, **fields, success=np.True_, steps_completed=done, carried=None)
