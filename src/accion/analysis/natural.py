"""The natural units of a system, in which what its equations say can be seen all at once.

At random points of size one the terms of an equation may be of sizes so different that the smaller
ones are lost in the rounding of the larger: an electron's kinetic energy in SI units, beside the
work of a field. So points are taken where the terms meet. A number of which the equations depend by
a power has no such place, and any will do; where the power changes there is a scale.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise
from accion.engines.auto import small_map
from accion.numerics.newton import EPS
from accion.numerics.terms import terms
from accion.spaces import Euclidean, Product, Space
from accion.systems import (
    AbstractSystem,
    ContactSystem,
    HigherOrderSystem,
    System,
    ThermalSystem,
)

GRID = 2.0 ** np.arange(-160, 161)  # sizes that are looked at
APART = 4  # how many of them are between three that are compared
BEND = 0.5  # of log2 of a quantity over these three, which is no power any more
SEEN = 2.0**-40  # of the largest of its kind, below which a quantity may be rounding
ORDINARY = 20  # powers of two, which are no other size
NEAR = 8  # powers of two, within which all sizes are taken to be one
SMALLEST = 1e-290
SHORT = 2.0**-100  # a step in which only the highest derivative counts
DRAWS = 3
ROUNDED = 64 * EPS  # of its terms: a sum that is smaller is nothing
STEP = 0.1  # of the natural time: the step of the discretised system that is looked at


class Rest(NamedTuple):
    """What a system is made of, at rest at a point; N coordinates, entropies included."""

    force: Any  # by each coordinate, shape (N,)
    inertia: Any  # d2L/d(q^(s))2 of each coordinate, s = 1, ..., r; shape (r, N)
    turning: Any  # forces by velocities, shape (N, N)
    held: Any  # what constraints say, shape (m,)
    slopes: Any  # and its derivatives by the highest derivative of q, shape (m, N)
    moving: Any  # momenta that the velocity that is looked at adds, shape (N,)


class Natural(NamedTuple):
    """Sizes to take points at, powers of two."""

    x: np.ndarray  # of each coordinate, entropies included
    rates: np.ndarray  # of their derivatives, shape (r, N)
    t: float
    lam: np.ndarray
    time: float  # that velocities belong to
    h: float  # a step


class Look:
    """A system, looked at at points of all sizes."""

    def __init__(self, system: AbstractSystem) -> None:
        rng, self.N = np.random.default_rng(0), system.step_space.dim
        self.t, (self.x, self.v) = rng.uniform(0.1, 2, DRAWS), rng.normal(size=(2, DRAWS, self.N))
        self.system = system

    def __call__(self, t: Any, x: Any, v: Any) -> Rest:
        """For each size in GRID and each draw; t, x and v are sizes, (1,) or (N,), of all or of
        each.
        """
        one, shape = np.ones((len(GRID), 1)), (len(GRID) * DRAWS, -1)
        t = ((one * t)[:, :, None] * self.t).reshape(shape)[:, 0]
        x, v = ((one * a)[:, None] * own for a, own in ((x, self.x), (v, self.v)))
        found = rest_at(self.system, (t, x.reshape(shape), v.reshape(shape)))
        return Rest(*(np.asarray(a).reshape(len(GRID), DRAWS, *a.shape[1:]) for a in found))

    def typical(self, t: float, x: np.ndarray) -> Rest:
        """At one size: the median of the draws."""
        return Rest(*(np.median(np.abs(a[0]), axis=0) for a in self(t, x, 0.0)))


def natural_choices(system: AbstractSystem) -> list[Natural]:
    """Sizes at which a system is to be looked at, the natural ones first. What seems to hold at
    some, because what breaks it is lost beside the rest, is seen not to hold at others.
    """
    first, even = natural_units(system), natural_units(system, apart=False)
    x, rates, lam = (np.ones_like(a) for a in (first.x, first.rates, first.lam))
    found: list[Natural] = []
    for one in (first, even, Natural(x, rates, 1.0, lam, 1.0, STEP)):
        alike = (all(map(np.array_equal, one, other)) for other in found)
        if not any(alike):
            found.append(one)
    return found


def natural_units(system: AbstractSystem, ordinary: bool = True, apart: bool = True) -> Natural:
    """The sizes at which a system is to be looked at; with `ordinary`, one where none of them is
    far from it, so that ordinary systems are looked at at ordinary points. Coordinates that are
    not looked at `apart` from each other have one size.
    """
    look, free, size = Look(system), scalable(system.step_space), GRID[:, None]
    x, n = np.ones(look.N), np.arange(look.N)
    changing = bend(look(size, x, 0.0)[:-1], np.nan)  # the time in which the system changes
    t = 1.0 if np.isnan(changing) else changing
    places = free & (n < system.space.dim)
    if np.any(places):  # all together, then each beside the others, and entropies
        x = np.where(places, bend(look(t, np.where(places, size, x), 0.0)[:-1], 1.0), x)
    for i in np.flatnonzero(free if apart else free & ~places):
        own = bend(look(t, np.where(n == i, size, x), 0.0)[:-1], x[i])
        x[i] = own if abs(np.log2(own / x[i])) > ORDINARY else x[i]
    rest = look.typical(t, x)
    time = natural_time(rest, x, t)
    r = len(rest.inertia)
    rates = x / time ** np.arange(1, r + 1)[:, None]
    fast = bend([look(t, x, size * x).moving], 0.0)
    rates = fast * x[None] if fast > 0 else rates  # where kinetic energy is no square
    top = np.where(np.isfinite(rest.inertia[-1]), rest.inertia[-1] * x / time**r, 0.0)
    with np.errstate(all="ignore"):
        lam = np.max(np.where(rest.slopes > 0, top / rest.slopes, 0.0), axis=1, initial=0.0)
    lam = np.where((lam > 0) & np.isfinite(lam), lam, 1.0)
    t = time if np.isnan(changing) else changing
    sizes = (x, rates, np.array(t), lam, np.array(time), np.array(min(time, t)))
    powers = [np.round(np.log2(size)) for size in sizes]
    if ordinary and max(np.max(np.abs(power), initial=0.0) for power in powers) <= NEAR:
        powers = [np.zeros_like(power) for power in powers]
    x, rates, t, lam, time, short = (2.0**power for power in powers)
    return Natural(x, rates, float(t), lam, float(time), STEP * float(short))


def bend(found: Sequence[np.ndarray], default: float) -> float:
    """The smallest size at which something is no power of it any more, or the default."""
    first = len(GRID)
    for a in found:
        values = np.abs(a).reshape(len(GRID), -1)
        if not values.shape[1]:
            continue
        values = np.where(np.isfinite(values), values, 0.0)
        seen = (values > SEEN * np.max(values, axis=1, keepdims=True)) & (values > SMALLEST)
        logs = np.log2(np.where(seen, values, 1.0))
        a, b, c = (slice(k, k + len(GRID) - 2 * APART) for k in (0, APART, 2 * APART))
        bent = np.abs(logs[a] - 2 * logs[b] + logs[c]) > BEND
        where = np.flatnonzero(np.any(bent & seen[a] & seen[b] & seen[c], axis=1))
        first = min(first, where[0] + APART) if len(where) else first
    return default if first == len(GRID) else float(GRID[first])


def natural_time(rest: Rest, x: np.ndarray, default: float) -> float:
    """The shortest of the times in which forces, turning and the lower derivatives move what has
    inertia by its size.
    """
    r, top = len(rest.inertia), rest.inertia[-1]
    with np.errstate(all="ignore"):
        rates = [(rest.force / (top * x)) ** (1 / (2 * r))]
        rates += [(rest.inertia[s] / top) ** (1 / (2 * (r - 1 - s))) for s in range(r - 1)]
        rates.append(np.max(rest.turning * x / (top * x)[:, None], axis=1))
        fastest = np.concatenate(rates)
    fastest = fastest[np.isfinite(fastest) & (fastest > 0)]
    return 1 / float(np.max(fastest)) if len(fastest) else default


@small_map
def rest_at(system: Any, point: Any) -> Rest:
    return at_rest(system)(*point)


# ---------------------------------------------------------------- which coordinates have sizes


@singledispatch
def scalable(space: Space) -> np.ndarray:
    """Which coordinates of a space may have units: not angles, nor those of a group."""
    return np.zeros(space.dim, bool)


@scalable.register
def _(space: Euclidean) -> np.ndarray:
    return np.ones(space.dim, bool)


@scalable.register
def _(space: Product) -> np.ndarray:
    return np.concatenate([scalable(factor) for factor in space.factors])


# ---------------------------------------------------------------- what a system is made of


@singledispatch
def at_rest(system: AbstractSystem) -> Any:
    """The function (t, x, v) -> `Rest` of a kind of system: at the increment x from the origin, and
    of momenta at the velocity v. Of one that is given in discrete time, in a short step.
    """
    form, space, r = discretise(system, None), system.step_space, system.order
    lam, h = jnp.zeros(system.multipliers), SHORT
    acts = system.constraint is not None

    def at(t: Any, x: Any, v: Any) -> Rest:
        z, none = space.retract(space.identity(), x), jnp.zeros((r, space.dim))

        def pushes(y: Any) -> Any:
            G = form.window(t, h, z, y, lam)[0]
            return jnp.zeros((r + 1, space.dim)).at[:, : G.shape[1]].set(G)  # none by entropies

        def closure(y: Any) -> Any:
            return form.closure(t, h, z, form.from_increments(y)) if acts else jnp.zeros(0)

        inertia = jnp.diagonal(jax.jacfwd(lambda y: pushes(none.at[-1].set(y))[-1])(none[-1]))
        C = jax.jacfwd(lambda y: closure(none.at[-1].set(y)))(none[-1])
        rows = jnp.zeros((r, space.dim)).at[-1].set(inertia * h ** (2 * r - 1))

        def potential(y: Any) -> Any:
            return jnp.sum(form.derivatives(t, h, z, form.from_increments(y), lam), axis=0)

        # What is left of terms that cancel is none. Friction is nothing at rest, however large the
        # terms of which it is made.
        own, whole = potential(none), jnp.sum(pushes(none), axis=0)
        more = jnp.where(np.arange(space.dim) < system.space.dim, whole - own, 0.0)
        more = jnp.where(jnp.abs(more) > 4 * EPS * (jnp.abs(whole) + jnp.abs(own)), more, 0.0)
        own = jnp.where(jnp.abs(own) > ROUNDED * terms(potential, none).inner, own, 0.0)
        force = (own + more) / h
        turning = jnp.zeros((space.dim, space.dim))
        return Rest(force, rows, turning, closure(none), C * h**r, 0 * x)

    return at


@at_rest.register
def _(system: System) -> Any:
    space, zero, constraint = system.space, jnp.zeros(system.space.dim), system.constraint

    def at(t: Any, x: Any, v: Any) -> Rest:
        q = space.retract(space.identity(), x)

        def force(v: Any) -> Any:
            by_q = jax.grad(lambda e: system.L(t, space.displace(q, e), v))(zero)
            return by_q + system.F(t, q, v)

        def momentum(e: Any) -> Any:
            return system.legendre(t, space.displace(q, e), zero)

        def velocities(v: Any) -> Any:
            if constraint is None:
                return jnp.zeros(0)
            return constraint.on_velocities(system, t, q, v)

        held = jnp.zeros(0) if constraint is None else constraint.value(system, t, q, zero)
        inertia = jnp.diagonal(jax.hessian(system.L, 2)(t, q, zero))[None]
        forces, momenta = jax.jacfwd(force)(zero), jax.jacfwd(momentum)(zero)
        turning = forces - momenta
        # What is left where a gauge cancels is its rounding.
        left = SEEN * (jnp.abs(forces) + jnp.abs(momenta))
        turning = jnp.where(jnp.abs(turning) > left, turning, 0.0)
        slopes = jax.jacfwd(velocities)(zero)
        # Without what a gauge adds to momenta, and with more than its rounding.
        still, moving = system.legendre(t, q, zero), system.legendre(t, q, v)
        moving = jnp.where(jnp.abs(moving - still) > SEEN * jnp.abs(still), moving - still, 0.0)
        return Rest(force(zero), inertia, turning, held, slopes, moving)

    return at


@at_rest.register(ThermalSystem)
@at_rest.register(ContactSystem)
def _(system: Any) -> Any:
    return at_rest(system.whole)


@at_rest.register
def _(system: HigherOrderSystem) -> Any:
    n, r, space = system.space.dim, system.order, system.space
    zero, lam = jnp.zeros((r, n)), jnp.zeros((1, system.multipliers))

    def at(t: Any, x: Any, v: Any) -> Rest:
        q = space.retract(space.identity(), x)

        def slopes(jets: Any) -> Any:
            return system.slopes(t, q, jets, lam)

        def Phi(jets: Any) -> Any:
            return system.Phi(t, q, jets) if system.multipliers else jnp.zeros(0)

        H = jax.jacfwd(slopes)(zero)  # (r + 1, n, r, n)
        inertia = jnp.stack([jnp.diagonal(H[s + 1, :, s]) for s in range(r)])
        C = jax.jacfwd(Phi)(zero)[:, r - 1]
        push, still = slopes(zero)[0] + system.F(t, q, zero), jnp.zeros((n, n))
        return Rest(push, inertia, still, Phi(zero), C, 0 * x)

    return at
