"""What becomes of forms and momenta of thermal systems, and their audit."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac

M, MU = 2.0, 0.6
GAS = ac.thermo.IdealGas(1.0, 1.5)
# A piston on a gas, which has friction, and slides along y besides without force but friction.
SYSTEM = ac.ThermalSystem(
    lambda t, q, v, S, p: 0.5 * M * v @ v - GAS.U(S, q[0]) - q[0],
    ac.Euclidean(2),
    friction=lambda t, q, v, S, p: -MU * v,
    coordinates=("x [m]", "y [m]"),
)
START = {"q0": [1.4, 0.0], "v0": [0.1, 0.5], "S0": 0.1}


def run(method, h, steps=4):
    return ac.simulate(SYSTEM, method, **START, h=h, steps=steps)


@pytest.mark.parametrize("method", [ac.LeftRectangle(), ac.Midpoint()], ids=str)
def test_how_dq_dp_changes(method):
    """The balance holds to rounding; over h it goes to dS ^ dT + dq ^ dF, typed here."""
    q, v, S = np.array(START["q0"]), np.array(START["v0"]), START["S0"]
    by_x = -2 / 3 / q[0] * float(GAS.T(S, q[0]))  # dT/dx of U = 3/2 e^{2S/3} x^{-2/3}
    rate = np.zeros((5, 5))  # (x, y, p_x, p_y, S)
    rate[0, 2] = rate[1, 3] = -MU / M  # dq ^ d(-mu p/m)
    rate[4, 0] = by_x  # dS ^ dT
    rate = rate - rate.T
    off = []
    for h in (0.02, 0.01):
        forms = ac.analysis.thermal_forms(run(method, h))
        assert forms.defect < 1e-10
        omega = np.zeros((5, 5))
        omega[:2, 2:4], omega[2:4, :2] = np.eye(2), -np.eye(2)
        assert_allclose(forms.before[0], omega, atol=1e-12)
        off.append(np.max(np.abs((forms.after - forms.before)[0] / h - rate)))
        eta = -h * np.array([-MU * v[0], -MU * v[1], 0, 0, float(GAS.T(S, q[0]))])
        assert_allclose(forms.eta[0], eta, atol=4 * h**2)
    assert off[1] < 0.6 * off[0] < 0.05
    assert "by forces" in str(forms)


def test_without_friction_and_heat_area_changes_by_the_entropy_alone():
    free = ac.ThermalSystem(SYSTEM.lagrangian, ac.Euclidean(2))
    found = ac.analysis.thermal_forms(ac.simulate(free, ac.Midpoint(), **START, h=0.05, steps=3))
    assert_allclose(found.forces, 0.0, atol=1e-12)
    assert_allclose((found.after - found.before)[:, :4, :4], 0.0, atol=1e-12)
    assert np.max(np.abs(found.heat)) > 1e-3


def test_noether_with_friction():
    """Along y momentum falls by friction alone, p_y' = -mu y': p_y + mu y is kept, by every
    method; along x there is no symmetry.
    """
    for method in (ac.LeftRectangle(), ac.Midpoint()):
        traj = run(method, 0.05, 20)
        along = ac.analysis.noether_balance(traj, lambda q: jnp.array([0.0, 1.0]))
        assert along.survives
        assert_allclose(along.momentum + MU * traj.q[:, 1], along.momentum[0], rtol=1e-13)
        assert_allclose(np.diff(along.momentum), along.impulse, atol=1e-14)
        across = ac.analysis.noether_balance(traj, lambda q: jnp.array([1.0, 0.0]))
        assert not across.survives
        assert_allclose(np.diff(across.momentum), across.impulse + across.defect, atol=1e-13)
    assert "survives" in str(along)
    assert "is lost" in str(across)


def test_rotations_survive_where_the_method_turns_with_them():
    """In the plane p.X of rotations has the torque of friction; a method that samples x and y at
    different places loses it.
    """
    plane = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * q @ q - 0.1 * (q @ q) ** 2 - jnp.exp(S),
        ac.Euclidean(2),
        friction=lambda t, q, v, S, p: -0.2 * v,
    )

    def askew(h, z0, z1):
        (q0, S0), (q1, S1) = z0, z1
        v = jnp.concatenate([(q1 - q0) / h, (S1 - S0) / h])
        return [(1.0, 0.5, (jnp.array([q0[0], q1[1]]), (S0 + S1) / 2), v)]

    start = {"q0": [1.0, 0.2], "v0": [0.1, 0.5], "S0": 0.0, "h": 0.1, "steps": 5}
    for method, survives in ((ac.Midpoint(), True), (ac.FiniteDifference(askew), False)):
        traj = ac.simulate(plane, method, **start)
        found = ac.analysis.noether_balance(traj, lambda q: jnp.array([-q[1], q[0]]))
        assert found.survives == survives


def test_audit_of_a_thermal_system():
    card = ac.analysis.audit(SYSTEM, ac.Midpoint(), **START, h=0.05, steps=100)
    rows = {what: (value, words) for what, value, words in card.rows()}
    assert card.order.slope == pytest.approx(2.0, abs=0.15)
    assert "second law" in rows
    assert card.second_law[0] > 0
    assert card.second_law[1] < 0
    # Each halving of h leaves the matrices of a step as regular.
    assert max(card.refined) < 2 * min(card.refined)
    assert "as h -> 0" in rows["regularity, h -> 0"][1]


def test_bad_input():
    traj = run(ac.Midpoint(), 0.05)
    with pytest.raises(ValueError, match="X must return a vector of shape"):
        ac.analysis.noether_balance(traj, lambda q: q[0])
    bare = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1))
    free = ac.simulate(bare, ac.Midpoint(), q0=[0.0], v0=[1.0], h=0.1, steps=3)
    with pytest.raises(ValueError, match="one run of a thermal system"):
        ac.analysis.thermal_forms(free)
    top = ac.ThermalSystem(lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S), ac.SO3())
    spun = ac.simulate(top, ac.Midpoint(), q0=jnp.eye(3), v0=[1.0, 0, 0], S0=0.0, h=0.1, steps=2)
    with pytest.raises(ValueError, match="thermal_forms does not support systems on"):
        ac.analysis.thermal_forms(spun)


def test_the_exact_step_of_a_free_slide():
    """x'' = -mu x'/m: Ld, momenta and heat in closed form, and the first law."""
    slide = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * M * v @ v - jnp.exp(S),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, p: -MU * v,
    )
    h, v0, S0 = 0.7, 1.3, 0.2
    exact = ac.analysis.exact_thermal_step(slide, q0=[0.1], v0=[v0], S0=S0, h=h)
    left = np.exp(-MU * h / M)
    heat = 0.5 * M * v0**2 * (1 - left**2)
    assert_allclose(exact.q1, [0.1 + M * v0 / MU * (1 - left)], rtol=1e-11)
    assert_allclose((exact.p0[0], exact.p1[0]), (M * v0, M * v0 * left), rtol=1e-11)
    assert_allclose(exact.heat, heat, rtol=1e-11)
    assert_allclose(np.exp(exact.S1), np.exp(S0) + heat, rtol=1e-11)
    # U(t) = U_0 + heat so far.
    kinetic = M * v0**2 / 2 * M / (2 * MU) * (1 - left**2)
    inner = (np.exp(S0) + 0.5 * M * v0**2) * h - kinetic
    assert_allclose(exact.Ld, kinetic - inner, rtol=1e-11)
    assert "heat" in str(exact)


@pytest.mark.parametrize(
    ("method", "order"), [(ac.LeftRectangle(), 1), (ac.Midpoint(), 2), (ac.Trapezoid(), 2)], ids=str
)
def test_variational_order_with_entropies(method, order):
    found = ac.analysis.thermal_variational_order(SYSTEM, method, **START, h=[0.1, 0.05, 0.025])
    assert float(found) == pytest.approx(order, abs=0.15)
    assert np.polyfit(np.log(found.h), np.log(found.action), 1)[0] > order + 0.8
    assert "variational order" in str(found)


def test_what_has_no_exact_thermal_step():
    bare = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1))
    with pytest.raises(ValueError, match="exact_thermal_step does not support"):
        ac.analysis.exact_thermal_step(bare, q0=[0.0], v0=[1.0], S0=0.0, h=0.1)
