"""What steps of given rates x' = f(t, x, u) add to the direct formulation: collocation at the
samples of a method,

    h w_i (v_i - f(t_i, x_i, u_i)) = 0

with x_i and v_i of the polynomial of the step; where it has no inner points their sum. So Midpoint
is the implicit midpoint rule, Trapezoid the trapezoidal rule, Galerkin(s) Gauss collocation of
order 2s (Hager 2000), LeftRectangle Euler's method.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from accion.assembly.elements import Family
from accion.assembly.numbering import RowNumbers
from accion.control.layout import Layout
from accion.control.problem import ControlProblem
from accion.control.span import Here, rows_of_steps, start_and_end
from accion.control.transcription import time_words
from accion.methods import Method
from accion.systems import Dynamics
from accion.types import Array, Configuration


@dataclass(frozen=True)
class Collocation:
    """What the rates lack, at each sample or in the mean of the step."""

    apart: bool

    def __call__(self, system: Dynamics, here: Here) -> list[Array]:
        off = [
            here.h * s.w * (s.v - system.rates(s.t, s.q, u))
            for s, u in zip(here.samples, here.u, strict=True)
        ]
        return off if self.apart else [jnp.sum(jnp.stack(off), axis=0)]


@rows_of_steps.register
def _(
    system: Dynamics, problem: ControlProblem, method: Method, layout: Layout, rows: RowNumbers
) -> tuple[Collocation, list[np.ndarray], np.ndarray]:
    n, count = system.space.dim, method.inner_points + 1
    zero = jnp.zeros(n)
    samples = len(method.samples(system.space, 0.0, 1.0, zero, zero))
    if count > 1 and samples != count:
        raise ValueError(
            f"{method!r} does not support Dynamics: it has {samples} samples of a polynomial of"
            f" degree {count}; try Galerkin({count})."
        )
    when, k = time_words(problem, layout.mesh), np.arange(layout.steps)
    balance = rows.block(
        np.full((layout.steps, count * n), True),
        k + 0.4,
        lambda k, j: f"the rate of {system.names[j % n]} {when(k + 0.5)}",
    )
    return Collocation(count > 1), [balance], balance


@start_and_end.register
def _(
    system: Dynamics,
    problem: ControlProblem,
    layout: Layout,
    rows: RowNumbers,
    balance: np.ndarray,
    base: Configuration,
) -> list[Family]:
    return []
