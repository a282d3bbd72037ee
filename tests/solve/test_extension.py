"""A run that goes on is, to the bit, one long run."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.methods import GeneralizedAlpha
from tests.helpers import PENDULUM
from tests.pairs.kinds import case

FIELDS = ("t", "q", "p", "S", "iterations", "lam", "supplied", "laws", "jets", "nodal", "guess")
PER_RUN = ("success", "steps_completed", "h", "engine")
RUN = {"q0": [1.0], "v0": [0.3], "h": 0.05}


def check_same(found, one, but=()):
    for name in (*FIELDS, *PER_RUN):
        if name in but:
            continue
        same = jax.tree.map(
            lambda a, b: np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"),
            getattr(found, name),
            getattr(one, name),
        )
        assert jax.tree.all(same), name
    if not one.system.discrete_time:
        np.testing.assert_array_equal(found.v, one.v)
        np.testing.assert_array_equal(found.energy(), one.energy())


@pytest.mark.parametrize(
    ("kind", "space", "method"),
    [
        ("System, holonomic", "vectors", ac.Midpoint()),
        ("System, holonomic", "vectors", GeneralizedAlpha(0.8)),
        ("System, free", "a product", ac.Trapezoid()),
        ("ThermalSystem", "vectors", ac.EnergyConsistent(ac.Midpoint())),
        ("HigherOrderSystem", "vectors", ac.Midpoint()),
        ("DiscreteSystem, order 2", "vectors", None),
    ],
)
def test_the_same_bits_as_one_long_run(kind, space, method, tmp_path):
    own = case(kind, space)
    for every in (1, 2):
        given = dict(own.start, h=own.h, save_every=every)
        one = ac.simulate(own.system, method, **given, steps=12)
        some = ac.simulate(own.system, method, **given, steps=4)
        check_same(some.extend(8), one)
        check_same(some.extend(2).extend(6), one)
        path = tmp_path / f"{every}.zarr"
        some.save(path)
        found = ac.load(path, own.system).extend(2)
        found.save(path, overwrite=True)
        check_same(ac.load(path, own.system).extend(6), one, but=("guess",))


def test_by_the_other_engine():
    one = ac.simulate(PENDULUM, ac.Midpoint(), **RUN, steps=40, engine="xla")
    some = ac.simulate(PENDULUM, ac.Midpoint(), **RUN, steps=30, engine="xla")
    check_same(some.extend(10), one)


def test_an_ensemble_goes_on_with_its_failures(tmp_path):
    system = ac.System(lambda t, q, v, k: 0.5 * v @ v + k * jnp.log(q[0]), ac.Euclidean(1), 30.0)
    given = {"q0": [[2.0], [0.05]], "v0": [[0.1], [-1e3]], "h": 0.1, "throw": False}
    one = ac.ensemble(system, ac.Trapezoid(), **given, steps=9)
    some = ac.ensemble(system, ac.Trapezoid(), **given, steps=6)
    assert list(one.success) == [True, False]
    check_same(some.extend(3, throw=False), one)
    some.save(tmp_path / "many.zarr")
    loaded = ac.load(tmp_path / "many.zarr", system)
    check_same(loaded.extend(3, throw=False), one, but=("guess",))
    with pytest.raises(ac.StepFailed):
        some.extend(3)


def test_a_file_shows_no_more_than_before(tmp_path):
    run = ac.simulate(PENDULUM, ac.Midpoint(), **RUN, steps=4)
    run.save(tmp_path / "run.zarr")
    loaded = ac.load(tmp_path / "run.zarr")
    assert set(loaded.channels()) == set(run.channels())
    assert "state_0" not in run.to_xarray()
    many = ac.ensemble(PENDULUM, ac.Midpoint(), q0=[[1.0], [0.5]], v0=[0.3], h=0.05, steps=4)
    many.save(tmp_path / "many.zarr")
    assert set(ac.load(tmp_path / "many.zarr").channels()) == set(many.channels())


def test_what_cannot_go_on_says_why(tmp_path):
    run = ac.simulate(PENDULUM, ac.Midpoint(), **RUN, steps=4, save_every=2)
    with pytest.raises(ValueError, match="steps must be a multiple of save_every"):
        run.extend(3)
    with pytest.raises(ValueError, match="steps must be a whole number"):
        run.extend(0)
    path = ac.connect(PENDULUM, ac.Midpoint(), qa=[0.0], qb=[0.1], duration=0.1, steps=4)
    with pytest.raises(ValueError, match="has no last step to go on from"):
        path.extend(2)
    run.save(tmp_path / "run.zarr")
    with pytest.raises(ValueError, match="was loaded without its system"):
        ac.load(tmp_path / "run.zarr").extend(2)
    other = ac.load(tmp_path / "run.zarr", PENDULUM)
    other = replace(other, carried=replace(other.carried, names=("what it carried before",)))
    with pytest.raises(ValueError, match="another version of accion"):
        other.extend(2)
    failed = replace(run, success=np.False_)
    with pytest.raises(ValueError, match="the run failed after 4 steps"):
        failed.extend(2)


def test_a_failure_names_the_step_of_the_whole_run():
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - jnp.where(t > 0.5, jnp.nan, 1.0) * q @ q,
        ac.Euclidean(1),
    )
    run = ac.simulate(system, ac.Midpoint(), **RUN, steps=6)
    with pytest.raises(ac.StepFailed, match="step 10 "):
        run.extend(10)
