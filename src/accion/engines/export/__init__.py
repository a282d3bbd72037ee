"""A function of JAX as source text in C or JavaScript, from the same programs as machine code.

    to_c(f, *examples, name="f")            the text of a C function
    to_javascript(f, *examples, name="f")   the text of a JavaScript module

Both need nothing but their language and its mathematical functions.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from accion.engines import rarely
from accion.engines.arrays import Equation, ValueArray, entries
from accion.engines.export.c import C
from accion.engines.export.javascript import JavaScript
from accion.engines.export.text import Language, Text
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter
from accion.engines.primitives import RULES
from accion.engines.programs import MOST, loaded, traced
from accion.engines.solver import elimination


def to_c(f: Callable[..., Any], *examples: Any, name: str = "f") -> str:
    """The text of `void name(const double *inputs, double *outputs)`, which is `f` of arguments
    like the examples.

    A comment in it says the order of the numbers. All are doubles: integers, which are of 64 bits
    inside, are exact up to 2^53, and truth values are 0 and 1.

    Arguments:
        f: a function that JAX can trace.
        examples: its arguments, pytrees of arrays; their shapes and types count.
        name: of the function.

    Raises:
        ValueError: where `name` is none.
        Unsupported: where something cannot be written, by its name.
    """
    return written(C(), f, examples, name)


def to_javascript(f: Callable[..., Any], *examples: Any, name: str = "f") -> str:
    """The text of a module with the function `name(inputs, outputs)`, which is `f` of arguments
    like the examples, fills `outputs` (by default a new Float64Array) and returns it.

    As `to_c`; but integers are exact up to 2^53 inside too. Those of 32 bits wrap around as in JAX;
    those of 64 bits that go beyond throw a RangeError.
    """
    return written(JavaScript(), f, examples, name)


def written(language: Language, f: Callable[..., Any], examples: Sequence[Any], name: str) -> str:
    """The text of `f` in a language."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name):
        raise ValueError(f"name must be that of a function, letters and digits; got {name!r}.")
    closed, shape = traced(f, *examples)
    graph = Graph()
    rules = {**RULES, rarely.NAME: in_place}
    results = Interpreter(graph, rules, 4 * MOST).call(
        closed, loaded(graph, "inputs", closed.in_avals)
    )
    for i, value in enumerate(entries(results)):
        graph.store("outputs", i, value)
    main = Text(graph, language)
    solvers = [Text(elimination(n), language) for n in sorted(main.solvers)]
    comment = [
        "Numbers one after the other, arrays row by row:",
        *order("inputs", examples, arguments_of(f, len(examples))),
        *order("outputs", shape, None),
    ]
    size = sum(int(np.prod(a.shape, dtype=int)) for a in closed.out_avals)
    return language.module(name, comment, main, solvers, size)


def in_place(run: Interpreter[Graph], equation: Equation, x: list[ValueArray]) -> list[ValueArray]:
    """What machine code calls when it is needed is written where it stands."""
    examples = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return run.call(traced(equation.params["later"], *examples)[0], x)


def arguments_of(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first arguments of a function, or their numbers where it has none."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):  # of functions that are not Python's own
        names = []
    return names[:count] if len(names) >= count else [f"argument {i}" for i in range(count)]


def order(buffer: str, tree: Any, names: list[str] | None) -> list[str]:
    """A line for each array of a pytree: where its numbers are, its name, shape and type."""
    lines, first = [], 0
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        aval = jax.typeof(leaf) if not isinstance(leaf, jax.ShapeDtypeStruct) else leaf
        size = int(np.prod(aval.shape, dtype=int))
        what = "result" if names is None else names[path[0].idx]
        what += jax.tree_util.keystr(path if names is None else path[1:])
        shape = ",".join(map(str, aval.shape))
        where = f"{first}" if size == 1 else f"{first} to {first + size - 1}" if size else "none"
        lines.append(f"{buffer} {where}: {what}, {aval.dtype}[{shape}]")
        first += size
    return lines
