"""A scheme: how a system is stepped by a method, from the first state to what is said of a run.

Whoever runs a scheme (`simulate`, `ensemble`, campaigns) builds it once and asks it; none of them
asks what kind of system it has. Schemes are registered for pairs of a kind of system and a method.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise
from accion.instant.starts import Known
from accion.methods import Method
from accion.numerics import following, newton
from accion.numerics.following import Followed, Lately, followed
from accion.numerics.products import WrittenOut, WrittenOutStep, written_out
from accion.systems import AbstractSystem, Start
from accion.types import Array, Configuration, Covector, Scalar, Vector

FADING = 0.75  # of how much increments changed, with each step


STILL = 1e-14  # of the action of a step: a change of the increment with less is no jump


class Pace(NamedTuple):
    """How much increments change: see `Lately`."""

    change: Any
    weights: Any
    still: Any


class State(NamedTuple):
    """What is carried from step to step."""

    q: Configuration  # what a step moves, of a thermal system (q, S), of a contact system (q, z)
    p: Covector
    c: Vector  # what compensated summation has not yet added to q
    x: Vector  # the last increment
    guess: Any  # of the next unknowns
    # how many steps were solved; after one that was not, the rest of the state is NaN
    completed: Array
    memory: Any = ()  # what a scheme carries besides
    # whether a step was refused because it led out of the chart of the retraction
    left: Any = np.False_
    changes: Any = ()  # of the increment, where the energy should be kept: see `watch.py`
    pace: Any = ()  # how much increments changed lately, a `Pace`, where steps are looked at


class End(NamedTuple):
    """What a step leads to: its increment, momenta, a guess of the next unknowns, and what the
    scheme carries besides.
    """

    x: Vector
    p: Covector
    guess: Array
    memory: Any


class Readout(NamedTuple):
    """How what is shown of a run follows from what was saved, row by row."""

    f: Callable[..., tuple[Any, ...]]  # of (system, t, *rows)
    arrays: tuple[Any, ...]  # that the rows are of
    names: tuple[str, ...]  # of what f returns, as fields of a `Trajectory`


class Scheme(ABC):
    """How a system is stepped by a method: a pytree, whose numbers are those of the system."""

    system: Any
    method: Any

    # ------------------------------------------------------------ the start

    @abstractmethod
    def begin(self, t: Scalar, h: Scalar, start: Start) -> tuple[State, Known]:
        """The state before the first step, and what tells whether a motion can start there."""

    @abstractmethod
    def check_start(self, known: Known, start: Start) -> None:
        """Raise ValueError where it cannot."""

    # ------------------------------------------------------------ one step

    @abstractmethod
    def step(self, state: State, t: Scalar, h: Scalar) -> tuple[State, Array]:
        """One step, and its iterations. One that is not solved, and all after it, give NaN."""

    @abstractmethod
    def resized(self, state: State, r: Scalar, gap: Scalar) -> State:
        """The state before a step that is r times as long as the last one, the middles of the two
        being `gap` times as far apart as those of the last two.
        """

    # ------------------------------------------------------------ what is saved and shown

    @abstractmethod
    def saved(self, state: State) -> Any:
        """What is saved of a state besides q, p and x."""

    @abstractmethod
    def fields(self, rows: Mapping[str, Any], saved: Any, last: State, h: Any) -> dict[str, Any]:
        """What a `Trajectory` has besides t, q, p and how the steps went; `rows` are these."""

    @abstractmethod
    def readout(self, rows: Mapping[str, Any], saved: Any, h: Any) -> Readout | None:
        """What is shown in place of what was saved, None where they are the same."""

    # ------------------------------------------------------------ what is watched

    @abstractmethod
    def prepare(self, state: State, save_every: int) -> State:
        """The first state with what is to be watched in a run that saves so many steps."""

    @abstractmethod
    def watched(self, before: State, after: State) -> State:
        """The state after a step, with what was seen of it."""

    @abstractmethod
    def warn(self, trajectory: Any, known: Known, first: State, last: State, every: int) -> None:
        """Warn of what went wrong in a run that was solved."""

    # ------------------------------------------------------------ where it fails

    @abstractmethod
    def unsolved(self, first: State, state: State, t: Scalar, h: Scalar) -> "Unsolved":
        """The equations that were not solved in the step from `state`; a run began with `first`."""


class Unsolved(NamedTuple):
    """A step that is solved as a whole, where a run ended."""

    scheme: "SolvedScheme"
    first: State
    state: State
    t: Any
    h: Any
    origin: Any = 0.0  # the time from which t is counted
    beyond: str = ""  # why no step can be solved here, in words, where it is known already


class SolvedScheme(Scheme):
    """A scheme whose step is the solution of one set of equations."""

    @abstractmethod
    def equations(self, state: State, t: Scalar, h: Scalar) -> tuple[newton.Equations, Any]:
        """The equations of the step that starts at time `t`, and their arguments."""

    @abstractmethod
    def solve(self, state: State, t: Scalar, h: Scalar) -> Followed:
        """Their unknowns."""

    @abstractmethod
    def moved(self, unknowns: Array, state: State, h: Scalar) -> Vector:
        """h v of the motion that they stand for, where the step ends: what the chart of the
        retraction must hold.
        """

    @abstractmethod
    def end(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> End:
        """Where the step leads."""

    @abstractmethod
    def lagrangian(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> Scalar:
        """A value of the Lagrangian on the way, not finite where the motion cannot go."""

    # ------------------------------------------------------------ the words of a failure

    @abstractmethod
    def obstacle(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> str:
        """Why a step that was solved cannot be taken, in words."""

    @abstractmethod
    def beyond(self, state: State, t: Scalar, h: Scalar) -> str:
        """Why no step can be solved here, in words; "" where nothing is known."""

    @abstractmethod
    def circumstances(self, first: State, state: State, t: float, h: Scalar) -> str:
        """What else is worth knowing of the last good state, in words; "" where nothing is. The
        run began with `first`.
        """

    # ------------------------------------------------------------ the same for all

    def unsolved(self, first: State, state: State, t: Scalar, h: Scalar) -> Unsolved:
        return Unsolved(self, first, state, t, h)

    def by_newton(self, state: State, t: Scalar, h: Scalar) -> Followed:
        """The unknowns of a step, by Newton's method."""
        equations, args = self.equations(state, t, h)
        if not state.pace:
            return Followed(*newton.root(WrittenOut(equations), state.guess, args))
        step: Any = equations
        lately = Lately(state.x, *state.pace)
        return followed(WrittenOutStep(step), state.guess, args, lately)

    def paced(self, state: State, t: Scalar, h: Scalar) -> State:
        """The first state, with what tells whether a step leads where it was meant to."""
        n = self.system.space.dim
        if n == 0:
            return state
        H = jax.hessian(self.system.L, 2)(t, state.q, state.x[:n] / h)
        weights = jnp.abs(jnp.diagonal(H) / h)
        still = STILL * jnp.abs(self.lagrangian(state.guess, state, t, h))
        # What the forces of the first step change: an impulse over the inertia.
        impulse = self.residual(state.guess, state, t, h)[:n]
        change = jnp.sum(newton.own_size(impulse * impulse, weights))
        return state._replace(pace=Pace(change, weights, still))

    def residual(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> Array:
        """What is left of the equations of a step."""
        equations, args = self.equations(state, t, h)
        return equations.residual(unknowns, args)

    def step(self, state: State, t: Scalar, h: Scalar) -> tuple[State, Array]:
        space = self.system.step_space
        unknowns, iterations, converged, change, _ = self.solve(state, t, h)
        # A Lagrangian may be undefined where its derivatives are not, beyond a logarithm's pole for
        # one.
        ok = converged & jnp.isfinite(written_out(self.lagrangian)(unknowns, state, t, h))
        left = state.left
        if not space.flat:
            within = space.within(self.moved(unknowns, state, h))
            ok, left = ok & within, left | (ok & ~within)
        # After a failure all that follows is NaN, the next guess with it, where Newton stops at
        # once. Where the step leads is computed of the same numbers as the Lagrangian, and shares
        # with it what both need.
        found = ended(self, ok, unknowns, state, t, h)
        memory = remembered(found[0].memory, state.memory, ok)
        end, q, c = jax.tree.map(partial(numbers_if, ok), found)
        completed = state.completed + ok
        pace = state.pace
        if pace:
            pace = pace._replace(change=jnp.maximum(change, FADING * pace.change))
        own = (completed, memory, left, state.changes, pace)
        return State(q, end.p, c, end.x, end.guess, *own), iterations


@singledispatch
def remembered(memory: Any, before: Any, ok: Array) -> Any:
    """What a scheme carries besides after a step, and what it did `before`: NaN unless `ok`, where
    nothing else is registered for it.
    """
    return jax.tree.map(partial(numbers_if, ok), memory)


def numbers_if(ok: Array, a: Array) -> Array:
    """`a`, of which real numbers are NaN unless `ok`."""
    return jnp.where(ok, a, jnp.nan) if jnp.issubdtype(a.dtype, jnp.floating) else a


def longer(state: State, r: Scalar, gap: Scalar, grows: np.ndarray) -> State:
    """`Scheme.resized`; `grows` says which unknowns are increments, of which x is the first."""
    x, guess, pace, n = state.x, state.guess, state.pace, len(state.x)
    if grows[0]:
        guess = jnp.concatenate([x + gap * (guess[:n] - x), guess[n:]])
    guess = jnp.where(grows, r * guess, guess)
    if pace:
        size = jnp.abs(r)
        pace = Pace(size * gap**2 * pace.change, pace.weights / size, size * pace.still)
    return state._replace(x=r * x, guess=guess, pace=pace)


@jax.custom_jvp
def ended(
    scheme: SolvedScheme, ok: Array, unknowns: Array, state: State, t: Scalar, h: Scalar
) -> Any:
    """What a step leads to: its `End`, the configuration and what is not yet added to it.

    A step that is not `ok` has no derivatives: NaN would go back into the rows before it.
    """
    end = written_out(scheme.end)(unknowns, state, t, h)
    return end, *scheme.system.step_space.accumulate(state.q, state.c, end.x)


@ended.defjvp
def ended_jvp(primals: Any, tangents: Any) -> Any:
    scheme, ok, unknowns, state, *times = primals
    at = (scheme, ok, newton.somewhere(ok, unknowns, state.guess), state, *times)
    slopes = jax.jvp(ended.fun, at, tangents)[1]

    def kept(a: Any) -> Any:
        # What is no real number has no derivative to begin with.
        return a if a.dtype == jax.dtypes.float0 else jnp.where(ok, a, 0.0)

    return ended(*primals), jax.tree.map(kept, slopes)


@dataclass(frozen=True)
class StepEquations(following.StepEquations):
    """The equations of a step, whatever the system:

        p_k + D_start + h A^T lam = 0,        D_inner = 0,        closure = 0

    The unknowns are those of the discretisation's `blocks`; the arguments (system, t, h, z, p,
    last). A force of constraint that depends on v takes the mean of the velocities before and
    after, `last` being the increment before.
    """

    method: Any
    multipliers: int

    def residual(self, unknowns: Array, args: Any) -> Array:
        system, t, h, z, p, last = args
        form = discretise(system, self.method)
        blocks = form.blocks
        x, inner = blocks.increment(unknowns), blocks.inner_points(unknowns)
        lam = blocks.multipliers(unknowns) if blocks.lam else None
        found = form.variation(t, h, z, x, lam, inner)
        momentum = p + found.start
        if lam is not None:
            momentum = momentum + form.reaction(t, h, z, (last + x) / (2 * h), lam)
        rows = [momentum]
        if inner is not None:
            held = 0.0 if lam is None else form.inner_reaction(t, h, z, x, inner, lam)
            rows.append(jnp.ravel(found.inner + held))
        if blocks.S or blocks.lam:
            rows.append(form.closure(t, h, z, x, inner))
        return rows[0] if len(rows) == 1 else jnp.concatenate(rows)

    def shorter(self, args: Any, s: Any) -> Any:
        system, t, h, z, p, last = args
        return system, t, s * h, z, p, s * last

    def powers(self, count: int) -> np.ndarray:
        # Forces of constraint undo what momenta have besides those of allowed velocities.
        return np.where(np.arange(count) < count - self.multipliers, 1, -1)

    def sizes(self, unknowns: Array, J: Array, args: Any) -> tuple[Array, Array]:
        system, t, h, z, _, _ = args
        form = discretise(system, self.method)
        x, inner = form.blocks.increment(unknowns), form.blocks.inner_points(unknowns)
        own, beside = form.sizes(t, h, z, x, J, inner)
        if not form.blocks.inner:
            return own, beside
        # Inner points are of the size of the increment.
        count = form.blocks.inner // form.blocks.x
        return jnp.tile(own, 1 + count), jnp.tile(beside, 1 + count)


# ---------------------------------------------------------------- which scheme steps what

Maker: TypeAlias = Callable[..., Scheme]  # a scheme, or what chooses one
SCHEMES: dict[tuple[type, type | None], Maker] = {}
Kind = TypeVar("Kind", bound=Maker)


def steps(kind: type, method: type[Method] | None = None) -> Callable[[Kind], Kind]:
    """Register a scheme for a kind of system, or for systems with a kind of weight, for one class
    of methods or (None) all others.
    """

    def register(scheme: Kind) -> Kind:
        SCHEMES[kind, method] = scheme
        return scheme

    return register


def scheme_of(system: AbstractSystem, method: Method | None) -> Scheme:
    """The scheme that steps `system` by `method`."""
    kind = type(system) if system.conformal is None else type(system.conformal)
    found = SCHEMES.get((kind, type(method))) or SCHEMES.get((kind, None))
    if found is None:
        raise ValueError(f"no scheme steps {type(system).__name__} by {type(method).__name__}.")
    return found(system, method)
