"""The swing-up of an acrobot: two links under gravity with a torque at the elbow only."""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.control import ControlProblem, optimize, refine
from accion.gallery.base import compare
from accion.gallery.controlled import control_entry, half_square, held, order, strobe
from accion.gallery.two_link_arm import kinetic, links
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.spaces import Euclidean
from accion.systems import System

STEPS, STARTS, DURATION = 64, 12, 5.0
PARAMS = {
    "m1": 1.0,
    "m2": 1.0,
    "l1": 1.0,
    "c1": 0.5,
    "c2": 0.5,
    "I1": 1.0,
    "I2": 1.0,
    "gravity": 9.8,
}
HANGING, UPRIGHT, REST = np.zeros(2), np.array([np.pi, 0.0]), np.zeros(2)


def height(q, params):
    """Of the centres of mass, times their masses, over the shoulder; angles from hanging."""
    first = params["m1"] * params["c1"] + params["m2"] * params["l1"]
    return -first * jnp.cos(q[0]) - params["m2"] * params["c2"] * jnp.cos(q[0] + q[1])


def lagrangian(t, q, v, params):
    return kinetic(q, v, params) - params["gravity"] * height(q, params)


system = System(
    lagrangian, Euclidean(2), PARAMS, coordinates=("theta1 [rad]", "theta2 [rad]"), name="acrobot"
)
problem = ControlProblem(
    system,
    half_square,
    actuated=["theta2"],
    controls=["u [N m]"],
    start=(HANGING, REST),
    end=(UPRIGHT, REST),
    duration=DURATION,
    name="swing-up of an acrobot",
)


@cache
def best():
    return optimize(problem, Midpoint(), STEPS, starts=STARTS)


@cache
def refined():
    return refine(best(), tolerance=1e-5)


@cache
def extremal():
    return best().extremal()


def checks():
    found, finer = extremal(), refined()
    last = finer.solution
    rows = compare(
        "least cost, extrapolated, against Pontryagin's conditions", finer.cost, found.cost, 1e-5
    )
    rows += compare(
        "order of the cost", order(np.abs(np.array(finer.costs[:4]) - found.cost)), 2, 0.1
    )
    rows += compare("Hamiltonian, largest change", found.drift, 0.0, 1e-8)
    rows += compare("dH/du, largest", found.optimality, 0.0, 1e-10)
    every = last.steps // (len(found.t) - 1)
    rows += compare(
        f"q of {last.steps} steps against Pontryagin's conditions, largest difference",
        np.max(np.abs(last.q[::every] - found.q)),
        0.0,
        1e-3,
    )
    size = np.max(np.abs(found.costates))
    rows += compare(
        f"costates of {last.steps} steps, over the largest",
        np.max(np.abs(last.costates[::every] - found.costates)) / size,
        0.0,
        1e-3,
    )
    rows += compare(
        f"replay of {last.steps} steps misses the end, which is unstable, by",
        last.replay_error,
        0.0,
        0.05,
    )
    lifted = PARAMS["gravity"] * (height(UPRIGHT, PARAMS) - height(HANGING, PARAMS))
    rows += compare(
        "work of the torque is the energy that is gained, 39.2 J",
        np.sum(last.u[:, 0] * np.diff(last.q[:, 1])),
        float(lifted),
        1e-3,
    )
    return rows


def figure():
    fig, axes = new_figure(2, 2, (11, 8))
    scene, push, energy, dual = axes.ravel()
    found, coarse = extremal(), best()
    arms = links(found.q - np.array([np.pi / 2, 0.0]), 1.0, 1.0)
    scene.plot(*arms[:, 2].T, color="0.8", lw=1)
    strobe(scene, found.t, arms, 22, lw=1.3)
    scene.plot(0, 0, "ko", ms=5)
    scene.set(
        xlabel="x [m]",
        ylabel="height [m]",
        title=f"swing-up in {DURATION:g} s, cost {found.cost:.4f}",
    )
    push.plot(found.t, found.u[:, 0], "k:", lw=1.2, zorder=3, label="Pontryagin")
    held(push, coarse, 0, color="#1b6ca8", label=f"{STEPS} steps")
    for other in coarse.optima[1:3]:
        held(
            push,
            other,
            0,
            color="0.75",
            lw=0.8,
            zorder=0,
            label=f"another optimum, cost {other.cost:.0f}",
        )
    push.set(xlabel="t [s]", ylabel="u [N m]", title="torque at the elbow")
    last = refined().solution
    work = np.concatenate([[0.0], np.cumsum(last.u[:, 0] * np.diff(last.q[:, 1]))])
    total = np.asarray(last.trajectory.energy())
    energy.plot(last.t, total - total[0], label="energy [J]")
    energy.plot(last.t[::64], work[::64], "o", ms=3, label="work of the torque [J]")
    energy.set(xlabel="t [s]", title="energy is gained in several swings")
    for j, name in enumerate((r"$p_{0,1}$", r"$p_{0,2}$", r"$p_{1,1}$", r"$p_{1,2}$")):
        dual.plot(found.t, found.costates.reshape(-1, 4)[:, j], label=name)
    dual.plot(found.t, found.H, "k:", lw=1.2, label="H")
    dual.set(xlabel="t [s]", title=f"costates; H is constant to {found.drift:.0e}")
    for ax in axes.ravel():
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    search={"starts": STARTS},
    name="acrobot",
    title="Swing-up of an acrobot",
    source=(
        "Spong, The swing up control problem for the acrobot (1995); Vakonomic thesis, chapters 6"
        " and 7"
    ),
    text=(
        "Two links of 1 kg, 1 m, with centres of mass at 0.5 m and moments of inertia of 1 kg m^2,"
        " hang from a shoulder without a motor; a torque at the elbow brings both upright in 5 s"
        " with the least int u^2/2. There are many local optima; the straight line leads to one"
        " that costs five times as much as the best of a dozen starts. Pontryagin's conditions"
        " certify it, and the continuous equations follow its controls."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [
            jnp.zeros(2),
            jnp.stack([jnp.sin(q[0]), -jnp.cos(q[0])]),
            jnp.stack(
                [jnp.sin(q[0]) + jnp.sin(q[0] + q[1]), -jnp.cos(q[0]) - jnp.cos(q[0] + q[1])]
            ),
        ]
    ),
)
