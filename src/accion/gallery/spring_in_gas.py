"""A mass on a spring in a gas that its friction heats: Bonich, Ex 3.11 (continuous) and Ex 3.21
(discrete), corrected.

m x'' + eta x = -lam x'        alpha U_0 e^(alpha (S - S_ref)) S' = lam x'^2
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.gallery import damped_spring
from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import LeftRectangle, Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import ThermalSystem

X0, V0, S0, DURATION = 0.3, 0.0, 0.0, 20.0
HS = (0.1, 0.05, 0.025)
PARAMS = {"m": 2.0, "eta": 2.0, "lam": 0.3, "U0": 1.0, "alpha": 0.5, "S_ref": 0.0}
# The rectangle rule starts as the document does, x_1 = x_0 + h v_0; the midpoint rule with matched
# momenta.
METHODS = {"rectangle": LeftRectangle(), "midpoint": Midpoint()}


def internal(S, params):
    """The energy of an ideal gas whose volume does not change (C.9): alpha is 1/(c N R), S_ref its
    entropy where U = U_0.
    """
    return params["U0"] * jnp.exp(params["alpha"] * (S - params["S_ref"]))


def lagrangian(t, q, v, S, params):
    return 0.5 * params["m"] * v[0] ** 2 - 0.5 * params["eta"] * q[0] ** 2 - internal(S, params)


def friction(t, q, v, S, params):
    return -params["lam"] * v


system = ThermalSystem(
    lagrangian,
    Euclidean(1),
    PARAMS,
    friction=friction,
    coordinates=("x [m]",),
    name="spring in a gas",
)


def mechanical(x, v):
    return 0.5 * PARAMS["m"] * v**2 + 0.5 * PARAMS["eta"] * x**2


def entropy(U):
    """S of a gas with energy U."""
    return PARAMS["S_ref"] + np.log(U / PARAMS["U0"]) / PARAMS["alpha"]


TOTAL = mechanical(X0, V0) + PARAMS["U0"] * np.exp(PARAMS["alpha"] * (S0 - PARAMS["S_ref"]))


def exact(ts):
    """x(t), v(t) and S(t): the motion is that of the spring of Ex 2.16, and the gas has the energy
    that the spring has lost.
    """
    x = damped_spring.exact(ts, X0, V0, PARAMS)
    # v solves the same equation as x, and starts with the acceleration.
    v = damped_spring.exact(
        ts, V0, -(PARAMS["lam"] * V0 + PARAMS["eta"] * X0) / PARAMS["m"], PARAMS
    )
    return x, v, entropy(TOTAL - mechanical(x, v))


@cache
def run(name, h):
    """x_k, v_k and S_k for 0 <= t_k <= 20 s, by the rule `name`."""
    starts = {"rectangle": {"q1": [X0 + h * V0]}, "midpoint": {"v0": [V0]}}
    # As many steps for every h, so that each method is compiled once; those beyond 20 s are left
    # out.
    traj = simulate(
        system, METHODS[name], q0=[X0], **starts[name], S0=S0, h=h, steps=round(DURATION / min(HS))
    )
    end = round(DURATION / h) + 1
    return tuple(np.asarray(a)[:end] for a in (traj.q[:, 0], traj.v[:, 0], traj.S))


def worst(name, h):
    """The largest errors of x and of S."""
    x, _, S = run(name, h)
    exact_x, _, exact_S = exact(h * np.arange(len(x)))
    return np.max(np.abs(x - exact_x)), np.max(np.abs(S - exact_S))


def rows_of_continuous(ref):
    times = list(ref["x"])
    ts = np.array([0.0, *map(float, times)])
    q, v, S = (np.asarray(a) for a in reference(system, q0=[X0], v0=[V0], S0=S0, ts=ts))
    closed_x, _, closed_S = exact(ts)
    rows = []
    for i, t in enumerate(times, start=1):
        for name, ours, closed in (("x", q[i], closed_x[i]), ("S", S[i], closed_S[i])):
            rows += compare(f"{name}({t}), continuous", ours, ref[name][t], 1e-9)
            rows += compare(f"{name}({t}), closed form", closed, ref[name][t], 1e-14)
    invariant = ref["invariant"].split("=")[1]
    energy = mechanical(q[:, 0], v[:, 0]) + internal(S, PARAMS)
    rows += compare(
        "total energy, largest difference to the invariant, continuous",
        np.max(np.abs(energy - float(invariant))),
        0,
        1e-9,
    )
    rows += compare("invariant, closed form", TOTAL, invariant, 1e-15)
    return rows + compare("S at infinity, closed form", entropy(TOTAL), ref["S_infinity"], 1e-15)


def checks():
    ref = data("001_ex3.11_3.21_spring_in_gas")
    rows = rows_of_continuous(ref["continuous"])
    for name, key in (
        ("rectangle", "discrete_rectangle"),
        ("midpoint", "discrete_midpoint_momentum_start"),
    ):
        x, _, S = run(name, ref["parameters"]["h"])
        for letter, ours in (("x", x), ("S", S)):
            for k, target in ref[key][f"{letter}_k"].items():
                rows += compare(f"{letter}_{k}, {name} rule", ours[int(k)], target, 1e-12)
    errors = ref["errors"]
    for key, name, i in (
        ("S_rect", "rectangle", 1),
        ("S_mid", "midpoint", 1),
        ("x_mid", "midpoint", 0),
    ):
        found = np.array([worst(name, float(h))[i] for h in errors["h"]])
        orders = np.log2(found[:-1] / found[1:])
        for ours, h, target in zip(found, errors["h"], errors[key], strict=True):
            # Eight digits are printed.
            rows += compare(
                f"largest error of {key[0]}, {name} rule, h = {h}",
                ours,
                target,
                1e-7 * float(target),
            )
        for ours, h, target in zip(orders, errors["h"], errors[f"order_{key}"], strict=False):
            rows += compare(
                f"order of {key[0]}, {name} rule, between h = {h} and its half", ours, target, 1e-6
            )
        rows += compare(
            f"order of {key[0]}, {name} rule, as h -> 0",
            2 * orders[1] - orders[0],
            1 if name == "rectangle" else 2,
            0.005,
        )
    for name in METHODS:
        # The rectangle rule with x_1 = x_0 rests in its first step.
        S = run(name, 0.1)[2][1 if name == "rectangle" else 0 :]
        rows += compare(
            f"steps in which S does not grow, {name} rule, h = 0.1", np.sum(np.diff(S) <= 0), 0, 0.5
        )
    return rows


def draw_motion(axes):
    ts = np.linspace(0, DURATION, 800)
    x, _, S = exact(ts)
    for ax, i, values, label in zip(axes, (0, 2), (x, S), ("x [m]", "S [J/K]"), strict=True):
        ax.plot(ts, values, "k-", lw=1, label="continuous")
        for name, mark, color in (("rectangle", "s", "#d1495b"), ("midpoint", "o", "#1b6ca8")):
            ax.plot(
                0.1 * np.arange(0, 201, 4),
                run(name, 0.1)[i][::4],
                mark,
                color=color,
                ms=3,
                label=f"{name}, h = 0.1 s",
            )
        ax.set(xlabel="t [s]", ylabel=label)
    axes[0].set_ylim(-0.3, 0.62)
    axes[0].legend(loc="upper right")
    axes[1].legend(loc="lower right")


def draw_energies(ax):
    ts, U0 = np.linspace(0, DURATION, 800), PARAMS["U0"]
    tk = 0.1 * np.arange(0, 201, 2)
    for t, (x, v, S), mark in (
        (ts, exact(ts), "-"),
        (tk, (a[::2] for a in run("midpoint", 0.1)), "o"),
    ):
        E, U = mechanical(x, v), np.asarray(internal(S, PARAMS)) - U0
        for values, word, color in (
            (E, "mechanical", "#1b6ca8"),
            (U, "internal - U$_0$", "#d1495b"),
            (E + U, "total - U$_0$", "#3d405b"),
        ):
            ax.plot(t, values, mark, color=color, ms=2, lw=1.2, label=word if mark == "-" else None)
    ax.set(
        xlabel="t [s]", ylabel="energy [J]", title="lines: continuous; dots: midpoint, h = 0.1 s"
    )
    ax.legend(loc="center right")


def draw_orders(ax):
    hs = np.array(HS)
    for name, mark in (("rectangle", "s"), ("midpoint", "o")):
        found = np.array([worst(name, h) for h in HS])
        for i, (letter, unit, color) in enumerate((("x", "m", "#1b6ca8"), ("S", "J/K", "#d1495b"))):
            ax.loglog(
                hs,
                found[:, i],
                mark + "-",
                color=color,
                ms=4,
                lw=1.2,
                label=f"{letter} [{unit}], {name}",
            )
    ax.loglog(hs, 0.3 * hs, "k:", lw=1, label="slopes 1, 2")
    ax.loglog(hs, 0.01 * hs**2, "k:", lw=1)
    step_axis(ax, hs)
    ax.set(ylabel="largest error, 0 to 20 s", ylim=(5e-6, 4))
    ax.legend(loc="upper left", ncols=2)


def figure():
    fig, axes = new_figure(2, 2, (10, 6.8))
    draw_motion(axes[0])
    draw_energies(axes[1, 0])
    draw_orders(axes[1, 1])
    return fig


entry = Entry(
    name="spring_in_gas",
    title="Mass on a spring, in a gas that it heats",
    source="Bonich, Ex 3.11 and 3.21, corrected",
    text=(
        "The spring of Ex 2.16 in a closed vessel with an ideal gas, which takes up what friction"
        " takes from the mass. The motion is that of the spring alone; the entropy follows from the"
        " energy, which is conserved. The discrete system of the document is the rectangle rule"
        " from the left, of order 1, here with the step x_{k+1} - x_k in the entropy balance and"
        " not the one before it; the midpoint rule with matched momenta is of order 2. The energy"
        " U_0 and alpha are not given in the document and are chosen."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0], "S0": S0},
    h=0.1,
    steps=200,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array([[-1.0, 0.0], [q[0], 0.0]]),
)
