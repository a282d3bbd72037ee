"""What is kept of each run, folded step by step so that memory does not grow with them."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from accion.instant import constrained
from accion.stepping import nodal
from accion.systems import HigherOrderSystem, ThermalSystem


class Moment:
    """A run at one time: `t`, `q`, `p`, `v`, `S`, `energy`, `params`.

    What costs something (v, energy) is computed only where it is asked for.
    """

    jets = None

    def __init__(self, system, t, h, state):
        self.system, self.t, self.z, self.params = system, t, state.q, system.params
        self.q, self.S = system.parts(state.q)
        self.momenta, self.guess = state.p, state.x[: system.space.dim] / h

    @cached_property
    def node(self):
        """(v, p, lam) on the constraint."""
        return constrained.node(self.system, self.t, self.q, self.momenta, self.guess)

    @property
    def p(self):
        """Momenta, on the constraint where there is one."""
        return self.momenta if self.system.constraint is None else self.node[1]

    @property
    def lam(self):
        """Multipliers, the forces of constraint; None where there is none."""
        return None if self.system.constraint is None else self.node[2]

    @cached_property
    def v(self):
        """Velocity, by the inverse Legendre transform."""
        return (
            self.system.velocity(self.t, self.z, self.p, self.guess)
            if self.system.constraint is None
            else self.node[0]
        )

    @cached_property
    def energy(self):
        """E = p.v - L."""
        return self.system.energy(
            self.t, self.z, self.v, self.lam if self.system.enters_action else None
        )

    @cached_property
    def T(self):
        """Temperature -dL/dS, of a thermal system; None of another."""
        return (
            None
            if self.S is None
            else self.system.frame.as_given(self.system.temperature(self.t, self.z, self.v))
        )

    @property
    def rest(self):
        """The arguments of the Lagrangian after (t, q, v)."""
        return (self.S, self.params) if isinstance(self.system, ThermalSystem) else (self.params,)


class HigherMoment:
    """A run of a system of order r at one time, as `Moment`: `p` and `jets`, shape (r, dim), are
    what a `Trajectory` shows of them.
    """

    S = T = None

    def __init__(self, system, t, h, state):
        self.system, self.t, self.h, self.q, self.params, self.state = (
            system,
            t,
            h,
            state.q,
            system.params,
            state,
        )

    @cached_property
    def seen(self):
        """(p, jets, lam) at the node."""
        d, top, _ = self.state.memory
        return nodal.at_node(self.system, self.t, self.q, self.state.p, d, top, self.h, 0.0)

    @property
    def p(self):
        """The momenta of Jacobi and Ostrogradsky."""
        return self.seen[0]

    @property
    def jets(self):
        """q', ..., q^(r)."""
        return self.seen[1]

    @property
    def v(self):
        return self.jets[0]

    @property
    def lam(self):
        """Multipliers; None where there is no constraint."""
        return self.seen[2] if self.system.multipliers else None

    @cached_property
    def energy(self):
        """E = sum_s p_s.q^(s+1) - L."""
        return self.system.energy_of(self.t, self.q, self.jets, self.p)

    @property
    def rest(self):
        """The arguments of the Lagrangian after (t, q, v)."""
        return (*self.jets[1:], self.params)


def moment(system, t, h, state):
    """The run whose `state` is at time `t`, as reductions see it."""
    return (HigherMoment if isinstance(system, HigherOrderSystem) else Moment)(system, t, h, state)


@dataclass(frozen=True)
class Reduction:
    """What one asks of each run: a fold over its times.

    `init(now)` returns a carry (any pytree of arrays) at the start, `update(carry, now)` the carry
    after a step, `result(carry, last)` what is stored: an array, called `name`, or a dictionary of
    arrays. `now` and `last` are a `Moment`. All are traced by JAX. Results of a member that failed
    are not stored.
    """

    init: Callable[..., Any]
    update: Callable[..., Any]
    result: Callable[..., Any] = lambda carry, last: carry
    name: str = "result"

    def results(self, carry, last):
        found = self.result(carry, last)
        return {
            name: jnp.asarray(value)
            for name, value in (found if isinstance(found, dict) else {self.name: found}).items()
        }


def nothing(*_):
    return ()


def final(*parts):
    """The state at the end: q, p and, of a thermal system, S; or those of `parts`, of "q", "p",
    "v", "S", "lam", "energy", "T", "jets".
    """
    known = ("q", "p", "v", "S", "lam", "energy", "T", "jets")
    for part in parts:
        if part not in known:
            raise ValueError(f"the final state has no {part!r}. Try one of: {', '.join(known)}.")

    def result(_, last):
        wanted = parts or (("q", "p") if last.S is None else ("q", "p", "S"))
        found = {}
        for part in wanted:
            value = getattr(last, part)
            if value is None:
                raise ValueError(f"{last.system.name} has no {part} to keep of its final state.")
            found |= (
                {f"{part}_{i}": each for i, each in enumerate(value)}
                if isinstance(value, tuple)
                else {part: value}
            )
        return found

    return Reduction(nothing, nothing, result, "final")


def extrema(f, name):
    """The least and the largest value of f over the times of the run, and when: NAME_min, NAME_max,
    NAME_t_min, NAME_t_max.

    `f` is a function of (t, q, v), or of the arguments of the system's Lagrangian, (t, q, v,
    params), (t, q, v, S, params) or (t, q, v, a, ..., params); or a text: "q[0]", "v[1]", "p[0]",
    "S", "T", "energy". An array has the extrema of each of its entries.
    """
    look = quantity(f)

    def init(now):
        value = look(now)
        t = jnp.full(value.shape, now.t)
        return value, t, value, t

    def update(carry, now):
        low, t_low, high, t_high = carry
        value = look(now)
        below, above = value < low, value > high
        # goes on, else a value that could not be computed would be passed over
        nan = jnp.isnan(value)
        return (
            jnp.where(below | nan, value, low), jnp.where(below, now.t, t_low),
            jnp.where(above | nan, value, high), jnp.where(above, now.t, t_high),
        )  # fmt: skip

    def result(carry, last):
        low, t_low, high, t_high = carry
        return {
            f"{name}_min": low,
            f"{name}_t_min": t_low,
            f"{name}_max": high,
            f"{name}_t_max": t_high,
        }

    return Reduction(init, update, result, name)


def event(f, name, level=0.0):
    """The first time at which f passes through `level`, by linear interpolation between two steps,
    NaN if never, and how often: NAME_t, NAME_count.

    So f - level changes sign; a value that only touches zero does not. `f` is as for `extrema`.
    """
    value_of = quantity(f)

    def look(now):
        return value_of(now) - level

    def init(now):
        value = look(now)
        return (
            value,
            jnp.sign(value),
            now.t,
            jnp.full(value.shape, jnp.nan),
            jnp.zeros(value.shape, int),
        )

    def update(carry, now):
        before, sign, t_before, t, count = carry
        value = look(now)
        changed = jnp.sign(value) * sign < 0
        crossing = t_before + (now.t - t_before) * before / jnp.where(changed, before - value, 1.0)
        t = jnp.where(changed & (count == 0), crossing, t)
        return value, jnp.where(value == 0, sign, jnp.sign(value)), now.t, t, count + changed

    def result(carry, last):
        return {f"{name}_t": carry[3], f"{name}_count": carry[4]}

    return Reduction(init, update, result, name)


def mean(f, name):
    """The mean of f over time, by the trapezoidal rule over the steps: NAME_mean.

    `f` is as for `extrema`.
    """
    look = quantity(f)

    def init(now):
        value = look(now)
        return value, jnp.zeros_like(value), jnp.zeros((), int)

    def update(carry, now):
        before, total, count = carry
        value = look(now)
        return value, total + (before + value) / 2, count + 1

    return Reduction(init, update, lambda carry, last: {f"{name}_mean": carry[1] / carry[2]}, name)


QUANTITY = re.compile(r"(t|q|v|p|S|T|energy|lam)((?:\[\d+\])*)")


def quantity(f):
    """The function of a `Moment` that `f` stands for."""
    if isinstance(f, str):
        found = QUANTITY.fullmatch(f.strip())
        if found is None:
            raise ValueError(
                f'there is no quantity {f!r}. Try one of: "q[0]", "v[0]", "p[0]", "S", "T",'
                ' "energy", or a function of (t, q, v).'
            )
        part, at = found[1], [int(i) for i in re.findall(r"\d+", found[2])]
        return lambda now: component(getattr(now, part), at, f)
    if not callable(f):
        raise ValueError(
            f"a reduction needs a function of (t, q, v), or a text such as 'energy'; got {f!r}."
        )
    alone = positional(f) == 3

    def look(now):
        return jnp.asarray(f(now.t, now.q, now.v, *(() if alone else now.rest)), dtype=float)

    return look


def component(value, at, text):
    for i in at:
        if value is None or i >= len(value):
            raise ValueError(f"{text!r} is beyond what there is.")
        value = value[i]
    if value is None or isinstance(value, tuple):
        raise ValueError(f"{text!r} is no number or array of this system.")
    return value


def positional(f):
    """How many arguments `f` takes by their place; 3 where that is not known."""
    try:
        kinds = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        return 3
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in kinds) or 3


def check_reductions(reductions):
    """The reductions as a tuple."""
    reductions = (reductions,) if isinstance(reductions, Reduction) else tuple(reductions)
    for each in reductions:
        if not isinstance(each, Reduction):
            raise ValueError(
                "reductions must be final(), extrema(f, name), event(f, name), mean(f, name) or a"
                f" Reduction; got {each!r}."
            )
    return reductions


def fold(reductions, carries, now):
    return tuple(
        jax.tree.map(jnp.asarray, each.update(carry, now))
        for each, carry in zip(reductions, carries, strict=True)
    )
