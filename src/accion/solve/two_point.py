"""Two-point problems: all windows at once, by Newton's method on a banded system.

A window is a step, or for a system of order r any r + 1 configurations that follow each other. As
in the method of finite elements, each window adds its derivatives D_j Ld to the equations of its
nodes, and their derivatives to the matrix.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.assembly.bands import Band
from accion.discretise import window
from accion.engines.auto import small_map
from accion.errors import ConnectFailed
from accion.instant import constrained
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.solve.equations import (
    Ends,
    Path,
    derivatives,
    equations,
    laid_out,
    pieces,
)
from accion.stepping import nodal
from accion.systems import HigherOrderSystem
from accion.systems.rank import regular_or_raise, relative_rank
from accion.systems.start import check_configurations, check_rows, stacked

ITERATIONS = 100
HALVINGS = 12
# Where rounding moves a solution by more than this part of its size, it is asked whether the system
# is regular at all.
LOOSE = 1e-3


def connect(
    system, method, *, qa, qb, va=None, vb=None, duration, steps, t0=0.0, guess=None, params=None
) -> Trajectory:
    """The discrete trajectory from `qa` at time t0 to `qb` at time t0 + duration: stationary for
    the whole discrete action.

        D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^- + h A^T lam_k = 0

    at each inner node, with phi(t_k, q_k) = 0 there (holonomic), or Phi = 0 sampled on each step
    and L + lam_k.Phi (vakonomic, 004 eq 8.1-8.3).

    For a system of order r it is sum_j D_j Ld = 0 at q_r, ..., q_{N-r} (004 sections 8.3 and 8.4).
    Its ends are either `qa` and `qb` with r configurations each, the first and the last ones of the
    trajectory, or one configuration each and the derivatives q', ..., q^(r-1) there, `va` and `vb`
    of shape (r - 1, dim): then those of the polynomial through the first (last) r + 1 nodes are
    equal to them.

    All steps are solved at once, at a cost linear in their number. `guess` is a `Trajectory` or
    configurations at the steps + 1 times; without it, the straight line. There may be several
    solutions: it is the one that Newton's method reaches from the guess. Failure raises
    `ConnectFailed`.
    """
    system = checks.check_system(system, method, params)
    system.check()
    if system.entropic:
        raise ValueError(
            "connect does not support thermal systems: heat has a direction of time, and entropy no"
            " second end. Use simulate."
        )
    if system.holds_velocities:
        raise ValueError(
            "a nonholonomic system has no two-point problem: its velocities have fewer degrees of"
            " freedom than qb, so two given ends are too many conditions. Simulate it from one end."
        )
    r = system.order
    steps = checks.whole(steps, "steps", 2 * r)
    t0, duration = checks.check_times(t0, duration, steps, 1)
    h = duration / steps
    ends = check_ends(system, qa, qb, va, vb)
    check_on_constraint(system, t0, first(ends.qa), "qa")
    check_on_constraint(system, t0 + duration, last(ends.qb), "qb")
    path = first_path(system, t0, h, ends, steps, guess)
    path, iterations = newton(system, method, t0, h, steps, path, ends)
    return collect(system, method, t0, h, steps, path, iterations)


def first(q):
    return jax.tree.map(lambda a: a[0], q)


def last(q):
    return jax.tree.map(lambda a: a[-1], q)


def check_ends(system, qa, qb, va, vb):
    r, n, space = system.order, system.space.dim, system.space
    if (va is None) != (vb is None):
        raise ValueError("give derivatives at both ends, va and vb, or at none.")
    if va is not None and r == 1:
        raise ValueError(
            "va and vb belong to systems of order 2 or more; a system of order 1 is determined by"
            " qa and qb."
        )
    if r == 1:
        return Ends(
            stacked([space.check(qa, "qa")]),
            stacked([space.check(qb, "qb")]),
            None,
            None,
        )
    if va is None:
        return Ends(
            check_configurations(space, qa, r, "qa"),
            check_configurations(space, qb, r, "qb"),
            None,
            None,
        )
    words = f"q', ..., q^(r-1) of a system of order r = {r}"
    va, vb = (check_rows(v, r - 1, n, name, words) for v, name in ((va, "va"), (vb, "vb")))
    return Ends(stacked([space.check(qa, "qa")]), stacked([space.check(qb, "qb")]), va, vb)


def check_on_constraint(system, t, q, name):
    if system.holds_positions:
        off = float(jnp.max(jnp.abs(system.holonomic(t, q, system.params))))
        if off > 1e-8:
            raise ValueError(
                f"{name} is off the constraint of {system.name} by {off:.3g}. Move it there:"
                f" accion.project(system, {name}, v, t={float(t):g})."
            )


def first_path(system, t0, h, ends, steps, guess):
    space, m = system.space, system.multipliers
    lam = jnp.zeros((steps + 1 - system.order if system.enters_action else steps + 1, m))
    times = t0 + h * jnp.arange(steps + 1)
    if guess is None:
        x = space.local(first(ends.qa), last(ends.qb))
        q = jax.vmap(lambda s: space.retract(first(ends.qa), s * x))(jnp.linspace(0, 1, steps + 1))
        if system.holds_positions:
            q, _ = jax.vmap(
                lambda t, q: constrained.project_at(system, t, q, jnp.zeros(space.dim))
            )(times, q)
    else:
        q = guess.q if isinstance(guess, Trajectory) else guess
        q = jax.tree.map(lambda a: jnp.asarray(a, dtype=float), q)
        if any(len(leaf) != steps + 1 for leaf in jax.tree.leaves(q)):
            raise ValueError(f"guess must have a configuration at each of the {steps + 1} times.")
        space.check(jax.tree.map(lambda leaf: leaf[0], q), "guess[0]")
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(q)):
        message = (
            "no path on the constraint was found between qa and qb to start from; pass one as"
            " guess=."
        )
        raise ConnectFailed(message, residual=float("nan"), t=float(t0))
    # The ends are the given ones, whatever the guess says.
    q = jax.tree.map(
        lambda a, head, tail: a.at[: len(head)].set(head).at[len(a) - len(tail) :].set(tail),
        q,
        ends.qa,
        ends.qb,
    )
    return Path(q, all_increments(space, q), lam)


def all_increments(space, q):
    return jax.vmap(space.local)(
        jax.tree.map(lambda a: a[:-1], q), jax.tree.map(lambda a: a[1:], q)
    )


# ---------------------------------------------------------------- Newton's method


def newton(system, method, t0, h, steps, path, ends):
    """The path that solves all equations, and how many iterations it took."""
    problem = (system, method, t0, h, steps)
    error, how = off(problem, path, ends), f"in {ITERATIONS} iterations"
    for i in range(ITERATIONS):
        extent = 1 + max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(path.q))
        step = linear_step(
            system,
            equations(*problem, path, ends),
            derivatives(*problem, path, ends),
            steps,
            extent,
        )
        if step.x is None:
            scale, relative, how = (
                0.0,
                np.inf,
                (
                    f"after {i} iterations, where Newton's matrix is singular (too symmetric a"
                    " guess, or conjugate ends)"
                ),
            )
        else:
            path, error, scale, change = improved(problem, path, ends, step, error)
            relative = float(jnp.max(jnp.abs(change[0])) / extent)
        # Where the step leads nowhere the path may solve the equations all the same: the ends may
        # allow many such paths.
        if (scale == 1.0 and relative < 1e-9) or (scale == 0.0 and step.solved):
            if step.x is None or step.sway > LOOSE * extent:
                check_regular(system, t0, h, steps, path)
            return path, i + 1
        if scale == 0.0:
            break
    check_regular(system, t0, h, steps, path)
    balance, _ = equations(*problem, path, ends)
    t = float(t0 + int(np.argmax(np.max(np.abs(np.asarray(balance)), axis=1))) * h)
    raise ConnectFailed(
        f"no trajectory between qa and qb was found {how}; the equations are off by {error:.3g},"
        f" most at t = {t:.4g}. Pass a better guess= (a solution with a shorter duration or fewer"
        " steps), or check that one exists.",
        residual=error,
        t=t,
    )


def check_regular(system, t0, h, steps, path):
    """Raise ValueError where the system is regular nowhere on the path: its ends then do not
    determine it.
    """
    K = np.asarray(regularity(*laid_out(system, t0, h, steps, path)[:2]))
    finite = K[np.all(np.isfinite(K), axis=(1, 2))]
    if len(finite) and all(relative_rank(each, system.space.dim)[0] < len(each) for each in finite):
        regular_or_raise(system, finite[len(finite) // 2], "between qa and qb")


@small_map
def regularity(fixed, row):
    """The matrix that is to be regular, on a window: d2L/dv2, of order r by q^(r), bordered by the
    constraints.
    """
    (system, h), (t, q, x, lam) = fixed, row
    lam = lam if system.enters_action else None
    if isinstance(system, HigherOrderSystem):
        d = window.combine(window.differencing(len(x)), x)
        return system.regularity(t, q, window.derivatives(d, 0.0, h), lam)
    return constrained.bordered(system, t, q, x[0] / h, lam)


def size(residual):
    return max(float(np.max(np.abs(np.asarray(part)), initial=0.0)) for part in residual)


def off(problem, path, ends):
    """How far a path is from solving the equations."""
    system, method, t0, h, steps = problem
    return size(equations(system, method, t0, h, steps, path, ends))


def improved(problem, path, ends, step, error):
    """What `damped` returns, and the change: that of the step or, where it does not help, without
    its weakest directions if that does.

    Where solutions form a family, as geodesics between the poles of a sphere do, Newton's steps
    wander along it.
    """
    system, steps = problem[0], problem[-1]
    change = parted(system, steps, step.x)
    new, left, scale = damped(problem, path, ends, change, error)
    if scale < 1.0 or left > 0.5 * error:
        for k in range(1, step.weak.shape[1] + 1):
            less = parted(system, steps, step.without(k))
            other = moved(system.space, path, *less)
            if (rest := off(problem, other, ends)) < 0.1 * min(left, error):
                return other, rest, 1.0, less
    return new, left, scale, change


def parted(system, steps, x):
    """The displacements of nodes and the changes of multipliers in a solution of the banded
    system.
    """
    x = x.reshape(steps + 1, -1)
    count = len(x) - system.order if system.enters_action else len(x)
    return jnp.asarray(x[:, : system.space.dim]), jnp.asarray(x[:count, system.space.dim :])


def damped(problem, path, ends, change, error):
    """The path after as much of the step as does not make the residual much larger; its residual
    and the part taken, 0 if none was good.
    """
    system, scale = problem[0], 1.0
    for _ in range(HALVINGS):
        e, dlam = change
        new = moved(system.space, path, scale * e, scale * dlam)
        left = off(problem, new, ends)
        # Far from a solution a full step may pass through larger residuals; near it, rounding lets
        # them grow a little.
        if np.isfinite(left) and left <= max(2.0 * error, 1e-9):
            return new, left, scale
        scale /= 2
    return path, error, 0.0


@jax.jit(static_argnums=0)
def moved(space, path, e, dlam):
    """The path after displacements of its nodes.

    Where increments add up they take theirs, without loss.
    """
    q = jax.vmap(space.retract)(path.q, e)
    return Path(
        q, path.x + (e[1:] - e[:-1]) if space.flat else all_increments(space, q), path.lam + dlam
    )


def linear_step(system, residual, jacobians, steps, extent):
    """The Newton correction, displacements of all nodes and multipliers in one vector (see
    `parted`); `extent` is the size of configurations.

    A block for each node: its displacement, then the multipliers of the window that it begins
    (vakonomic) or its own (holonomic). What is not unknown, the nodes at the ends and multipliers
    that do not exist, has an equation 1 x = 0 and is in no other. Solved by LAPACK with pivoting.
    """
    r, n, m = system.order, system.space.dim, system.multipliers
    balance, closed = (np.asarray(a) for a in residual)
    of_windows, of_nodes, of_ends = jax.tree.map(np.asarray, jacobians)
    band, right = Band(steps + 1, n + m, r), np.zeros((steps + 1, n + m))
    (Ge, Glam), (Ce, _) = of_windows
    k, node = np.arange(len(Ge)), np.arange(steps + 1)
    inner = (node >= r) & (node <= steps - r)
    fixed = ~inner if of_ends is None else (node == 0) | (node == steps)
    for i in range(r + 1):
        mine = inner[k + i]
        for j in range(r + 1):
            both = mine & ~fixed[k + j]
            band.add((k + i)[both], (k + j)[both], Ge[both][:, i, :, j, :])
        if Glam.shape[-1]:
            band.add((k + i)[mine], k[mine], Glam[mine][:, i], column=n)
            free = ~fixed[k + i]
            band.add(k[free], (k + i)[free], Ce[free][:, :, i, :], row=n)
    multiplied = len(Ge) if system.enters_action else steps + 1
    held = (node >= multiplied) | (~inner & system.holds_positions)
    if of_nodes is not None:
        (Fe, Flam), (Pe, _) = of_nodes
        i = np.flatnonzero(inner)
        band.add(i, i, Fe[i])
        band.add(i, i, Flam[i], column=n)
        band.add(i, i, Pe[i], row=n)
    i = np.flatnonzero(held)
    band.add(i, i, np.broadcast_to(np.eye(m), (len(i), m, m)), row=n, column=n)
    i = np.flatnonzero(fixed)
    band.add(i, i, np.broadcast_to(np.eye(n), (len(i), n, n)))
    if of_ends is not None:
        for s in range(r - 1):
            for j in range(1, r + 1):
                band.add(np.array([1 + s]), np.array([j]), of_ends[0][s, :, j][None])
                band.add(
                    np.array([steps - 1 - s]), np.array([steps - j]), of_ends[1][s, :, r - j][None]
                )
    right[:, :n] = -balance
    if m:
        right[: len(closed), n:] = -closed
    return band.correct(right.ravel(), extent)


# ---------------------------------------------------------------- the trajectory


def collect(system, method, t0, h, steps, path, iterations):
    t = t0 + h * jnp.arange(steps + 1)
    G, x = pieces(system, method, t0, h, steps, path), path.x
    done: Any = {
        "success": jnp.array(True),
        "steps_completed": jnp.array(steps),
        "iterations": jnp.full(steps + 1, iterations),
    }
    done |= {"t": t, "q": path.q, "h": h, "system": system, "method": method}
    if isinstance(system, HigherOrderSystem):
        (p, jets, lam), nodal = shown(system, t, path.q, h, steps, np.asarray(G), np.asarray(x))
        return Trajectory(
            p=p, jets=jets, lam=lam if system.multipliers else None, nodal=nodal, **done
        )
    p, guess, lam = jnp.concatenate([-G[:1, 0], G[:, 1]]), jnp.concatenate([x[:1], x]) / h, None
    if system.constraint is not None:
        guess, p, lam = at_times(constrained.node, False, system, t, path.q, p, guess)
    return Trajectory(p=p, lam=lam, guess=guess, **done)


def shown(system, t, q, h, steps, G, x):
    """(p, jets, lam) at each node of a trajectory of higher order, and the `Nodal` that they are
    from.

    It has the r nodes that begin there (near the end, the last r) and their momenta. The momentum
    of a node is what the windows before add to it; at the first r nodes, minus what those from
    there on do.
    """
    r, space = system.order, system.space
    start = np.minimum(np.arange(steps + 1), steps + 1 - r)
    P = np.zeros((steps + 1, r, space.dim))
    for k, s in enumerate(start):
        for j in range(r):
            i = s + j
            P[k, j] = (
                -sum(G[w, i - w] for w in range(s, i + 1))
                if i < r
                else sum(G[w, i - w] for w in range(i - r, s))
            )
    d = np.stack(
        [window.differencing(r) @ x[min(s, steps - r) : min(s, steps - r) + r] for s in start]
    )
    # The last r nodes have no increment after them: their differences are those of the r - 1
    # before.
    own = (
        np.stack([window.differencing(r - 1) @ x[s : s + r - 1] for s in start])
        if r > 1
        else np.zeros((steps + 1, 0, space.dim))
    )
    ahead = np.arange(steps + 1.0) - start
    found = at_times(
        nodal.at_node, False, system, t, q, P, own, d[:, -1], np.full(steps + 1, float(h)), ahead
    )
    return found, jax.tree.map(jnp.asarray, nodal.Nodal(P, own, ahead))
