"""Initial value problems: `simulate` and `ensemble`."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import door, switch
from accion.engines.auto import check_engine
from accion.methods import Method
from accion.numerics.arrays import for_good, module_of
from accion.numerics.batches import at_times
from accion.once import OncePerObject
from accion.results.continuation import Carried
from accion.results.trajectory import Trajectory
from accion.solve import loop as loops, uneven
from accion.solve.ending import run_until
from accion.solve.starts import check_members
from accion.stepping import Scheme, scheme_of
from accion.stepping.failures import failure
from accion.systems import AbstractSystem, Start
from accion.systems.start import is_traced
from accion.types import ArrayLike, Configuration, Params


class Run(NamedTuple):
    """What is asked for: a scheme from a start, of one run or of an ensemble."""

    loop: loops.Loop
    scheme: Scheme
    member: Scheme  # that of the first run
    start: Start
    t0: Any
    h: Any  # the step, or one for each
    steps: int
    save_every: int

    @property
    def first_h(self) -> Any:
        return self.h[0] if np.ndim(self.h) else self.h


SETTINGS = {"throw": switch, "progress": switch, "engine": check_engine}


@door(**SETTINGS)
def simulate(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: Any = 0.0,
    h: Any,
    steps: int | None = None,
    until: Any = None,
    save_every: int = 1,
    throw: bool = True,
    progress: bool = False,
    params: Params = None,
    engine: str = "auto",
) -> Trajectory:
    """The discrete trajectory of `system` by `method`: `steps` steps of length `h` from time `t0`;
    `h` may also be an array, with the length of each step.

    Each step solves p_k + D1 Ld(q_k, q_{k+1}) + Fd^- + h A^T lam_k = 0, with the discrete
    constraint where there is one, for q_{k+1} and sets p_{k+1} = D2 Ld + Fd^+ (Marsden and West
    2001, part 3; Bonich, eq 2.4 and Thm 2.31; Colombo-Gamonal, eq 14; Vakonomic thesis, Thm 8.2.1
    and eq 8.3).

    The start is q0 with one of: `v0`, a velocity (momenta matched, p0 = dL/dv(t0, q0, v0)); `p0`,
    the momenta; `q1`, the second configuration, as papers print it (with q1 = q0 + h v0 every
    second-order method becomes first order). A vakonomic system whose start is v0 also needs
    `lam0`, the multipliers at the start: p0 = dL/dv + lam0.dPhi/dv. A thermal system needs `S0`,
    its entropy or entropies; each step then also satisfies the sampled entropy balance (Bonich, Thm
    3.17), and a step that breaks the second law is warned of. A contact system starts from the
    action `z0`, 0 where it is not given.

    In place of `steps` a run may have `until`, the time at which it ends: its last step is as long
    as is left then. Every `save_every`-th step is kept, so memory does not grow with `steps`.
    `params` replaces the system's own. With `progress` a bar shows how far the run is. `engine`:
    "native" (machine code of single numbers, soon compiled, for small systems), "xla", or "auto",
    which chooses; they agree to rounding. A step that is not solved raises `StepFailed`, or with
    `throw=False` (and under jax.jit, grad and vmap, where nothing can be raised) leaves NaN after
    the last good step.
    """
    start = Start(q0, v0, p0, q1, lam0, S0, z0)
    if until is not None and steps is None:
        of_steps = partial(simulate, system, method, **start._asdict(), t0=t0, h=h, params=params)
        settings = {"throw": throw, "progress": progress, "engine": engine}
        run_of = partial(of_steps, **settings)
        checks.check_kind(system)
        checks.check_method(system, method)
        return run_until(lambda n: run_of(steps=n), system, method, until, t0, h, save_every)
    if steps is None or until is not None:
        raise ValueError("give steps, how many there are, or until, the time at which they end.")
    scheme = scheme_for(system, method, params, S0)
    system = scheme.system
    t0, h = checks.check_steps(system, method, t0, h, steps, save_every)
    count, save_every = checks.check_counts(steps, save_every)
    start = checks.check_start(system, start)
    checks.check_rows_fit(system, count, save_every)
    asked = Run(loops.ONE, scheme, scheme, start, t0, h, count, save_every)
    return run(asked, throw, progress, engine)


# The schemes of a system as it was given, by their methods.
SCHEMES = OncePerObject(lambda system: {})
METHODS = 16  # whose schemes are remembered


def scheme_for(system: Any, method: Method | None, params: Params, S0: Any) -> Any:
    """The scheme of a run, after all that can be said of its system and its method; the same one
    for runs of one system, whose programs need not be looked for again.
    """
    checks.check_kind(system)
    known = method is None or isinstance(method, Method)
    if not known or params is not None or S0 is not None:
        return checked_scheme(system, method, params, S0)
    kept = SCHEMES(system)
    found = kept.get(method)
    if found is None:
        found = checked_scheme(system, method, params, S0)
        if not is_traced(system):
            kept[method] = found
            while len(kept) > METHODS:
                kept.pop(next(iter(kept)))
    return found


def checked_scheme(system: Any, method: Method | None, params: Params, S0: Any) -> Any:
    system = checks.check_system(system, method, params, S0)
    system.check()
    return scheme_of(system, method)


@door(**SETTINGS)
def ensemble(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Any,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: Any = 0.0,
    h: Any,
    steps: int,
    save_every: int = 1,
    throw: bool = True,
    progress: bool = False,
    params: Params = None,
    engine: str = "auto",
) -> Trajectory:
    """Many runs at once: the arguments of `simulate`, with a leading axis of one length on any of
    q0, v0, p0, q1, S0, z0 or `params`.

    A number of `params` varies over the ensemble where it has one axis more than in
    `system.params`. Returns one `Trajectory` whose arrays have the leading axis. A member that
    fails is NaN after its last good step and `success` is False for it; with `throw` this raises
    `StepFailed`, whose `trajectory` holds all members.
    """
    system = checks.check_system(system, method)
    t0, h = checks.check_steps(system, method, t0, h, steps, save_every)
    steps, save_every = checks.check_counts(steps, save_every)
    given = Start(q0, v0, p0, q1, lam0, S0, z0)
    wide, start, member = checks.check_ensemble(system, params, given)
    wide = checks.check_numbers(wide)
    member.check()
    checks.check_rows_fit(member, steps, save_every, len(jax.tree.leaves(start.q0)[0]))
    first: Any = scheme_of(member, method)
    scheme = replace(first, system=wide)
    asked = Run(loops.ENSEMBLE, scheme, first, start, t0, h, steps, save_every)
    return run(asked, throw, progress, engine)


def run(asked: Run, throw: bool, progress: bool, engine: str) -> Trajectory:
    """Begin, march, collect, and see whether it worked."""
    loop, scheme, member, start, t0, h, steps, save_every = asked
    traced = is_traced((scheme, start, t0, h))
    engine = "xla" if traced else engine
    begun = loops.native_begin(loop, scheme, t0, asked.first_h, start, engine)
    begun, known = loop.begin(scheme, t0, asked.first_h, start) if begun is None else begun
    if loop.is_ensemble and not traced:
        check_members(scheme, start, begun, known)
    elif not traced:
        member.check_start(known, start)
        member.system.space.check_increment(begun.x)
    first = member.prepare(begun, 1 if traced else save_every)
    if np.ndim(h):
        march, engine = uneven.marching(loop, scheme, first, t0, h, engine)
    else:
        march = loops.native_march(loop, scheme, first, t0, h, engine)
        engine = "xla" if march is None else "native"
    if march is None:
        every = save_every == 1
        chosen = loop.fixed_march if traced else loop.march
        march = partial(chosen, scheme, t0=t0, h=h, every_step=every)
    shown = progress and not traced
    last, rows = loops.in_parts(march, first, steps, save_every, shown, traced, loop.time_axis)
    trajectory = collect(asked, first, last, rows, engine)
    if traced:
        return replace(trajectory, carried=None)
    if throw and not np.all(trajectory.success):
        once_more = partial(again, t0, h, engine)
        raise failure(once_more, scheme, first, t0, h, steps, trajectory, engine)
    member.warn(trajectory, known, begun, last, save_every)
    return trajectory


def collect(
    asked: Run, first: Any, last: Any, rows: Any, engine: str, before: int = 0
) -> Trajectory:
    """The trajectory: the start and the rows of `loops.in_parts`; `before` are the saves that led
    to the state `first`.
    """
    loop, scheme, member, start, t0, h, steps, save_every = asked
    axis = loop.time_axis
    own: Any = np
    if engine == "xla":
        own = module_of((scheme.system, first, last, rows.last, t0, h))
        first, last = jax.tree.map(own.asarray, (first, last))
        t0, h = own.asarray(t0), own.asarray(h)
    none = own.zeros_like(first.completed)
    head = loops.Saved(first.q, first.p, first.x, none, scheme.saved(first))
    z, p, x, iterations, more = rows.after(head, own)
    q, beside = member.system.parts(z)
    if np.ndim(h):
        times, h = uneven.at_rows(t0, h, save_every)
    else:
        times = t0 + h * save_every * (before + own.arange(iterations.shape[axis]))
    at_rows = {"t": times, "q": q, "beside": beside, "p": p, "x": x, "iterations": iterations}
    numbers: Any = {"t": times, "q": q, "p": p, "iterations": iterations}
    numbers |= member.fields(at_rows, more, last, h)
    shown = member.readout(at_rows, more, h)
    if shown is not None:
        by = "xla" if engine == "xla" else "auto"
        at, system = numbers["t"], scheme.system
        found = at_times(shown.f, loop.is_ensemble, system, at, *shown.arrays, engine=by)
        numbers |= {name: value for name, value in zip(shown.names, found, strict=True) if name}
    numbers |= {"success": last.completed == steps, "steps_completed": last.completed}
    final = for_good if own is np else jnp.asarray
    numbers = {
        name: final(a) if type(a) is np.ndarray else jax.tree.map(final, a)
        for name, a in numbers.items()
    }
    return Trajectory(
        **numbers,
        h=asked.h,
        system=scheme.system,
        method=scheme.method,
        engine=engine,
        carried=Carried(start, last),
    )


def again(t0: Any, h: Any, engine: str, scheme: Scheme, first: Any, steps: int) -> Any:
    """The state of one run after some steps, once more: a run that goes well need not carry it."""
    if steps == 0:
        return first
    if np.ndim(h):
        march = uneven.marching(loops.ONE, scheme, first, t0, h, engine)[0]
        return loops.in_parts(march, first, steps, 1, False, False, 0)[0]
    march = loops.native_march(loops.ONE, scheme, first, t0, h, engine)
    if march is None:
        march = partial(loops.ONE.march, scheme, t0=t0, h=h, every_step=False)
    return loops.in_parts(march, first, steps, steps, False, False, 0)[0]
