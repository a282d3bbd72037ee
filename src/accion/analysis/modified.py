"""Backward error analysis: the modified equations that a method solves exactly (Colombo-Gamonal,
section 5; Hairer, Lubich and Wanner, chapter IX).

The points q_k of a variational method lie, but for terms that are exponentially small in 1/h, on a
smooth curve q(t), the motion of a modified Lagrangian whose action over a step is Ld. So along it
the sums s_k of Ld are values of a smooth s(t) with s' = that Lagrangian, and the modified
Hamiltonian is p.q' - s'. The derivatives are taken of the polynomial through 2m + 1 neighbouring
points: the error is O(h^2m).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.inputs import check_every_step, check_free, step_sizes, steps_in
from accion.analysis.modified_windows import along_windows, rates_of, sides, slopes_by_time
from accion.analysis.neighbours import Neighbours, flow_back, weights
from accion.arguments import door, positive, shown, wrong
from accion.checks import a_method, check_kind, check_method, refuse
from accion.engines.auto import each
from accion.memory import check_room
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory, a_trajectory
from accion.solve.simulation import simulate
from accion.stepping.views import discrete
from accion.systems import AbstractSystem, DiscreteSystem, HigherOrderSystem, System
from accion.told import Told
from accion.types import Array, ArrayLike, Configuration, Covector, Scalar, Vector


def check(system: AbstractSystem, method: Any, order: int) -> None:
    """Raise ValueError unless the discrete flow is that of a Hamiltonian on (q, p)."""
    check_kind(system)
    what = "modified_hamiltonian"
    if system.entropic:
        refuse(what, system.kind, "friction and heat make no Hamiltonian flow")
    if system.contact:
        refuse(what, system.kind, "their flow is that of a contact Hamiltonian on (q, p, z)")
    if not system.discrete_time:
        a_method(method, "method")
    if system.order > 1 and method is not None and method.on_levels:
        refuse(what, f"{system.kind} by {method}", "it has no discrete Lagrangian of windows")
    flow_back(system, method)
    check_free(system, what, "their discrete flow is not that of a Hamiltonian on (q, p)")
    if system.enters_action and method is not None and method.inner_points:
        whom = f"vakonomic systems by {method}"
        refuse(what, whom, "the multipliers of its inner points are not known to Ld")
    check_method(system, method)
    if isinstance(order, bool) or not isinstance(order, int) or order < 2 or order % 2:
        raise ValueError(f"order must be an even number, 2 or more; got {shown(order)}.")
    check_room(order**2 * 64, f"order = {order}", "Choose a lower order.")


@dataclass(frozen=True)
class ModifiedHamiltonian:
    """The modified Hamiltonian of a method as a function of (t, h, q, p), truncated with an error
    O(h^order).

    Not compiled by itself: use `jax.jit(lambda *z: modified(*z))` for many points.
    """

    system: Any
    method: Any
    order: int

    def __call__(self, t: Scalar, h: Scalar, q: Configuration, p: Covector) -> Scalar:
        c = jnp.asarray(weights(self.order // 2))
        x, _, s = Neighbours(self.system, self.method, self.order // 2)(t, h, q, p)
        return (jnp.ravel(p) @ (c @ x) - c @ s) / h

    def field(self, t: Scalar, h: Scalar, q: Configuration, p: Covector) -> tuple[Vector, Covector]:
        """The modified vector field (q', p') at a point, with an error of the same order."""
        c = jnp.asarray(weights(self.order // 2))
        x, ps, _ = Neighbours(self.system, self.method, self.order // 2)(t, h, q, p)
        return c @ x / h, c @ (ps - jnp.ravel(p)) / h

    @door(trajectory=a_trajectory)
    def along(self, trajectory: Trajectory) -> np.ndarray:
        """Its values along a trajectory of which every step is kept, where there are neighbours on
        both sides: shape (times - order,).
        """
        needed = self.order + trajectory.system.order - 1
        if len(trajectory) <= needed:
            raise too_short(self.order, needed, trajectory)
        check_every_step(trajectory, "the modified Hamiltonian")
        own = along if trajectory.nodal is None else along_windows
        return own(self.order // 2, trajectory)

    def drift(self, trajectory: Trajectory) -> float:
        """The largest change along a trajectory of what a motion keeps: of its values or, where L
        depends on time, `extended_drift`.
        """
        trajectory.check_system()
        if not is_autonomous(trajectory.system):
            return self.extended_drift(trajectory)
        H = self.along(trajectory)
        if len(H) < 2:
            raise too_short(self.order, self.order + 1, trajectory)
        return float(np.max(np.abs(H - H[0])))

    def extended_drift(self, trajectory: Trajectory) -> float:
        """The largest change along a trajectory of the extended Hamiltonian H + mu, mu the momentum
        of time, which each step of a time-dependent system changes by dLd/dt.

        This is what Thm 5.2 of Colombo-Gamonal says is kept; without dependence on time it is
        `drift`.
        """
        m, H = self.order // 2, self.along(trajectory)
        if len(H) < 2:
            raise too_short(self.order, self.order + 1, trajectory)
        extended = H + momentum_of_time(trajectory)[m : m + len(H)]
        return float(np.max(np.abs(extended - extended[0])))


def momentum_of_time(trajectory: Trajectory) -> np.ndarray:
    """mu_k = sum of dLd/dt over the steps before, at each time of a trajectory of which every step
    is kept: the momentum of time, exactly, as dmu/dt = dL/dt = -dH/dt.
    """
    if trajectory.nodal is not None:
        return np.concatenate([[0.0], np.cumsum(slopes_by_time(trajectory))])
    steps, p = steps_of(trajectory), np.asarray(trajectory.p)[:-1]
    lam = np.zeros((len(p), 0)) if trajectory.lam is None else np.asarray(trajectory.lam)[:-1]
    slope = TimeSlope(trajectory.method)
    slopes = at_times(slope, False, trajectory.system, *steps, p, lam)
    return np.concatenate([[0.0], np.cumsum(np.asarray(slopes))])


@dataclass(frozen=True)
class TimeSlope:
    """dLd/dt of a step; equal ones share what is compiled."""

    method: Any

    def __call__(
        self, system: Any, t: Scalar, h: Scalar, q0: Any, q1: Any, p: Covector, lam: Array
    ) -> Scalar:
        d = discrete(system, self.method)
        own = None
        if system.enters_action:
            own = d.solved(t, h, q0, p, system.space.local(q0, q1), lam)[1]
        return jax.jvp(lambda t: d.Ld(t, h, q0, q1, own), (t,), (jnp.ones_like(t),))[1]


def too_short(order: int, needed: int, trajectory: Trajectory) -> ValueError:
    return ValueError(
        f"the drift of the modified Hamiltonian of order {order} is seen over {needed} steps or"
        f" more, {order // 2} on either side being its neighbours; this trajectory has"
        f" {len(trajectory) - 1}. Run longer, or choose a lower order."
    )


def is_autonomous(system: AbstractSystem, samples: int = 20, seed: int = 0) -> bool:
    """Whether neither the (discrete) Lagrangian nor a constraint depends on time, at random
    points.
    """
    rng, space = np.random.default_rng(seed), system.step_space
    t, x = rng.uniform(0.1, 2, samples), rng.normal(size=(samples, space.dim))
    v = rng.normal(size=(samples, system.order, space.dim))

    def at(t: Scalar, x: Vector, v: Vector) -> Any:
        return time_slopes(system, t, space.retract(space.identity(), x), v)

    slopes = each(at, t, x, v)
    return all(bool(np.all(np.nan_to_num(np.asarray(s)) == 0)) for s in slopes)


@singledispatch
def time_slopes(system: Any, t: Scalar, z: Configuration, v: Array) -> list[Any]:
    """The derivatives by t of L and of the constraint; `v` are rows of velocities."""
    rate = v[0][: system.space.dim]
    slopes = [jax.grad(system.L)(t, z, rate)]
    if system.constraint is not None:
        slopes.append(jax.jacfwd(lambda t: system.constraint.value(system, t, z, rate))(t))
    return slopes


@time_slopes.register
def _(system: HigherOrderSystem, t: Scalar, z: Configuration, v: Array) -> list[Any]:
    return [jax.grad(system.L)(t, z, v), jax.jacfwd(system.Phi)(t, z, v)]


@time_slopes.register
def _(system: DiscreteSystem, t: Scalar, z: Configuration, v: Array) -> list[Any]:
    ends = [z, *(system.space.retract(z, x) for x in v)]
    return [jax.jacfwd(partial(f, h=1.0, q=ends))(t) for f in (system.Ld, system.c)]


@dataclass(frozen=True)
class Step:
    """Ld and the increment of a step; equal ones share what is compiled."""

    method: Any

    def __call__(self, system: Any, t: Scalar, h: Scalar, q0: Any, q1: Any) -> Any:
        return discrete(system, self.method).Ld(t, h, q0, q1), system.space.local(q0, q1)


def steps_of(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """(t, h, q0, q1) of each step of a trajectory of which every step is kept."""
    first, second = (
        jax.tree.map(lambda a, part=part: np.asarray(a)[part], trajectory.q)
        for part in (slice(None, -1), slice(1, None))
    )
    t = np.asarray(trajectory.t)[:-1]
    return t, np.full(len(t), trajectory.h), first, second


def along(m: int, trajectory: Trajectory) -> np.ndarray:
    """p.q' - s' at the inner points, from the points themselves."""
    system, h = trajectory.system, trajectory.h
    Ld, x = at_times(Step(trajectory.method), False, system, *steps_of(trajectory))
    Ld, x, p = (np.asarray(each) for each in (Ld, x, trajectory.p))
    c, count = weights(m), len(p) - 2 * m
    middle, out = p[m : m + count], np.zeros(count)
    # Sums over the steps on either side of the middle: no cancellation of large q and s.
    for j in range(m):
        for i, weight in sides(c, m, j):
            part = slice(i, i + count)
            out -= weight * Ld[part]
            if system.space.flat:
                out += weight * np.sum(middle * x[part], axis=1)
    if not system.space.flat:
        out += np.sum(middle * rates_of(system.space, trajectory.q, m), axis=1)
    return out / float(h)


@door()
def modified_hamiltonian(
    system: AbstractSystem, method: Method | None = None, order: int = 4
) -> ModifiedHamiltonian:
    """The modified Hamiltonian H + h^p H_p + ... of a method on a system, in numbers, with an error
    O(h^order): p.q' - s' on the smooth curve through the points of the discrete motion.

    Its drift along a trajectory falls with `order` until it is exponentially small in 1/h, and
    levels off there. Time-dependent systems have one, too: what is kept is then the extended one,
    with the momentum of time, and `drift` is its change. In symbols:
    `symbolic(system).modified(method, order)`.

    Arguments:
        system: without forces and entropies; a constraint is in the action or none. Of one of
            order r the states are those of windows, r configurations q with their momenta p.
        method: None for a system that is given in discrete time.
        order: of the error, an even number.

    Reference: Colombo-Gamonal, Thm 5.2; Hairer, Lubich & Wanner, chapter IX.
    """
    check(system, method, order)
    return ModifiedHamiltonian(system, method, order)


ROUNDOFF = 100 * np.finfo(float).eps  # of the terms of an energy
LEVEL = 1 / 3  # of a drift: what is left of it with the next order where it has levelled off


class Exponential(NamedTuple):
    """The law drift = C h e^(-gamma/h), the steps `h` that it was fitted to, and how far the
    logarithm of the drift is off it, `off`.
    """

    C: float
    gamma: float
    h: np.ndarray
    off: float


@dataclass(frozen=True, repr=False)
class Ladder(Told):
    """Drifts of H (order 0) and of the modified Hamiltonians over one time for several steps, and
    their slopes.

    Where L depends on time they are those of the extended Hamiltonians (`extended`).
    """

    h: np.ndarray
    orders: tuple[int, ...]
    drifts: np.ndarray  # shape (orders, steps)
    floor: np.ndarray  # what counts as roundoff with each step
    extended: bool = False

    @property
    def slopes(self) -> tuple[float, ...]:
        """The slope of log(drift) over log(h), for each order; of the points above roundoff."""
        found = []
        for row in self.drifts:
            used = row > self.floor
            found.append(
                float(np.polyfit(np.log(self.h[used]), np.log(row[used]), 1)[0])
                if np.sum(used) > 1
                else float("nan")
            )
        return tuple(found)

    @property
    def best(self) -> np.ndarray:
        """The least drift with each step, over all orders: that of the best truncation."""
        return np.min(self.drifts, axis=0)

    def exponential(self) -> "Exponential":
        """The constants of an exponential law of the best truncation, drift = C h e^(-gamma/h)
        (Colombo-Gamonal, Lemma 5.1 and Thm 5.2), fitted to the steps with which the drift is above
        roundoff and no longer falls to a third with the last order.

        Raises:
            ValueError: where there are fewer than three such steps, or no such law.
        """
        used = (self.best > self.floor) & (self.drifts[-1] > LEVEL * self.drifts[-2])
        if np.sum(used) < 3:
            raise ValueError(
                "the drift is above roundoff and no longer falls with the last order with"
                f" {int(np.sum(used))} of {len(self.h)} steps; three or more are needed: take"
                " higher orders, or larger steps."
            )
        h, logs = self.h[used], np.log(self.best[used] / self.h[used])
        slope, start = np.polyfit(1 / h, logs, 1)
        if slope >= 0:
            raise ValueError("the best drifts do not fall with the step: there is no such law.")
        off = float(np.max(np.abs(start + slope / h - logs)))
        return Exponential(float(np.exp(start)), -float(slope), h, off)

    def __str__(self) -> str:
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


@door(duration=positive)
def ladder(
    system: System,
    method: Method,
    *,
    q0: Configuration,
    v0: ArrayLike,
    duration: float,
    h: Sequence[float] | np.ndarray,
    orders: tuple[int, ...] = (2, 4, 6, 8),
) -> Ladder:
    """The drift of the energy and of the modified Hamiltonians of each order over `duration`, for
    each step in `h`.

    Where L depends on time none of them is kept: the drifts are then of H + mu, mu the momentum of
    time, of each order.

    Arguments:
        system, method: as those of `modified_hamiltonian`, in continuous time.
        q0, v0, duration: the motion.
        h: one step or more.
        orders: even numbers.

    Reference: Colombo-Gamonal, Thm 5.2.
    """
    check_kind(system)
    if system.discrete_time:
        refuse("ladder", system.kind, "they have no energy to begin with")
    if not isinstance(orders, list | tuple) or not orders:
        wrong("orders", "even numbers, such as (2, 4, 6)", orders)
    modified = [modified_hamiltonian(system, method, order) for order in orders]
    sizes, autonomous = step_sizes(h, 1), is_autonomous(system)
    most = max(orders)
    counts = steps_in(duration, sizes, most + 1)
    drifts, floor = [], []
    for step, steps in zip(sizes, counts.tolist(), strict=True):
        traj = simulate(system, method, q0=q0, v0=v0, h=float(step), steps=steps)
        drifts.append([energy_drift(traj, autonomous), *(each.drift(traj) for each in modified)])
        floor.append(ROUNDOFF * size_of_terms(traj))
    return Ladder(sizes, (0, *orders), np.array(drifts).T, np.array(floor), not autonomous)


def size_of_terms(trajectory: Trajectory) -> float:
    """The largest |p.v| + |L|, whose difference the energy is."""
    v = trajectory.v if trajectory.jets is None else trajectory.jets
    products = np.asarray(trajectory.p) * np.asarray(v)
    pairs = np.sum(products.reshape(len(trajectory), -1), axis=1)
    return float(np.max(np.abs(pairs) + np.abs(pairs - np.asarray(trajectory.energy()))))


def energy_drift(trajectory: Trajectory, autonomous: bool) -> float:
    """The largest change of the energy, with the momentum of time where L depends on it."""
    E = np.asarray(trajectory.energy())
    kept = E if autonomous else E + momentum_of_time(trajectory)
    return float(np.max(np.abs(kept - kept[0])))
