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
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np

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
        return self.layouts[name].packed(jax.tree.leaves(tree), *leading)

    def results(self, state: np.ndarray, outputs: np.ndarray) -> tuple[Any, Any]:
        """What is carried and what was written, as pytrees."""
        carry = self.layouts["state"].unpacked(state)
        ys = self.layouts["outputs"].unpacked(outputs)
        return jax.tree.unflatten(self.carry, carry), jax.tree.unflatten(self.out, ys)


def fold(
    f: Callable[..., tuple[Any, Any]], examples: Sequence[Any], lanes: int, soon: bool = False
) -> Fold:
    """`f(shared, own, carry, step, row) -> (carry, y)` folded over rows, for so many lanes; see
    `programs.machine`.
    """
    closed, shape = traced(f, *examples)
    ends = np.cumsum([0, *[len(jax.tree.leaves(each)) for each in examples]])
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
    fixed = [*loaded(graph, "shared", avals["shared"]), *loaded(graph, "own", avals["own"])]

    def base(name: str, j: Value) -> Value:
        return graph.binary("mul", j, graph.constant(layouts[name].width, INTEGER))

    def turn(values: list[Value]) -> list[Value]:
        j, state = values[0], unpack(values[1:], layouts["state"].shapes)
        here = [
            a for name in ("steps", "rows") for a in loaded(graph, name, avals[name], base(name, j))
        ]
        results = interpreter.call(closed, [*fixed, *state, *here])
        written = base("outputs", j)
        for i, value in enumerate(entries(results[n:])):
            graph.store("outputs", graph.binary("add", written, graph.constant(i, INTEGER)), value)
        return [graph.binary("add", j, one), *entries(results[:n])]

    start = entries(loaded(graph, "state", avals["state"]))
    ends = graph.loop([zero, *start], lambda v: graph.compare("lt", v[0], count), turn)
    for i, value in enumerate(ends[1:]):
        graph.store("state", i, value)
    code = machine(graph, BUFFERS, ("count",), lanes, SHARED, soon)
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
    done, size = 0, FIRST
    while done < count:
        go_on()
        now, began = min(size, count - done), perf_counter()
        code.run(*fixed, *[first + done * wide for first, wide in rows], now)
        done += now
        if done < count:
            size = fitting(now, perf_counter() - began)


def place(a: np.ndarray, axis: int) -> tuple[int, int]:
    """The address of an array's memory, and the bytes from one to the next along an axis."""
    return a.ctypes.data, math.prod(a.shape[axis + 1 :]) * a.itemsize


def folded(
    f: Callable[[Any, Any, Any], tuple[Any, Any]], constants: Any, carry: Any, row: Any
) -> Callable[[Any, Any, Any, int], tuple[Any, Any]]:
    """The function (constants, carry, rows, count) -> (carry, ys) that folds `f(constants, carry,
    x) -> (carry, y)` over rows.

    `row` is one example of x; `rows` has the axis of the rows in front. Constants are numbers that
    the program is given each time. The ys are parts of one memory: what is kept is to be copied.
    """

    def alone(shared: Any, own: Any, carry: Any, step: Any, row: Any) -> tuple[Any, Any]:
        return f(shared, carry, step)

    made = fold(alone, (constants, (), carry, row, ()), lanes=1)
    shared, kept, step, out = (
        made.layouts[name] for name in ("shared", "state", "steps", "outputs")
    )

    def call(constants: Any, carry: Any, rows: Any, count: int) -> tuple[Any, Any]:
        # What a short run has stands in one memory: to ask for an address takes a microsecond.
        memory = np.empty(shared.width + kept.width)
        state = memory[shared.width :]
        shared.fill(memory[: shared.width], jax.tree.leaves(constants))
        kept.fill(state, jax.tree.leaves(carry))
        inputs = step.packed(jax.tree.leaves(rows), count)
        outputs = np.empty((count, out.width))
        at, bytes = memory.ctypes.data, memory.itemsize
        moving = [(inputs.ctypes.data, step.width * bytes), (at, 0)]
        moving.append((outputs.ctypes.data, out.width * bytes))
        in_slices(made.code, [at, at, at + shared.width * bytes], moving, count)
        last = jax.tree.unflatten(made.carry, kept.taken(state))
        return last, jax.tree.unflatten(made.out, out.taken(outputs))

    return call


# ---------------------------------------------------------------- many members


def mapped(
    f: Callable[[Any, Any], Any], constants: Any, row: Any, lanes: int | None = None
) -> Callable[[Any, Any, int], Any]:
    """The function (constants, rows, count) -> ys that is `f(constants, x)` for each of the first
    `count` rows, by one core.
    """

    def alone(shared: Any, own: Any, carry: Any, step: Any, row: Any) -> tuple[Any, Any]:
        return (), f(shared, row)

    made = fold(alone, (constants, (), (), (), row), lanes or lanes_here(), soon=lanes is None)
    width, none = made.code.lanes, np.empty(0)

    def call(constants: Any, rows: Any, count: int) -> Any:
        # A row of the program is a vector of rows.
        inputs = made.layouts["rows"].in_lanes(jax.tree.leaves(rows), count, width)
        shared = made.packed("shared", constants)
        outputs = np.empty((len(inputs), made.layouts["outputs"].width, width))
        fixed = [a.ctypes.data for a in (shared, none, none)]
        moving = [place(a, 0) for a in (none, inputs, outputs)]
        in_slices(made.code, fixed, moving, len(inputs))
        ys = made.layouts["outputs"].out_of_lanes(outputs, count)
        return jax.tree.unflatten(made.out, ys)

    return call


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
        members = len(jax.tree.leaves((own, carry, rows))[0])
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
