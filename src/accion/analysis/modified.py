"""Backward error analysis: the modified equations that a method solves exactly (002 section 5;
Hairer, Lubich and Wanner, chapter IX).

The points q_k of a variational method lie, but for terms that are exponentially small in 1/h, on a
smooth curve q(t), the motion of a modified Lagrangian whose action over a step is Ld. So along it
the sums s_k of Ld are values of a smooth s(t) with s' = that Lagrangian, and the modified
Hamiltonian is p.q' - s'. The derivatives are taken of the polynomial through 2m + 1 neighbouring
points: the error is O(h^2m).
"""

from dataclasses import dataclass
from functools import cache, partial
from math import factorial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import make_interp_spline

from accion.analysis.order import step_sizes
from accion.checks import check_mechanical
from accion.engines.xla import kept_jit
from accion.methods import Adjoint
from accion.numerics.batches import at_times
from accion.solve.simulation import simulate
from accion.stepping.views import discrete


@cache
def weights(m):
    """Weights c_j, j = -m, ..., m, of the derivative at the middle of the polynomial through 2m + 1
    points of unit distance.
    """
    # In closed form: solving for them loses all digits beyond m = 10.
    ahead = [
        (-1) ** (j + 1) * factorial(m) ** 2 / (j * factorial(m - j) * factorial(m + j))
        for j in range(1, m + 1)
    ]
    return np.array([*(-c for c in reversed(ahead)), 0.0, *ahead])


def check(system, order):
    check_mechanical(system, "modified_hamiltonian")
    if system.force is not None or system.constraint is not None:
        raise ValueError(
            f"{system.name} has a force or a constraint: its discrete flow is not that of a"
            " Hamiltonian."
        )
    if not system.space.flat or isinstance(system.space.identity(), tuple):
        raise ValueError(f"backward error analysis needs Euclidean or Torus; got {system.space}.")
    if isinstance(order, bool) or not isinstance(order, int) or order < 2 or order % 2:
        raise ValueError(f"order must be an even number, 2 or more; got {order!r}.")
    return order // 2


@dataclass(frozen=True)
class Neighbours:
    """The 2m + 1 points of the discrete trajectory around (t, q, p)."""

    system: Any
    method: Any
    m: int

    def __call__(self, t, h, q, p):
        """(q_j - q, p_j, s_j) for j = -m, ..., m."""
        d = discrete(self.system, self.method)
        ahead, behind = (
            d.hamiltonian_flow,
            discrete(self.system, Adjoint(self.method)).hamiltonian_flow,
        )
        dq, ps, s = [jnp.zeros_like(p)], [p], [jnp.zeros(())]
        z = (q, p)
        for k in range(self.m):
            z, old = ahead(t + k * h, h, *z), z
            dq.append(dq[-1] + (z[0] - old[0]))
            ps.append(z[1])
            s.append(s[-1] + d.Ld(t + k * h, h, old[0], z[0]))
        z = (q, p)
        for k in range(self.m):
            z, old = behind(t - k * h, -h, *z), z
            dq.insert(0, dq[0] + (z[0] - old[0]))
            ps.insert(0, z[1])
            s.insert(0, s[0] - d.Ld(t - (k + 1) * h, h, z[0], old[0]))
        return jnp.stack(dq), jnp.stack(ps), jnp.stack(s)


@dataclass(frozen=True)
class ModifiedHamiltonian:
    """The modified Hamiltonian of a method as a function of (t, h, q, p), truncated with an error
    O(h^order).

    Not compiled by itself: use `jax.jit(lambda *z: modified(*z))` for many points.
    """

    system: Any
    method: Any
    order: int

    def __call__(self, t, h, q, p):
        c = jnp.asarray(weights(self.order // 2))
        dq, _, s = Neighbours(self.system, self.method, self.order // 2)(t, h, q, p)
        return (p @ (c @ dq) - c @ s) / h

    def field(self, t, h, q, p):
        """The modified vector field (q', p') at a point, with an error of the same order."""
        c = jnp.asarray(weights(self.order // 2))
        dq, ps, _ = Neighbours(self.system, self.method, self.order // 2)(t, h, q, p)
        return c @ dq / h, c @ (ps - p) / h

    def along(self, trajectory):
        """Its values along a trajectory of which every step is kept, where there are neighbours on
        both sides: shape (times - order,).
        """
        if len(trajectory) <= self.order:
            raise too_short(self.order, self.order, trajectory)
        if not np.isclose(float(trajectory.t[1] - trajectory.t[0]), float(trajectory.h)):
            raise ValueError(
                "the modified Hamiltonian along a trajectory needs every step of it: save_every=1."
            )
        return along(
            self.system,
            self.method,
            self.order // 2,
            trajectory.h,
            trajectory.t,
            trajectory.q,
            trajectory.p,
        )

    def drift(self, trajectory):
        """The largest change along a trajectory of what a motion keeps: of its values or, where L
        depends on time, `extended_drift`.
        """
        if not is_autonomous(self.system):
            return self.extended_drift(trajectory)
        H = self.along(trajectory)
        if len(H) < 2:
            raise too_short(self.order, self.order + 1, trajectory)
        return float(np.max(np.abs(H - H[0])))

    def extended_drift(self, trajectory):
        """The largest change of the extended Hamiltonian, H - (integral of dH/dt at fixed q, p),
        along a trajectory of a time-dependent system.

        This is what Thm 5.2 of 002 says is kept; without dependence on time it is `drift`.
        """
        m, H = self.order // 2, self.along(trajectory)
        if len(H) < self.order:
            raise too_short(self.order, 2 * self.order - 1, trajectory)
        t, q, p = (
            np.asarray(x)[m : len(trajectory) - m]
            for x in (trajectory.t, trajectory.q, trajectory.p)
        )
        rate = at_times(
            TimeSlope(self.method, self.order),
            False,
            self.system,
            t,
            np.full(len(t), trajectory.h),
            q,
            p,
        )
        return extended_change(t, H, np.asarray(rate), self.order)


@dataclass(frozen=True)
class TimeSlope:
    """dH/dt of a modified Hamiltonian at fixed (q, p); equal ones share what is compiled."""

    method: Any
    order: int

    def __call__(self, system, t, h, q, p):
        modified = ModifiedHamiltonian(system, self.method, self.order)
        return jax.jvp(lambda t: modified(t, h, q, p), (t,), (jnp.ones_like(t),))[1]


def extended_change(t, H, rate, order):
    """The largest change of H - (integral of its `rate` at fixed q, p): H and the momentum of time
    together.
    """
    # A spline of odd degree k is integrated to order k + 1, which must not be less than that of H.
    degree = min(max(7, order - 1), (len(t) - 2) // 2 * 2 + 1)
    brought = make_interp_spline(t, rate, k=degree).antiderivative()(t)
    return float(np.max(np.abs((H - H[0]) - (brought - brought[0]))))


def too_short(order, needed, trajectory):
    return ValueError(
        f"the drift of the modified Hamiltonian of order {order} is seen over {needed} steps or"
        f" more, {order // 2} on either side being its neighbours; this trajectory has"
        f" {len(trajectory) - 1}. Run longer, or choose a lower order."
    )


def is_autonomous(system, samples=20, seed=0):
    """Whether neither L nor a constraint depends on time, at random points."""
    rng = np.random.default_rng(seed)
    t, (q, v) = rng.uniform(0.1, 2, samples), rng.normal(size=(2, samples, system.space.dim))
    slopes = [jax.jit(jax.vmap(jax.grad(system.L)))(t, q, v)]
    if system.constraint is not None:
        slopes.append(
            jax.jit(jax.vmap(jax.jacfwd(lambda t, q, v: system.constraint.value(system, t, q, v))))(
                t, q, v
            )
        )
    return all(bool(np.all(np.nan_to_num(np.asarray(s)) == 0)) for s in slopes)


@partial(kept_jit, static_argnums=(1,))
def steps(system, method, h, t, q):
    """Ld and the increment of each step."""
    d = discrete(system, method)
    return jax.vmap(lambda t, a, b: (d.Ld(t, h, a, b), system.space.local(a, b)))(
        t[:-1], q[:-1], q[1:]
    )


def along(system, method, m, h, t, q, p):
    """p.q' - s' at the inner points, from the points themselves."""
    c = weights(m)
    Ld, x = (np.asarray(each) for each in steps(system, method, h, t, q))
    count, p = len(p) - 2 * m, np.asarray(p)
    out = np.zeros(count)
    # Sums over the steps on either side of the middle: no cancellation of large q and s.
    for j in range(m):
        ahead, behind = np.sum(c[m + j + 1 :]), -np.sum(c[: m - j])
        out += ahead * (
            np.sum(p[m : m + count] * x[m + j : m + j + count], axis=1) - Ld[m + j : m + j + count]
        )
        k = m - 1 - j
        out += behind * (np.sum(p[m : m + count] * x[k : k + count], axis=1) - Ld[k : k + count])
    return out / float(h)


def modified_hamiltonian(system, method, order=4) -> ModifiedHamiltonian:
    """The modified Hamiltonian H + h^p H_p + ... of a method on a system, in numbers, with an error
    O(h^order).

    Its drift along a trajectory falls with `order` until it is exponentially small in 1/h, and
    levels off there (002 Thm 5.2). Time-dependent systems have one, too: what is kept is then the
    extended one, with the momentum of time, and `drift` is its change. In symbols:
    `symbolic(system).modified(method, order)`.
    """
    check(system, order)
    return ModifiedHamiltonian(system, method, order)


@dataclass(frozen=True)
class Ladder:
    """Drifts of H (order 0) and of the modified Hamiltonians over one time for several steps, and
    their slopes.

    Where L depends on time they are those of the extended Hamiltonians (`extended`).
    """

    h: np.ndarray
    orders: tuple[int, ...]
    drifts: np.ndarray  # shape (orders, steps)
    extended: bool = False

    @property
    def slopes(self):
        """The slope of log(drift) over log(h), for each order; of the points above roundoff."""
        found = []
        for row in self.drifts:
            used = row > 100 * np.finfo(float).eps * np.max(self.drifts)
            found.append(
                float(np.polyfit(np.log(self.h[used]), np.log(row[used]), 1)[0])
                if np.sum(used) > 1
                else float("nan")
            )
        return tuple(found)

    def __str__(self):
        head = "order  slope  " + "  ".join(f"h = {h:<8.4g}" for h in self.h)
        rows = [
            f"{o:<5}  {s:5.2f}  " + "  ".join(f"{x:<12.3e}" for x in row)
            for o, s, row in zip(self.orders, self.slopes, self.drifts, strict=True)
        ]
        title = [
            "drifts of H and of modified Hamiltonians"
            + (", extended by the momentum of time" if self.extended else "")
        ]
        return "\n".join([*title, head, *rows])


def ladder(system, method, *, q0, v0, duration, h, orders=(2, 4, 6, 8)) -> Ladder:
    """The drift of the energy and of the modified Hamiltonians of each order over `duration`, for
    each step in `h` (002 Thm 5.2).

    Where L depends on time none of them is kept: the drifts are then of H - (integral of dH/dt at
    fixed q, p), of each order.
    """
    modified = [modified_hamiltonian(system, method, order) for order in orders]
    h, autonomous = step_sizes(h, 1), is_autonomous(system)
    drifts = []
    for step in h:
        traj = simulate(system, method, q0=q0, v0=v0, h=float(step), steps=round(duration / step))
        drifts.append([energy_drift(traj, autonomous), *(each.drift(traj) for each in modified)])
    return Ladder(h, (0, *orders), np.array(drifts).T, not autonomous)


def energy_drift(trajectory, autonomous):
    """The largest change of the energy, extended by the momentum of time where L depends on it:
    dH/dt = -dL/dt.
    """
    E = np.asarray(trajectory.energy())
    if autonomous:
        return float(np.max(np.abs(E - E[0])))
    rate = trajectory.each(energy_slope, trajectory.q, trajectory.v)
    return extended_change(np.asarray(trajectory.t), E, np.asarray(rate), 2)


def energy_slope(system, t, q, v):
    return -jax.grad(system.L)(t, q, v)
