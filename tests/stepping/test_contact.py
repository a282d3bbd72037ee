"""Contact (Herglotz) systems: the contact form, orders, the laws of momenta and energy, and what a
run can be asked.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import accion as ac
from accion.engines.auto import small_jit
from tests.stepping.contact_cases import (
    INERTIA,
    PARAMS,
    Q0,
    R0,
    V0,
    W0,
    Z0,
    bent,
    bent_by_hand,
    free,
    nonlinear,
    top,
    top_by_hand,
)
from tests.textbook.contact import damped

MID = ac.Midpoint()
START = {"q0": Q0, "v0": V0, "z0": Z0}
H, STEPS = 0.05, 8


@pytest.fixture(scope="module")
def run():
    return ac.simulate(free, MID, **START, h=H, steps=STEPS)


# ---------------------------------------------------------------- geometry


@pytest.mark.parametrize("method", [MID, ac.Trapezoid(), ac.LeftRectangle()], ids=str)
def test_a_step_keeps_the_contact_form_up_to_its_factor(method):
    """dz1 - p1.dq1 = sigma (dz0 - p0.dq0), with the derivatives of the step as it is made."""
    d = ac.discrete(free, method)

    def step(y):
        q, p, z = d.hamiltonian_flow(0.3, 0.1, y[:2], y[2:4], y[4])
        return jnp.concatenate([q, p, z[None]])

    tangent = small_jit(lambda y, dy: jax.jvp(step, (y,), (dy,)))
    before = np.array([*Q0, 0.4, 1.1, Z0])
    after = tangent(before, np.zeros(5))[0]
    T = np.stack([tangent(before, e)[1] for e in np.eye(5)], axis=1)
    form0, form1 = (jnp.array([-y[2], -y[3], 0.0, 0.0, 1.0]) for y in (before, after))
    sigma = d.factor(0.3, 0.1, before[:2], after[:2], before[4], after[4])
    np.testing.assert_allclose(form1 @ T, sigma * form0, rtol=0, atol=5e-15)
    assert abs(sigma - 1) > 0.01


def test_a_step_on_a_group_keeps_the_contact_form_up_to_its_factor():
    d, space = ac.discrete(top, MID), ac.SO3()
    p0 = np.array([0.3, 1.1, -0.6])

    def step(y):
        start = space.retract(R0, y[:3]), p0 + y[3:6], Z0 + y[6]
        return d.hamiltonian_flow(0.0, 0.1, *start)

    @small_jit
    def tangent(dy):
        (q1, p1, z1), (dq, _, dz) = jax.jvp(step, (jnp.zeros(7),), (dy,))
        # by the body: q1^T dq = hat(eta)
        return q1, p1, z1, jnp.append(space.vee(q1.T @ dq), dz)

    q1, p1, z1, _ = tangent(np.zeros(7))
    T = np.stack([tangent(e)[3] for e in np.eye(7)], axis=1)
    sigma = d.factor(0.0, 0.1, R0, q1, Z0, z1)
    np.testing.assert_allclose(
        T[3] - p1 @ T[:3], sigma * jnp.concatenate([-p0, jnp.zeros(3), jnp.ones(1)]), atol=5e-15
    )


def test_a_symmetric_step_goes_back():
    d, p0 = ac.discrete(bent, MID), np.array([0.3, 0.8])
    flow = small_jit(lambda t, h, q, p, z: d.hamiltonian_flow(t, h, q, p, z))
    q1, p1, z1 = flow(0.2, 0.1, Q0, p0, Z0)
    q, p, z = flow(0.3, -0.1, q1, p1, z1)
    found, started = np.concatenate([q, p, [z]]), np.concatenate([Q0, p0, [Z0]])
    np.testing.assert_allclose(found, started, rtol=0, atol=1e-14)


def test_the_momentum_of_a_symmetry_has_the_factor_of_the_form():
    """Angular momentum in a central field: p.X is multiplied by sigma in each step."""
    system = ac.ContactSystem(
        lambda t, q, v, z, c: 0.5 * v @ v - 0.25 * (q @ q) ** 2 - c * z, ac.Euclidean(2), 0.4
    )
    traj = ac.simulate(system, MID, **START, h=H, steps=50)
    J = np.asarray(traj.momentum(lambda q: jnp.array([-q[1], q[0]])))
    sigma = (1 - 0.2 * H) / (1 + 0.2 * H)
    np.testing.assert_allclose(J, J[0] * sigma ** np.arange(51), rtol=1e-13)


# ---------------------------------------------------------------- the motion


def distance(traj, exact):
    n = len(exact) // 2
    ours = [traj.q[-1] - exact[:n], traj.v[-1] - exact[n : 2 * n], traj.z[-1:] - exact[2 * n :]]
    return np.max(np.abs(np.concatenate(ours)))


@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [
        (MID, 2, (20, 40)),
        (ac.Trapezoid(), 2, (20, 40)),
        (ac.Composition(MID, 4), 4, (8, 16)),
    ],
    ids=str,
)
def test_order_with_a_force_and_with_time(method, order, steps):
    """Against the equations by SymPy, integrated by SciPy."""
    exact = bent_by_hand(1.0)
    errors = [distance(ac.simulate(bent, method, **START, h=1 / n, steps=n), exact) for n in steps]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
    assert errors[1] < 2e-3


def test_continuous_motion_is_that_of_the_equations_by_hand():
    q, v, z = ac.reference(bent, **START, ts=[0.0, 1.0])
    found = np.concatenate([q[-1], v[-1], z[-1:]])
    np.testing.assert_allclose(found, bent_by_hand(1.0), atol=1e-12)
    a, rate = ac.accelerations(bent)(0.0, Q0, V0, Z0)
    assert a.shape == (2,)
    assert float(rate) == pytest.approx(float(nonlinear(0.0, Q0, V0, Z0, PARAMS)))


def test_motion_on_a_group():
    exact, start = top_by_hand(1.0), {"q0": R0, "v0": W0, "z0": Z0}
    q, v, z = ac.reference(top, **start, ts=[0.0, 1.0])
    np.testing.assert_allclose(np.concatenate([np.ravel(q[-1]), v[-1], z[-1:]]), exact, atol=1e-12)
    errors = []
    for n in (20, 40):
        traj = ac.simulate(top, MID, **start, h=1 / n, steps=n)
        found = np.concatenate([np.ravel(traj.q[-1]), traj.v[-1], traj.z[-1:]])
        errors.append(np.max(np.abs(found - exact)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_without_z_in_it_a_lagrangian_moves_as_ever():
    """And z adds up the discrete Lagrangian."""

    def L(t, q, v, params):
        return 0.5 * v @ v - 0.25 * (q @ q) ** 2

    plain = ac.System(L, ac.Euclidean(2))
    contact = ac.ContactSystem(lambda t, q, v, z, params: L(t, q, v, params), ac.Euclidean(2))
    one = ac.simulate(plain, MID, q0=Q0, v0=V0, h=H, steps=STEPS)
    other = ac.simulate(contact, MID, q0=Q0, v0=V0, h=H, steps=STEPS)
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.p, one.p, rtol=0, atol=1e-14)
    d = ac.discrete(plain, MID)
    sums = np.cumsum([float(d.Ld(0.0, H, one.q[k], one.q[k + 1])) for k in range(STEPS)])
    np.testing.assert_allclose(other.z, [0.0, *sums], rtol=0, atol=1e-14)


def test_the_damped_oscillator_by_weight_by_friction_and_by_herglotz():
    """By the midpoint rule all three have the same steps, with rates that differ in h^2: e^(rate h)
    = (1 + c h / 2) / (1 - c h / 2) of the weight, c (1 + (omega h / 2)^2) of the friction.
    """
    c, omega, steps = 0.5, 2.0, 40
    space, start = ac.Euclidean(1), {"q0": [1.0], "h": H, "steps": steps}

    def V(t, q, params):
        return 0.5 * omega**2 * q[0] ** 2

    herglotz = ac.ContactSystem(
        lambda t, q, v, z, params: 0.5 * v[0] ** 2 - V(t, q, params) - c * z, space
    )
    ours = ac.simulate(herglotz, MID, v0=[0.3], z0=Z0, **start)
    weighted = ac.mechanical(1.0, V, space, weight=lambda t, rate: jnp.exp(rate * t), params=c)
    rubbed = ac.mechanical(
        1.0, V, space, force=ac.rayleigh(lambda t, q, v, rate: 0.5 * rate * v[0] ** 2), params=c
    )
    pade, more = 2 * np.arctanh(c * H / 2) / H, c * (1 + (omega * H / 2) ** 2)
    for other, rate in ((weighted, pade), (rubbed, more)):
        same = ac.simulate(other, MID, q1=ours.q[1], params=rate, **start)
        np.testing.assert_allclose(same.q, ours.q, rtol=0, atol=1e-13)
        near = ac.simulate(other, MID, v0=[0.3], **start)
        assert 1e-6 < np.max(np.abs(near.q - ours.q)) < 2 * H**2
    q, v, z = damped(np.asarray(ours.t), c, omega, 1.0, 0.3, Z0)
    for found, exact in ((ours.q[:, 0], q), (ours.v[:, 0], v), (ours.z, z)):
        assert 1e-6 < np.max(np.abs(found - exact)) < 4 * H**2
    q, v, z = ac.reference(herglotz, q0=[1.0], v0=[0.3], z0=Z0, ts=ours.t[::20])
    exact = damped(np.asarray(ours.t)[::20], c, omega, 1.0, 0.3, Z0)
    np.testing.assert_allclose([q[:, 0], v[:, 0], z], exact, rtol=0, atol=1e-12)


def test_a_top_that_fades_by_a_weight_and_by_herglotz():
    """I w' = I w x w - c I w, the top of Colombo-Eyrea, Ex 3: the steps are those of a weight as on
    a line, and the momentum in space has the factor (1 - c h/2) / (1 + c h/2) in each.
    """
    c, start = 0.5, {"q0": R0, "h": H, "steps": 20}

    def kinetic(w):
        return 0.5 * w @ (INERTIA * w)

    ours = ac.simulate(
        ac.ContactSystem(lambda t, g, w, z, params: kinetic(w) - c * z, ac.SO3()),
        MID,
        v0=W0,
        **start,
    )
    weighted = ac.System(lambda t, g, w, rate: jnp.exp(rate * t) * kinetic(w), ac.SO3(), 0.5)
    rate = 2 * np.arctanh(c * H / 2) / H
    same = ac.simulate(weighted, MID, q1=ours.q[1], params=rate, **start)
    np.testing.assert_allclose(same.q, ours.q, rtol=0, atol=1e-13)
    space = np.einsum("kij,kj->ki", ours.q, ours.p)
    sigma = (1 - c * H / 2) / (1 + c * H / 2)
    np.testing.assert_allclose(space, sigma ** np.arange(21)[:, None] * space[0], rtol=1e-13)


# ---------------------------------------------------------------- what a run can be asked


def test_starts_from_momenta_and_from_two_configurations(run):
    by_p = ac.simulate(free, MID, q0=Q0, p0=run.p[0], z0=Z0, h=H, steps=STEPS)
    by_q1 = ac.simulate(free, MID, q0=Q0, q1=run.q[1], z0=Z0, h=H, steps=STEPS)
    for other in (by_p, by_q1):
        np.testing.assert_allclose(other.z, run.z, rtol=0, atol=1e-13)
        np.testing.assert_allclose(other.p, run.p, rtol=0, atol=1e-13)


def test_files_and_longer_runs(run, tmp_path):
    part = ac.simulate(free, MID, **START, h=H, steps=4)
    np.testing.assert_array_equal(part.extend(4).z, run.z)
    part.save(tmp_path / "run.zarr")
    loaded = ac.load(tmp_path / "run.zarr", free)
    np.testing.assert_array_equal(loaded.extend(4).z, run.z)
    alone = ac.load(tmp_path / "run.zarr")
    np.testing.assert_array_equal(alone.z, part.z)
    np.testing.assert_array_equal(alone.energy(), part.energy())
    assert alone.labels["z"].components == ("z [J s]",)
    plain = ac.System(
        lambda t, q, v, params: 0.5 * v @ v,
        ac.Euclidean(2),
        PARAMS,
        coordinates=("x [m]", "y [m]"),
    )
    with pytest.raises(ValueError, match="another system: a contact one"):
        ac.load(tmp_path / "run.zarr", plain)


def test_an_ensemble_between_the_steps_and_a_plot(run):
    both = ac.ensemble(free, MID, **START | {"z0": np.array([Z0, 0.5])}, h=H, steps=STEPS)
    np.testing.assert_array_equal(both.z[0], run.z)
    assert both.z[1, 0] == 0.5
    inside = run.at([2 * H, 2.5 * H])
    assert inside.z[0] == run.z[2]
    fine = ac.simulate(free, MID, **START, h=H / 2, steps=5)
    assert float(inside.z[1]) == pytest.approx(float(fine.z[5]), abs=H**2)
    figure = run.plot()
    assert [ax.get_ylabel() for ax in figure.axes][1] == "z [J s]"
    plt.close(figure)


def test_the_energy_falls_as_its_law_says():
    """dE/dt = dL/dz E of a Lagrangian without time: E exp(c t) is constant."""
    c = 0.4
    system = ac.ContactSystem(
        lambda t, q, v, z, params: 0.5 * v @ v - 0.25 * (q @ q) ** 2 - c * z, ac.Euclidean(2)
    )
    kept = []
    for n in (20, 40):
        traj = ac.simulate(system, MID, **START, h=2 / n, steps=n)
        E = np.asarray(traj.energy()) * np.exp(c * np.asarray(traj.t))
        kept.append(np.max(np.abs(E - E[0])))
    assert kept[0] / kept[1] == pytest.approx(4.0, abs=0.4)
    assert kept[1] < 1e-3


# ---------------------------------------------------------------- refusals


def test_a_step_that_is_too_long_for_the_decay_is_refused():
    system = ac.ContactSystem(
        lambda t, q, v, z, params: 0.5 * v @ v - 0.5 * q @ q - 50.0 * z, ac.Euclidean(1)
    )
    with pytest.raises(ac.StepFailed, match=r"too long for dL/dz.*-0\.25.*dL/dz = -50"):
        ac.simulate(system, MID, q0=[1.0], v0=[0.0], h=0.05, steps=2)
    found = ac.simulate(system, MID, q0=[1.0], v0=[0.0], h=0.05, steps=2, throw=False)
    assert not found.success
    assert np.isnan(found.z[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ac.simulate(free, MID, q0=Q0, v0=V0, S0=1.0, h=H, steps=1), "S0 belongs to"),
        (lambda: ac.simulate(free, MID, q0=Q0, v0=V0, z0=[1.0], h=H, steps=1), "z0 must be a f"),
        (lambda: ac.simulate(free, ac.Galerkin(2), q0=Q0, v0=V0, h=H, steps=1), "try Composition"),
        (
            lambda: ac.simulate(
                ac.System(lambda t, q, v, params: 0.5 * v @ v, ac.Euclidean(1)),
                MID,
                q0=[0.0],
                v0=[1.0],
                z0=0.1,
                h=H,
                steps=1,
            ),
            "z0 belongs to contact systems; got 0.1",
        ),
        (
            lambda: ac.ContactSystem(lambda t, q, v, z, params: v * z, ac.Euclidean(2)),
            "lagrangian must return a scalar",
        ),
        (
            lambda: ac.ContactSystem(lambda t, q, v, params: 0.5 * v @ v, ac.Euclidean(2)),
            "t, q, v, z, params",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
