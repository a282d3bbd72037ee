"""What a system of the gallery consists of."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

import jax
import numpy as np

from accion.control import ControlProblem, optimize
from accion.instant.continuous import accelerations
from accion.methods import Method
from accion.solve.simulation import simulate
from accion.systems import ContactSystem, HigherOrderSystem, System, ThermalSystem


@dataclass(frozen=True)
class Check:
    """One number of ours against one of the reference: it passes when they differ by no more than
    the tolerance.
    """

    what: str
    value: float
    target: float
    tolerance: float

    def __post_init__(self):
        if not self.tolerance > 0:
            raise ValueError(
                f"{self.what}: a tolerance must be positive, the report divides by it; got"
                f" {self.tolerance}."
            )

    @property
    def difference(self):
        return abs(self.value - self.target)

    @property
    def passed(self):
        return bool(self.difference <= self.tolerance)  # False for NaN

    @property
    def used(self):
        """How much of the tolerance the difference takes, above 1 where it fails."""
        return self.difference / self.tolerance if np.isfinite(self.difference) else np.inf

    @property
    def shown(self):
        """(difference, tolerance) as texts: the tolerance as it is, the difference with as many
        digits as it takes to tell on which side it is.
        """
        limit = next(
            text
            for text in (f"{self.tolerance:.{n}e}" for n in range(17))
            if float(text) == self.tolerance
        )
        texts = (f"{self.difference:.{n}e}" for n in range(1, 17))
        return next(text for text in texts if (float(text) <= self.tolerance) == self.passed), limit


@dataclass(frozen=True)
class Entry:
    """A system of the documents: its physics, its numbers, its figure and the reference that it is
    checked against.
    """

    name: str
    title: str
    system: System | ThermalSystem | ContactSystem | HigherOrderSystem
    method: Method
    start: dict[str, Any]  # q0, v0 and, for a thermal system, S0, for a contact system z0
    h: float | None  # None where a file of one's own does not say
    steps: int
    # of a system of the gallery, what the report shows
    source: str = ""
    text: str = ""
    checks: Callable[[], list[Check]] = list
    figure: Callable[[], Any] | None = None
    # q (or q and params) -> points of the plane, for moving pictures
    positions: Callable[..., Any] | None = None
    # a smaller system whose equations are shown, where those of `system` fill no page
    printed: Any = None
    card: bool = False  # whether the report shows what `audit` finds
    problem: ControlProblem | None = None  # where the motion is not simulated but the best of many
    # how it is looked for: arguments of `optimize`
    search: dict[str, Any] = field(default_factory=dict)
    file: str = ""  # where it was read, where it is not of the gallery

    @property
    def called(self):
        """What `find_or_read` finds it by."""
        return self.file or self.name


def run(entry, method=None, *, h=None, steps=None, params=None, start=None):
    """What the entry is about: the `Trajectory` from its start, or the `Solution` of its control
    problem; its own numbers where none are given. `start` are the parts of the start that are
    others.
    """
    method, steps = method or entry.method, entry.steps if steps is None else steps
    if entry.problem is None:
        h = entry.h if h is None else h
        if h is None:
            raise ValueError(f"{entry.name} has no step: write h = 0.01 in its file, or pass --h.")
        start = begun(entry.start, start or {})
        return simulate(entry.system, method, **start, h=h, steps=steps, params=params)
    if start:
        raise ValueError(f"{entry.name} is to be controlled from a start of its own.")
    if h is not None:
        raise ValueError(
            f"{entry.name} is to be controlled in {entry.problem.longest:g} s: choose the number of"
            " steps, not their length."
        )
    problem = (
        entry.problem
        if params is None
        else replace(entry.problem, system=entry.system.with_params(params))
    )
    return optimize(problem, method, steps, **entry.search)


def begun(start, other):
    """A start with other parts: a velocity in place of a momentum, or of a second configuration."""
    kept = dict(start)
    if "v0" in other:
        kept = {part: value for part, value in kept.items() if part not in ("p0", "q1")}
    return kept | other


def equations_of(entry):
    """The system whose equations are shown."""
    return entry.system if entry.printed is None else entry.printed


def data(name):
    """The reference numbers `name`, as they are in the file."""
    return json.loads((files("accion.gallery") / "data" / f"{name}.json").read_text())


def compare(what, values, targets, tolerance):
    """A check for each component of `values` against `targets`, numbers or text with more digits
    than a float.
    """
    values = np.atleast_1d(np.asarray(values, dtype=float))
    targets = np.atleast_1d(np.asarray(targets, dtype=float))
    if values.shape != targets.shape:
        raise ValueError(f"{what}: shapes {values.shape} and {targets.shape} differ.")
    label = [what] if len(values) == 1 else [f"{what} [{i + 1}]" for i in range(len(values))]
    return [
        Check(name, float(a), float(b), tolerance)
        for name, a, b in zip(label, values, targets, strict=True)
    ]


def same_accelerations(system, other):
    """The check that two systems in the same coordinates have the same accelerations (and
    multipliers) at random points, relative to their size.
    """
    rng = np.random.default_rng(20261115)
    t, (q, v) = rng.uniform(0, 5, 10), rng.normal(size=(2, 10, system.space.dim))
    a, b = (
        np.concatenate(jax.tree.leaves(jax.jit(jax.vmap(accelerations(each)))(t, q, v)), axis=-1)
        for each in (system, other)
    )
    difference = np.max(np.abs(a - b) / (1 + np.max(np.abs(a), axis=-1, keepdims=True)))
    return compare(
        "accelerations by hand and from particles, largest difference", difference, 0.0, 1e-12
    )
