"""Two solids that exchange heat while one is rubbed on the other: a block on a spring slides on a
plate.

m x'' + mu x' + k x = 0,    C1 T1' = share mu x'^2 + G (T2 - T1),    C2 T2' = (1 - share) mu x'^2 +
G (T1 - T2)

Bonich, section 4.1 and Thm 3.9, with two entropies and heat. The equations are linear in T1 and T2:
all of it has a closed form.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion import thermo
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import EnergyConsistent, Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import ThermalSystem

X0, V0, T_START = 0.5, 0.0, np.array([300.0, 320.0])
PARAMS = {
    "m": 2.0,
    "k": 400.0,
    "mu": 2.0,
    "share": 0.7,
    "C1": 2.0,
    "C2": 5.0,
    "T0": 300.0,
    "G": 1.0,
}
C = np.array([PARAMS["C1"], PARAMS["C2"]])
SAVES = 400
ROUNDING = 1e-13  # J/K, of the entropy that a step changes: the last digit of E / T
REST, RUBBED = 0.0, X0  # where the block starts


def solids(params):
    """U = C T, with entropy zero at T0."""
    return thermo.Solid(params["C1"], params["T0"]), thermo.Solid(params["C2"], params["T0"])


def lagrangian(t, q, v, S, params):
    block, plate = solids(params)
    return (
        0.5 * params["m"] * v[0] ** 2
        - 0.5 * params["k"] * q[0] ** 2
        - block.U(S[0])
        - plate.U(S[1])
    )


def friction(t, q, v, S, params):
    """-mu v, of whose heat the block gets `share`."""
    return -params["mu"] * jnp.stack([params["share"] * v, (1 - params["share"]) * v])


def heat(t, q, v, S, params):
    block, plate = solids(params)
    return thermo.conduction(jnp.stack([block.T(S[0]), plate.T(S[1])]), params["G"])


system = ThermalSystem(
    lagrangian,
    Euclidean(1),
    PARAMS,
    friction=friction,
    heat=heat,
    entropies=("S_1 [J/K]", "S_2 [J/K]"),
    coordinates=("x [m]",),
    name="two bodies",
)


# ---------------------------------------------------------------- the closed form


def entropies(T):
    return C * np.log(np.asarray(T) / PARAMS["T0"])


S0 = entropies(T_START)


def exact(t, x0):
    """x, v and (T1, T2) at the times t, for a block that starts at rest at x0.

    With x = Re(w e^(pt)) the velocity squared is a sum of exponentials. The difference T1 - T2
    decays at the rate G (1/C1 + 1/C2) and is driven by it; C1 T1 + C2 T2 is what the mechanical
    energy has lost.
    """
    m, k, mu, share, G = (PARAMS[key] for key in ("m", "k", "mu", "share", "G"))
    t = np.asarray(t, dtype=float)
    p = -mu / (2 * m) + 1j * np.sqrt(k / m - (mu / (2 * m)) ** 2)
    w = x0 + 1j * p.real * x0 / p.imag
    x, v = (w * np.exp(p * t)).real, (w * p * np.exp(p * t)).real
    rate = G * np.sum(1 / C)

    def driven(s):
        return (np.exp(s * t) - np.exp(-rate * t)) / (s + rate)

    drive = (abs(w * p) ** 2 * driven(2 * p.real) + ((w * p) ** 2 * driven(2 * p)).real) / 2
    difference = (T_START[0] - T_START[1]) * np.exp(-rate * t) + mu * (
        share / C[0] - (1 - share) / C[1]
    ) * drive
    U = C @ T_START + k * x0**2 / 2 - (m * v**2 + k * x**2) / 2
    T = np.stack([U + C[1] * difference, U - C[0] * difference], axis=-1) / np.sum(C)
    return x, v, T


def final_temperature(x0):
    """What the energy alone says."""
    return (C @ T_START + PARAMS["k"] * x0**2 / 2) / np.sum(C)


# ---------------------------------------------------------------- runs


@cache
def run(method, duration, h, x0):
    steps = round(duration / h)
    return simulate(
        system, method, q0=[x0], v0=[V0], S0=S0, h=h, steps=steps, save_every=steps // SAVES
    )


def continuous_checks():
    ts, rows = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0]), []
    for x0, words in ((REST, "conduction alone"), (RUBBED, "with motion")):
        q, v, S = map(np.asarray, reference(system, q0=[x0], v0=[V0], S0=S0, ts=ts))
        x_exact, v_exact, T_exact = exact(ts, x0)
        for i, t in list(enumerate(ts))[1:]:
            rows += compare(
                f"{words}, T({t:g}), continuous [K]",
                PARAMS["T0"] * np.exp(S[i] / C),
                T_exact[i],
                1e-9,
            )
        rows += compare(
            f"{words}, (x, v), continuous, largest difference",
            np.max(np.abs([q[:, 0] - x_exact, v[:, 0] - v_exact])),
            0.0,
            1e-9,
        )
    T, rate = exact(ts, REST)[2], PARAMS["G"] * (1 / PARAMS["C1"] + 1 / PARAMS["C2"])
    decay = T[:, 0] - T[:, 1] - (T_START[0] - T_START[1]) * np.exp(-rate * ts)
    rows += compare(
        "conduction alone, T1 - T2 is an exponential, largest difference [K]",
        np.max(np.abs(decay)),
        0.0,
        1e-12,
    )
    return rows


def order_checks():
    hs, rows = np.array([0.01, 0.005, 0.0025]), []

    def slope(errors):
        return np.polyfit(np.log(hs), np.log(errors), 1)[0]

    for x0, words in ((REST, "conduction alone"), (RUBBED, "with motion")):
        runs = [run(Midpoint(), 8.0, h, x0) for h in hs]
        T = exact(runs[0].t, x0)[2]
        rows += compare(
            f"{words}, order of the midpoint rule: T",
            slope([np.max(np.abs(traj.temperature() - T)) for traj in runs]),
            2,
            0.05,
        )
        rows += compare(
            f"{words}, order of the midpoint rule: energy",
            slope([np.max(np.abs(traj.first_law())) for traj in runs]),
            2,
            0.05,
        )
        rows += compare(
            f"{words}, loss of total entropy in a step",
            min(0.0, *(float(traj.laws.least) for traj in runs)),
            0.0,
            ROUNDING,
        )
    return rows


def equilibrium_checks():
    rows = []
    for x0, words in ((REST, "conduction alone"), (RUBBED, "with motion")):
        traj = run(EnergyConsistent(Midpoint()), 60.0, 0.005, x0)
        T = final_temperature(x0)
        rows += compare(f"{words}, after 60 s: T [K]", traj.temperature()[-1], [T, T], 1e-9)
        rows += compare(f"{words}, after 60 s: S [J/K]", traj.S[-1], entropies([T, T]), 1e-11)
        rows += compare(
            f"{words}, energy, EnergyConsistent, largest error [J]",
            np.max(np.abs(traj.first_law())),
            0.0,
            1e-11,
        )
    return rows


def checks():
    return continuous_checks() + order_checks() + equilibrium_checks()


def figure():
    fig, axes = new_figure(2, 2, (10, 6.4))
    (still, motion), (warm, entropy) = axes
    t = np.linspace(0, 8, 1000)
    colors = ("#d1495b", "#1b6ca8")
    for ax, x0 in ((still, REST), (warm, RUBBED)):
        traj = run(Midpoint(), 8.0, 0.01, x0)
        for i, (name, color) in enumerate(zip(("block", "plate"), colors, strict=True)):
            ax.plot(t, exact(t, x0)[2][:, i], color=color, lw=1.2, label=f"{name}, closed form")
            ax.plot(
                traj.t[::8],
                traj.temperature()[::8, i],
                "o",
                ms=3,
                color=color,
                label=f"{name}, midpoint",
            )
        ax.axhline(final_temperature(x0), color="k", ls="--", lw=0.9, label="from the energy")
        ax.set(xlabel="t [s]", ylabel="T [K]")
        ax.legend()
    still.set_title("conduction alone", fontsize=10)
    warm.set_title("the block is rubbed on the plate", fontsize=10)
    traj = run(Midpoint(), 8.0, 0.01, RUBBED)
    motion.plot(t, exact(t, RUBBED)[0], lw=1.2, label="closed form")
    motion.plot(traj.t[::4], traj.q[::4, 0], "o", ms=2.5, label="midpoint, h = 0.01 s")
    motion.set(xlabel="t [s]", ylabel="x [m]", ylim=(-0.55, 0.75))
    motion.legend(loc="upper right", ncols=2)
    for i, (name, color) in enumerate(zip(("block", "plate"), colors, strict=True)):
        entropy.plot(traj.t, traj.S[:, i] - S0[i], color=color, label=name)
    entropy.plot(traj.t, np.sum(traj.S - S0, axis=1), color="#2e933c", label="total")
    change = entropies(np.full(2, final_temperature(RUBBED))) - S0
    for value in (*change, np.sum(change)):
        entropy.axhline(value, color="k", ls="--", lw=0.9)
    entropy.set(xlabel="t [s]", ylabel="S - S(0) [J/K]")
    entropy.legend(loc="center right")
    return fig


entry = Entry(
    name="two_bodies",
    title="Two bodies, one rubbed on the other",
    source="Bonich, section 4.1 and Thm 3.9, with two entropies and heat",
    text=(
        "A block on a spring slides on a plate. Friction heats both, and heat flows from the warmer"
        " one to the colder one. The total energy is constant; when the block has come to rest,"
        " both have the temperature that follows from it. The motion does not depend on the"
        " temperatures, and they have a closed form, also while the block moves; without motion"
        " their difference decays as exp(-G (1/C1 + 1/C2) t)."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0], "S0": S0},
    h=0.01,
    steps=800,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array([[-1.0, 0.0], [q[0], 0.0]]),
)
