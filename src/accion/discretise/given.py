"""A step of a system that is given in discrete time: its functions are those of the user."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from accion.discretise.base import Blocks, Discretisation, Variation, discretise, moved_nodes
from accion.discretise.thermal import Exchange, ThermalDiscretisation
from accion.discretise.window import combine, differences, differencing, nodes_of, window_sizes
from accion.systems import DiscreteSystem, DiscreteThermalSystem
from accion.types import Array, Configuration, Function, Scalar, Vector


@dataclass(frozen=True)
class Given(Discretisation):
    """A window of a `DiscreteSystem` of order r: r + 1 configurations (Marsden and West 2001, parts
    1 and 3; Bonich, Def 2.17 and 2.29).

    The `x` of its functions are the forward differences of the r increments, shape (r, dim).
    """

    system: DiscreteSystem
    method: None = None

    @property
    def blocks(self) -> Blocks:
        return Blocks(x=self.system.space.dim, lam=self.system.multipliers)

    def nodes(self, q: Configuration, x: Vector) -> Any:
        """The configurations of the window."""
        return nodes_of(self.system.space, q, x)

    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        return self.system.Ld(t, h, self.nodes(z, x), lam)

    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any, lam: Any = None
    ) -> Any:
        nodes = moved_nodes(self.system.space, self.nodes(z, x), e)
        return self.system.Ld(t, h, nodes, lam)

    def between(self, nodes: Sequence[Configuration]) -> Any:
        return nodes[0], differences(self.system.space, nodes)

    def variation(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        G = self.derivatives(t, h, z, x, lam)
        if self.system.work is not None:
            G = G + self.forces(t, h, z, x)
        return Variation(G[0], jnp.zeros(0), G[1:])

    def forces(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        """The discrete forces at the configurations of the window, shape (r + 1, dim)."""
        return self.system.Fd(t, h, self.nodes(z, x))

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None) -> Any:
        return self.system.c(t, h, self.nodes(z, x))

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        A = self.system.variational
        return 0.0 if A is None else h * (A(t, z, self.system.params).T @ lam)

    def inner_reaction(
        self, t: Scalar, h: Scalar, z: Configuration, x: Any, inner: Any, lam: Any
    ) -> Any:
        return 0.0

    def sizes(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, J: Any, inner: Any = None
    ) -> Any:
        return window_sizes(self.action(t, h, z, x), x, J)

    def from_increments(self, x: Vector) -> Any:
        return combine(differencing(len(x)), x)


@dataclass(frozen=True)
class GivenThermal(ThermalDiscretisation):
    """A step of a `DiscreteThermalSystem` (Bonich, Def 3.12)."""

    system: DiscreteThermalSystem
    method: None = None

    def read(
        self,
        f: Function,
        t: Scalar,
        h: Scalar,
        z: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
    ) -> Any:
        """`f` on the step whose ends are displaced by `e0` and `e1`."""
        space = self.system.step_space
        start, end = z, space.retract(z, x)
        if e0 is not None:
            start, end = space.displace(start, e0), space.displace(end, e1)
        return self.system.evaluate(f, t, h, start, end)

    def action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, lam: Any = None, inner: Any = None
    ) -> Any:
        return self.read(self.system.lagrangian, t, h, z, x)

    def displaced_action(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, e: Any, lam: Any = None
    ) -> Any:
        return self.read(self.system.lagrangian, t, h, z, x, e[0], e[1])

    def whole_variation(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        n = self.system.space.dim
        minus, plus = self.derivatives(t, h, z, x)
        for name in ("friction", "external"):
            force_minus, force_plus = self.force(name, t, h, z, x)
            minus, plus = minus.at[:n].add(force_minus), plus.at[:n].add(force_plus)
        return minus, plus

    def force(self, name: str, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        f, zero = getattr(self.system, name), jnp.zeros(self.system.space.dim)
        return (zero, zero) if f is None else self.read(f, t, h, z, x)

    def closure(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, inner: Any = None) -> Any:
        return self.balance(t, h, z, x)

    def balance(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        value = self.read(self.system.kinematic, t, h, z, x)
        return jnp.reshape(value, (self.system.frame.m,))

    def reaction(self, t: Scalar, h: Scalar, z: Configuration, v: Vector, lam: Any) -> Any:
        return 0.0

    def exchange(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        nothing = jnp.zeros(self.system.frame.m)
        return Exchange(jnp.zeros(()), nothing, nothing, nothing, nothing + h)

    def energy(self, t: Scalar, z: Configuration, v: Vector) -> Scalar:
        return jnp.zeros(())

    def temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        return jnp.full(self.system.frame.m, jnp.nan)

    def needed_temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        return self.temperature(t, z, v)

    def cold(self, t: Scalar, h: Scalar, z: Configuration, x: Vector) -> Any:
        return jnp.zeros(self.system.frame.m, dtype=bool)


@discretise.register
def _(system: DiscreteSystem, method: Any) -> Given:
    return Given(system)


@discretise.register
def _(system: DiscreteThermalSystem, method: Any) -> GivenThermal:
    return GivenThermal(system)
