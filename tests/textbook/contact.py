"""Contact systems as textbooks print them, computed without accion."""

import numpy as np
import sympy as sp

from tests.textbook.groups import Page

T = sp.Symbol("t")


def herglotz_oscillator():
    """The damped oscillator, and the rate of its action."""
    gamma, omega = sp.symbols("gamma omega")
    q, z = sp.Function("q")(T), sp.Function("z")(T)
    L = (q.diff(T) ** 2 - omega**2 * q**2) / 2 - gamma * z
    return Page([q.diff(T, 2) + gamma * q.diff(T) + omega**2 * q, z.diff(T) - L])


CONTACT_PAGES = {"herglotz_oscillator": herglotz_oscillator}


def damped(t, gamma, omega, q0, v0, z0):
    """(q, v, z) of the damped oscillator q'' + gamma q' + omega^2 q = 0 at the times t.

    The action is that of a quadratic Lagrangian: e^(gamma t) z - z0 = [e^(gamma s) q v / 2] from 0
    to t.
    """
    w = np.sqrt(omega**2 - gamma**2 / 4)
    b = (v0 + gamma * q0 / 2) / w
    c, s, fade = np.cos(w * t), np.sin(w * t), np.exp(-gamma * t / 2)
    q = fade * (q0 * c + b * s)
    v = fade * (w * (b * c - q0 * s)) - gamma / 2 * q
    return q, v, fade**2 * (z0 - q0 * v0 / 2) + q * v / 2
