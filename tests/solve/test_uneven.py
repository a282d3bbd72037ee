"""h as an array: one length for each step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.methods import GeneralizedAlpha
from accion.solve.uneven import times_of
from tests.helpers import PENDULUM
from tests.pairs.kinds import case

START = {"q0": [1.0], "v0": [0.3]}
LENGTHS = 0.02 * np.exp(0.7 * np.random.default_rng(3).normal(size=120))
MIDPOINT = ac.Midpoint()
EXPLICIT = ac.mechanical(1.3 * 0.7**2, lambda t, q, params: -9 * jnp.cos(q[0]), 1)


def run(method=MIDPOINT, system=PENDULUM, **more):
    return ac.simulate(system, method, **START | {"h": LENGTHS, "steps": len(LENGTHS)} | more)


@pytest.mark.parametrize(
    ("system", "method"),
    [
        (PENDULUM, MIDPOINT),
        (PENDULUM, GeneralizedAlpha(0.8)),
        (PENDULUM, ac.Composition(MIDPOINT, 4)),
        (EXPLICIT, ac.Trapezoid()),
        (EXPLICIT, ac.Composition(ac.Trapezoid(), 4)),
    ],
)
def test_equal_lengths_give_the_same_bits_as_one_number(system, method):
    same = {"steps": 40, "save_every": 4}
    one, each = (
        run(method, system, h=0.03, **same),
        run(method, system, h=np.full(40, 0.03), **same),
    )
    for name in ("t", "q", "p", "v", "iterations"):
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(each, name))
        if name == "t":
            np.testing.assert_allclose(a, b, rtol=1e-15)
        else:
            np.testing.assert_array_equal(a, b)


def test_steps_are_those_of_one_after_the_other():
    """Each by itself, from where the last one led."""
    found, t = run(), 0.0
    state = START
    for k, h in enumerate(LENGTHS[:5]):
        one = ac.simulate(PENDULUM, MIDPOINT, **state, t0=t, h=h, steps=1)
        np.testing.assert_allclose(found.q[k + 1], one.q[1], rtol=1e-13)
        np.testing.assert_allclose(found.p[k + 1], one.p[1], rtol=1e-12, atol=1e-13)
        state, t = {"q0": one.q[1], "p0": one.p[1]}, t + h
    np.testing.assert_allclose(found.t, np.concatenate([[0.0], np.cumsum(LENGTHS)]), rtol=1e-14)
    np.testing.assert_array_equal(found.h, LENGTHS)


def test_order_is_kept():
    """Halves of steps of any lengths: a quarter of the error."""
    halves = np.repeat(LENGTHS / 2, 2)
    quarters = np.repeat(halves / 2, 2)
    ends = [float(run(h=h, steps=len(h)).q[-1, 0]) for h in (LENGTHS, halves, quarters)]
    assert abs((ends[0] - ends[1]) / (ends[1] - ends[2]) - 4) < 0.2


def test_engines_saves_and_ensembles_agree():
    whole, some = run(engine="native"), run(save_every=10)
    np.testing.assert_allclose(run(engine="xla").q, whole.q, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(some.q, whole.q[::10])
    np.testing.assert_array_equal(some.t, whole.t[::10])
    np.testing.assert_array_equal(some.v, whole.v[::10])
    assert some.iterations[1] == np.max(whole.iterations[1:11])
    many = ac.ensemble(
        PENDULUM, MIDPOINT, q0=[[1.0], [0.5]], v0=[0.3], h=LENGTHS, steps=120, save_every=10
    )
    np.testing.assert_array_equal(many.q[0], some.q)


@pytest.mark.parametrize("kind", ["System, nonholonomic", "ThermalSystem", "DiscreteSystem"])
def test_other_kinds_take_it(kind):
    own = case(kind, "vectors")
    lengths = 0.05 * (1 + 0.5 * np.sin(np.arange(20)))
    found = ac.simulate(own.system, own.method, **own.start, h=lengths, steps=20)
    again = ac.simulate(own.system, own.method, **own.start, h=lengths, steps=20, save_every=20)
    np.testing.assert_array_equal(found.p[-1], again.p[-1])
    if not own.system.discrete_time:
        exact = own.start | {"ts": np.array([0.0, np.sum(lengths)]), "rtol": 1e-10, "atol": 1e-10}
        assert np.max(np.abs(found.q[-1] - ac.reference(own.system, **exact)[0][-1])) < 1e-3


def test_it_is_saved_and_shown(tmp_path):
    found = run()
    found.save(tmp_path / "run.zarr")
    loaded = ac.load(tmp_path / "run.zarr", PENDULUM)
    np.testing.assert_array_equal(loaded.h, LENGTHS)
    np.testing.assert_array_equal(loaded.q, found.q)
    assert "h = 0.00" in found.plot().axes[0].get_title(loc="left")


def test_derivatives_by_the_lengths():
    lengths = LENGTHS[:10]

    def last(h):
        return run(h=h, steps=10).q[-1, 0]

    slope, e = jax.grad(last)(jnp.asarray(lengths)), np.zeros(10)
    e[4] = 1e-5
    assert abs(slope[4] - (last(lengths + e) - last(lengths - e)) / 2e-5) < 1e-7


def test_a_failure_names_the_step_by_its_own_length():
    wall = ac.System(lambda t, q, v, params: v @ v / 2 + jnp.log(1 - q[0]), ac.Euclidean(1))
    start = {"q0": [0.0], "v0": [3.0], "h": np.r_[np.full(5, 0.02), 1.0, 0.02], "steps": 7}
    with pytest.raises(ac.StepFailed, match=r"step 5 of 7 \(t = 0.1, h = 1\)"):
        run(system=wall, **start)


def test_many_times_are_rounded_once():
    h = np.full(10**6, 0.1)
    assert times_of(0.0, h)[-1] == 1e5
    assert np.cumsum(h)[-1] != 1e5


@pytest.mark.parametrize(
    ("h", "words"),
    [
        ([0.1, 0.1], "h must be a finite number, or one for each of the 3 steps; got 2"),
        ([0.1, -0.1, 0.1], r"h\[1\], a step, must be positive and finite; got -0.1"),
        ([0.1, np.nan, 0.1], r"h\[1\]"),
        ([0.1, 1e-20, 0.1], "h, the step, must be between|time would stand still"),
        ([[0.1, 0.1, 0.1]], "h must be a finite number"),
        ([0.1, "a", 0.1], "h must be"),
    ],
)
def test_bad_lengths_are_named(h, words):
    with pytest.raises(ValueError, match=words):
        run(h=h, steps=3)


def test_what_has_no_steps_of_its_own_refuses_them():
    own = case("HigherOrderSystem", "vectors")
    with pytest.raises(ValueError, match="does not support systems of higher order: windows span"):
        ac.simulate(own.system, own.method, **own.start, h=[0.1, 0.2], steps=2)
    plan = ac.campaign.table({"params.m": np.array([1.0, 1.3])}, **START)
    with pytest.raises(ValueError, match="h must be a finite number"):
        ac.campaign.run(PENDULUM, MIDPOINT, plan, h=LENGTHS, steps=120)
    with pytest.raises(ValueError, match="needs steps of one length"):
        ac.analysis.symplecticity_along(run())
