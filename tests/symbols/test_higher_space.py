"""Higher order in letters: forces, Hamilton's equations, forms, groups, and from SymPy."""

from functools import lru_cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from tests.stepping.higher_cases import TURNING
from tests.symbols.systems import t

x, c, k = sp.Function("x")(t), sp.Symbol("c"), sp.Symbol("k")


def bent_L(t, q, v, a, p):
    return 0.5 * jnp.exp(p["c"] * t) * a[0] ** 2 + q[0] * v[0] * a[0] - q[0] ** 4


BENT = ac.HigherOrderSystem(
    bent_L,
    ac.Euclidean(1),
    {"c": 2.0, "k": 0.5},
    force=lambda t, q, v, a, p: -p["k"] * (v + q * a),
    coordinates=("x",),
)


@lru_cache
def letters():
    """(equations of BENT, L in letters, the four symbols of x and its derivatives)."""
    jets = sp.symbols("x0:4")
    L = sp.exp(c * t) * jets[2] ** 2 / 2 + jets[0] * jets[1] * jets[2] - jets[0] ** 4
    return ac.symbolic(BENT), L, jets


def on(e, jets):
    return e.subs({y: x.diff(t, i) if i else x for i, y in reversed([*enumerate(jets)])})


def test_a_force_is_in_the_equations_and_in_the_rate_of_the_energy():
    eqs, L, jets = letters()
    parts = [on(L.diff(y), jets) for y in jets[:3]]
    F = -k * (x.diff(t) + x * x.diff(t, 2))
    by_hand = parts[0] - parts[1].diff(t) + parts[2].diff(t, 2) + F
    assert sp.simplify(eqs.equations[0].lhs - by_hand.doit()) == 0
    assert sp.simplify(eqs.force[0] - F) == 0
    fourth = sp.solve(eqs.equations[0].lhs, x.diff(t, 4))[0]
    rate = eqs.energy.diff(t).subs(x.diff(t, 4), fourth) - eqs.energy_rate
    assert sp.simplify(rate) == 0
    assert sp.simplify(eqs.energy_rate - (F * x.diff(t) - on(L.diff(t), jets))) == 0


def test_hamiltons_equations_are_those_of_lagrange():
    """With the momenta put in, p_0' gives the Euler-Lagrange equation and the others nothing."""
    eqs, _, _ = letters()
    p = {sp.Function(f"p_{s}_x")(t): eqs.momenta[s][0] for s in range(2)}
    left = [(e.lhs - e.rhs).subs(p).doit() for e in eqs.hamilton]
    assert eqs.hamilton[0].lhs == x.diff(t, 2)
    assert len(left) == 3
    assert sp.simplify(left[0]) == 0
    assert sp.simplify(left[2]) == 0
    assert sp.simplify(left[1] + eqs.equations[0].lhs) == 0
    assert sp.simplify(left[1]) != 0


def test_the_form_is_that_of_ostrogradsky_and_symplectic():
    """Omega = dx ^ dp_0 + dx' ^ dp_1, by derivatives that are taken by hand; its determinant is the
    fourth power of d2L/dx''2, as no derivative by q or q' of the thesis' matrix is in it.
    """
    eqs, L, jets = letters()
    p1 = L.diff(jets[2])
    rate = p1.diff(t) + sum(p1.diff(a) * b for a, b in pairwise(jets))
    p0 = L.diff(jets[1]) - rate
    W = sp.zeros(4, 4)
    for s, p in enumerate((p0, p1)):
        for j, y in enumerate(jets):
            W[s, j] += p.diff(y)
            W[j, s] -= p.diff(y)
    assert eqs.Omega_L.coordinates == (x, x.diff(t), x.diff(t, 2), x.diff(t, 3))
    assert sp.simplify(eqs.Omega_L.matrix - on(W, jets)) == sp.zeros(4, 4)
    assert sp.simplify(eqs.Omega_L.matrix.det() - sp.exp(4 * c * t)) == 0
    assert sp.simplify(eqs.theta_L.matrix[0, 0] - on(p0, jets)) == 0
    assert "dx" in eqs.Omega_L.text()


def test_a_riemannian_cubic_in_letters():
    """w''' = w'' x w (Noakes, Heinzinger and Paden 1989), and its Hamilton's equations."""
    eqs = ac.symbolic(TURNING)
    w = sp.Matrix([sp.Function(f"omega_{i}")(t) for i in (1, 2, 3)])
    second: Any = w.diff(t, 2)
    cubic = w.diff(t, 3) - second.cross(w)
    rows = sp.Matrix([e.lhs for e in eqs.equations])
    assert sp.simplify(rows - cubic) == sp.zeros(3, 1)
    p0 = sp.Matrix([sp.Function(f"p_0_omega_{i}")(t) for i in (1, 2, 3)])
    momentum = [e for e in eqs.hamilton if e.lhs in list(p0.diff(t))]
    assert sp.simplify(sp.Matrix([e.rhs for e in momentum]) - p0.cross(w)) == sp.zeros(3, 1)
    n = len(eqs.Omega_L.coordinates)
    assert (n, len(eqs.Omega_L.invariant)) == (12, 3)
    assert sp.simplify(eqs.Omega_L.matrix.det()) == 1
    # p_0 = -w'' turns: p_0([e_1, e_2]) = p_0_3
    assert sp.simplify(eqs.Omega_L.matrix[0, 1] - eqs.momenta[0][2]) == 0


def test_letters_on_a_product_are_the_numbers(rng):
    """The equations of a system on SO(2) x R with everything in it are zero on its motion."""

    def L(t, q, v, a, p):
        R, y = q
        bare = 0.5 * (2 + R[0, 0]) * a[0] ** 2 + a[1] ** 2 + a[0] * a[1] * y[0] / 3
        return bare + 0.25 * v[0] ** 4 + R[1, 0] * v[1] ** 2 + t * y[0] ** 2

    def F(t, q, v, a, p):
        return jnp.array([-0.3 * v[0] * a[1], q[0][1, 0] - v[1]])

    system = ac.HigherOrderSystem(
        L, ac.Product(ac.SO2(), ac.Euclidean(1)), force=F, coordinates=("theta", "y")
    )
    eqs = ac.symbolic(system, seconds=1.0)
    q = (ac.SO2().retract(jnp.eye(2), jnp.array([0.4])), jnp.array([0.7]))
    jets = jnp.asarray(rng.normal(size=(3, 2)))
    top = jax.jit(ac.accelerations(system))(0.4, q, jets)
    rows = np.concatenate([jets, np.asarray(top)[None]])
    values = {t: 0.4}
    y = eqs.q[-1]
    for s in range(4, 0, -1):
        values[y.diff(t, s)] = rows[s - 1, 1]
        own = eqs.v[0]
        values[own.diff(t, s - 1) if s > 1 else own] = rows[s - 1, 0]
    values[y] = 0.7
    matrix = np.asarray(q[0])
    for entry in eqs.q[:-1]:
        i, j = (int(d) - 1 for d in entry.func.__name__.split("_")[-1])
        values[entry] = matrix[i, j]
    found = [sp.N(e.lhs.subs(values)) for e in eqs.equations]
    np.testing.assert_allclose(np.array(found, dtype=float), 0.0, atol=1e-11)


def test_from_sympy_takes_the_order_from_the_derivatives():
    L = sp.exp(c * t) * x.diff(t, 2) ** 2 / 2 + x * x.diff(t) * x.diff(t, 2) - x**4
    F = -k * (x.diff(t) + x * x.diff(t, 2))
    again = ac.from_sympy(L, [x], {"c": 2.0, "k": 0.5}, force=[F])
    assert isinstance(again, ac.HigherOrderSystem)
    assert again.order == 2
    point = (0.3, jnp.array([0.4]), jnp.array([[0.5], [-0.2], [0.7]]))
    np.testing.assert_allclose(
        ac.accelerations(again)(*point), ac.accelerations(BENT)(*point), rtol=1e-13
    )
    q0, q1, q2 = sp.symbols("q0 q1 q2")
    rows = ac.from_sympy(q2**2 / 2 - q0**2, [q0], velocities=[[q1], [q2]], vakonomic=[q2 - q1 * q0])
    assert (rows.order, rows.multipliers) == (2, 1)
    third = ac.from_sympy(x.diff(t, 3) ** 2 / 2, [x])
    assert third.order == 3
    assert type(ac.from_sympy(x.diff(t) ** 2 / 2, [x])) is ac.System
    with pytest.raises(ValueError, match="force takes derivatives of order 2"):
        ac.from_sympy(x.diff(t) ** 2 / 2, [x], force=[x.diff(t, 2)])
    with pytest.raises(ValueError, match="holonomic does not go"):
        ac.from_sympy(x.diff(t, 2) ** 2 / 2, [x], holonomic=[x])
