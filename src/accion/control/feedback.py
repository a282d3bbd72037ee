"""Controls that answer to the state: they hold an equilibrium, or follow a solution."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door, number, positive, shown, wrong
from accion.control.balance import AT_REST, rests
from accion.control.closed_loop import ClosedLoop, Following, Held
from accion.control.holding import obstacle
from accion.control.linear import Linear, linearise
from accion.control.polynomial import between
from accion.control.problem import ControlProblem
from accion.control.riccati import algebraic, backwards, weight, weights_of
from accion.control.run import Plant, Run, plant_of, start_of
from accion.control.solution import Solution
from accion.control.states import Places, apart, law_of
from accion.plot.figures import check_axes, legend, new_figure
from accion.spaces import check_vector
from accion.systems import System
from accion.systems.base import word_of
from accion.told import Drawn
from accion.types import Array, Configuration, Function, Scalar, Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 10**7  # steps of a replay


@dataclass(frozen=True, repr=False)
class Feedback(Drawn):
    """The control law u(t, q, v) = u*(t) - K(t) z, within the bounds of the problem, where z = (e,
    w) leads from what is followed, (q*, v*)(t), to the state: q is off by the increment e, in the
    frame of the body on a group, and v by w.

    A call gives the controls at a time and a state. Between samples K and what is followed are
    interpolated.

    linear:   the `Linear` that it was made from
    K:        gains, (controls, 2 dim); along a solution those of each step
    S:        z.S z is the cost that is left, (2 dim, 2 dim); along a solution at each node
    poles:    of the closed loop, at an equilibrium: 1/s, or with h the factors of a step
    after:    along a solution, the law that holds its end; None where nothing does, and then the
              controls are NaN after it
    """

    linear: Linear
    K: np.ndarray
    S: np.ndarray
    after: "Feedback | None" = None

    def __str__(self) -> str:
        problem, h = self.linear.problem, self.linear.h
        if self.linear.varying:
            t = self.linear.about.t
            then = ", then holds its end" if self.after else ""
            return f"{problem.name}: follows a solution from {t[0]:g} to {t[-1]:g}{then}"
        poles, how = ", ".join(f"{pole:.4g}" for pole in self.poles), "continuous"
        if h is not None:
            how = f"every {h:g} s"
        q = jax.tree.map(lambda a: a[0], self.linear.about.q)
        where = f" q = {q}" if np.ndim(q) == 1 else " its equilibrium"  # matrices fill lines
        return f"{problem.name}: holds{where}, {how}, poles {poles}"

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A - B K at an equilibrium, or of Phi - Gamma K; on what constraints
        allow.
        """
        linear = self.linear
        linear.check_at_rest("the poles of a law are those of an equilibrium")
        steps = (linear.A, linear.B) if linear.h is None else (linear.Phi, linear.Gamma)
        E, R = linear.inside()
        found = np.linalg.eigvals(R @ (steps[0] - steps[1] @ self.K) @ E)
        return found[np.argsort(-np.abs(found))]

    # ------------------------------------------------------------ the law

    def __call__(self, t: Scalar, q: Configuration, v: Vector) -> Array:
        """The controls at a time and a state, shape (controls,)."""
        space = self.linear.problem.system.space
        t, q = number(t, "t"), space.check(q, "q")
        return traced(self)(t, q, jnp.asarray(check_vector(v, space.dim, "v")))

    def closed_loop(self, system: System | None = None) -> System:
        """The system with this law among its forces, for `simulate`, at any time asked for the
        controls; `system` is another one on the same space, such as one with other params.

        One that follows a solution is NaN before its start, and after its end where nothing holds
        that: the name of the system says from when to when it is there.
        """
        problem = self.linear.problem
        own = plant_of(problem, system, None)
        force = ClosedLoop(own.force, law_of(problem), traced(self))
        words, t = "", self.linear.about.t
        if self.linear.varying:
            words = f" from t = {t[0]:g}{'' if self.after else f' to t = {t[-1]:g}'}"
        return replace(own, force=force, name=f"{own.name} with feedback{words}")

    @door(duration=positive, h=positive)
    def replay(
        self,
        duration: float | None = None,
        *,
        h: float | None = None,
        q0: Any = None,
        v0: Any = None,
        disturbance: Function | None = None,
        system: System | None = None,
    ) -> Run:
        """The motion with controls that are asked for at the start of each step and held for it
        (the part K z of them, where those of a solution change on a step), by the continuous
        equations.

        Arguments:
            duration: of a law that follows a solution, as long as that where it is not given;
                longer where the end is held. The last step is shorter where it does not divide
                what is held.
            h: length of the steps, of a law at an equilibrium that has none.
            q0, v0: the start; that of what is followed where it is not given.
            disturbance: disturbance(t, q, v, params), a force (dim,) that the law does not know of.
            system: another one that the controls act on, such as one with other params.

        Raises:
            ValueError: where an argument is missing or wrong.
        """
        table = table_of(self, duration, h)
        plant = Plant(self.linear.problem, plant_of(self.linear.problem, system, disturbance), ())
        return run_of(table, plant, q0, v0)

    def plot(self, axes: Any = None) -> "Figure":
        """The gains, over time where they follow a solution; returns the matplotlib figure."""
        problem, t = self.linear.problem, self.linear.about.t
        names = problem.system.names
        count, columns = len(problem.controls), (*names, *(f"{name}'" for name in names))
        if axes is None:
            figure, axes = new_figure(count, 1, (7.5, 2.6 * count))
        else:
            axes = check_axes(axes, count)
            figure = axes[0].figure
        for axis, one, row in zip(
            np.ravel(axes), problem.controls, np.moveaxis(self.K, -2, 0), strict=True
        ):
            if self.linear.varying:
                for name, values in zip(columns, row.T, strict=True):
                    axis.stairs(values, t, baseline=None, label=name)
                legend(axis)
            else:
                axis.bar(columns, row)
            axis.set_ylabel(f"gains of {word_of(one)}")
        if self.linear.varying:
            np.ravel(axes)[-1].set_xlabel("t [s]")
        np.ravel(axes)[0].set_title(problem.name, loc="left", fontsize=10)
        return figure


# ---------------------------------------------------------------- at any time


def traced(feedback: Feedback) -> Held | Following:
    """The law as a function that JAX traces."""
    linear, after = feedback.linear, feedback.after
    space, within = linear.problem.system.space, linear.problem.u_bounds
    t, q, v, u = jax.tree.map(jnp.asarray, linear.about[:4])
    within = jnp.asarray(within[0]), jnp.asarray(within[1])
    K = jnp.asarray(feedback.K)
    if not linear.varying:
        return Held(jax.tree.map(lambda a: a[0], q), v[0], u[0, 0], K, within, space)
    last = K[-1] if after is None else jnp.asarray(after.K)
    K, held = jnp.concatenate([K, last[None]]), None if after is None else traced(after)
    assert not isinstance(held, Following)
    return Following(t, q, v, u, K, within, held, space, linear.about.places)


# ---------------------------------------------------------------- sampled


@dataclass(frozen=True)
class Table:
    """What a sampled law follows, its controls and its gains, one row for each step; of times and
    states one more.
    """

    t: np.ndarray
    q: Configuration
    v: np.ndarray
    u: np.ndarray
    K: np.ndarray
    places: Places


def table_of(feedback: Feedback, duration: float | None, h: float | None) -> Table:
    """The rows of a replay."""
    linear = feedback.linear
    if not linear.varying:
        return held_table(feedback, linear.about.t[0], duration, h)
    t, q, v, u, places = linear.about
    if h is not None:
        raise ValueError(
            "h is for a law at an equilibrium; one that follows a solution has its own."
        )
    table = Table(t, q, v, u, feedback.K, places)
    length = t[-1] - t[0]
    if duration is None or abs(duration - length) <= 1e-12 * length:
        return table
    if duration < length:
        raise ValueError(
            f"duration must be that of the solution, {length:g}, or longer; got {duration:g}."
        )
    if feedback.after is None:
        raise ValueError(
            f"duration must be that of the solution, {length:g}, because nothing holds its end; got"
            f" {duration:g}."
        )
    more = held_table(feedback.after, t[-1], duration - length, None, len(places))
    q, v = (
        jax.tree.map(lambda a, b: np.concatenate([np.asarray(a), b[1:]]), *pair)
        for pair in ((q, more.q), (v, more.v))
    )
    u, K = np.concatenate([u, more.u]), np.concatenate([feedback.K, more.K])
    return Table(np.append(t, more.t[1:]), q, v, u, K, places)


def held_table(
    feedback: Feedback, t0: float, duration: float | None, h: float | None, places: int = 1
) -> Table:
    """The rows of a law at an equilibrium."""
    about, own = feedback.linear.about, feedback.linear.h
    if duration is None:
        raise ValueError("duration: say how long the equilibrium is to be held.")
    if own is not None and h is not None and h != own:
        raise ValueError(f"h: this law was made for steps of {own:g}; got {h:g}.")
    h = own if h is None else h
    if h is None:
        raise ValueError(
            "h: this law is one of continuous time. Say how often it is asked, or run"
            " simulate(feedback.closed_loop(), ...)."
        )
    count = max(1, math.ceil(duration / h * (1 - 1e-12)))
    if count > LONGEST:
        wrong("duration", f"at most {LONGEST:g} steps of {h:g} s", duration)

    def rows(a: np.ndarray, n: int) -> np.ndarray:
        return np.broadcast_to(a, (n, *np.shape(a)))

    q = jax.tree.map(lambda a: rows(np.asarray(a)[0], count + 1), about.q)
    u = rows(np.repeat(about.u[0], places, axis=0), count)
    t = t0 + np.append(h * np.arange(count), duration)
    return Table(t, q, rows(about.v[0], count + 1), u, rows(feedback.K, count), about.places)


def run_of(table: Table, plant: Plant, q0: Any, v0: Any) -> Run:
    """The motion of a plant under a sampled law."""
    problem, plant = plant.problem, plant._replace(places=table.places)
    space = problem.system.space
    followed = [jax.tree.map(lambda a, k=k: a[k], (table.q, table.v)) for k in range(len(table.t))]
    state = start_of(problem, followed[0], q0, v0)
    states, controls, off = [state], [], []
    for k, h in enumerate(np.diff(table.t)):
        off.append(np.asarray(apart(space, followed[k], state)))
        u = table.u[k] - table.K[k] @ off[-1]
        controls.append(np.clip(between(table.places, u, 0.5), *problem.u_bounds))
        state = plant.after(table.t[k], h, state, u)
        states.append(state)
    off.append(np.asarray(apart(space, followed[-1], state)))
    q, v = jax.tree.map(lambda *a: np.stack(a), *states)
    return Run(problem, table.t, q, v, np.stack(controls), np.stack(off))


# ---------------------------------------------------------------- making one


@door(h=positive, t=number)
def lqr(
    problem: ControlProblem,
    Q: Any,
    R: Any,
    *,
    at: Any = None,
    u: Any = None,
    t: float | None = None,
    h: float | None = None,
) -> Feedback:
    """The law that holds an equilibrium, with the least

        int z.Q z + du.R du dt,    or  sum_k h (z_k.Q z_k + du_k.R du_k)  with controls held for h

    of small changes z = (e, w) of the state and du of the controls: K of the algebraic Riccati
    equation, in continuous or in discrete time.

    Arguments:
        problem: says what the controls act on; its cost plays no part.
        Q: a number, the diagonal (2 dim,), or a symmetric matrix without negative eigenvalues.
        R: the same for the controls, with positive eigenvalues.
        at, u, t, h: of the equilibrium, as for `linearise`.

    Raises:
        ValueError: where it is no equilibrium, or the controls do not reach a mode that does not
            die out, or those that hold it are not within their bounds, or the system changes with
            t there.
    """
    if not isinstance(problem, ControlProblem):
        raise ValueError(f"problem must be a ControlProblem; got {shown(problem)}.")
    linear = linearise(problem, at=at, u=u, t=t, h=h)
    against = obstacle(linear)
    if against is not None:
        raise ValueError(against)
    return Feedback(linear, *algebraic(linear, *weights_of(linear, Q, R)))


@door()
def track(solution: Solution, Q: Any, R: Any, Qf: Any = None) -> Feedback:
    """The law that follows a solution, with the least

        sum_k h (z_k.Q z_k + du_k.R du_k) + z_N.Qf z_N

    of small changes along it: the Riccati equation backwards in time, step by step. Where the
    solution ends at rest in an equilibrium that its controls can hold within their bounds, they
    hold it afterwards.

    Arguments:
        solution: of a `ControlProblem`.
        Q, R: as for `lqr`.
        Qf: the same for the end; where its end is held, the cost of that is taken if it is not
            given.

    Raises:
        ValueError: where the end is not held and Qf is not given.
    """
    if not isinstance(solution, Solution):
        raise ValueError(
            f"solution must be a Solution, as optimize returns it; got {shown(solution)}."
        )
    linear = linearise(solution)
    own = weights_of(linear, Q, R)
    after = holding(linear, *own)
    if Qf is not None:
        last = weight(Qf, len(linear.units), "Qf")
    elif after is not None:
        last = after.S
    else:
        raise ValueError(
            "Qf: the solution does not end at rest in an equilibrium that its controls can hold;"
            " say what it costs to be off the end, such as Qf = Q."
        )
    return Feedback(linear, *backwards(linear, *own, last), after)


def holding(linear: Linear, Q: np.ndarray, R: np.ndarray) -> Feedback | None:
    """The law that holds the end of a solution, None where nothing does."""
    problem, (t, q, v, _, _) = linear.problem, linear.about
    end = jax.tree.map(lambda a: np.asarray(a)[-1], q)
    if np.any(np.abs(v[-1]) > AT_REST * np.max(np.abs(v), axis=0)):
        return None
    if not rests(problem, float(t[-1]), end):
        return None
    held = linearise(problem, at=(end, None), t=float(t[-1]), h=float(t[-1] - t[-2]))
    if obstacle(held) is not None or not held.stabilisable:
        return None
    return Feedback(held, *algebraic(held, Q, R))
