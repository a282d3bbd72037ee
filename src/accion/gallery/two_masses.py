"""Two masses on a vertical line at a fixed distance: Romero, Ex 5.1, corrected.

m q1'' + m g = lambda,    m q2'' + m g = -lambda,    q1 - q2 = l:      lambda = 0
"""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data, same_accelerations
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System, particles

Q0, V0, H = np.array([2.0, 1.0]), np.array([0.5, 0.5]), 0.01


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * v @ v - params["m"] * params["gravity"] * jnp.sum(q)


def rod(t, q, params):
    return jnp.array([q[0] - q[1] - params["ell"]])


PARAMS = {"m": 1.0, "gravity": 9.81, "ell": 1.0}
system = System(
    lagrangian,
    Euclidean(2),
    PARAMS,
    holonomic=rod,
    coordinates=("q1 [m]", "q2 [m]"),
    name="two masses on a rod",
)


def from_particles():
    """The same system from the heights of the masses, with the rod as constraint."""

    def weight(t, q, params):
        return params["m"] * params["gravity"] * jnp.sum(q)

    options = {
        "params": PARAMS,
        "holonomic": rod,
        "coordinates": system.coordinates,
        "name": system.name,
    }
    return particles(
        lambda t, q, params: q[:, None], lambda params: params["m"], weight, 2, **options
    )


def exact(t):
    return Q0 + V0 * t - PARAMS["gravity"] * t**2 / 2


def checks():
    ref = data("003_ex5.1_two_masses")
    q, _ = reference(system, q0=Q0, v0=V0, ts=[0.0, 1.0])
    rows = same_accelerations(system, from_particles())
    rows += compare("(q1, q2)(1), continuous", q[-1], ref["continuous"]["1"], 1e-9)
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=100)
    rows += compare(
        "(q1, q2)(1), midpoint (exact for constant gravity)",
        traj.q[-1],
        ref["continuous"]["1"],
        1e-12,
    )
    rows += compare(
        "largest |q1 - q2 - l|", np.max(np.abs(traj.q[:, 0] - traj.q[:, 1] - 1.0)), 0.0, 1e-15
    )
    rows += compare("largest multiplier", np.max(np.abs(np.asarray(traj.lam))), 0.0, 1e-10)
    swung = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=100, params=PARAMS)
    rows += compare(
        "2m falls like m: mean height",
        float(jnp.mean(swung.q[-1])),
        float(np.mean(exact(1.0))),
        1e-12,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 1, (5.5, 3.4))
    traj = simulate(system, Midpoint(), q0=Q0, v0=V0, h=0.05, steps=20)
    ax = axes[0, 0]
    ax.plot(traj.t, traj.q, "o", ms=3, label=["q1", "q2"])
    ts = np.linspace(0, 1, 100)
    ax.plot(ts, np.array([exact(t) for t in ts]), "k:", lw=1, label=["q(0) + v t - g t^2/2", None])
    ax.set(xlabel="t [s]", ylabel="height [m]")
    ax.legend()
    return fig


entry = Entry(
    name="two_masses",
    title="Two masses on a rod",
    source="Romero, Ex 5.1, corrected",
    text=(
        "Two equal masses on a vertical line, a rod between them, q measured upwards (so V = + m g"
        " (q1 + q2)). They fall like one mass of 2m and the rod carries no force: lambda = 0."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=100,
    checks=checks,
    figure=figure,
)
