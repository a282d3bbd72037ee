"""What an optimisation found, and how good it is."""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.control import pontryagin
from accion.control.between import Motion
from accion.control.flow import flow
from accion.control.guess import resampled
from accion.control.picture import picture
from accion.control.problem import ControlProblem, Push
from accion.errors import ReplayMisses
from accion.instant.constrained import index_one
from accion.results import storage

REPLAY_PIECES = 4  # of a step
REPLAYED = 64  # steps at a time
MUCH = 0.5  # of the size of the motion, by which a replay may miss the end
RESOLVED = 1e-6  # a motion this small is one of the solver's tolerance


@dataclass(frozen=True)
class Solution:
    """A local optimum of a `ControlProblem` on a mesh.

    t, q, v, p:    times, configurations, velocities and momenta at the nodes; `u` the controls at
    the times `t_u` (the middles of the steps, on
                   each of which the control is constant; the nodes, with formulation="vakonomic")
    cost:          of the discrete problem; `richardson` gives a better value and its error
    costates:      (times, 2, dim): (p0, p1) of (q, v), minus the derivatives of the least cost that
    is left (004 chapter 7) multipliers:   of the momentum balances, (times, dim); `lam` the
    constraint forces iterations, success, message:  of the solver, in words; `violation` and
    `stationarity` say how far off the equations are replay_error:  by how much the continuous
    equations miss the end with these controls; `replay_miss`, as part of the size of the motion
    path_worst:    the largest value of each path constraint along the whole motion, between samples
    too, and when optima:        with several starts, all distinct local optima that were found,
    best first
    """

    problem: Any
    method: Any
    formulation: str
    t: np.ndarray
    q: Any
    t_u: np.ndarray
    u: np.ndarray
    cost: float
    duration: float
    iterations: int
    success: bool
    message: str
    violation: float
    stationarity: float
    solver: str
    optima: tuple[Any, ...] = field(default=(), repr=False)
    # what the solver found, from which the rest is computed when it is asked for
    details: Any = field(default=None, repr=False)
    stored: Any = field(default=None, repr=False)  # the rest, of a solution that was loaded

    def __repr__(self):
        return (
            f"Solution({self.problem.name}, {self.method}, {self.formulation}, {self.steps} steps:"
            f" cost {self.cost:.10g}, {self.message} in {self.iterations} iterations of"
            f" {self.solver}; {self.checked()})"
        )

    def checked(self):
        """What the replay and the path constraints say of the solution, in words; `ReplayMisses`
        where the replay misses the end by much.
        """
        words = [
            f"with these controls the continuous equations miss the end by {self.replay_error:.2g}"
        ]
        if self.problem.path:
            name, worst = max(self.path_worst.items(), key=lambda pair: pair[1])
            words.append(
                f"between nodes too {name} is at most {worst.value:.2g}, at t = {worst.t:.4g}"
            )
        if self.success and not self.replay_miss <= MUCH:
            warnings.warn(
                f"with the controls of {self.steps} steps the continuous equations of"
                f" {self.problem.system.name} miss the end by {self.replay_error:.3g},"
                f" {self.replay_miss:.0%} of the size of the motion: these controls do not lead"
                " there. Use more steps (accion.control.refine(solution)); a motion that is too"
                " unstable for any mesh needs a feedback besides.",
                ReplayMisses,
                stacklevel=3,
            )
        return "; ".join(words)

    @property
    def steps(self):
        return len(self.t) - 1

    @cached_property
    def trajectory(self):
        """The motion as a `Trajectory`."""
        return self.stored["trajectory"] if self.stored else self.details.trajectory(self)

    @cached_property
    def multipliers(self):
        return self.stored["multipliers"] if self.stored else self.details.multipliers(self)

    @cached_property
    def costates(self):
        return self.stored["costates"] if self.stored else self.details.costates(self)

    @property
    def p(self):
        return self.trajectory.p

    @property
    def v(self):
        return self.trajectory.v

    @property
    def lam(self):
        return self.trajectory.lam

    def resample(self, steps):
        """The solution on another mesh, as a guess."""
        return resampled(
            self.problem.system.space,
            self.t,
            self.q,
            self.u,
            self.t_u,
            self.duration,
            steps,
            self.problem.t0,
        )

    def control(self, t):
        """The controls at times `t`: constant on each step, or between nodes piecewise linear
        (formulation="vakonomic").
        """
        t = np.atleast_1d(np.asarray(t, dtype=float))
        if self.formulation == "vakonomic":
            return np.stack([np.interp(t, self.t_u, column) for column in self.u.T], axis=1)
        return self.u[np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, self.steps - 1)]

    @cached_property
    def replay(self):
        """(q, v) at the nodes when the controls are applied to the continuous equations, integrated
        to order 8 from the start.
        """
        ramps = self.control_ramps()
        q0 = jax.tree.map(lambda a: jnp.asarray(a)[0], self.q)
        return replayed(
            self.problem.B, self.problem.system, q0, jnp.asarray(self.v)[0], self.t, ramps
        )

    def control_ramps(self):
        """The controls at the beginning and the end of each step, shape (2, N, controls)."""
        if self.formulation == "vakonomic":
            u = self.control(self.t)
            return np.stack([u[:-1], u[1:]])
        return np.stack([self.u, self.u])

    @cached_property
    def missed(self):
        """(of q, of v): by how much the replay misses the end of the discrete solution, the largest
        component of each.
        """
        q, v = self.replay

        def last(tree):
            return jax.tree.map(lambda a: jnp.asarray(a)[-1], tree)

        miss = np.asarray(self.problem.system.space.local(last(self.q), last(q)))
        return float(np.max(np.abs(miss))), float(
            np.max(np.abs(np.asarray(v)[-1] - np.asarray(self.v)[-1]))
        )

    @property
    def replay_error(self):
        """By how much the replay misses the end of the discrete solution: the largest component of
        q and of v.
        """
        return max(self.missed)

    @property
    def replay_miss(self):
        """The same as part of the size of the motion: of q against the largest displacement from
        the start, of v against the largest velocity.

        It falls as h^order where the mesh resolves the motion. At 1 the replay ends as far from the
        end as the motion itself reaches: the discrete and the continuous motion have nothing to do
        with each other any more. A printed solution warns above 1/2.
        """
        start = jax.tree.map(lambda a: jnp.asarray(a)[0], self.q)
        x = np.asarray(
            jax.vmap(lambda q: self.problem.system.space.local(start, q))(
                jax.tree.map(jnp.asarray, self.q)
            )
        )
        sizes = np.max(np.abs(x)), np.max(np.abs(np.asarray(self.v)))
        return float(
            max(miss / (size + RESOLVED) for miss, size in zip(self.missed, sizes, strict=True))
        )

    @cached_property
    def path_worst(self):
        """{name: (value, t)}: the largest value of each path constraint along the whole motion, <=
        0 where it holds, and when it is reached.
        """
        return Motion(self.problem, self.t, self.q, self.u).worst()

    def extremal(self, intervals=None):
        """The solution of Pontryagin's conditions near this one, by multiple shooting: costates,
        Hamiltonian, residuals, an accurate cost.
        """
        problem = self.problem
        if intervals is not None and (
            isinstance(intervals, bool)
            or not isinstance(intervals, int | np.integer)
            or intervals < 1
        ):
            raise ValueError(f"intervals must be a whole number >= 1; got {intervals!r}.")
        if problem.path or problem.boundary != "velocities":
            raise ValueError(
                "Pontryagin's conditions are solved for problems with velocities at the ends and"
                " without path constraints."
            )
        for words, values, bounds in self.bounded():
            if any(np.any(np.isclose(values, side, atol=1e-6)) for side in bounds):
                raise ValueError(
                    f"{words} are on their bounds: the smooth form of Pontryagin's conditions does"
                    " not hold there."
                )
        count = (
            max(pontryagin.INTERVALS, min(self.steps, 256)) if intervals is None else int(intervals)
        )
        sparse = self.resample(count)
        t = problem.t0 + self.duration * np.linspace(0, 1, count + 1)

        def between(a):
            return np.stack(
                [
                    np.interp(t, self.t, column)
                    for column in np.asarray(a).reshape(len(self.t), -1).T
                ],
                axis=1,
            )

        costates = between(self.costates).reshape(count + 1, 2, -1)
        return pontryagin.extremal(
            problem, t, sparse.q, between(self.v), sparse.u, costates, duration=self.duration
        )

    def richardson(self):
        """(cost, error): the cost extrapolated to h = 0 from this mesh and one of half the steps,
        and an estimate of the error of `cost`.
        """
        from accion.control.optimize import halved  # what solves makes solutions

        order = self.method.order or 1
        correction = (self.cost - halved(self).cost) / (2**order - 1)
        return self.cost + correction, abs(correction)

    def bounded(self):
        """(words, values, bounds) of what has bounds: controls, velocities of the steps and, on a
        flat space, coordinates between the ends.
        """
        problem, space = self.problem, self.problem.system.space
        before, after = (
            jax.tree.map(lambda a, s=s: np.asarray(a)[s], self.q)
            for s in (slice(None, -1), slice(1, None))
        )
        d = np.asarray(jax.vmap(space.local)(before, after))
        found = [
            ("controls", self.u, problem.u_bounds),
            ("velocities", d * self.steps / self.duration, problem.v_bounds),
        ]
        if space.flat:
            q = np.concatenate(
                [np.reshape(leaf, (len(self.t), -1)) for leaf in jax.tree.leaves(self.q)], axis=1
            )
            found.append(("coordinates", q[1:-1], problem.q_bounds))
        return found

    def plot(self, axes=None):
        """Coordinates, velocities and controls over time, with their bounds; returns the matplotlib
        figure.
        """
        return picture(self, axes)

    def animate(self, positions=None, path=None, *, fps=30, seconds=None):
        """The motion as an animation; see `Trajectory.animate`."""
        return self.trajectory.animate(positions, path, fps=fps, seconds=seconds)

    def to_xarray(self):
        """An xarray.Dataset: the trajectory with controls, costates and multipliers."""
        data = self.trajectory.to_xarray()
        data = data.assign_coords(
            control_time=(
                "control_time",
                self.t_u,
                {"long_name": "time of a control", "units": "s"},
            )
        )
        data = data.assign(
            u=(
                ("control_time", "control"),
                self.u,
                {"long_name": f"control, {', '.join(self.problem.controls)}"},
            ),
            costates=(
                ("time", "level", "coordinate"),
                np.asarray(self.costates),
                {"long_name": "costates (p0, p1) of (q, v)"},
            ),
            balance_multipliers=(
                ("time", "coordinate"),
                self.multipliers,
                {"long_name": "multipliers of the momentum balances"},
            ),
        )
        words = (
            "cost",
            "duration",
            "iterations",
            "message",
            "violation",
            "stationarity",
            "solver",
            "formulation",
        )
        return data.assign_attrs(
            {f"control_{name}": getattr(self, name) for name in words}
            | {"control_success": int(self.success)}
        )

    def save(self, path, *, overwrite=False):
        """Write a Zarr store, whole or not at all; `accion.control.load(path, problem)` reads it,
        `accion.load` its trajectory.
        """
        storage.write(self.to_xarray(), path, overwrite)

    def with_optima(self, optima):
        return replace(self, optima=tuple(optima))


def replayed(B, system, q0, v0, t, ramps):
    """(q, v) at the times `t` with controls that go linearly from ramps[0] to ramps[1] on each
    step.

    Some steps at a time, the last of them filled up with steps of no length: so meshes of all
    lengths share what is compiled.
    """
    state, found = (q0, v0), [jax.tree.map(lambda a: np.asarray(a)[None], (q0, v0))]
    for first in range(0, len(t) - 1, REPLAYED):
        steps = np.minimum(np.arange(first, first + REPLAYED), len(t) - 2)
        h = np.where(np.arange(first, first + REPLAYED) < len(t) - 1, np.diff(t)[steps], 0.0)
        state, rows = replayed_piece(
            B, system, state, (t[steps], h, ramps[0][steps], ramps[1][steps])
        )
        found.append(jax.tree.map(np.asarray, rows))
    return jax.tree.map(lambda *a: jnp.asarray(np.concatenate(a)[: len(t)]), *found)


@partial(jax.jit, static_argnums=0)
def replayed_piece(B, system, state, data):
    """The state after each of some steps, (t, h, u before, u after), from `state`, and after the
    last.
    """
    space = system.space

    def step(state, data):
        t, h, before, after = data

        def rates(now, y):
            q, v = y
            u = before + jnp.where(h > 0, (now - t) / jnp.where(h > 0, h, 1.0), 0.0) * (
                after - before
            )
            a = index_one(system.altered(force=Push(system.force, B, u)), now, q, v, None)[0]
            return space.tangent(q, v), a

        q, v = flow(rates, t, state, h, REPLAY_PIECES)
        state = (q if space.flat else space.project(q), v)
        return state, state

    return jax.lax.scan(step, state, data)


def load(path, problem):
    """The solution of `problem` that `Solution.save` wrote."""
    import xarray as xr

    from accion.results.trajectory import load as load_trajectory

    if not isinstance(problem, ControlProblem):
        raise ValueError(
            f"load(path, problem) needs the ControlProblem that was solved; got {problem!r}."
        )
    trajectory = load_trajectory(path, problem.system)
    data = xr.open_zarr(path).load()
    if "control_cost" not in data.attrs:
        raise ValueError(
            f"{path} holds a trajectory, not a solution of a control problem; read it by"
            " accion.load."
        )
    if data["u"].shape[1] != problem.count:
        raise ValueError(
            f"{path} was made with another problem: it has {data['u'].shape[1]} controls, the given"
            f" one {problem.count}."
        )
    words = {
        name: data.attrs[f"control_{name}"]
        for name in (
            "cost",
            "duration",
            "iterations",
            "message",
            "violation",
            "stationarity",
            "solver",
        )
    }
    stored = {
        "trajectory": trajectory,
        "costates": data["costates"].values,
        "multipliers": data["balance_multipliers"].values,
    }
    return Solution(
        problem=problem,
        method=trajectory.method,
        formulation=data.attrs["control_formulation"],
        t=np.asarray(trajectory.t),
        q=jax.tree.map(np.asarray, trajectory.q),
        t_u=data["control_time"].values,
        u=data["u"].values,
        success=bool(data.attrs["control_success"]),
        stored=stored,
        **words,
    )
