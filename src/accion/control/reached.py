"""What of a solution has bounds, and how large it is."""

import warnings
from typing import Any

import jax
import numpy as np

from accion.control.bounds import Bounds
from accion.control.path_constraints import INTERVALS, Worst
from accion.control.polynomial import between
from accion.errors import BoundsBroken

SMALL = 0.05  # of the room between its bounds, by which a control may leave it between points
TOLD = 1e-6  # of the same: less is the tolerance of a solver


def bounded(solution: Any) -> list[tuple[str, np.ndarray, Bounds]]:
    """(words, values, bounds) of what has bounds: controls, velocities of the steps and, on a flat
    space, coordinates between the ends.
    """
    s, problem, space = solution, solution.problem, solution.problem.system.space
    before, after = (
        jax.tree.map(lambda a, part=part: np.asarray(a)[part], s.q)
        for part in (slice(None, -1), slice(1, None))
    )
    d = np.asarray(jax.vmap(space.local)(before, after))
    found = [
        ("controls", s.u, problem.u_bounds),
        ("velocities", d / np.diff(s.t)[:, None], problem.v_bounds),
    ]
    if space.flat:
        q = [np.reshape(leaf, (len(s.t), -1)) for leaf in jax.tree.leaves(s.q)]
        found.append(("coordinates", np.concatenate(q, axis=1)[1:-1], problem.q_bounds))
    return found


def worst_of_bounds(solution: Any) -> dict[str, Worst]:
    """{control: (value, t)}: by how much each control with bounds is beyond them where it is most,
    between the points of a method too, <= 0 where they hold, and when.
    """
    s, (lower, upper) = solution, solution.problem.u_bounds
    places, u = s.control_pieces()
    parts = np.linspace(0.0, 1.0, INTERVALS + 1)
    along = np.stack([between(places, np.moveaxis(u, 1, 0), part) for part in parts], axis=1)
    off = np.maximum(along - upper, lower - along)  # (steps, parts, controls)
    t, found = s.t[:-1, None] + np.diff(s.t)[:, None] * parts, {}
    for j, name in enumerate(s.problem.controls):
        if np.isfinite(lower[j]) or np.isfinite(upper[j]):
            k = np.unravel_index(np.argmax(off[..., j]), t.shape)
            found[name] = Worst(float(off[*k, j]), float(t[k]))
    return found


def bounds_words(solution: Any) -> list[str]:
    """What is to be said of controls beyond their bounds; `BoundsBroken` where it is much."""
    s, (lower, upper) = solution, solution.problem.u_bounds
    reach = np.max(np.abs(s.u), axis=0)
    rooms = np.where(np.isfinite(upper - lower), upper - lower, reach)
    rooms = dict(zip(s.problem.controls, rooms, strict=True))
    broken = {
        name: worst for name, worst in s.bounds_worst.items() if worst.value > TOLD * rooms[name]
    }
    if not broken:
        return []
    name, worst = max(broken.items(), key=lambda pair: pair[1].value / rooms[pair[0]])
    words = f"between points {name} is {worst.value:.2g} beyond its bounds, at t = {worst.t:.4g}"
    if s.success and worst.value > SMALL * rooms[name]:
        warnings.warn(
            f"{words}: {s.method!r} holds control_bounds at its points. Give them as path="
            " constraints, g <= 0, which hold between points too; or take Midpoint(), whose"
            " controls are constant on each step, or more steps.",
            BoundsBroken,
            stacklevel=4,
        )
    return [words]
