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
    g = Graph()

    def number(i: int) -> Value:
        return g.constant(i, INTEGER)

    def slot(i: Value, j: Value) -> Value:
        return g.binary("add", g.binary("mul", i, number(n + 1)), j)

    def read(i: Value, j: Value) -> Value:
        return g.load("A", slot(i, j), FLOAT)

    def write(i: Value, j: Value, value: Value) -> None:
        g.store("A", slot(i, j), value)

    def count(
        first: Value,
        end: Value,
        turn: Callable[[Value, list[Value]], list[Value]],
        carried: Sequence[Value] = (),
    ) -> list[Value]:
        """carried = turn(i, carried) for i from `first` below `end`."""
        return g.loop(
            [first, *carried],
            lambda v: g.compare("lt", v[0], end),
            lambda v: [g.binary("add", v[0], number(1)), *turn(v[0], v[1:])],
        )[1:]

    end = number(n)

    def eliminate(k: Value, _: list[Value]) -> list[Value]:
        below = g.binary("add", k, number(1))

        def better(i: Value, best: list[Value]) -> list[Value]:
            size = g.unary("abs", read(i, k))
            larger = g.compare("gt", size, best[0])
            return [g.select(larger, size, best[0]), g.select(larger, i, best[1])]

        pivot = count(below, end, better, [g.unary("abs", read(k, k)), k])[1]

        def exchange(j: Value, _: list[Value]) -> list[Value]:
            upper, lower = read(k, j), read(pivot, j)
            write(pivot, j, upper)
            write(k, j, lower)
            return []

        count(k, number(n + 1), exchange)
        diagonal = read(k, k)

        def reduce_row(i: Value, _: list[Value]) -> list[Value]:
            factor = g.binary("div", read(i, k), diagonal)

            def subtract(j: Value, _: list[Value]) -> list[Value]:
                write(i, j, g.binary("sub", read(i, j), g.binary("mul", factor, read(k, j))))
                return []

            count(below, number(n + 1), subtract)
            return []

        count(below, end, reduce_row)
        return []

    def substitute(i: Value, _: list[Value]) -> list[Value]:
        k = g.binary("sub", number(n - 1), i)

        def known(j: Value, sum: list[Value]) -> list[Value]:
            return [g.binary("sub", sum[0], g.binary("mul", read(k, j), read(j, end)))]

        (left,) = count(g.binary("add", k, number(1)), end, known, [read(k, end)])
        write(k, end, g.binary("div", left, read(k, k)))
        return []

    count(number(0), end, eliminate)
    count(number(0), end, substitute)
    return g
