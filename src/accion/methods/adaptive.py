"""Steps that follow the motion: long where it is slow, short where it is fast."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from accion.methods.base import Method, Sample
from accion.numerics.dependence import depends
from accion.spaces import Space
from accion.systems.arity import check_function
from accion.systems.first_order import Levels, as_first_order
from accion.systems.mistakes import not_evaluable
from accion.types import Configuration, Scalar, Vector


def Adaptive(method: Method, monitor: Callable[..., Any]) -> "TransformedTime | ReversibleSteps":
    """`method` with steps whose length is about h g, where `monitor` says g > 0.

    With `monitor(q, params)` time is transformed, dt = g(q) dtau, and the motion of

        g(q) (L(q, q'/g(q)) + E0),        E0 the energy of the start,

    is stepped by equal steps h of tau: at that energy it is the same motion, and the method is as
    variational as before, so its energy does not drift. For autonomous systems without forces and
    nonholonomic constraints (Hairer 1997; Reich 1999); of a vakonomic system g lam.Phi(q, q'/g) is
    added, so multipliers are those of Phi.

    With `monitor(q, v, params)` the lengths h_k = h/rho_k follow the motion by rho_k + rho_{k-1} =
    2/g at the node between two steps (Huang and Leimkuhler 1997). This is reversible where `method`
    is symmetric, so that the energy of reversible motions does not drift; but it is not symplectic.

    A system of order r is stepped from (q, ..., q^(r-1)) to the next, as `first_order(system)` is;
    the monitor is one of its q, and q'.

    Of a run `h` is the step of tau, `t` the times that it led to; `simulate(..., until=T)` ends it
    at a time.

    Arguments:
        method: a variational one, such as Midpoint().
        monitor: g(q, params), or g(q, v, params), a positive number. For a planet r^1.5, for one
            that falls into a pole the distance from it.
    """
    if not isinstance(method, Method):
        raise ValueError(
            f"Adaptive(method, monitor) needs a method, such as Midpoint(); got {method!r}."
        )
    if not method.variational or isinstance(method, TransformedTime | ReversibleSteps):
        raise ValueError(
            f"Adaptive(method, monitor) needs a variational method, such as Midpoint(); got"
            f" {method!r}."
        )
    try:
        check_function("monitor", monitor, "q, params")
    except ValueError:
        check_function("monitor", monitor, "q, v, params")
        return ReversibleSteps(method, monitor)
    return TransformedTime(method, monitor)


def name_of(monitor: Any) -> str:
    """The monitor in words."""
    return getattr(monitor, "__name__", "monitor").replace("<lambda>", "monitor")


def no_samples(kind: str) -> NoReturn:
    """Raise the ValueError of those who want the discrete Lagrangian of one step."""
    raise ValueError(
        f"{kind} has no discrete Lagrangian of (t, h, q0, q1) alone: simulate takes it, from v0 or"
        " p0; discrete, connect and a start from q1 take the method inside of it."
    )


def check_kind(system: Any) -> None:
    """Raise ValueError unless it has a motion q(t) in continuous time."""
    if system.discrete_time or system.beside:
        raise ValueError(
            f"Adaptive does not support {system.kind}: its steps are those of a motion q(t) alone."
        )


@dataclass(frozen=True)
class OfLevels:
    """A monitor of (q, params), or of (q, v, params), as one of the points z = (q, q', ...)."""

    monitor: Callable[..., Any]
    levels: Levels

    def __call__(self, z: Configuration, *rest: Any) -> Scalar:
        *v, params = rest
        q, low = self.levels.parts(z)
        return self.monitor(q, *(low[0] for _ in v), params)


@dataclass(frozen=True)
class TransformedTime(Method):
    """`Adaptive` with a monitor g(q, params): variational, see there."""

    method: Method
    monitor: Callable[..., Any]
    order: Any = field(init=False, repr=False)
    symmetric: Any = field(init=False, repr=False)
    nodes = None
    variational = True
    own_lengths = True
    on_levels = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.method.order)
        object.__setattr__(self, "symmetric", self.method.symmetric)

    def __repr__(self) -> str:
        return f"Adaptive({self.method!r}, {name_of(self.monitor)}(q, params))"

    def g(self, q: Configuration, v: Vector, params: Any) -> Scalar:
        """The monitor."""
        return self.monitor(q, params)

    def of_levels(self, levels: Levels) -> "TransformedTime":
        """The same of a system of order r, as one of first order."""
        return TransformedTime(self.method, OfLevels(self.monitor, levels))

    def check(self, system: Any) -> None:
        check_kind(system)
        if system.order > 1:
            self.of_levels(Levels(system.space, system.order)).check(as_first_order(system))
            return
        if system.force is not None or system.holds_velocities:
            raise ValueError(
                "Adaptive with monitor(q, params) does not support systems with a force or a"
                " nonholonomic constraint: they keep no energy; try monitor(q, v, params)."
            )
        q, v, t = system.space.identity(), jnp.zeros(system.space.dim), jnp.zeros(())
        held = system.constraint
        timed = held is not None and depends(lambda t: held.value(system, t, q, v), t)
        if timed or depends(lambda t: system.L(t, q, v), t):
            raise ValueError(
                "Adaptive with monitor(q, params) does not support systems that depend on time:"
                " they keep no energy; try monitor(q, v, params)."
            )
        self.method.check(system)
        check_monitor(lambda: self.g(q, v, system.params))

    def samples(
        self,
        space: Space,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
    ) -> list[Sample]:
        no_samples("Adaptive")


@dataclass(frozen=True)
class ReversibleSteps(Method):
    """`Adaptive` with a monitor g(q, v, params): reversible, not symplectic, see there."""

    method: Method
    monitor: Callable[..., Any]
    order: Any = field(init=False, repr=False)
    symmetric: Any = field(init=False, repr=False)
    nodes = None
    variational = False
    own_lengths = True
    on_levels = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.method.order)
        object.__setattr__(self, "symmetric", self.method.symmetric)

    def __repr__(self) -> str:
        words = "reversible" if self.symmetric else "not reversible"
        return (
            f"Adaptive({self.method!r}, {name_of(self.monitor)}(q, v, params); {words}, not"
            " symplectic)"
        )

    def g(self, q: Configuration, v: Vector, params: Any) -> Scalar:
        """The monitor."""
        return self.monitor(q, v, params)

    def of_levels(self, levels: Levels) -> "ReversibleSteps":
        """The same of a system of order r, as one of first order."""
        return ReversibleSteps(self.method, OfLevels(self.monitor, levels))

    def check(self, system: Any) -> None:
        check_kind(system)
        if system.order > 1:
            self.of_levels(Levels(system.space, system.order)).check(as_first_order(system))
            return
        self.method.check(system)
        q, v = system.space.identity(), jnp.zeros(system.space.dim)
        check_monitor(lambda: self.g(q, v, system.params))

    def samples(
        self,
        space: Space,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
    ) -> list[Sample]:
        no_samples("Adaptive")


def check_monitor(monitor: Callable[[], Any]) -> None:
    """Raise ValueError unless the monitor returns a number."""
    try:
        found = jax.eval_shape(monitor)
    except Exception as error:
        not_evaluable("monitor", error, "(q, params) or (q, v, params)")
    if getattr(found, "shape", None) != ():
        raise ValueError(
            f"monitor must return a number; it returned shape {getattr(found, 'shape', found)}."
        )
