"""What is kept of each run, folded step by step so that memory does not grow with them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.arguments import door, number, shown, text, wrong
from accion.campaign.moments import Moment
from accion.campaign.names import check_name
from accion.campaign.quantities import NAMES, Known, label_of, quantity
from accion.results.channels import Label
from accion.types import Array


def last_carry(carry: Any, last: Moment) -> Any:
    return carry


def no_labels(known: Known) -> dict[str, Label]:
    return {}


@dataclass(frozen=True)
class Reduction:
    """What one asks of each run: a fold over its times.

    Arguments:
        init: `init(now)` returns a carry, any pytree of arrays, at the start.
        update: `update(carry, now)` returns the carry after a step.
        result: `result(carry, last)` returns what is stored: an array, called `name`, or a
            dictionary of arrays.
        name: of the result.
        labels: `labels(known)` returns a `results.channels.Label` for each result that has a unit
            or a description, by its name; `known` are the labels of the system's channels.

    `now` and `last` are a `Moment`. The first three functions are traced by JAX. Results of a
    member that failed are not stored.
    """

    init: Callable[..., Any]
    update: Callable[..., Any]
    result: Callable[..., Any] = last_carry
    name: str = "result"
    labels: Callable[[Known], dict[str, Label]] = no_labels

    def __post_init__(self) -> None:
        for field in ("init", "update", "result", "labels"):
            if not callable(getattr(self, field)):
                wrong(field, "a function", getattr(self, field))
        text(self.name, "name")

    def results(self, carry: Any, last: Moment) -> dict[str, Array]:
        """What is stored, by name."""
        found = self.result(carry, last)
        named = found if isinstance(found, dict) else {self.name: found}
        for name in named:
            check_name(name, "a reduction")
        return {name: jnp.asarray(value) for name, value in named.items()}


def nothing(*_: Any) -> tuple[()]:
    return ()


def final(*parts: str) -> Reduction:
    """The state at the end: q, p and, of a thermal system, S; or the channels `parts`: any that a
    trajectory of the system has, such as "v", "energy", "lam", "T", "jets".
    """
    for part in parts:
        if not isinstance(part, str) or part not in NAMES:
            raise ValueError(
                f"parts: the final state has no {shown(part)}. Try one of: {', '.join(NAMES)}."
            )

    def result(_: Any, last: Moment) -> dict[str, Any]:
        found = {}
        for part in parts or ("q", "p", "S"):
            value = last.value(part)
            if value is None and parts:
                raise ValueError(f"{last.system.name} has no {part} to keep of its final state.")
            if isinstance(value, tuple):
                found |= {f"{part}_{i}": each for i, each in enumerate(value)}
            elif value is not None:
                found[part] = value
        return found

    return Reduction(nothing, nothing, result, "final", dict)


@door(name=text)
def extrema(f: Any, name: str) -> Reduction:
    """The least and the largest value of f over the times of the run, and when: NAME_min, NAME_max,
    NAME_t_min, NAME_t_max.

    Arguments:
        f: a function of (t, q, v), or of the arguments of the system's Lagrangian, (t, q, v,
            params), (t, q, v, S, params) or (t, q, v, a, ..., params); or a text, any channel of a
            trajectory or a component of one: "q[0]", "v[1]", "S", "T", "energy", "iterations". An
            array has the extrema of each of its entries.
        name: what the results are called by.
    """
    value_of = quantity(f)

    def init(now: Moment) -> Any:
        value = value_of(now)
        t = jnp.full(value.shape, now.t)
        return value, t, value, t

    def update(carry: Any, now: Moment) -> Any:
        low, t_low, high, t_high = carry
        value = value_of(now)
        below, above = value < low, value > high
        # goes on, else a value that could not be computed would be passed over
        nan = jnp.isnan(value)
        return (
            jnp.where(below | nan, value, low), jnp.where(below, now.t, t_low),
            jnp.where(above | nan, value, high), jnp.where(above, now.t, t_high),
        )  # fmt: skip

    def result(carry: Any, last: Moment) -> dict[str, Any]:
        low, t_low, high, t_high = carry
        return {
            f"{name}_min": low,
            f"{name}_t_min": t_low,
            f"{name}_max": high,
            f"{name}_t_max": t_high,
        }

    def labels(known: Known) -> dict[str, Label]:
        of = label_of(f, name, known)
        found = {}
        for word, which in (("min", "least"), ("max", "largest")):
            found[f"{name}_{word}"] = of._replace(long_name=f"{which} value of {of.long_name}")
            found[f"{name}_t_{word}"] = Label(of.dims, "s", f"when {of.long_name} is {which}")
        return found

    return Reduction(init, update, result, name, labels)


@door(name=text, level=number)
def event(f: Any, name: str, level: float = 0.0) -> Reduction:
    """The first time at which f passes through `level`, by linear interpolation between two steps,
    NaN if never, and how often: NAME_t, NAME_count.

    So f - level changes sign; a value that only touches zero does not. `f` is as for `extrema`.
    """
    value_of = quantity(f)

    def init(now: Moment) -> Any:
        above = value_of(now) - level
        never, count = jnp.full(above.shape, jnp.nan), jnp.zeros(above.shape, int)
        return above, jnp.sign(above), now.t, never, count

    def update(carry: Any, now: Moment) -> Any:
        before, sign, t_before, t, count = carry
        above = value_of(now) - level
        changed = jnp.sign(above) * sign < 0
        crossing = t_before + (now.t - t_before) * before / jnp.where(changed, before - above, 1.0)
        t = jnp.where(changed & (count == 0), crossing, t)
        return above, jnp.where(above == 0, sign, jnp.sign(above)), now.t, t, count + changed

    def result(carry: Any, last: Moment) -> dict[str, Any]:
        return {f"{name}_t": carry[3], f"{name}_count": carry[4]}

    def labels(known: Known) -> dict[str, Label]:
        of = label_of(f, name, known)
        passes = f"{of.long_name} passes through {level:g}"
        return {
            f"{name}_t": Label(of.dims, "s", f"first time at which {passes}"),
            f"{name}_count": Label(of.dims, "1", f"how often {passes}"),
        }

    return Reduction(init, update, result, name, labels)


@door(name=text)
def mean(f: Any, name: str) -> Reduction:
    """The mean of f over time, by the trapezoidal rule over the steps: NAME_mean.

    `f` is as for `extrema`.
    """
    value_of = quantity(f)

    def init(now: Moment) -> Any:
        value = value_of(now)
        return value, jnp.zeros_like(value), jnp.zeros((), int)

    def update(carry: Any, now: Moment) -> Any:
        before, total, count = carry
        value = value_of(now)
        return value, total + (before + value) / 2, count + 1

    def result(carry: Any, last: Moment) -> dict[str, Any]:
        return {f"{name}_mean": carry[1] / carry[2]}

    def labels(known: Known) -> dict[str, Label]:
        of = label_of(f, name, known)
        return {f"{name}_mean": of._replace(long_name=f"mean over time of {of.long_name}")}

    return Reduction(init, update, result, name, labels)


def check_reductions(reductions: Reduction | Iterable[Any]) -> tuple[Reduction, ...]:
    """The reductions as a tuple."""
    if not isinstance(reductions, Reduction | list | tuple):
        wrong("reductions", "a Reduction or a list of them", reductions)
    reductions = (reductions,) if isinstance(reductions, Reduction) else tuple(reductions)
    for each in reductions:
        if not isinstance(each, Reduction):
            raise ValueError(
                "reductions must be final(), extrema(f, name), event(f, name), mean(f, name) or a"
                f" Reduction; got {shown(each)}."
            )
    return reductions


def fold(reductions: Sequence[Reduction], carries: Sequence[Any], now: Moment) -> tuple[Any, ...]:
    """The carries of all reductions after a step."""
    return tuple(
        jax.tree.map(jnp.asarray, each.update(carry, now))
        for each, carry in zip(reductions, carries, strict=True)
    )
