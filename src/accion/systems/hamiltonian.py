"""A Hamiltonian as a Lagrangian: L(t, q, v) = p.v - H(t, q, p), with p from v = dH/dp.

By v = dH/dp the derivatives of L are those of H at that p, dL/dv = p, dL/dq = -dH/dq, dL/dt =
-dH/dt; so none of them passes through the solution, and second derivatives pass through it once.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.engines.rarely import rarely
from accion.engines.reached import Entry, reached
from accion.numerics import newton
from accion.systems.frozen import Examples, Untraced, freeze
from accion.systems.functions import check_returns
from accion.systems.lagrangians import MechanicalLagrangian, as_mechanical, velocity_of
from accion.systems.tree import join, split
from accion.types import Configuration, Covector, Params, Scalar, Vector

DOUBLINGS = 400  # of a length along v, which reach momenta of any unit


class Form(NamedTuple):
    """What is known of how H depends on t and p, by its operations."""

    timed: bool  # whether it depends on t

    quadratic: bool  # whether d2H/dp2 does not depend on p
    diagonal: bool  # whether it is diagonal
    constant: bool  # whether it depends on params alone, and dH/dp at p = 0 not on t
    magnetic: bool  # whether dH/dp is anything but zero at p = 0


GENERAL = Form(True, False, False, False, True)


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class Bound:
    """H(t, q, p), with its params: a pytree of numbers alone."""

    hamiltonian: Any
    params: Params

    def tree_flatten(self) -> tuple[list[Any], Any]:
        return split((self.hamiltonian, self.params))

    @classmethod
    def tree_unflatten(cls, frame: Any, numbers: Any) -> "Bound":
        return cls(*join(numbers, frame))

    def __call__(self, t: Scalar, q: Configuration, p: Covector) -> Scalar:
        return self.hamiltonian(t, q, p, self.params)

    def velocity(self, t: Scalar, q: Configuration, p: Covector) -> Vector:
        """dH/dp."""
        return jax.grad(self, 2)(t, q, p)

    def curved(self, t: Scalar, q: Configuration, p: Covector) -> Any:
        """d2H/dp2."""
        return jax.jacfwd(self.velocity, 2)(t, q, p)

    def along(self, t: Scalar, q: Configuration, p: Covector, u: Covector) -> Vector:
        """d2H/dp2 u."""
        return jax.jvp(lambda p: self.velocity(t, q, p), (p,), (u,))[1]


# ---------------------------------------------------------------- p from v


@dataclass(frozen=True)
class Conjugate(newton.Equations):
    """dH/dp(t, q, p) - v = 0, unknown is p; the arguments are (H, t, q, v)."""

    multipliers: int = 0

    def residual(self, unknowns: Any, args: Any) -> Any:
        H, t, q, v = args
        return H.velocity(t, q, unknowns) - v

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        """The size of a momentum that matters: that of the velocities, times the inertia."""
        _, _, _, v = args
        return newton.own_size(jnp.abs(v), jnp.diagonal(J)), jnp.zeros(len(v))


def length_along(H: Bound, t: Scalar, q: Configuration, v: Vector) -> Covector:
    """A momentum s v, s a power of two, whose velocity is about as large as v."""

    def reaches(s: Any) -> Any:
        return v @ H.velocity(t, q, s * v) >= v @ v

    far = reaches(1.0)

    def going(state: Any) -> Any:
        s, i = state
        return (i < DOUBLINGS) & (reaches(s) == far) & jnp.any(v != 0)

    def turn(state: Any) -> Any:
        s, i = state
        return s * jnp.where(far, 0.5, 2.0), i + 1

    return jax.lax.while_loop(going, turn, (jnp.ones(()), jnp.array(0)))[0] * v


def sought(guess: Covector, H: Bound, t: Scalar, q: Configuration, v: Vector) -> newton.Root:
    """What Newton's method finds from a guess, NaN where it is nothing."""
    found = newton.root(Conjugate(), guess, (H, t, q, v))
    return found._replace(x=jnp.where(found.converged, found.x, jnp.nan))


def again(H: Bound, t: Scalar, q: Configuration, v: Vector) -> Covector:
    """The momentum from a guess along v: where Newton's method leads nowhere from p = 0, or d2H/dp2
    is singular there.
    """
    return sought(length_along(H, t, q, v), H, t, q, v).x


@jax.custom_jvp
def solved(H: Bound, t: Scalar, q: Configuration, v: Vector) -> Covector:
    """p with dH/dp(t, q, p) = v by Newton's method, NaN where none was found; its derivatives are
    those of the implicit function.
    """
    first = sought(jnp.zeros_like(v), H, t, q, v)
    return jax.lax.cond(
        first.converged, lambda: first.x, lambda: rarely(again, first.x, H, t, q, v)
    )


@solved.defjvp
def solved_jvp(primals: Any, tangents: Any) -> Any:
    (H, t, q, v), (dH, dt, dq, dv) = primals, tangents
    p = solved(H, t, q, v)
    good = jnp.all(jnp.isfinite(p))
    at = jnp.where(good, p, v)  # a failure has no derivatives: they are taken somewhere
    _, change = jax.jvp(lambda H, t, q: H.velocity(t, q, at), (H, t, q), (dH, dt, dq))
    K = jnp.where(good, H.curved(t, q, at), jnp.eye(len(v)))
    return p, jnp.where(good, newton.solve(K, dv - change), 0.0)


def conjugate(form: Form, H: Bound, t: Scalar, q: Configuration, v: Vector) -> Covector:
    """p with dH/dp(t, q, p) = v: in closed form where H is quadratic in p."""
    none = jnp.zeros_like(v)
    if not form.quadratic:
        return solved(H, t, q, v)
    rest = v - H.velocity(t, q, none) if form.magnetic else v
    if form.diagonal:
        return rest / H.along(t, q, none, jnp.ones_like(v))
    return newton.solve(H.curved(t, q, none), rest)


# ---------------------------------------------------------------- L


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def transform(form: Form, H: Bound, t: Scalar, q: Configuration, v: Vector) -> Scalar:
    """p.v - H(t, q, p), p being that of v."""
    p = conjugate(form, H, t, q, v)
    return p @ v - H(t, q, p)


@transform.defjvp
def transform_jvp(form: Form, primals: Any, tangents: Any) -> Any:
    (H, t, q, v), (dH, dt, dq, dv) = primals, tangents
    p = conjugate(form, H, t, q, v)
    value, change = jax.jvp(lambda H, t, q: H(t, q, p), (H, t, q), (dH, dt, dq))
    return p @ v - value, p @ dv - change


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HamiltonianLagrangian:
    """L = p.v - H(t, q, p) with v = dH/dp."""

    hamiltonian: Any
    form: Form = field(default=GENERAL, metadata={"static": True})
    # what it returns, in shape and type, once H is traced
    out: Any = field(default=None, metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        # Who asks whether L depends on t is told by what is computed from it.
        t = jnp.asarray(t, dtype=float) if self.form.timed else jnp.zeros(())
        v = jnp.asarray(v, dtype=float)
        return transform(self.form, Bound(self.hamiltonian, params), t, q, v)


@freeze.register
def _(f: HamiltonianLagrangian, name: str, arguments: str, examples: Examples) -> Any:
    H = freeze(f.hamiltonian, "hamiltonian", "t, q, p, params", examples)
    if isinstance(H, Untraced):
        return Untraced(f, H.error)
    check_returns("hamiltonian", H.out, (), "a scalar, such as p @ p / 2 or p[0]**2")
    return replace(f, hamiltonian=H, form=form_of(H, *examples("t, q, p, params")), out=H.out)


def form_of(f: Any, t: Any, q: Any, p: Any, params: Params) -> Form:
    """How a Hamiltonian depends on t and p: read off what it and its derivatives are computed
    from.
    """
    numbers, frame = split(params, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def bound(numbers: Any) -> Bound:
        return Bound(f, join(numbers, frame))

    def slope(t: Any, q: Any, numbers: Any) -> Any:
        return bound(numbers).velocity(t, q, jnp.zeros(p.shape))

    def bend(t: Any, q: Any, p: Any, u: Any, numbers: Any) -> Any:
        return bound(numbers).along(t, q, p, u)

    value = reached(lambda t, q, p, numbers: bound(numbers)(t, q, p), t, q, p, numbers)
    timed = value is None or value[0].sees(0)
    second, first = reached(bend, t, q, p, p, numbers), reached(slope, t, q, numbers)
    count = len(jax.tree.leaves(q))  # the leaves of t, q, p, u are 0, ..., count + 2
    if second is None or first is None or any(entry.sees(count + 1) for entry in second):
        return GENERAL._replace(timed=timed)
    magnetic = any(entry.constant != 0 for entry in first)
    fixed = not any(entry.sees(leaf) for entry in second for leaf in range(count + 1))
    constant = fixed and not any(entry.sees(0) for entry in first)
    return Form(timed, True, is_diagonal(second, count + 2), constant, magnetic)


def is_diagonal(rows: list[Entry], leaf: int) -> bool:
    """Whether each row is computed from its own entry of the argument `leaf` alone."""
    return all(
        index == i for i, row in enumerate(rows) for each, index in row.sources if each == leaf
    )


# ---------------------------------------------------------------- what else it is


@dataclass(frozen=True)
class Parts:
    """Mass, potential and magnetic term of H = 1/2 p.M^-1 p + b(q).p + U(t, q), of which L is 1/2
    v.M v - (M b).v - (U - 1/2 b.M b).
    """

    lagrangian: HamiltonianLagrangian
    dim: int
    place: Configuration

    def bound(self, params: Params) -> Bound:
        return Bound(self.lagrangian.hamiltonian, params)

    def mass(self, params: Params) -> Any:
        H, t, p = self.bound(params), jnp.zeros(()), jnp.zeros(self.dim)
        if self.lagrangian.form.diagonal:
            return 1 / H.along(t, self.place, p, jnp.ones(self.dim))
        return jnp.linalg.inv(H.curved(t, self.place, p))

    def slope(self, q: Configuration, params: Params) -> Any:
        """(b, M b)."""
        b = self.bound(params).velocity(jnp.zeros(()), q, jnp.zeros(self.dim))
        M = self.mass(params)
        return b, M @ b if jnp.ndim(M) == 2 else M * b

    def magnetic(self, q: Configuration, params: Params) -> Any:
        return -self.slope(q, params)[1]

    def potential(self, t: Scalar, q: Configuration, params: Params) -> Any:
        U = self.bound(params)(t, q, jnp.zeros(self.dim))
        if not self.lagrangian.form.magnetic:
            return U
        b, momentum = self.slope(q, params)
        return U - 0.5 * b @ momentum


@as_mechanical.register
def _(lagrangian: HamiltonianLagrangian, space: Any) -> MechanicalLagrangian | None:
    """Where the mass is constant, so that explicit steps stay explicit."""
    if not lagrangian.form.constant or not space.flat:
        return None
    parts = Parts(lagrangian, space.dim, space.identity())
    magnetic = parts.magnetic if lagrangian.form.magnetic else None
    return MechanicalLagrangian(parts.mass, parts.potential, magnetic)


@velocity_of.register
def _(
    lagrangian: HamiltonianLagrangian, system: Any, t: Scalar, q: Configuration, p: Covector
) -> Vector:
    """dH/dp: no equation to solve."""
    return Bound(lagrangian.hamiltonian, system.params).velocity(jnp.asarray(t, float), q, p)
