"""A cart that friction heats: Bonich, chapter 4.1, continuous and discretised twice, corrected.

m x'' = -mu x'        T(S) S' = mu x'^2
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
from scipy.special import lambertw

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import EnergyConsistent, LeftRectangle, Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import ThermalSystem
from accion.thermo import Solid

X0, V0, S0, DURATION = 0.0, 2.0, 0.0, 10.0
HS = (0.2, 0.1, 0.05, 0.025, 0.0125)
PARAMS = {"m": 5.0, "mu": 3.0, "nu": 1.0, "T0": 300.0, "S0": S0}
# by the equation that is their finite-difference map
METHODS = {"4.7": LeftRectangle(), "4.8": Midpoint()}


def chassis(params):
    """S = S_0 + nu log(T/T_0): the entropy of (4.1) with (T_0, S_0) in place of (T_inf, S_inf),
    which lies on the same curve.
    """
    return Solid(params["nu"], params["T0"], params["S0"])


def lagrangian(t, q, v, S, params):
    return 0.5 * params["m"] * v[0] ** 2 - chassis(params).U(S)


def friction(t, q, v, S, params):
    return -params["mu"] * v


system = ThermalSystem(
    lagrangian,
    Euclidean(1),
    PARAMS,
    friction=friction,
    coordinates=("x [m]",),
    name="cart with friction",
)


# ---------------------------------------------------------------- closed forms


def limits():
    """(x_inf, T_inf, S_inf): where the cart comes to rest, the last two by (4.6)."""
    m, mu, nu, T0 = (PARAMS[key] for key in ("m", "mu", "nu", "T0"))
    T = T0 + m * V0**2 / (2 * nu)
    return X0 + m * V0 / mu, T, S0 - nu * np.log(1 - m * V0**2 / (2 * nu * T))


def exact(ts):
    """x(t), S(t) and T(t) of (4.3), (4.5) and (4.4)."""
    m, mu, nu = (PARAMS[key] for key in ("m", "mu", "nu"))
    _, T, S = limits()
    left = m * V0**2 / (2 * nu) * np.exp(-2 * mu * ts / m)
    return X0 + m * V0 / mu * (1 - np.exp(-mu * ts / m)), S + nu * np.log(1 - left / T), T - left


def entropies(x, h, factor=1):
    """S_k of (4.9b) for positions x_k, by Lambert's W: with u = (S_{k+1} - S_k)/(2 nu) it is u e^u
    = factor mu (x_{k+1} - x_k)^2 / (2 nu h T_k).

    `factor` is 2 in the code of the document, from the second step on.
    """
    mu, nu, T0 = (PARAMS[key] for key in ("mu", "nu", "T0"))
    S = [S0]
    for k, dx in enumerate(np.diff(x)):
        gain = (factor if k else 1) * mu * dx**2 / h
        S.append(S[-1] + 2 * nu * lambertw(gain / (2 * nu * T0 * np.exp((S[-1] - S0) / nu))).real)
    return np.array(S)


def energy_consistent_entropies(h):
    """S_k whose internal energy is what the kinetic energy lost: momenta shrink by the same factor
    in each step of (4.8).
    """
    m, mu, nu, T0 = (PARAMS[key] for key in ("m", "mu", "nu", "T0"))
    r = (1 - h * mu / (2 * m)) / (1 + h * mu / (2 * m))
    k = np.arange(round(DURATION / h) + 1)
    return S0 + nu * np.log(1 + m * V0**2 * (1 - r ** (2 * k)) / (2 * nu * T0))


# ---------------------------------------------------------------- runs


@cache
def run(method, h, start):
    """x_k, S_k and E_k - E_0 for 0 <= t_k <= 10 s.

    `start` is "printed" (x_1 = x_0 + h v_0), "momentum-matched", or "exact" (x_1 = x(h)).
    """
    starts = {
        "printed": {"q1": [X0 + h * V0]},
        "momentum-matched": {"v0": [V0]},
        "exact": {"q1": [exact(h)[0]]},
    }
    # As many steps for every h, so that each method is compiled once; those beyond 10 s are left
    # out.
    traj = simulate(
        system, method, q0=[X0], **starts[start], S0=S0, h=h, steps=round(DURATION / min(HS))
    )
    E, end = traj.energy(), round(DURATION / h) + 1
    return tuple(np.asarray(a)[:end] for a in (traj.q[:, 0], traj.S, E - E[0]))


def errors(method, h, start):
    """x_k - x(kh) and S_k - S(kh)."""
    x, S, _ = run(method, h, start)
    exact_x, exact_S, _ = exact(h * np.arange(len(x)))
    return x - exact_x, S - exact_S


def worst(method, h, start):
    """The largest errors of x and of S."""
    return [np.max(np.abs(e)) for e in errors(method, h, start)]


# ---------------------------------------------------------------- checks


def rows_of_continuous(ref):
    times = list(ref["x"])
    ts = np.array([0.0, *map(float, times)])
    q, _, S = reference(system, q0=[X0], v0=[V0], S0=S0, ts=ts)
    found = (q[:, 0], S, chassis(PARAMS).T(S))
    rows = []
    for name, ours, closed in zip("xST", found, exact(ts), strict=True):
        for i, t in enumerate(times, start=1):
            rows += compare(f"{name}({t}), continuous", ours[i], ref[name][t], 1e-9)
            rows += compare(
                f"{name}({t}), closed form",
                closed[i],
                ref[name][t],
                1e-12 if name == "T" else 1e-14,
            )
    for name, value in zip(("x_inf", "T_inf", "S_inf"), limits(), strict=True):
        rows += compare(
            f"{name}, closed form", value, ref[name], 1e-12 if name == "T_inf" else 1e-14
        )
    return rows


def rows_of_first_steps(ref):
    rows = []
    for key, table in ref.items():
        equation, step = {"disc1": "4.7", "disc2": "4.8"}[key.split()[0]], key.split("h=")[1]
        x, S, _ = run(METHODS[equation], float(step), "printed")
        for name, ours in (("x", x), ("S", S)):
            for k, target in [*enumerate(table[f"{name}[0:6]"]), (20, table[f"{name}[20]"])]:
                rows += compare(f"{name}_{k} of ({equation}), h = {step}", ours[k], target, 1e-12)
    return rows


def rows_of_convergence(ref):
    rows = []
    for key, table in ref.items():
        if " | " not in key:
            continue
        equation, start = key.split("(")[1][:3], key.split(" | ")[1].split()[0]
        method, label = METHODS[equation], f"({equation}), {start} start"
        found = np.array([worst(method, float(h), start) for h in table["h"]])
        for name, ours in zip("xS", found.T, strict=True):
            orders = np.log2(ours[:-1] / ours[1:])
            for i, (h, target) in enumerate(zip(table["h"], table[f"maxerr_{name}"], strict=True)):
                rows += compare(
                    f"largest error of {name}, h = {h}, {label}", ours[i], target, digits(target)
                )
            for i, target in enumerate(table[f"order_{name}"]):
                rows += compare(
                    f"order of {name} between h = {table['h'][i]} and its half, {label}",
                    orders[i],
                    target,
                    1e-7,
                )
            # The orders approach the limit linearly in h.
            second = equation == "4.8" and start != "printed"
            rows += compare(
                f"order of {name} as h -> 0, {label}",
                2 * orders[-1] - orders[-2],
                2 if second else 1,
                0.005,
            )
        for h, values in table["values"].items():
            x, S, _ = run(method, float(h), start)
            for t in ("1", "10"):
                k = round(float(t) / float(h))
                for name, ours, error in zip(
                    "xS", (x, S), errors(method, float(h), start), strict=True
                ):
                    target = values[f"err_{name}({t})"]
                    rows += compare(
                        f"{name}({t}), h = {h}, {label}", ours[k], values[f"{name}({t})"], 1e-12
                    )
                    rows += compare(
                        f"error of {name}({t}), h = {h}, {label}", error[k], target, digits(target)
                    )
    (printed_code,) = (table["S(10)"] for key, table in ref.items() if "factor 2" in key)
    x, S, _ = run(Midpoint(), 0.05, "printed")
    rows += compare(
        "S(10) of the printed code, whose factor 2 doubles the heat, h = 0.05",
        entropies(x, 0.05, 2)[-1],
        printed_code,
        1e-14,
    )
    return rows + compare(
        "S_k of (4.9b) and by Lambert's W, largest difference, h = 0.05",
        np.max(np.abs(S - entropies(x, 0.05))),
        0,
        1e-14,
    )


def digits(target):
    """What ten printed digits tell, and rounding in numbers of size 3."""
    return 1e-9 * abs(float(target)) + 1e-14


def rows_of_laws():
    """Both discretisations of the entropy balance: sampled, and from the energy."""
    rows, sampled = [], []
    E0 = 0.5 * PARAMS["m"] * V0**2 + PARAMS["nu"] * PARAMS["T0"]
    for h in HS[:3]:
        _, S, E = run(Midpoint(), h, "momentum-matched")
        _, S_exact, E_exact = run(EnergyConsistent(Midpoint()), h, "momentum-matched")
        sampled.append(np.max(np.abs(E)))
        rows += compare(
            f"energy - first value, relative, EnergyConsistent, h = {h}",
            np.max(np.abs(E_exact)) / E0,
            0,
            1e-12,
        )
        away = np.max(np.abs(S_exact - energy_consistent_entropies(h)))
        rows += compare(
            f"S_k of EnergyConsistent and closed form, largest difference, h = {h}", away, 0, 1e-14
        )
        for name, values in (("Midpoint", S), ("EnergyConsistent", S_exact)):
            rows += compare(
                f"steps in which S does not grow, {name}, h = {h}",
                np.sum(np.diff(values) <= 0),
                0,
                0.5,
            )
    return rows + compare(
        "order of the energy error of Midpoint", np.log2(sampled[1] / sampled[2]), 2, 0.05
    )


def checks():
    ref = data("001_ch4.1_cart_with_friction")
    return [
        *rows_of_continuous(ref["continuous"]),
        *rows_of_first_steps(ref["discrete_first_steps_printed_start"]),
        *rows_of_convergence(ref["convergence_0_10"]),
        *rows_of_laws(),
    ]


# ---------------------------------------------------------------- figure

# as in the document: green, orange, blue
COLORS = {0.2: "#2e933c", 0.1: "#edae49", 0.05: "#1b6ca8"}
MARKS = {"4.7": ("#d1495b", "s"), "4.8": ("#6a4c93", "o")}
STARTS = {"printed": "-", "momentum-matched": "--"}


def legend(ax, lines, loc):
    """Colours say the step, kinds of line what `lines` says."""
    for h, color in COLORS.items():
        ax.plot([], [], color=color, lw=1.2, label=f"h = {h:g} s")
    for words, line in lines.items():
        ax.plot([], [], line, color="0.4", lw=1.2, label=words)
    ax.legend(loc=loc, ncols=2)


def draw_motion(axes, i, label):
    """Figures 4.2, 4.4, 4.5, 4.10 and 4.11 (x, i = 0), 4.3, 4.7, 4.8, 4.12 and 4.13 (S, i = 1)."""
    ts = np.linspace(0, DURATION, 400)
    for ax, (equation, method) in zip(axes, METHODS.items(), strict=True):
        ax.plot(ts, exact(ts)[i], "k-", lw=1, label="continuous")
        for h, color in COLORS.items():
            values = run(method, h, "printed")[i]
            ts_k = h * np.arange(len(values))
            ax.plot(ts_k, values, "o", color=color, ms=0.8 + 8 * h, label=f"h = {h:g} s")
        title = f"({equation}), start as printed, $x_1 = x_0 + h v_0$"
        ax.set(xlabel="t [s]", ylabel=label, title=title)
        ax.legend(loc="lower right")


def draw_errors(axes, i, label):
    """Figures 4.6 and 4.14 (x, i = 0), 4.9 and 4.15 (S, i = 1)."""
    for ax, (equation, method) in zip(axes, METHODS.items(), strict=True):
        for h, color in COLORS.items():
            for start, line in STARTS.items():
                e = errors(method, h, start)[i]
                ax.plot(h * np.arange(len(e)), e, line, color=color, lw=1.2)
        top = max(np.max(errors(method, h, "printed")[i]) for h in COLORS)
        ax.set(xlabel="t [s]", ylabel=label, title=f"error of {'xS'[i]}, ({equation})")
        # with room for the legend
        ax.set_ylim(-0.5 * top if equation == "4.7" else -0.08 * top, 1.75 * top)
        legend(ax, {"printed start": "-", "matched momentum": "--"}, loc="upper left")


def draw_orders(ax):
    hs = np.array(HS)
    for equation, (color, mark) in MARKS.items():
        for start, line in STARTS.items():
            found = [worst(METHODS[equation], h, start)[0] for h in HS]
            ax.loglog(
                hs,
                found,
                mark + line,
                color=color,
                ms=4,
                lw=1.2,
                label=f"({equation}), {start.removeprefix('momentum-')}",
            )
    ax.loglog(hs, 3.2 * hs, "k:", lw=1, label="slopes 1, 2")
    ax.loglog(hs, 0.02 * hs**2, "k:", lw=1)
    step_axis(ax, hs)
    ax.set(ylabel="largest error of x [m]", title="order of convergence", ylim=(1e-6, 1e2))
    ax.legend(loc="upper left", ncols=2)


def draw_first_law(ax):
    for method, line in ((Midpoint(), "-"), (EnergyConsistent(Midpoint()), ":")):
        for h, color in COLORS.items():
            E = run(method, h, "momentum-matched")[2]
            # A difference of zero is drawn below the last digit of the energy.
            ax.semilogy(
                h * np.arange(1, len(E)),
                np.maximum(np.abs(E[1:]), 2e-14),
                line,
                color=color,
                lw=1.2,
            )
    ax.set(
        xlabel="t [s]",
        ylabel="|E - E$_0$| [J]",
        title="first law, (4.8) with matched momentum",
        ylim=(1e-14, 1e-4),
    )
    legend(ax, {"sampled entropy balance": "-", "EnergyConsistent": ":"}, loc="center")


def figure():
    fig, axes = new_figure(5, 2, (10, 16))
    draw_motion(axes[0], 0, "x [m]")
    draw_motion(axes[1], 1, "S [J/K]")
    draw_errors(axes[2], 0, "$x_k - x(kh)$ [m]")
    draw_errors(axes[3], 1, "$S_k - S(kh)$ [J/K]")
    draw_orders(axes[4, 0])
    draw_first_law(axes[4, 1])
    return fig


def box(q):
    """The outline of the cart."""
    return jnp.array([[q[0], 0.0]]) + 0.2 * jnp.array(
        [[-1.0, 0.0], [1.0, 0.0], [1.0, 0.8], [-1.0, 0.8], [-1.0, 0.0]]
    )


entry = Entry(
    name="friction_cart",
    title="Cart with friction",
    source="Bonich, chapter 4.1 and figures 4.2 to 4.15, corrected",
    text=(
        "A cart on a line, whose axles rub in the chassis and heat it; nothing is exchanged with"
        " the surroundings. What the cart loses the chassis gains, so x(t) and S(t) have closed"
        " forms (4.3)-(4.6). The two discretisations of the document are the rectangle rule from"
        " the left (4.7) and the midpoint rule (4.8). With its start x_1 = x_0 + h v_0 both are of"
        " order 1; with matched momenta the second is of order 2. Its implicit entropy balance"
        " (4.9b) has a solution in Lambert's W. Sampled, this balance keeps the energy to second"
        " order; taken from the energy (EnergyConsistent), to roundoff."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0], "S0": S0},
    h=0.05,
    steps=200,
    checks=checks,
    figure=figure,
    positions=box,
)
