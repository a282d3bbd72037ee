"""The steps of a system with a weight, L = w(t) L0: those of any method, in the units of w where
each of them starts.

    (q_k, p_k / w_k)  ->  step of L / w_k, its time counted from t_k  ->  (q_{k+1}, p_{k+1} / w_k)

and then times w_k / w_{k+1}, a ratio of weights that is taken in logarithms. So no number of a step
is larger than the motion is, and where L0 does not depend on time and w is e^(kappa t) no number of
it depends on t_k: the recurrence of Colombo-Gamonal, eq 41.
"""  # fmt: skip

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.methods import Method
from accion.stepping.adaptive import AdaptiveScheme
from accion.stepping.alpha import Alpha
from accion.stepping.base import Readout, Scheme, State, Unsolved, scheme_of, steps
from accion.stepping.collocated import Collocated
from accion.stepping.composition import ComposedExplicit, ComposedSystem, lost
from accion.stepping.rows import Row, row_at, shorter_scheme, state_at
from accion.stepping.variational import Variational
from accion.systems import Start, System
from accion.systems.weights import Weight, beyond, in_full, local, logs_at, reduced, times
from accion.types import Array, Configuration, Covector, Scalar, Vector


class Reduced(NamedTuple):
    """What steps carry in the units of the weight w."""

    p: Any  # over w
    log_weight: Any  # log |w|
    lam: Any = None  # over w, where there are multipliers


def shown(system: Any, t: Scalar, p: Covector, lam: Any) -> tuple[Any, Any, Reduced]:
    """(p, lam, `Reduced`) of momenta and multipliers over the weight."""
    own = Reduced(p, logs_at(system, t).log, lam)
    return in_full(system, t, p), in_full(system, t, lam), own


@dataclass(frozen=True)
class InFull:
    """What a scheme shows, in full; `f` and `names` are those of its own `Readout`, None where it
    shows the momenta that it carries.
    """

    f: Any = None
    names: tuple[str, ...] = ("p",)

    def __call__(self, system: Any, t: Scalar, *arrays: Any) -> tuple[Any, ...]:
        here = local(system, t)
        own = arrays if self.f is None else self.f(here.system, here.t, *arrays)
        found = dict(zip(self.names, own, strict=True))
        p, lam, own = shown(system, t, found["p"], found.get("lam"))
        found |= {"p": p, "lam": lam}
        return (*(found[name] for name in self.names), own)


@steps(Weight)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Weighted(Scheme):
    """A scheme of a system with a weight, around that of its method."""

    system: System
    method: Method = field(metadata={"static": True})

    def at(self, t: Scalar) -> Any:
        """The scheme of the method, in the units of the time t."""
        return scheme_of(local(self.system, t).system, self.method)

    @property
    def plain(self) -> Any:
        """The same, where the time does not matter."""
        return self.at(0.0)

    def restarted(self, state: State) -> State:
        """The state with its own clock, where it has one, at zero."""
        if not self.method.own_lengths:
            return state
        return state._replace(memory=state.memory._replace(t=jnp.zeros(())))

    # ------------------------------------------------------------ the start

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        p0, lam0 = (reduced(self.system, t, a) for a in (start.p0, start.lam0))
        own = start._replace(p0=p0, lam0=lam0)
        state, known = self.at(t).begin(jnp.zeros(()), h, own)
        if self.method.own_lengths:
            clock = state.memory._replace(t=jnp.asarray(t, dtype=float))
            state = state._replace(memory=clock)
        return state, known._replace(weight=logs_at(self.system, t)[:2])

    def check_start(self, known: Any, start: Start) -> None:
        sign, log = (np.asarray(a) for a in known.weight)
        check_weight(self.system, sign, log, start)
        if known.excess is not None:
            excess, most = (
                np.asarray(times(a, sign, log)) for a in (known.excess, known.allowed.excess)
            )
            known = known._replace(
                excess=excess, allowed=known.allowed._replace(excess=np.abs(most))
            )
        self.plain.check_start(known, start)

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        """The state before a step from momenta `p` over the weight, see `MechanicalScheme`."""
        return self.at(t).start(jnp.zeros(()), h, q, p, x, lam)

    # ------------------------------------------------------------ one step

    def step(self, state: State, t: Scalar, h: Scalar) -> tuple[State, Array]:
        clock = state.memory if self.method.own_lengths else None
        now, scheme = t if clock is None else clock.t, self.at(t if clock is None else clock.t)
        after, iterations = scheme.step(self.restarted(state), jnp.zeros(()), h)
        length = h if clock is None else after.memory.length
        weight: Any = self.system.conformal
        r = 1 / weight.ratio(now, length, self.system.params)
        # Momenta in a unit that is no number are none.
        ok = jnp.isfinite(r) & (r != 0)
        after = lost(rescaled(scheme, after, r), ok)
        after = after._replace(completed=jnp.where(ok, after.completed, state.completed))
        if clock is not None:
            after = after._replace(memory=clock.after(length, after.memory.own))
        return after, iterations

    def resized(self, state: State, r: Scalar, gap: Scalar) -> State:
        return self.plain.resized(state, r, gap)

    # ------------------------------------------------------------ what is saved and watched

    def saved(self, state: State) -> Any:
        return self.plain.saved(state)

    def fields(self, rows: Any, saved: Any, last: State, h: Any) -> dict[str, Any]:
        return self.plain.fields(rows, saved, last, h)

    def readout(self, rows: Any, saved: Any, h: Any) -> Readout:
        own = self.plain.readout(rows, saved, h)
        if own is None:
            return Readout(InFull(), (rows["p"],), ("p", "reduced"))
        return Readout(InFull(own.f, own.names), own.arrays, (*own.names, "reduced"))

    def prepare(self, state: State, save_every: int) -> State:
        return self.plain.prepare(state, save_every)

    def watched(self, before: State, after: State) -> State:
        return self.plain.watched(before, after)

    def warn(self, trajectory: Any, known: Any, first: State, last: State, every: int) -> None:
        self.plain.warn(trajectory, known, first, last, every)

    # ------------------------------------------------------------ where it fails

    def unsolved(self, first: State, state: State, t: Scalar, h: Scalar) -> Unsolved:
        now = float(state.memory.t) if self.method.own_lengths else float(t)
        found = self.at(now).unsolved(*map(self.restarted, (first, state)), 0.0, h)
        words = beyond(self.system, now, float(h))
        return found._replace(origin=now, beyond=words)


# ---------------------------------------------------------------- from one unit to the next


@singledispatch
def rescaled(scheme: Scheme, state: State, r: Scalar) -> State:
    """The state with its momenta in a unit in which they are r times as large; each family of
    schemes registers what else of it has that unit.
    """
    raise ValueError(f"{type(scheme.method).__name__} does not step systems with a weight.")


def in_unit(state: State, r: Scalar, guess: Any, memory: Any) -> State:
    """The state with these guesses and memory, and its momenta in the other unit.

    How much increments change (`Pace`) is measured by the inertia, which over the weight is the
    same after the step as before.
    """
    return state._replace(p=r * state.p, guess=guess, memory=memory)


def tail(values: Array, first: int, r: Scalar) -> Array:
    """The values, from the number `first` on r times as large."""
    return values if first == len(values) else jnp.concatenate([values[:first], r * values[first:]])


@rescaled.register
def _(scheme: Variational, state: State, r: Scalar) -> State:
    multipliers = len(state.guess) - scheme.form.blocks.lam
    return in_unit(state, r, tail(state.guess, multipliers, r), state.memory)


@rescaled.register
def _(scheme: Alpha, state: State, r: Scalar) -> State:
    return in_unit(state, r, tail(state.guess, scheme.system.space.dim, r), state.memory)


@rescaled.register
def _(scheme: Collocated, state: State, r: Scalar) -> State:
    # x and the X_i come before impulses, momenta and multipliers.
    lengths = (1 + scheme.method.s) * scheme.system.space.dim
    return in_unit(state, r, tail(state.guess, lengths, r), r * state.memory)


@rescaled.register
def _(scheme: AdaptiveScheme, state: State, r: Scalar) -> State:
    return rescaled(scheme.plain, state, r)


@rescaled.register
def _(scheme: ComposedSystem, state: State, r: Scalar) -> State:
    x, rest = state.x, state.guess.rest
    inner = rescaled(scheme.inner, state._replace(guess=jnp.concatenate([x, rest])), r)
    return inner._replace(guess=state.guess._replace(rest=inner.guess[len(x) :]))


@rescaled.register
def _(scheme: ComposedExplicit, state: State, r: Scalar) -> State:
    return in_unit(state, r, state.guess, jax.tree.map(lambda a: r * a, state.memory))


# ---------------------------------------------------------------- rows


@shorter_scheme.register
def _(scheme: Weighted) -> Scheme | None:
    own = shorter_scheme(scheme.plain)
    return None if own is None else Weighted(scheme.system, own.method)


@state_at.register
def _(scheme: Weighted, t: Scalar, h: Scalar, row: Row) -> State:
    return state_at(scheme.at(t), jnp.zeros(()), h, row)


@row_at.register
def _(scheme: Weighted, t: Scalar, h: Scalar, state: State) -> Row:
    return row_at(scheme.at(t), jnp.zeros(()), h, state)


# ---------------------------------------------------------------- what is said of weights


def check_weight(system: Any, sign: Any, log: Any, start: Start) -> None:
    """Raise ValueError where a run cannot start because of its weight there."""
    if not (np.isfinite(log) and abs(sign) == 1):
        raise ValueError(
            f"the weight of {system.name} is {'zero' if log == -np.inf else 'not a finite number'}"
            " at t0, also in logarithms. Choose another t0, or give System its logarithm,"
            " log_weight(t, params), in place of weight."
        )
    if start.p0 is None:
        return
    p0 = np.asarray(start.p0)
    own = np.asarray(times(p0, sign, -log))
    if np.any(~np.isfinite(own) | ((own == 0) & (p0 != 0))):
        raise ValueError(
            f"p0 = {p0} over the weight of {system.name}, which is e^{float(log):.6g} at t0, is"
            " beyond floating point: p0 are momenta dL/dv with the weight in them. Start from v0."
        )
