"""The systems of the gallery that are controlled, as textbooks print them, with their controls: typed from paper with SymPy."""

import sympy as sp

from tests.textbook import Textbook

T = sp.Symbol("t")


def functions(*names):
    return tuple(sp.Function(name)(T) for name in names)


def squared_speed(place):
    return sum(c.diff(T) ** 2 for c in place)


def block_move():
    m, u = sp.symbols("m u")
    (x,) = functions("x")
    return Textbook(T, (x,), m * x.diff(T) ** 2 / 2, (u,))


def cart_pole():
    """The kinetic energy of the cart and of the mass at the tip, (x + l sin theta, l cos theta)."""
    M, m, l, g, u = sp.symbols("M m l g u")
    x, theta = functions("x", "theta")
    tip = (x + l * sp.sin(theta), l * sp.cos(theta))
    L = M * x.diff(T) ** 2 / 2 + m * squared_speed(tip) / 2 - m * g * tip[1]
    return Textbook(T, (x, theta), L, (u, 0))


CONTROLLED_PAGES = {"block_move": block_move, "cart_pole": cart_pole, "kelly_cart_pole": cart_pole}
