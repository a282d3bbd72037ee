"""Poincare sections: where motions cross a surface g(t, q, v, params) = 0."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.analysis.crossings import (
    Brackets,
    Found,
    Points,
    Seen,
    crosses,
    found_by_runs,
    located,
    value,
)
from accion.analysis.on_section import Section
from accion.arguments import count, door, one_of, switch
from accion.engines.auto import check_engine
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.solve import loop as loops
from accion.solve.simulation import ensemble, simulate
from accion.solve.starts import check_members
from accion.stepping import scheme_of
from accion.stepping.rows import shorter_scheme
from accion.systems import AbstractSystem, Start
from accion.systems.frozen import freeze
from accion.systems.functions import check_returns
from accion.types import ArrayLike, Function, Params


@door(
    direction=one_of(-1, 0, 1),
    crossings=count,
    throw=switch,
    engine=check_engine,
)
def poincare_section(
    motion: Trajectory | AbstractSystem,
    method: Method | None = None,
    *,
    section: Function,
    direction: int = 1,
    q0: Any = None,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: float | None = None,
    h: float | None = None,
    steps: int | None = None,
    crossings: int | None = None,
    params: Params = None,
    throw: bool = True,
    engine: str = "auto",
) -> Section:
    """Where motions cross the surface g(t, q, v, params) = 0: of a trajectory, or of runs from one
    start or from many, of which nothing but the crossings is kept.

    A crossing is a step at whose ends g has different signs; one that touches the surface, or
    crosses it twice within a step, is not seen. The time in the step is where g of the method's own
    step of that length is zero: so the points have the order of the method, lie on the surface to
    rounding, and satisfy what a step satisfies (a constraint, the group). Where g jumps from one
    sign to the other there is no crossing. A start on the surface is none.

    Arguments:
        motion: a `Trajectory` (all that is below but `section`, `direction` and `crossings` is then
            not given; crossings are looked for between its saved times), or a system of any kind in
            continuous time, with its `method`.
        section: g(t, q, v, params), of a thermal system g(t, q, v, S, params), of a contact system
            g(t, q, v, z, params); a number.
        direction: 1 where g rises, -1 where it falls, 0 for both.
        q0, v0, p0, S0, lam0, z0, params: a start, as those of `simulate`, or many, as those of
            `ensemble`, with a leading axis.
        t0, h, steps: as those of `simulate`.
        crossings: at most so many of each run.
        throw, engine: as for `simulate`.

    Returns:
        A `Section`.

    Raises:
        StepFailed: where a step is not solved.
        ValueError: where nothing crosses the surface, or g is NaN.

    Reference: Henon & Heiles, Astron. J. 69 (1964) 73; Henon, Physica D 5 (1982) 412.
    """
    start = Start(q0, v0, p0, None, lam0, S0, z0)
    asked = Asked(section, direction, crossings, throw, engine)
    if isinstance(motion, Trajectory):
        given = [name for name, a in start._asdict().items() if a is not None]
        more = (("method", method), ("t0", t0), ("h", h), ("steps", steps), ("params", params))
        given += [name for name, a in more if a is not None]
        if given:
            words = ", ".join(given)
            raise ValueError(f"a Trajectory has its own start and steps: leave out {words}.")
        return of_trajectory(motion, asked)
    checks.check_kind(motion)
    if h is None or steps is None:
        raise ValueError("poincare_section of a system needs h and steps, as simulate does.")
    system = checks.check_system(motion, method)
    check_continuous(system)
    begin, step = checks.check_times(0.0 if t0 is None else t0, h, steps, 1)
    times = Times(begin, step, checks.check_counts(steps, 1)[0])
    checks.check_time_moves(*times)
    return of_runs(system, method, params, start, times, asked)


class Asked(NamedTuple):
    """What is looked for."""

    section: Any
    direction: int
    crossings: int | None
    throw: bool
    engine: str


class Times(NamedTuple):
    """Those of the steps of a run."""

    t0: Any
    h: Any
    steps: int


def of_runs(
    system: Any, method: Any, params: Params, start: Start, times: Times, asked: Asked
) -> Section:
    """The section of runs, of which nothing else is kept."""
    (t0, h, steps), engine = times, asked.engine
    wide, start, member, alone = members_of(system, params, start)
    g = frozen_section(member, asked.section)
    scheme: Any = scheme_of(member, method)
    if shorter_scheme(scheme) is None or scheme.method.own_lengths:
        # Windows of several steps, or steps of their own lengths: the whole run is needed.
        own = {name: a for name, a in start._asdict().items() if a is not None}
        run: Any = ensemble
        if alone:
            own, run = jax.tree.map(lambda a: a[0], own), simulate
        more = {"throw": asked.throw, "engine": engine, "params": params}
        return of_trajectory(run(system, method, **own, **times._asdict(), **more), asked)
    scheme = replace(scheme, system=wide)
    begun = loops.native_begin(loops.ENSEMBLE, scheme, t0, h, start, engine)
    state, known = loops.ENSEMBLE.begin(scheme, t0, h, start) if begun is None else begun
    check_members(scheme, start, state, known)
    shared = (t0, h, g, steps, asked.direction)
    ran = found_by_runs(shared, scheme, state, asked.crossings, method, engine)
    last, found = jax.tree.map(np.asarray, ran.last), ran.found
    # What comes after the crossings that were asked for does not matter.
    ended = float(t0) + float(h) * last.state.completed < ran.until
    failed = np.flatnonzero((last.state.completed < last.made) & ended)
    if asked.throw and len(failed):
        run, made = int(failed[0]), int(last.state.completed[failed[0]]) + 1
        again(scheme, start, run, times._replace(steps=made))
    check_defined(last.seen, float(t0), float(h), ran.until)
    if not len(found.t):
        never(asked.direction, np.min(last.seen.least), np.max(last.seen.most))
    return collected(found, len(last.made), float(h), member, method)


def check_continuous(system: Any) -> None:
    """Raise ValueError where a system is given in discrete time."""
    if system.discrete_time:
        checks.refuse("poincare_section", system.kind, "there is nothing between their steps")


def frozen_section(system: Any, section: Any) -> Any:
    """The user's function, traced once."""
    arguments = f"t, q, v, {system.beside}, params" if system.beside else "t, q, v, params"
    checks.a_function(arguments)(section, "section")
    g = freeze(section, "section", arguments, system.examples)
    check_returns("section", g.out, (), "a number")
    return g


def members_of(system: Any, params: Params, start: Start) -> tuple[Any, Start, Any, bool]:
    """(system, start) with the axis of the runs on all numbers, the system of the first, and
    whether it is a single one that was given without that axis.
    """
    try:
        one = checks.check_start(system, start)
        own = checks.check_numbers(system, params)
    except ValueError:
        wide, start, member = checks.check_ensemble(system, params, start)
        member.check()
        return checks.check_numbers(wide), start, member, False
    own.check()
    wide = jax.tree.map(lambda a: jnp.asarray(a)[None], own)
    return wide, jax.tree.map(lambda a: jnp.asarray(a)[None], one), own, True


def again(scheme: Any, start: Start, run: int, times: Times) -> None:
    """Make a run again that failed, which raises what is to be said of it."""
    own = {name: a for name, a in start._asdict().items() if a is not None}
    system, own = jax.tree.map(lambda a: a[run], (scheme.system, own))
    try:
        simulate(system, scheme.method, **own, **times._asdict(), save_every=times.steps)
    except RuntimeError as error:
        error.add_note(f"This is run {run} of the section; throw=False keeps what was before.")
        raise


def check_defined(seen: Seen, t0: float, h: float, until: np.ndarray) -> None:
    """Raise ValueError where g was NaN on the way, up to these times."""
    bad = np.flatnonzero((seen.undefined >= 0) & (t0 + h * seen.undefined < until))
    if len(bad):
        t = t0 + h * seen.undefined[bad[0]]
        raise ValueError(
            f"section is NaN at t = {t:.6g} of run {bad[0]}: it must be a number wherever the"
            " motion goes."
        )


def never(direction: int, least: float, most: float) -> NoReturn:
    """Raise the ValueError of a section that nothing crosses."""
    how = {1: "rising", -1: "falling", 0: "in any direction"}[direction]
    raise ValueError(
        f"no motion crosses the section {how}: along the runs g is from {least:.6g} to {most:.6g}."
        " Take more steps, another direction, or a surface that the motion meets."
    )


def collected(found: Found, runs: int, h: float, system: Any, method: Any) -> Section:
    """The section of these crossings."""
    q, v, p, beside = found.points
    S, z = (beside if system.beside == name else None for name in ("S", "z"))
    how = (found.run, found.rises, found.g, runs, h, system, method)
    return Section(found.t, q, v, p, S, z, *how)


# ---------------------------------------------------------------- of a trajectory


@dataclass(frozen=True)
class AtRow:
    """g at one time of a trajectory."""

    def __call__(self, section: Any, t: Any, z: Any, v: Any, system: Any) -> Any:
        return value(section, system, t, z, v)


def of_trajectory(trajectory: Trajectory, asked: Asked) -> Section:
    """The section of a trajectory, run after run."""
    trajectory.check_system()
    check_continuous(trajectory.system)
    runs = len(trajectory.success) if trajectory.is_ensemble else 1
    parts, least, most = [], np.inf, -np.inf
    for run in range(runs):
        own = member(trajectory, run) if trajectory.is_ensemble else trajectory
        g = frozen_section(own.system, asked.section)
        values, t = g_along(g, own), np.asarray(own.t)
        least, most = min(least, np.nanmin(values)), max(most, np.nanmax(values))
        here = np.flatnonzero(crosses(values[:-1], values[1:], asked.direction))
        ends = (values[here], values[here + 1])
        brackets = Brackets(np.full(len(here), run), t[here], t[here + 1] - t[here], *ends)
        found = located(brackets, partial(between_rows, g, own, brackets))
        if len(found.t):
            parts.append(jax.tree.map(lambda a: a[: asked.crossings], found))
    if not parts:
        never(asked.direction, least, most)
    found = jax.tree.map(lambda *a: np.concatenate(a), *parts)
    system = member(trajectory, 0).system if trajectory.is_ensemble else trajectory.system
    return collected(found, runs, float(np.max(trajectory.h)), system, trajectory.method)


def g_along(g: Any, motion: Trajectory) -> np.ndarray:
    """g at every saved time, NaN after a failure.

    Raises: ValueError where it is NaN before.
    """
    values = np.asarray(at_rows(g, motion, motion.t, motion.points, motion.v))
    lost = np.isnan(values) & np.isfinite(np.asarray(motion.p).reshape(len(values), -1)).all(axis=1)
    if np.any(lost):
        t = float(np.asarray(motion.t)[np.argmax(lost)])
        raise ValueError(
            f"section is NaN at t = {t:.6g}: it must be a number wherever the motion goes."
        )
    return values


def at_rows(g: Any, motion: Trajectory, t: Any, z: Any, v: Any) -> Any:
    """g at these times."""
    wide = jax.tree.map(lambda a: np.broadcast_to(a, (len(t), *np.shape(a))), motion.system)
    return at_times(AtRow(), False, g, t, z, v, wide)


def between_rows(
    g: Any, motion: Trajectory, brackets: Brackets, which: np.ndarray, tau: np.ndarray
) -> tuple[Points, np.ndarray]:
    """The motion a time tau after saved ones, and g there."""
    now = motion.at(brackets.t[which] + tau).rows
    beside = now.S if now.z is None else now.z
    return Points(now.q, now.v, now.p, beside), at_rows(g, motion, now.t, now.points, now.v)


OF_RUNS = (
    "q",
    "p",
    "iterations",
    "success",
    "steps_completed",
    "system",
    "lam",
    "S",
    "z",
    "supplied",
    "jets",
    "nodal",
    "reduced",
)


def member(trajectory: Trajectory, run: int) -> Trajectory:
    """One run of an ensemble."""
    own = {
        name: jax.tree.map(lambda a: np.asarray(a)[run], getattr(trajectory, name))
        for name in OF_RUNS
    }
    own["guess"] = None if trajectory.jets is not None else np.asarray(trajectory.v)[run]
    return replace(trajectory, **own, laws=None, stored=None, carried=None)
