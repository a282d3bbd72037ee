"""Campaigns of functions that Python evaluates, and that may raise."""

import jax
import numpy as np
import pytest

import accion as ac
from accion.campaign.callbacks import callbacks_of
from accion.campaign.program import Program, job_of
from tests.campaign.runs import QUIET, same

campaign = ac.campaign
RUN = QUIET | {"h": 0.1, "steps": 40}
STARTS = np.linspace(0.1, 1.0, 10)


def table(limit, slope=1.0):
    """A force of a table that ends at `limit`."""

    def read(q):
        if abs(q[0]) > limit:
            raise ValueError(f"the table ends at {limit}")
        return -slope * np.asarray(q)

    @jax.custom_jvp
    def force(q):
        return jax.pure_callback(read, jax.ShapeDtypeStruct((1,), float), q)

    force.defjvp(lambda q, dq: (force(q[0]), -slope * dq[0]))
    return force


def system(limit, slope=1.0):
    force = table(limit, slope)
    return ac.System(
        lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1), force=lambda t, q, v, p: force(q)
    )


def run(system, **more):
    """From the left end at rest outwards, so that some leave the table on their way."""
    plan = campaign.table({"v0[0]": STARTS}, q0=[0.0])
    return campaign.run(system, ac.Trapezoid(), plan, **RUN, **more)


def test_a_function_that_raises_for_one_member_is_that_members_failure():
    whole, cut = run(system(np.inf)), run(system(0.75))
    bad = STARTS > 0.76
    np.testing.assert_array_equal(cut["success"], ~bad)
    np.testing.assert_array_equal(cut["failure"], np.where(bad, 5, 0))
    good = {"member": np.flatnonzero(~bad)}
    same(whole.isel(good), cut.isel(good))
    for i, step, reason in campaign.failures(cut):
        # sin t reaches the end of the table when
        when = np.arcsin(0.75 / STARTS[i])
        assert 0.1 * step == pytest.approx(when, abs=0.11)
        assert reason.endswith("ValueError: the table ends at 0.75")
    assert np.all(np.isnan(cut["q"][bad]))
    same(cut, run(system(0.75), chunk=3))
    assert "3 failed (a function that is called back raised an error)" in campaign.summary(cut)


def test_a_reduction_that_raises_at_the_end():
    def last(q):
        if q[0] > 0:
            raise RuntimeError("too far")
        return np.asarray(q)

    shape = jax.ShapeDtypeStruct((1,), float)
    kept = campaign.Reduction(
        lambda now: (),
        lambda carry, now: (),
        lambda _, last_: jax.pure_callback(last, shape, last_.q),
    )
    free = ac.mechanical(1.0, None, 1)
    plan = campaign.table({"v0[0]": [-1.0, 1.0, -2.0]}, q0=[0.0])
    found = campaign.run(free, ac.Trapezoid(), plan, reductions=[kept], **RUN)
    assert found["success"].values.tolist() == [True, False, True]
    np.testing.assert_allclose(found["result"][[0, 2], 0], [-4.0, -8.0])


def test_programs_with_other_functions_are_others():
    """The code of both is the same: it has only the number of the function."""
    one, other = run(system(np.inf)), run(system(np.inf, slope=4.0))
    np.testing.assert_allclose(one["q"][:, 0], STARTS * np.sin(4.0), rtol=0.02)
    np.testing.assert_allclose(other["q"][:, 0], STARTS * np.sin(8.0) / 2, rtol=0.05)


def test_the_identity_knows_the_functions():
    def digest(limit, slope=1.0):
        plan = campaign.table({"v0[0]": STARTS}, q0=[0.0])
        job = job_of(
            system(limit, slope), ac.Trapezoid(), plan, 0.1, 2, 0.0, (campaign.final(),), None
        )
        return Program(job).digest

    assert digest(2.0) == digest(2.0)
    assert len({digest(2.0), digest(3.0), digest(2.0, 4.0)}) == 3


def test_the_words_of_a_function_do_not_depend_on_where_it_lies():
    def words(f):
        jaxpr = jax.make_jaxpr(lambda x: jax.pure_callback(f, x, x))(1.0)
        return callbacks_of(jaxpr).text

    def made(a):
        return lambda x: a * x

    assert words(made(np.arange(3.0))) == words(made(np.arange(3.0)))
    assert words(made(np.arange(3.0))) != words(made(np.arange(4.0)))
    assert " at 0x" not in words(made(made))
