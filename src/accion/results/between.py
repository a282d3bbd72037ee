"""Between the steps of a trajectory: `Trajectory.at`.

Where a scheme can start from what a trajectory shows, its own step leads there: from the saved time
before, or from the step before that is made again, with the length that is left. A step of length
tau <= h is off by O(h^(k+1)) for a method of order k, so the order is kept, whatever it is; what a
step satisfies (a constraint, the group) holds there too, and at the end of the step it is the next
node.

Windows of several steps cannot be shortened, and of a motion under controls nobody knows them.
There a polynomial goes through m neighbouring nodes
t_i with q_i and v_i: around the nearest one, q_b, they are eta_i = q_b^-1 q_i and eta_i' =
dtau^-1(eta_i) v_i (on flat spaces q_i - q_b and v_i), and

    eta(t) = sum_i a_i(t) eta_i + b_i(t) eta_i',      q = q_b tau(eta),      v = dtau(eta) eta'

is off by O(h^2m), its velocity by O(h^(2m-1)).
"""  # fmt: skip

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import finite, wrong
from accion.checks import refuse
from accion.numerics.arrays import module_of
from accion.numerics.hermite import Weights, combined, weights_of
from accion.results.inner_steps import advanced, joined, mapped, rows_of, spread, taken, walk
from accion.results.moments import Moments
from accion.stepping import scheme_of
from accion.stepping.rows import Row, Shorter, Shown, shorter_scheme
from accion.stepping.weighted import Reduced, shown
from accion.systems.start import is_traced
from accion.types import Scalar, Vector

if TYPE_CHECKING:
    from accion.results.trajectory import Trajectory

UNKNOWN = 4  # the order that is kept where a method does not say its own
BEYOND = 1e-9  # of a step: a time that is outside by so little is the end itself


def at(trajectory: "Trajectory", t: Any) -> Moments:
    """See `Trajectory.at`."""
    trajectory.check_system()
    if trajectory.system.discrete_time:
        refuse("at", trajectory.system.kind, "there is nothing between their steps")
    if trajectory.method is None:
        raise ValueError(
            "this trajectory was loaded without its method, which holds a function of yours; pass"
            " it: accion.load(path, system=..., method=...)."
        )
    times = times_of(trajectory, t)
    if np.all(times.at_row >= 0):
        row = taken(trajectory, rows_of(trajectory), times.at_row)
    elif has_shorter_steps(trajectory):
        row = by_a_shorter_step(trajectory, times)
    else:
        row = by_a_polynomial(trajectory, times)
    q, beside = trajectory.system.parts(row.z)
    guess = row.v if row.jets is None else None
    fields = {"q": q, "p": row.p, "lam": row.lam, "jets": row.jets, "guess": guess}
    if trajectory.system.beside:
        fields[trajectory.system.beside] = beside
    fields["supplied"] = row.supplied
    if trajectory.weighted:
        own = mapped(trajectory, shown, times.t, row.p, row.lam)
        fields |= dict(zip(("p", "lam", "reduced"), own, strict=True))
    fields = with_saved(trajectory, times, fields)
    none = np.zeros((*jnp.shape(trajectory.success), len(times.t)), dtype=int)
    gone = dict.fromkeys(("laws", "nodal", "stored", "carried"))
    rows = replace(trajectory, t=times.t, iterations=none, **gone, **fields)
    if row.jets is None and not is_traced(fields["guess"]):
        rows.__dict__["_v"] = fields["guess"]  # which is v, not only near to it
    return Moments(rows, times.alone)


def has_shorter_steps(trajectory: "Trajectory") -> bool:
    """Whether a step of the scheme alone leads on: not without the controls that acted."""
    scheme = scheme_of(trajectory.system, trajectory.method)
    return not trajectory.controlled and shorter_scheme(scheme) is not None


# ---------------------------------------------------------------- where


class Times(NamedTuple):
    """The times that were asked for, and where they are among the steps."""

    t: np.ndarray
    alone: bool
    node: np.ndarray  # the number of the step that ends there or before, the last but one at most
    after: np.ndarray  # the time since then
    part: np.ndarray  # of the step after it
    every: int  # steps from one saved time to the next
    at_row: np.ndarray  # the saved time that it is, -1 where it is none


def times_of(trajectory: "Trajectory", t: Any) -> Times:
    """The times as numbers.

    Raises:
        ValueError: where one is outside of the run.
    """
    times = finite(t, "t", "a time, or a list of times")
    if is_traced((times, trajectory.t, trajectory.h)):
        raise TypeError(
            "at looks at times, which jax.jit and jax.vmap do not know: call it outside of them;"
            " jax.grad with respect to a start or to params goes through it."
        )
    given = np.asarray(times)
    if given.ndim > 1 or given.size == 0:
        wrong("t", "a time, or a list of times", t)
    found, rows = np.atleast_1d(given), np.asarray(trajectory.t)
    low, high = rows[0] - BEYOND * (rows[1] - rows[0]), rows[-1] + BEYOND * (rows[-1] - rows[-2])
    outside = found[(found < low) | (found > high)]
    if len(outside):
        raise ValueError(
            f"t must be within the run, from {rows[0]:.6g} to {rows[-1]:.6g}; got {outside[0]:.6g}."
            " For a longer one: trajectory.extend(steps)."
        )
    inside, every = np.clip(found, rows[0], rows[-1]), steps_between(trajectory)
    row = np.clip(np.searchsorted(rows, inside, side="right") - 1, 0, len(rows) - 2)
    at_row = np.where(inside == rows[row], row, np.where(inside == rows[row + 1], row + 1, -1))
    after = inside - rows[row]
    if every == 1:
        part = after / (rows[row + 1] - rows[row])
        return Times(found, given.ndim == 0, row, after, part, every, at_row)
    h = float(trajectory.h)
    step = np.clip((after / h).astype(int), 0, every - 1)
    after = after - step * h
    return Times(found, given.ndim == 0, every * row + step, after, after / h, every, at_row)


def steps_between(trajectory: "Trajectory") -> int:
    """How many steps there are from one saved time to the next."""
    rows, h = np.asarray(trajectory.t), np.asarray(trajectory.h)
    if np.all(trajectory.success):
        every = int(np.max(trajectory.steps_completed)) // (len(rows) - 1)
        if every == 1 or h.ndim == 0:
            return every
    if h.ndim == 0:
        return max(1, round((float(rows[-1]) - float(rows[0])) / (float(h) * (len(rows) - 1))))
    raise ValueError(
        "at makes steps again that were not saved, and steps of different lengths it does not: save"
        " all of them, save_every=1."
    )


def with_saved(trajectory: "Trajectory", times: Times, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with what was saved in its place, at the times where something was."""
    here = np.flatnonzero(times.at_row >= 0)
    if not len(here):
        return fields
    saved: dict[str, Any] = {name: getattr(trajectory, name) for name in fields}
    saved["guess"] = trajectory.v
    if trajectory.weighted:
        saved["reduced"] = Reduced(
            trajectory.reduced_p, trajectory.log_weight, trajectory.reduced_lam
        )
    runs = (slice(None),) * trajectory.is_ensemble

    def put(a: Any, b: Any) -> Any:
        there = b[(*runs, times.at_row[here])]
        if module_of((a, b)) is jnp:
            return jnp.asarray(a).at[(*runs, here)].set(there)
        a = np.array(a)
        a[(*runs, here)] = there
        return a

    return {
        name: None if value is None else jax.tree.map(put, value, saved[name])
        for name, value in fields.items()
    }


# ---------------------------------------------------------------- by a step


def by_a_shorter_step(trajectory: "Trajectory", times: Times) -> Row:
    """What a step of the length that is left leads to."""
    method = trajectory.method
    if times.every == 1:
        begun, rows = (
            np.asarray(trajectory.t)[times.node],
            taken(trajectory, rows_of(trajectory), times.node),
        )
    else:
        nodes, which = np.unique(times.node, return_inverse=True)
        begun, states = joined(trajectory, list(walk(trajectory, times.every, nodes)))
        h = spread(trajectory, np.full(len(begun), float(trajectory.h)))
        rows = mapped(trajectory, Shown(method), begun, h, states)
        begun, rows = begun[which], taken(trajectory, rows, which)
    # At a node itself no step is needed, and none of no length is made.
    moved = times.after > 0
    whole = np.where(moved, times.after, np.min(np.diff(np.asarray(trajectory.t))))
    there = mapped(trajectory, Shorter(method), begun, spread(trajectory, whole), rows)
    if np.all(moved):
        return there

    def chosen(a: Any, b: Any) -> Any:
        own, axis = module_of((a, b)), int(trajectory.is_ensemble)
        return own.where(moved.reshape(-1, *(1,) * (np.ndim(a) - axis - 1)), a, b)

    return jax.tree.map(chosen, there, rows)


# ---------------------------------------------------------------- by a polynomial


def nodes_for(trajectory: "Trajectory") -> int:
    """How many nodes the polynomial goes through: those whose values have no slopes beside them
    need one more than the order.
    """
    system, order = trajectory.system, trajectory.method.order or UNKNOWN  # pyright: ignore
    return max(2, order // 2 + 1, order + 1 if system.order > 1 or system.enters_action else 0)


def by_a_polynomial(trajectory: "Trajectory", times: Times) -> Row:
    """What the polynomial through the nodes next to each time has there."""
    last = int(np.max(trajectory.steps_completed))
    steps = np.arange(min(nodes_for(trajectory), last + 1))
    first = np.rint(times.node + times.part - (len(steps) - 1) / 2).astype(int)
    first = np.clip(first, 0, last + 1 - len(steps))
    if times.every == 1:
        numbers = first[:, None] + steps
        rows, at_nodes = taken(trajectory, rows_of(trajectory), numbers), trajectory.t[numbers]
    else:
        starts, which = np.unique(first, return_inverse=True)
        rows, at_nodes = inner_rows(trajectory, times.every, starts, len(steps))
        rows, at_nodes = taken(trajectory, rows, which), at_nodes[which]
    after = np.asarray(at_nodes) - times.t[:, None]
    each, nearest = np.arange(len(after)), np.argmin(np.abs(after), axis=1)
    runs = (slice(None),) * trajectory.is_ensemble
    base = jax.tree.map(lambda a: a[(*runs, each, nearest)], rows.z)
    weights = weights_of(after, np.zeros(len(after)))
    # After a step that failed there is nothing.
    weights = jax.tree.map(lambda a: np.where((times.node < last)[:, None], a, np.nan), weights)
    return mapped(trajectory, between, times.t, base, rows, spread(trajectory, weights))


def inner_rows(
    trajectory: "Trajectory", every: int, starts: np.ndarray, count: int
) -> tuple[Row, np.ndarray]:
    """(rows, times) of the `count` nodes that begin at each of these numbers."""
    h, axis, found = float(trajectory.h), int(trajectory.is_ensemble), []
    for which, t, states in walk(trajectory, every, starts):
        rows = []
        for i in range(count):
            if i:
                states = advanced(trajectory, t + (i - 1) * h, states, np.ones(len(t), dtype=int))
            steps = spread(trajectory, np.full(len(t), h))
            rows.append(mapped(trajectory, Shown(trajectory.method), t + i * h, steps, states))
        own = module_of(rows)
        together = jax.tree.map(lambda *a, own=own: own.stack(a, axis=1 + axis), *rows)
        found.append((which, t[:, None] + h * np.arange(count), together))
    times, rows = joined(trajectory, found)
    return rows, times


def between(system: Any, t: Scalar, base: Any, rows: Row, weights: Weights) -> Row:
    """What the polynomial through `rows` around `base` has at the time t."""
    z, v = on_polynomial(system.space, base, rows.z, rows.v, weights)
    p, lam = combined(weights.l, rows.p), None
    if rows.lam is not None:
        lam = combined(weights.l, rows.lam)
    if rows.jets is None:
        return Row(z, v, p, lam)
    jets, r = [v], system.order
    for s in range(1, r - 1):
        own, rate = rows.jets[:, s], rows.jets[:, s + 1]
        jets.append(combined(weights.a, own) + combined(weights.b, rate))
    if r > 1:
        jets.append(combined(weights.l, rows.jets[:, r - 1]))
    return Row(z, v, p, lam, jnp.stack(jets))


def on_polynomial(space: Any, base: Any, z: Any, v: Any, weights: Weights) -> tuple[Any, Any]:
    """(q, v) from m nodes with velocities `v`, shape (m, dim), around `base`."""
    zero, etas, slopes = jnp.zeros(space.dim), [], []
    for i in range(len(v)):
        eta = space.difference(base, jax.tree.map(lambda a, i=i: a[i], z))
        slope = jax.jvp(lambda e, eta=eta: space.relative(eta, zero, e), (zero,), (v[i],))[1]
        etas.append(eta)
        slopes.append(slope)
    eta, slope = jnp.stack(etas), jnp.stack(slopes)
    moved = combined(weights.a, eta) + combined(weights.b, slope)
    rate = combined(weights.da, eta) + combined(weights.db, slope)
    found, _ = space.accumulate(base, zero, moved)

    def displaced(eta: Vector) -> Vector:
        return space.displacement(found, space.retract(base, eta))

    return found, rate if space.flat else jax.jvp(displaced, (moved,), (rate,))[1]
