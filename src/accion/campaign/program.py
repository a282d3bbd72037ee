"""The compiled work of a campaign: all members of one chunk."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import shown
from accion.campaign.by_native import by_native
from accion.campaign.by_xla import ByXla
from accion.campaign.callbacks import unsaid
from accion.campaign.chunks import Given, Members, Runner, runner_of
from accion.campaign.members import Remembered, base_of, member
from accion.campaign.plans import Plan
from accion.campaign.reductions import Reduction
from accion.memory import check_room
from accion.methods import Method
from accion.numerics import newton
from accion.solve import starts
from accion.stepping import Scheme, scheme_of
from accion.systems import Start
from accion.systems.traced import TracedFunction
from accion.types import Array, Scalar

FAILURES = (
    "none",
    "bad start",
    "Newton's method did not converge",
    "not finite",
    "a step led out of the chart of the retraction",
    "a function that is called back raised an error",
)
RAISED = 5
NOT_RUN = -1  # in place of one of them, where an interrupted campaign did not come to a member
MOST_STEPS = 10**15


@dataclass(frozen=True, eq=False)
class Job:
    """A campaign as it was asked for; the work of a chunk follows from it and the chunk's number
    alone.
    """

    system: Any
    method: Method | None
    plan: Plan
    t0: Array
    h: Array
    steps: int
    reductions: tuple[Reduction, ...]
    chunk: int
    engine: str = "auto"

    @property
    def size(self) -> int:
        """How many members there are."""
        return self.plan.size

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return -(-self.size // self.chunk)

    def span(self, c: int) -> tuple[int, int]:
        """The first member of chunk `c` and the one after its last."""
        return c * self.chunk, min((c + 1) * self.chunk, self.size)


def forever() -> None:
    """In place of what ends a run."""


class Program:
    """A job made ready, by the engine that serves; `job` says which it is."""

    def __init__(self, job: Job):
        self.base, self.targets = base_of(job.system, job.plan)
        # with as many entropies as its members start from
        S0 = jax.tree.map(np.zeros_like, self.base.get("S0"))
        self.system = checks.check_system(job.system, job.method, None, S0)
        # Plain lists go in, so that a system that was made anew, with functions that are new to
        # Python, can use what was compiled before.
        numbers, frame = jax.tree.flatten(
            (job.system, self.base, job.t0, job.h, jnp.asarray(job.steps))
        )

        def runner(numbers: list[Any], row: list[Any]) -> Runner:
            whole = jax.tree.unflatten(frame, numbers)
            return runner_of(job.method, job.reductions, self.targets, whole, row)

        self.job = job
        rows = list(self.rows(0).values())
        functions = functions_of(job.system)
        given = Given(runner, numbers, rows, (job.method, frame), functions, job.steps)
        self.members: Members = by_native(given, job.engine) or ByXla(given, job.chunk)
        self.job = replace(job, engine=self.members.engine)

    @property
    def engine(self) -> str:
        """The engine that runs it: "native" or "xla"."""
        return self.members.engine

    @property
    def digest(self) -> str:
        """What tells one program from another: its operations, with the constants in them, its
        numbers, and the functions of Python that it calls.
        """
        return self.members.digest

    def rows(self, c: int) -> dict[str, np.ndarray]:
        """The rows of chunk `c`; the last chunk is filled up with its last member, so that all have
        one shape.
        """
        first, last = self.job.span(c)
        rows = self.job.plan.rows(first, last)
        return {
            name: np.pad(a, [(0, self.job.chunk - len(a))] + [(0, 0)] * (a.ndim - 1), mode="edge")
            for name, a in rows.items()
        }

    def shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
        """The shape and type of each result of one member."""
        return self.members.shapes[0]

    def run(self, c: int, go_on: Callable[[], None] = forever) -> dict[str, np.ndarray]:
        """Everything that is stored of chunk `c`, by name.

        `go_on` is called several times a second; what it raises ends the run.
        """
        rows = self.rows(c)
        first, last = self.job.span(c)
        with unsaid():
            out, raised = self.members.run(list(rows.values()), last - first, go_on)
        results, went, start_data = out
        failure, reason = self.failures(rows, went, start_data)
        steps = np.where(failure == 1, 0, went["completed"])
        for i, (k, words) in raised.items():
            failure[i], steps[i] = RAISED, k
            reason[i] = f"{FAILURES[RAISED]} at step {k} (t = {self.time(k):.6g}): {words}"
        bad = failure > 0
        arrays = {name: blanked(a, bad) for name, a in results.items()}
        columns = {name: a[: last - first] for name, a in rows.items()}
        outcome = {"success": ~bad, "steps_completed": steps, "failure": failure, "reason": reason}
        return columns | arrays | outcome

    def time(self, k: int) -> float:
        """That of node k."""
        return float(self.job.t0 + k * self.job.h)

    def failures(
        self, rows: dict[str, np.ndarray], went: dict[str, Any], start_data: dict[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """A code for each member, 0 where all went well, and the reason in words."""
        job = self.job
        completed = went["completed"]
        failure = np.where(
            completed == job.steps, 0, np.where(went["iterations"] >= newton.ITERATIONS, 2, 3)
        ).astype(np.int8)
        failure = np.where(went["left"], np.int8(4), failure)
        reason, made = np.full(len(failure), "", dtype=object), Remembered()

        def build(row: dict[str, Any]) -> tuple[Scheme, Start]:
            own = (self.base, self.targets, row, made)
            system, start = member(job.system, job.method, *own)
            return scheme_of(system, job.method), start

        for i in starts.suspects(job.system.space, start_data):
            row = {name: a[i] for name, a in rows.items()}
            words = starts.obstacle(build, row, jax.tree.map(lambda a, i=i: a[i], start_data))
            if words is not None:
                failure[i], reason[i] = 1, f"bad start: {words}"
        for i in np.flatnonzero(failure > 1):
            k = int(completed[i])
            more = {
                2: f" in {newton.ITERATIONS} iterations, or the motion's solution ends before h",
                4: f" ({job.system.space.chart})",
            }
            words = FAILURES[failure[i]] + more.get(int(failure[i]), "")
            reason[i] = f"{words} at step {k} (t = {self.time(k):.6g})"
        return failure, reason


def functions_of(system: Any) -> list[TracedFunction]:
    """The functions that a system holds."""

    def is_function(value: Any) -> bool:
        return isinstance(value, TracedFunction)

    return [f for f in jax.tree.leaves(system, is_leaf=is_function) if is_function(f)]


def blanked(a: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """`a` with nothing where a member is bad: NaN, or -1 for whole numbers, False for switches."""
    nothing = np.nan if np.issubdtype(a.dtype, np.inexact) else False if a.dtype == bool else -1
    return np.where(bad.reshape(-1, *[1] * (a.ndim - 1)), np.asarray(nothing, dtype=a.dtype), a)


FILLING = 2**20  # steps of all members of a chunk, if there are enough
PER_MEMBER = 8  # bytes at least, of what says whether it is done


def chunk_of(members: int, steps: int) -> int:
    """How many members are run and stored at once where the user does not say it.

    A chunk costs tens of ms to write, however many it holds: its steps should take longer. Few
    chunks would leave threads idle at the end and lose more when interrupted: 64, or where runs are
    short 16.
    """
    filling = min(FILLING // steps, -(-members // 16))
    return min(members, max(256, min(8192, max(filling, -(-members // 64)))))


def job_of(
    system: Any,
    method: Method | None,
    plan: Plan,
    h: Scalar,
    steps: int,
    t0: Scalar,
    reductions: tuple[Reduction, ...],
    chunk: int | None,
    engine: str = "auto",
) -> Job:
    """The job, its arguments checked."""
    if not isinstance(plan, Plan):
        raise ValueError(
            "the third argument must be a plan: table(...), grid(...) or sample(...); got"
            f" {shown(plan)}."
        )
    system = checks.check_system(system, method)
    if method is not None and method.own_lengths:
        raise ValueError(
            f"campaign.run does not support {method!r}: each member would have times of its own;"
            " call simulate for each."
        )
    first, length = checks.check_times(t0, h, steps, 1)
    steps = checks.whole(steps, "steps")
    own = chunk_of(plan.size, steps) if chunk is None else chunk
    # No more than there are: the last chunk is filled up to its size.
    most = checks.whole(own, "chunk, how many members are run and stored at once,")
    size = min(most, plan.size)
    checks.check_time_moves(first, length, steps)
    if steps > MOST_STEPS:
        raise ValueError(f"a run has at most {MOST_STEPS:.0e} steps; got {steps:.3g}.")
    check_room(plan.size * PER_MEMBER, f"a plan of {plan.size} members", "Take fewer members.")
    numbers = 8 + 4 * system.order * system.space.dim
    check_room(8 * size * numbers, f"chunk = {size}", "Run fewer members at once.")
    return Job(system, method, plan, first, length, steps, reductions, size, engine)
