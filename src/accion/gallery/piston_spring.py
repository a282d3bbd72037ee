"""A piston between a spring and a gas in an insulated cylinder: Bonich, section 4.2, corrected.

m x'' = k (x0 - x) - P A,    V = A (x0 - x),    P V^(5/3) = xi
(4.10)-(4.14)
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from accion import thermo
from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import accelerations, reference
from accion.methods import LeftRectangle, Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System, ThermalSystem

X0, V0, S0, H = 0.3, 0.0, 0.0, 0.01
# such that xi = 1
PARAMS = {"m": 1.0, "k": 10.0, "A": 1.0, "x0": 1.0, "NR": 1.0, "U0": 1.5, "V0": 1.0, "S0": 0.0}
SAVES = 125
TIMES = np.linspace(0, 3, 301)  # of the figure
METHODS = {"rect": LeftRectangle(), "mid": Midpoint()}


def gas(params):
    return thermo.IdealGas(params["NR"], params["U0"], params["V0"], params["S0"])


def volume(q, params=PARAMS):
    return params["A"] * (params["x0"] - q[0])


def spring(q, params=PARAMS):
    return 0.5 * params["k"] * (params["x0"] - q[0]) ** 2


def lagrangian(t, q, v, S, params):
    """L = K - k (x0 - x)^2/2 - U(S, V(x)), which section 4.2.2 holds to be impossible: S is
    constant, and yet U depends on it (Def 3.1).
    """
    return 0.5 * params["m"] * v[0] ** 2 - spring(q, params) - gas(params).U(S, volume(q, params))


def reduced_lagrangian(t, q, v, params):
    """(4.15): L = K - W, where xi has taken the place of the entropy."""
    return (
        0.5 * params["m"] * v[0] ** 2
        - spring(q, params)
        - 1.5 * params["xi"] * volume(q, params) ** (-2 / 3)
    )


def xi(S, params=PARAMS):
    """P V^(5/3) of a gas with entropy S, 2/3 U0 V0^(2/3) e^(2 (S - S0) / (3 NR))."""
    return (
        2
        / 3
        * params["U0"]
        * params["V0"] ** (2 / 3)
        * np.exp(2 * (S - params["S0"]) / (3 * params["NR"]))
    )


def reduced_params(S):
    return {key: PARAMS[key] for key in ("m", "k", "A", "x0")} | {"xi": float(xi(S))}


system = ThermalSystem(
    lagrangian, Euclidean(1), PARAMS, coordinates=("x [m]",), name="piston against a spring"
)
reduced = System(
    reduced_lagrangian,
    Euclidean(1),
    reduced_params(S0),
    coordinates=("x [m]",),
    name="piston, reduced",
)


@cache
def run(method, h, S=S0):
    """Both formulations over 5 s: the ThermalSystem, and the mechanical one with the xi that
    belongs to S.
    """
    steps = round(5 / h)
    options = {"q0": [X0], "v0": [V0], "h": h, "steps": steps, "save_every": steps // SAVES}
    return simulate(system, METHODS[method], S0=S, **options), simulate(
        reduced, METHODS[method], **options, params=reduced_params(S)
    )


@cache
def continuous():
    """{t: (x, v, S, x of the reduced system)} at the times of the reference and of the figure, to
    1e-13: errors are compared to 1e-12.
    """
    ref = data("001_ch4.2_piston_spring_gas")["continuous"]
    period = float(ref["period"])
    ts = np.unique([*TIMES, *map(float, ref["x"]), period / 2, period])
    q, v, S = reference(system, q0=[X0], v0=[V0], S0=S0, ts=ts, rtol=1e-13, atol=1e-13)
    other, _ = reference(reduced, q0=[X0], v0=[V0], ts=ts, rtol=1e-13, atol=1e-13)
    return dict(zip(ts, np.stack([q[:, 0], v[:, 0], S, other[:, 0]], axis=1), strict=True))


def continuous_checks(ref):
    motion = continuous()
    rows = []
    for t, target in ref["thermo"].items():
        x, v, S, _ = motion[float(t)]
        rows += compare(f"x({t}), continuous", x, ref["x"][t], 1e-9)
        rows += compare(f"v({t}), continuous", v, ref["v"][t], 1e-9)
        V = volume([x])
        state = {
            "V": V,
            "P": gas(PARAMS).P(S, V),
            "T": gas(PARAMS).T(S, V),
            "U": gas(PARAMS).U(S, V),
        }
        for name, value in state.items():
            rows += compare(f"{name}({t}), continuous", value, target[name], 1e-9)
    x, v, S, other = np.array(list(motion.values())).T
    rows += compare("largest change of S, continuous", np.max(np.abs(S - S0)), 0.0, 1e-14)
    rows += compare(
        "x(t) of the reduced system, largest difference", np.max(np.abs(other - x)), 0.0, 1e-10
    )

    a = jax.jit(accelerations(system))

    def push(x):
        return float(a(0.0, jnp.array([x]), jnp.zeros(1), S0)[0][0])

    rows += compare("equilibrium", brentq(push, 0.3, 0.9, xtol=1e-14), ref["x_eq"], 1e-12)
    period = float(ref["period"])
    (x, v, _, _), (far, *_) = motion[period], motion[period / 2]
    rows += compare(
        "turning points, after a whole period and a half", [x, far], ref["turning_points"], 1e-9
    )
    # The velocity is zero after a period: a step of Newton's method for its zero.
    rows += compare("period", period - v / push(x), ref["period"], 1e-9)
    return rows


def checks():
    ref = data("001_ch4.2_piston_spring_gas")
    rows, x5 = continuous_checks(ref["continuous"]), continuous()[5.0][0]
    names = {"rect": "rectangle", "mid": "midpoint"}
    errors = {name: [] for name in names}
    for h, targets in ref["discrete"].items():
        for name, words in names.items():
            traj, other = run(name, float(h))
            x = float(traj.q[-1, 0])
            errors[name].append(x - x5)
            rows += compare(f"x(5), {words}, h = {h}", x, targets[f"{name}_x5"], 1e-12)
            rows += compare(
                f"error of x(5), {words}, h = {h}", x - x5, targets[f"{name}_err5"], 1e-12
            )
            rows += compare(
                f"reduced system, {words}, h = {h}, largest difference",
                np.max(np.abs(traj.q - other.q)),
                0.0,
                1e-12,
            )
            rows += compare(
                f"largest change of S, {words}, h = {h}", np.max(np.abs(traj.S - S0)), 0.0, 1e-14
            )
    hs = np.array([float(h) for h in ref["discrete"]])
    rows += compare(
        "order of the midpoint rule, from these errors",
        np.polyfit(np.log(hs), np.log(np.abs(errors["mid"])), 1)[0],
        2,
        0.02,
    )

    traj, _ = run("mid", 0.01)
    rows += compare("energy at the start", traj.energy()[0], ref["continuous"]["energy"], 1e-13)
    states = thermo.states(traj, gas(PARAMS), volume)
    rows += compare(
        "P V^(5/3), midpoint, largest departure from xi",
        np.max(np.abs(states.P * states.V ** (5 / 3) - 1.0)),
        0.0,
        1e-13,
    )
    hot, other = run("mid", 0.01, 0.5)
    rows += compare(
        "S = 0.5 J/K, reduced system with its xi, largest difference",
        np.max(np.abs(hot.q - other.q)),
        0.0,
        1e-12,
    )
    return rows


def figure():
    fig, axes = new_figure(2, 2, (10, 6.4))
    (motion, adiabat), (temperature, energies) = axes
    x, v, S, other = np.array([continuous()[t] for t in TIMES]).T
    V = volume([x])
    traj = run("mid", 0.02)[0]
    states = thermo.states(traj, gas(PARAMS), volume).sel(time=slice(0, TIMES[-1] + 1e-9))
    n, t = len(states.time), states.time
    equilibrium = float(data("001_ch4.2_piston_spring_gas")["continuous"]["x_eq"])
    motion.plot(TIMES, other, label="reduced system (4.15), continuous")
    motion.plot(t, traj.q[:n, 0], "o", ms=3, label="ThermalSystem, midpoint, h = 0.02 s")
    motion.axhline(equilibrium, color="k", ls=":", lw=1, label="equilibrium")
    motion.set(xlabel="t [s]", ylabel="x [m]", ylim=(0.25, 1.12))
    motion.legend(loc="upper right")
    line = np.linspace(0.2, 0.75, 200)
    adiabat.plot(line, xi(S0) * line ** (-5 / 3), label="adiabat of S = 0")
    adiabat.plot(states.V, states.P, "o", ms=3, label="midpoint")
    for S_other, style in ((0.5, "--"), (-0.5, ":")):
        adiabat.plot(
            line,
            xi(S_other) * line ** (-5 / 3),
            style,
            color="0.6",
            lw=1.2,
            label=f"S = {S_other:g} J/K",
        )
    adiabat.set(xlabel="V [m³]", ylabel="P [Pa]", ylim=(0, 16))
    adiabat.legend()
    temperature.plot(TIMES, gas(PARAMS).T(S, V), label="continuous")
    temperature.plot(t, states["T"], "o", ms=3, label="midpoint, h = 0.02 s")
    temperature.set(xlabel="t [s]", ylabel="T [K]", ylim=(1.1, 3.3))
    temperature.legend(loc="upper right", ncols=2)
    parts = {
        "U, gas": gas(PARAMS).U(S, V),
        "spring": spring([x]),
        "kinetic": 0.5 * PARAMS["m"] * v**2,
    }
    for name, values in parts.items():
        energies.plot(TIMES, values, label=name)
    energies.plot(TIMES, sum(parts.values()), "k", lw=1, label="total")
    energies.set(xlabel="t [s]", ylabel="energy [J]", ylim=(0, 5.8))
    energies.legend(loc="upper center", ncols=4)
    return fig


entry = Entry(
    name="piston_spring",
    title="Piston between a spring and a gas",
    source="Bonich, section 4.2, corrected",
    text=(
        "A piston that a spring pushes into an ideal gas, in an insulated cylinder without"
        " friction. The document reduces it to a mechanical system with the potential (4.15) and"
        " says that it cannot be written with an entropy. It can: with L = K - k (x0 - x)^2/2 -"
        " U(S, V(x)) the entropy stays what it is, the pressure is -dU/dV, and the number xi of the"
        " adiabat is a function of S. Both give the same motion, in continuous and in discrete"
        " time."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0], "S0": S0},
    h=H,
    steps=500,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array(
        [[0.0, 0.0], [q[0], 0.0], [q[0], 0.3], [q[0], -0.3], [q[0], 0.0]]
    ),
)
