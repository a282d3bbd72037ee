"""A free particle in R^3 whose Lagrangian decays or grows in time: Colombo-Gamonal, Ex 1 and 2,
with their two figures, corrected.
"""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import mechanical

Q0, V0 = np.array([18.0, 6.0, 10.0]), np.array([2.22, -1.86, 3.48])
H, N = 0.005, 200


def weight(t, params):
    return jnp.exp(-params["kappa"] * t)


system = mechanical(
    1.0,
    None,
    Euclidean(3),
    weight=weight,
    params={"kappa": -5.0},
    coordinates=("x [m]", "y [m]", "z [m]"),
    name="Caldirola particle",
)


def printed_run():
    """The run of the document, from q1 = q0 + h v0."""
    return simulate(system, Trapezoid(), q0=Q0, q1=Q0 + H * V0, h=H, steps=N)


def exact(ts):
    """q(t) = q0 + v0 (e^{kappa t} - 1)/kappa."""
    kappa = system.params["kappa"]
    return Q0 + np.outer(np.expm1(kappa * np.asarray(ts)) / kappa, V0)


def discrete_energies(q):
    """1/2 |dq/h|^2 (of the autonomous Lagrangian) and E_d of (20), corrected: 1/(4h) where 1/(2h)
    is printed.
    """
    kappa = system.params["kappa"]
    dq = np.sum(np.diff(q, axis=0) ** 2, axis=1)
    t = H * np.arange(len(q))
    return dq / (2 * H**2), dq / (4 * H) * (np.exp(-kappa * t[:-1]) + np.exp(-kappa * t[1:]))


def checks():
    ref = data("002_ex1_2_caldirola_free_particle")
    discrete = ref["discrete"]
    q_c, _ = reference(system, q0=Q0, v0=V0, ts=[0.0, 0.5, 1.0])
    rows = compare("q(0.5), continuous", q_c[1], ref["continuous"]["q(0.5)"], 1e-9)
    rows += compare("q(1), continuous", q_c[2], ref["continuous"]["q(1)"], 1e-9)
    traj = printed_run()
    q, p = np.asarray(traj.q), np.asarray(traj.p)
    for k in (1, 2, 100, 200):
        rows += compare(f"q_{k}, printed start", q[k], discrete[f"q_{k}"], 1e-12)
    momentum, angular = "p_k=-D1L (conserved)", "L_k=q_k x p_k (conserved)"
    rows += compare("momentum at the end", p[-1], discrete[momentum], 1e-12)
    rows += compare("angular momentum at the end", np.cross(q, p)[-1], discrete[angular], 1e-11)
    rows += compare("drift of momentum", np.max(np.abs(p - p[0])), 0.0, 1e-13)
    rows += compare(
        "drift of angular momentum", np.max(np.abs(np.cross(q, p) - np.cross(q, p)[0])), 0.0, 1e-11
    )
    autonomous, energy = discrete_energies(q)
    for k in ("0", "1", "50", "100", "150", "199"):
        rows += compare(
            f"1/2 |dq/h|^2, k = {k}",
            autonomous[int(k)],
            discrete["E_autonomous 1/2|dq/h|^2"][k],
            1e-11,
        )
        rows += compare(
            f"E_d (20) corrected, k = {k}",
            energy[int(k)],
            discrete["E_d (20) corrected (1/4h)"][k],
            1e-12,
        )
    matched = np.asarray(simulate(system, Trapezoid(), q0=Q0, v0=V0, h=H, steps=N).q)
    rows += compare("q_200, matched start", matched[-1], discrete["momentum_matched_q_200"], 1e-12)
    ts = H * np.arange(N + 1)
    rows += compare(
        "max error, printed start",
        np.max(np.abs(q - exact(ts))),
        discrete["max_err_vs_exact"],
        1e-8,
    )
    rows += compare(
        "max error, matched start",
        np.max(np.abs(matched - exact(ts))),
        discrete["max_err_momentum_matched"],
        1e-10,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (12.5, 3.4))
    traj = printed_run()
    q, p = np.asarray(traj.q), np.asarray(traj.p)
    t = H * np.arange(N)
    autonomous, energy = discrete_energies(q)
    kappa = system.params["kappa"]
    ax = axes[0, 0]
    ax.semilogy(t, energy / H, label="E_L, discrete")
    ax.semilogy(t, autonomous, label="1/2 |v|^2, discrete")
    ax.semilogy(
        t, autonomous[0] * np.exp(kappa * t), "k:", lw=1, label="e^{kappa t}, e^{2 kappa t}"
    )
    ax.semilogy(t, autonomous[0] * np.exp(2 * kappa * t), "k:", lw=1)
    ax.set(xlabel="t [s]", ylabel="energy [J]", title="energy decays (Fig. 1)")
    v = np.diff(q, axis=0) / H
    for ax, kept, decays, name in (
        (axes[0, 1], p[:-1], v, "linear momentum"),
        (axes[0, 2], np.cross(q, p)[:-1], np.cross(q[:-1], v), "angular momentum"),
    ):
        ax.plot(t, kept, color="#2e933c", lw=1.2, label=["kept: with p = -D1 Ld", None, None])
        ax.plot(t, decays, color="#6a4c93", lw=1.2, label=["decays: with v", None, None])
        ax.set(xlabel="t [s]", ylabel=name, title=f"{name} (Fig. 2)")
    for ax in axes[0]:
        ax.legend(fontsize=8)
    return fig


entry = Entry(
    name="caldirola_particle",
    title="Free particle with exponential friction, in R^3",
    source="Colombo-Gamonal, Ex 1 and 2, Figures 1 and 2, corrected",
    text=(
        "The Lagrangian e^{-kappa t} |v|^2/2 gives friction for kappa < 0. Its momenta p ="
        " e^{-kappa t} v and q x p are constant, the velocity and q x v decay like e^{kappa t}, the"
        " energy like e^{kappa t} and the kinetic energy like e^{2 kappa t}. The discrete momenta"
        " are constant to roundoff. The start q1 = q0 + h v0 of the document makes the error 120"
        " times larger than the start with matched momentum."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=N,
    checks=checks,
    figure=figure,
)
