"""How a problem about a kind of system is written: what its functions take, what its ends are, what
its controls do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from accion import checks
from accion.control.ends import End, end_of, vector_of
from accion.control.law import Acting, acting
from accion.spaces import Space
from accion.systems import AbstractSystem, Dynamics
from accion.systems.arity import check_function
from accion.types import Array, Configuration, Function, Params, Scalar, Vector


class Form(NamedTuple):
    """What functions of the motion and of its end take, how they are called with (t, q, v, u,
    params) and (t, q, v, params); how an end is read; what the controls do.
    """

    running: str
    ending: str
    of_motion: Callable[[Function], Function]
    of_end: Callable[[Function], Function]
    end: Callable[[Space, str, Any, str], End]
    acting: Callable[..., Acting]

    def motion(self, name: str, f: Any, optional: bool = False) -> Any:
        """A function of the motion, checked; None stays."""
        return self.read(name, f, self.running, self.of_motion, optional)

    def last(self, name: str, f: Any) -> Any:
        """A function of the end, checked; None stays."""
        return self.read(name, f, self.ending, self.of_end, True)

    def read(self, name: str, f: Any, takes: str, made: Any, optional: bool) -> Any:
        if isinstance(f, OfState | OfLastState):  # of a problem that was made before
            return f
        check_function(name, f, takes, optional=optional)
        return None if f is None else made(f)


@dataclass(frozen=True)
class OfState:
    """A function of (t, x, u, params) as one of (t, q, v, u, params)."""

    f: Function

    def __call__(self, t: Scalar, q: Configuration, v: Vector, u: Array, params: Params) -> Any:
        return self.f(t, q, u, params)


@dataclass(frozen=True)
class OfLastState:
    """A function of (t, x, params) as one of (t, q, v, params)."""

    f: Function

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        return self.f(t, q, params)


def as_it_is(f: Function) -> Function:
    return f


@singledispatch
def form_of(system: Any) -> Form:
    """How problems about a system are written; ValueError where there are none."""
    return checks.check_kind(system)


@form_of.register
def _(system: AbstractSystem) -> Form:
    checks.check_mechanical(system, "ControlProblem")
    return Form("t, q, v, u, params", "t, q, v, params", as_it_is, as_it_is, end_of, acting)


@form_of.register
def _(system: Dynamics) -> Form:
    takes = ("t, x, u, params", "t, x, params")
    return Form(*takes, OfState, OfLastState, state_of, acting_on_rates)


def state_of(space: Space, boundary: str, given: Any, name: str) -> End:
    """The end of a problem about states, whose rates are not given."""
    if boundary != "velocities":
        raise ValueError('boundary="configurations" is for mechanical systems; leave it out.')
    x, fixed = vector_of(space.dim, given, name)
    still = np.zeros(space.dim)
    return End(x, still, fixed, np.full(space.dim, True))


def acting_on_rates(
    system: Dynamics, actuated: Any, actuation: Any, control_force: Any, controls: Any
) -> Acting:
    """The controls of f(t, x, u)."""
    if any(given is not None for given in (actuated, actuation, control_force)):
        raise ValueError(
            "the controls of a Dynamics are the u of its f(t, x, u): leave out actuated, actuation"
            " and control_force."
        )
    if controls is not None and tuple(controls) != system.controls:
        raise ValueError("the controls of a Dynamics have the names that it was given.")
    return Acting(OfState(system.f), system.controls, None)
