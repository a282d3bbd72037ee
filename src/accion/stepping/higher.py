"""Steps of systems of order r: the discrete equations sum_j D_j Ld = 0 on windows of r + 1
configurations, as a step in positions and momenta.

The state at node k is q_k, ..., q_{k+r-1} with the momenta P_1, ..., P_r that belong to them, the
components of the discrete Poincare-Cartan form Theta^+ of the nodes before (004 eq 8.6). One step
solves, for the next node (and the multipliers of the window),

    P_1 + D_1 Ld(q_k, ..., q_{k+r}) = 0
    Phi sampled on the window = 0, where there is a constraint

and goes on with P_j <- P_{j+1} + D_{j+1} Ld, P_{r+1} = 0. For r = 1 it is the step of `step.py`.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from math import comb, factorial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise.window import (
    action,
    closure,
    combine,
    derivatives,
    differences,
    summation,
    variation,
)
from accion.instant.constrained import Look
from accion.numerics import newton
from accion.numerics.products import written_out
from accion.stepping.variational import End, Scheme, State


def balance(method, unknowns, args):
    """P_1 + D_1 Ld and, below it, the discrete constraint; unknown are the highest difference of
    the window's increments and the multipliers.
    """
    system, t, h, q, P, d = args
    n = system.space.dim
    window, lam = jnp.concatenate([d, unknowns[None, :n]]), unknowns[n:]
    momentum = P[0] + variation(system, method, t, h, q, window, lam)[0]
    if system.vakonomic is None:
        return momentum
    return jnp.concatenate([momentum, closure(system, method, t, h, q, window)])


def units(method, unknowns, J, args):
    """The size of the highest difference that matters: sqrt(|Ld| / |J|), which is h^r q^(r), or
    that of the momenta; and that of an increment.
    """
    system, t, h, q, P, d = args
    n = system.space.dim
    window = jnp.concatenate([d, unknowns[None, :n]])
    stiffness = jnp.diagonal(J)[:n]
    own = jnp.sqrt(
        newton.own_size(jnp.abs(action(system, method, t, h, q, window)), stiffness)
    ) + newton.own_size(jnp.abs(P[0]), stiffness)
    return own, jnp.abs(window[0])


def solve(system, method, t, h, q, P, d, guess):
    """The highest difference of the window that starts at `q`, and its multipliers."""
    residual, size = written_out(partial(balance, method)), written_out(partial(units, method))
    return newton.root(residual, size, system.multipliers, guess, (system, t, h, q, P, d))


@dataclass(frozen=True)
class HigherOrder(Scheme):
    """The step of a system of higher order.

    It carries the differences of the r - 1 increments that follow, and the highest of the last
    window.
    """

    system: Any
    method: Any

    def opening(self, t, h, q, q1):
        """The differences of all increments of the 2r configurations q, q1[0], ..., and the momenta
        P with which the steps lead to them.
        """
        r, space = self.system.order, self.system.space
        nodes = [q, *(jax.tree.map(lambda a, i=i: a[i], q1) for i in range(2 * r - 1))]
        return differences(space, nodes), -theta_minus(
            self.system, self.method, t, h, nodes, jnp.zeros((r, 0))
        )

    def start(self, t, h, q, p, x, lam):
        """The state before the first step, `x` the differences of the increments, r + 1 of them or
        more (r = 1: one).
        """
        r = self.system.order
        before = x[r - 1] - x[r] if len(x) > r else x[r - 1]
        guess = jnp.concatenate([x[r - 1], lam])
        return State(q, p, jnp.zeros_like(x[0]), x[0], guess, jnp.array(0), (x[: r - 1], before))

    def solve(self, state, t, h):
        return solve(self.system, self.method, t, h, state.q, state.p, state.rates[0], state.guess)

    def residual(self, unknowns, state, t, h):
        return balance(self.method, unknowns, (self.system, t, h, state.q, state.p, state.rates[0]))

    def window(self, unknowns, state):
        return jnp.concatenate([state.rates[0], unknowns[None, : self.system.space.dim]])

    def moved(self, unknowns, state, h):
        return combine(summation(self.system.order)[-1:], self.window(unknowns, state))[0]

    def end(self, unknowns, state, t, h):
        n = self.system.space.dim
        window, lam = self.window(unknowns, state), unknowns[n:]
        G = variation(self.system, self.method, t, h, state.q, window, lam)[1:]
        P = G.at[:-1].add(state.p[1:])
        top = window[-1]
        # The increment of this step was known before it; what is not solved must still be NaN from
        # here on.
        x = window[0] + 0 * top
        return End(
            x, P, jnp.concatenate([2 * top - state.rates[1], lam]), (window[:-1] + window[1:], top)
        )

    def lagrangian(self, unknowns, state, t, h):
        window = self.window(unknowns, state)
        return action(self.system, self.method, t, h, state.q, window)

    def obstacle(self, unknowns, state, t, h):
        return (
            "the Lagrangian is not finite on the window that it leads to, whose highest difference"
            f" is {unknowns[: self.system.space.dim]}"
        )

    def kept(self, state):
        return state.rates

    def laws(self, state):
        return None


# ---------------------------------------------------------------- discrete Poincare-Cartan forms


def pieces(system, method, t, h, nodes, lams):
    """D_j Ld of each window of r + 1 among the nodes, shape (windows, r + 1, dim); `lams` are their
    multipliers.
    """
    r, found = system.order, []
    for i in range(len(nodes) - r):
        d = differences(system.space, nodes[i : i + r + 1])
        found.append(variation(system, method, t + i * h, h, nodes[i], d, lams[i]))
    return jnp.stack(found)


def theta_minus(system, method, t, h, nodes, lams):
    """sum over the windows that contain it of D_j Ld, at each of the first r of 2r nodes: minus the
    components of Theta^- (004 eq 8.5).
    """
    r, G = system.order, pieces(system, method, t, h, nodes, lams)
    return jnp.stack([sum(G[i, k - i] for i in range(k + 1)) for k in range(r)])


def theta_plus(system, method, t, h, nodes, lams):
    """The same at each of the last r: the components of Theta^+ (004 eq 8.6)."""
    r, G = system.order, pieces(system, method, t, h, nodes, lams)
    return jnp.stack([sum(G[i, k - i] for i in range(k - r, r)) for k in range(r, 2 * r)])


# ---------------- from derivatives and momenta at an instant to nodes, and back


@lru_cache(maxsize=64)
def monomials(rows, columns):
    """A with d_l = sum_s A[l, s] h^(s+1) q^(s+1): the differences of increments from the
    derivatives at the first node, by Taylor's series.
    """
    A = np.zeros((rows, columns))
    for s in range(columns):
        x = np.diff(np.arange(rows + 1.0) ** (s + 1)) / factorial(s + 1)
        for l in range(rows):
            A[l, s] = np.diff(x, l)[0] if l <= s else 0.0
    return A


def advanced(jets, tau):
    """The derivatives at a time `tau` later, by Taylor's series."""
    return jnp.stack(
        [
            sum(tau**k / factorial(k) * jets[s + k] for k in range(len(jets) - s))
            for s in range(len(jets))
        ]
    )


def spread(space, jets, h, delta):
    """Displacements of the r nodes at (j - (r-1)/2) h from an instant where q, v, a, ... change by
    the rows of `delta`, shape (r, dim).

    A displacement eta(t) of the body changes its velocity by eta' + [v, eta]; on flat spaces this
    is Taylor's series.
    """
    r = len(delta)
    eta = [delta[0]]
    for s in range(r - 1):
        eta.append(
            delta[s + 1] - sum(comb(s, i) * space.ad(jets[i], eta[s - i]) for i in range(s + 1))
        )
    times = [(j - (r - 1) / 2) * h for j in range(r)]
    return jnp.stack([sum(tau**s / factorial(s) * eta[s] for s in range(r)) for tau in times])


def to_nodes(space, jets, h, p):
    """P_1, ..., P_r with sum_j P_j.eta_j = sum_s p_s.delta_s: momenta of the nodes from those of
    Jacobi and Ostrogradsky at the middle of them.
    """
    M = jax.jacfwd(partial(spread, space, jets, h))(jnp.zeros_like(p)).reshape(p.size, p.size)
    return newton.solve(M.T, p.ravel()).reshape(p.shape)


def from_nodes(space, jets, h, P):
    """Its inverse."""
    return jax.vjp(partial(spread, space, jets, h), jnp.zeros_like(P))[1](P)[0]


def begin(system, method, t, h, start):
    """The state before the first step, and what tells whether a motion can start there.

    From derivatives at t (`v0`, shape (2r - 1, dim)) the momenta of Jacobi and Ostrogradsky follow;
    they and the derivatives are carried on to the middle of the first r nodes, (r - 1) h/2 later,
    and there turned into momenta of the nodes. For r = 1 this is p0 = dL/dv.
    """
    scheme, r, n = HigherOrder(system, method), system.order, system.space.dim
    q = start.q0
    if start.q1 is not None:
        d, P = scheme.opening(t, h, q, start.q1)
        return (
            scheme.start(t, h, q, P, d, jnp.zeros(0)),
            look(system, t, q, derivatives(d, 0.0, h), None),
            None,
        )
    jets, lams = start.v0, jnp.zeros((r, 0)) if start.lam0 is None else start.lam0
    tau = (r - 1) / 2 * h
    p = system.momenta(t, q, jets, lams)
    if r > 1:
        rates = partial(momentum_rates, system)
        along = (jnp.ones(()), jets[0], shift(jets), shift(lams))
        point = (jnp.asarray(t, float), jnp.zeros(n), jets, lams, q)
        dp = rates(*point, p)
        ddp = jax.jvp(
            lambda t, e, jets, lams, p: rates(t, e, jets, lams, q, p), (*point[:4], p), (*along, dp)
        )[1]
        p = p + tau * dp + tau**2 / 2 * ddp
    P = to_nodes(system.space, advanced(jets, tau), h, p)
    powers = jnp.stack([h ** (s + 1) for s in range(len(jets))])[:, None]
    d = combine(monomials(r + 1, len(jets)), powers * jets)
    return scheme.start(t, h, q, P, d, lams[0]), look(system, t, q, jets, lams), None


def look(system, t, q, jets, lams):
    """What tells whether a motion can start there: the matrix of regularity, and Phi with its
    derivatives.
    """
    lam = jnp.zeros(system.multipliers) if lams is None else lams[0]
    rates = (
        None if system.vakonomic is None else system.constraint_rates(t, q, jets, system.order - 1)
    )
    return Look(system.regularity(t, q, jets, lam), rates, None, None)


def momentum_rates(system, t, e, jets, lams, q, p):
    return system.momentum_rates(t, system.space.displace(q, e), jets, p, lams[0])


def shift(rows):
    return jnp.concatenate([rows[1:], jnp.zeros_like(rows[:1])])


# ---------------------------------------------------------------- what is shown of a node


class Nodal(NamedTuple):
    """What the discrete motion itself has at each row of a trajectory: r nodes and their momenta.

    They begin at the row; near the end of a two-point problem they are the last r.
    """

    P: Any  # their momenta, the components of Theta^+, shape (rows, r, dim)
    d: Any  # differences of the increments between them, shape (rows, r - 1, dim)
    ahead: Any  # how many steps the row is after the first of them, shape (rows,)


@dataclass(frozen=True)
class MomentumMap:
    """Theta^+(X) = sum_j P_j.X(q_j) over the r nodes of a row: what the discrete motion keeps
    exactly where X is a symmetry (004 section 8.4).

    It belongs to the middle of the nodes. From there to the row, tau earlier, it goes by its own
    rate, which for a symmetry is zero: so for every field the value is that of the row to second
    order in h.
    """

    X: Any

    def __call__(self, system, t, q, first, jets, lam, P, d, ahead, h):
        r = system.order
        nodes = [first]
        for x in combine(summation(r - 1), d) if r > 1 else ():
            nodes.append(system.space.retract(nodes[-1], x))
        theta = sum(jnp.sum(P[j] * self.X(nodes[j])) for j in range(r))
        return theta - ((r - 1) / 2 - ahead) * h * system.momentum_map_rate(self.X, t, q, jets, lam)


def seen_residual(unknowns, args):
    system, t, q, p, jets, tau = args
    n, r = system.space.dim, system.order
    full, moved = seen_at(system, t, q, p, jets, tau, unknowns)
    slope = system.slopes(t, q, full, unknowns[None, n:])[r]
    return jnp.concatenate([slope - moved[-1], system.Phi(t, q, full)])


def seen_at(system, t, q, p, jets, tau, unknowns):
    """(q', ..., q^(r)) and the momenta at t, from those at t + tau and q^(r), the first of the
    unknowns.
    """
    n = system.space.dim
    full = advanced(jnp.concatenate([jets, unknowns[None, :n]]), -tau)
    return full, p - tau * system.momentum_rates(t, q, full, p, unknowns[n:])


def seen_units(unknowns, J, args):
    system, _, _, p, _, _ = args
    n = system.space.dim
    own = newton.own_size(
        jnp.abs(p[-1]) + jnp.abs(seen_residual(jnp.zeros_like(unknowns), args)[:n]),
        jnp.diagonal(J)[:n],
    )
    return own + jnp.abs(unknowns[:n]), jnp.abs(unknowns[:n]) + 1.0


def seen(system, t, q, P, d, top, h, ahead):
    """(p, jets, lam) at a node: the momenta of Jacobi and Ostrogradsky, (q', ..., q^(r)) and the
    multipliers, all to second order in h.

    From r nodes with their momenta `P`, differences of increments `d` and a guess `top` of the next
    one; the node is `ahead` steps after the first of them. In the middle of the nodes derivatives
    up to q^(r-1) are those of the polynomial through them; from there to the node they go by
    Taylor's series and momenta by their equations of motion; q^(r) and lam are by the inverse
    Legendre transform, p_{r-1} = d(L + lam.Phi)/dq^(r) and Phi = 0.
    """
    r, n = system.order, system.space.dim
    tau = ((r - 1) / 2 - ahead) * h
    jets = derivatives(d, (r - 1) / 2, h) if r > 1 else d
    p = from_nodes(system.space, jets, h, P)
    guess = jnp.concatenate([top / h**r, jnp.zeros(system.multipliers)])
    found, _, converged = newton.root(
        seen_residual, seen_units, system.multipliers, guess, (system, t, q, p, jets, tau)
    )
    found = jnp.where(converged, found, jnp.nan)
    full, p = seen_at(system, t, q, p, jets, tau, found)
    return p, full, found[n:]
