"""Turning a satellite from rest to rest with the least torque, on SO(3): about a principal axis in
closed form, and about any other.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from accion.control import ControlProblem, optimize
from accion.gallery.base import compare
from accion.gallery.controlled import control_entry, half_square, held, order
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.spaces import SO3
from accion.systems import System

STEPS, DURATION = 64, 5.0
I = np.array([0.7, 1.0, 0.4])  # [kg m^2]
TURN = np.array([1.6, 1.4, -1.2])  # a rotation vector
ANGLE = 2.0  # about each of the principal axes


def lagrangian(t, q, v, params):
    return 0.5 * jnp.sum(params["I"] * v**2)


# The derivatives of Cayley's map are rational, and compile in a third of the time of those of the
# exponential.
system = System(lagrangian, SO3(retraction="cayley"), {"I": I}, name="satellite")


def turn_by(vector):
    return ControlProblem(
        system,
        half_square,
        actuated=[0, 1, 2],
        controls=["u1 [N m]", "u2 [N m]", "u3 [N m]"],
        duration=DURATION,
        name="turn of a satellite",
        start=(np.eye(3), np.zeros(3)),
        end=(Rotation.from_rotvec(vector).as_matrix(), np.zeros(3)),
    )


problem = turn_by(TURN)


@cache
def turned(steps):
    return optimize(problem, Midpoint(), steps)


@cache
def principal(axis, steps):
    return optimize(turn_by(ANGLE * np.eye(3)[axis]), Midpoint(), steps)


def exact(axis, t):
    """(theta, theta', cost): theta = angle (3 s^2 - 2 s^3), s = t/T, and 6 I^2 angle^2 / T^3."""
    s = t / DURATION
    return (
        ANGLE * (3 * s**2 - 2 * s**3),
        ANGLE * (6 * s - 6 * s**2) / DURATION,
        6 * I[axis] ** 2 * ANGLE**2 / DURATION**3,
    )


def rates(t, y, P):
    """Pontryagin's conditions with a quaternion: I w' = I w x w + u, u = I^-1 p1, p1' = -p0 + I w x
    u + I (u x w), p0 = R^T P, P constant.
    """
    k, w, p1 = y[:4], y[4:7], y[7:10]
    u = p1 / I
    turn = np.append(k[3] * w + np.cross(k[:3], w), -k[:3] @ w) / 2
    p0 = Rotation.from_quat(k).inv().apply(P)
    return np.concatenate(
        [
            turn,
            (np.cross(I * w, w) + u) / I,
            -p0 + np.cross(I * w, u) + I * np.cross(u, w),
            [u @ u / 2],
        ]
    )


@cache
def by_hand():
    """(motion, P) of the general turn by shooting, from the costates of the discrete solution;
    motion(t) is (quaternion, w, p1, cost).
    """
    goal, near = Rotation.from_rotvec(TURN), turned(STEPS)

    def shoot(unknown, dense=False):
        y0 = np.concatenate([[0.0, 0.0, 0.0, 1.0], np.zeros(3), unknown[3:], [0.0]])
        return solve_ivp(
            rates,
            (0, DURATION),
            y0,
            "DOP853",
            args=(unknown[:3],),
            rtol=1e-12,
            atol=1e-12,
            dense_output=dense,
        )

    def miss(unknown):
        last = shoot(unknown).y[:, -1]
        return np.concatenate([(goal.inv() * Rotation.from_quat(last[:4])).as_rotvec(), last[4:7]])

    found = root(miss, near.costates[0].ravel(), tol=1e-12)
    if np.max(np.abs(found.fun)) > 1e-9:
        raise RuntimeError(f"the shooting of the turn missed by {np.max(np.abs(found.fun)):.2g}.")
    return shoot(found.x, dense=True).sol, found.x[:3]


def checks():
    rows = []
    for axis in range(3):
        errors = []
        for steps in (STEPS // 2, STEPS):
            s = principal(axis, steps)
            theta, rate, cost = exact(axis, s.t)
            angle = Rotation.from_matrix(s.q).as_rotvec()[:, axis]
            errors.append(
                [
                    abs(s.cost - cost),
                    np.max(np.abs(angle - theta)),
                    np.max(np.abs(np.asarray(s.v)[:, axis] - rate)),
                ]
            )
        names = ("cost", "angle", "rate")
        for name, pair in zip(names, np.array(errors).T, strict=True):
            rows += compare(
                f"turn about axis {axis + 1}, order of the {name} against the closed form",
                order(pair),
                2,
                0.1,
            )
        s = principal(axis, STEPS)
        extrapolated = s.cost + (s.cost - principal(axis, STEPS // 2).cost) / 3
        rows += compare(
            f"turn about axis {axis + 1}, extrapolated cost over 6 I^2 angle^2 / T^3",
            extrapolated / exact(axis, 0.0)[2],
            1,
            1e-5,
        )
        others = np.delete(s.u, axis, axis=1)
        rows += compare(
            f"turn about axis {axis + 1}, torque about the others",
            np.max(np.abs(others)),
            0.0,
            1e-9,
        )
    motion, P = by_hand()
    fine, coarse = turned(STEPS), turned(STEPS // 2)
    cost = motion(DURATION)[10]
    rows += compare(
        "general turn, extrapolated cost against Pontryagin's conditions",
        fine.cost + (fine.cost - coarse.cost) / 3,
        cost,
        1e-6,
    )
    rows += compare(
        "general turn, order of the cost", order([s.cost - cost for s in (coarse, fine)]), 2, 0.05
    )
    pairs = [deviations(s, motion, P) for s in (coarse, fine)]
    for name, pair in zip(("R", "w", "u", "p1", "p0 = R^T P"), np.array(pairs).T, strict=True):
        rows += compare(
            f"general turn, order of {name} against Pontryagin's conditions", order(pair), 2, 0.2
        )
    return rows + compare(
        f"replay of {STEPS} steps misses the end by", fine.replay_error, 0.0, 5e-3
    )


def deviations(s, motion, P):
    """The largest errors of R, w, u, p1 and p0."""
    y = motion(s.t)
    R, p0 = Rotation.from_quat(y[:4].T), s.costates[:, 0]
    pairs = (
        (s.q, R.as_matrix()),
        (s.v, y[4:7].T),
        (s.u, (motion(s.t_u)[7:10].T / I)),
        (s.costates[:, 1], y[7:10].T),
        (p0, R.inv().apply(P)),
    )
    return [np.max(np.abs(np.asarray(a) - b)) for a, b in pairs]


def figure():
    fig, axes = new_figure(1, 3, (13.5, 4.0))
    sphere, push, rate = axes[0]
    best, (motion, _) = turned(STEPS), by_hand()
    draw_axes(sphere, best.q)
    fine = np.linspace(0, DURATION, 300)
    y, colors = motion(fine), ("#1b6ca8", "#d1495b", "#2e933c")
    for j, color in enumerate(colors):
        push.plot(
            fine,
            y[7 + j] / I[j],
            "k:",
            lw=1.2,
            zorder=3,
            label=None if j else "Pontryagin, with a quaternion",
        )
        held(push, best, j, color=color, label=f"u{j + 1}")
        rate.plot(fine, y[4 + j], "k:", lw=1.2, zorder=3)
        rate.plot(best.t, np.asarray(best.v)[:, j], color=color, label=f"w{j + 1}")
    push.set(
        xlabel="t [s]", ylabel="torque [N m]", title=f"torques, {STEPS} steps, cost {best.cost:.4f}"
    )
    rate.set(
        xlabel="t [s]", ylabel="angular velocity of the body [rad/s]", title="from rest to rest"
    )
    for ax in axes[0]:
        ax.legend(fontsize=7)
    return fig


def draw_axes(ax, R):
    """The paths of the body's axes on the unit sphere, seen from one side; dotted where they are
    behind it; the turn about one axis, dashed.
    """
    view = np.linalg.qr(np.array([[1.0, 0.7, 0.6], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).T)[0]
    view = view * np.sign(view[:, 0] @ np.ones(3))
    around = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(around), np.sin(around), color="0.7", lw=1)
    straight = Rotation.from_rotvec(np.linspace(0, 1, 60)[:, None] * TURN).as_matrix()
    for j, color in enumerate(("#1b6ca8", "#d1495b", "#2e933c")):
        seen = R[:, :, j] @ view
        ax.plot(
            *np.where(seen[:, :1] >= 0, seen[:, 1:], np.nan).T,
            color=color,
            lw=2,
            label=f"axis {j + 1}",
        )
        ax.plot(*np.where(seen[:, :1] <= 0, seen[:, 1:], np.nan).T, color=color, lw=1, ls=":")
        ax.plot(*seen[[0, -1], 1:].T, "o", ms=4, color=color)
        ax.plot(
            *(straight[:, :, j] @ view)[:, 1:].T,
            "--",
            color=color,
            lw=0.7,
            label=None if j else "turn about one axis",
        )
    ax.set(aspect="equal", title="the axes of the body, on the sphere", xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set_visible(False)


entry = control_entry(
    problem,
    steps=STEPS,
    name="satellite_attitude",
    title="Turn of a satellite",
    source=(
        "Vakonomic thesis, chapters 6 and 7, on SO(3); Junkins and Turner, Optimal Spacecraft"
        " Rotational Maneuvers"
    ),
    text=(
        "Three torques turn a satellite from rest to rest in 5 s with the least int |u|^2/2. About"
        " a principal axis the angle is 3 s^2 - 2 s^3 of the whole, s = t/T, and the cost 6 I^2"
        " angle^2 / T^3. About any other the best turn is not about one axis: the gyroscopic torque"
        " is made use of. The costate of the attitude is constant in space; with it Pontryagin's"
        " conditions are solved by shooting with a quaternion, independently."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [jnp.zeros(2), q[1:, 0], jnp.zeros(2), q[1:, 1], jnp.zeros(2), q[1:, 2]]
    ),
)
