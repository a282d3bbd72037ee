"""Contact systems in letters: the Herglotz equations, the law of the energy, discrete equations."""

import numpy as np
import pytest
import sympy as sp

import accion as ac
from tests.stepping.contact_cases import PARAMS, Q0, V0, Z0, bent, free, top


def numbers(eqs, expr, t, q, v, z):
    """An expression at a point, on a flat space."""
    n = len(q)
    at = dict(zip((*eqs.v[:n], *eqs.coordinates, eqs.z, eqs.t), (*v, *q, z, t), strict=True))
    return float(sp.sympify(expr).xreplace(eqs.values).subs(at).evalf())


@pytest.fixture(scope="module")
def eqs():
    return ac.symbolic(bent)


def test_accelerations_are_those_that_are_solved(eqs):
    a, L = ac.accelerations(bent)(0.4, Q0, V0, Z0)
    found = [numbers(eqs, e, 0.4, Q0, V0, Z0) for e in (*eqs.accelerations, eqs.L)]
    np.testing.assert_allclose(found, [*a, L], rtol=1e-12)


def test_the_equations_are_those_of_herglotz(eqs):
    """d/dt dL/dv - dL/dq - dL/dz dL/dv - F, by SymPy from the Lagrangian that is printed."""
    z, t = eqs.z, eqs.t
    for q, e, F in zip(eqs.coordinates, eqs.equations, eqs.force, strict=False):
        p = eqs.L.diff(q.diff(t))
        by_hand = p.diff(t) - eqs.L.diff(q) - eqs.L.diff(z) * p - F
        assert sp.simplify(e.lhs - e.rhs - by_hand) == 0
    assert eqs.equations[-1] == sp.Eq(z.diff(t), eqs.L, evaluate=False)


def test_the_law_of_the_energy_holds_along_a_motion(eqs):
    """Differences of E along the continuous motion; where nothing acts it is dL/dz E."""
    h = 1e-3
    start = {"q0": Q0, "v0": V0, "z0": Z0}
    q, v, z = ac.reference(bent, **start, ts=[0.0, h, 2 * h])
    E = [numbers(eqs, eqs.energy, k * h, q[k], v[k], z[k]) for k in range(3)]
    rate = numbers(eqs, eqs.energy_rate, h, q[1], v[1], z[1])
    assert (E[2] - E[0]) / (2 * h) == pytest.approx(rate, rel=1e-5)
    own = ac.symbolic(
        ac.ContactSystem(
            lambda t, q, v, z, c: 0.5 * v @ v - q[0] ** 4 - c * z**2, ac.Euclidean(1), 0.3
        )
    )
    assert sp.simplify(own.energy_rate - own.growth * own.energy) == 0


def test_discrete_equations_are_zero_on_a_trajectory():
    traj = ac.simulate(free, ac.Midpoint(), q0=Q0, v0=V0, z0=Z0, h=0.1, steps=2)
    eqs = ac.symbolic(free).discrete(ac.Midpoint())
    # t_k is the time of the middle one
    at = {eqs.t: 0.1, eqs.h: 0.1}
    for i in (-1, 0, 1):
        at |= dict(zip(eqs.q(i), [*map(float, traj.q[1 + i]), float(traj.z[1 + i])], strict=True))
    rows = [e.lhs for e in (*eqs.equations, *eqs.constraints)]
    found = [float(row.xreplace(eqs.values).subs(at).evalf()) for row in rows]
    np.testing.assert_allclose(found, 0.0, atol=1e-13)
    moved = at | {eqs.q(0)[0]: float(traj.q[1, 0]) + 0.01}
    assert abs(rows[0].xreplace(eqs.values).subs(moved).evalf()) > 1e-3


def test_on_a_group():
    eqs = ac.symbolic(top)
    assert len(eqs.equations) == 4
    assert len(eqs.kinematics) == 3
    c = {symbol.name: symbol for symbol in eqs.values}["c"]
    assert eqs.growth.subs(dict.fromkeys(eqs.v, 0)) == -c
    assert PARAMS["c"] == float(eqs.values[c])
    with pytest.raises(ValueError, match="flat spaces only"):
        eqs.discrete(ac.Midpoint())
