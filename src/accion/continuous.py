"""The continuous side: accelerations, and trajectories of the continuous equations to high accuracy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.inputs import Start, check_first, check_start, check_system
from accion.methods import Midpoint
from accion.nodes import index_one, look, project_at, thermal_rates
from accion.systems import System

PIECES = 20  # of an interval, after each of which a constrained motion is put back on its constraint


def accelerations(system) -> Callable[..., Any]:
    """The function (t, q, v) -> a, shape (dim,), from the Euler-Lagrange equations with force

        d2L/dv2 a = dL/dq + ad*_v dL/dv + F + A^T lam - d/dq(dL/dv).v - d/dt(dL/dv)         (000 eq 2, 002 eq 1)

    On a group v is the velocity of the body, q' = q hat(v), and a its derivative; on a flat space ad* is zero.
    With holonomic or nonholonomic constraints it returns (a, lam), from the constraint differentiated in time (index 1). For a
    vakonomic system, whose multipliers are part of the state, it is (t, q, v, lam) -> (a, dlam/dt); for a thermal system
    (t, q, v, S) -> (a, dS/dt), with dL/dS dS/dt = F_fr.v - P_H (001 Thm 3.9).
    """
    if not isinstance(system, System):
        return lambda t, q, v, S: thermal_accelerations(system, t, q, v, S)
    system.check()
    if system.vakonomic is not None:
        return lambda t, q, v, lam: index_one(system, t, q, v, lam)
    if system.constraint is not None:
        return lambda t, q, v: index_one(system, t, q, v, None)
    return lambda t, q, v: index_one(system, t, q, v, None)[0]


def thermal_accelerations(system, t, q, v, S):
    system = check_system(system, Midpoint(), S0=S)
    system.check()
    a, dS = thermal_rates(system, t, system.together(q, S), v)
    return a, system.frame.shown(dS)


def reference(system, *, q0, v0, ts, S0=None, lam0=None, rtol=1e-12, atol=1e-12, max_steps=1_000_000) -> Any:
    """The continuous trajectory through (q0, v0) at time ts[0], at the times `ts`: (q, v), one row for each time.

    Integrated by an explicit Runge-Kutta method of order 8 with step control (diffrax's Dopri8) to the tolerances `rtol`, `atol`. A
    constrained motion is projected onto its constraint many times on the way. For a vakonomic system `lam0` is needed, and (q, v, lam)
    is returned; for a thermal system `S0`, and (q, v, S).
    """
    system = check_system(system, Midpoint(), S0=S0)
    system.check()
    space = system.step_space
    start = check_start(system, Start(q0, v0, lam0=lam0, S0=S0))
    z0 = system.together(start.q0, start.S0)
    ts = jnp.asarray(ts, dtype=float)
    if ts.ndim != 1 or len(ts) < 2 or not bool(jnp.all(jnp.diff(ts) > 0)):
        raise ValueError(f"ts must be at least two increasing times, the first one that of q0; got {np.asarray(ts)}.")
    check_first(system, look(system, ts[0], z0, start.v0), start)
    lam0 = jnp.zeros(0) if lam0 is None else start.lam0
    run = integrate if system.constraint is None else integrate_held
    (d, v, lam), good = run(system, z0, start.v0, lam0, ts, rtol, atol, max_steps)
    if not bool(good):
        raise RuntimeError(
            f"the continuous equations could not be integrated to t = {float(ts[-1]):g} with rtol = {rtol:g}: the solution may "
            "not exist that far, or max_steps is too small."
        )
    q, S = system.apart(jax.vmap(lambda d: space.project(add(z0, d)))(d))
    if S is not None:
        return q, v, S
    return (q, v, lam) if system.vakonomic is not None else (q, v)


def add(q, d):
    """q + d, for arrays and tuples of them."""
    return jax.tree.map(jnp.add, q, d)


def field(treedef, q0):
    """The right-hand side for the state (q - q0, velocity, multipliers of a vakonomic system); on a group matrices are subtracted."""

    def rates(t, y, numbers):
        d, v, lam = y
        system = jax.tree.unflatten(treedef, numbers)
        q = add(q0, d)
        if not isinstance(system, System):
            a, dS = thermal_rates(system, t, q, v)
            return system.step_space.tangent(q, jnp.concatenate([v, dS])), a, lam
        a, dlam = index_one(system, t, q, v, lam if system.vakonomic is not None else None)
        return system.space.tangent(q, v), a, dlam if system.vakonomic is not None else lam

    return rates


def solve(system, q0, y, ts, rtol, atol, max_steps):
    """The state at the times `ts`, and whether it could be integrated so far."""
    import diffrax

    numbers, treedef = jax.tree.flatten(system)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field(treedef, q0)),
        diffrax.Dopri8(),
        ts[0],
        ts[-1],
        None,
        y,
        numbers,
        saveat=diffrax.SaveAt(ts=ts),
        # Steps end at the times asked for: between steps the interpolation of Dopri8 is far less accurate.
        stepsize_controller=diffrax.ClipStepSizeController(diffrax.PIDController(rtol=rtol, atol=atol), step_ts=ts),
        max_steps=max_steps + len(ts),
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    states = solution.ys
    return states, (solution.result == diffrax.RESULTS.successful) & jnp.all(jnp.isfinite(states[1]))  # pyright: ignore


@partial(jax.jit, static_argnames="max_steps")
def integrate(system, q0, v0, lam0, ts, rtol, atol, max_steps):
    return solve(system, q0, (jax.tree.map(jnp.zeros_like, q0), v0, lam0), ts, rtol, atol, max_steps)


@partial(jax.jit, static_argnames="max_steps")
def integrate_held(system, q0, v0, lam0, ts, rtol, atol, max_steps):
    """As `integrate`, with the state put back on the constraint after each piece of each interval."""
    space = system.space
    fractions = jnp.linspace(0, 1, PIECES + 1)

    def piece(y, times):
        states, good = solve(system, q0, y, times, rtol, atol, max_steps)
        d, v, lam = jax.tree.map(lambda a: a[-1], states)
        q, v = project_at(system, times[1], space.project(add(q0, d)), v)
        return (jax.tree.map(jnp.subtract, q, q0), v, lam), good

    def interval(y, ends):
        times = ends[0] + fractions * (ends[1] - ends[0])
        y, good = jax.lax.scan(piece, y, jnp.stack([times[:-1], times[1:]], axis=1))
        return y, (y, jnp.all(good))

    first = (jax.tree.map(jnp.zeros_like, q0), v0, lam0)
    _, (states, good) = jax.lax.scan(interval, first, jnp.stack([ts[:-1], ts[1:]], axis=1))
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, states), jnp.all(good)
