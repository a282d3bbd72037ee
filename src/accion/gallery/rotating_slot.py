"""A particle in a slot that turns at a given rate: Romero, Ex 1.1 as a constraint that depends on
time, and in one coordinate.

m x'' = -lambda sin(Omega t),    m y'' + m g = lambda cos(Omega t);      along the slot  l'' =
Omega^2 l - g sin(Omega t)
"""

import jax.numpy as jnp
import numpy as np

from accion.analysis import order
from accion.gallery.base import Entry, compare, same_accelerations
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System, particles

H = 0.01
PARAMS = {"m": 1.0, "Omega": 2.0, "gravity": 9.81}
L0, DL0 = 0.5, 0.3
Q0, V0 = np.array([L0, 0.0]), np.array([DL0, PARAMS["Omega"] * L0])


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * v @ v - params["m"] * params["gravity"] * q[1]


def slot(t, q, params):
    """The particle is on the line at the angle Omega t."""
    angle = params["Omega"] * t
    return jnp.array([q[1] * jnp.cos(angle) - q[0] * jnp.sin(angle)])


system = System(
    lagrangian,
    Euclidean(2),
    PARAMS,
    holonomic=slot,
    coordinates=("x [m]", "y [m]"),
    name="particle in a rotating slot",
)


def along_lagrangian(t, q, v, params):
    m, W = params["m"], params["Omega"]
    return 0.5 * m * (v[0] ** 2 + W**2 * q[0] ** 2) - m * params["gravity"] * q[0] * jnp.sin(W * t)


# The same motion in the one coordinate that the slot leaves.
along = System(
    along_lagrangian,
    Euclidean(1),
    PARAMS,
    coordinates=("l [m]",),
    name="particle along a rotating slot",
)


def place(t, q, params):
    angle = params["Omega"] * t
    return q[0] * jnp.array([[jnp.cos(angle), jnp.sin(angle)]])


def weight(t, q, params):
    return params["m"] * params["gravity"] * place(t, q, params)[0, 1]


def from_particles():
    """`along` from the position of the particle, which depends on time (Romero, eq 1)."""
    return particles(
        place,
        lambda params: params["m"],
        weight,
        1,
        params=PARAMS,
        coordinates=along.coordinates,
        name=along.name,
    )


def length(t):
    """l'' = Omega^2 l - g sin(Omega t), solved: the position along the slot."""
    W, g = PARAMS["Omega"], PARAMS["gravity"]
    s = DL0 / W - g / (2 * W**2)
    return L0 * np.cosh(W * t) + s * np.sinh(W * t) + g / (2 * W**2) * np.sin(W * t)


def exact(t):
    """The position in the plane."""
    angle = PARAMS["Omega"] * t
    return np.stack([length(t) * np.cos(angle), length(t) * np.sin(angle)], axis=-1)


def force(t):
    """The force of the slot on the particle, across it: m (2 Omega l' + g cos(Omega t))."""
    W, g = PARAMS["Omega"], PARAMS["gravity"]
    s = DL0 / W - g / (2 * W**2)
    rate = W * (L0 * np.sinh(W * t) + s * np.cosh(W * t)) + g / (2 * W) * np.cos(W * t)
    return PARAMS["m"] * (2 * W * rate + g * np.cos(W * t))


def checks():
    ts = [0.0, 0.5, 1.0, 2.0]
    q, _ = reference(system, q0=Q0, v0=V0, ts=ts)
    rows = same_accelerations(along, from_particles())
    l, _ = reference(along, q0=[L0], v0=[DL0], ts=ts)
    rows += compare(
        "l(t) in one coordinate, continuous against the closed form",
        l[1:, 0],
        [length(t) for t in ts[1:]],
        1e-9,
    )
    for t, row in zip(ts[1:], q[1:], strict=True):
        rows += compare(f"(x, y)({t}), continuous against the closed form", row, exact(t), 1e-9)
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=200)
    angle = PARAMS["Omega"] * np.asarray(traj.t)
    off = np.asarray(traj.q[:, 1]) * np.cos(angle) - np.asarray(traj.q[:, 0]) * np.sin(angle)
    rows += compare("largest distance from the slot", np.max(np.abs(off)), 0.0, 1e-14)
    fine = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H / 20, steps=4000, save_every=2000)
    rows += compare(
        "force of the slot at t = 1 and 2", fine.lam[1:, 0], force(np.array([1.0, 2.0])), 1e-4
    )
    for method in (Midpoint(), Trapezoid()):
        measured = order(system, method, q0=Q0, v0=V0, duration=1.0, h=[0.02, 0.01, 0.005, 0.0025])
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
    return rows


def figure():
    fig, axes = new_figure(1, 2, (9.5, 3.6))
    left, right = axes[0]
    ts = np.linspace(0, 2, 300)
    left.plot(*exact(ts).T, label="closed form")
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=0.05, steps=40)
    left.plot(traj.q[:, 0], traj.q[:, 1], "o", ms=3, label="midpoint, h = 0.05 s")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    left.legend()
    right.plot(ts, force(ts), label="closed form")
    right.plot(traj.t, traj.lam[:, 0], "o", ms=3, label="multiplier")
    right.set(xlabel="t [s]", ylabel="force of the slot [N]")
    right.legend()
    return fig


entry = Entry(
    name="rotating_slot",
    title="Particle in a rotating slot",
    source="Romero, Ex 1.1, as a constraint that depends on time",
    text=(
        "A particle slides in a slot that turns in a vertical plane at a constant rate: the"
        " constraint y cos(Omega t) = x sin(Omega t) depends on time and does work, so the energy"
        " is not constant. Its multiplier is the force of the slot, m (2 Omega l' + g cos(Omega"
        " t))."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([jnp.zeros(2), q]),
)
