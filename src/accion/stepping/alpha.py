"""The step of `GeneralizedAlpha`: not variational, for comparison."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.instant.constrained import index_one, inertia_and_force
from accion.methods import GeneralizedAlpha, Sample
from accion.numerics import newton
from accion.stepping.base import End, State, longer, steps
from accion.stepping.variational import MechanicalScheme
from accion.systems import System
from accion.types import Configuration, Covector, Scalar, Vector


def move(method: Any, h: Scalar, memory: Any, dv: Any) -> Any:
    """(x, v, a) of a step of GeneralizedAlpha at whose end the derivative of the velocity is
    `dv`.
    """
    v, dv0, a0 = memory
    a = ((1 - method.alpha_f) * dv + method.alpha_f * dv0 - method.alpha_m * a0) / (
        1 - method.alpha_m
    )
    x = h * (v + h * ((0.5 - method.beta) * a0 + method.beta * a))
    return x, v + h * ((1 - method.gamma) * a0 + method.gamma * a), a


@dataclass(frozen=True)
class AlphaEquations(newton.Equations):
    """The continuous equations and the constraint at the end of a step; unknown are v' and the
    multipliers there, the arguments (system, t, h, q, memory).
    """

    method: GeneralizedAlpha
    multipliers: int

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, h, q, memory = args
        n, constraint = system.space.dim, system.constraint
        dv, lam = unknowns[:n], unknowns[n:]
        x, v, _ = move(self.method, h, memory, dv)
        t, q = t + h, system.space.retract(q, x)
        H, force = inertia_and_force(system, t, q, v)
        balance = jnp.sum(H * dv, axis=1) - force
        if constraint is None:
            return balance
        closure = constraint.closure(system, [Sample(1.0, t, q, v)], t, q)
        reaction = constraint.reaction(system, t, q, v, lam)
        return jnp.concatenate([balance - reaction, closure / h**2])

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        system, _, h, q, (v, dv, _) = args
        return jnp.abs(v) / h + jnp.abs(dv), system.space.magnitude(q) / h**2


@steps(System, GeneralizedAlpha)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Alpha(MechanicalScheme):
    """The step of `GeneralizedAlpha`, which carries (v, v', a)."""

    system: System
    method: GeneralizedAlpha = field(metadata={"static": True})

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> Any:
        v = x / h
        dv, lam = index_one(self.system, t, q, v, None)
        guess = dv if lam is None else jnp.concatenate([dv, lam])
        return State(q, p, jnp.zeros_like(x), x, guess, jnp.array(0), (v, dv, dv))

    def resized(self, state: Any, r: Scalar, gap: Scalar) -> Any:
        return longer(state, r, gap, np.zeros(len(state.guess), bool))

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        own = AlphaEquations(self.method, self.system.multipliers)
        return own, (self.system, t, h, state.q, state.memory)

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def moved(self, unknowns: Any, state: Any, h: Scalar) -> Any:
        return move(self.method, h, state.memory, unknowns[: self.system.space.dim])[0]

    def end(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        dv = unknowns[: self.system.space.dim]
        x, v, a = move(self.method, h, state.memory, dv)
        p = self.system.legendre(t + h, self.system.space.retract(state.q, x), v)
        return End(x, p, unknowns, (v, dv, a))

    def lagrangian(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        dv = unknowns[: self.system.space.dim]
        x, v, _ = move(self.method, h, state.memory, dv)
        return self.system.L(t + h, self.system.space.retract(state.q, x), v)
