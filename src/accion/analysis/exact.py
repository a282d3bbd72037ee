"""The exact discrete Lagrangian: the action of the true motion between two configurations (000
section 4, 002).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.order import step_sizes
from accion.checks import check_mechanical
from accion.engines.xla import kept_jit
from accion.instant.continuous import reference
from accion.numerics import newton
from accion.stepping.views import discrete

DEGREES = (6, 10, 16, 24, 32)
TOLERANCE = 3e-13


@cache
def points(degree):
    """Nodes in [0, 1] with both ends (Lobatto), Gauss points and weights, and the matrices that
    give values and derivatives there.
    """
    inner = np.polynomial.legendre.Legendre.basis(degree).deriv().roots()
    nodes = np.concatenate([[-1.0], np.sort(inner.real), [1.0]])
    x, w = np.polynomial.legendre.leggauss(degree + 1)
    V = np.polynomial.legendre.legvander(nodes, degree)
    values = np.polynomial.legendre.legvander(x, degree) @ np.linalg.inv(V)
    slopes = np.stack(
        [
            np.polynomial.legendre.Legendre.basis(k).deriv()(x) if k else np.zeros_like(x)
            for k in range(degree + 1)
        ],
        axis=1,
    )
    return (nodes + 1) / 2, (x + 1) / 2, w / 2, values, 2 * slopes @ np.linalg.inv(V)


def action(system, degree, t, h, q0, q1, inner):
    """The action of the polynomial through q0, q0 + the inner points, and q1; taken from q0,
    velocities keep their digits.
    """
    _, c, w, values, slopes = points(degree)
    x = jnp.concatenate([jnp.zeros_like(q0)[None], inner.reshape(degree - 1, -1), (q1 - q0)[None]])
    q, v = q0 + jnp.asarray(values) @ x, jnp.asarray(slopes) @ x / h
    return h * jnp.asarray(w) @ jax.vmap(system.L)(t + jnp.asarray(c) * h, q, v)


@dataclass(frozen=True)
class Stationarity(newton.Equations):
    """dS/d(inner points) = 0; the arguments are (system, t, h, q0, q1, an array as long as the
    degree).
    """

    multipliers: int = 0

    def residual(self, unknowns, args):
        system, t, h, q0, q1, mark = args
        return jax.grad(lambda x: action(system, len(mark), t, h, q0, q1, x))(unknowns)

    def sizes(self, unknowns, J, args):
        """The size of an inner point that matters: the length of the step."""
        *_, q0, q1, _ = args
        scale = jnp.max(jnp.abs(q1 - q0)) + jnp.max(jnp.abs(q0)) * jnp.finfo(float).eps
        return jnp.full_like(unknowns, scale), jnp.zeros_like(unknowns)


def stationary(system, degree, t, h, q0, q1):
    """(S, found): the action where it is stationary over polynomials of that degree; differentiable
    by the ends, since dS/d(inner) = 0.
    """
    nodes = jnp.asarray(points(degree)[0][1:-1])
    guess = (nodes[:, None] * (q1 - q0)).ravel()
    fixed = jax.lax.stop_gradient((system, t, h, q0, q1, jnp.zeros(degree)))
    inner, _, converged = newton.root(Stationarity(), guess, fixed)
    return action(system, degree, t, h, q0, q1, jax.lax.stop_gradient(inner)), converged


@dataclass(frozen=True)
class ExactLagrangian:
    """Ld(t, h, q0, q1), the action of the true motion from q0 to q1 in time h, to 1e-12 relative,
    and its derivatives (-p0, p1).
    """

    system: Any

    def __call__(self, t, h, q0, q1):
        return self.evaluate(t, h, q0, q1)[0]

    def D1(self, t, h, q0, q1):
        """-p at the start of the true motion."""
        return self.evaluate(t, h, q0, q1)[1]

    def D2(self, t, h, q0, q1):
        """p at its end."""
        return self.evaluate(t, h, q0, q1)[2]

    def evaluate(self, t, h, q0, q1):
        """(Ld, D1, D2), from polynomials of growing degree until two agree."""
        q0, q1 = jnp.asarray(q0, dtype=float), jnp.asarray(q1, dtype=float)
        before = None
        for degree in DEGREES:
            S, slopes, good = solved(
                self.system, degree, jnp.asarray(t, float), jnp.asarray(h, float), q0, q1
            )
            now = np.concatenate([[S], *slopes])
            if (
                bool(good)
                and before is not None
                and np.all(np.abs(now - before) <= TOLERANCE * (np.abs(now) + np.max(np.abs(now))))
            ):
                return S, *slopes
            before = now if bool(good) else None
        raise ValueError(
            f"the motion of {self.system.name} from {np.asarray(q0)} to {np.asarray(q1)} in time"
            f" {float(h):g} was not found to 1e-12. Is h so long that there are several, or that"
            " the motion is not smooth? Try a smaller h."
        )


def solve_with(system, degree, t, h, q0, q1):
    (S, good), slopes = jax.value_and_grad(
        lambda *ends: stationary(system, degree, t, h, *ends), (0, 1), has_aux=True
    )(q0, q1)
    return S, slopes, good


solved = kept_jit(solve_with, static_argnums=(1,))


def exact_discrete_lagrangian(system) -> ExactLagrangian:
    """The exact discrete Lagrangian of a system without forces and constraints, on Euclidean or
    Torus spaces.

    Polynomials of high degree through the two ends, the action by Gauss quadrature and stationary;
    they converge faster than any power of the degree where the motion is smooth.
    """
    check_mechanical(system, "exact_discrete_lagrangian")
    if system.force is not None or system.constraint is not None:
        raise ValueError(
            f"{system.name} has a force or a constraint; the exact discrete Lagrangian is that of a"
            " free motion."
        )
    if not system.space.flat or isinstance(system.space.identity(), tuple):
        raise ValueError(f"exact_discrete_lagrangian needs Euclidean or Torus; got {system.space}.")
    system.check()
    return ExactLagrangian(system)


@dataclass(frozen=True)
class VariationalOrder:
    """The order p in |Ld - exact| = O(h^(p+1)) along a motion, with the data it was fitted to."""

    slope: float
    h: np.ndarray
    errors: np.ndarray

    def __float__(self):
        return self.slope


def variational_order(system, method, *, q0, v0, t0=0.0, h) -> VariationalOrder:
    """The order of the discrete Lagrangian of `method` against the exact one: it is that of the
    method (variational error analysis).
    """
    exact, d = exact_discrete_lagrangian(system), discrete(system, method)
    h = step_sizes(h, 2)
    q, _ = reference(system, q0=q0, v0=v0, ts=[t0, *(t0 + h[::-1])], rtol=1e-13, atol=1e-13)
    ends = np.asarray(q)[1:][::-1]
    errors = np.array(
        [
            abs(float(d.Ld(t0, step, q[0], end) - exact(t0, step, q[0], end)))
            for step, end in zip(h, ends, strict=True)
        ]
    )
    return VariationalOrder(float(np.polyfit(np.log(h), np.log(errors), 1)[0]) - 1, h, errors)
