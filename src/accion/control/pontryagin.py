"""The necessary conditions of Pontryagin in Hamiltonian form (004 chapters 6 and 7), as a boundary
value problem.

    H = p0.v + p1.a(t, q, v, u) - C(t, q, v, u)
    q' = v,   v' = a,   p0' = ad*_v p0 - dH/dq,   p1' = -dH/dv,   0 = dH/du

(p0, p1) are the costates of (q, v), minus the derivatives of the least cost that is left. The last
equation is the primary constraint that defines W1; (W1, Omega) is symplectic where det d2H/du2 is
not zero (004 Prop 7.1.2, an r x r matrix for r controls). It is solved by multiple shooting from a
discrete solution, which it refines and certifies. A duration T that is free is one more unknown,
with one more condition at the end,

    H(T) = d terminal/dt,    which is 0 without a terminal cost that sees the time
"""  # fmt: skip

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.program import Chart, Family, Program
from accion.assembly.rows import Rows
from accion.assembly.sqp import feasible
from accion.control.direct import parts
from accion.control.flow import flow
from accion.control.layout import base_of, displacements
from accion.control.problem import Push
from accion.errors import OptimizeFailed
from accion.instant.constrained import index_one
from accion.numerics import newton

PIECES = 4  # of an interval of multiple shooting
INTERVALS = 64  # at least


@dataclass(frozen=True)
class Hamiltonian:
    """H(t, q, v, u, p0, p1) of a control problem and the fields that follow from it; `system` is
    passed first, its numbers may be traced.
    """

    cost: Callable[..., Any]
    B: Callable[..., Any]

    def acceleration(self, system, t, q, v, u):
        return index_one(system.altered(force=Push(system.force, self.B, u)), t, q, v, None)[0]

    def H(self, system, t, q, v, u, p0, p1):
        return (
            p0 @ v
            + p1 @ self.acceleration(system, t, q, v, u)
            - self.cost(t, q, v, u, system.params)
        )

    def primary(self, u, args):
        """dH/du, which is zero on W1 (004 section 7.1)."""
        system, t, q, v, p0, p1 = args
        return jax.grad(lambda u: self.H(system, t, q, v, u, p0, p1))(u)

    def control(self, system, t, q, v, p1, guess):
        """The control on W1, where dH/du = (M^-1 B)^T p1 - dC/du = 0: a is affine in u.

        NaN where none is found from `guess`.
        """
        M, B = jax.hessian(system.L, 2)(t, q, v), self.B(t, q, system.params)
        pull = B.T @ newton.solve(M, p1)
        slope = jax.grad(lambda u: self.cost(t, q, v, u, system.params))

        def correction(u):
            return newton.solve(jax.jacfwd(slope)(u), slope(u) - pull)

        def better(state):
            u, _, i = state
            dx = correction(u)
            return u - dx, jnp.max(jnp.abs(dx) / (1.0 + jnp.abs(u))), i + 1

        u, left, _ = jax.lax.while_loop(
            lambda s: (s[1] > newton.QUADRATIC) & (s[2] < newton.ITERATIONS),
            better,
            (guess, jnp.inf, 0),
        )
        # One more gives the value to rounding, and derivatives that do not depend on how the others
        # went.
        u = jax.lax.stop_gradient(u)
        return jnp.where(left <= newton.QUADRATIC, u - correction(u), jnp.nan)

    def regularity(self, system, t, q, v, u, p0, p1):
        """d2H/du2, shape (controls, controls): W1 is symplectic where it is regular; for a minimum
        it is negative definite.
        """
        return jax.jacfwd(self.primary)(u, (system, t, q, v, p0, p1))

    def rates(self, system, guess, t, y):
        """The canonical equations, with the cost as one more component."""
        q, v, p0, p1, _ = y
        space = system.space
        u = self.control(system, t, q, v, p1, guess)

        def pairing(e, v):
            moved = space.displace(q, e)
            a, C = (
                self.acceleration(system, t, moved, v, u),
                self.cost(t, moved, v, u, system.params),
            )
            return p1 @ a - C, (a, C)

        (dq, dv), (a, C) = jax.grad(pairing, (0, 1), has_aux=True)(jnp.zeros(space.dim), v)
        return space.tangent(q, v), a, space.coad(v, p0) - dq, -p0 - dv, C


@dataclass(frozen=True)
class Shot:
    """One interval of multiple shooting: what is missing between the end of its trajectory and the
    next node.

    Each node has a duration of its own, all the same, so that an interval sees its two nodes only.
    """

    hamiltonian: Hamiltonian

    def __call__(self, args, data, x):
        system, t0, count, pieces = args
        (base0, base1), (k, guess) = data
        space, n = system.space, system.space.dim
        e0, v0, p0, p1, T0, e1, v1, r0, r1, T1 = parts(x, n, n, n, n, 1, n, n, n, n)
        start, h = (space.retract(base0, e0), v0, p0, p1, jnp.zeros(())), T0[0] / count
        q, v, a, b, cost = flow(
            partial(self.hamiltonian.rates, system, guess), t0 + k * h, start, h, pieces
        )
        gap = space.local(space.retract(base1, e1), q)
        return cost, jnp.concatenate([gap, v - v1, a - r0, b - r1, T0 - T1])


@dataclass(frozen=True)
class Transversal:
    """At an end: p0 + d terminal/dq and p1 + d terminal/dv, zero where q and v are free; d
    terminal/dt - H, zero at the end of a free duration.
    """

    hamiltonian: Hamiltonian
    terminal: Callable[..., Any] | None
    last: bool
    free_time: bool

    def __call__(self, args, data, x):
        system, t0, _, _ = args
        space, n = system.space, system.space.dim
        (base,), guess = data
        e, v, p0, p1, T = parts(x, n, n, n, n)
        t, q = t0 + T[0] if self.last else t0, space.retract(base, e)
        value, (dt, dq, dv) = self.terminal_slopes(system, t, q, v)
        rows = [p0 + dq, p1 + dv]
        if self.last and self.free_time:
            u = self.hamiltonian.control(system, t, q, v, p1, guess)
            rows.append((dt - self.hamiltonian.H(system, t, q, v, u, p0, p1))[None])
        return value, jnp.concatenate(rows)

    def terminal_slopes(self, system, t, q, v):
        """The terminal cost and its derivatives by t, q and v."""
        last, zero = self.terminal, jnp.zeros_like(v)
        if last is None:
            return jnp.zeros(()), (jnp.zeros(()), zero, zero)

        def cost(t, d, v):
            return last(t, system.space.displace(q, d), v, system.params)

        return jax.value_and_grad(cost, (0, 1, 2))(t, zero, v)


class Extremal(NamedTuple):
    """A solution of the necessary conditions, at the nodes of multiple shooting.

    `costates` (times, 2, dim) are (p0, p1); `H` the Hamiltonian, constant where nothing depends on
    time, and then 0 where the duration is free and no terminal cost sees it; `optimality` the
    largest |dH/du|; `gap` the largest of the equations that were solved; `error` an estimate of the
    error of `cost`; `regularity` d2H/du2 at the nodes.
    """

    t: np.ndarray
    q: Any
    v: np.ndarray
    u: np.ndarray
    costates: np.ndarray
    cost: float
    H: np.ndarray
    optimality: float
    gap: float
    error: float
    regularity: np.ndarray
    iterations: int

    @property
    def duration(self):
        return float(self.t[-1] - self.t[0])

    @property
    def drift(self):
        """How much the Hamiltonian changes along the solution."""
        return float(np.ptp(self.H))

    @property
    def symplectic(self):
        """Whether W1 is symplectic along the solution (004 Prop 7.1.2): det d2H/du2 is nowhere
        zero.
        """
        return bool(np.all(regular(self.regularity)))

    @property
    def minimal(self):
        """Whether H has a maximum in u all along (the condition of Legendre and Clebsch): d2H/du2
        negative definite.
        """
        return bool(np.all(np.linalg.eigvalsh(self.regularity) < 0))


def regular(bend):
    """Where d2H/du2, shape (times, controls, controls), is not singular."""
    return np.abs(np.linalg.det(bend)) > 1e-12 * np.max(np.abs(bend)) ** bend.shape[1]


@partial(jax.jit, static_argnums=0)
def bends(cost, system, t, q, v, u):
    """d2H/du2 at each time, which is -d2C/du2: accelerations are affine in u."""
    return -jax.vmap(lambda t, q, v, u: jax.hessian(cost, 3)(t, q, v, u, system.params))(t, q, v, u)


def extremal(problem, t, q, v, u, costates, *, duration, pieces=PIECES):
    """The extremal near a discrete solution: times, configurations, velocities and costates (p0,
    p1) at the nodes, controls u at the steps.
    """
    system = problem.system
    if system.constraint is not None:
        raise ValueError(
            "the necessary conditions are for systems without constraints: costates of constrained"
            " ones are not unique."
        )
    found = regular(
        np.asarray(
            bends(problem.cost, system, t[:-1], jax.tree.map(lambda a: a[:-1], q), v[:-1], u)
        )
    )
    if not np.all(found):
        raise OptimizeFailed(
            f"d2H/du2 is singular at t = {t[np.argmin(found)]:.4g}: dH/du = 0 does not determine"
            " the controls, and W1 is not symplectic (004 Prop 7.1.2). Add a term to the cost that"
            " grows with all controls, such as 1e-3 * u @ u."
        )
    hamiltonian, (least, most) = Hamiltonian(problem.cost, problem.B), problem.durations
    given = np.concatenate(
        [displacements(system.space, q), v, costates[:, 0], costates[:, 1]], axis=1
    )
    # On one of its bounds a duration is given, and H(T) is the price of the bound.
    free = problem.free_time and not np.any(
        np.isclose(duration, (least, most), rtol=1e-6, atol=0.0)
    )
    found, layout = solved(problem, hamiltonian, q, u, given, duration, pieces, free)
    T = found.x[layout[-1, -1]]
    if not least <= T <= most:
        found, layout = solved(
            problem, hamiltonian, q, u, given, float(np.clip(T, least, most)), pieces, False
        )
    again = feasible(with_pieces(found.program, 2 * pieces), found.x)
    times = problem.t0 + again.x[layout[-1, -1]] * np.linspace(0, 1, len(t))
    return collected(problem, hamiltonian, again, layout, times, u, abs(again.cost - found.cost))


def solved(problem, hamiltonian, q, u, given, duration, pieces, free):
    """(found, layout): the necessary conditions solved from the states and costates `given` at the
    nodes.
    """
    program, layout = shooting(problem, hamiltonian, q, u, duration, pieces, free)
    x = np.zeros(program.n)
    x[layout[:, :-1]], x[layout[:, -1]] = given, duration
    found = feasible(program, x)
    if not found.success:
        raise OptimizeFailed(
            f"the necessary conditions were not solved: {found.message}; they are off by"
            f" {found.violation:.3g}. Start from a finer mesh.",
            found=found,
        )
    return found, layout


def shooting(problem, hamiltonian, q, u, duration, pieces, free):
    """(program, layout): rows for each interval and for what is free at the ends; layout (K + 1, 4
    dim + 1) numbers the unknowns of the nodes, (displacement, v, p0, p1, duration).
    """
    system, n = problem.system, problem.system.space.dim
    count = len(jax.tree.leaves(q)[0]) - 1
    layout = np.arange((count + 1) * (4 * n + 1)).reshape(count + 1, 4 * n + 1)
    rows = Rows()
    args = (system, np.float64(problem.t0), np.float64(count), np.int64(pieces))

    def when(k):
        return f"at t = {problem.t0 + k * duration / count:.4g}"

    wanted = np.full((count, 4 * n + 1), True)
    wanted[:, -1] = free
    numbers = rows.block(
        wanted, np.arange(count) + 0.5, lambda k, j: f"the canonical equations {when(k)}"
    )
    base = base_of(system.space, q)
    nodes = np.arange(count + 1)
    pairs, columns = (
        np.stack([nodes[:-1], nodes[1:]], axis=1),
        np.concatenate([layout[:-1], layout[1:]], axis=1),
    )
    families = [
        Family(
            Shot(hamiltonian),
            args,
            (nodes[:-1].astype(float), np.asarray(u)),
            columns,
            numbers,
            pairs,
            base,
        )
    ]
    lower, upper = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    if not free:
        lower[layout[:, -1]] = upper[layout[:, -1]] = duration
    for last, (end, node) in enumerate(zip(problem.ends, (0, -1), strict=True)):
        fixed = np.concatenate([end.q_fixed, end.v_fixed])
        values = np.concatenate(
            [
                displacements(system.space, jax.tree.map(lambda a: np.asarray(a)[None], end.q))[0],
                end.v,
            ]
        )
        lower[layout[node][: 2 * n][fixed]] = upper[layout[node][: 2 * n][fixed]] = values[fixed]
        asked = np.append(~fixed, np.full(int(last and free), True))[None]
        missing = rows.block(
            asked, [count + 0.1 if last else 0.1], lambda k, j: "the transversality of a free end"
        )
        f = Transversal(hamiltonian, problem.terminal if last else None, bool(last), free)
        families.append(
            Family(
                f,
                args,
                np.asarray(u)[[node]],
                layout[[node]],
                missing,
                nodes[[node]][:, None],
                base,
            )
        )
    place = np.repeat(np.arange(count + 1.0), 4 * n + 1)
    row_lower, row_upper, row_place = rows.arrays()
    chart = Chart(system.space, layout[:, :n])
    return (
        Program(
            tuple(families), lower, upper, row_lower, row_upper, place, row_place, rows.label, chart
        ),
        layout,
    )


def with_pieces(program, pieces):
    first = program.families[0]
    return program.with_families(
        (replace(first, args=(*first.args[:3], np.int64(pieces))), *program.families[1:])
    )


@partial(jax.jit, static_argnums=0)
def at_nodes(hamiltonian, system, t, q, v, p0, p1, guess):
    """(u, H, dH/du, d2H/du2) at each node."""

    def one(t, q, v, p0, p1, guess):
        u = hamiltonian.control(system, t, q, v, p1, guess)
        args = (system, t, q, v, p0, p1)
        return (
            u,
            hamiltonian.H(system, t, q, v, u, p0, p1),
            hamiltonian.primary(u, args),
            hamiltonian.regularity(*args[:4], u, p0, p1),
        )

    return jax.vmap(one)(t, q, v, p0, p1, guess)


def collected(problem, hamiltonian, found, layout, t, u, error):
    n = problem.system.space.dim
    v, p0, p1 = (found.x[layout[:, i * n : (i + 1) * n]] for i in (1, 2, 3))
    q = found.program.configurations(found.x)
    guess = np.concatenate([u, u[-1:]])
    u, H, slope, bend = (
        np.asarray(a)
        for a in at_nodes(hamiltonian, problem.system, np.asarray(t), q, v, p0, p1, guess)
    )
    costates = np.stack([p0, p1], axis=1)
    optimality = float(np.max(np.abs(slope)))
    return Extremal(
        np.asarray(t),
        q,
        v,
        u,
        costates,
        found.cost,
        H,
        optimality,
        found.violation,
        error,
        bend,
        found.iterations,
    )
