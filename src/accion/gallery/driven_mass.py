"""A mass on a spring with a damper under a periodic force: Romero, Ex 2.5.

M x'' + mu x' + k x = A cos(omega t)
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
from accion.systems import System, particles, rayleigh

X0, V0, H = 0.1, 0.0, 0.02
PARAMS = {"M": 1.5, "k": 4.0, "mu": 0.4, "A": 2.0, "omega": 1.3}
COORDINATES = ("x [m]",)


def lagrangian(t, q, v, params):
    """The load is a potential that depends on time, V = -f(t) x (Romero, eq 17)."""
    load = params["A"] * jnp.cos(params["omega"] * t)
    return 0.5 * params["M"] * v[0] ** 2 - 0.5 * params["k"] * q[0] ** 2 + load * q[0]


def dissipation(t, q, v, params):
    return 0.5 * params["mu"] * v[0] ** 2


system = System(
    lagrangian,
    Euclidean(1),
    PARAMS,
    force=rayleigh(dissipation),
    coordinates=COORDINATES,
    name="driven, damped mass",
)


def place(t, q, params):
    return jnp.array([[q[0], 0.0]])


def spring(t, q, params):
    return 0.5 * params["k"] * q[0] ** 2


def load_and_damper(t, r, u, params):
    """What acts on the mass beside the spring, a vector: A cos(omega t) along x, and -mu u."""
    return jnp.array([[params["A"] * jnp.cos(params["omega"] * t), 0.0]]) - params["mu"] * u


def from_particles():
    """The same system with the load and the damper as forces on the particle."""
    options = {"params": PARAMS, "coordinates": COORDINATES, "name": "driven, damped mass"}
    return particles(
        place, lambda params: params["M"], spring, 1, forces=load_and_damper, **options
    )


def exact(t, params=None):
    """The steady oscillation, and what decays of the start."""
    M, k, mu, A, w = ({**PARAMS, **(params or {})}[key] for key in ("M", "k", "mu", "A", "omega"))
    c, d = k - M * w**2, mu * w

    def steady(t):
        return A * (c * np.cos(w * t) + d * np.sin(w * t)) / (c**2 + d**2)

    rate = mu / (2 * M)
    wd = np.sqrt(k / M - rate**2)
    x0, v0 = X0 - steady(0.0), V0 - A * d * w / (c**2 + d**2)
    return steady(t) + np.exp(-rate * t) * (
        x0 * np.cos(wd * t) + (v0 + rate * x0) / wd * np.sin(wd * t)
    )


def amplitude(omega):
    return PARAMS["A"] / np.hypot(PARAMS["k"] - PARAMS["M"] * omega**2, PARAMS["mu"] * omega)


def checks():
    ref = data("003_ex2.5_forced_damped")
    times = list(ref["continuous"])
    rows = same_accelerations(system, from_particles())
    q, _ = reference(system, q0=[X0], v0=[V0], ts=[0.0, *map(float, times)])
    for i, t in enumerate(times):
        rows += compare(f"x({t}), continuous", q[i + 1], ref["continuous"][t], 1e-9)
        rows += compare(f"x({t}), closed form", exact(float(t)), ref["continuous"][t], 1e-14)
    rows += compare(
        "steady amplitude, closed form", amplitude(PARAMS["omega"]), ref["amplitude"], 1e-14
    )
    long = simulate(system, Midpoint(), q0=[X0], v0=[V0], h=0.01, steps=20_000)
    rows += compare(
        "steady amplitude, midpoint, h = 0.01 s",
        np.max(np.abs(long.q[15_000:, 0])),
        ref["amplitude"],
        2e-4,
    )
    for method in (Midpoint(), Trapezoid()):
        measured = order(
            system, method, q0=[X0], v0=[V0], duration=2.0, h=[0.04, 0.02, 0.01, 0.005]
        )
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
    return rows


def figure():
    fig, axes = new_figure(1, 2, (9.5, 3.4))
    left, right = axes[0]
    traj = simulate(system, Midpoint(), q0=[X0], v0=[V0], h=0.1, steps=400)
    ts = np.linspace(0, 40, 1000)
    left.plot(ts, exact(ts), label="closed form")
    left.plot(traj.t[::2], traj.q[::2, 0], "o", ms=2.5, label="midpoint, h = 0.1 s")
    left.set(xlabel="t [s]", ylabel="x [m]", ylim=(-2.0, 2.8))
    left.legend(loc="upper right", ncols=2)
    omegas = np.linspace(0.2, 3.2, 16)
    right.plot(
        np.linspace(0.1, 3.3, 300), amplitude(np.linspace(0.1, 3.3, 300)), label="closed form"
    )
    top = []
    for omega in omegas:
        run = simulate(
            system,
            Midpoint(),
            q0=[X0],
            v0=[V0],
            h=0.02,
            steps=6000,
            params={**PARAMS, "omega": float(omega)},
        )
        top.append(np.max(np.abs(run.q[4000:, 0])))
    right.plot(omegas, top, "o", ms=3, label="simulated, last third")
    right.set(xlabel="omega [rad/s]", ylabel="amplitude [m]", title="resonance")
    right.legend()
    return fig


entry = Entry(
    name="driven_mass",
    title="Driven, damped mass",
    source="Romero, Ex 2.5",
    text=(
        "A mass between a wall and a periodic force, with a spring and a damper. The load is a"
        " potential that depends on time and the damper a dissipation function; as forces on the"
        " particle they give the same motion."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0]},
    h=H,
    steps=2000,
    checks=checks,
    figure=figure,
)
