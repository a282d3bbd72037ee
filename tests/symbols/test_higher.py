"""Lagrangians with higher derivatives in letters."""

import jax.numpy as jnp
import sympy as sp

import accion as ac
from tests.symbols.systems import t


def test_higher_order_of_order_one_is_euler_lagrange(rng):
    def lagrangian(t, q, v, p):
        return 0.5 * p["m"] * (1 + t) * v[0] ** 2 * q[0] - q[0] ** 3

    high = ac.symbolic(
        ac.HigherOrderSystem(lagrangian, ac.Euclidean(1), {"m": 2.0}, order=1, coordinates=("x",))
    )
    low = ac.symbolic(ac.System(lagrangian, ac.Euclidean(1), {"m": 2.0}, coordinates=("x",)))
    assert sp.expand(sp.Add(high.equations[0].lhs, low.equations[0].lhs)) == 0  # dL/dq - d/dt dL/dv
    assert sp.expand(high.energy - low.energy) == 0
    assert sp.expand(high.momenta[0][0] - low.momenta[0]) == 0
    assert sp.expand(high.energy_rate - low.energy_rate) == 0
    assert (high.t, high.q, high.lam, high.values, high.cyclic) == (
        low.t,
        low.q,
        low.lam,
        low.values,
        low.cyclic,
    )
    p = sp.Function("p_x")(t)
    assert (
        sp.simplify(high.hamiltonian.xreplace({sp.Function("p_0_x")(t): p}) - low.hamiltonian) == 0
    )


def test_ostrogradsky_momenta_and_equations():
    """L = 1/2 c(t) x''^2 + x x' x'' - V(x): against derivatives taken by SymPy on functions of
    time, and the signs of the Vakonomic thesis, section 5.1 corrected.
    """

    def lagrangian(t, q, v, a, p):
        return 0.5 * jnp.exp(p["c"] * t) * a[0] ** 2 + q[0] * v[0] * a[0] - q[0] ** 4

    eqs = ac.symbolic(
        ac.HigherOrderSystem(lagrangian, ac.Euclidean(1), {"c": 2.0}, coordinates=("x",))
    )
    x, c = sp.Function("x")(t), sp.Symbol("c")
    x0, x1, x2 = sp.symbols("x0 x1 x2")
    L = sp.exp(c * t) * x2**2 / 2 + x0 * x1 * x2 - x0**4

    def on(e):
        return e.subs({x2: x.diff(t, 2), x1: x.diff(t), x0: x})

    L0, L1, L2 = (on(L.diff(s)) for s in (x0, x1, x2))
    assert sp.simplify(eqs.equations[0].lhs - (L0 - L1.diff(t) + L2.diff(t, 2)).doit()) == 0
    assert sp.simplify(eqs.momenta[0][0] - (L1 - L2.diff(t)).doit()) == 0
    assert sp.simplify(eqs.momenta[1][0] - L2) == 0
    assert sp.simplify(eqs.momenta[0][0] - (L1 + L2.diff(t)).doit()) != 0
    assert sp.simplify(eqs.hessian[0] - sp.exp(c * t)) == 0
    rate = eqs.energy.diff(t).doit() + on(L.diff(t))
    fourth = sp.solve(eqs.equations[0].lhs, x.diff(t, 4))[0]
    assert sp.simplify(rate.subs(x.diff(t, 4), fourth)) == 0
    assert sp.simplify(eqs.energy_rate + on(L.diff(t))) == 0
    # Ostrogradsky's Hamiltonian, (p_1 - x x')^2/(2 c(t)) + p_0 x' + x^4, and its value on the
    # momenta.
    p0, p1 = sp.Function("p_0_x")(t), sp.Function("p_1_x")(t)
    H = (p1 - x * x.diff(t)) ** 2 * sp.exp(-c * t) / 2 + p0 * x.diff(t) + x**4
    assert sp.simplify(eqs.hamiltonian - H) == 0
    assert (
        sp.simplify(
            eqs.hamiltonian.xreplace({p0: eqs.momenta[0][0], p1: eqs.momenta[1][0]}) - eqs.energy
        )
        == 0
    )
    assert eqs.cyclic == {}
    assert r"\ddddot{x}" in eqs.latex()
