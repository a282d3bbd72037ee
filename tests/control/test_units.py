"""Optimal controls are the same in any units: of mass, length and time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac

MIDPOINT, STEPS = ac.Midpoint(), 16
# (mass, length, time): powers of two, which lose nothing, and the units of the laboratory
UNITS = [
    (2.0**-40, 2.0**40, 2.0**-40),
    (2.0**40, 2.0**-40, 2.0**40),
    (2.0**30, 2.0**-20, 2.0**10),
    (1e-6, 1e-3, 1.0),
    (1e-3, 1e-3, 1e3),
]


def pendulum(t, q, v, p):
    return 0.5 * p["m"] * p["l"] ** 2 * v[0] ** 2 + p["m"] * p["g"] * p["l"] * jnp.cos(q[0])


def cart_pole(t, q, v, p):
    """One coordinate is a length, the other an angle."""
    x = v[0] + p["l"] * v[1] * jnp.cos(q[1]), p["l"] * v[1] * jnp.sin(q[1])
    height = -p["l"] * jnp.cos(q[1])
    return 0.5 * p["m"] * (2 * v[0] ** 2 + x[0] ** 2 + x[1] ** 2) - p["m"] * p["g"] * height


def bob(t, q, v, p):
    return 0.5 * p["m"] * v @ v - p["m"] * p["g"] * q[1]


def circle(t, q, p):
    return jnp.array([q @ q - p["l"] ** 2])


def tangent(t, q, p):
    return jnp.array([[-q[1]], [q[0]]])


def square(t, q, v, u, p):
    return u @ u


def not_above(t, q, v, u, p):
    """q_x is at most 1.02 l: where it must go around."""
    return q[0] - 1.02 * p["l"]


def params(m, l, tau):
    return {"m": m, "l": l, "g": 9.81 * l / tau**2}


def swing_up(m, l, tau, **more):
    system = ac.System(pendulum, ac.Euclidean(1), params(m, l, tau))
    ends = {"start": ([0.0], [0.0]), "end": ([np.pi], [0.0]), "duration": 3.0 * tau}
    return ac.ControlProblem(system, square, actuated=[0], **ends, **more)


def cart(m, l, tau):
    system = ac.System(cart_pole, ac.Euclidean(2), params(m, l, tau))
    ends = {"start": ([0, 0], [0, 0]), "end": ([0, np.pi], [0, 0]), "duration": 2.0 * tau}
    return ac.ControlProblem(system, square, actuated=[0], **ends)


def rope(m, l, tau):
    """A torque over the square of the length, on a bob on a circle."""
    system = ac.System(bob, ac.Euclidean(2), params(m, l, tau), holonomic=circle)
    ends = {"start": ([0, -l], [0, 0]), "end": ([l, 0], [0, 0]), "duration": 1.0 * tau}
    return ac.ControlProblem(system, square, actuation=tangent, **ends)


def bounded(m, l, tau):
    """With a bounded torque, which it reaches."""
    torque = 5.2 * m * l**2 / tau**2
    return swing_up(m, l, tau, control_bounds=(-torque, torque))


def relative(problem, units, **settings):
    """The solution in units of the mass, length and time: (cost, q, u, iterations)."""
    m, l, tau = units
    s = ac.optimize(problem(*units), MIDPOINT, STEPS, **settings)
    u = m / tau**2 * {swing_up: l**2, bounded: l**2, cart: l, rope: 1.0}[problem]
    q = s.q / {swing_up: 1.0, bounded: 1.0, cart: np.array([l, 1.0]), rope: l}[problem]
    return s.cost / (u**2 * tau), q, s.u / u, s.iterations


@pytest.mark.parametrize(
    ("problem", "settings"),
    [
        (swing_up, {}),
        (swing_up, {"solver": "ipopt"}),
        (swing_up, {"formulation": "vakonomic"}),
        (cart, {}),
        pytest.param(rope, {}, marks=pytest.mark.slow),
        (bounded, {}),
    ],
    ids=["sqp", "ipopt", "vakonomic", "two-units", "constraint", "bounds"],
)
def test_the_optimum_does_not_depend_on_units(problem, settings):
    cost, q, u, iterations = relative(problem, (1.0, 1.0, 1.0), **settings)
    for units in UNITS:
        same = relative(problem, units, **settings)
        assert_allclose(same[0], cost, rtol=1e-8)
        assert_allclose(same[1], q, atol=1e-6)
        assert_allclose(same[2], u, atol=1e-5 * np.abs(u).max())
        assert abs(same[3] - iterations) <= (0 if units in UNITS[:3] else 8)


def test_several_starts_do_not_depend_on_units():
    """Random waves are of the size of the motion."""
    found = [
        ac.optimize(swing_up(*units), MIDPOINT, STEPS, starts=3, spread=0.5)
        for units in ((1.0, 1.0, 1.0), (2.0**-10, 2.0**12, 2.0**9))
    ]
    unit = 2.0**-10 * 2.0**24 / 2.0**18
    costs = [[s.cost for s in each.optima] for each in found]
    assert_allclose(np.array(costs[1]) / (unit**2 * 2.0**9), costs[0], rtol=1e-9)


@pytest.mark.slow
def test_necessary_conditions_do_not_depend_on_units():
    """Pontryagin's conditions by multiple shooting, and what the replay says."""
    found = []
    for units in ((1.0, 1.0, 1.0), UNITS[0], UNITS[3]):
        m, l, tau = units
        s = ac.optimize(swing_up(*units), MIDPOINT, STEPS)
        e, unit = s.extremal(8), m * l**2 / tau**2
        costates = e.costates / (unit**2 * tau) / np.array([1.0, tau])[:, None]
        found.append((e.cost / (unit**2 * tau), costates, s.replay_miss, e.symplectic))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert_allclose(b, a, rtol=1e-6, atol=1e-8)


def test_an_end_is_on_its_constraint_in_any_units():
    for l in (1e-4, 1e12):
        rope(1.0, l, 1.0)
        system = rope(1.0, l, 1.0).system
        with pytest.raises(ValueError, match="off the constraint"):
            ac.ControlProblem(
                system,
                square,
                actuation=tangent,
                start=([0, -1.2 * l], [0, 0]),
                end=([l, 0], [0, 0]),
                duration=1.0,
            )


def test_a_path_constraint_is_kept_in_any_units():
    found = []
    for units in ((1.0, 1.0, 1.0), (1e-3, 1e-4, 1.0), (1.0, 1e5, 1.0)):
        m, l, tau = units
        system = ac.System(bob, ac.Euclidean(2), params(m, l, tau))
        speed = 2 * l / tau
        s = ac.optimize(
            ac.ControlProblem(
                system,
                square,
                actuated=[0, 1],
                start=([0, 0], [speed, 0]),
                end=([l, l], [0, 0]),
                duration=tau,
                path={"wall": not_above},
            ),
            MIDPOINT,
            8,
        )
        assert s.path_worst["wall"].value <= 2e-6 * l
        found.append((s.cost / (m * l / tau**2) ** 2 / tau, s.q / l))
    for cost, q in found[1:]:
        assert_allclose(cost, found[0][0], rtol=1e-5)
        assert_allclose(q, found[0][1], atol=1e-4)


def test_the_gradient_of_the_least_cost():
    """The envelope theorem, against differences of solutions."""

    def cost(p):
        system = ac.System(pendulum, ac.Euclidean(1), p)
        problem = ac.ControlProblem(
            system, square, actuated=[0], start=([0], [0]), end=([np.pi], [0]), duration=3.0
        )
        return ac.optimize(problem, MIDPOINT, STEPS, tolerance=1e-11)

    p, d = params(1.0, 1.0, 1.0), 1e-4
    gradient = cost(p).cost_gradient()
    for name in p:
        sides = [cost(p | {name: p[name] + s}).cost for s in (d, -d)]
        assert_allclose(gradient[name], (sides[0] - sides[1]) / (2 * d), rtol=1e-6)


@pytest.mark.slow
def test_a_saved_solution_has_it_too(tmp_path):
    problem = swing_up(1.0, 1.0, 1.0)
    s = ac.optimize(problem, MIDPOINT, STEPS)
    s.save(tmp_path / "swing.zarr")
    again = ac.control.load(tmp_path / "swing.zarr", problem).cost_gradient()
    for name, slope in s.cost_gradient().items():
        assert_allclose(again[name], slope, rtol=1e-7)


def test_what_jax_traces_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"cost_gradient\(\)"):
        jax.grad(lambda m: ac.optimize(swing_up(m, 1.0, 1.0), MIDPOINT, STEPS).cost)(1.0)
