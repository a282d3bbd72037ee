"""Systems and motions that several files of tests share."""

import jax.numpy as jnp
import numpy as np

import accion as ac

# A nonlinear system in which everything is coupled: the mass depends on S, friction on S and q,
# heat flows in from a bath, a force drives.
PARAMS = {"m": 1.3, "k": 2.0, "mu": 0.4, "C": 2.0, "G": 0.05, "drive": 0.3}


START = {"q0": [0.4, -0.2], "v0": [0.3, 0.8], "S0": 0.2}


def lagrangian(t, q, v, S, p):
    mass = p["m"] * (1 + 0.2 * S + 0.3 * q[0] ** 2)
    return (
        0.5 * mass * v @ v
        - 0.5 * p["k"] * q @ q
        - q[0] ** 4
        - p["C"] * jnp.exp(S / p["C"]) * (1 + 0.1 * q[1] ** 2)
    )


def friction(t, q, v, S, p):
    return -p["mu"] * (1 + 0.5 * S) * (1 + q[0] ** 2) * v


def external(t, q, v, S, p):
    return p["drive"] * jnp.array([jnp.cos(2 * t), 0.0])


def heat(t, q, v, S, p):
    return p["G"] * (2.0 - jnp.exp(S / p["C"]))


driven = ac.ThermalSystem(
    lagrangian,
    ac.Euclidean(2),
    PARAMS,
    friction=friction,
    external=external,
    heat=heat,
    name="coupled",
)


isolated = ac.ThermalSystem(lagrangian, ac.Euclidean(2), PARAMS, friction=friction, name="isolated")


def by_hand(t, q, v, S, p=PARAMS):
    """(p, dL/dq, T, F_fr, F_ext, P_H), typed from paper."""
    mass = p["m"] * (1 + 0.2 * S + 0.3 * q[0] ** 2)
    e = np.exp(S / p["C"])
    dq = (
        0.3 * p["m"] * q[0] * (v @ v) * np.array([1, 0])
        - p["k"] * q
        - np.array([4 * q[0] ** 3, 0.2 * p["C"] * e * q[1]])
    )
    T = e * (1 + 0.1 * q[1] ** 2) - 0.1 * p["m"] * (v @ v)
    F = -p["mu"] * (1 + 0.5 * S) * (1 + q[0] ** 2) * v
    return mass * v, dq, T, F, p["drive"] * np.array([np.cos(2 * t), 0.0]), p["G"] * (2 - e)


def two_bodies(G=0.3):
    body = ac.thermo.Solid(jnp.array([1.0, 3.0]), jnp.array([2.0, 1.0]))
    return ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - 0.5 * q @ q - jnp.sum(p["body"].U(S)),
        ac.Euclidean(1),
        {"body": body, "G": G},
        friction=lambda t, q, v, S, p: -jnp.array([0.2, 0.1])[:, None] * v,
        heat=lambda t, q, v, S, p: ac.thermo.conduction(p["body"].T(S), p["G"]),
    )


def primitive(x):
    return x * jnp.arctan(x) - 0.5 * jnp.log1p(x**2)


def without_trajectory(alpha):
    return ac.DiscreteThermalSystem(
        lambda t, h, q0, q1, S0, S1, p: primitive(q0[0] + q1[0]) + p["alpha"] * q1[0] + S0,
        ac.Euclidean(1),
        {"alpha": alpha},
        kinematic=lambda t, h, q0, q1, S0, S1, p: S0 + S1,
        friction=lambda t, h, q0, q1, S0, S1, p: (jnp.exp(S0)[None], jnp.exp(S1)[None]),
        name="Bonich, Ex 3.29",
    )


GIVEN = {"q0": [0.3], "q1": [0.1], "S0": 0.0, "h": 1.0}


ONE_BODY = {"friction": lambda t, q, v, S, p: -v}


def plain(**changes):
    return ac.ThermalSystem(
        lambda t, q, v, S, p: 0.5 * v @ v - jnp.sum(jnp.exp(S)),
        ac.Euclidean(1),
        **(ONE_BODY | changes),
    )


RUN = {"q0": [0.0], "v0": [1.0], "S0": 0.0, "h": 0.1, "steps": 5}


def run(system, **changes):
    return ac.simulate(system, changes.pop("method", ac.Midpoint()), **(RUN | changes))
