"""Values of the modified Hamiltonian along motions whose steps are windows of r + 1 configurations.

On T*(Q^r) it is sum_j P_j.q'(t_{k+j}) - s'(t_k), q(t) the smooth curve through the nodes and s(t)
through the sums of Ld: as for r = 1, where the sum has one term.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.neighbours import weights
from accion.engines.auto import small_map
from accion.numerics.batches import at_times
from accion.results.nodes import data_of_nodes
from accion.results.trajectory import Trajectory
from accion.stepping.views import discrete
from accion.types import Covector, Scalar


@dataclass(frozen=True)
class WindowAction:
    """Ld of the window of these configurations; equal ones share what is compiled."""

    method: Any

    def __call__(self, system: Any, t: Scalar, h: Scalar, *q: Any) -> Scalar:
        return discrete(system, self.method).Ld(t, h, *q)


@dataclass(frozen=True)
class WindowSlope:
    """dLd/dt of a window, of which the momenta of the first r nodes are `P`."""

    method: Any

    def __call__(self, system: Any, t: Scalar, h: Scalar, P: Covector, *q: Any) -> Scalar:
        d, own = discrete(system, self.method), None
        if system.enters_action:
            x = [system.space.local(a, b) for a, b in pairwise(q)]
            own = d.solved(t, h, list(q[:-1]), P, jnp.stack(x))[1]
        return jax.jvp(lambda t: d.Ld(t, h, *q, lam=own), (t,), (jnp.ones_like(t),))[1]


def windows_of(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """(t, h, the configurations) of each window of a run of which every step is kept."""
    r, count = trajectory.system.order, len(trajectory) - trajectory.system.order
    q = [
        jax.tree.map(lambda a, i=i: np.asarray(a)[i : i + count], trajectory.q)
        for i in range(r + 1)
    ]
    return np.asarray(trajectory.t)[:count], np.full(count, float(trajectory.h)), q


def momenta_of(trajectory: Trajectory) -> np.ndarray:
    """P_1, ..., P_r of the nodes that begin at each row, shape (times, r, dim)."""
    return np.asarray(data_of_nodes(trajectory)[1])


def along_windows(m: int, trajectory: Trajectory) -> np.ndarray:
    """The values where there are m neighbours on both sides, and r - 1 nodes more ahead: shape
    (times - r - 2m + 1,).
    """
    system, r = trajectory.system, trajectory.system.order
    t, h, q = windows_of(trajectory)
    Ld = np.asarray(at_times(WindowAction(trajectory.method), False, system, t, h, *q))
    P, count, c = momenta_of(trajectory), len(trajectory) - r - 2 * m + 1, weights(m)
    rates, out = rates_of(system.space, trajectory.q, m), np.zeros(count)
    for j in range(r):
        out += np.sum(P[m : m + count, j] * rates[j : j + count], axis=1)
    for j in range(m):
        for i, weight in sides(c, m, j):
            out -= weight * Ld[i : i + count]
    return out / float(trajectory.h)


def sides(c: np.ndarray, m: int, j: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """Which steps are j steps before and after a point, and their weights in h times the derivative
    of what the steps add up to.
    """
    return (m + j, float(np.sum(c[m + j + 1 :]))), (m - 1 - j, -float(np.sum(c[: m - j])))


def rates_of(space: Any, q: Any, m: int) -> np.ndarray:
    """h q' at all points that have m neighbours on both sides, from their increments; on groups in
    the coordinates of each point.
    """
    count = len(jax.tree.leaves(q)[0]) - 2 * m
    local = small_map(lambda _, pair: space.local(*pair))
    if space.flat:
        before, after = (jax.tree.map(lambda a, k=k: np.asarray(a)[k], q) for k in ENDS)
        x, out = np.asarray(local((), (before, after))), 0.0
        for j in range(m):
            out = out + sum(w * x[i : i + count] for i, w in sides(weights(m), m, j))
        return np.asarray(out)
    middle = jax.tree.map(lambda a: np.asarray(a)[m : m + count], q)
    parts = [jax.tree.map(lambda a, j=j: np.asarray(a)[j : j + count], q) for j in range(2 * m + 1)]
    pairs = zip(weights(m), parts, strict=True)
    return np.asarray(sum(c * np.asarray(local((), (middle, part))) for c, part in pairs if c))


ENDS = (slice(None, -1), slice(1, None))


def slopes_by_time(trajectory: Trajectory) -> np.ndarray:
    """dLd/dt of each window."""
    t, h, q = windows_of(trajectory)
    P = momenta_of(trajectory)[: len(t)]
    return np.asarray(
        at_times(WindowSlope(trajectory.method), False, trajectory.system, t, h, P, *q)
    )
