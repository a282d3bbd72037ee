"""The pendulum chain: n unit masses on n unit rods without mass, angles from the vertical that points down."""

import jax.numpy as jnp
import numpy as np

import accion as ac

GRAVITY = 9.81
H = 0.01


def lagrangian(t, q, v, params):
    """L = 1/2 sum_i |r_i'|^2 + gravity sum_i depth_i; each mass moves with the sum of the rods above it."""
    across, down = jnp.cumsum(v * jnp.cos(q)), jnp.cumsum(v * jnp.sin(q))
    return 0.5 * jnp.sum(across**2 + down**2) + GRAVITY * jnp.sum(jnp.cumsum(jnp.cos(q)))


def system(n):
    return ac.System(lagrangian, ac.Torus(n), name=f"chain of {n}")


def start(n):
    """(q0, v0): the chain held out, slightly curved, at rest."""
    return np.linspace(1.0, 1.5, n), np.zeros(n)


def simulation(n, steps):
    """The function () -> Trajectory that accion takes for `steps` steps."""
    chain = system(n)
    q0, v0 = start(n)
    return lambda: ac.simulate(chain, ac.Midpoint(), q0=q0, v0=v0, h=H, steps=steps)
