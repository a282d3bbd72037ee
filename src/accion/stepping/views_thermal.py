"""The discrete objects of a thermal system, as functions of the ends of a step."""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise import discretise
from accion.instant.thermal import held_node
from accion.methods import EnergyConsistent, Method
from accion.methods.adjoint import Adjoint
from accion.stepping.at_step import at_step
from accion.stepping.base import State, scheme_of
from accion.stepping.views import discrete_objects
from accion.systems import DiscreteThermalSystem, Start, ThermalSystem
from accion.types import Array, Configuration, Covector, Params, Scalar


@dataclass(frozen=True)
class DiscreteThermal:
    """The discrete thermomechanical system (Bonich, Def 3.12) of `system` under `method`; functions
    of (t, h, q0, q1, S0, S1).

    D1 and D2 are derivatives by the configurations, D3 and D4 by the entropies.
    """

    system: ThermalSystem | DiscreteThermalSystem
    method: Method | None

    @property
    def form(self) -> Any:
        if self.method is not None and self.method.inner_points:
            raise ValueError(
                f"{self.method} has points inside a step, where the entropies are unknown too: its"
                " discrete Lagrangian is no function of the ends alone. Its hamiltonian_flow is"
                " there, and so are simulate and ensemble; try Midpoint() here."
            )
        return discretise(self.system, self.method)

    def step(self, q0: Configuration, q1: Configuration, S0: Any, S1: Any) -> Any:
        """(z0, x): the start of the step and its increment."""
        z0, z1 = (self.system.point(q, jnp.asarray(S, float)) for q, S in ((q0, S0), (q1, S1)))
        return z0, self.system.step_space.local(z0, z1)

    def of_action(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Any:
        """(D1 Ld, D3 Ld) and (D2 Ld, D4 Ld), each joined in one vector."""
        z0, x = self.step(q0, q1, S0, S1)
        return self.form.derivatives(t, h, z0, x)

    @at_step
    def Ld(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Scalar:
        """h sum_i w_i L(t_i, q_i, v_i, S_i) (Bonich, eq 3.17)."""
        return self.form.action(t, h, *self.step(q0, q1, S0, S1))

    @at_step
    def D1(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Covector:
        return self.of_action(t, h, q0, q1, S0, S1)[0][: self.system.space.dim]

    @at_step
    def D2(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Covector:
        return self.of_action(t, h, q0, q1, S0, S1)[1][: self.system.space.dim]

    @at_step
    def D3(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Any:
        return self.system.frame.as_given(
            self.of_action(t, h, q0, q1, S0, S1)[0][self.system.space.dim :]
        )

    @at_step
    def D4(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Any:
        return self.system.frame.as_given(
            self.of_action(t, h, q0, q1, S0, S1)[1][self.system.space.dim :]
        )

    @at_step
    def D12(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Array:
        """The mixed derivative, D12[i, j] by the i-th coordinate of q0 and the j-th of q1, shape
        (dim, dim).
        """
        n, (z0, x) = self.system.space.dim, self.step(q0, q1, S0, S1)
        zero = jnp.zeros_like(x)

        def D1(e1: Any) -> Covector:
            def moved(e0: Any) -> Any:
                return self.form.displaced_action(t, h, z0, x, jnp.stack([e0, e1]))

            return jax.grad(moved)(zero)

        return jax.jacfwd(D1)(zero)[:n, :n]

    def both(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Any:
        """(D1 Ld + Fd^-, D2 Ld + Fd^+)."""
        minus, plus = self.form.whole_variation(t, h, *self.step(q0, q1, S0, S1))
        return minus[: self.system.space.dim], plus[: self.system.space.dim]

    @at_step
    def force_minus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Covector:
        """Fd^-: the work of friction and external force on a displacement of q0 (Bonich, eq
        3.18).
        """
        step = self.step(q0, q1, S0, S1)
        return (
            self.form.force("friction", t, h, *step)[0]
            + self.form.force("external", t, h, *step)[0]
        )

    @at_step
    def force_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Covector:
        """Fd^+: their work on a displacement of q1."""
        step = self.step(q0, q1, S0, S1)
        return (
            self.form.force("friction", t, h, *step)[1]
            + self.form.force("external", t, h, *step)[1]
        )

    @at_step
    def friction(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> tuple[Covector, Covector]:
        """(Fd^fr-, Fd^fr+) alone, which stand in the variational constraint (Bonich, eq 3.7)."""
        return self.form.force("friction", t, h, *self.step(q0, q1, S0, S1))

    @at_step
    def external(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> tuple[Covector, Covector]:
        """(Fd^ext-, Fd^ext+) alone, which stand in the principle (Bonich, eq 3.9)."""
        return self.form.force("external", t, h, *self.step(q0, q1, S0, S1))

    @at_step
    def rho(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Any:
        """The discrete entropy balance sum_i w_i (dL/dS S' - F_fr.v + P_H), zero on a trajectory
        (Bonich, eq 3.19).
        """
        return self.system.frame.as_given(self.form.balance(t, h, *self.step(q0, q1, S0, S1)))

    @at_step
    def legendre_minus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> tuple[Configuration, Covector]:
        """(q0, p0) with p0 = -D1 Ld - Fd^- (Bonich, eq 3.13)."""
        return q0, -self.both(t, h, q0, q1, S0, S1)[0]

    @at_step
    def legendre_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> tuple[Configuration, Covector]:
        """(q1, p1) with p1 = D2 Ld + Fd^+ (Bonich, eq 3.13)."""
        return q1, self.both(t, h, q0, q1, S0, S1)[1]

    @at_step
    def euler_lagrange(
        self,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        q2: Configuration,
        S0: Any,
        S1: Any,
        S2: Any,
    ) -> Covector:
        """What is left of the momentum balance at q1 (Bonich, eq 3.10), zero on a trajectory; `t`
        is the time of q0.
        """
        return (
            self.legendre_plus(t, h, q0, q1, S0, S1)[1]
            - self.legendre_minus(t + h, h, q1, q2, S1, S2)[1]
        )

    @at_step
    def matrices(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Any:
        """The two matrices of Bonich Def 3.25, each of shape (dim + m, dim + m).

        The derivatives of (p of legendre_minus, rho) by the end of the step, and of (p of
        legendre_plus, rho) by its start.
        """
        z0, x = self.step(q0, q1, S0, S1)
        n, space = self.system.space.dim, self.system.step_space

        def pair(i: Any, e0: Any, e1: Any) -> Any:
            z, y = (
                space.retract(z0, e0),
                space.local(space.retract(z0, e0), space.retract(space.retract(z0, x), e1)),
            )
            p = self.form.whole_variation(t, h, z, y)[i][:n]
            return jnp.concatenate([-p if i == 0 else p, self.form.closure(t, h, z, y)])

        zero = jnp.zeros_like(x)
        return jax.jacfwd(lambda e: pair(0, zero, e))(zero), jax.jacfwd(lambda e: pair(1, e, zero))(
            zero
        )

    # ------------------------------------------------------------ flows

    def stepped(self, t: Scalar, h: Scalar, z: Configuration, p: Covector, x: Any = None) -> State:
        """The state after one step from (z, p); `x` is a guess of its increment."""
        scheme, (q, S) = scheme_of(self.system, self.method), self.system.parts(z)
        state, _ = scheme.begin(t, h, Start(q0=q, p0=p, S0=S))
        if x is not None:
            state = state._replace(x=x, guess=state.guess.at[: len(x)].set(x))
        return scheme.step(state, t, h)[0]

    @at_step
    def flow(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> tuple[tuple[Configuration, Configuration], tuple[Any, Any]]:
        """((q0, q1), (S0, S1)) -> ((q1, q2), (S1, S2)): one step of the discrete equations (Bonich,
        Thm 3.26); `t` is the time of q0. h may be negative. NaN where no solution goes over into
        none at all as h goes to zero, which a singular matrix of Def 3.25 on the way prevents.
        """
        x = self.step(q0, q1, S0, S1)[1]
        _, p = self.legendre_plus(t, h, q0, q1, S0, S1)
        z2 = self.stepped(t + h, h, self.system.point(q1, S1), p, x).q
        q2, S2 = self.system.parts(z2)
        return (q1, q2), (S1, S2)

    @at_step
    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, S: Any
    ) -> tuple[Configuration, Covector, Any]:
        """(q, p, S) -> (q1, p1, S1): one step (Bonich, eq 3.14), NaN where it has no solution.

        Under a constraint p1 is the momentum whose velocity satisfies it.
        """
        system = self.system
        after = self.stepped(t, h, system.point(q, S), p)
        q1, S1 = system.parts(after.q)
        if system.constraint is None:
            return q1, after.p, S1
        return q1, held_node(system, t + h, after.q, after.p, after.x[: len(p)] / h)[1], S1

    @property
    def undone(self) -> "DiscreteThermal":
        """What undoes a step of h by one of -h."""
        return DiscreteThermal(*undone(self.system, self.method))

    @at_step
    def inverse_flow(
        self, t: Scalar, h: Scalar, q1: Configuration, q2: Configuration, S1: Any, S2: Any
    ) -> tuple[tuple[Configuration, Configuration], tuple[Any, Any]]:
        """((q1, q2), (S1, S2)) -> ((q0, q1), (S0, S1)), what `flow` undoes; `t` is the time of
        q0.
        """
        (_, q0), (_, S0) = self.undone.flow(t + 2 * h, -h, q2, q1, S2, S1)
        return (q0, q1), (S0, S1)

    @at_step
    def inverse_hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, S: Any
    ) -> tuple[Configuration, Covector, Any]:
        """The state before the step that led to (q, p, S); `t` is its time."""
        return self.undone.hamiltonian_flow(t + h, -h, q, p, S)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Backwards:
    """A function of a step given in discrete time as one of the step that goes back."""

    f: Any
    part: Any = field(metadata={"static": True})  # what becomes of its value

    def __call__(
        self,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        S0: Any,
        S1: Any,
        params: Params,
    ) -> Any:
        return self.part(self.f(t + h, -h, q1, q0, S1, S0, params))


def negative(value: Any) -> Any:
    return -value


def exchanged(pair: Any) -> Any:
    return -pair[1], -pair[0]


WAYS_BACK: Any = {
    "lagrangian": negative,
    "kinematic": negative,
    "friction": exchanged,
    "external": exchanged,
}


@singledispatch
def undone(system: Any, method: Any) -> tuple[Any, Any]:
    """(system, method) whose step of -h undoes one of h: Ld*(t, h, z0, z1) = -Ld(t + h, -h, z1,
    z0).
    """
    return system, adjoint_of(method, system)


@undone.register
def _(system: DiscreteThermalSystem, method: Any) -> tuple[Any, Any]:
    given = {name: getattr(system, name) for name in WAYS_BACK}
    back = {name: f and Backwards(f, WAYS_BACK[name]) for name, f in given.items()}
    return system.altered(**back), None


@singledispatch
def adjoint_of(method: Any, system: Any) -> Method:
    """The method whose step of -h undoes one of h."""
    return method if method.symmetric else Adjoint(method)


@adjoint_of.register
def _(method: EnergyConsistent, system: Any) -> Method:
    if system.frame.m > 1:
        raise ValueError(
            "EnergyConsistent shares its correction among several bodies by the heat capacities at"
            " the start of a step, which are not known from its end: its step is not undone in"
            f" closed form. Try {method.method!r}."
        )
    return EnergyConsistent(adjoint_of(method.method, system))


@discrete_objects.register(ThermalSystem)
@discrete_objects.register(DiscreteThermalSystem)
def _(system: ThermalSystem | DiscreteThermalSystem, method: Method | None) -> DiscreteThermal:
    return DiscreteThermal(system, method)
