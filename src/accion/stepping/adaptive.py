"""Steps of `Adaptive`: equal steps of a transformed time, or steps whose lengths follow the motion.

Both carry the time that they have reached, with what compensated summation has not yet added to it.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp

from accion.instant import constrained
from accion.instant.starts import check_mechanical_start, known_at
from accion.methods.adaptive import ReversibleSteps, TransformedTime, no_samples
from accion.stepping.base import End, Readout, SolvedScheme, State, steps
from accion.stepping.variational import Variational
from accion.systems import Start, System
from accion.types import Array, Configuration, Covector, Scalar, Vector


class Clock(NamedTuple):
    """What is carried besides a step."""

    t: Any
    c: Any  # what is not yet added to it
    length: Any  # of the last step
    own: Any  # E0 of the start, or rho of the next step

    def after(self, length: Scalar, own: Any) -> "Clock":
        """The clock a step later."""
        y = length + self.c
        t = self.t + y
        return Clock(t, y - (t - self.t), length, own)


class AdaptiveScheme(SolvedScheme):
    """What both share."""

    @property
    def plain(self) -> Variational:
        """The method inside, by steps of time."""
        return Variational(self.system, self.method.method)

    @abstractmethod
    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        """The state before the first step, as of a `MechanicalScheme`: x/h is the velocity."""

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        if start.q1 is not None:
            no_samples("Adaptive")
        system, q, p, v = self.system, start.q0, start.p0, start.v0
        lam = jnp.zeros(system.multipliers) if start.lam0 is None else start.lam0
        if v is None:
            v, found = constrained.first_velocity(system, t, q, p)
            lam = found if system.enters_action else lam
        else:
            p = system.legendre(t, q, v, start.lam0)
        own = lam if system.enters_action else None
        return self.start(t, h, q, p, h * v, lam), known_at(system, t, q, v, own, start.p0)

    def check_start(self, known: Any, start: Start) -> None:
        check_mechanical_start(self.system, known, start)

    def resized(self, state: State, r: Scalar, gap: Scalar) -> NoReturn:
        raise ValueError("Adaptive chooses how long its steps are: give one number for h.")

    def saved(self, state: State) -> Any:
        return state.memory.t, state.memory.length

    def fields(self, rows: Any, saved: Any, last: State, h: Any) -> dict[str, Any]:
        t, length = saved
        return {"t": t, "guess": rows["x"] / length[..., None]}

    def readout(self, rows: Any, saved: Any, h: Any) -> Readout | None:
        if self.system.constraint is None:
            return None
        arrays = (rows["q"], rows["p"], rows["x"] / saved[1][..., None])
        return Readout(constrained.node, arrays, ("guess", "p", "lam"))

    def prepare(self, state: State, save_every: int) -> State:
        if jnp.ndim(state.completed):
            raise ValueError(
                "ensemble does not support Adaptive: each of its members would have times of its"
                " own; call simulate for each."
            )
        return state

    def watched(self, before: State, after: State) -> State:
        return after

    def warn(self, trajectory: Any, known: Any, first: State, last: State, every: int) -> None:
        """Nothing is watched."""

    def obstacle(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> str:
        return self.plain.obstacle(unknowns, state, t, h)

    def beyond(self, state: State, t: Scalar, h: Scalar) -> str:
        return ""

    def circumstances(self, first: State, state: State, t: float, h: Scalar) -> str:
        clock = state.memory
        return (
            f". h and t count the steps of Adaptive; the motion itself was at t ="
            f" {float(clock.t):.6g}, its last step was {float(clock.length):.3g}"
        )


# ---------------------------------------------------------------- transformed time


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SlowedConstraint:
    """g(q) Phi(q, w/g(q)), so that its multipliers are those of Phi."""

    Phi: Any
    method: TransformedTime = field(metadata={"static": True})

    @property
    def out(self) -> Any:
        return self.Phi.out

    def __call__(self, t: Scalar, q: Configuration, w: Vector, params: Any) -> Any:
        g = self.method.g(q, w, params)
        return g * self.Phi(t, q, w / g, params)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Slowed:
    """g(q) (L(q, w/g(q)) + E0), of the velocity w = dq/dtau, dt = g dtau."""

    lagrangian: Any
    E0: Any
    method: TransformedTime = field(metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, w: Vector, params: Any) -> Scalar:
        g = self.method.g(q, w, params)
        return g * (self.lagrangian(t, q, w / g, params) + self.E0)


@steps(System, TransformedTime)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Transformed(AdaptiveScheme):
    """Equal steps of tau. Momenta are those of the system, because dL~/dw = dL/dv; and the time
    that a step takes is the derivative of its discrete Lagrangian by E0, h sum w_i g(q_i).
    """

    system: System
    method: TransformedTime = field(metadata={"static": True})

    def slowed(self, E0: Scalar) -> Variational:
        """The method inside, by steps of tau."""
        system, Phi = self.system, self.system.vakonomic
        moved = System.made_of(
            lagrangian=Slowed(system.lagrangian, E0, self.method),
            space=system.space,
            params=system.params,
            holonomic=system.holonomic,
            vakonomic=None if Phi is None else SlowedConstraint(Phi, self.method),
            coordinates=system.coordinates,
            name=system.name,
        )
        return Variational(moved, self.method.method)

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        # p.v - L, which is the energy of L + lam.Phi too: Phi is zero at the start.
        E0, g = (
            p @ (x / h) - self.system.L(t, q, x / h),
            self.method.g(q, x / h, self.system.params),
        )
        state = self.slowed(E0).start(t, h, q, p, g * x, lam)
        t = jnp.asarray(t, dtype=float)
        return state._replace(memory=Clock(t, jnp.zeros(()), h * g, E0))

    def equations(self, state: State, t: Scalar, h: Scalar) -> Any:
        return self.slowed(state.memory.own).equations(state, t, h)

    def solve(self, state: State, t: Scalar, h: Scalar) -> Any:
        return self.slowed(state.memory.own).solve(state, t, h)

    def moved(self, unknowns: Array, state: State, h: Scalar) -> Vector:
        return self.slowed(state.memory.own).moved(unknowns, state, h)

    def end(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> End:
        clock = state.memory
        found = self.slowed(clock.own).end(unknowns, state, t, h)

        def action(E0: Scalar) -> Scalar:
            return self.slowed(E0).lagrangian(unknowns, state, t, h)

        return found._replace(memory=clock.after(jax.grad(action)(clock.own), clock.own))

    def lagrangian(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> Scalar:
        return self.slowed(state.memory.own).lagrangian(unknowns, state, t, h)


# ---------------------------------------------------------------- lengths that follow the motion


@steps(System, ReversibleSteps)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Reversible(AdaptiveScheme):
    """Steps of the lengths h/rho_k, rho_k + rho_{k-1} = 2/g(q_k, v_k)."""

    system: System
    method: ReversibleSteps = field(metadata={"static": True})

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        g = self.method.g(q, x / h, self.system.params)
        state = self.plain.start(t, h * g, q, p, g * x, lam)
        t = jnp.asarray(t, dtype=float)
        return state._replace(memory=Clock(t, jnp.zeros(()), h * g, 1 / g))

    def stretched(self, state: State, h: Scalar) -> State:
        """The state as if the last step had been as long as the next one."""
        return state._replace(x=h / (state.memory.own * state.memory.length) * state.x)

    def equations(self, state: State, t: Scalar, h: Scalar) -> Any:
        clock = state.memory
        return self.plain.equations(self.stretched(state, h), clock.t, h / clock.own)

    def solve(self, state: State, t: Scalar, h: Scalar) -> Any:
        clock = state.memory
        return self.plain.solve(self.stretched(state, h), clock.t, h / clock.own)

    def moved(self, unknowns: Array, state: State, h: Scalar) -> Vector:
        return self.plain.moved(unknowns, state, h / state.memory.own)

    def end(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> End:
        system, plain, clock = self.system, self.plain, state.memory
        length = h / clock.own
        found = plain.end(unknowns, state, clock.t, length)
        q = system.space.retract(state.q, found.x)
        v, _ = constrained.legendre(system, clock.t + length, q, found.p, found.x / length)
        rho = 2 / self.method.g(q, v, system.params) - clock.own
        # Where g changes so fast that no such length is there the step is not taken.
        rho = jnp.where(rho > 0, rho, jnp.nan)
        lam = plain.form.blocks.multipliers(unknowns)
        guess = plain.guess(clock.own / rho * found.x, lam)
        return found._replace(guess=guess, memory=clock.after(length, rho))

    def lagrangian(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> Scalar:
        clock = state.memory
        return self.plain.lagrangian(unknowns, state, clock.t, h / clock.own)
