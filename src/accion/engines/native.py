"""The native engine: functions of small arrays as machine code of single numbers.

    compile(f, *examples, lanes=1)            f as machine code, for arguments like the examples
    loop(step, constants, carry, row)         (carry, x) -> (carry, y) over rows in memory, as
                                              jax.lax.scan does
    ensemble(step, shared, own, carry, row, own_row)   the same for many members side by side
    evaluate(f, *args)                        f(*args) without a compiler

Each traces its function once. What cannot be translated, or is too large to compile soon, raises
`Unsupported`, with the name of the primitive.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.tree_util import tree_leaves, tree_unflatten

from accion.engines.arrays import entries
from accion.engines.errors import Unsupported
from accion.engines.folds import folded as loop, in_lanes, out_of_lanes, side_by_side as ensemble
from accion.engines.interpreter import Interpreter
from accion.engines.machine import Machine
from accion.engines.numbers import Numbers
from accion.engines.primitives import RULES
from accion.engines.programs import Layout, code_of, traced

__all__ = ["Unsupported", "compile", "ensemble", "evaluate", "loop"]


def compile(f: Callable[..., Any], *examples: Any, lanes: int = 1) -> Callable[..., Any]:
    """The function `f` of pytrees of arrays, as machine code for arguments like the examples; with
    several lanes, for that many arguments along a new first axis, which its results have too.
    """
    code, closed, tree = code_of(f, *examples, lanes=lanes)
    # What is kept with the program knows the shapes, and not all operations.
    given, found = Layout(closed.in_avals), Layout(closed.out_avals)

    def call_of_lanes(*args: Any) -> Any:
        inputs = in_lanes(given.packed(tree_leaves(args), lanes), lanes)
        outputs = np.empty((1, found.width, lanes))
        code.run(inputs.ctypes.data, outputs.ctypes.data)
        return tree_unflatten(tree, found.unpacked(out_of_lanes(outputs, lanes)))

    return Compiled(code, given, found, tree) if lanes == 1 else call_of_lanes


@dataclass(frozen=True)
class Compiled:
    """A function as machine code; `own` are the numbers of its first arguments where they are known
    before, `given` how the others stand in memory.
    """

    code: Machine
    given: Layout
    found: Layout
    tree: Any
    own: np.ndarray | None = None

    def __call__(self, *args: Any) -> Any:
        # One memory for all: its address takes longer to ask for than a small program to run.
        before = 0 if self.own is None else len(self.own)
        end = before + self.given.width
        memory = np.empty(end + self.found.width)
        if before:
            memory[:before] = self.own
        self.given.fill(memory[before:end], tree_leaves(args))
        at = memory.ctypes.data
        self.code.run(at, at + memory.itemsize * end)
        return tree_unflatten(self.tree, self.found.taken(memory[end:]))

    def with_first(self, first: Any) -> "Compiled":
        """The same for the other arguments: the numbers of the first one are put into memory once,
        and nobody changes them.
        """
        own, given = self.given.divided(first)
        return replace(self, own=own, given=given)


def evaluate(f: Callable[..., Any], *args: Any) -> Any:
    """f(*args), carried out on numbers by the interpreter alone: a few microseconds for an
    operation. What is wanted more than once is compiled sooner than evaluated.
    """
    closed, shape = traced(f, *args)
    run = Interpreter(Numbers(), RULES)
    leaves = zip(tree_leaves(args), closed.in_avals, strict=True)
    given = [run.constant(np.asarray(leaf, aval.dtype)) for leaf, aval in leaves]
    results = run.call(closed, given)
    arrays = [
        np.array([v.args[0] for v in entries([a])], aval.dtype).reshape(aval.shape)
        for a, aval in zip(results, closed.out_avals, strict=True)
    ]
    return tree_unflatten(jax.tree.structure(shape), arrays)
