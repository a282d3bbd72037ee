"""Backward error analysis: modified Hamiltonians in numbers and in symbols."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.analysis.neighbours import weights
from accion.gallery import damped_spring, heisenberg
from tests.analysis.systems import DECAYING, PENDULUM, SIMPSON

A = ac.analysis


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


def test_series_of_a_vakonomic_system():
    """The midpoint rule's K_2 = -(1/24) H''(X, X), X = (dH/dp, -dH/dq), on Heisenberg's group; and
    with the numbers of `modified_hamiltonian` the error of the first term left out.
    """
    eqs = ac.symbolic(heisenberg.shortest)
    K = eqs.modified(ac.Midpoint(), 2).hamiltonian_terms
    z, p, x = eqs.q, sp.symbols("p_x p_y p_z"), sp.symbols("x y z")
    onto = dict(zip((*z, *(sp.Function(a.name)(eqs.t) for a in p)), (*x, *p), strict=True))
    H, K2 = (sp.sympify(e).xreplace(onto) for e in (K[0], K[2]))
    X = [*(sp.diff(H, a) for a in p), *(-sp.diff(H, a) for a in x)]
    closed = -sp.Matrix(X).dot(sp.hessian(H, (*x, *p)) * sp.Matrix(X)) / 24
    assert K[1] == 0
    assert sp.expand(K2 - closed) == 0
    with pytest.raises(ValueError, match="no power series"):
        _ = eqs.modified(ac.Midpoint(), 2).terms
    with pytest.raises(ValueError, match="share one multiplier"):
        eqs.modified(ac.Trapezoid(), 2)


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.LeftRectangle()], ids=str)
def test_series_of_a_vakonomic_system_that_depends_on_time(method):
    def L(t, q, v, params):
        return jnp.exp(0.2 * t) * (0.5 * v[0] ** 2 + v[1] ** 2) - jnp.sin(q[0]) - q[1] ** 2 / 2

    def Phi(t, q, v, params):
        return (v[1] - (1 + q[0] ** 2) * v[0])[None]

    system = ac.System(L, ac.Euclidean(2), vakonomic=Phi, coordinates=("x", "y"))
    eqs = ac.symbolic(system, seconds=2)
    terms, x = eqs.modified(method, 2).inner_hamiltonian_terms, eqs.variables
    at = (0.4, 0.3, 0.2, 0.5, 0.4)
    series = [float(sp.lambdify((x.t, *x.q, *x.p), K)(*at)) for K in terms]
    H = jax.jit(A.modified_hamiltonian(system, method, 8).__call__)
    errors = [
        abs(
            float(H(at[0], h, jnp.array(at[1:3]), jnp.array(at[3:])))
            - sum(c * h**k for k, c in enumerate(series))
        )
        for h in (0.1, 0.05)
    ]
    expected = 4 if method.symmetric else 3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(expected, abs=0.2)


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
    power of h (Colombo-Gamonal, Thm 5.2).
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
    # No order of an integral comes between: a high one goes down to the rounding of H.
    high = A.modified_hamiltonian(DECAYING, ac.Midpoint(), 12).extended_drift(traj)
    assert high < 1e-11
    found = A.ladder(
        DECAYING, ac.Midpoint(), q0=[1.0], v0=[0.3], duration=5.0, h=[0.1, 0.05], orders=(2, 4)
    )
    np.testing.assert_allclose(found.drifts[1:], np.transpose(drifts), rtol=1e-12)
    np.testing.assert_allclose(found.slopes, [2, 2, 4], rtol=1e-9, atol=0.25)
    assert "momentum of time" in str(found)


def test_the_constants_of_the_exponential_law():
    """C h e^(-gamma/h), fitted to some steps, says how good a smaller one is."""
    orders = tuple(range(2, 42, 4))
    motion = {"q0": [1.2], "v0": [0.0], "duration": 40.0, "orders": orders}
    found = A.ladder(PENDULUM, ac.Midpoint(), h=[0.7, 0.6, 0.5, 0.4, 0.35], **motion)
    law = found.exponential()
    assert len(law.h) == 5
    assert law.off < 0.5
    smaller = A.ladder(PENDULUM, ac.Midpoint(), h=[0.3], **motion).best[0]
    assert abs(np.log(law.C * 0.3 * np.exp(-law.gamma / 0.3) / smaller)) < np.log(3)
    assert smaller < found.best[-1] / 4
    with pytest.raises(ValueError, match=r"0 of 5 steps; three or more"):
        replace(found, drifts=np.cumprod(np.full((4, 5), 0.1), axis=0)).exponential()
    # Drifts that are roundoff follow no law.
    small = {**motion, "duration": 2.0, "orders": (8, 10, 12)}
    with pytest.raises(ValueError, match="above roundoff"):
        A.ladder(PENDULUM, ac.Midpoint(), h=[0.02, 0.015, 0.01], **small).exponential()


INERTIA, CENTRE = jnp.array([1.0, 2.0, 3.5]), jnp.array([0.1, -0.3, 0.8])


def heavy(t, R, w, p):
    """A top whose Lagrangian grows."""
    return jnp.exp(0.1 * t) * (0.5 * w @ (INERTIA * w) - 1.5 * R[2] @ CENTRE)


def pulled(t, z, v, p):
    """A body and a particle that it pulls at along a direction of its own."""
    R, x = z
    return 0.5 * v[:3] @ (INERTIA * v[:3]) + 0.5 * v[3:] @ v[3:] - (R[:, 0] @ x) ** 2 - x @ x


@pytest.mark.parametrize(
    ("system", "start"),
    [
        (ac.System(heavy, ac.SO3()), {"q0": np.eye(3), "v0": [0.3, 0.5, 1.0]}),
        (
            ac.System(pulled, ac.Product(ac.SO3(), ac.Euclidean(3))),
            {"q0": (np.eye(3), [1.0, 0.2, 0.0]), "v0": [0.1, 0.4, 0.2, 0.0, 0.3, 0.5]},
        ),
    ],
    ids=["SO(3), of time", "a product"],
)
def test_ladder_on_groups(system, start):
    found = A.ladder(
        system, ac.Midpoint(), **start, duration=2.0, h=[0.05, 0.025], orders=(2, 4, 6)
    )
    np.testing.assert_allclose(found.slopes, [2, 2, 4, 6], rtol=1e-9, atol=0.25)


def test_the_momentum_of_time_of_a_moving_constraint():
    """A vakonomic system whose constraint moves: H2, H4 with their orders need lam.dPhi/dt."""
    held = ac.System(
        lambda t, q, v, p: 0.5 * v @ v - 0.5 * q @ q,
        ac.Euclidean(2),
        vakonomic=lambda t, q, v, p: jnp.array([v[1] - jnp.sin(2 * t) * q[0]]),
    )
    start = {"q0": [1.0, 0.2], "v0": [0.3, 0.0], "lam0": [0.4]}
    drifts = []
    for h in (0.05, 0.025):
        traj = ac.simulate(held, ac.Midpoint(), **start, h=h, steps=round(3 / h))
        drifts.append(
            [A.modified_hamiltonian(held, ac.Midpoint(), k).extended_drift(traj) for k in (2, 4)]
        )
    np.testing.assert_allclose(np.log2(np.divide(*drifts)), [2, 4], rtol=1e-9, atol=0.3)


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
    with pytest.raises(ValueError, match="does not support systems with a force"):
        A.modified_hamiltonian(damped_spring.system, ac.Midpoint(), 4)
    with pytest.raises(ValueError, match="even number"):
        A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 3)
    with pytest.raises(ValueError, match="no fixed formula"):
        ac.symbolic(PENDULUM).modified(SIMPSON)
    with pytest.raises(ValueError, match="save_every=1"):
        A.modified_hamiltonian(PENDULUM, ac.Midpoint(), 4).along(
            ac.simulate(PENDULUM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=20, save_every=2)
        )
