"""From a function of small arrays to a program over single numbers, and to its machine code."""

import math
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxprs_in_params

from accion.engines import llvm
from accion.engines.arrays import ValueArray, entries, of_shape
from accion.engines.deferred import Deferred
from accion.engines.errors import Traced, Unsupported
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter
from accion.engines.kinds import INTEGER, kind_of
from accion.engines.machine import Machine
from accion.engines.primitives import RULES
from accion.engines.rarely import Later
from accion.engines.tracing import entry_by_entry
from accion.engines.values import Value
from accion.engines.xla import of_leaves

# lines of LLVM's language; beyond, its time grows faster than the program (half a second for 4000)
MOST = 20_000
# entries of all arrays of a function, most of which are zeros, copies or not needed
ENTRIES = 400_000
# lines of LLVM's language that are compiled for vectors nearly as soon as for numbers: more of them
# take several times as long (a solver of 30 unknowns 1.9 s instead of 0.3)
WIDE = 3_000

# The shape and the type of an array, `jax.core.ShapedArray`.
Aval: TypeAlias = Any


def slots(avals: Sequence[Aval]) -> list[int]:
    """How many numbers the array of each of these shapes has."""
    return [math.prod(a.shape) for a in avals]


class Layout:
    """How arrays of some shapes and types stand in memory, one after the other, 64 bits for each
    number.
    """

    def __init__(self, avals: Sequence[Aval]) -> None:
        self.avals = avals
        self.types = [np.dtype(a.dtype) for a in avals]
        self.shapes, self.sizes = [tuple(a.shape) for a in avals], slots(avals)
        ends = list(accumulate(self.sizes, initial=0))
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.width = ends[-1]
        # the same in one list, a type None where a number is as it stands in a buffer
        self.all = [
            (type == np.float64, None if type in (np.float64, np.int64) else type, shape, part)
            for type, shape, part in zip(self.types, self.shapes, self.parts, strict=True)
        ]

    def fill(self, buffer: np.ndarray, leaves: Sequence[Any]) -> None:
        """Put the numbers of arrays of these types into a buffer of one axis."""
        whole = buffer.view(np.int64)
        for leaf, (is_float, type, shape, part) in zip(leaves, self.all, strict=True):
            target = buffer if is_float else whole
            a = leaf if type is None else np.asarray(leaf, type)
            if not shape:
                target[part.start] = a
            else:
                target[part] = a if len(shape) == 1 else np.asarray(a).reshape(-1)

    def divided(self, first: Any) -> tuple[np.ndarray, "Layout"]:
        """The numbers of the pytree `first`, whose arrays come first, and how the others stand."""
        leaves = jax.tree.leaves(first)
        own, rest = Layout(self.avals[: len(leaves)]), Layout(self.avals[len(leaves) :])
        return own.packed(leaves), rest

    def taken(self, buffer: np.ndarray) -> list[np.ndarray]:
        """Arrays of these shapes in the memory of a buffer, whose leading axes they have."""
        whole, arrays, leading = buffer.view(np.int64), [], buffer.shape[:-1]
        before = (slice(None),) * len(leading)
        for is_float, type, shape, part in self.all:
            here = (*before, part)
            a = buffer[here] if is_float else whole[here]
            a = a if type is None else a.astype(type)
            arrays.append(a if len(shape) == 1 else a.reshape(leading + shape))
        return arrays

    def packed(self, leaves: Sequence[Any], *leading: int) -> np.ndarray:
        """The numbers of arrays of these types, that may have leading axes of these lengths."""
        buffer = np.empty((*leading, self.width))
        if not leading:
            self.fill(buffer, leaves)
            return buffer
        for leaf, type, part in zip(leaves, self.types, self.parts, strict=True):
            a = np.asarray(leaf, type)
            a = a if type == np.float64 else a.astype(np.int64).view(np.float64)
            buffer[..., part] = a.reshape((*leading, part.stop - part.start))
        return buffer

    def in_lanes(self, leaves: Sequence[Any], count: int, lanes: int) -> np.ndarray:
        """The numbers of so many rows of arrays in vectors, lanes last; the last row fills up the
        last vector.
        """
        vectors = -(-count // lanes)
        buffer = np.empty((vectors, self.width, lanes))
        whole, full = buffer.view(np.int64), count // lanes
        for leaf, (is_float, type, _, part) in zip(leaves, self.all, strict=True):
            target = (buffer if is_float else whole)[:, part]
            size = part.stop - part.start
            rows = np.asarray(leaf, type)[:count].reshape(count, size)
            target[:full] = rows[: full * lanes].reshape(full, lanes, size).swapaxes(1, 2)
            if full < vectors:
                target[full] = rows[-1:].T
                target[full, :, : count - full * lanes] = rows[full * lanes :].T
        return buffer

    def out_of_lanes(self, vectors: np.ndarray, count: int) -> list[np.ndarray]:
        """Arrays of so many rows from vectors."""
        whole, arrays = vectors.view(np.int64), []
        for is_float, type, shape, part in self.all:
            rows = (vectors if is_float else whole)[:, part].swapaxes(1, 2)
            a = rows.reshape(rows.shape[0] * rows.shape[1], rows.shape[2])
            a = a[:count].reshape(count, *shape)
            arrays.append(a if type is None else a.astype(type))
        return arrays

    def in_columns(self, memory: np.ndarray, first: int, end: int) -> list[np.ndarray]:
        """Arrays of some rows, those of each array standing one after the other in memory that has
        room for a number of them.
        """
        room, arrays = len(memory) // max(1, self.width), []
        whole = memory.view(np.int64)
        for is_float, type, shape, part in self.all:
            size = part.stop - part.start
            here = slice(part.start * room + first * size, part.start * room + end * size)
            a = (memory if is_float else whole)[here].reshape(end - first, *shape)
            arrays.append(a if type is None else a.astype(type))
        return arrays

    def put_row(self, memory: np.ndarray, at: int, leaves: Sequence[Any]) -> None:
        """Write one row of arrays that stand as `in_columns` reads them."""
        room, whole = len(memory) // max(1, self.width), memory.view(np.int64)
        for leaf, (is_float, _, _, part) in zip(leaves, self.all, strict=True):
            size = part.stop - part.start
            first = part.start * room + at * size
            (memory if is_float else whole)[first : first + size] = np.asarray(leaf).reshape(-1)

    def unpacked(self, buffer: np.ndarray) -> list[np.ndarray]:
        """Arrays of these shapes from a buffer, whose leading axes they have."""
        arrays = []
        for type, shape, part in zip(self.types, self.shapes, self.parts, strict=True):
            a = buffer[..., part].copy()
            a = a if type == np.float64 else a.view(np.int64).astype(type)
            arrays.append(a.reshape((*buffer.shape[:-1], *shape)))
        return arrays


def loaded(
    graph: Graph, buffer: str, avals: Sequence[Aval], base: Value | None = None
) -> list[ValueArray]:
    """Values in the order of a buffer, from its slot `base` on."""
    arrays, at = [], 0
    for aval, size in zip(avals, slots(avals), strict=True):
        kind, values = kind_of(aval.dtype), []
        for i in range(at, at + size):
            slot = i if base is None else graph.binary("add", base, graph.constant(i, INTEGER))
            values.append(graph.load(buffer, slot, kind))
        arrays.append(of_shape(aval.shape, values))
        at += size
    return arrays


def entries_of(jaxpr: Jaxpr) -> int:
    """How many entries a jaxpr computes, those of the jaxprs inside it once: a quick bound, before
    each is looked at.
    """
    total = 0
    for equation in jaxpr.eqns:
        total += sum(slots([v.aval for v in equation.outvars]))
        for inner in jaxprs_in_params(equation.params):
            total += entries_of(inner)
    return total


def traced(f: Callable[..., Any], *examples: Any) -> tuple[ClosedJaxpr, Any]:
    """The jaxpr of `f` and the shapes of its results."""
    # A new function each time: JAX would keep what was traced for as long as the old one lives.
    leaves, tree = jax.tree.flatten(examples)
    with entry_by_entry():
        closed, shape = jax.make_jaxpr(of_leaves(f, tree), return_shape=True)(*leaves)
    if any(isinstance(c, Tracer) for c in closed.consts):
        raise Traced
    if entries_of(closed.jaxpr) > ENTRIES:
        raise Unsupported(f"functions of more than {ENTRIES} entries")
    return closed, shape


def machine(
    graph: Graph,
    buffers: Sequence[str],
    integers: Sequence[str],
    lanes: int = 1,
    shared: Collection[str] = (),
    soon: bool = False,
) -> Machine:
    """The machine code of a program; see `llvm.Function`. Where it is wanted `soon`, a long one has
    one lane.

    Raises: Unsupported where it is too long.
    """
    text, lines, calls = llvm.program(graph, buffers, integers, lanes, shared)
    if soon and lanes > 1 and text.count("\n") > WIDE:
        return machine(graph, buffers, integers, 1, shared)
    if lines > MOST:
        raise Unsupported(f"programs of {lines} lines")
    deferred = [deferred_call(each.later, each.types) for each in calls]
    return Machine(text, len(buffers), len(integers), deferred, lanes=lanes)


def deferred_call(later: Later, types: Sequence[Aval]) -> Deferred:
    """What a program calls of `rarely`, for arguments of these types."""
    examples = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]
    given, found, by_xla = Layout(types), Layout(later.types), jax.jit(later)

    def otherwise(numbers: np.ndarray) -> np.ndarray:
        return found.packed(by_xla(*given.unpacked(numbers)))

    return Deferred(lambda: code_of(later, *examples)[0], otherwise, (given.width, found.width))


def code_of(
    f: Callable[..., Any], *examples: Any, lanes: int = 1
) -> tuple[Machine, ClosedJaxpr, Any]:
    """The machine code of `f` from memory to memory, for so many lanes, what it was traced to, and
    the structure of its results.
    """
    closed, shape = traced(f, *examples)
    graph = Graph()
    graph.vectors = True
    results = Interpreter(graph, RULES, 4 * MOST).call(
        closed, loaded(graph, "inputs", closed.in_avals)
    )
    for i, value in enumerate(entries(results)):
        graph.store("outputs", i, value)
    code = machine(graph, ("inputs", "outputs"), (), lanes)
    return code, closed, jax.tree.structure(shape)
