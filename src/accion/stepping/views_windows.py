"""The discrete objects of a system of order r, as functions of configurations one step apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise import discretise
from accion.discretise.forms import theta_minus, theta_plus, window_derivatives
from accion.discretise.window import combine, differences, differencing, summation
from accion.instant.ostrogradsky import from_momenta
from accion.methods import Method
from accion.stepping.levels import OnLevels
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

    def forces(self, t: Scalar, h: Scalar, *q: Configuration) -> Array:
        """Fd_1, ..., Fd_{r+1}, the discrete forces at r + 1 configurations, shape (r + 1, dim): the
        virtual work sum_j Fd_j.dq_j = h sum_i w_i F(t_i, q_i, v_i, a_i, ...).dq_i of the samples.
        """
        q0, d = self.window(q)
        return self.form.forces(t, h, q0, d)

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

    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Sequence[Configuration], p: Covector, guess: Any = None
    ) -> Any:
        """(q_0, ..., q_{r-1}; P_1, ..., P_r) -> (q_1, ..., q_r; P_1', ..., P_r'): one step on
        T*(Q^r), in the shapes that it was given, symplectic for dq ^ dP where there is no force;
        NaN where it has no solution.

        `q` are r configurations, one after the other, and `p` the momenta that belong to them, the
        components of Theta^+ (Vakonomic thesis, eq 8.6). `guess` is one of the increments of the r
        nodes.
        """
        system, r, n = self.system, self.system.order, self.system.space.dim
        nodes, P = self.read(q, r), jnp.reshape(jnp.asarray(p), (r, n))
        top, lam = self.solved(t, h, nodes, P, guess)
        d = jnp.concatenate([self.between(nodes), top[None]])
        G = self.form.variation(t, h, nodes[0], d, lam).end
        eta = combine(summation(r)[-1:], d)[0]
        after = (*nodes[1:], system.space.retract(nodes[-1], eta))
        P = jnp.reshape(G.at[:-1].add(P[1:]), jnp.shape(p))
        return (after if isinstance(q, tuple) else jnp.stack(after)), P

    def solved(self, t: Scalar, h: Scalar, nodes: Any, P: Array, guess: Any = None) -> Any:
        """The highest difference of the window that begins at r nodes with the momenta P, and its
        multipliers; NaN where there are none.
        """
        system, r, n = self.system, self.system.order, self.system.space.dim
        first = jnp.zeros(n)
        if guess is not None:
            first = combine(differencing(r)[-1:], jnp.reshape(guess, (r, n)))[0]
        unknowns = jnp.concatenate([first, jnp.zeros(system.multipliers)])
        at = (t, h, nodes[0], P, self.between(nodes))
        found, _, good = next_window(system, self.method, *at, unknowns)
        return jnp.split(jnp.where(good, found, jnp.nan), [n])

    def between(self, nodes: Sequence[Configuration]) -> Array:
        """The differences of the increments between r nodes, r - 1 of them."""
        if self.system.order == 1:
            return jnp.zeros((0, self.system.space.dim))
        return differences(self.system.space, nodes)

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


@dataclass(frozen=True)
class DiscreteLevels:
    """What a method that steps a system of order r from (q, ..., q^(r-1)) to the next has: its flow
    on T*(T^(r-1)Q). It has no discrete Lagrangian of r + 1 configurations.
    """

    system: HigherOrderSystem
    method: Method

    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, guess: Any = None
    ) -> Any:
        """(z; p_0, ..., p_{r-1}) -> the same after one step, z = (q, (q', ..., q^(r-1))) a point of
        the space of `first_order(system)`: symplectic for dq ^ dp where there is no force, NaN
        where it has no solution. `guess` is one of the increment of z.
        """
        scheme, shape = OnLevels(self.system, self.method), jnp.shape(p)
        system, levels = self.system, scheme.levels
        place, low = levels.parts(q)
        P = jnp.reshape(p, (system.order, system.space.dim))
        if guess is None:
            jets = from_momenta(system, t, place, low, P)[0][: system.order]
        else:
            jets = jnp.reshape(guess, P.shape) / h
        jets = jnp.concatenate([low, jets[-1:]])
        state = scheme.opened(t, h, place, jets, P, jnp.zeros(system.multipliers))
        if self.method.composed is not None:
            # Whether the step leads where it was meant to is not looked at: there is none before.
            state = state._replace(pace=())
        after = scheme.step(state, t, h)[0]
        return after.q, jnp.reshape(after.p, shape)


@discrete_objects.register
def _(system: HigherOrderSystem, method: Any) -> Any:
    if method.on_levels:
        return DiscreteLevels(system, method)
    return DiscreteWindows(system, method)


@discrete_objects.register
def _(system: DiscreteSystem, method: Any) -> DiscreteGiven | DiscreteWindows:
    return DiscreteGiven(system) if system.order == 1 else DiscreteWindows(system, None)
