"""Motions of higher order on T*(Q^r): flow, exponents, modified Hamiltonian; the constraint
algorithm at order k.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.analysis.nodes import power
from accion.analysis.phase import canonical
from tests.stepping.higher_cases import CURVE, MID

A = ac.analysis
t = sp.Symbol("t")
x, y = sp.Function("x")(t), sp.Function("y")(t)


def quartic(t, q, v, a, p):
    linear = 0.5 * (jnp.sum(a**2) - 1.36 * jnp.sum(v**2) + 0.36 * jnp.sum(q**2))
    return linear + 0.05 * jnp.sum(v**4)


OSCILLATOR = ac.HigherOrderSystem(quartic, ac.Euclidean(1), name="Pais and Uhlenbeck, bent")
Q0, V0 = np.array([0.5]), np.array([[0.3], [-0.4], [0.1]])


@lru_cache
def run(h):
    return ac.simulate(OSCILLATOR, MID, q0=Q0, v0=V0, h=h, steps=round(6 / h))


def test_the_flow_on_nodes_is_that_of_the_run_and_symplectic():
    run_, h = run(0.1), 0.1
    flow = ac.discrete(OSCILLATOR, MID).hamiltonian_flow
    q, P = run_.q[3:5], run_.nodal.P[3]
    after, P1 = jax.jit(flow)(0.0, h, q, P)
    np.testing.assert_allclose(after, run_.q[4:6], rtol=1e-12)
    np.testing.assert_allclose(P1, run_.nodal.P[4], rtol=1e-9)

    def step(z):
        q1, p1 = flow(0.0, h, z[:2, None], z[2:, None])
        return jnp.concatenate([q1[:, 0], p1[:, 0]])

    z = jnp.concatenate([q[:, 0], P[:, 0]])
    T, J = np.asarray(jax.jacfwd(step)(z)), canonical(power(ac.Euclidean(1), 2), P)
    np.testing.assert_allclose(T.T @ J @ T, J, atol=1e-9)


def test_exponents_of_a_linear_system_are_its_rates():
    """L = 1/2 (a^2 + (w1^2 + w2^2) v^2 + w1^2 w2^2 q^2) grows as e^(w1 t) and e^(w2 t): to second
    order in h, in pairs to rounding; the same system given in discrete time has the same.
    """
    w1, w2, h = 0.9, 0.4, 0.1

    def L(t, q, v, a, p):
        v2, q2 = jnp.sum(v**2), jnp.sum(q**2)
        return 0.5 * (jnp.sum(a**2) + (w1**2 + w2**2) * v2 + w1**2 * w2**2 * q2)

    system = ac.HigherOrderSystem(L, ac.Euclidean(1))
    start = {"q0": [0.0], "v0": np.zeros((3, 1))}
    found = A.lyapunov(system, MID, **start, h=h, steps=400, transient=400)
    np.testing.assert_allclose(found.exponents, [w1, w2, -w2, -w1], atol=3e-3)
    assert found.pairing < 1e-12
    # The rates of the difference equation itself: of the discrete Euler-Lagrange operator.
    z = sp.Symbol("z")
    a, v = (z - 2 + 1 / z) / h**2, (z - 1 / z) / (2 * h)
    symbol = a**2 - (w1**2 + w2**2) * v**2 + w1**2 * w2**2
    roots = np.roots([float(c) for c in sp.Poly(sp.expand(symbol * z**2), z).all_coeffs()])
    rates = np.sort(np.log(np.abs(roots)) / h)[::-1]
    np.testing.assert_allclose(found.exponents, rates, atol=1e-6)

    def Ld(t, h, q0, q1, q2, p):
        return h * L(t, q1, (q2 - q0) / (2 * h), (q2 - 2 * q1 + q0) / h**2, p)

    given = ac.DiscreteSystem(Ld, ac.Euclidean(1), order=2)
    same = A.lyapunov(given, q0=[0.0], q1=np.zeros((3, 1)), h=h, steps=400, transient=400)
    np.testing.assert_allclose(same.exponents, rates, atol=1e-6)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_the_modified_hamiltonian_of_windows_has_its_order(order):
    drifts = [A.modified_hamiltonian(OSCILLATOR, MID, order).drift(run(h)) for h in (0.05, 0.025)]
    assert np.log2(drifts[0] / drifts[1]) == pytest.approx(order, abs=0.35)
    if order > 2:
        E = np.asarray(run(0.025).energy())
        assert drifts[1] < 0.01 * np.ptp(E)


def test_the_modified_hamiltonian_at_a_point_is_that_along_the_run():
    modified, found = A.modified_hamiltonian(OSCILLATOR, MID, 4), run(0.05)
    along = modified.along(found)
    assert len(along) == len(found) - 2 - 2 * 2 + 1
    q, P = found.q[12:14], found.nodal.P[12]
    H = float(modified(0.0, 0.05, q, P))
    assert abs(H - along[10]) < 1e-12
    # and near the energy, which the windows keep to second order
    assert abs(H - float(found.energy()[12])) < 2e-4
    q_dot, p_dot = modified.field(0.0, 0.05, q, P)
    np.testing.assert_allclose(q_dot[0], found.jets[12, 0, 0], atol=1e-3)
    assert p_dot.shape == (2,)


def test_with_the_momentum_of_time_where_the_lagrangian_depends_on_it():
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, p: jnp.exp(0.1 * t) * quartic(t, q, v, a, p), ac.Euclidean(1)
    )
    found = ac.simulate(system, MID, q0=Q0, v0=V0, h=0.05, steps=60)
    drifts = [A.modified_hamiltonian(system, MID, order).drift(found) for order in (2, 4)]
    assert np.ptp(np.asarray(found.energy())) > 1e-2
    assert drifts[0] < 1e-3
    assert drifts[1] < 1e-5
    with pytest.raises(ValueError, match="no discrete Lagrangian of windows"):
        A.modified_hamiltonian(system, ac.Galerkin(2))


# ---------------------------------------------------------------- the constraint algorithm


def of_two(L, **more):
    return ac.HigherOrderSystem(L, ac.Euclidean(2), coordinates=("x", "y"), **more)


def test_a_regular_system_stabilises_at_once():
    """W1 is all of T*(TQ), of dimension 2 k n; the determinant is that of the bordered matrix."""
    found = A.constraint_algorithm(CURVE)
    assert (found.dimensions, found.stabilises_at, found.symplectic) == ((9, 8), 1, True)
    assert found.determinant == ac.symbolic(CURVE).hessian.det() == -1
    (Phi,) = found.levels[0].equations
    by_hand = y.diff(t, 2) + sp.sin(y) - x.diff(t, 2) * sp.cos(y)
    assert sp.simplify(Phi.lhs - by_hand) == 0
    momenta = {e.lhs: e.rhs for e in found.levels[1].equations}
    lam = sp.Function("lam")(t)
    assert sp.simplify(momenta[sp.Function("p_1_y")(t)] - lam) == 0
    assert sp.simplify(momenta[sp.Function("p_1_x")(t)] - (x.diff(t, 2) - lam * sp.cos(y))) == 0
    assert "given by (q, q', p_0, p_1)" in found.text()


def test_a_coordinate_without_acceleration_goes_down_to_its_own_phase_space():
    """L = x''^2/2 + y'^2/2 - x y^2: four numbers for x, two for y; p_1_y = 0, p_0_y = y' and y'' =
    -2 x y, its Euler-Lagrange equation.
    """
    found = A.constraint_algorithm(
        of_two(lambda t, q, v, a, p: 0.5 * a[0] ** 2 + 0.5 * v[1] ** 2 - q[0] * q[1] ** 2)
    )
    assert (found.dimensions, found.stabilises_at, found.symplectic) == ((10, 8, 7, 6), 3, True)
    assert found.determinant == 0
    (second,), (third,) = found.levels[2].equations, found.levels[3].equations
    p = sp.Function("p_0_y")(t)
    assert sp.simplify(second.lhs / (p - y.diff(t))) in (1, -1)
    assert sp.simplify(third.lhs / (y.diff(t, 2) + 2 * x * y)) in (1, -1)


def test_a_constraint_on_velocities_raises_the_order():
    """y' = x under L = x''^2/2 + y'^2/2 is y'''^2/2 + y'^2/2: six numbers."""
    system = of_two(
        lambda t, q, v, a, p: 0.5 * a[0] ** 2 + 0.5 * v[1] ** 2,
        vakonomic=lambda t, q, v, a, p: (v[1] - q[0])[None],
    )
    found = A.constraint_algorithm(system)
    assert (found.dimensions, found.stabilises_at, found.symplectic) == ((9, 8, 6), 2, True)
    eqs = {sp.simplify(e.lhs) for e in found.levels[2].equations}
    assert any(sp.simplify(e - (y.diff(t, 2) - x.diff(t))) == 0 for e in eqs)
    with pytest.raises(ValueError, match="not independent"):
        A.constraint_algorithm(
            of_two(
                lambda t, q, v, a, p: 0.5 * jnp.sum(a**2),
                vakonomic=lambda t, q, v, a, p: jnp.stack([a[0] - v[1], 2 * a[0] - 2 * v[1]]),
            )
        )


def test_a_lagrangian_linear_in_accelerations_is_of_first_order():
    """x x'' + cos x is -x'^2 + cos x but for a derivative: 2 x'' = sin x."""
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, p: q[0] * a[0] + jnp.cos(q[0]), ac.Euclidean(1), coordinates=("x",)
    )
    found = A.constraint_algorithm(system)
    assert (found.dimensions, found.stabilises_at, found.symplectic) == ((5, 4, 3, 2), 3, True)
    (last,) = found.levels[3].equations
    assert sp.simplify(last.lhs / (2 * x.diff(t, 2) - sp.sin(x))) in (1, -1)
