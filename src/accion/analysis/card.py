"""One card that says what a method does to a system."""

from dataclasses import dataclass
from html import escape
from typing import Any

import jax
import numpy as np

from accion.analysis.inputs import row
from accion.analysis.laws import law
from accion.analysis.modified import is_autonomous, modified_hamiltonian
from accion.analysis.neighbours import flow_back
from accion.analysis.order import Order, order
from accion.analysis.regularity import Regularity, regularity
from accion.analysis.symmetries import symmetries
from accion.analysis.symplectic import symplecticity, symplecticity_along
from accion.analysis.thermal import thermal_regularity
from accion.arguments import door, number as a_number, positive
from accion.checks import check_kind
from accion.engines.auto import by_chosen_engine, small_jit
from accion.methods import Method
from accion.plot import new_figure
from accion.plot.figures import step_axis
from accion.results.trajectory import Trajectory
from accion.solve.simulation import simulate
from accion.stepping.views import discrete
from accion.systems import AbstractSystem
from accion.told import picture_of
from accion.types import ArrayLike, Configuration, Covector, Scalar

MODIFIED_ORDER = 6
SHORT = 50  # steps over which tangent maps and reversal are looked at
ACTED = "a force or a constraint acts"
NO_ENERGY = "not conserved: L depends on time, or a force or a moving constraint acts"
# Of contact systems.
NO_FORM = "dz - p.dq is kept up to discrete(system, method).factor"
NO_MOMENTUM = "p.X of a symmetry is not conserved: it grows at the rate dL/dz"
GROWING = "not conserved: dE/dt = dL/dz E, and what a force or time in L adds"


@dataclass(frozen=True)
class Card:
    """What `audit` found: order, symplecticity, momenta, energy, reversibility, symmetries,
    regularity. What does not apply is None.
    """

    system: Any
    method: Any
    trajectory: Trajectory
    order: Order | None  # None where there is no continuous motion to compare with
    symplectic: float | None  # largest defect of a step, None with a force or a constraint
    # symmetries, each with its relative drift, None where its f is not known
    momenta: tuple[tuple[Any, float | None], ...]
    energy: float | None  # largest change, None where L depends on time or a force acts
    energy_slope: float | None  # of its mean over the run, in units of that change
    first_law: float | None  # of a thermal system: the largest error of the energy balance
    modified: float | None  # largest change of the modified Hamiltonian, see `modified_hamiltonian`
    reversal: float | None  # after SHORT steps there and back
    regularity: Regularity
    # Of a thermal system: the least change of entropy in a step (where heat stays inside) and the
    # largest energy that friction gave; the condition of a step's matrices at h, h/2 and h/4.
    second_law: tuple[float, float] | None = None
    refined: tuple[float, ...] = ()

    def rows(self) -> list[tuple[str, str, str]]:
        """(what, value, remark) of each line."""
        rows = [*self.order_rows(), *self.momentum_rows(), *self.energy_rows()]
        there = f"distance from the start after {SHORT} steps there and back, of the size of q or p"
        rows.append(("reversal", number(self.reversal), there))
        words = self.regularity.text()
        rows.append(("regularity", f"{self.regularity.condition:.3g}", words))
        return [*rows, *self.refined_rows()]

    def refined_rows(self) -> list[tuple[str, str, str]]:
        """The regularity of a step as h goes to zero."""
        if not self.refined:
            return []
        found = ", ".join(f"{x:.3g}" for x in self.refined)
        words = f"condition of a step's matrices as h -> 0: {found} at h, h/2, h/4"
        return [("regularity, h -> 0", f"{self.refined[-1]:.3g}", words)]

    def order_rows(self) -> list[tuple[str, str, str]]:
        """Order and symplecticity."""
        if self.order is None:
            first = ("order, measured", "-", "given in discrete time: no motion to compare with")
        else:
            claimed = f"claimed {self.method.order}" if self.method.order else "none claimed"
            first = ("order, measured", f"{self.order.slope:.2f}", claimed)
        remark = "largest defect of a step"
        if self.symplectic is None:
            adaptive = self.method is not None and self.method.own_lengths
            remark = "its steps have lengths of their own" if adaptive else ACTED
            remark = NO_FORM if self.system.contact else remark
        return [first, ("symplecticity", number(self.symplectic), remark)]

    def momentum_rows(self) -> list[tuple[str, str, str]]:
        """What symmetries keep."""
        if not self.momenta:
            none = NO_MOMENTUM if self.system.contact else "no symmetries were found"
            return [("momentum", "-", none)]
        rows = []
        for symmetry, drift in self.momenta:
            kept = "" if symmetry.survives is None else "; kept by the discretisation"
            kept = "; lost by the discretisation" if symmetry.survives is False else kept
            words = f"relative drift; {symmetry.text().splitlines()[0]}{kept}"
            rows.append(("momentum", number(drift), words))
        return rows

    def energy_rows(self) -> list[tuple[str, str, str]]:
        """The energy, and that of the modified equations."""
        if self.first_law is not None:
            rows = [("first law", number(self.first_law), "largest error of the energy balance")]
            if self.second_law is not None:
                least, push = self.second_law
                words = f"least change of entropy in a step; friction gave at most {push:.2e} J"
                rows.append(("second law", number(least), words))
            return rows
        if self.energy is None:
            given = "given in discrete time: there is no energy"
            words = given if self.system.discrete_time else NO_ENERGY
            words = GROWING if self.system.contact else words
            rows = [("energy", "-", words)]
        else:
            words = f"largest change; drift of its mean {self.energy_slope:+.1e} of that"
            rows = [("energy", number(self.energy), words)]
        if self.modified is not None:
            changing = self.energy is None and not self.system.discrete_time
            with_time = "with the momentum of time, " if changing else ""
            words = f"largest change, {with_time}truncated at order {MODIFIED_ORDER}"
            rows.append(("modified energy", number(self.modified), words))
        return rows

    def text(self) -> str:
        """The card as lines of text."""
        head = (
            f"{self.system.name}, {self.method}, h = {float(self.trajectory.h):g},"
            f" {int(self.trajectory.steps_completed)} steps"
        )
        return "\n".join(
            [head, *(f"  {what:<16} {value:>10}  {remark}" for what, value, remark in self.rows())]
        )

    def html(self) -> str:
        """The card as a table."""
        cells = "".join(
            f'<tr><td>{escape(a)}</td><td class="number">{escape(b)}</td><td>{escape(c)}</td></tr>'
            for a, b, c in self.rows()
        )
        title = escape(f"{self.system.name}, {self.method}, h = {float(self.trajectory.h):g}")
        head = "<tr><th>what</th><th>value</th><th></th></tr>"
        return f"<table><caption>{title}</caption>{head}{cells}</table>"

    def _repr_html_(self) -> str:
        return self.html() + picture_of(self.figure())

    def __str__(self) -> str:
        return self.text()

    def figure(self) -> Any:
        """Errors against h, energy over time and, where there are any, momenta over time."""
        shown = [self.order is not None, not self.system.discrete_time, bool(self.momenta)]
        count = max(1, sum(shown))
        fig, axes = new_figure(1, count, (4.3 * count if count < 3 else 12.5, 3.6))
        drawn = (self.draw_order, self.draw_energy, self.draw_momenta)
        chosen = [draw for draw, show in zip(drawn, shown, strict=True) if show]
        for draw, ax in zip(chosen, axes[0], strict=False):
            draw(ax)
        return fig

    def draw_order(self, ax: Any) -> None:
        """Errors against h."""
        assert self.order is not None  # by `figure`
        ax.loglog(self.order.h, self.order.errors, "o-")
        ax.set(ylabel="error at the end", title=f"order {self.order.slope:.2f}")
        step_axis(ax, self.order.h)

    def draw_energy(self, ax: Any) -> None:
        """The energy over time."""
        E = np.asarray(self.trajectory.energy())
        ax.plot(self.trajectory.t, E - E[0], lw=0.8)
        title = "energy" if self.energy is not None else "energy, not conserved"
        ax.set(xlabel="t [s]", ylabel="change of the energy [J]", title=title)

    def draw_momenta(self, ax: Any) -> None:
        """The momenta of the symmetries over time."""
        for symmetry, drift in self.momenta:
            if drift is None:
                continue
            J = np.asarray(symmetry.along(self.trajectory))
            ax.plot(self.trajectory.t, J - J[0], lw=0.8, label=symmetry.text().split(":")[0])
        ax.set(xlabel="t [s]", ylabel="change of the momentum", title="momenta")
        ax.legend(loc="best", fontsize=7)


def number(x: float | None) -> str:
    """A number as a card has it, - where there is none."""
    return "-" if x is None else f"{x:.2e}"


@door(t0=a_number, h=positive)
@by_chosen_engine
def audit(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    S0: ArrayLike | None = None,
    lam0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    t0: float = 0.0,
    h: float,
    steps: int = 1000,
    engine: str = "auto",
) -> Card:
    """What `method` does to `system`: one card, to read (`print`), in a notebook, or as `html` and
    `figure`.

    The order is measured with steps 2h, h, h/2 and h/4 over 16 steps of 2h. What does not apply to
    a kind of system is left out.

    Arguments:
        system: of any kind.
        method: None for a system that is given in discrete time.
        q0, v0, p0, q1, S0, lam0, z0, t0, h, steps: a run, as that of `simulate`; the order is
            measured where it starts from v0.
        engine: of what is run, as for `simulate`.
    """
    check_kind(system)
    system = system.with_entropies(S0)
    start = {"q0": q0, "v0": v0, "p0": p0, "q1": q1, "S0": S0, "lam0": lam0, "z0": z0}
    start["t0"] = t0
    traj = simulate(system, method, **start, h=h, steps=steps)
    short = simulate(system, method, **start, h=h, steps=min(steps, SHORT))
    acts = system.constraint is not None and not system.enters_action
    free = not (system.forced or acts or system.beside)
    autonomous = not (system.forced or system.beside) and is_autonomous(system)
    of_two_ends = method is None or method.of_two_ends
    on_phase_space = free and traj.p.ndim == 2 and of_two_ends
    found = () if system.contact else symmetries(system, method)
    momenta = tuple((s, law(traj, s).drift if s.can_follow(traj) else None) for s in found)
    change, slope = energy_change(traj) if autonomous else (None, None)
    modified = None
    inner = system.enters_action and method is not None and method.inner_points
    if on_phase_space and not inner and len(traj) > MODIFIED_ORDER + 1:
        modified = modified_hamiltonian(system, method, MODIFIED_ORDER).drift(traj)
    of_nodes = of_two_ends and not (system.order > 1 and method is not None and method.on_levels)
    every = method if of_nodes and (free or system.beside) else None
    stepped = every is not None or (free and system.discrete_time)
    looked: dict[str, Any] = start if stepped else {"S0": S0}
    return Card(
        system,
        method,
        traj,
        measured_order(system, method, start, h),
        form_defect_of(short, start, h) if free else None,
        momenta,
        change,
        slope,
        float(np.max(np.abs(traj.first_law()))) if has_first_law(traj) else None,
        modified,
        reversal(short) if on_phase_space else None,
        regularity(system, every, **looked, h=h, steps=min(steps, 100)),
        kept_second_law(traj) if has_first_law(traj) else None,
        refined_regularity(system, every, start, h) if has_first_law(traj) and every else (),
    )


def kept_second_law(trajectory: Trajectory) -> tuple[float, float]:
    """The least change of the entropy in a step, and the largest energy that friction gave."""
    laws: Any = trajectory.laws
    return float(laws.least), float(laws.push)


def refined_regularity(system: Any, method: Any, start: Any, h: float) -> tuple[float, ...]:
    """The largest condition of the matrices of a step, for h, h/2 and h/4."""
    if system.constraint is not None or not method.variational or method.inner_points:
        return ()
    runs = [simulate(system, method, **start, h=h / n, steps=4) for n in (1, 2, 4)]
    return tuple(float(np.max(thermal_regularity(run).conditions)) for run in runs)


def has_first_law(trajectory: Trajectory) -> bool:
    """Whether a run has an energy that comes from outside."""
    return trajectory.system.entropic and not trajectory.system.discrete_time


def measured_order(system: Any, method: Any, start: dict[str, Any], h: float) -> Order | None:
    """The order with steps 2h, h, h/2 and h/4, None where there is nothing to compare with."""
    if system.discrete_time or start["v0"] is None:
        return None
    own = {name: start[name] for name in ("q0", "v0", "S0", "lam0", "z0", "t0")}
    return order(system, method, **own, duration=32 * h, h=[2 * h, h, h / 2, h / 4])


def form_defect_of(run: Trajectory, start: dict[str, Any], h: float) -> float | None:
    """The largest defect of the form in any step; in the first, where states are not (q, p) or a
    step has others inside. None of steps with lengths of their own.
    """
    method = run.method
    if method is not None and method.own_lengths:
        return None
    if run.p.ndim == 2 and (method is None or method.of_two_ends):
        return float(np.max(symplecticity_along(run).steps))
    own = {name: value for name, value in start.items() if name not in ("S0", "z0")}
    return symplecticity(run.system, run.method, **own, h=h)


def energy_change(run: Trajectory) -> tuple[float | None, float | None]:
    """The largest change of the energy, and the slope of its mean over the run in units of it."""
    if run.system.discrete_time:
        return None, None
    E = np.asarray(run.energy())
    change = float(np.max(np.abs(E - E[0])))
    return change, float(np.polyfit(np.linspace(0, 1, len(E)), E, 1)[0] / (change or 1.0))


def reversal(run: Trajectory) -> float:
    """How far from its start a trajectory ends that is run back, as a part of its size: by the same
    method with -h where it claims to be symmetric, else by its adjoint.
    """
    system, h, last = run.system, run.h, run.t[-1]
    back = flow_back(system, run.method)
    if not system.discrete_time and run.method is not None and run.method.symmetric:
        same = discrete(system, run.method).hamiltonian_flow

        def back(t: Scalar, h: Scalar, q: Configuration, p: Covector) -> Any:
            return same(t, -h, q, p)

    @small_jit
    def backwards(q: Configuration, p: Covector, steps: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda k, z: back(last - k * h, h, *z), (q, p))

    q, p = backwards(row(run.q, -1), run.p[-1], len(run) - 1)
    first, end, space = row(run.q, 0), row(run.q, -1), system.space
    local = small_jit(space.local)
    places = [space.magnitude(first), space.magnitude(end), local(first, end)]
    pairs = ((local(first, q), places), (np.asarray(p) - np.asarray(run.p[0]), [run.p]))
    return max(part_of(off, size) for off, size in pairs)


def part_of(off: Any, size: Any) -> float:
    """The largest entry of `off` as a part of that of `size`."""
    largest = max(float(np.max(np.abs(a))) for a in (off, *size))
    return float(np.max(np.abs(off))) / (largest if largest > 0 else 1.0)
