"""Traced functions: their content, params of other structures, whole numbers, what is refused."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.systems.traced import number, traced

RUN = {"q0": [1.0], "v0": [0.2], "h": 0.1, "steps": 5}
LINE = ac.Euclidean(1)
PLACES = (number(), number((2,)), None)


def of(f):
    return traced("f", f, PLACES, "(t, q, params)")


def alike(f, g):
    """Whether two functions are the same to those that keep programs."""
    one, other = of(f), of(g)
    same = jax.tree.structure(one) == jax.tree.structure(other)
    assert not same or hash(one.trace) == hash(other.trace)
    return same


# ---------------------------------------------------------------- content


def numbers(k):
    return [
        lambda t, q, p: k * q[0],
        lambda t, q, p: jnp.array([k, 1.0]) @ q,
        lambda t, q, p: jnp.where(t > k, q[0], q[1]),
        lambda t, q, p: jax.jit(lambda x: x[0] * np.array([k, 2.0]))(q)[0],
        lambda t, q, p: jax.lax.scan(lambda c, x: (c + k * x, None), 0.0, q)[0],
        lambda t, q, p: jax.lax.cond(t > 0, lambda x: k * x[0], lambda x: x[1], q),
        lambda t, q, p: jax.lax.while_loop(lambda c: c < k, lambda c: c + q[0] ** 2 + 1, t),
        lambda t, q, p: jnp.linalg.solve(jnp.array([[k, 1.0], [0.0, 1.0]]), q)[0],
        lambda t, q, p: q[jnp.array([0, 1 if k > 1 else 0])][1],
        lambda t, q, p: jnp.sinc(k * q[0]),
        lambda t, q, p: jnp.logaddexp(k, q[0]),
    ]


@pytest.mark.parametrize("i", range(len(numbers(1.0))))
def test_equal_content_is_equal_and_another_number_is_not(i):
    f, g, other = numbers(1.0)[i], numbers(1.0)[i], numbers(1.5)[i]
    assert f is not g
    assert alike(f, g)
    assert not alike(f, other)


def test_other_operations_shapes_and_results_are_another_content():
    f = of(lambda t, q, p: q[0] * q[1])
    for g in (
        lambda t, q, p: q[1] * q[0],
        lambda t, q, p: q[0] + q[1],
        lambda t, q, p: (q[0] * q[1],),
        lambda t, q, p: (q[0] * q[1])[None],
    ):
        assert of(g).trace != f.trace
    wider = traced("f", lambda t, q, p: q[0] * q[1], (number(), number((3,)), None), "")
    assert wider.trace != f.trace


def test_rules_of_derivatives_are_part_of_the_content():
    def ruled(slope):
        @jax.custom_jvp
        def f(x):
            return x**2

        f.defjvp(lambda x, dx: (x[0] ** 2, slope * x[0] * dx[0]))
        return lambda t, q, p: f(q[0])

    assert alike(ruled(2.0), ruled(2.0))
    assert not alike(ruled(2.0), ruled(3.0))


def test_a_rule_of_the_user_is_frozen_too():
    slope = np.array([2.0])

    @jax.custom_jvp
    def square(x):
        return x**2

    square.defjvp(lambda x, dx: (x[0] ** 2, slope[0] * x[0] * dx[0]))
    f = of(lambda t, q, p: square(q[0]))
    slope[0] = 5.0
    q = jnp.array([3.0, 0.0])
    assert float(jax.grad(f, 1)(0.0, q, None)[0]) == 6.0
    assert float(jax.grad(of(lambda t, q, p: square(q[0])), 1)(0.0, q, None)[0]) == 15.0


def test_a_traced_function_is_the_function(rng):
    """Values, derivatives and types, called in any way."""

    def f(t, q, p):
        return jnp.sin(t) * q @ jnp.array([[1.0, 2.0], [0.5, 3.0]]) @ q + jnp.linalg.norm(q)

    g, q = of(f), jnp.array(rng.normal(size=2))
    assert float(g(0.3, q, None)) == float(f(0.3, q, None))
    assert g(1, list(q), None).dtype == np.float64
    np.testing.assert_array_equal(jax.hessian(g, 1)(0.3, q, None), jax.hessian(f, 1)(0.3, q, None))
    rows = jnp.array(rng.normal(size=(3, 2)))
    np.testing.assert_allclose(
        jax.vmap(lambda q: g(0.3, q, None))(rows), [f(0.3, q, None) for q in rows], rtol=1e-14
    )
    assert copy.deepcopy(g) is g
    assert repr(g) == "<f, traced>"
    # Arguments of another shape are left to the function itself.
    assert of(lambda t, q, p: jnp.sum(q))(0.0, jnp.ones(5), None) == 5.0


# ---------------------------------------------------------------- params


def test_params_of_another_structure_are_traced_once_more():
    calls = []

    def lagrangian(t, q, v, params):
        calls.append(sorted(params))
        return 0.5 * v[0] ** 2 - sum(params.values()) * q[0] ** 2

    system = ac.System(lagrangian, LINE, {"k": 1.0})
    assert len(calls) == 1
    other = ac.simulate(system, ac.Midpoint(), **RUN, params={"k": 2.0})
    assert len(calls) == 1
    for _ in range(2):
        found = ac.simulate(system, ac.Midpoint(), **RUN, params={"k": 0.5, "more": 1.5})
        np.testing.assert_array_equal(found.q, other.q)
    assert calls[1:] == [["k", "more"]]


def test_a_system_without_params_is_traced_when_they_are_given():
    calls = []

    def lagrangian(t, q, v, params):
        calls.append(1)
        return 0.5 * v[0] ** 2 - params["k"] * q[0] ** 2

    system = ac.System(lagrangian, LINE)
    seen = len(calls)
    with pytest.raises(ValueError, match=r"lagrangian could not be evaluated \(TypeError"):
        ac.simulate(system, ac.Midpoint(), **RUN)
    assert len(calls) == seen
    one = ac.simulate(system, ac.Midpoint(), **RUN, params={"k": 2.0})
    many = ac.ensemble(system, ac.Midpoint(), **RUN, params={"k": np.array([2.0, 3.0])})
    np.testing.assert_array_equal(one.q, many.q[0])
    assert len(calls) == seen + 1
    mass = ac.mechanical(lambda params: params["m"], None, 1)
    assert float(ac.simulate(mass, ac.Midpoint(), **RUN, params={"m": 1.0}).q[-1, 0]) == (
        pytest.approx(1.1, abs=1e-14)
    )


@pytest.mark.parametrize(
    "lagrangian",
    [lambda t, q, v, params: v[3], lambda t, q, v, params: v.nothing, lambda t, q, v, params: v],
)
def test_an_error_that_has_nothing_to_do_with_params_comes_at_once(lagrangian):
    with pytest.raises(ValueError, match="lagrangian"):
        ac.System(lagrangian, LINE)


def test_the_number_of_entropies_may_be_given_later():
    calls = []

    def lagrangian(t, q, v, S, params):
        calls.append(np.shape(S))
        return 0.5 * v[0] ** 2 - jnp.sum(jnp.exp(S)) - 0.1 * S[0] * q[0]

    system = ac.ThermalSystem(lagrangian, LINE, heat=lambda t, q, v, S, params: 0 * S)
    for _ in range(2):
        traj = ac.simulate(system, ac.Midpoint(), **RUN, S0=[0.1, 0.2])
        assert np.asarray(traj.S).shape == (6, 2)
    assert set(calls[:-1]) == {()}
    assert calls[-1] == (2,)
    with pytest.raises(ValueError, match="lagrangian could not be evaluated"):
        ac.simulate(system, ac.Midpoint(), **RUN, S0=0.1)


def test_whole_numbers_in_params_are_real_numbers():
    """A power of one wraps at 2^63, and nobody would see it."""
    system = ac.System(
        lambda t, q, v, params: 0.5 * v[0] ** 2 - params["n"] ** 25 * q[0] + params["row"][1] ** 40,
        LINE,
        {"n": 10, "row": np.array([1, 3])},
    )
    assert system.params["n"] == 10.0
    assert isinstance(system.params["n"], float)
    assert system.params["row"].dtype == np.float64
    assert float(system.L(0.0, jnp.ones(1), jnp.zeros(1))) == pytest.approx(3.0**40 - 1e25)
    other = system.with_params({"n": np.int32(2), "row": jnp.array([1, 1])})
    assert float(other.L(0.0, jnp.ones(1), jnp.zeros(1))) == 1 - 2.0**25


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"k": 2**53 + 1}, r"whole numbers up to 2\^53; got 9007199254740993"),
        ({"k": np.array([1, 2**60])}, r"whole numbers up to 2\^53"),
        ({"k": 10**400}, r"whole numbers up to 2\^53"),
        ({"k": 1j}, "must be real numbers"),
        ({"k": object()}, "must be numbers, texts, switches or functions"),
        ({"k": np.array([True])}, "must be numbers, texts, switches or functions"),
        ({"k": np.ma.array([1.0], mask=[True])}, "must be numbers, texts, switches or functions"),
        ({"k": np.datetime64("2026-01-01")}, "must be numbers, texts, switches or functions"),
    ],
)
def test_params_that_are_not_numbers_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        ac.System(lambda t, q, v, params: 0.5 * v[0] ** 2, LINE, params)


def test_an_index_in_params_is_an_error_that_says_so():
    with pytest.raises(ValueError, match=r"counts or indexes must be kept out of params"):
        ac.System(lambda t, q, v, params: 0.5 * v[params["i"]] ** 2, LINE, {"i": 0})
