"""Systems and motions that several files of tests share."""

import sympy as sp

from tests.errata.forms import symbols

sin, cos = sp.sin, sp.cos


x, th, xd, thd, xdd, thdd, jerk, snap = STATE = symbols("x theta x' theta' x'' theta'' x''' x''''")


m_c, m, R, g, height = symbols("m_c m R g H")


FORCE = (m_c + m) * xdd - m * R * sin(th) * thd**2 + m * R * cos(th) * thdd


PHI = m * R * xdd * cos(th) + m * R**2 * thdd - m * g * R * sin(th)


NODES = symbols("x_0 x_1 x_2"), symbols("theta_0 theta_1 theta_2")


def bracket():
    x0, x1, x2 = NODES[0]
    th0, th1, th2 = NODES[1]
    return 2 * x1 - x0 - x2, cos((th0 + th1) / 2) * (th1 - th0) - cos((th1 + th2) / 2) * (th2 - th1)
