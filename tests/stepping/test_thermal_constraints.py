"""Thermal systems under constraints: a rod, a disk that rolls, virtual displacements."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import accion as ac

G = 9.81
R = 0.5
DISK = {"m": 2.0, "I": 0.3, "J": 0.2, "C": 3.0, "roll": 0.1, "turn": 0.05, "R": R}


def warmth(S, x):
    """An internal energy that pushes along x."""
    return 2 * jnp.exp(S / 2) * (1 + 0.05 * x)


def damped(t, q, v, S, p):
    return -0.3 * v


rod = ac.ThermalSystem(
    lambda t, q, v, S, p: 0.5 * v @ v - G * q[1] - warmth(S, q[0]),
    ac.Euclidean(2),
    friction=damped,
    holonomic=lambda t, q, p: jnp.array([q @ q - 1]),
    coordinates=("x [m]", "y [m]"),
    name="warm rod",
)
angle = ac.ThermalSystem(
    lambda t, q, v, S, p: 0.5 * v @ v + G * jnp.cos(q[0]) - warmth(S, jnp.sin(q[0])),
    ac.Euclidean(1),
    friction=damped,
)
A0, W0 = 0.8, 0.5
SWING = {
    "q0": [np.sin(A0), -np.cos(A0)],
    "v0": [W0 * np.cos(A0), W0 * np.sin(A0)],
    "S0": 0.2,
}


def kappa(t, q, v, p):
    return jnp.array([v[0] - p["R"] * jnp.cos(q[2]) * v[3], v[1] - p["R"] * jnp.sin(q[2]) * v[3]])


def disk_of(**more):
    return ac.ThermalSystem(
        lambda t, q, v, S, p: (
            0.5 * p["m"] * (v[0] ** 2 + v[1] ** 2)
            + 0.5 * p["J"] * v[2] ** 2
            + 0.5 * p["I"] * v[3] ** 2
            - p["C"] * jnp.exp(S / p["C"])
        ),
        ac.Euclidean(4),
        DISK,
        friction=lambda t, q, v, S, p: -jnp.array([0, 0, p["turn"] * v[2], p["roll"] * v[3]]),
        nonholonomic=kappa,
        coordinates=("x [m]", "y [m]", "theta [rad]", "phi [rad]"),
        name="disk",
        **more,
    )


disk = disk_of()
ROLLING = {
    "q0": [0.0, 0.0, 0.3, 0.0],
    "v0": [4 * R * np.cos(0.3), 4 * R * np.sin(0.3), 1.5, 4.0],
    "S0": 0.1,
}


def rolled(t):
    """(theta', phi', S) of the disk: J theta'' = -turn theta', (I + m R^2) phi'' = -roll phi', and
    what they lose heats.
    """
    M = DISK["I"] + DISK["m"] * R**2
    turn, roll = 1.5 * np.exp(-DISK["turn"] * t / DISK["J"]), 4 * np.exp(-DISK["roll"] * t / M)
    lost = 0.5 * M * (16 - roll**2) + 0.5 * DISK["J"] * (1.5**2 - turn**2)
    C = DISK["C"]
    return turn, roll, C * np.log(np.exp(0.1 / C) + lost / C)


@cache
def run_of_disk(h, method=None):
    return ac.simulate(disk, method or ac.Midpoint(), **ROLLING, h=h, steps=round(2 / h))


def test_a_rod_is_a_pendulum():
    """In positions and in the angle: the continuous motions agree to rounding, the discrete one to
    order 2; the rod keeps its length.
    """
    ts = [0.0, 1.0, 2.0]
    q, v, S = ac.reference(rod, **SWING, ts=ts)
    a, _, S_angle = ac.reference(angle, q0=[A0], v0=[W0], S0=0.2, ts=ts)
    assert_allclose(q, np.stack([np.sin(a[:, 0]), -np.cos(a[:, 0])], axis=1), atol=1e-13)
    assert_allclose(S, S_angle, rtol=1e-13)
    errors = []
    for steps in (100, 200):
        traj = ac.simulate(rod, ac.Midpoint(), **SWING, h=2 / steps, steps=steps)
        assert_allclose(np.sum(traj.q**2, axis=1), 1, atol=1e-14)
        assert_allclose(np.sum(traj.q * traj.v, axis=1), 0, atol=1e-14)
        assert np.all(np.diff(traj.S) > 0)
        errors.append(np.abs([*(traj.q[-1] - q[-1]), *(traj.v[-1] - v[-1]), traj.S[-1] - S[-1]]))
    assert_allclose(np.log2(errors[0] / errors[1]), 2, atol=0.1)


def test_forces_and_rates_of_the_rod_by_hand():
    """lam from the tension, S' from what friction takes."""
    q, v = np.array(SWING["q0"]), np.array(SWING["v0"])
    a, lam, rate = ac.accelerations(rod)(0.0, q, v, 0.2)
    force = np.array([0.0, -G]) - 0.3 * v - np.array([0.1 * np.exp(0.1), 0])
    # q.a = -v.v, a = force + 2 lam q
    assert_allclose(lam[0], -(v @ v + q @ force) / 2, rtol=1e-14)
    assert_allclose(a, force + 2 * lam[0] * q, rtol=1e-13)
    assert_allclose(rate, 0.3 * v @ v / (np.exp(0.1) * (1 + 0.05 * q[0])), rtol=1e-14)
    traj = ac.simulate(rod, ac.Midpoint(), **SWING, h=0.1, steps=4)
    assert_allclose(traj.lam[0], lam, rtol=1e-12)
    # the same motion from its momenta
    again = ac.simulate(rod, ac.Midpoint(), q0=q, p0=v, S0=0.2, h=0.1, steps=4)
    assert_allclose(again.q, traj.q, atol=1e-14)


def test_a_disk_rolls_and_its_friction_heats():
    errors = []
    for h in (0.04, 0.02):
        traj = run_of_disk(h)
        slip = [kappa(0.0, *at, DISK) for at in zip(traj.q, traj.v, strict=True)]
        assert np.max(np.abs(slip)) < 1e-14
        errors.append(np.abs(np.array([*traj.v[-1, 2:], traj.S[-1]]) - rolled(2.0)))
    assert_allclose(np.log2(errors[0] / errors[1]), 2, atol=0.1)
    high = run_of_disk(0.1, ac.Composition(ac.Midpoint(), 4))
    assert_allclose([*high.v[-1, 2:], high.S[-1]], rolled(2.0), rtol=1e-6)
    _, v, S = ac.reference(disk, **ROLLING, ts=[0.0, 2.0])
    assert_allclose([*v[-1, 2:], S[-1]], rolled(2.0), rtol=1e-11)


def test_virtual_displacements_that_depend_on_the_velocity():
    """With A = dkappa/dv, given as a function of (t, q, params) and of (t, q, v, params), the disk
    is the same; so is a point of constant speed, whose A turns with v.
    """

    def rows(t, q, p):
        c, s = p["R"] * jnp.cos(q[2]), p["R"] * jnp.sin(q[2])
        return jnp.array([[1.0, 0, 0, -c], [0, 1.0, 0, -s]])

    traj = run_of_disk(0.04)
    for A in (rows, lambda t, q, v, p: rows(t, q, p)):
        other = ac.simulate(disk_of(variational=A), ac.Midpoint(), **ROLLING, h=0.04, steps=50)
        assert_allclose(other.q, traj.q, atol=1e-13)

    def L(t, q, v, p):
        return 0.5 * v @ v - 0.5 * q @ q

    def speed(t, q, v, p):
        return jnp.array([v @ v - 1.0])

    start = {"q0": [0.3, 0.1], "v0": [0.6, 0.8], "h": 0.05, "steps": 20}
    chetaev, other = (
        ac.simulate(
            ac.System(L, ac.Euclidean(2), nonholonomic=speed, variational=A), ac.Midpoint(), **start
        )
        for A in (None, lambda t, q, v, p: 2 * v[None])
    )
    assert_allclose(other.q, chetaev.q, atol=1e-14)
    assert_allclose(other.lam, chetaev.lam, atol=1e-12)


def test_equations_in_letters():
    eqs = ac.symbolic(rod)
    x, y, lam = *eqs.coordinates, eqs.lam[0]
    assert eqs.constraints == (sp.Eq(x**2 + y**2 - 1, 0),)
    right = [e.rhs for e in eqs.equations[:2]]
    assert sp.simplify(right[0] - right[0].subs(lam, 0) - 2 * lam * x) == 0
    q, v = map(np.array, (SWING["q0"], SWING["v0"]))
    numbers = dict(zip(eqs.v, [*v, 0.0], strict=True)) | dict(zip(eqs.q, [*q, 0.2], strict=True))
    a, found, _ = ac.accelerations(rod)(0.0, q, v, 0.2)
    at = [float(e.subs(numbers)) for e in (*eqs.accelerations, *eqs.multipliers)]
    assert_allclose(at, [*a, *found], rtol=1e-12)
    discrete = eqs.discrete(ac.Midpoint())
    assert len(discrete.constraints) == 2  # the entropy balance and the rod


def test_a_run_is_kept_and_goes_on(tmp_path):
    traj = run_of_disk(0.04)
    traj.save(tmp_path / "disk.zarr")
    kept = ac.load(tmp_path / "disk.zarr", disk)
    assert_allclose(kept.lam, traj.lam)
    assert "lam" in traj.to_xarray()
    whole = ac.simulate(disk, ac.Midpoint(), **ROLLING, h=0.04, steps=60)
    assert np.array_equal(kept.extend(10).q, whole.q)
    between, exact = traj.at(0.5), ac.reference(disk, **ROLLING, ts=[0.0, 0.5])
    assert_allclose(between.q, exact[0][-1], atol=1e-3)  # the method's own error at this step
    assert_allclose(between.S, exact[2][-1], atol=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"v0": [1.0, 0.0]}, "leads off it"),
        ({"q0": [0.0, -1.1], "v0": [0.0, 0.0]}, "q0 is off the constraint"),
        ({"v0": None, "q1": [0.0, -1.0]}, "under constraints starts from v0 or p0"),
        ({"method": ac.EnergyConsistent(ac.Midpoint())}, "thermal systems under constraints"),
        ({"method": ac.EnergyEntropyConsistent()}, "thermal systems under constraints"),
        ({"method": ac.Galerkin(2)}, "thermal systems under constraints"),
    ],
)
def test_bad_input(change, words):
    run = {**SWING, "method": ac.Midpoint(), "h": 0.1, "steps": 2} | change
    with pytest.raises(ValueError, match=words):
        ac.simulate(rod, run.pop("method"), **run)


def test_variational_alone_says_nothing():
    with pytest.raises(ValueError, match="`variational` goes with `nonholonomic`"):
        ac.ThermalSystem(
            lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S),
            ac.Euclidean(1),
            variational=lambda t, q, p: jnp.ones((1, 1)),
        )
