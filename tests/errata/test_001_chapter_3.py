"""Bonich, thermomechanical Lagrangian systems: chapters 3 and 4, appendix C."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from tests.errata.cases_001_thermal import GAS, S0, U0, S, alpha, drag, x
from tests.errata.forms import differ, same, t


@cache
def spring():
    """A spring in a gas, Ex 3.11."""

    def lagrangian(t, q, v, S, p):
        return (
            p["m"] * v[0] ** 2 / 2
            - p["eta"] * q[0] ** 2 / 2
            - p["U0"] * jnp.exp(p["alpha"] * (S - p["S0"]))
        )

    params = {"m": 2.0, "eta": 2.0, "lam": 0.3, "U0": 1.0, "alpha": 0.5, "S0": 0.0}
    return ac.ThermalSystem(
        lagrangian, ac.Euclidean(1), params, friction=drag, coordinates=("x [m]",)
    )


def start_spring(system):
    """Ex 3.21 with the numbers of Ex 2.22."""
    return ac.simulate(system, ac.LeftRectangle(), q0=[0.3], q1=[0.3], S0=0.0, h=0.1, steps=40)


@cache
def regular(smooth="sum", stretched=False):
    """The discrete system of Ex 3.29; `stretched` in a coordinate y with q = y + y^3."""
    q_of = (lambda y: y[0] + y[0] ** 3) if stretched else (lambda y: y[0])
    slope = jax.grad(q_of)

    def lagrangian(t, h, y0, y1, S0, S1, p):
        s = q_of(y0) + q_of(y1)
        return s * jnp.arctan(s) - jnp.log1p(s**2) / 2 + p["alpha"] * q_of(y1) + S0

    kinematic = {
        "sum": lambda t, h, y0, y1, S0, S1, p: S0 + S1,
        "product": lambda t, h, y0, y1, S0, S1, p: S0 * S1,
    }[smooth]

    def friction(t, h, y0, y1, S0, S1, p):
        return (jnp.exp(S0) * slope(y0), jnp.exp(S1) * slope(y1))

    return ac.DiscreteThermalSystem(
        lagrangian, ac.Euclidean(1), {"alpha": 4.0}, kinematic=kinematic, friction=friction
    )


def test_001_lemma_3_8_needs_the_temperature_wherever_there_is_friction_on_the_curve():
    """dL/dS dS = F dq has no bounded dS where F and dL/dS vanish together for an instant, though F
    != 0 implies dL/dS != 0 at every point.
    """

    def variation(T):
        """dS for dx = 1 on the curve x = t, with U = T(x) S and friction -x^2 x'."""

        def L(t, q, v, S, p):
            return v[0] ** 2 / 2 - T(q[0]) * S

        equations = ac.symbolic(
            ac.ThermalSystem(
                L,
                ac.Euclidean(1),
                friction=lambda t, q, v, S, p: -(q[0] ** 2) * v,
                coordinates=("x",),
            )
        )
        F, slope = equations.force[0].subs(x, t).doit(), -equations.temperatures[0].subs(x, t)
        assert all(slope.subs(t, root) != 0 for root in sp.solve(F, t)) == (T(0) != 0)
        return sp.limit(F / slope, t, 0)

    assert variation(lambda q: q**4) == sp.oo
    assert variation(lambda q: 1 + q**4) == 0


def test_001_ex_3_11_slope_of_the_lagrangian():
    """dL/dS = -alpha U0 e^{alpha (S - S0)}; printed without the sign, and with alpha twice."""
    (T,) = ac.symbolic(spring()).temperatures
    assert same(-T, -alpha * U0 * sp.exp(alpha * (S - S0)))
    assert differ(-T, alpha * U0 * alpha * sp.exp(alpha * (S - S0)))


def test_001_ex_3_11_constants_have_a_positive_product():
    """alpha U0 > 0, or T = alpha U0 e^{alpha (S - S0)} is zero or negative; printed for every real
    alpha and U0.
    """
    (T,) = ac.symbolic(spring()).temperatures
    signs = {
        (a, u): int(sp.sign(T.subs({alpha: a, U0: u, S0: 0, S: 1})))
        for a in (-1, 0, 1)
        for u in (-1, 0, 1)
    }
    assert all(sign == a * u for (a, u), sign in signs.items())
    for value in (0.0, -0.5):
        with pytest.raises(ValueError, match=r"Lemma 3\.8"):
            start_spring(spring().with_params(spring().params | {"alpha": value}))


def test_001_ex_3_11_energy_of_the_gas_at_constant_volume():
    """U0 e^{alpha (S - S0)} is (C.10), a gas that keeps its volume, with alpha = 2/(3 N0 R); (C.9),
    which is named, also depends on V.
    """
    S = np.linspace(-1.0, 2.0, 7)
    spring_energy = GAS.U_ref * np.exp(2 / (3 * GAS.NR) * (S - GAS.S_ref))
    np.testing.assert_allclose(GAS.U(S, GAS.V_ref), spring_energy, rtol=1e-14)
    assert np.min(np.abs(GAS.U(S, 2 * GAS.V_ref) / spring_energy - 1)) > 0.3


def test_001_proof_of_thm_3_17_sum_over_the_entropies_starts_at_1():
    """The variation of the action, whose terms in dS_k are D4 Ld(k-1, k) + D3 Ld(k, k+1) for k = 1,
    ..., N-1; from k = 0 that of dS_0 comes twice.
    """
    d, h, N = ac.discrete(spring(), ac.Midpoint()), 0.1, 3
    q, S = jnp.array([[0.3], [0.25], [0.4], [0.1]]), jnp.array([0.0, 0.1, 0.15, 0.3])
    dq, dS = jnp.array([[0.0], [0.2], [-0.3], [0.0]]), jnp.array([0.5, -0.2, 0.3, 0.1])
    slopes = jax.jit(lambda *step: (d.D1(*step), d.D2(*step), d.D3(*step), d.D4(*step)))
    D1, D2, D3, D4 = zip(
        *(slopes(k * h, h, q[k], q[k + 1], S[k], S[k + 1]) for k in range(N)), strict=True
    )

    def action(q, S):
        return sum(d.Ld(k * h, h, q[k], q[k + 1], S[k], S[k + 1]) for k in range(N))

    change = jax.jit(lambda: jax.jvp(action, (q, S), (dq, dS))[1])()
    inner = sum((D2[k - 1] + D1[k]) @ dq[k] + (D4[k - 1] + D3[k]) * dS[k] for k in range(1, N))
    ends = D3[0] * dS[0] + D4[N - 1] * dS[N]
    np.testing.assert_allclose(change, inner + ends, rtol=1e-13)
    # What stands for k = 0 besides D3, D4 Ld(q_-1, q_0), is -h T/2 for every q_-1, and does not
    # make up for it.
    extra = [
        D3[0] + slopes(-h, h, q_before, q[0], S_before, S[0])[3]
        for q_before in (q[1], q[2])
        for S_before in (-1.0, 0.0)
    ]
    assert max(extra) < -0.01


def test_001_ex_3_21_entropy_grows_with_the_step_itself():
    """S_k+1 is of (x_k+1 - x_k)^2; with the printed (x_k - x_k-1)^2 it is another, and S_1 is
    undefined.
    """
    run, h, p = start_spring(spring()), 0.1, spring().params
    x, S = np.asarray(run.q)[:, 0], np.asarray(run.S)

    def gain(dx, S):
        return p["lam"] / (h * p["alpha"] * p["U0"]) * np.exp(-p["alpha"] * (S - p["S0"])) * dx**2

    np.testing.assert_allclose(np.diff(S), gain(np.diff(x), S[:-1]), rtol=0, atol=1e-15)
    late = np.abs(np.diff(S)[1:] - gain(np.diff(x)[:-1], S[1:-1]))
    assert np.max(late) > 1e-4
    # The kinematic constraint of the same example, the value of rho_d, has x_k+1 too.
    d = ac.discrete(spring(), ac.LeftRectangle())
    k = int(np.argmax(late)) + 1
    rho = jax.jit(lambda S_next: d.rho(k * h, h, run.q[k], run.q[k + 1], S[k], S_next))
    assert abs(rho(S[k] + gain(x[k + 1] - x[k], S[k]))) < 1e-14
    assert abs(rho(S[k] + gain(x[k] - x[k - 1], S[k]))) > 1e-3


def test_001_def_3_25_momenta_are_at_the_other_end():
    """D3 F^- maps T_{q+} Q to T*_{q-} Q, and D1 F^+ maps T_{q-} Q to T*_{q+} Q, as a change of
    coordinates shows; printed with both at one end.
    """
    y0, y1 = jnp.array([0.3]), jnp.array([0.7])
    q0, q1 = y0 + y0**3, y1 + y1**3
    J0, J1 = float(1 + 3 * y0[0] ** 2), float(1 + 3 * y1[0] ** 2)
    plain, other = ac.discrete(regular(), None), ac.discrete(regular(stretched=True), None)
    (minus, plus), (minus_y, plus_y) = (
        jax.jit(d.matrices)(0.0, 1.0, a, b, 0.2, -0.2)
        for d, a, b in ((plain, q0, q1), (other, y0, y1))
    )
    np.testing.assert_allclose(minus_y[0, 0], J0 * minus[0, 0] * J1, rtol=1e-13)
    np.testing.assert_allclose(plus_y[0, 0], J1 * plus[0, 0] * J0, rtol=1e-13)
    assert abs(minus_y[0, 0] / (J1 * minus[0, 0] * J1) - 1) > 0.1
    assert abs(plus_y[0, 0] / (J0 * plus[0, 0] * J0) - 1) > 0.1


def test_001_ex_3_29_smooth_is_not_enough_for_a_submanifold():
    """rho_d = S^- + S^+ has 0 as a regular value, which makes a submanifold; S^- S^+ is as smooth,
    and its zeros cross at 0.
    """
    q0, q1 = jnp.array([0.3]), jnp.array([0.1])

    def rho_and_slopes(smooth):
        d = ac.discrete(regular(smooth), None)
        minus, plus = jax.jit(d.matrices)(0.0, 1.0, q0, q1, 0.0, 0.0)
        return float(d.rho(0.0, 1.0, q0, q1, 0.0, 0.0)), [
            *map(float, plus[-1]),
            *map(float, minus[-1]),
        ]

    assert rho_and_slopes("sum") == (0.0, [0.0, 1.0, 0.0, 1.0])
    assert rho_and_slopes("product") == (0.0, [0.0, 0.0, 0.0, 0.0])


def test_001_ex_3_29_lacks_a_hypothesis_of_thm_3_26():
    """For alpha = 4 nothing of Thm 3.17 is missing, D Ld/dS^- = 1; what is, the trajectory to begin
    with, is a hypothesis of Thm 3.26.
    """
    d = ac.discrete(regular(), None)
    q0, q1, S0 = jnp.array([0.3]), jnp.array([0.1]), 0.2
    assert float(d.D3(0.0, 1.0, q0, q1, S0, -S0)) == 1.0
    assert all(
        abs(float(jnp.linalg.det(M))) > 0.5 for M in jax.jit(d.matrices)(0.0, 1.0, q0, q1, S0, -S0)
    )
    left = jax.jit(
        jax.vmap(lambda q2: d.euler_lagrange(0.0, 1.0, q0, q1, q2[None], S0, -S0, S0)[0])
    )
    far = jnp.concatenate([jnp.linspace(-20.0, 20.0, 41), jnp.array([-1e12, 1e12])])
    assert jnp.min(left(far)) > 4 + 2 * np.exp(-S0) - np.pi - 1e-9 > 0
    # The theorem as such is about any curve: with alpha = -1 there is one, and it satisfies its
    # equations.
    d = ac.discrete(regular().with_params({"alpha": -1.0}), None)
    q2 = jnp.tan(1 - 2 * jnp.exp(-S0) - jnp.arctan(q0 + q1)) - q1
    assert abs(float(jax.jit(d.euler_lagrange)(0.0, 1.0, q0, q1, q2, S0, -S0, S0)[0])) < 1e-14


def test_001_sec_3_4_rho_has_the_derivative_by_the_entropy():
    """rho = dL/dS S' - F.v, whose derivative by S' is dL/dS = -T; the printed dL/dS' is zero, for L
    has no S', and no submersion is left.
    """
    system, z, v, dS = spring(), (jnp.array([0.3]), jnp.array([0.8])), 0.5, 0.07
    w, p = jnp.array([v, dS]), spring().params
    T = p["alpha"] * p["U0"] * np.exp(p["alpha"] * 0.8)

    def by_dS(f):
        return float(jax.grad(lambda dS: jnp.sum(f(0.0, z, w.at[1].set(dS))))(dS))

    np.testing.assert_allclose(system.rho(0.0, z, w), [-T * dS + p["lam"] * v**2], rtol=1e-14)
    np.testing.assert_allclose(by_dS(system.rho), -T, rtol=1e-14)
    L_of_dS = by_dS(system.whole.L)
    assert L_of_dS == 0
    assert abs(float(system.rho(0.0, z, w)[0]) - (L_of_dS * dS + p["lam"] * v**2)) > 0.01
