"""The operations of a graph under short names, for functions that are written as formulas."""

from collections.abc import Sequence

from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT, INTEGER
from accion.engines.values import Value

# Adding it to a number of size below 2^51 leaves the nearest integer in the last bits.
ROUNDER = 1.5 * 2.0**52
ROUNDER_BITS = 0x4338 << 48
ONE_BITS = 1023 << 52
SIGN = -(2**63)


class Arithmetic:
    """The operations of a graph; floats and integers may stand for constants.

    Products that are added are `fma` by name: what is left to a compiler is not the same
    everywhere.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def number(self, x: Value | float) -> Value:
        return x if isinstance(x, Value) else self.graph.constant(x, FLOAT)

    def integer(self, i: Value | int) -> Value:
        return i if isinstance(i, Value) else self.graph.constant(i, INTEGER)

    def add(self, a: Value | float, b: Value | float) -> Value:
        return self.graph.binary("add", self.number(a), self.number(b))

    def sub(self, a: Value | float, b: Value | float) -> Value:
        return self.graph.binary("sub", self.number(a), self.number(b))

    def mul(self, a: Value | float, b: Value | float) -> Value:
        return self.graph.binary("mul", self.number(a), self.number(b))

    def div(self, a: Value | float, b: Value | float) -> Value:
        return self.graph.binary("div", self.number(a), self.number(b))

    def fma(self, a: Value | float, b: Value | float, c: Value | float) -> Value:
        """a b + c, rounded once."""
        return self.graph.other("fma", [self.number(x) for x in (a, b, c)], FLOAT)

    def neg(self, a: Value) -> Value:
        return self.graph.unary("neg", a)

    def size(self, a: Value) -> Value:
        """|a|"""
        return self.graph.unary("abs", a)

    def bits(self, a: Value) -> Value:
        """The integer of the same 64 bits."""
        return self.graph.other("bits_of", [a], INTEGER)

    def from_bits(self, i: Value) -> Value:
        """The float of the same 64 bits."""
        return self.graph.other("number_of", [i], FLOAT)

    def whole(self, op: str, a: Value | int, b: Value | int) -> Value:
        """An operation on integers."""
        a, b = self.integer(a), self.integer(b)
        if op in ("left", "right"):
            return self.graph.other(op, [a, b], INTEGER)
        return self.graph.binary(op, a, b)

    def choose(
        self, op: str, a: Value, b: Value | float, yes: Value | float, no: Value | float
    ) -> Value:
        """`yes` where the comparison holds, else `no`.

        A test that two choices share is a jump in the code of one number; so they differ.
        """
        test = self.graph.compare(op, a, self.number(b))
        return self.graph.select(test, self.number(yes), self.number(no))

    def flipped(self, x: Value, sign: Value) -> Value:
        """x, times -1 where the first bit of the integer `sign` is set."""
        return self.from_bits(self.whole("xor", self.bits(x), self.whole("and", sign, SIGN)))

    def rounded_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """(a + b, what its rounding took) for |a| >= |b| (Dekker)."""
        total = self.add(a, b)
        return total, self.sub(b, self.sub(total, a))

    def rounded_sum_of_any(self, a: Value, b: Value | float) -> tuple[Value, Value]:
        """The same, whichever is larger (Knuth)."""
        b = self.number(b)
        total = self.add(a, b)
        second = self.sub(total, a)
        first = self.sub(total, second)
        return total, self.add(self.sub(a, first), self.sub(b, second))

    def quotient(
        self, a: tuple[Value, Value], b: tuple[Value, Value]
    ) -> tuple[Value, Value, Value]:
        """(q, left, scale): a / b = q + left * scale, of numbers in two parts."""
        scale = self.div(1.0, b[0])
        q = self.mul(a[0], scale)
        left = self.fma(self.neg(q), b[0], a[0])
        return q, self.add(left, self.fma(self.neg(q), b[1], a[1])), scale

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial with these coefficients, constant first; pairs of terms side by side, so
        that no term waits for all the others (Estrin).
        """
        terms: list[Value | float] = list(coefficients)
        while len(terms) > 1:
            terms = [
                self.fma(terms[i + 1], x, terms[i]) if i + 1 < len(terms) else terms[i]
                for i in range(0, len(terms), 2)
            ]
            x = self.mul(x, x)
        return self.number(terms[0])
