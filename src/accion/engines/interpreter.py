"""A jaxpr carried out on arrays of scalars, whatever they are: an `Algebra` says."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from accion.engines.algebra import Algebra
from accion.engines.arrays import Equation, ValueArray as Array, of_shape
from accion.engines.errors import NoRule, Unsupported
from accion.jaxprs import parts

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
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}
CONTROL = {"cond", "while", "scan"}

A = TypeVar("A", bound=Algebra[Any])


class Interpreter(Generic[A]):
    """Carries out jaxprs; `algebra` makes the scalars, `rules` say what each primitive does, and
    there may be `most` operations.
    """

    def __init__(self, algebra: A, rules: Mapping[str, "Rule"], most: int | None = None) -> None:
        self.algebra, self.rules, self.most = algebra, rules, most

    def constant(self, array: Any) -> Array:
        """An array of numbers that are known."""
        array, constant = np.asarray(array), self.algebra.constant
        kind = self.algebra.kind(array.dtype)
        return of_shape(array.shape, [constant(x, kind) for x in array.ravel().tolist()])

    def call(self, closed: ClosedJaxpr | Jaxpr, args: Sequence[Array]) -> list[Array]:
        """The results, arrays of scalars, of a closed jaxpr."""
        jaxpr, consts = parts(closed)
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
            if self.most is not None and self.algebra.count > self.most:
                raise Unsupported(f"programs of more than {self.most} operations")
        return [read(v) for v in jaxpr.outvars]

    def each(self, f: Callable[..., Any], *arrays: Array) -> Array:
        """`f` of each entry."""
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        lists = [
            (a if a.shape == shape else np.broadcast_to(a, shape)).ravel().tolist() for a in arrays
        ]
        return of_shape(shape, [f(*row) for row in zip(*lists, strict=True)])

    def carry_out(self, equation: Equation, x: list[Array]) -> list[Array]:
        """The results of one equation of a jaxpr on the arrays x; integers of 32 bits stay such."""
        results = self.results(equation, x)
        if equation.primitive.name not in CALLS and equation.primitive.name not in CONTROL:
            pairs = zip(equation.outvars, results, strict=True)
            results = [
                self.each(self.algebra.narrow, a) if v.aval.dtype == np.int32 else a
                for v, a in pairs
            ]
        return [self.algebra.settled(equation, a) for a in results]

    def results(self, equation: Equation, x: list[Array]) -> list[Array]:
        """The results of one equation, as its primitive says."""
        name = equation.primitive.name
        try:
            rule = self.rules.get(name)
            if rule is None:
                raise NoRule(f"the primitive {name}")
            return rule(self, equation, x)
        except Unsupported as obstacle:
            return self.algebra.unknown(equation, obstacle)


# The results of an equation of a jaxpr with one primitive, from its arguments.
Rule: TypeAlias = Callable[[Interpreter[Any], Equation, list[Array]], list[Array]]
