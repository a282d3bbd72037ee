"""Hamilton's principle: the action of a curve or of a trajectory, and its first variation."""

from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.herglotz import last
from accion.arguments import door, number, wrong
from accion.checks import check_kind, refuse
from accion.engines.auto import each, small_map
from accion.errors import in_function
from accion.systems import AbstractSystem
from accion.systems.arity import check_function
from accion.systems.mistakes import not_evaluable
from accion.types import Array, Configuration, Vector

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)
PANELS = [2**k for k in range(13)]  # into which the time is divided, until two sums agree
TOLERANCE = 1e-12  # of the integral of |L|
SAMPLES, OFF = 33, 1e-8  # of a curve that is looked at, and how far off a constraint it may be

Direction = Callable[[Any], Any]


@door(t0=number, t1=number, z0=number)
def action(
    system: AbstractSystem,
    motion: Any,
    t0: float | None = None,
    t1: float | None = None,
    *,
    z0: float = 0.0,
) -> Any:
    """The action of a curve, and of a trajectory that of its discrete system,

        S[q] = integral from t0 to t1 of L(t, q, q') dt        Sd = sum_k Ld(t_k, h, q_k, q_k+1)

    of a contact system z(t1), where z' = L(t, q, q', z) and z(t0) = z0.

    Arguments:
        system: of any order, in continuous time; with a trajectory also one that is given in
            discrete time. Of a system of order r, L is that of (t, q, q', ..., q^(r)). Of a
            vakonomic one, on motions that satisfy its constraints, lam.Phi adds nothing.
        motion: a function q(t) that JAX can trace, of a thermal system (q(t), S(t)), with the times
            `t0` and `t1`; or a Trajectory of one step or more, all of them saved, whose method
            gives Ld. Given times between its ends, the action of a trajectory is the integral along
            `Trajectory.at`.
        z0: where the action of a contact system starts; a trajectory has its own.

    Returns:
        A number; the integral to 1e-12 of that of |L|, by Gauss quadrature over more and more parts
        of the time until two sums agree.

    Raises:
        ValueError: where they do not, as at a kink of the curve: divide the time there.

    References: Romero, eq 39 and 40; Colombo-Eyrea, section 3; Herglotz 1930.
    """
    check_kind(system)
    return action_of(motion, system, t0, t1, z0)


@door(t0=number, t1=number, z0=number)
def first_variation(
    system: AbstractSystem,
    motion: Any,
    along: Direction,
    t0: float | None = None,
    t1: float | None = None,
    *,
    z0: float = 0.0,
) -> Any:
    """The first variation of the action in a direction, with the work of the force where there is
    one:

        d/ds S[q + s along] at s = 0, + integral of F.along dt

    which is zero on a motion for every direction that vanishes at both ends (Hamilton's principle;
    with a force that of Lagrange and d'Alembert), on others p1.along(t1) - p0.along(t0). Under
    constraints the direction is one that they allow; of a vakonomic trajectory it is any, because
    the variation is that of L + lam.Phi with the lam of the run.

    Of a thermal system friction is a force and S stays as it is: dL/dS dS = F_friction.along is
    what the principle asks of dS. Of a contact system it is the change of z(t1), in which what
    happens early grows by e^(integral of dL/dz).

    Arguments:
        system, motion, t0, t1, z0: those of `action`; of a trajectory the sum over its steps of Ld
            and of the discrete forces, or, given times, of thermal and of vakonomic systems, the
            integral along `Trajectory.at`.
        along: a function of t, the displacement, shape (dim,): on a group that of the body, q
            changes by q hat(along).

    Returns:
        A number.

    References: Romero, eq 41 to 44; Colombo-Eyrea, section 1; Bonich, Thm 2.14; Vakonomic thesis,
    Prop 4.1.2; Herglotz 1930.
    """
    check_kind(system)
    check_function("along", along, "t")
    return variation_of(motion, system, along, t0, t1, z0)


def push_of(system: Any, t: Any, z: Configuration, v: Vector) -> Any:
    """The force whose work counts, of a thermal system with its friction."""
    if not system.forced:
        return 0.0
    own = system.whole if system.entropic else system
    n = system.space.dim
    w = jnp.concatenate([v, jnp.zeros(system.frame.m)]) if system.entropic else v
    return own.F(t, z, w)[:n]


def displaced(system: Any, z: Configuration, eta: Vector) -> Configuration:
    """z with its configuration moved, and what is beside it as it was."""
    q, beside = system.parts(z)
    return system.point(system.space.displace(q, eta), beside)


# ---------------------------------------------------------------- a curve


@singledispatch
def action_of(motion: Any, system: Any, t0: Any, t1: Any, z0: Any) -> Any:
    """The action of a motion of some kind."""
    check_curve(system, motion, t0, t1, "action")
    if system.contact:
        rate = partial(contact_rates, system, motion, None)
        return float(last(rate, t0, t1, jnp.asarray([z0], float))[0])

    def L(t: Any) -> Any:
        value = system.L(t, point_of(system, motion(t)), jets_of(system, motion, t))
        return value, jnp.abs(value)

    return integral(L, t0, t1)


@singledispatch
def variation_of(motion: Any, system: Any, along: Direction, t0: Any, t1: Any, z0: Any) -> Any:
    """Its first variation."""
    check_curve(system, motion, t0, t1, "first_variation")
    if system.contact:
        rate = partial(contact_rates, system, motion, along)
        return float(last(rate, t0, t1, jnp.asarray([z0, 0.0]))[1])

    def rates(t: Any) -> Any:
        parts = parts_of_variation(system, motion, along, t, point_of(system, motion(t)))
        return sum(parts), sum(map(jnp.abs, parts))

    return integral(rates, t0, t1)


def parts_of_variation(
    system: Any, motion: Any, along: Direction, t: Any, z: Configuration
) -> list[Any]:
    """dL/dq.along, dL/dv.along' and F.along on a curve that is at z."""
    jets, eta = jets_of(system, motion, t), displacement(system, along, t)

    def moved(s: Any) -> Callable[[Any], Configuration]:
        def curve(t: Any) -> Configuration:
            q = motion(t)[0] if system.entropic else motion(t)
            return system.space.displace(q, s * displacement(system, along, t))

        return curve

    return [
        slope(lambda s: system.L(t, displaced(system, z, s * eta), jets)),
        slope(lambda s: system.L(t, z, jets_of(system, moved(s), t, whole=False))),
        jnp.sum(push_of(system, t, z, jets) * eta),
    ]


def contact_rates(system: Any, motion: Any, along: Direction | None, t: Any, y: Array) -> Array:
    """z' = L and, in a direction, the rate of the change of z."""
    z, v = system.point(motion(t), y[0]), jets_of(system, motion, t)
    if along is None:
        return system.L(t, z, v)[None]
    change = sum(parts_of_variation(system, motion, along, t, z))
    return jnp.stack([system.L(t, z, v), change + system.growth(t, z, v) * y[1]])


def point_of(system: Any, value: Any) -> Configuration:
    """z of what a curve returns: q, of a thermal system (q, S)."""
    return system.point(*value) if system.entropic else value


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
        known = system.space.identity()
        if system.entropic:
            known = (known, np.zeros(system.entropy_shape))
        fits = jax.tree.map(np.shape, here) == jax.tree.map(np.shape, known)
    except Exception as error:
        not_evaluable("motion", error, "(t)")
    if not fits or any(leaf.dtype != np.float64 for leaf in jax.tree.leaves(here)):
        returned = "(q, S)" if system.entropic else "its configurations"
        wrong("motion", f"a curve on {system.space}, which returns {returned} in 64 bits", motion)
    start: Any = motion(jnp.asarray(t0, float))
    system.space.check(start[0] if system.entropic else start, "motion(t0)")
    if system.enters_action:
        check_constraint(system, motion, np.linspace(float(t0), float(t1), SAMPLES))


def check_constraint(system: Any, motion: Any, ts: np.ndarray) -> None:
    """Raise ValueError where a curve breaks a vakonomic constraint: it has no action."""

    def Phi(t: Any) -> Any:
        q, jets = motion(t), jets_of(system, motion, t)
        slopes = jax.jacfwd(lambda v: system.constraint.value(system, t, q, v))(jets)
        size = jnp.sum(jnp.abs(slopes * jets).reshape(len(slopes), -1), axis=1)
        return system.constraint.value(system, t, q, jets), size

    value, size = (np.max(np.abs(np.asarray(a)), axis=0) for a in each(Phi, ts))
    if not np.all(value <= OFF * size):
        raise ValueError(
            f"the curve is no motion of {system.name}: it is off the vakonomic constraint by"
            f" {np.max(value):.3g}, and the action is that of curves on it."
        )


def displacement(system: Any, along: Direction, t: Any) -> Vector:
    """The direction at a time, as a vector of the right length."""
    with in_function("along"):
        eta = jnp.asarray(along(t))
    if eta.shape != (system.space.dim,) or eta.dtype not in (np.float64, np.int64):
        words = f"a function of t that returns a displacement, shape ({system.space.dim},)"
        raise ValueError(f"along must be {words}; it returned {eta.dtype}, shape {eta.shape}.")
    return eta.astype(float)


def jets_of(system: Any, curve: Callable[[Any], Configuration], t: Any, whole: bool = True) -> Any:
    """The derivatives of a curve that L takes: its velocity, on a group that of the body; of a
    system of higher order the rows q', q'', .... Where the curve is `whole`, that of a thermal
    system has entropies besides.
    """

    def of_q(t: Any) -> Configuration:
        return curve(t)[0] if whole and system.entropic else curve(t)

    def velocity(t: Any) -> Vector:
        q, rate = jax.jvp(of_q, (t,), (jnp.ones(()),))
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
    both, before = partial(small_map(lambda _, t: f(t)), ()), None
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
