"""Where runs end that do not end at the desired shape: which shapes those are."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.xla import kept_jit
from accion.formation.rigidity import pair_distances
from accion.formation.teams import Team
from accion.systems import System
from accion.types import Array, Scalar, Vector

# of the mean distance, or of a radian: ends that differ by less are taken for one shape before it
# is sharpened, and for one after it
ALIKE, ONE = 0.1, 1e-3
MOST = 100  # shapes that are numbered


class Other(NamedTuple):
    """A shape where runs ended: its configuration as a row, whether it is a minimum of V, and V."""

    row: np.ndarray
    stable: bool
    potential: float


def number_shapes(
    team: Team,
    system: System,
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
    `ended` are (numbers of runs, configurations as rows); `shape` the centres of the desired one,
    of which all attitudes agree.
    """
    number = np.where(outcome == congruent, 0, -1).astype(np.int16)
    members, ends = ended
    scale = float(np.mean(pair_distances(shape)))
    own = signature(team, team.in_rows(team.placed(shape[None], None)), scale)[0]
    signed, left = signature(team, ends, scale), np.arange(len(members))
    groups: list[np.ndarray] = []
    while len(left) and len(groups) < MOST:
        alike = np.max(np.abs(signed[left] - signed[left[0]]), axis=1) <= ALIKE
        groups.append(left[alike])
        left = left[~alike]
    found: list[tuple[np.ndarray, Other, list[int]]] = []
    outcome = outcome.copy()
    for group in groups:
        sharp = sharpen(team, system, ends[group[0]], scale)
        here = signature(team, sharp.row[None], scale)[0]
        if np.max(np.abs(here - own)) <= ONE:
            outcome[members[group]] = not_converged
            continue
        for known, _, rows in found:
            if np.max(np.abs(here - known)) <= ONE:
                rows.extend(group)
                break
        else:
            found.append((here, sharp, list(group)))
    found.sort(key=lambda item: -len(item[2]))
    for i, (_, _, rows) in enumerate(found):
        number[members[rows]] = i + 1
    return outcome, number, [item[1] for item in found]


def signature(team: Team, rows: np.ndarray, scale: float) -> np.ndarray:
    """What motions of the whole leave alone: the distances of all pairs, over `scale`, and the
    angles between them, where they count; shape (runs, numbers).
    """
    return np.concatenate([pair_distances(team.places(rows)) / scale, team.angles(rows)], axis=1)


def energy(system: System, q: Any, eta: Vector) -> Scalar:
    """V near `q`: L = T - V at t = 0, where the weight is one."""
    return -system.L(0.0, system.space.displace(q, eta), jnp.zeros_like(eta))


@kept_jit
def curve(system: System, q: Any) -> tuple[Scalar, Vector, Array]:
    """V at `q`, and its first and second derivatives by a displacement."""

    def slope(eta: Vector) -> Any:
        V, g = jax.value_and_grad(energy, 2)(system, q, eta)
        return g, (V, g)

    C, (V, g) = jax.jacfwd(slope, has_aux=True)(jnp.zeros(system.space.dim))
    return V, g, C


@kept_jit
def moved(system: System, q: Any, eta: Vector) -> Any:
    """The configuration at the end of a displacement."""
    return system.space.retract(q, eta)


@kept_jit
def apart(system: System, q0: Any, q1: Any) -> Vector:
    """The displacement from one to the other."""
    return system.space.local(q0, q1)


def sharpen(team: Team, system: System, row: np.ndarray, scale: float) -> Other:
    """The equilibrium near a configuration: grad V = 0, by Newton's method without the motions of
    the whole; where that leads away, the minimum below it. Lengths are measured by `scale`, angles
    in radians.
    """
    long = team.lengths()
    unit = np.where(long, scale, 1.0)
    start = x = team.of_row(row)
    for _ in range(50):
        _, g, C = (np.asarray(a) for a in curve(system, x))
        move = np.linalg.lstsq(C * np.outer(unit, unit), -unit * g, rcond=1e-9)[0]
        most = np.max(np.abs(move))
        x = moved(system, x, unit * move * min(1.0, 0.1 / (most + 1e-300)))
        if most < 1e-12:
            break
    if not np.max(np.abs(np.asarray(apart(system, start, x)) / unit)) < 1:
        x = descend(system, start, unit)
    V, _, C = (np.asarray(a) for a in curve(system, x))
    # V is a sum of one of the centres and one of the attitudes, which have units of their own.
    stable = all(is_minimum(C[np.ix_(part, part)]) for part in (long, ~long) if np.any(part))
    row = team.in_rows(jax.tree.map(lambda a: np.asarray(a)[None], x))[0]
    return Other(row, stable, float(V))


def descend(system: System, x: Any, unit: np.ndarray) -> Any:
    """A minimum of V below a configuration: Newton's method with the sizes of the second
    derivatives in their place, each step as short as makes V less.
    """
    V, g, C = (np.asarray(a) for a in curve(system, x))
    for _ in range(500):
        w, U = np.linalg.eigh(C * np.outer(unit, unit))
        size = np.maximum(np.abs(w), 1e-9 * np.max(np.abs(w)))
        move = -U @ ((U.T @ (unit * g)) / size)
        move *= min(1.0, 0.1 / (np.max(np.abs(move)) + 1e-300))
        while np.max(np.abs(move)) > 1e-12:
            there = moved(system, x, unit * move)
            found = [np.asarray(a) for a in curve(system, there)]
            if found[0] < V:
                break
            move /= 2
        else:
            return x
        x, (V, g, C) = there, found
    return x


def is_minimum(C: np.ndarray) -> bool:
    """By second derivatives: motions of the whole leave V as it is, and a flat direction of a shape
    counts as stable.
    """
    least = np.linalg.eigvalsh(C)
    return bool(least[0] > -1e-6 * least[-1])
