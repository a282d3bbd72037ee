"""Runs of a formation that are stepped until they settle, and what became of them."""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import native
from accion.engines.xla import kept_jit
from accion.formation.teams import Team
from accion.methods import Method
from accion.progress import fitting
from accion.stepping import scheme_of
from accion.stepping.variational import MechanicalScheme
from accion.systems import System
from accion.types import Array

CONGRUENT, ANOTHER, NOT_CONVERGED, DIVERGED = range(4)
OUTCOMES = ("congruent", "another shape", "not converged", "diverged")
FIRST = 64  # looks at the rule, before it is known how long they take


class Rule(NamedTuple):
    """When a run counts as converged: distances within `tolerance` of their own and all speeds
    below `speed` (Colombo-Gamonal: 1 % and 0.1 m/s).

    Of bodies that are drawn to one attitude the angles between them are to be below `angle`, in
    radians, too; of all bodies the angular velocities below `spin`, in rad/s. Below the speed
    `rest`, and the same part of `spin`, it is at rest, wherever it is. This is looked at after
    every `every` steps, which is how well the time is known.
    """

    tolerance: float = 0.01
    speed: float = 0.1
    rest: float = 0.01
    every: int = 10
    angle: float = 0.05
    spin: float = 0.1


class Ends(NamedTuple):
    """What is left of the runs of a chunk: class, time from which the rule held, whether the shape
    is the mirror image, last positions.
    """

    outcome: Array
    time: Array
    mirrored: Array
    q: Any


class Under(NamedTuple):
    """Runs under way: their states, and the time from which the rule has held."""

    state: Any
    since: Array


class Judge(NamedTuple):
    """Looks at one run."""

    team: Team
    wanted: Array  # distances
    h: Any
    rule: Rule

    def formed(self, q: Any) -> Array:
        """Whether distances, and attitudes, are as wanted."""
        x, rule = jnp.unstack(self.team.centres(q)), self.rule
        low = ((1 - rule.tolerance) * self.wanted) ** 2
        high = ((1 + rule.tolerance) * self.wanted) ** 2
        edges = self.team.graph.edges.tolist()
        squared = jnp.stack([jnp.sum((x[i] - x[j]) ** 2) for i, j in edges])
        near = jnp.all((squared >= low) & (squared <= high))
        return near & self.team.agree(q, rule.angle)

    def slow(self, x: Array, speed: Any, spin: Any) -> Array:
        """Whether all agents move slowly, by the increment of the last step."""
        return self.team.slow(x, speed * self.h, spin * self.h)

    @property
    def rest(self) -> tuple[Any, Any]:
        """The speed and the angular velocity below which agents are at rest."""
        return self.rule.rest, self.rule.spin * self.rule.rest / self.rule.speed

    def calm(self, state: Any) -> Array:
        """Whether the rule holds."""
        return self.formed(state.q) & self.slow(state.x, self.rule.speed, self.rule.spin)


def scheme_at(system: System, method: Method) -> MechanicalScheme:
    return cast(MechanicalScheme, scheme_of(system, method))


def begin(system: System, method: Method, q: Any, v: Any, h: float) -> Under:
    """At `q` with the velocities `v`; the weight at t = 0 is one."""
    p = system.legendre(0.0, q, v)
    state = scheme_at(system, method).start(0.0, h, q, p, h * v, jnp.zeros(0))
    return Under(state, jnp.zeros(()))


def advance(
    system: System,
    method: Method,
    team: Team,
    under: Under,
    h: float,
    steps: int,
    rule: Rule,
    looks: tuple[int, int],
) -> Under:
    """Step a run on, from one number of looks at the rule to another.

    Only the state and a time are carried: memory does not grow with `steps`.
    """
    step, judge = scheme_at(system, method).step, Judge(team, system.params["d"], h, rule)

    def look(j: Array, under: Under) -> Under:
        first, last = j * rule.every, jnp.minimum((j + 1) * rule.every, steps)
        state = jax.lax.fori_loop(
            first, last, lambda k, state: step(state, k * h, h)[0], under.state
        )
        return Under(state, jnp.where(judge.calm(state), under.since, last * h))

    return jax.lax.fori_loop(*looks, look, under)


def end(
    system: System, team: Team, shape: Array, under: Under, h: float, steps: int, rule: Rule
) -> Ends:
    """What became of a run after so many steps; `shape` are the centres of the desired one."""
    judge, n = Judge(team, system.params["d"], h, rule), len(shape)
    i, j = np.triu_indices(n, 1)
    own = jnp.linalg.norm(shape[i] - shape[j], axis=1)
    state, since = under
    points = team.centres(state.q)
    pairs = jnp.linalg.norm(points[i] - points[j], axis=1)
    calm = judge.calm(state)
    same = calm & jnp.all(jnp.abs(pairs - own) <= rule.tolerance * own)
    # The best motion reflects where the determinant of the correlation is negative (Kabsch 1976).
    mirrored = jnp.linalg.det((points - points.mean(0)).T @ (shape - shape.mean(0))) < 0
    at_rest = calm | judge.slow(state.x, *judge.rest)
    outcome = jnp.where(same, CONGRUENT, jnp.where(at_rest, ANOTHER, NOT_CONVERGED))
    outcome = jnp.where(state.completed == steps, outcome, DIVERGED)
    when = jnp.where(outcome == CONGRUENT, since, jnp.nan)
    return Ends(outcome, when, same & mirrored, state.q)


class How(NamedTuple):
    """What runs have in common, besides their system."""

    method: Method
    team: Team
    h: float
    steps: int
    rule: Rule


class Runs(NamedTuple):
    """Runs of a chunk by one engine: functions of rows."""

    engine: str
    begin: Callable[[Any], Any]  # of configurations
    advance: Callable[[Any, tuple[int, int]], Any]  # of runs under way, from one look to another
    end: Callable[[Any], Ends]


@partial(kept_jit, static_argnums=(1,))
def begin_all(system: System, method: Method, q: Any, v: Any, h: float) -> Under:
    return jax.vmap(lambda q: begin(system, method, q, v, h))(q)


@partial(kept_jit, static_argnums=(1, 2))
def advance_all(system: System, method: Method, team: Team, under: Under, *rest: Any) -> Under:
    return jax.vmap(lambda under: advance(system, method, team, under, *rest))(under)


@partial(kept_jit, static_argnums=(1,))
def end_all(system: System, team: Team, shape: Array, under: Under, *rest: Any) -> Ends:
    return jax.vmap(lambda under: end(system, team, shape, under, *rest))(under)


def by_xla(system: System, how: How, shape: np.ndarray, v: np.ndarray) -> Runs:
    """All runs side by side."""
    method, team, *times = how
    h = how.h

    def advanced(under: Under, looks: tuple[int, int]) -> Under:
        after = advance_all(system, method, team, under, *times, looks)
        return jax.block_until_ready(after)

    return Runs(
        "xla",
        lambda q: begin_all(system, method, q, v, h),
        advanced,
        lambda under: end_all(system, team, shape, under, *times),
    )


def by_native(
    system: System, how: How, shape: np.ndarray, v: np.ndarray, example: Any, engine: str
) -> Runs | None:
    """Some runs side by side in the lanes of a vector, in machine code; None where XLA must serve.

    It is compiled sooner and runs sooner than XLA's program (benchmarks/attraction.py): so "auto"
    takes it wherever it serves.
    """
    method, team, *times = how
    given = (system, shape, *times)

    def begin_row(constants: Any, q: Any) -> Any:
        given, v = constants
        return begin(given[0], method, q, v, given[2])

    def advance_row(constants: Any, under: Any) -> Any:
        (system, _, h, steps, rule), looks = constants
        return advance(system, method, team, under, h, steps, rule, looks)

    def end_row(given: Any, under: Any) -> Any:
        system, shape, *times = given
        return end(system, team, shape, under, *times)

    def program(name: str, f: Any, constants: Any, row: Any) -> Any:
        return native("mapped", (name, method, team), f, constants, row, engine=engine)

    begins = program("begin", begin_row, (given, v), example)
    if begins is None:
        return None
    alone = jax.tree.map(lambda a: a[None], example)
    row = jax.tree.map(lambda a: a[0], begins((given, v), alone, 1))
    advances = program("advance", advance_row, (given, (0, 1)), row)
    ends = None if advances is None else program("end", end_row, given, row)
    if advances is None or ends is None:
        return None
    return Runs(
        "native",
        lambda q: begins((given, v), q, len(jax.tree.leaves(q)[0])),
        lambda under, looks: advances((given, looks), under, len(under.since)),
        lambda under: ends(given, under, len(under.since)),
    )


def runs_by(
    engine: str, system: System, how: How, shape: np.ndarray, v: np.ndarray, example: Any
) -> Runs:
    """Runs by the engine that serves, compiled, that start with the velocities `v` from
    configurations such as `example`.
    """
    found = by_native(system, how, shape, v, example, engine)
    return by_xla(system, how, shape, v) if found is None else found


def settle(runs: Runs, how: How, q: Any, go_on: Callable[[], None]) -> Ends:
    """Step every configuration of `q`, with the axis of the runs in front.

    `go_on` is called several times a second; what it raises ends the runs.
    """
    under, looks = runs.begin(q), -(-how.steps // how.rule.every)
    done, few = 0, FIRST
    while done < looks:
        go_on()
        until, began = min(looks, done + few), perf_counter()
        under = runs.advance(under, (done, until))
        done, few = until, fitting(until - done, perf_counter() - began)
    return jax.tree.map(np.asarray, runs.end(under))
