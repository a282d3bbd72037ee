"""Which scheme steps a method: the variational one, or that of a method for comparison."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp

from accion.instant.constrained import index_one, inertia_and_force
from accion.methods import GeneralizedAlpha, Sample
from accion.numerics import newton
from accion.numerics.products import written_out
from accion.stepping.higher import HigherOrder
from accion.stepping.thermal import Thermal
from accion.stepping.variational import End, Mechanical, Scheme, State, Variational
from accion.systems import HigherOrderSystem, System


def move(method, h, rates, dv):
    """(x, v, a) of a step of GeneralizedAlpha at whose end the derivative of the velocity is
    `dv`.
    """
    v, dv0, a0 = rates
    a = ((1 - method.alpha_f) * dv + method.alpha_f * dv0 - method.alpha_m * a0) / (
        1 - method.alpha_m
    )
    x = h * (v + h * ((0.5 - method.beta) * a0 + method.beta * a))
    return x, v + h * ((1 - method.gamma) * a0 + method.gamma * a), a


def equations(method, unknowns, args):
    """The continuous equations and the constraint at the end of a step; unknown are v' and the
    multipliers there.
    """
    system, t, h, q, rates = args
    n, constraint = system.space.dim, system.constraint
    dv, lam = unknowns[:n], unknowns[n:]
    x, v, _ = move(method, h, rates, dv)
    t, q = t + h, system.space.retract(q, x)
    H, force = inertia_and_force(system, t, q, v)
    balance = jnp.sum(H * dv, axis=1) - force
    if constraint is None:
        return balance
    closure = constraint.closure(system, [Sample(1.0, t, q, v)], t, q)
    return jnp.concatenate([balance - constraint.reaction(system, t, q, v, lam), closure / h**2])


def units(unknowns, J, args):
    system, _, h, q, (v, dv, _) = args
    return jnp.abs(v) / h + jnp.abs(dv), system.space.magnitude(q) / h**2


@dataclass(frozen=True)
class AlphaScheme(Mechanical):
    """The step of `GeneralizedAlpha`, which carries (v, v', a)."""

    system: Any
    method: Any

    def start(self, t, h, q, p, x, lam):
        v = x / h
        dv, lam = index_one(self.system, t, q, v, None)
        return State(
            q,
            p,
            jnp.zeros_like(x),
            x,
            dv if lam is None else jnp.concatenate([dv, lam]),
            jnp.array(0),
            (v, dv, dv),
        )

    def args(self, state, t, h):
        return self.system, t, h, state.q, state.rates

    def solve(self, state, t, h):
        return newton.root(
            written_out(partial(equations, self.method)),
            units,
            self.system.multipliers,
            state.guess,
            self.args(state, t, h),
        )

    def residual(self, unknowns, state, t, h):
        return equations(self.method, unknowns, self.args(state, t, h))

    def moved(self, unknowns, state, h):
        return move(self.method, h, state.rates, unknowns[: self.system.space.dim])[0]

    def end(self, unknowns, state, t, h):
        dv = unknowns[: self.system.space.dim]
        x, v, a = move(self.method, h, state.rates, dv)
        return End(
            x,
            self.system.momentum(t + h, self.system.space.retract(state.q, x), v),
            unknowns,
            (v, dv, a),
        )

    def lagrangian(self, unknowns, state, t, h):
        x, v, _ = move(self.method, h, state.rates, unknowns[: self.system.space.dim])
        return self.system.L(t + h, self.system.space.retract(state.q, x), v)


def scheme_of(system, method) -> Scheme:
    """The scheme that steps `system` by `method`."""
    if isinstance(system, System):
        return (AlphaScheme if isinstance(method, GeneralizedAlpha) else Variational)(
            system, method
        )
    return (HigherOrder if isinstance(system, HigherOrderSystem) else Thermal)(system, method)
