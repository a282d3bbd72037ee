"""Where equations could go wrong without a word: names that meet, steps in a function, branches,
long loops, units.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac

t = sp.Symbol("t")


def line(lagrangian, n=1, params=None, **options):
    return ac.System(lagrangian, ac.Euclidean(n), params, name="line", **options)


def number(eqs, expr, time, q, v, lam=()):
    at = {x.diff(t): float(c) for x, c in zip(eqs.q, v, strict=True)}
    values = {x: float(c) for x, c in zip((*eqs.q, *eqs.lam), (*q, *lam), strict=True)}
    return float(
        expr.xreplace(at).xreplace(values).xreplace(eqs.values).xreplace({t: sp.Float(time)})
    )


def check_accelerations(system, q, v, time=0.4):
    found = ac.accelerations(system)(time, jnp.array(q), jnp.array(v))
    a, lam = found if isinstance(found, tuple) else (found, ())
    eqs = ac.symbolic(system)
    np.testing.assert_allclose(
        [number(eqs, e, time, q, v, lam) for e in eqs.accelerations], a, rtol=1e-9, atol=1e-10
    )
    return eqs


# ---------------------------------------------------------------- names

COORDINATES = [
    ("x", "x_dot"),
    ("x", "x_ddot"),
    ("x", "p_x"),
    ("p_x", "x"),
    ("alpha_dot", "alpha"),
    ("lambda", "lambda_dot"),
    ("x'", "x"),
    ("t", "t_1"),
]


@pytest.mark.parametrize("coordinates", COORDINATES, ids=str)
def test_coordinates_that_are_named_like_something_else(coordinates):
    def L(t, q, v, p):
        return v[0] ** 2 + 0.5 * v[1] ** 2 - 0.5 * q[0] ** 2 * q[1] + t * q[1] * v[0]

    system = line(
        L, 2, coordinates=coordinates, holonomic=lambda t, q, p: jnp.array([q[0] ** 2 + q[1] - t])
    )
    eqs = check_accelerations(system, [0.7, -0.3], [0.2, 0.5])
    assert (
        len({*eqs.q, *eqs.lam, *(sp.Function(f"p_{word}")(t) for word in eqs.variables.words)}) == 5
    )
    free = ac.symbolic(line(L, 2, coordinates=coordinates))
    p = ac.System.legendre(system, 0.4, jnp.array([0.7, -0.3]), jnp.array([0.2, 0.5]))
    at = {
        sp.Function(f"p_{word}")(t): float(x)
        for word, x in zip(free.variables.words, p, strict=True)
    }
    energy = float(system.energy(0.4, jnp.array([0.7, -0.3]), jnp.array([0.2, 0.5])))
    assert number(
        free, free.hamiltonian.xreplace(at), 0.4, [0.7, -0.3], [0.2, 0.5]
    ) == pytest.approx(energy, rel=1e-12)


def test_three_coordinates_of_one_name():
    assert (
        len(
            set(
                check_accelerations(
                    line(
                        lambda t, q, v, p: 0.5 * v @ v - q[0] ** 2 * q[1],
                        3,
                        coordinates=("x_3", "x'", "x"),
                    ),
                    [1.0, 2.0, 3.0],
                    [1.0, 1.0, 1.0],
                ).q
            )
        )
        == 3
    )


@pytest.mark.parametrize(
    "key",
    [
        "x_dot",
        "x_ddot",
        "x'",
        "p_x",
        "t_k",
        "x_k",
        "lambda",
        "lambda_k",
        "h",
        "E",
        "I",
        "pi",
        "a b",
    ],
)
def test_parameters_that_are_named_like_something_else(key, rng):
    system = line(
        lambda t, q, v, p: (
            0.5 * p[key] * v[0] ** 2 + 0.5 * v[1] ** 2 - p[key] * q[0] * q[1] ** 2 * t
        ),
        2,
        {key: 1.7},
        coordinates=("x", "y"),
    )
    eqs = check_accelerations(system, [0.7, -0.3], [0.2, 0.5])
    method = ac.Midpoint()
    q0, q1, q2 = (jnp.array(rng.normal(size=2)) for _ in range(3))
    at = {
        sp.Symbol(f"{name}_{k}"): float(x)
        for k, q in (("k-1", q0), ("k", q1), ("k+1", q2))
        for name, x in zip("xy", q, strict=True)
    }
    at |= {sp.Symbol("h"): 0.1, sp.Symbol("t_k"): 0.4}
    found = [float(e.lhs.xreplace(at | eqs.values)) for e in eqs.discrete(method).equations]
    np.testing.assert_allclose(
        found,
        ac.discrete(system, method).euler_lagrange(0.3, 0.1, q0, q1, q2),
        rtol=1e-9,
        atol=1e-10,
    )


def test_parameters_whose_names_become_one():
    check_accelerations(
        line(
            lambda t, q, v, p: 0.5 * p["a b"] * v[0] ** 2 - p["a_b"] * q[0] ** 2,
            1,
            {"a b": 1.7, "a_b": 2.0},
        ),
        [0.3],
        [0.1],
    )


def test_a_parameter_named_like_a_derivative_of_higher_order():
    def L(t, q, v, a, p):
        return 0.5 * a[0] ** 2 + p["x_1"] * v[0] ** 2 * q[0]

    eqs = ac.symbolic(ac.HigherOrderSystem(L, ac.Euclidean(1), {"x_1": 2.0}, coordinates=("x",)))
    x = sp.Function("x")(t)
    expected = x.diff(t, 4) - sp.Symbol("x_1") * (2 * x * x.diff(t, 2) + x.diff(t) ** 2)
    assert sp.expand(eqs.equations[0].lhs - expected) == 0


# ---------------------------------------------------------------- steps and branches


def test_steps_have_no_slope():
    """floor, sign and the remainder are constant almost everywhere, as they are for JAX."""
    for V in (
        lambda x: jnp.mod(x, 1.0) ** 2,
        lambda x: x * jnp.floor(3 * x),
        lambda x: x**2 * jnp.ceil(x),
        lambda x: x * jnp.sign(x - 0.2),
    ):
        for x in (0.7, -0.45):
            check_accelerations(line(lambda t, q, v, p, V=V: 0.5 * v[0] ** 2 - V(q[0])), [x], [0.1])
    mass = ac.symbolic(line(lambda t, q, v, p: jnp.abs(v[0]) ** 3)).mass_matrix[0]
    assert not mass.has(sp.DiracDelta)


def test_stop_gradient_is_refused():
    """What has another derivative than its value says is no expression."""
    system = line(lambda t, q, v, p: 0.5 * v[0] ** 2 - q[0] * jax.lax.stop_gradient(q[0] ** 2))
    with pytest.raises(ac.Untranslatable, match=r"stop_gradient.*derivative"):
        _ = ac.symbolic(system).equations
    constant = line(
        lambda t, q, v, p: 0.5 * v[0] ** 2 - q[0] * jax.lax.stop_gradient(jnp.array(2.0))
    )
    assert ac.symbolic(constant).force == (0,)


def test_a_hamiltonian_holds_for_momenta_of_both_signs():
    """L = v^4/4 has v = sign(p) |p|^(1/3), of which SymPy knows one side only; v^2/2 + v^4/4 has
    one branch for all p.
    """
    with pytest.raises(ValueError, match="closed form"):
        _ = ac.symbolic(line(lambda t, q, v, p: v[0] ** 4 / 4)).hamiltonian
    system = line(lambda t, q, v, p: v[0] ** 2 / 2 + v[0] ** 4 / 4)
    H = ac.symbolic(system).hamiltonian
    for v in (-0.8, 0.8):
        p = float(system.legendre(0.0, jnp.array([0.0]), jnp.array([v]))[0])
        assert complex(H.xreplace({sp.Function("p_q1")(t): sp.Float(p)})) == pytest.approx(
            v**2 / 2 + 3 * v**4 / 4
        )


def test_a_two_form_that_is_zero_is_a_matrix():
    assert ac.symbolic(line(lambda t, q, v, p: q[0] ** 2)).Omega_L.matrix == sp.zeros(2, 2)


def test_discrete_equations_of_a_nonlinear_constraint(rng):
    """Its force takes the mean of the velocities before and after, as the step does."""

    def kappa(t, q, v, p):
        return jnp.array([v[0] ** 2 + v[1] ** 2 - q[0] * v[2] ** 2])

    system = line(
        lambda t, q, v, p: 0.5 * v @ v, 3, nonholonomic=kappa, coordinates=("x", "y", "z")
    )
    q0, q1, q2 = (jnp.array(rng.normal(size=3)) for _ in range(3))
    at = {
        sp.Symbol(f"{name}_{k}"): float(x)
        for k, q in (("k-1", q0), ("k", q1), ("k+1", q2))
        for name, x in zip("xyz", q, strict=True)
    }
    at |= {sp.Symbol("h"): 0.1, sp.Symbol("t_k"): 0.4, sp.Symbol("lambda_k"): 0.7}
    found = [
        float(e.lhs.xreplace(at)) for e in ac.symbolic(system).discrete(ac.Midpoint()).equations
    ]
    free = ac.discrete(line(lambda t, q, v, p: 0.5 * v @ v, 3), ac.Midpoint()).euler_lagrange(
        0.3, 0.1, q0, q1, q2
    )
    constraint: Any = system.constraint
    reaction = constraint.reaction(system, 0.4, q1, (q2 - q0) / 0.2, jnp.array([0.7]))
    np.testing.assert_allclose(found, free + 0.1 * reaction, rtol=1e-9, atol=1e-10)


# ---------------------------------------------------------------- time


def test_a_loop_that_doubles_its_expression_is_refused():
    def kepler(t, q, v, p):
        E = jax.lax.fori_loop(
            0, 30, lambda _, E: E - (E - 0.3 * jnp.sin(E) - q[0]) / (1 - 0.3 * jnp.cos(E)), q[0]
        )
        return 0.5 * v[0] ** 2 - E

    start = time.monotonic()
    with pytest.raises(ValueError, match=r"test_edges.*operations"):
        _ = ac.symbolic(line(kepler)).L
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("seconds", [float("nan"), -1.0, None, "ten"])
def test_a_limit_of_time_is_a_number(seconds):
    with pytest.raises(ValueError, match="seconds must be"):
        ac.symbolic(line(lambda t, q, v, p: v[0] ** 2), seconds=seconds)


def test_no_limit_of_time():
    assert ac.symbolic(line(lambda t, q, v, p: v[0] ** 2), seconds=float("inf")).complete


# ---------------------------------------------------------------- the constraint algorithm


@pytest.mark.parametrize("unit", [1e-10, 1e8])
def test_the_constraint_algorithm_does_not_depend_on_units(unit):
    """A light and a heavy mass, a first-order Lagrangian and a gauge freedom, in small and in large
    units.
    """
    light = ac.analysis.constraint_algorithm(
        line(lambda t, q, v, p: 0.5 * unit * v[0] ** 2 + 0.5 * v[1] ** 2 - unit * jnp.cos(q[0]), 2)
    )
    assert (light.dimensions, light.symplectic) == ((6, 4), True)
    first = ac.analysis.constraint_algorithm(
        line(lambda t, q, v, p: unit * (v[0] * q[1] - 0.5 * q @ q), 2)
    )
    assert (first.dimensions, first.symplectic) == ((6, 4, 2), True)
    apart = ac.analysis.constraint_algorithm(
        line(lambda t, q, v, p: 0.5 * 1e6 * v[0] ** 2 + 0.5 * 1e-6 * v[1] ** 2, 2)
    )
    assert (apart.dimensions, apart.symplectic) == ((6, 4), True)
    gauge = ac.analysis.constraint_algorithm(
        line(lambda t, q, v, p: 0.5 * unit * (v[0] - q[1]) ** 2, 2)
    )
    assert (gauge.dimensions, gauge.symplectic) == ((6, 4, 3), False)


def test_a_reparametrisation_invariant_lagrangian_has_gauge_freedom():
    found = ac.analysis.constraint_algorithm(
        line(lambda t, q, v, p: -jnp.sqrt(v[0] ** 2 - v[1] ** 2), 2)
    )
    assert (found.dimensions, found.stabilises_at, found.symplectic) == ((6, 4), 1, False)


def test_as_many_vakonomic_constraints_as_coordinates():
    found = ac.analysis.constraint_algorithm(
        line(
            lambda t, q, v, p: 0.5 * v @ v,
            2,
            vakonomic=lambda t, q, v, p: jnp.array([v[0] - q[1], v[1] + q[0]]),
        )
    )
    assert (found.dimensions, found.symplectic) == ((4, 4), True)


def test_constraints_that_say_the_same_are_refused():
    twice = line(
        lambda t, q, v, p: 0.5 * v @ v,
        2,
        vakonomic=lambda t, q, v, p: jnp.array([v[0] - q[1], 2 * v[0] - 2 * q[1]]),
    )
    with pytest.raises(
        ValueError,
        match=(
            "the 2 vakonomic constraints of line are not independent: their derivatives have rank 1"
        ),
    ):
        ac.analysis.constraint_algorithm(twice)


def test_each_level_has_as_many_equations_as_dimensions_it_takes():
    """A pendulum whose rod force is a coordinate: the chain of a holonomic constraint, W5 is the
    phase space of the angle.
    """

    def L(t, q, v, p):
        return 0.5 * (v[0] ** 2 + v[1] ** 2) - q[1] + q[2] * (q[0] ** 2 + q[1] ** 2 - 1)

    found = ac.analysis.constraint_algorithm(line(L, 3), seconds=2.0)
    assert found.dimensions == (9, 6, 5, 4, 3, 2)
    assert found.symplectic
    assert [len(level.equations) for level in found.levels] == [0, 3, 1, 1, 1, 1]
