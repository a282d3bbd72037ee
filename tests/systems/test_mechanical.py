"""`mechanical` systems: the same motion as the Lagrangian written out, and explicit steps where
they are promised.
"""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import accion as ac
from accion.stepping.variational import is_explicit

EXPLICIT = [ac.LeftRectangle(), ac.RightRectangle(), ac.Trapezoid(), ac.Alpha(0.0), ac.Alpha(1.0)]
M = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])


def potential(t, q, params):
    return params["k"] * jnp.sum(q**4) / 4 + jnp.sin(t) * q[0] + jnp.cos(q[1] - q[2])


def weight(t, params):
    return jnp.exp(-params["kappa"] * t)


PARAMS = {"k": 1.3, "kappa": 0.2}
Q0, V0 = jnp.array([0.3, -0.5, 0.4]), jnp.array([0.2, 0.1, -0.7])


def written_out(mass, magnetic=None):
    def lagrangian(t, q, v, params):
        A = 0.0 if magnetic is None else magnetic(q, params) @ v
        return weight(t, params) * (
            0.5 * v @ (np.asarray(mass) * np.eye(3) if np.ndim(mass) < 2 else mass) @ v
            + A
            - potential(t, q, params)
        )

    return lagrangian


@pytest.mark.parametrize(
    "mass", [1.7, np.array([1.0, 2.0, 3.0]), M], ids=["number", "vector", "matrix"]
)
@pytest.mark.parametrize("method", [*EXPLICIT, ac.Midpoint()], ids=str)
def test_same_motion_as_the_lagrangian_written_out(mass, method):
    short = ac.mechanical(mass, potential, 3, weight=weight, params=PARAMS)
    full = ac.System(written_out(mass), ac.Euclidean(3), PARAMS)
    run = {"q0": Q0, "v0": V0, "h": 0.05, "steps": 40, "t0": 0.3}
    a, b = ac.simulate(short, method, **run), ac.simulate(full, method, **run)
    np.testing.assert_allclose(a.q, b.q, atol=1e-12)
    np.testing.assert_allclose(a.p, b.p, atol=1e-12)
    np.testing.assert_allclose(a.v, b.v, atol=1e-12)
    assert is_explicit(short, method) == (method != ac.Midpoint())
    assert (np.max(a.iterations) == 0) == is_explicit(short, method)


def test_magnetic_term_and_mass_from_params():
    def magnetic(q, params):
        return jnp.array([-q[1], q[0] * q[2], params["k"] * q[0]])

    short = ac.mechanical(
        lambda params: params["k"] * M,
        potential,
        3,
        weight=weight,
        magnetic=magnetic,
        params=PARAMS,
    )
    full = ac.System(written_out(1.3 * M, magnetic), ac.Euclidean(3), PARAMS)
    for method in (ac.Trapezoid(), ac.Midpoint()):
        run = {"q0": Q0, "v0": V0, "h": 0.05, "steps": 40}
        a, b = ac.simulate(short, method, **run), ac.simulate(full, method, **run)
        np.testing.assert_allclose(a.q, b.q, atol=1e-12)
        np.testing.assert_allclose(a.v, b.v, atol=1e-12)
        assert not is_explicit(short, method)


def test_forces_of_position_stay_explicit_forces_of_velocity_do_not():
    def make(force):
        return ac.mechanical(1.0, potential, 3, params=PARAMS, force=force)

    follower = make(lambda t, q, v, params: jnp.array([-q[1], q[0], jnp.sin(t)]))
    damped = make(lambda t, q, v, params: -0.1 * v)
    assert is_explicit(follower, ac.Trapezoid())
    assert not is_explicit(damped, ac.Trapezoid())
    full = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - potential(t, q, params),
        ac.Euclidean(3),
        PARAMS,
        force=follower.force,
    )
    for method in EXPLICIT:
        a, b = (
            ac.simulate(system, method, q0=Q0, v0=V0, h=0.05, steps=40)
            for system in (follower, full)
        )
        np.testing.assert_allclose(a.q, b.q, atol=1e-12)


def chain(t, q, params):
    return jnp.sum(jnp.diff(q) ** 2) / 2 + jnp.sum(jnp.diff(q) ** 4) / 4


@pytest.mark.parametrize("method", EXPLICIT[:3], ids=str)
def test_explicit_steps_need_no_matrix(method):
    """A chain of 20 000 masses: an n x n matrix would take 3.2 GB; and no array of the compiled
    loop has more than n entries.
    """
    n = 20_000
    system = ac.mechanical(1.0, chain, n)
    q0 = np.sin(np.linspace(0, 20, n))
    tracemalloc.start()
    traj = ac.simulate(system, method, q0=q0, v0=np.zeros(n), h=0.05, steps=20, save_every=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bool(traj.success)
    assert peak < 50e6
    from accion.stepping.variational import Variational

    scheme = Variational(system, method)
    jaxpr = jax.make_jaxpr(
        lambda q: scheme.step(scheme.start(0.0, q, q, q, q, jnp.zeros(0)), 0.0, 0.1)
    )(jnp.zeros(n))
    sizes = [v.aval.size for equation in jaxpr.jaxpr.eqns for v in equation.outvars]
    assert max(sizes) <= n


@pytest.mark.slow
def test_explicit_cost_is_linear_in_n():
    import time

    def cost(n):
        system = ac.mechanical(1.0, chain, n)
        run = {
            "q0": np.sin(np.linspace(0, 20, n)),
            "v0": np.zeros(n),
            "h": 0.05,
            "steps": 200,
            "save_every": 200,
        }
        jax.block_until_ready(ac.simulate(system, ac.Trapezoid(), **run).q)
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            jax.block_until_ready(ac.simulate(system, ac.Trapezoid(), **run).q)
            times.append(time.perf_counter() - begin)
        return min(times)

    assert cost(80_000) < 10 * cost(20_000)


def test_rayleigh_is_the_gradient_of_the_dissipation():
    force = ac.rayleigh(lambda t, q, v, params: 0.5 * params * jnp.sum(v**2) + v[0] ** 4)
    np.testing.assert_allclose(
        force(0.0, None, jnp.array([1.0, 2.0]), 0.3), [-0.3 - 4.0, -0.6], rtol=1e-15
    )
    with pytest.raises(ValueError, match="dissipation must be a function"):
        ac.rayleigh(3.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ac.mechanical(np.ones(2), None, 3), r"mass must be.*shape \(2,\)"),
        (lambda: ac.mechanical("heavy", None, 3), "mass must be a number"),
        (lambda: ac.mechanical(np.array([[1.0, 2.0], [0.0, 1.0]]), None, 2), "symmetric"),
        (lambda: ac.mechanical(np.array([1.0, 0.0]), None, 2), "mass is singular"),
        (lambda: ac.mechanical(np.nan, None, 2), "mass must be finite"),
        (lambda: ac.mechanical(1.0, 3.0, 2), "potential must be a function"),
        (lambda: ac.mechanical(1.0, None, 0), "n >= 1"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_mass_from_params_is_checked_too():
    system = ac.mechanical(lambda params: params, None, 2, params=jnp.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="mass is singular"):
        ac.simulate(system, ac.Trapezoid(), q0=[0.0, 0.0], p0=[1.0, 1.0], h=0.1, steps=1)


# ---------------------------------------------------------------- random systems

numbers = st.floats(-1.0, 1.0)


def random_lagrangian(t, q, v, params):
    """Positive mass that depends on q, a quartic potential, a magnetic term: random
    coefficients.
    """
    B, c, A = params["B"], params["c"], params["A"]
    kinetic = 0.5 * jnp.sum((v + 0.3 * jnp.sin(B @ q) * jnp.sum(v)) ** 2) + 0.5 * jnp.sum(v**2)
    return kinetic + (A @ q) @ v - c @ q**2 - jnp.sum(q**4) / 4


RANDOM = ac.System(
    random_lagrangian,
    ac.Euclidean(2),
    {"B": jnp.zeros((2, 2)), "c": jnp.zeros(2), "A": jnp.zeros((2, 2))},
)


@given(seed=st.integers(0, 2**32 - 1), q=st.tuples(numbers, numbers), v=st.tuples(numbers, numbers))
@pytest.mark.parametrize("method", [ac.Midpoint(), ac.Trapezoid(), ac.LeftRectangle()], ids=str)
def test_random_systems_obey_the_laws(method, seed, q, v):
    """On systems and data drawn at random: discrete equations solved, energy near its first value,
    symplectic, reversible if symmetric.
    """
    rng = np.random.default_rng(seed)
    params = {"B": rng.normal(size=(2, 2)), "c": rng.uniform(0, 1, 2), "A": rng.normal(size=(2, 2))}
    h, steps = 0.02, 200
    traj = ac.simulate(RANDOM, method, q0=list(q), v0=list(v), h=h, steps=steps, params=params)
    E = np.asarray(traj.energy())
    assert np.max(np.abs(E - E[0])) < (0.05 if method.order == 2 else 0.5) * (1 + abs(E[0]))
    residual, T, back = laws(RANDOM.with_params(params), method, traj.t, traj.q, traj.p, h)
    assert np.max(np.abs(residual)) < 1e-12
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert np.max(np.abs(T.T @ J @ T - J)) < 1e-12
    if method.symmetric:
        np.testing.assert_allclose(back, np.concatenate([traj.q[0], traj.p[0]]), atol=1e-11)


@jax.jit(static_argnums=1)
def laws(system, method, t, q, p, h):
    d = ac.discrete(system, method)
    residual = jax.vmap(lambda t, a, b, c: d.euler_lagrange(t, h, a, b, c))(
        t[:-2], q[:-2], q[1:-1], q[2:]
    )
    T = jax.jacfwd(lambda z: jnp.concatenate(d.hamiltonian_flow(t[0], h, z[:2], z[2:])))(
        jnp.concatenate([q[0], p[0]])
    )
    back = jnp.concatenate(d.hamiltonian_flow(t[1], -h, q[1], p[1]))
    return residual, T, back
