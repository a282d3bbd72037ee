"""Whether a start is on its constraint: the same answer in any units."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.numerics.terms import terms

METHOD = ac.Midpoint()


def pendulum_L(t, q, v, params):
    return params["m"] * (v @ v / 2 - params["g"] * q[1])


def on_circle(t, q, params):
    return (q @ q - params["l"] ** 2)[None]


PENDULUM = ac.System(
    pendulum_L, ac.Euclidean(2), {"m": 1.0, "g": 9.81, "l": 1.0}, holonomic=on_circle
)


def run(length, q0, v0=(0.0, 0.0), **start):
    params = {"m": 1.0, "g": 9.81 * length, "l": length}
    given = {name: length * np.asarray(a) for name, a in (start or {"v0": v0}).items()}
    q0 = length * np.asarray(q0)
    return ac.simulate(PENDULUM, METHOD, q0=q0, **given, params=params, h=0.01, steps=2)


LENGTHS = [1.0, 1e-4, 1e-9, 1e12]


@pytest.mark.parametrize("length", LENGTHS)
def test_data_on_the_constraint_are_taken(length):
    turn = np.array([np.cos(0.7), np.sin(0.7)])
    for q0 in (turn, turn + 1e-9, [np.cos(np.pi / 2), 1.0], [1.0, 1e-17]):
        along = np.array([-q0[1], q0[0]])
        run(length, q0, along)
        run(length, q0, along + 1e-17)
        run(length, q0, p0=along)


@pytest.mark.parametrize("length", LENGTHS)
def test_data_off_the_constraint_are_refused(length):
    with pytest.raises(ValueError, match="q0 is off the constraint"):
        run(length, [1.2, 0.0])
    with pytest.raises(ValueError, match="q0 is off the constraint"):
        run(length, [1.0 + 1e-6, 0.0])
    with pytest.raises(ValueError, match="v0 is off the constraint"):
        run(length, [1.0, 0.0], [1e-3, 1.0])
    with pytest.raises(ValueError, match="p0 is off the constraint"):
        run(length, [1.0, 0.0], p0=[1e-3, 1.0])
    with pytest.raises(ValueError, match="q1 is off the constraint"):
        run(length, [1.0, 0.0], q1=[1.0, 0.01])


def test_a_start_at_zero_is_measured_by_what_is_computed_on_the_way():
    """cos(pi/2) is not zero, by rounding; at q = 0 no coordinate says how large its terms are."""

    def phi(t, q, params):
        return jnp.cos(q[:1] + np.pi / 2) - q[1:] / params["l"]

    def L(t, q, v, params):
        return v[0] ** 2 / 2 + (v[1] / params["l"]) ** 2 / 2

    system = ac.System(L, ac.Euclidean(2), {"l": 1.0}, holonomic=phi)
    for length in (1.0, 1e-12, 1e12):
        more = {"params": {"l": length}, "h": 0.1, "steps": 1}
        ac.simulate(system, METHOD, q0=[0.0, 0.0], v0=[1.0, -length], **more)
        with pytest.raises(ValueError, match="q0 is off"):
            ac.simulate(system, METHOD, q0=[0.0, 1e-6 * length], v0=[1.0, -length], **more)
        with pytest.raises(ValueError, match="v0 is off"):
            ac.simulate(system, METHOD, q0=[0.0, 0.0], v0=[1.0, length], **more)


def test_constraints_that_depend_on_each_other_are_told_in_any_units():
    def phi(t, q, params):
        return jnp.stack([q[0] - q[1], params["c"] * (q[1] - q[2])])

    def L(t, q, v, params):
        return v @ v / 2

    start = {"q0": [1.0, 1.0, 1.0], "v0": [1.0, 1.0, 1.0], "h": 0.1, "steps": 1}
    system = ac.System(L, ac.Euclidean(3), {"c": 1.0}, holonomic=phi)
    ac.simulate(system, METHOD, **start, params={"c": 1e-20})

    def twice(t, q, params):
        return jnp.stack([q[0] - q[1], params["c"] * (q[1] - q[0])])

    system = ac.System(L, ac.Euclidean(3), {"c": 1.0}, holonomic=twice)
    with pytest.raises(ValueError, match="depend on each other"):
        ac.simulate(system, METHOD, **start, params={"c": 1e-20})


def rod(t, q, params):
    return (q[1] / params["c"] - q[0] - 1)[None]


def two_masses(t, q, v, params):
    return v[0] ** 2 / 2 + 3 * (v[1] / params["c"]) ** 2 / 2


@pytest.mark.parametrize("c", [1.0, 2.0**-40, 2.0**40])
def test_projection_is_in_the_metric_of_the_masses(c):
    """Two masses, 1 and 3, on a rod of length 1: the light one moves three times as far as the
    heavy one; the second coordinate is in units of its own.
    """
    system = ac.System(two_masses, ac.Euclidean(2), {"c": c}, holonomic=rod)
    q, v = ac.project(system, [0.0, 2.0 * c], [1.0, -1.0 * c])
    np.testing.assert_allclose(q, [0.75, 1.75 * c], rtol=1e-15)
    np.testing.assert_allclose(v, [-0.5, -0.5 * c], rtol=1e-15)
    never = ac.System(
        two_masses, ac.Euclidean(2), {"c": c}, holonomic=lambda t, q, params: (q @ q + c)[None]
    )
    with pytest.raises(ValueError, match="no data near"):
        ac.project(never, [1.0, c], [0.0, 0.0])


def test_terms():
    """|df/da| |a| for what is given, and for what is computed on the way: x^2, y^2, their sum and
    the difference.
    """

    def f(x, radius):
        return (x[0] ** 2 + x[1] ** 2 - radius**2)[None]

    found = terms(f, jnp.array([3.0, -4.0]), 5.0)
    np.testing.assert_allclose(found.given, 2 * 9 + 2 * 16 + 2 * 25)
    assert found.inner >= 9 + 16 + 25 + 25
    np.testing.assert_allclose(terms(lambda x: jnp.sqrt(x), jnp.zeros(1)).given, 0)
