"""Steps of a thermal system that keep the energy, by `EnergyConsistent`."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise
from accion.methods import EnergyConsistent
from accion.numerics import following
from accion.stepping.base import steps
from accion.stepping.thermal import LARGE, ContinuousThermal, SampledThermal
from accion.systems import ThermalSystem
from accion.types import Configuration, Scalar, Vector


@dataclass(frozen=True)
class EnergyEquations(following.StepEquations):
    """The equations of a step, with the entropy balances off by a power `e`, shared as the heat
    capacities are, such that the energy at the end is right.

    Unknown besides x are the velocity `v` at the end and `e`; the arguments are (system, t, h, z,
    p, energy, C), with the energy before the step and the heat capacities.
    """

    method: Any
    multipliers: int

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, h, z, p, energy, C = args
        form: Any = discretise(system, self.method)
        count = form.blocks.moved
        x, v, e = unknowns[:count], unknowns[count:-1], unknowns[-1]
        both = form.variation(t, h, z, x)
        end = system.step_space.retract(z, x)
        legendre = system.legendre(t + h, end, v) - both.end
        target = energy + form.exchange(t, h, z, x).supply
        first_law = system.energy(t + h, end, v) - target
        balance = form.closure(t, h, z, x) - C / jnp.sum(C) * e
        return jnp.concatenate([p + both.start, balance, legendre, first_law[None]])

    def shorter(self, args: Any, s: Any) -> Any:
        system, t, h, *rest = args
        return system, t, s * h, *rest

    def powers(self, count: int) -> np.ndarray:
        return np.where(np.arange(count) < count - self.multipliers, 1, 0)

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        """Those of a step; the energy is rounded as C T is, the energy that the entropies hold,
        also where L has it cancelled by a constant.
        """
        system, t, h, z, _, _, C = args
        form = discretise(system, self.method)
        own, beside = form.sizes(t, h, z, form.blocks.increment(unknowns), J)
        n = system.space.dim
        most = jnp.maximum(own[n:], jnp.minimum(C, LARGE * own[n:]))
        return own.at[n:].set(most), beside


@steps(ThermalSystem, EnergyConsistent)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnergyConsistentThermal(SampledThermal, ContinuousThermal):
    """The step of a thermomechanical system, by the balance of the energy."""

    system: ThermalSystem
    method: EnergyConsistent = field(metadata={"static": True})
    keeps_energy: ClassVar[bool] = True

    def first_guess(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        return jnp.concatenate([x, v, jnp.zeros(1)])

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        n, laws = self.system.space.dim, state.memory
        C = self.system.capacities(t, state.q, state.x[:n] / h)
        args = (self.system, t, h, state.q, state.p, laws.energy + laws.supplied, C)
        return EnergyEquations(self.method, n + 1), args

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def led(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.led_by_newton(unknowns, state, t, h)
