"""Step sizes, the bound of a step, regularity, and the card."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import double_pendulum
from tests.analysis.systems import DECAYING, PENDULUM

A = ac.analysis


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


def body(t, g, xi, inertia):
    return 0.5 * xi @ (inertia * xi)


def test_step_bound_on_a_group():
    """Of a body with unit inertia at rest M is the largest |dcayley^-1(e) p| on the ball, sqrt(4R^2
    - s) (1 + s/4) for p along e and s = |e|^2; about its axis of largest inertia a body nutates at
    w sqrt((I3 - I1) (I3 - I2)/(I1 I2)).
    """
    ball = ac.System(body, ac.SO3("cayley"), jnp.ones(3))
    found = A.step_bound(ball, q0=jnp.eye(3), v0=jnp.zeros(3), R=1.5, samples=64)
    assert pytest.approx(np.sqrt(13 / 3) * (1 + 7 / 6), rel=1e-3) == found.M
    other = ac.System(body, ac.SO3(), jnp.array([1.0, 2.0, 2.5]))
    found = A.step_bound(other, q0=jnp.eye(3), v0=[0.0, 0.0, 2.0], R=0.5, samples=8)
    assert found.frequency == pytest.approx(2 * np.sqrt(1.5 * 0.5 / 2), rel=1e-9)


def test_step_bound_on_a_product_of_flat_spaces_is_that_of_one():
    def L(t, q, v, params):
        return 0.5 * v @ v - jnp.cos(q[0]) * q[1]

    one = ac.System(L, ac.Euclidean(2))
    two = ac.System(
        lambda t, q, v, params: L(t, jnp.concatenate(q), v, params),
        ac.Product(ac.Euclidean(1), ac.Torus(1)),
    )
    a = A.step_bound(one, q0=[0.3, 0.4], v0=[1.0, 0.2], samples=16)
    b = A.step_bound(two, q0=([0.3], [0.4]), v0=[1.0, 0.2], samples=16)
    assert (a.M, a.frequency) == pytest.approx((b.M, b.frequency), rel=1e-12)


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
    # With the momentum of time the modified energy is.
    assert card.modified is not None
    assert card.modified < 1e-6
    assert "with the momentum of time" in card.text()
