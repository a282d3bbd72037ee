"""The systems of the gallery that are controlled, as textbooks print them, with their controls:
typed from paper with SymPy.
"""

import sympy as sp

from tests.textbook.groups import Page, numbers, rigid
from tests.textbook.mechanics import Textbook

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


def skate_parking():
    """A force along the blade and a torque; no velocity across the blade."""
    m, J, drive, turn = sp.symbols("m J drive turn")
    x, y, phi = functions("x", "y", "phi")
    L = m * squared_speed((x, y)) / 2 + J * phi.diff(T) ** 2 / 2
    across = x.diff(T) * sp.sin(phi) - y.diff(T) * sp.cos(phi)
    return Textbook(
        T, (x, y, phi), L, (drive * sp.cos(phi), drive * sp.sin(phi), turn), nonholonomic=(across,)
    )


def satellite_attitude():
    return Page(rigid(sp.diag(*numbers("I")), sp.Matrix(sp.symbols("u1:4"))))


def two_links():
    """(angles, kinetic energy, centres of mass): theta1 from the vertical downwards, theta2 of the
    second link against the first.
    """
    m1, m2, l1, c1, c2, I1, I2 = sp.symbols("m1 m2 l1 c1 c2 I1 I2")
    theta1, theta2 = functions("theta1", "theta2")

    def down(angle):
        return (sp.sin(angle), -sp.cos(angle))

    first = tuple(c1 * x for x in down(theta1))
    second = tuple(
        l1 * x + c2 * y for x, y in zip(down(theta1), down(theta1 + theta2), strict=True)
    )
    turning = (I1 * theta1.diff(T) ** 2 + I2 * (theta1 + theta2).diff(T) ** 2) / 2
    return (
        (theta1, theta2),
        turning + (m1 * squared_speed(first) + m2 * squared_speed(second)) / 2,
        m1 * first[1] + m2 * second[1],
    )


def two_link_arm():
    q, kinetic, _ = two_links()
    return Textbook(T, q, kinetic, sp.symbols("u1 u2"))


def acrobot():
    q, kinetic, height = two_links()
    return Textbook(T, q, kinetic - sp.Symbol("g") * height, (0, sp.Symbol("u")))


CONTROLLED_PAGES = {
    "block_move": block_move,
    "cart_pole": cart_pole,
    "cart_pole_held": cart_pole,
    "kelly_cart_pole": cart_pole,
    "skate_parking": skate_parking,
    "satellite_attitude": satellite_attitude,
    "two_link_arm": two_link_arm,
    "acrobot": acrobot,
}
