"""A disk that rolls upright on a plane: Bonich, Ex 2.28 (continuous) and Ex 2.32 (discrete),
corrected.
"""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.stepping.views import discrete
from accion.systems import System

PHI0, SPIN, TURN, H = 0.4, 3.0, 1.2, 0.1
PARAMS = {"R": 0.5, "m": 1.0, "I": 0.125, "J": 0.0625}
Q0 = np.array([0.0, 0.0, 0.0, PHI0])
V0 = np.array([PARAMS["R"] * SPIN * np.cos(PHI0), PARAMS["R"] * SPIN * np.sin(PHI0), SPIN, TURN])


def lagrangian(t, q, v, params):
    dx, dy, dtheta, dphi = v
    return (
        0.5 * params["m"] * (dx**2 + dy**2)
        + 0.5 * params["I"] * dtheta**2
        + 0.5 * params["J"] * dphi**2
    )


def rolling(t, q, v, params):
    """No sliding along the disk, none across it; theta is the rolling angle, phi the heading."""
    dx, dy, dtheta, _ = v
    phi = q[3]
    return jnp.array(
        [dx - params["R"] * jnp.cos(phi) * dtheta, dy - params["R"] * jnp.sin(phi) * dtheta]
    )


COORDINATES = ("x [m]", "y [m]", "theta [rad]", "phi [rad]")
system = System(
    lagrangian,
    Euclidean(4),
    PARAMS,
    nonholonomic=rolling,
    coordinates=COORDINATES,
    name="rolling disk",
)


def exact(ts):
    """The circle of radius R SPIN/TURN."""
    r = PARAMS["R"] * SPIN / TURN
    phi = PHI0 + TURN * np.asarray(ts)
    return np.stack(
        [
            r * (np.sin(phi) - np.sin(PHI0)),
            -r * (np.cos(phi) - np.cos(PHI0)),
            SPIN * np.asarray(ts),
            phi,
        ],
        axis=-1,
    )


def printed_run(h=H, steps=50):
    """The discrete disk that turns by h TURN and rolls by h SPIN in each step."""
    middle = PHI0 + h * TURN / 2
    roll = PARAMS["R"] * h * SPIN
    q1 = Q0 + np.array([roll * np.cos(middle), roll * np.sin(middle), h * SPIN, h * TURN])
    return simulate(system, Midpoint(), q0=Q0, q1=q1, h=h, steps=steps)


def checks():
    ref = data("001_ex2.28_2.32_rolling_disk")
    ts = [float(t) for t in ref["continuous"]["xy"]]
    q, _ = reference(system, q0=Q0, v0=V0, ts=[0.0, *ts])
    rows = []
    for i, (t, target) in enumerate(ref["continuous"]["xy"].items()):
        rows += compare(f"(x, y)({t}), continuous", q[i + 1, :2], target, 1e-9)
        rows += compare(f"(x, y)({t}), closed form", exact(float(t))[:2], target, 1e-13)
    traj = printed_run()
    xy = np.asarray(traj.q)[:, :2]
    rows += compare("(x, y)_10, discrete", xy[10], ref["discrete"]["xy_10"], 1e-12)
    rows += compare("(x, y)_50, discrete", xy[50], ref["discrete"]["xy_50"], 1e-12)
    radius = PARAMS["R"] * H * SPIN / (2 * np.sin(H * TURN / 2))
    rows += compare(
        "radius of the discrete circle",
        np.linalg.norm(xy - ref["discrete"]["center"], axis=1)[[0, 10, 50]],
        [radius] * 3,
        1e-12,
    )
    rows += compare("R dtheta / (2 sin(dphi/2))", radius, ref["discrete"]["radius"], 1e-14)
    lam = discrete(system, Midpoint()).multipliers(0.0, H, traj.q[0], traj.q[1], traj.q[2])
    middle = PHI0 + H * TURN
    force = PARAMS["m"] * PARAMS["R"] * SPIN * 2 * np.sin(H * TURN / 2) / H
    rows += compare(
        "discrete multipliers m x'', m y''",
        lam,
        [-force * np.sin(middle), force * np.cos(middle)],
        1e-11,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 2, (9.5, 3.8))
    left, right = axes[0]
    ts = np.linspace(0, 5.3, 400)
    left.plot(*exact(ts)[:, :2].T, label="continuous: radius R w / W")
    big = np.asarray(printed_run(0.5, 10).q)
    left.plot(
        big[:, 0], big[:, 1], "o-", lw=0.8, label="discrete, h = 0.5 s: R dtheta / (2 sin(dphi/2))"
    )
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    left.legend(fontsize=7, loc="center")
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=50)
    right.plot(traj.t, traj.lam, label=["lambda_1: along x", "lambda_2: along y"])
    force = PARAMS["m"] * PARAMS["R"] * SPIN * TURN
    right.plot(ts, -force * np.sin(PHI0 + TURN * ts), "k:", lw=1, label="m x'', m y''")
    right.plot(ts, force * np.cos(PHI0 + TURN * ts), "k:", lw=1)
    right.set(xlabel="t [s]", ylabel="constraint force [N]")
    right.legend(fontsize=8)
    return fig


entry = Entry(
    name="rolling_disk",
    title="Vertical rolling disk",
    source="Bonich, Ex 2.28 and 2.32, corrected",
    text=(
        "A disk rolls upright on a plane without sliding. It runs on a circle; the discrete disk"
        " runs on one too, of radius R dtheta / (2 sin(dphi/2)), exactly. The multipliers are the"
        " forces at the point of contact."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=50,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [
            q[:2] - 0.5 * jnp.array([jnp.cos(q[3]), jnp.sin(q[3])]),
            q[:2] + 0.5 * jnp.array([jnp.cos(q[3]), jnp.sin(q[3])]),
        ]
    ),
)
