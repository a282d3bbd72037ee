"""The exact discrete Lagrangian: the action of the true motion between two configurations (Marsden
and West 2001, part 1; Colombo-Eyrea, section 4; Colombo-Gamonal).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.connection import integrability
from accion.analysis.inputs import row, step_sizes
from accion.arguments import door, number
from accion.checks import check_mechanical, is_vector_space, refuse
from accion.engines.xla import kept_jit
from accion.instant import constrained
from accion.instant.continuous import reference
from accion.methods import Method
from accion.numerics import newton
from accion.spaces import Space
from accion.stepping.views import discrete
from accion.systems import System
from accion.systems.first_order import of_first_order
from accion.types import Array, ArrayLike, Configuration, Covector, Scalar, Vector

DEGREES = (6, 10, 16, 24, 32)
TOLERANCE = 3e-13
OFF = 1e-9  # of a configuration: how far an end may be off a constraint


@cache
def points(degree: int) -> tuple[np.ndarray, ...]:
    """Nodes in [0, 1] with both ends (Lobatto), Gauss points and weights, and the matrices that
    give values and derivatives there; of more Gauss points than the degree, so that the action is
    that of the polynomial.
    """
    return points_with(degree, degree + 1)


@cache
def held_points(degree: int) -> tuple[np.ndarray, ...]:
    """The same of as many Gauss points as the degree: a constraint on velocities at each of them
    determines as many numbers of a polynomial from its start.
    """
    return points_with(degree, degree)


def points_with(degree: int, count: int) -> tuple[np.ndarray, ...]:
    inner = np.polynomial.legendre.Legendre.basis(degree).deriv().roots()
    nodes = np.concatenate([[-1.0], np.sort(inner.real), [1.0]])
    x, w = np.polynomial.legendre.leggauss(count)
    V = np.polynomial.legendre.legvander(nodes, degree)
    values = np.polynomial.legendre.legvander(x, degree) @ np.linalg.inv(V)
    slopes = np.stack(
        [
            np.polynomial.legendre.Legendre.basis(k).deriv()(x) if k else np.zeros_like(x)
            for k in range(degree + 1)
        ],
        axis=1,
    )
    return (nodes + 1) / 2, (x + 1) / 2, w / 2, values, 2 * slopes @ np.linalg.inv(V)


def action(
    system: System,
    degree: int,
    t: Scalar,
    h: Scalar,
    q0: Configuration,
    end: Vector,
    unknowns: Array,
) -> Scalar:
    """The action of the curve q0 + x(t), on a group `retract(q0, x(t))`, where x is the polynomial
    through zero, the inner points and `end`; taken from q0, velocities keep their digits.

    Of a vakonomic system that of L + lam.Phi; its multipliers at the Gauss points, as many as the
    degree, come after the inner points in `unknowns`. Under a holonomic constraint the inner points
    are on it, with as many multipliers.
    """
    space, m, (nodes, c, w, values, slopes) = system.space, system.multipliers, points(degree)
    inner, lam = jnp.split(unknowns, [(degree - 1) * len(end)])
    x = jnp.concatenate([jnp.zeros_like(end)[None], inner.reshape(degree - 1, -1), end[None]])
    at, rates = jnp.asarray(values) @ x, jnp.asarray(slopes) @ x / h

    def point(x: Vector, rate: Any) -> tuple[Configuration, Vector]:
        q = space.retract(q0, x)
        return q, jax.jvp(lambda x: space.displacement(q, space.retract(q0, x)), (x,), (rate,))[1]

    def L(c: Any, x: Vector, rate: Any) -> Scalar:
        return system.L(t + c * h, *point(x, rate))

    total, constraint = (
        h * jnp.asarray(w) @ jax.vmap(L)(jnp.asarray(c), at, rates),
        system.constraint,
    )
    if constraint is None:
        return total
    if constraint.holds_positions:

        def off(c: Any, x: Vector) -> Any:
            return constraint.value(system, t + c * h, space.retract(q0, x), jnp.zeros_like(x))

        each = jax.vmap(off)(jnp.asarray(nodes[1:-1]), x[1:-1])
        return total + h * jnp.sum(lam.reshape(degree - 1, m) * each)
    _, c, w, values, slopes = held_points(degree)
    at, rates = jnp.asarray(values) @ x, jnp.asarray(slopes) @ x / h

    def held(c: Any, x: Vector, rate: Any, lam: Any) -> Scalar:
        return lam @ constraint.value(system, t + c * h, *point(x, rate))

    return total + h * jnp.asarray(w) @ jax.vmap(held)(
        jnp.asarray(c), at, rates, lam.reshape(degree, m)
    )


@dataclass(frozen=True)
class Stationarity(newton.Equations):
    """dS/d(inner points) = 0, and dS/dlam = 0 where there are multipliers; the arguments are
    (system, t, h, q0, end, an array as long as the degree).
    """

    multipliers: int = 0

    def residual(self, unknowns: Array, args: Any) -> Array:
        system, t, h, q0, end, mark = args
        return jax.grad(lambda x: action(system, len(mark), t, h, q0, end, x))(unknowns)

    def sizes(self, unknowns: Array, J: Array, args: Any) -> tuple[Array, Array]:
        """The size of an inner point that matters: the length of the step."""
        system, _, _, q0, end, mark = args
        scale = jnp.max(jnp.abs(end)) + jnp.max(system.space.magnitude(q0)) * newton.EPS
        own = jnp.full((len(mark) - 1) * len(end), scale)
        return own, jnp.zeros_like(own)


def stationary(
    system: System, degree: int, t: Scalar, h: Scalar, q0: Configuration, end: Vector
) -> tuple[Scalar, Any]:
    """(S, found): the action where it is stationary over polynomials of that degree; differentiable
    by the ends, since dS/d(inner) = 0.
    """
    nodes = jnp.asarray(points(degree)[0][1:-1])
    guess = (nodes[:, None] * end).ravel()
    held = (degree - system.holds_positions) * system.multipliers
    guess = jnp.concatenate([guess, jnp.zeros(held)])
    fixed = jax.lax.stop_gradient((system, t, h, q0, end, jnp.zeros(degree)))
    equations = Stationarity(held)
    inner, _, converged = newton.root(equations, guess, fixed)
    return action(system, degree, t, h, q0, end, jax.lax.stop_gradient(inner)), converged


@dataclass(frozen=True)
class ExactLagrangian:
    """Ld(t, h, q0, q1), the action of the true motion from q0 to q1 in time h, to 1e-12 relative,
    and its derivatives (-p0, p1).
    """

    system: System

    def __call__(self, t: Any, h: Any, q0: Any, q1: Any) -> Scalar:
        return self.settled(t, h, q0, q1, 1)[0]

    def D1(self, t: Any, h: Any, q0: Any, q1: Any) -> Covector:
        """-p at the start of the true motion."""
        return self.evaluate(t, h, q0, q1)[1]

    def D2(self, t: Any, h: Any, q0: Any, q1: Any) -> Covector:
        """p at its end."""
        return self.evaluate(t, h, q0, q1)[2]

    def evaluate(self, t: Any, h: Any, q0: Any, q1: Any) -> tuple[Scalar, Covector, Covector]:
        """(Ld, D1, D2)."""
        return self.settled(t, h, q0, q1, None)

    def settled(
        self, t: Any, h: Any, q0: Any, q1: Any, count: int | None
    ) -> tuple[Scalar, Covector, Covector]:
        """(Ld, D1, D2), from polynomials of growing degree until two agree in the first `count` of
        these numbers; where ends can hardly be reached derivatives are known to fewer digits.
        """
        system, before = self.system, None
        q0, q1 = system.space.check(q0, "q0"), system.space.check(q1, "q1")
        t, h = jnp.asarray(number(t, "t")), jnp.asarray(number(h, "h"))
        if system.holds_positions:
            check_on_constraint(system, t, q0, "q0")
            check_on_constraint(system, t + h, q1, "q1")
        for degree in DEGREES:
            S, slopes, good = solved(system, degree, t, h, q0, q1)
            now = np.concatenate([[S], *slopes])[:count]
            size = np.abs(now) + np.max(np.abs(now))
            agree = before is not None and np.all(np.abs(now - before) <= TOLERANCE * size)
            if bool(good) and agree:
                return S, *slopes
            before = now if bool(good) else None
        start, end = (jax.tree.map(lambda a: np.asarray(a).tolist(), q) for q in (q0, q1))
        raise ValueError(
            f"the motion of {system.name} from {start} to {end} in time {float(h):g} was not found"
            " to 1e-12. Is h so long that there are several, or that the motion is not smooth? Try"
            " a smaller h."
        )


def solve_with(
    system: System, degree: int, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration
) -> Any:
    """(S, (D1, D2), found), the derivatives by displacements of the ends."""
    space, zero = system.space, jnp.zeros(system.space.dim)
    x = difference(space, q0, q1)

    def at(e0: Any, e1: Any) -> Any:
        return stationary(system, degree, t, h, space.displace(q0, e0), space.relative(x, e0, e1))

    (S, good), slopes = jax.value_and_grad(at, (0, 1), has_aux=True)(zero, zero)
    if system.holds_positions:
        p0 = tangent(system, t, q0, -slopes[0], x / h)
        slopes = -p0, tangent(system, t + h, q1, slopes[1], x / h)
    return S, slopes, good


def tangent(system: System, t: Scalar, q: Configuration, p: Covector, guess: Vector) -> Covector:
    """The momentum of a velocity on the constraint that does as p to displacements along it."""
    return system.legendre(t, q, constrained.legendre(system, t, q, p, guess)[0])


def check_on_constraint(system: Any, t: Any, q: Configuration, name: str) -> None:
    """Raise ValueError where an end is off the holonomic constraint."""
    zero = jnp.zeros(system.space.dim)

    def phi(e: Any) -> Any:
        return system.constraint.value(system, t, system.space.displace(q, e), zero)

    far = jnp.abs(phi(zero))
    size = jnp.abs(jax.jacfwd(phi)(zero)) @ (1 + jnp.ones_like(zero) * system.space.magnitude(q))
    if not bool(jnp.all(far <= OFF * size)):
        raise ValueError(
            f"{name} is off the constraint of {system.name} (by {float(jnp.max(far)):.3g}): the"
            " exact discrete Lagrangian is a function of ends on it. Move it there:"
            f" accion.project(system, {name}, v, t={float(t):g})."
        )


def difference(space: Space, q0: Configuration, q1: Configuration) -> Vector:
    """What leads from q0 to q1: of vectors their difference, of angles with whole turns."""
    return q1 - q0 if is_vector_space(space) else space.local(q0, q1)


solved = kept_jit(solve_with, static_argnums=(1,))


@door()
def exact_discrete_lagrangian(system: Any) -> ExactLagrangian:
    """The exact discrete Lagrangian of a system without forces, free, holonomic or vakonomic,

        Ld(t, h, q0, q1) = integral of L(t, q(t), v(t)) along the true motion from q0 to q1.

    Polynomials of high degree through the two ends, on a group in the coordinates of its
    retraction, the action by Gauss quadrature and stationary; they converge faster than any power
    of the degree where the motion is smooth. A vakonomic motion is the stationary one among those
    that satisfy Phi = 0, which holds at Gauss points; p is d(L + lam.Phi)/dv.

    Under a holonomic constraint it is a function of ends that satisfy it; -D1 and D2 are then the
    momenta of the motion, which do to displacements along the constraint what the derivatives do.

    Of a system of order r it is that of `first_order(system)`: its ends are points of T^(r-1)Q,
    z = (q, (q', ..., q^(r-1))) with the derivatives one after the other, and -D1 and D2 are the
    momenta of Jacobi and Ostrogradsky, p_0, ..., p_{r-1} one after the other.

    Arguments:
        system: free, holonomic or vakonomic, of any order, on any space; no function of (t, q) may
            be held by a vakonomic constraint, so that all ends near each other are joined by a
            motion.

    Returns:
        A function of (t, h, q0, q1) with its derivatives D1 and D2 and, in one call, `evaluate`.

    Reference: Colombo-Eyrea, section 4; Marsden & West 2001, sections 1.6 and 3.5.
    """
    system = of_first_order(system)
    check_mechanical(system, "exact_discrete_lagrangian")
    what, why = "exact_discrete_lagrangian", "their motions make no action stationary"
    if system.forced:
        refuse(what, "systems with a force", why)
    if system.holds_velocities:
        refuse(what, "nonholonomic systems", why)
    system.check()
    if system.enters_action and integrability(system, samples=4).integrals:
        why = "their two ends cannot be chosen freely"
        refuse(what, "vakonomic systems whose constraints hold a function of (t, q)", why)
    return ExactLagrangian(system)


@dataclass(frozen=True)
class VariationalOrder:
    """The order p in |Ld - exact| = O(h^(p+1)) along a motion, with the data it was fitted to."""

    slope: float
    h: np.ndarray
    errors: np.ndarray

    def __float__(self) -> float:
        return self.slope


@door(t0=number)
def variational_order(
    system: System,
    method: Method,
    *,
    q0: Configuration,
    v0: ArrayLike,
    t0: float = 0.0,
    h: Sequence[float] | np.ndarray,
) -> VariationalOrder:
    """The order p of the discrete Lagrangian of `method`, |Ld - exact| = O(h^(p+1)): it is that of
    the method (variational error analysis).

    Arguments:
        system: free; `method`: what gives Ld.
        q0, v0, t0: the start of the motion along which both are compared.
        h: two steps or more.

    Reference: Marsden & West 2001, section 2.3.
    """
    if system.enters_action:
        why = "the ends of a true motion and those of a step satisfy different constraints"
        refuse("variational_order", "vakonomic systems", why)
    if system.order > 1:
        why = "Ld is a function of windows, the exact one of (q, ..., q^(r-1)) at two ends"
        refuse("variational_order", system.kind, why)
    exact, d = exact_discrete_lagrangian(system), discrete(system, method)
    sizes = step_sizes(h, 2)
    q, _ = reference(system, q0=q0, v0=v0, ts=[t0, *(t0 + sizes[::-1])], rtol=1e-13, atol=1e-13)
    start, errors = row(q, 0), []
    for i, step in enumerate(sizes):
        end = row(q, len(sizes) - i)
        errors.append(abs(float(d.Ld(t0, step, start, end) - exact(t0, step, start, end))))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    return VariationalOrder(float(slope) - 1, sizes, np.array(errors))
