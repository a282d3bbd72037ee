"""What becomes of dq ^ dp, of the form of friction and of momenta along the steps of a thermal
system.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_vectors
from accion.analysis.thermal import steps_of
from accion.arguments import door
from accion.checks import a_function
from accion.engines.xla import kept_jit
from accion.results.trajectory import Trajectory, a_trajectory
from accion.stepping.views import discrete
from accion.systems.functions import check_returns, evaluate
from accion.told import Told
from accion.types import Array, Configuration


@dataclass(frozen=True, repr=False)
class ThermalForms(Told):
    """The forms of each step, as antisymmetric matrices on (dq, dp, dS) at its start, shape (steps,
    2 dim + m, 2 dim + m):

        dq1 ^ dp1 = dq0 ^ dp0 + heat + forces
        heat = dD3 Ld ^ dS0 + dD4 Ld ^ dS1          forces = dq0 ^ dFd^- + dq1 ^ dFd^+

    which as h -> 0 is d/dt (dq ^ dp) = dS ^ dT + dq ^ dF. `eta` is the form D3 Ld dS0 + D4 Ld dS1 -
    Fd^fr, summed over the bodies, whose kernel are the variations of one (Bonich, eq 3.7), shape
    (steps, 2 dim + m); -h (T dS + F_fr.dq) to first order.
    """

    before: np.ndarray
    after: np.ndarray
    heat: np.ndarray
    forces: np.ndarray
    eta: np.ndarray

    @property
    def defect(self) -> float:
        """What is left of the equation, as a part of dq ^ dp: rounding."""
        return float(np.max(np.abs(self.after - self.before - self.heat - self.forces)))

    def __str__(self) -> str:
        changed, heat, forces = (
            float(np.max(np.abs(a))) for a in (self.after - self.before, self.heat, self.forces)
        )
        return (
            f"dq ^ dp changes by at most {changed:.3g} in a step: {heat:.3g} by dS ^ dT,"
            f" {forces:.3g} by forces; the balance is off by {self.defect:.1e}."
        )


@door(trajectory=a_trajectory)
def thermal_forms(trajectory: Trajectory) -> ThermalForms:
    """How dq ^ dp changes along a trajectory of a thermal system, and by what.

    Arguments:
        trajectory: one run on a flat space by a method with a discrete Lagrangian, every step of
            which was saved, with its system.
    """
    system, method, h, steps = steps_of(trajectory, "thermal_forms")
    check_vectors(system, "thermal_forms", "its forms are constant")
    return ThermalForms(*map(np.asarray, of_steps(system, method, h, *steps)))


@partial(kept_jit, static_argnums=(1,))
def of_steps(system: Any, method: Any, h: Any, t: Any, first: Any, second: Any) -> Any:
    """The forms of each step."""
    d, n, m = discrete(system, method), system.space.dim, system.frame.m

    def at(t: Any, z0: Any, z1: Any) -> Any:
        (q0, S0), (q1, S1) = z0, z1

        def parts(e: Any) -> Any:
            """(p0, p1, D3, D4, Fd^-, Fd^+) at displaced ends, and rho."""
            a, b, s, u = jnp.split(e, [n, 2 * n, 2 * n + m])
            s, u = (system.frame.as_given(x) for x in (s, u))
            ends = (t, h, q0 + a, q1 + b, S0 + s, S1 + u)
            plus, minus = d.legendre_plus(*ends)[1], d.legendre_minus(*ends)[1]
            D3, D4 = (jnp.reshape(f(*ends), (m,)) for f in (d.D3, d.D4))
            forces = (d.force_minus(*ends), d.force_plus(*ends))
            return minus, plus, D3, D4, *forces, jnp.reshape(d.rho(*ends), (m,))

        zero = jnp.zeros(2 * (n + m))
        J0, J1, J3, J4, Jminus, Jplus, Jrho = jax.jacfwd(parts)(zero)
        eye = jnp.eye(2 * (n + m))
        Q0, Q1, E0, E1 = jnp.split(eye, [n, 2 * n, 2 * n + m])
        # What moves with (dq0, dp0, dS0): the ends of the steps, by p0 and rho = 0.
        rows = jnp.concatenate([Q0, J0, E0, Jrho])
        ways = jnp.linalg.inv(rows)[:, : 2 * n + m]

        def wedge(a: Any, b: Any) -> Any:
            form = jnp.einsum("ki,kj->ij", a @ ways, b @ ways)
            return form - form.T

        minus, plus = d.friction(t, h, q0, q1, S0, S1)
        D3, D4 = (jnp.reshape(f(t, h, q0, q1, S0, S1), (m,)) for f in (d.D3, d.D4))
        eta = D3 @ E0 + D4 @ E1 - minus @ Q0 - plus @ Q1
        heat = wedge(J3, E0) + wedge(J4, E1)
        forces = wedge(Q0, Jminus) + wedge(Q1, Jplus)
        return wedge(Q0, J0), wedge(Q1, J1), heat, forces, eta @ ways

    return jax.vmap(at)(t, first, second)


@dataclass(frozen=True, repr=False)
class NoetherBalance(Told):
    """The momentum p.X along a trajectory, shape (steps + 1,), and its balance in each step, shape
    (steps,):

        p1.X(q1) - p0.X(q0) = Fd^-.X(q0) + Fd^+.X(q1) + defect

    `impulse` is what forces give; `defect`, the change of Ld along X, is zero where X is a symmetry
    of the discrete Lagrangian.
    """

    momentum: np.ndarray
    impulse: np.ndarray
    defect: np.ndarray
    size: float  # of what cancels in the defect

    @property
    def survives(self) -> bool:
        """Whether the method keeps the symmetry, to rounding."""
        return bool(np.max(np.abs(self.defect)) <= 1e-12 * self.size)

    def __str__(self) -> str:
        kept = "survives: " if self.survives else "is lost: "
        return (
            f"The balance of p.X with friction {kept}it is off by"
            f" {np.max(np.abs(self.defect)):.1e} in a step; forces give"
            f" {np.sum(self.impulse):.6g} in all."
        )


@door(trajectory=a_trajectory, X=a_function("q"))
def noether_balance(trajectory: Trajectory, X: Callable[[Configuration], Array]) -> NoetherBalance:
    """The balance of the momentum p.X with friction, and whether the method keeps it: Noether's
    theorem for thermal systems, d/dt (p.X) = F.X where X is a symmetry of L.

    Arguments:
        trajectory: one run of a thermal system by a method with a discrete Lagrangian, every step
            of which was saved, with its system.
        X: a field `X(q) -> (dim,)`.
    """
    system, method, h, (t, first, second) = steps_of(trajectory, "noether_balance")
    z0 = jax.tree.map(lambda a: a[0], first)
    found = evaluate("X", X, z0[0], takes="(q), a configuration")
    check_returns("X", found, (system.space.dim,), f"a vector of shape ({system.space.dim},)")
    d = discrete(system, method)

    def at(t: Any, z0: Any, z1: Any) -> Any:
        (q0, S0), (q1, S1) = z0, z1
        ends, X0, X1 = (t, h, q0, q1, S0, S1), X(q0), X(q1)
        minus, plus = d.legendre_minus(*ends)[1] @ X0, d.legendre_plus(*ends)[1] @ X1
        impulse = d.force_minus(*ends) @ X0 + d.force_plus(*ends) @ X1
        defect = d.D1(*ends) @ X0 + d.D2(*ends) @ X1
        return minus, plus, impulse, defect, jnp.abs(d.D1(*ends)) @ jnp.abs(X0)

    minus, plus, impulse, defect, size = map(np.asarray, jax.jit(jax.vmap(at))(t, first, second))
    momentum = np.append(minus, plus[-1:])
    return NoetherBalance(momentum, impulse, defect, float(np.max(size)))
