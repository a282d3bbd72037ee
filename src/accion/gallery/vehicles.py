"""Three vehicles in a joint task, each on SE(2): they close to a triangle and turn one way. The
groups of Colombo-Eyrea, section 5, in the formations of Colombo-Gamonal, section 6.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.formation import Formation, RigidFormation
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Trapezoid
from accion.plot import new_figure
from accion.plot.figures import COLORS
from accion.solve.simulation import simulate

KAPPA, SIDE, INERTIA, ALIGNMENT = 1.0, 3.0, 0.4, 0.6
H, STEPS = 0.02, 500
EDGES = [(0, 1), (1, 2), (2, 0)]
PLACES = np.array([[0.0, 0.0], [2.2, -0.4], [0.6, 1.9]])  # m
HEADINGS = np.array([0.0, 1.2, -0.9])  # rad
# (omega, u) of each, in its own axes
V0 = np.array([[0.3, 0.8, 0.0], [-0.2, 0.5, 0.1], [0.5, 0.6, -0.2]])

formation = RigidFormation(
    EDGES, SIDE, 2, KAPPA, inertia=INERTIA, alignment=ALIGNMENT, name="three vehicles"
)
two = RigidFormation([(0, 1)], SIDE, 2, KAPPA, inertia=INERTIA, alignment=ALIGNMENT)
system = formation.system()


def turns(angles):
    """Rotations of the plane, shape (n, 2, 2)."""
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


Q0 = formation.poses(PLACES, turns(HEADINGS))


@cache
def run(h=H):
    return simulate(system, Trapezoid(), q0=Q0, v0=V0.ravel(), h=h, steps=round(H * STEPS / h))


def headings(q):
    """The angles of the vehicles, continuous in time, shape (times, 3)."""
    R = formation.attitudes(q)
    return np.unwrap(np.arctan2(R[..., 1, 0], R[..., 0, 0]), axis=0)


def mean_heading(t):
    """Torques cancel: the sum of J omega decays like e^{-kappa t}, and the mean of the angles is
    that of the start and of omega, times (1 - e^{-kappa t})/kappa.
    """
    return HEADINGS.mean() + V0[:, 0].mean() * (1 - np.exp(-KAPPA * t)) / KAPPA


def velocities():
    """Of the centres at the start, in space."""
    return np.einsum("nij,nj->ni", turns(HEADINGS), V0[:, 1:])


def checks():
    traj = run()
    t, q = np.asarray(traj.t), traj.q
    law = formation.laws(traj)
    v = velocities()
    angular = np.sum(PLACES[:, 0] * v[:, 1] - PLACES[:, 1] * v[:, 0] + INERTIA * V0[:, 0])
    rows = compare(
        "angular and linear momentum of the whole at the start, by hand",
        law.values[0],
        [angular, *v.sum(axis=0)],
        1e-12,
    )
    rows += compare("drift of their products with e^{kappa t}", law.drift, 0.0, 1e-12)
    r = formation.positions(q)
    centroid = PLACES.mean(axis=0) + v.mean(axis=0) * (1 - np.exp(-KAPPA * t[-1])) / KAPPA
    rows += compare("centroid at the end", r[-1].mean(axis=0), centroid, 1e-3)
    rows += compare(
        "mean heading, largest difference from the closed form [rad]",
        np.max(np.abs(headings(q).mean(axis=1) - mean_heading(t))),
        0.0,
        1e-3,
    )
    points = Formation(EDGES, SIDE, 2, KAPPA).system()
    exact, _ = reference(points, q0=PLACES.ravel(), v0=v.ravel(), ts=[0.0, 1.0])
    errors = [
        np.max(np.abs(formation.positions(run(h).q)[round(1.0 / h)].ravel() - exact[-1]))
        for h in (0.02, 0.01, 0.005)
    ]
    rows += compare(
        "order of the centres against agents that are points, t = 1 s",
        np.polyfit(np.log([0.02, 0.01, 0.005]), np.log(errors), 1)[0],
        2.0,
        0.1,
    )
    rows += compare(
        "largest distance error at the end [m]",
        np.max(np.abs(formation.errors(q)[-1])),
        0.0,
        1e-2,
    )
    rows += compare(
        "largest angle between two vehicles at the end [rad]",
        np.max(formation.angles(q)[-1]),
        0.0,
        5e-2,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (14, 4.4))
    left, middle, right = axes[0]
    traj = run()
    t, r = np.asarray(traj.t), formation.positions(traj.q)
    R = formation.attitudes(traj.q)
    arrow = 0.35 * np.array([[-0.6, -0.5], [1.0, 0.0], [-0.6, 0.5], [-0.6, -0.5]])
    for i in range(3):
        left.plot(*r[:, i].T, color=COLORS[i], lw=1.0)
        for k in (0, 25, 60, 120, STEPS):
            left.plot(*(arrow @ R[k, i].T + r[k, i]).T, color=COLORS[i], lw=1.3)
    for i, j in EDGES:
        left.plot(*r[-1, [i, j]].T, "k:", lw=0.9)
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="paths and headings")
    middle.semilogy(t, np.max(np.abs(formation.errors(traj.q)), axis=1), label="distances [m]")
    middle.semilogy(t, np.max(formation.angles(traj.q), axis=1), label="headings [rad]")
    middle.set(xlabel="t [s]", ylabel="largest difference", title="the triangle closes, and agrees")
    law = formation.laws(traj)
    for i, name in enumerate(("angular [kg m^2/s]", "along x [kg m/s]", "along y [kg m/s]")):
        J = law.values[:, i] * np.exp(-KAPPA * t)
        right.semilogy(t, np.abs(J), color=COLORS[i], label=name)
    right.semilogy(t, 3 * np.exp(-KAPPA * t), "k:", label="e^{-kappa t}")
    right.set(xlabel="t [s]", title="momenta of the whole")
    for ax in (middle, right):
        ax.legend(fontsize=8)
    return fig


def triangle(q):
    """The centres in one stroke."""
    return jnp.stack([q[i][:2, 2] for i in (0, 1, 2, 0)])


entry = Entry(
    name="vehicles",
    title="Three vehicles close ranks",
    source="Colombo-Eyrea, section 5; Colombo-Gamonal, section 6",
    text=(
        "Three rigid bodies of the plane, a product of three SE(2), with the Lagrangian e^{kappa t}"
        " (T - V - a/4 sum |R_i - R_j|^2): V draws their centres to distances of 3 m, the last term"
        " their headings to each other, kappa = 1 1/s. The whole is moved by one SE(2), which L"
        " does not see: its three momenta decay like e^{-kappa t}, in discrete time to roundoff."
        " Torques cancel, so that the mean heading has a closed form, and the centres go as agents"
        " do that are points."
    ),
    system=system,
    printed=two.system(),
    method=Trapezoid(),
    start={"q0": Q0, "v0": V0.ravel()},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
    positions=triangle,
)
