"""A run of a campaign at one time, as reductions see it: the channels that a trajectory shows."""

from functools import cached_property, singledispatch
from typing import Any

import jax.numpy as jnp

from accion.instant import constrained
from accion.results.channels import labels, value_of
from accion.stepping import higher
from accion.stepping.higher import Nodal
from accion.stepping.thermal import Laws
from accion.systems import Entropic, HigherOrderSystem
from accion.types import Array, Configuration, Multipliers, Params, Scalar, Vector


class Moment:
    """A run at one time: `t`, `params`, and the channels of its system: `q`, `p`, `v`, `energy`,
    `lam`, `S`, `T`, `supplied`, `jets`, `iterations`; None where there is none.

    What costs something is computed only where it is asked for.
    """

    def __init__(self, system: Any, t: Scalar, h: Scalar, state: Any, iterations: Array):
        self.system, self.t, self.iterations = system, t, iterations
        self.params: Params = system.params
        self.labels = labels(system)
        self.motion = motion(system, t, h, state)

    def value(self, name: str) -> Any:
        """The value of the channel called `name`, of a Product's "q" a tuple; None where this
        system has none.
        """
        if name == "iterations":
            return self.iterations
        return value_of(self.motion, name) if name == "q" or name in self.labels else None

    @property
    def q(self) -> Configuration:
        """The configuration."""
        return self.value("q")

    @property
    def p(self) -> Array:
        """Momenta, on the constraint where there is one."""
        return self.value("p")

    @property
    def v(self) -> Vector:
        """Velocity, by the inverse Legendre transform."""
        return self.value("v")

    @property
    def energy(self) -> Array:
        """E = p.v - L; of a system of order r, sum_s p_s.q^(s+1) - L."""
        return self.value("energy")

    @property
    def lam(self) -> Multipliers | None:
        """Multipliers, the forces of constraint."""
        return self.value("lam")

    @property
    def S(self) -> Array | None:
        """Entropies."""
        return self.value("S")

    @property
    def T(self) -> Array | None:
        """Temperatures -dL/dS."""
        return self.value("T")

    @property
    def supplied(self) -> Array | None:
        """The energy that came from outside since the start."""
        return self.value("supplied")

    @property
    def jets(self) -> Array | None:
        """q', ..., q^(r) of a system of order r."""
        return self.value("jets")

    @property
    def rest(self) -> tuple[Any, ...]:
        """The arguments of the Lagrangian after (t, q, v)."""
        return self.motion.rest


@singledispatch
def motion(system: Any, t: Scalar, h: Scalar, state: Any) -> Any:
    """The channels of a run whose `state` is at time `t`, computed when they are asked for."""
    return Mechanical(system, t, h, state)


class Mechanical:
    """Of a `System`."""

    def __init__(self, system: Any, t: Scalar, h: Scalar, state: Any):
        self.system, self.t, self.q, self.momenta = system, t, state.q, state.p
        self.guess = state.x / h

    @cached_property
    def node(self) -> tuple[Any, Any, Any]:
        """(v, p, lam) on the constraint."""
        return constrained.node(self.system, self.t, self.q, self.momenta, self.guess)

    @property
    def p(self) -> Array:
        return self.momenta if self.system.constraint is None else self.node[1]

    @property
    def lam(self) -> Multipliers | None:
        return None if self.system.constraint is None else self.node[2]

    @cached_property
    def v(self) -> Vector:
        if self.system.constraint is not None:
            return self.node[0]
        return self.system.velocity(self.t, self.q, self.p, self.guess)

    @cached_property
    def energy(self) -> Scalar:
        lam = self.lam if self.system.vakonomic is not None else None
        return self.system.energy(self.t, self.q, self.v, lam)

    @property
    def rest(self) -> tuple[Any, ...]:
        return (self.system.params,)


class Thermal:
    """Of a system with entropies."""

    lam = None

    def __init__(self, system: Any, t: Scalar, h: Scalar, state: Any):
        self.system, self.t, self.z, self.p = system, t, state.q, state.p
        self.q, self.S = system.apart(state.q)
        self.guess = state.x[: system.space.dim] / h
        self.laws: Laws = state.rates
        self.supplied = self.laws.supplied

    @cached_property
    def v(self) -> Vector:
        return self.system.velocity(self.t, self.z, self.p, self.guess)

    @cached_property
    def energy(self) -> Scalar:
        return self.system.energy(self.t, self.z, self.v)

    @cached_property
    def T(self) -> Array:
        return self.system.frame.shown(self.system.temperature(self.t, self.z, self.v))

    @property
    def rest(self) -> tuple[Any, ...]:
        return (self.S, self.system.params)


class HigherOrder:
    """Of a system of order r: `p` and `jets`, shape (r, dim), are what a `Trajectory` shows."""

    def __init__(self, system: HigherOrderSystem, t: Scalar, h: Scalar, state: Any):
        self.system, self.t, self.h, self.q, self.state = system, t, h, state.q, state

    @cached_property
    def at_node(self) -> tuple[Any, Any, Any]:
        """(p, jets, lam)."""
        d, top = self.state.rates
        return higher.seen(self.system, self.t, self.q, self.state.p, d, top, self.h, 0.0)

    @property
    def p(self) -> Array:
        return self.at_node[0]

    @property
    def jets(self) -> Array:
        return self.at_node[1]

    @property
    def v(self) -> Vector:
        return self.jets[0]

    @property
    def lam(self) -> Multipliers | None:
        return self.at_node[2] if self.system.multipliers else None

    @cached_property
    def energy(self) -> Scalar:
        return self.system.energy_of(self.t, self.q, self.jets, self.p)

    @property
    def nodal(self) -> Nodal:
        return Nodal(self.state.p, self.state.rates[0], jnp.zeros(()))

    @property
    def rest(self) -> tuple[Any, ...]:
        return (*self.jets[1:], self.system.params)


motion.register(Entropic, Thermal)
motion.register(HigherOrderSystem, HigherOrder)
