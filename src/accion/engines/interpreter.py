"""A jaxpr carried out on arrays of values of a `Graph`.

What is not known raises `Unsupported` with the name of the primitive; XLA then serves.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from accion.engines.arrays import Equation, ValueArray as Array, entries, of_shape
from accion.engines.errors import Unsupported
from accion.engines.graph import Graph
from accion.engines.kinds import kind_of
from accion.engines.values import Value

DENSE_SOLVE = "accion_dense_solve"  # the name of the function that solves A x = b
WRITTEN_OUT = 4  # unknowns of a dense solver; beyond, it is a function of its own
# Primitives that are a call of another jaxpr, which is the parameter named.
CALLS = {
    "pjit": "jaxpr",
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
}
CONTROL = {"cond", "while", "scan"}


class Interpreter:
    """Carries out jaxprs; `graph` makes the values, `rules` say what each primitive does, and there
    may be `most` operations.
    """

    def __init__(self, graph: Graph, rules: Mapping[str, "Rule"], most: int | None = None) -> None:
        self.graph, self.rules, self.most = graph, rules, most

    def constant(self, array: Any) -> Array:
        """An array of numbers that are known."""
        array = np.asarray(array)
        kind = kind_of(array.dtype)
        return of_shape(array.shape, [self.graph.constant(x, kind) for x in array.ravel().tolist()])

    def call(self, closed: ClosedJaxpr | Jaxpr, args: Sequence[Array]) -> list[Array]:
        """The results, arrays of values, of a closed jaxpr."""
        jaxpr, consts = (
            (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, ())
        )
        known = dict(zip(jaxpr.constvars, map(self.constant, consts), strict=True))
        known.update(zip(jaxpr.invars, args, strict=True))

        def read(v: Any) -> Array:
            return self.constant(v.val) if isinstance(v, Literal) else known[v]

        for equation in jaxpr.eqns:
            known.update(
                zip(
                    equation.outvars,
                    self.carry_out(equation, [read(v) for v in equation.invars]),
                    strict=True,
                )
            )
            if self.most is not None and self.graph.count > self.most:
                raise Unsupported(f"programs of more than {self.most} operations")
        return [read(v) for v in jaxpr.outvars]

    def each(self, f: Callable[..., Value], *arrays: Array) -> Array:
        """`f` of each entry."""
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        lists = [
            (a if a.shape == shape else np.broadcast_to(a, shape)).ravel().tolist() for a in arrays
        ]
        return of_shape(shape, [f(*row) for row in zip(*lists, strict=True)])

    def carry_out(self, equation: Equation, x: list[Array]) -> list[Array]:
        """The results of one equation of a jaxpr on the arrays x; integers of 32 bits stay such."""
        results = self.results(equation, x)
        if equation.primitive.name in CALLS or equation.primitive.name in CONTROL:
            return results
        pairs = zip(equation.outvars, results, strict=True)
        return [
            self.each(self.graph.narrow, a) if v.aval.dtype == np.int32 else a for v, a in pairs
        ]

    def results(self, equation: Equation, x: list[Array]) -> list[Array]:
        """The results of one equation, as its primitive says."""
        name, P = equation.primitive.name, equation.params
        if name in CALLS:
            # What is left of a solver after differentiation has its name, and other results.
            shapes = [v.aval.shape for v in equation.outvars]
            solver = P.get("name") == DENSE_SOLVE and shapes == [
                v.aval.shape for v in equation.invars[1:2]
            ]
            return self.called(P[CALLS[name]], solver, x)
        rule = self.rules.get(name)
        if rule is None:
            raise Unsupported(f"the primitive {name}")
        return rule(self, equation, x)

    def called(self, closed: ClosedJaxpr, solver: bool, x: list[Array]) -> list[Array]:
        """A call: written out where it stands, but a dense solver of several unknowns, which is one
        function of the program.
        """
        solver = solver and len(x) == 2 and x[1].ndim == 1 and x[0].shape == 2 * x[1].shape
        if solver and x[1].size > WRITTEN_OUT and not all(v.is_constant for v in entries(x)):
            return [of_shape(x[1].shape, self.graph.dense_solve(entries(x), x[1].size))]
        return self.call(closed, x)


# The results of an equation of a jaxpr with one primitive, from its arguments.
Rule: TypeAlias = Callable[[Interpreter, Equation, list[Array]], list[Array]]
