"""The Caldirola-Kanai oscillator: Colombo-Eyrea, Ex 1 and 4."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Trapezoid
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import mechanical

Q0, V0, H = 1.0, 0.3, 0.05
DAMPED, PUMPED = {"kappa": -0.5, "omega": 2.0}, {"kappa": 0.5, "omega": 2.0}


def potential(t, q, params):
    return 0.5 * params["omega"] ** 2 * q[0] ** 2


def weight(t, params):
    return jnp.exp(-params["kappa"] * t)


system = mechanical(
    1.0,
    potential,
    Euclidean(1),
    weight=weight,
    params=DAMPED,
    coordinates=("q [m]",),
    name="Caldirola oscillator",
)


def exact(ts, params):
    """The solution of q'' = kappa q' - omega^2 q from (1, 0.3)."""
    kappa, omega = params["kappa"], params["omega"]
    w = np.sqrt(omega**2 - kappa**2 / 4)
    return np.exp(kappa * ts / 2) * (
        Q0 * np.cos(w * ts) + (V0 - kappa * Q0 / 2) / w * np.sin(w * ts)
    )


def run(params, h, steps, printed):
    start: dict[str, Any] = {"q1": [Q0 + h * V0]} if printed else {"v0": [V0]}
    return np.asarray(
        simulate(system, Trapezoid(), q0=[Q0], **start, h=h, steps=steps, params=params).q[:, 0]
    )


def max_error(params, h, printed):
    """The largest error over 0 <= t <= 10."""
    steps = round(10 / h)
    return np.max(np.abs(run(params, h, steps, printed) - exact(h * np.arange(steps + 1), params)))


def checks():
    rows = []
    for name, params in (("damped", DAMPED), ("pumped", PUMPED)):
        ref = data(f"000_ex1_ex4_caldirola_oscillator_{name}")
        ts = [float(t) for t in ref["continuous"]]
        q, _ = reference(system.with_params(params), q0=[Q0], v0=[V0], ts=[0.0, *ts])
        rows += compare(
            f"{name}: q(0.5 .. 10), continuous", q[1:, 0], list(ref["continuous"].values()), 1e-9
        )
        for key, printed in (
            ("discrete_start_q0_plus_hv0", True),
            ("discrete_momentum_matched", False),
        ):
            x = run(params, H, 200, printed)
            label = "printed start" if printed else "matched start"
            for k, target in ref[key].items():
                rows += compare(f"{name}: q_{k}, {label}", x[int(k)], target, 1e-12)
            errors = ref["orders"]["err_printed" if printed else "err_matched"]
            for i, target in enumerate(errors):
                rows += compare(
                    f"{name}: max error, h = {H / 2**i:g}, {label}",
                    max_error(params, H / 2**i, printed),
                    target,
                    1e-8,
                )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (12.5, 3.4))
    ts = np.linspace(0, 10, 500)
    for ax, params, name, corner in (
        (axes[0, 0], DAMPED, "damped, kappa = -0.5", "upper right"),
        (axes[0, 1], PUMPED, "pumped, kappa = 0.5", "upper left"),
    ):
        ax.plot(ts, exact(ts, params), label="exact")
        ax.plot(
            H * np.arange(201), run(params, H, 200, False), ".", ms=3, label="trapezoid, h = 0.05 s"
        )
        ax.set(xlabel="t [s]", ylabel="q [m]", title=name)
        ax.legend(loc=corner)
    hs = np.array([0.1, 0.05, 0.025, 0.0125])
    ax = axes[0, 2]
    ax.loglog(
        hs, [max_error(DAMPED, h, True) for h in hs], "o-", label="q1 = q0 + h v0, as printed"
    )
    ax.loglog(hs, [max_error(DAMPED, h, False) for h in hs], "o-", label="matched momentum")
    ax.loglog(hs, 1.2 * hs, "k:", lw=1, label="slopes 1 and 2")
    ax.loglog(hs, 0.8 * hs**2, "k:", lw=1)
    step_axis(ax, hs)
    ax.set(ylabel="max error, 0 to 10 s [m]", title="the start decides the order")
    ax.legend(fontsize=8)
    return fig


entry = Entry(
    name="caldirola_oscillator",
    title="Oscillator with exponential friction or pumping",
    source="Colombo-Eyrea, Ex 1 and 4, corrected",
    text=(
        "The Lagrangian e^{-kappa t} (v^2 - omega^2 q^2)/2 gives q'' = kappa q' - omega^2 q: kappa"
        " < 0 damps, kappa > 0 pumps (the document says the opposite). Discretised by the trapezoid"
        " rule; with the printed start q1 = q0 + h v0 the order is 1, with matched momentum it"
        " is 2."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": [Q0], "v0": [V0]},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    card=True,
)
