"""What functions of a point (t, q, ...) ask of their arguments."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import jax.numpy as jnp

from accion.arguments import number
from accion.engines.auto import by_program_of
from accion.spaces import check_vector

P = ParamSpec("P")
T = TypeVar("T")


def at_point(f: Callable[P, T]) -> Callable[P, T]:
    """A decorator of methods f(self, t, q, ...) of what has a `system` and a `split`: t is a
    number, q a configuration, and v, p, lam, r and p_s vectors of the right lengths. The method is
    a native program where there is one.
    """
    return asked_at_point(wraps(f)(partial(by_program_of, f)))


def asked_at_point(f: Callable[P, T]) -> Callable[P, T]:
    """The same of methods that return no numbers, and are no programs."""
    names = tuple(inspect.signature(f).parameters)

    @wraps(f)
    def through(*args: P.args, **kwargs: P.kwargs) -> T:
        own: Any = args[0]
        given: Any = [checked(own, n, x) for n, x in zip(names[1:], args[1:], strict=False)]
        named: Any = {n: checked(own, n, x) for n, x in kwargs.items()}
        return f(own, *given, **named)  # pyright: ignore[reportCallIssue]

    return through


def checked(own: Any, name: str, value: Any) -> Any:
    """The argument of this name, as the functions of a point take it."""
    system, m, k = own.system, len(own.split.dependent), len(own.split.independent)
    lengths = {"v": system.space.dim, "p": system.space.dim, "lam": m, "r": k, "p_s": m}
    if name == "t":
        return jnp.asarray(number(value, name), float)
    if name == "q":
        return system.space.check(value, name)
    if name == "lam" and value is None:
        return None
    return check_vector(value, lengths[name], name)
