"""The one step.

    p_k + D1 Ld(q_k, q_{k+1}) + Fd^- + h A(t_k, q_k)^T lam_k = 0        gives q_{k+1} (and lam_k)
    the discrete constraint of (q_k, q_{k+1}) = 0                       where there is one
    p_{k+1} = D2 Ld(q_k, q_{k+1}) + Fd^+

For a vakonomic system Ld is that of L + lam_k.Phi, and A is none.
"""  # fmt: skip

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from accion.discretise.pullback import action, variation
from accion.numerics import newton
from accion.numerics.products import written_out
from accion.systems import MechanicalLagrangian


class State(NamedTuple):
    """What is carried from step to step."""

    q: Any
    p: jax.Array
    c: jax.Array  # what compensated summation has not yet added to q
    x: jax.Array  # the last increment
    guess: jax.Array  # of the next unknowns
    # how many steps were solved; after one that was not, the rest of the state is NaN
    completed: jax.Array
    rates: Any = ()  # what a scheme carries besides
    # whether a step was refused because it led out of the chart of the retraction
    left: Any = np.False_
    changes: Any = ()  # of the increment, where the energy should be kept: see `energy.py`


class End(NamedTuple):
    """What a step leads to: its increment, momenta, a guess of the next unknowns, and what the
    scheme carries besides.
    """

    x: jax.Array
    p: jax.Array
    guess: jax.Array
    rates: Any


class Scheme(ABC):
    """How a system is stepped by a method, as the loop sees it.

    The unknowns are dim numbers for the motion, then the multipliers.
    """

    system: Any
    method: Any

    @abstractmethod
    def opening(self, t, h, q, q1) -> tuple[jax.Array, jax.Array]:
        """The increment of the first step and the momenta before it, where it is to lead to the
        configuration q1.
        """

    @abstractmethod
    def start(self, t, h, q, p, x, lam) -> State:
        """The state before the first step from (q, p), `x` and `lam` guesses of its increment (x/h
        is the velocity) and multipliers.
        """

    @abstractmethod
    def solve(self, state, t, h) -> newton.Root:
        """The unknowns of the step that starts at time `t`."""

    @abstractmethod
    def residual(self, unknowns, state, t, h) -> jax.Array:
        """What is left of its equations."""

    @abstractmethod
    def moved(self, unknowns, state, h) -> jax.Array:
        """h v of the motion that they stand for, where the step ends: what the chart of the
        retraction must hold.
        """

    @abstractmethod
    def end(self, unknowns, state, t, h) -> End:
        """Where it leads."""

    @abstractmethod
    def lagrangian(self, unknowns, state, t, h) -> jax.Array:
        """A value of the Lagrangian on the way, not finite where the motion cannot go."""

    @abstractmethod
    def obstacle(self, unknowns, state, t, h) -> str:
        """Why it cannot, in words."""

    @abstractmethod
    def kept(self, state) -> Any:
        """What is saved besides q, p and x: for a thermal system the energy that came from
        outside.
        """

    @abstractmethod
    def laws(self, state) -> Any:
        """What is known after the run of the laws that every step obeys."""


def balance(method, unknowns, args):
    """The equations of a step: the momentum balance at its start and, below it, the discrete
    constraint.

    `unknowns` are the increment and the multipliers. A force of constraint that depends on v takes
    the mean of the velocities before and after, `last` being the increment before.
    """
    system, t, h, q, p, last = args
    n, constraint = system.space.dim, system.constraint
    if constraint is None:
        return p + variation(system, method, t, h, q, unknowns)[0]
    x, lam = unknowns[:n], unknowns[n:]
    v = (last + x) / (2 * h)
    momentum = (
        p
        + variation(system, method, t, h, q, x, lam)[0]
        + h * constraint.reaction(system, t, q, v, lam)
    )
    samples = method.samples(system.space, t, h, q, x)
    return jnp.concatenate(
        [momentum, constraint.closure(system, samples, t + h, system.space.retract(q, x))]
    )


def units(method, unknowns, J, args):
    """The size of an increment that matters, and of the configuration it is added to, shapes
    (dim,).

    The first is sqrt(|Ld| / |dr/dx|), which is h sqrt(energy / mass): large enough where strong
    forces cancel, whatever the coordinates.
    """
    system, t, h, q, _, _ = args
    n = system.space.dim
    x = unknowns[:n]
    Ld = action(system, method, t, h, q, x, jnp.zeros_like(x), jnp.zeros_like(x))
    return jnp.sqrt(newton.own_size(jnp.abs(Ld), jnp.diagonal(J)[:n])), system.space.magnitude(q)


def depends(f, *args):
    """Whether the result of `f` depends on its last argument: by what is computed from what, not by
    values.
    """
    *fixed, last = args
    jaxpr = jax.make_jaxpr(lambda last: f(*fixed, last))(last).jaxpr
    reached = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(v, Literal) and v in reached for v in equation.invars):
            reached.update(equation.outvars)
    return any(v in reached for v in jaxpr.outvars if not isinstance(v, Literal))


def is_explicit(system, method):
    """Whether the momentum balance is linear in the increment, with the mass as its matrix: then no
    iteration is needed.

    So it is for a `mechanical` system without magnetic term and constraints, sampled only at the
    ends of the step, under no force or one of (t, q).
    """
    if (
        not isinstance(system.lagrangian, MechanicalLagrangian)
        or system.lagrangian.magnetic is not None
        or system.constraint is not None
    ):
        return False
    if method.nodes is None or any(c not in (0, 1) for _, c in method.nodes):
        return False
    return system.force is None or not depends(
        system.F, jnp.zeros(()), system.space.identity(), jnp.zeros(system.space.dim)
    )


def explicit_increment(system, method):
    """The increment from the momentum balance, which reads p + D1 Ld(x = 0) + Fd^- - (sum_i w_i
    weight(t_i)) M x / h = 0.
    """
    inertia = system.lagrangian.inertia(system.params)

    def increment(t, h, q, p, last, guess):
        weight = sum(w * system.lagrangian.w(t + c * h, system.params) for w, c in method.nodes)
        x = (
            h
            / weight
            * inertia.solve(balance(method, jnp.zeros_like(p), (system, t, h, q, p, last)))
        )
        return newton.Root(
            x, jnp.array(0), jnp.all(jnp.isfinite(x)) & (jnp.abs(weight) >= newton.TINY)
        )

    return increment


def implicit_increment(system, method):
    """The increment and the multipliers, by Newton's method."""

    def increment(t, h, q, p, last, guess):
        residual, size = written_out(partial(balance, method)), written_out(partial(units, method))
        return newton.root(residual, size, system.multipliers, guess, (system, t, h, q, p, last))

    return increment


def increments(system, method):
    """The function (t, h, q, p, last, guess) -> `newton.Root` that solves the equations of one
    step.
    """
    return (explicit_increment if is_explicit(system, method) else implicit_increment)(
        system, method
    )


class Mechanical(Scheme):
    """What the schemes of a `System`, which has no entropy, share."""

    def opening(self, t, h, q, q1):
        x = self.system.space.local(q, q1)
        return x, -variation(self.system, self.method, t, h, q, x)[0]

    def obstacle(self, unknowns, state, t, h):
        return (
            f"the Lagrangian is not finite where it leads, at the end of the increment {unknowns}"
        )

    def kept(self, state):
        return ()

    def laws(self, state):
        return None


@dataclass(frozen=True)
class Variational(Mechanical):
    """The step of a variational method."""

    system: Any
    method: Any

    def start(self, t, h, q, p, x, lam):
        return State(q, p, jnp.zeros_like(x), x, jnp.concatenate([x, lam]), jnp.array(0))

    def solve(self, state, t, h):
        return increments(self.system, self.method)(t, h, state.q, state.p, state.x, state.guess)

    def residual(self, unknowns, state, t, h):
        return balance(self.method, unknowns, (self.system, t, h, state.q, state.p, state.x))

    def moved(self, unknowns, state, h):
        return self.system.space.stretched(unknowns[: self.system.space.dim])

    def end(self, unknowns, state, t, h):
        n = self.system.space.dim
        x, lam = unknowns[:n], unknowns[n:]
        p = variation(self.system, self.method, t, h, state.q, x, lam)[1]
        # Increments are smooth in time: extrapolated, they are right to O(h^3). Multipliers enter
        # linearly and need no better guess.
        return End(x, p, jnp.concatenate([2 * x - state.x, lam]), ())

    def lagrangian(self, unknowns, state, t, h):
        x = unknowns[: self.system.space.dim]
        return action(
            self.system, self.method, t, h, state.q, x, jnp.zeros_like(x), jnp.zeros_like(x)
        )


def stepper(scheme):
    """The function (state, t, h) -> (state, iterations) that makes one step.

    A step that is not solved, and all after it, give NaN.
    """
    space = scheme.system.step_space

    def step(state, t, h):
        unknowns, iterations, converged = scheme.solve(state, t, h)
        # A Lagrangian may be undefined where its derivatives are not, beyond a logarithm's pole for
        # one.
        ok = converged & jnp.isfinite(written_out(scheme.lagrangian)(unknowns, state, t, h))
        left = state.left
        if not space.flat:
            within = space.within(scheme.moved(unknowns, state, h))
            ok, left = ok & within, left | (ok & ~within)
        # NaN goes on by itself: into p and into the next guess, where Newton stops at once; into a
        # q that was known before the step it does not.
        unknowns = unknowns.at[: space.dim].set(jnp.where(ok, unknowns[: space.dim], jnp.nan))
        end = written_out(scheme.end)(unknowns, state, t, h)
        q, c = space.accumulate(state.q, state.c, end.x)
        q = jax.tree.map(lambda a: jnp.where(ok, a, jnp.nan), q)
        return (
            State(
                q, end.p, c, end.x, end.guess, state.completed + ok, end.rates, left, state.changes
            ),
            iterations,
        )

    return step
