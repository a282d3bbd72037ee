"""Trajectories of the continuous equations to rounding: collocation at Gauss points.

In a step from y, of length h, the polynomial of degree s through y satisfies y' = f(t, y) at the s
Gauss points c_i of the step,

    k_i = f(t + c_i h, y + h sum_j a_ij k_j),        y + h sum_j b_j k_j after the step

which is of order 2s (Hairer, Lubich and Wanner 2006, section II.1.3). Sweeps over the stages find
the k_i, from the polynomial of the last step at first; no matrix is needed, and all stages run side
by side. For a Lagrangian these are the polynomials of `Galerkin(s)` (section VI.6), but from the
accelerations and not from the discrete action: what is compared with them is compared with the
equations of motion. Steps are as long as the last coefficients of the polynomials allow (Everhart
1985; Rein and Spiegel 2015).
"""

from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.abreast import abreast
from accion.engines.auto import native
from accion.methods.polynomials import stages
from accion.progress import fitting
from accion.types import Array, Configuration, Scalar

STAGES = 12
SWEEPS = 60
EPS = float(np.finfo(float).eps)
NEARLY = 2.0**-36  # part of the state below which sweeps that change no less have met rounding
GOAL, ACCEPTED = 1e-4, 1e-2  # errors of a step as parts of what is allowed: aimed at, and taken
LONGER, SHORTER = 3.0, 0.2  # than the last step, at most
SHORTEST = 2.0**-50  # of the time, its own and that of the motion
FEW = 64  # steps of the first call
TINY = 1e-300

Rates = Callable[[Any, Scalar, Array, Configuration], Array]


@cache
def tables(s: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(c, a, b, V): points, coefficients, weights, and the matrix that gives the coefficients of
    Legendre's polynomials from values at the points.
    """
    c, b, mu, *_ = stages(s)
    values = np.polynomial.legendre.legvander(2 * c - 1, s - 1)
    return c, mu * b, b, (2 * np.arange(s) + 1)[:, None] * values.T * b


class March(NamedTuple):
    """Where a motion is."""

    t: Any
    t_lost: Any  # what t has lost by rounding, and y
    y: Array
    y_lost: Array
    rates: Array  # of the last step, coefficients of Legendre's polynomials, shape (stages, numbers)
    last: Any  # length of the last step
    h: Any  # of the next, if it is not too long
    count: Any  # steps that were tried
    stuck: Any


class Allowed(NamedTuple):
    """What the errors of the numbers of a state are compared with."""

    rtol: Any
    atol: Any
    scales: Array
    time: Any  # that of the motion


def begun(t: float, y: np.ndarray, h: float) -> March:
    """The beginning of a motion; of its rates nothing is known."""
    t, h, zero = np.float64(t), np.float64(h), np.float64(0)
    rates = np.zeros((STAGES, len(y)))
    return March(t, zero, y, np.zeros_like(y), rates, h, h, np.int64(0), np.bool_(False))


def one_rate(shared: Any, row: Any) -> Array:
    """That of a stage from those of all."""
    f, system, t, h, y, z, K = shared
    c, a = row
    return f(system, t + c * h, y + h * jnp.sum(a[:, None] * K, axis=0), z)


def one_ahead(coefficients: Array, x: Any) -> Array:
    """The polynomial with these coefficients at x."""
    before, now = jnp.ones_like(x), x
    total = coefficients[0] + x * coefficients[1]
    for k in range(2, len(coefficients)):
        before, now = now, ((2 * k - 1) * x * now - (k - 1) * before) / k
        total = total + now * coefficients[k]
    return total


def one_coefficient(K: Array, row: Array) -> Array:
    return jnp.sum(row[:, None] * K, axis=0)


class Swept(NamedTuple):
    """Stages after some sweeps."""

    K: Array
    now: Any  # how much the last one changed
    done: Any
    i: Any


def solved(f: Rates, system: Any, t: Any, h: Any, y: Array, z: Any, K: Array, sizes: Array) -> Swept:
    """The rates of all stages, from a guess of them."""
    c, a, *_ = tables(STAGES)

    def own(shared: Any, row: Any) -> Array:
        return one_rate((f, *shared), row)

    def sweep(state: Swept) -> Swept:
        K = abreast(own, (system, t, h, y, z, state.K), (c, a))
        now, before = jnp.max(h * jnp.abs(K - state.K) / sizes), state.now
        left = now * jnp.where(jnp.isinf(before), 1.0, jnp.minimum(now / before, 1.0))
        done = (left <= EPS / 4) | ((now >= before) & (now <= NEARLY))
        return Swept(K, now, done, state.i + 1)

    def unfinished(state: Swept) -> Any:
        hopeless = (state.i > 8) & (state.now > 1e6)
        return ~state.done & (state.i < SWEEPS) & ~jnp.isnan(state.now) & ~hopeless

    start = Swept(K, jnp.array(jnp.inf), jnp.array(False), jnp.array(0))
    return jax.lax.while_loop(unfinished, sweep, start)


def error_of(h: Any, K: Array, rates: Array, weights: Array) -> Any:
    """The error of a step as a part of what is allowed, estimated.

    Where coefficients of the rates fall like x^k, the error at the end is about x^2s of the motion.
    """
    motion = jnp.max(h * jnp.max(jnp.abs(K), axis=0) / weights)
    last = jnp.max(h * (jnp.abs(rates[-1]) + jnp.abs(rates[-2])) / weights)
    return motion * (last / jnp.maximum(motion, TINY)) ** 2


def step(f: Rates, system: Any, z: Any, m: March, end: Any, allowed: Allowed) -> March:
    """A step, or a shorter one that is to be tried next."""
    c, _, b, V = tables(STAGES)
    left = (end - m.t) - m.t_lost
    h = jnp.where(left <= m.h, left, jnp.where(left < 2 * m.h, left / 2, m.h))
    guess = abreast(one_ahead, m.rates, 1 + 2 * (h / m.last) * c)
    sizes = jnp.maximum(jnp.abs(m.y), allowed.scales)
    K, _, done, _ = solved(f, system, m.t + m.t_lost, h, m.y, z, guess, sizes)
    rates = abreast(one_coefficient, K, V)
    dy = h * jnp.sum(b[:, None] * K, axis=0) + m.y_lost
    y = m.y + dy
    own = allowed.rtol * jnp.maximum(jnp.abs(m.y), jnp.abs(y)) + allowed.atol * allowed.scales
    error = error_of(h, K, rates, jnp.maximum(own, EPS * sizes))
    good = done & (error <= ACCEPTED) & jnp.all(jnp.isfinite(y))
    fit = 0.9 * (GOAL / jnp.maximum(error, TINY)) ** (1 / (2 * STAGES - 3))
    fit = jnp.where(done & jnp.isfinite(error), jnp.clip(fit, SHORTER, LONGER), 0.5)
    # A step that was cut at the end says little of the next.
    next_h = jnp.where(good & (h < m.h), jnp.maximum(m.h, h * fit), h * fit)
    t = jnp.where(left <= m.h, end, m.t + h)
    t_lost = jnp.where(left <= m.h, 0.0, m.t_lost + (h - (t - m.t)))
    placed = projected(system, y, z)
    moved = March(t, t_lost, placed, dy - (y - m.y), rates, h, next_h, m.count + 1, m.stuck)
    least = SHORTEST * jnp.maximum(jnp.abs(m.t), allowed.time)
    stuck = (next_h <= least) & (h < left)
    again = m._replace(h=next_h, count=m.count + 1, stuck=stuck)
    return jax.tree.map(lambda a, b: jnp.where(good, a, b), moved, again)


def projected(system: Any, y: Array, z: Configuration) -> Array:
    """A state whose group elements are on their group."""
    if system.space.flat:
        return y
    leaves, tree = jax.tree.flatten(z)
    ends = np.cumsum([0, *(leaf.size for leaf in leaves)])
    own = [
        y[a:b].reshape(leaf.shape) for a, b, leaf in zip(ends, ends[1:], leaves, strict=False)
    ]
    found = system.step_space.project(jax.tree.unflatten(tree, own))
    return jnp.concatenate([*map(jnp.ravel, jax.tree.leaves(found)), y[ends[-1] :]])


def marched(
    f: Rates, system: Any, z: Any, m: March, end: Any, most: Any, allowed: Allowed
) -> March:
    """Steps up to the time `end`, or until there are as many as `most`."""

    def unfinished(m: March) -> Any:
        return (m.t < end) & (m.count < most) & ~m.stuck

    return jax.lax.while_loop(unfinished, lambda m: step(f, system, z, m, end, allowed), m)


class Marching:
    """A motion that is marched on from one time to the next by one compiled program."""

    def __init__(
        self, f: Rates, system: Any, z: Any, t: float, y: Any, h: float, allowed: Allowed, most: int
    ) -> None:
        """Raises: LookupError where the native engine does not serve."""
        self.system, self.z, self.allowed, self.most = system, z, allowed, most
        self.now = begun(t, y, h)

        def run(system: Any, z: Any, m: March, end: Any, most: Any, allowed: Allowed) -> March:
            return marched(f, system, z, m, end, most, allowed)

        example = (system, z, self.now, np.float64(t), np.int64(0), allowed)
        found = native("compiled", "collocation", run, *example)
        if found is None:
            raise LookupError("native")
        self.run, self.few = found, FEW

    def to(self, end: float) -> bool:
        """Whether the time `end` was reached."""
        while self.now.t < end and not self.now.stuck and self.now.count < self.most:
            began, before = perf_counter(), int(self.now.count)
            most = np.int64(min(before + self.few, self.most))
            now = self.run(self.system, self.z, self.now, np.float64(end), most, self.allowed)
            self.now = jax.tree.map(np.asarray, now)
            # Ctrl-C is seen between calls.
            self.few = fitting(int(self.now.count) - before, perf_counter() - began)
        return bool(self.now.t >= end)

    def put(self, y: np.ndarray) -> None:
        """Go on from another state at the same time."""
        self.now = self.now._replace(y=y, y_lost=np.zeros_like(y))
