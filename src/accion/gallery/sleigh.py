"""The Chaplygin sleigh: a nonholonomic system that forgets, with a closed form."""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System

H = 0.02
PARAMS = {"m": 1.0, "I": 0.3, "a": 0.4}
SPEED, TURN = -0.5, 1.5
Q0, V0 = np.zeros(3), np.array([SPEED, 0.0, TURN])


def lagrangian(t, q, v, params):
    """(x, y) is the point of contact of the blade, the centre of mass is `a` ahead of it."""
    dx, dy, dtheta = v
    a, s, c = params["a"], jnp.sin(q[2]), jnp.cos(q[2])
    return (
        0.5 * params["m"] * ((dx - a * s * dtheta) ** 2 + (dy + a * c * dtheta) ** 2)
        + 0.5 * params["I"] * dtheta**2
    )


def edge(t, q, v, params):
    return jnp.array([v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2])])


COORDINATES = ("x [m]", "y [m]", "theta [rad]")
system = System(
    lagrangian,
    Euclidean(3),
    PARAMS,
    nonholonomic=edge,
    coordinates=COORDINATES,
    name="Chaplygin sleigh",
)


def exact(t):
    """(speed along the blade, rate of turn): speed = c tanh, rate = c/k sech of (a c t/k^2 +
    start), k^2 = (I + m a^2)/m.
    """
    m, I, a = PARAMS["m"], PARAMS["I"], PARAMS["a"]
    k = np.sqrt((I + m * a**2) / m)
    c = np.hypot(SPEED, k * TURN)
    s = a * c / k**2 * t + np.arctanh(SPEED / c)
    return c * np.tanh(s), c / k / np.cosh(s)


def blade(traj):
    """Speed along the blade and rate of turn of a trajectory."""
    v, theta = np.asarray(traj.v), np.asarray(traj.q)[:, 2]
    return v[:, 0] * np.cos(theta) + v[:, 1] * np.sin(theta), v[:, 2]


def end_error(method, h):
    n = round(4 / h)
    speed, rate = blade(simulate(system, method, q0=Q0, v0=V0, h=h, steps=n, save_every=n))
    return max(abs(speed[-1] - exact(4.0)[0]), abs(rate[-1] - exact(4.0)[1]))


def checks():
    ts = [0.0, 1.0, 2.0, 4.0]
    q, v = reference(system, q0=Q0, v0=V0, ts=ts)
    rows = []
    for i, t in enumerate(ts[1:], 1):
        speed = float(v[i, 0] * jnp.cos(q[i, 2]) + v[i, 1] * jnp.sin(q[i, 2]))
        rows += compare(
            f"(speed, turn)({t}), continuous against the closed form",
            [speed, v[i, 2]],
            exact(t),
            1e-9,
        )
    for method in (Midpoint(), Trapezoid()):
        errors = [end_error(method, h) for h in (0.04, 0.02, 0.01)]
        rows += compare(f"order of {method}", np.log2(errors[0] / errors[2]) / 2, 2, 0.1)
    return rows


def figure():
    fig, axes = new_figure(1, 3, (13, 3.6))
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=400)
    axes[0, 0].plot(traj.q[:, 0], traj.q[:, 1])
    axes[0, 0].set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="path of the blade, 8 s")
    ts = np.asarray(traj.t)
    for values, formula, name in zip(
        blade(traj), exact(ts), ("speed [m/s]", "turn [rad/s]"), strict=True
    ):
        axes[0, 1].plot(ts, values, label=name)
        axes[0, 1].plot(ts, formula, "k:", lw=1)
    axes[0, 1].set(xlabel="t [s]", title="it turns round and runs straight")
    axes[0, 1].legend()
    hs = np.array([0.08, 0.04, 0.02, 0.01])
    for method in (Midpoint(), Trapezoid()):
        axes[0, 2].loglog(hs, [end_error(method, h) for h in hs], "o-", label=type(method).__name__)
    axes[0, 2].loglog(hs, hs**2, "k:", lw=1, label="slope 2")
    step_axis(axes[0, 2], hs)
    axes[0, 2].set(ylabel="error at t = 4 s")
    axes[0, 2].legend()
    return fig


entry = Entry(
    name="sleigh",
    title="Chaplygin sleigh",
    source="nonholonomic mechanics; compare the Vakonomic thesis, chapter 3",
    text=(
        "A body on a blade, its centre of mass ahead of the blade. Whatever it does at first, it"
        " ends running straight with the centre of mass in front: energy is constant, but the"
        " motion is attracted, as no Hamiltonian motion is. Speed and rate of turn have a closed"
        " form."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=400,
    checks=checks,
    figure=figure,
)
