"""Regions of attraction: where agents may start so that the formation closes (Colombo-Gamonal,
section 6.4).
"""

import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import as_completed
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from accion.arguments import count, door, instance, number, switch, wrong
from accion.checks import check_counts, check_times
from accion.engines.auto import check_engine
from accion.formation.endings import number_shapes
from accion.formation.formation import Formation
from accion.formation.places import (
    axis_names,
    check_agents,
    check_attitudes,
    check_grid,
    check_shape,
    check_velocities,
    rotations,
)
from accion.formation.rigid import RigidFormation
from accion.formation.settling import (
    ANOTHER,
    CONGRUENT,
    NOT_CONVERGED,
    OUTCOMES,
    Ends,
    How,
    Rule,
    runs_by,
    settle,
)
from accion.formation.teams import Team, a_formation, numbers_of, quartic_or_own, team_of
from accion.memory import check_room
from accion.methods import Method, Trapezoid
from accion.progress import progress_bar, threads
from accion.spaces import Space
from accion.types import ArrayLike

if TYPE_CHECKING:  # it is imported where it is wanted
    from xarray import Dataset

# runs that are stepped together; with 1000 their arrays leave the processor's nearest cache, at
# half the speed
CHUNK = 256
MOST_STEPS = 10**7  # of a run: what settles does so in some thousands


class Outcomes(NamedTuple):
    """What became of the points of a grid, shape (points,), and of those that ended elsewhere the
    numbers and the positions.
    """

    outcome: np.ndarray
    time: np.ndarray
    mirrored: np.ndarray
    elsewhere: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Survey:
    """What is run: some agents of a formation are placed on the points of a grid, all others at the
    desired `shape`; all start with the velocities `v0`, shape (n, d), at rest where there are none.
    Bodies have `attitudes`, shape (n, d, d), all the identity where they are not given; those that
    are placed have that of the point of the grid where it is `turned`.
    """

    formation: Formation | RigidFormation
    shape: np.ndarray
    agents: tuple[int, ...]
    grid: list[np.ndarray]
    h: float
    steps: int
    method: Method
    rule: Rule
    workers: int | None = None
    progress: bool = False
    engine: str = "auto"
    v0: np.ndarray | None = None
    attitudes: np.ndarray | None = None
    turned: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the axes of the grid: x, y of one agent, x1, y1, x2, y2 of several."""
        return axis_names(self.agents, self.formation.dimension, self.turned)

    @property
    def team(self) -> Team:
        """What runs need to know of the agents."""
        return team_of(self.formation)


def run_all(survey: Survey, starts: Any, space: Space | None = None) -> Outcomes:
    """`settle` for all configurations of `starts`, in chunks on threads."""
    formation, team = survey.formation, survey.team
    system = formation.rounded if space is None else replace(formation.system(), space=space)
    how = How(survey.method, team, survey.h, survey.steps, survey.rule)
    v0 = np.zeros(system.space.dim) if survey.v0 is None else survey.v0.ravel()
    runs = runs_by(survey.engine, system, how, survey.shape, v0, part_of(starts, 0))
    total, workers = len(jax.tree.leaves(starts)[0]), survey.workers or os.cpu_count() or 1
    # Powers of two, so that grids of other sizes need no compilation.
    size = min(CHUNK, 2 ** math.ceil(math.log2(max(1, total / workers))))
    found = nothing_known(total, team.numbers)
    elsewhere = [found.elsewhere]

    def work(first: int) -> tuple[int, Ends]:
        last = min(first + size, total)
        # The last chunk is filled up, so that one program of XLA's serves all.
        full = first + size if runs.engine == "xla" else last
        rows = part_of(starts, np.minimum(np.arange(first, full), total - 1))
        ends = settle(runs, how, rows, go_on)
        return first, part_of(ends, slice(0, last - first))

    with (
        threads(workers) as (pool, go_on),
        progress_bar("runs", total) if survey.progress else nullcontext(no_bar) as advance,
    ):
        if runs.engine == "xla":
            work(0)  # compiled once, before the threads start
        for job in as_completed([pool.submit(work, first) for first in range(0, total, size)]):
            first, ends = job.result()
            here = slice(first, first + len(ends.outcome))
            found.outcome[here], found.time[here] = ends.outcome, ends.time
            found.mirrored[here] = ends.mirrored
            other = np.flatnonzero(ends.outcome == ANOTHER)
            elsewhere.append((first + other, team.in_rows(ends.q)[other]))
            advance(len(ends.outcome))
    return found._replace(elsewhere=join(elsewhere))


def part_of(runs: Any, which: Any) -> Any:
    """Some of the runs of a pytree, or one."""
    return jax.tree.map(lambda a: a[which], runs)


def no_bar(amount: int) -> None:
    """In place of a bar that shows how far the runs are."""


def nothing_known(points: int, numbers: int) -> Outcomes:
    """Of so many points, with so many numbers in a configuration."""
    return Outcomes(
        np.zeros(points, dtype=np.int8),
        np.zeros(points),
        np.zeros(points, dtype=bool),
        (np.zeros(0, dtype=int), np.zeros((0, numbers))),
    )


def join(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """One (numbers, configurations) of several, in the order of the numbers."""
    numbers, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(numbers)
    return numbers[order], positions[order]


@door(
    formation=a_formation,
    h=number,
    method=instance(Method, "a method, such as Trapezoid()"),
    rule=instance(Rule, "a Rule"),
    workers=count,
    progress=switch,
    engine=check_engine,
)
def attraction(
    formation: Formation | RigidFormation,
    agent: int | Sequence[int],
    grid: Sequence[ArrayLike],
    *,
    h: float,
    steps: int,
    shape: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    attitudes: ArrayLike | None = None,
    method: Method | None = None,
    rule: Rule | None = None,
    workers: int | None = None,
    progress: bool = False,
    engine: str = "auto",
) -> "Dataset":
    """Place one agent, or several, on every point of a grid, all others at the desired shape, and
    see where the formation goes: an xarray.Dataset.

    Agents are points, of a `Formation`, or bodies on SE(2) or SE(3), of a `RigidFormation`. Bodies
    start with the `attitudes`, shape (n, d, d), by default the identity, those that are placed with
    the attitude of the point of the grid where it has axes of angles. Where an `alignment` draws
    them to each other the desired shape is one of equal attitudes.

    Arguments: `agent`, its number, or a tuple of numbers; `grid`, d increasing vectors for each of
    them, in order, the coordinates of the grid, and after these, of bodies, an angle or the three
    components of a rotation vector; `shape`, positions (n, d), by default those of `from_shape`;
    `v0`, velocities at the start, of all agents, shape (n, d), or of those that are placed, by
    default rest, of bodies (omega, u) in their own axes, shape (n, 3) or (n, 6); `method`, by
    default `Trapezoid`; `rule`, a `Rule`. Runs go in chunks on `workers` threads (by default one
    for each core); `progress` shows how far they are and the time that remains; `engine` as for
    `simulate`.

    Returns: on the grid, whose axes are x, y, z (and angle, or rx, ry, rz) of one agent and x1, y1,
    ..., x2, ... of several, counted from one as in `system()`, `outcome` (its attribute `outcomes`
    has the words), `time` from which the rule held, `mirrored`, and `shape`, the number of the
    shape where it ended: 0 the desired one, 1, 2, ... others, the most frequent first, -1 none.
    `other` has the positions of those shapes (of bodies `other_attitudes` the attitudes), `stable`
    whether they are minima of V, `potential` their V.

    Raises: ValueError where the shape, the agent or the grid does not belong to the formation.
    """
    team, positions = team_of(formation), check_shape(formation, shape)
    agents = check_agents(team.graph.n, agent)
    axes, turned = check_grid(team, agents, grid)
    velocities = check_velocities(team, agents, v0)
    check_times(0.0, h, steps, 1)
    steps, _ = check_counts(steps, 1)
    if steps > MOST_STEPS:
        wrong("steps", f"at most {MOST_STEPS:.0e}: what settles does so in far fewer", steps)
    survey = Survey(
        formation,
        positions,
        agents,
        axes,
        float(h),
        steps,
        method or Trapezoid(),
        rule or Rule(),
        workers,
        progress,
        engine,
        velocities,
        check_attitudes(team, attitudes),
        turned,
    )
    points = math.prod(map(len, axes))
    check_room(
        points * 8 * (8 + len(axes) + team.numbers),
        "the grid",
        "Take fewer points.",
    )
    return compute(survey, np.arange(points))


def starts_of(survey: Survey, which: np.ndarray) -> Any:
    """Where the runs `which` start, points of the grid by number: configurations with an axis of
    the runs in front.
    """
    team, agents = survey.team, list(survey.agents)
    centres = np.repeat(survey.shape[None], len(which), axis=0)
    index = np.unravel_index(which, tuple(map(len, survey.grid)))
    values = np.stack([axis[i] for axis, i in zip(survey.grid, index, strict=True)], axis=1)
    values = values.reshape(len(which), len(agents), -1)
    centres[:, agents] = values[..., : team.dimension]
    if not survey.turned:
        return team.placed(centres, survey.attitudes)
    d = team.dimension
    own = np.eye(d) if survey.attitudes is None else survey.attitudes
    attitudes = np.broadcast_to(own, (*centres.shape, d)).copy()
    attitudes[:, agents] = rotations(values[..., d:])
    return team.placed(centres, attitudes)


def compute(survey: Survey, which: np.ndarray, known: Outcomes | None = None) -> "Dataset":
    """The Dataset of a grid, of which the points `which`, by number, are run and the rest is
    `known`.
    """
    points = math.prod(map(len, survey.grid))
    outcome, time, mirrored, elsewhere = known or nothing_known(points, survey.team.numbers)
    ran = run_all(survey, starts_of(survey, which))
    outcome[which], time[which], mirrored[which] = ran.outcome, ran.time, ran.mirrored
    elsewhere = join([elsewhere, (which[ran.elsewhere[0]], ran.elsewhere[1])])
    computed = np.zeros(points, dtype=bool)
    computed[which] = True
    return dataset(survey, Outcomes(outcome, time, mirrored, elsewhere), computed)


def dataset(survey: Survey, found: Outcomes, computed: np.ndarray) -> "Dataset":
    """Outcomes as an xarray.Dataset, with the shapes where runs ended."""
    import xarray

    formation, shape, team = survey.formation, survey.shape, survey.team
    outcome, number, shapes = number_shapes(
        team,
        formation.rounded,
        shape,
        found.outcome,
        found.elsewhere,
        CONGRUENT,
        NOT_CONVERGED,
    )
    names = survey.names
    flat = {
        "outcome": outcome,
        "time": found.time,
        "mirrored": found.mirrored,
        "shape": number,
        "computed": computed,
    }
    rows = np.array([s.row for s in shapes]).reshape(-1, team.numbers)
    turned = team.attitudes(rows)
    more = (
        {} if turned is None else {"other_attitudes": (("number", "member", "row", "axis"), turned)}
    )
    sizes = tuple(map(len, survey.grid))
    ds = xarray.Dataset(
        {name: (names, values.reshape(sizes)) for name, values in flat.items()}
        | {
            "other": (("number", "member", "axis"), team.places(rows)),
            "stable": ("number", np.array([s.stable for s in shapes], dtype=bool)),
            "potential": ("number", np.array([s.potential for s in shapes], dtype=float)),
            "desired": (("member", "axis"), shape),
        }
        | more,
        coords=dict(zip(names, survey.grid, strict=True))
        | {"number": np.arange(1, len(shapes) + 1)},
    )
    for name in names:
        ds[name].attrs["units"] = "m" if name[0] in "xyz" else "rad"
    ds["time"].attrs["units"] = "s"
    ds["outcome"].attrs["outcomes"] = list(OUTCOMES)
    ds.attrs = attributes(survey)
    return ds


def attributes(survey: Survey) -> dict[str, Any]:
    """What a Dataset says of the runs."""
    formation = survey.formation
    given = {
        "v0": survey.v0,
        "attitudes": survey.attitudes,
        "edges": formation.graph.edges,
        "distances": formation.distances,
    }
    words = {name: json.dumps(a.tolist()) for name, a in given.items() if a is not None}
    words |= {name: json.dumps(value) for name, value in numbers_of(formation).items()}
    return words | {
        "potential": quartic_or_own(formation),
        "agent": survey.agents[0] if len(survey.agents) == 1 else json.dumps(survey.agents),
        "turned": int(survey.turned),
        "h": survey.h,
        "steps": survey.steps,
        "rule": json.dumps(survey.rule._asdict()),
        "method": str(survey.method),
    }
