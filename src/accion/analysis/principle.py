"""Hamilton's principle: the action of a curve or of a trajectory, and its first variation."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_every_step
from accion.arguments import door, number, wrong
from accion.checks import check_kind, refuse
from accion.errors import in_function
from accion.results.trajectory import Trajectory
from accion.stepping.views import discrete
from accion.systems import AbstractSystem
from accion.systems.arity import check_function
from accion.types import Array, Configuration, Vector

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)
PANELS = [2**k for k in range(13)]  # into which the time is divided, until two sums agree
TOLERANCE = 1e-12  # of the integral of |L|

Direction = Callable[[Any], Any]


@door(t0=number, t1=number)
def action(
    system: AbstractSystem, motion: Any, t0: float | None = None, t1: float | None = None
) -> Any:
    """The action of a curve, and of a trajectory that of its discrete system,

        S[q] = integral from t0 to t1 of L(t, q, q') dt        Sd = sum_k Ld(t_k, h, q_k, q_k+1)

    Arguments:
        system: of any order, in continuous time; with a trajectory also one that is given in
            discrete time. Of a system of order r, L is that of (t, q, q', ..., q^(r)).
        motion: a function q(t) that JAX can trace, with the times `t0` and `t1`, or a Trajectory
            of one step or more, all of them saved, whose method gives Ld. Given times between its
            ends, the action of a trajectory is the integral along `Trajectory.at`.

    Returns:
        A number; the integral to 1e-12 of that of |L|, by Gauss quadrature over more and more parts
        of the time until two sums agree.

    Raises:
        ValueError: where they do not, as at a kink of the curve: divide the time there.

    References: Romero, eq 39 and 40; Colombo-Eyrea, section 3.
    """
    check_kind(system)
    check_action(system, "action")
    return action_of(motion, system, t0, t1)


@door(t0=number, t1=number)
def first_variation(
    system: AbstractSystem,
    motion: Any,
    along: Direction,
    t0: float | None = None,
    t1: float | None = None,
) -> Any:
    """The first variation of the action in a direction, with the work of the force where there is
    one:

        d/ds S[q + s along] at s = 0, + integral of F.along dt

    which is zero on a motion for every direction that vanishes at both ends (Hamilton's principle;
    with a force that of Lagrange and d'Alembert), on others p1.along(t1) - p0.along(t0). Under
    constraints the direction is one that they allow.

    Arguments:
        system, motion, t0, t1: those of `action`; of a trajectory the sum over its steps of Ld and
            of the discrete forces, or, given times, the integral along `Trajectory.at`.
        along: a function of t, the displacement, shape (dim,): on a group that of the body, q
            changes by q hat(along).

    Returns:
        A number.

    References: Romero, eq 41 to 44; Colombo-Eyrea, section 1; Bonich, Thm 2.14.
    """
    check_kind(system)
    check_action(system, "first_variation")
    check_function("along", along, "t")
    return variation_of(motion, system, along, t0, t1)


def check_action(system: Any, what: str) -> None:
    """Raise ValueError of systems that have no action of a curve alone."""
    if system.beside == "z":
        refuse(what, system.kind, "their action is part of their state, `Trajectory.z`")
    if system.beside:
        refuse(what, system.kind, "entropies do not follow from a curve q(t)")
    if system.enters_action:
        why = "theirs is of L + lam.Phi: give a System with this Lagrangian on (q, lam)"
        refuse(what, "vakonomic systems", why)


# ---------------------------------------------------------------- a curve


@singledispatch
def action_of(motion: Any, system: Any, t0: Any, t1: Any) -> Any:
    """The action of a motion of some kind."""
    check_curve(system, motion, t0, t1, "action")

    def L(t: Any) -> Any:
        value = system.L(t, motion(t), jets_of(system, motion, t))
        return value, jnp.abs(value)

    return integral(L, t0, t1)


@singledispatch
def variation_of(motion: Any, system: Any, along: Direction, t0: Any, t1: Any) -> Any:
    """Its first variation."""
    check_curve(system, motion, t0, t1, "first_variation")

    def rate(t: Any) -> Any:
        q, jets, eta = motion(t), jets_of(system, motion, t), displacement(system, along, t)

        def moved(s: Any) -> Callable[[Any], Configuration]:
            return lambda t: system.space.displace(motion(t), s * displacement(system, along, t))

        parts = [
            slope(lambda s: system.L(t, moved(s)(t), jets)),
            slope(lambda s: system.L(t, q, jets_of(system, moved(s), t))),
            system.F(t, q, jets) @ eta if system.forced else jnp.zeros(()),
        ]
        return sum(parts), sum(map(jnp.abs, parts))

    return integral(rate, t0, t1)


def slope(f: Callable[[Any], Any]) -> Any:
    """df/ds at s = 0."""
    return jax.jvp(f, (jnp.zeros(()),), (jnp.ones(()),))[1]


def check_curve(system: Any, motion: Any, t0: Any, t1: Any, what: str) -> None:
    """Raise ValueError unless the motion is a curve on the space of a system in continuous time."""
    if not callable(motion):
        wrong("motion", "a function q(t) or a Trajectory", motion)
    check_function("motion", motion, "t")
    if system.discrete_time:
        refuse(f"{what} of a curve", system.kind, "theirs is the action of a trajectory")
    if t0 is None or t1 is None:
        raise ValueError(f"{what} of a curve is taken from t0 to t1: give both times.")
    try:
        with in_function("motion"):
            here = jax.eval_shape(motion, jnp.zeros(()))
        fits = jax.tree.map(np.shape, here) == jax.tree.map(np.shape, system.space.identity())
    except Exception as error:
        raise ValueError(
            f"motion could not be evaluated ({type(error).__name__}: {error}). It is a function"
            " q(t), written with jax.numpy."
        ) from error
    if not fits or any(leaf.dtype != np.float64 for leaf in jax.tree.leaves(here)):
        words = f"a curve on {system.space}, which returns its configurations in 64 bits"
        wrong("motion", words, motion)
    system.space.check(motion(jnp.asarray(t0, float)), "motion(t0)")


def displacement(system: Any, along: Direction, t: Any) -> Vector:
    """The direction at a time, as a vector of the right length."""
    with in_function("along"):
        eta = jnp.asarray(along(t))
    if eta.shape != (system.space.dim,) or eta.dtype not in (np.float64, np.int64):
        words = f"a function of t that returns a displacement, shape ({system.space.dim},)"
        raise ValueError(f"along must be {words}; it returned {eta.dtype}, shape {eta.shape}.")
    return eta.astype(float)


def jets_of(system: Any, curve: Callable[[Any], Configuration], t: Any) -> Any:
    """The derivatives of a curve that L takes: its velocity, on a group that of the body; of a
    system of higher order the rows q', q'', ....
    """

    def velocity(t: Any) -> Vector:
        q, rate = jax.jvp(curve, (t,), (jnp.ones(()),))
        return jax.jvp(lambda moved: system.space.displacement(q, moved), (q,), (rate,))[1]

    rows: list[Callable[[Any], Any]] = [velocity]
    for _ in range(system.order - 1):
        rows.append(rate_of(rows[-1]))
    found = [f(t) for f in rows]
    return jnp.stack(found) if system.order > 1 else found[0]


def rate_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """df/dt."""
    return lambda t: jax.jvp(f, (t,), (jnp.ones(()),))[1]


def integral(f: Callable[[Any], Any], t0: float, t1: float) -> float:
    """The integral of the first result of f, to a part of that of the second, its size."""
    both, before = jax.jit(jax.vmap(f)), None
    for count in PANELS:
        ends = np.linspace(t0, t1, count + 1)
        half = np.diff(ends)[:, None] / 2
        ts = ends[:-1, None] + half * (POINTS + 1)
        values, sizes = (np.asarray(a).reshape(ts.shape) for a in both(jnp.asarray(ts.ravel())))
        weights = half * WEIGHTS
        now, whole = float(np.sum(weights * values)), float(np.sum(np.abs(weights) * sizes))
        if not np.isfinite(now):
            raise ValueError(
                f"the Lagrangian is not finite along the motion from t0 = {t0:g} to t1 = {t1:g}: is"
                " `motion`, or `along`?"
            )
        if before is not None and abs(now - before) <= TOLERANCE * whole:
            return now
        before = now
    raise ValueError(
        f"the integral from t0 = {t0:g} to t1 = {t1:g} did not settle in {PANELS[-1]} parts of the"
        " time. Is the curve smooth? Divide the time at its kinks."
    )


# ---------------------------------------------------------------- a trajectory


def nodes_of(trajectory: Trajectory, what: str) -> tuple[Any, Any, float]:
    """(times, configurations, step) of a whole run."""
    check_every_step(trajectory, what)
    if not bool(trajectory.success):
        raise ValueError(f"{what} needs a run without a failure; this one ended before its steps.")
    return jnp.asarray(trajectory.t), trajectory.q, float(trajectory.h)


def sum_of(system: Any, trajectory: Trajectory, t: Any, h: float, q: Any) -> Any:
    """The sum of Ld over all windows of a run."""
    d, r = discrete(system, trajectory.method), system.order
    count = len(t) - r
    windows = [jax.tree.map(lambda a, j=j: jnp.asarray(a)[j : j + count], q) for j in range(r + 1)]
    each = jax.jit(jax.vmap(lambda t, *q: d.Ld(t, h, *q)))
    return jnp.sum(each(t[:count], *windows))


@action_of.register
def _(motion: Trajectory, system: Any, t0: Any, t1: Any) -> Any:
    if t0 is not None or t1 is not None:
        return integral_along(motion, system, None, t0, t1)
    t, q, h = nodes_of(motion, "action")
    return float(sum_of(system, motion, t, h, q))


@variation_of.register
def _(motion: Trajectory, system: Any, along: Direction, t0: Any, t1: Any) -> Any:
    if t0 is not None or t1 is not None:
        return integral_along(motion, system, along, t0, t1)
    t, q, h = nodes_of(motion, "first_variation")
    eta = jax.vmap(lambda t: displacement(system, along, t))(t)

    def moved(s: Any) -> Any:
        return sum_of(system, motion, t, h, jax.vmap(system.space.displace)(q, s * eta))

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

    minus, plus = jax.jit(jax.vmap(both))(t[:-1], first, last)
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

    def f(t: Any, q: Configuration, v: Vector) -> Any:
        return system.L(t, q, v) if along is None else change(system, along, t, q, v)

    values = jax.jit(jax.vmap(f))(jnp.asarray(ts), found.q, jnp.asarray(found.v))
    return float(weights @ np.asarray(values))


def change(system: Any, along: Direction, t: Any, q: Configuration, v: Vector) -> Any:
    """The variation of L at a state of a motion, with the work of the force."""
    eta, rate = jax.jvp(lambda t: displacement(system, along, t), (t,), (jnp.ones(()),))
    bent = rate + system.space.ad(v, eta)

    def moved(s: Any) -> Any:
        return system.L(t, system.space.displace(q, s * eta), v + s * bent)

    power = system.F(t, q, v) @ eta if system.forced else 0.0
    return slope(moved) + power
