"""Networks of bodies, diffusion as a motion of mole numbers, and dry friction."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac


def test_a_network_is_the_matrix_of_its_edges():
    T = np.array([300.0, 310.0, 290.0, 305.0])
    edges, G = [(0, 1), (1, 2), (2, 3), (0, 3)], np.array([1.0, 2.0, 0.5, 3.0])
    matrix = np.zeros((4, 4))
    for (a, b), g in zip(edges, G, strict=True):
        matrix[a, b] = matrix[b, a] = g
    assert_allclose(ac.thermo.network(T, edges, G), ac.thermo.conduction(T, matrix), rtol=1e-13)
    assert float(jnp.sum(ac.thermo.network(T, edges, 1.0))) == 0
    for bad, words in (
        ([(0, 4)], "from 0 to 3"),
        ([0, 1], "edges must be pairs"),
        ([(0.0, 1.0)], "edges must be pairs"),
    ):
        with pytest.raises(ValueError, match=words):
            ac.thermo.network(T, bad, 1.0)
    with pytest.raises(ValueError, match="one for each edge"):
        ac.thermo.network(T, edges, [1.0, 2.0])


def test_a_chain_of_a_hundred_bodies():
    """Heat in a rod with C = 1: its mean T stays, its first mode falls as e^{-4 sin^2(pi/2m) t}."""
    m, h, steps = 100, 1.0, 20
    edges = np.stack([np.arange(m - 1), np.arange(1, m)], axis=1)
    rod = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.sum(p.U(S)),
        ac.Euclidean(1),
        ac.thermo.Solid(jnp.ones(m), 300.0),
        heat=lambda t, q, v, S, p: ac.thermo.network(p.T(S), edges, 1.0),
        entropies=m,
    )
    mode = np.cos(np.pi * (np.arange(m) + 0.5) / m)
    S0 = np.log1p(mode / 300)
    run = ac.simulate(
        rod, ac.EnergyConsistent(ac.Midpoint()), q0=[0.0], v0=[0.0], S0=S0, h=h, steps=steps
    )
    rate = 4 * np.sin(np.pi / (2 * m)) ** 2
    assert_allclose(300 * np.exp(run.S[-1]) - 300, mode * np.exp(-rate * h * steps), atol=1e-8)
    assert_allclose(np.sum(np.exp(run.S[-1])), m, rtol=1e-14)
    assert np.sum(run.S[-1]) > np.sum(S0)


GAS = ac.thermo.IdealGas.moles(1.0, 300.0, 0.02)


def compartments(R, tau):
    """Two moles in two volumes, a membrane between: N_1 is a coordinate, whose force is mu_2 -
    mu_1; -R N_1' is the friction of molecules, which heats both sides alike.
    """
    return ac.ThermalSystem(
        lambda t, q, v, S, p: (
            0.5 * R * tau * v[0] ** 2 - GAS.U(S[0], 0.02, q[0]) - GAS.U(S[1], 0.02, 2 - q[0])
        ),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, p: -0.5 * R * jnp.stack([v, v]),
        entropies=2,
        coordinates=("N_1 [mol]",),
    )


def test_diffusion_through_a_membrane():
    """Near equilibrium R tau d'' + R d' + K d = 0 for d = N_1 - 1, with K = 2 d mu/dN; far from it
    the amounts become equal, the energy stays, and entropy is made at the rate (mu_1 -
    mu_2)^2/(R T).
    """
    R, tau, start = 2e4, 0.02, {"v0": [0.0], "S0": [0.0, 0.0]}
    system = compartments(R, tau)
    K = 2 * float(jax.grad(GAS.mu, 2)(0.0, 0.02, 1.0))
    slow, fast = np.roots([R * tau, R, K])[::-1]
    near = ac.simulate(system, ac.Midpoint(), q0=[1.0 + 1e-6], h=0.005, steps=200, **start)
    t = near.t
    d = 1e-6 * (slow * np.exp(fast * t) - fast * np.exp(slow * t)) / (slow - fast)
    assert_allclose(near.q[:, 0] - 1, d, atol=2e-9)
    far = ac.simulate(
        system, ac.EnergyConsistent(ac.Midpoint()), q0=[1.4], h=0.02, steps=2000, **start
    )
    # The side that was pressed into is warmer, and has less: no heat is conducted.
    assert_allclose(far.q[-1], [1.0], atol=0.01)
    assert abs(far.v[-1, 0]) < 1e-7
    assert np.all(np.diff(np.sum(far.S, axis=1)) > -1e-12)
    assert_allclose(far.first_law(), 0.0, atol=1e-9)
    T = far.temperature()
    made = R * far.v[:, 0] ** 2 / 2 * np.sum(1 / T, axis=1)
    assert_allclose(np.sum(far.entropy_production(), axis=1), made, rtol=1e-12)
    # What drives is the difference of the chemical potentials.
    k = 100
    force = [
        float(GAS.mu(far.S[k, i], 0.02, N)) for i, N in enumerate((far.q[k, 0], 2 - far.q[k, 0]))
    ]
    assert_allclose(-R * far.v[k, 0], force[0] - force[1], rtol=0.02)


def block(slope, creep, most=3.0):
    """A mass of 1 kg on an inclined plane, gravity 9.81."""
    return ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v + 9.81 * slope * q[0] - 300 * jnp.exp(S / 10) * 10,
        ac.Euclidean(1),
        friction=lambda t, q, v, S, p: ac.thermo.dry_friction(v, most, creep),
    )


def test_dry_friction_is_a_limit():
    """A block slides v0^2/(2 a) and stops; held on a slope it creeps at creep f/sqrt(most^2 - f^2),
    less the smaller `creep` is.
    """
    stops = [
        ac.simulate(
            block(0.0, creep), ac.Midpoint(), q0=[0.0], v0=[3.0], S0=0.0, h=0.002, steps=1000
        )
        for creep in (1e-1, 1e-2)
    ]
    away = [float(run.q[-1, 0]) - 9.0 / 6 for run in stops]
    assert abs(away[1]) < 0.2 * abs(away[0]) < 0.03
    heat = stops[1].energy() - stops[1].energy()[0]
    assert_allclose(heat, 0.0, atol=1e-3)
    assert_allclose(3000 * np.expm1(stops[1].S[-1] / 10), 4.5, rtol=1e-3)
    held = ac.simulate(
        block(0.2, 1e-2), ac.Midpoint(), q0=[0.0], v0=[0.0], S0=0.0, h=0.01, steps=200
    )
    f = 9.81 * 0.2
    assert_allclose(held.v[-1], [1e-2 * f / np.sqrt(9 - f**2)], rtol=1e-6)
    with pytest.raises(ValueError, match="creep must be a positive speed"):
        ac.thermo.dry_friction(1.0, 1.0, 0.0)


def test_friction_with_a_jump_ends_where_it_sticks():
    system = ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.exp(S),
        ac.Euclidean(1),
        friction=lambda t, q, v, S, p: -0.3 * jnp.sign(v),
    )
    with pytest.raises(ac.StepFailed, match=r"The friction jumps, .* accion.thermo.dry_friction"):
        ac.simulate(system, ac.Midpoint(), q0=[0.0], v0=[1.0], S0=0.0, h=0.1, steps=60)
