"""The members of a chunk, one after the other, as many steps at a time as one asks for.

What is compiled returns to Python after so many steps, inside a member if need be, and goes on from
there: so a campaign can be stopped, and a member whose function raises an error can be left out.
The digits do not depend on where it returned.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from accion.campaign.members import Target, member
from accion.campaign.moments import Moment
from accion.campaign.reductions import Reduction, fold
from accion.methods import Method
from accion.solve import starts
from accion.stepping import State, scheme_of
from accion.systems.traced import TracedFunction
from accion.types import Array

# Of the members whose function raised an error: the step, and its words.
Raised: TypeAlias = dict[int, tuple[int, str]]


class Carry(NamedTuple):
    """A member under way."""

    state: State
    last: Array  # the iterations of its last good step, or of the one that failed
    carries: tuple[Any, ...]  # of the reductions
    at_start: dict[str, Any]  # what tells whether it could start


class Place(NamedTuple):
    """How far a chunk is."""

    member: Any  # a whole number: the first of the chunk that is not finished
    step: Any  # the steps that it has made
    carry: Carry
    out: Any  # what was found of the members before, with a row for each of the chunk


@dataclass(frozen=True)
class Runner:
    """One member, traced: from its row in the plan to what is stored of it."""

    reductions: tuple[Reduction, ...]
    scheme: Any
    start: Any
    t0: Array
    h: Array
    steps: Array

    def begin(self) -> Carry:
        """Before the first step."""
        state, known = self.scheme.begin(self.t0, self.h, self.start)
        state = state._replace(changes=())  # a campaign does not look at energies
        first = Moment(self.scheme, self.t0, self.h, state, jnp.array(0))
        carries = tuple(jax.tree.map(jnp.asarray, each.init(first)) for each in self.reductions)
        at_start = starts.start_data(self.scheme, self.start, state, known)
        return jax.tree.map(jnp.asarray, Carry(state, jnp.array(0), carries, at_start))

    def turn(self, k: Array, carry: Carry) -> Carry:
        """Step number k."""
        state, t, h = carry.state, self.t0 + k * self.h, self.h
        after, iterations = self.scheme.step(state, t, h)
        # The iterations of the step that failed tell why; NaN stops Newton's method at once in
        # those after it.
        last = jnp.where(state.completed == k, iterations, carry.last)
        now = Moment(self.scheme, self.t0 + (k + 1) * h, h, after, iterations)
        return Carry(after, last, fold(self.reductions, carry.carries, now), carry.at_start)

    def end(self, carry: Carry) -> Any:
        """(results, how it went, how it could start) after the last step."""
        last, end = carry.last, carry.state
        at_end = Moment(self.scheme, self.t0 + self.steps * self.h, self.h, end, last)
        results = {}
        for each, own in zip(self.reductions, carry.carries, strict=True):
            for name, value in each.results(own, at_end).items():
                if name in results:
                    raise ValueError(
                        f"two reductions give a result called {name!r}; name them differently."
                    )
                results[name] = value
        went = {"completed": end.completed, "iterations": last, "left": end.left}
        return jax.tree.map(jnp.asarray, (results, went, carry.at_start))


def runner_of(
    method: Method | None,
    reductions: tuple[Reduction, ...],
    targets: dict[str, Target],
    numbers: Any,
    row: Sequence[Any],
) -> Runner:
    """The member with this row; `numbers` are (system, base, t0, h, steps)."""
    system, base, t0, h, steps = numbers
    system, start = member(system, method, base, targets, dict(zip(targets, row, strict=True)))
    system.check()
    return Runner(reductions, scheme_of(system, method), start, t0, h, steps)


class Given(NamedTuple):
    """What members are made of, as an engine sees it."""

    runner: Callable[[Any, Any], Runner]  # (numbers, row) -> one member
    numbers: list[Any]  # those of all members
    rows: list[np.ndarray]  # of a chunk, an example
    name: (
        Hashable  # what `runner` is made of, besides the functions that are seen in its operations
    )
    functions: list[TracedFunction]  # of the system
    steps: int

    @property
    def bytes(self) -> bytes:
        """The numbers."""
        return b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in self.numbers)


class Members(ABC):
    """All members of a chunk, by one engine."""

    engine: str
    shapes: Any  # of (results, how it went, how it could start) of one member

    @property
    @abstractmethod
    def digest(self) -> str:
        """What tells one program from another, the same in every process."""

    @abstractmethod
    def run(
        self, rows: list[np.ndarray], count: int, go_on: Callable[[], None]
    ) -> tuple[Any, Raised]:
        """What was found of the first `count` members of a chunk with these rows; `go_on` is called
        several times a second.
        """


def shapes(runner: Callable[[Any, Any], Runner], numbers: Any, rows: Sequence[Any]) -> Place:
    """A place in shape: of a chunk with these rows. Results have no axis of the members yet."""

    def first(numbers: Any, row: Any) -> Any:
        one = runner(numbers, row)
        carry = one.begin()
        return carry, one.end(carry)

    carry, out = jax.eval_shape(first, numbers, [row[0] for row in rows])
    whole = jax.ShapeDtypeStruct((), jnp.result_type(int))
    return Place(whole, whole, carry, out)


def some_steps(
    runner: Callable[[Any, Any], Runner],
    numbers: Any,
    rows: Sequence[Array],
    place: Place,
    until: Array,
    budget: Array,
) -> Place:
    """Go on from `place`, through the members before `until`, for `budget` steps.

    Members go one after the other, not side by side: under `vmap` every member runs the rare
    branches of Newton's method and waits for the slowest, six to eight times slower for pendulums
    (benchmarks/campaign.py); and no member's digits depend on who is in its chunk.
    """

    def unfinished(carry: tuple[Place, Array]) -> Array:
        place, left = carry
        return (place.member < until) & (left > 0)

    def go_on(carry: tuple[Place, Array]) -> tuple[Place, Array]:
        (i, k, own, out), left = carry
        one = runner(numbers, [row[i] for row in rows])
        own = jax.lax.cond(k == 0, one.begin, lambda: own)
        last = k + jnp.minimum(one.steps - k, left)
        own = jax.lax.fori_loop(k, last, one.turn, own)
        done = last == one.steps
        row = jax.lax.cond(done, one.end, lambda _: jax.tree.map(lambda a: a[i], out), own)
        out = jax.tree.map(lambda a, b: a.at[i].set(b), out, row)
        nothing = jnp.zeros_like(k)
        place = Place(i + done, jnp.where(done, nothing, last), own, out)
        return place, left - (last - k)

    return jax.lax.while_loop(unfinished, go_on, (place, budget))[0]
