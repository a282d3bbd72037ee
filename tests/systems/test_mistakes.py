"""A mistake in a user's function is told with its line, and with what to do about that one."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac

LINE = ac.Euclidean(1)


def with_numpy(t, q, v, params):
    return 0.5 * v[0] ** 2 + np.cos(q[0])


def with_math(t, q, v, params):
    return 0.5 * v[0] ** 2 + math.cos(q[0])


def with_if(t, q, v, params):
    if q[0] > 0:
        return 0.5 * v[0] ** 2
    return v[0] ** 2


def with_another_name(t, q, v, params):
    return 0.5 * params["mass"] * v[0] ** 2 - params["rod"]["lenght"] * q[0]


def with_range(t, q, v, params):
    return sum(0.5 * v[0] ** 2 for _ in range(params["n"]))


def with_shape(t, q, v, params):
    return v[0] ** 2 + jnp.sum(jnp.zeros(params["n"]))


def without_params(t, q, v, params):
    return params["m"] * v[0] ** 2


def helper(q):
    return float(q[0])


def through_another(t, q, v, params):
    return v[0] ** 2 + helper(q)


@pytest.mark.parametrize(
    ("f", "params", "line", "remedy", "others"),
    [
        (with_numpy, None, "np.cos(q[0])", "jax.numpy", ("jnp.where", "kept out")),
        (with_math, None, "math.cos(q[0])", "jax.numpy", ("jnp.where", "kept out")),
        (with_if, None, "if q[0] > 0:", "jnp.where(condition, a, b)", ("numpy", "kept out")),
        (
            with_another_name,
            {"m": 1.0, "rod": {"length": 2.0}},
            'params["mass"]',
            "params has no 'mass'; it has m, rod.length. Its",
            ("jnp",),
        ),
        (
            with_another_name,
            {"mass": 1.0, "rod": {"length": 2.0}},
            '["lenght"]',
            "params has no 'lenght'; it has mass, rod.length. Did you mean 'length'?",
            ("jnp",),
        ),
        (with_range, {"n": 3}, 'range(params["n"])', "kept out of params", ("jnp",)),
        (with_shape, {"n": 3}, 'jnp.zeros(params["n"])', "kept out of params", ("jnp.where",)),
        (through_another, None, "return float(q[0])", "jax.numpy", ("kept out",)),
    ],
)
def test_a_mistake_in_a_function(f, params, line, remedy, others):
    with pytest.raises(ValueError, match="lagrangian could not be evaluated") as caught:
        ac.System(f, LINE, params)
    words = str(caught.value)
    assert f" of {__file__}, in " in words
    assert line in words
    assert remedy in words
    assert not any(other in words for other in others)
    assert "Its arguments are (t, q, v, params)." in words


def test_params_that_were_not_given():
    with pytest.raises(ValueError, match=r"params were not given: pass params=\{\.\.\.\}"):
        ac.simulate(
            ac.System(without_params, LINE), ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=1
        )


def test_each_function_names_its_own_arguments():
    def free(t, q, v, params):
        return 0.5 * v @ v

    def heated(t, q, v, S, params):
        return 0.5 * v @ v - jnp.exp(S)

    def wrong(*arguments):
        return arguments[1] + np.cos(arguments[1])

    run = {"method": ac.Midpoint(), "q0": [1.0], "v0": [0.0], "h": 0.1, "steps": 1}
    cases = [
        ("(t, q, params)", lambda: ac.System(free, LINE, holonomic=wrong)),
        ("(t, q, v, params)", lambda: ac.System(free, LINE, force=wrong)),
        (
            "(t, q, v, S, params)",
            lambda: ac.simulate(ac.ThermalSystem(heated, LINE, friction=wrong), **run, S0=0.0),
        ),
        ("(t, q, v, a, params)", lambda: ac.HigherOrderSystem(wrong, LINE)),
        ("(t, q, p, params)", lambda: ac.HamiltonianSystem(wrong, LINE)),
        ("(t, h, q0, q1, params)", lambda: ac.DiscreteSystem(wrong, LINE)),
        (
            "(q, params) or (q, v, params)",
            lambda: ac.simulate(
                ac.System(free, LINE),
                ac.Adaptive(ac.Midpoint(), lambda q, params: np.cos(q[0])),
                q0=[1.0],
                v0=[0.0],
                h=0.1,
                until=1.0,
            ),
        ),
    ]
    for arguments, build in cases:
        with pytest.raises(ValueError, match="could not be evaluated") as caught:
            build()
        assert f"Its arguments are {arguments}." in str(caught.value), arguments


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"duration": 1.0}, "no argument 'duration'. A run is as long as steps \\* h"),
        ({"step": 0.1}, "no argument 'step'. The length of a step is h, their number steps."),
        ({"q": [1.0]}, "no argument 'q'. The configuration at the start is q0."),
        ({"save_evry": 2}, "no argument 'save_evry'. Did you mean save_every?"),
        ({"zzz": 2}, "no argument 'zzz'. It has system, method, "),
    ],
)
def test_words_of_other_programs(given, words):
    system = ac.System(lambda t, q, v, params: 0.5 * v @ v, LINE)
    with pytest.raises(TypeError, match=words):
        ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=2, **given)


def test_many_starts_are_an_ensemble():
    for space, q0 in ((LINE, np.ones((3, 1))), (ac.SO3(), np.stack([np.eye(3)] * 3))):
        system = ac.System(lambda t, q, v, params: 0.5 * v @ v, space)
        with pytest.raises(ValueError, match=r"Many runs at once, a row for each, are ensemble"):
            ac.simulate(system, ac.Midpoint(), q0=q0, v0=np.zeros(space.dim), h=0.1, steps=2)
