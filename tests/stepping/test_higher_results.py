"""Systems of higher order: windows, momenta, marching, two-point problems, constraints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.methods import GeneralizedAlpha
from tests.stepping.higher_cases import (
    BENT,
    CURVE,
    MID,
    START,
    TENSION,
    eliminated,
    held_run,
    marched,
    run,
    spline,
)


def test_results_are_kept_saved_and_drawn(tmp_path):
    run = marched(100)
    run.save(tmp_path / "run.zarr")
    again = ac.load(tmp_path / "run.zarr", system=TENSION)
    for name in ("q", "p", "v", "jets"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    np.testing.assert_allclose(again.energy(), run.energy())

    def X(q):
        return jnp.array([-q[1], q[0]])

    np.testing.assert_array_equal(again.momentum(X), run.momentum(X))
    assert run.p.shape == run.jets.shape == (101, 2, 2)
    assert len(run.plot().axes) == 2


def test_campaigns_keep_what_a_trajectory_shows(tmp_path):
    from accion import campaign

    bent = campaign.mean(lambda t, q, v, a, params: a @ a, "bend")
    asked = [campaign.final("q", "p", "v", "energy", "jets"), campaign.extrema("energy", "E"), bent]
    plan = campaign.grid({"v0[0][1]": [2.0, 1.0]}, q0=START[0], v0=START[1:])
    found = campaign.run(
        TENSION,
        MID,
        plan,
        h=0.1,
        steps=20,
        reductions=asked,
        progress=False,
        store=tmp_path / "runs",
    )
    one = ac.simulate(TENSION, MID, q0=START[0], v0=START[1:], h=0.1, steps=20)
    for name, value in (
        ("q", one.q),
        ("p", one.p),
        ("v", one.v),
        ("jets", one.jets),
        ("energy", one.energy()),
    ):
        np.testing.assert_allclose(found[name][0], value[-1], rtol=1e-12)
    np.testing.assert_allclose(
        [found["E_min"][0], found["E_max"][0]], [one.energy().min(), one.energy().max()], rtol=1e-12
    )
    bend = np.sum(np.asarray(one.jets[:, 1]) ** 2, axis=1)
    np.testing.assert_allclose(
        found["bend_mean"][0], np.mean((bend[1:] + bend[:-1]) / 2), rtol=1e-12
    )
    with pytest.raises(ValueError, match="spline in tension has no T to keep"):
        campaign.run(
            TENSION, MID, plan, h=0.1, steps=20, reductions=campaign.final("T"), progress=False
        )


def test_campaigns_of_a_held_system():
    from accion import campaign

    q0, v0, lam0, _, _ = eliminated()
    plan = campaign.table(
        {"v0[0][0]": [0.0, 0.0], "v0[1][1]": [v0[1, 1], 0.3]}, q0=q0, v0=v0, lam0=lam0
    )
    found = campaign.run(
        CURVE,
        MID,
        plan,
        h=1 / 20,
        steps=20,
        reductions=campaign.final("q", "p", "lam"),
        progress=False,
    )
    run = held_run()
    for name, value in (("q", run.q), ("p", run.p), ("lam", run.lam)):
        # by two engines
        np.testing.assert_allclose(found[name][0], value[-1], rtol=1e-11, atol=1e-14)
    assert found["failure"].values.tolist() == [0, 1]
    assert "v0 is off the constraint of held: Phi = " in found["reason"].values[1]


def test_many_runs():
    starts = np.stack([START[1:], 2 * START[1:]])
    many = ac.ensemble(TENSION, MID, q0=START[0], v0=starts, h=0.1, steps=4)
    one = ac.simulate(TENSION, MID, q0=START[0], v0=starts[1], h=0.1, steps=70)
    np.testing.assert_allclose(many.q[1], one.q[:5], rtol=1e-12)


@pytest.mark.slow
def test_derivatives_of_a_run():
    def end(s):
        return ac.simulate(
            TENSION, MID, q0=START[0], v0=START[1:], h=0.1, steps=4, params={"s": s}
        ).q[-1, 0]

    assert float(jax.grad(end)(1.5)) == pytest.approx(
        float(end(1.5 + 1e-4) - end(1.5 - 1e-4)) / 2e-4, rel=1e-6
    )


def test_a_step_without_solution_says_so():
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: 0.5 * a[0] ** 2 + jnp.log(1 - q[0]), ac.Euclidean(1), name="wall"
    )
    start = {"q0": [0.5], "v0": [[2.0], [3.0], [4.0]], "h": 0.05, "steps": 20}
    with pytest.raises(ac.StepFailed):
        ac.simulate(system, MID, **start)
    run = ac.simulate(system, MID, **start, throw=False)
    k = int(run.steps_completed)
    assert 0 < k < 20
    assert np.all(np.isfinite(run.q[: k + 1]))
    assert np.all(np.isnan(run.q[k + 1 :]))


def bad(*args, **kwargs):
    return lambda: ac.HigherOrderSystem(*args, **kwargs)


def join(**ends):
    return lambda: ac.connect(
        TENSION, MID, **({"qa": START[0], "qb": START[1], "duration": 1.0, "steps": 10} | ends)
    )


FLAT = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * a[0] ** 2 + 0.5 * v @ v, ac.Euclidean(2), name="half"
)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (bad(spline, ac.Euclidean(2), order=0), "order, .* must be"),
        (bad(spline, ac.Euclidean(2), order=True), "order, .* must be"),
        (bad(spline, 2), "space must be"),
        (bad(None, ac.Euclidean(2)), r"lagrangian\(t, q, v, a, params\)"),
        (bad(spline, ac.Euclidean(2), vakonomic=3), "vakonomic must be a function"),
        (bad(spline, ac.Euclidean(2), coordinates=("x",)), "2 names"),
        (
            bad(lambda t, q, v, params: v @ v, ac.Euclidean(2)),
            r"lagrangian takes 5 arguments, lagrangian\(t, q, v, a, params\)",
        ),
        (
            bad(lambda t, q, v, a, params: a, ac.Euclidean(2)),
            "must return a scalar",
        ),
        (run(v0=START[1]), r"shape \(3, 2\)"),
        (run(v0=np.full((3, 2), np.nan)), "finite"),
        (run(v0=None, p0=START[:2]), r"need v0 = \(q'\) beside them"),
        (run(p0=START[:2]), r"need v0 = \(q'\) beside them"),
        (run(v0=START[1:2]), "alone goes with momenta p0"),
        (run(v0=START[1:2], p0=START[:1]), r"p0 must have shape \(2, 2\)"),
        (run(v0=START[1:2], p0=START[:2], q1=START[1:]), "without q1"),
        (run(CURVE, v0=START[1:2], p0=START[:2], lam0=[[0.1], [0.0]]), "starts from v0"),
        (run(method=ac.Galerkin(2), v0=None, q1=START[1:]), "from v0 or p0, not"),
        (run(method=ac.Galerkin(2, quadrature="lobatto")), "would be held twice"),
        (bad(spline, ac.Euclidean(2), force=3), "force must be a function"),
        (
            bad(lambda t, q, v, a, p: a @ a, ac.Euclidean(2), force=lambda t, q, v, a, p: a[0]),
            "a covector of shape",
        ),
        (run(v0=None, q1=START[:2]), "3 configurations"),
        (run(v0=None, q1=START[0]), "3 configurations"),
        (run(lam0=[1.0]), "lam0 belongs to vakonomic"),
        (run(S0=1.0), "S0 belongs to thermal"),
        (run(FLAT), "singular"),
        (
            run(method=ac.FiniteDifference(lambda t, h, q0, q1: [])),
            "FiniteDifference does not support",
        ),
        (run(method=GeneralizedAlpha(0.8)), "GeneralizedAlpha does not support"),
        (run(method=ac.EnergyConsistent(MID)), "EnergyConsistent is for"),
        (run(CURVE, lam0=[[0.1], [0.0]]), "off the constraint.*Phi ="),
        (run(CURVE), "needs lam0"),
        (run(CURVE, v0=None, q1=START[1:]), "starts from v0 and lam0"),
        (join(), r"qa\[0\] must have shape"),
        (join(qa=START[:3]), "2 configurations"),
        (join(va=START[1]), "both ends"),
        (join(va=START[:3], vb=START[1]), r"va must have shape \(1, 2\)"),
        (join(qa=START[:2], qb=START[:2], steps=3), "steps must be a whole number >= 4"),
        (
            lambda: ac.discrete(TENSION, MID).Ld(0.0, 0.1, START[0], START[1]),
            "3 configurations are needed",
        ),
        (lambda: ac.discrete(TENSION, MID).D(4, 0.0, 0.1, *START[:3]), "got j = 4"),
        (lambda: ac.discrete(CURVE, MID).flow(0.0, 0.1, *START), "give lam"),
        (lambda: ac.project(CURVE, START[0], START[1]), "project does not support systems of"),
        (
            lambda: ac.analysis.symplecticity(TENSION, MID, q0=START[0], v0=START[1], h=0.1),
            "v0 must have shape",
        ),
        (
            lambda: ac.connect(
                BENT[1], MID, qa=[0.0], qb=[1.0], va=[1.0], vb=[1.0], duration=1.0, steps=5
            ),
            "order 2 or more",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_force_takes_the_derivatives_of_the_lagrangian():
    with pytest.raises(ValueError, match=r"force takes 5 arguments, force\(t, q, v, a, params\)"):
        ac.HigherOrderSystem(spline, ac.Euclidean(2), force=lambda t, q, v, params: v)
