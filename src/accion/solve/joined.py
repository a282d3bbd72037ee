"""The trajectory that a two-point problem gives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import window
from accion.instant import constrained
from accion.results.trajectory import Trajectory, rows
from accion.solve.equations import Path, TwoPoint
from accion.stepping import higher
from accion.systems import HigherOrderSystem


def trajectory_of(problem: TwoPoint, path: Path, iterations: int) -> Trajectory:
    """A path with momenta, velocities and multipliers at its nodes."""
    system, steps, h = problem.system, problem.steps, problem.h
    t = problem.t0 + h * jnp.arange(steps + 1)
    q, G, x = jax.tree.map(jnp.asarray, path.q), problem.variations(path), path.x
    done: dict[str, Any] = {
        "success": jnp.array(True),
        "steps_completed": jnp.array(steps),
        "iterations": jnp.full(steps + 1, iterations),
    }
    done |= {"t": t, "q": q, "h": h, "system": system, "method": problem.method}
    if isinstance(system, HigherOrderSystem):
        (p, jets, lam), nodal = nodal_rows(problem, t, q, G, x)
        return Trajectory(
            p=p, jets=jets, lam=lam if system.multipliers else None, nodal=nodal, **done
        )
    p, guess = np.concatenate([-G[:1, 0], G[:, 1]]), np.concatenate([x[:1], x]) / h
    p, guess, lam = jnp.asarray(p), jnp.asarray(guess), None
    if system.constraint is not None:
        guess, p, lam = rows(constrained.node, False, system, t, q, p, guess)
    return Trajectory(p=p, lam=lam, guess=guess, **done)


def nodal_rows(
    problem: TwoPoint, t: Any, q: Any, G: np.ndarray, x: np.ndarray
) -> tuple[Any, higher.Nodal]:
    """(p, jets, lam) at each node of a trajectory of higher order, and the `Nodal` that they are
    from.

    It has the r nodes that begin there (near the end, the last r) and their momenta. The momentum
    of a node is what the windows before add to it; at the first r nodes, minus what those from
    there on do.
    """
    system, h, steps = problem.system, problem.h, problem.steps
    r, space = system.order, system.space
    start = np.minimum(np.arange(steps + 1), steps + 1 - r)
    P = np.zeros((steps + 1, r, space.dim))
    for k, s in enumerate(start):
        for j in range(r):
            i = s + j
            P[k, j] = (
                -sum(G[w, i - w] for w in range(s, i + 1))
                if i < r
                else sum(G[w, i - w] for w in range(i - r, s))
            )
    d = np.stack(
        [window.differencing(r) @ x[min(s, steps - r) : min(s, steps - r) + r] for s in start]
    )
    # The last r nodes have no increment after them: their differences are those of the r - 1
    # before.
    own = (
        np.stack([window.differencing(r - 1) @ x[s : s + r - 1] for s in start])
        if r > 1
        else np.zeros((steps + 1, 0, space.dim))
    )
    ahead = np.arange(steps + 1.0) - start
    found = rows(
        higher.seen, False, system, t, q, P, own, d[:, -1], np.full(steps + 1, float(h)), ahead
    )
    return found, jax.tree.map(jnp.asarray, higher.Nodal(P, own, ahead))
