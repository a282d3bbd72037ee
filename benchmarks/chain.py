"""The pendulum chain: n unit masses on n unit rods without mass, in angles from the vertical that
points down, and in positions.
"""

import jax.numpy as jnp
import numpy as np

import accion as ac

GRAVITY = 9.81
H = 0.01


def lagrangian(t, q, v, params):
    """L = 1/2 sum_i |r_i'|^2 + gravity sum_i depth_i; each mass moves with the sum of the rods
    above it.
    """
    across, down = jnp.cumsum(v * jnp.cos(q)), jnp.cumsum(v * jnp.sin(q))
    return 0.5 * jnp.sum(across**2 + down**2) + GRAVITY * jnp.sum(jnp.cumsum(jnp.cos(q)))


def system(n):
    return ac.System(lagrangian, ac.Torus(n), name=f"chain of {n}")


def start(n):
    """(q0, v0): the chain held out, slightly curved, at rest."""
    return np.linspace(1.0, 1.5, n), np.zeros(n)


def simulation(n, steps, save_every=1, h=H):
    """The function () -> Trajectory that accion takes for `steps` steps."""
    chain = system(n)
    q0, v0 = start(n)
    return lambda: ac.simulate(
        chain, ac.Midpoint(), q0=q0, v0=v0, h=h, steps=steps, save_every=save_every
    )


# ---------------------------------------------------------------- the same chain on rods


def cartesian(q):
    """The positions (x1, y1, x2, y2, ...) of the masses from angles, y upwards; leading axes are
    kept.
    """
    return np.stack(
        [np.cumsum(np.sin(q), axis=-1), -np.cumsum(np.cos(q), axis=-1)], axis=-1
    ).reshape(*q.shape[:-1], -1)


def rods_lagrangian(t, q, v, params):
    return 0.5 * v @ v - GRAVITY * jnp.sum(q[1::2])


def rods(t, q, params):
    """Each mass is at distance 1 from the one above it, the first from the origin."""
    r = q.reshape(-1, 2)
    d = r - jnp.concatenate([jnp.zeros((1, 2)), r[:-1]])
    return 0.5 * (jnp.sum(d**2, axis=1) - 1)


def rods_simulation(n, steps, save_every=1, h=H):
    """The function () -> Trajectory of the same motion in positions, held by n constraints."""
    chain = ac.System(
        rods_lagrangian, ac.Euclidean(2 * n), holonomic=rods, name=f"chain of {n} rods"
    )
    q0 = cartesian(start(n)[0])
    return lambda: ac.simulate(
        chain, ac.Midpoint(), q0=q0, v0=np.zeros(2 * n), h=h, steps=steps, save_every=save_every
    )
