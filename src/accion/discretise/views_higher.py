"""The discrete objects of a system of higher order under a method, as functions of configurations
one step apart.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise.window import action, closure, differences, summation, variation
from accion.methods import Method
from accion.stepping.higher import pieces, solve, theta_minus, theta_plus
from accion.systems import HigherOrderSystem


def given_multipliers(system, lam, windows):
    """The multipliers `lam` of so many windows, shape (windows, m); those of a vakonomic system
    must be given.
    """
    m = system.multipliers if system.vakonomic is not None else 0
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
    lam = jnp.asarray(lam, dtype=float)
    if lam.size != windows * m:
        raise ValueError(
            f"lam must have shape ({windows}, {m}), a row for each window; got shape {lam.shape}."
        )
    return jnp.reshape(lam, (windows, m))


def two_form(space, theta, nodes, lam):
    """-d Theta at configurations and multipliers `lam`, of a one-form whose components at the nodes
    are `theta(nodes, lam)`, shape (len(nodes), dim).

    Its entries are for the fields e_a of constant displacement in local coordinates, -(e_a(Theta_b)
    - e_b(Theta_a)) + Theta([e_a, e_b]); after those of the nodes come those for changes of the
    multipliers.
    """
    n, count = space.dim, len(nodes) * space.dim

    def at(z):
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


@dataclass(frozen=True)
class DiscreteHigher:
    """The discrete Lagrangian Ld(t, h, q_0, ..., q_r) of a system of order r under `method`, and
    what follows from it (004 sections 8.3 and 8.4).

    `t` is the time of the first configuration. Derivatives are in local coordinates, shape (dim,).
    With a constraint the functions take `lam`, the multipliers of the windows in question, one row
    for each, and are those of L + lam.Phi; Ld and D without `lam` are those of L alone.
    """

    system: HigherOrderSystem
    method: Method

    def read(self, q, count):
        if len(q) != count:
            raise ValueError(
                f"{self.system.name} is of order {self.system.order}: {count} configurations are"
                f" needed; got {len(q)}."
            )
        return list(q)

    def multipliers(self, lam, windows):
        """`lam`, one row for each window."""
        return given_multipliers(self.system, lam, windows)

    def window(self, q):
        return q[0], differences(self.system.space, self.read(q, self.system.order + 1))

    def Ld(self, t, h, *q, lam=None):
        """h sum_i w_i L(t_i, q_i, v_i, a_i, ...) of r + 1 configurations."""
        q0, d = self.window(q)
        return action(
            self.system,
            self.method,
            t,
            h,
            q0,
            d,
            lam=None if lam is None else self.multipliers(lam, 1)[0],
        )

    def Phi(self, t, h, *q):
        """The discrete constraint sum_i w_i Phi(t_i, q_i, v_i, a_i, ...) of r + 1 configurations,
        shape (m,).
        """
        q0, d = self.window(q)
        return closure(self.system, self.method, t, h, q0, d)

    def D(self, j, t, h, *q, lam=None):
        """D_j Ld, j = 1, ..., r + 1."""
        if j not in range(1, self.system.order + 2):
            raise ValueError(
                f"D(j) is the derivative by the j-th of {self.system.order + 1} configurations; got"
                f" j = {j!r}."
            )
        q0, d = self.window(q)
        return variation(
            self.system,
            self.method,
            t,
            h,
            q0,
            d,
            None if lam is None else self.multipliers(lam, 1)[0],
        )[j - 1]

    def euler_lagrange(self, t, h, *q, lam=None):
        """sum_j D_j Ld at the middle of 2r + 1 configurations, each of the window in which it is
        the j-th; zero on a trajectory.
        """
        r = self.system.order
        G = pieces(
            self.system, self.method, t, h, self.read(q, 2 * r + 1), self.multipliers(lam, r + 1)
        )
        return sum(G[i, r - i] for i in range(r + 1))

    def theta_minus(self, t, h, *q, lam=None):
        """The components of Theta^- at 2r configurations, shape (2r, dim): minus sums of D_j Ld at
        the first r, zero at the others (004 eq 8.5).
        """
        r = self.system.order
        first = -theta_minus(
            self.system, self.method, t, h, self.read(q, 2 * r), self.multipliers(lam, r)
        )
        return jnp.concatenate([first, jnp.zeros_like(first)])

    def theta_plus(self, t, h, *q, lam=None):
        """The components of Theta^+, shape (2r, dim): zero at the first r configurations, the sums
        of D_j Ld at the others (004 eq 8.6).
        """
        r = self.system.order
        last = theta_plus(
            self.system, self.method, t, h, self.read(q, 2 * r), self.multipliers(lam, r)
        )
        return jnp.concatenate([jnp.zeros_like(last), last])

    def omega(self, t, h, *q, lam=None):
        """The discrete Poincare-Cartan 2-form -d Theta^+ at 2r configurations, a matrix of shape
        (2r dim, 2r dim), kept by `flow`.

        With a constraint the state has the multipliers of the r windows besides, `lam`, shape (r,
        m), and their changes r m more rows and columns, after those of the configurations. On
        states that satisfy Phi = 0 on each of the r windows, and for changes that keep it so, it is
        equal to -d Theta^-, as Theta^+ - Theta^- = d(sum of Ld + h lam.Phi) - h Phi.dlam, and it is
        nondegenerate where the system is regular.
        """
        nodes, r = self.read(q, 2 * self.system.order), self.system.order

        def theta(nodes, lam):
            return self.theta_plus(t, h, *nodes, lam=lam)

        return two_form(self.system.space, theta, nodes, self.multipliers(lam, r))

    def regularity(self, t, h, *q, lam=None):
        """The matrix that must not be singular for the next configuration to follow: D_1 D_{r+1} Ld
        or, with a constraint, the bordered

            [[D_1 D_{r+1} (Ld + h lam.Phi), D_1 Phi^T], [D_{r+1} Phi, 0]]

        of r + 1 configurations: the derivatives of (D_1 (Ld + h lam.Phi), Phi) by the last
        configuration and h lam. (004 section 8.4 prints D_1 Phi and D_{r+1} Phi in each other's
        place.)
        """
        space, nodes = self.system.space, self.read(q, self.system.order + 1)
        zero, mu = jnp.zeros(space.dim), self.multipliers(lam, 1)[0]

        def equations(e, mu):
            q0, d = self.window([*nodes[:-1], space.retract(nodes[-1], e)])
            first = variation(self.system, self.method, t, h, q0, d, mu)[0]
            if self.system.vakonomic is None:
                return first
            return jnp.concatenate([first, closure(self.system, self.method, t, h, q0, d)])

        if self.system.vakonomic is None:
            return jax.jacfwd(equations)(zero, mu)
        by_last, by_lam = jax.jacfwd(equations, (0, 1))(zero, mu)
        return jnp.concatenate([by_last, by_lam / h], axis=1)

    def flow(self, t, h, *q, lam=None) -> Any:
        """(q_0, ..., q_{2r-1}) -> (q_1, ..., q_{2r}), the symplectic flow on Q^{2r}; NaN where
        there is no next configuration.

        With a constraint the state has the multipliers of the r windows besides, `lam`, shape (r,
        m); then (configurations, lam) is returned.
        """
        system, r, n = self.system, self.system.order, self.system.space.dim
        nodes, lam = self.read(q, 2 * r), self.multipliers(lam, r)
        P = theta_plus(system, self.method, t, h, nodes, lam)
        d = differences(system.space, nodes[r:]) if r > 1 else jnp.zeros((0, n))
        guess = jnp.concatenate([differences(system.space, nodes[r - 1 :])[-1], lam[-1]])
        found, _, converged = solve(system, self.method, t + r * h, h, nodes[r], P, d, guess)
        top = jnp.where(converged, found[:n], jnp.nan)
        x = jnp.concatenate([d, top[None]])
        last = system.space.retract(
            nodes[-1],
            sum(binomial * row for binomial, row in zip(summation(r)[-1], x, strict=True)),
        )
        after = (*nodes[1:], last)
        return (
            after
            if system.vakonomic is None
            else (after, jnp.concatenate([lam[1:], found[None, n:]]))
        )
