"""The swing-up of the cart-pole (Vakonomic thesis, section 7.2), followed and held under
disturbance.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.control import linearise, lqr, optimize, reach, receding_horizon, track
from accion.gallery.base import compare
from accion.gallery.cart_pole import DURATION, PARAMS, STEPS, draw_cart, problem, system
from accion.gallery.controlled import control_entry
from accion.methods import Midpoint
from accion.plot import new_figure

Q, R = np.diag([1.0, 10.0, 0.1, 0.1]), np.array([[0.1]])
H, HELD = DURATION / STEPS, 8.0
START: dict[str, Any] = {"q0": [0.1, np.pi - 0.2], "v0": [0.0, 0.0]}
# What the controls act on: masses that are others than those of the plan.
OTHERS = PARAMS | {"M": 0.95, "m": 0.33}


def push(t, q, v, params):
    return jnp.stack([0.5 * jnp.sin(7 * t), 0.05 * jnp.cos(5 * t)])


@cache
def plan():
    return optimize(problem, Midpoint(), STEPS)


@cache
def law():
    return track(plan(), Q, R)


@cache
def alone():
    """The controls of the plan without their law: gains of zero."""
    return replace(law(), K=0 * law().K).replay(DURATION, disturbance=push, **START)


@cache
def held(pushed=True):
    if not pushed:
        return law().replay(HELD, **START)
    return law().replay(HELD, disturbance=push, system=system.with_params(OTHERS), **START)


@cache
def again():
    return receding_horizon(problem, Midpoint(), 40, 60, every=2, **START)


def by_hand():
    """(A, B) near the upright pole: M x'' = u - m g theta, M l theta'' = (M + m) g theta - u."""
    M, m, l, gravity = (PARAMS[name] for name in ("M", "m", "l", "gravity"))
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[:2, 2:] = np.eye(2)
    A[2:, 1] = -m * gravity / M, (M + m) * gravity / (M * l)
    B[2:, 0] = 1 / M, -1 / (M * l)
    return A, B


def checks():
    from scipy.linalg import expm, solve_discrete_are

    A, B = by_hand()
    upright = linearise(problem, h=H)
    rows = compare("linearisation, by hand", np.ravel(upright.A), np.ravel(A), 1e-10)
    rate = np.sqrt((PARAMS["M"] + PARAMS["m"]) * PARAMS["gravity"] / (PARAMS["M"] * PARAMS["l"]))
    rows += compare("modes", np.real(upright.modes), [rate, 0, 0, -rate], 1e-6)
    whole = expm(H * np.block([[A, B], [np.zeros((1, 5))]]))
    Phi, Gamma = whole[:4, :4], whole[:4, 4:]
    S = np.asarray(solve_discrete_are(Phi, Gamma, H * Q, H * R))
    K = np.linalg.solve(H * R + Gamma.T @ S @ Gamma, Gamma.T @ S @ Phi)
    hold = lqr(problem, Q, R, h=H)
    rows += compare("gains that hold it, SciPy", np.ravel(hold.K), np.ravel(K), 1e-6)
    poles = np.abs(np.linalg.eigvals(Phi - Gamma @ K))
    rows += compare("poles, SciPy", np.sort(np.abs(hold.poles)), np.sort(poles), 1e-8)
    rows += compare("directions of brackets", reach(problem).rank, 4, 0.5)
    end = held(pushed=False).off[-1]
    rows += compare("followed and held: off after 8 s", np.max(np.abs(end)), 0.0, 1e-3)
    angles = held().off[STEPS:, 1]
    rows += compare("pushed, with other masses: angle, largest", np.max(np.abs(angles)), 0.0, 0.2)
    planned = np.max(np.abs(again().run.off[-1]))
    return rows + compare("planned again and again: off after 6 s", planned, 0.0, 1e-3)


def figure():
    fig, axes = new_figure(2, 2, (11, 7.4))
    scene, angle, force, gains = axes.ravel()
    run = held()
    draw_cart(scene, run.t[: STEPS + 1], run.q[: STEPS + 1])
    scene.set_title("swing-up, followed under a push, with other masses")
    shown = run.t <= 5.0
    angle.axhline(0, color="0.8", lw=1)
    angle.plot(plan().t, plan().q[:, 1], "k:", lw=1, label="plan")
    angle.plot(
        alone().t, alone().q[:, 1], color="#d1495b", lw=1, label="its controls alone, pushed"
    )
    angle.plot(
        run.t[shown], run.q[shown, 1], color="#1b6ca8", lw=1.3, label="with feedback, pushed"
    )
    times = again().run.t
    angle.plot(
        times[times <= 5],
        again().run.q[times <= 5, 1],
        color="#2a9d5c",
        lw=1,
        label="planned again",
    )
    angle.set(xlabel="t [s]", ylabel="theta [rad]", title="the pole: 0 is upright")
    force.stairs(plan().u[:, 0], plan().t, baseline=None, color="k", lw=1, ls=":", label="plan")
    count = int(np.sum(shown)) - 1
    force.stairs(
        run.u[:count, 0],
        run.t[: count + 1],
        baseline=None,
        color="#1b6ca8",
        lw=1,
        label="with feedback, pushed",
    )
    force.set(xlabel="t [s]", ylabel="u [N]", title="control")
    for j, name in enumerate(("x", r"$\theta$", r"$\dot x$", r"$\dot\theta$")):
        gains.stairs(law().K[:, 0, j], plan().t, baseline=None, label=name)
    gains.set(xlabel="t [s]", title="gains, Riccati's equation backwards in time")
    for ax in (angle, force, gains):
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    name="cart_pole_held",
    title="Swing-up of a pole on a cart, held by its controller",
    source="Vakonomic thesis, section 7.2, and what comes after the plan",
    text=(
        "The optimal swing-up is a plan for a pole that is left alone: upright it is unstable, and"
        " a push or masses that are a little different lead elsewhere. The linearisation along the"
        " plan is controllable; Riccati's equation backwards in time gives gains with which the"
        " controls follow it, and at its end they are those of the regulator that holds the pole"
        " upright. Gains and poles are those of SciPy on the equations linearised by hand. Planning"
        " again every two steps, each plan from the last, does the same without gains."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [jnp.stack([q[0], 0.0]), jnp.stack([q[0] + 0.5 * jnp.sin(q[1]), 0.5 * jnp.cos(q[1])])]
    ),
)
