"""Where runs end that do not end at the desired shape: which shapes those are."""

from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from accion.engines.xla import kept_jit
from accion.formation.bonds import Bonds
from accion.formation.formation import Formation
from accion.formation.rigidity import pair_distances
from accion.types import Array, Vector

# of the mean distance: ends that differ by less are taken for one shape before it is sharpened
ALIKE = 0.1
MOST = 100  # shapes that are numbered


class Other(NamedTuple):
    """A shape where runs ended: positions (n, d), whether it is a minimum of V, and V there."""

    q: np.ndarray
    stable: bool
    potential: float


def number_shapes(
    formation: Formation,
    shape: np.ndarray,
    outcome: np.ndarray,
    ended: tuple[np.ndarray, np.ndarray],
    congruent: int,
    not_converged: int,
) -> tuple[np.ndarray, np.ndarray, list[Other]]:
    """(outcome, number, shapes): of each run the number of its shape, 0 for the desired one, -1 for
    none, and the list of the others.

    Ends that are alike are one shape, sharpened to an equilibrium; equilibria that are congruent
    are one. Where that is the desired shape the runs were only slow, and count as not converged.
    `ended` are (numbers of runs, positions).
    """
    number = np.where(outcome == congruent, 0, -1).astype(np.int16)
    members, ends = ended
    ends = ends.reshape(len(members), formation.n, formation.dimension)
    signature, left = pair_distances(ends), np.arange(len(members))
    groups: list[np.ndarray] = []
    scale = float(np.mean(pair_distances(shape)))
    while len(left) and len(groups) < MOST:
        alike = np.max(np.abs(signature[left] - signature[left[0]]), axis=1) <= ALIKE * scale
        groups.append(left[alike])
        left = left[~alike]
    own = pair_distances(shape)
    found: list[tuple[np.ndarray, Other, list[int]]] = []
    outcome = outcome.copy()
    for group in groups:
        sharp = sharpen(formation, ends[group[0]])
        distances = pair_distances(sharp.q)
        if np.max(np.abs(distances - own)) <= 1e-3 * scale:
            outcome[members[group]] = not_converged
            continue
        for known, _, rows in found:
            if np.max(np.abs(distances - known)) <= 1e-3 * scale:
                rows.extend(group)
                break
        else:
            found.append((distances, sharp, list(group)))
    found.sort(key=lambda item: -len(item[2]))
    for i, (_, _, rows) in enumerate(found):
        number[members[rows]] = i + 1
    return outcome, number, [item[1] for item in found]


@partial(kept_jit, static_argnums=(0,))
def energy(bonds: Bonds, d: Array, q: Vector) -> Array:
    """V(q)."""
    return bonds(0.0, q, {"d": d})


@partial(kept_jit, static_argnums=(0,))
def gradient(bonds: Bonds, d: Array, q: Vector) -> Vector:
    """dV/dq."""
    return jax.grad(lambda q: bonds(0.0, q, {"d": d}))(q)


@partial(kept_jit, static_argnums=(0,))
def hessian(bonds: Bonds, d: Array, q: Vector) -> Array:
    """d2V/dq2."""
    return jax.hessian(lambda q: bonds(0.0, q, {"d": d}))(q)


def sharpen(formation: Formation, q: np.ndarray) -> Other:
    """The equilibrium near `q`: grad V = 0, by Newton's method without the rigid motions; where
    that leads away, the minimum below it.
    """
    from scipy.optimize import minimize

    V, slope, curve = (
        partial(f, formation.bonds, formation.distances) for f in (energy, gradient, hessian)
    )
    x = np.asarray(q, dtype=float).ravel()
    scale = float(np.mean(formation.distances))
    for _ in range(50):
        g, C = np.asarray(slope(x)), np.asarray(curve(x))
        move = np.linalg.lstsq(C, -g, rcond=1e-9)[0]
        x = x + move * min(1.0, 0.1 * scale / (np.max(np.abs(move)) + 1e-300))
        if np.max(np.abs(move)) < 1e-12 * scale:
            break
    if not np.max(np.abs(x - q.ravel())) < scale:
        x = np.asarray(
            minimize(
                lambda x: float(V(x)),
                q.ravel(),
                jac=lambda x: np.asarray(slope(x)),
                method="BFGS",
                options={"gtol": 1e-12 * scale * float(np.max(np.abs(curve(q.ravel()))))},
            ).x
        )
    least = np.linalg.eigvalsh(np.asarray(curve(x)))
    # Rigid motions leave V as it is; a flat direction of a shape counts as stable.
    return Other(
        x.reshape(formation.n, formation.dimension), bool(least[0] > -1e-6 * least[-1]), float(V(x))
    )
