"""What the scalars are that a jaxpr is carried out on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from accion.engines.arrays import Equation, ValueArray
from accion.engines.errors import Unsupported

V = TypeVar("V")


class Algebra(ABC, Generic[V]):
    """What the interpreter, which moves entries of arrays about, asks of the entries.

    Values of a program (`Graph`) are one algebra, expressions of SymPy (`symbols.algebra`) another.
    What else a primitive does to each entry by itself is a rule that each algebra has for itself.
    `count` is how many operations there are so far, where that is a limit.
    """

    count: int

    @abstractmethod
    def kind(self, dtype: Any) -> str:
        """The kind of numbers of a type of NumPy's."""

    @abstractmethod
    def constant(self, number: Any, kind: str) -> V:
        """A number that is known."""

    @abstractmethod
    def binary(self, op: str, a: V, b: V) -> V:
        """add, sub, mul, max, min, and, or, xor of two numbers of one kind."""

    @abstractmethod
    def fold(self, op: str, values: Sequence[V]) -> V:
        """The same of one number or more."""

    @abstractmethod
    def compare(self, op: str, a: V, b: V) -> V:
        """eq, ne, lt, le, gt, ge: a truth value."""

    @abstractmethod
    def select(self, condition: V, a: V, b: V) -> V:
        """a where the condition holds, else b."""

    @abstractmethod
    def clamp(self, i: V, low: int, high: int) -> V:
        """The integer i, put between two numbers."""

    @abstractmethod
    def narrow(self, a: V) -> V:
        """The integer `a` as one of 32 bits."""

    @abstractmethod
    def bounds(self, i: V) -> tuple[int, int] | None:
        """The least and the largest that an integer can be, None where they are not known.

        Raises: Unsupported where an index must be known.
        """

    @abstractmethod
    def filler(self, dtype: Any) -> V:
        """What stands at an index out of range, where JAX fills."""

    @abstractmethod
    def unrolled(self, turns: int) -> bool:
        """Whether a loop of so many turns is written out.

        Raises: Unsupported where it cannot be, and there are no loops.
        """

    @abstractmethod
    def loop(
        self,
        starts: Sequence[V],
        test: Callable[[list[V]], V],
        body: Callable[[list[V]], Sequence[V]],
    ) -> list[V]:
        """The values after `while test(values): values = body(values)`."""

    @abstractmethod
    def branch(self, index: V, branches: Sequence[Callable[[], Sequence[V]]]) -> list[V]:
        """The values of the branch that the integer `index` names."""

    @abstractmethod
    def settled(self, equation: Equation, result: ValueArray) -> ValueArray:
        """A result of an equation, after a look at it."""

    @abstractmethod
    def unknown(self, equation: Equation, obstacle: Unsupported) -> list[ValueArray]:
        """The results of an equation that cannot be carried out, or an error."""
