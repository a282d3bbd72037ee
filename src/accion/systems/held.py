"""What systems share that constraints may hold."""

from functools import singledispatch
from typing import Any

from accion.systems.arity import chosen
from accion.systems.constraints import Combined, Constraint, Holonomic, Nonholonomic, Vakonomic
from accion.systems.frozen import Untraced
from accion.systems.functions import check_returns, returned
from accion.systems.traced import TracedFunction
from accion.types import Function

# What `variational` may take.
AT_REST, MOVING = "t, q, params", "t, q, v, params"


@singledispatch
def written(f: Any) -> Any:
    """The function as the user wrote it; each wrapper registers what it holds."""
    return f


@written.register
def _(f: TracedFunction) -> Any:
    return f.source


@written.register
def _(f: Untraced) -> Any:
    return f.source


def variational_arguments(f: Any) -> str:
    """What `variational` takes: A(t, q, params), or A(t, q, v, params)."""
    return AT_REST if f is None else chosen("variational", written(f), AT_REST, MOVING)


class Held:
    """A system that may have constraints: functions of the user, in fields of these names."""

    holonomic: Function | None
    nonholonomic: Function | None
    variational: Function | None
    vakonomic: Any

    @property
    def constraint(self) -> Constraint | None:
        parts = self.kinds_of_constraint
        if len(parts) < 2:
            return parts[0] if parts else None
        return Combined(tuple(parts), tuple(self.count(part) for part in parts))

    @property
    def kinds_of_constraint(self) -> list[Constraint]:
        """The constraints apart, in the order of the multipliers."""
        parts: list[Constraint] = []
        if self.holonomic is not None:
            parts.append(Holonomic(self.holonomic))
        if self.nonholonomic is not None:
            moving = variational_arguments(self.variational) == MOVING
            parts.append(Nonholonomic(self.nonholonomic, self.variational, moving))
        if self.vakonomic is not None:
            parts.append(Vakonomic(self.vakonomic))
        return parts

    @property
    def holds_velocities(self) -> bool:
        return self.nonholonomic is not None

    @property
    def multipliers(self) -> int:
        return sum(map(self.count, self.kinds_of_constraint))

    def count(self, constraint: Constraint) -> int:
        """How many equations a constraint of one kind has."""
        out = returned(getattr(self, constraint.name))
        return check_returns(constraint.name, out, None, "m equations, shape (m,)").shape[0]

    def check_held(self) -> None:
        """Raise ValueError where constraints do not go together."""
        if self.variational is not None and self.nonholonomic is None:
            raise ValueError(
                "`variational` goes with `nonholonomic`: it says which virtual displacements that"
                " constraint allows."
            )

    def check_constraints(self, name: str, n: int) -> None:
        """Raise ValueError unless the functions of the constraints return what they should."""
        if (m := self.multipliers) > n:
            raise ValueError(f"{name} has more constraints than coordinates: {m} and {n}.")
        if self.variational is not None:
            assert self.nonholonomic is not None  # by the constructor
            rows = self.count(Nonholonomic(self.nonholonomic, None))
            words = f"a matrix of shape ({rows}, {n})"
            check_returns("variational", returned(self.variational), (rows, n), words)
