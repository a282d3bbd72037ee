"""The step of a `Composition`: steps of its method, with parts of the length.

    q_1 = q(t + gamma_1 h) from q_0, q_2 = q(t + (gamma_1 + gamma_2) h) from q_1, ...

What the scheme of the method carries from step to step is carried as if its steps had the whole
length h: increments over their part gamma_i, which are h times a velocity, and the pace of their
changes. Natively a loop over the parts is one step to compile; explicit steps, which are short, are
written out.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import callable_of
from accion.methods import Composition
from accion.numerics import newton
from accion.numerics.products import written_out
from accion.numerics.repeated import repeated
from accion.stepping import watch
from accion.stepping.base import Pace, Scheme, State, Unsolved, scheme_of, steps
from accion.stepping.variational import is_explicit
from accion.systems import Start, System
from accion.types import Array, Configuration, Covector, Scalar, Vector

LAST = 3  # inner steps from which the next one is guessed
WILD = 8.0  # sum of the sizes of weights, above which fewer of them are better


class Guess(NamedTuple):
    """What the unknowns of the next inner step are guessed from."""

    before: Vector  # x, one whole step ago
    last: Any  # increments of the last inner steps over their parts; () for explicit steps
    rest: Any  # the other unknowns


class Stages(NamedTuple):
    """The inner steps of a composition: an entry, or a row, for each."""

    part: np.ndarray
    since: np.ndarray  # the parts before it
    size: np.ndarray  # how far it is from the one before, from middle to middle
    weights: np.ndarray  # of the last increments in the guess of the next, shape (stages, LAST)


@lru_cache
def stages_of(parts: tuple[float, ...]) -> Stages:
    """The inner steps with these parts."""
    part = np.array(parts)
    since = np.concatenate([[0.0], np.cumsum(part)[:-1]])
    before = np.abs(np.roll(part, 1))
    size = (before + np.abs(part)) / 2
    middle = since + part / 2
    past = np.concatenate([middle - 2, middle - 1, middle])  # two steps before, one, and this one
    count = len(parts)
    weights = [
        guessing(middle[i], past[2 * count + i - LAST : 2 * count + i][::-1]) for i in range(count)
    ]
    return Stages(part, since, size, np.stack(weights))


def guessing(time: float, known: np.ndarray) -> np.ndarray:
    """Weights with which values at the times `known` give that at `time`, by a polynomial through
    as many of them as this is not wild for.
    """
    for count in range(len(known), 1, -1):
        near = known[:count]
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = [
                np.prod([(time - b) / (a - b) for j, b in enumerate(near) if j != i])
                for i, a in enumerate(near)
            ]
        if np.sum(np.abs(weights)) <= WILD:
            return np.concatenate([weights, np.zeros(len(known) - count)])
    return np.eye(len(known))[0]


class Composed(Scheme):
    """What the schemes of compositions share."""

    method: Composition

    @property
    def inner(self) -> Any:
        """The scheme of an inner step."""
        return scheme_of(self.system, self.method.method)

    @property
    def stages(self) -> Stages:
        return stages_of(self.method.parts)

    # ------------------------------------------------------------ the start

    @abstractmethod
    def opened(self, t: Scalar, state: State) -> State:
        """The first state of the scheme from that of the inner one."""

    def begun(self, t: Scalar, h: Scalar, start: Start) -> Any:
        """The first state, and what is known of it, by the inner scheme."""
        if start.q1 is not None:
            raise ValueError(
                "Composition starts from v0 or p0, not from q1: its first inner step does not end"
                " there."
            )
        state, known = self.inner.begin(t, h, start)
        return self.opened(t, state), known

    def check_start(self, known: Any, start: Start) -> Any:
        self.inner.check_start(known, start)
        if known.stiff is not None and float(known.stiff) > 1:
            raise ValueError(
                f"Composition goes back in time in some inner steps, and friction or conduction of"
                f" {self.system.name} is too fast for that: h must be {float(known.stiff):.3g}"
                f" times smaller, or more. Take such an h, or {self.method.method}."
            )

    # ------------------------------------------------------------ one inner step

    def before(self, state: State, row: Stages) -> State:
        """The state as the inner scheme has it, before the inner step of a row."""
        guess, pace = state.guess, state.pace
        ahead = row.part * state.x
        if len(guess.last):
            ahead = row.part * sum(row.weights[i] * guess.last[i] for i in range(LAST))
        if pace:
            far = 1 / row.size**2
            pace = Pace(pace.change, far / row.part**2 * pace.weights, far * pace.still)
        unknowns = jnp.concatenate([ahead, guess.rest]) if len(guess.last) else ahead
        return state._replace(x=row.part * state.x, guess=unknowns, pace=pace)

    def after(self, state: State, after: State, row: Stages) -> State:
        """The state after it, as the inner scheme has it, as this one carries it on."""
        x, pace = after.x / row.part, after.pace
        if pace:
            pace = state.pace._replace(change=pace.change)
        guess = state.guess
        if len(guess.last):
            last = jnp.concatenate([x[None], guess.last[:-1]])
            guess = Guess(guess.before, last, after.guess[len(x) :])
        return after._replace(x=x, guess=guess, pace=pace)

    def resized(self, state: State, r: Scalar, gap: Scalar) -> State:
        guess, pace = state.guess, state.pace
        last = jax.tree.map(lambda x: r * x, guess.last)
        guess = guess._replace(before=r * guess.before, last=last)
        if pace:
            # The first inner step is as far from the last one as half of both.
            size, far = jnp.abs(r), jnp.maximum(1.0, (1 + 1 / jnp.abs(r)) / 2)
            pace = Pace(size**3 * far**2 * pace.change, pace.weights / size, size * pace.still)
        return state._replace(x=r * state.x, guess=guess, pace=pace)

    # ------------------------------------------------------------ what is saved and watched

    def saved(self, state: State) -> Any:
        return self.inner.saved(state)

    def fields(self, rows: Any, saved: Any, last: State, h: Any) -> dict[str, Any]:
        return self.inner.fields(rows, saved, last, h)

    def readout(self, rows: Any, saved: Any, h: Any) -> Any:
        return self.inner.readout(rows, saved, h)

    def prepare(self, state: State, save_every: int) -> State:
        return self.inner.prepare(state, save_every)

    def warn(self, trajectory: Any, known: Any, first: State, last: State, every: int) -> None:
        self.inner.warn(trajectory, known, first, last, every)

    # ------------------------------------------------------------ where it fails

    def unsolved(self, first: State, state: State, t: Scalar, h: Scalar) -> Unsolved:
        row, own, at = self.inner_start(0, state, t, h)
        for i in range(1, self.method.stages):
            program = callable_of("inner step", inner_step, self.inner, own, *at)
            after, _ = program(self.inner, own, *at)
            if not bool(after.completed > state.completed):
                break
            state = self.after(state, after, row)._replace(completed=state.completed)
            row, own, at = self.inner_start(i, state, t, h)
        begun = first._replace(x=row.part * first.x)
        return Unsolved(self.inner, begun, own, *at)

    def inner_start(self, i: int, state: State, t: Scalar, h: Scalar) -> Any:
        """The row of an inner step, the state before it, its time and its length."""
        row = jax.tree.map(lambda a: a[i], self.stages)
        return row, self.before(state, row), (float(t + row.since * h), float(row.part * h))


def inner_step(scheme: Any, state: State, t: Scalar, h: Scalar) -> Any:
    """One step of a scheme."""
    return scheme.step(state, t, h)


def chosen(which: Array, new: Any, old: Any) -> Any:
    """One of two states."""
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), new, old)


def lost(state: State, alive: Array) -> State:
    """The state, NaN after a step that was not solved."""

    def of(part: Any) -> Any:
        return jax.tree.map(lambda a: jnp.where(alive, a, jnp.nan), part)

    return state._replace(
        q=of(state.q), p=of(state.p), c=of(state.c), x=of(state.x), guess=of(state.guess)
    )


class ByStages(Composed):
    """Compositions whose inner steps are solved one after the other by the inner scheme."""

    def opened(self, t: Scalar, state: State) -> State:
        x = state.x
        last = jnp.broadcast_to(x, (LAST, len(x)))
        return state._replace(guess=Guess(x, last, state.guess[len(x) :]))

    @abstractmethod
    def nothing(self, state: State) -> Any:
        """What is added up over the inner steps, before the first."""

    @abstractmethod
    def added(self, total: Any, state: State, after: State, t: Scalar, h: Scalar) -> Any:
        """It, after one more, from `state` to `after`."""

    @abstractmethod
    def closed(self, before: State, after: State, total: Any, h: Scalar, ok: Array) -> State:
        """The state after a whole step, which is `ok`, with what is written down of it."""

    def step(self, state: State, t: Scalar, h: Scalar) -> tuple[State, Array]:
        carry = (state, self.nothing(state), jnp.array(True), jnp.array(0))
        carry = repeated(lambda own, row: self.one_more(own, row, t, h), carry, self.stages)
        after, total, alive, most = carry
        after = after._replace(guess=after.guess._replace(before=state.x))
        after = self.closed(state, after, total, h, alive)
        return lost(after, alive)._replace(completed=state.completed + alive), most

    def one_more(self, carry: Any, row: Any, t: Any, h: Any) -> Any:
        """The carry of the loop after one more inner step; one that is not solved is not taken, so
        that derivatives of what was before it stay numbers.
        """
        state, total, alive, most = carry
        t, h = t + row.since * h, row.part * h
        after, iterations = self.inner.step(self.before(state, row), t, h)
        ok = alive & (after.completed > state.completed)
        left = jnp.where(alive, after.left, state.left)
        total = chosen(ok, self.added(total, state, after, t, h), total)
        after = self.after(state, after, row)._replace(completed=state.completed)
        state = chosen(ok, after, state)._replace(left=left)
        return state, total, ok, jnp.maximum(most, iterations)


class ComposedMechanical(Composed):
    """What compositions of steps of a `System` share."""

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        return self.begun(t, h, start)

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        """The state before the first step, as of a `MechanicalScheme`."""
        return self.opened(t, self.inner.start(t, h, q, p, x, lam))

    def watched(self, before: State, after: State) -> State:
        # As of a scheme whose guess is the last increment and its change once more.
        ahead = before._replace(guess=2 * before.x - before.guess.before)
        return watch.with_step(ahead, after, self.system.space.dim)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ComposedSystem(ByStages, ComposedMechanical):
    """A composition of steps of a `System`."""

    system: System
    method: Composition = field(metadata={"static": True})

    def nothing(self, state: State) -> Any:
        return ()

    def added(self, total: Any, state: State, after: State, t: Scalar, h: Scalar) -> Any:
        return ()

    def closed(self, before: State, after: State, total: Any, h: Scalar, ok: Array) -> State:
        return after


class Kicks(NamedTuple):
    """What explicit compositions carry: the force at q, and what is not yet added to p."""

    force: Array
    rest: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ComposedExplicit(ComposedMechanical):
    """A composition of explicit steps: the force at the end of one is that at the start of the
    next, also from one whole step to the next.
    """

    system: System
    method: Composition = field(metadata={"static": True})

    def opened(self, t: Scalar, state: State) -> State:
        x = state.x
        return state._replace(
            guess=Guess(x, (), ()), memory=Kicks(self.force(t, state.q)[1], jnp.zeros_like(x))
        )

    def force(self, t: Scalar, q: Configuration) -> Any:
        """(L, dL/dq + F) of the system at rest at q."""
        space, zero = self.system.space, jnp.zeros(self.system.space.dim)

        def L(e: Vector) -> Scalar:
            return self.system.L(t, space.displace(q, e), zero)

        value, slope = jax.value_and_grad(L)(zero)
        return value, slope + self.system.F(t, q, zero)

    def step(self, state: State, t: Scalar, h: Scalar) -> tuple[State, Array]:
        (q, p, c, x, memory), ok = kicked(self, state, t, h)
        guess = state.guess._replace(before=state.x)
        after = state._replace(q=q, p=p, c=c, x=x, guess=guess, memory=memory)
        return lost(after, ok)._replace(completed=state.completed + ok), jnp.array(0)

    def kicks(self, state: State, t: Scalar, h: Scalar) -> Any:
        """((q, p, c, x, memory), whether all went well) after a step: half a kick, a drift, a kick
        as long as half of the step before and half of the one after, ..., half a kick.
        """
        system, (part, since, *_) = self.system, self.stages
        mechanical: Any = system.mechanical
        inertia = mechanical.inertia(system.params)
        f, rest = state.memory
        q, c, (p, rest) = state.q, state.c, summed(state.p, rest, 0.5 * part[0] * h * f)
        kick = (part + np.append(part[1:], 0.0)) / 2

        def drift(carry: Any, row: Any) -> Any:
            q, p, c, _, (_, rest), ok = carry
            part, since, kick = row
            begin, end = t + since * h, t + (since + part) * h
            weight = (mechanical.w(begin, system.params) + mechanical.w(end, system.params)) / 2
            u = h / weight * inertia.solve(p)
            q, c = system.space.accumulate(q, c, part * u)
            value, f = written_out(self.force)(end, q)
            fine = jnp.isfinite(value) & jnp.all(jnp.isfinite(u)) & (jnp.abs(weight) >= newton.TINY)
            p, rest = summed(p, rest, kick * h * f)
            return (q, p, c, u, Kicks(f, rest), ok & fine), None

        carry = (q, p, c, state.x, Kicks(f, rest), jnp.array(True))
        carry = jax.lax.scan(drift, carry, jax.tree.map(jnp.asarray, (part, since, kick)))[0]
        return carry[:-1], carry[-1]


def summed(p: Array, rest: Array, kick: Array) -> tuple[Array, Array]:
    """p + kick, and what is not yet added to it (Kahan): there are many kicks in a step."""
    kick = kick + rest
    after = p + kick
    return after, kick - (after - p)


@jax.custom_jvp
def kicked(scheme: ComposedExplicit, state: State, t: Scalar, h: Scalar) -> Any:
    """`ComposedExplicit.kicks`; a step that did not go well has no derivatives."""
    return scheme.kicks(state, t, h)


@kicked.defjvp
def kicked_jvp(primals: Any, tangents: Any) -> Any:
    scheme, state, t, h = primals
    found, ok = kicked(*primals)
    # Where there are none, those of a step of no length are not looked at.
    at = (scheme, state, t, jnp.where(ok, h, 0.0))
    (slopes, none) = jax.jvp(lambda *own: own[0].kicks(*own[1:]), at, tangents)[1]
    return (found, ok), (jax.tree.map(lambda a: jnp.where(ok, a, 0.0), slopes), none)


@steps(System, Composition)
def composed(system: System, method: Composition) -> Scheme:
    """The composition of the steps of a system, explicit where they are."""
    explicit = is_explicit(system, method.method)
    return (ComposedExplicit if explicit else ComposedSystem)(system, method)
