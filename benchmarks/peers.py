"""Who takes part in work_precision.py: accion's methods and its peers, each a `Candidate` whose
runs are timed.
"""

import contextlib
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import diffrax
import heyoka as hy
import jax
import jax.numpy as jnp
import numba
import numpy as np
from scipy.integrate import solve_ivp

import accion as ac

MOST_STEPS = 100  # of diffrax, for each node of a problem: a run that diverges ends
TOLERANCES = 10.0 ** -np.arange(3, 14)
# heyoka's step follows the magnitude of its last terms: errors are far below the tolerance.
TAYLOR_TOLERANCES = [1e-3, 1e-6, 1e-9, 1e-12, 1e-15]


class Ready(NamedTuple):
    """A run with one setting: `run()` returns what `read` makes (q, v) of, rows that end with the
    end; `build` is the processor time that was spent before, in s.
    """

    run: Callable[[], Any]
    read: Callable[[Any], tuple[np.ndarray, np.ndarray]]
    build: float


class Candidate(NamedTuple):
    name: str
    peer: str  # the library
    settings: Callable[[Any], list]  # problem -> settings, from loose to tight
    prepare: Callable[[Any, Any], Ready]  # problem, setting
    words: Callable[[Any], str]  # of a setting
    limited: bool = True  # ends with the first run that takes too long


def spent(run):
    """(processor time in s, what `run` returns)."""
    begun = time.process_time()
    found = jax.block_until_ready(run())
    return time.process_time() - begun, found


BUILT: dict[tuple, float] = {}


def tolerance(value):
    return f"tol {value:.0e}"


def built(key, run):
    """What the first run of `key` took longer than the second, measured once; a run that fails is
    compiled, too.
    """

    def seconds():
        begun = time.process_time()
        with contextlib.suppress(ac.StepFailed):
            jax.block_until_ready(run())
        return time.process_time() - begun

    if key not in BUILT:
        first = seconds()
        BUILT[key] = max(first - seconds(), 0.0)
    return BUILT[key]


# ---------------------------------------------------------------- accion


def grown(first, factor, saves, count=12):
    """Numbers of steps from `first` on, multiples of `saves`."""
    steps = [saves * round(max(1.0, first * factor**k / saves)) for k in range(count)]
    return list(dict.fromkeys(steps))


def by_accion(name, method, stages, factor):
    """A method whose steps cost as much as `stages` nodes."""

    def settings(problem):
        return grown(problem.nodes / stages, factor, problem.saves)

    def prepare(problem, steps):
        def run():
            return ac.simulate(
                problem.system,
                method,
                q0=problem.q0,
                v0=problem.v0,
                h=problem.duration / steps,
                steps=steps,
                save_every=steps // problem.saves,
            )

        def read(traj):
            return np.asarray(traj.q)[1:], np.asarray(traj.v)[1:]

        return Ready(run, read, built((name, problem.family), run))

    return Candidate(name, "accion", settings, prepare, lambda steps: f"{steps} steps")


COMPOSED = {4: 5, 6: 9, 8: 17, 10: 35}  # stages of the usual sets


def accion_candidates(problem, say):
    """The methods of accion for `problem`; `say` is told what is left out."""
    # One evaluation of the potential for each step, where velocities are not in it.
    base = ac.Trapezoid() if problem.pull is not None else ac.Midpoint()
    found = [by_accion(str(base).removesuffix("()"), base, 0.25, 4.0)]
    composition = getattr(ac, "Composition", None)
    galerkin = getattr(ac, "Galerkin", None)
    if composition is None:
        say("accion has no Composition: left out")
    else:
        for order in (4, 8) if problem.saves == 1 else (8,):
            name = f"Composition({str(base).removesuffix('()')}, {order})"
            found.append(by_accion(name, composition(base, order), COMPOSED[order] / 4, 1.7))
    if galerkin is None:
        say("accion has no Galerkin: left out")
    else:
        found += [by_accion(f"Galerkin({s})", galerkin(s), s, 1.4) for s in problem.orders]
    return found


# ---------------------------------------------------------------- SciPy


FIELDS: dict[str, Any] = {}


def dop853():
    def prepare(problem, rtol):
        key = ("DOP853", problem.family)
        if key not in BUILT:
            begun = time.process_time()
            field = FIELDS[problem.family] = problem.scipy()
            field(0.0, problem.y0)
            BUILT[key] = time.process_time() - begun
        field = FIELDS[problem.family]

        def run():
            # Its own steps are kept: what it interpolates has another error.
            span = (0.0, problem.duration)
            atol = rtol * problem.small
            return solve_ivp(field, span, problem.y0, method="DOP853", rtol=rtol, atol=atol).y

        return Ready(run, lambda y: problem.states(y.T), BUILT[key])

    def settings(problem):
        return list(TOLERANCES) if problem.saves == 1 else [1e-9, 1e-13]  # seconds for each

    return Candidate("DOP853", "SciPy", settings, prepare, tolerance, limited=False)


# ---------------------------------------------------------------- diffrax


COMPILED: dict[tuple, Callable] = {}


def solution(problem, solver):
    """The function (rtol, y0, times) -> rows of y, compiled once for a family."""

    @jax.jit
    def run(rtol, y0, ts):
        control = diffrax.PIDController(rtol=rtol, atol=rtol * problem.small)
        many = len(ts) > 1
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: problem.jax(y)),
            solver,
            0.0,
            ts[-1],
            None,
            y0,
            saveat=diffrax.SaveAt(ts=ts) if many else diffrax.SaveAt(t1=True),
            # Steps end where a state is kept: what is interpolated has another error.
            stepsize_controller=(
                diffrax.ClipStepSizeController(control, step_ts=ts) if many else control
            ),
            max_steps=MOST_STEPS * problem.nodes,
            adjoint=diffrax.ForwardMode(),
            throw=False,
        ).ys

    return run


def by_diffrax(name):
    def prepare(problem, rtol):
        key = (name, problem.family, problem.saves, problem.nodes)
        run = COMPILED.setdefault(key, solution(problem, getattr(diffrax, name)()))
        ts = jnp.linspace(0.0, problem.duration, problem.saves + 1)[1:]
        # Arrays all: a number of Python and one of NumPy would be compiled apart.
        y0, tol = jnp.asarray(problem.y0), jnp.asarray(rtol)
        again = built(key, lambda: run(10 * tol, y0, ts / 1000))
        return Ready(lambda: run(tol, y0, ts), lambda y: problem.states(np.asarray(y)), again)

    def settings(problem):
        return list(TOLERANCES[::2] if name == "Kvaerno5" else TOLERANCES)

    return Candidate(name, "diffrax", settings, prepare, tolerance)


# ---------------------------------------------------------------- heyoka


# What it compiled in an earlier process would be read, and no build measured.
hy.llvm_state.set_diskcache_enabled(False)
INTEGRATORS: dict[tuple, Any] = {}


def by_heyoka(compact):
    """Taylor series, a program for each tolerance; `compact` with loops in it."""

    def settings(problem):
        return TAYLOR_TOLERANCES

    def prepare(problem, tol):
        def integrator():
            return hy.taylor_adaptive(problem.taylor(), problem.y0, tol=tol, compact_mode=compact)

        key = (compact, tol, problem.family)
        if key not in INTEGRATORS:
            BUILT[key], INTEGRATORS[key] = spent(integrator)
        ta = INTEGRATORS[key]
        ts = np.linspace(0.0, problem.duration, problem.saves + 1)

        def run():
            ta.time = 0.0
            ta.state[:] = problem.y0
            if problem.saves == 1:
                ta.propagate_until(problem.duration)
                return ta.state[None].copy()
            return ta.propagate_grid(ts)[-1][1:]

        return Ready(run, problem.states, BUILT[key])

    name = "heyoka, compact" if compact else "heyoka"
    return Candidate(name, "heyoka", settings, prepare, tolerance)


# ---------------------------------------------------------------- Verlet's method by numba


@cache
def verlet_loop(pull):
    @numba.njit
    def march(q, v, h, steps, saves):
        n = len(q)
        q, v, a, out = q.copy(), v.copy(), np.empty(n), np.empty((saves, 2 * n))
        pull(q, a)
        every = steps // saves
        for k in range(1, steps + 1):
            for i in range(n):
                v[i] += 0.5 * h * a[i]
                q[i] += h * v[i]
            pull(q, a)
            for i in range(n):
                v[i] += 0.5 * h * a[i]
            if k % every == 0:
                out[k // every - 1, :n], out[k // every - 1, n:] = q, v
        return out

    return march


def verlet():
    def prepare(problem, steps):
        march = verlet_loop(problem.pull)
        h = problem.duration / steps
        again = built(("Verlet", problem.family), lambda: march(problem.q0, problem.v0, h, 1, 1))
        return Ready(
            lambda: march(problem.q0, problem.v0, h, steps, problem.saves),
            problem.states,
            again,
        )

    def settings(problem):
        return grown(problem.nodes * 4, 4.0, problem.saves)

    return Candidate("Verlet", "numba", settings, prepare, lambda steps: f"{steps} steps")


def peer_candidates(problem, slow, say):
    """Everyone but accion; `slow` also what is compiled for longer than all else."""
    found = [dop853(), by_diffrax("Tsit5"), by_diffrax("Dopri8")]
    if slow or not problem.large:
        found.append(by_diffrax("Kvaerno5"))
    else:
        say(f"{problem.key}: Kvaerno5, and heyoka written out, are compiled for long: see --slow")
    # Loops in heyoka's program are built sooner and run slower.
    forms = [True] if problem.large else [False]
    if slow or problem.key == "chain_2":
        forms = [False, True]
    found += [by_heyoka(compact) for compact in forms]
    return found + ([verlet()] if problem.pull is not None else [])
