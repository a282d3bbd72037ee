"""A particle in the slot of a disk that turns freely: Romero, Ex 1.1 and 2.1, corrected.

m l'' - m l alpha'^2 + m g sin(alpha) = 0
(m l^2 + I) alpha'' + 2 m l l' alpha' + m g l cos(alpha) = 0
"""

import jax.numpy as jnp
import numpy as np

from accion.analysis import order
from accion.gallery.base import Entry, compare, data, same_accelerations
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System, particles, rigid_body

Q0, V0, H = [0.5, 0.2], [0.0, 1.0], 0.01
PARAMS = {"m": 1.0, "I": 0.5, "gravity": 9.81}
COORDINATES = ("l [m]", "alpha [rad]")


def lagrangian(t, q, v, params):
    l, alpha = q
    dl, dalpha = v
    m, I = params["m"], params["I"]
    return (
        0.5 * m * (dl**2 + l**2 * dalpha**2)
        + 0.5 * I * dalpha**2
        - m * params["gravity"] * l * jnp.sin(alpha)
    )


system = System(
    lagrangian, Euclidean(2), PARAMS, coordinates=COORDINATES, name="particle in a slotted disk"
)


def place(t, q, params):
    return q[0] * jnp.array([[jnp.cos(q[1]), jnp.sin(q[1])]])


def weight(t, q, params):
    return params["m"] * params["gravity"] * place(t, q, params)[0, 1]


def from_particles():
    """The same system from the position of the particle and the angle of the disk, whose centre is
    fixed.
    """
    disk = rigid_body(
        0.0, lambda params: params["I"], lambda t, q, params: jnp.array([0.0, 0.0, q[1]])
    )
    options = {"params": PARAMS, "coordinates": COORDINATES, "name": "particle in a slotted disk"}
    return particles(place, lambda params: params["m"], weight, 2, bodies=[disk], **options)


def checks():
    ref = data("003_ex2.1_particle_in_slot")
    q, v = reference(system, q0=Q0, v0=V0, ts=[0.0, *map(float, ref["continuous"])])
    rows = same_accelerations(system, from_particles())
    for i, (t, target) in enumerate(ref["continuous"].items()):
        rows += compare(
            f"(l, alpha, velocities)({t}), continuous",
            np.concatenate([q[i + 1], v[i + 1]]),
            list(target.values()),
            1e-9,
        )
    rows += compare(
        "energy at the start",
        float(system.energy(0.0, jnp.array(Q0), jnp.array(V0))),
        ref["energy"],
        1e-12,
    )
    for method in (Midpoint(), Trapezoid()):
        measured = order(
            system, method, q0=Q0, v0=V0, duration=1.0, h=[1 / 100, 1 / 200, 1 / 400, 1 / 800]
        )
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
    return rows


def figure():
    fig, axes = new_figure(1, 2, (9.5, 3.6))
    left, right = axes[0]
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=120)
    left.plot(traj.t, traj.q, label=["l [m]", "alpha [rad]"])
    left.set(xlabel="t [s]", title="midpoint, h = 0.01 s")
    left.legend()
    path = np.asarray(traj.q[:, :1]) * np.stack(
        [np.cos(traj.q[:, 1]), np.sin(traj.q[:, 1])], axis=1
    )
    right.plot(*path.T)
    right.plot([0, path[0, 0]], [0, path[0, 1]], "o-", color="#3d405b")
    right.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="path of the particle")
    return fig


entry = Entry(
    name="slotted_disk",
    title="Particle in a slotted disk",
    source="Romero, Ex 1.1 and 2.1, corrected",
    text=(
        "A particle slides in a radial slot of a disk that turns freely about its fixed centre, in"
        " a vertical plane. Gravity pulls it with + m g sin(alpha) and + m g l cos(alpha) on the"
        " side of the accelerations; (27) has both signs the other way."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([jnp.zeros(2), q[0] * jnp.array([jnp.cos(q[1]), jnp.sin(q[1])])]),
)
