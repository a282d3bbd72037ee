"""What every kind of system shares: functions of the user, a space, params, names, and questions.

A room that works with systems asks them (`order`, `entropic`, `enters_action`, ...) and never which
kind they are. What a kind does in its own way is a method here, or a function that is registered
for it where it is needed.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp

from accion.spaces import Space
from accion.systems.arity import check_function
from accion.systems.start import Start
from accion.systems.tree import join, split
from accion.types import Configuration, Function, Params

CHECKED: set[Any] = set()  # systems whose functions were seen to return what they should


class AbstractSystem(ABC):
    """A system of any kind: a pytree whose leaves are the numbers of params and of its functions.

    In what follows z is what a step moves: the configuration q, of a thermal system with the
    entropies, (q, S); v is the velocity, of a system of order r the rows (q', q'', ...).
    """

    lagrangian: Function
    space: Space
    params: Params
    coordinates: Any
    name: Any

    required: ClassVar[tuple[str, ...]]  # functions that must be given
    static: ClassVar[tuple[str, ...]]  # fields that are compiled in
    default_name: ClassVar[str]
    kind: ClassVar[str]  # in words, for messages: "thermal systems"

    # ------------------------------------------------------------ what is asked

    constraint: Any  # the constraints as one, or None
    multipliers: Any  # how many there are
    enters_action: Any  # whether multipliers are in the action and in the state (vakonomic)
    holds_positions: Any  # whether a constraint holds configurations (holonomic)
    holds_velocities: Any  # whether a constraint holds velocities by its forces (nonholonomic)
    forced: Any  # whether forces act: a force, discrete work, friction, external forces or heat
    order: Any  # of the highest derivative in the Lagrangian
    entropic: ClassVar[bool]  # whether entropies are part of its state
    mechanical: Any  # the Lagrangian where it is mass, potential and magnetic term, else None
    discrete_time: ClassVar[bool]  # whether it is given by its discrete Lagrangian

    @property
    @abstractmethod
    def signatures(self) -> Mapping[str, str]:
        """The functions of the user by their fields, with the arguments that they take."""

    @abstractmethod
    def check_functions(self) -> None:
        """Raise ValueError unless the functions return what they should; nothing is computed."""

    @abstractmethod
    def check_regular(self, K: Any) -> None:
        """Raise ValueError where K, d2L/dv2 bordered by the constraints, is singular."""

    @abstractmethod
    def check_given(self, start: Start) -> None:
        """Raise ValueError unless just what this kind starts from is given."""

    @abstractmethod
    def check_part(self, part: str, value: Any, name: str) -> Any:
        """One part of a start ("q0", "v0", ...) as float64; `name` is what the user calls it."""

    # ------------------------------------------------------------ what a step moves

    @property
    @abstractmethod
    def step_space(self) -> Space:
        """Where a step moves."""

    @abstractmethod
    def point(self, q: Configuration, S: Any) -> Configuration:
        """z of a configuration and entropies."""

    @abstractmethod
    def with_entropies(self, S0: Any) -> Self:
        """The system with as many entropies as `S0` has, where it was not said how many."""

    @abstractmethod
    def parts(self, z: Configuration) -> tuple[Configuration, Any]:
        """(q, S) of z, as the user has them; S is None where there are no entropies."""

    # ------------------------------------------------------------ fields, names and the pytree

    def check_fields(self) -> None:
        """Raise ValueError unless the fields are what they should be; put in default names."""
        if not isinstance(self.space, Space):
            raise ValueError(
                f"space must be a Space, such as Euclidean(2) or SO3(); got {self.space!r}."
            )
        for field, arguments in self.signatures.items():
            optional = field not in self.required
            check_function(field, getattr(self, field), arguments, optional=optional)
        names = (
            self.space.coordinates() if self.coordinates is None else named_all(self.coordinates)
        )
        if len(names) != self.space.dim or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"coordinates must be {self.space.dim} names, one for each degree of freedom; got"
                f" {self.coordinates!r}."
            )
        object.__setattr__(self, "coordinates", names)
        object.__setattr__(self, "name", self.name or self.default_name)

    def tree_flatten(self) -> tuple[list[Any], Any]:
        fields = tuple(self.signatures)
        numbers, frame = split((self.params, *(getattr(self, field) for field in fields)))
        return numbers, (fields, frame, tuple(getattr(self, field) for field in self.static))

    @classmethod
    def tree_unflatten(cls, aux: Any, numbers: Sequence[Any]) -> Self:
        fields, frame, static = aux
        params, *functions = join(numbers, frame)
        self = object.__new__(cls)
        # Not through the constructor: while JAX transforms a system its numbers may be anything.
        vars(self).update(zip(fields, functions, strict=True), params=params)
        vars(self).update(zip(cls.static, static, strict=True))
        return self

    def with_params(self, params: Params) -> Self:
        """The same system with other parameters."""
        return replace(self, params=params)  # pyright: ignore[reportArgumentType]

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates without their units."""
        return tuple(map(word_of, self.coordinates or ()))

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each coordinate, "" where none was given."""
        return tuple(map(unit_of, self.coordinates or ()))

    def check(self) -> None:
        """Raise ValueError unless the functions return what they should; once for a structure."""
        shapes = tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves(self))
        key = (jax.tree.structure(self), shapes)
        if key not in CHECKED:
            self.check_functions()
            CHECKED.add(key)


class WithoutEntropy(AbstractSystem):
    """A system without entropies: a step moves its configuration alone."""

    entropic = False

    @property
    def step_space(self) -> Space:
        return self.space

    def point(self, q: Configuration, S: Any) -> Configuration:
        return q

    def with_entropies(self, S0: Any) -> Self:
        return self

    def parts(self, z: Configuration) -> tuple[Configuration, Any]:
        return z, None


class Mechanical(WithoutEntropy):
    """A system without entropies in continuous time, with constraints or without."""

    discrete_time = False

    @property
    def enters_action(self) -> bool:
        return self.constraint is not None and self.constraint.enters_action

    @property
    def holds_positions(self) -> bool:
        return self.constraint is not None and self.constraint.holds_positions


def named_all(coordinates: Any) -> tuple[Any, ...]:
    try:
        return tuple(coordinates)
    except TypeError:
        return ()


def word_of(name: str) -> str:
    """A name without its unit."""
    return name.split("[")[0].strip()


def unit_of(name: str) -> str:
    """The unit of a name, "" where it has none."""
    return name.split("[")[1].rstrip("] ") if "[" in name else ""
