"""Whether a Lagrangian determines its motion, and its discretisation the next step.

What has to be regular is, by the kind of the system:

    System               d2L/dv2, bordered by the constraints [[d2L/dv2, A^T], [A, 0]]
    ThermalSystem        d2L/dv2
    ContactSystem        d2L/dv2
    HigherOrderSystem    d2L/dq^(r)2, bordered by a vakonomic constraint
    given in discrete time, and every step: the derivatives of its equations by its unknowns
"""  # fmt: skip

from dataclasses import dataclass
from typing import Any

import numpy as np

from accion.analysis.matrices import along_steps, at_random, matrix_words
from accion.arguments import count, door, number, positive, seed
from accion.checks import check_kind
from accion.memory import rows
from accion.methods import Method
from accion.solve.simulation import simulate
from accion.systems import AbstractSystem
from accion.systems.rank import condition, direction_words, equilibrated, relative_rank
from accion.told import Told
from accion.types import ArrayLike, Configuration


@dataclass(frozen=True, repr=False)
class Regularity(Told):
    """Of the matrix that has to be regular: the ranks found and the worst condition number; and of
    the matrix of a step along a trajectory, where one was asked for.

    `dim` is the rank of a regular system: that of the space and of the constraints together.
    `hyperregular` is True where v -> p (under constraints, the map from the velocities that they
    allow, with the multipliers of a vakonomic system) is one to one at the points looked at (the
    matrix does not depend on v and is regular there), False where it is singular, None where it
    could not be decided.
    """

    system: Any
    dim: int
    ranks: tuple[int, ...]
    condition: float
    direction: str | None
    hyperregular: bool | None
    discrete_condition: float | None

    @property
    def regular(self) -> bool:
        """Whether the rank is full at all points."""
        return min(self.ranks) == self.dim

    @property
    def matrix(self) -> str:
        """What was looked at, in words."""
        return matrix_words(self.system)

    def text(self) -> str:
        """What was found, in words."""
        return self.regular_text() if self.regular else self.singular_text()

    def singular_text(self) -> str:
        """The words for a singular system."""
        kind = "everywhere looked at" if len(self.ranks) == 1 else "at some points"
        what = f"{self.matrix} has rank {min(self.ranks)} of {self.dim} {kind}"
        if self.system.discrete_time:
            return f"{self.system.name} is singular: {what}. Its next step does not follow."
        allowed = "" if self.system.constraint is None else ", allowed by the constraints,"
        forces = self.system.holds_positions or self.system.holds_velocities
        advice = "" if forces else " analysis.constraint_algorithm finds which."
        return (
            f"{self.system.name} is singular: {what}. The velocity direction"
            f" {self.direction}{allowed} has no inertia: accelerations do not follow from L,"
            " momenta satisfy an equation among themselves, and motions exist only on a smaller"
            f" set, are not unique, or do not exist.{advice}"
        )

    def regular_text(self) -> str:
        """The words for a regular system."""
        lines = [
            f"{self.system.name} is regular: {self.matrix} has full rank {self.dim} at all points,"
            f" condition at most {self.condition:.3g}."
        ]
        words = {
            True: "It is hyperregular there: velocities and momenta correspond one to one.",
            None: "Whether it is hyperregular was not decided.",
        }
        if not self.system.discrete_time:
            lines.append(words[self.hyperregular])
        if self.discrete_condition is not None:
            what = "The matrix of a step is"
            if self.system.order == 1 and not self.system.beside:
                bordered = "The matrix of a step, D12 Ld bordered by the constraints, is"
                what = "D12 Ld is" if self.system.constraint is None else bordered
            lines.append(
                f"{what} regular along the trajectory, condition at most"
                f" {self.discrete_condition:.3g}: each step has one continuation nearby."
            )
        return " ".join(lines)

    def __str__(self) -> str:
        return self.text()


@door(t0=number, h=positive, steps=count, samples=rows(10_000), seed=seed)
def regularity(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration | None = None,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: float = 0.0,
    h: float | None = None,
    steps: int = 100,
    samples: int = 50,
    seed: int = 0,
) -> Regularity:
    """The regularity of a system at random points of its natural size (`analysis.natural`) and,
    with a start, of its steps along a trajectory.

    Rank and condition are of d2L/dv2, under constraints of [[d2L/dv2, A^T], [A, 0]] at points that
    satisfy them (with L + lam.Phi for L where they are vakonomic), with each coordinate measured by
    its own inertia, so that units do not matter. Of a system of order r they are those of
    d2L/dq^(r)2; of one that is given in discrete time, of the matrix of its step.

    Arguments:
        system: of any kind.
        method: with it the steps along a trajectory are looked at, too, from the start that is
            given, with the step h.
        q0, v0, p0, q1, S0, lam0, z0, t0, h, steps: as those of `simulate`. A system that is given
            in discrete time needs h; with a start its steps are looked at.
        samples, seed: how many random points, and which.

    Reference: Colombo-Gamonal, section 3; Vakonomic thesis, eq 4.11, sections 5.1 and 8.4; Bonich,
    Def 3.25.
    """
    check_kind(system)
    system = system.with_entropies(S0)
    system.check()
    n = system.space.dim
    start = {"q0": q0, "v0": v0, "p0": p0, "q1": q1, "S0": S0, "lam0": lam0, "z0": z0}
    along = None
    if method is not None or (system.discrete_time and q0 is not None):
        if q0 is None or h is None or (v0 is None and p0 is None and q1 is None):
            raise ValueError(
                "regularity of a method needs q0, v0 and h, the trajectory along which its steps"
                " are looked at."
            )
        run = simulate(system, method, **start, t0=t0, h=h, steps=steps)
        along = max(condition(each, n) for each in along_steps(system, run))
    found, other = (np.asarray(K) for K in at_random(system, samples, seed, h))
    good = np.all(np.isfinite(found), axis=(1, 2)) & np.all(np.isfinite(other), axis=(1, 2))
    if not np.any(good):
        allowed = "" if system.constraint is None else ", moved onto its constraint"
        raise ValueError(
            f"the Lagrangian of {system.name} is not finite at any of {samples} random"
            f" points{allowed}."
        )
    return summary(system, found[good], other[good], along)


def summary(system: Any, found: np.ndarray, other: np.ndarray, along: float | None) -> Regularity:
    """What matrices at random points, and at the same places with other velocities, tell."""
    n = system.space.dim
    pairs = [relative_rank(each, n) for each in found]
    size, ranks, direction = found.shape[1], tuple(sorted({r for r, _ in pairs})), None
    if ranks[0] < size:
        direction = direction_words(system, next(d for r, d in pairs if r == ranks[0])[:n])
    same = system.constraint is None and system.mechanical is not None
    alike = (equilibrated(each, n)[0] for each in (found, other))  # without units
    same = same or bool(np.allclose(*alike, rtol=0, atol=1e-9))
    hyper = False if ranks[0] < size else True if same else None
    worst = max(condition(each, n) for each in found) if ranks[0] == size else np.inf
    return Regularity(system, size, ranks, float(worst), direction, hyper, along)
