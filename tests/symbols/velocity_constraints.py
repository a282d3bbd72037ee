"""Systems with constraints on velocities, and the numbers of their letters at a point of a
motion.
"""

import jax.numpy as jnp
import numpy as np
import sympy as sp

import accion as ac
from accion.gallery import rolling_disk, rolling_disk_se2, skate
from accion.instant.constrained import project_at

J = jnp.array([1.0, 2.0, 2.5])


def area(t, q, v, p):
    return jnp.array([v[2] - q[0] * v[1] + q[1] * v[0]])


HEISENBERG = ac.System(
    lambda t, q, v, p: 0.5 * (v[0] ** 2 + v[1] ** 2),
    ac.Euclidean(3),
    vakonomic=area,
    coordinates=("x", "y", "z"),
    name="heisenberg",
)
# nonlinear, with time and a force
CURVED = ac.System(
    lambda t, q, v, p: 0.5 * v @ v + 0.3 * q[0] * v[1] * v[2] - jnp.cos(q[1] + t),
    ac.Euclidean(3),
    vakonomic=lambda t, q, v, p: jnp.array([v[2] - 0.4 * v[0] ** 2 * q[1] - t * v[1] + q[2]]),
    force=lambda t, q, v, p: jnp.array([0.1 * v[1], -0.2 * v[0], q[0]]),
    name="curved",
)
MOVING = ac.System(
    lambda t, q, v, p: 0.5 * v @ v - q[0] * q[2],
    ac.Euclidean(3),
    nonholonomic=lambda t, q, v, p: jnp.array([v[2] - q[1] * t * v[0] + q[0] - t]),
    force=lambda t, q, v, p: -0.3 * v,
    name="moving",
)


def body(**constraint):
    return ac.System(
        lambda t, q, v, p: 0.5 * v @ (J * v) - q[2, 2], ac.SO3(), name="body", **constraint
    )


def tilted(t, q, v, p):
    return jnp.array([v[2] - q[0, 0] * v[0] - 0.3])


SYSTEMS = {
    "skate": skate.system,
    "vakonomic skate": skate.vakonomic,
    "disk": rolling_disk.system,
    "disk on SE(2)": rolling_disk_se2.system,
    "moving": MOVING,
    "curved": CURVED,
    "nonholonomic body": body(nonholonomic=tilted),
    "vakonomic body": body(vakonomic=tilted),
}


def values(reduced, system, rng):
    """The numbers of all letters at a point of a motion: {symbol: number}."""
    x, space = reduced.x, system.space
    q = space.retract(space.identity(), jnp.asarray(rng.uniform(0.3, 0.7, space.dim)))
    q, v = project_at(system, 0.4, q, jnp.asarray(rng.uniform(0.3, 0.9, space.dim)))
    lam = jnp.asarray(rng.normal(size=system.multipliers))
    more = (lam,) if system.enters_action else ()
    a, _ = ac.accelerations(system)(0.4, q, v, *more)
    p = system.legendre(0.4, q, v, *more)
    parts = q if isinstance(q, tuple) else (q,)
    places = [
        (s, n)
        for own, part in zip(x.parts, parts, strict=True)
        for s, n in zip(own.flat, np.asarray(part).flat, strict=True)
        if s.is_Symbol
    ]
    moving = zip((*x.v, *x.a, *x.p), (*v, *a, *p), strict=True)
    pairs = [(x.t, 0.4), *places, *moving, *x.numbers.items()]
    return {s: float(n) for s, n in pairs}, (q, v, lam)


def number(expr, at):
    """The numbers of expressions."""
    return np.array([float(sp.N(e.xreplace(at))) for e in sp.flatten(expr)])
