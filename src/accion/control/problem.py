"""What is to be controlled, from where to where, and at what cost."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion._config import check_process
from accion.arguments import door, leaves, number, one_of, text, wrong
from accion.checks import a_method
from accion.control import faces
from accion.control.actuation import Actuation, actuation_of, control_names
from accion.control.bounds import Bounds, bounds_of, durations_of, named_bounds, path_of
from accion.control.canonical import CanonicalSystem
from accion.control.ends import End, end_of
from accion.instant.constrained import bordered
from accion.instant.sizes import Sizes, held_off, sizes_of
from accion.instant.starts import check_rank
from accion.methods import Method
from accion.systems import DiscreteSystem, HigherOrderSystem, System
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.systems.rank import evened
from accion.systems.start import is_traced
from accion.types import Function

TRACED = (
    "optimize is not differentiated by JAX: its problem must have numbers, not what grad, jit or"
    " vmap trace. The derivatives of the least cost by the params are solution.cost_gradient() (the"
    " envelope theorem), those by the start are -solution.costates[0]; others by differences of"
    " solutions that start from each other, guess=solution."
)


@dataclass(frozen=True)
class ControlProblem:
    """Lead `system` from `start` to `end` in the time `duration` with controls u that make

        terminal(T, q, v) + int cost(t, q, v, u) dt    least,
        d/dt dL/dv - dL/dq = F + B(t, q) u        (Vakonomic thesis, eq 7.1)

    Arguments:
        system: without a vakonomic constraint.
        cost: cost(t, q, v, u, params) -> scalar.
        actuated: the coordinates that u acts on, by name or number; or
        actuation: B(t, q, params) -> (dim, controls).
        start, end: (q, v). A component that is None is free; so is a whole q or v that is None.
            With boundary="configurations", the first and the last two configurations, (q_0, q_1)
            and (q_{N-1}, q_N), as in the Vakonomic thesis, section 8.5.
        duration: a number; or (least, most), and the best in between is found.
        terminal: terminal(t, q, v, params) -> scalar, the cost of the end.
        control_bounds: (lower, upper), numbers or one for each control.
        state_bounds, velocity_bounds: {coordinate: (lower, upper)}.
        path: {name: g}, or one g: g(t, q, v, u, params) <= 0 along the whole motion, straight (on a
            group: retracted) between nodes.
        t0: the time of the start.
        boundary: "velocities" or "configurations".
        controls: names of the controls, with their units in brackets.
        name: of the problem.

    Raises:
        ValueError: where something is missing, contradicts something else, or cannot be done.
    """

    system: System
    cost: Function
    _: KW_ONLY
    actuated: Any = None
    actuation: Function | None = None
    start: Any = None
    end: Any = None
    duration: Any = None
    terminal: Function | None = None
    control_bounds: Any = None
    state_bounds: Any = None
    velocity_bounds: Any = None
    path: Any = None
    t0: float = 0.0
    boundary: str = "velocities"
    controls: Any = None
    name: str | None = None
    B: Actuation = field(init=False, repr=False)
    durations: tuple[float, float] = field(init=False, repr=False)
    ends: tuple[End, End] = field(init=False, repr=False)
    u_bounds: Bounds = field(init=False, repr=False)
    q_bounds: Bounds = field(init=False, repr=False)
    v_bounds: Bounds = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def set_(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        check_process()
        check_mechanics(self)
        set_("t0", number(self.t0, "t0"))
        set_("system", checks.check_numbers(self.system))
        set_("B", actuation_of(self.system, self.actuated, self.actuation))
        set_("controls", control_names(self.system, self.B, self.controls))
        set_("durations", durations_of(self.duration))
        one_of("velocities", "configurations")(self.boundary, "boundary")
        space, boundary = self.system.space, self.boundary
        given = ((self.start, "start"), (self.end, "end"))
        set_("ends", tuple(end_of(space, boundary, end, name) for end, name in given))
        set_("path", path_of(self.path))
        count = self.control_count
        set_("u_bounds", bounds_of(self.control_bounds, count, "control_bounds", self.controls))
        set_("q_bounds", named_bounds(self.system, self.state_bounds, "state_bounds"))
        set_("v_bounds", named_bounds(self.system, self.velocity_bounds, "velocity_bounds"))
        own = None if self.name is None else text(self.name, "name")
        set_("name", own or f"control of {self.system.name}")
        check_functions(self)
        check_ends(self)

    @property
    def control_count(self) -> int:
        """How many controls there are."""
        return len(self.controls)

    @property
    def free_time(self) -> bool:
        """Whether the duration is to be found."""
        return self.durations[0] != self.durations[1]

    @property
    def longest(self) -> float:
        """The longest duration that is allowed: the duration itself where it is given."""
        return self.durations[1]

    # ------------------------------------------------------------ its other faces

    def vakonomic(self) -> HigherOrderSystem:
        """The problem without its controls, a variational one of second order (Vakonomic thesis,
        section 7.1), whose motions are its extremals:

            L~(t, q, v, a) = C(t, q, v, u),    Phi(t, q, v, a) = 0
            B u + K Phi = d/dt dL/dv - dL/dq - F

        The columns of K are complementary to those of B; with as many controls as coordinates there
        is no constraint. With actuated=[...] u and Phi are the equations of the coordinates that
        are actuated, and of the others.

        Returns:
            A system of order 2 for `simulate`, `connect` (see `conditions`), `symbolic` and
            `discrete`; its momenta are the costates.

        Raises:
            ValueError: where the system has constraints, or the problem bounds or path constraints.
        """
        return faces.vakonomic(self)

    @door(method=a_method)
    def discrete(self, method: Method) -> DiscreteSystem:
        """The same in discrete time (Vakonomic thesis, sections 8.5 and 8.6): the discrete
        Lagrangian of order 2, with its constraint in the action, of

            minimise  sum_k h C(t_k, q_k, v_k, u_k),    v_k = (q_{k+1} - q_{k-1}) / 2h
            B u_k + K c_k = -R_k/h,    c_k = 0
            R_k = D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^-

        Arguments:
            method: a variational one without inner points, that of Ld.

        Returns:
            A system that is simulated and connected without a method: the integrator F_d of the
            Vakonomic thesis. With boundary="configurations" `optimize(..., "vakonomic")` solves the
            same equations.

        Raises:
            ValueError: as `vakonomic`, and where the method has inner points.
        """
        return faces.discrete(self, method)

    def hamiltonian(self) -> CanonicalSystem:
        """The Hamiltonian system on W1, where dH/du = 0 (Vakonomic thesis, section 7.1), with its
        flow from given costates and the ways to the other faces.

        Raises:
            ValueError: as `vakonomic`.
        """
        faces.check_smooth(self, "hamiltonian()")
        return CanonicalSystem(self)

    def conditions(self, motion: Any = None) -> dict[str, Any]:
        """The ends and times of the problem as arguments of `connect`: `ac.connect(
        problem.vakonomic(), method, **problem.conditions(), steps=N)`.

        Arguments:
            motion: a `Solution` or a `Trajectory` on equal steps, whose first and last two
                configurations are then the ends, and which is the guess; so problems of which
                velocities are given at the ends are connected in discrete time.

        Raises:
            ValueError: where an end is not given whole, or the duration is free.
        """
        return faces.conditions(self, motion)


def check_mechanics(problem: ControlProblem) -> None:
    """Raise ValueError unless system, time and cost are what they should be; TypeError where JAX
    traces their numbers.
    """
    checks.check_kind(problem.system)
    for name in ("start", "end", "duration", "t0"):  # a list of itself is no tree
        if (
            isinstance(getattr(problem, name), list | tuple)
            and leaves(getattr(problem, name)) is None
        ):
            wrong(name, "lists of finite depth", getattr(problem, name))
    if is_traced((problem.system, problem.start, problem.end, problem.duration, problem.t0)):
        raise TypeError(TRACED)
    checks.check_mechanical(problem.system, "ControlProblem")
    if problem.system.enters_action:
        why = "start and end are (q, v), and a vakonomic motion is not given by them alone"
        checks.refuse("ControlProblem", "vakonomic systems", why)
    problem.system.check()
    check_function("cost", problem.cost, "t, q, v, u, params")
    check_function("terminal", problem.terminal, "t, q, v, params", optional=True)


def check_functions(problem: ControlProblem) -> None:
    """Raise ValueError unless cost, terminal cost and path constraints return what they should."""
    system = problem.system
    point = (jnp.zeros(()), system.space.identity(), jnp.zeros(system.space.dim))
    takes, all_ = "(t, q, v, u, params)", (*point, jnp.zeros(problem.control_count))
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


# ---------------------------------------------------------------- the ends


def check_ends(problem: ControlProblem) -> None:
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
        check_actuation(problem, name, end, t)


def check_actuation(problem: ControlProblem, name: str, end: End, t: float) -> None:
    """Raise ValueError where some combination of the controls does nothing at an end."""
    B = np.asarray(problem.B(t, end.q, problem.system.params), dtype=float)
    count = problem.control_count
    if not np.all(np.isfinite(B)) or np.linalg.matrix_rank(evened(B), tol=1e-10) < count:
        raise ValueError(
            f"the actuation is singular at the {name}: B(t, q) has rank below its {count} columns,"
            " so that some combination of the controls does nothing there. Leave out a control, or"
            " move the end."
        )


def check_inside(
    system: System, name: str, values: np.ndarray, fixed: np.ndarray, bounds: Bounds, what: str
) -> None:
    """Raise ValueError where a component that is fixed is out of its bounds."""
    for i in np.flatnonzero(fixed & ((values < bounds[0]) | (values > bounds[1]))):
        raise ValueError(
            f"the {name} is out of bounds: {what}{system.names[i]} = {values[i]:g} is not within"
            f" {bounds[0][i]:g} .. {bounds[1][i]:g}. Change the bounds or the end."
        )


def check_path(problem: ControlProblem, name: str, end: End, t: float) -> None:
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


def check_on_constraint(problem: ControlProblem, name: str, end: End, t: float) -> None:
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


def sizes_of_ends(problem: ControlProblem) -> Sizes:
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
    problem: ControlProblem, g: Function, end: End, t: float, u: jax.Array, sizes: Sizes
) -> np.ndarray:
    """The size of the components of a path constraint at an end: what a motion of the size of the
    problem's changes in them.
    """
    space, params = problem.system.space, problem.system.params

    def value(e: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.atleast_1d(g(jnp.asarray(float(t)), space.displace(end.q, e), v, u, params))

    dq, dv = jax.jacfwd(value, (0, 1))(jnp.zeros(space.dim), jnp.asarray(end.v))
    return np.abs(np.asarray(dq)) @ sizes.q + np.abs(np.asarray(dv)) @ sizes.v
