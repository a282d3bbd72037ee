"""The step of a `System`.

    p_k + D1 Ld(q_k, q_{k+1}) + Fd^- + h A(t_k, q_k)^T lam_k = 0        gives q_{k+1} (and lam_k)
    the discrete constraint of (q_k, q_{k+1}) = 0                       where there is one
    p_{k+1} = D2 Ld(q_k, q_{k+1}) + Fd^+

For a vakonomic system Ld is that of L + lam_k.Phi, and A is none.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise
from accion.instant import constrained
from accion.instant.starts import check_mechanical_start, known_at
from accion.methods import Method
from accion.numerics import following, newton
from accion.numerics.dependence import depends
from accion.stepping import watch
from accion.stepping.base import End, Readout, SolvedScheme, State, StepEquations, longer, steps
from accion.systems import Start, System
from accion.types import Configuration, Covector, Scalar, Vector

THIN = 0.25  # part of the inertia at the start: where less is left a motion may be near its end


def is_explicit(system: Any, method: Any) -> Any:
    """Whether the momentum balance is linear in the increment, with the mass as its matrix: then no
    iteration is needed.

    So it is for a `mechanical` system without magnetic term and constraints, sampled only at the
    ends of the step, under no force or one of (t, q).
    """
    mechanical = system.mechanical
    if mechanical is None or mechanical.magnetic is not None or system.constraint is not None:
        return False
    if method.nodes is None or any(c not in (0, 1) for _, c in method.nodes):
        return False
    point = (jnp.zeros(()), system.space.identity(), jnp.zeros(system.space.dim))
    return system.force is None or not depends(system.F, *point)


def explicit_increment(
    system: Any, method: Any, t: Scalar, h: Scalar, q: Configuration, p: Covector
) -> Any:
    """The increment from the momentum balance, which reads p + D1 Ld(x = 0) + Fd^- - (sum_i w_i
    weight(t_i)) M x / h = 0.
    """
    mechanical = system.mechanical
    weight = sum(w * mechanical.w(t + c * h, system.params) for w, c in method.nodes)
    balance = p + discretise(system, method).variation(t, h, q, jnp.zeros_like(p)).start
    x = h / weight * mechanical.inertia(system.params).solve(balance)
    good = jnp.all(jnp.isfinite(x)) & (jnp.abs(weight) >= newton.TINY)
    return following.Followed(x, jnp.array(0), good)


class MechanicalScheme(SolvedScheme):
    """What the schemes of a `System`, which has no entropy, share."""

    @abstractmethod
    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        """The state before the first step from (q, p), `x` and `lam` guesses of its increment (x/h
        is the velocity) and multipliers.
        """

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        """Momenta are matched to v0, or given, or those with which the step leads to q1."""
        system, q = self.system, start.q0
        lam = jnp.zeros(system.multipliers) if start.lam0 is None else start.lam0
        p, v = start.p0, start.v0
        if start.q1 is not None:
            x = system.space.local(q, start.q1)
            p = -discretise(system, self.method).variation(t, h, q, x).start
        elif v is not None:
            p, x = system.legendre(t, q, v, start.lam0), h * v
        else:
            v, found = constrained.first_velocity(system, t, q, p)
            lam, x = found if system.enters_action else lam, h * v
        state = self.start(t, h, q, p, x, lam)
        if watch.is_kept(system, self.method):
            state = state._replace(changes=watch.NOTHING)
        own = lam if system.enters_action else None
        known = known_at(system, t, q, x / h, own, start.p0)
        if start.q1 is not None and system.constraint is not None:
            step = (system, self.method, t, h, q, start.q1, known.bordered)
            known = known._replace(first_step=constrained.first_step(*step))
        return state, known

    def check_start(self, known: Any, start: Start) -> Any:
        check_mechanical_start(self.system, known, start)

    def saved(self, state: Any) -> Any:
        return ()

    def fields(self, rows: Any, saved: Any, last: Any, h: Scalar) -> Any:
        return {"guess": rows["x"] / h}

    def readout(self, rows: Any, saved: Any, h: Scalar) -> Any:
        if self.system.constraint is None:
            return None
        arrays = (rows["q"], rows["p"], rows["x"] / h)
        return Readout(constrained.node, arrays, ("guess", "p", "lam"))

    def prepare(self, state: Any, save_every: Any) -> Any:
        # Explicit steps are so short that what is watched would be felt.
        needed = save_every > 1 and state.changes and not is_explicit(self.system, self.method)
        return state if needed else state._replace(changes=())

    def watched(self, before: Any, after: Any) -> Any:
        return watch.with_step(before, after, self.system.space.dim)

    def warn(self, trajectory: Any, known: Any, first: Any, last: Any, every: Any) -> Any:
        if first.changes and watch.constraints_do_no_work(self.system, known, first.x):
            explicit = every > 1 and is_explicit(self.system, self.method)
            watch.warn_of_step(trajectory, last.changes, every, explicit)

    def obstacle(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        return (
            f"the Lagrangian is not finite where it leads, at the end of the increment {unknowns}"
        )

    def beyond(self, state: Any, t: Scalar, h: Scalar) -> Any:
        v = state.x[: self.system.space.dim] / h
        return constrained.beyond_numbers(self.system, t, state.q, v)

    def circumstances(self, first: Any, state: Any, t: float, h: Scalar) -> Any:
        n, system = self.system.space.dim, self.system
        if system.constraint is not None:
            return ""
        H0, H = (
            np.asarray(jax.hessian(system.L, 2)(t, at.q, at.x[:n] / h)) for at in (first, state)
        )
        if not (np.all(np.isfinite(H0)) and np.all(np.isfinite(H)) and np.linalg.det(H0)):
            return ""
        left = np.min(np.abs(np.linalg.eigvals(np.linalg.solve(H0, H))))
        if left > THIN:
            return ""
        return (
            f". Of the inertia d2L/dv2 that the motion had at its start {left:.2g} is left in one"
            " direction: where it is singular momenta determine no velocity, and the motion ends"
        )


@steps(System)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Variational(MechanicalScheme):
    """The step of a variational method."""

    system: System
    method: Method = field(metadata={"static": True})

    @property
    def form(self) -> Any:
        return discretise(self.system, self.method)

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> Any:
        lam = jnp.tile(lam, self.form.blocks.lam // max(len(lam), 1))
        state = State(q, p, jnp.zeros_like(x), x, self.guess(x, lam), jnp.array(0))
        return state if self.explicit else self.paced(state, t, h)

    @property
    def explicit(self) -> bool:
        return is_explicit(self.system, self.method)

    def guess(self, x: Vector, lam: Any) -> Any:
        """The unknowns of a step from its increment: inner points of a motion at a constant
        rate.
        """
        return jnp.concatenate([x, *(c * x for c in self.method.places[1:-1]), lam])

    def resized(self, state: Any, r: Scalar, gap: Scalar) -> Any:
        increments = self.form.blocks.x + self.form.blocks.inner
        return longer(state, r, gap, np.arange(len(state.guess)) < increments)

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        own = StepEquations(self.method, self.form.blocks.lam)
        return own, (self.system, t, h, state.q, state.p, state.x)

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        if self.explicit:
            return explicit_increment(self.system, self.method, t, h, state.q, state.p)
        return self.by_newton(state, t, h)

    def moved(self, unknowns: Any, state: Any, h: Scalar) -> Any:
        return self.system.space.stretched(self.form.blocks.increment(unknowns))

    def end(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        blocks = self.form.blocks
        x, lam = blocks.increment(unknowns), blocks.multipliers(unknowns)
        inner = blocks.inner_points(unknowns)
        # As the equations ask for it: it is traced once for both.
        p = self.form.variation(t, h, state.q, x, lam if blocks.lam else None, inner).end
        if inner is not None:
            points = jnp.concatenate([inner, x[None]])
            *more, end = jnp.sum(self.method.onward[:, :, None] * points[None], axis=1)
            return End(x, p, jnp.concatenate([end, *more, lam]), ())
        # Increments are smooth in time: extrapolated, they are right to O(h^3). Multipliers enter
        # linearly and need no better guess.
        return End(x, p, self.guess(2 * x - state.x, lam), ())

    def lagrangian(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        blocks = self.form.blocks
        x, inner = blocks.increment(unknowns), blocks.inner_points(unknowns)
        return self.form.action(t, h, state.q, x, None, inner)


def increments(system: System, method: Method, t: Any, h: Any, q: Any, p: Any, guess: Any) -> Any:
    """The unknowns of one step from (q, p), `guess` guesses of its increment and multipliers."""
    x, lam = jnp.split(guess, [system.space.dim])
    scheme = Variational(system, method)
    lam = jnp.tile(lam, scheme.form.blocks.lam // max(len(lam), 1))
    state = State(q, p, jnp.zeros_like(x), x, scheme.guess(x, lam), jnp.array(0))
    return scheme.solve(state, t, h)
