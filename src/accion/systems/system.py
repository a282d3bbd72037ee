"""A Lagrangian system: one scalar function and what acts on it."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from accion.engines.auto import by_program
from accion.spaces import Space, check_vector
from accion.systems.base import Mechanical
from accion.systems.functions import check_returns, returned
from accion.systems.held import Held, variational_arguments
from accion.systems.lagrangians import MechanicalLagrangian, as_mechanical, velocity_of
from accion.systems.legendre import velocity
from accion.systems.rank import regular_or_raise
from accion.systems.start import (
    Start,
    check_multipliers_given,
    check_no_entropy,
    check_one_start,
)
from accion.systems.weights import Weight, weighed
from accion.types import Configuration, Covector, Function, Params, Scalar, Vector

# The functions of a system, with their arguments.
SIGNATURES = {
    "lagrangian": "t, q, v, params",
    "weight": "t, params",
    "log_weight": "t, params",
    "force": "t, q, v, params",
    "holonomic": "t, q, params",
    "nonholonomic": "t, q, v, params",
    "vakonomic": "t, q, v, params",
}


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class System(Held, Mechanical):
    """A system with Lagrangian L(t, q, v) and, where given, a force F(t, q, v) and constraints with
    multipliers lam:

        d/dt dL/dv - dL/dq = F + A^T lam

    `lagrangian(t, q, v, params)` returns a scalar, `force(t, q, v, params)` a covector of shape
    (space.dim,). `params` is any pytree; its numbers are arguments of compiled code, so changing
    them compiles nothing and derivatives with respect to them exist. A system is what it was when
    it was built: its functions are traced once, in its constructor, and what they close over is
    copied. `coordinates` names the degrees of freedom for printing and plotting, with their units:
    ("alpha [rad]", "x [m]").

    `weight(t, params)`, a scalar such as exp(kappa t), makes L(t, q, v) = weight(t) lagrangian(t,
    q, v); `log_weight(t, params)` is its logarithm, to be given in its place. Steps carry p/w(t)
    and take the ratios of weights in logarithms, so that a run may start and end at any time,
    however far w has grown or decayed there: products, quotients, powers, exponentials and sums of
    them are taken apart; of any other function of t w itself must be within floating point, or its
    logarithm be given. Forces are not weighted.

    Constraints, each m equations: `holonomic(t, q, params)`, A = dphi/dq; `nonholonomic(t, q, v,
    params)`, A = dkappa/dv, or what `variational(t, q, params)`, or variational(t, q, v, params),
    returns, shape (m, dim), where virtual displacements are to satisfy other equations than
    velocities; `vakonomic(t, q, v, params)`, the free motion of L + lam.Phi. The first two may be
    combined.

    References: Bonich, Thm 2.14 and 2.27; Colombo-Gamonal, eq (1) for L that depends on time;
    Vakonomic thesis, Prop 4.1.2.
    """

    lagrangian: Function
    space: Space
    params: Params = None
    _: KW_ONLY
    weight: Function | None = None
    log_weight: Function | None = None
    force: Function | None = None
    holonomic: Function | None = None
    nonholonomic: Function | None = None
    variational: Function | None = None
    vakonomic: Function | None = None
    coordinates: Any = None
    name: str | None = None

    kind: ClassVar[str] = "systems of first order"
    required: ClassVar[tuple[str, ...]] = ("lagrangian",)
    static: ClassVar[tuple[str, ...]] = ("space", "coordinates", "name")
    default_name: ClassVar[str] = "system"
    order = 1

    def __post_init__(self) -> None:
        self.check_fields()
        if self.vakonomic is not None and (
            self.holonomic is not None or self.nonholonomic is not None
        ):
            raise ValueError(
                "a vakonomic constraint cannot be combined with the other kinds: put all equations"
                " into `vakonomic`."
            )
        self.check_held()
        if self.weight is not None and self.log_weight is not None:
            raise ValueError(
                "give `weight` or `log_weight`, its logarithm, not both: they are one function."
            )
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        return SIGNATURES | {"variational": variational_arguments(self.variational)}

    @property
    def forced(self) -> bool:
        return self.force is not None

    # ------------------------------------------------------------ functions of (t, q, v)

    def derivatives(self, v: Vector) -> tuple[Vector, ...]:
        """The derivatives of q that its functions take."""
        return (v,)

    def L(self, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Scalar:
        """The Lagrangian; with `lam`, that of the vakonomic problem, L + lam.Phi."""
        value = self.lagrangian(t, q, v, self.params)
        if self.conformal is not None:
            value = self.conformal(t, self.params) * value
        constraint = None if lam is None else self.constraint
        return value if constraint is None else value + constraint.lagrangian(self, t, q, v, lam)

    def F(self, t: Scalar, q: Configuration, v: Vector) -> Covector:
        """The force, shape (dim,); zero where there is none."""
        return jnp.zeros(self.space.dim) if self.force is None else self.force(t, q, v, self.params)

    @by_program
    def legendre(self, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Covector:
        """The Legendre transform p = dL/dv."""
        return jax.grad(self.L, 2)(t, q, v, lam)

    @by_program
    def energy(self, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Scalar:
        """E = dL/dv . v - L."""
        return self.legendre(t, q, v, lam) @ v - self.L(t, q, v, lam)

    @by_program
    def hessian(self, t: Scalar, q: Configuration, v: Vector) -> Any:
        """d2L/dv2; None for a `mechanical` system, which knows its mass."""
        return None if self.mechanical is not None else jax.hessian(self.L, 2)(t, q, v)

    @by_program
    def velocity(
        self, t: Scalar, q: Configuration, p: Covector, guess: Vector, lam: Any = None
    ) -> Vector:
        """The inverse Legendre transform: v with dL/dv(t, q, v) = p, from a guess. NaN where none
        was found.
        """
        known = None
        if self.vakonomic is None:
            known = velocity_of(self.lagrangian, self, t, q, p)
        return velocity(self, t, q, p, guess, lam) if known is None else known

    @property
    def mechanical(self) -> MechanicalLagrangian | None:
        """The Lagrangian where it is known to be mass, potential and magnetic term; else None."""
        own = as_mechanical(self.lagrangian, self.space)
        return own if own is None or self.conformal is None else weighed(own, self.conformal)

    @property
    def conformal(self) -> Weight | None:
        """The weight, None where there is none."""
        if self.weight is None and self.log_weight is None:
            return None
        return Weight(self.weight, self.log_weight)

    # ------------------------------------------------------------ checks

    def check_functions(self) -> None:
        n, words = self.space.dim, "a scalar, such as jnp.sum(v**2) or v[0]**2"
        check_returns("lagrangian", returned(self.lagrangian), (), words)
        for name in ("weight", "log_weight"):
            if getattr(self, name) is not None:
                check_returns(name, returned(getattr(self, name)), (), "a scalar")
        if self.force is not None:
            check_returns("force", returned(self.force), (n,), f"a covector of shape ({n},)")
        self.check_constraints(self.name or "", n)

    def check_regular(self, K: Any) -> None:
        regular_or_raise(self, K)

    def check_given(self, start: Start) -> None:
        check_one_start(start)
        check_no_entropy(start)
        check_multipliers_given(start, self.enters_action)

    def check_part(self, part: str, value: Any, name: str) -> Any:
        if part in ("q0", "q1"):
            return self.space.check(value, name)
        if part == "lam0":
            return check_vector(value, self.multipliers, name, "multiplier")
        return check_vector(value, self.space.dim, name, "degree of freedom")
