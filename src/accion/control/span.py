"""A step of the direct formulation as functions see it, and what each kind of system adds to it."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.control.layout import Layout, split
from accion.control.problem import ControlProblem
from accion.discretise.step import samples_of
from accion.methods import Method
from accion.types import Array, Configuration, Scalar, Vector


class Here(NamedTuple):
    """A step from q0 by the increment d in the time h: its samples with the controls at each, inner
    points and multipliers.
    """

    t: Scalar
    h: Scalar
    q0: Configuration
    q1: Configuration
    d: Vector
    samples: Any
    u: list[Array]
    controls: Array  # at the places of the method
    inner: Any
    lam: Array
    inner_lam: Array


@dataclass(frozen=True)
class Span:
    """From the unknowns of a step to what is `Here`."""

    method: Method
    controls: int
    free_time: bool

    def __call__(self, args: Any, base: Any, span: Any, x: Array) -> Here:
        system, t0, duration = args
        space, n, m = system.space, system.space.dim, system.multipliers
        places, points = len(self.method.control_places), self.method.inner_points
        sizes = (n, m, places * self.controls, points * n, points * m, n)
        e0, lam, controls, inner, inner_lam, e1, T = split(x, *sizes)
        total = T[0] if self.free_time else duration
        t, h = t0 + span[0] * total, (span[1] - span[0]) * total
        q0, q1 = space.retract(base[0], e0), space.retract(base[1], e1)
        d, controls = space.local(q0, q1), controls.reshape(places, self.controls)
        own = inner.reshape(points, n) if points else None
        samples = samples_of(system, self.method, t, h, q0, d, inner=own)
        u = [controls[0]] * len(samples) if places == 1 else list(controls)
        return Here(t, h, q0, q1, d, samples, u, controls, own, lam, inner_lam)


def span_of(problem: ControlProblem, method: Method) -> Span:
    """Those of a problem."""
    return Span(method, problem.control_count, problem.free_time)


def args_of(problem: ControlProblem) -> tuple[Any, ...]:
    """What is the same for all elements: the system, the first time and the duration."""
    return problem.system, np.float64(problem.t0), np.float64(problem.longest)


def columns_of(layout: Layout, k: np.ndarray) -> np.ndarray:
    """The numbers of the unknowns of the steps k, as `Span` takes them."""
    T = np.broadcast_to(layout.T, (len(k), layout.T.size))
    parts = [layout.e[k], layout.lam[k], layout.of_steps(k), layout.e[k + 1], T]
    return np.concatenate(parts, axis=1)


@singledispatch
def rows_of_steps(
    system: Any, problem: ControlProblem, method: Method, layout: Layout, rows: RowNumbers
) -> tuple[Any, list[np.ndarray], np.ndarray]:
    """(f, numbers, balance): f(system, here) gives the rows of a step, which have these numbers,
    shape (steps, rows); `balance` are those that costates follow from.
    """
    raise TypeError(system)


@singledispatch
def start_and_end(
    system: Any,
    problem: ControlProblem,
    layout: Layout,
    rows: RowNumbers,
    balance: np.ndarray,
    base: Configuration,
) -> list[Family]:
    """What the start and the end add, with velocities there."""
    raise TypeError(system)
