"""A Lagrangian system: one scalar function and what acts on it."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from accion.numerics import newton
from accion.spaces import Space
from accion.systems.arity import check_function
from accion.systems.constraints import Constraint, Holonomic, Nonholonomic, Together, Vakonomic
from accion.systems.indices import check_indices
from accion.systems.lagrangians import MechanicalLagrangian
from accion.systems.rank import regular_or_raise
from accion.systems.tree import join, split

CHECKED = set()  # systems whose functions were seen to return what they should
# The functions of a system, with their arguments.
FUNCTIONS = {
    "lagrangian": "t, q, v, params",
    "force": "t, q, v, params",
    "holonomic": "t, q, params",
    "nonholonomic": "t, q, v, params",
    "variational": "t, q, params",
    "vakonomic": "t, q, v, params",
}


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class System:
    """A system with Lagrangian L(t, q, v) and, where given, a force F(t, q, v) and constraints with
    multipliers lam:

        d/dt dL/dv - dL/dq = F + A^T lam

    `lagrangian(t, q, v, params)` returns a scalar, `force(t, q, v, params)` a covector of shape
    (space.dim,). `params` is any pytree; its numbers are arguments of compiled code, so changing
    them compiles nothing and derivatives with respect to them exist. `coordinates` names the
    degrees of freedom for printing and plotting, with their units: ("alpha [rad]", "x [m]").

    Constraints, each m equations: `holonomic(t, q, params)`, A = dphi/dq; `nonholonomic(t, q, v,
    params)`, A = dkappa/dv, or what `variational(t, q, params)` returns, shape (m, dim), where
    virtual displacements are to satisfy other equations than velocities; `vakonomic(t, q, v,
    params)`, the free motion of L + lam.Phi. The first two may be combined.

    References: 001 Thm 2.14 and 2.27; 002 eq (1) for L that depends on time; 004 Prop 4.1.2.
    """

    lagrangian: Callable[..., Any]
    space: Space
    params: Any = None
    _: KW_ONLY
    force: Callable[..., Any] | None = None
    holonomic: Callable[..., Any] | None = None
    nonholonomic: Callable[..., Any] | None = None
    variational: Callable[..., Any] | None = None
    vakonomic: Callable[..., Any] | None = None
    coordinates: tuple[str, ...] | None = None
    name: str | None = None

    def __post_init__(self):
        if not isinstance(self.space, Space):
            raise ValueError(
                f"space must be a Space, such as Euclidean(2) or Torus(1); got {self.space!r}."
            )
        for field, arguments in FUNCTIONS.items():
            check_function(field, getattr(self, field), arguments, optional=field != "lagrangian")
        if self.vakonomic is not None and (
            self.holonomic is not None or self.nonholonomic is not None
        ):
            raise ValueError(
                "a vakonomic constraint cannot be combined with the other kinds: put all equations"
                " into `vakonomic`."
            )
        if self.variational is not None and self.nonholonomic is None:
            raise ValueError(
                "`variational` goes with `nonholonomic`: it says which virtual displacements that"
                " constraint allows."
            )
        coordinates = (
            self.space.coordinates() if self.coordinates is None else tuple(self.coordinates)
        )
        if len(coordinates) != self.space.dim or not all(
            isinstance(name, str) for name in coordinates
        ):
            raise ValueError(
                f"coordinates must be {self.space.dim} names, one for each degree of freedom; got"
                f" {self.coordinates!r}."
            )
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "name", self.name or "system")

    def tree_flatten(self):
        numbers, frame = split((self.params, *(getattr(self, field) for field in FUNCTIONS)))
        return numbers, (frame, self.space, self.coordinates, self.name)

    @classmethod
    def tree_unflatten(cls, aux, numbers):
        frame, space, coordinates, name = aux
        params, *functions = join(numbers, frame)
        self = object.__new__(cls)
        # Not through the constructor: while JAX transforms a system its numbers may be anything.
        self.__dict__.update(
            zip(FUNCTIONS, functions, strict=True),
            params=params,
            space=space,
            coordinates=coordinates,
            name=name,
        )
        return self

    def with_params(self, params):
        """The same system with other parameters."""
        return replace(self, params=params)

    @property
    def names(self):
        """The coordinates without their units."""
        return tuple(map(word_of, self.coordinates or ()))

    @property
    def units(self):
        """The unit of each coordinate, "" where none was given."""
        return tuple(map(unit_of, self.coordinates or ()))

    @property
    def step_space(self):
        """Where a step moves: the configuration space."""
        return self.space

    def together(self, q, S):
        """What a step moves: q."""
        return q

    def apart(self, z):
        """(q, S) of what a step moves; there is no entropy."""
        return z, None

    def hessian(self, t, q, v):
        """d2L/dv2; None for a `mechanical` system, which knows its mass."""
        return (
            None
            if isinstance(self.lagrangian, MechanicalLagrangian)
            else jax.hessian(self.L, 2)(t, q, v)
        )

    @property
    def constraint(self) -> Any:
        """The constraints as one, or None."""
        parts: list[Constraint] = []
        if self.holonomic is not None:
            parts.append(Holonomic(self.holonomic))
        if self.nonholonomic is not None:
            parts.append(Nonholonomic(self.nonholonomic, self.variational))
        if self.vakonomic is not None:
            parts.append(Vakonomic(self.vakonomic))
        if len(parts) < 2:
            return parts[0] if parts else None
        return Together(tuple(parts), tuple(self.count(part) for part in parts))

    def count(self, constraint):
        """How many equations a constraint has."""
        if isinstance(constraint, Together):
            return sum(constraint.sizes)
        point = (jnp.zeros(()), self.space.identity(), jnp.zeros(self.space.dim))
        out = evaluate(constraint.name, constraint.value, self, *point)
        return check_returns(constraint.name, out, None, "m equations, shape (m,)").shape[0]

    @property
    def multipliers(self):
        """How many multipliers there are."""
        constraint = self.constraint
        return 0 if constraint is None else self.count(constraint)

    def L(self, t, q, v, lam=None):
        """The Lagrangian; with `lam`, that of the vakonomic problem, L + lam.Phi."""
        value = self.lagrangian(t, q, v, self.params)
        constraint = self.constraint
        return (
            value
            if lam is None or constraint is None
            else value + constraint.lagrangian(self, t, q, v, lam)
        )

    def F(self, t, q, v):
        """The force, shape (dim,); zero where there is none."""
        return jnp.zeros(self.space.dim) if self.force is None else self.force(t, q, v, self.params)

    def momentum(self, t, q, v, lam=None):
        """The Legendre transform p = dL/dv."""
        return jax.grad(self.L, 2)(t, q, v, lam)

    def energy(self, t, q, v, lam=None):
        """E = dL/dv . v - L."""
        return self.momentum(t, q, v, lam) @ v - self.L(t, q, v, lam)

    def velocity(self, t, q, p, guess, lam=None):
        """The inverse Legendre transform: v with dL/dv(t, q, v) = p, from a guess.

        NaN where none was found.
        """
        if isinstance(self.lagrangian, MechanicalLagrangian) and self.vakonomic is None:
            return self.lagrangian.velocity(t, q, p, self.params)
        v, _, converged = newton.root(
            legendre_residual, legendre_units, 0, guess, (self, t, q, p, lam)
        )
        return jnp.where(converged, v, jnp.nan)

    def check(self):
        """Raise ValueError unless the functions return what they should; nothing is computed, and a
        system is looked at once.
        """
        key = (
            jax.tree.structure(self),
            tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves(self)),
        )
        if key in CHECKED:
            return
        arguments = (jnp.zeros(()), self.space.identity(), jnp.zeros(self.space.dim))
        check_returns(
            "lagrangian",
            evaluate("lagrangian", System.L, self, *arguments),
            (),
            "a scalar, such as jnp.sum(v**2) or v[0]**2",
        )
        if self.force is not None:
            n = self.space.dim
            check_returns(
                "force",
                evaluate("force", System.F, self, *arguments),
                (n,),
                f"a covector of shape ({n},)",
            )
        for field in ("holonomic", "nonholonomic", "vakonomic"):
            if getattr(self, field) is not None:
                evaluate(field, Equations(field), self, *arguments)
        m = self.multipliers
        if m > self.space.dim:
            raise ValueError(
                f"{self.name} has more constraints than coordinates: {m} and {self.space.dim}."
            )
        if self.variational is not None:
            matrix: Any = self.variational
            kappa: Any = self.nonholonomic
            rows, n = self.count(Nonholonomic(kappa, None)), self.space.dim
            A = evaluate(
                "variational",
                lambda system, t, q: matrix(t, q, system.params),
                self,
                *arguments[:2],
            )
            check_returns("variational", A, (rows, n), f"a matrix of shape ({rows}, {n})")
        CHECKED.add(key)

    def check_regular(self, K):
        """Raise ValueError where K, d2L/dv2 bordered by the constraints, is singular, naming the
        direction without inertia.
        """
        regular_or_raise(self, K)


@dataclass(frozen=True)
class Equations:
    """One of the constraints of a system, at (t, q, v)."""

    field: str

    def __call__(self, system, t, q, v):
        f = getattr(system, self.field)
        return f(t, q, system.params) if self.field == "holonomic" else f(t, q, v, system.params)


def constraint_kinds(system):
    """The kinds of constraint that a system has, each with the number of its equations, in the
    order of the multipliers.
    """
    constraint = system.constraint
    parts = constraint.parts if isinstance(constraint, Together) else (constraint,)
    return [(type(part).__name__.lower(), system.count(part)) for part in parts]


def word_of(name):
    """A name without its unit."""
    return name.split("[")[0].strip()


def unit_of(name):
    """The unit of a name, "" where it has none."""
    return name.split("[")[1].rstrip("] ") if "[" in name else ""


def legendre_residual(v, args):
    system, t, q, p, lam = args
    return system.momentum(t, q, v, lam) - p


def legendre_units(v, H, args):
    """The size of a velocity that matters: that of the momenta, which may cancel, over the
    inertia.
    """
    system, t, q, p, lam = args
    n = len(p)
    apart = jnp.abs(p) + jnp.abs(system.momentum(t, q, jnp.zeros(n), lam))
    return newton.own_size(apart, jnp.diagonal(H)[:n]), jnp.zeros(n)


TAKES = (
    "(t, q, v, params) (holonomic and variational: (t, q, params); of a ThermalSystem: (t, q, v, S,"
    " params); of a HigherOrderSystem: (t, q, v, a, ..., params), as many derivatives as its"
    " `order`)"
)


def evaluate(name, f, *arguments, takes=TAKES, again=False):
    """What `f` returns, in shape and type; an error in the user's function is raised as one that
    says what to look for, and what it `takes`.

    Constant indices are looked at too, unless it is known that they are not out of range, `again`:
    JAX remembers the shapes alone.
    """
    try:
        traced, out = (
            (None, jax.eval_shape(f, *arguments))
            if again
            else jax.make_jaxpr(f, return_shape=True)(*arguments)
        )
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise ValueError(
            f"{name} could not be evaluated ({type(error).__name__}: {first}). Its arguments are"
            f" {takes}; it must use jax.numpy, not numpy or math, and jnp.where, not `if`, on them;"
            " a number of params that counts or indexes must be kept out of params."
        ) from error
    if traced is not None:
        check_indices(name, traced)
    return out


def check_returns(name, out, shape, words):
    """`out` if it has the `shape` (None: any vector) and is real."""
    if not hasattr(out, "shape") or (
        out.shape != shape if shape is not None else len(out.shape) != 1 or out.shape[0] < 1
    ):
        raise ValueError(f"{name} must return {words}; it returned {describe(out)}.")
    if out.dtype != jnp.float64:
        raise ValueError(
            f"{name} must return real numbers of 64 bits; it returned {out.dtype}. Are there params"
            " of another type?"
        )
    return out


def describe(out):
    return f"an array of shape {out.shape}" if hasattr(out, "shape") else f"a {type(out).__name__}"
