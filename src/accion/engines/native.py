"""The native engine: functions of small arrays as machine code of single numbers.

    compiled(f, *examples)             f as machine code, for arguments like the examples
    folded(f, constants, carry, row)   (carry, x) -> (carry, y) folded over rows in memory, as
                                       jax.lax.scan does

Both trace `f` once. What cannot be translated, or is too large to compile soon, raises
`Unsupported`.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxprs_in_params

from accion.engines import llvm
from accion.engines.arrays import ValueArray, entries, of_shape, unpack
from accion.engines.errors import Traced, Unsupported
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter
from accion.engines.kinds import INTEGER, kind_of
from accion.engines.primitives import RULES
from accion.engines.values import Value
from accion.engines.xla import of_leaves

# lines of LLVM's language; beyond, its time grows faster than the program (half a second for 4000)
MOST = 20_000

# The shape and the type of an array, `jax.core.ShapedArray`.
Aval: TypeAlias = Any


def slots(avals: Sequence[Aval]) -> list[int]:
    """How many numbers the array of each of these shapes has."""
    return [int(np.prod(a.shape, dtype=int)) for a in avals]


def packed(leaves: Sequence[Any], avals: Sequence[Aval]) -> np.ndarray:
    """The numbers of arrays of these types one after the other, 64 bits each."""
    return np.concatenate(
        [
            np.zeros(0),
            *(np.ravel(bits(leaf, aval)) for leaf, aval in zip(leaves, avals, strict=True)),
        ]
    )


def bits(leaf: Any, aval: Aval) -> np.ndarray:
    """An array of the type of `aval` as 64 bits for each number."""
    a = np.asarray(leaf, dtype=aval.dtype)
    return a if a.dtype == np.float64 else a.astype(np.int64).view(np.float64)


def unpacked(
    buffer: np.ndarray, avals: Sequence[Aval], rows: int | None = None
) -> list[np.ndarray]:
    """Arrays of these shapes from a buffer; with `rows`, from one with so many rows of them."""
    buffer = buffer.reshape(1 if rows is None else rows, sum(slots(avals)))
    arrays, first = [], 0
    for aval, size in zip(avals, slots(avals), strict=True):
        part = np.ascontiguousarray(buffer[:, first : first + size])
        part = (
            part if np.dtype(aval.dtype) == np.float64 else part.view(np.int64).astype(aval.dtype)
        )
        arrays.append(part.reshape(aval.shape if rows is None else (rows, *aval.shape)))
        first += size
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
    closed, shape = jax.make_jaxpr(of_leaves(f, tree), return_shape=True)(*leaves)
    if any(isinstance(c, Tracer) for c in closed.consts):
        raise Traced
    if entries_of(closed.jaxpr) > 4 * MOST:
        raise Unsupported(f"functions of more than {4 * MOST} entries")
    return closed, shape


def machine(graph: Graph, buffers: Sequence[str], integers: Sequence[str]) -> llvm.Machine:
    """The machine code of a program.

    Raises: Unsupported where it is too long.
    """
    text, lines = llvm.program(graph, buffers, integers)
    if lines > MOST:
        raise Unsupported(f"programs of {lines} lines")
    return llvm.Machine(text, len(buffers), len(integers))


def compiled(f: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """The function `f` of pytrees of arrays, as machine code for arguments like the examples."""
    closed, shape = traced(f, *examples)
    graph = Graph()
    results = Interpreter(graph, RULES, 4 * MOST).call(
        closed, loaded(graph, "inputs", closed.in_avals)
    )
    for i, value in enumerate(entries(results)):
        graph.store("outputs", i, value)
    code, tree = machine(graph, ("inputs", "outputs"), ()), jax.tree.structure(shape)
    # What is kept with the program knows the shapes, and not all operations.
    given, avals = closed.in_avals, closed.out_avals
    size = sum(slots(avals))

    def call(*args: Any) -> Any:
        inputs, outputs = packed(jax.tree.leaves(args), given), np.empty(size)
        code.run(inputs.ctypes.data, outputs.ctypes.data)
        return jax.tree.unflatten(tree, unpacked(outputs, avals))

    return call


def folded(
    f: Callable[[Any, Any, Any], tuple[Any, Any]], constants: Any, carry: Any, row: Any
) -> Callable[[Any, Any, Any, int], tuple[Any, Any]]:
    """The function (constants, carry, rows, count) -> (carry, ys) that folds `f(constants, carry,
    x) -> (carry, y)` over rows.

    `row` is one example of x; `rows` has the axis of the rows in front. Constants are numbers that
    the program is given each time.
    """
    closed, shape = traced(f, constants, carry, row)
    n_constants, n_carry = len(jax.tree.leaves(constants)), len(jax.tree.leaves(carry))
    avals, state_avals = (
        closed.in_avals[:n_constants],
        closed.in_avals[n_constants : n_constants + n_carry],
    )
    row_avals = closed.in_avals[n_constants + n_carry :]
    out_state, out_avals = closed.out_avals[:n_carry], closed.out_avals[n_carry:]
    if [(a.shape, a.dtype) for a in out_state] != [(a.shape, a.dtype) for a in state_avals]:
        raise TypeError("what is carried must keep its shapes and types")
    graph = Graph()
    interpreter, shapes = Interpreter(graph, RULES, 4 * MOST), [a.shape for a in state_avals]
    count, zero, one = (
        graph.argument("count"),
        graph.constant(0, INTEGER),
        graph.constant(1, INTEGER),
    )
    fixed, start = loaded(graph, "constants", avals), loaded(graph, "state", state_avals)

    def turn(values: list[Value]) -> list[Value]:
        j, state = values[0], unpack(values[1:], shapes)
        base = graph.binary("mul", j, graph.constant(sum(slots(row_avals)), INTEGER))
        results = interpreter.call(
            closed, [*fixed, *state, *loaded(graph, "rows", row_avals, base)]
        )
        written = graph.binary("mul", j, graph.constant(sum(slots(out_avals)), INTEGER))
        for i, value in enumerate(entries(results[n_carry:])):
            graph.store("outputs", graph.binary("add", written, graph.constant(i, INTEGER)), value)
        return [graph.binary("add", j, one), *entries(results[:n_carry])]

    ends = graph.loop([zero, *entries(start)], lambda v: graph.compare("lt", v[0], count), turn)
    for i, value in enumerate(ends[1:]):
        graph.store("state", i, value)
    code = machine(graph, ("constants", "state", "rows", "outputs"), ("count",))
    carry_tree, out_tree = jax.tree.structure(carry), jax.tree.structure(shape[1])
    width = sum(slots(out_avals))

    def call(constants: Any, carry: Any, rows: Any, count: int) -> tuple[Any, Any]:
        state, given = (
            packed(jax.tree.leaves(carry), state_avals),
            packed(jax.tree.leaves(constants), avals),
        )
        pairs = zip(jax.tree.leaves(rows), row_avals, slots(row_avals), strict=True)
        flat: Any = [bits(leaf, aval).reshape(count, size) for leaf, aval, size in pairs]
        inputs = np.ascontiguousarray(np.concatenate(flat, axis=1)) if flat else np.empty(0)
        outputs = np.empty((count, width))
        code.run(*[a.ctypes.data for a in (given, state, inputs, outputs)], count)
        ys = jax.tree.unflatten(out_tree, unpacked(outputs, out_avals, count))
        return jax.tree.unflatten(carry_tree, unpacked(state, state_avals)), ys

    return call
