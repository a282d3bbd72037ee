"""Romero, analytical mechanics."""

import numpy as np
import sympy as sp

import accion as ac
from accion.gallery import atwood, double_pendulum, slotted_disk, two_masses
from tests.errata.forms import derivative, differ, function, integral, same, side, symbols, t

sin, cos = sp.sin, sp.cos
g, m, lam = symbols("gravity m lambda")


def test_003_eq_27a_gravity_along_the_slot():
    """+ m g sin(alpha); printed with -."""
    l, alpha = function("l"), function("alpha")
    found = side(ac.symbolic(slotted_disk.system).equations[0])

    def formula(sign):
        return (m * l.diff(t)).diff(t) - m * l * alpha.diff(t) ** 2 + sign * m * g * sin(alpha)

    assert same(found, formula(1))
    assert differ(found, formula(-1))


def test_003_eq_27b_gravity_about_the_axis():
    """+ m g l cos(alpha); printed with -."""
    l, alpha, I = function("l"), function("alpha"), symbols("I")
    found = side(ac.symbolic(slotted_disk.system).equations[1])

    def formula(sign):
        return (m * l**2 * alpha.diff(t) + I * alpha.diff(t)).diff(t) + sign * m * g * l * cos(
            alpha
        )

    assert same(found, formula(1))
    assert differ(found, formula(-1))


def letters():
    return (*symbols("a b ma mb"), function("alpha"), function("beta"))


def test_003_eq_30_potential_of_the_double_pendulum():
    """V = -g ((ma + mb) a cos(alpha) + mb b cos(beta)), j upwards; what is printed is -V."""
    a, b, ma, mb, alpha, beta = letters()
    equations = ac.symbolic(double_pendulum.system)
    V = equations.energy.xreplace(dict.fromkeys(equations.v, sp.Integer(0)))
    heights = (-a * cos(alpha), -a * cos(alpha) - b * cos(beta))
    printed = a * g * ma * cos(alpha) - g * mb * (-a * cos(alpha) - b * cos(beta))
    assert same(V, ma * g * heights[0] + mb * g * heights[1])
    assert differ(V, printed)
    assert same(V, -printed)


def test_003_eq_31_gravity_of_the_double_pendulum():
    """+ g sin in both equations; printed with -."""
    a, b, ma, mb, alpha, beta = letters()
    found = [side(equation) for equation in ac.symbolic(double_pendulum.system).equations]
    da, db, dda, ddb = alpha.diff(t), beta.diff(t), alpha.diff(t, 2), beta.diff(t, 2)

    def eq_31(sign):
        turn = ddb * cos(alpha - beta) + db**2 * sin(alpha - beta)
        first = a * (a * (ma + mb) * dda + b * mb * turn + sign * g * sin(alpha) * (ma + mb))
        second = (
            b
            * mb
            * (
                a * dda * cos(alpha - beta)
                - a * da**2 * sin(alpha - beta)
                + b * ddb
                + sign * g * sin(beta)
            )
        )
        return first, second

    for left, right, printed in zip(found, eq_31(1), eq_31(-1), strict=True):
        assert same(left, right)
        assert differ(left, printed)


def test_003_eq_33_gravity_on_the_pulley():
    """+ (mB - mA) g; printed with -."""
    x, mA, mB, I, r = function("x"), *symbols("mA mB I r")
    found = side(ac.symbolic(atwood.system).equations[0])

    def formula(sign):
        return (mA + mB + I / r**2) * x.diff(t, 2) + sign * (mB - mA) * g

    assert same(found, formula(1))
    assert differ(found, formula(-1))


def test_003_eq_47_sign_of_the_multiplier():
    """The action (46) with L - lam phi gives + lam dphi/dq; (47), as (49) and (52), belong to L +
    lam phi, which is accion's convention.
    """
    x, y, multiplier = (function(name) for name in ("x", "y", "lambda"))
    L, phi = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y, x**2 + x * y - 1
    params = {"m": 1.0, "gravity": 9.81}

    def stationary(action):
        return ac.symbolic(ac.from_sympy(action, (x, y, multiplier), params)).euler_lagrange

    for i, q in enumerate((x, y)):
        free = derivative(L, q.diff(t)).diff(t) - derivative(L, q)
        eq_47 = free - multiplier * derivative(phi, q)
        assert differ(stationary(L - multiplier * phi)[i], eq_47)
        assert same(stationary(L - multiplier * phi)[i], free + multiplier * derivative(phi, q))
        assert same(stationary(L + multiplier * phi)[i], eq_47)
        constrained = ac.symbolic(ac.from_sympy(L, (x, y), params, holonomic=(phi,)))
        assert same(side(constrained.equations[i]), eq_47)


def test_003_ex_5_1_heights_give_a_positive_potential():
    """V = + m g (q1 + q2) for heights, q'' = -g; the V printed in (50) makes the masses fall
    upwards. lam = 0 either way.
    """
    q1, q2 = function("q1"), function("q2")
    equations = ac.symbolic(two_masses.system)
    assert same(
        equations.energy.xreplace(dict.fromkeys(equations.v, sp.Integer(0))), m * g * (q1 + q2)
    )
    assert equations.accelerations == (-g, -g)
    assert equations.multipliers == (0,)
    T, phi = m * (q1.diff(t) ** 2 + q2.diff(t) ** 2) / 2, q1 - q2 - symbols("ell")
    printed = ac.from_sympy(
        T + m * g * (q1 + q2), (q1, q2), {"m": 1.0, "gravity": 9.81, "ell": 1.0}, holonomic=(phi,)
    )
    assert ac.symbolic(printed).accelerations == (g, g)
    assert ac.symbolic(printed).multipliers == (0,)


def test_003_eq_45_ends_are_those_of_q(pendulum):
    """q(0) = a, q(T) = b, as (40) says, and dq = 0 at both ends; printed dq(0) = a, dq(T) = b."""
    a, b, T = 0.2, 0.5, 0.3
    q = np.asarray(ac.connect(pendulum, ac.Midpoint(), qa=[a], qb=[b], duration=T, steps=6).q)[:, 0]
    np.testing.assert_allclose([q[0], q[-1]], [a, b], atol=1e-14)
    d = ac.discrete(pendulum, ac.Midpoint())

    def action(q):
        return sum(float(d.Ld(0.0, T / 6, q[k : k + 1], q[k + 1 : k + 2])) for k in range(6))

    def rate(dq):
        return (action(q + 1e-5 * dq) - action(q - 1e-5 * dq)) / 2e-5

    times = np.linspace(0, 1, 7)
    assert abs(rate(np.sin(np.pi * times))) < 1e-9
    assert abs(rate(a + (b - a) * times)) > 0.1


def test_003_eq_43_boundary_term_is_taken_at_the_times():
    """[dL/dq' dq] from t = 0 to T; printed from a to b, which are values of q."""
    q = function("q")
    equations = ac.symbolic(ac.from_sympy(q.diff(t) ** 2 / 2 - q**3 / 3, (q,)))
    curve, variation, T = t**2 + 3, t**3 - 2 * t + 1, 2

    def on(expr):
        return sp.sympify(expr).subs(q, curve).doit()

    L_q, p = on(derivative(equations.L, q)), on(equations.momenta[0])
    change = integral(L_q * variation + p * variation.diff(t), 0, T)
    inside = integral(-on(equations.euler_lagrange[0]) * variation, 0, T)

    def boundary(start, end):
        return (p * variation).subs(t, end) - (p * variation).subs(t, start)

    assert change == inside + boundary(0, T)
    assert change != inside + boundary(curve.subs(t, 0), curve.subs(t, T))
