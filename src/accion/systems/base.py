"""What every kind of system shares: functions of the user, a space, params, names, and questions.

A room that works with systems asks them (`order`, `entropic`, `enters_action`, ...) and never which
kind they are. What a kind does in its own way is a method here, or a function that is registered
for it where it is needed.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as dataclass_fields, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import jax
import numpy as np

from accion import _config
from accion.arguments import shown, text, wrong
from accion.spaces import Euclidean, Space
from accion.systems import words
from accion.systems.arity import check_function
from accion.systems.frozen import Untraced, freeze, frozen_params
from accion.systems.start import Start
from accion.systems.traced import number
from accion.systems.tree import is_number, join, split
from accion.told import html
from accion.types import Configuration, Function, Params

FOUND = ("again", "parts_of_tree")  # what a system knows besides its fields
AGAIN = 8  # structures of params, or numbers of entropies, for which functions are traced again


class AbstractSystem(ABC):
    """A system of any kind: a pytree whose leaves are the numbers of params and of its functions.

    A system is what it was when it was built: its functions are traced once, in its constructor,
    and nobody calls them again; what they close over is copied. Params of another structure are the
    one exception: for each of them the functions, which are kept for this alone, are traced once
    more. Programs are compiled once for all systems that were traced to the same operations.

    In what follows z is what a step moves: the configuration q, of a thermal system with the
    entropies, (q, S), of a contact system with its action; v is the velocity, of a system of order
    r the rows (q', q'', ...).
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
    beside: ClassVar[str]  # what its state has besides q and p: "S", "z", or "" for nothing
    entropic: ClassVar[bool]  # whether entropies are part of its state
    contact: ClassVar[bool]  # whether its action z, with z' = L, is: a contact (Herglotz) system
    conformal: Any  # the weight w where L is w(t, params) times another Lagrangian, else None
    mechanical: Any  # the Lagrangian where it is mass, potential and magnetic term, else None
    discrete_time: ClassVar[bool]  # whether it is given by its discrete Lagrangian
    entropy_shape: Any  # of S, as the user has it
    inputs: Any = 0  # how many controls its functions take
    undecided: Any  # whether it is not known yet how many entropies there are

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
        """z of a configuration and what the state has besides it: entropies, or an action."""

    @abstractmethod
    def with_entropies(self, S0: Any) -> Self:
        """The system with as many entropies as `S0` has, where it was not said how many."""

    @abstractmethod
    def parts(self, z: Configuration) -> tuple[Configuration, Any]:
        """(q, S) of z, as the user has them, S being what the state has besides q; None where it
        has nothing.
        """

    # ------------------------------------------------------------ fields, names and the pytree

    def check_fields(self) -> None:
        """Raise ValueError unless the fields are what they should be; put in default names."""
        _config.check_process()
        if not isinstance(self.space, Space):
            wrong("space", "a Space, such as Euclidean(2) or SO3()", self.space)
        for field, arguments in self.signatures.items():
            optional = field not in self.required
            check_function(field, getattr(self, field), arguments, optional=optional)
        names = (
            self.space.coordinates() if self.coordinates is None else named_all(self.coordinates)
        )
        if len(names) != self.space.dim or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"coordinates must be {self.space.dim} names, one for each degree of freedom; got"
                f" {shown(self.coordinates)}."
            )
        object.__setattr__(self, "coordinates", names)
        name = self.default_name if self.name is None else text(self.name, "name")
        object.__setattr__(self, "name", name or self.default_name)

    def tree_flatten(self) -> tuple[list[Any], Any]:
        if "parts_of_tree" in vars(self):
            return vars(self)["parts_of_tree"]
        fields = tuple(self.signatures)
        numbers, frame = split((self.params, *(getattr(self, field) for field in fields)))
        return numbers, (fields, frame, tuple(getattr(self, field) for field in self.static))

    def divided(self) -> Self:
        """The same system, which is not to be changed any more, with what it is as a pytree found
        once for all that ask.
        """
        vars(self)["parts_of_tree"] = self.tree_flatten()
        return self

    @classmethod
    def tree_unflatten(cls, aux: Any, numbers: Sequence[Any]) -> Self:
        fields, frame, static = aux
        params, *functions = join(numbers, frame)
        # Not through the constructor: while JAX transforms a system its numbers may be anything.
        self = object.__new__(cls)
        vars(self).update(zip(fields, functions, strict=True), params=params)
        vars(self).update(zip(cls.static, static, strict=True))
        return self

    # ------------------------------------------------------------ frozen

    def freeze(self) -> None:
        """Trace the functions and copy the numbers: the last thing that a constructor does.

        Raises:
            ValueError: if a function cannot be evaluated, or does not return what it should. Where
                params, or the number of entropies, are yet to be given, this waits for them.
        """
        object.__setattr__(self, "params", frozen_params(self.params, self.name))
        for field, arguments in self.signatures.items():
            f = getattr(self, field)
            try:
                f = freeze(f, field, arguments, self.examples)
            except ValueError as error:
                if not self.undecided:
                    raise
                f = Untraced(f, error)
            object.__setattr__(self, field, f)
        if not self.undecided and not self.untraced:
            self.check_functions()

    def examples(self, arguments: str) -> tuple[Any, ...]:
        """Examples of the arguments that a text such as "t, q, v, params" names, in shape."""
        letters = arguments.split(", ")[:-1]
        params = jax.tree.map(
            lambda leaf: number(np.shape(leaf)) if is_number(leaf) else leaf, self.params
        )
        return (*map(self.example, letters), params)

    def example(self, letter: str) -> Any:
        if letter in ("t", "h"):
            return number()
        if re.fullmatch(r"q\d*", letter):
            return configuration(self.space)
        if letter == "u":
            return number((self.inputs,))
        return number(self.entropy_shape if letter[0] in "Sz" else (self.space.dim,))

    @property
    def untraced(self) -> list[Untraced]:
        """The functions that wait for params, or for the number of entropies."""
        functions = [getattr(self, field) for field in self.signatures]
        return [f for f in functions if isinstance(f, Untraced)]

    def check(self) -> None:
        """Raise ValueError unless the functions return what they should."""
        for f in self.untraced:
            raise f.error
        self.check_functions()

    def with_params(self, params: Params) -> Self:
        """The same system with other parameters.

        If they are built like the system's own (the same keys and shapes), nothing is traced; else
        its functions are traced once more, and `ValueError` is raised where that is not possible.
        """
        params = frozen_params(params, self.name)
        wanted = structure(params)
        if wanted == structure(self.params):
            return self.altered(params=params)
        own: Any = self
        found = self.traced_again(("params", wanted), lambda: replace(own, params=params))
        return found.altered(params=params)

    def traced_again(self, key: Any, build: Callable[[], Self]) -> Self:
        """What `build` returns, without its params; built once for each `key`."""
        kept = vars(self).setdefault("again", {})
        if key not in kept:
            while len(kept) >= AGAIN:
                kept.pop(next(iter(kept)))
            kept[key] = build().altered(params=None)
        return kept[key]

    def altered(self, **fields: Any) -> Self:
        """The same system with other fields, which nobody looks at: for what is made of systems
        that are frozen.
        """
        kept = self.__getstate__()
        if set(fields) == {"params"}:
            kept["again"] = vars(self).setdefault("again", {})
        return self.made_of(**(kept | fields))

    @classmethod
    def made_of(cls, **fields: Any) -> Self:
        """A system of these fields, without a look at them; those left out are None."""
        self = object.__new__(cls)
        own: Any = cls
        names = (field.name for field in dataclass_fields(own))
        vars(self).update(dict.fromkeys(names) | fields)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in FOUND}

    # ------------------------------------------------------------ words

    def __repr__(self) -> str:
        return words.line(self)

    def _repr_html_(self) -> str:
        return html(words.lines(self))

    # ------------------------------------------------------------ names

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates without their units."""
        return tuple(map(word_of, self.coordinates or ()))

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each coordinate, "" where none was given."""
        return tuple(map(unit_of, self.coordinates or ()))


class WithoutEntropy(AbstractSystem):
    """A system without entropies: a step moves its configuration alone."""

    beside = ""
    entropic = False
    contact = False
    entropy_shape = ()
    undecided = False

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


def structure(params: Params) -> tuple[Any, ...]:
    """How params are built: their keys, what is not a number, and the shapes of the numbers."""
    numbers, frame = split(params)
    return frame, tuple(map(np.shape, numbers))


def space_of(given: Any, name: str) -> Space:
    """A space, which may be given by the number of its coordinates."""
    if isinstance(given, Space):
        return given
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        wrong(name, "a space, or a number of coordinates n >= 1", given)
    return Euclidean(int(given))


@lru_cache(maxsize=64)
def configuration(space: Space) -> Any:
    """An example of a configuration, in shape."""
    return jax.tree.map(lambda a: number(np.shape(a)), space.identity())


def named_all(coordinates: Any) -> tuple[Any, ...]:
    several = isinstance(coordinates, np.ndarray) and coordinates.ndim == 1
    return tuple(coordinates) if several or isinstance(coordinates, list | tuple) else ()


def word_of(name: str) -> str:
    """A name without its unit."""
    return name.split("[")[0].strip()


def unit_of(name: str) -> str:
    """The unit of a name, "" where it has none."""
    return name.split("[")[1].rstrip("] ") if "[" in name else ""
