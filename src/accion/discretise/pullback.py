"""Everything discrete is the pullback of something continuous by one finite-difference map (design:
the one idea).

A step is given by its start `q0` and its increment `x`, not by its two ends: velocities keep all
their digits that way. Derivatives are taken in local coordinates, with respect to displacements
`e0`, `e1` of the two ends, so that the same lines serve every space.
"""

import jax
import jax.numpy as jnp


def action(system, method, t, h, q0, x, e0, e1, lam=None):
    """Ld(t, h, q0, q1) = h sum_i w_i L(t_i, q_i, v_i), the ends displaced by `e0` and `e1`; with
    `lam`, of L + lam.Phi.
    """
    return h * sum(
        s.w * system.L(s.t, s.q, s.v, lam)
        for s in method.samples(system.space, t, h, q0, x, e0, e1)
    )


def work(system, method, t, h, q0, x, e0, e1, lam=None):
    """The virtual work h sum_i w_i F(t_i, q_i, v_i).dq_i of the force when the ends are displaced
    by `e0` and `e1`.
    """
    here = method.samples(system.space, t, h, q0, x)
    moved = method.samples(system.space, t, h, q0, x, e0, e1)
    return h * sum(
        s.w * (system.F(s.t, s.q, s.v) @ system.space.displacement(s.q, m.q))
        for s, m in zip(here, moved, strict=True)
    )


def gradient(f, system, method, t, h, q0, x, lam=None):
    """The derivatives of `f` (`action` or `work`) with respect to the two ends of the step: two
    covectors of shape (dim,).
    """
    zero = jnp.zeros_like(x)
    return jax.grad(lambda e0, e1: f(system, method, t, h, q0, x, e0, e1, lam), (0, 1))(zero, zero)


def variation(system, method, t, h, q0, x, lam=None):
    """(D1 Ld + Fd^-, D2 Ld + Fd^+): what the step contributes to the momentum balance at its start
    and at its end (001 eq 2.4).
    """
    # Both in one gradient: half the operations to compile of two.
    return gradient(
        action if system.force is None else lambda *step: action(*step) + work(*step),
        system,
        method,
        t,
        h,
        q0,
        x,
        lam,
    )
