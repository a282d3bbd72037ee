"""Gaussian elimination with row pivoting as a program of its own, over the memory of one matrix
with its right-hand side.
"""

from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT, INTEGER


def elimination(n):
    """The graph that solves A x = b in place: buffer "A" holds n rows of n + 1 numbers, b last; x
    takes the place of b.
    """
    g = Graph()

    def number(i):
        return g.constant(i, INTEGER)

    def slot(i, j):
        return g.binary("add", g.binary("mul", i, number(n + 1)), j)

    def read(i, j):
        return g.load("A", slot(i, j), FLOAT)

    def write(i, j, value):
        g.store("A", slot(i, j), value)

    def count(first, end, turn, carried=()):
        """carried = turn(i, carried) for i from `first` below `end`."""
        return g.loop(
            [first, *carried],
            lambda v: g.compare("lt", v[0], end),
            lambda v: [g.binary("add", v[0], number(1)), *turn(v[0], v[1:])],
        )[1:]

    end = number(n)

    def eliminate(k, _):
        below = g.binary("add", k, number(1))

        def look(i, best):
            size = g.unary("abs", read(i, k))
            larger = g.compare("gt", size, best[0])
            return [g.select(larger, size, best[0]), g.select(larger, i, best[1])]

        _, pivot = count(below, end, look, [g.unary("abs", read(k, k)), k])

        def exchange(j, _):
            upper, lower = read(k, j), read(pivot, j)
            write(pivot, j, upper)
            write(k, j, lower)
            return []

        count(k, number(n + 1), exchange)
        diagonal = read(k, k)

        def reduce_row(i, _):
            factor = g.binary("div", read(i, k), diagonal)

            def subtract(j, _):
                write(i, j, g.binary("sub", read(i, j), g.binary("mul", factor, read(k, j))))
                return []

            count(below, number(n + 1), subtract)
            return []

        count(below, end, reduce_row)
        return []

    def substitute(i, _):
        k = g.binary("sub", number(n - 1), i)

        def known(j, sum):
            return [g.binary("sub", sum[0], g.binary("mul", read(k, j), read(j, end)))]

        (left,) = count(g.binary("add", k, number(1)), end, known, [read(k, end)])
        write(k, end, g.binary("div", left, read(k, k)))
        return []

    count(number(0), end, eliminate)
    count(number(0), end, substitute)
    return g
