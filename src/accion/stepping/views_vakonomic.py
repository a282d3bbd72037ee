"""The forms of a step on its ends and its multipliers, and the matrix with which the next step
follows (Vakonomic thesis, sections 8.1 and 8.2).
"""

from abc import ABC
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from accion.arguments import reals
from accion.spaces import Space
from accion.stepping.at_step import at_step
from accion.types import Array, Configuration, Scalar


def given_multipliers(system: Any, lam: Any, windows: int) -> Any:
    """The multipliers `lam` of so many windows, shape (windows, m); those of a vakonomic system
    must be given.
    """
    m = system.multipliers if system.enters_action else 0
    if m and lam is None:
        words = (
            f"of the {windows} windows, shape ({windows}, {m})"
            if windows > 1
            else f"of the window, shape ({m},)"
        )
        raise ValueError(
            "configurations do not determine a vakonomic motion, whose multiplier is part of the"
            f" state: give lam, the multipliers {words}."
        )
    if lam is None or not m:
        return jnp.zeros((windows, m))
    lam = jnp.asarray(reals(lam, "lam"))
    if lam.size != windows * m:
        raise ValueError(
            f"lam must have shape ({windows}, {m}), a row for each window; got shape {lam.shape}."
        )
    return jnp.reshape(lam, (windows, m))


def two_form(space: Space, theta: Any, nodes: Sequence[Configuration], lam: Any) -> Any:
    """-d Theta at configurations and multipliers `lam`, of a one-form whose components at the nodes
    are `theta(nodes, lam)`, shape (len(nodes), dim).

    Its entries are for the fields e_a of constant displacement in local coordinates, -(e_a(Theta_b)
    - e_b(Theta_a)) + Theta([e_a, e_b]); after those of the nodes come those for changes of the
    multipliers.
    """
    n, count = space.dim, len(nodes) * space.dim

    def at(z: Configuration) -> Any:
        moved = [
            space.retract(node, part)
            for node, part in zip(nodes, z[:count].reshape(-1, n), strict=True)
        ]
        return jnp.concatenate(
            [theta(moved, lam + z[count:].reshape(lam.shape)).ravel(), jnp.zeros(lam.size)]
        )

    zero = jnp.zeros(count + lam.size)
    D = jax.jacfwd(at)(zero)
    bracket = jax.vmap(lambda a: jax.vmap(lambda b: space.ad(a, b))(jnp.eye(n)))(jnp.eye(n))
    turned = jnp.einsum("abc,kc->kab", bracket, at(zero)[:count].reshape(-1, n))
    return D - D.T + jax.scipy.linalg.block_diag(*turned, jnp.zeros((lam.size, lam.size)))


class StepForms(ABC):
    """The forms of a system of order one under a method, functions of (t, h, q0, q1).

    Those of a vakonomic system live on (q0, q1, lam), `lam` being the multipliers of the step, with
    the constraint Phi_d(q0, q1) = 0: on M_d x R^m, of which `on_constraint` has the changes.
    """

    system: Any
    D1: Any
    D2: Any
    balance: Any
    one: Any
    Phi: Any
    form: Any

    @at_step
    def theta_minus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Array:
        """The components of Theta^- = -D1 Ld dq0, shape (2, dim); a vakonomic system needs `lam`
        (Vakonomic thesis, Thm 8.1.1, corrected).
        """
        first = self.D1(t, h, q0, q1, self.one(lam))
        return jnp.stack([-first, jnp.zeros_like(first)])

    @at_step
    def theta_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Array:
        """The components of Theta^+ = D2 Ld dq1, shape (2, dim); a vakonomic system needs `lam`.

        Theta^+ - Theta^- = d(Ld + h lam.Phi) - h Phi.dlam.
        """
        last = self.D2(t, h, q0, q1, self.one(lam))
        return jnp.stack([jnp.zeros_like(last), last])

    @at_step
    def omega(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Array:
        """The discrete Poincare-Cartan 2-form -d(D2 Ld dq1) on pairs (q0, q1), shape (2 dim, 2
        dim), kept by `flow` where there is no force.

        For a vakonomic system on (q0, q1, lam), `lam` being the multipliers of the step, shape (2
        dim + m, 2 dim + m); see `DiscreteHigher.omega`.
        """
        lam = given_multipliers(self.system, lam, 1)

        def theta(nodes: Sequence[Configuration], lam: Any) -> Any:
            return self.theta_plus(t, h, nodes[0], nodes[1], lam)

        return two_form(self.system.space, theta, [q0, q1], lam)

    @at_step
    def on_constraint(self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration) -> Array:
        """An orthonormal basis of the changes of (q0, q1, lam) that keep Phi_d, as columns: shape
        (2 dim + m, 2 dim). Without a vakonomic constraint all changes of (q0, q1).
        """
        space, n = self.system.space, self.system.space.dim
        m = self.system.multipliers if self.system.enters_action else 0
        if not m:
            return jnp.eye(2 * n)

        def Phi(e: Array) -> Array:
            return self.Phi(t, h, space.retract(q0, e[:n]), space.retract(q1, e[n:]))

        rows = jax.jacfwd(Phi)(jnp.zeros(2 * n))
        kept = jnp.linalg.svd(rows, full_matrices=True)[2][m:].T
        return jax.scipy.linalg.block_diag(kept, jnp.eye(m))

    @at_step
    def omega_on_constraint(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Array:
        """`omega` on the changes `on_constraint`, shape (2 dim, 2 dim): the same from Theta^- as
        from Theta^+, kept by `flow`, and symplectic where `regularity` is regular. It is the
        pullback of dq ^ dp by both discrete Legendre transforms, which take M_d x R^m to T*Q.
        """
        kept = self.on_constraint(t, h, q0, q1)
        return kept.T @ self.omega(t, h, q0, q1, lam) @ kept

    @at_step
    def regularity(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, lam: Any = None
    ) -> Array:
        """The matrix that must not be singular for the step (q0, p0) -> q1 to follow, and a flow
        (q0, q1, lam) -> (q1, q2, lam):

            [[D1 D2 (Ld + h lam.Phi), D1 Phi^T], [D2 Phi, 0]]

        of a vakonomic system (Vakonomic thesis, section 8.2), shape (dim + m, dim + m): the
        derivatives of (D1 (Ld + h lam.Phi), Phi) by q1 and h lam. Of another system D1 Ld has the
        discrete force Fd^- besides, and A^T takes the place of D1 Phi^T where constraints act by
        forces.
        """
        space, own = self.system.space, self.one(lam)
        m = self.system.multipliers
        zero = jnp.zeros(space.dim)

        def equations(e: Array, more: Array) -> Array:
            end = space.retract(q1, e)
            mu = own + more / h if self.system.enters_action else None
            first = self.balance(t, h, q0, end, mu)[0]
            if not m:
                return first
            v = space.local(q0, q1) / h
            first = first + self.form.reaction(t, h, q0, v, more / h)
            return jnp.concatenate([first, self.Phi(t, h, q0, end)])

        return jnp.concatenate(jax.jacfwd(equations, (0, 1))(zero, jnp.zeros(m)), axis=1)
