"""The discrete objects of a contact system, as functions of the ends of a step."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from accion.discretise import discretise
from accion.methods import Method
from accion.stepping.at_step import at_step
from accion.stepping.base import State
from accion.stepping.contact import Contact
from accion.stepping.views import discrete_objects
from accion.systems import ContactSystem
from accion.types import Configuration, Covector, Scalar


@dataclass(frozen=True)
class DiscreteContact:
    """The discrete Lagrangian of a contact system under `method`, and what follows from it;
    functions of (t, h, q0, q1, z0, z1) (Vermeeren, Bravetti and Seri 2019).

    D1 and D2 are derivatives by the configurations, D3 and D4 by the actions z0 and z1.
    """

    system: ContactSystem
    method: Method

    @property
    def form(self) -> Any:
        return discretise(self.system, self.method)

    def step(self, q0: Configuration, q1: Configuration, z0: Any, z1: Any) -> Any:
        """The start of the step, with its action, and the increment."""
        return self.form.between([self.system.point(q0, z0), self.system.point(q1, z1)])

    def derivatives(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Any:
        """(D1 Ld, D3 Ld) and (D2 Ld, D4 Ld), each joined in one vector."""
        return self.form.derivatives(t, h, *self.step(q0, q1, z0, z1))

    @at_step
    def Ld(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Scalar:
        """h sum_i w_i L(t_i, q_i, v_i, z_i)."""
        return self.form.action(t, h, *self.step(q0, q1, z0, z1))

    @at_step
    def D1(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Covector:
        return self.derivatives(t, h, q0, q1, z0, z1)[0][:-1]

    @at_step
    def D2(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Covector:
        return self.derivatives(t, h, q0, q1, z0, z1)[1][:-1]

    @at_step
    def D3(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Scalar:
        return self.derivatives(t, h, q0, q1, z0, z1)[0][-1]

    @at_step
    def D4(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Scalar:
        return self.derivatives(t, h, q0, q1, z0, z1)[1][-1]

    @at_step
    def force_minus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Covector:
        """Fd^-: the work of the force on a displacement of q0."""
        minus, _ = self.form.whole_variation(t, h, *self.step(q0, q1, z0, z1))
        return minus[:-1] - self.derivatives(t, h, q0, q1, z0, z1)[0][:-1]

    @at_step
    def force_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Covector:
        """Fd^+: its work on a displacement of q1."""
        _, plus = self.form.whole_variation(t, h, *self.step(q0, q1, z0, z1))
        return plus[:-1] - self.derivatives(t, h, q0, q1, z0, z1)[1][:-1]

    @at_step
    def balance(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Scalar:
        """z1 - z0 - Ld, zero on a trajectory."""
        return h * self.form.closure(t, h, *self.step(q0, q1, z0, z1))[0]

    @at_step
    def factor(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> Scalar:
        """sigma = (1 + D3 Ld) / (1 - D4 Ld): the step makes sigma (dz0 - p0 dq0) of the contact
        form dz1 - p1 dq1; of a symmetry X of Ld, p1.X = sigma p0.X.
        """
        minus, plus = self.form.factors(t, h, *self.step(q0, q1, z0, z1))
        return minus / plus

    @at_step
    def legendre_minus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> tuple[Configuration, Covector]:
        """(q0, p0) with p0 = -(D1 Ld + Fd^-) / (1 + D3 Ld)."""
        return q0, -self.form.variation(t, h, *self.step(q0, q1, z0, z1)).start

    @at_step
    def legendre_plus(
        self, t: Scalar, h: Scalar, q0: Configuration, q1: Configuration, z0: Any, z1: Any
    ) -> tuple[Configuration, Covector]:
        """(q1, p1) with p1 = (D2 Ld + Fd^+) / (1 - D4 Ld)."""
        return q1, self.form.variation(t, h, *self.step(q0, q1, z0, z1)).end

    @at_step
    def euler_lagrange(
        self,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        q1: Configuration,
        q2: Configuration,
        z0: Any,
        z1: Any,
        z2: Any,
    ) -> Covector:
        """What is left of the discrete Herglotz equation at q1, zero on a trajectory; `t` is the
        time of q0.
        """
        before, after = (t, h, q0, q1, z0, z1), (t + h, h, q1, q2, z1, z2)
        return self.legendre_plus(*before)[1] - self.legendre_minus(*after)[1]

    @at_step
    def hamiltonian_flow(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, z: Any
    ) -> tuple[Configuration, Covector, Scalar]:
        """(q, p, z) -> (q1, p1, z1): one step, NaN where it has no solution."""
        scheme = Contact(self.system, self.method)
        start = self.system.point(q, z)
        v = self.system.velocity(t, start, p, jnp.zeros(self.system.space.dim))
        x = scheme.along(t, h, start, v)
        state = State(start, p, jnp.zeros_like(x), x, x, jnp.array(0))
        after, _ = scheme.step(state, t, h)
        q1, z1 = self.system.parts(after.q)
        return q1, after.p, z1


@discrete_objects.register
def _(system: ContactSystem, method: Any) -> DiscreteContact:
    return DiscreteContact(system, method)
