"""What a reduction looks at: a function of the motion, or a channel by its name."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp

from accion.arguments import shown
from accion.campaign.moments import Moment
from accion.results.channels import LONG_NAMES, Label
from accion.types import Array

Known = Mapping[str, Label]  # the channels of a system
# What a campaign stores of every member is no quantity along its motion.
NAMES = tuple(name for name in LONG_NAMES if name not in ("success", "steps_completed"))
TEXT = re.compile(rf"(t|{'|'.join(NAMES)})((?:\[\d+\])*)")
TIME = Label((), "s", "time")


def quantity(f: Any) -> Callable[[Moment], Array]:
    """The function of a `Moment` that `f` stands for.

    Arguments:
        f: a function of (t, q, v), or of the arguments of the system's Lagrangian; or a text, a
            channel or a component of one: "energy", "q[0]", "jets[1][0]".
    """
    if isinstance(f, str):
        name, at = parsed(f)
        return lambda now: component(now.t if name == "t" else now.value(name), at, f)
    if not callable(f):
        raise ValueError(
            "f: a reduction needs a function of (t, q, v), or a text such as 'energy'; got"
            f" {shown(f)}."
        )
    of_three = positional(f) == 3

    def read(now: Moment) -> Array:
        return jnp.asarray(f(now.t, now.q, now.v, *(() if of_three else now.rest)), dtype=float)

    return read


def parsed(text: str) -> tuple[str, tuple[int, ...]]:
    """("q", (0,)) of "q[0]": the name of a channel and the indices after it."""
    found = TEXT.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"there is no quantity {shown(text)} for f. Try one of: {', '.join(NAMES)}, or a"
            " component such as q[0], or a function of (t, q, v)."
        )
    return found[1], tuple(int(i) for i in re.findall(r"\d+", found[2]))


def component(value: Any, at: tuple[int, ...], text: str) -> Array:
    """The entry `at` of a channel, which is called `text`."""
    for i in at:
        if value is None or i >= len(value):
            raise ValueError(f"{text!r} is beyond what there is.")
        value = value[i]
    if value is None or isinstance(value, tuple):
        raise ValueError(f"{text!r} is no number or array of this system.")
    return jnp.asarray(value, dtype=float)


def positional(f: Callable[..., Any]) -> int:
    """How many arguments `f` takes by their place; 3 where that is not known."""
    try:
        kinds = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        return 3
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in kinds) or 3


# ---------------------------------------------------------------- names and units


def label_of(f: Any, name: str, known: Known) -> Label:
    """What `f` is, a quantity that a reduction calls `name`."""
    if not isinstance(f, str):
        return Label((), "", name)
    root, at = parsed(f)
    found = TIME if root == "t" else component_label(known, root, at)
    return Label((), "", f.strip()) if found is None else found._replace(long_name=f.strip())


def component_label(known: Known, name: str, at: tuple[int, ...]) -> Label | None:
    """The label of the entry `at` of a channel; None where there is no such channel.

    The parts of a configuration on a product are channels of their own.
    """
    if name == "q" and name not in known and at:
        name, at = f"q_{at[0]}", at[1:]
    if name not in known:
        return None
    label, unit = known[name], known[name].unit
    for axis, i in zip(label.dims, at, strict=False):
        several = unit.split("; " if axis == "derivative" else ", ")
        unit = several[i] if i < len(several) else several[0]
    return Label(label.dims[len(at) :], unit, label.long_name)
