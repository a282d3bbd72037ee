"""Initial value problems: `simulate` and `ensemble`."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.engines.auto import check_engine
from accion.methods import Method
from accion.numerics.arrays import module_of
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.solve import loop as loops
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
    h: Any
    steps: int
    save_every: int


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
    t0: Any = 0.0,
    h: Any,
    steps: int,
    save_every: int = 1,
    throw: bool = True,
    progress: bool = False,
    params: Params = None,
    engine: str = "auto",
) -> Trajectory:
    """The discrete trajectory of `system` by `method`: `steps` steps of length `h` from time `t0`.

    Each step solves p_k + D1 Ld(q_k, q_{k+1}) + Fd^- + h A^T lam_k = 0, with the discrete
    constraint where there is one, for q_{k+1} and sets p_{k+1} = D2 Ld + Fd^+ (Marsden and West
    2001, part 3; Bonich, eq 2.4 and Thm 2.31; Colombo-Gamonal, eq 14; Vakonomic thesis, Thm 8.2.1
    and eq 8.3).

    The start is q0 with one of: `v0`, a velocity (momenta matched, p0 = dL/dv(t0, q0, v0)); `p0`,
    the momenta; `q1`, the second configuration, as papers print it (with q1 = q0 + h v0 every
    second-order method becomes first order). A vakonomic system whose start is v0 also needs
    `lam0`, the multipliers at the start: p0 = dL/dv + lam0.dPhi/dv. A thermal system needs `S0`,
    its entropy or entropies; each step then also satisfies the sampled entropy balance (Bonich, Thm
    3.17), and a step that breaks the second law is warned of.

    Every `save_every`-th step is kept, so memory does not grow with `steps`. `params` replaces the
    system's own. With `progress` a bar shows how far the run is. `engine`: "native" (machine code
    of single numbers, soon compiled, for small systems), "xla", or "auto", which chooses; they
    agree to rounding. A step that is not solved raises `StepFailed`, or with `throw=False` (and
    under jax.jit, grad and vmap, where nothing can be raised) leaves NaN after the last good step.
    """
    system = checks.check_system(system, method, params, S0)
    system.check()
    t0, h = checks.check_times(t0, h, steps, save_every)
    steps, save_every = checks.check_counts(steps, save_every)
    start = checks.check_start(system, Start(q0, v0, p0, q1, lam0, S0))
    scheme = scheme_of(system, method)
    asked = Run(loops.ONE, scheme, scheme, start, t0, h, steps, save_every)
    return run(asked, throw, progress, engine)


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
    q0, v0, p0, q1, S0 or `params`.

    A number of `params` varies over the ensemble where it has one axis more than in
    `system.params`. Returns one `Trajectory` whose arrays have the leading axis. A member that
    fails is NaN after its last good step and `success` is False for it; with `throw` this raises
    `StepFailed`, whose `trajectory` holds all members.
    """
    system = checks.check_system(system, method)
    t0, h = checks.check_times(t0, h, steps, save_every)
    steps, save_every = checks.check_counts(steps, save_every)
    given = Start(q0, v0, p0, q1, lam0, S0)
    wide, start, member = checks.check_ensemble(system, params, given)
    wide = checks.check_system(wide, method)
    member.check()
    scheme, first = scheme_of(wide, method), scheme_of(member, method)
    asked = Run(loops.ENSEMBLE, scheme, first, start, t0, h, steps, save_every)
    return run(asked, throw, progress, engine)


def run(asked: Run, throw: bool, progress: bool, engine: str) -> Trajectory:
    """Begin, march, collect, and see whether it worked."""
    check_engine(engine)
    loop, scheme, member, start, t0, h, steps, save_every = asked
    traced = is_traced((scheme, start, t0, h))
    engine = "xla" if traced else engine
    begun = loops.native_begin(loop, scheme, t0, h, start, engine)
    begun, known = loop.begin(scheme, t0, h, start) if begun is None else begun
    if not traced:
        member.check_start(known, start)
        x = begun.x[0] if loop.is_ensemble else begun.x
        member.system.space.check_increment(x)
    first = member.prepare(begun, 1 if traced else save_every)
    march = loops.native_march(loop, scheme, first, t0, h, engine)
    engine = "xla" if march is None else "native"
    if march is None:
        every = save_every == 1
        chosen = loop.fixed_march if traced else loop.march
        march = partial(chosen, scheme, t0=t0, h=h, every_step=every)
    march = partial(march, save_every=save_every)
    shown = progress and not traced
    last, saved = loops.in_parts(march, first, steps, save_every, shown, traced, loop.time_axis)
    trajectory = collect(asked, first, last, saved, engine)
    if traced:
        return trajectory
    if throw and not bool(jnp.all(trajectory.success)):
        once_more = partial(again, t0, h, engine)
        raise failure(once_more, scheme, first, t0, h, steps, trajectory, engine)
    member.warn(trajectory, known, begun, last, save_every)
    return trajectory


def collect(asked: Run, first: Any, last: Any, saved: Any, engine: str) -> Trajectory:
    """The trajectory: the start and what was saved, joined along the time."""
    loop, scheme, member, _, t0, h, steps, save_every = asked
    own, axis = module_of((scheme.system, first, last, saved, t0, h)), loop.time_axis
    t0, h = own.asarray(t0), own.asarray(h)
    first, last = jax.tree.map(own.asarray, (first, last))
    none = own.zeros_like(first.completed)
    head = loops.Saved(first.q, first.p, first.x, none, scheme.saved(first))
    z, p, x, iterations, more = jax.tree.map(
        lambda a, b: own.concatenate([own.expand_dims(a, axis), b], axis=axis), head, saved
    )
    q, S = member.system.parts(z)
    times = t0 + h * save_every * own.arange(iterations.shape[axis])
    at_rows = {"t": times, "q": q, "S": S, "p": p, "x": x, "iterations": iterations}
    numbers = {name: at_rows[name] for name in ("t", "q", "p", "iterations")}
    numbers |= member.fields(at_rows, more, last, h)
    shown = member.readout(at_rows, more, h)
    if shown is not None:
        by = "xla" if engine == "xla" else "auto"
        found = at_times(shown.f, loop.is_ensemble, scheme.system, times, *shown.arrays, engine=by)
        numbers |= {name: value for name, value in zip(shown.names, found, strict=True) if name}
    numbers |= {"success": last.completed == steps, "steps_completed": last.completed}
    # Without a compilation for each shape.
    put = jax.device_put if own is np else jnp.asarray
    numbers = jax.tree.map(put, numbers)
    return Trajectory(
        **numbers, h=asked.h, system=scheme.system, method=scheme.method, engine=engine
    )


def again(t0: Any, h: Any, engine: str, scheme: Scheme, first: Any, steps: int) -> Any:
    """The state of one run after some steps, once more: a run that goes well need not carry it."""
    if steps == 0:
        return first
    march = loops.native_march(loops.ONE, scheme, first, t0, h, engine)
    if march is None:
        march = partial(loops.ONE.march, scheme, t0=t0, h=h, every_step=False)
    return march(first, first=0, save_every=steps, saves=1, room=1)[0]
