"""A constrained system at one instant: velocities and momenta that satisfy the constraint, its force, the nearest good data."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion import newton
from accion.systems import HigherOrderSystem, Vakonomic
from accion.systems.system import constraint_kinds, legendre_units


class Look(NamedTuple):
    """What tells whether a motion can start at a point."""

    hessian: Any  # d2L/dv2; None for a `mechanical` system, which knows its mass
    value: Any  # of the constraint, None where there is none
    hidden: Any  # of what it says about velocities
    matrix: Any  # A
    opening: Any = None  # of a start from q1: what is left of the equations of its first step, and how far q1 is from satisfying them


def look(system, t, q, v):
    constraint = system.constraint
    hessian = system.hessian(t, q, v)
    if constraint is None:
        return Look(hessian, None, None, None)
    point = (system, t, q, v)
    return Look(hessian, constraint.value(*point), constraint.hidden(*point), matrix(*point))


def opening(system, method, t, h, q, q1, A):
    """What is left of the discrete constraint of a step from `q` to `q1`, and how far q1 is from satisfying it, each of shape (m,).

    The second is a displacement, so that the units of the equations do not matter.
    """
    constraint, space = system.constraint, system.space
    left = constraint.closure(system, method.samples(space, t, h, q, space.local(q, q1)), t + h, q1)
    length = jnp.concatenate([jnp.full(count, 1.0 if kind == "holonomic" else h) for kind, count in constraint_kinds(system)])
    size = jnp.sqrt(jnp.sum(A**2, axis=1))
    return left, length * jnp.abs(left) / jnp.where(size > 0, size, 1.0)


def matrix(system, t, q, v):
    """A(t, q), shape (m, dim), whose transpose turns multipliers into forces (for a vakonomic system dPhi/dv)."""
    constraint = system.constraint
    if isinstance(constraint, Vakonomic):
        return jax.jacfwd(lambda v: constraint.value(system, t, q, v))(v)
    return jax.jacfwd(lambda lam: constraint.reaction(system, t, q, v, lam))(jnp.zeros(system.multipliers)).T


def node_residual(unknowns, args):
    """dL/dv - p - A^T mu = 0 with the hidden constraint; for a vakonomic system dL/dv + dPhi/dv^T lam - p = 0 with Phi = 0."""
    system, t, q, p, near = args
    n, constraint = system.space.dim, system.constraint
    v, lam = unknowns[:n], unknowns[n:]
    balance = system.momentum(t, q, v, lam) - p - constraint.reaction(system, t, q, near, lam)
    return jnp.concatenate([balance, constraint.hidden(system, t, q, v)])


def node_units(unknowns, J, args):
    system, t, q, p, near = args
    own, beside = legendre_units(unknowns, J, (system, t, q, p, unknowns[len(p) :] if system.vakonomic is not None else None))
    return own + jnp.abs(near), beside + 1.0


def node(system, t, q, p, guess):
    """(v, p, lam) at a time of the discrete trajectory.

    The momenta D2 Ld that the step produces leave the constraint by O(h): they are moved along the constraint forces to where velocities
    satisfy it (as RATTLE does); positions do not depend on it. `lam` is the force that the continuous equations need there (for a
    vakonomic system, the multiplier that belongs to p).
    """
    n, m = system.space.dim, system.multipliers
    unknowns = jnp.concatenate([guess, jnp.zeros(m)])
    found, _, converged = newton.root(node_residual, node_units, m, unknowns, (system, t, q, p, guess))
    found = jnp.where(converged, found, jnp.nan)
    v, lam = found[:n], found[n:]
    if system.vakonomic is not None:
        return v, p, lam
    return v, system.momentum(t, q, v), index_one(system, t, q, v, None)[1]


def inertia_and_force(system, t, q, v, lam=None):
    """(d2L/dv2, f) of the equations d2L/dv2 a = f + A^T lam: f = dL/dq + ad*_v dL/dv + F - d/dt(dL/dv) at fixed v."""
    space = system.space
    zero = jnp.zeros(space.dim)
    one = jnp.ones_like(jnp.asarray(t, float))
    dL_dq = jax.grad(lambda e: system.L(t, space.displace(q, e), v, lam))(zero)
    # p changes along the motion at fixed v: the time derivative of dL/dv without its part in a.
    p, dp = jax.jvp(lambda t, e: system.momentum(t, space.displace(q, e), v, lam), (one * t, zero), (one, v))
    return jax.hessian(system.L, 2)(t, q, v, lam), dL_dq + space.coad(v, p) + system.F(t, q, v) - dp


def index_one(system, t, q, v, lam):
    """(a, lam): the acceleration and the multipliers, from the constraint differentiated until both are linear in it.

        d2L/dv2 a - A^T lam = dL/dq + ad*_v dL/dv + F - d/dt(dL/dv) at fixed v,        d(hidden)/dv a = -d(hidden)/dt at fixed v

    where ad*_v dL/dv is zero on flat spaces and dL/dq is by the body's displacements on a group (000 eq 2).

    For a vakonomic system the multipliers `lam` are part of the state, and (a, dlam/dt) is returned:

        d2L/dv2 a + dPhi/dv^T dlam/dt = dL/dq + ad*_v dL/dv + F - d/dt(dL/dv) at fixed v and lam,  with L + lam.Phi in place of L.
    """
    space, n, constraint = system.space, system.space.dim, system.constraint
    zero = jnp.zeros(n)
    one = jnp.ones_like(jnp.asarray(t, float))
    H, force = inertia_and_force(system, t, q, v, lam)
    if constraint is None:
        return newton.solve(H, force), None
    _, dc = jax.jvp(lambda t, e: constraint.hidden(system, t, space.displace(q, e), v), (one * t, zero), (one, v))
    C = jax.jacfwd(lambda v: constraint.hidden(system, t, q, v))(v)
    m = C.shape[0]
    A = matrix(system, t, q, v)
    K = jnp.block([[H, A.T if lam is not None else -A.T], [C, jnp.zeros((m, m))]])
    both = newton.solve(K, jnp.concatenate([force, -dc]))
    return both[:n], both[n:]


def thermal_rates(system, t, z, v):
    """(a, S') of a thermomechanical system: S' from the entropy balance, a from d/dt dL/dv - dL/dq = F with S moving (001 Thm 3.9)."""
    n = system.space.dim
    dS = system.entropy_rates(t, z, v)
    H, force = inertia_and_force(system.whole, t, z, jnp.concatenate([v, dS]))
    return newton.solve(H[:n, :n], force[:n]), dS


def project(system, q, v):
    """(q, v) nearest to the given ones, in the coordinates, that satisfies the constraints at time 0.

    See `project_at` for another time.
    """
    if isinstance(system, HigherOrderSystem):
        raise ValueError("project is for a System: data of higher order are derivatives, of which the highest follow from Phi = 0 and its rates.")
    return project_at(system, 0.0, q, v)


def project_at(system, t, q, v):
    """(q, v) nearest to the given ones, in the coordinates, that satisfies the constraints at time `t`.

    First q is moved along dphi/dq to where phi = 0 (holonomic), then v along dc/dv to where the constraint on velocities c = 0.
    """
    constraint, space = system.constraint, system.space
    if constraint is None:
        return q, v
    zero = jnp.zeros(space.dim)
    if system.holonomic is not None:
        phi = lambda e: system.holonomic(t, space.retract(q, e), system.params)  # noqa: E731
        e, ok = nearest(phi, zero)
        q = jax.tree.map(lambda a: jnp.where(ok, a, jnp.nan), space.retract(q, e))
    v, ok = nearest(lambda v: constraint.hidden(system, t, q, v), v)
    return q, jnp.where(ok, v, jnp.nan)


def nearest(f, x):
    """The point nearest to `x` with f = 0, by Gauss-Newton from `x` (least change in each iteration), and whether it was found."""

    def iterate(state):
        x, _, i = state
        J = jax.jacfwd(f)(x)
        dx = J.T @ jnp.linalg.lstsq(J @ J.T, f(x))[0]
        return x - dx, jnp.max(jnp.abs(dx)), i + 1

    def unfinished(state):
        x, size, i = state
        return (size > 4 * newton.EPS * (1 + jnp.max(jnp.abs(x)))) & (i < 50)

    found, size, _ = jax.lax.while_loop(unfinished, iterate, (x, jnp.array(jnp.inf), jnp.array(0)))
    return found, size <= 1e-10 * (1 + jnp.max(jnp.abs(found)))
