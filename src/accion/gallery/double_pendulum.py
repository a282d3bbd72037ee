"""The double pendulum: Romero, Ex 2.2, corrected.

a (ma + mb) alpha'' + b mb (beta'' cos(alpha - beta) + beta'^2 sin(alpha - beta))
    + (ma + mb) gravity sin(alpha) = 0
a alpha'' cos(alpha - beta) - a alpha'^2 sin(alpha - beta) + b beta'' + gravity sin(beta) = 0
"""

import jax.numpy as jnp
import numpy as np

from accion.analysis import order
from accion.gallery.base import Entry, compare, data, same_accelerations
from accion.instant.continuous import reference
from accion.methods import LeftRectangle, Midpoint, Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Torus
from accion.systems import System, particles

Q0, V0, H = [1.0, 1.5], [0.0, 0.0], 0.01
COORDINATES = ("alpha [rad]", "beta [rad]")


def lagrangian(t, q, v, params):
    alpha, beta = q
    dalpha, dbeta = v
    ma, mb, a, b = params["ma"], params["mb"], params["a"], params["b"]
    T = 0.5 * (
        a**2 * (ma + mb) * dalpha**2
        + 2 * a * b * mb * dalpha * dbeta * jnp.cos(alpha - beta)
        + b**2 * mb * dbeta**2
    )
    V = -params["gravity"] * ((ma + mb) * a * jnp.cos(alpha) + mb * b * jnp.cos(beta))
    return T - V


system = System(
    lagrangian,
    Torus(2),
    {"ma": 1.0, "mb": 0.7, "a": 1.0, "b": 0.8, "gravity": 9.81},
    coordinates=COORDINATES,
    name="double pendulum",
)


def place(t, q, params):
    """The two masses, Romero, eq 28."""
    a, b = params["a"], params["b"]
    upper = jnp.array([a * jnp.sin(q[0]), -a * jnp.cos(q[0])])
    return jnp.stack([upper, upper + jnp.array([b * jnp.sin(q[1]), -b * jnp.cos(q[1])])])


def masses(params):
    return jnp.array([params["ma"], params["mb"]])


def weight(t, q, params):
    return params["gravity"] * masses(params) @ place(t, q, params)[:, 1]


def from_particles():
    """The same system from the positions of the masses."""
    return particles(
        place,
        masses,
        weight,
        Torus(2),
        params=system.params,
        coordinates=COORDINATES,
        name="double pendulum",
    )


def positions(q, params=system.params):
    return jnp.concatenate([jnp.zeros((1, 2)), place(0.0, q, params)])


def checks():
    ref = data("003_ex2.2_double_pendulum")
    q, v = reference(system, q0=Q0, v0=V0, ts=[0.0, *map(float, ref["continuous"])])
    rows = same_accelerations(system, from_particles())
    for i, (t, target) in enumerate(ref["continuous"].items()):
        values = np.concatenate([q[i + 1], v[i + 1]])
        rows += compare(
            f"(alpha, beta, velocities)({t}), continuous", values, list(target.values()), 1e-9
        )
    rows += compare(
        "energy at the start",
        float(system.energy(0.0, jnp.array(Q0), jnp.array(V0))),
        ref["energy"],
        1e-12,
    )
    for method in (LeftRectangle(), Midpoint(), Trapezoid()):
        measured = order(
            system, method, q0=Q0, v0=V0, duration=1.0, h=[1 / 200, 1 / 400, 1 / 800, 1 / 1600]
        )
        rows += compare(f"order of {method}", measured.slope, method.order, 0.05)
    return rows


def figure():
    fig, axes = new_figure(1, 3, (12.5, 3.6))
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=1000)
    left, middle, right = axes[0]
    left.plot(traj.t, traj.q, label=["alpha", "beta"])
    left.set(xlabel="t [s]", ylabel="angle [rad]", title="midpoint, h = 0.01 s", ylim=(-1.7, 2.1))
    left.legend(loc="upper right", ncols=2)
    end = np.array([positions(x)[-1] for x in np.asarray(traj.q)])
    middle.plot(end[:, 0], end[:, 1], lw=0.8)
    arm = np.asarray(positions(jnp.array(Q0)))
    middle.plot(arm[:, 0], arm[:, 1], "o-", color="#3d405b")
    middle.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="path of the lower mass")
    long = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=1_000_000, save_every=200)
    E = np.asarray(long.energy())
    right.plot(long.t, E - E[0], "o", ms=1.3, mew=0, snap=False, rasterized=True)
    right.set(xlabel="t [s]", ylabel="energy error [J]", title="a million steps: no drift")
    return fig


entry = Entry(
    name="double_pendulum",
    title="Double pendulum",
    source="Romero, Ex 2.2, corrected",
    text=(
        "Two masses on two rods, angles measured from the vertical that points down. The potential"
        " and with it the signs of gravity are the right ones, not those printed in (30) and (31)."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=1000,
    checks=checks,
    figure=figure,
    card=True,
    positions=positions,
)
