"""`Galerkin(s)`: order 2s on every kind of system and space, and the laws that it keeps."""

from math import comb, factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.discretise.collocation import inertia_of
from accion.discretise.sweeps import Stage, swept
from accion.stepping.collocated import StageEquations, joined
from tests.stepping.galerkin_cases import (
    CASES,
    FEW,
    FLAT,
    FORCED,
    FREE,
    HANGING,
    HELD,
    INERTIA,
    PLACE,
    Q0,
    ROLLING,
    ROLLS,
    TOP,
    TURNING,
    V0,
    ends,
    measured,
    orders,
    rubbing,
    run,
    uneven,
    warm,
)


@pytest.mark.parametrize("name", CASES)
def test_order_is_twice_the_number_of_points(name):
    """Against many more points; that these are right, the next test shows."""
    for s in (2, 3) if name in FEW else (2, 3, 4):
        assert abs(measured(name, s) - 2 * s) < (0.15 if s < 4 else 0.6)


@pytest.mark.parametrize("name", ["forced", "nonholonomic", "holonomic", "SO3"])
def test_the_motion_is_that_of_the_continuous_equations(name):
    system, start, duration = CASES[name]
    q, v = ac.reference(system, ts=[0.0, duration], **start)[:2]
    traj = run(system, 4, start, duration, 100)
    np.testing.assert_allclose(traj.q[-1], q[-1], atol=3e-11)
    np.testing.assert_allclose(traj.v[-1], v[-1], atol=3e-10)


@pytest.mark.parametrize(("s", "steps", "off"), [(6, 20, 2e-13), (8, 12, 2e-13), (12, 8, 2e-13)])
def test_few_steps_of_high_order_are_enough(s, steps, off):
    """Orders above ten reach rounding before their slope can be seen; what they integrate exactly
    is seen in tests/methods/test_polynomials.py.
    """
    kepler = ac.System(lambda t, q, v, p: 0.5 * v @ v + 1 / jnp.sqrt(q @ q), ac.Euclidean(2))
    start = {"q0": [0.8, 0.0], "v0": [0.0, np.sqrt(1.2 / 0.8)]}
    traj = run(kepler, s, start, 2 * np.pi, steps)
    assert np.max(np.abs(traj.q[-1] - traj.q[0])) < off


@pytest.mark.parametrize("s", range(1, 13))
def test_a_step_of_an_oscillator_is_that_of_pade(s):
    """Of exp(i z), z = h omega, it is the diagonal Pade approximation of degree s, which is right
    to (s!)^2/((2s)! (2s + 1)!) z^(2s + 1): with steps so long that this is seen, and so for orders
    that are at rounding before their slopes are.
    """
    size = factorial(s) ** 2 / (factorial(2 * s) * factorial(2 * s + 1))
    h = (1e-9 / size) ** (1 / (2 * s + 1))
    weights = [comb(s, k) * factorial(2 * s - k) / factorial(2 * s) for k in range(s + 1)]
    up, down = (sum(w * (sign * h) ** k for k, w in enumerate(weights)) for sign in (1j, -1j))
    linear = ac.System(lambda t, q, v, p: 0.5 * v @ v - 0.5 * q @ q, ac.Euclidean(1))
    traj = ac.simulate(linear, ac.Galerkin(s), q0=[1.0], v0=[0.0], h=h, steps=1)
    found = traj.q[-1, 0] - 1j * traj.p[-1, 0]
    assert abs(up / down - np.exp(1j * h)) > 5e-10
    assert abs(found - up / down) < 1e-13


@pytest.mark.parametrize("s", [3, 4])
def test_lobatto_points_have_order_2s_minus_2(s):
    for system, start, duration in (CASES["forced"], CASES["holonomic"]):
        exact = ends(run(system, 4, start, duration, 100))
        counts = (20, 40) if s == 3 else (10, 20)
        found = orders(system, start, duration, s, counts, exact, "lobatto")
        np.testing.assert_allclose(found, 2 * s - 2, atol=0.15)


def test_one_point_is_the_midpoint_and_two_lobatto_points_the_trapezoid():
    for method, other in (
        (ac.Galerkin(1), ac.Midpoint()),
        (ac.Galerkin(2, "lobatto"), ac.Trapezoid()),
    ):
        for system, start in ((FORCED, FLAT), (TOP, TURNING), (HELD, HANGING)):
            a, b = (ac.simulate(system, m, h=0.05, steps=10, **start) for m in (method, other))
            np.testing.assert_allclose(a.q, b.q, atol=2e-13)
            np.testing.assert_allclose(a.p, b.p, atol=2e-12)


# ---------------------------------------------------------------- structure


@pytest.mark.parametrize(("system", "start"), [(FREE, FLAT), (HELD, HANGING)], ids=["flat", "rod"])
def test_symplectic_to_rounding(system, start):
    assert ac.analysis.symplecticity(system, ac.Galerkin(2), h=0.1, **start) < 2e-14
    # of the step that `simulate` makes
    traj = run(system, 2, start, 0.2, 2)
    q, p = ac.discrete(system, ac.Galerkin(2)).hamiltonian_flow(0.1, 0.1, traj.q[1], traj.p[1])
    np.testing.assert_allclose(q, traj.q[2], atol=1e-13)
    np.testing.assert_allclose(p, traj.p[2], atol=1e-12)


@pytest.mark.parametrize("s", [1, 2, 3])
def test_symplectic_on_a_group(s):
    """By differences of steps, in the form dp ^ dq + p.[dq, dq] of body displacements: a chart that
    stays where it is would leave 1e-6 here.
    """
    space, p0, e = TOP.space, INERTIA * np.array([0.6, 1.35, 0.45]), 1e-4
    q0 = space.retract(jnp.eye(3), jnp.array([0.3, 0.2, -0.4]))

    def step(d):
        q = space.retract(q0, jnp.asarray(d[:3]))
        traj = ac.simulate(TOP, ac.Galerkin(s), q0=q, p0=p0 + d[3:], h=0.4, steps=1)
        return np.asarray(traj.q[-1]), np.asarray(traj.p[-1])

    q1, p1 = step(np.zeros(6))

    def change(d):
        q, p = step(d)
        return np.concatenate([space.local(q1, q), p - p1])

    def form(p):
        bracket = np.cross(np.eye(3)[:, None], np.eye(3)[None]) @ p
        return np.block([[bracket, np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])

    J = np.stack(
        [
            (8 * (change(e * d) - change(-e * d)) - (change(2 * e * d) - change(-2 * e * d)))
            / (12 * e)
            for d in np.eye(6)
        ],
        axis=1,
    )
    np.testing.assert_allclose(J.T @ form(p1) @ J, form(p0), atol=2e-10)


def test_momentum_is_kept_to_rounding_and_energy_does_not_drift():
    kepler = ac.System(lambda t, q, v, p: 0.5 * v @ v + 1 / jnp.sqrt(q @ q), ac.Euclidean(2))
    start = {"q0": [0.5, 0.0], "v0": [0.0, np.sqrt(3.0)]}
    traj = run(kepler, 8, start, 2 * np.pi * 1000, 24_000, save_every=240)
    momentum = traj.q[:, 0] * traj.p[:, 1] - traj.q[:, 1] * traj.p[:, 0]
    energy = np.asarray(traj.energy())
    assert np.max(np.abs(momentum / momentum[0] - 1)) < 2e-14
    assert np.max(np.abs(energy / energy[0] - 1)) < 1e-13
    np.testing.assert_allclose(traj.q[-1], [0.5, 0.0], atol=1e-8)


def test_spatial_momentum_of_a_free_top():
    body = ac.System(lambda t, q, v, p: 0.5 * v @ (INERTIA * v), ac.SO3())
    traj = run(body, 3, TURNING, 20.0, 50)
    spatial = np.einsum("kij,kj->ki", traj.q, traj.p)
    np.testing.assert_allclose(spatial, np.broadcast_to(spatial[0], spatial.shape), atol=1e-13)


def test_steps_can_be_run_backwards():
    there = run(FREE, 3, FLAT, 5.0, 50)
    back = ac.simulate(FREE, ac.Galerkin(3), q0=there.q[-1], p0=-there.p[-1], h=0.1, steps=50)
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=1e-13)
    np.testing.assert_allclose(back.p[-1], -there.p[0], atol=1e-13)


def test_both_laws_of_thermodynamics():
    closed = ac.ThermalSystem(warm, ac.Euclidean(1), friction=rubbing)
    off = []
    for steps in (40, 80):
        traj = run(closed, 2, {"q0": [1.0], "v0": [0.5], "S0": 0.1}, 10.0, steps)
        energy = np.asarray(traj.energy())
        off.append(np.max(np.abs(energy - energy[0])))
        assert np.all(np.diff(traj.S) > 0)
    assert 3.7 < np.log2(off[0] / off[1]) < 4.6


# ---------------------------------------------------------------- where sweeps do not converge


def test_a_stiff_step_is_solved_by_newtons_method():
    """Sweeps diverge where h omega is large; the step is that of the implicit equations all the
    same: of a linear oscillator the Pade approximation of exp(i h omega).
    """
    omega, h = 80.0, 0.1
    stiff = ac.System(lambda t, q, v, p: 0.5 * v @ v - 0.5 * omega**2 * q @ q, ac.Euclidean(1))
    traj = ac.simulate(stiff, ac.Galerkin(2), q0=[1.0], v0=[0.0], h=h, steps=4)
    z = 1j * h * omega
    pade = (1 + z / 2 + z**2 / 12) / (1 - z / 2 + z**2 / 12)
    np.testing.assert_allclose(traj.q[:, 0], np.real(pade ** np.arange(5)), atol=1e-11)


@pytest.mark.parametrize("name", ["SO3", "SO3, cayley"])
def test_sweeps_in_the_frame_of_the_body_solve_the_equations_in_the_chart(name):
    """Those of the residual, whose derivatives are of the Lagrangian in chart coordinates."""
    (system, start, _), method, h = CASES[name], ac.Galerkin(3), 0.2
    q0, v0 = (jnp.asarray(start[key]) for key in ("q0", "v0"))
    p0 = system.legendre(0.0, q0, v0)
    args, none = (system, 0.0, h, q0, p0), jnp.zeros((3, 3))

    @jax.jit
    def unsolved():
        def sweep(_, state):
            found, P = swept(method, inertia_of(system), args, state[1], state[0])
            return found.stage, P

        stages, P = jax.lax.fori_loop(0, 60, sweep, (Stage(none, none, none[:, :0]), p0))
        x = jnp.sum(stages.X, axis=0)
        return x, StageEquations(method).residual(joined(x, stages, P), args)

    x, left = unsolved()
    assert np.max(np.abs(x)) > 0.1
    assert np.max(np.abs(left)) < 1e-14


# ---------------------------------------------------------------- engines, ensembles, derivatives


@pytest.mark.parametrize("name", ["forced", "SO3", "thermal"])
def test_both_engines_agree(name):
    system, start, _ = CASES[name]
    runs = [run(system, 2, start, 1.0, 10, engine=engine) for engine in ("native", "xla")]
    assert [each.engine for each in runs] == ["native", "xla"]
    np.testing.assert_allclose(ends(runs[0]), ends(runs[1]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("system", [FREE, FORCED], ids=["constant inertia", "forced"])
def test_members_of_an_ensemble_are_runs(system):
    starts = np.array([Q0, [0.5, 0.1], [0.2, 0.2], [0.3, 0.1], [1.0, 1.0]])
    many = ac.ensemble(system, ac.Galerkin(5), q0=starts, v0=V0, h=0.1, steps=10)
    for i, q0 in enumerate(starts):
        one = ac.simulate(system, ac.Galerkin(5), q0=q0, v0=V0, h=0.1, steps=10)
        np.testing.assert_array_equal(many.q[i], one.q)
        np.testing.assert_array_equal(many.p[i], one.p)


def test_derivatives_through_a_run():
    def last(a):
        start = {"q0": a * jnp.array(Q0), "v0": V0}
        return run(FREE, 2, start, 0.3, 3).q[-1, 0]

    e = 1e-5
    np.testing.assert_allclose(
        jax.grad(last)(1.0), (last(1 + e) - last(1 - e)) / (2 * e), rtol=1e-8
    )


# ---------------------------------------------------------------- two ends, discrete objects


@pytest.mark.parametrize(("system", "start"), [(FREE, FLAT), (HELD, HANGING)], ids=["free", "rod"])
def test_connect_finds_the_run_between_two_of_its_points(system, start):
    traj = run(system, 2, start, 0.5, 10)
    found = ac.connect(system, ac.Galerkin(2), qa=traj.q[0], qb=traj.q[-1], duration=0.5, steps=10)
    np.testing.assert_allclose(found.q, traj.q, atol=1e-12)


def test_discrete_objects_are_those_of_the_run():
    traj = run(FORCED, 2, FLAT, 0.3, 3)
    d, (q0, q1, q2, _) = ac.discrete(FORCED, ac.Galerkin(2)), traj.q
    assert np.max(np.abs(d.euler_lagrange(0.0, 0.1, q0, q1, q2))) < 1e-13
    np.testing.assert_allclose(d.legendre_plus(0.0, 0.1, q0, q1)[1], traj.p[1], atol=1e-13)
    np.testing.assert_allclose(d.hamiltonian_flow(0.1, 0.1, q1, traj.p[1])[0], q2, atol=1e-13)


def test_a_run_from_two_configurations():
    traj = run(FREE, 3, FLAT, 0.5, 5)
    other = ac.simulate(FREE, ac.Galerkin(3), q0=Q0, q1=traj.q[1], h=0.1, steps=5)
    np.testing.assert_allclose(other.q, traj.q, atol=1e-13)


# ---------------------------------------------------------------- refusals


def squared(t, q, v, params):
    return jnp.array([v[2] - v[1] ** 2])


def bent(t, q, v, a, params):
    return 0.5 * a @ a


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ac.Galerkin(0), "1 <= s <= 20; got 0"),
        (lambda: ac.Galerkin(2.5), "got 2.5"),
        (lambda: ac.Galerkin(1, "lobatto"), "2 <= s"),
        (lambda: ac.Galerkin(2, "simpson"), "Try one of: gauss, lobatto"),
        (
            lambda: run(
                ac.System(uneven, ac.Euclidean(3), nonholonomic=squared), 2,
                {"q0": PLACE, "v0": [0.5, 0.6, 0.36]}, 1.0, 5,
            ),
            "turn with the velocity",
        ),
        (lambda: run(ROLLS, 3, {"q0": PLACE, "v0": ROLLING}, 1.0, 5, "lobatto"), "held twice"),
        (
            lambda: run(
                ac.HigherOrderSystem(bent, ac.Euclidean(1)), 2, {"q0": [0.0], "v0": [[0.0]]}, 1.0, 5
            ),
            "v0 must have shape .3, 1.",
        ),
        (lambda: ac.symbolic(FREE).discrete(ac.Galerkin(2)), "inner points are is no formula"),
    ],
)  # fmt: skip
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
