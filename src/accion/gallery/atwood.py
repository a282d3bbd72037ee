"""Two masses on a string over a pulley with inertia: Romero, Ex 2.3, corrected.

(mA + mB + I/r^2) x'' + (mB - mA) g = 0,      x the descent of A
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
PARAMS = {"mA": 2.0, "mB": 1.0, "I": 0.1, "r": 0.2, "gravity": 9.81}
COORDINATES = ("x [m]",)


def lagrangian(t, q, v, params):
    mA, mB = params["mA"], params["mB"]
    T = 0.5 * (mA + mB) * v[0] ** 2 + 0.5 * params["I"] * (v[0] / params["r"]) ** 2
    return T - (mB - mA) * params["gravity"] * q[0]


system = System(
    lagrangian, Euclidean(1), PARAMS, coordinates=COORDINATES, name="pulley with two masses"
)


def place(t, q, params):
    """A goes down by x, B up."""
    return jnp.array([[-params["r"], -q[0]], [params["r"], q[0]]])


def masses(params):
    return jnp.array([params["mA"], params["mB"]])


def weight(t, q, params):
    return params["gravity"] * masses(params) @ place(t, q, params)[:, 1]


def from_particles():
    """The same system from the positions of the masses and the angle x/r of the pulley, whose
    centre is fixed.
    """
    pulley = rigid_body(
        0.0,
        lambda params: params["I"],
        lambda t, q, params: jnp.array([0.0, 0.0, q[0] / params["r"]]),
    )
    options = {"params": PARAMS, "coordinates": COORDINATES, "name": "pulley with two masses"}
    return particles(place, masses, weight, 1, bodies=[pulley], **options)


def checks():
    ref = data("003_ex2.3_atwood")["continuous"]
    rows = same_accelerations(system, from_particles())
    rows += compare(
        "acceleration", accelerations(system)(0.0, jnp.zeros(1), jnp.zeros(1)), ref["xdd"], 1e-14
    )
    q, _ = reference(system, q0=[0.0], v0=[0.0], ts=[0.0, 1.0])
    rows += compare("x(1), continuous", q[-1], ref["x_1"], 1e-12)
    traj = simulate(system, Midpoint(), q0=[0.0], v0=[0.0], h=H, steps=100)
    rows += compare(
        "x(1), midpoint (exact for constant acceleration)", traj.q[-1], ref["x_1"], 1e-13
    )
    return rows


def figure():
    fig, axes = new_figure(1, 1, (5.5, 3.4))
    ax = axes[0, 0]
    ts = np.linspace(0, 1, 100)
    for I in (0.0, 0.1, 0.3):
        params = {**PARAMS, "I": I}
        traj = simulate(system, Midpoint(), q0=[0.0], v0=[0.0], h=0.1, steps=10, params=params)
        a = float(accelerations(system.with_params(params))(0.0, jnp.zeros(1), jnp.zeros(1))[0])
        (line,) = ax.plot(ts, a * ts**2 / 2, label=f"I = {I} kg m^2")
        ax.plot(traj.t, traj.q[:, 0], "o", ms=3, color=line.get_color())
    ax.set(xlabel="t [s]", ylabel="x [m]", title="midpoint, h = 0.1 s, on the exact parabolas")
    ax.legend()
    return fig


entry = Entry(
    name="atwood",
    title="Pulley with two masses",
    source="Romero, Ex 2.3, corrected",
    text=(
        "Two masses hang on a string over a pulley that turns with it. The heavier one goes down:"
        " x'' = (mA - mB) g / (mA + mB + I/r^2), where (33) has the other sign."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [0.0], "v0": [0.0]},
    h=H,
    steps=100,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array(
        [[-0.2, -1.0 - q[0]], [-0.2, 0.0], [0.2, 0.0], [0.2, -1.0 + q[0]]]
    ),
)
