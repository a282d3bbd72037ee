"""The continuous side against equations derived by SymPy and closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac


def test_accelerations_of_a_driven_system_against_sympy(rng):
    """Mass that depends on q and t, coupling, force: nothing is constant."""
    t = sp.Symbol("t")
    x, y = sp.Function("x")(t), sp.Function("y")(t)
    dx, dy = x.diff(t), y.diff(t)
    L = (
        (1 + t**2 * sp.cos(y) ** 2) * dx**2 / 2
        + sp.exp(x / 3) * dy**2
        + t * x * dx * dy / 5
        + sp.sin(t) * y * dx
        - x**2 * y
    )
    F = (-dx * dy, sp.cos(t) - dy**3)
    equations = [
        sp.diff(sp.diff(L, v), t) - sp.diff(L, q) - f for q, v, f in ((x, dx, F[0]), (y, dy, F[1]))
    ]
    solution = sp.solve(equations, [x.diff(t, 2), y.diff(t, 2)])
    system = ac.System(
        lambda t, q, v, params: (
            (1 + t**2 * jnp.cos(q[1]) ** 2) * v[0] ** 2 / 2
            + jnp.exp(q[0] / 3) * v[1] ** 2
            + t * q[0] * v[0] * v[1] / 5
            + jnp.sin(t) * q[1] * v[0]
            - q[0] ** 2 * q[1]
        ),
        ac.Euclidean(2),
        force=lambda t, q, v, params: jnp.array([-v[0] * v[1], jnp.cos(t) - v[1] ** 3]),
    )
    for _ in range(5):
        time, q, v = rng.uniform(0, 2), rng.normal(size=2), rng.normal(size=2)
        values = [(dx, v[0]), (dy, v[1]), (x, q[0]), (y, q[1]), (t, time)]
        exact = [float(solution[c.diff(t, 2)].subs(values)) for c in (x, y)]
        np.testing.assert_allclose(
            ac.accelerations(system)(time, jnp.array(q), jnp.array(v)), exact, rtol=1e-12
        )


def test_reference_reaches_its_tolerance():
    system = ac.System(
        lambda t, q, v, k: 0.5 * v[0] ** 2 - 0.5 * k * q[0] ** 2, ac.Euclidean(1), 4.0
    )
    ts = np.linspace(1.0, 11.0, 11)
    q, v = ac.reference(system, q0=[1.0], v0=[0.5], ts=ts)
    s = 2 * (ts - 1)
    np.testing.assert_allclose(q[:, 0], np.cos(s) + 0.25 * np.sin(s), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(v[:, 0], -2 * np.sin(s) + 0.5 * np.cos(s), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("ts", [[0.0], [0.0, 0.0], [1.0, 0.0], [[0.0, 1.0]]])
def test_bad_times_are_named(ts, pendulum):
    with pytest.raises(ValueError, match="increasing times"):
        ac.reference(pendulum, q0=[0.1], v0=[0.0], ts=ts)


def test_a_solution_that_ends_is_reported():
    """q'' = 2 q^3 through (1, 1) is 1/(1 - t): there is nothing to integrate beyond t = 1."""
    system = ac.System(lambda t, q, v, params: 0.5 * v[0] ** 2 + 0.5 * q[0] ** 4, ac.Euclidean(1))
    with pytest.raises(RuntimeError, match="may not exist that far"):
        ac.reference(system, q0=[1.0], v0=[1.0], ts=[0.0, 2.0], max_steps=10_000)


def test_reference_is_as_accurate_inside_as_at_the_end():
    ts = np.linspace(0, 10, 38)
    q, v = ac.reference(
        ac.mechanical(1.0, lambda t, q, params: 0.5 * q[0] ** 2, 1), q0=[1.0], v0=[0.0], ts=ts
    )
    np.testing.assert_allclose(q[:, 0], np.cos(ts), rtol=0, atol=2e-12)
    np.testing.assert_allclose(v[:, 0], -np.sin(ts), rtol=0, atol=2e-12)


def test_accelerations_are_compiled_once():
    """A second system that is built alike, and a second call, trace nothing; lists and NumPy's
    arrays will do.
    """
    traced = []

    def lagrangian(t, q, v, k):
        traced.append(t)
        return 0.5 * v @ v - 0.25 * k * (q @ q) ** 2

    system = ac.System(lagrangian, ac.Euclidean(2), 2.0)
    first = ac.accelerations(system)(0.0, [1.0, 2.0], np.array([0.5, 0.0]))
    np.testing.assert_allclose(first, [-10.0, -20.0], rtol=1e-15)
    count = len(traced)
    np.testing.assert_allclose(
        ac.accelerations(system.with_params(4.0))(1.0, [1.0, 2.0], [0.0, 0.0]),
        [-20.0, -40.0],
        rtol=1e-15,
    )
    assert len(traced) == count
    with pytest.raises(ValueError, match=r"v must have shape \(2,\)"):
        ac.accelerations(system)(0.0, [1.0, 2.0], [0.0])


def test_accelerations_say_why_there_are_none():
    """Constraints that depend on each other, exactly and in the last digit only, and a direction
    without inertia.
    """
    for factor in (2.0, np.pi):
        twice = ac.mechanical(
            1.0,
            None,
            2,
            holonomic=lambda t, q, p, c=factor: jnp.stack([q @ q - 1, c * (q @ q - 1)]),
        )
        with pytest.raises(
            ValueError,
            match=(
                r"depend on each other: their matrix has rank 1 of 2 at t = 0.5, q = \[0.6, 0.8\]"
            ),
        ):
            ac.accelerations(twice)(0.5, [0.6, 0.8], [0.8, -0.6])
    with pytest.raises(ValueError, match="is singular: d2L/dv2 has rank 1 of 2"):
        ac.accelerations(ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 - q @ q, ac.Euclidean(2)))(
            0.0, [1.0, 1.0], [0.0, 0.0]
        )


def duffing(t, q, v, params):
    return v @ v / 2 - q @ q / 2 - jnp.sum(q**4) / (4 * params["l"] ** 2)


def test_the_reference_is_as_good_in_any_units():
    """Duffing's oscillator and what `order` measures by it, with the unit of length changed."""
    system = ac.System(duffing, ac.Euclidean(1), {"l": 1.0})
    found = []
    for length in (1.0, 2.0**-40, 2.0**40):
        own = system.with_params({"l": length})
        q, v = ac.reference(own, q0=[length], v0=[0.0], ts=[0.0, 10.0])
        start = {"q0": [length], "v0": [0.0], "duration": 1.0, "h": [0.2, 0.1, 0.05]}
        found.append([*q[-1] / length, *v[-1] / length])
        found[-1].append(ac.analysis.order(own, ac.Midpoint(), **start).slope)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-11)


def test_a_number_that_is_zero_but_for_rounding_costs_no_steps():
    """Along a line through the centre, in axes that are turned: what leads away from the line is
    rounding, and is compared with the motion along it.
    """
    turn = np.linalg.qr(np.array([[1.0, 2.0, 2.0], [2.0, 1.0, -1.0], [0.3, -1.0, 1.0]]))[0]
    system = ac.System(
        lambda t, q, v, p: v @ v / 2 - jnp.sum((turn @ q) ** 2) ** 2 / 4, ac.Euclidean(3)
    )
    line = ac.mechanical(1.0, lambda t, q, p: q[0] ** 4 / 4, 1)
    ts = [0.0, 10.0]
    q, v = ac.reference(system, q0=[1.0, 0, 0], v0=[0.0, 0, 0], ts=ts, max_steps=300)
    q_line, v_line = ac.reference(line, q0=[1.0], v0=[0.0], ts=ts)
    np.testing.assert_allclose(q[-1], [*q_line[-1], 0, 0], atol=1e-10)
    np.testing.assert_allclose(v[-1], [*v_line[-1], 0, 0], atol=1e-10)
