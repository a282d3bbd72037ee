"""A step of a system under a method, in letters: the method's own samples, by the same
discretisation that is simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.checks import check_method, refuse
from accion.discretise import Discretisation, discretise
from accion.methods import Method
from accion.symbols.discrete_equations import DiscreteEquations, DiscreteStep
from accion.symbols.simplification import Simplifier
from accion.systems import AbstractSystem


@dataclass(frozen=True)
class SampledStep(DiscreteStep):
    """What a method makes of a system in continuous time; on a group in the velocities xi_k of the
    steps, g_k+1 = g_k tau(h xi_k).
    """

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

        order = self.letters.order

        def at(params: Any, t: Any, h: Any, points: Any, x: Any, *rest: Any) -> Any:
            form = discretise(self.system.with_params(params), self.method)
            x = form.from_increments(jnp.reshape(x, (order, -1)))
            return f(form, (t, h, points[0], x), *rest)

        increments = tuple(x for i in range(order) for x in self.letters.increment(i))
        return self.letters.read(at, increments, *arguments)

    @property
    def Ld(self) -> Any:
        lam = (self.letters.lam,) if self.system.enters_action else ()
        return self.read(lambda form, step, *lam: form.action(*step, *lam), *lam).item()

    @property
    def forces(self) -> tuple[tuple[Any, ...], ...]:
        """The variation of the system without its Lagrangian."""
        if not self.system.space.flat:
            return self.forces_on_groups()

        def rows(form: Discretisation, step: Any) -> Any:
            forced = form.system.altered(lagrangian=no_lagrangian)
            found = discretise(forced, self.method).variation(*step)
            return jnp.concatenate([found.start, jnp.ravel(found.end)])

        covectors = self.read(rows).reshape(-1, self.dim)
        return tuple(tuple(row) for row in covectors)

    def forces_on_groups(self) -> tuple[tuple[Any, ...], ...]:
        """h sum_i w_i F_i.dq_i, the displacements dq_i of the samples taken at the origin where
        they are the same for every q_k: else g^-1 g would be written out.
        """
        if self.system.force is None:
            return (self.nothing(),) * (self.letters.order + 1)
        space, n = self.system.space, self.dim
        anywhere = self.method.nodes is not None  # samples by the retraction alone

        def pushes(form: Any, step: Any) -> Any:
            samples = form.samples(*step)
            return jnp.stack([step[1] * s.w * form.system.F(s.t, s.q, s.v) for s in samples])

        r = self.letters.order

        def moved(form: Any, step: Any) -> Any:
            t, h, q, x = step
            q = space.identity() if anywhere else q
            here = form.samples(t, h, q, x)

            def places(e: Any) -> Any:
                if r > 1:
                    there = form.samples(t, h, q, x, jnp.reshape(e, (r + 1, n)))
                else:
                    there = self.method.samples(space, t, h, q, x, e[:n], e[n:])
                pairs = zip(here, there, strict=True)
                return jnp.stack([space.displacement(a.q, b.q) for a, b in pairs])

            return jax.jacfwd(places)(jnp.zeros((r + 1) * n))

        F, J = self.read(pushes), self.read(moved)
        rows = np.einsum("sa,sab->b", F, J).reshape(r + 1, n)
        return tuple(map(tuple, rows))

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
        ends = zip(letters.increment(-1), letters.increment(0), strict=True)
        v = tuple((before + after) / (2 * letters.h) for before, after in ends)

        def force(form: Discretisation, step: Any, v: Any, lam: Any) -> Any:
            t, h, z, _ = step
            return form.reaction(t, h, z, v, lam)

        return tuple(self.read(force, v, letters.lam))


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
        ValueError: where there is no formula for the retraction, for entropies on a group, or
            where the method cannot step the system.
    """
    if system.beside:
        check_flat(system, "symbolic(system).discrete")
    check_method(system, method)
    if method.inner_points or (system.order > 1 and method.on_levels):
        raise ValueError(
            f"symbolic(system).discrete does not support {type(method).__name__}: where its inner"
            " points are is no formula; try Midpoint(), or accion.discrete for numbers."
        )
    if not system.space.flat:
        system = system.altered(space=system.space.in_letters())
    return DiscreteEquations(SampledStep(system, method), simplify)
