"""A top whose inertia decays or grows exponentially, on SO(3): Colombo-Eyrea, Ex 3, corrected."""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.analysis import order
from accion.gallery import free_top
from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import SO3
from accion.systems import System

INERTIA = np.array([1.0, 2.0, 3.0])
KAPPA = -0.5
XI0, R0 = np.array([0.4, 1.0, 0.3]), np.eye(3)
H, STEPS = 0.02, 200


def lagrangian(t, R, xi, params):
    return 0.5 * jnp.exp(-params["kappa"] * t) * xi @ (params["I"] * xi)


def top(kappa, retraction="exp"):
    return System(lagrangian, SO3(retraction), {"I": INERTIA, "kappa": kappa}, name="damped top")


system = top(KAPPA)


def closed_form(t, kappa):
    """(R, xi) = (R_free(tau), e^(kappa t) eta(tau)) with tau = (e^(kappa t) - 1)/kappa and R_free,
    eta of the free top.
    """
    tau = np.expm1(kappa * t) / kappa
    return free_top.exact_attitude(tau, INERTIA, XI0), np.exp(kappa * t) * free_top.exact_velocity(
        tau, INERTIA, XI0
    )


@cache
def run(kappa, retraction="exp", h=H):
    return simulate(top(kappa, retraction), Midpoint(), q0=R0, v0=XI0, h=h, steps=STEPS)


def cayley_residual(kappa, h=H):
    """The discrete equations with Cayley's map, by hand: the largest error of both momenta of all
    steps.

    With tau(x) = R_k^T R_{k+1} and mu = e^(-kappa (t + h/2)) I x/h:
    p_k = mu + cross(x, mu)/2 + (x.mu) x/4 and p_{k+1} = mu - cross(x, mu)/2 + (x.mu) x/4.
    """
    traj = run(kappa, "cayley", h)
    t, R, p = (np.asarray(a) for a in (traj.t, traj.q, traj.p))
    F = np.einsum("kji,kjl->kil", R[:-1], R[1:])
    X = 2 * (F - np.eye(3)) @ np.linalg.inv(F + np.eye(3))
    x = np.stack([X[:, 2, 1], X[:, 0, 2], X[:, 1, 0]], axis=1)
    mu = np.exp(-kappa * (t[:-1, None] + h / 2)) * INERTIA * x / h
    even, odd = mu + np.sum(x * mu, axis=1, keepdims=True) * x / 4, np.cross(x, mu) / 2
    return max(np.max(np.abs(even + odd - p[:-1])), np.max(np.abs(even - odd - p[1:])))


def checks():
    rows = []
    for kappa in (0.5, -0.5):
        ref = data("000_ex3_rigid_body_SO3")["solutions"][str(kappa)]
        ts = [float(t) for t in ref["xi"]]
        R, xi = reference(top(kappa), q0=R0, v0=XI0, ts=[0.0, *ts])
        for i, t in enumerate(ref["xi"], 1):
            label = f"kappa = {kappa}: "
            rows += compare(f"{label}xi({t}), continuous", xi[i], ref["xi"][t], 1e-9)
            rows += compare(
                f"{label}R({t}), continuous, largest difference",
                np.max(np.abs(R[i] - np.array(ref["R"][t]))),
                0.0,
                1e-9,
            )
            exact_R, exact_xi = closed_form(float(t), kappa)
            rows += compare(f"{label}xi({t}), closed form", exact_xi, ref["xi"][t], 1e-11)
            rows += compare(
                f"{label}R({t}), closed form, largest difference",
                np.max(np.abs(exact_R - np.array(ref["R"][t]))),
                0.0,
                1e-11,
            )
        for retraction in ("exp", "cayley"):
            label = f"kappa = {kappa}, {retraction}: "
            measured = order(
                top(kappa, retraction),
                Midpoint(),
                q0=R0,
                v0=XI0,
                duration=2.0,
                h=[0.04, 0.02, 0.01],
                exact=closed_form(2.0, kappa),
            )
            rows += compare(f"{label}order of the midpoint rule", measured.slope, 2, 0.05)
            traj = run(kappa, retraction)
            drift = np.max(
                np.abs(free_top.spatial_momentum(traj) - ref["spatial_momentum_conserved"])
            )
            rows += compare(f"{label}e^(-kappa t) R I xi, largest change", drift, 0.0, 1e-12)
            E = np.asarray(traj.energy())
            rows += compare(
                f"{label}rate of the energy of L, d log E/dt = kappa",
                np.polyfit(traj.t, np.log(E), 1)[0],
                kappa,
                H**2,
            )
            T = E[-1] * np.exp(kappa * float(traj.t[-1]))
            rows += compare(
                f"{label}kinetic energy at the end over e^(2 kappa t) E_0",
                T / (np.exp(2 * kappa * 4) * E[0]),
                1,
                4 * H**2,
            )
        rows += compare(
            f"kappa = {kappa}, cayley: discrete equations by hand, largest residual",
            cayley_residual(kappa),
            0.0,
            1e-12,
        )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (13, 3.9))
    left, middle, right = axes[0]
    ts = np.linspace(0, 4, 60)
    for ax, kappa in ((left, -0.5), (middle, 0.5)):
        traj = run(kappa)
        ax.plot(traj.t, traj.v, label=[f"$\\xi_{i}$" for i in (1, 2, 3)])
        ax.plot(ts, [closed_form(t, kappa)[1] for t in ts], "k.", ms=3)
        ax.plot([], [], "k.", ms=3, label="closed form")
        ax.set(
            xlabel="t [s]",
            ylabel="angular velocity in the body [rad/s]",
            title=f"$\\kappa$ = {kappa:g} /s: {'pumped' if kappa > 0 else 'damped'}",
        )
        ax.legend(fontsize=8)
    for kappa, color in ((0.5, "#d1495b"), (-0.5, "#1b6ca8")):
        traj = run(kappa)
        T = np.asarray(traj.energy()) * np.exp(kappa * np.asarray(traj.t))
        right.semilogy(traj.t, T, color=color, label=f"midpoint rule, $\\kappa$ = {kappa:g} /s")
        right.semilogy(
            ts,
            T[0] * np.exp(2 * kappa * ts),
            "k:",
            lw=1.2,
            label="$e^{2 \\kappa t} E_0$" if kappa > 0 else None,
        )
    right.set(
        xlabel="t [s]",
        ylabel="kinetic energy $\\xi \\cdot I\\xi / 2$ [J]",
        title="law of the energy",
    )
    right.legend(fontsize=8, loc="upper left")
    return fig


entry = Entry(
    name="damped_top",
    title="Damped top",
    source="Colombo-Eyrea, Ex 3, corrected",
    text=(
        "A top on SO(3) with L = e^(-kappa t) xi.I xi/2. Its equations are I xi' = I xi x xi +"
        " kappa I xi (the document prints the product the other way round): kappa > 0 pumps energy,"
        " kappa < 0 takes it away. It is the free top with another clock, xi(t) = e^(kappa t)"
        " eta(tau), tau = (e^(kappa t) - 1)/kappa. The momentum in space e^(-kappa t) R I xi is"
        " kept, by the discrete motion to roundoff, with both retractions."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": R0, "v0": XI0},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
)
