"""Nonholonomic and vakonomic mechanics side by side: a skate on an incline, a rolling penny, and a
pendulum, where they agree.
"""

import jax.numpy as jnp
import numpy as np

from accion.gallery import rolling_disk
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.solve.two_point import connect
from accion.spaces import Euclidean
from accion.systems import System

H, OMEGA = 0.01, 1.0
PARAMS = {"m": 1.0, "J": 0.5, "gravity": 9.81, "slope": 0.2}
Q0, V0 = np.zeros(3), np.array([0.0, 0.0, OMEGA])


def lagrangian(t, q, v, params):
    pull = params["m"] * params["gravity"] * jnp.sin(params["slope"])
    return 0.5 * params["m"] * (v[0] ** 2 + v[1] ** 2) + 0.5 * params["J"] * v[2] ** 2 + pull * q[0]


def edge(t, q, v, params):
    """No motion across the blade; x points down the incline, phi is the heading."""
    return jnp.array([v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])])


COORDINATES = ("x [m]", "y [m]", "phi [rad]")
system = System(
    lagrangian,
    Euclidean(3),
    PARAMS,
    nonholonomic=edge,
    coordinates=COORDINATES,
    name="skate on an incline",
)
vakonomic = System(
    lagrangian,
    Euclidean(3),
    PARAMS,
    vakonomic=edge,
    coordinates=COORDINATES,
    name="vakonomic skate",
)
penny = System(
    rolling_disk.lagrangian,
    Euclidean(4),
    rolling_disk.PARAMS,
    vakonomic=rolling_disk.rolling,
    name="vakonomic penny",
)


def exact(t):
    """The nonholonomic skate from rest: it moves across the incline on a cycloid and does not go
    down on average.
    """
    k = PARAMS["gravity"] * np.sin(PARAMS["slope"]) / (2 * OMEGA**2)
    return np.stack(
        [k * np.sin(OMEGA * t) ** 2, k * (OMEGA * t - np.sin(2 * OMEGA * t) / 2), OMEGA * t],
        axis=-1,
    )


def nonholonomic_error(method, h):
    steps = round(3 / h)
    return np.max(
        np.abs(
            simulate(system, method, q0=Q0, v0=V0, h=h, steps=steps, save_every=steps).q[-1]
            - exact(3.0)
        )
    )


def pendulum_pair():
    """A pendulum: held by phi = 0, and vakonomically by its time derivative; the same motion."""

    def L(t, q, v, params):
        return 0.5 * v @ v - 9.81 * q[1]

    held = System(L, Euclidean(2), holonomic=lambda t, q, params: jnp.array([0.5 * (q @ q - 1)]))
    free = System(L, Euclidean(2), vakonomic=lambda t, q, v, params: jnp.array([q @ v]))
    return held, free


def checks():
    ts = [0.0, 1.0, 2.0, 3.0]
    q, _ = reference(system, q0=Q0, v0=V0, ts=ts)
    rows = []
    for t, row in zip(ts[1:], q[1:], strict=True):
        rows += compare(
            f"nonholonomic skate at {t}, continuous against the closed form", row, exact(t), 1e-9
        )
    for method in (Midpoint(), Trapezoid()):
        errors = [nonholonomic_error(method, h) for h in (0.02, 0.01, 0.005)]
        rows += compare(
            f"order of {method} on the nonholonomic skate",
            np.log2(errors[0] / errors[2]) / 2,
            2,
            0.05,
        )
    qv, _, _ = reference(vakonomic, q0=Q0, v0=V0, lam0=[0.0], ts=ts)
    errors = []
    for h in (0.02, 0.01, 0.005):
        n = round(3 / h)
        traj = simulate(vakonomic, Midpoint(), q0=Q0, v0=V0, lam0=[0.0], h=h, steps=n, save_every=n)
        errors.append(np.max(np.abs(traj.q[-1] - qv[-1])))
    rows += compare(
        "order of Midpoint() on the vakonomic skate", np.log2(errors[0] / errors[2]) / 2, 2, 0.05
    )
    marched = simulate(vakonomic, Midpoint(), q0=Q0, v0=V0, lam0=[0.0], h=H, steps=100)
    joined = connect(
        vakonomic, Midpoint(), qa=marched.q[0], qb=marched.q[-1], duration=1.0, steps=100
    )
    rows += compare(
        "two-point and marched vakonomic skate, largest distance",
        np.max(np.abs(marched.q - joined.q)),
        0.0,
        1e-11,
    )
    held, free = pendulum_pair()
    start = {"q0": [np.sin(1.0), -np.cos(1.0)], "v0": [0.0, 0.0]}
    a, _ = reference(held, **start, ts=[0.0, 1.0, 2.0])
    b, _, _ = reference(free, **start, lam0=[0.0], ts=[0.0, 1.0, 2.0])
    return rows + compare(
        "holonomic and vakonomic pendulum agree, t = 2", b[-1], np.asarray(a[-1]), 1e-9
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 3.8))
    n = 600
    a = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=n)
    ax = axes[0, 0]
    ax.plot(a.q[:, 1], a.q[:, 0], label="nonholonomic")
    for lam0 in (0.0, 1.0):
        b = simulate(vakonomic, Midpoint(), q0=Q0, v0=V0, lam0=[lam0], h=H, steps=n)
        ax.plot(b.q[:, 1], b.q[:, 0], label=f"vakonomic, lambda(0) = {lam0:g}")
    ax.set(xlabel="y, across [m]", ylabel="x, downhill [m]", title="skate on an incline, 6 s")
    ax.invert_yaxis()
    ax = axes[0, 1]
    disk = rolling_disk
    ts = np.linspace(0, 5, 300)
    ax.plot(*disk.exact(ts)[:, :2].T, label="nonholonomic")
    for lam0 in (0.0, 0.5):
        c = simulate(penny, Midpoint(), q0=disk.Q0, v0=disk.V0, lam0=[lam0, 0.0], h=0.02, steps=250)
        ax.plot(c.q[:, 0], c.q[:, 1], label=f"vakonomic, lambda(0) = ({lam0:g}, 0)")
    ax.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="rolling penny, 5 s")
    ax = axes[0, 2]
    held, free = pendulum_pair()
    start = {"q0": [np.sin(1.0), -np.cos(1.0)], "v0": [0.0, 0.0], "h": H, "steps": 300}
    one, two = simulate(held, Midpoint(), **start), simulate(free, Midpoint(), **start, lam0=[0.0])
    ax.plot(one.t, one.q[:, 0], label="holonomic")
    ax.plot(two.t[::6], two.q[::6, 0], "o", ms=3, label="vakonomic, q.v = 0")
    ax.set(xlabel="t [s]", ylabel="x [m]", title="pendulum: they agree")
    for ax in axes[0]:
        ax.legend(fontsize=7)
    return fig


entry = Entry(
    name="skate",
    title="Skate on an incline, and penny: nonholonomic and vakonomic",
    source="Vakonomic thesis, chapters 3 and 4",
    text=(
        "The same Lagrangian and the same constraint, by two principles. Nonholonomic mechanics"
        " (Lagrange-d'Alembert) is what a skate does; vakonomic mechanics makes the action"
        " stationary among curves that satisfy the constraint, and depends on a multiplier at the"
        " start. They differ; for a constraint that can be integrated they agree."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=600,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [
            q[1::-1] - 0.3 * jnp.array([jnp.sin(q[2]), jnp.cos(q[2])]),
            q[1::-1] + 0.3 * jnp.array([jnp.sin(q[2]), jnp.cos(q[2])]),
        ]
    ),
)
