"""The systems of the gallery on groups as textbooks print them, in vectors: Euler's, Kirchhoff's
and Newton's equations.
"""

from dataclasses import dataclass
from typing import Any

import sympy as sp

T = sp.Symbol("t")


@dataclass(frozen=True)
class Page:
    """Expressions that are zero on a motion, in functions of time."""

    rows: list[Any]

    def equations(self):
        return self.rows


def vector(*names):
    return sp.Matrix([sp.Function(name)(T) for name in names])


def numbers(letter):
    return sp.symbols(f"{letter}_1:4")


OMEGA, V = vector("omega_1", "omega_2", "omega_3"), vector("v_1", "v_2", "v_3")
R = sp.Matrix(3, 3, lambda i, j: sp.Function(f"R_{i + 1}{j + 1}")(T))
UP = sp.Matrix([0, 0, 1])


def rigid(I, torque):
    """I omega' + omega x I omega - torque."""
    L = I * OMEGA
    return list(L.diff(T) + OMEGA.cross(L) - torque)


def free_top():
    return Page(rigid(sp.diag(*numbers("I")), sp.zeros(3, 1)))


def damped_top():
    kappa = sp.Symbol("kappa")
    I = sp.diag(*numbers("I"))
    return Page([sp.exp(-kappa * T) * row for row in rigid(I, kappa * I * OMEGA)])


def heavy_top():
    """The torque of the weight at l e2, in the body."""
    m, g, l = sp.symbols("m g l")
    return Page(rigid(sp.diag(*numbers("I")), sp.Matrix([0, l, 0]).cross(R.T * (-m * g * UP))))


def heavy_top_se3():
    """The force of the pivot acts at -X from the centre of mass, R^T lambda in the body."""
    m, g = sp.symbols("m g")
    X = sp.Matrix(numbers("X"))
    f = R.T * vector("lambda_1", "lambda_2", "lambda_3")
    linear = m * (V.diff(T) + OMEGA.cross(V)) + m * g * R.T * UP - f
    return Page(rigid(sp.diag(*numbers("J")), -X.cross(f)) + list(linear))


def satellite():
    """The torque 3 n^2 c x I c of the gravity gradient, c the direction of the Earth in the
    body.
    """
    n = sp.Symbol("n")
    I = sp.diag(*numbers("I"))
    c = R.T * sp.Matrix([sp.cos(n * T), sp.sin(n * T), 0])
    return Page(rigid(I, 3 * n**2 * c.cross(I * c)))


def underwater():
    """Pi' = Pi x omega + P x v, P' = P x omega."""
    Pi, P = sp.diag(*numbers("J")) * OMEGA, sp.diag(*numbers("M")) * V
    return Page([*(Pi.diff(T) - Pi.cross(OMEGA) - P.cross(V)), *(P.diff(T) - P.cross(OMEGA))])


def quadrotor():
    """Newton's equations of load and drone with the tension along the rod, Euler's of the drone
    under its controller.
    """
    m, M, g, kx, kv, kr, kw = sp.symbols("load drone g kx kv kr kw")
    x, y, lam = vector("x1", "y1", "z1"), vector("x2", "y2", "z2"), sp.Function("lambda")(T)
    wanted = (m + M) * g * UP - kx * y - kv * y.diff(T)
    b = R.T * wanted
    size = sp.sqrt(b.dot(b))
    load = m * (x.diff(T, 2) + g * UP) - lam * (x - y)
    drone = M * (y.diff(T, 2) + g * UP) + lam * (x - y) - b[2] * R * UP
    return Page(
        [*load, *drone, *rigid(sp.diag(*numbers("I")), kr * UP.cross(b) / size - kw * OMEGA)]
    )


def rolling_disk_se2():
    m, I, J, radius = sp.symbols("m I J R")
    omega, v1, v2, psi = (sp.Function(name)(T) for name in ("omega", "v_1", "v_2", "psi"))
    lam1, lam2 = vector("lambda_1", "lambda_2")
    return Page(
        [
            J * omega.diff(T),
            m * (v1.diff(T) - omega * v2) - lam1,
            m * (v2.diff(T) + omega * v1) - lam2,
            I * psi.diff(T, 2) + radius * lam1,
        ]
    )


GROUP_PAGES = {
    "damped_top": damped_top,
    "free_top": free_top,
    "heavy_top": heavy_top,
    "heavy_top_se3": heavy_top_se3,
    "quadrotor": quadrotor,
    "rolling_disk_se2": rolling_disk_se2,
    "satellite": satellite,
    "underwater": underwater,
}
