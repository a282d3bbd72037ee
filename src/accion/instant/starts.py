"""Whether a motion can start where it was put: on its constraint, with an inertia in every
direction.
"""

from itertools import pairwise
from typing import Any

import jax
import numpy as np

from accion.systems import DiscreteThermalSystem, HigherOrderSystem
from accion.systems.mechanical import check_mass
from accion.systems.system import constraint_kinds

MOVE = "Move it there: q0, v0 = accion.project(system, q0, v0, t=t0)."
# how far q1 may be from the constraint, so that the first step leads to it to roundoff
ON_CONSTRAINT = 1e-11


def check_first(system, known, start):
    """Raise ValueError where the start is not one that a motion can have; of an ensemble the first
    member is looked at.
    """

    def one(a, rank) -> Any:
        return None if a is None else np.asarray(a)[(0,) * (np.ndim(a) - rank)]

    if known.value is None or isinstance(system, HigherOrderSystem):
        check_regular(system, one(known.bordered, 2))
        if known.value is not None:
            check_higher_constraint(system, one(known.value, 2), start)
        return
    # Constraints that depend on each other make the bordered matrix singular too: they are told
    # first.
    check_rank(system, one(known.matrix, 2))
    check_regular(system, one(known.bordered, 2))
    if start.p0 is not None:
        check_momentum(system, one(known.beside, 1), start)
    check_constraint(system, known, start)


def check_momentum(system, beside, start):
    """Raise ValueError where p0, under constraints, is not the momentum of a velocity that they
    allow: `beside` is what it has besides.
    """
    p0 = np.asarray(start.p0)[(0,) * (np.ndim(start.p0) - 1)]
    if np.all(np.abs(beside) <= 1e-8 * (1 + np.max(np.abs(p0)))):  # NaN where no velocity was found
        return
    kinds = " and ".join(kind for kind, _ in constraint_kinds(system))
    breaks = (
        f"breaks the {kinds} constraint" if system.holonomic is None else "is off the constraint"
    )
    raise ValueError(
        f"p0 {breaks} of {system.name}: {p0} is the momentum of no velocity that the constraint"
        f" allows; the nearest, along the constraint forces, is {p0 - beside}. Start from that, or"
        " from v0."
    )


def check_constraint(system, known, start):
    """Raise ValueError where a start is off the constraint, by the name of what is off; of an
    ensemble the worst member is looked at.
    """
    sizes = [float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves((start.q0, start.v0))]
    ends = np.cumsum([0, *(count for _, count in constraint_kinds(system))])
    for (kind, _), rows in zip(
        constraint_kinds(system), (slice(a, b) for a, b in pairwise(ends)), strict=True
    ):

        def worst(a, rows=rows):
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
            check_opening(
                system, kind, worst(known.opening[0]), worst(known.opening[1]), 1 + max(sizes)
            )
            continue
        off, far, who = worst(known.hidden)
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


def check_opening(system, kind, equations, distance, size):
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


def check_higher_constraint(system, rates, start):
    """Raise ValueError where Phi or one of its derivatives along the motion, the rows of `rates`,
    is not zero at the start.
    """
    scale = 1 + max(float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves((start.q0, start.v0)))
    for k, row in enumerate(rates):
        if np.max(np.abs(row)) > 1e-8 * scale:
            what = "Phi" if k == 0 else "dPhi/dt" if k == 1 else f"d^{k}Phi/dt^{k}"
            raise ValueError(
                f"v0 is off the constraint of {system.name}: {what} = {np.asarray(row)}. Phi and"
                f" its first {system.order - 1} derivatives must be zero at the start; choose"
                f" q^({system.order + k}) so that this one is."
            )


def check_rank(system, A, where="at the initial data"):
    """Raise ValueError where the constraints depend on each other, naming the equations."""
    U, s, _ = np.linalg.svd(A)
    rank = int(np.sum(s > 1e-12 * max(s[0], 1e-300)))
    if rank < A.shape[0]:
        rows = ", ".join(str(i) for i in np.flatnonzero(np.abs(U[:, -1]) > 1e-8))
        raise ValueError(
            f"the constraints of {system.name} depend on each other: their matrix has rank {rank}"
            f" of {A.shape[0]} {where}. Leave out one of the equations {rows} (counted from 0)."
        )


def check_regular(system, K):
    """Raise ValueError where d2L/dv2, bordered by the constraints (for a `mechanical` system
    without them, the mass), is singular.
    """
    if isinstance(system, DiscreteThermalSystem):
        return
    if K is None:
        check_mass(system.lagrangian.inertia(system.params).mass, system.space.dim)
    else:
        system.check_regular(K)
