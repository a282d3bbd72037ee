"""The double pendulum in Cartesian coordinates, held by two rods, against the one in angles."""

import jax.numpy as jnp
import numpy as np

from accion.gallery import double_pendulum
from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System

H = 0.01
PARAMS = double_pendulum.system.params


def lagrangian(t, q, v, params):
    ma, mb = params["ma"], params["mb"]
    return (
        0.5 * ma * v[:2] @ v[:2]
        + 0.5 * mb * v[2:] @ v[2:]
        - params["gravity"] * (ma * q[1] + mb * q[3])
    )


def two_rods(t, q, params):
    d = q[2:] - q[:2]
    return 0.5 * jnp.array([q[:2] @ q[:2] - params["a"] ** 2, d @ d - params["b"] ** 2])


COORDINATES = ("x1 [m]", "y1 [m]", "x2 [m]", "y2 [m]")
system = System(
    lagrangian,
    Euclidean(4),
    PARAMS,
    holonomic=two_rods,
    coordinates=COORDINATES,
    name="double pendulum on rods",
)


def cartesian(angles):
    return jnp.concatenate(list(double_pendulum.positions(angles)[1:]))


Q0 = np.asarray(cartesian(jnp.array(double_pendulum.Q0)))


def checks():
    ref = data("003_ex2.2_double_pendulum")["continuous"]
    times = [float(t) for t in ref]
    q, _ = reference(system, q0=Q0, v0=np.zeros(4), ts=[0.0, *times])
    rows = []
    for i, (t, target) in enumerate(ref.items()):
        rows += compare(
            f"positions at {t}, continuous, against the angles",
            q[i + 1],
            cartesian(jnp.array([target["alpha"], target["beta"]])),
            1e-9,
        )
    traj = simulate(system, Midpoint(), q0=Q0, v0=np.zeros(4), h=H, steps=500)
    phi = np.array([two_rods(0.0, row, PARAMS) for row in traj.q])
    rows += compare("largest |phi|", np.max(np.abs(phi)), 0.0, 1e-14)
    rows += compare(
        "energy at the start", traj.energy()[0], data("003_ex2.2_double_pendulum")["energy"], 1e-12
    )
    for h in (0.01, 0.005):
        n = round(1 / h)
        rods = simulate(system, Midpoint(), q0=Q0, v0=np.zeros(4), h=h, steps=n, save_every=n).q[-1]
        angles = simulate(
            double_pendulum.system,
            Midpoint(),
            q0=double_pendulum.Q0,
            v0=[0.0, 0.0],
            h=h,
            steps=n,
            save_every=n,
        ).q[-1]
        rows += compare(
            f"positions at t = 1 on rods and in angles, h = {h}", rods, cartesian(angles), 40 * h**2
        )
    return rows


def figure():
    fig, axes = new_figure(1, 2, (10, 3.5))
    left, right = axes[0]
    traj = simulate(system, Midpoint(), q0=Q0, v0=np.zeros(4), h=H, steps=500)
    angles = simulate(
        double_pendulum.system, Midpoint(), q0=double_pendulum.Q0, v0=[0.0, 0.0], h=H, steps=500
    )
    path = np.array([cartesian(row) for row in angles.q])
    left.plot(path[:, 2], path[:, 3], label="in angles")
    left.plot(traj.q[::10, 2], traj.q[::10, 3], "o", ms=3, label="on two rods")
    left.set(xlabel="x2 [m]", ylabel="y2 [m]", aspect="equal", title="lower mass, 5 s")
    left.legend()
    tension = -np.asarray(traj.lam) * np.array([PARAMS["a"], PARAMS["b"]])
    right.plot(traj.t, tension, label=["upper rod", "lower rod"])
    right.set(xlabel="t [s]", ylabel="tension [N]")
    right.legend()
    return fig


entry = Entry(
    name="rods",
    title="Double pendulum on two rods",
    source="Romero, Ex 2.2 in Cartesian coordinates, with multipliers",
    text=(
        "The double pendulum again, in the positions of its masses and with the lengths of the rods"
        " as constraints. It is the motion in angles; the multipliers are the tensions."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": np.zeros(4)},
    h=H,
    steps=500,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([jnp.zeros(2), q[:2], q[2:]]),
)
