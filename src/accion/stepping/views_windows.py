"""The discrete objects of a system of order r, as functions of configurations one step apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise import discretise
from accion.discretise.forms import theta_minus, theta_plus, window_derivatives
from accion.discretise.window import differences, summation
from accion.methods import Method
from accion.stepping.views import DiscreteGiven, discrete_objects
from accion.stepping.views_vakonomic import given_multipliers, two_form
from accion.stepping.windows import next_window
from accion.systems import DiscreteSystem, HigherOrderSystem
from accion.types import Array, Configuration, Covector, Scalar


@dataclass(frozen=True)
class DiscreteWindows:
    """The discrete Lagrangian Ld(t, h, q_0, ..., q_r) of a system of order r under `method`, and
    what follows from it (Vakonomic thesis, sections 8.3 and 8.4).

    `t` is the time of the first configuration. Derivatives are in local coordinates, shape (dim,).
    With a constraint the functions take `lam`, the multipliers of the windows in question, one row
    for each, and are those of L + lam.Phi; Ld and D without `lam` are those of L alone.
    """

    system: HigherOrderSystem | DiscreteSystem
    method: Method | None

    @property
    def form(self) -> Any:
        return discretise(self.system, self.method)

    def read(self, q: Configuration, count: int) -> Any:
        if len(q) != count:
            raise ValueError(
                f"{self.system.name} is of order {self.system.order}: {count} configurations are"
                f" needed; got {len(q)}."
            )
        return list(q)

    def multipliers(self, lam: Any, windows: int) -> Array:
        """`lam`, one row for each window."""
        return given_multipliers(self.system, lam, windows)

    def window(self, q: Configuration) -> Any:
        return q[0], differences(self.system.space, self.read(q, self.system.order + 1))

    def Ld(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Scalar:
        """h sum_i w_i L(t_i, q_i, v_i, a_i, ...) of r + 1 configurations."""
        q0, d = self.window(q)
        own = None if lam is None else self.multipliers(lam, 1)[0]
        return self.form.action(t, h, q0, d, own)

    def Phi(self, t: Scalar, h: Scalar, *q: Configuration) -> Array:
        """The discrete constraint sum_i w_i Phi(t_i, q_i, v_i, a_i, ...) of r + 1 configurations,
        shape (m,).
        """
        q0, d = self.window(q)
        return self.form.closure(t, h, q0, d)

    def D(self, j: int, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Covector:
        """D_j Ld, j = 1, ..., r + 1."""
        if j not in range(1, self.system.order + 2):
            raise ValueError(
                f"D(j) is the derivative by the j-th of {self.system.order + 1} configurations; got"
                f" j = {j!r}."
            )
        q0, d = self.window(q)
        own = None if lam is None else self.multipliers(lam, 1)[0]
        return self.form.derivatives(t, h, q0, d, own)[j - 1]

    def euler_lagrange(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Covector:
        """sum_j D_j Ld at the middle of 2r + 1 configurations, each of the window in which it is
        the j-th; zero on a trajectory.
        """
        r = self.system.order
        G = window_derivatives(
            self.form, t, h, self.read(q, 2 * r + 1), self.multipliers(lam, r + 1)
        )
        return jnp.sum(jnp.stack([G[i, r - i] for i in range(r + 1)]), axis=0)

    def theta_minus(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Array:
        """The components of Theta^- at 2r configurations, shape (2r, dim): minus sums of D_j Ld at
        the first r, zero at the others (Vakonomic thesis, eq 8.5).
        """
        r = self.system.order
        first = -theta_minus(self.form, t, h, self.read(q, 2 * r), self.multipliers(lam, r))
        return jnp.concatenate([first, jnp.zeros_like(first)])

    def theta_plus(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Array:
        """The components of Theta^+, shape (2r, dim): zero at the first r configurations, the sums
        of D_j Ld at the others (Vakonomic thesis, eq 8.6).
        """
        r = self.system.order
        last = theta_plus(self.form, t, h, self.read(q, 2 * r), self.multipliers(lam, r))
        return jnp.concatenate([jnp.zeros_like(last), last])

    def omega(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Array:
        """The discrete Poincare-Cartan 2-form -d Theta^+ at 2r configurations, a matrix of shape
        (2r dim, 2r dim), kept by `flow`.

        With a constraint the state has the multipliers of the r windows besides, `lam`, shape (r,
        m), and their changes r m more rows and columns, after those of the configurations. On
        states that satisfy Phi = 0 on each of the r windows, and for changes that keep it so, it is
        equal to -d Theta^-, as Theta^+ - Theta^- = d(sum of Ld + h lam.Phi) - h Phi.dlam, and it is
        nondegenerate where the system is regular.
        """
        nodes, r = self.read(q, 2 * self.system.order), self.system.order

        def theta(nodes: Sequence[Configuration], lam: Any) -> Any:
            return self.theta_plus(t, h, *nodes, lam=lam)

        return two_form(self.system.space, theta, nodes, self.multipliers(lam, r))

    def regularity(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Array:
        """The matrix that must not be singular for the next configuration to follow: D_1 D_{r+1} Ld
        or, with a constraint, the bordered

            [[D_1 D_{r+1} (Ld + h lam.Phi), D_1 Phi^T], [D_{r+1} Phi, 0]]

        of r + 1 configurations: the derivatives of (D_1 (Ld + h lam.Phi), Phi) by the last
        configuration and h lam. (Section 8.4 of the Vakonomic thesis prints D_1 Phi and D_{r+1} Phi
        in each other's place.)
        """
        space, nodes = self.system.space, self.read(q, self.system.order + 1)
        zero, mu = jnp.zeros(space.dim), self.multipliers(lam, 1)[0]

        def equations(e: Any, mu: Any) -> Any:
            q0, d = self.window([*nodes[:-1], space.retract(nodes[-1], e)])
            first = self.form.variation(t, h, q0, d, mu).start
            if not self.system.enters_action:
                return first
            return jnp.concatenate([first, self.form.closure(t, h, q0, d)])

        if not self.system.enters_action:
            return jax.jacfwd(equations)(zero, mu)
        by_last, by_lam = jax.jacfwd(equations, (0, 1))(zero, mu)
        return jnp.concatenate([by_last, by_lam / h], axis=1)

    def flow(self, t: Scalar, h: Scalar, *q: Configuration, lam: Any = None) -> Any:
        """(q_0, ..., q_{2r-1}) -> (q_1, ..., q_{2r}), the symplectic flow on Q^{2r}; NaN where
        there is no next configuration.

        With a constraint the state has the multipliers of the r windows besides, `lam`, shape (r,
        m); then (configurations, lam) is returned.
        """
        system, r, n = self.system, self.system.order, self.system.space.dim
        nodes, lam = self.read(q, 2 * r), self.multipliers(lam, r)
        P = theta_plus(self.form, t, h, nodes, lam)
        d = differences(system.space, nodes[r:]) if r > 1 else jnp.zeros((0, n))
        guess = jnp.concatenate([differences(system.space, nodes[r - 1 :])[-1], lam[-1]])
        found, _, converged = next_window(system, self.method, t + r * h, h, nodes[r], P, d, guess)
        top = jnp.where(converged, found[:n], jnp.nan)
        x = jnp.concatenate([d, top[None]])
        eta = sum(binomial * row for binomial, row in zip(summation(r)[-1], x, strict=True))
        last = system.space.retract(nodes[-1], jnp.asarray(eta))
        after = (*nodes[1:], last)
        return (
            after
            if not system.enters_action
            else (after, jnp.concatenate([lam[1:], found[None, n:]]))
        )


@discrete_objects.register
def _(system: HigherOrderSystem, method: Any) -> DiscreteWindows:
    return DiscreteWindows(system, method)


@discrete_objects.register
def _(system: DiscreteSystem, method: Any) -> DiscreteGiven | DiscreteWindows:
    return DiscreteGiven(system) if system.order == 1 else DiscreteWindows(system, None)
