"""Systems whose equations the tests read, and numbers for the letters."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import sympy as sp

import accion as ac

t = sp.Symbol("t")


def general(force=None, **constraints):
    """Nothing is constant: mass that depends on t and q, a magnetic term, two parameters, one of
    them a vector.
    """

    def lagrangian(t, q, v, p):
        mass = 1 + p["m"][0] * jnp.cos(q[1]) ** 2 + 0.1 * t**2
        return (
            0.5 * mass * v[0] ** 2
            + p["m"][1] * v[1] ** 2
            + 0.5 * v[2] ** 2
            + v[0] * v[1] * jnp.sin(q[0])
            + t * q[1] * v[2]
            - p["k"] * q[0] ** 2 * q[2]
        )

    params = {"m": jnp.array([0.7, 1.3]), "k": 0.45}
    return ac.System(
        lagrangian,
        ac.Euclidean(3),
        params,
        coordinates=("x [m]", "y [m]", "theta [rad]"),
        name="test",
        force=force,
        **constraints,
    )


def push(t, q, v, p):
    return jnp.array([-p["k"] * v[0] * v[1], jnp.sin(t) + q[0], -v[2]])


SYSTEMS = {
    "free": general(),
    "forced": general(push),
    "holonomic": general(
        push, holonomic=lambda t, q, p: jnp.array([q[0] ** 2 + q[1] - jnp.sin(t) - p["k"] * q[2]])
    ),
    "nonholonomic": general(
        push,
        nonholonomic=lambda t, q, v, p: jnp.array(
            [v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]) + t * p["k"]]
        ),
    ),
    "nonlinear": general(
        nonholonomic=lambda t, q, v, p: jnp.array([v[0] ** 2 + v[1] ** 2 - v[2] ** 2])
    ),
    "variational": general(
        nonholonomic=lambda t, q, v, p: jnp.array([v[0] - q[1] * v[2]]),
        variational=lambda t, q, p: jnp.array([[1.0, p["k"], -q[1]]]),
    ),
    "both": general(
        holonomic=lambda t, q, p: jnp.array([q[0] + q[1] ** 2 - q[2]]),
        nonholonomic=lambda t, q, v, p: jnp.array([v[0] * q[2] - v[1]]),
    ),
    "vakonomic": general(
        push,
        vakonomic=lambda t, q, v, p: jnp.array([v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]) + t]),
    ),
}


@cache
def equations(name):
    """The equations of one of the systems, the same for all tests."""
    return ac.symbolic(SYSTEMS[name], seconds=2.0)


def numbers(eqs, expressions, time, q, v, lam=(), a=(), **more):
    """Expressions of the reader's as numbers."""
    at = {x.diff(t, 2): float(c) for x, c in zip(eqs.q, a, strict=False)}
    at |= {x.diff(t): float(c) for x, c in zip(eqs.q, v, strict=True)}
    at |= {x: float(c) for x, c in zip((*eqs.q, *eqs.lam), (*q, *lam), strict=True)}
    at |= {sp.Function(name)(t): float(c) for name, c in more.items()}
    return np.array(
        [
            float(sp.sympify(e).xreplace(at).xreplace(eqs.values).xreplace({t: sp.Float(time)}))
            for e in expressions
        ]
    )


def point(system, rng):
    m = system.multipliers
    return (
        rng.uniform(0.2, 1),
        rng.normal(size=system.space.dim),
        rng.normal(size=system.space.dim),
        rng.normal(size=m),
    )
