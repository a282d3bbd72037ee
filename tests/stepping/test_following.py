"""The root of a step that was meant: the one that goes over into h v as h goes to zero."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac

# The links of both pendulums are 1 m, their masses 1 kg.


def lagrangian(t, q, v, params):
    kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * jnp.cos(q[0] - q[1])
    return kinetic + 9.81 * (2 * jnp.cos(q[0]) + jnp.cos(q[1]))


SYSTEM, MIDPOINT = ac.System(lagrangian, ac.Torus(2)), ac.Midpoint()
PARTS = 2000


def balance(x, q, p, h):
    """p + D1 Ld of the midpoint rule, written out."""

    def Ld(a):
        return h * lagrangian(0.0, (a + q + x) / 2, (q + x - a) / h, None)

    return p + jax.grad(Ld)(q)


@jax.jit
@jax.vmap
def branch(q, p, h):
    """The root by continuation in many small parts, and whether it could be followed to the end: a
    formulation of its own, without any of the library's.
    """
    H = jax.hessian(lambda v: lagrangian(0.0, q, v, None))(jnp.zeros(2))
    v = jnp.linalg.solve(H, p)

    def part(carry, i):
        x, before, ok = carry
        s = (i + 1) / PARTS
        guess = jnp.where(i == 0, s * h * v, jnp.where(i == 1, 2 * x, 2 * x - before))
        y = guess
        for _ in range(6):
            slope = jax.jacfwd(balance)(y, q, p, s * h)
            y = y - jnp.linalg.solve(slope, balance(y, q, p, s * h))
        near = jnp.max(jnp.abs(y - guess)) <= 0.5 * jnp.max(jnp.abs(guess - x)) + 1e-9
        return (y, x, ok & near), None

    (x, _, ok), _ = jax.lax.scan(part, (jnp.zeros(2), jnp.zeros(2), True), jnp.arange(PARTS))
    return x, ok


def run(q0, v0, h, engine="auto"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.StepTooLarge)
        return ac.simulate(
            SYSTEM, MIDPOINT, q0=q0, v0=v0, h=h, steps=200, throw=False, engine=engine
        )


def test_none_of_sixty_random_pendulums_jumps():
    """Where a run says that it went well, its ten boldest steps are on the branch."""
    rng, bold, well = np.random.default_rng(0), [], 0
    for i in range(60):
        h = (0.1, 0.07, 0.05)[i % 3]
        found = run(rng.uniform(-np.pi, np.pi, 2), rng.uniform(-2, 2, 2), h)
        if not found.success:
            continue
        well += 1
        q, p = np.asarray(found.q), np.asarray(found.p)
        x, v = np.diff(q, axis=0), np.asarray(found.v)[:-1]
        for k in np.argsort(np.max(np.abs(x - h * v), axis=1))[-10:]:
            bold.append((q[k], p[k], h, x[k]))
    q, p, h, x = map(np.array, zip(*bold, strict=True))
    meant, ok = branch(q, p, h)
    assert well >= 20  # the rest are refused
    assert np.all(ok)
    np.testing.assert_allclose(meant, x, atol=1e-8)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_branch_that_ends_is_a_step_that_failed(engine):
    start = {"q0": [2.5, 2.8], "v0": [0.0, 0.0], "h": 0.1, "steps": 100}
    with pytest.raises(ac.StepFailed, match=r"step 9 .* ends at h = 0\.08\d+") as caught:
        ac.simulate(SYSTEM, MIDPOINT, engine=engine, **start)
    good = caught.value.trajectory
    assert int(good.steps_completed) == 9
    assert float(jnp.nanmax(good.energy()) - jnp.nanmin(good.energy())) < 3.0
    ends = branch(good.q[9:10], good.p[9:10], jnp.array([0.1]))
    assert not bool(ends[1][0])
    half = ac.simulate(SYSTEM, MIDPOINT, **start | {"h": 0.05})
    assert half.success


def test_a_far_root_is_left_for_the_near_one():
    """Newton's method from the guess finds a root that is far away; there is another one near."""
    rng, met = np.random.default_rng(0), 0
    for i in range(17):
        q0, v0 = rng.uniform(-np.pi, np.pi, 2), rng.uniform(-2, 2, 2)
        if i not in (13, 16):
            continue
        found = run(q0, v0, 0.1)
        k = np.flatnonzero(np.asarray(found.iterations) > 12)[1:]  # followed, after the first
        k = k[k <= int(found.steps_completed)] - 1
        x = np.diff(np.asarray(found.q), axis=0)[k]
        meant, ok = branch(found.q[k], found.p[k], np.full(len(k), 0.1))
        assert np.all(ok)
        np.testing.assert_allclose(meant, x, atol=1e-8)
        met += len(k)
    assert met >= 2


def test_a_motion_that_is_resolved_keeps_every_digit_and_is_never_followed():
    found = ac.simulate(SYSTEM, MIDPOINT, q0=[0.5, 0.8], v0=[0.0, 0.0], h=0.01, steps=2000)
    assert np.max(np.asarray(found.iterations)) <= 8
    # A run that begins in the middle of another goes on with its digits.
    k = 500
    later = ac.simulate(SYSTEM, MIDPOINT, q0=found.q[k], p0=found.p[k], h=0.01, steps=20)
    np.testing.assert_allclose(later.q, found.q[k : k + 21], atol=1e-13)


def test_derivatives_go_through_a_step_that_was_followed():
    def end(a):
        return ac.simulate(SYSTEM, MIDPOINT, q0=[2.5, a], v0=[0.0, 0.0], h=0.05, steps=30).q[-1, 0]

    slope = (end(2.8 + 1e-6) - end(2.8 - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(end)(2.8), slope, rtol=1e-6)


SINGULAR = ac.System(
    lambda t, q, v, params: (v[0] ** 2 - 1) ** 2 / 4 - q[0] ** 2 / 20, ac.Euclidean(1)
)


@pytest.mark.parametrize("h", [0.1, 0.01])
def test_a_motion_ends_where_its_inertia_does(h):
    """d2L/dv2 = 3 v^2 - 1 is zero at t = 3.995: no solution exists beyond."""
    with pytest.raises(ac.StepFailed, match=r"Of the inertia d2L/dv2 .* the motion ends") as caught:
        ac.simulate(SINGULAR, MIDPOINT, q0=[0.0], v0=[1.2], h=h, steps=round(20 / h))
    assert 3.8 <= caught.value.t <= 4.01


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.LeftRectangle()])
def test_a_motion_that_leaves_the_numbers_is_named(method):
    """The weight e^(-300 t) drives the motion apart like e^(300 t)."""
    system = ac.mechanical(
        1.0, lambda t, q, k: 0.5 * q @ q, 1, weight=lambda t, k: jnp.exp(k * t), params=-300.0
    )
    with pytest.raises(ac.StepFailed, match=r"not finite"):
        ac.simulate(system, method, q0=[1.0], v0=[1.0], h=0.01, steps=1000)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t0": 1e17}, "time would stand still"),
        ({"t0": -3e14}, "time would stand still"),
        ({"h": 1e300}, "so that h\\^2 is a number"),
        ({"h": 1e-200}, "so that h\\^2 is a number"),
        ({"t0": 1e308, "h": 1e149, "steps": 10}, "time would stand still"),
    ],
)
def test_times_that_are_not_those_that_were_meant(change, words):
    run = {"q0": [0.5, 0.8], "v0": [0.0, 0.0], "h": 0.1, "steps": 10} | change
    with pytest.raises(ValueError, match=words):
        ac.simulate(SYSTEM, MIDPOINT, **run)
    with pytest.raises(ValueError, match=words):
        ac.ensemble(SYSTEM, MIDPOINT, **run | {"q0": [[0.5, 0.8]] * 2})
