"""Four agents that form a pyramid in space: Colombo-Gamonal, section 6.3, with distances that it
does not state and a start that is not in a plane.
"""

from functools import cache
from typing import Any

import numpy as np

from accion.formation import Formation, euler, shapes
from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Trapezoid
from accion.plot import new_figure
from accion.plot.figures import COLORS
from accion.solve.simulation import simulate

KAPPA, H, N, SIDE = 13.0, 0.005, 400, 2.0
LONG = 20.0  # s; 2 s, as stated, do not suffice
CASE = "tetra d=2, agent 2 pushed 0.1 along plane normal (3,-1,0)/sqrt10"
STATED = "tetra d=2, stated (coplanar) q0"

formation = Formation.from_shape(*shapes.pyramid(SIDE), KAPPA, name="pyramid of four agents")
system = formation.system()
Q0 = np.array(
    [
        1.0,
        0.0,
        0.0,
        1.0 + 0.3 / np.sqrt(10),
        -0.1 / np.sqrt(10),
        1.0,
        0.0,
        -3.0,
        0.0,
        1.0,
        0.0,
        -3.0,
    ]
)
FLAT = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -3.0, 0.0, 1.0, 0.0, -3.0])


@cache
def run(flat=False, matched=False):
    """The run of the document, from q1 = q0; `matched`: from rest with matched momenta."""
    q0 = FLAT if flat else Q0
    start: dict[str, Any] = {"v0": np.zeros(12)} if matched else {"q1": q0}
    return simulate(system, Trapezoid(), q0=q0, **start, h=H, steps=N)


@cache
def long_run(flat):
    """To t = 20 s, every tenth step."""
    return simulate(
        system,
        Trapezoid(),
        q0=FLAT if flat else Q0,
        v0=np.zeros(12),
        h=H,
        steps=round(LONG / H),
        save_every=10,
    )


def checks():
    rows = []
    for name, flat in ((CASE, False), (STATED, True)):
        ref, word = (
            data("002_sec6.3_pyramid_formation")["cases"][name],
            ("stated start" if flat else "pushed start"),
        )
        traj = run(flat)
        for k in ("2", "3", "50", "100", "200", "300", "400"):
            rows += compare(
                f"{word}: q_{k} of the scheme (42)", np.asarray(traj.q[int(k)]), ref["VI"][k], 2e-13
            )
        E = formation.energies(traj)
        rows += compare(
            f"{word}: energies of the agents (43), first step", E[0], ref["E_agents_VI_k0"], 1e-12
        )
        rows += compare(
            f"{word}: energies of the agents (43), last step", E[-1], ref["E_agents_VI_k399"], 1e-12
        )
        for t, total in ref["E_total_VI_eq43"].items():
            rows += compare(
                f"{word}: total energy (43), t = {t}",
                np.sum(E[round(float(t) / H) - 1]),
                total,
                1e-11,
            )
    ref = data("002_sec6.3_pyramid_formation")["cases"][CASE]
    for k, q in ref["VI_momentum_start"].items():
        rows += compare(f"matched start: q_{k}", np.asarray(run(matched=True).q[int(k)]), q, 2e-13)
    q, _ = reference(system, q0=Q0, v0=np.zeros(12), ts=[0.0, *map(float, ref["exact"])])
    for t, row in zip(ref["exact"], q[1:], strict=True):
        rows += compare(f"q({t}), continuous", row, ref["exact"][t], 1e-9)
    baseline = euler(formation, q0=Q0, h=H, steps=N)
    for t, total in ref["E_total_Euler"].items():
        k = round(float(t) / H)
        rows += compare(
            f"explicit Euler: total energy, t = {t}",
            np.sum(baseline.v[k] ** 2) / 2 + np.sum(formation.shares(baseline.q[k])),
            total,
            1e-11,
        )
    end, flat = (np.asarray(long_run(which).q[-1]) for which in (False, True))
    rows += compare(
        "pushed start: largest distance error at t = 20 s",
        np.max(np.abs(formation.errors(end))),
        0.0,
        2e-3,
    )
    rows += compare(
        "pushed start: volume at t = 20 s", abs(volume(end)), SIDE**3 / (6 * np.sqrt(2)), 2e-3
    )
    rows += compare("stated start: volume at t = 20 s, as in every plane", volume(flat), 0.0, 1e-6)
    return rows


def volume(q):
    x = np.asarray(q).reshape(4, 3)
    return float(np.linalg.det(x[1:] - x[0])) / 6


def figure():
    from matplotlib.ticker import MaxNLocator

    fig, axes = new_figure(1, 3, (14, 4.2))
    fig.delaxes(axes[0, 0])
    space = fig.add_subplot(1, 3, 1, projection="3d")
    traj = long_run(False)
    q = np.asarray(traj.q).reshape(-1, 4, 3)
    for i in range(4):
        space.plot(*q[:, i].T, color=COLORS[i], lw=1.2)
        space.plot(*q[0, i], "x", color=COLORS[i], ms=7, mew=2)
    for i, j in formation.graph.edges:
        space.plot(*q[-1, [i, j]].T, color="k", lw=0.9)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_major_locator(MaxNLocator(3))
    space.set_box_aspect(None, zoom=0.85)  # pyright: ignore[reportArgumentType]
    space.set(
        xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="paths (Fig. 5, left); crosses: start"
    )
    E, t = formation.energies(run()), H * np.arange(N)
    for i in range(4):
        axes[0, 1].semilogy(t, E[:, i], color=COLORS[i], label=f"agent {i + 1}")
    axes[0, 1].semilogy(t, E.sum(axis=1), "k-", lw=1.5, label="total")
    axes[0, 1].set(
        xlabel="t [s]", ylabel="energy (43) [J]", title="energies over the 2 s of Fig. 5, right"
    )
    times = np.asarray(traj.t)
    for flat, label in ((False, "pushed out of the plane"), (True, "as stated, in a plane")):
        error = np.max(np.abs(formation.errors(np.asarray(long_run(flat).q))), axis=1)
        axes[0, 2].semilogy(times, error, color=COLORS[int(flat)], label=label)
    axes[0, 2].axvline(2.0, color="k", ls=":", lw=1)
    axes[0, 2].set(
        xlabel="t [s]",
        ylabel="largest distance error [m]",
        title="2 s (dotted) are too short; a plane stays a plane",
    )
    for ax in axes[0, 1:]:
        ax.legend(fontsize=8)
    return fig


def positions(q):
    """The six edges in one stroke as nearly as that goes, seen along y."""
    x = q.reshape(4, 3)[:, ::2]
    return x[np.array([0, 1, 2, 3, 0, 2, 3, 1])]


entry = Entry(
    name="pyramid",
    title="Four agents form a pyramid",
    source="Colombo-Gamonal, section 6.3, Figures 4 and 5, corrected",
    text=(
        "Agents with the Lagrangian e^{kappa t} (|v|^2/2 - V), V the sum of (|q_i - q_j|^2 -"
        " d^2)^2/4 over all six pairs; Trapezoid is the explicit scheme (42). The document does not"
        " state the distances: here all are 2 m. Its initial points lie in a plane, in which they"
        " stay; agent 2 is pushed 0.1 m out of it. After the 2 s that are stated the pyramid is far"
        " from formed; it is after 20 s, with kappa = 13 1/s."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": np.zeros(12)},
    h=H,
    steps=N,
    checks=checks,
    figure=figure,
    positions=positions,
)
