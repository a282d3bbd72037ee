"""Conformal weights, L = w(t) L0: at one time t everything is divided by w(t), and time is counted
from there.

A constant factor of L changes no motion, so a step from t is one of

    (w(t + tau) / w(t)) L0(t + tau, q, v),        with momenta p / w(t),

whose numbers have the size of the motion, however far w has grown or decayed. The quotient is e^d,
where d is the change of log |w| in the time tau (`numerics.logarithms`): of w = e^(kappa t) it is
kappa tau, whatever t is.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.numerics.logarithms import evaluated
from accion.numerics.moving import Logs, Moving, constant, from_ends
from accion.systems.frozen import Examples, freeze
from accion.systems.held import written
from accion.systems.lagrangians import MechanicalLagrangian
from accion.systems.traced import TracedFunction
from accion.types import Configuration, Covector, Params, Scalar, Vector

# Numbers of 64 bits end at e^709.8 and e^-708.4 (what is smaller is taken for zero), products of a
# weight with others a little before.
FAR = 600.0
HALF = 700.0  # e^HALF and e^-HALF are numbers of 64 bits


# ---------------------------------------------------------------- a weight


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Weight:
    """w(t), given by itself or by its logarithm."""

    weight: Any
    log_weight: Any

    def __call__(self, t: Scalar, params: Params) -> Any:
        if self.log_weight is not None:
            return jnp.exp(self.log_weight(t, params))
        return self.weight(t, params)

    def logs(self, t: Scalar, params: Params, tau: Any = None) -> Logs:
        """log |w| and the sign of w at t, and how they change in the time tau."""
        f = self.weight if self.log_weight is None else self.log_weight
        found = moving(f, t, params, tau)
        if self.log_weight is None:
            return found.logs
        return Logs(jnp.ones(()), found.x, found.dx)

    def ratio(self, t: Scalar, tau: Scalar, params: Params) -> Any:
        """w(t + tau) / w(t)."""
        _, _, change, flip = self.logs(t, params, tau)
        found = jnp.ones(()) if change is None else jnp.exp(change)
        return found if flip is None else flip * found


def moving(f: Any, t: Scalar, params: Params, tau: Any) -> Moving:
    """f(t, params), and how it changes in the time tau."""
    t = jnp.asarray(t, dtype=float)
    time = constant(t) if tau is None else Moving(lambda: t, lambda: jnp.asarray(tau, dtype=float))
    values = f.trace.fitted((t, params)) if isinstance(f, TracedFunction) else None
    if values is None:
        now = f(t, params)
        return constant(now) if tau is None else from_ends(now, f(t + tau, params))
    given = [constant(a) for a in (*f.own, *values)]
    given[len(f.own)] = time
    return evaluated(f.trace.jaxpr, f.constants, given)[0]


def times(x: Any, sign: Any, log: Any) -> Any:
    """sign e^log x, in two halves: where one of them alone is a number, so may be their product;
    0 stays 0.
    """
    half = jnp.exp(jnp.clip(log / 2, -HALF, HALF))
    return sign * x * half * half


# ---------------------------------------------------------------- a system at a time


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Later:
    """f(t, ...), with the time counted from `origin`."""

    f: Any
    origin: Any

    @property
    def out(self) -> Any:
        """What it returns, in shape and type."""
        return self.f.out

    def __call__(self, t: Scalar, *rest: Any) -> Any:
        return self.f(self.origin + t, *rest)


@written.register
def _(f: Later) -> Any:
    return written(f.f)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Ratio:
    """w(origin + t) / w(origin)."""

    weight: Weight
    origin: Any

    def __call__(self, t: Scalar, params: Params) -> Any:
        return self.weight.ratio(self.origin, t, params)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Weighed:
    """A Lagrangian, or a force, times a function of (t, params)."""

    lagrangian: Any
    weight: Any

    @property
    def out(self) -> Any:
        """What it returns, in shape and type."""
        return self.lagrangian.out

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        return self.weight(t, params) * self.lagrangian(t, q, v, params)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReducedForce:
    """F(origin + t, q, v) / w(origin)."""

    force: Any
    weight: Weight
    origin: Any

    @property
    def out(self) -> Any:
        """What it returns, in shape and type."""
        return self.force.out

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Covector:
        sign, log, *_ = self.weight.logs(self.origin, params)
        return times(self.force(self.origin + t, q, v, params), sign, -log)


@singledispatch
def weighed(lagrangian: Any, weight: Any) -> Any:
    """The Lagrangian times a function of (t, params)."""
    return Weighed(lagrangian, weight)


@weighed.register
def _(lagrangian: MechanicalLagrangian, weight: Any) -> Any:
    return replace(lagrangian, weight=weight)


@freeze.register
def _(f: Weighed, name: str, arguments: str, examples: Examples) -> Any:
    """Part by part, so that the weight stays apart."""
    own = freeze(f.lagrangian, name, arguments, examples)
    return replace(f, lagrangian=own, weight=freeze(f.weight, "weight", "t, params", examples))


@singledispatch
def over_weight(force: Any, own: Weight, origin: Any) -> Any:
    """The force over the weight at `origin`, with the time counted from there; None stays None."""
    return None if force is None else ReducedForce(force, own, origin)


@over_weight.register
def _(force: Weighed, own: Weight, origin: Any) -> Any:
    """w(t) u(t, q, v), with the weight of its system: the quotient is taken in logarithms."""
    return Weighed(later(force.lagrangian, origin), Ratio(own, origin))


@singledispatch
def later(f: Any, origin: Any) -> Any:
    """The function f(t, ...), with the time counted from `origin`."""
    return None if f is None else Later(f, origin)


@later.register
def _(f: MechanicalLagrangian, origin: Any) -> Any:
    return replace(f, potential=later(f.potential, origin))


class Local(NamedTuple):
    """A system whose Lagrangian and forces are divided by its weight at one instant, and that
    instant in its own time.
    """

    system: Any
    t: Any


def local(system: Any, t: Scalar) -> Local:
    """The system at the time t in its own units: L / w(t), F / w(t), the time counted from t; a
    system without a weight as it is.
    """
    own = system.conformal
    if own is None:
        return Local(system, t)
    origin = jnp.asarray(t, dtype=float)
    L = weighed(later(system.lagrangian, origin), Ratio(own, origin))
    force = over_weight(system.force, own, origin)
    held = ("holonomic", "nonholonomic", "variational", "vakonomic")
    rest = {name: later(getattr(system, name), origin) for name in held}
    found = system.altered(lagrangian=L, weight=None, log_weight=None, force=force, **rest)
    return Local(found, jnp.zeros(()))


def logs_at(system: Any, t: Scalar) -> Logs:
    """The sign of the weight at t, and log |w|; of a system without one those of 1."""
    own = system.conformal
    if own is None:
        return Logs(jnp.ones(()), jnp.zeros(()))
    return own.logs(t, system.params)


def in_full(system: Any, t: Scalar, x: Any) -> Any:
    """w(t) x: momenta, forces and energies from what they are over the weight; infinite where they
    are beyond floating point. None stays None.
    """
    if system.conformal is None or x is None:
        return x
    sign, log, *_ = logs_at(system, t)
    return times(x, sign, log)


def reduced(system: Any, t: Scalar, x: Any) -> Any:
    """x / w(t): the inverse of `in_full`."""
    if system.conformal is None or x is None:
        return x
    sign, log, *_ = logs_at(system, t)
    return times(x, sign, -log)


def beyond(system: Any, t: float, h: float = 0.0) -> str:
    """Whether it is the weight that ends a run here, in words; "" where it is not."""
    weight, params = system.conformal, system.params
    if weight is None:
        return ""
    now, later = float(weight.logs(t, params).log), float(weight.ratio(t, h, params))
    if not np.isfinite(now) or not np.isfinite(later) or later == 0:
        return (
            f"the weight of {system.name} is beyond floating point, or zero, at t = {t:.6g} or in"
            f" the step that follows: its logarithm is {now:.6g}, and there it becomes {later:.3g}"
            " times as large. Products, quotients, powers, exponentials and sums of them are taken"
            " in logarithms; of any other function give System the logarithm, log_weight(t,"
            " params), in place of weight"
        )
    bare = system.force is not None and not isinstance(system.force, Weighed)
    if bare and abs(now) > FAR:
        return (
            f"the weight of {system.name} is e^{now:.6g} at t = {t:.6g}, and its force has none:"
            " over the weight, as a step has it, the force is beyond floating point. Start where"
            " the weight is within e^-600 to e^600, or write what acts into the Lagrangian"
        )
    return ""


def check_in_range(system: Any, t: Scalar, what: str) -> None:
    """Raise ValueError where the weight at a time leaves floating point, for an operation `what`
    that takes L with its weight.
    """
    if system.conformal is None:
        return
    log = float(logs_at(system, t).log)
    if not abs(log) <= FAR:
        raise ValueError(
            f"{what} takes the Lagrangian with its weight, which is e^{log:.6g} at t ="
            f" {float(t):.6g}: choose times at which it is within e^-{FAR:.0f} to e^{FAR:.0f}."
        )
