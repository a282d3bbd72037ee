"""A step of a thermomechanical system: its two ends are z = (q, S) on Q x R^m (Bonich, Def
3.12).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.discretise.base import Variation, discretise
from accion.discretise.extended import ExtendedDiscretisation, SampledOnWhole
from accion.discretise.step import sampled
from accion.systems import ThermalSystem
from accion.systems.entropic import TotalForce
from accion.types import Array, Configuration, Scalar, Vector


class Exchange(NamedTuple):
    """What a step exchanges, sampled as the step is."""

    # energy from outside: external work, heat, and what L's own dependence on time brings
    supply: Any
    heat: Any  # into each body, shape (m,)
    dissipation: Any  # into each body, shape (m,)
    friction: Any  # h |F_fr| |v|, what dissipation is measured by, shape (m,)
    T: Any  # h times the temperatures, shape (m,)


class ThermalDiscretisation(ExtendedDiscretisation):
    """What thermal systems in continuous and in discrete time share."""

    @abstractmethod
    def balance(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Array:
        """The entropy balances, of the equations of a step those without constraints, shape
        (m,).
        """

    @abstractmethod
    def exchange(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Exchange:
        """What is exchanged with the outside and between bodies."""

    @abstractmethod
    def force(
        self, name: str, t: Scalar, h: Scalar, z: Configuration, x: Vector
    ) -> tuple[Array, Array]:
        """(Fd^-, Fd^+) of the friction or of the external force, by its `name` (Bonich, eq
        3.18).
        """

    @abstractmethod
    def energy(self, t: Scalar, z: Configuration, v: Vector) -> Any:
        """E at a point, zero where there is none."""

    @abstractmethod
    def temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """T at a point, NaN where there is none, shape (m,)."""

    @abstractmethod
    def needed_temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """The same, 1 where it is zero and may be (Bonich, Lemma 3.8)."""

    @abstractmethod
    def cold(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Array:
        """Which temperatures are not positive at the end of the step, shape (m,)."""

    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        n = self.system.space.dim
        minus, plus = self.whole_variation(t, h, z, x)
        return Variation(minus[:n], jnp.zeros(0), plus[:n])

    def size_beside(self, h: Scalar, Ld: Scalar, slopes: Array) -> Array:
        """The energy over the temperature, which is what dr/dS holds."""
        return Ld / (h**2 * slopes)


@dataclass(frozen=True)
class ThermalStep(SampledOnWhole, ThermalDiscretisation):
    """What a method makes of a continuous thermal system (Bonich, eq 3.16-3.19)."""

    system: ThermalSystem
    method: Any

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None) -> Any:
        """The sampled entropy balance, and the constraints as those of any step."""
        samples, balance = self.samples(t, h, z, x), self.balance(t, h, z, x)
        if self.system.constraint is None:
            return balance
        whole: Any = self.system.whole
        end = self.system.step_space.retract(z, x)
        return jnp.concatenate([balance, whole.constraint.closure(whole, samples, t + h, end)])

    def balance(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Array:
        """sum_i w_i (dL/dS S' - F_fr.v + P_H), shape (m,)."""
        return sampled(self.system.rho, self.samples(t, h, z, x))

    def force(self, name: str, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        system, n, here = self.system, self.system.space.dim, self.samples(t, h, z, x)
        own = TotalForce(getattr(system, name), None, system.frame)
        forces = [own(s.t, s.q, s.v, system.params) for s in here]

        def work(e0: Any, e1: Any) -> Scalar:
            moved = self.method.samples(system.step_space, t, h, z, x, e0, e1)
            return h * sum(
                m.w * (F @ system.step_space.displacement(s.q, m.q))
                for s, m, F in zip(here, moved, forces, strict=True)
            )

        zero = jnp.zeros_like(x)
        minus, plus = jax.grad(work, (0, 1))(zero, zero)
        return minus[:n], plus[:n]

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        """That of a `System`; `v` is (v, S')."""
        if self.system.constraint is None:
            return 0.0
        whole: Any = self.system.whole
        return h * whole.constraint.reaction(whole, t, z, v, lam)[: self.system.space.dim]

    def exchange(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        n, samples, system = self.system.space.dim, self.samples(t, h, z, x), self.system
        parts = (
            system.supply,
            system.heating,
            system.dissipation,
            system.friction_size,
            system.temperature,
        )
        return Exchange(*(h * sampled(lambda t, z, w, f=f: f(t, z, w[:n]), samples) for f in parts))

    def energy(self, t: Scalar, z: Configuration, v: Vector) -> Scalar:
        return self.system.energy(t, z, v)

    def temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        return self.system.temperature(t, z, v)

    def needed_temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        return self.system.needed_temperature(t, z, v)

    def cold(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        n, end = self.system.space.dim, self.system.step_space.retract(z, x)
        return self.system.cold(t + h, end, x[:n] / h)


@discretise.register
def _(system: ThermalSystem, method: Any) -> ThermalStep:
    return ThermalStep(system, method)
