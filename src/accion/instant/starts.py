"""Whether a motion can start where it was put: on its constraint, with an inertia in every
direction.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

from accion.instant import constrained
from accion.systems import Start
from accion.systems.mechanical import check_mass
from accion.types import Configuration, Scalar, Vector

MOVE = "Move it there: q0, v0 = accion.project(system, q0, v0, t=t0)."
# how far q1 may be from the constraint, so that the first step leads to it to roundoff
ON_CONSTRAINT = 1e-11


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
    # of a start from q1: what is left of the equations of its first step, and how far q1 is from
    # satisfying them
    first_step: Any = None
    thermal: Any = None  # temperatures and derivatives by the entropies: `thermal.Hypotheses`


def known_at(
    system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any = None, p0: Any = None
) -> Known:
    """What is known of a `System` at a point; `p0` are the momenta that the user gave."""
    constraint = system.constraint
    if constraint is None:
        return Known(system.hessian(t, q, v))
    point = (system, t, q, v)
    return Known(
        constrained.bordered(*point, lam),
        constraint.value(*point),
        constraint.on_velocities(*point),
        constrained.matrix(*point),
        None if p0 is None else p0 - system.legendre(t, q, v, lam),
    )


def one(a: Any, rank: Any) -> Any:
    """The first member of an ensemble, or all there is."""
    return None if a is None else np.asarray(a)[(0,) * (np.ndim(a) - rank)]


def check_mechanical_start(system: Any, known: Any, start: Start) -> Any:
    """Raise ValueError where the start is not one that a motion of a `System` can have; of an
    ensemble the first member is looked at.
    """
    if known.value is None:
        check_inertia(system, one(known.bordered, 2))
        return
    # Constraints that depend on each other make the bordered matrix singular too: they are told
    # first.
    check_rank(system, one(known.matrix, 2))
    check_inertia(system, one(known.bordered, 2))
    if start.p0 is not None:
        check_momentum(system, one(known.excess, 1), start)
    check_constraint(system, known, start)


def check_momentum(system: Any, excess: Any, start: Start) -> Any:
    """Raise ValueError where p0, under constraints, is not the momentum of a velocity that they
    allow: `excess` is what it has besides.
    """
    p0 = np.asarray(start.p0)[(0,) * (np.ndim(start.p0) - 1)]
    if np.all(np.abs(excess) <= 1e-8 * (1 + np.max(np.abs(p0)))):  # NaN where no velocity was found
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
    """Raise ValueError where a start is off the constraint, by the name of what is off; of an
    ensemble the worst member is looked at.
    """
    sizes = [float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves((start.q0, start.v0))]
    kinds = [part.name for part in system.kinds_of_constraint]
    ends = np.cumsum([0, *map(system.count, system.kinds_of_constraint)])
    for kind, rows in zip(kinds, (slice(a, b) for a, b in pairwise(ends)), strict=True):

        def worst(a: Any, rows: Any = rows) -> Any:
            """The equations of this kind in the member that is farthest from them, how far, and
            which it is.
            """
            a = np.asarray(a).reshape(-1, ends[-1])[:, rows]
            far = np.max(np.abs(np.where(np.isfinite(a), a, np.inf)), axis=1)
            return (
                a[np.argmax(far)],
                float(np.max(far)),
                f" (member {np.argmax(far)})" if len(far) > 1 else "",
            )

        off, far, who = worst(known.value)
        if kind == "holonomic" and far > 1e-8 * (1 + max(sizes)):
            raise ValueError(
                f"q0{who} is off the constraint of {system.name} (by {far:.3g}). {MOVE}"
            )
        if start.q1 is not None:
            check_first_step(
                system, kind, worst(known.first_step[0]), worst(known.first_step[1]), 1 + max(sizes)
            )
            continue
        off, far, who = worst(known.on_velocities)
        if far > 1e-8 * (1 + max(sizes)):
            if kind == "holonomic":
                raise ValueError(
                    f"v0{who} is off the constraint of {system.name} (on velocities, by {far:.3g}):"
                    f" it leads off it. {MOVE}"
                )
            raise ValueError(
                f"v0{who} breaks the {kind} constraint of {system.name}: its equations are {off},"
                f" not 0. {MOVE}"
            )


def check_first_step(system: Any, kind: Any, equations: Any, distance: Any, size: Any) -> Any:
    """Raise ValueError where the first step, from q0 to q1, does not satisfy the discrete
    constraint: it would lead to another q1.
    """
    left, (_, far, who) = equations[0], distance
    if far <= ON_CONSTRAINT * size:
        return
    if kind == "holonomic":
        words = (
            f"q1{who} is off the constraint of {system.name} (by {np.max(np.abs(left)):.3g} at the"
            " time t0 + h). Move it there: q1, _ ="
        )
        raise ValueError(f"{words} accion.project(system, q1, v, t=t0 + h), with any v.")
    raise ValueError(
        f"the step from q0 to q1{who} breaks the {kind} constraint of {system.name}: its equations,"
        f" sampled as the method samples a step, are {left}, not 0, and q1 is {far:.3g} from where"
        " they are. Choose a q1 that satisfies them, or start from v0: q0, v0 ="
        " accion.project(system, q0, v0, t=t0)."
    )


def check_rank(system: Any, A: Any, where: Any = "at the initial data") -> Any:
    """Raise ValueError where the constraints depend on each other, naming the equations."""
    U, s, _ = np.linalg.svd(A)
    rank = int(np.sum(s > 1e-12 * max(s[0], 1e-300)))
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
        check_mass(system.mechanical.inertia(system.params).mass, system.space.dim)
    else:
        system.check_regular(K)
