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
from accion.engines.auto import CHOSEN, native, using
from accion.methods.polynomials import stages
from accion.progress import fitting
from accion.types import Array, Configuration, Scalar

STAGES = 12
SWEEPS = 60
EASY = 20  # sweeps: after more of them a longer step would need too many
EPS = float(np.finfo(float).eps)
NEARLY = 2.0**-36  # part of the state below which sweeps that change no less have met rounding
GOAL, ACCEPTED = 1e-4, 1e-2  # errors of a step as parts of what is allowed: aimed at, and taken
LONGER, SHORTER = 3.0, 0.2  # than the last step, at most
BESIDE = 1e-3  # of the number that moves most, what any other counts as moving at least
FAR = 1e50  # where no motion leads
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


class Allowed(NamedTuple):
    """What the errors of the numbers of a state are compared with in a step."""

    rtol: Any
    atol: Any
    scales: Any
    time: Any  # that of the motion

    def sizes(self, y: Array) -> Array:
        """Of which rounding is a part."""
        return jnp.maximum(jnp.abs(y), self.scales)

    def errors(self, before: Array, after: Array) -> Array:
        """Those of the numbers of a state; what is asked for beyond rounding is not."""
        own = self.rtol * jnp.maximum(jnp.abs(before), jnp.abs(after)) + self.atol * self.scales
        return jnp.maximum(own, EPS * self.sizes(before))


class March(NamedTuple):
    """Where a motion is."""

    t: Any
    t_lost: Any  # what t has lost by rounding, and y
    y: Any
    y_lost: Any
    rates: Any  # of the last step, coefficients of Legendre's polynomials, shape (stages, n)
    last: Any  # length of the last step
    h: Any  # of the next, if it is not too long
    count: Any  # steps that were tried
    stuck: Any


def begun(t: float, y: np.ndarray, h: float) -> March:
    """The beginning of a motion; of its rates nothing is known."""
    t, h, zero = np.float64(t), np.float64(h), np.float64(0)
    rates = np.zeros((STAGES, len(y)))
    return March(t, zero, y, np.zeros_like(y), rates, h, h, np.int64(0), np.bool_(False))


def one_ahead(coefficients: Array, x: Any) -> Array:
    """The sum of Legendre's polynomials with these coefficients at x."""
    before, now = jnp.ones_like(x), x
    total = coefficients[0] + x * coefficients[1]
    for k in range(2, len(coefficients)):
        before, now = now, ((2 * k - 1) * x * now - (k - 1) * before) / k
        total = total + now * coefficients[k]
    return total


def guess_of(m: March, h: Any) -> Array:
    """The rates of all stages of a step, as the last one makes them expect."""
    c, part = tables(STAGES)[0], h / m.last
    # Too far ahead the polynomial says nothing: its value at the end is taken.
    return abreast(one_ahead, m.rates, 1 + 2 * jnp.where(part <= LONGER, part, 0.0) * c)


def one_coefficient(K: Array, row: Array) -> Array:
    return jnp.sum(row[:, None] * K, axis=0)


class Swept(NamedTuple):
    """Stages after some sweeps."""

    K: Array
    now: Any  # how much the last one changed
    done: Any
    i: Any


def solved(f: Rates, system: Any, z: Any, m: March, h: Any, sizes: Array) -> Swept:
    """The rates of all stages of a step."""
    c, a, *_ = tables(STAGES)

    def one(shared: Any, row: Any) -> tuple[Array, Array]:
        system, t, h, y, z, K, sizes = shared
        c, a, old = row
        k = f(system, t + c * h, y + h * jnp.sum(a[:, None] * K, axis=0), z)
        return k, jnp.max(h * jnp.abs(k - old) / sizes)

    def sweep(state: Swept) -> Swept:
        shared = (system, m.t + m.t_lost, h, m.y, z, state.K, sizes)
        K, changes = abreast(one, shared, (c, a, state.K))
        now, before = jnp.max(changes), state.now
        left = now * jnp.where(jnp.isinf(before), 1.0, jnp.minimum(now / before, 1.0))
        done = (left <= EPS / 4) | ((now >= before) & (now <= NEARLY))
        return Swept(K, now, done, state.i + 1)

    def unfinished(state: Swept) -> Any:
        hopeless = (state.i > 8) & (state.now > 1e6)
        return ~state.done & (state.i < SWEEPS) & ~jnp.isnan(state.now) & ~hopeless

    start = Swept(guess_of(m, h), jnp.array(jnp.inf), jnp.array(False), jnp.array(0))
    return jax.lax.while_loop(unfinished, sweep, start)


def error_of(h: Any, rates: Array, allowed: Array) -> Any:
    """The error of a step as a part of what is allowed, estimated.

    Where coefficients of the rates fall like x^k, the error at the end is about x^2s of the motion.
    """
    moved = h * jnp.sum(jnp.abs(rates[:4]), axis=0) / allowed
    last = h * (jnp.abs(rates[-1]) + jnp.abs(rates[-2])) / allowed
    return jnp.max(last**2 / jnp.maximum(moved, BESIDE * jnp.max(moved) + TINY))


def step(f: Rates, system: Any, z: Any, m: March, end: Any, allowed: Allowed) -> March:
    """A step, or a shorter one that is to be tried next."""
    V = tables(STAGES)[-1]
    left = (end - m.t) - m.t_lost
    h = jnp.where(left <= m.h, left, jnp.where(left < 2 * m.h, left / 2, m.h))
    K, _, done, sweeps = solved(f, system, z, m, h, allowed.sizes(m.y))
    rates = abreast(one_coefficient, K, V)
    # Compensated summation.
    dy = h * rates[0] + m.y_lost
    y = m.y + dy
    error = error_of(h, rates, allowed.errors(m.y, y))
    good = done & (error <= ACCEPTED) & jnp.all(jnp.abs(y) < FAR)
    fit = 0.9 * (GOAL / jnp.maximum(error, TINY)) ** (1 / (2 * STAGES - 3))
    fit = jnp.clip(fit, SHORTER, jnp.where(sweeps <= EASY, LONGER, 1.0))
    next_h = h * jnp.where(done & jnp.isfinite(error), fit, 0.5)
    # A step that was cut at the end says little of the next.
    next_h = jnp.where(good & (h < m.h), jnp.maximum(m.h, next_h), next_h)
    t = jnp.where(left <= m.h, end, m.t + h)
    t_lost = jnp.where(left <= m.h, 0.0, m.t_lost + (h - (t - m.t)))
    moved = March(t, t_lost, y, dy - (y - m.y), rates, h, next_h, m.count + 1, m.stuck)
    stuck = (next_h <= SHORTEST * jnp.maximum(jnp.abs(m.t), allowed.time)) & (h < left)
    again = m._replace(h=next_h, count=m.count + 1, stuck=stuck)
    return jax.tree.map(lambda a, b: jnp.where(good, a, b), moved, again)


def marched(
    f: Rates, system: Any, z: Any, m: March, end: Any, most: Any, allowed: Allowed
) -> March:
    """Steps up to the time `end`, or until there are as many as `most`."""

    def unfinished(m: March) -> Any:
        return (m.t < end) & (m.count < most) & ~m.stuck

    return jax.lax.while_loop(unfinished, lambda m: step(f, system, z, m, end, allowed), m)


def program(f: Rates, *examples: Any) -> Any:
    """`marched` as machine code, or None where the native engine does not serve."""
    if CHOSEN.get() == "xla":
        return None
    # Too long a program is no error: the right-hand side alone may serve.
    with using("auto"):
        return native("compiled", "collocation", lambda *args: marched(f, *args), *examples)


class Marching:
    """A motion that is marched on from one time to the next by one compiled program."""

    def __init__(
        self, f: Rates, system: Any, z: Any, t: float, y: Any, h: float, allowed: Allowed, most: int
    ) -> None:
        """Raises: LookupError where the native engine does not serve."""
        self.system, self.z, self.allowed, self.most = system, z, allowed, most
        self.now, self.few = begun(t, y, h), FEW
        found = program(f, system, z, self.now, np.float64(t), np.int64(0), allowed)
        if found is None:
            raise LookupError("the native engine does not serve")
        self.run = found

    def to(self, end: float) -> bool:
        """Whether the time `end` was reached."""
        while self.now.t < end and not self.now.stuck and self.now.count < self.most:
            began, before = perf_counter(), int(self.now.count)
            most = np.int64(min(before + self.few, self.most))
            self.now = self.run(self.system, self.z, self.now, np.float64(end), most, self.allowed)
            # Ctrl-C is seen between calls.
            self.few = fitting(int(self.now.count) - before, perf_counter() - began)
        return bool(self.now.t >= end)

    @property
    def y(self) -> np.ndarray:
        return self.now.y

    def put(self, y: np.ndarray) -> None:
        """Go on from another state at the same time."""
        self.now = self.now._replace(y=y, y_lost=np.zeros_like(y))
