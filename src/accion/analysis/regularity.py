"""Whether a Lagrangian determines its motion, and its discretisation the next step."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from accion.analysis.symplectic import begin
from accion.discrete import discrete
from accion.simulate import simulate
from accion.systems import MechanicalLagrangian, System
from accion.systems.system import relative_rank


@dataclass(frozen=True)
class Regularity:
    """Of the Hessian d2L/dv2: the ranks found, the worst condition number; and of D12 Ld along a trajectory, where a method was given.

    `hyperregular` is True where v -> p is one to one on all velocities at the points looked at (the Hessian does not depend on v and
    is regular there), False where the Hessian is singular, None where it could not be decided.
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

    def text(self):
        if not self.regular:
            kind = "everywhere looked at" if len(self.ranks) == 1 else "at some points"
            return (
                f"{self.system.name} is singular: d2L/dv2 has rank {min(self.ranks)} of {self.dim} {kind}. The velocity direction "
                f"{self.direction} has no inertia: accelerations do not follow from L, momenta satisfy an equation among themselves, and "
                "motions exist only on a smaller set, are not unique, or do not exist. analysis.constraint_algorithm finds which."
            )
        lines = [f"{self.system.name} is regular: d2L/dv2 has full rank {self.dim} at all points, condition at most {self.condition:.3g}."]
        words = {True: "It is hyperregular there: velocities and momenta correspond one to one.", None: "Whether it is hyperregular was not decided."}
        lines.append(words.get(self.hyperregular, ""))
        if self.discrete_condition is not None:
            lines.append(
                f"D12 Ld is regular along the trajectory, condition at most {self.discrete_condition:.3g}: each step has one continuation nearby."
            )
        return " ".join(lines)

    def __str__(self):
        return self.text()


def regularity(system, method=None, *, q0=None, v0=None, t0=0.0, h=None, steps=100, samples=50, seed=0) -> Regularity:
    """The regularity of a Lagrangian at random points and, with a `method`, q0, v0 and h, of D12 Ld along a trajectory (002 section 3).

    Rank and condition are of d2L/dv2 with each coordinate measured by its own inertia, so that units do not matter.
    """
    if not isinstance(system, System):
        raise ValueError(f"regularity needs a System; got {system!r}.")
    system.check()
    n, rng = system.space.dim, np.random.default_rng(seed)
    t, (x, v, w) = rng.uniform(0.1, 2, samples), rng.normal(size=(3, samples, n))
    q = jax.vmap(lambda x: system.space.retract(system.space.identity(), x))(x)
    hessian = jax.jit(jax.vmap(jax.jacobian(system.momentum, 2)))
    H, other = np.asarray(hessian(t, q, v)), np.asarray(hessian(t, q, w))
    good = np.all(np.isfinite(H), axis=(1, 2))
    if not np.any(good):
        raise ValueError(f"the Lagrangian of {system.name} is not finite at any of {samples} random points.")
    H, other = H[good], other[good]
    found = [relative_rank(each) for each in H]
    ranks = tuple(sorted({r for r, _ in found}))
    direction = None
    if ranks[0] < n:
        null = next(d for r, d in found if r == ranks[0])
        direction = " + ".join(f"{c:.3g} d{name}" for c, name in zip(null, system.names, strict=True) if abs(c) > 1e-8)
    same = isinstance(system.lagrangian, MechanicalLagrangian) or bool(np.allclose(H, other, rtol=1e-9, atol=1e-12))
    hyper = False if ranks[0] < n else True if same else None
    worst = max(condition(each) for each in H) if ranks[0] == n else np.inf
    discrete_worst = None
    if method is not None:
        if q0 is None or v0 is None or h is None:
            raise ValueError("regularity of a method needs q0, v0 and h, the trajectory along which D12 Ld is looked at.")
        begin(system, q0, v0, None, t0, h)
        traj = simulate(system, method, q0=q0, v0=v0, t0=t0, h=h, steps=steps)
        D12 = jax.jit(jax.vmap(lambda t, a, b: discrete(system, method).D12(t, h, a, b)))(traj.t[:-1], traj.q[:-1], traj.q[1:])
        discrete_worst = max(condition(each) for each in np.asarray(D12))
    return Regularity(system, n, ranks, float(worst), direction, hyper, discrete_worst)


@dataclass(frozen=True)
class ThermalRegularity:
    """The two matrices of 001 Def 3.25 at each step of a trajectory, shape (steps, dim + m, dim + m), and how well they can be inverted.

    `forward` are derivatives by the end of a step, `backward` by its start. A discrete system is regular where both are; near a trajectory it then
    has one continuation in each direction (001 Thm 3.26). That there is a trajectory does not follow (001 Ex 3.29).
    """

    forward: np.ndarray
    backward: np.ndarray

    @property
    def conditions(self):
        """Condition numbers, rows and columns measured by their own size, shape (steps, 2)."""
        return np.array([[scaled_condition(a), scaled_condition(b)] for a, b in zip(self.forward, self.backward, strict=True)])

    @property
    def regular(self):
        return bool(np.max(self.conditions) < 1 / (len(self.forward[0]) * np.finfo(float).eps))

    def __str__(self):
        worst = np.max(self.conditions, axis=0)
        verdict = "regular" if self.regular else "singular"
        return (
            f"The discrete thermomechanical system is {verdict} along the trajectory: condition at most {worst[0]:.3g} by the end of a step, "
            f"{worst[1]:.3g} by its start."
        )


def thermal_regularity(trajectory) -> ThermalRegularity:
    """The two matrices of 001 Def 3.25 along a trajectory of a thermal system, every step of which was saved."""
    if trajectory.S is None or trajectory.is_ensemble:
        raise ValueError("thermal_regularity needs a trajectory of one run of a thermal system.")
    if not bool(trajectory.success) or trajectory.system is None:
        raise ValueError("thermal_regularity needs a run that went well, with its system.")
    if not np.isclose(float(trajectory.t[1] - trajectory.t[0]), float(trajectory.h)):
        raise ValueError("thermal_regularity needs every step: simulate with save_every=1.")
    d, h = discrete(trajectory.system, trajectory.method), trajectory.h
    first, second = (jax.tree.map(lambda a, part=part: a[part], (trajectory.q, trajectory.S)) for part in (slice(None, -1), slice(1, None)))
    matrices = jax.jit(jax.vmap(lambda t, z0, z1: d.matrices(t, h, z0[0], z1[0], z0[1], z1[1])))(trajectory.t[:-1], first, second)
    return ThermalRegularity(*map(np.asarray, matrices))


def scaled_condition(M):
    """The condition number after rows and columns are divided by their largest entries."""
    rows = np.max(np.abs(M), axis=1, keepdims=True)
    M = M / np.where(rows > 0, rows, 1.0)
    columns = np.max(np.abs(M), axis=0, keepdims=True)
    return float(np.linalg.cond(M / np.where(columns > 0, columns, 1.0)))


def condition(M):
    """The condition number with each coordinate measured by its own diagonal entry."""
    scale = np.sqrt(np.abs(np.diag(M)))
    scale = np.where(scale > 0, scale, 1.0)
    return float(np.linalg.cond(M / np.outer(scale, scale)))
