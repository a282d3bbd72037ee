"""What a run shows: channels, each with its values, the names of its axes, its unit and what it is.

A channel has one name everywhere: in a Dataset, in a file, in a picture, in a campaign. Which ones
there are depends on the kind of system; `labels` says so, and each kind is registered there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from accion.systems import (
    AbstractSystem,
    ContactSystem,
    DiscreteSystem,
    DiscreteThermalSystem,
    HigherOrderSystem,
    ThermalSystem,
)
from accion.systems.base import unit_of, word_of
from accion.types import Array

# Every channel that some kind of system has, in words.
LONG_NAMES = {
    "q": "configuration",
    "p": "momentum",
    "v": "velocity",
    "energy": "energy",
    "lam": "multiplier, the constraint force",
    "reduced_p": "momentum over the weight",
    "reduced_lam": "multiplier over the weight",
    "log_weight": "logarithm of the weight",
    "jets": "q', q'', ..., of the order of the system",
    "node_P": "momenta of the nodes that begin here, components of Theta^+",
    "node_d": "differences of the increments between them",
    "node_ahead": "steps from the first of them to here",
    "S": "entropy",
    "z": "action, whose rate is the Lagrangian",
    "T": "temperature",
    "supplied": "energy from outside since the start",
    "laws_energy": "energy at the start",
    "laws_least": "least change of the total entropy in a step that was not cooled",
    "laws_least_step": "the step of that change",
    "laws_push": "largest energy that friction gave in a step",
    "laws_push_step": "the step of that energy",
    "laws_friction": "largest energy that friction gave or took in a step",
    "iterations": "iterations of Newton's method",
    "success": "whether every step was solved",
    "steps_completed": "steps that were solved",
}
LAWS = tuple(name.removeprefix("laws_") for name in LONG_NAMES if name.startswith("laws_"))


class Label(NamedTuple):
    """What a channel is, without its values."""

    dims: tuple[str, ...]  # names of the axes of its value at one time
    unit: str  # "" where it is not known; several, with commas, where components differ
    long_name: str
    components: tuple[str, ...] = ()  # names with units along the last axis, () where it has none
    per_run: bool = False  # whether it is one value of a run, not one of each time

    @property
    def attrs(self) -> dict[str, str]:
        """The attributes of a variable of a Dataset."""
        return attributes(self.long_name, self.unit)


@dataclass(frozen=True)
class Channel:
    """A quantity along a run, or along all runs of an ensemble.

    Arguments:
        values: an array.
        dims: the names of its axes, such as ("run", "time", "coordinate").
        unit: "rad/s"; "" where it is not known; several, with commas, where components differ.
        long_name: what it is, in words.
        components: names with units along the last axis, () where it has no components.
    """

    values: Array | np.ndarray
    dims: tuple[str, ...]
    unit: str
    long_name: str
    components: tuple[str, ...] = ()

    @property
    def variable(self) -> tuple[tuple[str, ...], np.ndarray, dict[str, str]]:
        """(dims, values, attributes), as a variable of a Dataset is written."""
        return self.dims, np.asarray(self.values), attributes(self.long_name, self.unit)


def attributes(long_name: str, unit: str) -> dict[str, str]:
    """The attributes of a variable of a Dataset."""
    return {"long_name": long_name} | ({"units": unit} if unit else {})


def labelled(label: Label, values: Any, ensemble: bool) -> Channel:
    """The channel of these values, which have an axis of runs in front for an ensemble."""
    in_front = ("run",) * ensemble + (() if label.per_run else ("time",))
    return Channel(values, (*in_front, *label.dims), label.unit, label.long_name, label.components)


def value_of(motion: Any, name: str) -> Any:
    """What `motion` has under the name of a channel, None where it has nothing.

    Arguments:
        motion: whatever has `q`, `laws` and `nodal`, and the other channels as attributes.
        name: of a channel; on a product "q_0", "q_1", ... are the parts of q.
    """
    match name.split("_", 1):
        case ["q", part]:
            return motion.q[int(part)]
        case ["laws", part]:
            return None if motion.laws is None else getattr(motion.laws, part)
        case ["node", part]:
            return None if motion.nodal is None else getattr(motion.nodal, part)
        case _:
            return getattr(motion, name)


# ---------------------------------------------------------------- which there are, by kind


@singledispatch
def labels(system: AbstractSystem) -> dict[str, Label]:
    """What a run of `system` may show, by name.

    A run has a channel of that name where it has such a value: `lam` without a constraint has none.
    Nothing of the system is computed, so that of an ensemble serves as well.
    """
    momenta = of_momenta(system) | of_weight(system)
    return of_positions(system) | momenta | of_velocities(system) | OF_STEPS


@labels.register
def _(system: HigherOrderSystem) -> dict[str, Label]:
    return of_positions(system) | of_velocities(system) | of_derivatives(system) | OF_STEPS


@labels.register
def _(system: ThermalSystem) -> dict[str, Label]:
    mechanical = of_positions(system) | of_momenta(system) | of_velocities(system)
    return mechanical | MULTIPLIERS | of_entropies(system) | of_temperatures(system) | OF_STEPS


@labels.register
def _(system: ContactSystem) -> dict[str, Label]:
    mechanical = of_positions(system) | of_momenta(system) | of_velocities(system)
    return mechanical | of_action(system) | OF_STEPS


@labels.register
def _(system: DiscreteSystem) -> dict[str, Label]:
    # It has no velocities, hence no energy.
    momenta = of_momenta(system)
    if system.order > 1:  # those of the nodes that begin at a time
        momenta |= one("p", momenta["p"].unit, ("node", "coordinate")) | OF_NODES
    return of_positions(system) | momenta | OF_STEPS


@labels.register
def _(system: DiscreteThermalSystem) -> dict[str, Label]:
    return of_positions(system) | of_momenta(system) | of_entropies(system) | OF_STEPS


def one(
    name: str,
    unit: str = "",
    dims: tuple[str, ...] = (),
    components: tuple[str, ...] = (),
    per_run: bool = False,
) -> dict[str, Label]:
    """A channel of one name, by that name."""
    return {name: Label(dims, unit, LONG_NAMES[name], components, per_run)}


OF_STEPS = (
    one("iterations", "1")
    | one("success", "1", per_run=True)
    | one("steps_completed", "1", per_run=True)
)
MULTIPLIERS = one("lam", "", ("multiplier",))
OF_NODES = (
    one("node_P", "", ("node", "coordinate"))
    | one("node_d", "", ("difference", "coordinate"))
    | one("node_ahead", "1")
)


def of_positions(system: Any) -> dict[str, Label]:
    """q; on a product q_0, q_1, ..., one for each factor."""
    point, words = system.space.identity(), LONG_NAMES["q"]
    if not isinstance(point, tuple):
        if np.ndim(point) != 1:
            return one("q", "", own_axes("q", point))
        return one("q", joined(system.units), ("coordinate",), tuple(system.coordinates))
    found, first = {}, 0
    for i, (part, factor) in enumerate(zip(point, system.space.factors, strict=True)):
        own = slice(first, first + factor.dim) if factor.flat else slice(0)
        names, unit = tuple(system.coordinates[own]), joined(system.units[own])
        found[f"q_{i}"] = Label(own_axes(f"q_{i}", part), unit, words, names)
        first += factor.dim
    return found


def own_axes(name: str, value: Any) -> tuple[str, ...]:
    return tuple(f"{name}_axis{k}" for k in range(np.ndim(value)))


def of_momenta(system: Any) -> dict[str, Label]:
    """p, and the multipliers of constraints."""
    return one("p", rates(system, "J s/{}"), ("coordinate",)) | MULTIPLIERS


def of_weight(system: Any) -> dict[str, Label]:
    """What is carried over the weight of a system, where it has one."""
    if system.conformal is None:
        return {}
    return (
        one("reduced_p", rates(system, "J s/{}"), ("coordinate",))
        | one("reduced_lam", "", ("multiplier",))
        | one("log_weight", "1")
    )


def of_velocities(system: Any) -> dict[str, Label]:
    """v, and the energy that needs it."""
    names = tuple(map(rate_name, system.coordinates))
    v = one("v", rates(system, "{}/s"), ("coordinate",), names)
    return v | one("energy", "J" if all(system.units) else "")


def of_derivatives(system: HigherOrderSystem) -> dict[str, Label]:
    """The derivatives and momenta of a system of order r, and what the nodes of its discrete motion
    have; the rows of units are apart by semicolons.
    """
    seconds = ["s" if k == 1 else f"s^{k}" for k in range(1, system.order + 1)]
    momenta = "; ".join(rates(system, f"J {s}/{{}}") for s in seconds)
    derivatives = "; ".join(rates(system, f"{{}}/{s}") for s in seconds)
    return (
        one("p", momenta if all(system.units) else "", ("derivative", "coordinate"))
        | one("jets", derivatives if all(system.units) else "", ("derivative", "coordinate"))
        | MULTIPLIERS
        | OF_NODES
    )


def of_entropies(system: Any) -> dict[str, Label]:
    """Entropies, the energy from outside, and the extremes of all steps."""
    names = system.frame.names
    words = f"{LONG_NAMES['S']}, {', '.join(map(word_of, names))}"
    found = {"S": Label(bodies(system), joined(map(unit_of, names)), words, names)}
    for name in LAWS:
        found |= one(f"laws_{name}", per_run=True)
    return found | one("supplied", "J")


def of_action(system: ContactSystem) -> dict[str, Label]:
    """z."""
    names = system.frame.names
    return one("z", joined(map(unit_of, names)), (), names)


def of_temperatures(system: ThermalSystem) -> dict[str, Label]:
    """T, and an energy whose unit is that of T S."""
    known = all(unit_of(name) == "J/K" for name in system.frame.names)
    T = one("T", "K" if known else "", bodies(system), system.frame.temperatures)
    return T | one("energy", "J")


def bodies(system: Any) -> tuple[str, ...]:
    return () if system.entropies is None else ("body",)


# ---------------------------------------------------------------- units


def joined(units: Iterable[str]) -> str:
    """One unit for all components, or a list of them; "" where there is none."""
    units = list(units)
    return "".join(units[:1]) if len(set(units)) < 2 else ", ".join(unit or "1" for unit in units)


def rates(system: Any, form: str) -> str:
    """The units of what each coordinate has, `form` with the coordinate's own in place of {}."""
    return joined(form.format(unit) if unit else "" for unit in system.units)


def rate_name(name: str) -> str:
    """ "theta [rad]" -> "theta' [rad/s]"."""
    unit = unit_of(name)
    return f"{word_of(name)}'" + (f" [{unit}/s]" if unit else "")
