"""The matrices that have to be regular: at random points, and of the steps along a trajectory."""

from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_every_step
from accion.analysis.natural import natural_units
from accion.discretise import discretise
from accion.discretise.window import differences
from accion.engines.auto import small_map
from accion.instant import constrained
from accion.results.trajectory import Trajectory
from accion.stepping.base import StepEquations
from accion.stepping.variational import increments
from accion.stepping.windows import WindowEquations
from accion.systems import (
    AbstractSystem,
    ContactSystem,
    DiscreteSystem,
    DiscreteThermalSystem,
    HigherOrderSystem,
    System,
    ThermalSystem,
)
from accion.types import Array, Configuration, Scalar, Vector

# ---------------------------------------------------------------- at random points


class Random:
    """Random numbers, some for each point, and the sizes that belong to them: the times, and
    vectors of any length.
    """

    def __init__(self, system: AbstractSystem, samples: int, seed: int) -> None:
        self.samples, self.rng = samples, np.random.default_rng(seed)
        self.sizes = natural_units(system, ordinary=False)
        self.t = self.sizes.t * self.rng.uniform(0.1, 2, samples)

    def normal(self, *shape: int) -> np.ndarray:
        """Of shape (samples, *shape)."""
        return np.moveaxis(self.rng.normal(size=(*shape, self.samples)), -1, 0)

    def vectors(self, count: int, n: int) -> np.ndarray:
        """`count` arrays of shape (samples, n)."""
        return self.rng.normal(size=(count, self.samples, n))


@singledispatch
def at_random(system: AbstractSystem, samples: int, seed: int, h: float | None) -> Any:
    """The matrix that has to be regular at random points, and at the same places with other
    velocities (and multipliers): two arrays of shape (samples, size, size).
    """
    raise ValueError(f"regularity does not support {system.kind}: nothing is known of them.")


@at_random.register
def _(system: System, samples: int, seed: int, h: float | None) -> Any:
    space, random = system.space, Random(system, samples, seed)
    sizes = random.sizes
    x, v, w = random.vectors(3, space.dim)
    x, v, w = sizes.x * x, sizes.rates[0] * v, sizes.rates[0] * w
    lam = sizes.lam * random.vectors(2, system.multipliers)

    def at(t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
        _, v = constrained.project_at(system, t, q, v)
        return constrained.bordered(system, t, q, v, lam if system.enters_action else None)

    def both(_: Any, point: Any) -> Any:
        t, x, v, w, lam, mu = point
        q, _ = constrained.project_at(system, t, space.retract(space.identity(), x), v)
        return at(t, q, v, lam), at(t, q, w, mu)

    return small_map(both)((), (random.t, x, v, w, *lam))


@at_random.register(ThermalSystem)
@at_random.register(ContactSystem)
def _(system: Any, samples: int, seed: int, h: float | None) -> Any:
    space, random, n = system.step_space, Random(system, samples, seed), system.space.dim
    sizes = random.sizes
    (x,), (v, w) = sizes.x * random.vectors(1, space.dim), random.vectors(2, n)
    v, w = sizes.rates[0, :n] * v, sizes.rates[0, :n] * w

    def both(_: Any, point: Any) -> Any:
        t, x, v, w = point
        z = space.retract(space.identity(), x)
        return system.hessian(t, z, v), system.hessian(t, z, w)

    return small_map(both)((), (random.t, x, v, w))


@at_random.register
def _(system: HigherOrderSystem, samples: int, seed: int, h: float | None) -> Any:
    space, random, rows = system.space, Random(system, samples, seed), system.order
    sizes = random.sizes
    (x,), lam = sizes.x * random.vectors(1, space.dim), random.vectors(2, system.multipliers)
    jets, others = (sizes.rates * random.normal(rows, space.dim) for _ in range(2))
    lam = sizes.lam * lam

    def both(_: Any, point: Any) -> Any:
        t, x, jets, others, lam, mu = point
        q = space.retract(space.identity(), x)
        return system.regularity(t, q, jets, lam), system.regularity(t, q, others, mu)

    return small_map(both)((), (random.t, x, jets, others, *lam))


@at_random.register
def _(system: DiscreteSystem, samples: int, seed: int, h: float | None) -> Any:
    space, random, r = system.space, Random(system, samples, seed), system.order
    sizes = random.sizes
    (x,), lam = sizes.x * random.vectors(1, space.dim), random.vectors(2, system.multipliers)
    lam = sizes.lam * lam
    steps = [needed(h) * sizes.rates[0] * random.normal(r, space.dim) for _ in range(2)]
    form = discretise(system, None)

    def at(h: Scalar, t: Scalar, q: Configuration, x: Vector, lam: Any) -> Any:
        return window_matrix(system, None, t, h, q, form.from_increments(x), lam)

    def both(h: Scalar, point: Any) -> Any:
        t, x, steps, others, lam, mu = point
        q = space.retract(space.identity(), x)
        return at(h, t, q, steps, lam), at(h, t, q, others, mu)

    return small_map(both)(needed(h), (random.t, x, *steps, *lam))


@at_random.register
def _(system: DiscreteThermalSystem, samples: int, seed: int, h: float | None) -> Any:
    space, random = system.step_space, Random(system, samples, seed)
    x, v, w = random.vectors(3, space.dim)
    x, v, w = (random.sizes.x * x, *(random.sizes.rates[0] * a for a in (v, w)))

    def both(h: Scalar, point: Any) -> Any:
        t, x, v, w = point
        z = space.retract(space.identity(), x)
        return extended_matrix(system, None, t, h, z, h * v), extended_matrix(
            system, None, t, h, z, h * w
        )

    return small_map(both)(needed(h), (random.t, x, v, w))


def needed(h: float | None) -> float:
    """The step, which a system that is given in discrete time cannot be looked at without."""
    if h is None:
        raise ValueError("regularity of a system that is given in discrete time needs h, its step.")
    return float(h)


# ---------------------------------------------------------------- of steps


def window_matrix(system: Any, method: Any, t: Any, h: Any, q: Any, d: Any, lam: Any) -> Any:
    """The derivatives of the equations of a window, P_1 + D_1 Ld + h A^T lam and the constraint,
    by its highest difference and h lam; `d` are all differences of its increments.
    """
    n, m = system.space.dim, system.multipliers
    equations, zero = WindowEquations(method, m), jnp.zeros((1, n))

    def residual(u: Any) -> Array:
        unknowns = jnp.concatenate([u[:n], u[n:] / h])
        return equations.residual(unknowns, (system, t, h, q, zero, d[:-1]))

    return jax.jacfwd(residual)(jnp.concatenate([d[-1], h * lam]))


def extended_matrix(system: Any, method: Any, t: Any, h: Any, z: Any, x: Any) -> Any:
    """The derivatives of (momentum balance, entropy balances) by the end of a step (Bonich, Def
    3.25), of a contact system of (momentum balance, z1 - z0 - Ld).
    """
    space = system.step_space
    form, zero = discretise(system, method), jnp.zeros_like(x)

    def pair(e: Any) -> Any:
        y = space.relative(x, zero, e)
        return jnp.concatenate([form.variation(t, h, z, y).start, form.closure(t, h, z, y)])

    return jax.jacfwd(pair)(zero)


@singledispatch
def along_steps(system: AbstractSystem, run: Trajectory) -> np.ndarray:
    """The matrix of each step along a trajectory, shape (steps, size, size)."""
    return windows_of(system, run)


@along_steps.register
def _(system: System, run: Trajectory) -> np.ndarray:
    check_every_step(run, "regularity")
    m, first = system.multipliers, jax.tree.map(lambda a: a[:-1], run.q)
    method: Any = run.method
    equations = StepEquations(method, discretise(system, method).blocks.lam)

    def one(h: Scalar, step: Any) -> Any:
        t, q, q1, p = step
        x = system.space.local(q, q1)
        guess = jnp.concatenate([x, jnp.zeros(m)])
        # Once more, for the multipliers of the step, which a trajectory does not keep.
        unknowns = increments(system, method, t, h, q, p, guess).x
        return jax.jacfwd(lambda u: equations.residual(u, (system, t, h, q, p, x)))(unknowns)

    second = jax.tree.map(lambda a: a[1:], run.q)
    return np.asarray(small_map(one)(run.h, (run.t[:-1], first, second, run.p[:-1])))


@along_steps.register(ThermalSystem)
@along_steps.register(ContactSystem)
@along_steps.register(DiscreteThermalSystem)
def _(system: Any, run: Trajectory) -> np.ndarray:
    check_every_step(run, "regularity")
    space, form = system.step_space, partial(extended_matrix, system, run.method)

    def one(h: Scalar, step: Any) -> Any:
        t, z0, z1 = step
        return form(t, h, z0, space.local(z0, z1))

    first, second = (
        jax.tree.map(lambda a, part=part: a[part], run.points)
        for part in (slice(None, -1), slice(1, None))
    )
    return np.asarray(small_map(one)(run.h, (run.t[:-1], first, second)))


def windows_of(system: Any, run: Trajectory) -> np.ndarray:
    """The matrix of each window. Multipliers that are in the action are taken as those of its last
    configuration, which they are to first order in h.
    """
    check_every_step(run, "regularity")
    r, m, count = system.order, system.multipliers, len(run.t) - system.order
    lam = jnp.zeros((len(run.t), m)) if run.lam is None else run.lam

    def one(h: Scalar, step: Any) -> Any:
        t, nodes, lam = step
        d = differences(system.space, nodes)
        return window_matrix(system, run.method, t, h, nodes[0], d, lam)

    nodes = [jax.tree.map(lambda a, i=i: a[i : i + count], run.q) for i in range(r + 1)]
    rows = (run.t[:count], nodes, lam[r : r + count])
    return np.asarray(small_map(one)(run.h, rows))


# ---------------------------------------------------------------- words


@singledispatch
def matrix_words(system: AbstractSystem) -> str:
    """The matrix that has to be regular, in words."""
    return "d2L/dv2" if system.constraint is None else "[[d2L/dv2, A^T], [A, 0]]"


@matrix_words.register
def _(system: HigherOrderSystem) -> str:
    H = f"d2L/dq^({system.order})2"
    return H if system.constraint is None else f"{H}, bordered by dPhi/dq^({system.order}),"


@matrix_words.register
def _(system: DiscreteSystem) -> str:
    D = "D12 Ld" if system.order == 1 else f"D_1 D_{system.order + 1} Ld"
    return D if system.constraint is None else f"{D}, bordered by the constraint,"


@matrix_words.register
def _(system: DiscreteThermalSystem) -> str:
    return "the matrix of (p, rho_d) by the end of a step"
