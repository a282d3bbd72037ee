"""Several spaces side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from accion.arguments import shown
from accion.spaces.base import Space
from accion.spaces.flat import vector_of
from accion.types import Array, Vector


def all_of(flags: Sequence[Array]) -> Array | bool:
    """Whether all are true, of flags that JAX may be tracing."""
    return True if not flags else jnp.all(jnp.stack(flags))


@final
@dataclass(frozen=True, init=False)
class Product(Space):
    """Q = Q1 x Q2 x ...: a configuration is a tuple, one entry for each factor; velocities are
    joined into one flat vector.
    """

    factors: tuple[Space, ...]

    def __init__(self, *factors: Space) -> None:
        if len(factors) < 1 or not all(isinstance(space, Space) for space in factors):
            raise ValueError(
                "Product needs spaces, as in Product(Euclidean(3), Torus(1)); got"
                f" {shown(factors)}."
            )
        object.__setattr__(self, "factors", factors)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the components of each factor stand in a vector."""
        ends = np.cumsum([0] + [space.dim for space in self.factors])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def each(self, method: str, *arguments: tuple[Any, ...] | Vector) -> list[Any]:
        """What the method of this name says of each factor; an argument is a tuple of
        configurations or a flat vector, of which each gets its own components.
        """
        parts = [a if isinstance(a, tuple) else tuple(a[s] for s in self.slices) for a in arguments]
        return [
            getattr(space, method)(*args) for space, *args in zip(self.factors, *parts, strict=True)
        ]

    @property
    def dim(self) -> int:
        return sum(space.dim for space in self.factors)

    @property
    def flat(self) -> bool:
        return all(space.flat for space in self.factors)

    def identity(self) -> tuple[Any, ...]:
        return tuple(space.identity() for space in self.factors)

    def check(self, q: Sequence[Any], name: str = "q") -> tuple[Any, ...]:
        if not isinstance(q, tuple | list) or len(q) != len(self.factors):
            raise ValueError(
                f"{name} must be a tuple with one configuration for each of the {len(self.factors)}"
                f" factors of {self}; got {shown(q)}."
            )
        return tuple(
            space.check(part, f"{name}[{i}]")
            for i, (space, part) in enumerate(zip(self.factors, q, strict=True))
        )

    def retract(self, q: tuple[Any, ...], eta: Vector) -> tuple[Any, ...]:
        q, eta = self.parted(q, "q"), vector_of(eta, self.dim, "eta")
        return tuple(self.each("retract", q, eta))

    def parted(self, q: Any, name: str) -> tuple[Any, ...]:
        """`q` if it is a tuple with a part for each factor; else `check` says what is wrong."""
        parted = isinstance(q, tuple) and len(q) == len(self.factors)
        return q if parted else self.check(q, name)

    def local(self, q0: tuple[Any, ...], q1: tuple[Any, ...]) -> Vector:
        q0, q1 = self.parted(q0, "q0"), self.parted(q1, "q1")
        return jnp.concatenate(self.each("local", q0, q1))

    def difference(self, q0: tuple[Any, ...], q1: tuple[Any, ...]) -> Vector:
        return jnp.concatenate(self.each("difference", q0, q1))

    def displace(self, q: tuple[Any, ...], e: Vector) -> tuple[Any, ...]:
        return tuple(self.each("displace", q, e))

    def relative(self, x: Vector, e0: Vector, e1: Vector) -> Vector:
        return jnp.concatenate(self.each("relative", x, e0, e1))

    def displacement(self, q: tuple[Any, ...], moved: tuple[Any, ...]) -> Vector:
        return jnp.concatenate(self.each("displacement", q, moved))

    def velocity(self, x: Vector, rate: Vector) -> Vector:
        return jnp.concatenate(self.each("velocity", x, rate))

    def rate(self, x: Vector, v: Vector) -> Vector:
        return jnp.concatenate(self.each("rate", x, v))

    def ad(self, xi: Vector, eta: Vector) -> Vector:
        return jnp.concatenate(self.each("ad", xi, eta))

    def project(self, q: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self.each("project", q))

    def stretched(self, x: Vector) -> Vector:
        return jnp.concatenate(self.each("stretched", x))

    def within(self, x: Vector) -> Array | bool:
        # True is no array: a flat factor adds nothing to a step.
        return all_of([inside for inside in self.each("within", x) if inside is not True])

    @property
    def chart(self) -> str:
        return "; ".join(dict.fromkeys(space.chart for space in self.factors if space.chart))

    def beyond(self, x: Vector) -> str | None:
        return next((words for words in self.each("beyond", x) if words is not None), None)

    def accumulate(
        self, q: tuple[Any, ...], c: Vector, x: Vector
    ) -> tuple[tuple[Any, ...], Vector]:
        parts = self.each("accumulate", q, c, x)
        return tuple(q1 for q1, _ in parts), jnp.concatenate([c1 for _, c1 in parts])

    def magnitude(self, q: tuple[Any, ...]) -> Vector:
        return jnp.concatenate(self.each("magnitude", q))

    def in_letters(self) -> "Product":
        return Product(*(space.in_letters() for space in self.factors))

    def coordinates(self) -> tuple[str, ...]:
        """Those of the factors; vectors and angles are counted through, and factors with the same
        names get their number behind them.
        """
        words = [[name.split(" ", 1) for name in space.coordinates()] for space in self.factors]
        count, names = 0, []
        for i, (space, own) in enumerate(zip(self.factors, words, strict=True)):
            for word, *unit in own:
                count += 1
                alike = sum(any(word == other for other, *_ in rest) for rest in words) > 1
                name = f"q{count}" if space.flat else f"{word}_{i + 1}" if alike else word
                names.append(" ".join([name, *unit]))
        return tuple(names)
