"""A hundred agents in space that close to a sphere: Colombo-Gamonal, section 6, with many
agents.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.formation import Formation, rigidity_matrix
from accion.gallery.base import Entry, compare
from accion.methods import Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate

N, RADIUS, REACH, KAPPA, SCATTER = 100, 4.0, 3.0, 2.0, 0.4
H, STEPS, EVERY = 0.01, 2000, 10


def sphere():
    """Points of a sphere, nearly evenly spread on a spiral, and the pairs that see each other:
    those closer than REACH.
    """
    k = np.arange(N) + 0.5
    z, angle = 1 - 2 * k / N, np.pi * (1 + np.sqrt(5)) * k
    points = RADIUS * np.stack(
        [np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], axis=1
    )
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    return [(i, j) for i in range(N) for j in range(i + 1, N) if apart[i, j] < REACH], points


EDGES, SHAPE = sphere()
formation = Formation.from_shape(EDGES, SHAPE, KAPPA, name="sphere of a hundred agents")
system = formation.system()
three = Formation([(0, 1), (1, 2), (0, 2)], 2.0, 3, KAPPA, name="three of the agents").system()
Q0 = (SHAPE + SCATTER * np.random.default_rng(0).normal(size=SHAPE.shape)).ravel()


@cache
def run():
    return simulate(
        system, Trapezoid(), q0=Q0, v0=np.zeros(3 * N), h=H, steps=STEPS, save_every=EVERY
    )


def recurrence(steps):
    """The scheme (41) in NumPy, from rest with matched momenta, written for all agents at once."""
    E = np.exp(KAPPA * H)
    hat, low, bar = (2 + E + 1 / E) / (1 + E), (1 + 1 / E) / (1 + E), 2 * H**2 / (1 + E)
    i, j = np.array(EDGES).T
    d = np.linalg.norm(SHAPE[i] - SHAPE[j], axis=1)

    def gradient(q):
        z = q[i] - q[j]
        pull = (np.sum(z**2, axis=1) - d**2)[:, None] * z
        out = np.zeros_like(q)
        np.add.at(out, i, pull)
        np.subtract.at(out, j, pull)
        return out

    before = Q0.reshape(N, 3)
    now = before - bar / 2 * gradient(before)
    for _ in range(steps - 1):
        before, now = now, hat * now - low * before - bar * gradient(now)
    return now


def slowest():
    """The rate of the slowest motion near the shape: s^2 + kappa s + mu = 0, mu the eigenvalues of
    V'' = 2 R^T R without the six rigid motions.
    """
    R = rigidity_matrix(formation.graph, SHAPE)
    mu = np.linalg.eigvalsh(2 * R.T @ R)[6:]
    return np.min(KAPPA / 2 - np.sqrt(np.maximum(KAPPA**2 / 4 - mu, 0.0)))


def checks():
    traj = run()
    worst = np.max(np.abs(formation.errors(traj.q)), axis=1)
    t = np.asarray(traj.t)
    late = (t > 12) & (t < 18)
    rows = compare(
        "q_10 by the scheme (41) in NumPy, largest difference",
        np.max(np.abs(np.asarray(traj.q[1]).reshape(N, 3) - recurrence(10))),
        0.0,
        1e-12,
    )
    rows += compare("distances at 20 s, largest error [m]", worst[-1], 0.0, 1e-7)
    rows += compare(
        "the shape is the desired one, not its mirror image nor another",
        formation.classify(traj.q[-1]) == "same",
        1.0,
        0.5,
    )
    centre = np.asarray(traj.q).reshape(-1, N, 3).mean(axis=1)
    rows += compare(
        "the centre stays where it is (Colombo-Gamonal, Remark 2), largest move [m]",
        np.max(np.abs(centre - centre[0])),
        0.0,
        1e-12,
    )
    rate = -np.polyfit(t[late], np.log(worst[late]), 1)[0]
    rows += compare(
        "rate at which the errors fall, 12 to 18 s, over that of the linear motion",
        rate / slowest(),
        1.0,
        0.02,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 4, (15, 3.8))
    traj = run()
    for ax, time in zip(axes[0][:3], (0.0, 1.0, 20.0), strict=True):
        q = np.asarray(traj.q[round(time / (H * EVERY))]).reshape(N, 3)
        for i, j in EDGES:
            ax.plot(q[[i, j], 0], q[[i, j], 2], color="#1b6ca8", lw=0.4, alpha=0.5)
        ax.plot(q[:, 0], q[:, 2], "o", ms=3, color="#d1495b")
        ax.set(xlabel="x [m]", ylabel="z [m]", xlim=(-5.5, 5.5), ylim=(-5.5, 5.5), aspect="equal")
        ax.set_title(f"t = {time:g} s", loc="left", fontsize=10)
    last = axes[0][3]
    error = np.abs(formation.errors(traj.q))
    last.semilogy(traj.t, np.max(error, axis=1), label="largest")
    last.semilogy(traj.t, np.median(error, axis=1), label="median")
    last.semilogy(
        traj.t, np.exp(-slowest() * np.asarray(traj.t)), "k:", lw=1, label=f"e^(-{slowest():.2f} t)"
    )
    last.set(xlabel="t [s]", ylabel="errors of the distances [m]")
    last.legend(loc="lower left")
    return fig


def edges_in_the_plane(q):
    """The edges as seen along y: pairs of points, with gaps between them."""
    x = q.reshape(N, 3)[:, jnp.array([0, 2])]
    i, j = np.array(EDGES).T
    return jnp.stack([x[i], x[j], jnp.full((len(i), 2), jnp.nan)], axis=1).reshape(-1, 2)


entry = Entry(
    name="swarm",
    title="A hundred agents close to a sphere",
    source="Colombo-Gamonal, section 6, with many agents",
    text=(
        "A hundred agents in space, each of which sees those closer than 3 m in the desired shape,"
        " a sphere of 4 m: 700 distances. Scattered by 0.4 m, they find it again. A step costs as"
        " much as the edges do, for any number of agents. The equations shown are those of three of"
        " them; `Trajectory.animate` with the entry's positions shows the sphere closing."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": np.zeros(3 * N)},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
    positions=edges_in_the_plane,
    printed=three,
)
