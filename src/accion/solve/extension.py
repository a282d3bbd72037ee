"""A run that goes on: `Trajectory.extend`."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from accion import checks
from accion.numerics.arrays import for_good
from accion.results.continuation import AT_TIMES, Carried, Loaded, gone_on, start_of
from accion.results.trajectory import Trajectory
from accion.solve import loop as loops
from accion.solve.simulation import Run, again, collect
from accion.stepping import scheme_of
from accion.stepping.failures import failure

COMPUTED = ("v", "energy", "T")


@gone_on.register
def _(
    carried: Carried, trajectory: Trajectory, steps: int, throw: bool, progress: bool
) -> Trajectory:
    asked, made = what_was_asked(trajectory, carried.start, steps)
    return extended(trajectory, asked, made, carried.last, throw, progress)


@gone_on.register
def _(
    carried: Loaded, trajectory: Trajectory, steps: int, throw: bool, progress: bool
) -> Trajectory:
    asked, made = what_was_asked(trajectory, start_of(carried.start), steps)
    # Before weights were taken out of momenta the same names meant other numbers.
    other = trajectory.weighted and trajectory.reduced is None
    begun, _ = begin(asked, trajectory.engine)
    like = asked.member.prepare(begun, asked.save_every)
    paths, tree = jax.tree_util.tree_flatten_with_path(like)
    names = tuple(f"last state{jax.tree_util.keystr(path)}" for path, _ in paths)
    shapes = [np.shape(leaf) for _, leaf in paths]
    if other or names != carried.names or shapes != [np.shape(a) for a in carried.numbers]:
        raise ValueError(
            "this trajectory was saved by another version of accion, whose steps carry other"
            " numbers: run it again from its start."
        )
    last = jax.tree.unflatten(tree, carried.numbers)
    return extended(trajectory, asked, made, last, throw, progress)


def what_was_asked(trajectory: Trajectory, start: Any, steps: int) -> tuple[Run, int]:
    """The run with so many steps more, and how many were made."""
    system, method = trajectory.system, trajectory.method
    if np.ndim(trajectory.h):
        raise ValueError(
            "extend goes on with steps of one length, and those of this run are of several; give"
            " all of them to simulate at once."
        )
    if method is None and not system.discrete_time:
        raise ValueError(
            "this trajectory was loaded without its method, which holds a function of yours; pass"
            " it: accion.load(path, system=..., method=...)."
        )
    if not trajectory.is_ensemble and not np.all(trajectory.success):
        raise ValueError(
            f"the run failed after {int(trajectory.steps_completed)} steps: there is nothing to go"
            " on from. Run it again with a smaller h."
        )
    h, saves = np.float64(trajectory.h), len(trajectory) - 1
    t0 = np.float64(np.asarray(trajectory.t)[0])
    every = round((float(trajectory.t[-1]) - t0) / (h * saves))
    if np.any(trajectory.success):
        every = int(np.max(trajectory.steps_completed)) // saves
    checks.check_counts(steps, every)
    made = saves * every
    checks.check_time_moves(t0, h, made + steps)
    runs = len(trajectory.success) if trajectory.is_ensemble else 1
    scheme = scheme_of(system, method)
    member = scheme
    if trajectory.is_ensemble:
        member = jax.tree.map(lambda a: a[0], scheme)
    checks.check_rows_fit(member.system, made + steps, every, runs)
    loop = loops.ENSEMBLE if trajectory.is_ensemble else loops.ONE
    return Run(loop, scheme, member, start, t0, h, made + steps, every), made


def begin(asked: Run, engine: Any) -> Any:
    """The first state of the run once more, and what was known there."""
    found = loops.native_begin(
        asked.loop, asked.scheme, asked.t0, asked.h, asked.start, engine or "auto"
    )
    if found is not None:
        return found
    return asked.loop.begin(asked.scheme, asked.t0, asked.h, asked.start)


def extended(
    trajectory: Trajectory, asked: Run, made: int, last: Any, throw: bool, progress: bool
) -> Trajectory:
    """The trajectory with the steps of `asked` that were not yet made, from the state `last`."""
    loop, scheme, member, _, t0, h, steps, every = asked
    engine = trajectory.engine or "auto"
    march = loops.native_march(loop, scheme, last, t0, h, engine)
    engine = "xla" if march is None else "native"
    if march is None:
        march = partial(loop.march, scheme, t0=t0, h=h, every_step=every == 1)

    def from_here(state: Any, first: int, **rest: Any) -> Any:
        return march(state, first=made + first, **rest)

    axis = loop.time_axis
    end, rows = loops.in_parts(from_here, last, steps - made, every, progress, False, axis)
    added = collect(asked, last, end, rows, engine, made // every)
    whole = joined(trajectory, added)
    begun, known = begin(asked, engine)
    if throw and not np.all(whole.success):
        first = member.prepare(begun, every)
        raise failure(partial(again, t0, h, engine), scheme, first, t0, h, steps, whole, engine)
    looked_at = whole
    if whole.guess is None and whole.stored is not None:  # a file has no guesses of velocities
        looked_at = replace(whole, guess=whole.stored.v)
    member.warn(looked_at, known, begun, end, every)
    return whole


def joined(trajectory: Trajectory, added: Trajectory) -> Trajectory:
    """Both one after the other; the first row of `added` is the last of `trajectory`."""
    axis = int(trajectory.is_ensemble)

    def join(a: Any, b: Any) -> np.ndarray:
        b = np.asarray(b)
        return for_good(np.concatenate([np.asarray(a), b[:, 1:] if axis else b[1:]], axis=axis))

    def both(name: str) -> Any:
        if name == "t":
            return for_good(np.concatenate([np.asarray(trajectory.t), np.asarray(added.t)[1:]]))
        before, after = getattr(trajectory, name), getattr(added, name)
        return None if before is None else jax.tree.map(join, before, after)

    stored = trajectory.stored
    if stored is not None:
        computed = {"v": lambda: added.v, "energy": added.energy, "T": added.temperature}
        old = {name: getattr(stored, name) for name in COMPUTED}
        new = {name: a if a is None else join(a, computed[name]()) for name, a in old.items()}
        stored = replace(stored, **new)
    return replace(added, **{name: both(name) for name in AT_TIMES}, stored=stored)
