"""What is to be controlled, from where to where, and at what cost."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from accion import checks
from accion._config import check_process
from accion.arguments import door, number, one_of, text
from accion.checks import a_method
from accion.control import faces
from accion.control.actuation import Actuation
from accion.control.asked import conditions_of, points_of, totals_of
from accion.control.bounds import (
    Bounds,
    bounds_of,
    control_bounds_of,
    durations_of,
    named_bounds,
    path_of,
)
from accion.control.canonical import CanonicalSystem
from accion.control.ends import End
from accion.control.forms import Form, form_of
from accion.control.law import Law
from accion.control.problem_checks import check_ends, check_functions, check_mechanics
from accion.methods import Method
from accion.systems import DiscreteSystem, HigherOrderSystem
from accion.types import Function


@dataclass(frozen=True)
class ControlProblem:
    """Lead `system` from `start` to `end` in the time `duration` with controls u that make

        terminal(T, q, v) + int cost(t, q, v, u) dt    least,
        d/dt dL/dv - dL/dq = F + B(t, q) u        (Vakonomic thesis, eq 7.1)

    or with a force f(t, q, v, u) of another form in the place of B(t, q) u; or about a `Dynamics`,
    x' = f(t, x, u), with functions of (t, x, u, params), terminal and at_end of (t, x, params), and
    states x for start, end and via.

    Arguments:
        system: without a vakonomic constraint; or a `Dynamics`.
        cost: cost(t, q, v, u, params) -> scalar.
        actuated: the coordinates that u acts on, by name or number; or
        actuation: B(t, q, params) -> (dim, controls); or
        control_force: f(t, q, v, u, params) -> (dim,), with `controls`. There may be more controls
            than forces are independent, such as opposing thrusters: the cost and bounds choose.
        start, end: (q, v). A component that is None is free; so is a whole q or v that is None.
            With boundary="configurations", the first and the last two configurations, (q_0, q_1)
            and (q_{N-1}, q_N), as in the Vakonomic thesis, section 8.5.
        duration: a number; or (least, most), and the best in between is found.
        terminal: terminal(t, q, v, params) -> scalar, the cost of the end.
        control_bounds: (lower, upper), numbers or one for each control; they hold at the points of
            a method, `path` holds between them too.
        state_bounds, velocity_bounds: {coordinate: (lower, upper)}.
        rate_bounds: (lower, upper) of the rates of the controls, each from one control to the next.
        rate_cost: rate_cost(t, w, params) -> scalar, the cost of the rates w, added to `cost`.
        integrals: {name: (g, value)}: the integral of g(t, q, v, u, params) over the motion is
            `value`, or within (lower, upper).
        at_end: at_end(t, q, v, params) -> (m,), which is to be zero at the end: a terminal
            manifold.
        via: {t: q}, configurations on the way, a component that is None is free. Nodes stand at
            these times: the nearest ones of a mesh are moved there.
        path: {name: g}, or one g: g(t, q, v, u, params) <= 0 along the whole motion, straight (on a
            group: retracted) between nodes.
        t0: the time of the start.
        boundary: "velocities" or "configurations".
        controls: names of the controls, with their units in brackets.
        name: of the problem.

    Raises:
        ValueError: where something is missing, contradicts something else, or cannot be done.
    """

    system: Any  # a `System` or a `Dynamics`
    cost: Function
    _: KW_ONLY
    actuated: Any = None
    actuation: Function | None = None
    control_force: Function | None = None
    start: Any = None
    end: Any = None
    duration: Any = None
    terminal: Function | None = None
    control_bounds: Any = None
    state_bounds: Any = None
    velocity_bounds: Any = None
    rate_bounds: Any = None
    rate_cost: Function | None = None
    integrals: Any = None
    at_end: Function | None = None
    via: Any = None
    path: Any = None
    t0: float = 0.0
    boundary: str = "velocities"
    controls: Any = None
    name: str | None = None
    law: Law = field(init=False, repr=False)
    B: Actuation | None = field(init=False, repr=False)
    durations: tuple[float, float] = field(init=False, repr=False)
    ends: tuple[End, End] = field(init=False, repr=False)
    u_bounds: Bounds = field(init=False, repr=False)
    q_bounds: Bounds = field(init=False, repr=False)
    v_bounds: Bounds = field(init=False, repr=False)
    rates: Bounds = field(init=False, repr=False)
    totals: dict[str, tuple[Function, Bounds]] = field(init=False, repr=False)
    points: dict[float, tuple[Any, Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def set_(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        check_process()
        form = self.form
        check_mechanics(self)
        set_("t0", number(self.t0, "t0"))
        set_("system", checks.CHECKED(self.system))
        set_("cost", form.motion("cost", self.cost))
        set_("terminal", form.last("terminal", self.terminal))
        set_("at_end", form.last("at_end", self.at_end))
        given = (self.actuated, self.actuation, self.control_force)
        law, names, B = form.acting(self.system, *given, self.controls)
        set_("law", law)
        set_("B", B)
        set_("controls", names)
        set_("durations", durations_of(self.duration))
        one_of("velocities", "configurations")(self.boundary, "boundary")
        space, boundary = self.system.space, self.boundary
        ends = ((self.start, "start"), (self.end, "end"))
        set_("ends", tuple(form.end(space, boundary, end, name) for end, name in ends))
        path = path_of(self.path)
        set_("path", {name: form.motion(f"path[{name!r}]", g) for name, g in path.items()})
        count = self.control_count
        set_("u_bounds", control_bounds_of(self.control_bounds, self.controls))
        set_("rates", bounds_of(self.rate_bounds, count, "rate_bounds", self.controls))
        set_("q_bounds", named_bounds(self.system, self.state_bounds, "state_bounds"))
        set_("v_bounds", named_bounds(self.system, self.velocity_bounds, "velocity_bounds"))
        own = None if self.name is None else text(self.name, "name")
        set_("name", own or f"control of {self.system.name}")
        check_functions(self)
        set_("totals", totals_of(self))
        set_("points", points_of(self))
        check_ends(self)

    @property
    def form(self) -> Form:
        """How it is written."""
        return form_of(self.system)

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

    @property
    def conditions_at_end(self) -> int:
        """How many conditions `at_end` has."""
        return conditions_of(self)

    @property
    def places(self) -> list[float]:
        """Those of the points on the way, as parts of the duration."""
        return [(t - self.t0) / self.longest for t in self.points]

    @property
    def besides(self) -> list[str]:
        """What it asks for besides costs, ends, bounds and path constraints, in words."""
        asked = {
            "rate_cost": self.rate_cost is not None,
            "rate_bounds": bool(np.any(np.isfinite(self.rates))),
            "integrals": bool(self.totals),
            "at_end": self.at_end is not None,
            "via": bool(self.points),
        }
        return [name for name, given in asked.items() if given]

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
