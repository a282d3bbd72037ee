"""Steps of contact systems.

    p_k + D1 Ld / (1 + D3 Ld) = 0        z_{k+1} = z_k + Ld(q_k, q_{k+1}, z_k, z_{k+1})
                                         give (q_{k+1}, z_{k+1})
    p_{k+1} = D2 Ld / (1 - D4 Ld)        (Vermeeren, Bravetti and Seri 2019)
"""  # fmt: skip

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.instant import constrained
from accion.instant.starts import Known, check_inertia
from accion.methods import Composition, Method
from accion.stepping.base import End, State, StepEquations, longer, steps
from accion.stepping.composition import ByStages
from accion.stepping.extended import ExtendedScheme, increment_to
from accion.systems import ContactSystem, Start
from accion.types import Array, Configuration, Covector, Scalar, Vector


@steps(ContactSystem)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Contact(ExtendedScheme):
    """The step of a contact system."""

    system: ContactSystem
    method: Method = field(metadata={"static": True})

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        system = self.system
        z = system.point(start.q0, start.z0)
        if start.q1 is not None:
            x, p = increment_to(self, t, h, z, start.q1)
        else:
            p, v = start.p0, start.v0
            if v is None:
                v, _ = constrained.first_velocity(system, t, z, p)
            else:
                p = system.legendre(t, z, v)
            x = self.along(t, h, z, v)
        v = x[: system.space.dim] / h
        return self.first_state(t, h, z, p, x), Known(system.hessian(t, z, v))

    def along(self, t: Scalar, h: Scalar, z: Configuration, v: Vector) -> Vector:
        """h (v, L), the increment to first order."""
        return h * jnp.append(v, self.system.L(t, z, v))

    def first_state(self, t: Scalar, h: Scalar, z: Configuration, p: Covector, x: Vector) -> State:
        """The state before the first step, `x` a guess of its increment."""
        return self.paced(State(z, p, jnp.zeros_like(x), x, x, jnp.array(0)), t, h)

    def check_start(self, known: Any, start: Start) -> Any:
        check_inertia(self.system, known.bordered)

    def resized(self, state: Any, r: Scalar, gap: Scalar) -> Any:
        return longer(state, r, gap, np.ones(len(state.guess), dtype=bool))

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return StepEquations(self.method, 0), (self.system, t, h, state.q, state.p, state.x)

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def end(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        p = self.form.variation(t, h, state.q, unknowns).end
        return End(unknowns, p, 2 * unknowns - state.x, ())

    def lagrangian(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        factors = self.form.factors(t, h, state.q, unknowns)
        return jnp.where(jnp.all(factors > 0), self.form.action(t, h, state.q, unknowns), jnp.nan)

    def saved(self, state: Any) -> Any:
        return ()

    def fields(self, rows: Any, saved: Any, last: Any, h: Scalar) -> Any:
        guess = rows["x"][..., : self.system.space.dim] / h
        return {"z": rows["beside"], "guess": guess}

    def readout(self, rows: Any, saved: Any, h: Scalar) -> Any:
        return None

    def warn(self, trajectory: Any, known: Any, first: Any, last: Any, every: Any) -> Any:
        """Energy is not kept."""

    def obstacle(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        minus, plus = map(float, self.form.factors(t, h, state.q, unknowns))
        if minus > 0 and plus > 0:
            return (
                "the Lagrangian is not finite where it leads, at the end of the increment"
                f" {unknowns}"
            )
        return (
            f"it is too long for dL/dz: of 1 + D3 Ld = {minus:.3g} and 1 - D4 Ld = {plus:.3g}, the"
            " factors by which momenta shrink and grow, one is not positive. Take a smaller h:"
            " below 1 / |dL/dz| it is not too long for any method"
        )

    def circumstances(self, first: Any, state: Any, t: float, h: Scalar) -> Any:
        v = state.x[: self.system.space.dim] / h
        return f"; before it, dL/dz = {float(self.system.growth(t, state.q, v)):.6g}"


@steps(ContactSystem, Composition)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ComposedContact(ByStages):
    """A composition of steps of a contact system."""

    system: ContactSystem
    method: Composition = field(metadata={"static": True})

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        return self.begun(t, h, start)

    def nothing(self, state: State) -> Any:
        return ()

    def added(self, total: Any, state: State, after: State, t: Scalar, h: Scalar) -> Any:
        return ()

    def closed(self, before: State, after: State, total: Any, h: Scalar, ok: Array) -> State:
        return after

    def watched(self, before: State, after: State) -> State:
        return after
