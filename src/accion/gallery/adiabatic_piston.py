"""Two gases in an insulated cylinder, and between them a piston with friction through which heat
may flow.

m x'' = (P1 - P2) A - mu x',    T1 S1' = share mu x'^2 + G (T2 - T1),    T2 S2' = (1 - share) mu
x'^2 + G (T1 - T2)

Bonich, section 4.2 and Thm 3.9, with two entropies and heat. Where nothing moves or flows any more
thermodynamics says what is left.
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

X0, V0, START = 0.2, 0.0, (400.0, 300.0)  # position, velocity, temperatures
PARAMS = {
    "m": 1.0,
    "A": 0.01,
    "l": 0.5,
    "N1": 0.12,
    "N2": 0.08,
    "R": thermo.R,
    "T0": 300.0,
    "V0": 2.5e-3,
    "mu": 10.0,
    "share": 0.5,
    "G": 1.0,
}
SAVES = 1500
SHARES = (0.0, 0.5, 1.0)
ROUNDING = 1e-14  # J/K, of the entropy that a step changes: the last digit of E / T


def gases(params=PARAMS):
    """Of one atom in a molecule, U = 3/2 N R T; the entropy is zero at T0 and V0."""
    NR = [params[N] * params["R"] for N in ("N1", "N2")]
    return [thermo.IdealGas(nr, 1.5 * nr * params["T0"], params["V0"]) for nr in NR]


def volumes(q, params=PARAMS):
    return params["A"] * q[0], params["A"] * (params["l"] - q[0])


def lagrangian(t, q, v, S, params):
    U = [
        gas.U(S[i], V)
        for i, (gas, V) in enumerate(zip(gases(params), volumes(q, params), strict=True))
    ]
    return 0.5 * params["m"] * v[0] ** 2 - U[0] - U[1]


def friction(t, q, v, S, params):
    """-mu v, of whose heat the first gas gets `share`."""
    return -params["mu"] * jnp.stack([params["share"] * v, (1 - params["share"]) * v])


def heat(t, q, v, S, params):
    T = [
        gas.T(S[i], V)
        for i, (gas, V) in enumerate(zip(gases(params), volumes(q, params), strict=True))
    ]
    return thermo.conduction(jnp.stack(T), params["G"])


system = ThermalSystem(
    lagrangian,
    Euclidean(1),
    PARAMS,
    friction=friction,
    heat=heat,
    entropies=("S_1 [J/K]", "S_2 [J/K]"),
    coordinates=("x [m]",),
    name="adiabatic piston",
)


# ---------------- thermodynamics, apart from the functions that are run


def entropies(T, V):
    """S = N R (3/2 log(T / T0) + log(V / V0)) of both gases."""
    N = np.array([PARAMS["N1"], PARAMS["N2"]])
    return (
        N
        * PARAMS["R"]
        * (1.5 * np.log(np.asarray(T) / PARAMS["T0"]) + np.log(np.asarray(V) / PARAMS["V0"]))
    )


def start_energy():
    return 1.5 * PARAMS["R"] * (PARAMS["N1"] * START[0] + PARAMS["N2"] * START[1])


def equilibrium(E=None):
    """(x, T, P, S) where heat may flow: one temperature and one pressure, and nothing of what
    happened before but the energy E.
    """
    E, N = start_energy() if E is None else E, PARAMS["N1"] + PARAMS["N2"]
    x = PARAMS["l"] * PARAMS["N1"] / N
    T = E / (1.5 * N * PARAMS["R"])
    return x, T, rest_pressure(E), entropies([T, T], volumes([x]))


def rest_pressure(E):
    """P with 3/2 P V = E: both pressures of a piston at rest, whatever the temperatures are."""
    return E / (1.5 * PARAMS["A"] * PARAMS["l"])


S0 = entropies(START, volumes([X0]))


# ---------------------------------------------------------------- runs


@cache
def run(method, duration, h, **params):
    steps = round(duration / h)
    return simulate(
        system,
        method,
        q0=[X0],
        v0=[V0],
        S0=S0,
        h=h,
        steps=steps,
        save_every=steps // SAVES,
        params=PARAMS | params,
    )


@cache
def states(*args, **params):
    """The states of both gases along a run."""
    traj = run(*args, **params)
    return [
        thermo.states(traj, gas, lambda q, i=i: volumes(q)[i], i) for i, gas in enumerate(gases())
    ]


def last(name, *args, **params):
    """T or P of both gases at the end of a run."""
    return np.array([float(state[name][-1]) for state in states(*args, **params)])


def with_conduction():
    rows = []
    for method in (EnergyConsistent(Midpoint()), Midpoint()):
        traj = run(method, 30.0, 1e-3)
        # The energy of the midpoint rule has an error; the equilibrium that it reaches is that of
        # the energy that it has.
        E = start_energy() if isinstance(method, EnergyConsistent) else float(traj.energy()[-1])
        x, T, P, S = equilibrium(E)
        words = f"with conduction, {type(method).__name__}, after 30 s: "
        rows += compare(words + "x [m]", traj.q[-1], x, 1e-12)
        rows += compare(words + "T [K]", last("T", method, 30.0, 1e-3), [T, T], 1e-9)
        rows += compare(
            words + "P / P_equilibrium", last("P", method, 30.0, 1e-3) / P, [1.0, 1.0], 1e-12
        )
        rows += compare(words + "S [J/K]", traj.S[-1], S, 1e-12)
        rows += compare(
            words + "loss of total entropy in a step",
            min(float(traj.laws.least), 0.0),
            0.0,
            ROUNDING,
        )
    exact = run(EnergyConsistent(Midpoint()), 30.0, 1e-3)
    rows += compare(
        "energy, EnergyConsistent, largest relative error",
        np.max(np.abs(exact.first_law())) / start_energy(),
        0.0,
        1e-14,
    )
    return rows


@cache
def continuous(share):
    """(q, S) of the continuous motion without conduction, at 0, 0.3 and 7.5 s."""
    params = PARAMS | {"G": 0.0, "share": share}
    q, _, S = reference(system.with_params(params), q0=[X0], v0=[V0], S0=S0, ts=[0.0, 0.3, 7.5])
    return q, S


def without_conduction():
    rows, E = [], start_energy()
    S_max = np.sum(equilibrium()[3])
    for share in SHARES:
        args, params = (EnergyConsistent(Midpoint()), 7.5, 1e-3), {"G": 0.0, "share": share}
        traj, words = run(*args, **params), f"without conduction, share {share:g}: "
        rows += compare(
            words + "P / P_rest", last("P", *args, **params) / rest_pressure(E), [1.0, 1.0], 1e-12
        )
        rows += compare(
            words + "energy U1 + U2 [J]",
            sum(float(state.U[-1]) for state in states(*args, **params)),
            E,
            1e-11,
        )
        rows += compare(
            words + "the piston stays, x(7.5) - x(6) [m]",
            traj.q[-1, 0] - traj.q[-SAVES // 5 - 1, 0],
            0.0,
            1e-13,
        )
        # The three are centimetres apart; the error of the method is of the size of h^2.
        rows += compare(
            words + "x where it stops, continuous [m]", traj.q[-1], continuous(share)[0][-1], 1e-6
        )
        rows += compare(
            words + "entropy above the greatest possible [J/K]",
            max(float(np.sum(traj.S[-1]) - S_max), 0.0),
            0.0,
            ROUNDING,
        )
    return rows


def order_checks():
    """The midpoint rule without conduction, where the end depends on the way: its order in the
    energy, the motion and the end.
    """
    hs, rows = np.array([1e-3, 5e-4, 2.5e-4]), []
    runs = [run(Midpoint(), 7.5, h, G=0.0) for h in hs]
    q, S = continuous(PARAMS["share"])

    def slope(errors):
        return np.polyfit(np.log(hs), np.log(errors), 1)[0]

    rows += compare(
        "order of the midpoint rule: energy",
        slope([np.max(np.abs(traj.first_law())) for traj in runs]),
        2,
        0.05,
    )
    for i, t in ((1, 0.3), (2, 7.5)):
        k = round(t / 7.5 * SAVES)
        rows += compare(
            f"order of the midpoint rule: x({t:g})",
            slope([abs(traj.q[k, 0] - q[i, 0]) for traj in runs]),
            2,
            0.05,
        )
        rows += compare(
            f"order of the midpoint rule: S({t:g})",
            slope([np.max(np.abs(traj.S[k] - S[i])) for traj in runs]),
            2,
            0.05,
        )
    for traj in runs:
        rows += compare(
            f"loss of total entropy in a step, midpoint, h = {float(traj.h):g}",
            min(float(traj.laws.least), 0.0),
            0.0,
            ROUNDING,
        )
    return rows


def checks():
    return with_conduction() + without_conduction() + order_checks()


# ---------------------------------------------------------------- the figure


def column(axes, args, params, dashed):
    """T, P and S over time; `dashed` are the values that thermodynamics gives."""
    traj, t = run(*args, **params), run(*args, **params).t
    T, P = ([state[name] for state in states(*args, **params)] for name in ("T", "P"))
    for ax, pair, scale in zip(axes, (T, P, np.asarray(traj.S).T), (1.0, 1e-3, 1.0), strict=True):
        for values, label, color in zip(
            pair, ("gas 1", "gas 2"), ("#d1495b", "#1b6ca8"), strict=True
        ):
            ax.plot(t, scale * values, lw=1, label=label, color=color)
    axes[-1].plot(t, np.sum(np.asarray(traj.S), axis=1), color="#2e933c", lw=1.4, label="total")
    for ax, values in zip(axes, dashed, strict=True):
        for value in values:
            ax.axhline(value, color="k", ls="--", lw=0.9)
    axes[-1].set_xlabel("t [s]")


def figure():
    fig, axes = new_figure(4, 2, (10, 10))
    x, T, P, S = equilibrium()
    column(axes[1:, 0], (Midpoint(), 1.5, 5e-4), {"G": 0.0}, ([], [P / 1e3], []))
    column(axes[1:, 1], (Midpoint(), 7.5, 1e-3), {}, ([T], [P / 1e3], [*S, np.sum(S)]))
    for share, color in zip(SHARES, ("#edae49", "#3d405b", "#6a4c93"), strict=True):
        traj = run(Midpoint(), 1.5, 5e-4, G=0.0, share=share)
        axes[0, 0].plot(traj.t, traj.q[:, 0], lw=1, color=color, label=f"{100 * share:g} %")
    axes[0, 0].legend(
        loc="upper right", ncols=3, title="of the heat of friction into gas 1", title_fontsize=10
    )
    axes[0, 1].plot(
        run(Midpoint(), 7.5, 1e-3).t, run(Midpoint(), 7.5, 1e-3).q[:, 0], lw=1, color="#3d405b"
    )
    axes[0, 1].axhline(x, color="k", ls="--", lw=0.9, label="thermodynamics")
    for ax, title in zip(
        axes[0], ("without conduction, first 1.5 s", "with conduction, G = 1 W/K"), strict=True
    ):
        ax.set_title(title, fontsize=10)
    limits = {
        "x [m]": (0.19, 0.39),
        "T [K]": (265, 500),
        "P [kPa]": (55, 225),
        "S [J/K]": (0.0, 0.59),
    }
    for row, (name, limit) in zip(axes, limits.items(), strict=True):
        for ax in row:
            ax.set(ylabel=name, ylim=limit)
    for ax in (axes[0, 1], axes[1, 0], axes[3, 0]):
        ax.legend(loc="upper right", ncols=3)
    return fig


entry = Entry(
    name="adiabatic_piston",
    title="Two gases and a piston between them",
    source="Bonich, section 4.2 and Thm 3.9, with two entropies and heat",
    text=(
        "An insulated cylinder with two gases and a piston between them, whose friction heats both."
        " The friction brings the piston to rest at equal pressures. If the piston conducts heat,"
        " the temperatures become equal as well and the end is that of thermodynamics, which"
        " follows from the energy alone. If it does not, the pressure still follows from the"
        " energy, but not where the piston stops: that depends on how the heat of friction is"
        " shared. The total entropy grows in every step."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0], "S0": S0},
    h=1e-3,
    steps=5000,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array(
        [[0.0, 0.0], [q[0], 0.0], [q[0], 0.05], [q[0], -0.05], [q[0], 0.0], [0.5, 0.0]]
    ),
)
