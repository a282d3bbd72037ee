"""Whether a control problem is one: its functions return what they should, its ends are allowed."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import leaves, wrong
from accion.control.bounds import Bounds
from accion.control.ends import End
from accion.instant.constrained import bordered
from accion.instant.sizes import Sizes, held_off, sizes_of
from accion.instant.starts import check_rank
from accion.systems import System
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.systems.start import is_traced
from accion.types import Array, Configuration, Function, Scalar, Vector

if TYPE_CHECKING:
    from accion.control.problem import ControlProblem

TRACED = (
    "optimize is not differentiated by JAX: its problem must have numbers, not what grad, jit or"
    " vmap trace. Derivatives by the params go through accion.control.optimum(problem, method,"
    " steps, params=params); those of the least cost are solution.cost_gradient() too (the envelope"
    " theorem), and by the start -solution.costates[0]."
)


def check_mechanics(problem: "ControlProblem") -> None:
    """Raise ValueError unless system, time and cost are what they should be; TypeError where JAX
    traces their numbers.
    """
    for name in ("start", "end", "duration", "t0"):  # a list of itself is no tree
        if (
            isinstance(getattr(problem, name), list | tuple)
            and leaves(getattr(problem, name)) is None
        ):
            wrong(name, "lists of finite depth", getattr(problem, name))
    if is_traced((problem.system, problem.start, problem.end, problem.duration, problem.t0)):
        raise TypeError(TRACED)
    if problem.system.enters_action:
        why = "start and end are (q, v), and a vakonomic motion is not given by them alone"
        checks.refuse("ControlProblem", "vakonomic systems", why)
    problem.system.check()
    check_function("rate_cost", problem.rate_cost, "t, w, params", optional=True)


def check_functions(problem: "ControlProblem") -> None:
    """Raise ValueError unless cost, terminal cost and path constraints return what they should."""
    system = problem.system
    point = (jnp.zeros(()), system.space.identity(), jnp.zeros(system.space.dim))
    takes, all_ = f"({problem.form.running})", (*point, jnp.zeros(problem.control_count))
    returned = evaluate(
        "cost", lambda s, *at: problem.cost(*at, s.params), system, *all_, takes=takes
    )
    check_returns("cost", returned, (), "a scalar, such as 0.5 * u @ u")
    if problem.terminal is not None:
        terminal = problem.terminal
        returned = evaluate(
            "terminal",
            lambda s, *at: terminal(*at, s.params),
            system,
            *point,
            takes=f"({problem.form.ending})",
        )
        check_returns("terminal", returned, (), "a scalar")
    check_more(problem)
    for name, g in problem.path.items():
        out = evaluate(
            f"path[{name!r}]",
            lambda s, *at, g=g: jnp.atleast_1d(g(*at, s.params)),
            system,
            *all_,
            takes=takes,
        )
        check_returns(
            f"path[{name!r}]", out, None, "a number or a vector, <= 0 where it is allowed"
        )
    check_controls_act(problem)


def check_more(problem: "ControlProblem") -> None:
    """Raise ValueError unless `at_end` and `rate_cost` return what they should."""
    system, at_end, rate_cost = problem.system, problem.at_end, problem.rate_cost
    zero, q = jnp.zeros(()), system.space.identity()
    if at_end is not None:
        out = evaluate(
            "at_end",
            lambda s, *at: jnp.atleast_1d(at_end(*at, s.params)),
            system,
            *(zero, q, jnp.zeros(system.space.dim)),
            takes=f"({problem.form.ending})",
        )
        check_returns("at_end", out, None, "a number or a vector, zero at the end")
        if problem.boundary != "velocities":
            raise ValueError('at_end is for ends (q, v): leave out boundary="configurations".')
    if rate_cost is not None:
        out = evaluate(
            "rate_cost",
            lambda s, *at: rate_cost(*at, s.params),
            system,
            *(zero, jnp.zeros(problem.control_count)),
            takes="(t, w, params)",
        )
        check_returns("rate_cost", out, (), "a scalar, such as 0.5 * w @ w")


def acts_by(problem: "ControlProblem") -> str:
    """What the user calls that by which the controls act."""
    given = ("control_force", "actuation", "actuated")
    return next((name for name in given if getattr(problem, name) is not None), "f")


def check_controls_act(problem: "ControlProblem") -> None:
    """Raise ValueError where a control changes neither forces nor path constraints, at the ends and
    at some points besides.
    """
    system, count, n = problem.system, problem.control_count, problem.system.space.dim

    def changed(t: Scalar, q: Configuration, v: Vector, u: Array) -> Array:
        """Largest change of anything by each control."""

        def whole(u: Array) -> Array:
            at = (t, q, v, u, system.params)
            functions = (problem.law, *problem.path.values())
            return jnp.concatenate([jnp.atleast_1d(jnp.asarray(f(*at))) for f in functions])

        return jnp.max(jnp.abs(jax.jacfwd(whole)(u)), axis=0)

    rng, found = np.random.default_rng(0), np.zeros(count)
    slope = jax.jit(changed)
    times = (problem.t0, problem.t0 + problem.longest)
    for name, end, t in zip(("start", "end"), problem.ends, times, strict=True):
        for size in (0.0, 0.1, 1.0):
            q = system.space.retract(end.q, jnp.asarray(size * rng.normal(size=n)))
            here = np.asarray(slope(t, q, rng.normal(size=n), rng.normal(size=count)))
            found = np.fmax(found, here)
            given = np.all(end.q_fixed) and np.all(end.v_fixed)
            if given and size == 0.0 and not np.all(np.isfinite(here)):
                raise ValueError(
                    f"{acts_by(problem)} is not finite at the {name}, or a path constraint is not,"
                    " or their derivatives by the controls."
                )
    for name, size in zip(problem.controls, found, strict=True):
        if not size > 0:
            raise ValueError(
                f"the control {name} does nothing: neither {acts_by(problem)} nor a path constraint"
                " changes with it, at the start, at the end and elsewhere. Leave it out."
            )


# ---------------------------------------------------------------- the ends


def check_ends(problem: "ControlProblem") -> None:
    """Raise ValueError where an end is out of bounds, off the constraint, or the controls there do
    not act.
    """
    system = problem.system
    for name, end, t in (
        ("start", problem.ends[0], problem.t0),
        ("end", problem.ends[1], problem.t0 + problem.longest),
    ):
        if system.space.flat:
            q = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(end.q)])
            check_inside(system, name, q, end.q_fixed, problem.q_bounds, "")
        if problem.boundary == "velocities":
            check_inside(system, name, end.v, end.v_fixed, problem.v_bounds, "velocity of ")
        check_on_constraint(problem, name, end, t)
        check_path(problem, name, end, t)


def check_inside(
    system: System, name: str, values: np.ndarray, fixed: np.ndarray, bounds: Bounds, what: str
) -> None:
    """Raise ValueError where a component that is fixed is out of its bounds."""
    for i in np.flatnonzero(fixed & ((values < bounds[0]) | (values > bounds[1]))):
        raise ValueError(
            f"the {name} is out of bounds: {what}{system.names[i]} = {values[i]:g} is not within"
            f" {bounds[0][i]:g} .. {bounds[1][i]:g}. Change the bounds or the end."
        )


def check_path(problem: "ControlProblem", name: str, end: End, t: float) -> None:
    """Raise ValueError where an end that is fixed breaks a path constraint that no control can
    mend.
    """
    whole = np.all(end.q_fixed) and np.all(end.v_fixed)
    if problem.free_time or problem.boundary != "velocities" or not whole:
        return
    sizes = sizes_of_ends(problem)
    # nothing special, so that what depends on u is seen to
    u = 0.1 + jnp.arange(problem.control_count)
    for words, g in problem.path.items():

        def value(u: jax.Array, g: Function = g) -> jax.Array:
            return jnp.atleast_1d(
                g(jnp.asarray(float(t)), end.q, jnp.asarray(end.v), u, problem.system.params)
            )

        off = np.where(
            np.any(np.asarray(jax.jacfwd(value)(u)) != 0, axis=1), 0.0, np.asarray(value(u))
        )
        if np.any(off > 1e-9 * path_size(problem, g, end, t, u, sizes)):
            raise ValueError(
                f"the {name} is out of bounds: {words} is {np.max(off):.3g} there, and must be <="
                f" 0. Change it or the {name}."
            )


def check_on_constraint(problem: "ControlProblem", name: str, end: End, t: float) -> None:
    """Raise ValueError where an end is off the constraint, or the constraints there depend on each
    other.
    """
    system, constraint = problem.system, problem.system.constraint
    if constraint is None or problem.boundary != "velocities" or not np.all(end.q_fixed):
        return
    point, sizes = (
        (system, jnp.asarray(float(t)), end.q, jnp.asarray(end.v)),
        sizes_of_ends(problem),
    )
    off = held_off(*point, sizes.q)
    if np.all(end.v_fixed):
        C = jax.jacfwd(lambda v: constraint.on_velocities(*point[:3], v))(point[3])
        terms = np.abs(np.asarray(C)) @ (sizes.v + np.abs(end.v))
        off = off.joined(np.asarray(constraint.on_velocities(*point)), terms)
    if off.far:
        raise ValueError(
            f"the {name} is off the constraint of {system.name} by {off.worst:.3g}. "
            f"Move it there: q, v = accion.project(system, q, v, t={float(t):g})."
        )
    check_rank(system, np.asarray(bordered(*point)))


def sizes_of_ends(problem: "ControlProblem") -> Sizes:
    """The sizes of a motion between the ends."""
    start, end = problem.ends
    pairs = [(start.q, start.v), (end.q, end.v)]
    if problem.boundary == "configurations":
        zero = np.zeros(problem.system.space.dim)
        pairs = [(q, zero) for pair in pairs for q in pair]
    q = jax.tree.map(lambda *leaves: np.stack(leaves), *(q for q, _ in pairs))
    t = problem.t0 + problem.longest * np.linspace(0, 1, len(pairs))
    return sizes_of(problem.system, t, q, np.stack([v for _, v in pairs]))


def path_size(
    problem: "ControlProblem", g: Function, end: End, t: float, u: jax.Array, sizes: Sizes
) -> np.ndarray:
    """The size of the components of a path constraint at an end: what a motion of the size of the
    problem's changes in them.
    """
    space, params = problem.system.space, problem.system.params

    def value(e: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.atleast_1d(g(jnp.asarray(float(t)), space.displace(end.q, e), v, u, params))

    dq, dv = jax.jacfwd(value, (0, 1))(jnp.zeros(space.dim), jnp.asarray(end.v))
    return np.abs(np.asarray(dq)) @ sizes.q + np.abs(np.asarray(dv)) @ sizes.v
