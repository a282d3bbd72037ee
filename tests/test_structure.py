"""Symplecticity, the commuting diagram, exact discrete Lagrangians, modified Hamiltonians,
regularity, the card.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.analysis.modified import weights
from accion.analysis.runge_kutta import rk4_step
from accion.analysis.symplectic import form_defect
from accion.gallery import damped_spring, double_pendulum
from accion.methods import Adjoint

A = ac.analysis
METHODS = [ac.LeftRectangle(), ac.RightRectangle(), ac.Midpoint(), ac.Trapezoid(), ac.Alpha(0.3)]
SIMPSON = ac.FiniteDifference(
    lambda h, a, b: [
        (w, c, (1 - c) * a + c * b, (b - a) / h)
        for w, c in ((1 / 6, 0.0), (2 / 3, 0.5), (1 / 6, 1.0))
    ]
)
PENDULUM = ac.System(
    lambda t, q, v, p: 0.5 * v[0] ** 2 + jnp.cos(q[0]),
    ac.Torus(1),
    coordinates=("q",),
    name="pendulum",
)
DECAYING = ac.System(
    lambda t, q, v, p: jnp.exp(-0.3 * t) * (0.5 * v[0] ** 2 + jnp.cos(q[0])),
    ac.Torus(1),
    coordinates=("q",),
    name="decaying pendulum",
)
SYSTEMS = {"double pendulum": double_pendulum.system, "decaying pendulum": DECAYING}
START = {"double pendulum": ([1.0, 1.5], [0.3, -0.2]), "decaying pendulum": ([1.2], [0.4])}


# ---------------------------------------------------------------- symplecticity


CASES = [
    ("double pendulum", ac.Midpoint()),
    *(("decaying pendulum", method) for method in (*METHODS, SIMPSON)),
]


@pytest.mark.parametrize(
    ("name", "method"), CASES, ids=lambda x: x if isinstance(x, str) else type(x).__name__
)
def test_variational_methods_are_symplectic(name, method):
    q0, v0 = START[name]
    traj = ac.simulate(SYSTEMS[name], method, q0=q0, v0=v0, t0=0.2, h=0.1, steps=10)
    found = A.symplecticity_along(traj)
    assert np.max(found.steps) < 1e-12
    assert np.max(found.together) < 1e-12
    np.testing.assert_allclose(found.volume, 1.0, rtol=1e-9, atol=1e-11)


def test_rk4_is_not():
    system = double_pendulum.system
    q0, v0 = map(jnp.array, START["double pendulum"])

    def step(z):
        p = z[2:]
        q, v = rk4_step(system, 0.0, 0.1, z[:2], system.velocity(0.0, z[:2], p, v0))
        return jnp.concatenate([q, system.legendre(0.1, q, v)])

    p0 = system.legendre(0.0, q0, v0)
    T = np.asarray(jax.jit(jax.jacfwd(step))(jnp.concatenate([q0, p0])))
    assert form_defect(system.space, T, p0, p0) > 1e-6


def test_a_force_is_seen():
    assert A.symplecticity(damped_spring.system, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1) > 1e-3


def test_cosymplectic_pair():
    """On slices of equal time the form is kept; what time brings in is there, and is zero for an
    autonomous system.
    """
    found = A.cosymplecticity(DECAYING, ac.Midpoint(), q0=[1.2], v0=[0.4], t0=0.2, h=0.1)
    assert found.time == 0
    assert found.form < 1e-14
    assert np.max(np.abs(found.beta)) > 1e-3
    np.testing.assert_allclose(
        A.cosymplecticity(PENDULUM, ac.Midpoint(), q0=[1.2], v0=[0.4], h=0.1).beta,
        0,
        rtol=1e-9,
        atol=1e-15,
    )


def test_poincare_invariant():
    def loop(s):
        return (
            jnp.array([1 + 0.3 * jnp.cos(2 * jnp.pi * s)]),
            jnp.array([0.4 * jnp.sin(2 * jnp.pi * s)]),
        )

    before, after = A.poincare_invariant(DECAYING, ac.Midpoint(), loop, h=0.1, steps=50)
    assert before == pytest.approx(-np.pi * 0.3 * 0.4, rel=1e-13)
    assert after == pytest.approx(before, rel=1e-12)
    damped = A.poincare_invariant(damped_spring.system, ac.Midpoint(), loop, h=0.1, steps=50)
    assert abs(damped[1]) < 0.9 * abs(damped[0])


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_diagram_commutes(name):
    """F^+ is F^- after the Lagrangian flow, F^+ after (F^-)^-1 the Hamiltonian flow, and both carry
    one flow into the other (002 Prop 1).
    """
    system, method, h, t = SYSTEMS[name], ac.Trapezoid(), 0.1, 0.2
    d = ac.discrete(system, method)
    q0, v0 = map(jnp.array, START[name])
    q1 = q0 + h * v0
    flow, hamiltonian = jax.jit(d.flow), jax.jit(d.hamiltonian_flow)
    pair = flow(t, h, q0, q1)
    for side, time in ((d.legendre_minus, t), (d.legendre_plus, t + h)):
        left, right = side(t + h, h, *pair), hamiltonian(time, h, *side(t, h, q0, q1))
        np.testing.assert_allclose(
            np.concatenate(left), np.concatenate(right), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(
        np.concatenate(d.legendre_plus(t, h, q0, q1)),
        np.concatenate(d.legendre_minus(t + h, h, *pair)),
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        np.concatenate(hamiltonian(t, h, *d.legendre_minus(t, h, q0, q1))),
        np.concatenate(d.legendre_plus(t, h, q0, q1)),
        rtol=1e-9,
        atol=1e-12,
    )


def test_the_adjoint_undoes_a_step():
    for method in METHODS:
        ahead, back = (
            jax.jit(ac.discrete(DECAYING, m).hamiltonian_flow) for m in (method, Adjoint(method))
        )
        q, p = jnp.array([1.2]), jnp.array([0.4])
        again = back(0.4, -0.2, *ahead(0.2, 0.2, q, p))
        np.testing.assert_allclose(np.concatenate(again), [1.2, 0.4], rtol=1e-9, atol=1e-13)


# ---------------------------------------------------------------- exact discrete Lagrangian


def test_exact_discrete_lagrangian_of_the_oscillator():
    m, w, h, q0, q1 = 2.0, 1.3, 0.8, 0.7, -0.2
    exact = A.exact_discrete_lagrangian(
        ac.mechanical(m, lambda t, q, p: 0.5 * m * w**2 * q[0] ** 2, 1)
    )
    closed = m * w / (2 * np.sin(w * h)) * ((q0**2 + q1**2) * np.cos(w * h) - 2 * q0 * q1)
    assert float(exact(0.0, h, [q0], [q1])) == pytest.approx(closed, rel=1e-12)
    assert float(exact.D2(0.0, h, [q0], [q1])[0]) == pytest.approx(
        m * w / np.sin(w * h) * (q1 * np.cos(w * h) - q0), rel=1e-12
    )


def test_exact_momenta_are_those_of_the_motion():
    """-D1 and D2 are the momenta of the true motion, of a time-dependent nonlinear system."""
    q, v = ac.reference(DECAYING, q0=[1.2], v0=[0.4], ts=[0.1, 0.6], rtol=1e-13, atol=1e-13)
    exact = A.exact_discrete_lagrangian(DECAYING)
    np.testing.assert_allclose(
        exact.D1(0.1, 0.5, q[0], q[1]), -DECAYING.legendre(0.1, q[0], v[0]), rtol=1e-11
    )
    np.testing.assert_allclose(
        exact.D2(0.1, 0.5, q[0], q[1]), DECAYING.legendre(0.6, q[1], v[1]), rtol=1e-11
    )


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_variational_order_is_the_order_of_the_method(method):
    found = A.variational_order(DECAYING, method, q0=[1.2], v0=[0.4], t0=0.1, h=[0.1, 0.05, 0.025])
    assert float(found) == pytest.approx(method.order, abs=0.1)


def test_exact_discrete_lagrangian_says_when_it_cannot():
    with pytest.raises(ValueError, match="force or a constraint"):
        A.exact_discrete_lagrangian(damped_spring.system)
    with pytest.raises(ValueError, match="was not found"):
        A.exact_discrete_lagrangian(ac.mechanical(1.0, lambda t, q, p: -1 / jnp.abs(q[0]), 1))(
            0.0, 30.0, [1.0], [0.9]
        )


# ---------------------------------------------------------------- backward error analysis


def test_weights():
    np.testing.assert_allclose(weights(1), [-0.5, 0, 0.5], rtol=1e-9, atol=1e-15)
    j = np.arange(-15, 16)
    np.testing.assert_allclose(
        [weights(15) @ j**k for k in range(4)], [0, 1, 0, 0], rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(
        weights(2), [1 / 12, -2 / 3, 0, 2 / 3, -1 / 12], rtol=1e-9, atol=1e-15
    )


def test_h2_term_of_the_midpoint_rule_on_the_pendulum():
    """H_2 = -(p^2 cos q + sin^2 q)/24, in closed form, in symbols and in numbers."""
    q, p = sp.Function("q")(sp.Symbol("t")), sp.Function("p_q")(sp.Symbol("t"))
    closed = -(p**2 * sp.cos(q) + sp.sin(q) ** 2) / 24
    terms = ac.symbolic(PENDULUM).modified(ac.Midpoint(), 2).hamiltonian_terms
    assert sp.simplify(terms[2] - closed) == 0
    assert terms[1] == 0
    H = jax.jit(A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 10).__call__)
    at = {q: sp.Float(0.7), p: sp.Float(0.9)}
    energy = 0.5 * 0.9**2 - np.cos(0.7)
    for h, tolerance in ((0.1, 1e-4), (0.05, 3e-5)):
        found = (float(H(0.0, h, jnp.array([0.7]), jnp.array([0.9]))) - energy) / h**2
        assert found == pytest.approx(float(closed.xreplace(at)), abs=tolerance)


@pytest.mark.parametrize(
    ("method", "order"), [(ac.Trapezoid(), 2), (ac.LeftRectangle(), 2)], ids=str
)
def test_series_and_numbers_agree(method, order):
    """The difference of the series and of the interpolated Hamiltonian falls like the first term
    left out; time-dependent.
    """
    t = sp.Symbol("t")
    terms = ac.symbolic(DECAYING, seconds=30).modified(method, order).hamiltonian_terms
    H = jax.jit(A.modified_hamiltonian(DECAYING, method, 10).__call__)
    at = {sp.Function("q")(t): sp.Float(0.7), sp.Function("p_q")(t): sp.Float(0.9)}
    numbers = [float(e.xreplace(at).xreplace({t: sp.Float(0.4)})) for e in terms]
    errors = [
        abs(
            float(H(0.4, h, jnp.array([0.7]), jnp.array([0.9])))
            - sum(c * h**k for k, c in enumerate(numbers))
        )
        for h in (0.1, 0.05)
    ]
    expected = 4 if method.symmetric else 3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(expected, abs=0.15)


def test_ladder():
    """Drifts of H, H2, H4, H6, H8 with slopes 2, 2, 4, 6, 8; the energy error is O(h^p)."""
    found = A.ladder(
        PENDULUM, ac.Midpoint(), q0=[1.2], v0=[0.0], duration=10.0, h=[0.1, 0.05, 0.025]
    )
    np.testing.assert_allclose(found.slopes, [2, 2, 4, 6, 8], rtol=1e-9, atol=0.2)
    first = A.ladder(
        PENDULUM, ac.LeftRectangle(), q0=[1.2], v0=[0.0], duration=10.0, h=[0.1, 0.05], orders=(4,)
    )
    np.testing.assert_allclose(first.slopes, [1, 4], rtol=1e-9, atol=0.2)
    assert "order" in str(found)


def test_the_best_truncation_is_exponentially_good():
    """At fixed h the drift falls with the order down to a least value, which falls faster than any
    power of h (002 Thm 5.2).
    """
    least = []
    for h in (0.6, 0.3):
        traj = ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.2], v0=[0.0], h=h, steps=round(40 / h))
        drifts = [
            A.modified_hamiltonian(PENDULUM, ac.Midpoint(), order).drift(traj)
            for order in range(2, 26, 2)
        ]
        assert drifts[0] > 50 * min(drifts)
        least.append(min(drifts))
    assert np.log2(least[0] / least[1]) > 8


def test_extended_hamiltonian_of_a_time_dependent_system():
    drifts = []
    for h in (0.1, 0.05):
        traj = ac.simulate(DECAYING, ac.Midpoint(), q0=[1.0], v0=[0.3], h=h, steps=round(5 / h))
        drifts.append(
            [
                A.modified_hamiltonian(DECAYING, ac.Midpoint(), order).extended_drift(traj)
                for order in (2, 4)
            ]
        )
        modified = A.modified_hamiltonian(DECAYING, ac.Midpoint(), 4)
        assert np.ptp(modified.along(traj)) > 0.1  # energy goes away
        assert modified.drift(traj) == drifts[-1][1]
    np.testing.assert_allclose(np.log2(np.divide(*drifts)), [2, 4], rtol=1e-9, atol=0.25)
    found = A.ladder(
        DECAYING, ac.Midpoint(), q0=[1.0], v0=[0.3], duration=5.0, h=[0.1, 0.05], orders=(2, 4)
    )
    np.testing.assert_allclose(found.drifts[1:], np.transpose(drifts), rtol=1e-12)
    np.testing.assert_allclose(found.slopes, [2, 2, 4], rtol=1e-9, atol=0.25)
    assert "momentum of time" in str(found)


@pytest.mark.parametrize("steps", [3, 4])
def test_a_trajectory_too_short_for_a_modified_hamiltonian(steps):
    """Of order 4 it has one value over 4 steps, which cannot drift, and none over 3."""
    traj = ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.3], h=0.1, steps=steps)
    modified = A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 4)
    with pytest.raises(
        ValueError, match=rf"order 4 is seen over \d steps or more.*this trajectory has {steps}"
    ):
        modified.drift(traj)
    if steps == 4:
        assert modified.along(traj).shape == (1,)
    brief = ac.simulate(DECAYING, ac.Midpoint(), q0=[1.0], v0=[0.3], h=0.1, steps=steps)
    with pytest.raises(ValueError, match=r"seen over \d steps or more"):
        A.modified_hamiltonian(DECAYING, ac.Midpoint(), 4).drift(brief)


def test_modified_field_and_distance_to_its_flow():
    """The step is the time-h flow of the modified field, up to its truncation: one RK4 step of it
    is far nearer than one of the true field.
    """
    M = A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 8)
    q, p, h = jnp.array([0.7]), jnp.array([0.9]), 0.2
    field = jax.jit(lambda z: jnp.concatenate(M.field(0.0, h, z[:1], z[1:])))
    step = jnp.concatenate(ac.discrete(PENDULUM, ac.Midpoint()).hamiltonian_flow(0.0, h, q, p))

    def flow(f, z, parts=20):
        for _ in range(parts):
            e = h / parts
            k1 = f(z)
            k2 = f(z + e / 2 * k1)
            k3 = f(z + e / 2 * k2)
            z = z + e / 6 * (k1 + 2 * k2 + 2 * k3 + f(z + e * k3))
        return z

    z = jnp.concatenate([q, p])
    true = flow(lambda z: jnp.stack([z[1], -jnp.sin(z[0])]), z)
    assert float(jnp.max(jnp.abs(true - step))) > 1e-4
    assert float(jnp.max(jnp.abs(flow(field, z) - step))) < 2e-7


def test_backward_error_says_when_it_cannot():
    with pytest.raises(ValueError, match="force or a constraint"):
        A.modified_hamiltonian(damped_spring.system, ac.Midpoint(), 4)
    with pytest.raises(ValueError, match="even number"):
        A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 3)
    with pytest.raises(ValueError, match="no fixed formula"):
        ac.symbolic(PENDULUM).modified(SIMPSON)
    with pytest.raises(ValueError, match="save_every=1"):
        A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 4).along(
            ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=20, save_every=2)
        )


@pytest.mark.parametrize(
    "h",
    [
        0.01,
        [0.1, 0.05],
        [[0.1], [0.05], [0.025]],
        [0.1, 0.05, -0.01],
        "small",
        [0.1, 0.05, float("nan")],
    ],
)
def test_bad_step_sizes_are_named(h):
    with pytest.raises(ValueError, match=r"^h must be"):
        A.order(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], duration=1.0, h=h)
    if np.ndim(h) != 1:
        with pytest.raises(ValueError, match=r"^h must be"):
            A.ladder(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], duration=1.0, h=h)


# ---------------------------------------------------------------- steps, regularity, the card


def test_step_bound():
    """|f| on the ball of radius 2R around the origin of an oscillator is 2R omega (omega >= 1, m =
    1, q and p of one size).
    """
    found = A.step_bound(
        ac.mechanical(1.0, lambda t, q, p: 0.5 * 9.0 * q[0] ** 2, 1), q0=[0.0], v0=[0.0], R=0.5
    )
    assert abs(found.M - 2 * 0.5 * 9.0) < 1e-2
    assert found.alpha == pytest.approx(0.5 / 9.0, rel=1e-3)
    assert found.frequency == pytest.approx(3.0, rel=1e-9)
    assert found.stable == pytest.approx(2 / 3)
    assert "no limit of stability" in found.text()


def test_regularity():
    found = A.regularity(
        double_pendulum.system, ac.Midpoint(), q0=[1.0, 1.5], v0=[0.0, 0.0], h=0.05
    )
    assert found.regular
    assert found.hyperregular
    assert found.discrete_condition is not None
    assert "is regular" in found.text()
    pair = A.regularity(
        ac.System(lambda t, q, v, p: 0.5 * (v[0] + v[1]) ** 2, ac.Euclidean(2), name="pair")
    )
    assert not pair.regular
    assert pair.hyperregular is False
    assert "constraint_algorithm" in pair.text()
    relativistic = A.regularity(
        ac.System(lambda t, q, v, p: -jnp.sqrt(1 - 0.001 * v @ v), ac.Euclidean(2))
    )
    assert relativistic.regular
    assert relativistic.hyperregular is None
    with pytest.raises(ValueError, match="needs q0, v0 and h"):
        A.regularity(PENDULUM, ac.Midpoint())


def test_card():
    kepler = ac.mechanical(
        1.0,
        lambda t, q, p: -1 / jnp.linalg.norm(q),
        2,
        name="Kepler",
        coordinates=("x [m]", "y [m]"),
    )
    card = A.audit(kepler, ac.Midpoint(), q0=[1.0, 0.0], v0=[0.0, 1.2], h=0.05, steps=400)
    assert card.order.slope == pytest.approx(2, abs=0.05)
    assert card.symplectic is not None
    assert card.symplectic < 1e-12
    assert len(card.momenta) == 1
    assert card.momenta[0][1] < 1e-12
    assert card.energy is not None
    assert 1e-5 < card.energy < 1e-2
    assert card.modified is not None
    assert card.modified < 1e-3 * card.energy
    assert card.reversal is not None
    assert card.reversal < 1e-12
    assert "rotation in the plane (x, y)" in card.text()
    assert card.html().count("<tr>") == len(card.rows()) + 1
    assert len(card.figure().axes) == 3


def test_card_of_what_is_not_conserved():
    card = A.audit(DECAYING, ac.LeftRectangle(), q0=[1.2], v0=[0.4], h=0.05, steps=100)
    assert card.energy is None
    assert card.reversal is not None
    assert card.reversal < 1e-12
    assert "not conserved" in card.text()
