"""The continuous side: accelerations, and trajectories of the continuous equations to high
accuracy.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from accion.checks import Start, check_entropy, check_higher, check_start, check_system, is_traced
from accion.engines.auto import callable_of, small_jit
from accion.instant.constrained import beyond_numbers, index_one, look, project_at, thermal_rates
from accion.instant.starts import check_first, check_rank, check_regular
from accion.methods import Midpoint
from accion.spaces import check_vector
from accion.stepping.higher import look as higher_look
from accion.stepping.thermal import check_temperatures
from accion.systems import Entropic, HigherOrderSystem, ThermalSystem

# of the whole time at least, after each of which a constrained motion is put back on its constraint
PIECES = 40
OUTSIDE, FAR = 1e100, 1e50  # a rate that no step can take, and where one would lead


def accelerations(system) -> Callable[..., Any]:
    """The function (t, q, v) -> a, shape (dim,), from the Euler-Lagrange equations with force

        d2L/dv2 a = dL/dq + ad*_v dL/dv + F + A^T lam - d/dq(dL/dv).v - d/dt(dL/dv)

    (000 eq 2, 002 eq 1).

    On a group v is the velocity of the body, q' = q hat(v), and a its derivative; on a flat space
    ad* is zero. With holonomic or nonholonomic constraints it returns (a, lam), from the constraint
    differentiated in time (index 1). For a vakonomic system, whose multipliers are part of the
    state, it is (t, q, v, lam) -> (a, dlam/dt); for a thermal system (t, q, v, S) -> (a, dS/dt),
    with dL/dS dS/dt = F_fr.v - P_H (001 Thm 3.9). For a system of order r it is (t, q, jets) ->
    q^(2r), `jets` being (q', ..., q^(2r-1)), shape (2r - 1, dim); with a constraint (t, q, jets,
    lams) -> (q^(2r), lam^(r)), `lams` being (lam, ..., lam^(r-1)).
    """
    system = check_system(system, Midpoint()) if not isinstance(system, Entropic) else system
    if isinstance(system, HigherOrderSystem):
        system.check()
        return lambda t, q, jets, lams=None: higher_accelerations(system, t, q, jets, lams)
    if isinstance(system, Entropic):
        return lambda t, q, v, S: thermal_accelerations(system, t, q, v, S)
    system.check()
    if system.vakonomic is not None:
        return lambda t, q, v, lam: mechanical_accelerations(system, t, q, v, lam)
    if system.constraint is not None:
        return lambda t, q, v: mechanical_accelerations(system, t, q, v, None)
    return lambda t, q, v: mechanical_accelerations(system, t, q, v, None)[0]


# Compiled once for all systems built alike: what is traced anew in each call takes ten times as
# long.
solved, solved_highest, solved_thermal = (
    small_jit(index_one),
    small_jit(HigherOrderSystem.highest),
    small_jit(thermal_rates),
)
looked = small_jit(look)


def mechanical_accelerations(system, t, q, v, lam):
    """(a, lam), and a sentence where the equations do not determine them."""
    q, v = system.space.check(q, "q"), check_vector(v, system.space.dim, "v")
    lam = None if lam is None else check_vector(lam, system.multipliers, "lam", "multiplier")
    t = jnp.asarray(t, dtype=float)
    if system.constraint is not None and not is_traced((system, t, q, v, lam)):
        # Equations that depend on each other need not give NaN: their rounding may give anything.
        where = f"at t = {float(t):g}, q = {jax.tree.map(lambda a: np.asarray(a).tolist(), q)}"
        check_rank(system, np.asarray(looked(system, t, q, v).matrix), where)
    found = solved(system, t, q, v, lam)
    if system.constraint is None and not is_traced(found) and not np.all(np.isfinite(found[0])):
        check_regular(
            system, None if (H := looked(system, t, q, v).bordered) is None else np.asarray(H)
        )
    return found


def higher_accelerations(system, t, q, jets, lams):
    """q^(2r), with a constraint (q^(2r), lam^(r))."""
    q, jets = system.space.check(q, "q"), check_higher(system, "v0", jets, "jets")
    if system.vakonomic is None:
        return solved_highest(system, jnp.asarray(t, dtype=float), q, jets, None)[0]
    if lams is None:
        raise ValueError(
            "the accelerations of a system with a vakonomic constraint are a function of (t, q,"
            " jets, lams); lams is missing."
        )
    return solved_highest(
        system, jnp.asarray(t, dtype=float), q, jets, check_higher(system, "lam0", lams, "lams")
    )


def thermal_accelerations(system, t, q, v, S):
    system = check_system(system, Midpoint(), S0=S)
    system.check()
    q, v, S = (
        system.space.check(q, "q"),
        check_vector(v, system.space.dim, "v"),
        check_entropy(system, S, "S"),
    )
    a, dS = solved_thermal(system, jnp.asarray(t, dtype=float), system.together(q, S), v)
    return a, system.frame.shown(dS)


def reference(
    system,
    *,
    q0,
    v0,
    ts,
    S0=None,
    lam0=None,
    rtol=1e-12,
    atol=1e-12,
    max_steps=1_000_000,
    with_error=False,
) -> Any:
    """The continuous trajectory through (q0, v0) at time ts[0], at the times `ts`: (q, v), one row
    for each time.

    Integrated by an explicit Runge-Kutta method of order 8 with step control (SciPy's DOP853).
    `rtol` and `atol` bound the error of each step, not that of the trajectory, which grows with
    time as the errors of the steps add up and neighbouring motions part: with 1e-12 a planet is off
    by about 1e-8 after 16 revolutions, a chaotic motion by anything after long enough. `with_error`
    adds an estimate of it, one number for each time, to what is returned: the distance to a second
    run with tolerances ten times as large. A constrained motion is projected onto its constraint
    many times on the way. For a vakonomic system `lam0` is needed, and (q, v, lam) is returned; for
    a thermal system `S0`, and (q, v, S). For a system of order r, v and v0 are (q', ..., q^(2r-1)),
    lam and lam0 (lam, ..., lam^(r-1)).
    """
    system = check_system(system, Midpoint(), S0=S0)
    system.check()
    start = check_start(system, Start(q0, v0, lam0=lam0, S0=S0))
    z0 = system.together(start.q0, start.S0)
    ts = jnp.asarray(ts, dtype=float)
    if ts.ndim != 1 or len(ts) < 2 or not bool(jnp.all(jnp.diff(ts) > 0)):
        raise ValueError(
            "ts must be at least two increasing times, the first one that of q0; got"
            f" {np.asarray(ts)}."
        )
    check_first(system, first_look(system, ts[0], z0, start.v0, start.lam0), start)
    lam0 = jnp.zeros(0) if lam0 is None else start.lam0
    if isinstance(system, Entropic):
        check_temperatures(system, first_temperature(system, ts[0], z0, start.v0))
    states = integrate(system, z0, start.v0, lam0, ts, rtol, atol, max_steps)
    if states is None:
        why = beyond_numbers(system, ts[-1], z0, start.v0)
        raise RuntimeError(
            f"the continuous equations could not be integrated to t = {float(ts[-1]):g} with rtol ="
            f" {rtol:g}: "
            + (why or "the solution may not exist that far, or max_steps is too small")
            + "."
        )
    more = (
        (estimated_error(system, z0, start.v0, lam0, ts, rtol, atol, max_steps, states),)
        if with_error
        else ()
    )
    z, v, lam = unflat(jnp.asarray(states), z0, start.v0.size)
    q, S = system.apart(z if system.space.flat else jax.jit(jax.vmap(system.step_space.project))(z))
    if S is not None:
        return q, v, S, *more
    if isinstance(system, HigherOrderSystem):
        v, lam = (
            v.reshape(len(ts), -1, system.space.dim),
            lam.reshape(len(ts), system.order, system.multipliers),
        )
    return (q, v, lam, *more) if system.vakonomic is not None else (q, v, *more)


def estimated_error(system, z0, v0, lam0, ts, rtol, atol, max_steps, states):
    """How far the states are from those with tolerances ten times as large, whose error is larger
    than theirs: shape (times,).
    """
    other = integrate(system, z0, v0, lam0, ts, 10 * rtol, 10 * atol, max_steps)
    if other is None:
        raise RuntimeError(
            f"the error of the continuous trajectory cannot be estimated: with rtol = {10 * rtol:g}"
            " it is not integrated to the end."
        )
    return np.max(np.abs(states - other), axis=1)


def flat(z, v, lam):
    """The state of the continuous equations as one vector: configuration (on a group the entries of
    its matrix), velocity, multipliers.
    """
    return np.concatenate(
        [*(np.ravel(leaf) for leaf in jax.tree.leaves(z)), np.ravel(v), np.ravel(lam)]
    )


def unflat(y, z, n):
    """(z, v, lam) of a state or of rows of them, `z` a configuration to take the shapes from and n
    the length of v.
    """
    leaves, treedef = jax.tree.flatten(z)
    ends = np.cumsum([0, *(leaf.size for leaf in leaves)])
    parts = [
        y[..., a:b].reshape(*y.shape[:-1], *leaf.shape)
        for a, b, leaf in zip(ends[:-1], ends[1:], leaves, strict=True)
    ]
    return (
        jax.tree.unflatten(treedef, parts),
        y[..., ends[-1] : ends[-1] + n],
        y[..., ends[-1] + n :],
    )


@small_jit
def first_look(system, t, z, v, lam):
    return (
        higher_look(system, t, z, v, lam)
        if isinstance(system, HigherOrderSystem)
        else look(system, t, z, v, lam)
    )


first_temperature = small_jit(lambda system, t, z, v: system.temperature(t, z, v))


def rates(system, t, y, z):
    """The right-hand side of the continuous equations."""
    if isinstance(system, HigherOrderSystem):
        return higher_rates(system, t, y, z)
    q, v, lam = unflat(y, z, system.space.dim)
    if isinstance(system, Entropic):
        a, dS = thermal_rates(system, t, q, v)
        dq, dlam = system.step_space.tangent(q, jnp.concatenate([v, dS])), lam
    else:
        a, rate = index_one(system, t, q, v, lam if system.vakonomic is not None else None)
        dq, dlam = (
            system.space.tangent(q, v),
            (rate if rate is not None and system.vakonomic is not None else lam),
        )
    change = jnp.concatenate([*(jnp.ravel(leaf) for leaf in jax.tree.leaves(dq)), a, dlam])
    # Where a trial step leads out of the domain the step control must see an error, which it does
    # not in NaN.
    inside = (
        jnp.isfinite(change) & jnp.all(system.temperature(t, q, v) > 0)
        if isinstance(system, ThermalSystem)
        else jnp.isfinite(change)
    )
    return jnp.where(inside, change, OUTSIDE)


@jax.jit
def put_back(system, t, y, z):
    """The state nearest to y that satisfies the constraint."""
    q, v, lam = unflat(y, z, system.space.dim)
    q, v = project_at(system, t, system.space.project(q), v)
    return jnp.concatenate([*(jnp.ravel(leaf) for leaf in jax.tree.leaves(q)), v, lam])


def higher_rates(system, t, y, z):
    """d/dt of (q, jets, lams) of a system of higher order."""
    n, r = system.space.dim, system.order
    q, v, lam = unflat(y, z, (2 * r - 1) * n)
    jets, lams = v.reshape(-1, n), lam.reshape(r, system.multipliers)
    top, last = system.highest(t, q, jets, lams)
    dq = jax.tree.leaves(system.space.tangent(q, jets[0]))
    change = jnp.concatenate([*(jnp.ravel(leaf) for leaf in dq), *jets[1:], top, *lams[1:], last])
    return jnp.where(jnp.isfinite(change), change, OUTSIDE)


def entropy_tolerance(system, t, z, v, atol, size):
    """`atol` for each number of the state; of an entropy it is a part of energy over temperature
    where that is less than 1.
    """
    scale = abs(float(system.energy(t, z, v))) / float(jnp.min(system.temperature(t, z, v)))
    n, m = system.space.dim, system.frame.m
    return np.concatenate(
        [
            np.full(size - n - m, atol),
            np.full(m, atol * min(1.0, scale) if scale > 0 else atol),
            np.full(n, atol),
        ]
    )


def integrate(system, z0, v0, lam0, ts, rtol, atol, max_steps):
    """The states at the times `ts`, one row for each, or None where the equations could not be
    integrated so far.
    """
    pieces = 1 if system.constraint is None else max(2, -(-PIECES // (len(ts) - 1)))
    y, step, count = flat(z0, v0, lam0), None, 0
    rows, rate = [y], callable_of("rates", rates, system, np.float64(ts[0]), y, z0)
    if isinstance(system, Entropic):
        atol = entropy_tolerance(system, ts[0], z0, v0, atol, len(y))
    for a, b in pairwise(np.asarray(ts)):
        for t, end in pairwise(np.linspace(a, b, pieces + 1)):
            first = None if step is None else min(step, end - t)
            # SciPy's own interpolation between steps is less accurate: each time asked for is the
            # end of a run.
            found = solve_ivp(
                lambda t, y: np.asarray(rate(system, np.float64(t), y, z0)),
                (t, end),
                y,
                method="DOP853",
                rtol=rtol,
                atol=atol,
                first_step=first,
            )
            count += len(found.t) - 1
            if found.status != 0 or not np.all(np.abs(found.y[:, -1]) < FAR) or count > max_steps:
                return None
            y, step = found.y[:, -1], max(np.diff(found.t)[:-1], default=step)
            if system.constraint is not None:
                y = np.asarray(put_back(system, np.float64(end), y, z0))
        rows.append(y)
    return np.stack(rows)
