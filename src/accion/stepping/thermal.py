"""Steps of thermomechanical systems.

    p_k + D1 Ld(z_k, z_{k+1}) + Fd^- + h A(t_k, q_k)^T lam_k = 0        rho_d(z_k, z_{k+1}) = 0
                                                give z_{k+1} = (q_{k+1}, S_{k+1})
    p_{k+1} = D2 Ld(z_k, z_{k+1}) + Fd^+        (Bonich, eq 3.14)
"""  # fmt: skip

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from accion.instant import constrained
from accion.instant.starts import Known, check_mechanical_start
from accion.instant.thermal import Hypotheses, check_hypotheses, held_node, known_where
from accion.methods import Method
from accion.stepping.base import End, Readout, State, StepEquations, longer, steps
from accion.stepping.extended import ExtendedScheme, increment_to
from accion.stepping.laws import opened, warn_of_second_law, written
from accion.systems import DiscreteThermalSystem, Start, ThermalSystem
from accion.types import Configuration, Function, Scalar, Vector

LARGE = 1e8  # times the energy that moves: a body with more than that is a bath


class ThermalScheme(ExtendedScheme):
    """What the schemes of thermal systems share."""

    keeps_energy: ClassVar[bool]  # which must be known at the start
    # Whether increments are compared with those before, and the step of a q1 can be found.
    compared: ClassVar[bool] = True

    @abstractmethod
    def first_guess(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        """A guess of the unknowns of the first step."""

    @abstractmethod
    def moving(self, t: Scalar, h: Scalar, z: Configuration, v: Any, p: Any) -> Any:
        """(x, p) of a start from a velocity or, where that is None, a momentum; x is the increment
        to first order.
        """

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        system = self.system
        n, z = system.space.dim, system.point(start.q0, start.S0)
        p, v = start.p0, start.v0
        if start.q1 is not None and (self.keeps_energy or not self.compared):
            unknown = "energy that is to be kept" if self.keeps_energy else "entropy on the way"
            raise ValueError(
                f"{type(self.method).__name__} starts from v0 or p0: with q1 the {unknown} is not"
                " known."
            )
        if start.q1 is not None and system.constraint is not None:
            raise ValueError(
                "a thermal system under constraints starts from v0 or p0: a q1 would have to"
                " satisfy the first step, with its entropy."
            )
        if start.q1 is not None:
            x, p = increment_to(self, t, h, z, start.q1)
        else:
            x, p = self.moving(t, h, z, v, p)
        v = x[:n] / h
        laws, guess = opened(self.form.energy(t, z, v)), self.first_guess(t, h, z, x, v)
        state = State(z, p, jnp.zeros_like(x), x, guess, jnp.array(0), laws)
        if self.compared and not system.discrete_time:
            state = self.paced(state, t, h)
        known = self.known(t, z, v, start.p0)
        return state, known._replace(thermal=self.hypotheses(t, h, z, x, v))

    @abstractmethod
    def hypotheses(
        self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector
    ) -> Hypotheses:
        """What the equations rest on, at the start of a run."""

    @abstractmethod
    def known(self, t: Scalar, z: Configuration, v: Vector, p0: Any) -> Known:
        """What is known of the motion at the start; nothing of a system without velocities."""

    def check_start(self, known: Any, start: Start) -> Any:
        if known.bordered is not None:
            check_mechanical_start(self.system, known, start)
        check_hypotheses(self.system, known.thermal)

    def resized(self, state: Any, r: Scalar, gap: Scalar) -> Any:
        count = len(state.guess)
        grow = self.form.blocks.moved if self.compared else count
        return longer(state, r, gap, np.arange(count) < grow)

    @abstractmethod
    def led(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> tuple[Any, Any, Any]:
        """(p, what was exchanged, a guess of the next unknowns) at the end of a step."""

    def end(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        n, x = self.system.space.dim, self.form.blocks.increment(unknowns)
        p, exchange, guess = self.led(unknowns, state, t, h)
        laws = written(state.memory, exchange, h, x[n:], state.completed)
        return End(x, p, guess, laws)

    def saved(self, state: Any) -> Any:
        return state.memory.supplied

    def fields(self, rows: Any, saved: Any, last: Any, h: Scalar) -> Any:
        guess = rows["x"][..., : self.system.space.dim] / h
        return {"S": rows["beside"], "supplied": saved, "laws": last.memory, "guess": guess}

    def obstacle(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        x, frame = self.form.blocks.increment(unknowns), self.system.frame
        flags = self.form.cold(t, h, state.q, x)
        cold = [name for name, flag in zip(frame.names, flags, strict=True) if flag]
        if not cold:
            return f"the Lagrangian is not finite where it leads, at the end of the increment {x}"
        return (
            f"the temperature T = -dL/dS that belongs to {', '.join(cold)} is not positive where it"
            " leads. Is more heat taken out than there is, or has L the wrong sign of the internal"
            " energy (L = K - U)?"
        )


class SampledThermal(ThermalScheme):
    """What those share whose step is that of a discrete Lagrangian."""

    def hypotheses(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        n = self.system.space.dim
        minus, plus = self.form.whole_variation(t, h, z, x)
        # Where the energy is kept, the entropy must be able to take it up.
        T = self.form.temperature if self.keeps_energy else self.form.needed_temperature
        return Hypotheses(T(t, z, v), minus[n:], plus[n:])

    def led_by_newton(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        """The same of a step that is its increment."""
        x = self.form.blocks.increment(unknowns)
        p, exchange = self.form.variation(t, h, state.q, x).end, self.form.exchange
        guess = jnp.concatenate([2 * x - state.x, unknowns[len(x) :]])
        return p, exchange(t, h, state.q, x), guess

    def lagrangian(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        x = self.form.blocks.increment(unknowns)
        cold = jnp.any(self.form.cold(t, h, state.q, x))
        return jnp.where(cold, jnp.nan, self.form.action(t, h, state.q, x))


class ContinuousThermal(ThermalScheme):
    """What the schemes of a `ThermalSystem` share."""

    def moving(self, t: Scalar, h: Scalar, z: Configuration, v: Any, p: Any) -> Any:
        system = self.system
        if v is None:
            v, _ = constrained.first_velocity(system, t, z, p)
        else:
            p = system.legendre(t, z, v)
        return h * jnp.concatenate([v, system.entropy_rates(t, z, v)]), p

    def known(self, t: Scalar, z: Configuration, v: Vector, p0: Any) -> Known:
        return known_where(self.system, t, z, v, p0)

    def readout(self, rows: Any, saved: Any, h: Scalar) -> Any:
        if self.system.constraint is None:
            return None
        z = self.system.point(rows["q"], rows["beside"])
        arrays = (z, rows["p"], rows["x"][..., : self.system.space.dim] / h)
        return Readout(held_node, arrays, ("guess", "p", "lam"))

    def warn(self, trajectory: Any, known: Any, first: Any, last: Any, every: Any) -> Any:
        warn_of_second_law(trajectory)

    def circumstances(self, first: Any, state: Any, t: float, h: Scalar) -> Any:
        v = state.x[: self.system.space.dim] / h
        T = self.form.temperature(t, state.q, v)
        words = f"; before it, T = {np.asarray(T).tolist()}"
        if jumps(self.system.dissipation, t, state.q, v):
            words += (
                ". The friction jumps, by a sign(...), and where a body sticks a step has no"
                " solution: accion.thermo.dry_friction is smooth and as near to it as one likes"
            )
        return words


def jumps(f: Function, *args: Any) -> bool:
    """Whether a function takes the sign of something on its way."""
    return " = sign " in str(jax.make_jaxpr(f)(*args))


@steps(ThermalSystem)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Thermal(SampledThermal, ContinuousThermal):
    """The step of a thermomechanical system, by the entropy balance."""

    system: ThermalSystem
    method: Method = field(metadata={"static": True})
    keeps_energy: ClassVar[bool] = False

    def first_guess(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        return jnp.concatenate([x, jnp.zeros(self.system.multipliers)])

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        args = (self.system, t, h, state.q, state.p, state.x)
        return StepEquations(self.method, self.system.multipliers), args

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def led(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.led_by_newton(unknowns, state, t, h)


@steps(DiscreteThermalSystem)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GivenThermal(SampledThermal):
    """The step of a thermal system that is given in discrete time."""

    system: DiscreteThermalSystem
    method: None = field(metadata={"static": True})
    keeps_energy: ClassVar[bool] = False

    def first_guess(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Any:
        return jnp.concatenate([x, jnp.zeros(self.system.multipliers)])

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        args = (self.system, t, h, state.q, state.p, state.x)
        return StepEquations(self.method, self.system.multipliers), args

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def led(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.led_by_newton(unknowns, state, t, h)

    def moving(self, t: Scalar, h: Scalar, z: Configuration, v: Any, p: Any) -> Any:
        # Nothing is known of the first increment: Newton's method begins where there is none.
        return jnp.zeros(self.system.step_space.dim), p

    def known(self, t: Scalar, z: Configuration, v: Vector, p0: Any) -> Known:
        return Known()

    def readout(self, rows: Any, saved: Any, h: Scalar) -> Any:
        return None

    def warn(self, trajectory: Any, known: Any, first: Any, last: Any, every: Any) -> Any:
        """What it calls entropy need not obey the second law."""

    def circumstances(self, first: Any, state: Any, t: float, h: Scalar) -> Any:
        return ""
