"""Systems that are given in discrete time, in letters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accion.symbols.discrete_equations import (
    DiscreteEquations,
    DiscreteStep,
)
from accion.symbols.registry import derive
from accion.symbols.simplification import Simplifier
from accion.systems import DiscreteSystem, DiscreteThermalSystem


class GivenStep(DiscreteStep):
    """What systems given in discrete time share: their functions are those of the user, on every
    space.
    """

    @property
    def title(self) -> str:
        return self.system.name

    @property
    def subject(self) -> str:
        return self.system.name

    def read(self, f: Callable[..., Any], *arguments: tuple[Any, ...]) -> Any:
        """f(system, t, h, points, *arguments) of the step from q_k on symbols."""

        def at(params: Any, t: Any, h: Any, points: Any, *rest: Any) -> Any:
            return f(self.system.with_params(params), t, h, points, *rest)

        return self.letters.read(at, *arguments)


@dataclass(frozen=True)
class DiscreteSystemStep(GivenStep):
    """A step of a `DiscreteSystem` (001 Def 2.17 and 2.29)."""

    system: DiscreteSystem

    @property
    def Ld(self) -> Any:
        lam = (self.letters.lam,) if self.system.enters_action else ()
        return self.read(DiscreteSystem.Ld, *lam).item()

    @property
    def forces(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(row) for row in self.read(DiscreteSystem.Fd))

    @property
    def closure(self) -> tuple[Any, ...]:
        return tuple(self.read(DiscreteSystem.c))

    @property
    def reaction(self) -> tuple[Any, ...]:
        A = self.system.variational
        if A is None:
            return self.nothing()

        def force(system: DiscreteSystem, t: Any, h: Any, points: Any, lam: Any) -> Any:
            return h * (A(t, points[0], system.params).T @ lam)

        return tuple(self.read(force, self.letters.lam))


@dataclass(frozen=True)
class DiscreteThermalStep(GivenStep):
    """A step of a `DiscreteThermalSystem`, from (q_k, S_k) to (q_k+1, S_k+1) (001 Def 3.12)."""

    system: DiscreteThermalSystem

    def of(self, field: str) -> Any:
        """The function `field` of the user on symbols."""

        def f(system: DiscreteThermalSystem, t: Any, h: Any, points: Any) -> Any:
            return system.evaluate(getattr(system, field), t, h, *points)

        return self.read(f)

    @property
    def Ld(self) -> Any:
        return self.of("lagrangian").item()

    @property
    def forces(self) -> tuple[tuple[Any, ...], ...]:
        fields = [f for f in ("friction", "external") if getattr(self.system, f) is not None]
        pairs = [self.of(field) for field in fields]
        return tuple(
            tuple(sum(column) for column in zip(self.nothing(), *rows, strict=True))
            for rows in zip(*pairs, strict=True)
        ) or (self.nothing(), self.nothing())

    @property
    def closure(self) -> tuple[Any, ...]:
        return tuple(self.of("kinematic").flat)

    @property
    def reaction(self) -> tuple[Any, ...]:
        return self.nothing()


@derive.register
def _(system: DiscreteSystem, seconds: float) -> DiscreteEquations:
    system.check()
    return DiscreteEquations(DiscreteSystemStep(system), Simplifier(seconds))


@derive.register
def _(system: DiscreteThermalSystem, seconds: float) -> DiscreteEquations:
    system.check()
    return DiscreteEquations(DiscreteThermalStep(system), Simplifier(seconds))
