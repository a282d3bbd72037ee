"""Whether a Lagrangian determines its motion, and its discretisation the next step."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.checks import check_mechanical
from accion.engines.auto import small_map
from accion.instant import constrained
from accion.solve.simulation import simulate
from accion.stepping.base import StepEquations
from accion.stepping.variational import increments
from accion.stepping.views import discrete
from accion.systems.rank import condition, direction_words, relative_rank


@dataclass(frozen=True)
class Regularity:
    """Of the Hessian d2L/dv2, under constraints of [[d2L/dv2, A^T], [A, 0]]: the ranks found, the
    worst condition number; and of the matrix of a step (without constraints D12 Ld) along a
    trajectory, where a method was given.

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
    def regular(self):
        return min(self.ranks) == self.dim

    @property
    def matrix(self):
        """What was looked at, in words."""
        return "d2L/dv2" if self.system.constraint is None else "[[d2L/dv2, A^T], [A, 0]]"

    def text(self):
        if not self.regular:
            kind = "everywhere looked at" if len(self.ranks) == 1 else "at some points"
            allowed = "" if self.system.constraint is None else ", allowed by the constraints,"
            advice = (
                ""
                if self.system.holonomic or self.system.nonholonomic
                else " analysis.constraint_algorithm finds which."
            )
            return (
                f"{self.system.name} is singular: {self.matrix} has rank {min(self.ranks)} of"
                f" {self.dim} {kind}. The velocity direction {self.direction}{allowed} has no"
                " inertia: accelerations do not follow from L, momenta satisfy an equation among"
                " themselves, and motions exist only on a smaller set, are not unique, or do not"
                f" exist.{advice}"
            )
        lines = [
            f"{self.system.name} is regular: {self.matrix} has full rank {self.dim} at all points,"
            f" condition at most {self.condition:.3g}."
        ]
        words = {
            True: "It is hyperregular there: velocities and momenta correspond one to one.",
            None: "Whether it is hyperregular was not decided.",
        }
        lines.append(words.get(self.hyperregular, ""))
        if self.discrete_condition is not None:
            what = (
                "D12 Ld is"
                if self.system.constraint is None
                else "The matrix of a step, D12 Ld bordered by the constraints, is"
            )
            lines.append(
                f"{what} regular along the trajectory, condition at most"
                f" {self.discrete_condition:.3g}: each step has one continuation nearby."
            )
        return " ".join(lines)

    def __str__(self):
        return self.text()


def regularity(
    system,
    method=None,
    *,
    q0=None,
    v0=None,
    lam0=None,
    t0=0.0,
    h=None,
    steps=100,
    samples=50,
    seed=0,
) -> Regularity:
    """The regularity of a system at random points and, with a `method`, q0, v0 (and lam0) and h, of
    its steps along a trajectory (002 section 3).

    Rank and condition are of d2L/dv2, under constraints of [[d2L/dv2, A^T], [A, 0]] at points that
    satisfy them (004 eq 4.11, with L + lam.Phi for L where they are vakonomic), with each
    coordinate measured by its own inertia, so that units do not matter.
    """
    check_mechanical(system, "regularity")
    system.check()
    n, rng = system.space.dim, np.random.default_rng(seed)
    found, other = random_points(system, rng, samples)
    good = np.all(np.isfinite(found), axis=(1, 2)) & np.all(np.isfinite(other), axis=(1, 2))
    if not np.any(good):
        allowed = "" if system.constraint is None else ", moved onto its constraint"
        raise ValueError(
            f"the Lagrangian of {system.name} is not finite at any of {samples} random"
            f" points{allowed}."
        )
    found, other = found[good], other[good]
    pairs = [relative_rank(each, n) for each in found]
    size, ranks, direction = found.shape[1], tuple(sorted({r for r, _ in pairs})), None
    if ranks[0] < size:
        direction = direction_words(system, next(d for r, d in pairs if r == ranks[0])[:n])
    same = system.constraint is None and system.mechanical is not None
    same = same or bool(np.allclose(found, other, rtol=1e-9, atol=1e-12))
    hyper = False if ranks[0] < size else True if same else None
    worst = max(condition(each, n) for each in found) if ranks[0] == size else np.inf
    along = None if method is None else along_trajectory(system, method, q0, v0, lam0, t0, h, steps)
    return Regularity(system, size, ranks, float(worst), direction, hyper, along)


def random_points(system, rng, samples):
    """The bordered d2L/dv2 at random points, moved onto the constraint, and at the same (t, q) with
    other velocities (and multipliers).
    """
    n, space = system.space.dim, system.space
    t, (x, v, w) = rng.uniform(0.1, 2, samples), rng.normal(size=(3, samples, n))
    lam = rng.normal(size=(2, samples, system.multipliers))

    def at(t, q, v, lam):
        _, v = constrained.project_at(system, t, q, v)
        return constrained.bordered(system, t, q, v, lam if system.enters_action else None)

    def both(_, point):
        t, x, v, w, lam, mu = point
        q, _ = constrained.project_at(system, t, space.retract(space.identity(), x), v)
        return at(t, q, v, lam), at(t, q, w, mu)

    return [np.asarray(K) for K in small_map(both)((), (t, x, v, w, *lam))]


def along_trajectory(system, method, q0, v0, lam0, t0, h, steps):
    """The worst condition of the matrix of a step along a trajectory: the derivative of its
    equations by the increment and the multipliers.
    """
    if q0 is None or v0 is None or h is None:
        raise ValueError(
            "regularity of a method needs q0, v0 and h, the trajectory along which its steps are"
            " looked at."
        )
    traj = simulate(system, method, q0=q0, v0=v0, lam0=lam0, t0=t0, h=h, steps=steps)
    n, m, first = system.space.dim, system.multipliers, jax.tree.map(lambda a: a[:-1], traj.q)

    def one(h, step):
        t, q, q1, p = step
        x = system.space.local(q, q1)
        guess = jnp.concatenate([x, jnp.zeros(m)])
        # Once more, for the multipliers of the step, which a trajectory does not keep.
        unknowns = increments(system, method, t, h, q, p, guess).x
        equations = StepEquations(method, m)
        return jax.jacfwd(lambda u: equations.residual(u, (system, t, h, q, p, x)))(unknowns)

    J = small_map(one)(
        traj.h, (traj.t[:-1], first, jax.tree.map(lambda a: a[1:], traj.q), traj.p[:-1])
    )
    return max(condition(each, n) for each in np.asarray(J))


@dataclass(frozen=True)
class ThermalRegularity:
    """The two matrices of 001 Def 3.25 at each step of a trajectory, shape (steps, dim + m, dim +
    m), and how well they can be inverted.

    `forward` are derivatives by the end of a step, `backward` by its start. A discrete system is
    regular where both are; near a trajectory it then has one continuation in each direction (001
    Thm 3.26). That there is a trajectory does not follow (001 Ex 3.29).
    """

    forward: np.ndarray
    backward: np.ndarray

    @property
    def conditions(self):
        """Condition numbers, rows and columns measured by their own size, shape (steps, 2)."""
        return np.array(
            [
                [scaled_condition(a), scaled_condition(b)]
                for a, b in zip(self.forward, self.backward, strict=True)
            ]
        )

    @property
    def regular(self):
        return bool(np.max(self.conditions) < 1 / (len(self.forward[0]) * np.finfo(float).eps))

    def __str__(self):
        worst = np.max(self.conditions, axis=0)
        verdict = "regular" if self.regular else "singular"
        return (
            f"The discrete thermomechanical system is {verdict} along the trajectory: condition at"
            f" most {worst[0]:.3g} by the end of a step, {worst[1]:.3g} by its start."
        )


def thermal_regularity(trajectory) -> ThermalRegularity:
    """The two matrices of 001 Def 3.25 along a trajectory of a thermal system, every step of which
    was saved.
    """
    if trajectory.S is None or trajectory.is_ensemble:
        raise ValueError("thermal_regularity needs a trajectory of one run of a thermal system.")
    if not bool(trajectory.success) or trajectory.system is None:
        raise ValueError("thermal_regularity needs a run that went well, with its system.")
    if not np.isclose(float(trajectory.t[1] - trajectory.t[0]), float(trajectory.h)):
        raise ValueError("thermal_regularity needs every step: simulate with save_every=1.")
    d, h = discrete(trajectory.system, trajectory.method), trajectory.h
    first, second = (
        jax.tree.map(lambda a, part=part: a[part], (trajectory.q, trajectory.S))
        for part in (slice(None, -1), slice(1, None))
    )
    matrices = jax.jit(jax.vmap(lambda t, z0, z1: d.matrices(t, h, z0[0], z1[0], z0[1], z1[1])))(
        trajectory.t[:-1], first, second
    )
    return ThermalRegularity(*map(np.asarray, matrices))


def scaled_condition(M):
    """The condition number after rows and columns are divided by their largest entries."""
    rows = np.max(np.abs(M), axis=1, keepdims=True)
    M = M / np.where(rows > 0, rows, 1.0)
    columns = np.max(np.abs(M), axis=0, keepdims=True)
    return float(np.linalg.cond(M / np.where(columns > 0, columns, 1.0)))
