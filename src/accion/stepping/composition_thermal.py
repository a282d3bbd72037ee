"""Compositions of steps of thermal systems: both laws are judged for whole steps."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.discretise import discretise
from accion.discretise.thermal import Exchange
from accion.methods import Composition
from accion.numerics import newton
from accion.stepping.base import State, remembered, steps
from accion.stepping.composition import ByStages
from accion.stepping.laws import written
from accion.systems import Start, ThermalSystem
from accion.types import Array, Configuration, Scalar, Vector


class Total(NamedTuple):
    """What a step exchanges, and by how much the entropies change in it."""

    exchange: Exchange
    change: Array


@steps(ThermalSystem, Composition)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ComposedThermal(ByStages):
    """A composition of steps of a thermomechanical system."""

    system: ThermalSystem
    method: Composition = field(metadata={"static": True})

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        self.method.check(self.system)  # once more: now it is known how many entropies there are
        state, known = self.begun(t, h, start)
        v = state.x[: self.system.space.dim] / h
        rate = fastest(self.system, t, state.q, v)
        return state, known._replace(stiff=h * rate / self.method.reach)

    def nothing(self, state: State) -> Any:
        m = self.system.frame.m
        none, each = jnp.zeros(()), jnp.zeros(m)
        return Total(Exchange(none, each, each, each, each), each)

    def added(self, total: Any, state: State, after: State, t: Scalar, h: Scalar) -> Any:
        n = self.system.space.dim
        form: Any = discretise(self.system, self.method.method)
        one = Total(form.exchange(t, h, state.q, after.x), after.x[n:])
        return jax.tree.map(jnp.add, total, one)

    def closed(self, before: State, after: State, total: Any, h: Scalar, ok: Array) -> State:
        laws = written(before.memory, total.exchange, h, total.change, before.completed)
        laws = laws._replace(supplied=after.memory.supplied)
        return after._replace(memory=remembered(laws, before.memory, ok))

    def watched(self, before: State, after: State) -> State:
        return after


def fastest(system: ThermalSystem, t: Scalar, z: Configuration, v: Vector) -> Scalar:
    """The largest rate, or a little more, at which friction and conduction act at a point.

    Of each the root of the sum of the squares of its rates, by the trace of the square of the
    matrix whose eigenvalues they are: so it does not depend on units.
    """
    n, m, step_space = system.space.dim, system.frame.m, system.step_space

    def moved(S: Array) -> Configuration:
        return step_space.displace(z, jnp.concatenate([jnp.zeros(n), S]))

    heat = jax.jacfwd(lambda S: system.entropy_rates(t, moved(S), v))(jnp.zeros(m))
    force = jax.jacfwd(lambda v: system.whole.F(t, z, jnp.concatenate([v, jnp.zeros(m)]))[:n])(v)
    H = system.hessian(t, z, v)
    damping = jax.vmap(lambda column: newton.solve(H, column), 1, 1)(force) if n else force
    return jnp.maximum(*(jnp.sqrt(jnp.maximum(jnp.sum(J * J.T), 0.0)) for J in (heat, damping)))
