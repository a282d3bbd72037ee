"""The points of a discrete motion around one of them, and the weights of their derivative."""

from dataclasses import dataclass, replace
from functools import cache, singledispatch
from itertools import pairwise
from math import factorial
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.analysis.nodes import configurations
from accion.checks import is_vector_space, refuse
from accion.methods import Adjoint
from accion.stepping.views import discrete
from accion.systems import AbstractSystem, DiscreteSystem, HigherOrderSystem, System
from accion.types import Array, Configuration, Covector, Scalar


@cache
def weights(m: int) -> np.ndarray:
    """Weights c_j, j = -m, ..., m, of the derivative at the middle of the polynomial through 2m + 1
    points of unit distance.
    """
    # In closed form: solving for them loses all digits beyond m = 10.
    ahead = [
        (-1) ** (j + 1) * factorial(m) ** 2 / (j * factorial(m - j) * factorial(m + j))
        for j in range(1, m + 1)
    ]
    return np.array([*(-c for c in reversed(ahead)), 0.0, *ahead])


@singledispatch
def flow_back(system: AbstractSystem, method: Any) -> Any:
    """The function (t, h, q, p) -> (q, p) that undoes the step of length h which ends at t."""
    why = "their states are not (q, p)"
    refuse("modified_hamiltonian", system.kind, why)


@flow_back.register
def _(system: System, method: Any) -> Any:
    adjoint = Adjoint(method)

    def back(t: Scalar, h: Scalar, q: Configuration, p: Covector) -> Any:
        return discrete(system, adjoint).hamiltonian_flow(t, -h, q, p)

    return back


@flow_back.register
def _(system: HigherOrderSystem, method: Any) -> Any:
    return windows_back(system, Adjoint(method))


def windows_back(system: Any, adjoint: Any) -> Any:
    """The same of windows, whose nodes are gone through backwards, from the last one."""
    r, n = system.order, system.space.dim

    def back(t: Scalar, h: Scalar, q: Any, p: Covector) -> Any:
        P = jnp.reshape(p, (r, n))[::-1]
        flow = discrete(system, adjoint).hamiltonian_flow
        nodes, P = flow(t + (r - 1) * h, -h, tuple(q)[::-1], P)
        return nodes[::-1], jnp.reshape(P[::-1], jnp.shape(p))

    return back


@dataclass(frozen=True)
class Reversed:
    """The adjoint Ld*(t, h, q0, ..., qr) = -Ld(t + r h, -h, qr, ..., q0) of a discrete Lagrangian,
    or the same constraint on the reversed window.
    """

    f: Any
    sign: float

    def __call__(self, t: Scalar, h: Scalar, *rest: Any) -> Any:
        *q, params = rest
        return self.sign * self.f(t + (len(q) - 1) * h, -h, *reversed(q), params)


@flow_back.register
def _(system: DiscreteSystem, method: Any) -> Any:
    constraint = None if system.constraint is None else Reversed(system.constraint, 1.0)
    adjoint = replace(system, lagrangian=Reversed(system.lagrangian, -1.0), constraint=constraint)

    if system.order > 1:
        return windows_back(adjoint, None)

    def back(t: Scalar, h: Scalar, q: Configuration, p: Covector) -> Any:
        return discrete(adjoint).hamiltonian_flow(t, -h, q, p)

    return back


@dataclass(frozen=True)
class Neighbours:
    """The 2m + 1 points of the discrete trajectory around (t, q, p)."""

    system: Any
    method: Any
    m: int

    def __call__(self, t: Scalar, h: Scalar, q: Configuration, p: Covector) -> tuple[Array, ...]:
        """(q_j from q, p_j, s_j) for j = -m, ..., m."""
        d, back = discrete(self.system, self.method), flow_back(self.system, self.method)
        if configurations(self.system, self.method) is not self.system.space:
            q, p = tuple(q), jnp.ravel(p)
        ahead, after = self.walk(d.hamiltonian_flow, t, h, q, p, 1)
        behind, before = self.walk(back, t, h, q, p, -1)
        points = [*reversed(behind), (q, p), *ahead]
        s = [jnp.zeros(())]
        for k, (q0, q1) in enumerate(after):
            s.append(s[-1] + d.Ld(t + k * h, h, *self.window(q0, q1)))
        for k, (q1, q0) in enumerate(before):
            s.insert(0, s[0] - d.Ld(t - (k + 1) * h, h, *self.window(q0, q1)))
        return self.distances(q, points), jnp.stack([p for _, p in points]), jnp.stack(s)

    def window(self, q0: Any, q1: Any) -> tuple[Any, ...]:
        """The configurations that the action of a step depends on: its two ends, or those of a
        window, of which a state has all but the last.
        """
        alone = configurations(self.system, self.method) is self.system.space
        return (q0, q1) if alone else (*q0, q1[-1])

    def walk(self, step: Any, t: Scalar, h: Scalar, q: Any, p: Any, sign: int) -> Any:
        """m points on one side, and the configurations of each of the m steps."""
        points, ends, z = [], [], (q, p)
        for k in range(self.m):
            z, old = step(t + sign * k * h, h, *z), z
            points.append(z)
            ends.append((old[0], z[0]))
        return points, ends

    def distances(self, q: Configuration, points: Any) -> Array:
        """How far the points are from the middle one, in its coordinates, shape (2m + 1, dim);
        vectors by their steps, so that angles count whole turns.
        """
        space = configurations(self.system, self.method)
        if not is_vector_space(space):
            return jnp.stack([space.local(q, there) for there, _ in points])
        steps = [b[0] - a[0] for a, b in pairwise(points)]
        ahead, behind = [jnp.zeros_like(q)], [jnp.zeros_like(q)]
        for k in range(self.m):
            ahead.append(ahead[-1] + steps[self.m + k])
            behind.append(behind[-1] - steps[self.m - 1 - k])
        return jnp.stack([*reversed(behind[1:]), *ahead])
