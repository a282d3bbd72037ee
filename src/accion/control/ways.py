"""The ways between W1 and the faces without controls, at one instant; see `canonical`."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.control.elimination import Elimination, force_balance
from accion.control.flow import flow
from accion.control.hamiltonian import Hamiltonian
from accion.discretise import discretise
from accion.discretise.forms import theta_minus
from accion.engines.auto import small_jit
from accion.engines.xla import kept_jit
from accion.instant.constrained import inertia_and_force
from accion.numerics import newton
from accion.stepping.nodal import from_nodes, to_nodes
from accion.stepping.windows import next_window
from accion.systems import DiscreteSystem, HigherOrderSystem, System
from accion.types import Array, Configuration, Covector, Function, Scalar, Vector


class Jets(NamedTuple):
    """A point of the vakonomic face: (q', q'', q''') and (lam, lam')."""

    jets: Array
    lams: Array


@dataclass(frozen=True)
class ToJets:
    """(v, a, a') and (lam, lam') of a point on W1, the last of each by the canonical equations."""

    hamiltonian: Hamiltonian
    eliminated: Elimination

    def __call__(
        self, system: System, t: Scalar, q: Configuration, v: Vector, p: Covector, guess: Array
    ) -> Jets:
        t, zero = jnp.asarray(t, dtype=float), jnp.zeros_like(v)
        y = (q, v, p[0], p[1], jnp.zeros(()))
        _, a, _, dp1, _ = self.hamiltonian.rates(system, guess, t, y)

        def found(t: Scalar, e: Vector, v: Vector, p1: Covector) -> tuple[Array, Array]:
            moved = system.space.displace(q, e)
            u = self.hamiltonian.control(system, t, moved, v, p1, guess)
            M, _ = inertia_and_force(system, t, moved, v, None)
            slope = newton.solve(M, p1)
            lam = self.eliminated.by_constraint(t, moved, system.params, slope)
            return self.hamiltonian.acceleration(system, t, moved, v, u), lam

        here, along = (t, zero, v, p[1]), (jnp.ones(()), v, a, dp1)
        (a, lam), (jerk, rate) = jax.jvp(found, here, along)
        return Jets(jnp.stack([v, a, jerk]), jnp.stack([lam, rate]))


def momenta_of(
    system: HigherOrderSystem, t: Scalar, q: Configuration, jets: Array, lams: Array
) -> Array:
    """The momenta of Jacobi and Ostrogradsky, shape (2, dim)."""
    return system.momenta(t, q, jets, lams)


@dataclass(frozen=True)
class OfControl:
    """(u, H, dH/du, d2H/du2) at a point of W1."""

    hamiltonian: Hamiltonian

    def __call__(
        self, system: System, t: Scalar, q: Configuration, v: Vector, p: Covector, guess: Array
    ) -> tuple[Array, Array, Array, Array]:
        return self.hamiltonian.of_control(system, t, q, v, p[0], p[1], guess)


@dataclass(frozen=True)
class ControlOf:
    """The control that an acceleration asks for."""

    eliminated: Elimination

    def __call__(self, system: System, t: Scalar, q: Configuration, v: Vector, a: Vector) -> Array:
        E = force_balance(system, t, q, v, a)
        return self.eliminated.split(t, q, system.params, E)[0]


@dataclass(frozen=True)
class RunningCostOf:
    """C(t, q, v, u)."""

    cost: Function

    def __call__(self, system: System, t: Scalar, q: Configuration, v: Vector, u: Array) -> Scalar:
        return self.cost(t, q, v, u, system.params)


# ---------------------------------------------------------------- two nodes and their middle


def pair_of(system: Any, h: Scalar, q: Configuration, v: Vector) -> tuple[Any, Any]:
    """The two nodes, h apart, of which (q, v) is the middle."""
    first = system.space.retract(q, -h / 2 * v)
    return first, system.space.retract(first, h * v)


def middle_of(
    system: Any, h: Scalar, q0: Configuration, q1: Configuration, P: Array
) -> tuple[Any, Array, Array]:
    """(q, v, costates) in the middle of two nodes, from their momenta P, shape (2, dim)."""
    x = system.space.local(q0, q1)
    p = from_nodes(system.space, x[None] / h, h, P)
    return system.space.retract(q0, x / 2), x / h, p


@small_jit
def first_pair(
    system: DiscreteSystem, h: Scalar, q: Configuration, v: Vector, p: Covector
) -> tuple[Any, Any, Array]:
    """The two nodes of which (q, v) with the costates `p` is the middle, and their momenta."""
    return *pair_of(system, h, q, v), to_nodes(system.space, v[None], h, p)


@small_jit
def window_after(
    system: DiscreteSystem,
    t: Scalar,
    h: Scalar,
    q: Configuration,
    last: Configuration,
    P: Array,
    d: Array,
    guess: Array,
) -> tuple[Any, Array, Array, Array, Array]:
    """(next node, its momenta with the one before, their increment, what was found, whether it
    was) of the window from the nodes q and `last`, with momenta P and increment d.
    """
    n = system.space.dim
    found = next_window(system, None, t, h, q, P, d, guess)
    window = jnp.concatenate([d, found.x[None, :n]])
    G = discretise(system, None).variation(t, h, q, window, found.x[n:]).end
    x = window[:-1] + window[1:]
    after = system.space.retract(last, x[0])
    return after, G.at[:-1].add(P[1:]), x, found.x, found.converged


def nodes_from(
    system: DiscreteSystem, t: Scalar, h: Scalar, q: Configuration, p: Covector, jets: Jets
) -> tuple[list[Any], Array, Array]:
    """(four nodes, the multipliers of their two windows, whether they were found), of which the
    middle of the first two is (q, v) with the costates `p`, at t + h/2.
    """
    v, a, _ = jets.jets
    first, second, P = first_pair(system, h, q, v, p)
    nodes, lams, good = [first, second], [], jnp.array(True)
    d, guess = h * v[None], jnp.concatenate([h**2 * a, jets.lams[0]])
    for k in range(2):
        window = (t + k * h, h, *nodes[-2:], P, d, guess)
        after, P, d, guess, converged = window_after(system, *window)
        nodes.append(after)
        lams.append(guess[len(v) :])
        good = good & converged
    return nodes, jnp.stack(lams), good


@small_jit
def middle_from(
    system: DiscreteSystem, t: Scalar, h: Scalar, nodes: Any, lams: Array
) -> tuple[Any, Array, Array]:
    """(q, v, costates) in the middle of the first two of four nodes, whose windows have the
    multipliers `lams`.
    """
    P = -theta_minus(discretise(system, None), t, h, nodes, lams)
    return middle_of(system, h, nodes[0], nodes[1], P)


def middle_at(
    system: DiscreteSystem, t: Scalar, q0: Configuration, q1: Configuration, P: Array, h: Scalar
) -> tuple[Any, Array, Array]:
    """`middle_of` at a time of a trajectory."""
    return middle_of(system, h, q0, q1, P)


def window_action(
    system: DiscreteSystem,
    t: Scalar,
    q0: Configuration,
    q1: Configuration,
    q2: Configuration,
    h: Scalar,
) -> Scalar:
    """Ld of a window."""
    return system.Ld(t, h, (q0, q1, q2))


# ---------------------------------------------------------------- the flow


@partial(kept_jit, static_argnums=(0, 1))
def marched(
    hamiltonian: Hamiltonian,
    steps: int,
    system: System,
    t0: Scalar,
    h: Scalar,
    y0: Any,
    guess: Array,
    substeps: int,
) -> tuple[Any, Array]:
    """(y, u) at steps + 1 times, y = (q, v, p0, p1, cost), by the flow of order 8; each control is
    found from the one before.
    """

    def control(t: Scalar, y: Any, guess: Array) -> Array:
        q, v, _, p1, _ = y
        return hamiltonian.control(system, t, q, v, p1, guess)

    def interval(state: Any, k: Array) -> tuple[Any, Any]:
        y, u = state
        y = flow(partial(hamiltonian.rates, system, u), t0 + k * h, y, h, substeps)
        state = y, control(t0 + (k + 1) * h, y, u)
        return state, state

    first = y0, control(t0, y0, guess)
    _, rows = jax.lax.scan(interval, first, jnp.arange(steps, dtype=float))
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rows)
