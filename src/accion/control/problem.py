"""What is to be controlled, from where to where, and at what cost."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.instant.constrained import matrix
from accion.instant.starts import check_rank
from accion.methods import Midpoint
from accion.spaces import Euclidean, Product, Torus
from accion.systems import System
from accion.systems.functions import check_returns, describe, evaluate


@dataclass(frozen=True)
class Selected:
    """Controls that are forces on some of the coordinates: B has a 1 for each of them."""

    chosen: tuple[int, ...]
    n: int

    def __call__(self, t, q, params):
        return jnp.asarray(np.eye(self.n)[:, list(self.chosen)])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Push:
    """The force of a system with the controls' added to it: F(t, q, v) + B(t, q) u."""

    force: Any
    B: Callable[..., Any]
    u: jax.Array

    def __call__(self, t, q, v, params):
        pushed = self.B(t, q, params) @ self.u
        return pushed if self.force is None else pushed + self.force(t, q, v, params)


class End(NamedTuple):
    """One end: the configuration and velocity there, and which components of them are fixed."""

    q: Any
    v: Any
    q_fixed: np.ndarray
    v_fixed: np.ndarray


@dataclass(frozen=True)
class ControlProblem:
    """Lead `system` from `start` to `end` in the time `duration` with controls u that make

        terminal(T, q, v) + int cost(t, q, v, u) dt    least,
        d/dt dL/dv - dL/dq = F + B(t, q) u        (004 eq 7.1)

    cost:            cost(t, q, v, u, params) -> scalar; `terminal`: (t, q, v, params) -> scalar
    actuated:        the coordinates that u acts on, by name or number; or `actuation`:
                     B(t, q, params) -> (dim, controls)
    start, end:      (q, v). A component that is None is free; so is a whole q or v that is None.
                     With boundary="configurations", the first and the last two configurations,
                     (q_0, q_1) and (q_{N-1}, q_N), as in 004 section 8.5.
    duration:        a number; or (least, most), and the best in between is found
    control_bounds:  (lower, upper), numbers or one for each control; `state_bounds`,
                     `velocity_bounds`: {coordinate: (lower, upper)}
    path:            {name: g}, or one g: g(t, q, v, u, params) <= 0 along the whole motion,
                     straight (on a group: retracted) between nodes
    """

    system: System
    cost: Callable[..., Any]
    _: KW_ONLY
    actuated: Any = None
    actuation: Callable[..., Any] | None = None
    start: Any = None
    end: Any = None
    duration: Any = None
    terminal: Callable[..., Any] | None = None
    control_bounds: Any = None
    state_bounds: Any = None
    velocity_bounds: Any = None
    path: Any = None
    t0: float = 0.0
    boundary: str = "velocities"
    controls: Any = None
    name: str | None = None
    B: Any = field(init=False, repr=False)  # the actuation, a function
    count: int = field(init=False, repr=False)  # of controls
    durations: Any = field(init=False, repr=False)  # (least, most)
    ends: Any = field(init=False, repr=False)
    u_bounds: Any = field(init=False, repr=False)
    q_bounds: Any = field(init=False, repr=False)
    v_bounds: Any = field(init=False, repr=False)

    def __post_init__(self):
        def set_(name, value):
            return object.__setattr__(self, name, value)

        check_mechanics(self)
        set_("system", checks.check_system(self.system, Midpoint()))
        set_("B", actuation_of(self))
        set_("count", count_controls(self))
        set_("controls", names_of(self))
        set_("durations", durations_of(self))
        if self.boundary not in ("velocities", "configurations"):
            raise ValueError(
                f'boundary must be "velocities" or "configurations"; got {self.boundary!r}.'
            )
        ends = (end_of(self, self.start, "start"), end_of(self, self.end, "end"))
        set_("ends", ends)
        set_("path", path_of(self))
        set_("u_bounds", pair_of(self.control_bounds, self.count, "control_bounds", self.controls))
        set_("q_bounds", named_bounds(self, self.state_bounds, "state_bounds"))
        set_("v_bounds", named_bounds(self, self.velocity_bounds, "velocity_bounds"))
        set_("name", self.name or f"control of {self.system.name}")
        check_functions(self)
        check_ends(self)

    @property
    def free_time(self):
        return self.durations[0] != self.durations[1]

    @property
    def longest(self):
        return self.durations[1]


def check_mechanics(problem):
    checks.check_mechanical(problem.system, "ControlProblem")
    if problem.system.enters_action:
        raise ValueError(
            "a vakonomic system has no forces to control it by: give its constraint as holonomic or"
            " nonholonomic."
        )
    problem.system.check()
    if not checks.is_finite_number(problem.t0):
        raise ValueError(f"t0 must be a number, the time of the start; got {problem.t0!r}.")
    if not callable(problem.cost):
        raise ValueError(f"cost must be a function cost(t, q, v, u, params); got {problem.cost!r}.")
    if problem.terminal is not None and not callable(problem.terminal):
        raise ValueError(
            f"terminal must be a function terminal(t, q, v, params); got {problem.terminal!r}."
        )


def actuation_of(problem):
    if (problem.actuated is None) == (problem.actuation is None):
        raise ValueError(
            "say what the controls act on: actuated=[...], coordinates by name or number, or"
            " actuation=B(t, q, params), one of the two."
        )
    system = problem.system
    if problem.actuation is not None:
        if not callable(problem.actuation):
            raise ValueError(
                f"actuation must be a function B(t, q, params) -> ({system.space.dim}, controls);"
                f" got {problem.actuation!r}."
            )
        return problem.actuation
    if callable(problem.actuated):
        raise ValueError(
            "actuated names coordinates; a function B(t, q, params) is given as actuation=B."
        )
    given = (
        list(problem.actuated)
        if np.iterable(problem.actuated) and not isinstance(problem.actuated, str)
        else [problem.actuated]
    )
    if not given:
        raise ValueError(
            "actuated is empty: there is no control. Name the coordinates that the controls act on."
        )
    return Selected(
        tuple(coordinate_number(system, item, "actuated") for item in given), system.space.dim
    )


def coordinate_number(system, item, where):
    if item in system.names:
        return system.names.index(item)
    if (
        isinstance(item, int | np.integer)
        and not isinstance(item, bool)
        and 0 <= item < system.space.dim
    ):
        return int(item)
    raise ValueError(
        f"{where}: {item!r} is no coordinate of {system.name}. Try one of:"
        f" {', '.join(system.names)}."
    )


def count_controls(problem):
    system = problem.system
    B = evaluate(
        "actuation",
        lambda s, t, q: problem.B(t, q, s.params),
        system,
        jnp.zeros(()),
        system.space.identity(),
        takes="(t, q, params)",
    )
    n = system.space.dim
    if len(getattr(B, "shape", ())) != 2 or B.shape[0] != n or B.shape[1] < 1:
        raise ValueError(
            f"actuation must return an array of shape ({n}, controls), a row for each coordinate"
            f" and a column for each control; it returned {describe(B)}."
        )
    return B.shape[1]


def names_of(problem):
    if problem.controls is not None:
        names = (
            tuple(problem.controls)
            if isinstance(problem.controls, tuple | list)
            else (problem.controls,)
        )
        if len(names) != problem.count or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"controls must be {problem.count} names, one for each control; got"
                f" {problem.controls!r}."
            )
        return names
    if isinstance(problem.B, Selected):
        return tuple(f"u_{problem.system.names[i]}" for i in problem.B.chosen)
    return tuple(f"u_{i}" for i in range(problem.count))


def durations_of(problem):
    given = problem.duration
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if (
        given is None
        or len(pair) != 2
        or not all(checks.is_finite_number(d) for d in pair)
        or not 0 < pair[0] <= pair[1]
    ):
        raise ValueError(
            f"duration must be a positive number, or (least, most) for a free one; got {given!r}."
        )
    return float(pair[0]), float(pair[1])


def path_of(problem):
    """{name: g}; a function alone has its own name."""
    given, form = (
        problem.path,
        '{"name": g} with functions g(t, q, v, u, params) <= 0, or one such function',
    )
    if given is None:
        return {}
    if callable(given):
        name = getattr(given, "__name__", "path")
        return {"path" if name == "<lambda>" else name: given}
    if not isinstance(given, dict):
        raise ValueError(f"path must be {form}; got {given!r}.")
    for name, g in given.items():
        if not isinstance(name, str) or not callable(g):
            raise ValueError(f"path must be {form}; got {g!r} for {name!r}.")
    return dict(given)


def end_of(problem, given, name):
    """The end as arrays, free components at their guess of zero."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        words = "(q, v)" if problem.boundary == "velocities" else "two configurations"
        raise ValueError(f"{name} must be {words}; got {given!r}.")
    q, q_fixed = configuration_of(problem.system.space, given[0], f"{name}[0]")
    if problem.boundary == "configurations":
        q1, fixed = configuration_of(problem.system.space, given[1], f"{name}[1]")
        if not (np.all(q_fixed) and np.all(fixed)):
            raise ValueError(
                f'{name}: with boundary="configurations" both configurations are given whole.'
            )
        return End(q, q1, q_fixed, fixed)
    v, v_fixed = vector_of(problem.system.space.dim, given[1], f"{name}[1]")
    return End(q, v, q_fixed, v_fixed)


def vector_of(n, given, name):
    if given is None:
        return np.zeros(n), np.zeros(n, dtype=bool)
    items = list(np.atleast_1d(np.asarray(given, dtype=object)))
    if len(items) != n:
        raise ValueError(
            f"{name} must have {n} components (None where one is free); got {given!r}."
        )
    fixed = np.array([item is not None for item in items])
    try:
        values = np.array([0.0 if item is None else float(item) for item in items])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers, or None where a component is free; got {given!r}."
        ) from error
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{name} must be finite; got {given!r}.")
    return values, fixed


def configuration_of(space, given, name):
    """(q, fixed): flat spaces component by component, others whole."""
    if given is None:
        return space.identity(), np.zeros(space.dim, dtype=bool)
    if isinstance(space, Euclidean | Torus):
        values, fixed = vector_of(space.dim, given, name)
        return space.check(values, name), fixed
    if (
        isinstance(space, Product)
        and isinstance(given, tuple | list)
        and len(given) == len(space.factors)
    ):
        parts = [
            configuration_of(s, g, f"{name}[{i}]")
            for i, (s, g) in enumerate(zip(space.factors, given, strict=True))
        ]
        return tuple(part[0] for part in parts), np.concatenate([part[1] for part in parts])
    return space.check(given, name), np.ones(space.dim, dtype=bool)


def pair_of(given, count, where, names):
    """(lower, upper), one for each of `count`; infinite where nothing, or None, is given."""
    if given is None:
        given = (None, None)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"{where} must be (lower, upper); got {given!r}.")
    try:
        lower, upper = (
            bounds_of(side, count, none)
            for side, none in zip(given, (-np.inf, np.inf), strict=True)
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{where} must be (lower, upper), numbers or {count} of them; got {given!r}."
        ) from error
    if np.any(np.isnan(lower)) or np.any(np.isnan(upper)) or np.any(lower > upper):
        raise ValueError(
            f"{where}: lower must not be above upper; got {given!r} for {', '.join(names)}."
        )
    return lower, upper


def bounds_of(side, count, none):
    items = np.atleast_1d(np.asarray(side, dtype=object))
    return np.array(
        np.broadcast_to(
            np.array([none if item is None else float(item) for item in items]), (count,)
        )
    )


def named_bounds(problem, given, where):
    system, n = problem.system, problem.system.space.dim
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if given is None:
        return lower, upper
    if not isinstance(given, dict):
        raise ValueError(
            f'{where} must be a dictionary such as {{"{system.names[0]}": (-2.0, 2.0)}}; got'
            f" {given!r}."
        )
    if where == "state_bounds" and not system.space.flat:
        raise ValueError(
            "state_bounds are for coordinates of a flat space; on a group say what is allowed by"
            " path={name: g(t, q, v, u, params) <= 0}."
        )
    for key, pair in given.items():
        i = coordinate_number(system, key, where)
        (lower[i],), (upper[i],) = pair_of(pair, 1, f"{where}[{key!r}]", (str(key),))
    return lower, upper


def check_functions(problem):
    """Raise ValueError unless cost, terminal cost and path constraints return what they should."""
    system = problem.system
    point = (jnp.zeros(()), system.space.identity(), jnp.zeros(system.space.dim))
    takes, all_ = "(t, q, v, u, params)", (*point, jnp.zeros(problem.count))
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
            takes="(t, q, v, params)",
        )
        check_returns("terminal", returned, (), "a scalar")
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


def check_ends(problem):
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
        B = np.asarray(problem.B(t, end.q, system.params), dtype=float)
        if (
            not np.all(np.isfinite(B))
            or np.linalg.matrix_rank(B, tol=1e-10 * max(1.0, float(np.max(np.abs(B)))))
            < problem.count
        ):
            raise ValueError(
                f"the actuation is singular at the {name}: B(t, q) has rank below its"
                f" {problem.count} columns, so that some combination of the controls does nothing"
                " there. Leave out a control, or move the end."
            )


def check_inside(system, name, values, fixed, bounds, what):
    for i in np.flatnonzero(fixed & ((values < bounds[0]) | (values > bounds[1]))):
        raise ValueError(
            f"the {name} is out of bounds: {what}{system.names[i]} = {values[i]:g} is not within"
            f" {bounds[0][i]:g} .. {bounds[1][i]:g}. Change the bounds or the end."
        )


def check_path(problem, name, end, t):
    """Raise ValueError where an end that is fixed breaks a path constraint that no control can
    mend.
    """
    if (
        problem.free_time
        or problem.boundary != "velocities"
        or not (np.all(end.q_fixed) and np.all(end.v_fixed))
    ):
        return
    u = 0.1 + jnp.arange(problem.count)  # nothing special, so that what depends on u is seen to
    for words, g in problem.path.items():

        def value(u, g=g):
            return jnp.atleast_1d(
                g(jnp.asarray(float(t)), end.q, jnp.asarray(end.v), u, problem.system.params)
            )

        off = np.where(
            np.any(np.asarray(jax.jacfwd(value)(u)) != 0, axis=1), 0.0, np.asarray(value(u))
        )
        if np.max(off) > 1e-9:
            raise ValueError(
                f"the {name} is out of bounds: {words} is {np.max(off):.3g} there, and must be <="
                f" 0. Change it or the {name}."
            )


def check_on_constraint(problem, name, end, t):
    system, constraint = problem.system, problem.system.constraint
    if constraint is None or problem.boundary != "velocities" or not np.all(end.q_fixed):
        return
    hidden = constraint.on_velocities(system, jnp.asarray(float(t)), end.q, jnp.asarray(end.v))
    off = [float(np.max(np.abs(hidden)))] if np.all(end.v_fixed) else []
    if system.holds_positions:
        off.append(float(np.max(np.abs(system.holonomic(t, end.q, system.params)))))
    if off and max(off) > 1e-8:
        raise ValueError(
            f"the {name} is off the constraint of {system.name} by {max(off):.3g}. "
            f"Move it there: q, v = accion.project(system, q, v, t={float(t):g})."
        )
    check_rank(system, np.asarray(matrix(system, jnp.asarray(float(t)), end.q, jnp.asarray(end.v))))
