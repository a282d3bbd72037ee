"""Steps of a thermal system that keep both laws, by `EnergyEntropyConsistent`."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise.thermal import Exchange
from accion.instant.thermal import Hypotheses
from accion.methods import EnergyEntropyConsistent
from accion.numerics import following
from accion.stepping.base import steps
from accion.stepping.thermal import ContinuousThermal
from accion.systems import ThermalSystem
from accion.types import Configuration, Covector, Scalar, Vector

SLIGHT = 1e-13  # part of its own slope that a temperature is given where it has none


class Means(NamedTuple):
    """The derivatives of H, taken along a step."""

    v: Vector  # D_p H
    force: Covector  # -D_q H, by displacements of the body on a group
    T: Any  # D_S H, shape (m,)
    power: Any  # dH/dt, what H's own dependence on time brings


class Step(NamedTuple):
    """The unknowns of a step: its increments, and the entropies at which temperatures are the
    means.
    """

    x: Vector  # of z = (q, S)
    dp: Covector
    s: Any  # those entropies, less S at the start

    @classmethod
    def of(cls, unknowns: Any, n: int, m: int) -> "Step":
        return cls(unknowns[: n + m], unknowns[n + m : n + m + n], unknowns[n + m + n :])


def means(
    system: Any,
    method: Any,
    t: Scalar,
    h: Scalar,
    z: Configuration,
    p: Covector,
    step: Step,
) -> Means:
    """The means along the straight way from (z, p) to its end."""
    space, n = system.space, system.space.dim
    guess = step.x[:n] / h
    whole, zero = system.step_space, jnp.zeros(n)

    def at(c: Any) -> Means:
        tc, zc = t + c * h, whole.retract(z, c * step.x)
        v = system.velocity(tc, zc, p + c * step.dp, guess)

        def L(t: Scalar, e: Any) -> Scalar:
            q, S = system.parts(zc)
            return system.L(t, system.point(space.displace(q, e), S), v)

        by_t, force = jax.grad(L, (0, 1))(jnp.asarray(tc, float), zero)
        return Means(v, force, system.temperature(tc, zc, v), -by_t)

    weights, places = map(np.array, zip(*method.way, strict=True))
    rows = jax.lax.map(at, jnp.asarray(places))
    return Means(*(jnp.sum(jnp.asarray(weights) * row.T, axis=-1) for row in rows))


def middle(system: Any, z: Configuration, step: Step) -> Configuration:
    """The middle of a step, with the entropies at which its temperatures are the means."""
    q, _ = system.frame.parts(system.step_space.retract(z, step.x / 2))
    _, S = system.frame.parts(z)
    return system.point(q, system.frame.as_given(S + step.s))


def acting(system: Any, t: Scalar, z: Configuration, v: Vector) -> Covector:
    """Friction and external force, shape (dim,)."""
    rest = jnp.zeros(system.frame.m)
    return system.whole.F(t, z, jnp.concatenate([v, rest]))[: system.space.dim]


@dataclass(frozen=True)
class BothLaws(following.StepEquations):
    """The equations of a step of `EnergyEntropyConsistent`; the arguments are (system, t, h, z,
    p).
    """

    method: EnergyEntropyConsistent
    multipliers: int = 0

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, h, z, p = args
        n, m = system.space.dim, system.frame.m
        step = Step.of(unknowns, n, m)
        mean = means(system, self.method, t, h, z, p, step)
        at = (t + h / 2, middle(system, z, step), mean.v)
        force = mean.force + system.space.coad(mean.v, p + step.dp / 2) + acting(system, *at)
        heat = system.dissipation(*at) + system.heating(*at)
        # A bath has one temperature whatever its entropy: there it is that in the middle.
        slight = SLIGHT * mean.T * (step.s - step.x[n:] / 2)
        return jnp.concatenate(
            [
                step.dp - h * force,
                mean.T * step.x[n:] - h * heat,
                step.x[:n] - h * mean.v,
                system.temperature(*at) - mean.T + slight,
            ]
        )

    def shorter(self, args: Any, s: Any) -> Any:
        system, t, h, z, p = args
        return system, t, s * h, z, p

    def powers(self, count: int) -> np.ndarray:
        return np.ones(count, int)

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        """Those of energies: h sqrt(E/M) of q, sqrt(E M) of p and E/T of S."""
        system, t, h, z, p = args
        n = system.space.dim
        v = unknowns[:n] / h
        energy = jnp.abs(system.L(t, z, v)) + jnp.abs(jnp.sum(p * v))
        M = jnp.abs(jnp.diagonal(system.hessian(t, z, v)))
        entropy = energy / system.temperature(t, z, v)
        speed = jnp.where(M > 0, jnp.sqrt(energy / jnp.where(M > 0, M, 1.0)), 0.0)
        own = jnp.concatenate([h * speed, entropy, M * speed, entropy])
        _, S = system.frame.parts(z)
        beside = jnp.concatenate([system.step_space.magnitude(z), jnp.abs(p), jnp.abs(S)])
        return jnp.where(jnp.isfinite(own), own, 0.0), beside


@steps(ThermalSystem, EnergyEntropyConsistent)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BothLawsThermal(ContinuousThermal):
    """The step of a thermomechanical system that keeps both laws."""

    system: ThermalSystem
    method: EnergyEntropyConsistent = field(metadata={"static": True})
    keeps_energy: ClassVar[bool] = True

    def first_guess(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        n = self.system.space.dim
        return jnp.concatenate([x, jnp.zeros(n), x[n:] / 2])

    def hypotheses(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        T = self.form.temperature(t, z, v)
        return Hypotheses(T, T, T)

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return BothLaws(self.method), (self.system, t, h, state.q, state.p)

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def led(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        system, n, m = self.system, self.system.space.dim, self.system.frame.m
        step = Step.of(unknowns, n, m)
        mean = means(system, self.method, t, h, state.q, state.p, step)
        at = (t + h / 2, middle(system, state.q, step), mean.v)
        heat = system.heating(*at)
        exchange = Exchange(
            h * (system.external_power(*at) + jnp.sum(heat) + mean.power),
            h * heat,
            h * system.dissipation(*at),
            h * system.friction_size(*at),
            h * mean.T,
        )
        guess = jnp.concatenate([2 * step.x - state.x, step.dp, step.s])
        return state.p + step.dp, exchange, guess

    def lagrangian(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        n, m = self.system.space.dim, self.system.frame.m
        step = Step.of(unknowns, n, m)
        cold = jnp.any(self.form.cold(t, h, state.q, step.x))
        L = self.system.L(t + h / 2, middle(self.system, state.q, step), step.x[:n] / h)
        return jnp.where(cold, jnp.nan, h * L)
