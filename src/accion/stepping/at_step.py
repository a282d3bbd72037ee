"""What the functions of `discrete` are given: times, steps, configurations of the system."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from accion._config import check_process
from accion.arguments import number, reals
from accion.engines.auto import by_program_of
from accion.spaces import check_vector
from accion.systems.contact import check_action
from accion.systems.entropic import check_entropy

P = ParamSpec("P")
T = TypeVar("T")


def at_step(f: Callable[P, T]) -> Callable[P, T]:
    """A decorator: the arguments of a function of a step are looked at, by their names, and it is a
    native program, one for all calls with the same system and method, where there is one.

    Traced ones are, in shape.
    """
    names = tuple(inspect.signature(f).parameters)

    @wraps(f)
    def through(*args: P.args, **kwargs: P.kwargs) -> T:
        check_process()
        own: Any = args[0]
        system: Any = own.system
        given: Any = [
            checked(system, name, value) for name, value in zip(names[1:], args[1:], strict=False)
        ]
        named: Any = {name: checked(system, name, value) for name, value in kwargs.items()}
        return by_program_of(f, own, *given, **named)

    return through


def checked(system: Any, name: str, value: Any) -> Any:
    """The argument of this name, as the functions of a step take it."""
    match name:
        case "t" | "h":
            return number(value, name)
        case "q" | "q0" | "q1" | "q2":
            return system.space.check(value, name)
        case "S" | "S0" | "S1" | "S2":
            return check_entropy(system, value, name)
        case "z" | "z0" | "z1" | "z2":
            return check_action(value, name)
        case "p":
            return check_vector(value, system.space.dim, name)
        case "guess" if value is not None:
            return check_vector(value, system.space.dim, name)
        case "lam" if value is not None:
            return reals(value, name)
    return value
