"""The compiled work of a campaign: all members of one chunk."""

import os
import threading
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.campaign import starts
from accion.campaign.members import Target, base_of, member
from accion.campaign.moments import Moment
from accion.campaign.plans import Plan, digest
from accion.campaign.reductions import Reduction, fold
from accion.methods import Method
from accion.numerics import newton
from accion.stepping import Scheme, scheme_of
from accion.systems import Start
from accion.types import Array, ArrayLike

FAILURES = (
    "none",
    "bad start",
    "Newton's method did not converge",
    "not finite",
    "a step led out of the chart of the retraction",
)
NOT_RUN = -1  # in place of one of them, where an interrupted campaign did not come to a member
LOCK = threading.Lock()
COMPILED: dict[str, Any] = {}  # programs of this process, by what they are
MOST = 8  # of them at once


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


def one(
    job: Job,
    targets: dict[str, Target],
    system: Any,
    base: dict[str, Any],
    t0: Array,
    h: Array,
    steps: Array,
    row: dict[str, Array],
) -> tuple[dict[str, Array], dict[str, Any], dict[str, Any]]:
    """One member from its start to its end: what its reductions found, and how it went.

    Members go one after the other (`lax.map`), not side by side: under `vmap` every member runs the
    rare branches of Newton's method and waits for the slowest, six to eight times slower for
    pendulums (benchmarks/campaign.py); and no member's digits depend on who is in its chunk.
    """
    system, start = member(system, job.method, base, targets, row)
    system.check()
    scheme = scheme_of(system, job.method)
    state, known = scheme.begin(t0, h, start)
    state = state._replace(changes=())  # a campaign does not look at energies
    nothing = jnp.array(0)
    first = Moment(scheme, t0, h, state, nothing)
    carries = tuple(jax.tree.map(jnp.asarray, each.init(first)) for each in job.reductions)

    def turn(k, carry):
        state, last, carries = carry
        after, iterations = scheme.step(state, t0 + k * h, h)
        # The iterations of the step that failed tell why; NaN stops Newton's method at once in
        # those after it.
        last = jnp.where(state.completed == k, iterations, last)
        now = Moment(scheme, t0 + (k + 1) * h, h, after, iterations)
        return after, last, fold(job.reductions, carries, now)

    end, last, carries = jax.lax.fori_loop(0, steps, turn, (state, nothing, carries))
    at_end = Moment(scheme, t0 + steps * h, h, end, last)
    results = {}
    for each, carry in zip(job.reductions, carries, strict=True):
        for name, value in each.results(carry, at_end).items():
            if name in results:
                raise ValueError(
                    f"two reductions give a result called {name!r}; name them differently."
                )
            results[name] = value
    went = {"completed": end.completed, "iterations": last, "left": end.left}
    return results, went, starts.start_data(scheme, start, state, known)


class Program:
    """A job made ready: traced once, compiled when the first chunk is run, used by all threads."""

    def __init__(self, job: Job):
        self.job = job
        self.base, self.targets = base_of(job.system, job.plan)
        # with as many entropies as its members start from
        self.system = checks.check_system(job.system, job.method, None, self.base.get("S0"))
        # Plain lists go in, so that a system that was made anew, with functions that are new to
        # Python, can use what was compiled before.
        self.numbers, frame = jax.tree.flatten(
            (job.system, self.base, job.t0, job.h, jnp.asarray(job.steps))
        )

        def all_members(numbers, rows):
            member_of = partial(one, job, self.targets, *jax.tree.unflatten(frame, numbers))
            return jax.lax.map(
                lambda row: member_of(dict(zip(self.targets, row, strict=True))), rows
            )

        self.lowered = jax.jit(all_members).trace(self.numbers, list(self.rows(0).values())).lower()

    @cached_property
    def text(self) -> str:
        """The program, with the names of what it gives."""
        return f"{self.lowered.as_text()}{self.lowered.out_tree}"

    @property
    def digest(self) -> str:
        """What tells one program from another: its code after tracing, with the constants in it,
        and its numbers.
        """
        numbers = b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in self.numbers)
        return digest(self.text.encode() + numbers)

    @cached_property
    def compiled(self) -> Any:
        """The program as machine code, shared with earlier campaigns that differ in numbers
        only.
        """
        key = digest(self.text.encode())
        with LOCK:
            if key not in COMPILED:
                if len(COMPILED) >= MOST:
                    COMPILED.pop(next(iter(COMPILED)))
                COMPILED[key] = self.lowered.compile()
            return COMPILED[key]

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
        return {
            name: jax.ShapeDtypeStruct(a.shape[1:], a.dtype)
            for name, a in self.lowered.out_info[0].items()
        }

    def run(self, c: int) -> dict[str, np.ndarray]:
        """Everything that is stored of chunk `c`, by name."""
        compiled, rows = self.compiled, self.rows(c)
        first, last = self.job.span(c)
        out = jax.tree.map(
            lambda a: np.asarray(a)[: last - first], compiled(self.numbers, list(rows.values()))
        )
        results, went, start_data = out
        failure, reason = self.failures(rows, went, start_data)
        bad = failure > 0
        arrays = {name: blanked(a, bad) for name, a in results.items()}
        steps = np.where(failure == 1, 0, went["completed"])
        columns = {name: a[: last - first] for name, a in rows.items()}
        outcome = {"success": ~bad, "steps_completed": steps, "failure": failure, "reason": reason}
        return columns | arrays | outcome

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
        reason = np.full(len(failure), "", dtype=object)

        def build(row: dict[str, Any]) -> tuple[Scheme, Start]:
            system, start = member(job.system, job.method, self.base, self.targets, row)
            return scheme_of(system, job.method), start

        for i in starts.suspects(job.system.space, start_data):
            row = {name: a[i] for name, a in rows.items()}
            words = starts.obstacle(build, row, jax.tree.map(lambda a, i=i: a[i], start_data))
            if words is not None:
                failure[i], reason[i] = 1, f"bad start: {words}"
        for i in np.flatnonzero(failure > 1):
            k = int(completed[i])
            more = {2: f" in {newton.ITERATIONS} iterations", 4: f" ({job.system.space.chart})"}
            words = FAILURES[failure[i]] + more.get(int(failure[i]), "")
            reason[i] = f"{words} at step {k} (t = {float(job.t0 + k * job.h):.6g})"
        return failure, reason


def blanked(a: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """`a` with nothing where a member is bad: NaN, or -1 for whole numbers, False for switches."""
    nothing = np.nan if np.issubdtype(a.dtype, np.inexact) else False if a.dtype == bool else -1
    return np.where(bad.reshape(-1, *[1] * (a.ndim - 1)), np.asarray(nothing, dtype=a.dtype), a)


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def job_of(
    system: Any,
    method: Method | None,
    plan: Plan,
    h: ArrayLike,
    steps: int,
    t0: ArrayLike,
    reductions: tuple[Reduction, ...],
    chunk: int | None,
) -> Job:
    """The job, its arguments checked."""
    if not isinstance(plan, Plan):
        raise ValueError(
            "the third argument must be a plan: table(...), grid(...) or sample(...); got"
            f" {plan!r}."
        )
    system = checks.check_system(system, method)
    t0, h = checks.check_times(t0, h, steps, 1)
    # A chunk costs tens of ms to write, however many it holds; fewer than 64 would leave threads
    # idle at the end and lose more when interrupted.
    chunk = min(plan.size, max(256, min(8192, -(-plan.size // 64)))) if chunk is None else chunk
    chunk = checks.whole(chunk, "chunk, how many members are run and stored at once,")
    return Job(system, method, plan, t0, h, checks.whole(steps, "steps"), reductions, chunk)
