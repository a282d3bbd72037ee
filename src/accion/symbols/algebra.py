"""Expressions of SymPy as the scalars that a jaxpr is carried out on."""

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from accion.engines.algebra import Algebra
from accion.engines.arrays import Equation, ValueArray, of_shape
from accion.engines.errors import NoRule, Unsupported
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER
from accion.symbols.exact_numbers import exact
from accion.symbols.linear_algebra import Undecided
from accion.symbols.primitives import ELEMENTWISE, is_condition, select
from accion.symbols.source_lines import Unknown, located, place

# operations in an expression; a loop that uses its state twice doubles it in each turn
LARGEST = 50_000
LONGEST_LOOP = 10_000
COMPLEX = "complex"
TOGETHER: dict[str, Callable[..., Any]] = {
    "add": sp.Add,
    "mul": sp.Mul,
    "max": sp.Max,
    "min": sp.Min,
}
CONDITIONS: dict[str, Callable[..., Any]] = {
    "and": sp.And,
    "or": sp.Or,
    "max": sp.Or,
    "min": sp.And,
    "add": sp.Or,
    "mul": sp.And,
}


class Missing(Undecided):
    """What is unknown already is needed here."""

    def __init__(self, what: Unknown) -> None:
        self.what = what


def check_known(*arrays: ValueArray) -> None:
    """Raises Missing where an entry is unknown."""
    for x in (x for a in arrays for x in a.flat):
        if isinstance(x, Unknown):
            raise Missing(x)


@lru_cache(maxsize=4 * LARGEST)
def size(expr: sp.Basic) -> int:
    """The number of operations in an expression written out."""
    return 1 + sum(map(size, expr.args))


class Expressions(Algebra[Any]):
    """Expressions; an entry that cannot be written as one is an `Unknown`, and so is all that is
    computed from it.
    """

    count = 0  # there is a limit for each expression, and none for all

    def kind(self, dtype: Any) -> str:
        dtype = np.dtype(dtype)
        if np.issubdtype(dtype, np.complexfloating):
            return COMPLEX
        if np.issubdtype(dtype, np.bool_):
            return BOOLEAN
        return INTEGER if np.issubdtype(dtype, np.integer) else FLOAT

    def constant(self, number: Any, kind: str) -> Any:
        if kind == COMPLEX:
            return Unknown("complex", None, "complex numbers are not real")
        return exact(number)

    def binary(self, op: str, a: Any, b: Any) -> Any:
        return self.fold(op, (a, b)) if op in CONDITIONS else ELEMENTWISE[op](a, b)

    def fold(self, op: str, values: Sequence[Any]) -> Any:
        unknown = next((x for x in values if isinstance(x, Unknown)), None)
        if unknown is not None:
            return unknown
        if op in CONDITIONS and all(map(is_condition, values)):
            return CONDITIONS[op](*values)
        return TOGETHER[op](*values) if op in TOGETHER else reduce(ELEMENTWISE[op], values)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        return ELEMENTWISE[op](a, b)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return select(condition, b, a)

    def clamp(self, i: Any, low: int, high: int) -> Any:
        return ELEMENTWISE["clamp"](sp.Integer(low), i, sp.Integer(high))

    def narrow(self, a: Any) -> Any:
        return a

    def bounds(self, i: Any) -> tuple[int, int] | None:
        if isinstance(i, Unknown):
            raise Missing(i)
        if not i.is_Integer:
            raise Undecided("an index or a count depends on the variables")
        return int(i), int(i)

    def filler(self, dtype: Any) -> NoReturn:
        raise Undecided("an index is out of bounds")

    def unrolled(self, turns: int) -> bool:
        if turns > LONGEST_LOOP:
            raise Undecided(f"a loop of {turns} turns is too long to write out")
        return True

    def loop(
        self,
        starts: Sequence[Any],
        test: Callable[[list[Any]], Any],
        body: Callable[[list[Any]], Sequence[Any]],
    ) -> list[Any]:
        values = list(starts)
        for _ in range(LONGEST_LOOP):
            if not decided(test(values)):
                return values
            values = list(body(values))
        raise Undecided(f"a loop of more than {LONGEST_LOOP} turns is too long to write out")

    def branch(self, index: Any, branches: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
        if isinstance(index, Unknown):
            raise Missing(index)
        if index.is_Integer:
            return list(branches[int(index)]())
        if index in (sp.true, sp.false):
            return list(branches[1 if index == sp.true else 0]())
        outcomes = [f() for f in branches]
        return [select(index, *cases) for cases in zip(*outcomes, strict=True)]

    def settled(self, equation: Equation, result: ValueArray) -> ValueArray:
        """A result, unknown where it is too long to be of use."""

        def look(x: Any) -> Any:
            if isinstance(x, Unknown):
                return located(x, equation)
            if size(x) <= LARGEST:
                return x
            reason = f"it would have more than {LARGEST} operations"
            return Unknown(equation.primitive.name, place(equation), reason)

        return of_shape(result.shape, [look(x) for x in result.ravel().tolist()])

    def unknown(self, equation: Equation, obstacle: Unsupported) -> list[ValueArray]:
        if isinstance(obstacle, Missing):
            what = obstacle.what
        else:
            none = isinstance(obstacle, NoRule)
            reason = "there is no SymPy counterpart" if none else str(obstacle)
            what = Unknown(equation.primitive.name, place(equation), reason)
        shapes = [v.aval.shape for v in equation.outvars]
        return [of_shape(s, [what] * int(np.prod(s, dtype=int))) for s in shapes]


def decided(condition: Any) -> bool:
    """A condition as True or False; raises Undecided where it is not known."""
    if isinstance(condition, Unknown):
        raise Undecided(f"whether a loop goes on depends on `{condition.primitive}`")
    if condition in (sp.true, sp.false):
        return bool(condition)
    raise Undecided("whether a loop goes on depends on the variables")
