"""Gaussian elimination with row pivoting as a program of its own, over the memory of one matrix
with its right-hand side.
"""

from collections.abc import Callable, Sequence

from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT, INTEGER
from accion.engines.values import Value


def elimination(n: int) -> Graph:
    """The graph that solves A x = b in place: buffer "A" holds n rows of n + 1 numbers, b last; x
    takes the place of b.
    """
    matrix = Matrix(n)
    zero, end = matrix.number(0), matrix.number(n)
    matrix.for_each(zero, end, lambda k: eliminate(matrix, k))
    matrix.for_each(zero, end, lambda i: substitute(matrix, i))
    return matrix.graph


class Matrix:
    """The memory of n rows of n + 1 numbers, and the program that works on it."""

    def __init__(self, n: int) -> None:
        self.n, self.graph = n, Graph()

    def number(self, i: int) -> Value:
        """An integer that is known."""
        return self.graph.constant(i, INTEGER)

    def slot(self, i: Value, j: Value) -> Value:
        """Where entry (i, j) stands."""
        g = self.graph
        return g.binary("add", g.binary("mul", i, self.number(self.n + 1)), j)

    def read(self, i: Value, j: Value) -> Value:
        """Entry (i, j)."""
        return self.graph.load("A", self.slot(i, j), FLOAT)

    def write(self, i: Value, j: Value, value: Value) -> None:
        """Put a number in the place of entry (i, j)."""
        self.graph.store("A", self.slot(i, j), value)

    def after(self, i: Value) -> Value:
        """i + 1."""
        return self.graph.binary("add", i, self.number(1))

    def fold(
        self,
        first: Value,
        end: Value,
        turn: Callable[[Value, list[Value]], list[Value]],
        carried: Sequence[Value],
    ) -> list[Value]:
        """carried = turn(i, carried) for i from `first` below `end`."""
        return self.graph.loop(
            [first, *carried],
            lambda v: self.graph.compare("lt", v[0], end),
            lambda v: [self.after(v[0]), *turn(v[0], v[1:])],
        )[1:]

    def for_each(self, first: Value, end: Value, turn: Callable[[Value], None]) -> None:
        """turn(i) for i from `first` below `end`."""

        def without_result(i: Value, _: list[Value]) -> list[Value]:
            turn(i)
            return []

        self.fold(first, end, without_result, ())

    def where(self, condition: Value, turn: Callable[[], None]) -> None:
        """turn() if the condition holds."""

        def nothing() -> list[Value]:
            return []

        def something() -> list[Value]:
            turn()
            return []

        self.graph.branch(self.graph.convert(condition, INTEGER), [nothing, something])


def eliminate(matrix: Matrix, k: Value) -> None:
    """Make column k zero below the diagonal, with the largest number of it as the pivot."""
    g, read, write = matrix.graph, matrix.read, matrix.write
    below, end, width = matrix.after(k), matrix.number(matrix.n), matrix.number(matrix.n + 1)

    def better(i: Value, best: list[Value]) -> list[Value]:
        size = g.unary("abs", read(i, k))
        larger = g.compare("gt", size, best[0])
        return [g.select(larger, size, best[0]), g.select(larger, i, best[1])]

    pivot = matrix.fold(below, end, better, [g.unary("abs", read(k, k)), k])[1]

    def exchange(j: Value) -> None:
        upper, lower = read(k, j), read(pivot, j)
        write(pivot, j, upper)
        write(k, j, lower)

    matrix.where(g.compare("ne", pivot, k), lambda: matrix.for_each(k, width, exchange))
    diagonal = read(k, k)

    def reduce_row(i: Value) -> None:
        entry = read(i, k)

        def reduce() -> None:
            factor = g.binary("div", entry, diagonal)

            def subtract(j: Value) -> None:
                write(i, j, g.binary("sub", read(i, j), g.binary("mul", factor, read(k, j))))

            matrix.for_each(below, width, subtract)

        # Matrices of constraints are mostly zeros, and stay so.
        matrix.where(g.compare("ne", entry, g.constant(0.0, FLOAT)), reduce)

    matrix.for_each(below, end, reduce_row)


def substitute(matrix: Matrix, i: Value) -> None:
    """The unknown that is i before the last, from those after it."""
    g, read, end = matrix.graph, matrix.read, matrix.number(matrix.n)
    k = g.binary("sub", matrix.number(matrix.n - 1), i)

    def known(j: Value, left: list[Value]) -> list[Value]:
        return [g.binary("sub", left[0], g.binary("mul", read(k, j), read(j, end)))]

    (left,) = matrix.fold(matrix.after(k), end, known, [read(k, end)])
    matrix.write(k, end, g.binary("div", left, read(k, k)))
