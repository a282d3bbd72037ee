"""Controls that hold a system at rest."""

import jax
import numpy as np

from accion.control.problem import ControlProblem
from accion.control.states import Acceleration, Slopes, law_of
from accion.numerics.batches import at_times
from accion.types import Configuration

BALANCED = 20  # iterations by which controls that hold an equilibrium are found
AT_REST = 1e-8  # of what its terms are, the most that an equilibrium may accelerate by


def balance(
    problem: ControlProblem, t: float, q: Configuration, u: np.ndarray | None
) -> tuple[np.ndarray, float, float]:
    """(u, left, terms) at rest: the controls that hold the system best, or those that are given;
    the largest acceleration that is left, and the size of its terms.
    """
    system, count, n = problem.system, problem.control_count, problem.system.space.dim
    point = jax.tree.map(lambda a: np.asarray(a, dtype=float)[None], (t, q, np.zeros(n)))

    def accelerated(u: np.ndarray) -> np.ndarray:
        f = Acceleration(law_of(problem))
        return np.asarray(at_times(f, False, system, *point, u[None]))[0]

    def slopes(u: np.ndarray) -> list[np.ndarray]:
        found = at_times(Slopes(law_of(problem)), False, system, *point, u[None])
        return [np.asarray(a)[0, n:] for a in found[:2]]

    if u is None:
        u = np.clip(np.zeros(count), *problem.u_bounds)
        # one is enough where forces are affine in the controls
        for _ in range(BALANCED):
            by_u = slopes(u)[1]
            unit = np.linalg.norm(by_u, axis=0)
            unit = np.where(unit > 0, unit, 1.0)
            du = np.linalg.lstsq(by_u / unit, -accelerated(u), rcond=1e-12)[0] / unit
            u = u + du
            if np.all(np.abs(du) <= 1e-14 * np.abs(u)):
                break
    by_state, by_u = slopes(u)
    reach = np.broadcast_to(np.asarray(system.space.magnitude(q)), (n,))
    terms = np.abs(by_state[:, :n]) @ reach + np.abs(by_u) @ np.abs(u)
    return u, float(np.max(np.abs(accelerated(u)))), float(np.max(terms))


def without_effect(problem: ControlProblem, t: float, q: Configuration, u: np.ndarray) -> list[str]:
    """The controls that change no acceleration there, to first order."""
    point = jax.tree.map(lambda a: np.asarray(a, dtype=float)[None], (t, q))
    v = np.zeros((1, problem.system.space.dim))
    B = at_times(Slopes(law_of(problem)), False, problem.system, *point, v, u[None])[1]
    return [
        name
        for name, by in zip(problem.controls, np.asarray(B)[0].T, strict=True)
        if not np.any(by)
    ]


def rests(problem: ControlProblem, t: float, q: Configuration) -> bool:
    """Whether some controls hold the system at rest there."""
    _, left, terms = balance(problem, t, q, None)
    return left <= AT_REST * terms
