"""A step of a system under a method, in letters: the method's own samples, by the same
discretisation that is simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.checks import check_method, refuse
from accion.discretise import Discretisation, discretise
from accion.methods import Method
from accion.symbols.discrete_equations import DiscreteEquations, DiscreteStep
from accion.symbols.simplification import Simplifier
from accion.systems import AbstractSystem


@dataclass(frozen=True)
class SampledStep(DiscreteStep):
    """What a method makes of a system in continuous time, on a flat space."""

    system: Any
    method: Method

    @property
    def title(self) -> str:
        return f"{self.system.name}, {self.method}"

    @property
    def subject(self) -> str:
        return f"{self.method} on {self.system.name}"

    def read(self, f: Callable[..., Any], *arguments: tuple[Any, ...]) -> Any:
        """f(discretisation, (t, h, z, x), *arguments) of the step from q_k on symbols."""

        def at(params: Any, t: Any, h: Any, points: Any, *rest: Any) -> Any:
            form = discretise(self.system.with_params(params), self.method)
            return f(form, (t, h, points[0], increment(form, points)), *rest)

        return self.letters.read(at, *arguments)

    @property
    def Ld(self) -> Any:
        lam = (self.letters.lam,) if self.system.enters_action else ()
        return self.read(lambda form, step, *lam: form.action(*step, *lam), *lam).item()

    @property
    def forces(self) -> tuple[tuple[Any, ...], ...]:
        """The variation of the system without its Lagrangian."""

        def rows(form: Discretisation, step: Any) -> Any:
            forced = form.system.altered(lagrangian=no_lagrangian)
            found = discretise(forced, self.method).variation(*step)
            return jnp.concatenate([found.start, jnp.ravel(found.end)])

        covectors = self.read(rows).reshape(-1, self.dim)
        return tuple(tuple(row) for row in covectors)

    @property
    def closure(self) -> tuple[Any, ...]:
        return tuple(self.read(lambda form, step: form.closure(*step)))

    @property
    def reaction(self) -> tuple[Any, ...]:
        """An A that depends on v takes the mean of the velocities before and after, as the step
        does.
        """
        letters = self.letters
        if not letters.lam or self.system.enters_action:
            return self.nothing()
        ends = zip(letters.q(-1), letters.q(1), strict=True)
        v = tuple((after - before) / (2 * letters.h) for before, after in ends)

        def force(form: Discretisation, step: Any, v: Any, lam: Any) -> Any:
            t, h, z, _ = step
            return form.reaction(t, h, z, v, lam)

        return tuple(self.read(force, v, letters.lam))


def increment(form: Discretisation, points: Any) -> Any:
    """The increment of a step, of a window the differences of its increments."""
    flat = jnp.stack([jnp.concatenate(list(map(jnp.ravel, jax.tree.leaves(q)))) for q in points])
    return form.from_increments(flat[1:] - flat[:-1])


def no_lagrangian(*_: Any) -> float:
    """A system that only its forces move."""
    return 0.0


def check_flat(system: AbstractSystem, what: str) -> None:
    """Raise ValueError where `what` cannot be written, as the space is not flat."""
    if not system.space.flat:
        refuse(what, f"systems on {system.space}", "it is written on flat spaces only")


def under_method(system: AbstractSystem, method: Method, simplify: Simplifier) -> DiscreteEquations:
    """The discrete equations of a system in continuous time under a method.

    Raises:
        ValueError: where the space is not flat, or where the method cannot step the system.
    """
    check_flat(system, "symbolic(system).discrete")
    check_method(system, method)
    if method.inner_points:
        raise ValueError(
            f"symbolic(system).discrete does not support {type(method).__name__}: where its inner"
            " points are is no formula; try Midpoint(), or accion.discrete for numbers."
        )
    return DiscreteEquations(SampledStep(system, method), simplify)
