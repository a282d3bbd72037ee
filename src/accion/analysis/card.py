"""One card that says what a method does to a system."""

from dataclasses import dataclass
from html import escape
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.modified import is_autonomous, modified_hamiltonian
from accion.analysis.order import Order, order
from accion.analysis.regularity import Regularity, regularity
from accion.analysis.symmetries import AffineSymmetry, symmetries
from accion.analysis.symplectic import symplecticity_along
from accion.checks import check_mechanical
from accion.engines.auto import small_jit
from accion.methods import Adjoint
from accion.plot import new_figure
from accion.plot.figures import step_axis
from accion.solve.simulation import simulate
from accion.stepping.views import discrete

MODIFIED_ORDER = 6
SHORT = 50  # steps over which tangent maps and reversal are looked at


@dataclass(frozen=True)
class Card:
    """What `audit` found: order, symplecticity, momenta, energy, reversibility, symmetries,
    regularity.
    """

    system: Any
    method: Any
    trajectory: Any
    order: Order
    symplectic: float | None  # largest defect of a step, None with a force or a constraint
    momenta: tuple[tuple[AffineSymmetry, float], ...]  # each with its relative drift
    energy: float | None  # largest change, None where L depends on time or a force acts
    energy_slope: float | None  # of its mean over the run, in units of that change
    modified: float | None  # largest change of the modified Hamiltonian
    reversal: float | None  # after SHORT steps there and back
    regularity: Regularity

    def rows(self):
        """(what, value, remark) of each line."""

        def number(x):
            return "-" if x is None else f"{x:.2e}"

        rows = [
            (
                "order, measured",
                f"{self.order.slope:.2f}",
                f"claimed {self.method.order}" if self.method.order else "none claimed",
            ),
            (
                "symplecticity",
                number(self.symplectic),
                (
                    "largest defect of a step"
                    if self.symplectic is not None
                    else "a force or a constraint acts"
                ),
            ),
        ]
        for symmetry, drift in self.momenta:
            kept = (
                "kept by the discretisation" if symmetry.survives else "lost by the discretisation"
            )
            rows.append(
                (
                    "momentum",
                    number(drift),
                    f"relative drift; {symmetry.text().splitlines()[0]}; {kept}",
                )
            )
        if not self.momenta:
            rows.append(("momentum", "-", "no affine symmetries X = A q + b were found"))
        if self.energy is None:
            rows.append(
                (
                    "energy",
                    "-",
                    "not conserved: L depends on time, or a force or a moving constraint acts",
                )
            )
        else:
            rows.append(
                (
                    "energy",
                    number(self.energy),
                    f"largest change; drift of its mean {self.energy_slope:+.1e} of that",
                )
            )
        if self.modified is not None:
            rows.append(
                (
                    "modified energy",
                    number(self.modified),
                    f"largest change, truncated at order {MODIFIED_ORDER}",
                )
            )
        rows.append(
            (
                "reversal",
                number(self.reversal),
                f"distance from the start after {SHORT} steps there and back",
            )
        )
        rows.append(("regularity", f"{self.regularity.condition:.3g}", self.regularity.text()))
        return rows

    def text(self):
        head = (
            f"{self.system.name}, {self.method}, h = {float(self.trajectory.h):g},"
            f" {int(self.trajectory.steps_completed)} steps"
        )
        return "\n".join(
            [head, *(f"  {what:<16} {value:>10}  {remark}" for what, value, remark in self.rows())]
        )

    def html(self):
        """The card as a table."""
        cells = "".join(
            f'<tr><td>{escape(a)}</td><td class="number">{escape(b)}</td><td>{escape(c)}</td></tr>'
            for a, b, c in self.rows()
        )
        title = escape(f"{self.system.name}, {self.method}, h = {float(self.trajectory.h):g}")
        head = f"<caption>{title}</caption><tr><th>what</th><th>value</th><th></th></tr>"
        return f"<table>{head}{cells}</table>"

    def _repr_html_(self):
        return self.html()

    def __str__(self):
        return self.text()

    def figure(self):
        """Errors against h, energy over time and, where there are any, momenta over time."""
        fig, axes = new_figure(1, 3 if self.momenta else 2, (12.5 if self.momenta else 8.6, 3.6))
        left, middle = axes[0, :2]
        left.loglog(self.order.h, self.order.errors, "o-")
        left.set(ylabel="error at the end", title=f"order {self.order.slope:.2f}")
        step_axis(left, self.order.h)
        traj = self.trajectory
        E = np.asarray(traj.energy())
        middle.plot(traj.t, E - E[0], lw=0.8)
        middle.set(
            xlabel="t [s]",
            ylabel="change of the energy [J]",
            title="energy" if self.energy is not None else "energy, not conserved",
        )
        for symmetry, _ in self.momenta:
            J = np.asarray(symmetry.along(traj))
            axes[0, 2].plot(traj.t, J - J[0], lw=0.8, label=symmetry.text().split(":")[0])
        if self.momenta:
            axes[0, 2].set(xlabel="t [s]", ylabel="change of the momentum", title="momenta")
            axes[0, 2].legend(loc="best", fontsize=7)
        return fig


def audit(system, method, *, q0, v0, t0=0.0, h, steps=1000) -> Card:
    """What `method` does to `system` from (q0, v0) with the step h: one card, to read (`print`), in
    a notebook, or as `html` and `figure`.

    The order is measured with steps 2h, h, h/2 and h/4 over 16 steps of 2h. On Euclidean and Torus
    spaces, without vakonomic constraints.
    """
    check_mechanical(system, "audit")
    free = system.force is None and system.constraint is None
    traj = simulate(system, method, q0=q0, v0=v0, t0=t0, h=h, steps=steps)
    short = simulate(system, method, q0=q0, v0=v0, t0=t0, h=h, steps=min(steps, SHORT))
    found = symmetries(system, method)
    momenta = tuple((s, s.drift(traj)) for s in found)
    autonomous = system.force is None and is_autonomous(system)
    E = np.asarray(traj.energy())
    change = float(np.max(np.abs(E - E[0])))
    slope = float(np.polyfit(np.linspace(0, 1, len(E)), E, 1)[0] / (change or 1.0))
    return Card(
        system,
        method,
        traj,
        order(system, method, q0=q0, v0=v0, t0=t0, duration=32 * h, h=[2 * h, h, h / 2, h / 4]),
        float(np.max(symplecticity_along(short).steps)) if free else None,
        momenta,
        change if autonomous else None,
        slope if autonomous else None,
        (
            modified_hamiltonian(system, method, MODIFIED_ORDER).drift(traj)
            if free and autonomous
            else None
        ),
        reversal(system, method, short) if free else None,
        regularity(system, method if free else None, q0=q0, v0=v0, t0=t0, h=h),
    )


def reversal(system, method, trajectory):
    """How far from its start a trajectory ends that is run back: by the same method with -h where
    it claims to be symmetric, else by its adjoint.
    """
    back = discrete(system, method if method.symmetric else Adjoint(method)).hamiltonian_flow
    h, last = trajectory.h, trajectory.t[-1]

    @small_jit
    def run(q, p, steps):
        return jax.lax.fori_loop(0, steps, lambda k, z: back(last - k * h, -h, *z), (q, p))

    q, p = run(trajectory.q[-1], trajectory.p[-1], len(trajectory) - 1)
    return float(
        jnp.maximum(jnp.max(jnp.abs(q - trajectory.q[0])), jnp.max(jnp.abs(p - trajectory.p[0])))
    )
