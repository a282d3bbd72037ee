"""What the schemes of thermal and of contact systems share: a step moves z = (q, S), where S are
the entropies, or the action.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from accion.discretise import discretise
from accion.numerics import newton
from accion.stepping.base import SolvedScheme
from accion.types import Configuration, Scalar


@dataclass(frozen=True)
class ChangeBeside(newton.Equations):
    """The closure of a step whose dq is given; unknown is dS, the arguments are (system, t, h, z,
    x).
    """

    method: Any
    multipliers: int = 0

    def residual(self, unknowns: Any, args: Any) -> Any:
        system, t, h, z, x = args
        x = x.at[system.space.dim :].set(unknowns)
        form: Any = discretise(system, self.method)
        return form.closure(t, h, z, x)

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        system, t, h, z, x = args
        form: Any = discretise(system, self.method)
        slopes = jnp.abs(jnp.diagonal(J)) + newton.TINY
        return form.size_beside(h, jnp.abs(form.action(t, h, z, x)), slopes), jnp.abs(z[-1])


def with_change_beside(method: Any, args: Any) -> Any:
    """The increment x = (dq, dS) of a step whose dq is given: dS from the closure, NaN where there
    is none.
    """
    n, x = args[0].space.dim, args[-1]
    dS, _, converged = newton.root(ChangeBeside(method), x[n:], args)
    return x.at[n:].set(jnp.where(converged, dS, jnp.nan))


def increment_to(scheme: Any, t: Scalar, h: Scalar, z: Configuration, q1: Configuration) -> Any:
    """(x, p) of a step from z to the configuration q1."""
    system = scheme.system
    dq = system.space.local(system.frame.parts(z)[0], q1)
    x = jnp.concatenate([dq, jnp.zeros(system.frame.m)])
    x = with_change_beside(scheme.method, (system, t, h, z, x))
    return x, -scheme.form.variation(t, h, z, x).start


class ExtendedScheme(SolvedScheme):
    """A scheme that steps z = (q, S)."""

    @property
    def form(self) -> Any:
        return discretise(self.system, self.method)

    def moved(self, unknowns: Any, state: Any, h: Scalar) -> Any:
        return self.system.step_space.stretched(self.form.blocks.increment(unknowns))

    def prepare(self, state: Any, save_every: Any) -> Any:
        return state

    def watched(self, before: Any, after: Any) -> Any:
        return after

    def beyond(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return ""
