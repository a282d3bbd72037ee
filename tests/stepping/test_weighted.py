"""Systems with a weight, L = w(t) L0: against closed forms, the recurrence of Colombo-Gamonal, and
the same Lagrangians written out.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.methods import GeneralizedAlpha
from accion.results import storage

KAPPA, STIFFNESS = 13.0, 100.0
METHODS = [
    ac.LeftRectangle(),
    ac.Trapezoid(),
    ac.Midpoint(),
    ac.Galerkin(3),
    ac.Composition(ac.Midpoint(), 4),
    ac.Composition(ac.Trapezoid(), 4),
    GeneralizedAlpha(0.8),
    ac.Adaptive(ac.Midpoint(), lambda q, v, k: 1 / (1 + q @ q)),
]
OSCILLATOR = ac.mechanical(
    1.0,
    lambda t, q, k: 0.5 * STIFFNESS * q @ q,
    1,
    weight=lambda t, k: jnp.exp(k * t),
    params=KAPPA,
)
START = {"q0": [1.0], "v0": [0.3]}


def damped(t):
    """q'' + kappa q' + 100 q = 0 from (1, 0.3)."""
    w = np.sqrt(STIFFNESS - KAPPA**2 / 4)
    return np.exp(-KAPPA * t / 2) * (np.cos(w * t) + (0.3 + KAPPA / 2) / w * np.sin(w * t))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_time_is_as_good_as_zero(method):
    """q, v and p/w have the same bits from t0 = -1000, 0 and 1000, where w is e^-13000, 1 and
    e^13000.
    """
    early, now, late = (
        ac.simulate(OSCILLATOR, method, **START, t0=t0, h=0.01, steps=100)
        for t0 in (-1000.0, 0.0, 1000.0)
    )
    for other in (early, late):
        for name in ("q", "reduced_p", "v"):
            np.testing.assert_array_equal(getattr(other, name), getattr(now, name))
    assert np.all(early.p == 0)
    assert np.all(np.isinf(late.p))
    np.testing.assert_allclose(now.p, now.v * np.exp(KAPPA * now.t)[:, None], rtol=1e-13)
    np.testing.assert_array_equal(late.log_weight, KAPPA * np.asarray(late.t))
    if method.order == 6:
        np.testing.assert_allclose(now.q[:, 0], damped(now.t), rtol=0, atol=1e-10)


def test_the_continuous_motion_at_any_time():
    ts = np.linspace(0.0, 2.0, 5)
    for t0 in (-1000.0, 0.0, 1000.0):
        q, _ = ac.reference(OSCILLATOR, **START, ts=t0 + ts)
        np.testing.assert_allclose(q[:, 0], damped(ts), rtol=0, atol=1e-15)
        np.testing.assert_allclose(ac.accelerations(OSCILLATOR)(t0, [1.0], [2.0]), [-126.0])


def test_a_falling_body():
    """L = e^(kappa t) (v^2/2 - g q) by the midpoint rule: (e^(kappa h/2) x' - e^(-kappa h/2) x)/h =
    -g h cosh(kappa h/2) for the increments x and x', so v tends to -g h/2 / tanh(kappa h/2).
    """
    kappa, g, h = 2.0, 9.81, 0.1
    body = ac.mechanical(
        1.0, lambda t, q, p: g * q[0], 1, log_weight=lambda t, p: kappa * t, params=None
    )
    traj = ac.simulate(body, ac.Midpoint(), q0=[0.0], v0=[3.0], t0=-4e4, h=h, steps=1000)
    x, up = np.diff(np.asarray(traj.q)[:, 0]), np.exp(kappa * h / 2)
    left = (up * x[1:] - x[:-1] / up) / h + g * h * np.cosh(kappa * h / 2)
    assert np.max(np.abs(left)) < 1e-10  # rounding of q, up to 5000 h/h
    terminal = -g * h / 2 / np.tanh(kappa * h / 2)
    np.testing.assert_allclose(x[-1] / h, terminal, rtol=1e-10)


def test_the_recurrence_without_time():
    """Colombo-Gamonal, eq 41: its coefficients have no t, and neither have the steps at t = 1000;
    q is that of the recurrence to rounding.
    """
    h, V = 0.01, jax.jit(jax.grad(lambda q: jnp.sum(jnp.cos(3 * q))))
    system = ac.mechanical(
        1.0,
        lambda t, q, k: jnp.sum(jnp.cos(3 * q)),
        2,
        weight=lambda t, k: jnp.exp(k * t),
        params=KAPPA,
    )
    run = ac.simulate(
        system, ac.Trapezoid(), q0=[0.4, 1.0], v0=[2.0, -1.0], t0=1000.0, h=h, steps=60
    )
    up, down = np.exp(KAPPA * h), np.exp(-KAPPA * h)
    q = [np.asarray(run.q[0]), np.asarray(run.q[1])]
    for _ in range(59):
        ahead = (2 + up + down) * q[-1] - (1 + down) * q[-2] - 2 * h**2 * np.asarray(V(q[-1]))
        q.append(ahead / (1 + up))
    np.testing.assert_allclose(run.q, q, rtol=0, atol=1e-13)


# ---------------------------------------------------------------- beside the Lagrangian written out


def grows(t, p):
    return jnp.exp(p["k"] * t) * (2 + jnp.cos(t))


def plane(t, q, v, p):
    return 0.5 * v @ v + 0.3 * jnp.sin(t) * q[0] - 9.81 * q[1] - 0.1 * q[0] ** 4


def space(t, q, v, p):
    return 0.5 * v @ v - 0.5 * q @ q


def top(t, R, w, p):
    return 0.5 * jnp.sum(jnp.array([1.0, 2.0, 3.0]) * w**2) - R[2, 2] * jnp.cos(t)


def skate(t, q, v, p):
    return jnp.array([v[2] - q[0] * v[1]])


IN_SPACE = {"q0": [1.0, 0.0, 0.3], "v0": [0.2, 0.3, 0.3]}
IN_PLANE = {"q0": [1.0, 0.0], "v0": [0.0, 0.3]}
CASES = {
    "forced": (plane, 2, {"force": lambda t, q, v, p: -0.2 * v + jnp.sin(t)}, IN_PLANE),
    "holonomic": (plane, 2, {"holonomic": lambda t, q, p: jnp.array([q @ q - 1])}, IN_PLANE),
    "nonholonomic": (space, 3, {"nonholonomic": skate}, IN_SPACE),
    "vakonomic": (space, 3, {"vakonomic": skate}, IN_SPACE | {"lam0": [0.3]}),
    "group": (top, ac.SO3(), {}, {"q0": np.eye(3), "v0": [0.2, 0.3, 1.3]}),
}
PARAMS = {"k": 0.4}


@pytest.mark.parametrize("name", CASES)
def test_as_the_lagrangian_written_out(name):
    """With forces, every kind of constraint and on a group."""
    L0, where, options, start = CASES[name]
    where = ac.Euclidean(where) if isinstance(where, int) else where
    weighted = ac.System(L0, where, PARAMS, weight=grows, **options)
    whole = ac.System(lambda t, q, v, p: grows(t, p) * L0(t, q, v, p), where, PARAMS, **options)
    run = {**start, "t0": 0.7, "h": 0.05, "steps": 10}
    own, other = (ac.simulate(each, ac.Midpoint(), **run) for each in (weighted, whole))
    for part in ("q", "p", "lam"):
        if getattr(other, part) is not None:
            close(getattr(own, part), getattr(other, part))


def close(a, b, part=1e-13):
    a, b = np.asarray(a), np.asarray(b)
    assert np.max(np.abs(a - b)) <= part * np.max(np.abs(b))


def pendulum(t, q, params):
    return -9.81 * jnp.cos(q[0])


PENDULUM = ac.mechanical(1.0, pendulum, 1, params=PARAMS, weight=grows)


def test_what_a_trajectory_shows(tmp_path):
    """p = w p/w, v, E and momenta, between the steps as well; a run that is saved, extended or
    ended at a time goes on to the bit.
    """
    run = {"q0": [1.0], "v0": [0.3], "t0": 0.7, "h": 0.05}
    own = ac.simulate(PENDULUM, ac.Trapezoid(), **run, steps=10)
    for at in (own, own.at([0.72, 0.98, 1.2])):
        q, v, w = (np.asarray(a) for a in (at.q[:, 0], at.v[:, 0], grows(at.t, PARAMS)))
        close(at.p[:, 0], w * v)
        close(at.p[:, 0], np.exp(at.log_weight) * at.reduced_p[:, 0])
        close(at.energy(), w * (v**2 / 2 - 9.81 * np.cos(q)))
    close(own.momentum(lambda q: 2 * jnp.ones(1)), 2 * own.p[:, 0])
    end = ac.simulate(PENDULUM, ac.Trapezoid(), **run, until=1.18)
    np.testing.assert_allclose(end.p[-1], own.at(1.18).p, rtol=1e-14)
    np.testing.assert_array_equal(end.log_weight[:-1], own.log_weight[:10])
    longer = ac.simulate(PENDULUM, ac.Trapezoid(), **run, steps=13)
    own.save(tmp_path / "run.zarr")
    assert set(own.to_xarray()) >= {"p", "reduced_p", "log_weight"}
    read = ac.load(tmp_path / "run.zarr", system=PENDULUM)
    for again in (own.extend(3), read.extend(3)):
        for part in ("q", "p", "reduced_p", "log_weight", "v"):
            np.testing.assert_array_equal(getattr(again, part), getattr(longer, part))
    alone = ac.load(tmp_path / "run.zarr")
    np.testing.assert_array_equal(alone.reduced_p, own.reduced_p)
    np.testing.assert_array_equal(alone.log_weight, own.log_weight)


def test_a_file_from_before_is_not_gone_on_with(tmp_path):
    """Its last state has p where this version has p/w."""
    own = ac.simulate(PENDULUM, ac.Trapezoid(), q0=[1.0], v0=[0.3], h=0.05, steps=10)
    dataset = storage.to_file(own).drop_vars(["reduced_p", "log_weight"])
    storage.write(dataset, tmp_path / "old.zarr")
    old = ac.load(tmp_path / "old.zarr", system=PENDULUM)
    close(old.reduced_p, own.reduced_p)
    with pytest.raises(ValueError, match="saved by another version of accion"):
        old.extend(3)


def test_runs_of_an_ensemble_and_derivatives():
    rates, start = np.array([0.1, 0.4, 700.0]), {"q0": [1.0], "v0": [0.2]}
    run = {"h": 0.01, "steps": 10, "t0": 5.0}
    many = ac.ensemble(PENDULUM, ac.Trapezoid(), **start, params={"k": rates}, **run)
    one = ac.simulate(PENDULUM, ac.Trapezoid(), **start, params={"k": rates[2]}, **run)
    np.testing.assert_array_equal(many.q[2], one.q)
    np.testing.assert_array_equal(many.reduced_p[2], one.reduced_p)
    assert np.all(np.isinf(many.p[2]))
    expected = np.outer(rates, one.t) + np.log(2 + np.cos(np.asarray(one.t)))
    np.testing.assert_allclose(many.log_weight, expected, rtol=1e-15)

    def last(k):
        found = ac.simulate(PENDULUM, ac.Trapezoid(), **start, params={"k": k}, **run)
        return found.reduced_p[-1, 0]

    slope = (last(0.4 + 1e-5) - last(0.4 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(last)(0.4), slope, rtol=1e-7)


# ---------------------------------------------------------------- where logarithms do not help


def test_what_is_said_where_the_weight_ends():
    def free(f, **options):
        return ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1), weight=f, **options)

    start = {"q0": [1.0], "v0": [1.0], "h": 0.1, "steps": 30}
    unknown = free(lambda t, p: jnp.expm1(t) + 1)
    with pytest.raises(ac.StepFailed, match=r"beyond floating point.*log_weight\(t, params\)") as e:
        ac.simulate(unknown, ac.Midpoint(), **start, t0=709.0)
    assert e.value.t == pytest.approx(709.7)
    failed = ac.simulate(unknown, ac.Midpoint(), **start, t0=709.0, throw=False)
    assert int(failed.steps_completed) == 7
    assert np.all(np.isfinite(failed.p[:8]))
    assert np.all(np.isnan(failed.q[8:]))
    with pytest.raises(ValueError, match=r"not a finite number at t0"):
        ac.simulate(unknown, ac.Midpoint(), **start, t0=710.0)
    known = free(lambda t, p: jnp.exp(t))
    with pytest.raises(ValueError, match=r"e\^2000 at t0, is beyond .* Start from v0"):
        ac.simulate(known, ac.Midpoint(), q0=[1.0], p0=[1.0], t0=2000.0, h=0.1, steps=3)
    pushed = free(lambda t, p: jnp.exp(t), force=lambda t, q, v, p: -q)
    with pytest.raises(ac.StepFailed, match=r"e\^-800 at t = -800, and its force has none"):
        ac.simulate(pushed, ac.Midpoint(), **start, t0=-800.0)
    with pytest.raises(ValueError, match=r"`weight` or `log_weight`.*not both"):
        free(lambda t, p: t, log_weight=lambda t, p: t)
    with pytest.raises(ValueError, match="weight must return a scalar"):
        free(lambda t, p: jnp.ones(2) * t)


# ---------------------------------------------------------------- formations


@pytest.mark.parametrize("method", [ac.Trapezoid(), ac.Midpoint()], ids=str)
def test_the_momentum_of_a_formation_to_kappa_t_5000(method):
    """The linear and angular momentum of each step is e^(-kappa h) times that of the one before,
    to rounding of its terms, from e^0 to e^-5000; the shape is kept.
    """
    triangle = ac.formation.Formation([(0, 1), (1, 2), (2, 0)], [1.0, 1.0, 1.2], 2, KAPPA)
    system, h = triangle.system(), 0.05
    steps = int(5000 / KAPPA / h) + 1
    v0 = [0.5, 0.1, 0.4, -0.2, 0.3, 0.7]
    run = ac.simulate(system, method, q0=[0, 0, 1.3, 0.1, 0.4, 0.9], v0=v0, h=h, steps=steps)
    assert float(run.log_weight[-1]) >= 5000
    assert np.all(np.isfinite(run.reduced_p))
    p, decay = np.asarray(run.reduced_p), np.exp(-KAPPA * h)
    for X in triangle.fields().values():
        terms = p * np.asarray(jax.vmap(X)(run.q))
        J, size = np.sum(terms, axis=1), np.sum(np.abs(terms), axis=1)
        assert np.all(np.abs(J[1:] - decay * J[:-1]) <= 1e-12 * (size[1:] + size[:-1]))
    P, size = p.reshape(-1, 3, 2).sum(axis=1), np.sum(np.abs(p), axis=1)
    law = np.exp(-np.asarray(run.log_weight))[:, None] * P[0]
    assert np.all(np.abs(P - law) <= 1e-13 * size[:, None] + 1e-300)
    assert np.max(np.abs(triangle.errors(run.q[-1]))) < 1e-14


def test_a_file_is_not_one_of_the_weight_written_out(tmp_path):
    """Its momenta are over the weight, which a system without one would not know."""

    def grown(t, p):
        return jnp.exp(0.5 * t)

    own = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(1), weight=grown)
    other = ac.System(lambda t, q, v, p: grown(t, p) * 0.5 * v @ v, ac.Euclidean(1))
    ac.simulate(own, ac.Midpoint(), q0=[1.0], v0=[0.5], h=0.1, steps=2).save(tmp_path / "run")
    with pytest.raises(ValueError, match="another system: one with a weight"):
        ac.load(tmp_path / "run", system=other)
    with pytest.raises(ValueError, match="takes the Lagrangian with its weight"):
        ac.analysis.symplecticity(own, ac.Midpoint(), q0=[1.0], v0=[0.5], t0=9000.0, h=0.1)
