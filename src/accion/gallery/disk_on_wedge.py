"""A disk that rolls down a wedge, which slides on the ground: Romero, Ex 2.4.

(M + m) x'' + m r cos(alpha) theta'' = 0
(m r^2 + I) theta'' + m r cos(alpha) x'' - m g r sin(alpha) = 0,      I = m r^2 / 2
"""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data, same_accelerations
from accion.instant.continuous import accelerations, reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System, particles, rigid_body

H = 0.01
PARAMS = {"M": 3.0, "m": 1.0, "r": 0.2, "alpha": np.pi / 6, "gravity": 9.81}
COORDINATES = ("x [m]", "theta [rad]")


def lagrangian(t, q, v, params):
    dx, dtheta = v
    m, r, alpha = params["m"], params["r"], params["alpha"]
    I = 0.5 * m * r**2
    T = (
        0.5 * params["M"] * dx**2
        + 0.5 * m * (dx**2 + (r * dtheta) ** 2 + 2 * dx * dtheta * r * jnp.cos(alpha))
        + 0.5 * I * dtheta**2
    )
    return T + m * params["gravity"] * q[1] * r * jnp.sin(alpha)


system = System(lagrangian, Euclidean(2), PARAMS, coordinates=COORDINATES, name="disk on a wedge")


def disk_pose(t, q, params):
    """The centre goes down the slope by r theta while the disk turns clockwise by theta."""
    down = params["r"] * q[1]
    return jnp.array(
        [q[0] + down * jnp.cos(params["alpha"]), -down * jnp.sin(params["alpha"]), -q[1]]
    )


def weight(t, q, params):
    return params["m"] * params["gravity"] * disk_pose(t, q, params)[1]


def from_particles():
    """The same system from the poses of its two bodies; the wedge does not turn, so that its
    inertia does not matter.
    """
    wedge = rigid_body(
        lambda params: params["M"], 0.0, lambda t, q, params: jnp.array([q[0], 0.0, 0.0])
    )
    disk = rigid_body(
        lambda params: params["m"], lambda params: 0.5 * params["m"] * params["r"] ** 2, disk_pose
    )
    options = {"params": PARAMS, "coordinates": COORDINATES, "name": "disk on a wedge"}
    return particles(None, None, weight, 2, bodies=[wedge, disk], **options)


def checks():
    ref = data("003_ex2.4_disk_on_wedge")["continuous"]
    target = np.array([float(ref["xdd"]), float(ref["thetadd"])])
    rows = same_accelerations(system, from_particles())
    rows += compare(
        "(x, theta) accelerations",
        accelerations(system)(0.0, jnp.zeros(2), jnp.zeros(2)),
        target,
        1e-13,
    )
    q, _ = reference(system, q0=[0.0, 0.0], v0=[0.0, 0.0], ts=[0.0, 1.0])
    rows += compare("(x, theta)(1), continuous", q[-1], target / 2, 1e-11)
    traj = simulate(system, Midpoint(), q0=[0.0, 0.0], v0=[0.0, 0.0], h=H, steps=100)
    rows += compare(
        "(x, theta)(1), midpoint (exact for constant accelerations)", traj.q[-1], target / 2, 1e-12
    )
    rows += compare(
        "largest horizontal momentum (M + m) x' + m r cos(alpha) theta'",
        np.max(np.abs(traj.p[:, 0])),
        0.0,
        1e-13,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 2, (9.5, 3.4))
    left, right = axes[0]
    traj = simulate(system, Midpoint(), q0=[0.0, 0.0], v0=[0.0, 0.0], h=0.05, steps=20)
    poses = np.array([disk_pose(0.0, row, PARAMS) for row in traj.q])
    left.plot(poses[:, 0], poses[:, 1], "o-", ms=3, label="centre of the disk")
    left.plot(traj.q[:, 0], np.zeros(len(traj.t)), "s", ms=3, label="wedge")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="every 0.05 s")
    left.legend()
    for M in (0.5, 3.0, 30.0):
        run = simulate(
            system,
            Midpoint(),
            q0=[0.0, 0.0],
            v0=[0.0, 0.0],
            h=0.05,
            steps=20,
            params={**PARAMS, "M": M},
        )
        right.plot(run.t, run.q[:, 0], label=f"M = {M:g} kg")
    right.set(xlabel="t [s]", ylabel="x [m]", title="the wedge gives way")
    right.legend()
    return fig


entry = Entry(
    name="disk_on_wedge",
    title="Disk on a wedge",
    source="Romero, Ex 2.4",
    text=(
        "A disk rolls without slipping down a wedge that slides on the ground without friction. x"
        " is a cyclic coordinate: the horizontal momentum stays what it is, and the wedge gives"
        " way."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [0.0, 0.0], "v0": [0.0, 0.0]},
    h=H,
    steps=100,
    checks=checks,
    figure=figure,
    positions=lambda q, params=PARAMS: jnp.stack(
        [jnp.array([q[0], 0.0]), disk_pose(0.0, q, params)[:2]]
    ),
)
