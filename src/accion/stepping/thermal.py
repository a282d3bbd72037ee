"""Steps of thermomechanical systems.

    p_k + D1 Ld(z_k, z_{k+1}) + Fd^- = 0        rho_d(z_k, z_{k+1}) = 0        give z_{k+1} = (q_{k+1}, S_{k+1})
    p_{k+1} = D2 Ld(z_k, z_{k+1}) + Fd^+                                      (001 eq 3.14)
"""  # fmt: skip

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise.pullback import action, gradient, variation
from accion.methods import EnergyConsistent
from accion.numerics import newton
from accion.numerics.products import written_out
from accion.stepping.variational import End, Scheme, State
from accion.systems import DiscreteThermalSystem
from accion.systems.constraints import sampled

LARGE = 1e8  # times the energy that moves: a body with more than that is a bath
AMONG = 1e-3  # of the heat that flows, below which what comes from outside counts as little


class Exchange(NamedTuple):
    """What a step exchanges, sampled as the step is."""

    # energy from outside: external work, heat, and what L's own dependence on time brings
    supply: Any
    heat: Any  # into each body, shape (m,)
    dissipation: Any  # into each body, shape (m,)
    friction: Any  # h |F_fr| |v|, what dissipation is measured by, shape (m,)
    T: Any  # h times the temperatures, shape (m,)


class Discretised(ABC):
    """A discrete thermomechanical system (001 Def 3.12), as its step sees it: functions of the
    start z and the increment x.
    """

    system: Any

    @abstractmethod
    def action(self, t, h, z, x) -> jax.Array:
        """Ld."""

    @abstractmethod
    def gradient(self, t, h, z, x) -> tuple[jax.Array, jax.Array]:
        """((D1 Ld, D3 Ld), (D2 Ld, D4 Ld)), each of shape (dim + m,)."""

    @abstractmethod
    def variation(self, t, h, z, x) -> tuple[jax.Array, jax.Array]:
        """((D1 Ld + Fd^-, D3 Ld), (D2 Ld + Fd^+, D4 Ld)), each of shape (dim + m,)."""

    @abstractmethod
    def rho(self, t, h, z, x) -> Any:
        """The discrete entropy balance, shape (m,)."""

    @abstractmethod
    def exchange(self, t, h, z, x) -> Exchange:
        """What is exchanged."""

    @abstractmethod
    def energy(self, t, z, v) -> jax.Array:
        """E at a point, zero where there is none."""

    @abstractmethod
    def cold(self, t, h, z, x) -> jax.Array:
        """Which temperatures are not positive at the end of the step, shape (m,)."""


@dataclass(frozen=True)
class Sampled(Discretised):
    """What a method makes of a continuous system (001 eq 3.16-3.19)."""

    system: Any
    method: Any

    def action(self, t, h, z, x):
        return action(
            self.system.whole, self.method, t, h, z, x, jnp.zeros_like(x), jnp.zeros_like(x)
        )

    def gradient(self, t, h, z, x):
        return gradient(action, self.system.whole, self.method, t, h, z, x)

    def variation(self, t, h, z, x):
        return variation(self.system.whole, self.method, t, h, z, x)

    def samples(self, t, h, z, x):
        return self.method.samples(self.system.step_space, t, h, z, x)

    def rho(self, t, h, z, x):
        return sampled(self.system.rho, self.samples(t, h, z, x))

    def exchange(self, t, h, z, x):
        n, samples = self.system.space.dim, self.samples(t, h, z, x)
        parts = (
            self.system.supply,
            self.system.heating,
            self.system.dissipation,
            self.system.friction_size,
            self.system.temperature,
        )
        return Exchange(*(h * sampled(lambda t, z, w, f=f: f(t, z, w[:n]), samples) for f in parts))

    def energy(self, t, z, v):
        return self.system.energy(t, z, v)

    def cold(self, t, h, z, x):
        n = self.system.space.dim
        return ~(
            self.system.temperature(t + h, self.system.step_space.retract(z, x), x[:n] / h) > 0
        )


@dataclass(frozen=True)
class Given(Discretised):
    """One that is given in discrete time."""

    system: DiscreteThermalSystem

    def ends(self, z, x, e0, e1):
        space = self.system.step_space
        return space.displace(z, e0), space.displace(space.retract(z, x), e1)

    def read(self, f, t, h, z, x, e0, e1):
        return self.system.evaluate(f, t, h, *self.ends(z, x, e0, e1))

    def action(self, t, h, z, x):
        return self.read(self.system.lagrangian, t, h, z, x, jnp.zeros_like(x), jnp.zeros_like(x))

    def gradient(self, t, h, z, x):
        zero = jnp.zeros_like(x)
        return jax.grad(
            lambda e0, e1: self.read(self.system.lagrangian, t, h, z, x, e0, e1), (0, 1)
        )(zero, zero)

    def variation(self, t, h, z, x):
        zero, n = jnp.zeros_like(x), self.system.space.dim
        minus, plus = self.gradient(t, h, z, x)
        for f in (self.system.friction, self.system.external):
            if f is not None:
                force_minus, force_plus = self.read(f, t, h, z, x, zero, zero)
                minus, plus = minus.at[:n].add(force_minus), plus.at[:n].add(force_plus)
        return minus, plus

    def rho(self, t, h, z, x):
        value = self.read(self.system.kinematic, t, h, z, x, jnp.zeros_like(x), jnp.zeros_like(x))
        return jnp.reshape(value, (self.system.frame.m,))

    def exchange(self, t, h, z, x):
        nothing = jnp.zeros(self.system.frame.m)
        return Exchange(jnp.zeros(()), nothing, nothing, nothing, nothing + h)

    def energy(self, t, z, v):
        return jnp.zeros(())

    def cold(self, t, h, z, x):
        return jnp.zeros(self.system.frame.m, dtype=bool)


def discretised(system, method) -> Discretised:
    """The discrete system that is stepped."""
    return Given(system) if isinstance(system, DiscreteThermalSystem) else Sampled(system, method)


class Laws(NamedTuple):
    """What is written down of every step, for the two laws; steps are counted from 0."""

    energy: Any  # at the start
    supplied: Any  # energy from outside, so far
    # change of the total entropy, without what net cooling can take, in a step with (nearly) no
    # heat from outside
    least: Any
    least_step: Any
    push: Any  # the largest energy that friction gave in a step; friction takes it
    push_step: Any
    friction: Any  # the largest h |F_fr| |v|


def opened(energy):
    """Before the first step."""
    return Laws(
        energy,
        jnp.zeros(()),
        jnp.array(jnp.inf),
        jnp.array(-1),
        jnp.array(-jnp.inf),
        jnp.array(-1),
        jnp.zeros(()),
    )


def written(laws, exchange, h, change, step):
    """The laws with one more step, in which the entropies changed by `change`, shape (m,)."""
    net = jnp.sum(exchange.heat)
    # Where much heat comes from outside, from where is not known, and nothing can be said about the
    # entropy of these bodies alone.
    alone = jnp.abs(net) <= AMONG * jnp.sum(jnp.abs(exchange.heat))
    total = jnp.where(
        alone, jnp.sum(change) + jnp.maximum(-net, 0.0) / jnp.min(exchange.T / h), jnp.inf
    )
    push = jnp.max(-exchange.dissipation)
    less, more = total < laws.least, push > laws.push
    return laws._replace(
        supplied=laws.supplied + exchange.supply,
        least=jnp.where(less, total, laws.least),
        least_step=jnp.where(less, step, laws.least_step),
        push=jnp.where(more, push, laws.push),
        push_step=jnp.where(more, step, laws.push_step),
        friction=jnp.maximum(laws.friction, jnp.max(exchange.friction)),
    )


class Hypotheses(NamedTuple):
    """What the equations of motion rest on, at the start of a run (001 Lemmas 3.8 and 3.15)."""

    T: Any  # temperatures, NaN for a system given in discrete time
    D3: Any  # D3 Ld
    D4: Any  # D4 Ld


def hypotheses(system, method, t, h, state):
    n, m = system.space.dim, system.frame.m
    minus, plus = discretised(system, method).variation(t, h, state.q, state.x)
    T = (
        jnp.full(m, jnp.nan)
        if isinstance(system, DiscreteThermalSystem)
        else system.temperature(t, state.q, state.x[:n] / h)
    )
    return Hypotheses(T, minus[n:], plus[n:])


def check_hypotheses(system, known):
    """Raise ValueError where a hypothesis does not hold, by name; of an ensemble the first member
    is looked at.
    """
    T, D3, D4 = (np.asarray(a).reshape(-1, system.frame.m)[0] for a in known)
    if not isinstance(system, DiscreteThermalSystem):
        check_temperatures(system, T)
    for name, minus, plus in zip(system.frame.names, D3, D4, strict=True):
        if minus == 0 and plus == 0:
            raise ValueError(
                f"D3 Ld and D4 Ld, the derivatives of the discrete Lagrangian by {name}, are both"
                " zero at the start: the equations of 001 Thm 3.17 need one of them (Lemma 3.15)."
                " The Lagrangian must depend on the entropy."
            )


def check_temperatures(system, T):
    """Raise ValueError where a temperature at the start is not positive."""
    for name, temperature in zip(system.frame.names, np.asarray(T), strict=True):
        if not temperature > 0:
            raise ValueError(
                f"the temperature T = -dL/dS that belongs to {name} is {temperature:.6g} at the"
                " start; it must be positive, or friction cannot heat (001 Lemma 3.8). Is the"
                " internal energy in L with a minus sign, L = K - U(S), and does U grow with S?"
            )


# ---------------------------------------------------------------- the equations


def balance(form, unknowns, args):
    """The momentum balance at the start of the step and, below it, the discrete entropy balance;
    `form(system)` is the discrete system.
    """
    system, t, h, z, p = args
    pieces = form(system)
    return jnp.concatenate(
        [
            p + pieces.variation(t, h, z, unknowns)[0][: system.space.dim],
            pieces.rho(t, h, z, unknowns),
        ]
    )


def units(form, unknowns, J, args):
    """Of q as for any system; of S the energy over the temperature, which is what dr/dS holds."""
    system, t, h, z, _ = args
    n, m = system.space.dim, system.frame.m
    x = unknowns[: n + m]
    Ld = jnp.abs(form(system).action(t, h, z, x))
    diagonal = jnp.abs(jnp.diagonal(J)[: n + m]) + newton.TINY
    own = jnp.concatenate([jnp.sqrt(Ld / diagonal[:n]), Ld / (h**2 * diagonal[n:])])
    return jnp.where(jnp.isfinite(own), own, 0.0), system.step_space.magnitude(z)


def energy_balance(method, unknowns, args):
    """As `balance`, with the entropy balances off by a power `e`, shared as the heat capacities
    are, such that the energy at the end is right.

    Unknown besides x are the velocity `v` at the end and `e`.
    """
    system, t, h, z, p, energy, C = args
    n, m = system.space.dim, system.frame.m
    x, v, e = unknowns[: n + m], unknowns[n + m : -1], unknowns[-1]
    pieces = Sampled(system, method)
    minus, plus = pieces.variation(t, h, z, x)
    end = system.step_space.retract(z, x)
    legendre = system.momentum(t + h, end, v) - plus[:n]
    target = energy + pieces.exchange(t, h, z, x).supply
    first_law = system.energy(t + h, end, v) - target
    return jnp.concatenate(
        [p + minus[:n], pieces.rho(t, h, z, x) - C / jnp.sum(C) * e, legendre, first_law[None]]
    )


def energy_units(method, unknowns, J, args):
    """As `units`; the energy is rounded as C T is, the energy that the entropies hold, also where L
    has it cancelled by a constant.
    """
    own, beside = units(lambda system: Sampled(system, method), unknowns, J, args[:5])
    n, C = args[0].space.dim, args[-1]
    return own.at[n:].set(jnp.maximum(own[n:], jnp.minimum(C, LARGE * own[n:]))), beside


def entropy_residual(form, dS, args):
    system, t, h, z, x = args
    return form(system).rho(t, h, z, x.at[system.space.dim :].set(dS))


def entropy_units(form, dS, J, args):
    system, t, h, z, x = args
    own = jnp.abs(form(system).action(t, h, z, x)) / (
        h**2 * (jnp.abs(jnp.diagonal(J)) + newton.TINY)
    )
    return own, jnp.abs(z[-1])


def entropy_change(form, args):
    """The increment x = (dq, dS) of a step whose dq is given: dS from the discrete entropy balance,
    NaN where there is none.
    """
    n, x = args[0].space.dim, args[-1]
    dS, _, converged = newton.root(
        partial(entropy_residual, form), partial(entropy_units, form), 0, x[n:], args
    )
    return x.at[n:].set(jnp.where(converged, dS, jnp.nan))


# ---------------------------------------------------------------- the schemes


@dataclass(frozen=True)
class Thermal(Scheme):
    """The step of a thermomechanical system, by the entropy balance or, with `EnergyConsistent`, by
    that of the energy.

    The second has the velocity at the end and the power `e` as further unknowns.
    """

    system: Any
    method: Any

    @property
    def pieces(self):
        return discretised(self.system, self.method)

    @property
    def consistent(self):
        return isinstance(self.method, EnergyConsistent)

    def increment(self, unknowns):
        return unknowns[: self.system.space.dim + self.system.frame.m]

    def opening(self, t, h, q, q1):
        if self.consistent:
            raise ValueError(
                "EnergyConsistent starts from v0 or p0: with q1 the energy that is to be kept is"
                " not known."
            )
        n, m = self.system.space.dim, self.system.frame.m
        x = jnp.concatenate(
            [self.system.space.local(self.system.frame.parts(q)[0], q1), jnp.zeros(m)]
        )
        x = entropy_change(partial(discretised, method=self.method), (self.system, t, h, q, x))
        return x, -self.pieces.variation(t, h, q, x)[0][:n]

    def start(self, t, h, q, p, x, lam):
        v = x[: self.system.space.dim] / h
        guess = jnp.concatenate([x, v, jnp.zeros(1)]) if self.consistent else x
        return State(
            q, p, jnp.zeros_like(x), x, guess, jnp.array(0), opened(self.pieces.energy(t, q, v))
        )

    def equations(self, state, t, h):
        """(residual, units, how many unknowns are held, arguments) of `newton.root`."""
        args = (self.system, t, h, state.q, state.p)
        if not self.consistent:
            form = partial(discretised, method=self.method)
            return partial(balance, form), partial(units, form), 0, args
        n, laws = self.system.space.dim, state.rates
        C = self.system.capacities(t, state.q, state.x[:n] / h)
        return (
            partial(energy_balance, self.method),
            partial(energy_units, self.method),
            n + 1,
            (*args, laws.energy + laws.supplied, C),
        )

    def solve(self, state, t, h):
        residual, size, held, args = self.equations(state, t, h)
        return newton.root(written_out(residual), written_out(size), held, state.guess, args)

    def residual(self, unknowns, state, t, h):
        residual, _, _, args = self.equations(state, t, h)
        return residual(unknowns, args)

    def moved(self, unknowns, state, h):
        return self.system.step_space.stretched(self.increment(unknowns))

    def end(self, unknowns, state, t, h):
        n, x = self.system.space.dim, self.increment(unknowns)
        p = self.pieces.variation(t, h, state.q, x)[1][:n]
        laws = written(
            state.rates, self.pieces.exchange(t, h, state.q, x), h, x[n:], state.completed
        )
        return End(x, p, jnp.concatenate([2 * x - state.x, unknowns[len(x) :]]), laws)

    def lagrangian(self, unknowns, state, t, h):
        x = self.increment(unknowns)
        return jnp.where(
            jnp.any(self.pieces.cold(t, h, state.q, x)),
            jnp.nan,
            self.pieces.action(t, h, state.q, x),
        )

    def obstacle(self, unknowns, state, t, h):
        return cold_words(self.pieces, self.increment(unknowns), state, t, h)

    def kept(self, state):
        return state.rates.supplied

    def laws(self, state):
        return state.rates


def cold_words(pieces, x, state, t, h):
    """What is in the way of a step whose equations were solved."""
    frame = pieces.system.frame
    cold = [
        name for name, flag in zip(frame.names, pieces.cold(t, h, state.q, x), strict=True) if flag
    ]
    if not cold:
        return f"the Lagrangian is not finite where it leads, at the end of the increment {x}"
    return (
        f"the temperature T = -dL/dS that belongs to {', '.join(cold)} is not positive where it"
        " leads. Is more heat taken out than there is, or has L the wrong sign of the internal"
        " energy (L = K - U)?"
    )
