"""What the functions of this room ask of what they are given."""

from typing import Any

import jax
import numpy as np

from accion.checks import is_vector_space, refuse
from accion.systems import AbstractSystem


def check_every_step(trajectory: Any, what: str) -> None:
    """Raise ValueError unless `trajectory` is one run of which every step was saved."""
    if trajectory.is_ensemble:
        raise ValueError(f"{what} needs one run; got an ensemble.")
    if trajectory.system is None:
        raise ValueError(f"{what} needs a trajectory with its system: load(path, system=...).")
    if not np.isclose(float(trajectory.t[1] - trajectory.t[0]), float(trajectory.h)):
        raise ValueError(f"{what} along a trajectory needs every step of it: save_every=1.")


def check_vectors(system: AbstractSystem, what: str, why: str) -> None:
    """Raise ValueError unless configurations are vectors, with the reason `why` they must be."""
    if not is_vector_space(system.space):
        refuse(what, f"systems on {system.space}", f"{why}; it is for Euclidean or Torus")


def check_free(system: Any, what: str, why: str) -> None:
    """Raise ValueError where a force acts, or a constraint by its forces."""
    if system.forced:
        refuse(what, "systems with a force", why)
    if system.constraint is not None and not system.enters_action:
        refuse(what, "systems under holonomic or nonholonomic constraints", why)


def step_sizes(h: Any, least: int) -> np.ndarray:
    """`h` as step sizes, the largest first; `least` is how many there must be, 1 to 3."""
    try:
        h = np.asarray(h, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"h must be {least} step sizes or more, such as [0.1, 0.05, 0.025]; got {h!r}."
        ) from error
    if h.ndim != 1 or len(h) < least or not np.all(np.isfinite(h)) or not np.all(h > 0):
        words = ("one step size", "two step sizes", "three step sizes")[least - 1]
        raise ValueError(f"h must be at least {words}, positive; got {h}.")
    return np.sort(h)[::-1]


def row(tree: Any, i: int) -> Any:
    """The i-th row of arrays."""
    return jax.tree.map(lambda a: a[i], tree)
