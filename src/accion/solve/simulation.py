"""Initial value problems: the only time loop."""

import math
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.checks import Start
from accion.engines.auto import check_engine, native
from accion.instant import constrained
from accion.instant.starts import check_first
from accion.numerics.batches import at_times
from accion.progress import progress_bar
from accion.results.thermal import warn_of_second_law
from accion.results.trajectory import Trajectory
from accion.stepping import higher, watch
from accion.stepping.failures import failure
from accion.stepping.schemes import scheme_of
from accion.stepping.thermal import check_hypotheses, hypotheses
from accion.stepping.variational import stepper
from accion.systems import Entropic, HigherOrderSystem

PARTS = 100  # of a run that shows its progress
ROOM = 256  # rows that any run has room for, if they are not more than so many
NUMBERS = 16_384


class Saved(NamedTuple):
    """What is kept of a step."""

    q: Any
    p: jax.Array
    x: jax.Array
    iterations: jax.Array
    kept: Any  # what the scheme keeps besides


def begin(system, method, t0, h, start):
    """The state before the first step and what is known there: momenta matched to v0, or given, or
    those with which the step leads to q1.
    """
    if isinstance(system, HigherOrderSystem):
        return higher.begin(system, method, t0, h, start)
    q0, v0, p0, q1, lam0, S0 = start
    scheme, z0 = scheme_of(system, method), system.together(q0, S0)
    lam = jnp.zeros(system.multipliers) if lam0 is None else lam0
    if q1 is not None:
        x, p0 = scheme.opening(t0, h, z0, q1)
        state, known, thermal = first_state(scheme, t0, h, z0, p0, x, lam)
        if system.constraint is not None:
            known = known._replace(
                opening=constrained.opening(system, method, t0, h, q0, q1, known.matrix)
            )
        return state, known, thermal
    if v0 is not None:
        p0 = system.momentum(t0, z0, v0, lam0)
    else:
        v0, found = constrained.first_velocity(system, t0, z0, p0)
        lam = found if system.vakonomic is not None else lam
    x = h * v0 if S0 is None else h * jnp.concatenate([v0, system.entropy_rates(t0, z0, v0)])
    return first_state(scheme, t0, h, z0, p0, x, lam, start.p0)


def first_state(scheme, t0, h, z0, p0, x, lam, given=None):
    """The state, and what tells whether a motion can start there; `given` are the momenta that the
    user gave.
    """
    system = scheme.system
    state = scheme.start(t0, h, z0, p0, x, lam)._replace(
        changes=watch.NOTHING if watch.is_kept(system, scheme.method) else ()
    )
    known = constrained.look(
        system,
        t0,
        z0,
        x[: system.space.dim] / h,
        lam if system.vakonomic is not None else None,
        given,
    )
    return (
        state,
        known,
        hypotheses(system, scheme.method, t0, h, state) if isinstance(system, Entropic) else None,
    )


def saver(system, method, t0, h, first, save_every, every_step):
    """The function (state, j) -> (state, what is saved) that makes the steps up to the j-th save;
    `every_step` says that `save_every` is 1.
    """
    scheme = scheme_of(system, method)
    step = stepper(scheme)

    def one(i, carry):
        before, most = carry
        state, iterations = step(before, t0 + i * h, h)
        return watch.with_step(before, state, system.space.dim), jnp.maximum(most, iterations)

    def save(state, j):
        i = first + j * save_every
        if every_step:
            state, iterations = step(state, t0 + i * h, h)
        else:
            state, iterations = jax.lax.fori_loop(
                0, save_every, lambda k, carry: one(i + k, carry), (state, jnp.array(0))
            )
        return state, Saved(state.q, state.p, state.x, iterations, scheme.kept(state))

    return save


def march(system, method, state, t0, h, first, save_every, saves, every_step, room):
    """`saves` times `save_every` steps from step number `first`: the last state and what was saved,
    in an array with `room` rows.

    Both numbers are arguments of what is compiled, so that runs of other lengths compile nothing
    while they have room.
    """
    save = saver(system, method, t0, h, first, save_every, every_step)
    row = jax.eval_shape(save, state, 0)[1]

    def write(j, carry):
        state, rows = carry
        state, row = save(state, j)
        return state, jax.tree.map(lambda a, b: a.at[j].set(b), rows, row)

    return jax.lax.fori_loop(
        0, saves, write, (state, jax.tree.map(lambda a: jnp.zeros((room, *a.shape), a.dtype), row))
    )


def fixed_march(system, method, state, t0, h, first, save_every, saves, every_step, room):
    """As `march`, with numbers that are fixed: what reverse-mode derivatives need."""
    return jax.lax.scan(
        saver(system, method, t0, h, first, save_every, every_step), state, jnp.arange(saves)
    )


def begin_many(system, method, t0, h, start):
    return jax.vmap(lambda system, start: begin(system, method, t0, h, start))(system, start)


def many(march):
    """`march` for an ensemble."""
    return lambda system, method, state, **rest: jax.vmap(
        lambda system, state: march(system, method, state, **rest)
    )(system, state)


def room_for(saves, state):
    """How many rows a run is given room for: a round number, so that runs of similar length share
    what is compiled, and little memory is lost.
    """
    few = min(
        ROOM,
        2 ** int(math.log2(max(1, NUMBERS // sum(leaf.size for leaf in jax.tree.leaves(state))))),
    )
    grain = 2 ** max(0, saves.bit_length() - 4) if saves > ROOM else 2 ** (saves - 1).bit_length()
    return max(few, -(-saves // grain) * grain)


def collect(system, method, first, last, saved, t0, h, save_every, steps, axis, np, engine):
    """The numbers of a trajectory: the start and what was saved, joined along the time `axis` by
    `np`, NumPy or its counterpart in JAX.
    """
    scheme, t0, h = scheme_of(system, method), np.asarray(t0), np.asarray(h)
    first, last = jax.tree.map(np.asarray, (first, last))
    head = Saved(first.q, first.p, first.x, np.zeros_like(first.completed), scheme.kept(first))
    z, p, x, iterations, kept = jax.tree.map(
        lambda a, b: np.concatenate([np.expand_dims(a, axis), b], axis=axis), head, saved
    )
    t = t0 + h * save_every * np.arange(p.shape[axis])
    q, S = system.apart(z)
    numbers = {
        "t": t,
        "q": q,
        "p": p,
        "iterations": iterations,
        "guess": x[..., : system.space.dim] / h,
    }
    if S is not None:
        numbers |= {"S": S, "supplied": kept, "laws": scheme.laws(last)}
    if isinstance(system, HigherOrderSystem):
        numbers |= shown(system, numbers, kept, h, axis, np, engine)
    put = jnp.asarray if np is jnp else jax.device_put  # without a compilation for each shape
    return jax.tree.map(
        put, numbers | {"success": last.completed == steps, "steps_completed": last.completed}
    )


def shown(system, numbers, kept, h, axis, np, engine):
    """What a trajectory shows of a system of higher order: momenta, derivatives and multipliers at
    each row.
    """
    P = numbers["p"]
    every, none = np.broadcast_to(h, P.shape[: axis + 1]), np.zeros(P.shape[: axis + 1])
    p, jets, lam = at_times(
        higher.seen,
        axis == 1,
        system,
        numbers["t"],
        numbers["q"],
        P,
        *kept,
        every,
        none,
        engine=engine,
    )
    nodal = higher.Nodal(P, kept[0], none)
    return {
        "p": p,
        "jets": jets,
        "lam": lam if system.multipliers else None,
        "guess": None,
        "nodal": nodal,
    }


def members(system, *trees):
    """The system and the trees of each member of an ensemble."""
    system, trees = jax.tree.map(np.asarray, (system, trees))
    return [
        jax.tree.map(lambda a, i=i: a[i], (system, *trees))
        for i in range(len(jax.tree.leaves(trees)[0]))
    ]


def stacked(results):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *results)


def native_begin(loop, system, method, t0, h, start, engine):
    """`begin` by the native engine, or None where XLA must serve."""
    runs = members(system, start) if loop is MANY else [(system, start)]
    program = native(
        "compiled",
        ("begin", method),
        lambda *args: begin(args[0], method, *args[1:]),
        runs[0][0],
        t0,
        h,
        runs[0][1],
        engine=engine,
    )
    if program is None:
        return None
    found = [program(system, t0, h, start) for system, start in runs]
    return stacked(found) if loop is MANY else found[0]


def native_march(loop, system, method, state, t0, h, engine):
    """`march` by the native engine, or None where XLA must serve."""

    def save(constants, state, j):
        system, t0, h, first, save_every = constants
        return saver(system, method, t0, h, first, save_every, every_step=False)(state, j)

    runs = members(system, state) if loop is MANY else [(system, state)]
    program = native(
        "folded", ("march", method), save, (runs[0][0], t0, h, 0, 1), runs[0][1], 0, engine=engine
    )
    if program is None:
        return None

    def march(state, save_every, first, saves, room):
        runs = members(system, state) if loop is MANY else [(system, state)]
        j = np.arange(saves)
        found = [
            program((system, t0, h, first, save_every), state, j, saves) for system, state in runs
        ]
        return stacked(found) if loop is MANY else found[0]

    return march


class Compiled(NamedTuple):
    """The loop, compiled: `march` for any number of steps and saves, `fixed_march` for numbers that
    derivatives go through.
    """

    begin: Any
    march: Any
    fixed_march: Any
    time_axis: int


def compiled(begin, march, fixed_march, time_axis):
    static = ("method", "every_step", "room")
    return Compiled(
        jax.jit(begin, static_argnames="method"),
        jax.jit(march, static_argnames=static),
        jax.jit(fixed_march, static_argnames=(*static, "saves", "save_every")),
        time_axis,
    )


ONE, MANY = (
    compiled(begin, march, fixed_march, 0),
    compiled(begin_many, many(march), many(fixed_march), 1),
)


def simulate(
    system,
    method,
    *,
    q0,
    v0=None,
    p0=None,
    q1=None,
    S0=None,
    lam0=None,
    t0=0.0,
    h,
    steps,
    save_every=1,
    throw=True,
    progress=False,
    params=None,
    engine="auto",
) -> Trajectory:
    """The discrete trajectory of `system` by `method`: `steps` steps of length `h` from time `t0`.

    Each step solves p_k + D1 Ld(q_k, q_{k+1}) + Fd^- + h A^T lam_k = 0, with the discrete
    constraint where there is one, for q_{k+1} and sets p_{k+1} = D2 Ld + Fd^+ (001 eq 2.4 and Thm
    2.31, 002 eq 14, 004 Thm 8.2.1 and eq 8.3).

    The start is q0 with one of: `v0`, a velocity (momenta matched, p0 = dL/dv(t0, q0, v0)); `p0`,
    the momenta; `q1`, the second configuration, as papers print it (with q1 = q0 + h v0 every
    second-order method becomes first order). A vakonomic system whose start is v0 also needs
    `lam0`, the multipliers at the start: p0 = dL/dv + lam0.dPhi/dv. A thermal system needs `S0`,
    its entropy or entropies; each step then also satisfies the sampled entropy balance (001 Thm
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
    return run(
        ONE, system, method, start, t0, h, steps, save_every, throw, progress, system, engine
    )


def ensemble(
    system,
    method,
    *,
    q0,
    v0=None,
    p0=None,
    q1=None,
    S0=None,
    lam0=None,
    t0=0.0,
    h,
    steps,
    save_every=1,
    throw=True,
    progress=False,
    params=None,
    engine="auto",
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
    wide, start, member = checks.check_many(system, params, Start(q0, v0, p0, q1, lam0, S0))
    wide = checks.check_system(wide, method)
    member.check()
    return run(MANY, wide, method, start, t0, h, steps, save_every, throw, progress, member, engine)


def run(loop, system, method, start, t0, h, steps, save_every, throw, progress, member, engine):
    """Begin, march, collect, and see whether it worked; `member` is the system of one run."""
    check_engine(engine)
    traced = checks.is_traced((system, start, t0, h))
    engine = "xla" if traced else engine
    begun = native_begin(loop, system, method, t0, h, start, engine)
    first, known, thermal = loop.begin(system, method, t0, h, start) if begun is None else begun
    kept = bool(first.changes) and not traced
    first = watch.carried(first, method, member, 1 if traced else save_every)
    if not traced:
        check_first(member, known, start)
        if thermal is not None:
            check_hypotheses(member, thermal)
        member.space.check_increment(first.x if loop is ONE else first.x[0])
    march = native_march(loop, system, method, first, t0, h, engine)
    engine = "xla" if march is None else "native"
    of_rows = "xla" if march is None else "auto"
    if march is None:
        march = partial(
            loop.fixed_march if traced else loop.march,
            system,
            method,
            t0=t0,
            h=h,
            every_step=save_every == 1,
        )
    march = partial(march, save_every=save_every)
    last, saved = in_parts(
        march, first, steps, save_every, progress and not traced, traced, loop.time_axis
    )
    numbers = collect(
        system,
        method,
        first,
        last,
        saved,
        t0,
        h,
        save_every,
        steps,
        loop.time_axis,
        jnp if traced else np,
        of_rows,
    )
    if member.constraint is not None:
        at_rows = (numbers["t"], numbers["q"], numbers["p"], numbers["guess"])
        v, p, lam = at_times(constrained.node, loop is MANY, system, *at_rows, engine=of_rows)
        numbers |= {"p": p, "lam": lam, "guess": v}
    trajectory = Trajectory(**numbers, h=h, system=system, method=method, engine=engine)
    if throw and not traced and not bool(jnp.all(trajectory.success)):
        raise failure(
            partial(again, method, t0, h, engine),
            system,
            method,
            first,
            t0,
            h,
            steps,
            trajectory,
            engine,
        )
    if not traced and trajectory.laws is not None:
        warn_of_second_law(trajectory)
    if kept and watch.constraints_do_no_work(member, known, first.x):
        watch.warn_of_step(trajectory, last.changes, save_every)
    return trajectory


def again(method, t0, h, engine, system, first, steps):
    """The state of one run after some steps, once more: a run that goes well need not carry it."""
    march = native_march(ONE, system, method, first, t0, h, engine) or partial(
        ONE.march, system, method, t0=t0, h=h, every_step=False
    )
    return first if steps == 0 else march(first, first=0, save_every=steps, saves=1, room=1)[0]


def in_parts(march, state, steps, save_every, progress, traced, axis):
    """The whole march in one call, or with a progress bar in about a hundred."""
    saves = steps // save_every
    size = max(1, saves // PARTS) if progress else saves
    room = room_for(size, jax.tree.map(lambda a: a[0], state) if axis else state)
    if traced:
        return march(state, first=0, saves=saves, room=room)
    parts = []
    with progress_bar("simulating", steps) if progress else nullcontext(lambda _: None) as advance:
        for done in range(0, saves, size):
            count = min(size, saves - done)
            state, part = march(state, first=done * save_every, saves=count, room=room)
            filled = (slice(None),) * axis + (slice(count),)
            parts.append(jax.tree.map(lambda a, filled=filled: np.asarray(a)[filled], part))
            advance(count * save_every)
    return state, (
        parts[0]
        if len(parts) == 1
        else jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=axis), *parts)
    )
