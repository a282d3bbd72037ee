"""Where Legendre transforms, continuous and discrete, are one to one everywhere: by bounds that are
worked out by hand, and by functions of which it is known.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.analysis import hyperregular
from accion.analysis.intervals import Undecided, bounds

MIDPOINT, TRAPEZOID = ac.Midpoint(), ac.Trapezoid()
PENDULUM = ac.mechanical(1.0, lambda t, q, p: -jnp.cos(q[0]), 1)
HILL = ac.mechanical(1.0, lambda t, q, p: -0.25 * q[0] ** 4, 1)
LINE = ac.Euclidean(1)


def several(x):
    return jnp.stack(
        [
            jnp.sin(x[0]) * x[1],
            jnp.exp(-(x[0] ** 2)) + jnp.tanh(x[1]),
            jnp.cosh(x[0]) / (2 + jnp.cos(x[1])),
            jnp.sqrt(1 + x[0] ** 2) ** 3 - jnp.log(3 + jnp.sin(x[1])),
            (x[0] * x[1]) ** 4,
            jnp.linalg.norm(x + 10),
            (1.5 + jnp.sin(x[0])) ** 0.3,
        ]
    )


def curved(x):
    return jax.hessian(lambda x: jnp.cos(x[0] - x[1]) * x[1] ** 2)(x)


@pytest.mark.parametrize("f", [several, curved])
def test_values_are_between_their_bounds(f, rng):
    run = jax.jit(jax.vmap(f))
    for _ in range(20):
        low, wide = 2 * rng.normal(size=2), rng.uniform(0, 2, size=2)
        least, most = bounds(f, (low, low + wide))
        inside = np.asarray(run(low + wide * rng.uniform(size=(50, 2))))
        assert np.all(least <= inside)
        assert np.all(inside <= most)
        point, same = bounds(f, (low, low))
        np.testing.assert_allclose(point, same, rtol=1e-12, atol=1e-12)


def test_bounds_that_are_not_known():
    line = (np.full(1, -np.inf), np.full(1, np.inf))
    least, most = bounds(lambda x: jnp.stack([jnp.cos(x[0]), x[0] ** 2]), line)
    np.testing.assert_array_equal(most, [1.0, np.inf])
    assert least[0] == -1
    assert least[1] == 0
    for f, words in (
        (lambda x: 1 / x, "divides by what may be zero"),
        (jnp.sqrt, "its sqrt is not defined"),
        (jnp.abs, "no bounds are known of `abs`"),
        (lambda x: jnp.where(x > 0, x, 0.0), "a comparison that changes"),
    ):
        with pytest.raises(Undecided, match=words):
            bounds(f, line)


def test_the_pendulum_by_the_midpoint_rule():
    """h D12 Ld = -1 - (h^2/4) cos: one to one just below h = 2, singular somewhere above; by the
    trapezoid rule -1 for every h.
    """
    for h in (0.1, 1.9):
        found = hyperregular(PENDULUM, MIDPOINT, h=h)
        assert found.holds
        assert found.bound == pytest.approx(h**2 / 4, rel=1e-6)
        assert "one to one and onto" in str(found)
    found = hyperregular(PENDULUM, MIDPOINT, h=2.1)
    assert found.holds is False
    assert "both signs" in found.text()
    for h in (2.1, 50.0):
        assert hyperregular(PENDULUM, TRAPEZOID, h=h).holds
    angle = ac.System(lambda t, q, v, p: 0.5 * v @ v + jnp.cos(q[0]), ac.Torus(1))
    assert hyperregular(angle, MIDPOINT, h=0.1).holds


def test_a_box():
    """A hill V = -q^4/4: h D12 Ld = -1 + 3 h^2 q^2/4 at the middle q, which is singular at |q| = 2
    /(h sqrt 3); both maps are one to one where it is not reached.
    """
    assert hyperregular(HILL, MIDPOINT, h=0.1).holds is False
    near = hyperregular(HILL, MIDPOINT, h=0.1, box=(-1.0, 1.0))
    assert near.holds
    assert "in the box" in str(near)
    assert "onto" not in str(near)
    q = np.linspace(-1, 1, 41)
    p = ac.discrete(HILL, MIDPOINT).legendre_minus
    moved = [float(p(0.0, 0.1, [0.3], [each])[1][0]) for each in q]
    assert np.all(np.diff(moved) > 0)
    # a valley has it everywhere, which its bounds do not show
    valley = ac.mechanical(1.0, lambda t, q, p: 0.25 * q[0] ** 4, 1)
    found = hyperregular(valley, MIDPOINT, h=0.1)
    assert found.holds is None
    assert "varies too much" in found.why
    assert hyperregular(valley, TRAPEZOID, h=0.1).holds


def test_lagrangians():
    """v -> dL/dv: of a double pendulum at all angles, of a singular L, of a relativistic one, whose
    velocities are bounded, of a body on SO(3), and under a weight at any time.
    """

    def double(t, q, v, p):
        return v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * jnp.cos(q[0] - q[1])

    found = hyperregular(ac.System(double, ac.Euclidean(2)))
    assert found.holds
    # C M = 1 + c/sqrt 2 (off the diagonal, masses 2 and 1), |c| <= 1
    assert found.bound == pytest.approx(2**-0.5, rel=1e-6)
    one = ac.System(lambda t, q, v, p: 0.5 * (v[0] + v[1]) ** 2, ac.Euclidean(2))
    assert hyperregular(one).holds is False
    fast = ac.System(lambda t, q, v, p: -jnp.sqrt(1 - v @ v), LINE)
    assert hyperregular(fast).holds is None
    body = ac.System(lambda t, q, v, p: 0.5 * v @ v - q[2, 2] * v[0], ac.SO3())
    assert hyperregular(body).holds
    # the transforms of pairs cannot be: SO(3) x SO(3) is compact, T*SO(3) is not
    assert hyperregular(body, MIDPOINT, h=0.1).holds is False
    drone = ac.System(lambda t, q, v, p: 0.5 * v @ v - q[1][1, 2], ac.Product(LINE, ac.SE2()))
    assert hyperregular(drone).holds
    assert hyperregular(drone, MIDPOINT, h=0.1).holds is False
    fading = ac.System(lambda t, q, v, p: 0.5 * v @ v, LINE, weight=lambda t, p: jnp.exp(13 * t))
    assert hyperregular(fading, t=100.0).holds
    assert hyperregular(fading, MIDPOINT, h=0.1, t=100.0).holds


def test_what_is_given_in_discrete_time():
    def Ld(t, h, q0, q1, p):
        return jnp.sum((q1 - q0) ** 2) / (2 * h) + 0.5 * h * jnp.sum(jnp.sin(q0) * jnp.sin(q1))

    given = ac.DiscreteSystem(Ld, LINE)
    # h D12 = -1 + h^2 cos cos/2
    assert hyperregular(given, h=0.2).bound == pytest.approx(0.02, rel=1e-6)
    assert hyperregular(given, h=1.6).holds is False
    assert hyperregular(PENDULUM, ac.Galerkin(2), h=0.1).holds is None


def test_bad_input_is_named():
    for arguments, options, words in (
        ((PENDULUM, MIDPOINT), {}, "needs h"),
        ((PENDULUM, 3), {"h": 0.1}, "a method"),
        ((PENDULUM, MIDPOINT), {"h": 0.1, "box": (1.0, -1.0)}, "bounds of q"),
        ((PENDULUM, MIDPOINT), {"h": 0.1, "box": 3.0}, "bounds of q"),
    ):
        with pytest.raises(ValueError, match=words):
            hyperregular(*arguments, **options)
    held = ac.System(lambda t, q, v, p: 0.5 * v @ v, LINE, nonholonomic=lambda t, q, v, p: v)
    with pytest.raises(ValueError, match="without constraints"):
        hyperregular(held)
    thermal = ac.HigherOrderSystem(lambda t, q, v, a, p: 0.5 * a @ a, LINE)
    with pytest.raises(ValueError, match="regularity takes any kind"):
        hyperregular(thermal)
