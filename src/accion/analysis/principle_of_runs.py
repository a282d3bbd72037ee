"""The action of a trajectory and its first variation: sums over its steps, or integrals between
them.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.herglotz import integrals
from accion.analysis.inputs import check_every_step
from accion.analysis.principle import (
    POINTS,
    WEIGHTS,
    Direction,
    action_of,
    displaced,
    displacement,
    push_of,
    slope,
    variation_of,
)
from accion.checks import refuse
from accion.engines.auto import each
from accion.results.trajectory import Trajectory
from accion.stepping.views import discrete
from accion.types import Array, Configuration, Vector


def nodes_of(trajectory: Trajectory, what: str) -> tuple[Any, Any, float]:
    """(times, configurations, step) of a whole run."""
    check_every_step(trajectory, what)
    if not bool(trajectory.success):
        raise ValueError(f"{what} needs a run without a failure; this one ended before its steps.")
    return jnp.asarray(trajectory.t), trajectory.q, float(trajectory.h)


def pairs_of(system: Any, trajectory: Trajectory, t: Any, q: Any) -> tuple[Any, list[Any]]:
    """(times, configurations of each window of a run, one list after the other)."""
    r = system.order
    count = len(t) - r
    windows = [jax.tree.map(lambda a, j=j: jnp.asarray(a)[j : j + count], q) for j in range(r + 1)]
    return t[:count], windows


def sum_of(system: Any, trajectory: Trajectory, t: Any, h: float, q: Any, lam: Any = None) -> Any:
    """The sum of Ld over all windows of a run, of L + lam.Phi where `lam` are multipliers of its
    steps.
    """
    d = discrete(system, trajectory.method)
    times, rest = pairs_of(system, trajectory, t, q)
    if system.beside:
        S = jnp.asarray(getattr(trajectory, system.beside))
        rest = [*rest, S[:-1], S[1:]]
    if lam is not None:
        rest = [*rest, lam]
    return jnp.sum(each(lambda t, *z: d.Ld(t, h, *z), times, *rest))


def multipliers_of(system: Any, trajectory: Trajectory, t: Any, h: float, q: Any) -> Any:
    """Those of each step of a vakonomic run."""
    d, (times, ends) = discrete(system, trajectory.method), pairs_of(system, trajectory, t, q)

    def one(t: Any, q0: Any, q1: Any, p: Vector, lam: Vector) -> Any:
        return d.solved(t, h, q0, p, system.space.local(q0, q1), lam)[1]

    p, lam = (jnp.asarray(a)[:-1] for a in (trajectory.p, trajectory.lam))
    return each(one, times, *ends, p, lam)


@action_of.register
def _(motion: Trajectory, system: Any, t0: Any, t1: Any, z0: Any) -> Any:
    if system.contact:
        check_every_step(motion, "action")
        if t0 is not None:
            raise ValueError("the action of a contact run starts with the run: leave out t0.")
        z: Any = motion.z if t1 is None else motion.at([t1]).z
        return float(z[-1])
    if t0 is not None or t1 is not None:
        return integral_along(motion, system, None, t0, t1)
    t, q, h = nodes_of(motion, "action")
    return float(sum_of(system, motion, t, h, q))


@variation_of.register
def _(motion: Trajectory, system: Any, along: Direction, t0: Any, t1: Any, z0: Any) -> Any:
    if t0 is not None or t1 is not None or system.beside:
        return integral_along(motion, system, along, t0, t1)
    t, q, h = nodes_of(motion, "first_variation")
    eta = jax.vmap(lambda t: displacement(system, along, t))(t)
    lam = None
    if system.enters_action:
        if system.order > 1 or (motion.method is not None and motion.method.inner_points):
            whom = "vakonomic systems of higher order, or by inner points"
            refuse("first_variation of a trajectory", whom, "try a curve")
        lam = multipliers_of(system, motion, t, h, q)

    def moved(s: Any) -> Any:
        return sum_of(system, motion, t, h, jax.vmap(system.space.displace)(q, s * eta), lam)

    return float(slope(moved) + discrete_work(system, motion, t, h, q, eta))


def discrete_work(
    system: Any, trajectory: Trajectory, t: Any, h: float, q: Any, eta: Array
) -> Array:
    """The work of the discrete forces on displacements of the nodes."""
    if not system.forced:
        return jnp.zeros(())
    if system.order > 1:
        refuse("first_variation of a trajectory", "forced systems of higher order", "try a curve")
    d = discrete(system, trajectory.method)
    first = jax.tree.map(lambda a: jnp.asarray(a)[:-1], q)
    last = jax.tree.map(lambda a: jnp.asarray(a)[1:], q)

    def both(t: Any, a: Configuration, b: Configuration) -> Any:
        return d.force_minus(t, h, a, b), d.force_plus(t, h, a, b)

    minus, plus = each(both, t[:-1], first, last)
    return jnp.sum(minus * eta[:-1]) + jnp.sum(plus * eta[1:])


def integral_along(
    trajectory: Trajectory, system: Any, along: Direction | None, t0: Any, t1: Any
) -> float:
    """The integral of L, or of its variation, between the steps of a run: Gauss points in each."""
    check_every_step(trajectory, "action")
    if system.order > 1:
        refuse("action between the steps", system.kind, "`at` shows the first velocity alone")
    t = np.asarray(trajectory.t)
    t0, t1 = (t[0] if t0 is None else t0), (t[-1] if t1 is None else t1)
    inner = t[(t > min(t0, t1)) & (t < max(t0, t1))]
    ends = np.concatenate([[t0], inner if t1 >= t0 else inner[::-1], [t1]])
    half = np.diff(ends)[:, None] / 2
    ts = (ends[:-1, None] + half * (POINTS + 1)).ravel()
    weights = (half * WEIGHTS).ravel()
    found = trajectory.at(ts)
    beside = [getattr(found, system.beside)] if system.beside else []
    if system.enters_action:
        beside = [found.lam]

    def f(t: Any, q: Configuration, v: Vector, *rest: Any) -> Any:
        z = system.point(q, *rest) if system.beside else q
        lam = rest[0] if system.enters_action else None
        if along is None:
            return system.L(t, z, v, lam), jnp.zeros(())
        growth = system.growth(t, z, v) if system.contact else jnp.zeros(())
        return change(system, along, t, z, v, lam), growth

    found = each(f, jnp.asarray(ts), found.q, jnp.asarray(found.v), *beside)
    values, growth = (np.asarray(a) for a in found)
    return grown(np.diff(ends), values, growth) if system.contact else float(weights @ values)


def grown(h: np.ndarray, values: np.ndarray, growth: np.ndarray) -> float:
    """y at the end of y' = growth y + values, y = 0 at the start, from what both are at the Gauss
    points of parts of the lengths h.
    """
    y, count = 0.0, len(POINTS)
    for k, length in enumerate(h):
        part = slice(count * k, count * (k + 1))
        C, g, r = length * integrals(), growth[part], values[part]
        stages = np.linalg.solve(np.eye(count) - C * g, y + C @ r)
        y += length / 2 * WEIGHTS @ (g * stages + r)
    return float(y)


def change(
    system: Any, along: Direction, t: Any, z: Configuration, v: Vector, lam: Any = None
) -> Any:
    """The variation of L at a state of a motion, with the work of the force."""
    eta, rate = jax.jvp(lambda t: displacement(system, along, t), (t,), (jnp.ones(()),))
    bent = rate + system.space.ad(v, eta)

    def moved(s: Any) -> Any:
        return system.L(t, displaced(system, z, s * eta), v + s * bent, lam)

    return slope(moved) + jnp.sum(push_of(system, t, z, v) * eta)
