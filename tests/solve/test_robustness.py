"""Ordinary problems that a careless stopping rule fails on, or stops too early on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac


def preloaded(t, q, v, k):
    """A chain of springs under tension, in displacements: at rest large forces cancel at q = 0."""
    u = jnp.concatenate([jnp.zeros(1), q, jnp.zeros(1)])
    d = jnp.diff(0.1 * jnp.arange(len(q) + 2) + u)
    return 0.5 * v @ v - 0.5 * k * jnp.sum((d - 0.07) ** 2) - 0.25 * k * jnp.sum((d - 0.07) ** 4)


@pytest.mark.parametrize("pluck", [0.0, 0.01])
@pytest.mark.parametrize(("k", "h"), [(10.0, 0.01), (1e3, 0.1), (1e5, 0.01)])
def test_preloaded_chain(pluck, k, h):
    system = ac.System(preloaded, ac.Euclidean(10), k)
    assert bool(
        ac.simulate(
            system, ac.Midpoint(), q0=np.eye(10)[0] * pluck, v0=np.zeros(10), h=h, steps=300
        ).success
    )


@pytest.mark.parametrize("h", [0.01, 0.1])
def test_weight_on_a_spring_at_rest(h):
    k = 1234.5
    system = ac.System(
        lambda t, q, v, params: 0.5 * v[0] ** 2 - 9.81 * q[0] - 0.5 * k * (q[0] - 9.81 / k) ** 2,
        ac.Euclidean(1),
    )
    run = ac.simulate(system, ac.Midpoint(), q0=[0.0], v0=[0.0], h=h, steps=500)
    assert np.max(np.abs(run.q)) < 1e-12


@pytest.mark.parametrize(("q0", "vs"), [(1.0, 1e-4), (1e5, 1e-4), (1e6, 1e-3)])
def test_steep_friction_far_from_the_origin(q0, vs):
    """Friction like the sign of v, far from the origin: the balance of momentum holds to the
    roundoff of p, not of q.
    """
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v,
        ac.Euclidean(1),
        force=lambda t, q, v, params: -jnp.tanh(v / vs),
    )
    h = 1e-3
    run = ac.simulate(system, ac.Midpoint(), q0=[q0], v0=[3e-4], h=h, steps=5)
    # p_{k+1} - p_k = h F at the midpoint, whose velocity is the mean of p.
    p = np.asarray(run.p)[:, 0]
    np.testing.assert_allclose(np.diff(p), -h * np.tanh((p[1:] + p[:-1]) / 2 / vs), atol=1e-12)


def test_velocities_at_rest_in_a_rotating_frame():
    """v -> 0 while p = M A(q) does not: velocities and energy are found all the same."""
    M = jnp.array([[1.3, 0.4, 0.1], [0.4, 2.1, 0.3], [0.1, 0.3, 0.9]])

    def L(t, q, v, w):
        u = v + w * jnp.array([-q[1], q[0], 0.0])
        return 0.5 * u @ M @ u - 15 * jnp.sum((q - jnp.array([0.7, 0.4, 0.3])) ** 2)

    system = ac.System(L, ac.Euclidean(3), 1.7, force=lambda t, q, v, params: -6 * v)
    run = ac.simulate(
        system, ac.Midpoint(), q0=[1.0, 0, 0], v0=[0.0, 0, 0], h=0.05, steps=3000, save_every=10
    )
    assert np.all(np.isfinite(run.v))
    assert np.all(np.isfinite(run.energy()))
    again = ac.simulate(
        system, ac.Midpoint(), q0=run.q[-1], p0=run.p[-1] * (1 + 2.3e-16), h=0.05, steps=10
    )
    assert bool(again.success)


def test_units_do_not_make_a_system_singular():
    """The sun, a planet and a probe; micrometres beside megametres."""
    mass = np.array([2e30, 2e30, 6e24, 6e24, 1e3, 1e3])
    start = {"q0": np.arange(6.0), "v0": np.ones(6), "h": 0.1, "steps": 3}
    for system in (
        ac.mechanical(mass, None, 6),
        ac.System(lambda t, q, v, params: 0.5 * jnp.sum(mass * v**2), ac.Euclidean(6)),
    ):
        np.testing.assert_allclose(
            ac.simulate(system, ac.Midpoint(), **start).q[-1], np.arange(6) + 0.3, rtol=1e-14
        )


def test_ill_conditioned_mass():
    Q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    M = Q * np.geomspace(1, 1e12, 4) @ Q.T
    M = (M + M.T) / 2
    system = ac.System(lambda t, q, v, params: 0.5 * v @ M @ v - 0.5 * q @ q, ac.Euclidean(4))
    run = ac.simulate(
        system, ac.Midpoint(), q0=[0.1, 0.2, 0.3, 0.4], v0=[0.0] * 4, h=0.01, steps=20
    )
    assert np.all(np.isfinite(run.v))


def test_only_the_symmetric_part_of_a_mass_acts():
    skew = ac.mechanical(
        lambda p: jnp.array([[1.0, p], [0.0, 1.0]]), lambda t, q, p: 0.5 * q @ q, 2
    )
    even = ac.mechanical(
        lambda p: jnp.array([[1.0, p / 2], [p / 2, 1.0]]), lambda t, q, p: 0.5 * q @ q, 2
    )
    run = {
        "q0": [1.0, 0.5],
        "v0": [0.0, 0.0],
        "h": 0.1,
        "steps": 20,
        "params": jnp.array([0.3, 0.5]),
    }
    many = ac.ensemble(even, ac.Trapezoid(), **run)
    jitted = jax.jit(lambda p: ac.simulate(skew, ac.Trapezoid(), **(run | {"params": p})).q)(0.5)
    np.testing.assert_allclose(many.q[1], jitted, atol=1e-13)


def test_a_trajectory_leaves_transformations():
    system = ac.System(lambda t, q, v, params: 0.5 * v @ v - 0.5 * q @ q, ac.Euclidean(1))
    mapped = jax.vmap(
        lambda q0: ac.simulate(system, ac.Midpoint(), q0=q0, v0=[0.0], h=0.1, steps=5)
    )(jnp.ones((3, 1)))
    assert mapped.q.shape == (3, 6, 1)
    traj = ac.simulate(system, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=5)
    jax.jit(lambda c: c * traj.v[0, 0])(1.0)
    assert np.all(np.isfinite(np.asarray(traj.v)))


@pytest.mark.parametrize(
    ("lagrangian", "params", "words"),
    [
        (lambda t, q, v, params: params["m"] * v[0] ** 2, None, "could not be evaluated.*NoneType"),
        (
            lambda q, v: v[0] ** 2,
            None,
            r"lagrangian takes 4 arguments, lagrangian\(t, q, v, params\); .* takes \(q, v\)",
        ),
        (lambda t, q, v, params: 0.5 * v[0] ** 2 - np.cos(q[0]), None, "jax.numpy"),
        (lambda t, q, v, params: v[0] ** 2 if q[0] > 0 else 0.0, None, "jnp.where"),
        (lambda t, q, v, params: sum(v[0] ** 2 for _ in range(params)), 3, "kept out of params"),
        (lambda t, q, v, params: jnp.float32(0.5) * v[0].astype(jnp.float32) ** 2, None, "64 bits"),
        (lambda t, q, v, params: 0.5 * v[0] ** 2, {"x": object()}, "must be numbers"),
    ],
)
def test_mistakes_in_a_function_are_explained(lagrangian, params, words):
    with pytest.raises(ValueError, match=words):
        ac.simulate(
            ac.System(lagrangian, ac.Euclidean(1), params),
            ac.Midpoint(),
            q0=[0.0],
            v0=[1.0],
            h=0.1,
            steps=1,
        )


@pytest.mark.parametrize("change", [{"h": "0.1"}, {"h": None}, {"q0": None}, {"t0": "now"}])
def test_more_bad_data(change):
    system = ac.System(lambda t, q, v, params: 0.5 * v @ v, ac.Euclidean(1))
    with pytest.raises(ValueError, match=r"must be a finite number|missing"):
        ac.simulate(
            system, ac.Midpoint(), **({"q0": [0.0], "v0": [1.0], "h": 0.1, "steps": 1} | change)
        )


def test_files_that_are_not_ours_are_kept_and_other_systems_refused(tmp_path):
    system = ac.System(lambda t, q, v, k: 0.5 * v @ v - 0.5 * k * q @ q, ac.Euclidean(1), 2.0)
    traj = ac.simulate(system, ac.Alpha(0.3), q0=[1.0], v0=[0.0], h=0.1, steps=5)
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    with pytest.raises(FileExistsError, match="not a saved trajectory"):
        traj.save(folder, overwrite=True)
    assert (folder / "thesis.txt").read_text() == "all of it"
    traj.save(tmp_path / "run.zarr")
    assert ac.load(tmp_path / "run.zarr", system=system).method == ac.Alpha(0.3)
    with pytest.raises(ValueError, match="another system: its params"):
        ac.load(tmp_path / "run.zarr", system=system.with_params(3.0))


def test_reference_of_a_singular_lagrangian_says_so():
    system = ac.System(lambda t, q, v, params: 0.5 * (v[0] + v[1]) ** 2, ac.Euclidean(2))
    with pytest.raises(ValueError, match="singular"):
        ac.reference(system, q0=[0.0, 0.0], v0=[1.0, 0.0], ts=[0.0, 1.0])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_weight_beyond_floating_point_is_named(sign):
    """e^(0.3 t) ends at 0.3 t = 709.8 (and e^(-0.3 t) at 708.4), where it is no weight of its own
    but part of the Lagrangian: no step is small enough, and the error gives the logarithm that was
    reached.
    """
    written = ac.System(
        lambda t, q, v, k: jnp.exp(sign * k * t) * 0.5 * v[0] ** 2, ac.Euclidean(1), 0.3
    )
    reached = (
        r"its inertia d2L/dv2 is e\^70\d"
        if sign > 0
        else r"its inertia d2L/dv2 is (e\^-70\d|below e\^-708)"
    )
    with pytest.raises(ac.StepFailed, match=reached) as caught:
        ac.simulate(written, ac.Midpoint(), q0=[1.0], v0=[1.0], t0=2340.0, h=0.1, steps=400)
    assert "give that function to System as weight=" in str(caught.value)
    assert "maller h" not in str(caught.value)


def test_whole_numbers_of_any_kind_count(tmp_path):
    """NumPy's whole numbers go in at every door, and come out as Python's own."""
    system = ac.System(
        lambda t, q, v, k: 0.5 * v @ v - 0.5 * k * q @ q, ac.Euclidean(np.int64(1)), 2.0
    )
    assert repr(system.space) == repr(ac.Euclidean(1))
    start: dict = {"v0": [0.0], "h": 0.1}
    traj = ac.simulate(
        system, ac.Midpoint(), q0=[1.0], steps=np.int64(6), save_every=np.int32(2), **start
    )
    np.testing.assert_array_equal(
        traj.q, ac.simulate(system, ac.Midpoint(), q0=[1.0], steps=6, save_every=2, **start).q
    )
    assert (
        ac.simulate(
            system, ac.Midpoint(), q0=[1.0], steps=np.uint8(6), save_every=2, progress=True, **start
        ).steps_completed
        == 6
    )
    assert ac.ensemble(
        system, ac.Midpoint(), q0=[[1.0], [2.0]], steps=np.int64(6), **start
    ).p.shape == (2, 7, 1)
    assert (
        len(ac.connect(system, ac.Midpoint(), qa=[0.0], qb=[1.0], duration=1.0, steps=np.int64(4)))
        == 5
    )
    plan = ac.campaign.sample(np.int64(3), {"q0[0]": (0.0, 1.0)}, seed=np.int64(1), v0=[0.0])
    many = ac.campaign.run(
        system,
        ac.Midpoint(),
        plan,
        h=0.1,
        steps=np.int64(6),
        chunk=np.int64(2),
        store=tmp_path / "runs",
        progress=False,
    )
    assert many["success"].values.all()
    problem = ac.ControlProblem(
        system,
        lambda t, q, v, u, k: u @ u,
        actuated=[0],
        start=([0.0], [0.0]),
        end=([1.0], [0.0]),
        duration=1.0,
    )
    assert ac.optimize(problem, ac.Midpoint(), np.int64(6), starts=np.int64(1)).steps == 6
    assert (
        type(
            ac.HigherOrderSystem(
                lambda t, q, v, a, p: a @ a, ac.Euclidean(1), order=np.int64(2)
            ).order
        )
        is int
    )
    for bad in (6.0, True, np.float64(6.0), "6", 0, np.int64(0)):
        with pytest.raises(ValueError, match="steps must be a whole number >= 1"):
            ac.simulate(system, ac.Midpoint(), q0=[1.0], steps=bad, **start)  # pyright: ignore
