"""Whether a motion can start where it was put: on its constraint, with an inertia in every
direction.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from accion.instant import constrained
from accion.instant.constrained import BESIDE, GIVEN, ROUNDED, inertias
from accion.numerics.terms import Terms, terms
from accion.once import OncePerObject
from accion.systems import Start
from accion.systems.mechanical import check_mass
from accion.types import Configuration, Scalar, Vector

MOVE = "Move it there: q0, v0 = accion.project(system, q0, v0, t=t0)."


class Allowed(NamedTuple):
    """How far from zero the equations of a start may be, each of the shape of what it is for."""

    value: Any
    on_velocities: Any
    excess: Any = None


class Known(NamedTuple):
    """What tells whether a motion can start at a point."""

    # d2L/dv2 bordered by the constraints; None for a `mechanical` system without them, which knows
    # its mass, and for one that is given in discrete time
    bordered: Any = None
    value: Any = None  # of the constraint, None where there is none
    on_velocities: Any = None  # of what it says about velocities
    matrix: Any = None  # A
    # p0 - dL/dv, where a constrained motion starts from p0: what it has besides the momentum of its
    # velocity
    excess: Any = None
    # of a start from q1: what is left of the equations of its first step, how far q1 is from
    # satisfying them, and how far from zero they may be
    first_step: Any = None
    allowed: Any = None  # `Allowed`, where there are constraints
    thermal: Any = None  # temperatures and derivatives by the entropies: `thermal.Hypotheses`
    # how many times a step is too long for what decays in it, where it goes back in time in parts
    stiff: Any = None
    weight: Any = None  # (its sign, log |w|), of a system that has one


def known_at(
    system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any = None, p0: Any = None
) -> Known:
    """What is known of a `System` at a point; `p0` are the momenta that the user gave."""
    constraint = system.constraint
    if constraint is None:
        return Known(system.hessian(t, q, v))
    excess = None if p0 is None else p0 - system.legendre(t, q, v, lam)
    return known_held(system, t, q, v, constrained.bordered(system, t, q, v, lam), p0, excess)


def known_held(
    system: Any, t: Scalar, q: Configuration, v: Vector, K: Any, p0: Any, excess: Any
) -> Known:
    """What is known of a system under constraints; K is `bordered`, `excess` what p0 has besides
    the momentum of v.
    """
    constraint, point = system.constraint, (system, t, q, v)
    return Known(
        K,
        constraint.value(*point),
        constraint.on_velocities(*point),
        constrained.matrix(*point),
        excess,
        allowed=allowed_at(system, t, q, v, K, p0, excess),
    )


def allowed_at(
    system: Any, t: Scalar, q: Configuration, v: Vector, K: Any, p0: Any, excess: Any
) -> Allowed:
    """How far a start may be from its constraint; K is `bordered`."""
    n, constraint, point = system.space.dim, system.constraint, (system, t, q, v)
    mass = inertias(K, n)

    def by(slopes: Any, size: Any, found: Terms) -> Any:
        beside = jnp.abs(slopes) @ (jnp.max(jnp.abs(size) * mass) / mass)
        return GIVEN * found.given + BESIDE * beside + ROUNDED * found.inner

    at = terms(constraint.value, *point)
    on_velocities = terms(constraint.on_velocities, *point)
    momentum = None
    if p0 is not None:
        momentum = GIVEN * (jnp.abs(p0) + jnp.abs(p0 - excess))
        momentum = momentum + BESIDE * jnp.max(jnp.abs(p0) / mass) * mass
    return Allowed(
        by(K[:n, n:].T, system.space.magnitude(q), at), by(K[n:, :n], v, on_velocities), momentum
    )


def check_mechanical_start(system: Any, known: Any, start: Start) -> Any:
    """Raise ValueError where the start is not one that a motion of a `System` can have."""
    if known.value is None:
        check_inertia(system, known.bordered)
        return
    # Constraints that depend on each other make the bordered matrix singular too: they are told
    # first.
    check_rank(system, known.bordered)
    check_inertia(system, known.bordered)
    if start.p0 is not None:
        check_momentum(system, known.excess, known.allowed.excess, start)
    check_constraint(system, known, start)


def check_momentum(system: Any, excess: Any, allowed: Any, start: Start) -> Any:
    """Raise ValueError where p0, under constraints, is not the momentum of a velocity that they
    allow: `excess` is what it has besides, `allowed` how much that may be.
    """
    # as arrays of NumPy, which compile nothing
    p0, excess, allowed = map(np.asarray, (start.p0, excess, allowed))
    if np.all(np.abs(excess) <= allowed):  # NaN where no velocity was found
        return
    kinds = " and ".join(part.name for part in system.kinds_of_constraint)
    breaks = (
        f"breaks the {kinds} constraint" if not system.holds_positions else "is off the constraint"
    )
    raise ValueError(
        f"p0 {breaks} of {system.name}: {p0} is the momentum of no velocity that the constraint"
        f" allows; the nearest, along the constraint forces, is {p0 - excess}. Start from that, or"
        " from v0."
    )


def check_constraint(system: Any, known: Any, start: Start) -> Any:
    """Raise ValueError where a start is off the constraint, by the name of what is off."""
    kinds = [part.name for part in system.kinds_of_constraint]
    ends = np.cumsum([0, *map(system.count, system.kinds_of_constraint)])
    for kind, rows in zip(kinds, (slice(a, b) for a, b in pairwise(ends)), strict=True):

        def judged(a: Any, allowed: Any, rows: Any = rows) -> Any:
            """The equations of this kind, how far they are from zero, and whether that is too
            far.
            """
            a, allowed = np.asarray(a)[rows], np.asarray(allowed)[rows]
            # What is not finite is too far; what is zero never is.
            return a, np.max(np.abs(a)), not np.all((a == 0) | (np.abs(a) <= allowed))

        _, far, bad = judged(known.value, known.allowed.value)
        if kind == "holonomic" and bad:
            raise ValueError(f"q0 is off the constraint of {system.name} (by {far:.3g}). {MOVE}")
        if start.q1 is not None:
            left, distance, allowed = known.first_step
            check_first_step(system, kind, judged(left, allowed), distance)
            continue
        off, far, bad = judged(known.on_velocities, known.allowed.on_velocities)
        if bad:
            if kind == "holonomic":
                raise ValueError(
                    f"v0 is off the constraint of {system.name} (on velocities, by {far:.3g}): it"
                    f" leads off it. {MOVE}"
                )
            raise ValueError(
                f"v0 breaks the {kind} constraint of {system.name}: its equations are {off}, not 0."
                f" {MOVE}"
            )


def check_first_step(system: Any, kind: Any, equations: Any, distance: Any) -> Any:
    """Raise ValueError where the first step, from q0 to q1, does not satisfy the discrete
    constraint: it would lead to another q1.
    """
    left, far, bad = equations
    if not bad:
        return
    if kind == "holonomic":
        words = (
            f"q1 is off the constraint of {system.name} (by {far:.3g} at the time t0 + h)."
            " Move it there: q1, _ ="
        )
        raise ValueError(f"{words} accion.project(system, q1, v, t=t0 + h), with any v.")
    raise ValueError(
        f"the step from q0 to q1 breaks the {kind} constraint of {system.name}: its equations,"
        f" sampled as the method samples a step, are {left}, not 0, and q1 is"
        f" {np.max(distance):.3g} from where they are. Choose a q1 that satisfies them, or start"
        " from v0: q0, v0 = accion.project(system, q0, v0, t=t0)."
    )


def check_rank(system: Any, K: Any, where: Any = "at the initial data") -> Any:
    """Raise ValueError where the constraints depend on each other, naming the equations; K is
    `constrained.bordered`.
    """
    n, K = system.space.dim, np.asarray(K)
    if not np.all(np.isfinite(K)):
        kinds = " and ".join(part.name for part in system.kinds_of_constraint)
        raise ValueError(
            f"the derivatives of L or of the {kinds} constraint of {system.name} are not finite"
            f" {where}. Choose another start, or mend the function."
        )
    # Coordinates measured by their inertias, and each equation by itself: units do not matter.
    A = K[:n, n:].T / inertias(K, n)
    size = np.max(np.abs(A), axis=1, keepdims=True)
    U, s, _ = np.linalg.svd(A / np.where(size > 0, size, 1.0))
    rank = int(np.sum(s > 1e-12 * s[0]))
    if rank < A.shape[0]:
        rows = ", ".join(str(i) for i in np.flatnonzero(np.abs(U[:, -1]) > 1e-8))
        raise ValueError(
            f"the constraints of {system.name} depend on each other: their matrix has rank {rank}"
            f" of {A.shape[0]} {where}. Leave out one of the equations {rows} (counted from 0)."
        )


def check_inertia(system: Any, K: Any) -> Any:
    """Raise ValueError where d2L/dv2, bordered by the constraints (for a `mechanical` system
    without them, the mass), is singular.
    """
    if K is None:
        MASS(system)
    else:
        system.check_regular(K)


def checked_mass(system: Any) -> Any:
    return check_mass(system.mechanical.inertia(system.params).mass, system.space.dim)


MASS = OncePerObject(checked_mass)  # of a system that is not traced
