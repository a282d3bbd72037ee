"""A constrained system at one instant: velocities and momenta that satisfy the constraint, its
force, the nearest good data.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door, number
from accion.checks import check_mechanical
from accion.discretise import discretise
from accion.engines.xla import kept_jit
from accion.numerics import newton
from accion.numerics.arrays import module_of
from accion.numerics.terms import terms
from accion.spaces import check_vector
from accion.systems.legendre import InverseLegendre
from accion.systems.start import is_traced
from accion.systems.weights import FAR, local
from accion.types import Configuration, Covector, Function, Scalar, Vector

# Parts of what cancels in an equation of a constraint, below which what is left of it counts as
# nothing: of the terms by which the given numbers enter; of what coordinates beside would bring in
# that are as large, in the metric of the masses, as the largest (a q1 must be as near, so that the
# first step leads to it to roundoff); of numbers on the way, which are rounded.
GIVEN, BESIDE, ROUNDED = 1e-8, 1e-11, 64 * newton.EPS


def bordered(system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Any:
    """d2L/dv2 bordered by the constraints, [[d2L/dv2, A^T], [d(hidden)/dv, 0]], shape (dim + m, dim
    + m); with `lam`, of L + lam.Phi.

    Where it is regular, accelerations and multipliers follow from (t, q, v), and (v, lam) from
    momenta (Vakonomic thesis, eq 4.11); see `systems/rank.py`.
    """
    return border(system, jax.hessian(system.L, 2)(t, q, v, lam), t, q, v)


def border(system: Any, H: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
    constraint = system.constraint
    if constraint is None:
        return H
    C = jax.jacfwd(lambda v: constraint.on_velocities(system, t, q, v))(v)
    return jnp.block([[H, matrix(system, t, q, v).T], [C, jnp.zeros((len(C), len(C)))]])


def inertias(K: Any, n: int) -> Any:
    """The root of each coordinate's inertia, of one without that of the largest: with it
    coordinates of different units can be compared.
    """
    own = module_of(K)
    mass = own.abs(own.diagonal(K)[:n])
    mass = own.where(mass > 0, mass, own.max(mass))
    return own.sqrt(own.where(mass > 0, mass, 1.0))


def first_step(
    system: Any, method: Any, t: Scalar, h: Scalar, q: Configuration, q1: Configuration, K: Any
) -> Any:
    """What is left of the discrete constraint of a step from `q` to `q1`, how far q1 is from
    satisfying it, and how far from zero the first may be; each of shape (m,). K is `bordered`.

    The second is a displacement, so that the units of the equations do not matter.
    """
    space, n, x = system.space, system.space.dim, system.space.local(q, q1)

    def closure(system: Any, t: Scalar, h: Scalar, q: Configuration, x: Vector) -> Any:
        return discretise(system, method).closure(t, h, q, x)

    step = (system, t, h, q, x)
    left, found = closure(*step), terms(closure, *step)
    slopes, mass = jnp.abs(jax.jacfwd(closure, 4)(*step)), inertias(K, n)
    beside = slopes @ (jnp.max(space.magnitude(q1) * mass) / mass)
    size = jnp.sqrt(jnp.sum(slopes**2, axis=1))
    far = jnp.abs(left) / jnp.where(size > 0, size, 1.0)
    return left, far, BESIDE * (found.given + beside) + ROUNDED * found.inner


def matrix(system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
    """A(t, q), shape (m, dim), whose transpose turns multipliers into forces (where they are in
    the action, dPhi/dv).
    """
    return system.constraint.matrix(system, t, q, v, system.multipliers)


@dataclass(frozen=True)
class ConstrainedLegendre(newton.Equations):
    """dL/dv - p - A^T mu = 0 with what the constraints say of v; where multipliers are in the
    action, dL/dv + dPhi/dv^T lam - p = 0 with Phi = 0.

    Unknown are v and the multipliers; the arguments are (system, t, q, p, near).
    """

    multipliers: int

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, q, p, near = args
        n, constraint = system.space.dim, system.constraint
        v, lam = unknowns[:n], unknowns[n:]
        held, _ = system.parts(q)  # the configuration, without entropies
        force = constraint.reaction(system, t, held, near, lam)
        balance = system.legendre(t, q, v, lam) - p - force
        return jnp.concatenate([balance, constraint.on_velocities(system, t, held, v)])

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        system, t, q, p, near = args
        lam = unknowns[len(p) :] if system.enters_action else None
        own, _ = InverseLegendre().sizes(unknowns, J, (system, t, q, p, lam))
        own, mass = own + jnp.abs(near), inertias(J, len(p))
        return own, jnp.max(own * mass) / mass


def legendre(system: Any, t: Scalar, q: Configuration, p: Covector, guess: Any) -> tuple[Any, Any]:
    """(v, lam) of momenta p under the constraints: p = dL/dv + A^T lam and what the constraints say
    of v. NaN where none were found.

    For a vakonomic system p = d(L + lam.Phi)/dv; for the others lam is an impulse, zero where v =
    (dL/dv)^-1(p) satisfies the constraint. One that does not is moved along the constraint forces.
    d2L/dv2 may be singular where `bordered` is not.
    """
    n, m = system.space.dim, system.multipliers
    if m == 0:
        return system.velocity(t, q, p, guess), None
    unknowns = jnp.concatenate([guess, jnp.zeros(m)])
    found, _, converged = newton.root(ConstrainedLegendre(m), unknowns, (system, t, q, p, guess))
    found = jnp.where(converged, found, jnp.nan)
    return found[:n], found[n:]


def first_velocity(system: Any, t: Scalar, q: Configuration, p: Covector) -> Any:
    """(v, lam) as `legendre`, without a guess: that is the least velocity with momentum p, to first
    order.
    """
    zero = jnp.zeros(system.space.dim)
    if system.constraint is None:
        return legendre(system, t, q, p, zero)
    # A guess needs no derivatives, and those of least squares are not finite where singular values
    # meet.
    H, right = jax.lax.stop_gradient(
        (jax.hessian(system.L, 2)(t, q, zero), p - system.legendre(t, q, zero))
    )
    return legendre(system, t, q, p, jnp.linalg.lstsq(H, right)[0])


def node(system: Any, t: Scalar, q: Configuration, p: Covector, guess: Any) -> Any:
    """(v, p, lam) at a time of the discrete trajectory.

    The momenta D2 Ld that the step produces leave the constraint by O(h): they are moved along the
    constraint forces to where velocities satisfy it (as RATTLE does, Andersen 1983); positions do
    not depend on it. `lam` is the force that the continuous equations need there (for a vakonomic
    system, the multiplier that belongs to p).
    """
    v, lam = legendre(system, t, q, p, guess)
    if system.enters_action:
        return v, p, lam
    return v, system.legendre(t, q, v), index_one(system, t, q, v, None)[1]


def inertia_and_force(system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Any:
    """(d2L/dv2, f) of the equations d2L/dv2 a = f + A^T lam: f = dL/dq + ad*_v dL/dv + F -
    d/dt(dL/dv) at fixed v.
    """
    space = system.space
    zero = jnp.zeros(space.dim)
    one = jnp.ones_like(jnp.asarray(t, float))
    dL_dq = jax.grad(lambda e: system.L(t, space.displace(q, e), v, lam))(zero)
    # p changes along the motion at fixed v: the time derivative of dL/dv without its part in a.
    p, dp = jax.jvp(
        lambda t, e: system.legendre(t, space.displace(q, e), v, lam), (one * t, zero), (one, v)
    )
    return jax.hessian(system.L, 2)(t, q, v, lam), dL_dq + space.coad(v, p) + system.F(t, q, v) - dp


def index_one(system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
    """(a, lam): the acceleration and the multipliers, from the constraint differentiated until both
    are linear in it.

        d2L/dv2 a - A^T lam = dL/dq + ad*_v dL/dv + F - d/dt(dL/dv) at fixed v,
        d(hidden)/dv a = -d(hidden)/dt at fixed v

    where ad*_v dL/dv is zero on flat spaces and dL/dq is by the body's displacements on a group
    (Colombo-Eyrea, eq 2).

    For a vakonomic system the multipliers `lam` are part of the state, and (a, dlam/dt) is
    returned:

        d2L/dv2 a + dPhi/dv^T dlam/dt = dL/dq + ad*_v dL/dv + F - d/dt(dL/dv) at fixed v and lam,

    with L + lam.Phi in place of L.
    """
    H, force = inertia_and_force(system, t, q, v, lam)
    if system.constraint is None:
        return newton.solve(H, force), None
    a, rate = with_constraint(system, H, force, t, q, v)
    return a, rate if lam is not None else -rate


def with_constraint(
    system: Any, H: Any, force: Any, t: Scalar, q: Configuration, v: Vector
) -> tuple[Any, Any]:
    """(a, -lam) of H a - A^T lam = force and the constraint differentiated."""
    space, constraint, n = system.space, system.constraint, system.space.dim
    one, zero = jnp.ones_like(jnp.asarray(t, float)), jnp.zeros(n)
    _, dc = jax.jvp(
        lambda t, e: constraint.on_velocities(system, t, space.displace(q, e), v),
        (one * t, zero),
        (one, v),
    )
    both = newton.solve(border(system, H, t, q, v), jnp.concatenate([force, -dc]))
    return both[:n], both[n:]


@door(t=number)
def project(system: Any, q: Configuration, v: Vector, t: Scalar = 0.0) -> Any:
    """(q, v) nearest to the given ones that satisfies the constraints at time `t`.

    Nearest is meant in the metric of the masses M = d2L/dv2, at the given point: first q is moved
    by the least dq.M dq to where phi = 0 (holonomic), then v by the least dv.M dv to where the
    constraint on velocities c = 0,

        dq = M^-1 (dphi/dq)^T mu,        dv = M^-1 (dc/dv)^T nu,

    as an impulse of the constraint forces would do. So it does not depend on units. Coordinates
    without mass move as the others make them.

    Arguments:
        system: in continuous time, of order one, without entropies.
        q, v: a configuration and a velocity, which need not satisfy the constraints.
        t: the time at which they shall.

    Returns:
        (q, v), unchanged where there is no constraint.

    Raises:
        ValueError: where nothing near was found that satisfies them.
    """
    check_mechanical(system, "project")
    q, v = system.space.check(q, "q"), check_vector(v, system.space.dim, "v")
    system.check()
    found = projected(system, jnp.asarray(t, float), q, v)
    if not is_traced(found) and not all(
        bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(found)
    ):
        raise ValueError(
            f"no data near q = {q}, v = {v} were found that satisfy the constraints of"
            f" {system.name} at t = {float(t):g}: start from nearer ones, or look whether the"
            " constraints contradict each other."
        )
    return found


def project_at(system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
    """`project` within what is traced: nothing is checked, and NaN is where there is nothing near.
    Entropies in z stay as they are.
    """
    system, t = local(system, t)
    constraint, space = system.constraint, system.space
    if constraint is None:
        return z, v
    M, (q, S) = jax.hessian(system.L, 2)(t, z, v), system.parts(z)
    held = [part for part in system.kinds_of_constraint if part.holds_positions]
    if held:

        def phi(e: Any) -> Any:
            return held[0].value(system, t, space.retract(q, e), None)

        e, ok = nearest(phi, jnp.zeros(space.dim), M, space.magnitude(q))
        q = jax.tree.map(lambda a: jnp.where(ok, a, jnp.nan), space.retract(q, e))
    v, ok = nearest(lambda v: constraint.on_velocities(system, t, q, v), v, M)
    return system.point(q, S), jnp.where(ok, v, jnp.nan)


projected = kept_jit(project_at)
# the same at many times, all with one velocity
all_projected = kept_jit(jax.vmap(project_at, (None, 0, 0, None)))


def nearest(f: Function, x: Vector, M: Any, size: Any = 0.0) -> Any:
    """The point nearest to `x` with f = 0 in the metric M, by Gauss-Newton from `x` (least change
    in each iteration), and whether it was found; `size` is that of what x is added to.
    """
    mass = inertias(M, len(x))
    W = M / (mass[:, None] * mass)

    def slopes(x: Vector) -> Any:
        """df/dx with coordinates in units of their inertia, and the size of each row."""
        J = jax.jacfwd(f)(x) / mass
        row = jnp.sum(jnp.abs(J), axis=1)
        return J, jnp.where(row > 0, row, 1.0)

    def iterate(state: Any) -> Any:
        x, _, i = state
        J, row = slopes(x)
        J, m = J / row[:, None], len(row)
        K = jnp.block([[W, J.T], [J, jnp.zeros((m, m))]])
        right = jnp.concatenate([jnp.zeros(len(x)), f(x) / row])
        dx = jnp.linalg.lstsq(K, right)[0][: len(x)]
        return x - dx / mass, jnp.max(jnp.abs(dx)), i + 1

    def beside(x: Vector) -> Any:
        """The size, in the metric, of what a change of x is added to."""
        return jnp.max(mass * (jnp.abs(x) + size)) + first

    def unfinished(state: Any) -> Any:
        x, change, i = state
        return (change > 4 * newton.EPS * beside(x)) & (i < 50)

    first = jnp.max(mass * jnp.abs(x))
    start = (x, jnp.array(jnp.inf), jnp.array(0))
    found, change, _ = jax.lax.while_loop(unfinished, iterate, start)
    # Where f has no zero the iteration may come to rest all the same, at a point where J is zero.
    _, row = slopes(found)
    solved = jnp.all(jnp.abs(f(found)) <= 1e-8 * beside(found) * row)
    return found, (change <= 1e-10 * beside(found)) & solved


def beyond_numbers(system: Any, t: Scalar, q: Configuration, v: Vector) -> Any:
    """Where L has grown or decayed so far that floating point ends, as exponential weights do: a
    sentence that says so, "" elsewhere.
    """
    system, t = local(system, t)
    size = float(np.max(np.abs(jax.hessian(system.L, 2)(t, q, v))))
    with np.errstate(divide="ignore"):
        power = float(np.log(size))
    if not abs(power) > FAR:  # nor where it is NaN, for another reason
        return ""
    found = (
        f"e^{power:.6g}"
        if np.isfinite(power)
        else "beyond e^709.8"
        if power > 0
        else "below e^-708"
    )
    return (
        "the Lagrangian leaves the range of floating point, e^-708 to e^709.8: its inertia d2L/dv2"
        f" is {found} at t = {float(t):.6g}. No step is small enough for that. Where L is a"
        " function of time, such as e^(kappa t), times another one, give that function to System"
        " as weight=: steps then have its ratios alone, at any time"
    )
