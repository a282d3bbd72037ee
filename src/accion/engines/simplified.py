"""Arithmetic that is simplified while it is written down.

Constants are folded and terms with a factor of zero vanish, so that derivatives are as sparse as
they are on paper. A constant zero times anything, or divided by anything, is zero here, infinity
and NaN included: derivatives are full of such terms, and where they would be NaN the function
itself is not finite, which is looked at.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from accion.engines.algebra import Algebra
from accion.engines.arrays import Equation, ValueArray
from accion.engines.errors import Unsupported
from accion.engines.folding import COMPARE, OTHER, UNARY, folded, whole
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER, kind_of
from accion.engines.values import Region, Value


class Simplified(Algebra[Value]):
    """Methods return the value of an operation, simplified; what is left of it is a `value`.

    `vectors` is whether a program may call functions of vectors.
    """

    vectors = False

    def __init__(self) -> None:
        self.count = 0
        self.constants: dict[Any, Value] = {}
        self.outside = Region(None, "top")  # of constants
        self.top = self.current = Region(self.outside, "top")  # of what is not known

    # ------------------------------------------------------------------ values

    @abstractmethod
    def value(self, op: str, args: tuple[Value, ...], kind: str) -> Value:
        """An operation on values that are not all known."""

    @abstractmethod
    def call(self, later: Any, types: Sequence[Any], inputs: Sequence[Value]) -> list[Value]:
        """The entries of what the function `later` of arrays of these types gives."""

    def fresh(
        self,
        op: str,
        args: tuple[Any, ...],
        kind: str,
        region: Region,
        bounds: tuple[int, int] | None = None,
    ) -> Value:
        """A new value, which is not in its region yet."""
        self.count += 1
        return Value(op, args, kind, region, self.count, bounds)

    def constant(self, number: Any, kind: str) -> Value:
        """A number that is known, of this kind."""
        number = (
            float(number)
            if kind == FLOAT
            else bool(number)
            if kind == BOOLEAN
            else (int(number) + 2**63) % 2**64 - 2**63
        )
        # Zeros have signs, which are not seen by comparing them.
        key = (kind, number, number == 0 and kind == FLOAT and math.copysign(1.0, number))
        if key not in self.constants:
            bounds = (int(number), int(number)) if kind == INTEGER else None
            self.constants[key] = self.fresh("constant", (number,), kind, self.outside, bounds)
        return self.constants[key]

    # ------------------------------------------------------------------ arithmetic

    def unary(self, op: str, a: Value) -> Value:
        """An operation of `folding.UNARY`."""
        if a.is_constant:
            with np.errstate(all="ignore"):
                return self.constant(
                    UNARY[op](np.float64(a.args[0]) if a.kind == FLOAT else a.args[0]), a.kind
                )
        if op == "neg" and a.op == "neg":
            return a.args[0]
        if op == "abs" and a.op in ("abs", "sqrt", "exp"):
            return a
        if op == "abs" and a.op == "neg":
            return self.unary("abs", a.args[0])
        return self.value(op, (a,), a.kind)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """An operation of `folding.BINARY` on two values of one kind."""
        if a.kind == BOOLEAN:
            op = {"max": "or", "add": "or", "min": "and", "mul": "and"}.get(op, op)
        if a.is_constant and b.is_constant:
            return self.constant(folded(op, a.kind, a.args[0], b.args[0]), a.kind)
        if a.kind == BOOLEAN:
            found = self.simple_logic(op, a, b)
        elif op in ("and", "or", "xor"):
            found = None
        else:
            found = (
                self.simple_sum(op, a, b) if op in ("add", "sub") else self.simple_product(op, a, b)
            )
        return self.value(op, (a, b), a.kind) if found is None else found

    def fold(self, op: str, values: Sequence[Value]) -> Value:
        """The same of one value or more."""
        result = values[0]
        for v in values[1:]:
            result = self.binary(op, result, v)
        return result

    def simple_logic(self, op: str, a: Value, b: Value) -> Value | None:
        """An operation on truth values without computing it, None where it must be computed."""
        if a is b and op in ("and", "or"):
            return a
        for one, other in ((a, b), (b, a)):
            if one.is_constant and op in ("and", "or"):
                return other if one.args[0] == (op == "and") else one
        return None

    def simple_sum(self, op: str, a: Value, b: Value) -> Value | None:
        """A sum or difference, simplified; None where it is as simple as it can be."""

        def zero(x: Value) -> bool:
            return x.is_constant and x.args[0] == 0

        if zero(b):
            return a
        if zero(a):
            if op == "sub" and a.kind == FLOAT:
                # 0 - 0 is 0, and -0 is not, on which side of a cut a function is
                return self.value(op, (a, b), FLOAT)
            return b if op == "add" else self.unary("neg", b)
        if b.op == "neg":
            return self.binary("sub" if op == "add" else "add", a, b.args[0])
        if op == "add" and a.op == "neg":
            return self.binary("sub", b, a.args[0])
        if a.bounds and b.bounds:
            found = self.value(op, (a, b), INTEGER)
            (least, largest), (low, high) = a.bounds, b.bounds
            found.bounds = (
                (least + low, largest + high) if op == "add" else (least - high, largest - low)
            )
            return found
        return None

    def simple_product(self, op: str, a: Value, b: Value) -> Value | None:
        """Any other operation on numbers, simplified; None where it is as simple as it can be."""
        x, y = (v.args[0] if v.is_constant else None for v in (a, b))
        if op == "mul":
            if x == 0 or y == 0:
                return self.constant(0, a.kind)
            for number, other in ((x, b), (y, a)):
                if number == 1:
                    return other
                if number == -1:
                    return self.unary("neg", other)
            if a.op == "neg" and b.op == "neg":
                return self.binary("mul", a.args[0], b.args[0])
            if a.op == "neg":
                return self.unary("neg", self.binary("mul", a.args[0], b))
            if b.op == "neg":
                return self.unary("neg", self.binary("mul", a, b.args[0]))
        elif op == "div" and a.kind == FLOAT:
            if x == 0:
                return a
            if y == 1:
                return a
            if y is not None and math.frexp(y)[0] in (0.5, -0.5) and 1e-300 < abs(y) < 1e300:
                return self.binary("mul", a, self.constant(1 / y, FLOAT))  # exact
        elif op in ("max", "min"):
            if a is b:
                return a
            if a.bounds and b.bounds:
                found = self.value(op, (a, b), INTEGER)
                f = max if op == "max" else min
                found.bounds = f(a.bounds[0], b.bounds[0]), f(a.bounds[1], b.bounds[1])
                return found
        return None

    def other(self, op: str, args: Sequence[Value], kind: str) -> Value:
        """An operation of `folding.OTHER`, whose result is of this kind."""
        if all(a.is_constant for a in args):
            return self.constant(OTHER[op](*[a.args[0] for a in args]), kind)
        return self.value(op, tuple(args), kind)

    def compare(self, op: str, a: Value, b: Value) -> Value:
        """A comparison of `folding.COMPARE`: a truth value."""
        if a.is_constant and b.is_constant:
            return self.constant(COMPARE[op](a.args[0], b.args[0]), BOOLEAN)
        # False < True; the truth values of LLVM have a sign
        if a.kind == BOOLEAN and op not in ("eq", "ne"):
            a, b = (b, a) if op in ("gt", "ge") else (a, b)
            return self.binary("and" if op in ("lt", "gt") else "or", self.negation(a), b)
        if a.bounds and b.bounds:
            (least, largest), (low, high) = a.bounds, b.bounds
            below, above = largest < low, least > high
            if op in ("lt", "ge") and (below or least >= high):
                return self.constant(below == (op == "lt"), BOOLEAN)
            if op in ("gt", "le") and (above or largest <= low):
                return self.constant(above == (op == "gt"), BOOLEAN)
            if op in ("eq", "ne") and (above or below):
                return self.constant(op == "ne", BOOLEAN)
        return self.value(op, (a, b), BOOLEAN)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, else b."""
        if condition.is_constant:
            return a if condition.args[0] else b
        if a is b:
            return a
        if a.kind == BOOLEAN and a.is_constant and b.is_constant:
            return condition if a.args[0] else self.negation(condition)
        if condition.op == "not":
            return self.select(condition.args[0], b, a)
        found = self.value("select", (condition, a, b), a.kind)
        if a.bounds and b.bounds:
            found.bounds = min(a.bounds[0], b.bounds[0]), max(a.bounds[1], b.bounds[1])
        return found

    def negation(self, a: Value) -> Value:
        """Whether the truth value `a` does not hold."""
        if a.is_constant:
            return self.constant(not a.args[0], BOOLEAN)
        return a.args[0] if a.op == "not" else self.value("not", (a,), BOOLEAN)

    def convert(self, a: Value, kind: str) -> Value:
        """`a` as a number of this kind."""
        if a.kind == kind:
            return a
        if a.is_constant:
            return self.constant(whole(a.args[0]) if kind == INTEGER else a.args[0], kind)
        if kind == BOOLEAN:
            return self.compare("ne", a, self.constant(0, a.kind))
        found = self.value(f"{a.kind}_to_{kind}", (a,), kind)
        if a.kind == BOOLEAN and kind == INTEGER:
            found.bounds = 0, 1
        return found

    def narrow(self, a: Value) -> Value:
        """The integer `a` as one of 32 bits."""
        half = 2**31
        if a.is_constant:
            return self.constant((a.args[0] + half) % (2 * half) - half, INTEGER)
        if a.bounds and -half <= a.bounds[0] and a.bounds[1] < half:
            return a
        found = self.value("narrow", (a,), INTEGER)
        found.bounds = -half, half - 1
        return found

    def clamp(self, i: Value, low: int, high: int) -> Value:
        """The integer i, put between two numbers."""
        if i.bounds and i.bounds[0] >= low and i.bounds[1] <= high:
            return i
        found = self.binary(
            "min", self.binary("max", i, self.constant(low, INTEGER)), self.constant(high, INTEGER)
        )
        if not found.is_constant:
            least, largest = i.bounds or (low, high)
            found.bounds = min(max(low, least), high), max(min(high, largest), low)
        return found

    # ------------------------------------------------------------------ what is known

    def kind(self, dtype: Any) -> str:
        return kind_of(dtype)

    def bounds(self, i: Value) -> tuple[int, int] | None:
        return i.bounds

    def filler(self, dtype: Any) -> Value:
        kind = kind_of(dtype)
        least = np.iinfo(dtype).min if kind == INTEGER else True
        return self.constant(math.nan if kind == FLOAT else least, kind)

    def settled(self, equation: Equation, result: ValueArray) -> ValueArray:
        return result

    def unknown(self, equation: Equation, obstacle: Unsupported) -> NoReturn:
        raise obstacle
