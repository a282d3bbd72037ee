"""Fields that leave a Lagrangian as it is, X^C(L) = 0: of systems of every kind, on every space.

The rate of p.X along a motion is linear in the field X. So rows over the coefficients of a family
of fields are the rates of its members, at random points:

    System                  dL/dq.X + dL/dv.(dX/dt + ad_v X) + F.X      (with L + lam.Phi for L)
    of order r              sum_s dL/dq^(s).X_s                         X_s: how X changes q^(s)
    given in discrete time  sum_j (D_j Ld + Fd_j).X(q_j)

Under constraints that act by forces the points satisfy them, and A X = 0 is asked for, too.
"""  # fmt: skip

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.affine import discrete_f, drift_of
from accion.analysis.echelon import (
    also_solving,
    different,
    in_own_units,
    in_units,
    null_space,
    simple,
    solves,
)
from accion.analysis.families import fields_on
from accion.analysis.natural import Natural, natural_choices
from accion.analysis.noether import Symmetry
from accion.discretise import discretise
from accion.discretise.window import nodes_of
from accion.engines.auto import small_map
from accion.instant.constrained import matrix, nearest, project_at
from accion.results.trajectory import Trajectory
from accion.systems import AbstractSystem, HigherOrderSystem, System, ThermalSystem
from accion.types import Array, Configuration, Function, Vector

SAMPLES = 20  # points, besides two for each coefficient


@dataclass(frozen=True)
class FieldSymmetry:
    """A field X of a family with X^C(L) = 0: p.X is conserved; or one that `changes` L by df/dt:
    p.X - f is, with an f(t, q) that is None where it is not known.

    `survives` says whether the system discretised by `method` has it; None where no method was
    given.
    """

    family: Any
    u: np.ndarray
    names: tuple[str, ...]
    method: Any = None
    survives: bool | None = None
    f: Any = None
    changes: bool = False

    def X(self, q: Configuration) -> Vector:
        """The field, shape (dim,)."""
        return self.family.X(jnp.asarray(self.u), q)

    @property
    def symmetry(self) -> Symmetry:
        """As a `Symmetry`, with the f of the continuous system."""
        if self.changes and self.f is None:
            raise ValueError(
                f"p.X - f is conserved for the {self.kind} X with an f(t, q) that is not known in"
                " closed form; give your own: Symmetry(X, f)."
            )
        return Symmetry(self.X, self.f)

    def has_own(self, trajectory: Trajectory) -> bool:
        """Whether there is an f_k of the discretisation that is known along a trajectory."""
        many = trajectory.is_ensemble or np.ndim(trajectory.h)
        same = self.survives and trajectory.method == self.method
        return bool(self.changes and same and not many)

    def can_follow(self, trajectory: Trajectory) -> bool:
        """Whether p.X - f is known along a trajectory."""
        return not self.changes or self.f is not None or self.has_own(trajectory)

    def along(self, trajectory: Trajectory) -> Array:
        """p.X - f at each saved time of a trajectory; where the symmetry survives its method with
        the f_k of the discretisation.
        """
        if not self.has_own(trajectory):
            return self.symmetry.along(trajectory)
        return jnp.asarray(trajectory.momentum(self.X)) - discrete_f(self.X, trajectory)

    def drift(self, trajectory: Trajectory) -> float:
        """The largest change of p.X - f along a trajectory, relative to its size."""
        return drift_of(self, trajectory)

    @property
    def kind(self) -> str:
        """In short: translation, rotation, ..., motion of space, motion of the body."""
        words = self.family.text(self.u, self.names)
        return " and ".join(word.split(" along ")[0].split(" in the ")[0] for word in words)

    def text(self) -> str:
        """The field in words."""
        words = "; ".join(self.family.text(self.u, self.names))
        if self.changes:
            f = "f(t, q) exists, not in closed form" if self.f is None else self.f.text()
            words = f"{words}; {f}"
        if self.survives is None:
            return words
        return f"{words}\n    {'kept' if self.survives else 'lost'} by the discretisation"


def search(system: AbstractSystem, method: Any, seed: int) -> list[FieldSymmetry]:
    """All fields of the family of the space that leave the (discrete) Lagrangian as it is."""
    family, (natural, *others) = fields_on(system.space), natural_choices(system)

    own = stepped if system.discrete_time else rates(system)
    looked = slopes_of(family, partial(own, system))  # compiled once for all sizes

    def equations(natural: Natural) -> Any:
        points = random_points(system, 2 * family.count + SAMPLES, seed, natural)
        units = family.units(natural.x[: system.space.dim])
        return points, units, rows_of(looked, units, points)

    points, units, rows = equations(natural)
    space = null_space(rows)
    for other in others if len(space) else ():
        _, own_units, more = equations(other)
        space = also_solving(space, units, more, own_units)
    basis = [family.forward(u) for u in simple(space, rows)]
    moved = small_map(lambda u, point: family.X(u, place(system, point)))

    def values(u: Any) -> Any:
        return np.asarray(moved(units * u, points)) / natural.x[: system.space.dim]

    basis = different(basis, values, np.count_nonzero)
    kept: list[Any] = [None] * len(basis)
    if method is not None and basis:
        discrete = slopes_of(family, partial(stepped, system, method=method))
        discrete = rows_of(discrete, units, points)
        kept = [solves(discrete, u) for u in basis]
    return [
        FieldSymmetry(family, in_own_units(u, units), system.names, method, k)
        for u, k in zip(basis, kept, strict=True)
    ]


def slopes_of(family: Any, terms: Callable[..., Array]) -> Callable[..., Array]:
    """The function of points that gives the slopes of `terms(X, point)` by the coefficients, shape
    (points, equations, terms, coefficients).
    """

    def at(point: Any) -> Any:
        slopes = jax.jacfwd(lambda u: terms(partial(family.X, u), point))
        return slopes(jnp.zeros(family.count))

    return partial(small_map(lambda _, point: at(point)), ())


def rows_of(slopes: Callable[..., Array], units: np.ndarray, points: Any) -> np.ndarray:
    """Rows over the coefficients, in their units: the terms of what has to be zero, added, in
    units of their size.
    """
    found = np.asarray(slopes(points)) * units
    size = np.sum(np.linalg.norm(found, axis=-1), axis=-1)
    return in_units(np.sum(found, axis=-2).reshape(-1, len(units)), size.ravel())


# ---------------------------------------------------------------- random points


def random_points(
    system: AbstractSystem, samples: int, seed: int, natural: Natural
) -> dict[str, np.ndarray]:
    """Random numbers for each point: a time, a place, derivatives or increments, multipliers."""
    rng, r = np.random.default_rng(seed), system.order
    shapes = {
        "x": (system.step_space.dim,),
        "v": (r, system.step_space.dim),
        "lam": (system.multipliers,),
    }
    sizes = {"x": natural.x, "v": natural.rates, "lam": natural.lam}
    numbers = {
        name: sizes[name] * rng.normal(size=(samples, *shape)) for name, shape in shapes.items()
    }
    numbers["speeds"] = numbers["v"] / natural.rates * natural.rates[0]  # of one step each
    when = {"t": natural.t * rng.uniform(0.1, 2, samples), "h": np.full(samples, natural.h)}
    return numbers | when


def place(system: Any, point: Any) -> Configuration:
    """The configuration of a point, on the constraint."""
    return system.parts(start_of(system, point))[0]


def start_of(system: Any, point: Any) -> Configuration:
    """z of a point, on the constraint."""
    space = system.step_space
    z = space.retract(space.identity(), point["x"])
    if system.discrete_time or not system.holds_positions:
        return z
    return project_at(system, point["t"], z, point["v"][0])[0]


# ---------------------------------------------------------------- in continuous time


@singledispatch
def rates(system: AbstractSystem) -> Callable[..., Array]:
    """The function (system, X, point) -> what has to be zero, shape (equations, terms)."""
    raise ValueError(f"symmetries does not support {system.kind}: nothing is known of them.")


@rates.register
def _(system: System) -> Callable[..., Array]:
    return of_system


@rates.register
def _(system: ThermalSystem) -> Callable[..., Array]:
    def whole(system: Any, X: Function, point: Any) -> Any:
        def with_entropies(z: Configuration) -> Any:
            return jnp.concatenate([X(system.parts(z)[0]), jnp.zeros(system.frame.m)])

        return of_system(system.whole, with_entropies, point)

    return whole


@rates.register
def _(system: HigherOrderSystem) -> Callable[..., Array]:
    def of_order(system: Any, X: Function, point: Any) -> Any:
        q, jets, lam = place(system, point), point["v"], point["lam"]
        slopes = system.slopes(point["t"], q, jets, lam[None])
        terms = jnp.sum(slopes * system.prolongation(X, q, jets), axis=1)[None]
        if not system.forced:
            return terms
        work = system.F(point["t"], q, jets) @ X(q)
        return jnp.concatenate([terms, work[None, None]], axis=1)

    return of_order


def of_system(system: System, X: Any, point: Any) -> Array:
    """The terms of d/dt (p.X); under constraints that act by forces, and those of A X."""
    t, q, v, space = point["t"], start_of(system, point), point["v"][0], system.space
    lam = point["lam"] if system.enters_action else None
    forces = system.constraint is not None and not system.enters_action
    v = project_at(system, t, q, v)[1] if forces else v
    zero = jnp.zeros(space.dim)
    here, rate = jax.jvp(lambda e: X(space.displace(q, e)), (zero,), (v,))
    Lq, Lv = jax.grad(lambda e, v: system.L(t, space.displace(q, e), v, lam), (0, 1))(zero, v)
    changes = jnp.stack([Lq * here, Lv * (rate + space.ad(v, here)), system.F(t, q, v) * here])
    if not forces:
        return jnp.sum(changes, axis=1)[None]
    held = jnp.zeros((system.multipliers, 3)).at[:, 0].set(matrix(system, t, q, v) @ here)
    return jnp.concatenate([jnp.sum(changes, axis=1)[None], held])


# ---------------------------------------------------------------- in discrete time


def stepped(system: Any, X: Any, point: Any, method: Any = None) -> Array:
    """The terms of sum_j (D_j Ld + Fd_j).X(q_j) of a step or window, shape (1, terms); of a
    discrete constraint that acts by forces also those of A X at its start.
    """
    form, t, h, r = discretise(system, method), point["t"], point["h"], system.order
    z, x = start_of(system, point), h * point["speeds"]
    acts = system.constraint is not None and not system.enters_action
    if acts:
        metric = jnp.diag(jnp.where(x[0] == 0, 1.0, x[0]) ** -2)  # any that knows the units
        found, ok = nearest(
            lambda x: form.closure(t, h, z, form.from_increments(x[None])), x[0], metric
        )
        x = jnp.where(ok, found, jnp.nan)[None]
    lam = point["lam"] if system.enters_action else None
    d = form.from_increments(x)
    G = form.variation(t, h, z, d, lam)
    nodes = nodes_of(system.step_space, z, jnp.reshape(d, (r, -1)))
    pushes = [G.start, *jnp.reshape(G.end, (r, -1))]
    pairs = zip(pushes, nodes, strict=True)
    terms = jnp.stack([push @ X(system.parts(node)[0]) for push, node in pairs])[None]
    if not (acts and system.discrete_time):
        return terms
    held = system.variational(t, z, system.params) @ X(z)
    return jnp.concatenate([terms, jnp.zeros((len(held), r + 1)).at[:, 0].set(held)])
