"""The systems of the gallery with gases, heat and several bodies, typed from paper: Newton's
equation, and T S' = heat + friction of each body.
"""

import sympy as sp

from tests.textbook.groups import Page

t = sp.Symbol("t")
x, v, a = (sp.Function("x")(t).diff(t, i) for i in range(3))


def entropies(*names):
    """[(S, S')]."""
    S = [sp.Function(name)(t) for name in names]
    return [(s, s.diff(t)) for s in S]


def gas(U0, S, NR, V, V0):
    """(T, P) of a gas with U = U0 e^(2 S / (3 N R)) (V / V0)^(-2/3) (Bonich, C.9, corrected), U =
    3/2 N R T and P V = N R T.
    """
    U = U0 * sp.exp(2 * S / (3 * NR)) * (V / V0) ** sp.Rational(-2, 3)
    return 2 * U / (3 * NR), 2 * U / (3 * V)


def piston_spring():
    """Bonich, eq (4.10) and (4.11), with a constant entropy."""
    m, k, A, x0, NR, U0, V0, S0 = sp.symbols("m k A x0 NR U_0 V0 S_0")
    ((S, dS),) = entropies("S")
    T, P = gas(U0, S - S0, NR, A * (x0 - x), V0)
    return Page([m * a - k * (x0 - x) + P * A, T * dS])


def adiabatic_piston():
    m, A, l, N1, N2, R, T0, V0, mu, share, G = sp.symbols("m A l N1 N2 R T_0 V0 mu share G")
    (S1, dS1), (S2, dS2) = entropies("S_1", "S_2")
    c = sp.Rational(3, 2)
    T1, P1 = gas(c * N1 * R * T0, S1, N1 * R, A * x, V0)
    T2, P2 = gas(c * N2 * R * T0, S2, N2 * R, A * (l - x), V0)
    motion = m * a - (P1 - P2) * A + mu * v
    return Page(
        [
            motion,
            T1 * dS1 - share * mu * v**2 - G * (T2 - T1),
            T2 * dS2 - (1 - share) * mu * v**2 - G * (T1 - T2),
        ]
    )


def two_bodies():
    m, k, mu, share, C1, C2, T0, G = sp.symbols("m k mu share C1 C2 T_0 G")
    (S1, dS1), (S2, dS2) = entropies("S_1", "S_2")
    T1, T2 = T0 * sp.exp(S1 / C1), T0 * sp.exp(S2 / C2)
    return Page(
        [
            m * a + mu * v + k * x,
            T1 * dS1 - share * mu * v**2 - G * (T2 - T1),
            T2 * dS2 - (1 - share) * mu * v**2 - G * (T1 - T2),
        ]
    )


def bath_oscillator():
    m, k, mu, A, omega, C, T0, T_bath, G = sp.symbols("m k mu A omega C T_0 T_bath G")
    ((S, dS),) = entropies("S")
    T = T0 * sp.exp(S / C)
    return Page(
        [m * a + mu * v + k * x - A * sp.cos(omega * t), T * dS - mu * v**2 - G * (T_bath - T)]
    )


HEAT_PAGES = {
    "piston_spring": piston_spring,
    "adiabatic_piston": adiabatic_piston,
    "two_bodies": two_bodies,
    "bath_oscillator": bath_oscillator,
}
