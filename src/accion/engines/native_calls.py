"""Primitives that are a sequence of operations of a `Graph`, or a function of a program."""

from typing import Any

from jax.extend.core import jaxprs_in_params

from accion.engines import abreast, rarely
from accion.engines.arrays import Equation, ValueArray as Array, entries, of_shape, unpack
from accion.engines.control_flow import called
from accion.engines.graph import Graph
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER
from accion.engines.needed import needed
from accion.engines.sums import found_by
from accion.engines.values import Value
from accion.jaxprs import parts

DENSE_SOLVE = "accion_dense_solve"  # the name of the function that solves A x = b
WRITTEN_OUT = 4  # unknowns of a dense solver; beyond, it is a function of its own


def called_by_name(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    """A call: written out where it stands, but a dense solver of several unknowns, which is one
    function of the program.
    """
    # What is left of a solver after differentiation has its name, and other results.
    solver = equation.params.get("name") == DENSE_SOLVE and len(x) == 2 and x[1].ndim == 1
    if solver and [v.aval.shape for v in equation.outvars] == [x[1].shape]:
        large = x[0].shape == 2 * x[1].shape and x[1].size > WRITTEN_OUT
        if large and not all(v.is_constant for v in entries(x)):
            return [of_shape(x[1].shape, run.algebra.dense_solve(entries(x), x[1].size))]
    return called(run, equation, x)


def first(g: Graph, values: list[Value], least: bool) -> Value:
    """The first of the largest, or of the least; NaN counts as such."""
    values = [g.convert(v, INTEGER) if v.kind == BOOLEAN else v for v in values]
    best, at = values[0], g.constant(0, INTEGER)
    for i, v in enumerate(values[1:], start=1):
        one, other = (best, v) if least else (v, best)
        better = g.compare("gt", one, other)
        if v.kind == FLOAT:  # a NaN takes the place of a number, and keeps it
            better = g.binary(
                "and", g.compare("above_or_nan", one, other), g.compare("eq", best, best)
            )
        best, at = g.select(better, v, best), g.select(better, g.constant(i, INTEGER), at)
    return at


def later(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    """A call of a function that is compiled when it is first called."""
    types = [v.aval for v in equation.invars]
    results = run.algebra.call(equation.params["later"], types, entries(x))
    return unpack(results, [v.aval.shape for v in equation.outvars])


def side_by_side(run: Interpreter[Graph], equation: Equation, x: list[Array]) -> list[Array]:
    """A function of rows: one function of vectors, or written out for each row."""
    closed, k = equation.params["closed"].closed, equation.params["closed"].shared
    count, shapes = x[-1].shape[0], [a.shape for a in closed.out_avals]
    rows = [[a[i : i + 1].reshape(a.shape[1:]) for a in x[k:]] for i in range(count)]
    # A function of vectors has no calls of its own of what is compiled later.
    if run.algebra.vectors and count > 1 and not calls_later(closed):
        found = of_vectors(run, closed, x[:k], rows)
    else:
        found = [entries(run.call(closed, [*x[:k], *row])) for row in rows]
    each = [unpack(values, shapes) for values in found]
    return [
        of_shape((count, *shape), [v for row in each for v in row[i].ravel().tolist()])
        for i, shape in enumerate(shapes)
    ]


def calls_later(function: Any) -> bool:
    """Whether a traced function calls, somewhere inside, what is seldom needed."""
    return any(
        eqn.primitive.name == rarely.NAME or any(map(calls_later, jaxprs_in_params(eqn.params)))
        for eqn in parts(function)[0].eqns
    )


def of_vectors(
    run: Interpreter[Graph], closed: Any, shared: list[Array], rows: list[list[Array]]
) -> list[list[Value]]:
    """The results of each row, by a function of vectors. Numbers that are known are known there,
    or stand in a table where they differ from row to row.
    """
    inner, common, own = Graph(), entries(shared), [entries(row) for row in rows]

    def read(buffer: str, values: list[Value]) -> Value:
        known = all(v.is_constant for v in values)
        if known and len({(v.kind, v.args[0]) for v in values}) == 1:
            return inner.constant(values[0].args[0], values[0].kind)
        table = known and values[0].kind == FLOAT
        return inner.load("table" if table else buffer, 0, values[0].kind)

    columns = [list(column) for column in zip(*own, strict=True)]
    read_shared = [read("shared", [v]) for v in common]
    read_rows = [read("row", column) for column in columns]
    shapes = [a.shape for a in (*shared, *rows[0])]
    results = Interpreter(inner, run.rules, run.most).call(
        closed, unpack([*read_shared, *read_rows], shapes)
    )
    for i, value in enumerate(entries(results)):
        inner.store("found", i, value)
    live, places = needed(inner), {"shared": [], "row": [], "table": []}
    for value, values in [
        *((v, [one]) for v, one in zip(read_shared, common, strict=True)),
        *zip(read_rows, columns, strict=True),
    ]:
        if value.id in live and value.op == "load":
            buffer = value.args[0]
            value.args = (buffer, len(places[buffer]))
            places[buffer].append(values)
    run.algebra.count += inner.count
    kinds = [v.kind for v in entries(results)]
    found = run.algebra.abreast(
        inner,
        [values[0] for values in places["shared"]],
        [[values[i] for values in places["row"]] for i in range(len(rows))],
        [[values[i].args[0] for values in places["table"]] for i in range(len(rows))],
        kinds,
    )
    return [found[i * len(kinds) : (i + 1) * len(kinds)] for i in range(len(rows))]


RULES: dict[str, Rule] = {
    rarely.NAME: later,
    abreast.NAME: side_by_side,
    "pjit": called_by_name,
    "jit": called_by_name,
    "argmax": found_by(first),
    "argmin": found_by(first),
}
