"""Folds over rows as machine code: of one run, or of many side by side.

    folded(f, constants, carry, row)                       (carry, x) -> (carry, y) over rows in
                                                           memory, as jax.lax.scan does
    mapped(f, constants, row)                              x -> y for each row, some in the lanes of
                                                           a vector
    side_by_side(f, shared, own, carry, step, row)         the same for many members, some in the
                                                           lanes of a vector, on all cores

What a member gives does not depend on the others, on their number or on the number of cores: it is
to the bit what it gives alone.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.tree_util import tree_leaves, tree_unflatten

from accion.engines.arrays import entries, unpack
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter
from accion.engines.kinds import INTEGER
from accion.engines.machine import Machine, lanes_here
from accion.engines.primitives import RULES
from accion.engines.programs import MOST, Layout, loaded, machine, traced
from accion.engines.values import Value
from accion.progress import cores, fitting, threads

FIRST = 256  # rows, before it is known how long they take

# The memory of a fold: what does not change, what is carried, rows that are read, rows that are
# written. Members share some of it.
BUFFERS = ("shared", "own", "state", "steps", "rows", "outputs")
SHARED = ("shared", "steps")


class Fold(NamedTuple):
    """A compiled fold: its memory, and the structures of what it carries and writes."""

    code: Machine
    layouts: dict[str, Layout]
    carry: Any
    out: Any

    def packed(self, name: str, tree: Any, *leading: int) -> np.ndarray:
        """The numbers for one of the buffers."""
        return self.layouts[name].packed(tree_leaves(tree), *leading)

    def results(self, state: np.ndarray, outputs: np.ndarray) -> tuple[Any, Any]:
        """What is carried and what was written, as pytrees."""
        carry = self.layouts["state"].unpacked(state)
        ys = self.layouts["outputs"].unpacked(outputs)
        return tree_unflatten(self.carry, carry), tree_unflatten(self.out, ys)


def fold(
    f: Callable[..., tuple[Any, Any]],
    examples: Sequence[Any],
    lanes: int,
    soon: bool = False,
    in_columns: bool = False,
) -> Fold:
    """`f(shared, own, carry, step, row) -> (carry, y)` folded over rows, for so many lanes; see
    `programs.machine`.

    Rows are those from 0 to `count`, or from `first` to `count` where they are written
    `in_columns`: each array's one after the other, in memory that has room for so many.
    """
    closed, shape = traced(f, *examples)
    ends = np.cumsum([0, *[len(tree_leaves(each)) for each in examples]])
    avals = {
        name: closed.in_avals[a:b]
        for name, (a, b) in zip(BUFFERS[:-1], pairwise(ends), strict=True)
    }
    n = len(avals["state"])
    avals["outputs"] = closed.out_avals[n:]
    pairs = zip(avals["state"], closed.out_avals[:n], strict=True)
    if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs):
        raise TypeError("what is carried must keep its shapes and types")
    layouts = {name: Layout(each) for name, each in avals.items()}
    graph = Graph()
    graph.vectors = True
    interpreter = Interpreter(graph, RULES, 4 * MOST)
    count, zero, one = (
        graph.argument("count"),
        graph.constant(0, INTEGER),
        graph.constant(1, INTEGER),
    )
    first, room = zero, one
    if in_columns:
        first, room = graph.argument("first"), graph.argument("room")
    fixed = [*loaded(graph, "shared", avals["shared"]), *loaded(graph, "own", avals["own"])]

    def base(name: str, j: Value) -> Value:
        return graph.binary("mul", j, graph.constant(layouts[name].width, INTEGER))

    def places(j: Value) -> Iterator[Value]:
        """The slots of what is written in row j."""
        out = layouts["outputs"]
        for part in out.parts if in_columns else [slice(0, out.width)]:
            start, size = (graph.constant(k, INTEGER) for k in (part.start, part.stop - part.start))
            at = graph.binary("mul", j, size)
            if in_columns:
                at = graph.binary("add", graph.binary("mul", start, room), at)
            for i in range(part.stop - part.start):
                yield graph.binary("add", at, graph.constant(i, INTEGER))

    def turn(values: list[Value]) -> list[Value]:
        j, state = values[0], unpack(values[1:], layouts["state"].shapes)
        here = [
            a for name in ("steps", "rows") for a in loaded(graph, name, avals[name], base(name, j))
        ]
        results = interpreter.call(closed, [*fixed, *state, *here])
        for slot, value in zip(places(j), entries(results[n:]), strict=True):
            graph.store("outputs", slot, value)
        return [graph.binary("add", j, one), *entries(results[:n])]

    start = entries(loaded(graph, "state", avals["state"]))
    ends = graph.loop([first, *start], lambda v: graph.compare("lt", v[0], count), turn)
    for i, value in enumerate(ends[1:]):
        graph.store("state", i, value)
    integers = ("first", "count", "room") if in_columns else ("count",)
    code = machine(graph, BUFFERS, integers, lanes, SHARED, soon)
    return Fold(code, layouts, jax.tree.structure(examples[2]), jax.tree.structure(shape[1]))


def in_slices(
    code: Machine,
    fixed: Sequence[int],
    rows: Sequence[tuple[int, int]],
    count: int,
    go_on: Callable[[], None] = lambda: None,
) -> None:
    """Fold over `count` rows, as many at a time as take a fraction of a second: between them
    Python sees Ctrl-C, and `go_on` is called. `fixed` are addresses, `rows` the addresses of rows
    and how many bytes one has.
    """
    for done, now in slices(count):
        go_on()
        code.run(*fixed, *[first + done * wide for first, wide in rows], now)


def slices(count: int) -> Iterator[tuple[int, int]]:
    """(how many rows were done, how many are next), as many at a time as take a fraction of a
    second.
    """
    done, size = 0, FIRST
    while done < count:
        now, began = min(size, count - done), perf_counter()
        yield done, now
        done += now
        if done < count:
            size = fitting(now, perf_counter() - began)


def place(a: np.ndarray, axis: int) -> tuple[int, int]:
    """The address of an array's memory, and the bytes from one to the next along an axis."""
    return a.ctypes.data, math.prod(a.shape[axis + 1 :]) * a.itemsize


class Rows:
    """Memory for what a fold of one run writes, with room for so many rows: those of each array
    stand one after the other.
    """

    def __init__(self, layout: Layout, tree: Any, room: int) -> None:
        self.layout, self.tree, self.room = layout, tree, room
        self.memory = np.empty(layout.width * room)

    def part(self, first: int, end: int) -> Any:
        """The rows from `first` to `end`, as a pytree of arrays in this memory."""
        return tree_unflatten(self.tree, self.layout.in_columns(self.memory, first, end))

    def put(self, at: int, row: Any) -> None:
        """Write one row."""
        self.layout.put_row(self.memory, at, tree_leaves(row))


@dataclass(frozen=True)
class Folded:
    """A fold of one run; `own` are the numbers of the first of its constants where they are known
    before, `shared` how the others stand in memory.
    """

    made: Fold
    shared: Layout
    own: np.ndarray | None = None

    def __call__(self, constants: Any, carry: Any, rows: Any, count: int) -> tuple[Any, Any]:
        into = self.rows(count)
        return self.run(constants, carry, rows, count, into, 0), into.part(0, count)

    def run(self, constants: Any, carry: Any, rows: Any, count: int, into: Rows, at: int) -> Any:
        """What is carried in the end; what is written goes into memory from the row `at` on."""
        made, shared = self.made, self.shared
        kept, step = made.layouts["state"], made.layouts["steps"]
        # What a short run has stands in one memory: to ask for an address takes a microsecond.
        before = 0 if self.own is None else len(self.own)
        end = before + shared.width
        memory = np.empty(end + kept.width)
        if before:
            memory[:before] = self.own
        state = memory[end:]
        shared.fill(memory[before:end], tree_leaves(constants))
        kept.fill(state, tree_leaves(carry))
        inputs = step.packed(tree_leaves(rows), count)
        first, bytes = memory.ctypes.data, memory.itemsize
        # Rows are counted as those that are written.
        read = inputs.ctypes.data - at * step.width * bytes
        fixed = [first, first, first + end * bytes, read, first, into.memory.ctypes.data]
        for done, now in slices(count):
            made.code.run(*fixed, at + done, at + done + now, into.room)
        return tree_unflatten(made.carry, kept.taken(state))

    def rows(self, room: int) -> Rows:
        """Memory for so many rows."""
        return Rows(self.made.layouts["outputs"], self.made.out, room)

    def with_first(self, first: Any) -> "Folded":
        """The same for constants without the first of them, whose numbers are put into memory once,
        and nobody changes them.
        """
        own, shared = self.shared.divided(first)
        return Folded(self.made, shared, own)


def folded(
    f: Callable[[Any, Any, Any], tuple[Any, Any]], constants: Any, carry: Any, row: Any
) -> Folded:
    """The function (constants, carry, rows, count) -> (carry, ys) that folds `f(constants, carry,
    x) -> (carry, y)` over rows.

    `row` is one example of x; `rows` has the axis of the rows in front. Constants are numbers that
    the program is given each time. The ys are parts of one memory.
    """

    def alone(shared: Any, own: Any, carry: Any, step: Any, row: Any) -> tuple[Any, Any]:
        return f(shared, carry, step)

    made = fold(alone, (constants, (), carry, row, ()), lanes=1, in_columns=True)
    return Folded(made, made.layouts["shared"])


# ---------------------------------------------------------------- many members


@dataclass(frozen=True)
class Mapped:
    """A function of rows as machine code."""

    made: Fold

    def __call__(self, constants: Any, rows: Any, count: int) -> Any:
        return self.of_rows(self.made.packed("shared", constants), rows, count)

    def of_rows(self, shared: np.ndarray, rows: Any, count: int) -> Any:
        """f(constants, x) for each of the first `count` rows."""
        # A row of the program is a vector of rows.
        made, lanes = self.made, self.made.code.lanes
        inputs = made.layouts["rows"].in_lanes(tree_leaves(rows), count, lanes)
        outputs = np.empty((len(inputs), made.layouts["outputs"].width, lanes))
        at = shared.ctypes.data
        moving = [(at, 0), place(inputs, 0), place(outputs, 0)]
        in_slices(made.code, [at, at, at], moving, len(inputs))
        ys = made.layouts["outputs"].out_of_lanes(outputs, count)
        return tree_unflatten(made.out, ys)

    def with_first(self, constants: Any) -> Callable[[Any, int], Any]:
        """The function (rows, count) for constants that nobody changes, which are put into memory
        once.
        """
        return partial(self.of_rows, self.made.packed("shared", constants))


def mapped(
    f: Callable[[Any, Any], Any], constants: Any, row: Any, lanes: int | None = None
) -> Mapped:
    """The function (constants, rows, count) -> ys that is `f(constants, x)` for each of the first
    `count` rows, by one core.
    """

    def alone(shared: Any, own: Any, carry: Any, step: Any, row: Any) -> tuple[Any, Any]:
        return (), f(shared, row)

    soon = lanes is None
    return Mapped(fold(alone, (constants, (), (), (), row), lanes or lanes_here(), soon=soon))


def side_by_side(
    f: Callable[..., tuple[Any, Any]],
    shared: Any,
    own: Any,
    carry: Any,
    step: Any,
    row: Any,
    lanes: int | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """The function (shared, own, carry, steps, rows, count) -> (carry, ys) that folds
    `f(shared, own, carry, step, row) -> (carry, y)` over rows, for many members.

    The examples are those of one member. What all members have in common is `shared`, and of the
    rows `steps`, with the axis of the rows in front; the rest has the axis of the members in front
    of it, and so have the results. So many `lanes` are members at once, as many as the processor
    likes by default.
    """
    width = lanes or lanes_here()
    made = fold(f, (shared, own, carry, step, row), width)

    def call(
        shared: Any, own: Any, carry: Any, steps: Any, rows: Any, count: int
    ) -> tuple[Any, Any]:
        members = len(tree_leaves((own, carry, rows))[0])
        common, all_steps = made.packed("shared", shared), made.packed("steps", steps, count)
        owns, state = (
            in_lanes(made.packed(name, tree, members), width)
            for name, tree in (("own", own), ("state", carry))
        )
        inputs = in_lanes(made.packed("rows", rows, members, count), width)
        outputs = np.empty((len(owns), count, made.layouts["outputs"].width, width))

        before, steps_of = common.ctypes.data, place(all_steps, 0)
        fixed, moving = ([place(a, 0) for a in pair] for pair in ((owns, state), (inputs, outputs)))
        sizes = [place(a, 1)[1] for a in (inputs, outputs)]
        # Where Ctrl-C is pressed twice, this call is left before its threads have ended: what they
        # run keeps the memory that they write to.
        memory = (common, all_steps, owns, state, inputs, outputs)

        def run(k: int, go_on: Callable[[], None], memory: Any = memory) -> None:
            own = [first + k * wide for first, wide in fixed]
            rows = [(at + k * wide, row) for (at, wide), row in zip(moving, sizes, strict=True)]
            in_slices(made.code, [before, *own], [steps_of, *rows], count, go_on)

        on_all_cores(run, len(owns))
        return made.results(out_of_lanes(state, members), out_of_lanes(outputs, members))

    return call


def in_lanes(rows: np.ndarray, lanes: int) -> np.ndarray:
    """The numbers of members, the first axis, in vectors: lanes are the last axis of a vector. The
    last member fills up the last one.
    """
    members = len(rows)
    vectors = -(-members // lanes)
    chosen = np.minimum(np.arange(vectors * lanes), members - 1)
    split = rows[chosen].reshape(vectors, lanes, *rows.shape[1:])
    return np.ascontiguousarray(np.moveaxis(split, 1, -1))


def out_of_lanes(vectors: np.ndarray, members: int) -> np.ndarray:
    """The numbers of so many members, the first axis, from vectors."""
    split = np.moveaxis(vectors, -1, 1)
    return split.reshape(split.shape[0] * split.shape[1], *split.shape[2:])[:members]


def on_all_cores(run: Callable[[int, Callable[[], None]], None], count: int) -> None:
    """run(k, go_on) for k below `count`, in as many threads as there are cores; `go_on` ends it
    where another one failed or was interrupted.
    """
    workers = min(count, cores())
    if workers < 2:
        for k in range(count):
            run(k, lambda: None)
        return
    with threads(workers) as (pool, go_on):
        left = iter(range(count))

        def work() -> None:
            for k in left:
                run(k, go_on)

        for each in [pool.submit(work) for _ in range(workers)]:
            each.result()
