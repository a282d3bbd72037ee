"""A symmetric method of order two, made one of order four, six, eight or ten."""

import numbers
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from accion.arguments import shown
from accion.methods.base import Method, Sample
from accion.methods.coefficients import ORDERS, SETS, named, parts, reach
from accion.methods.symmetry import asymmetry
from accion.numerics.dependence import depends
from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


@dataclass(frozen=True)
class Composition(Method):
    """A step of `method` with h gamma_1, one with h gamma_2, ..., and one with h gamma_s:

        Phi_h = phi_{gamma_s h} o ... o phi_{gamma_1 h}        gamma_i = gamma_{s+1-i}, sum = 1

    of order 4, 6, 8 or 10 where `method` is symmetric and of order two (Yoshida 1990; Hairer,
    Lubich and Wanner 2006, section V.3). It is symmetric itself, symplectic where `method` is, and
    keeps the same momentum maps. Some gamma are negative: inner steps go back in time. Under
    friction and heat the laws of thermodynamics are judged for whole steps. Where friction nearly
    vanishes, as at a turning point, a whole step may lose a little entropy, of the order of the
    method: `SecondLawViolated` warns of it.

    `coefficients` is the name of a set: "Suzuki 4", "Yoshida 4", "Kahan-Li 6a", "Sofroniou-Spaletta
    6", "Yoshida 6A", "Kahan-Li 8a", "Suzuki-Umeno 8" or "Sofroniou-Spaletta 10"; None takes the
    first of the order.
    """

    on_levels = True
    method: Method
    order: int
    coefficients: str | None = None
    symmetric: Any = field(init=False, repr=False, default=True)
    nodes: Any = field(init=False, repr=False, default=None)
    variational: Any = field(init=False, repr=False, default=True)

    def __post_init__(self) -> None:
        name = self.coefficients
        if not isinstance(self.method, Method):
            raise ValueError(
                "Composition(method, order) needs a method, such as Midpoint(); got"
                f" {shown(self.method)}."
            )
        whole = isinstance(self.order, numbers.Integral) and not isinstance(self.order, bool)
        if not whole or self.order not in ORDERS:
            raise ValueError(
                f"Composition(method, order) needs one of the orders {', '.join(map(str, ORDERS))};"
                f" got {shown(self.order)}."
            )
        object.__setattr__(self, "order", int(self.order))
        names = named(self.order)
        if name is not None and not (isinstance(name, str) and name in names):
            raise ValueError(
                f"there are no coefficients {shown(name)} of order {self.order}. Try one of:"
                f" {', '.join(names)}."
            )
        object.__setattr__(self, "coefficients", names[0] if name is None else name)
        self.check_method()

    def check_method(self) -> None:
        """Raise ValueError unless the method may be symmetric and of order two; None is not known
        before there is a space.
        """
        own = self.method
        if own.symmetric is False or own.order not in (2, None) or own.inner_points:
            found = "not symmetric" if own.symmetric is False else f"of order {own.order}"
            raise ValueError(
                f"Composition needs a symmetric method of order two; {own} is {found}. Try"
                " Midpoint() or Trapezoid()."
            )

    @property
    def parts(self) -> tuple[float, ...]:
        """gamma_1, ..., gamma_s."""
        return parts(str(self.coefficients))

    @property
    def composed(self) -> Any:
        return self.method, self.parts

    @property
    def stages(self) -> int:
        return SETS[str(self.coefficients)].stages

    @property
    def reach(self) -> float:
        """How long a step may be, in units of the time in which something decays."""
        return reach(str(self.coefficients))

    def check(self, system: Any) -> None:
        self.method.check(system)
        why = asymmetry(self.method, system)
        if why:
            raise ValueError(
                f"Composition needs a method that is symmetric; of {self.method}, {why}. Try"
                " Trapezoid(), or retraction='exp'."
            )
        if turns(system):
            raise ValueError(
                "Composition does not support constraints whose force depends on v: a step takes it"
                f" between the velocities of two steps of one length; try {self.method}."
            )

    def samples(
        self,
        space: Space,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
    ) -> list[Sample]:
        raise ValueError(
            "Composition has no discrete Lagrangian of the two ends of a step alone: its inner"
            f" steps are between. Use it in simulate, ensemble or a campaign; try {self.method}"
            " here."
        )


def turns(system: Any) -> bool:
    """Whether the force of a constraint depends on the velocity."""
    constraint = system.constraint
    if constraint is None or constraint.enters_action:
        return False
    lam, point = jnp.ones(system.multipliers), (jnp.zeros(()), system.space.identity())

    def force(v: Vector) -> Any:
        return constraint.reaction(system, *point, v, lam)

    return depends(force, jnp.zeros(system.space.dim))
