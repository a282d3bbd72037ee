"""Methods of any even order: polynomials inside a step, whose inner points make the action
stationary.
"""

import numbers
from dataclasses import dataclass, field
from typing import Any, final

import jax.numpy as jnp

from accion.arguments import shown
from accion.methods.base import Method, Sample, check_free
from accion.methods.polynomials import Polynomial, polynomial
from accion.numerics.dependence import depends
from accion.spaces import Space
from accion.types import Array, Configuration, Scalar, Vector

MOST = 20  # points of a step


def turning_with_velocity(system: Any) -> bool:
    """Whether the direction of a constraint force depends on the velocity."""
    space, m = system.space, system.multipliers
    point = (jnp.zeros(()), space.identity(), jnp.zeros(space.dim))
    return depends(lambda t, q, v: system.constraint.matrix(system, t, q, v, m), *point)


@final
@dataclass(frozen=True)
class Galerkin(Method):
    """Polynomials of degree s from q0 to q1, the action by s Gauss points: order 2s, symmetric on
    flat spaces, implicit.

        Ld = ext h sum_i b_i L(t + c_i h, q(c_i), q'(c_i)/h)

    the extremum over all polynomials q(c) of degree s with the given ends; on a group over q0
    tau(xi(c)) with a polynomial xi. With quadrature="lobatto": polynomials of degree s - 1 at s >=
    2 Lobatto points, order 2s - 2. References: Marsden and West 2001, section 2.2.6; Hairer, Lubich
    and Wanner 2006, section VI.6.

    `Galerkin(1)` is `Midpoint()`, `Galerkin(2, "lobatto")` is `Trapezoid()`.
    """

    on_levels = True
    s: int
    quadrature: str = "gauss"
    order: Any = field(init=False, repr=False)
    symmetric: Any = field(init=False, repr=False)
    nodes: Any = field(init=False, repr=False)
    variational: Any = field(init=False, repr=False)
    inner_points: int = field(init=False, repr=False)
    inner_places: Any = field(init=False, repr=False)
    control_places: Any = field(init=False, repr=False)
    end_weight: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.quadrature not in ("gauss", "lobatto"):
            raise ValueError(
                f"there is no quadrature {shown(self.quadrature)}. Try one of: gauss, lobatto."
            )
        least = 1 if self.quadrature == "gauss" else 2
        whole = isinstance(self.s, numbers.Integral) and not isinstance(self.s, bool)
        if not whole or not least <= self.s <= MOST:
            raise ValueError(
                f"Galerkin(s) needs a whole number of points, {least} <= s <= {MOST}; got"
                f" {shown(self.s)}."
            )
        object.__setattr__(self, "s", int(self.s))
        *inner, _ = self.polynomial.nodes.tolist()
        known = {
            "order": 2 * self.s if self.quadrature == "gauss" else 2 * self.s - 2,
            "symmetric": True,
            "nodes": None,
            "variational": True,
            "inner_points": len(inner),
            "inner_places": tuple(inner),
            "control_places": tuple(self.polynomial.c.tolist()),
            "end_weight": float(self.polynomial.node_weights[0]),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def polynomial(self) -> Polynomial:
        return polynomial(self.s, self.quadrature)

    def check(self, system: Any) -> None:
        if self.quadrature == "lobatto" and (system.enters_action or system.holds_velocities):
            raise ValueError(
                f"{self!r} does not support constraints on velocities, which would be held twice at"
                f" each end of a step; try Galerkin({self.s - 1})."
            )
        if self.s > 1 and system.holds_velocities and turning_with_velocity(system):
            raise ValueError(
                "Galerkin does not support constraints whose forces turn with the velocity, such as"
                " nonlinear ones: the order would be two; try Midpoint()."
            )
        if self.s > 1 and system.entropic and self.quadrature == "lobatto":
            raise ValueError(
                f"{self!r} does not support thermal systems; try Galerkin({self.s - 1})."
            )
        if self.s > 1 and system.entropic:
            check_free(self, system)
        if system.contact and self.inner_points:
            raise ValueError(
                f"{self!r} does not support contact systems: inner points would need actions of"
                f" their own; try Composition(Midpoint(), {min(10, max(4, self.order))})."
            )
        if system.order > 1 and self.quadrature == "lobatto":
            raise ValueError(
                f"{self!r} does not support systems of higher order, whose q' = v would be held"
                f" twice at each end of a step; try Galerkin({self.s - 1})."
            )

    def increments(
        self, space: Space, x: Vector, e0: Any, e1: Any, inner: Any
    ) -> tuple[Array, Array]:
        """Those of all nodes after the first, shape (degree, dim), from a start that is displaced
        by e0 to an end that is displaced by e1; inner points stay where they are.
        """
        points = list(self.guess(x) if inner is None else inner)
        if e0 is None:
            return jnp.stack([*points, x]), x
        still = jnp.zeros_like(x)
        end = space.relative(x, e0, e1)
        return jnp.stack([*(space.relative(y, e0, still) for y in points), end]), end

    def held(
        self, space: Space, t: Scalar, h: Scalar, q0: Configuration, x: Vector, inner: Array
    ) -> list[Sample]:
        """The nodes after the first, as samples with their Lobatto weights: where constraints on
        configurations hold.
        """
        y, _ = self.increments(space, x, None, None, inner)
        form, found = self.polynomial, []
        for c, w, own, D in zip(
            form.nodes, form.node_weights[1:], y, form.node_slopes[1:], strict=True
        ):
            v = space.velocity(own, jnp.sum((D / h)[:, None] * y, axis=0))
            found.append(Sample(w, t + c * h, space.retract(q0, own), v))
        return found

    def guess(self, x: Vector) -> Array:
        """Inner points of a motion at a constant rate, shape (inner_points, dim)."""
        return jnp.asarray(self.polynomial.nodes[:-1, None]) * x

    def samples(
        self,
        space: Space,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
        inner: Any = None,
    ) -> list[Sample]:
        y, _ = self.increments(space, x, e0, e1, inner)
        start, form = q0 if e0 is None else space.displace(q0, e0), self.polynomial
        found = []
        for c, w, P, D in zip(form.c, form.w, form.P, form.D, strict=True):
            xi, rate = (jnp.sum(row[:, None] * y, axis=0) for row in (P, D / h))
            q = start if c == 0 else space.retract(start, xi)
            found.append(Sample(w, t + c * h, q, space.velocity(xi, rate)))
        return found
