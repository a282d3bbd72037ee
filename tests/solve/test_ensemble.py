"""Many runs at once."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import double_pendulum

SYSTEM = double_pendulum.system
Q0S = jnp.array([[1.0, 1.5], [0.2, -0.4], [2.0, 0.1]])
RUN = {"h": 0.01, "steps": 40}


def test_members_are_single_runs():
    many = ac.ensemble(SYSTEM, ac.Midpoint(), q0=Q0S, v0=[0.1, 0.2], **RUN)
    assert many.q.shape == (3, 41, 2)
    assert many.t.shape == (41,)
    assert np.all(many.success)
    energy, velocity, momentum = many.energy(), many.v, many.momentum(lambda q: jnp.ones(2))
    for i in range(3):
        one = ac.simulate(SYSTEM, ac.Midpoint(), q0=Q0S[i], v0=[0.1, 0.2], **RUN)
        np.testing.assert_allclose(many.q[i], one.q, atol=1e-13)
        np.testing.assert_allclose(velocity[i], one.v, atol=1e-12)
        np.testing.assert_allclose(energy[i], one.energy(), atol=1e-12)
        np.testing.assert_allclose(momentum[i], one.momentum(lambda q: jnp.ones(2)), atol=1e-12)


def test_params_vary_where_they_have_one_axis_more():
    params = SYSTEM.params | {"mb": jnp.array([0.5, 0.7])}
    many = ac.ensemble(SYSTEM, ac.Midpoint(), q0=Q0S[0], v0=[0.0, 0.0], params=params, **RUN)
    for i, mb in enumerate([0.5, 0.7]):
        one = ac.simulate(
            SYSTEM,
            ac.Midpoint(),
            q0=Q0S[0],
            v0=[0.0, 0.0],
            params=SYSTEM.params | {"mb": mb},
            **RUN,
        )
        np.testing.assert_allclose(many.q[i], one.q, atol=1e-13)
        np.testing.assert_allclose(many.energy()[i], one.energy(), atol=1e-12)


def test_params_of_a_system_that_has_none():
    system = ac.mechanical(1.0, lambda t, q, k: 0.5 * k * q[0] ** 2, 1)
    many = ac.ensemble(
        system,
        ac.Trapezoid(),
        q0=[1.0],
        v0=[0.0],
        params=jnp.array([1.0, 4.0]),
        h=0.001,
        steps=1000,
        save_every=1000,
    )
    np.testing.assert_allclose(many.q[:, -1, 0], np.cos([1.0, 2.0]), atol=1e-6)


def test_all_starts_and_products():
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 0.5 * q[0] @ q[0] + jnp.cos(q[1][0]),
        ac.Product(ac.Euclidean(1), ac.Torus(1)),
    )
    q0 = (jnp.array([[0.1], [0.2]]), jnp.array([0.3]))
    q0 = (q0[0], jnp.array([[0.3], [0.3]]))
    by_v = ac.ensemble(system, ac.Midpoint(), q0=q0, v0=[0.5, 0.1], **RUN)
    by_p = ac.ensemble(system, ac.Midpoint(), q0=q0, p0=by_v.p[:, 0], **RUN)
    by_q = ac.ensemble(system, ac.Midpoint(), q0=q0, q1=tuple(part[:, 1] for part in by_v.q), **RUN)
    for other in (by_p, by_q):
        np.testing.assert_allclose(other.q[0], by_v.q[0], atol=1e-12)
        np.testing.assert_allclose(other.q[1], by_v.q[1], atol=1e-12)


def test_one_member_fails_alone():
    system = ac.System(lambda t, q, v, params: 0.5 * v[0] ** 2 + jnp.log(1 - q[0]), ac.Euclidean(1))
    run = {"q0": [0.0], "v0": jnp.array([[0.1], [3.0], [-0.2]]), "h": 0.4, "steps": 5}
    many = ac.ensemble(system, ac.Midpoint(), **run, throw=False)
    np.testing.assert_array_equal(many.success, [True, False, True])
    assert np.all(np.isnan(many.q[1, int(many.steps_completed[1]) + 1 :]))
    assert np.all(np.isfinite(np.asarray(many.q)[[0, 2]]))
    with pytest.raises(ac.StepFailed, match=r"member 1 \(1 of 3 failed\): step \d of 5") as caught:
        ac.ensemble(system, ac.Midpoint(), **run)
    np.testing.assert_array_equal(caught.value.trajectory.q, many.q)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q0": Q0S, "v0": jnp.zeros((4, 2))}, "one length.*3 on q0, 4 on v0"),
        ({"q0": [1.0, 2.0], "v0": [0.0, 0.0]}, "one length.*none"),
        ({"q0": jnp.zeros((3, 3)), "v0": [0.0, 0.0]}, r"q0\[0\] must have shape \(2,\)"),
        ({"q0": Q0S.at[1, 0].set(jnp.nan), "v0": [0.0, 0.0]}, "q0 must be finite"),
        ({"q0": Q0S, "v0": [0.0, 0.0], "params": {"m": 1.0}}, "built like the system's own"),
        (
            {"q0": Q0S, "v0": [0.0, 0.0], "params": SYSTEM.params | {"mb": jnp.ones((2, 2))}},
            "one leading axis more",
        ),
        (
            {"q0": Q0S, "v0": [0.0, 0.0], "params": SYSTEM.params | {"mb": jnp.ones(2)}},
            "3 on q0, 2 on params",
        ),
        ({"q0": "x", "v0": [0.0, 0.0]}, "must be an array of real numbers"),
    ],
)
def test_bad_ensembles_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        ac.ensemble(SYSTEM, ac.Midpoint(), **RUN, **change)
