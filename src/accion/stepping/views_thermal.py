"""The discrete objects of a thermal system, as functions of the ends of a step."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise import discretise
from accion.methods import Method
from accion.stepping.at_step import at_step
from accion.stepping.views import discrete_objects
from accion.systems import DiscreteThermalSystem, ThermalSystem
from accion.types import Configuration, Covector, Scalar


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
        return self.both(t, h, q0, q1, S0, S1)[0] - self.D1(t, h, q0, q1, S0, S1)

    @at_step
    def force_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, S0: Any, S1: Any
    ) -> Covector:
        """Fd^+: their work on a displacement of q1."""
        return self.both(t, h, q0, q1, S0, S1)[1] - self.D2(t, h, q0, q1, S0, S1)

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


@discrete_objects.register(ThermalSystem)
@discrete_objects.register(DiscreteThermalSystem)
def _(system: ThermalSystem | DiscreteThermalSystem, method: Method | None) -> DiscreteThermal:
    return DiscreteThermal(system, method)
