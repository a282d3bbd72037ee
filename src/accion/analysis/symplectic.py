"""Symplecticity of one step, by its tangent map."""

import jax
import jax.numpy as jnp
import numpy as np

from accion.discrete import discrete
from accion.inputs import Start, check_start, check_times


def symplecticity(system, method, *, q0, v0=None, p0=None, t0=0.0, h):
    """The defect max |T^T J T - J| of one step (q, p) -> (q1, p1), where T is its tangent map, relative to max |T|^2.

    T is computed by automatic differentiation in local coordinates at both ends; J is the canonical form. Zero, to roundoff, for every
    variational method on a system without force (002 Cor 1, corrected).
    """
    t0, h = check_times(t0, h, 1, 1)
    start = check_start(system, Start(q0, v0, p0))
    space, n = system.space, system.space.dim
    step = discrete(system, method).hamiltonian_flow
    q0 = start.q0
    p0 = start.p0 if start.p0 is not None else system.momentum(t0, q0, start.v0)

    @jax.jit
    def tangent(q0, p0):
        q1, _ = step(t0, h, q0, p0)

        def local_step(z):
            q, p = step(t0, h, space.retract(q0, z[:n]), p0 + z[n:])
            return jnp.concatenate([space.local(q1, q), p])

        return jax.jacfwd(local_step)(jnp.zeros(2 * n))

    T = np.asarray(tangent(q0, p0))
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    return float(np.max(np.abs(T.T @ J @ T - J)) / np.max(np.abs(T)) ** 2)
