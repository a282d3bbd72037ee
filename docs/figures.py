"""Draw the pictures of the README and the docs: `make figures`."""

import time
from pathlib import Path

import jax
import numpy as np

import accion as ac
from accion.gallery import heavy_top, henon_heiles
from accion.gallery.double_pendulum import positions, system
from accion.methods import GeneralizedAlpha
from accion.plot import new_figure, save_figure, step_axis

IMAGES = Path(__file__).parent / "images"
Q0, V0 = [2.0, 2.5], [0.0, 0.0]


def readme():
    """A double pendulum, and its energy over a million steps by Midpoint and by Runge-Kutta."""
    figure, axes = new_figure(1, 2, (10, 3.7))
    left, right = axes[0]
    short = ac.simulate(system, ac.Midpoint(), q0=Q0, v0=V0, h=0.005, steps=2400)
    points = np.asarray(jax.vmap(positions)(short.q))
    left.plot(points[:, 2, 0], points[:, 2, 1], lw=0.7)
    left.plot(points[-1, :, 0], points[-1, :, 1], "o-", color="#3d405b", lw=2)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="double pendulum, 12 s")
    h, steps, every = 0.02, 1_000_000, 500
    long = ac.simulate(system, ac.Midpoint(), q0=Q0, v0=V0, h=h, steps=steps, save_every=every)
    E = np.asarray(long.energy())
    t, q, v = ac.analysis.rk4(system, q0=Q0, v0=V0, h=h, steps=steps, save_every=every)
    control = np.asarray(jax.jit(jax.vmap(system.energy))(t, q, v))
    hours = np.asarray(t) / 3600
    right.plot(hours, control - E[0], lw=0.8, color="#d1495b", label="Runge-Kutta, order 4")
    right.plot(hours, E - E[0], lw=0.4, color="#1b6ca8", label="accion, Midpoint, order 2")
    right.set(xlabel="t [h]", ylabel="energy error [J]", title="a million steps of 0.02 s")
    right.legend()
    save_figure(figure, IMAGES / "double_pendulum.png")


METHODS = {  # the midpoint rule with wide lines, because others lie on it
    "Midpoint, exp": ("exp", ac.Midpoint(), {"ls": "-", "marker": "o", "ms": 7, "lw": 2.6}),
    "GeneralizedAlpha(0.8), exp": (
        "exp",
        GeneralizedAlpha(0.8),
        {"ls": "-", "marker": "s", "ms": 4, "lw": 1.3},
    ),
    "Midpoint, cayley": ("cayley", ac.Midpoint(), {"ls": "-", "marker": "o", "ms": 7, "lw": 2.6}),
    "GeneralizedAlpha(0.8), cayley": (
        "cayley",
        GeneralizedAlpha(0.8),
        {"ls": "-", "marker": "s", "ms": 4, "lw": 1.3},
    ),
    "GeneralizedAlpha(1), exp": (
        "exp",
        GeneralizedAlpha(1.0),
        {"ls": ":", "marker": "^", "ms": 4, "lw": 1.6, "color": "k"},
    ),
}
TOP_STEPS, TOP_SAVES = (
    np.array([500, 1000, 2000, 4000, 8000, 16000, 32000]),
    500,
)  # in 1 s; every run keeps as many times, so each method is compiled once


def top_run(name, h, steps):
    """(trajectory, seconds) of the heavy top by one of METHODS."""
    retraction, method, _ = METHODS[name]
    begun = time.perf_counter()
    start = {"q0": heavy_top.R0, "v0": heavy_top.W0}
    traj = ac.simulate(
        heavy_top.SYSTEMS[retraction],
        method,
        **start,
        h=h,
        steps=steps,
        save_every=steps // TOP_SAVES,
    )
    return jax.block_until_ready(traj), time.perf_counter() - begun


def top():
    """The heavy top on SO(3) by the midpoint rule and by generalized alpha: error, energy, and what
    the error costs.
    """
    figure, axes = new_figure(1, 3, (13, 4.6))
    left, middle, right = axes[0]
    long = {name: top_run(name, 1e-3, 100_000)[0] for name in METHODS}
    ends = {
        name: np.array([heavy_top.centre(top_run(name, 1 / n, n)[0].q[-1]) for n in TOP_STEPS])
        for name in METHODS
    }
    # By turns, and the shortest of each: other work on the machine only adds.
    rounds = [
        {name: [top_run(name, 1 / n, n)[1] for n in TOP_STEPS] for name in METHODS}
        for _ in range(15)
    ]
    for name, (_, _, style) in METHODS.items():
        errors = np.linalg.norm(ends[name] - heavy_top.numbers("x")[1], axis=1)
        left.plot(1e3 / TOP_STEPS, errors, label=name, **style)
        E = np.asarray(long[name].energy())
        middle.plot(
            np.asarray(long[name].t)[1:],
            np.maximum.accumulate(np.abs(E - E[0]))[1:],
            **{**style, "marker": ""},
        )
        right.plot(1e3 * np.min([each[name] for each in rounds], axis=0), errors, **style)
    step_axis(left, np.round(1e3 / TOP_STEPS, 4))
    left.set(
        yscale="log",
        xlabel="h [ms]",
        ylabel="error of the centre of mass at 1 s [m]",
        title="error",
    )
    left.tick_params(axis="x", labelsize=9)
    middle.set(
        yscale="log",
        xlabel="t [s]",
        ylabel="largest energy error so far [J]",
        title="energy, h = 1 ms",
    )
    step_axis(right, [5, 10, 20, 50, 100, 200])
    right.set(
        yscale="log",
        xlabel="time of a call of simulate [ms]",
        ylabel="error of the centre of mass at 1 s [m]",
        title="what the error costs",
    )
    figure.legend(loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    save_figure(figure, IMAGES / "heavy_top.png")


def chaos():
    """Henon and Heiles at E = 1/8: a section of many motions, and the exponents of two of them."""
    figure, axes = new_figure(1, 2, (11, 4.6))
    left, right = axes[0]
    energy, ys = 1 / 8, np.linspace(-0.34, 0.44, 27)
    starts = [henon_heiles.start(energy, y) for y in ys]
    starts += [henon_heiles.start(energy, y, vy) for y in (0.0, 0.1) for vy in (-0.2, 0.2)]
    q0, v0 = map(np.array, zip(*starts, strict=True))
    found = ac.analysis.poincare_section(
        henon_heiles.system,
        ac.Trapezoid(),
        section=henon_heiles.to_the_right,
        q0=q0,
        v0=v0,
        h=0.05,
        steps=60_000,
    )
    found.plot(axes=left)
    left.set_title(f"x = 0, x' > 0, E = 1/8: {len(found)} crossings", loc="left", fontsize=10)
    for y, color, words in ((-0.15, "#d1495b", "in the sea"), (0.3, "#1b6ca8", "on an island")):
        q, v = henon_heiles.start(energy, y)
        run = {"q0": q, "v0": v, "h": 0.05, "steps": 1_000_000, "every": 20, "transient": 0}
        each = ac.analysis.lyapunov(henon_heiles.system, ac.Trapezoid(), **run)
        values = each.running[:, 0]
        right.loglog(each.t, np.abs(values), color=color, lw=1.2)
        right.lines[-1].set_label(f"{words}, y = {y:g}: {values[-1]:.2g} / s")
    late = each.t[each.t > 10]
    right.loglog(late, np.log(late) / late, color="#777777", lw=0.8, ls="--", label="ln(t)/t")
    right.set(xlabel="t [s]", ylabel="largest exponent so far [1/s]")
    right.set_title("largest Lyapunov exponent", loc="left", fontsize=10)
    right.legend(loc="lower left", frameon=False)
    save_figure(figure, IMAGES / "chaos.png")


def idea():
    """A motion among its variations; a discrete motion, whose momenta agree where pieces meet."""
    figure, axes = new_figure(1, 2, (11, 3.9))
    left, right = axes[0]
    t = np.linspace(0, 1, 201)
    q = np.sin(2.4 * t) + 0.4 * t
    for size in (-0.35, -0.18, 0.18, 0.35):
        left.plot(t, q + size * np.sin(np.pi * t), color="#b8c4cf", lw=1)
    left.plot(t, q, color="#1b6ca8", lw=2.4)
    left.plot(t[[0, -1]], q[[0, -1]], "o", color="#3d405b")
    left.annotate("the motion", (0.42, q[84]), (0.52, 0.55), arrowprops={"arrowstyle": "-"})
    left.text(0.02, 1.63, "variations, with the ends held fixed", color="#777777")
    left.set_title(r"action  $\int L(t, q, \dot q)\,dt$  stationary", loc="left")
    nodes = np.linspace(0, 1, 6)
    at = np.interp(nodes, t, q)
    right.plot(t, q, color="#b8c4cf", lw=1)
    right.plot(nodes, at, "o-", color="#1b6ca8", lw=2.4, ms=7)
    for k, name in ((1, "k-1"), (2, "k"), (3, "k+1")):
        right.text(nodes[k], at[k] + 0.1, f"$q_{{{name}}}$", ha="center")
    for k, name in ((1, "q_{k-1}, q_k"), (2, "q_k, q_{k+1}")):
        middle = (nodes[k] + nodes[k + 1]) / 2
        right.text(middle + 0.03, np.interp(middle, nodes, at) - 0.2, f"$L_d({name})$")
    right.text(
        0.3,
        0.12,
        "momenta agree at $q_k$:\n$D_2L_d(q_{k-1}, q_k) + D_1L_d(q_k, q_{k+1}) = 0$",
        color="#d1495b",
    )
    right.plot(nodes[2], at[2], "o", color="#d1495b", ms=10)
    right.set_title(r"sum of discrete actions  $\sum L_d(q_k, q_{k+1})$  stationary", loc="left")
    for ax in (left, right):
        ax.set(xlabel="t", ylabel="q", xticks=[], yticks=[], ylim=(-0.15, 1.75))
    save_figure(figure, IMAGES / "idea.png")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    idea()
    readme()
    top()
    chaos()
