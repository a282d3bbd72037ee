"""Public names, each with a call that works: what is made wrong, one or two arguments at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.bad_input.functions import bad_functions
from tests.bad_input.values import EVERYTHING, NOT_REAL, altered, altered_not_real


@dataclass(frozen=True)
class Door:
    """A public function and a call of it that works.

    `also` are further words by which an error may name an argument, `often` how often the door is
    tried, `allowed` what an argument may be although it is no real number, and `hours` what is
    right and would be computed for hours: it is not tried.
    """

    name: str
    f: Callable[..., Any]
    good: Mapping[str, Any]
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    often: float = 1.0
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hours: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def names(self, argument: str) -> set[str]:
        """What an error may call an argument."""
        return {argument, *self.also.get(argument, ())}


@dataclass(frozen=True)
class Change:
    """One argument made wrong: what it becomes, in words, and whether it must be refused."""

    argument: str
    words: str
    make: Callable[[], Any]
    refused: bool


def is_real(good: Any) -> bool:
    """Whether a good value is real numbers, so that others than those must be refused."""
    return bool(altered(good))


def is_function(good: Any) -> bool:
    return callable(good) and type(good).__name__ in ("function", "builtin_function_or_method")


@cache
def changes(name: str) -> tuple[Change, ...]:
    """Every way in which an argument of the door of this name can be made wrong."""
    door = all_doors()[name]
    found: list[Change] = []
    for argument, good in door.good.items():
        makers = dict(EVERYTHING)
        if is_function(good):
            makers |= bad_functions(good)
        makers |= altered(good) | altered_not_real(good)
        never = {*NOT_REAL, *altered_not_real(good)} if is_real(good) else set()
        never -= set(door.allowed.get(argument, ()))
        found += [
            Change(argument, words, make, words in never)
            for words, make in makers.items()
            if words not in door.hours.get(argument, ())
        ]
    return tuple(found)


@cache
def all_doors() -> dict[str, Door]:
    """The doors by their names; building them runs what the calls need."""
    from tests.bad_input import (
        doors_analysis,
        doors_control,
        doors_formation,
        doors_results,
        doors_runs,
        doors_systems,
    )

    rooms = (
        doors_systems,
        doors_runs,
        doors_results,
        doors_analysis,
        doors_formation,
        doors_control,
    )
    doors = [door for room in rooms for door in room.doors()]
    found = {door.name: door for door in doors}
    assert len(found) == len(doors), "two doors have one name"
    return found
