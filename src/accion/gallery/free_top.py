"""A body that turns freely about its centre of mass, on SO(3): Euler's polhodes, the flip about the
middle axis, elliptic functions.
"""

from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ellipj, ellipk, ellipkinc

from accion.analysis import order
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import SO3
from accion.systems import System

INERTIA = np.array([1.0, 2.0, 3.0])
W0 = np.array([0.1, 1.5, 0.0])  # close to the axis of the middle moment of inertia
R0 = np.eye(3)
H, STEPS, EVERY = 0.01, 10_000, 10


def lagrangian(t, R, omega, params):
    return 0.5 * omega @ (params["I"] * omega)


system = System(lagrangian, SO3(), {"I": INERTIA}, name="free top")
by_cayley = System(lagrangian, SO3("cayley"), {"I": INERTIA}, name="free top")


def elliptic(I, w0):
    """(amplitudes, rate, m, c, d): omega_c goes with cn, omega_d with dn and the middle one with sn
    of rate t, parameter m.
    """
    E2, G2 = I @ w0**2, (I * w0) @ (I * w0)
    # The momentum goes round the axis with dn: that of the largest moment where G^2 > 2 E I_2, else
    # that of the smallest.
    c, d = (0, 2) if E2 * I[1] < G2 else (2, 0)
    near, far = E2 * I[d] - G2, G2 - E2 * I[c]
    sides = {
        c: near / (I[c] * (I[d] - I[c])),
        1: near / (I[1] * (I[d] - I[1])),
        d: far / (I[d] * (I[d] - I[c])),
    }
    amplitudes = np.sqrt([sides[i] for i in range(3)])
    rate = np.sqrt((I[d] - I[1]) * far / np.prod(I))
    return amplitudes, rate, (I[1] - I[c]) * near / ((I[d] - I[1]) * far), c, d


def exact_velocity(ts, I=INERTIA, w0=W0):
    """omega in the body at the times `ts`, shape (..., 3), for I_1 < I_2 < I_3."""
    amplitudes, rate, m, c, d = elliptic(I, w0)
    side = 1.0 if w0[d] > 0 else -1.0
    u0 = ellipkinc(np.arctan2(w0[1] / amplitudes[1], side * w0[c] / amplitudes[c]), m)
    sn, cn, dn, _ = ellipj(u0 + rate * np.asarray(ts, dtype=float), m)
    parts = {c: side * cn, 1: sn, d: side * dn}
    return amplitudes * np.stack([parts[i] for i in range(3)], axis=-1)


def exact_attitude(t, I=INERTIA, w0=W0):
    """R at time `t` from R = 1 at 0, shape (3, 3).

    The momentum R I omega stays where it is, which leaves the angle psi about it, with psi' = G (2
    E - I_3 omega_3^2)/(G^2 - I_3^2 omega_3^2) for the direction of e_3 x I omega: an integral, by
    Gauss's rule.
    """
    E2, G = I @ w0**2, np.linalg.norm(I * w0)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(0.0, t, 2 + int(20 * abs(t) * G / I[0]))
    half = np.diff(edges)[:, None] / 2
    w3 = exact_velocity(edges[:-1, None] + half * (1 + nodes), I, w0)[..., 2]
    psi = np.sum(half * weights * G * (E2 - I[2] * w3**2) / (G**2 - (I[2] * w3) ** 2))

    def frame(w):
        """The columns e_3 x M, M x (e_3 x M) and M, each of length 1."""
        b3 = I * w / G
        b1 = np.cross([0.0, 0.0, 1.0], b3)
        b1 /= np.linalg.norm(b1)
        return np.stack([b1, np.cross(b3, b1), b3], axis=1)

    about = np.array([[np.cos(psi), -np.sin(psi), 0], [np.sin(psi), np.cos(psi), 0], [0, 0, 1]])
    return frame(w0) @ about @ frame(exact_velocity(t, I, w0)).T


def spatial_momentum(traj):
    """R p at each saved time, shape (times, 3)."""
    return np.einsum("kij,kj->ki", traj.q, traj.p)


@cache
def run(w0=tuple(W0), h=H):
    return simulate(system, Midpoint(), q0=R0, v0=w0, h=h, steps=STEPS, save_every=EVERY)


def flips(traj):
    """The times at which omega_2 is zero."""
    return CubicSpline(traj.t, np.asarray(traj.v)[:, 1]).roots(extrapolate=False)


def checks():
    ts = np.array([0.0, 2.0, 5.0, 10.0, 20.0])
    R, w = reference(system, q0=R0, v0=W0, ts=ts)
    rows = []
    for i, t in enumerate(ts[1:], 1):
        rows += compare(
            f"omega({t:g}), continuous against Jacobi's functions", w[i], exact_velocity(t), 1e-9
        )
        rows += compare(
            f"R({t:g}), continuous against the closed form, largest difference",
            np.max(np.abs(R[i] - exact_attitude(t))),
            0.0,
            1e-9,
        )
    exact = exact_attitude(5.0), exact_velocity(5.0)
    for retraction, each in (("exp", system), ("cayley", by_cayley)):
        measured = order(
            each, Midpoint(), q0=R0, v0=W0, duration=5.0, h=[0.1, 0.05, 0.025], exact=exact
        )
        rows += compare(f"order of the midpoint rule with {retraction}", measured.slope, 2, 0.05)
    traj = run()
    drift = np.max(np.abs(spatial_momentum(traj) - INERTIA * W0))
    rows += compare("R p, largest change in 10^4 steps [kg m^2/s]", drift, 0.0, 1e-12)
    E = np.abs(np.asarray(traj.energy()) - INERTIA @ W0**2 / 2)
    half = len(E) // 2
    rows += compare(
        "largest energy error of the last half over that of the first",
        np.max(E[half:]) / np.max(E[:half]),
        1,
        0.01,
    )
    _, rate, m, *_ = elliptic(INERTIA, W0)
    times = flips(traj)
    rows += compare("flips in 100 s", len(times), round(100 * rate / (2 * ellipk(m))), 0.5)
    rows += compare(
        "time between flips, 2 K(m)/rate [s]", np.mean(np.diff(times)), 2 * ellipk(m) / rate, H**2
    )
    return rows


def view(p):
    """Points of space as one sees them from between the axes: right and up in the picture, and
    towards the eye.
    """
    eye = np.array([1.0, 1.3, 0.8])
    eye /= np.linalg.norm(eye)
    right = np.cross([0, 0, 1], eye)
    right /= np.linalg.norm(right)
    return np.asarray(p) @ np.stack([right, np.cross(eye, right), eye], axis=1)


def polhodes(ax):
    """The momentum in the body, from several starts on one sphere, as points of the discrete
    trajectories; faint on the far side.
    """
    G = np.linalg.norm(INERTIA * W0)
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle), color="#999999", lw=0.8)
    for axis, color in ((0, "#1b6ca8"), (2, "#d1495b")):
        for side in (1, -1):
            for tilt in (0.12, 0.3, 0.5, 0.7, 0.92):
                p0 = np.zeros(3)
                p0[axis], p0[1] = side * np.cos(tilt * np.pi / 2), np.sin(tilt * np.pi / 2)
                seen = view(np.asarray(run(tuple(G * p0 / INERTIA), H / 4).p) / G)
                for front in (True, False):
                    shown = np.where((seen[:, 2:] > 0) == front, seen, np.nan)
                    ax.plot(
                        shown[:, 0],
                        shown[:, 1],
                        color=color,
                        lw=1.2 if front else 0.5,
                        alpha=1 if front else 0.3,
                    )
    for i in range(3):
        ends = view(np.outer([1.0, 1.25], np.eye(3)[i]))
        ax.plot(ends[:, 0], ends[:, 1], color="k", lw=1)
        ax.text(
            *view(1.38 * np.eye(3)[i])[:2],
            f"$p_{i + 1}$",
            ha="center",
            va="center",
            bbox={"fc": "w", "ec": "none", "pad": 1},
        )
    ax.set(
        aspect="equal",
        title=f"momentum in the body, |p| = {G:.3g} kg m²/s",
        xlim=(-1.25, 1.25),
        ylim=(-1.1, 1.4),
    )
    ax.axis("off")


def figure():
    fig, axes = new_figure(1, 3, (13, 4.2))
    left, middle, right = axes[0]
    polhodes(left)
    traj = run()
    t, w = np.asarray(traj.t), np.asarray(traj.v)
    middle.plot(t, w, label=[f"$\\omega_{i}$" for i in (1, 2, 3)])
    middle.plot(t[::10], exact_velocity(t[::10]), "k.", ms=3)
    middle.plot([], [], "k.", ms=3, label="Jacobi's functions")
    middle.set(
        xlabel="t [s]",
        ylabel="angular velocity in the body [rad/s]",
        title="flips about the middle axis",
        xlim=(0, 40),
        ylim=(-1.7, 2.4),
    )
    middle.legend(fontsize=8, loc="upper center", ncols=4, columnspacing=1.2)
    floor = 1e-17
    right.semilogy(
        t,
        np.max(np.abs(w - exact_velocity(t)), axis=1) + floor,
        lw=1,
        label="angular velocity [rad/s]",
    )
    right.semilogy(
        t, np.abs(np.asarray(traj.energy()) - INERTIA @ W0**2 / 2) + floor, lw=1, label="energy [J]"
    )
    right.semilogy(
        t,
        np.max(np.abs(spatial_momentum(traj) - INERTIA * W0), axis=1) + floor,
        lw=1,
        label="momentum in space [kg m²/s]",
    )
    right.set(
        xlabel="t [s]",
        ylabel="error",
        title=f"errors of the midpoint rule, h = {H:g} s",
        ylim=(1e-16, 30),
    )
    right.legend(fontsize=8, loc="upper right")
    return fig


entry = Entry(
    name="free_top",
    title="Free top",
    source="Landau and Lifshitz, Mechanics, section 37",
    text=(
        "A body turns freely: L = omega.I omega/2 on SO(3). Its angular velocity is given by"
        " Jacobi's elliptic functions, its attitude by the momentum in space, which stays, and one"
        " integral. Close to the axis of the middle moment of inertia it turns over again and"
        " again, every 2 K(m)/rate. The variational method keeps the momentum in space to roundoff"
        " (that in the body stays on its sphere), and its energy error does not grow."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": R0, "v0": W0},
    h=H,
    steps=2000,
    checks=checks,
    figure=figure,
)
