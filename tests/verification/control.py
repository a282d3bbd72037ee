"""The audit of optimal control: how cost, controls, costates and replay converge, on the swing-up
of a cart-pole.
"""

from dataclasses import dataclass
from functools import cache

import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline

import accion as ac

STEPS = (64, 128, 256)
CASES = [
    (method, form)
    for form in ("direct", "vakonomic")
    for method in (ac.LeftRectangle(), ac.Midpoint(), ac.Trapezoid())
]


def lagrangian(t, q, v, params):
    c = jnp.cos(q[1])
    return 0.65 * v[0] ** 2 + 0.15 * c * v[0] * v[1] + 0.0375 * v[1] ** 2 - 0.15 * 9.81 * c


def cost(t, q, v, u, params):
    return u @ u / 2


system = ac.System(
    lagrangian, ac.Euclidean(2), coordinates=("x [m]", "theta [rad]"), name="cart-pole"
)
problem = ac.ControlProblem(
    system, cost, actuated=["x"], start=([0, np.pi], [0, 0]), end=([0, 0], [0, 0]), duration=2.0
)


@dataclass(frozen=True)
class Row:
    method: str
    formulation: str
    claimed: int
    cost: float  # order of its error, as of the next ones
    control: float
    costate: float
    replay: float
    iterations: tuple[int, ...]
    violation: float


@cache
def extremal():
    """The solution of Pontryagin's conditions, on 256 intervals."""
    return ac.optimize(problem, ac.Midpoint(), 256).extremal()


def measure(method, formulation):
    """One line of the audit."""
    exact = extremal()
    errors, iterations, violation, guess = [], [], 0.0, None
    for steps in STEPS:
        found = ac.optimize(problem, method, steps, guess=guess, formulation=formulation)
        guess = found
        every = 256 // steps
        at_controls = CubicSpline(exact.t, exact.u)(found.t_u)
        by_controls = np.max(np.abs(found.u - at_controls)[2:-2])
        by_costates = np.max(np.abs(found.costates - exact.costates[::every]))
        errors.append((abs(found.cost - exact.cost), by_controls, by_costates, found.replay_error))
        iterations.append(found.iterations)
        violation = max(violation, found.violation)
    names = ("cost", "control", "costate", "replay")
    orders = {name: float(np.log2(a / b)) for name, a, b in zip(names, *errors[-2:], strict=True)}
    return Row(
        str(method),
        formulation,
        method.order,
        iterations=tuple(iterations),
        violation=violation,
        **orders,
    )
