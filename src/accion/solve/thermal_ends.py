"""Two-point problems of thermal systems: q at both ends and S at one (Bonich, Def 3.16).

Heat has a direction of time, so the entropies of all nodes follow from those at one end and the
motion: unknown are the momenta at the start alone, and the entropies there where those at the end
are given. They are found by Newton's method on a run.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.checks import refuse
from accion.engines.auto import callable_of
from accion.errors import ConnectFailed
from accion.results.trajectory import Trajectory
from accion.solve.simulation import simulate
from accion.stepping.base import scheme_of
from accion.systems import Start
from accion.systems.entropic import check_entropy
from accion.systems.start import is_traced
from accion.types import Configuration, Covector

ITERATIONS = 50
LEAST = 2.0**-10  # part of a step of Newton's method
CLOSE = 1e-9  # a change that is so small a part leaves rounding
SHIFT = 1e-6  # part of the unknowns by which they are moved for a difference


class Aim(NamedTuple):
    """A two-point problem: one of the entropies is None."""

    system: Any
    t0: Any
    h: Any
    qa: Configuration
    qb: Configuration
    S0: Any
    Sb: Any


def started(aim: Aim, unknowns: Any) -> tuple[Covector, Any]:
    """(p0, S0) of a run."""
    n = aim.system.space.dim
    S0 = aim.system.frame.as_given(unknowns[n:]) if aim.S0 is None else aim.S0
    return unknowns[:n], S0


@dataclass(frozen=True)
class Missed:
    """How far a run ends from where it should; unknown are the momenta at its start, and the
    entropies there where they are not given.
    """

    method: Any

    def __call__(self, aim: Aim, steps: Any, unknowns: Any) -> Any:
        p0, S0 = started(aim, unknowns)
        scheme = scheme_of(aim.system, self.method)
        state, _ = scheme.begin(aim.t0, aim.h, Start(q0=aim.qa, p0=p0, S0=S0))

        def step(k: Any, state: Any) -> Any:
            return scheme.step(state, aim.t0 + k * aim.h, aim.h)[0]

        state = jax.lax.fori_loop(0, steps, step, state)
        q, S = aim.system.frame.parts(state.q)
        off = aim.system.space.local(aim.qb, q)
        return off if aim.Sb is None else jnp.append(off, S - jnp.reshape(aim.Sb, S.shape))


def aimed(method: Any, aim: Aim, steps: int, unknowns: np.ndarray) -> tuple[np.ndarray, float]:
    """The unknowns by Newton's method, and how far their run still misses, 0 where it converged.

    Slopes are differences: they take a few runs, where derivatives of a run take seconds to
    compile, and their error is gone after one more iteration.
    """
    shot = callable_of(Missed(method), Missed(method), aim, steps, unknowns)

    def missed(unknowns: np.ndarray) -> np.ndarray:
        return np.asarray(shot(aim, steps, unknowns))

    value, size = missed(unknowns), sizes(aim, unknowns)
    for _ in range(ITERATIONS):
        size = np.maximum(size, np.abs(unknowns))
        rows = [missed(unknowns + d) - missed(unknowns - d) for d in SHIFT * np.diag(size)]
        slopes = np.stack(rows, axis=1) / (2 * SHIFT)  # by the unknowns over their sizes
        scale = np.max(np.abs(slopes), axis=1)
        if not np.all(np.isfinite(slopes)) or not np.all(scale > 0):
            break
        slopes = slopes / scale[:, None]
        if np.linalg.matrix_rank(slopes) < len(slopes):
            break
        change, part = np.linalg.solve(slopes, value / scale), 1.0
        if np.max(np.abs(change)) <= CLOSE:
            return unknowns - size * change, 0.0
        off = np.max(np.abs(value) / scale)
        while part > LEAST:
            after = missed(unknowns - part * size * change)
            if np.max(np.abs(after) / scale) <= (1 - part / 4) * off:
                break
            part /= 2
        else:
            break
        unknowns, value = unknowns - part * size * change, after
    return unknowns, float(np.max(np.abs(value)))


def sizes(aim: Aim, unknowns: np.ndarray) -> np.ndarray:
    """How large the unknowns are: momenta as the largest of them, entropies at least as a heat
    capacity.
    """
    system, n = aim.system, aim.system.space.dim
    p, S = unknowns[:n], unknowns[n:]
    C = np.ones(len(S))
    if len(S) and not system.discrete_time:
        z = system.point(aim.qa, system.frame.as_given(jnp.asarray(S)))
        C = np.asarray(system.capacities(aim.t0, z, jnp.zeros(n)))
    largest = np.max(np.abs(p))
    return np.append(np.full(n, largest if largest > 0 else 1.0), np.maximum(np.abs(S), C))


def first_guess(aim: Aim, method: Any, steps: int, guess: Any) -> Any:
    """Momenta, and entropies where they are unknown: those of a run, or of the straight line."""
    system, space, (q0, S) = aim.system, aim.system.space, (aim.qa, aim.S0)
    S = aim.Sb if S is None else S
    own = jnp.zeros(0) if aim.S0 is not None else jnp.reshape(S, (system.frame.m,))
    if isinstance(guess, Trajectory) and guess.S is not None:
        p = guess.p[0]
        own = own if aim.S0 is not None else jnp.reshape(guess.S[0], own.shape)
        return jnp.concatenate([p, own])
    dq = space.local(q0, aim.qb) / steps
    if guess is not None:
        nodes = guess.q if isinstance(guess, Trajectory) else guess
        dq = space.local(q0, jax.tree.map(lambda a: jnp.asarray(a)[1], nodes))
    z = system.point(q0, S)
    if system.discrete_time:
        x = jnp.concatenate([dq, jnp.zeros(system.frame.m)])
        scheme: Any = scheme_of(system, method)
        p = -scheme.form.variation(aim.t0, aim.h, z, x).start
    else:
        p = system.legendre(aim.t0, z, dq / aim.h)
    return jnp.concatenate([p, own])


def connected(
    system: Any,
    method: Any,
    qa: Any,
    qb: Any,
    S0: Any,
    Sb: Any,
    t0: Any,
    duration: Any,
    steps: int,
    guess: Any,
) -> Trajectory:
    """The run from qa to qb with the entropies S0 at its start, or Sb at its end."""
    if system.constraint is not None:
        why = "of their momenta at the start only some are free, and which is not known"
        refuse("connect", "thermal systems under holonomic constraints", why)
    if (S0 is None) == (Sb is None):
        raise ValueError(
            "a thermal system needs its entropy at one end: S0, at qa, or Sb, at qb; got"
            f" {'none' if S0 is None else 'both'}."
        )
    system = system.with_entropies(Sb if S0 is None else S0)
    space = system.space
    entropies = [
        None if S is None else jnp.asarray(check_entropy(system, S, name))
        for S, name in ((S0, "S0"), (Sb, "Sb"))
    ]
    ends = [jax.tree.map(jnp.asarray, space.check(q, name)) for q, name in ((qa, "qa"), (qb, "qb"))]
    if is_traced((system, ends, entropies, t0, duration)):
        raise TypeError(
            "connect of a thermal system looks at the values of its problem, which JAX does not"
            " know while it traces; derivatives go through simulate from the p0 that was found."
        )
    aim = Aim(system, jnp.asarray(t0, float), jnp.asarray(duration / steps), *ends, *entropies)
    unknowns = np.asarray(first_guess(aim, method, steps, guess))
    unknowns, missed = aimed(method, aim, steps, unknowns)
    if missed:
        raise ConnectFailed(
            f"no trajectory between qa and qb was found; the last run ends {missed:.3g} away. Pass"
            " a better guess=, a run that ends near qb, or check that one exists.",
            residual=missed,
            t=float(t0 + duration),
        )
    p0, S0 = started(aim, unknowns)
    return simulate(system, method, q0=aim.qa, p0=p0, S0=S0, t0=t0, h=duration / steps, steps=steps)
