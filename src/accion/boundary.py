"""Two-point problems: all steps at once, by Newton's method on a banded system."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import inputs, nodes
from accion.errors import ConnectFailed
from accion.pullback import variation
from accion.trajectory import Trajectory, rows

ITERATIONS = 100
HALVINGS = 12


class Path(NamedTuple):
    """The unknowns: configurations at all nodes, and the multipliers of nodes (holonomic) or steps (vakonomic)."""

    q: Any
    lam: jax.Array


def connect(system, method, *, qa, qb, duration, steps, t0=0.0, guess=None, params=None) -> Trajectory:
    """The discrete trajectory from `qa` at time t0 to `qb` at time t0 + duration: stationary for the whole discrete action.

        D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^- + h A^T lam_k = 0        at each inner node

    with phi(t_k, q_k) = 0 at the inner nodes (holonomic), or Phi = 0 sampled on each step and L + lam_k.Phi (vakonomic, 004 eq 8.1-8.3).
    All steps are solved at once, at a cost linear in their number. `guess` is a `Trajectory` or configurations at the steps + 1 times;
    without it, the straight line. There may be several solutions: it is the one that Newton's method reaches from the guess. Failure
    raises `ConnectFailed`.
    """
    system = inputs.check_system(system, method, params)
    system.check()
    if not isinstance(system, inputs.System):
        raise ValueError("connect does not support thermal systems: heat has a direction of time, and entropy no second end. Use simulate.")
    if system.nonholonomic is not None:
        raise ValueError(
            "a nonholonomic system has no two-point problem: its velocities have fewer degrees of freedom than qb, so two given ends "
            "are too many conditions. Simulate it from one end."
        )
    if not isinstance(steps, int | np.integer) or steps < 2:
        raise ValueError(f"steps must be a whole number >= 2; got {steps!r}.")
    t0, duration = inputs.check_times(t0, duration, steps, 1)
    h = duration / steps
    qa, qb = system.space.check(qa, "qa"), system.space.check(qb, "qb")
    check_end(system, t0, qa, "qa")
    check_end(system, t0 + duration, qb, "qb")
    path = first_path(system, t0, h, qa, qb, steps, guess)
    path, iterations = newton(system, method, t0, h, steps, path)
    return collect(system, method, t0, h, steps, path, iterations)


def check_end(system, t, q, name):
    if system.holonomic is not None:
        off = float(jnp.max(jnp.abs(system.holonomic(t, q, system.params))))
        if off > 1e-8:
            raise ValueError(f"{name} is off the constraint of {system.name} by {off:.3g}. Move it there: accion.project(system, {name}, v).")


def first_path(system, t0, h, qa, qb, steps, guess):
    space, m = system.space, system.multipliers
    lam = jnp.zeros((steps if system.vakonomic is not None else steps + 1, m))
    times = t0 + h * jnp.arange(steps + 1)
    if guess is None:
        x = space.local(qa, qb)
        q = jax.vmap(lambda s: space.retract(qa, s * x))(jnp.linspace(0, 1, steps + 1))
        if system.holonomic is not None:
            q, _ = jax.vmap(lambda t, q: nodes.project_at(system, t, q, jnp.zeros(space.dim)))(times, q)
    else:
        q = guess.q if isinstance(guess, Trajectory) else guess
        q = jax.tree.map(lambda a: jnp.asarray(a, dtype=float), q)
        if any(len(leaf) != steps + 1 for leaf in jax.tree.leaves(q)):
            raise ValueError(f"guess must have a configuration at each of the {steps + 1} times.")
        space.check(jax.tree.map(lambda leaf: leaf[0], q), "guess[0]")
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(q)):
        message = "no path on the constraint was found between qa and qb to start from; pass one as guess=."
        raise ConnectFailed(message, residual=float("nan"), t=float(t0))
    # The ends are the given ones, whatever the guess says.
    q = jax.tree.map(lambda a, first, final: a.at[0].set(first).at[-1].set(final), q, qa, qb)
    return Path(q, lam)


# ---------------------------------------------------------------- the equations, block by block


def block(system, method, h, t, q, e, lam):
    """The equations that belong to the node in the middle of three, displaced by `e`, shape (3, dim), with the multipliers `lam`.

    `t` is the time of the middle. Holonomic: the momentum balance there and phi. Vakonomic: the momentum balance and Phi of the step
    that follows; lam holds the multipliers of the step before and of the one after.
    """
    space = system.space
    before, here, after = (space.retract(qk, ek) for qk, ek in zip(q, e, strict=True))
    x0, x1 = space.local(before, here), space.local(here, after)
    constraint = system.constraint
    lam0, lam1 = (None, None) if constraint is None else lam
    balance = variation(system, method, t - h, h, before, x0, lam0)[1] + variation(system, method, t, h, here, x1, lam1)[0]
    if constraint is None:
        return balance
    if system.vakonomic is None:
        balance = balance + h * constraint.reaction(system, t, here, None, lam1)
        return jnp.concatenate([balance, constraint.value(system, t, here, None)])
    return jnp.concatenate([balance, closure(system, method, t, h, here, x1)])


def closure(system, method, t, h, q, x):
    zero = jnp.zeros_like(x)
    return system.constraint.closure(system, method.samples(system.space, t, h, q, x, zero, zero), t + h, system.space.retract(q, x))


def triples(system, path):
    """For each inner node: the three configurations around it, and the multipliers before and after."""
    parts = jax.tree.map(lambda a: (a[:-2], a[1:-1], a[2:]), path.q, is_leaf=lambda a: isinstance(a, jax.Array))
    q: Any = tuple(tuple(part[i] for part in parts) for i in range(3)) if isinstance(path.q, tuple) else parts
    if system.vakonomic is not None:
        return q, jnp.stack([path.lam[:-1], path.lam[1:]], axis=1)
    return q, jnp.stack([path.lam[1:-1], path.lam[1:-1]], axis=1)


@jax.jit(static_argnames=("method", "steps"))
def equations(system, method, t0, h, steps, path):
    """The residual: Phi of the first step (vakonomic), then a row for each inner node."""
    q, lam = triples(system, path)
    times = t0 + h * jnp.arange(1, steps)
    zero = jnp.zeros((3, system.space.dim))
    r = jax.vmap(lambda t, q, lam: block(system, method, h, t, q, zero, lam))(times, q, lam)
    return first_closure(system, method, t0, h, path), r


def first_closure(system, method, t0, h, path):
    if system.vakonomic is None:
        return jnp.zeros(0)
    q0, q1 = (jax.tree.map(lambda a, k=k: a[k], path.q) for k in (0, 1))
    return closure(system, method, t0, h, q0, system.space.local(q0, q1))


@jax.jit(static_argnames=("method", "steps"))
def derivatives(system, method, t0, h, steps, path):
    """The derivatives of each row by the three displacements, shape (nodes, rows, 3, dim), and by the multipliers before and after."""
    q, lam = triples(system, path)
    times = t0 + h * jnp.arange(1, steps)
    zero = jnp.zeros((3, system.space.dim))
    De = jax.vmap(lambda t, q, lam: jax.jacfwd(lambda e: block(system, method, h, t, q, e, lam))(zero))(times, q, lam)
    Dlam = jax.vmap(lambda t, q, lam: jax.jacfwd(lambda lam: block(system, method, h, t, q, zero, lam))(lam))(times, q, lam)
    if system.vakonomic is None:
        return De, Dlam, jnp.zeros((0, system.space.dim))
    q0, q1 = (jax.tree.map(lambda a, k=k: a[k], path.q) for k in (0, 1))
    space = system.space
    first = jax.jacfwd(lambda e: closure(system, method, t0, h, q0, space.local(q0, space.retract(q1, e))))(jnp.zeros(space.dim))
    return De, Dlam, first


def newton(system, method, t0, h, steps, path):
    """The path that solves all equations, and how many iterations it took."""
    error = residual_size(*equations(system, method, t0, h, steps, path))
    for i in range(ITERATIONS):
        r = equations(system, method, t0, h, steps, path)
        change = linear_step(system, r, derivatives(system, method, t0, h, steps, path), steps)
        relative = float(jnp.max(jnp.abs(change[0])) / (1 + max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(path.q))))
        path, error, scale = damped(system, method, t0, h, steps, path, change, error)
        if scale == 1.0 and relative < 1e-9:
            return path, i + 1
        if scale == 0.0:
            break
    _, inner = equations(system, method, t0, h, steps, path)
    worst = int(np.argmax(np.max(np.abs(np.asarray(inner)), axis=1))) + 1
    t = float(t0 + worst * h)
    raise ConnectFailed(
        f"no trajectory between qa and qb was found in {ITERATIONS} iterations: the equations are off by {error:.3g}, most at t = {t:.4g}. "
        "Pass a better guess= (a solution with a shorter duration or fewer steps), or check that one exists.",
        residual=error,
        t=t,
    )


def residual_size(first, inner):
    return float(max(np.max(np.abs(np.asarray(inner))), np.max(np.abs(np.asarray(first)), initial=0.0)))


def damped(system, method, t0, h, steps, path, change, error):
    """The path after as much of the step as does not make the residual much larger; its residual and the part taken, 0 if none was good."""
    scale = 1.0
    for _ in range(HALVINGS):
        e, dlam = change
        q = jax.vmap(lambda q, e, s: system.space.retract(q, s * e), in_axes=(0, 0, None))(path.q, e, scale)
        new = Path(q, path.lam + scale * dlam)
        size = residual_size(*equations(system, method, t0, h, steps, new))
        # Far from a solution a full step may pass through larger residuals; near it, rounding lets them grow a little.
        if np.isfinite(size) and size <= max(2.0 * error, 1e-9):
            return new, size, scale
        scale /= 2
    return path, error, 0.0


def linear_step(system, residual, jacobians, steps):
    """The Newton correction: displacements of all nodes, shape (steps + 1, dim), and of all multipliers.

    Unknowns in the order (lam_0), q_1, lam_1, q_2, lam_2, ... and equations likewise: a band, solved by LAPACK with pivoting.
    """
    from scipy.linalg import solve_banded

    n, m = system.space.dim, system.multipliers
    first, inner = (np.asarray(a) for a in residual)
    De, Dlam, D_first = (np.asarray(a) for a in jacobians)
    count, rows_per, _, _ = De.shape
    b = n + m
    lead = m if system.vakonomic is not None else 0
    size = lead + count * b
    width = 2 * b
    band = np.zeros((2 * width + 1, size))

    def put(row, column, values):
        """Entries `values` at (row, column), arrays of the same shape."""
        inside = (column >= 0) & (column < size)
        np.add.at(band, (width + row[inside] - column[inside], column[inside]), values[inside])

    node = lead + b * np.arange(count)
    row = np.broadcast_to(node[:, None, None] + np.arange(rows_per)[None, :, None], (count, rows_per, n))
    for j in range(3):
        where = node + (j - 1) * b
        column = where[:, None, None] + np.arange(n)[None, None, :]
        # The ends do not move: the first node has none before it, the last none after.
        keep = np.ones(count, dtype=bool)
        keep[0 if j == 0 else -1] = j == 1
        put(row[keep], np.broadcast_to(column, row.shape)[keep], De[:, :, j, :][keep])
    if m:
        row = np.broadcast_to(node[:, None, None] + np.arange(rows_per)[None, :, None], (count, rows_per, m))
        after = np.broadcast_to(node[:, None, None] + n + np.arange(m)[None, None, :], row.shape)
        if lead:
            before = np.broadcast_to(node[:, None, None] - m + np.arange(m)[None, None, :], row.shape)
            put(row, before, Dlam[:, :, 0, :])
            put(row, after, Dlam[:, :, 1, :])
            r, c = np.meshgrid(np.arange(m), lead + np.arange(n), indexing="ij")
            put(r, c, D_first)
        else:
            put(row, after, Dlam.sum(axis=2))
    x = solve_banded((width, width), band, -np.concatenate([first, inner.ravel()]), overwrite_ab=True, check_finite=False)
    body = x[lead:].reshape(count, b)
    e = np.zeros((steps + 1, n))
    e[1:-1] = body[:, :n]
    if system.vakonomic is not None:
        dlam = np.concatenate([x[:lead].reshape(1, m), body[:, n:]])
    else:
        dlam = np.zeros((steps + 1, m))
        dlam[1:-1] = body[:, n:]
    return jnp.asarray(e), jnp.asarray(dlam)


def collect(system, method, t0, h, steps, path, iterations):
    space = system.space
    t = t0 + h * jnp.arange(steps + 1)

    @jax.jit
    def momenta(system, q, lam):
        a, b = (jax.tree.map(lambda leaf, s=s: leaf[s], q) for s in (slice(None, -1), slice(1, None)))
        x = jax.vmap(space.local)(a, b)
        lam_step = lam if system.vakonomic is not None else None
        minus, plus = jax.vmap(lambda t, q, x, lam: variation(system, method, t, h, q, x, lam), in_axes=(0, 0, 0, None if lam_step is None else 0))(
            t[:-1], a, x, lam_step
        )
        return jnp.concatenate([-minus[:1], plus]), jnp.concatenate([x[:1], x]) / h

    p, guess = momenta(system, path.q, path.lam)
    lam = None
    if system.constraint is not None:
        _, p, lam = rows(nodes.node, False, system, t, path.q, p, guess)
    count = jnp.full(steps + 1, iterations)
    done = {"success": jnp.array(True), "steps_completed": jnp.array(steps), "iterations": count}
    return Trajectory(t=t, q=path.q, p=p, lam=lam, h=h, system=system, method=method, guess=guess, **done)
