"""The Hamiltonian of a control problem, and the fields that follow from it (Vakonomic thesis,
chapters 6 and 7).

    H = p0.v + p1.a(t, q, v, u) - C(t, q, v, u)
    q' = v,   v' = a,   p0' = ad*_v p0 - dH/dq,   p1' = -dH/dv,   0 = dH/du

(p0, p1) are the costates of (q, v), minus the derivatives of the least cost that is left. The last
equation is the primary constraint that defines W1; (W1, Omega) is symplectic where det d2H/du2 is
not zero (Vakonomic thesis, Prop 7.1.2, an r x r matrix for r controls).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.control.law import Law, driven
from accion.engines.xla import kept_jit
from accion.instant.constrained import index_one
from accion.numerics import newton
from accion.systems import System
from accion.types import Array, Configuration, Covector, Function, Scalar, Vector


@dataclass(frozen=True)
class Hamiltonian:
    """H(t, q, v, u, p0, p1) of a control problem and the fields that follow from it; `system` is
    passed first, its numbers may be traced.

    Arguments:
        cost: cost(t, q, v, u, params) -> scalar.
        law: law(t, q, v, u, params) -> (dim,), the force of the controls.
    """

    cost: Function
    law: Law

    def acceleration(
        self, system: System, t: Scalar, q: Configuration, v: Vector, u: Array
    ) -> Vector:
        """a(t, q, v, u), shape (dim,)."""
        return index_one(driven(system, self.law, u), t, q, v, None)[0]

    def H(
        self,
        system: System,
        t: Scalar,
        q: Configuration,
        v: Vector,
        u: Array,
        p0: Covector,
        p1: Covector,
    ) -> Array:
        """p0.v + p1.a - C."""
        return (
            p0 @ v
            + p1 @ self.acceleration(system, t, q, v, u)
            - self.cost(t, q, v, u, system.params)
        )

    def primary(self, u: Array, args: Any) -> Array:
        """dH/du, which is zero on W1 (Vakonomic thesis, section 7.1)."""
        system, t, q, v, p0, p1 = args
        return jax.grad(lambda u: self.H(system, t, q, v, u, p0, p1))(u)

    def control(
        self, system: System, t: Scalar, q: Configuration, v: Vector, p1: Covector, guess: Array
    ) -> Array:
        """The control on W1, where dH/du = d(f.M^-1 p1 - C)/du = 0.

        NaN where none is found from `guess`.
        """
        push = newton.solve(jax.hessian(system.L, 2)(t, q, v), p1)

        def gain(u: Array) -> Array:
            return jnp.asarray(self.law(t, q, v, u, system.params)) @ push

        slope = jax.grad(lambda u: self.cost(t, q, v, u, system.params))
        pull = jax.grad(gain)

        def left(u: Array) -> Array:
            return slope(u) - pull(u)

        def correction(u: Array) -> Array:
            return newton.solve(jax.jacfwd(left)(u), left(u))

        def better(state: Any) -> Any:
            u, _, i = state
            bend, here, own = jax.jacfwd(left)(u), slope(u), pull(u)
            dx = newton.solve(bend, here - own)
            # of the size of what cancels, where the control itself passes through zero
            terms = jnp.abs(here) + jnp.abs(own)
            size = jnp.abs(u) + newton.own_size(terms, jnp.diagonal(bend))
            return u - dx, jnp.max(jnp.abs(dx) / jnp.where(size > 0, size, 1.0)), i + 1

        u, off, _ = jax.lax.while_loop(
            lambda s: (s[1] > newton.QUADRATIC) & (s[2] < newton.ITERATIONS),
            better,
            (guess, jnp.inf, 0),
        )
        # One more gives the value to rounding, and derivatives that do not depend on how the others
        # went.
        u = jax.lax.stop_gradient(u)
        return jnp.where(off <= newton.QUADRATIC, u - correction(u), jnp.nan)

    def regularity(
        self,
        system: System,
        t: Scalar,
        q: Configuration,
        v: Vector,
        u: Array,
        p0: Covector,
        p1: Covector,
    ) -> Array:
        """d2H/du2, shape (controls, controls): W1 is symplectic where it is regular; for a minimum
        it is negative definite.
        """
        return jax.jacfwd(self.primary)(u, (system, t, q, v, p0, p1))

    def of_control(
        self,
        system: System,
        t: Scalar,
        q: Configuration,
        v: Vector,
        p0: Covector,
        p1: Covector,
        guess: Array,
    ) -> tuple[Array, Array, Array, Array]:
        """(u, H, dH/du, d2H/du2) on W1, with the control that is found from `guess`."""
        u = self.control(system, t, q, v, p1, guess)
        args = (system, t, q, v, p0, p1)
        return (
            u,
            self.H(system, t, q, v, u, p0, p1),
            self.primary(u, args),
            self.regularity(*args[:4], u, p0, p1),
        )

    def rates(self, system: System, guess: Array, t: Scalar, y: Any) -> Any:
        """The canonical equations, with the cost as one more component: the rates of y = (q, v, p0,
        p1, cost), with the control that is found from `guess`.
        """
        q, v, p0, p1, _ = y
        space = system.space
        u = self.control(system, t, q, v, p1, guess)

        def pairing(e: Vector, v: Vector) -> tuple[Array, Any]:
            moved = space.displace(q, e)
            a, C = (
                self.acceleration(system, t, moved, v, u),
                self.cost(t, moved, v, u, system.params),
            )
            return p1 @ a - C, (a, C)

        (dq, dv), (a, C) = jax.grad(pairing, (0, 1), has_aux=True)(jnp.zeros(space.dim), v)
        return space.tangent(q, v), a, space.coad(v, p0) - dq, -p0 - dv, C


@partial(kept_jit, static_argnums=(0,))
def at_nodes(
    hamiltonian: Hamiltonian, system: System, t: Any, q: Any, v: Any, p0: Any, p1: Any, guess: Any
) -> tuple[Array, Array, Array, Array]:
    """(u, H, dH/du, d2H/du2) at each node."""

    one = partial(hamiltonian.of_control, system)
    return jax.vmap(one)(t, q, v, p0, p1, guess)


@partial(kept_jit, static_argnums=(0,))
def control_hessians(
    hamiltonian: Hamiltonian, system: System, t: Any, q: Any, v: Any, u: Any, p0: Any, p1: Any
) -> Array:
    """d2H/du2 at each time."""
    return jax.vmap(partial(hamiltonian.regularity, system))(t, q, v, u, p0, p1)


def is_regular(hessians: np.ndarray) -> np.ndarray:
    """Where d2H/du2, shape (times, controls, controls), is not singular: each control measured by
    its own bend.
    """
    largest = np.max(np.abs(hessians), axis=0)
    unit = np.sqrt(np.where(np.diagonal(largest) > 0, np.diagonal(largest), np.max(largest)))
    if not np.all(unit > 0):
        return np.full(len(hessians), False)
    return np.abs(np.linalg.det(hessians / np.outer(unit, unit))) > 1e-12
