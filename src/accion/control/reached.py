"""What of a solution has bounds, and how large it is."""

from typing import Any

import jax
import numpy as np

from accion.control.bounds import Bounds


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
