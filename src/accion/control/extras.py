"""What else a problem may ask for: the cost and the conditions of the end, rates of the controls,
and points on the way.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.assembly.program import Program
from accion.control.guess import control_times
from accion.control.layout import Layout, split
from accion.control.mesh import nearest_node
from accion.control.problem import ControlProblem
from accion.control.span import Span, args_of, columns_of, span_of
from accion.methods import Method
from accion.types import Array, Configuration, Function

# ---------------------------------------------------------------- the end


@dataclass(frozen=True)
class Goal:
    """The cost of the end, and what is to be zero there."""

    terminal: Function | None
    at_end: Function | None
    free_time: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration = args
        n = system.space.dim
        (base,), _ = data
        e, v, T = split(x, n, n)
        t = t0 + (T[0] if self.free_time else duration)
        at = (t, system.space.retract(base, e), v, system.params)
        cost = jnp.zeros(()) if self.terminal is None else jnp.asarray(self.terminal(*at))
        none = jnp.zeros(0) if self.at_end is None else jnp.atleast_1d(self.at_end(*at))
        return cost, none

    def price(self, system: Any, t: Any, q: Configuration, v: Array, nu: Array) -> Array:
        """terminal + nu.at_end."""
        at = (t, q, v, system.params)
        cost = jnp.zeros(()) if self.terminal is None else jnp.asarray(self.terminal(*at))
        return cost if self.at_end is None else cost + nu @ jnp.atleast_1d(self.at_end(*at))


def goal(
    problem: ControlProblem, layout: Layout, rows: RowNumbers, base: Configuration
) -> list[Family]:
    """The end of a problem that says something of it."""
    if problem.terminal is None and problem.at_end is None:
        return []
    asked = np.full((1, problem.conditions_at_end), True)
    numbers = rows.block(asked, [layout.steps + 0.35], lambda k, j: f"at_end[{j}]")
    columns = np.concatenate([layout.e[-1], layout.v[1], layout.T])[None]
    f = Goal(problem.terminal, problem.at_end, problem.free_time)
    return [Family(f, args_of(problem), (), columns, numbers, np.array([[layout.steps]]), base)]


# ---------------------------------------------------------------- rates of the controls


@dataclass(frozen=True)
class RateGap:
    """From one control to the next: the cost of the rate between them, and the rate where it has
    bounds.
    """

    cost: Function | None
    bounded: bool
    controls: int
    free_time: bool

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        system, t0, duration = args
        before, after, T = split(x, self.controls, self.controls)
        total = T[0] if self.free_time else duration
        first, last = data
        gap = (last - first) * total
        rate, t = (after - before) / gap, t0 + (first + last) / 2 * total
        cost = jnp.zeros(())
        if self.cost is not None:
            cost = gap * self.cost(t, rate, system.params)
        return cost, rate if self.bounded else jnp.zeros(0)


def rate_gaps(
    problem: ControlProblem, method: Method, layout: Layout, rows: RowNumbers
) -> list[Family]:
    """All pairs of neighbouring controls of a problem that asks for their rates."""
    lower, upper = problem.rates
    bounded = bool(np.any(np.isfinite(lower)) or np.any(np.isfinite(upper)))
    if problem.rate_cost is None and not bounded:
        return []
    places = control_times(layout.mesh, method.control_places)
    if not np.all(np.diff(places) > 0):
        raise ValueError(
            f"rates of controls do not support {method!r}: it has controls at both ends of each"
            " step, two at one time; try Galerkin(2), or Midpoint()."
        )
    u = np.concatenate(layout.u)
    T = np.broadcast_to(layout.T, (len(u) - 1, layout.T.size))
    columns = np.concatenate([u[:-1], u[1:], T], axis=1)

    def name(k: int, j: int) -> str:
        t = problem.t0 + (places[k] + places[k + 1]) / 2 * problem.longest
        return f"the rate of {problem.controls[j]} at t = {t:.4g}"

    when = np.interp((places[:-1] + places[1:]) / 2, layout.mesh, np.arange(layout.steps + 1.0))
    asked = np.broadcast_to(
        bounded & (np.isfinite(lower) | np.isfinite(upper)), (len(u) - 1, len(lower))
    )
    numbers = rows.block(asked, when, name, lower, upper) if bounded else np.zeros((len(u) - 1, 0))
    f = RateGap(problem.rate_cost, bounded, problem.control_count, problem.free_time)
    data = (places[:-1], places[1:])
    return [Family(f, args_of(problem), data, columns, numbers.astype(int))]


@dataclass(frozen=True)
class RateFrom:
    """The same from a control that is given."""

    gap: RateGap

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        before, when = data
        return self.gap(args, when, jnp.concatenate([before, x]))


def with_rate_from(
    problem: ControlProblem, method: Method, layout: Layout, program: Program
) -> Program:
    """`program` with a last family besides, the rate from a control before its start (see
    `rate_data`); itself where a problem asks for no rates.
    """
    gaps = [(F, F.f) for F in program.families if isinstance(F.f, RateGap)]
    if not gaps:
        return program
    (first, gap), scales = gaps[0], program.scaled.scales
    known = first.rows[:1]
    asked, numbers = known[known >= 0], known.copy()
    numbers[known >= 0] = program.m + np.arange(len(asked))
    data = rate_data(method, layout, np.zeros(problem.control_count))
    family = Family(RateFrom(gap), first.args, data, layout.u[0, :1], numbers)
    return replace(
        program,
        families=(*program.families, family),
        row_lower=np.append(program.row_lower, program.row_lower[asked]),
        row_upper=np.append(program.row_upper, program.row_upper[asked]),
        row_place=np.append(program.row_place, np.full(len(asked), 0.5)),
        row_label=lambda i: program.row_label(i if i < program.m else int(asked[i - program.m])),
        scales=scales.with_rows(scales.rows[asked]),
    )


def rate_data(method: Method, layout: Layout, u: np.ndarray) -> Any:
    """The data of `RateFrom`: u is the last control of a step as long as the first one."""
    places, h = method.control_places, layout.mesh[1]
    return u[None], (np.array([(places[-1] - 1) * h]), np.array([places[0] * h]))


# ---------------------------------------------------------------- points on the way


@dataclass(frozen=True)
class Via:
    """What is missing between a point and the node where a step starts."""

    span: Span

    def __call__(self, args: Any, data: Any, x: Array) -> tuple[Array, Array]:
        base, (span, point) = data
        here = self.span(args, base, span, x)
        return jnp.zeros(()), args[0].space.local(point, here.q0)


def via_points(
    problem: ControlProblem, method: Method, layout: Layout, rows: RowNumbers, base: Configuration
) -> list[Family]:
    """All points that the motion is to go through."""
    if not problem.points:
        return []
    times = list(problem.points)
    k = np.array([nearest_node(layout.mesh, place) for place in problem.places])
    first, last = (side[k] for side in layout.spans)
    points = [q for q, _ in problem.points.values()]
    fixed = np.stack([fixed for _, fixed in problem.points.values()])
    names = problem.system.names
    numbers = rows.block(fixed, k, lambda i, j: f"{names[j]} of the point at t = {times[i]:.4g}")
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *points)
    data = ((first, last), stacked)
    pairs = np.stack([k, k + 1], axis=1)
    f = Via(span_of(problem, method))
    return [Family(f, args_of(problem), data, columns_of(layout, k), numbers, pairs, base)]
