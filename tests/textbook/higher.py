"""Motions of higher order as textbooks print them, computed without accion."""

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from tests.textbook.groups import Page

T = sp.Symbol("t")


def splines():
    """A spline in tension: its fourth derivative is s^2 times the second."""
    s = sp.Symbol("s")
    return Page(
        [q.diff(T, 4) - s**2 * q.diff(T, 2) for q in (sp.Function("x")(T), sp.Function("y")(T))]
    )


def elastica():
    """A rod: the force B q''' + lambda' q' along it does not change, nor does |q'|."""
    B, lam = sp.Symbol("B"), sp.Function("lam")(T)
    q = (sp.Function("x")(T), sp.Function("y")(T))
    return Page(
        [
            *((B * x.diff(T, 3) + lam.diff(T) * x.diff(T)).diff(T) for x in q),
            sp.Add(*(x.diff(T) * x.diff(T, 2) for x in q)),
        ]
    )


HIGHER_PAGES = {"elastica": elastica, "splines": splines}


def cubic(t, q, v, a, j):
    """The cubic with these derivatives at 0: L = 1/2 |a|^2 has q'''' = 0."""
    t = np.asarray(t)[..., None]
    return q + v * t + a * t**2 / 2 + j * t**3 / 6


def tension(t, s, start):
    """The spline in tension, q'''' = s^2 q'', with derivatives `start` = (q, v, a, j) at 0: a line
    plus cosh(s t) and sinh(s t).
    """
    q, v, a, j = (np.asarray(x, dtype=float) for x in start)
    t = np.asarray(t)[..., None]
    return q - a / s**2 + (v - j / s**2) * t + a / s**2 * np.cosh(s * t) + j / s**3 * np.sinh(s * t)


def oscillations(t, w1, w2):
    """cos(w1 t) + sin(w2 t) / w2 and its first three derivatives: Pais and Uhlenbeck's oscillator,
    q'''' + (w1^2 + w2^2) q'' + w1^2 w2^2 q = 0.
    """
    c, s = np.cos, np.sin
    return np.array([
        c(w1 * t) + s(w2 * t) / w2,
        -w1 * s(w1 * t) + c(w2 * t),
        -(w1**2) * c(w1 * t) - w2 * s(w2 * t),
        w1**3 * s(w1 * t) - w2**2 * c(w2 * t),
    ])  # fmt: skip


def riemannian_cubic(jets, times):
    """Rotations R(t), R(0) = 1, R' = R hat(w), of the Riemannian cubic with w''' = w'' x w (Noakes,
    Heinzinger and Paden 1989).
    """

    def rates(t, y):
        w, _, ddw, R = y[:3], y[3:6], y[6:9], y[9:].reshape(3, 3)
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([y[3:9], np.cross(ddw, w), (R @ hat).ravel()])

    start = np.concatenate([np.ravel(jets), np.eye(3).ravel()])
    found = solve_ivp(
        rates, (0, times[-1]), start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times
    ).y.T
    return found[:, 9:].reshape(-1, 3, 3), found[:, :9].reshape(-1, 3, 3)


def ostrogradsky(L, q, order):
    """(equations, momenta, energy) of L, an expression in functions of time q and their
    derivatives, by the definitions.
    """
    jets = [[x.diff(T, k) if k else x for x in q] for k in range(order + 1)]

    def slope(k, i):
        return L.diff(jets[k][i])

    equations = [
        sum((-1) ** k * slope(k, i).diff(T, k) for k in range(order + 1)) for i in range(len(q))
    ]
    momenta = [
        [
            sum((-1) ** k * slope(s + 1 + k, i).diff(T, k) for k in range(order - s))
            for i in range(len(q))
        ]
        for s in range(order)
    ]
    energy = sum(momenta[s][i] * jets[s + 1][i] for s in range(order) for i in range(len(q))) - L
    return equations, momenta, energy


def at(expr, q, values):
    """The number that `expr` is where the k-th derivative of q[i] is values[k][i], and t = 0.4."""
    pairs = [
        (x.diff(T, k) if k else x, float(values[k][i]))
        for k in reversed(range(len(values)))
        for i, x in enumerate(q)
    ]
    return float(sp.sympify(expr).doit().subs(pairs).subs(T, 0.4))
