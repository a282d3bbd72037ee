"""A value at two times, and its size in logarithms."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, final

import jax.numpy as jnp


class Logs(NamedTuple):
    """sign e^log at t; e^change times that later, with the other sign where `flip` is -1."""

    sign: Any
    log: Any
    change: Any = None  # None where nothing changes
    flip: Any = None


@final
class Moving:
    """A value at t and at t + tau, computed where it is asked for."""

    def __init__(
        self,
        now: Callable[[], Any],
        change: Callable[[], Any] | None = None,
        later: Callable[[], Any] | None = None,
        logs: Callable[[], Logs] | None = None,
    ) -> None:
        self.asked = (now, change, later, logs)
        self.moves = change is not None or later is not None
        self.in_logs = logs is not None  # whether it is known by its logarithm

    @cached_property
    def x(self) -> Any:
        """At t."""
        return self.asked[0]()

    @cached_property
    def dx(self) -> Any:
        """How much more it is later; None where nothing changes."""
        _, change, later, _ = self.asked
        if change is not None:
            return change()
        return None if later is None else self.later - self.x

    @cached_property
    def later(self) -> Any:
        """At t + tau."""
        _, change, later, _ = self.asked
        if later is not None:
            return later()
        return self.x if change is None else self.x + self.dx

    @cached_property
    def step(self) -> Any:
        """How much more it is later, as a number."""
        return self.dx if self.moves else jnp.zeros(())

    @cached_property
    def logs(self) -> Logs:
        """Its size in logarithms."""
        own = self.asked[3]
        if own is not None:
            return own()
        sign, log = jnp.sign(self.x), jnp.log(jnp.abs(self.x))
        if not self.moves:
            return Logs(sign, log)
        return Logs(sign, log, *grown(self.dx / self.x))


def constant(x: Any) -> Moving:
    """What does not depend on the time."""
    return Moving(lambda: x)


def from_ends(now: Any, later: Any) -> Moving:
    """What is known at both ends."""
    return Moving(lambda: now, None, lambda: later)


def grown(part: Any) -> tuple[Any, Any]:
    """(log |1 + part|, its sign)."""
    above = part > -1.0
    up = jnp.log1p(jnp.where(above, part, 0.0))
    down = jnp.log(jnp.where(above, 1.0, -(1.0 + part)))
    return jnp.where(above, up, down), jnp.where(above, 1.0, -1.0)


def in_logs(found: Callable[[], Logs], moves: bool) -> Moving:
    """What is known by its logarithm."""

    def now() -> Any:
        sign, log, *_ = found()
        return sign * jnp.exp(log)

    def change() -> Any:
        sign, log, more, flip = found()
        if flip is None:
            return sign * jnp.exp(log) * jnp.expm1(more)
        return sign * jnp.exp(log) * (flip * jnp.exp(more) - 1.0)

    return Moving(now, change if moves else None, None, found)


def added(a: Any, b: Any) -> Any:
    """The sum of what may be None, which is nothing."""
    return b if a is None else a if b is None else a + b


def multiplied(a: Any, b: Any) -> Any:
    """The product of what may be None, which is one."""
    return b if a is None else a if b is None else a * b
