"""What the functions of this room ask of what they are given."""

from typing import Any

import jax
import numpy as np

from accion.arguments import reals
from accion.checks import is_vector_space, refuse
from accion.systems import AbstractSystem

MOST_STEPS = 10**7  # of a run whose errors are looked at


def check_every_step(trajectory: Any, what: str) -> None:
    """Raise ValueError unless `trajectory` is one run of which every step was saved."""
    if trajectory.is_ensemble:
        raise ValueError(f"{what} needs one run; got an ensemble.")
    if trajectory.system is None:
        raise ValueError(f"{what} needs a trajectory with its system: load(path, system=...).")
    method = trajectory.method
    if method is not None and method.own_lengths:
        refuse(what, f"runs by {method}", "its steps have lengths of their own")
    if np.ndim(trajectory.h):
        raise ValueError(f"{what} along a trajectory needs steps of one length.")
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
    words = f"{least} step sizes or more, such as [0.1, 0.05, 0.025]"
    h = np.asarray(reals(h, "h", words))
    if h.ndim != 1 or len(h) < least or not np.all(np.isfinite(h)) or not np.all(h > 0):
        words = ("one step size", "two step sizes", "three step sizes")[least - 1]
        raise ValueError(f"h must be at least {words}, positive; got {h}.")
    return np.sort(h)[::-1]


def steps_in(duration: float, sizes: np.ndarray, least: int) -> np.ndarray:
    """How many steps of each of the `sizes` fill `duration`, `least` or more."""
    with np.errstate(over="ignore"):  # what is beyond all numbers is too much, too
        steps = np.rint(duration / sizes)
    if np.max(steps) > MOST_STEPS:
        raise ValueError(
            f"duration = {duration:g} would take {np.max(steps):.3g} steps of h ="
            f" {np.min(sizes):g}; after more than {MOST_STEPS:.0e} rounding hides what is measured"
            " here. Take a shorter duration."
        )
    if np.min(steps) < least:
        raise ValueError(
            f"h must be so small that duration = {duration:g} has {least} steps or more; got"
            f" {np.max(sizes):g}."
        )
    return steps.astype(int)


def row(tree: Any, i: int) -> Any:
    """The i-th row of arrays."""
    return jax.tree.map(lambda a: a[i], tree)
