"""A mass on a spring with friction: Bonich, Ex 2.16 (continuous) and Ex 2.22 (discrete),
corrected.
"""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import LeftRectangle
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System

X0, V0, H = 0.3, 0.0, 0.1


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * v[0] ** 2 - 0.5 * params["eta"] * q[0] ** 2


def friction(t, q, v, params):
    return -params["lam"] * v


system = System(
    lagrangian,
    Euclidean(1),
    {"m": 2.0, "eta": 2.0, "lam": 0.3},
    force=friction,
    coordinates=("x [m]",),
    name="damped spring",
)


def exact(ts, x0, v0, params):
    """The underdamped solution of m x'' + lam x' + eta x = 0 (the one printed in Ex 2.16 has x'(0)
    != v0).
    """
    m, eta, lam = params["m"], params["eta"], params["lam"]
    w = np.sqrt(4 * eta * m - lam**2) / (2 * m)
    return np.exp(-lam * ts / (2 * m)) * (
        x0 * np.cos(w * ts) + (2 * m * v0 + lam * x0) / (2 * m * w) * np.sin(w * ts)
    )


def exact_discrete(k, x0, x1, h, params):
    """The solution (2.6) of the recurrence (2.5), with the sign of lam in cos(theta) corrected."""
    m, eta, lam = params["m"], params["eta"], params["lam"]
    r = np.sqrt(1 + h * lam / m)
    theta = np.arccos((1 - h / (2 * m) * (h * eta - lam)) / r)
    return x1 * r ** (1.0 - k) * np.sin(k * theta) / np.sin(theta) - x0 * r ** (-1.0 * k) * np.sin(
        (k - 1) * theta
    ) / np.sin(theta)


def recurrence(steps, h=H):
    """x_k of (2.5), from x0 and x1 = x0 + h v0 as the document starts it."""
    return np.asarray(
        simulate(system, LeftRectangle(), q0=[X0], q1=[X0 + h * V0], h=h, steps=steps).q[:, 0]
    )


def max_error(h, start):
    """The largest error of the discrete trajectory over 0 <= t <= 20."""
    steps = round(20 / h)
    x = simulate(system, LeftRectangle(), q0=[X0], **start(h), h=h, steps=steps).q[:, 0]
    return np.max(np.abs(x - exact(h * np.arange(steps + 1), X0, V0, system.params)))


def checks():
    ref = data("001_ex2.16_2.22_damped_spring")
    continuous = ref["continuous"]["x(t)"]
    ts = np.array([0.0, *map(float, continuous)])
    q, _ = reference(system, q0=[X0], v0=[V0], ts=ts)
    rows = []
    for i, t in enumerate(continuous):
        rows += compare(f"x({t}), continuous", q[i + 1, 0], continuous[t], 1e-9)
        rows += compare(
            f"x({t}), closed form", exact(float(t), X0, V0, system.params), continuous[t], 1e-14
        )
    x = recurrence(400)
    for k, target in ref["discrete"]["x_k"].items():
        rows += compare(f"x_{k} of (2.5)", x[int(k)], target, 1e-12)
        rows += compare(
            f"x_{k} by (2.6), corrected",
            exact_discrete(int(k), X0, X0 + H * V0, H, system.params),
            target,
            1e-12,
        )
    errors = ref["errors_max_0_20"]
    starts = {
        "start x1=x0+h v0": lambda h: {"q1": [X0 + h * V0]},
        "start momentum-matched": lambda h: {"v0": [V0]},
    }
    for name, start in starts.items():
        for h, target in zip(errors["h"], errors[name], strict=True):
            rows += compare(
                f"max error, h = {h}, {name}", max_error(float(h), start), target, 1e-11
            )
    return rows


def figure():
    fig, axes = new_figure(1, 2, (10, 3.4))
    ts = np.linspace(0, 20, 800)
    left, right = axes[0]
    left.plot(ts, exact(ts, X0, V0, system.params), label="x(t), Ex 2.16")
    left.plot(H * np.arange(201), recurrence(200), ".", ms=3, label="x_k, Ex 2.22, h = 0.1 s")
    left.set(xlabel="t [s]", ylabel="x [m]")
    left.legend(loc="upper right")
    hs = np.array([0.2, 0.1, 0.05, 0.025, 0.0125])
    for name, start in (
        ("x1 = x0 + h v0, as printed", lambda h: {"q1": [X0 + h * V0]}),
        ("matched momentum", lambda h: {"v0": [V0]}),
    ):
        right.loglog(hs, [max_error(h, start) for h in hs], "o-", label=name)
    right.loglog(hs, 0.1 * hs, "k:", lw=1, label="slope 1")
    step_axis(right, hs)
    right.set(ylabel="max error of x [m], 0 to 20 s")
    right.legend(loc="lower right")
    return fig


entry = Entry(
    name="damped_spring",
    title="Mass on a spring, with friction",
    source="Bonich, Ex 2.16 and 2.22, corrected",
    text=(
        "A mass on a linear spring with friction proportional to its velocity. The discrete system"
        " of the document is the rectangle rule from the left, for the Lagrangian and, by pullback,"
        " for the force; its recurrence (2.5) has a closed form (2.6), here with the sign of the"
        " friction in cos(theta) corrected. Order 1 with either start."
    ),
    system=system,
    method=LeftRectangle(),
    start={"q0": [X0], "v0": [V0]},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array([[-1.0, 0.0], [q[0], 0.0]]),
)
