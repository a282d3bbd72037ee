"""A drone with a load on a rod, on R^3 x R^3 x SO(3): a controller that hovers, the tension, and
the swing that thrust makes faster.
"""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import SO3, Euclidean, Product
from accion.systems import System

# Masses [kg], rod [m], moments [kg m^2]; gains of the position [N/m, N s/m] and of the attitude [N
# m, N m s].
PARAMS = {
    "load": 0.5,
    "drone": 1.5,
    "rod": 0.8,
    "I": np.array([0.03, 0.03, 0.05]),
    "gravity": 9.81,
    "kx": 3.0,
    "kv": 4.0,
    "kr": 2.0,
    "kw": 0.4,
}
# the thrust of hovering, nothing else
FREE = {**PARAMS, "kx": 0.0, "kv": 0.0, "kr": 0.0, "kw": 0.0}
ML, MD, ROD, I, GRAVITY = (PARAMS[key] for key in ("load", "drone", "rod", "I", "gravity"))
UP = np.array([0.0, 0.0, 1.0])
SAVES, H = 100, 0.02  # times kept of every run, so that all share one compilation


def lagrangian(t, q, v, params):
    load, drone, _ = q
    kinetic = (
        params["load"] * v[:3] @ v[:3]
        + params["drone"] * v[3:6] @ v[3:6]
        + jnp.sum(params["I"] * v[6:] ** 2)
    )
    return 0.5 * kinetic - params["gravity"] * (
        params["load"] * load[2] + params["drone"] * drone[2]
    )


def controller(t, q, v, params):
    """Thrust along the drone's third axis and torques that turn it to the force that would bring
    the drone to the origin.
    """
    _, drone, R = q
    wanted = (
        (params["load"] + params["drone"]) * params["gravity"] * UP
        - params["kx"] * drone
        - params["kv"] * v[3:6]
    )
    body = jnp.sum(R * wanted[:, None], axis=0)  # R^T wanted
    thrust = body[2] * R[:, 2]
    torque = (
        params["kr"] * jnp.stack([-body[1], body[0], 0 * body[2]]) / jnp.sqrt(body @ body)
        - params["kw"] * v[6:]
    )
    return jnp.concatenate([jnp.zeros(3), thrust, torque])


def rod(t, q, params):
    d = q[0] - q[1]
    return 0.5 * jnp.array([d @ d - params["rod"] ** 2])


# load, drone, attitude
NAMES = (*(f"{c}{i} [m]" for i in (1, 2) for c in "xyz"), *(f"theta{i} [rad]" for i in (1, 2, 3)))
SPACE = Product(Euclidean(3), Euclidean(3), SO3())
system = System(
    lagrangian,
    SPACE,
    PARAMS,
    force=controller,
    holonomic=rod,
    coordinates=NAMES,
    name="drone with a load",
)


def start(drone, swing, attitude=(0.0, 0.0, 0.0)):
    """At rest: the drone at `drone`, the rod turned by `swing` about y, the drone by a rotation
    vector.
    """
    drone = np.asarray(drone, dtype=float)
    load = drone + ROD * np.array([np.sin(swing), 0.0, -np.cos(swing)])
    return {"q0": (load, drone, Rotation.from_rotvec(attitude).as_matrix()), "v0": np.zeros(9)}


HOVER = start((0.0, 0.0, 0.0), 0.0)
START = start((1.0, -0.5, 0.3), 0.6, (0.1, 0.0, 0.5))


def period(amplitude, load=ML, drone=MD):
    """Of the swing under a drone that is free and carries both by its thrust: a pendulum in the
    gravity g (1 + m/M).
    """
    return 4 * ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(GRAVITY / ROD * (1 + load / drone))


def newton(ts, q0, v0):
    """(load, drone, R, v) by Newton's and Euler's equations with the tension by hand and a
    quaternion: Runge-Kutta 8 of SciPy.
    """

    def rates(t, y):
        x, k, w, v = y[:6].reshape(2, 3), y[6:10], y[16:], y[10:16].reshape(2, 3)
        R = Rotation.from_quat(k).as_matrix()
        wanted = (ML + MD) * GRAVITY * UP - PARAMS["kx"] * x[1] - PARAMS["kv"] * v[1]
        thrust = (wanted @ R[:, 2]) * R[:, 2]
        torque = (
            PARAMS["kr"] * np.cross(UP, R.T @ wanted) / np.linalg.norm(wanted) - PARAMS["kw"] * w
        )
        u, du = (x[0] - x[1]) / ROD, (v[0] - v[1]) / ROD
        tension = ML * MD / (ML + MD) * (ROD * du @ du - u @ thrust / MD)
        turn = np.append(k[3] * w + np.cross(k[:3], w), -k[:3] @ w) / 2
        a = [-GRAVITY * UP - tension * u / ML, -GRAVITY * UP + (thrust + tension * u) / MD]
        return np.concatenate([v.ravel(), turn, *a, (torque + np.cross(I * w, w)) / I])

    y0 = np.concatenate([q0[0], q0[1], Rotation.from_matrix(q0[2]).as_quat(), v0])
    y = solve_ivp(rates, (0, ts[-1]), y0, "DOP853", ts, rtol=1e-13, atol=1e-13).y.T
    return y[:, :3], y[:, 3:6], Rotation.from_quat(y[:, 6:10]).as_matrix(), y[:, 10:]


def run(h, every, initial=START, params=PARAMS):
    return simulate(
        system, Midpoint(), **initial, h=h, steps=SAVES * every, save_every=every, params=params
    )


def balance(traj):
    """(E - E0, the work of thrust and torques since the start) at the kept times; the power is
    integrated by a spline of degree 7.
    """
    load, drone, R = (np.asarray(part) for part in traj.q)
    inertia = np.concatenate([np.full(3, ML), np.full(3, MD), I])
    v = np.asarray(traj.p) / inertia
    E = np.sum(inertia * v**2, axis=1) / 2 + GRAVITY * (ML * load[:, 2] + MD * drone[:, 2])
    wanted = (ML + MD) * GRAVITY * UP - PARAMS["kx"] * drone - PARAMS["kv"] * v[:, 3:6]
    body = np.einsum("kij,ki->kj", R, wanted)
    torque = (
        PARAMS["kr"] * np.cross(UP, body) / np.linalg.norm(body, axis=1, keepdims=True)
        - PARAMS["kw"] * v[:, 6:]
    )
    power = body[:, 2] * np.sum(R[:, :, 2] * v[:, 3:6], axis=1) + np.sum(torque * v[:, 6:], axis=1)
    return E - E[0], make_interp_spline(np.asarray(traj.t), power, 7).antiderivative()(
        np.asarray(traj.t)
    )


def checks():
    traj = run(H, 2, HOVER)
    rows = compare("hovering: tension, m g", -ROD * traj.lam[-1], [ML * GRAVITY], 1e-12)
    rows += compare(
        "hovering: largest move",
        max(np.max(np.abs(a - b)) for a, b in zip(traj.q, HOVER["q0"], strict=True)),
        0.0,
        1e-12,
    )
    for mass in (MD, 1000 * MD):
        quarter = period(0.6, drone=mass) / 4
        (load, drone, _), _ = reference(
            system.with_params({**FREE, "drone": mass}),
            **start((0.0, 0.0, 0.0), 0.6),
            ts=[0.0, quarter, 2 * quarter],
        )
        rows += compare(
            f"swing under a free drone of {mass:g} kg: x of the rod after 1/4 and 1/2 period",
            (load - drone)[1:, 0],
            [0.0, -ROD * np.sin(0.6)],
            1e-9,
        )
        centre = np.asarray(ML * load + mass * drone) / (ML + mass)
        rows += compare(
            "its centre of mass: largest move", np.ptp(centre, axis=0), [0.0] * 3, 1e-11
        )
    ts = np.array([0.0, 1.0, 2.0])
    q, v = reference(system, **START, ts=ts)
    goal = newton(ts, **START)
    for label, ours, theirs in zip(("load", "drone", "R", "v"), (*q, v), goal, strict=True):
        difference = np.max(np.abs(ours - theirs), axis=tuple(range(1, theirs.ndim)))
        rows += compare(
            f"{label} at 1 s and 2 s, continuous against Newton's equations with the tension by"
            " hand: largest difference",
            difference[1:],
            [0, 0],
            1e-9,
        )
    errors, defects = [], []
    for every in (2, 4, 8):
        traj = run(ts[2] / (SAVES * every), every)
        errors.append(
            max(
                np.max(np.abs(ours[-1] - theirs[-1]))
                for ours, theirs in zip(traj.q, goal[:3], strict=True)
            )
        )
        gain, work = balance(traj)
        defects.append(np.max(np.abs(gain - work)))
        rows += compare(
            f"h = {float(traj.h):g}: largest change of the length of the rod",
            np.max(np.abs(np.linalg.norm(traj.q[0] - traj.q[1], axis=1) - ROD)),
            0.0,
            1e-14,
        )
    rows += compare("order of Midpoint()", np.log2(errors[0] / errors[2]) / 2, 2, 0.05)
    return rows + compare(
        "order of the defect of the energy balance, E - E0 less the work",
        np.log2(defects[0] / defects[2]) / 2,
        2,
        0.05,
    )


def figure():
    fig, axes = new_figure(1, 4, (17, 4.2))
    first, second, third, fourth = axes[0]
    traj = run(H, 4)
    t, (load, drone, R) = np.asarray(traj.t), map(np.asarray, traj.q)
    for path, label in ((drone, "drone"), (load, "load")):
        first.plot(path[:, 0], path[:, 2], label=label)
    for k in (0, 6, 12, 20, 36, 100):
        first.plot(
            *np.asarray(positions((load[k], drone[k], R[k]))).T,
            "-",
            color="#3d405b",
            lw=1,
            alpha=0.8,
        )
    first.set(
        aspect="equal",
        xlabel="x [m]",
        ylabel="z [m]",
        title="8 s, to the origin",
        ylim=(-0.9, 0.75),
    )
    first.legend(fontsize=8)
    second.plot(t, -ROD * np.asarray(traj.lam)[:, 0], label=f"midpoint, h = {H} s")
    second.axhline(ML * GRAVITY, color="k", ls=":", lw=1, label="m g")
    second.set(xlabel="t [s]", ylabel="tension of the rod [N]", title="tension")
    second.legend(fontsize=8)
    gain, work = balance(traj)
    third.plot(t, gain, label="energy, less its first value")
    third.plot(t, work, "k:", lw=1.2, label="work of thrust and torques")
    third.set(xlabel="t [s]", ylabel="energy [J]", title="energy balance")
    third.legend(fontsize=8)
    ratios = np.linspace(0, 1.5, 100)
    for amplitude, color in ((0.1, "#1b6ca8"), (1.2, "#d1495b")):
        fourth.plot(
            ratios,
            [period(amplitude, r, 1.0) for r in ratios],
            ":",
            color=color,
            label=f"closed form, {amplitude} rad",
        )
        for r in (0.1, 1 / 3, 0.7, 1.0, 1.4):
            swing = run(0.0125, 2, start((0.0, 0.0, 0.0), amplitude), {**FREE, "load": r * MD})
            t, x = np.asarray(swing.t), np.asarray(swing.q[0] - swing.q[1])[:, 0]
            k = np.flatnonzero(x[:-1] * x[1:] < 0)[:2]
            zeros = t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])
            fourth.plot(
                r,
                2 * np.diff(zeros),
                "o",
                color=color,
                label="midpoint, h = 0.0125 s" if r == 1 else None,
            )
    fourth.set(
        xlabel="mass of the load over that of the drone",
        ylabel="period of the swing [s]",
        title="swing under a free drone",
    )
    fourth.legend(fontsize=8)
    return fig


def positions(q):
    """The ends of the drone's arms, the drone and the load, seen along y."""
    load, drone, R = q
    return jnp.stack([drone + 0.25 * R[:, 0], drone - 0.25 * R[:, 0], drone, load])[:, ::2]


entry = Entry(
    name="quadrotor",
    title="Drone with a load on a rod",
    source=(
        "Sreenath, Lee and Kumar, Geometric control and differential flatness of a quadrotor with a"
        " suspended load, CDC 2013 (the model)"
    ),
    text=(
        "The load and the drone are points of space held together by a rod, the attitude of the"
        " drone is a rotation. Thrust along the drone's axis and torques come from a simple"
        " controller that brings the drone back to the origin; the multiplier is the tension, m g"
        " in hovering. Where the thrust only carries the weight of both, the swing is exactly that"
        " of a pendulum in the gravity g (1 + m/M), faster than under a fixed point, about a centre"
        " of mass at rest. Energy changes by the work of the controller up to O(h^2)."
    ),
    system=system,
    method=Midpoint(),
    start=START,
    h=H,
    steps=400,
    checks=checks,
    figure=figure,
    positions=positions,
)
