"""The damped oscillator in three ways: by a weight, by Rayleigh friction, and by Herglotz."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Composition, Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.stepping.views import discrete
from accion.systems import ContactSystem, mechanical, rayleigh

PARAMS = {"gamma": 0.5, "omega": 2.0}
Q0, V0, Z0, H, T = 1.0, 0.3, 0.2, 0.05, 10.0
NAMED: dict[str, Any] = {"coordinates": ("q [m]",)}


def potential(t, q, params):
    return 0.5 * params["omega"] ** 2 * q[0] ** 2


def lagrangian(t, q, v, z, params):
    return 0.5 * v[0] ** 2 - potential(t, q, params) - params["gamma"] * z


def weight(t, params):
    return jnp.exp(params["gamma"] * t)


def dissipation(t, q, v, params):
    return 0.5 * params["gamma"] * v[0] ** 2


system = ContactSystem(lagrangian, Euclidean(1), PARAMS, name="Herglotz oscillator", **NAMED)
weighted = mechanical(1.0, potential, Euclidean(1), weight=weight, params=PARAMS, **NAMED)
rubbed = mechanical(
    1.0, potential, Euclidean(1), force=rayleigh(dissipation), params=PARAMS, **NAMED
)


def exact(ts):
    """(q, v, z): the solution of q'' + gamma q' + omega^2 q = 0 and its action, of which
    e^(gamma t) (z - q v / 2) is constant.
    """
    gamma, omega = PARAMS["gamma"], PARAMS["omega"]
    w = np.sqrt(omega**2 - gamma**2 / 4)
    c, s, b = np.cos(w * ts), np.sin(w * ts), (V0 + gamma * Q0 / 2) / w
    q = np.exp(-gamma * ts / 2) * (Q0 * c + b * s)
    v = np.exp(-gamma * ts / 2) * w * (b * c - Q0 * s) - gamma * q / 2
    return q, v, np.exp(-gamma * ts) * (Z0 - Q0 * V0 / 2) + q * v / 2


def run(own, h, method=None, gamma=None):
    """A run to the time T; `gamma` in place of its own."""
    params = None if gamma is None else PARAMS | {"gamma": gamma}
    action: dict[str, Any] = {"z0": Z0} if own is system else {}
    return simulate(
        own,
        method or Midpoint(),
        q0=[Q0],
        p0=[V0],
        **action,
        h=h,
        steps=round(T / h),
        params=params,
    )


def error(own, h, method=None):
    """The largest error of q over the run."""
    traj = run(own, h, method)
    return np.max(np.abs(np.asarray(traj.q)[:, 0] - exact(np.asarray(traj.t))[0]))


def of_weight(h):
    """The rate of a weight with which the midpoint rule has the steps of Herglotz: e^(rate h) = (1
    + gamma h / 2) / (1 - gamma h / 2).
    """
    return 2 * np.arctanh(PARAMS["gamma"] * h / 2) / h


def of_friction(h):
    """The friction with which it has the same steps: gamma (1 + (omega h / 2)^2)."""
    return PARAMS["gamma"] * (1 + (PARAMS["omega"] * h / 2) ** 2)


def decay(own):
    """The factor of the amplitude in a step: the root of the product of the two roots of its
    recurrence, by three neighbouring pairs of a run.
    """
    q = np.asarray(run(own, H).q)[:4, 0]
    # q_{k+1} = a q_k - b q_{k-1}, for k = 1 and 2
    _, b = np.linalg.solve([[q[1], -q[0]], [q[2], -q[1]]], q[2:4])
    return np.sqrt(b)


def checks():
    ts, gamma = np.array([0.0, 1.0, 4.0, T]), PARAMS["gamma"]
    q, v, z = reference(system, q0=[Q0], v0=[V0], z0=Z0, ts=ts)
    rows = []
    for name, found, target in zip("qvz", (q[:, 0], v[:, 0], z), exact(ts), strict=True):
        rows += compare(f"{name}(0, 1, 4, 10), continuous", found, target, 1e-12)
    ours = run(system, H)
    own = np.asarray(ours.q)[:, 0]
    for name, other, rate in (
        ("weight of the rate 2 artanh(gamma h / 2) / h", weighted, of_weight(H)),
        ("friction gamma (1 + (omega h / 2)^2)", rubbed, of_friction(H)),
    ):
        # Their momenta at the start are others: they begin with the same first step.
        there = simulate(
            other,
            Midpoint(),
            q0=[Q0],
            q1=own[1:2],
            h=H,
            steps=round(T / H),
            params=PARAMS | {"gamma": rate},
        )
        off = np.max(np.abs(np.asarray(there.q)[:, 0] - own))
        rows += compare(f"steps of Herglotz and of a {name}, largest difference", off, 0.0, 1e-12)
    a = gamma * H / 2
    rows += compare("decay in a step, Herglotz", decay(system), np.sqrt((1 - a) / (1 + a)), 1e-12)
    rows += compare("decay in a step, weight", decay(weighted), np.exp(-a), 1e-12)
    b = a / (1 + (PARAMS["omega"] * H / 2) ** 2)
    rows += compare("decay in a step, friction", decay(rubbed), np.sqrt((1 - b) / (1 + b)), 1e-12)
    for name, other in (("Herglotz", system), ("weight", weighted), ("friction", rubbed)):
        order = np.log2(error(other, 2 * H) / error(other, H))
        rows += compare(f"order of the midpoint rule, {name}", order, 2.0, 0.05)
    four = Composition(Midpoint(), 4)
    order = np.log2(error(system, 4 * H, four) / error(system, 2 * H, four))
    rows += compare("order of its composition, Herglotz", order, 4.0, 0.1)
    d = discrete(system, Midpoint())
    sigma = d.factor(0.0, H, ours.q[0], ours.q[1], ours.z[0], ours.z[1])
    return rows + compare("factor of the contact form", sigma, (1 - a) / (1 + a), 1e-14)


def figure():
    fig, axes = new_figure(1, 3, (12.5, 3.4))
    ts = np.linspace(0, T, 500)
    three = (("Herglotz", system, "-"), ("weight", weighted, "--"), ("Rayleigh", rubbed, "-"))
    q, _, z = exact(ts)
    ours = run(system, H)
    axes[0, 0].plot(ts, q, label="q, exact")
    axes[0, 0].plot(ts, z, label="z, exact")
    axes[0, 0].plot(ours.t[::4], ours.q[::4, 0], ".", ms=4, label="q, midpoint")
    axes[0, 0].plot(ours.t[::4], ours.z[::4], ".", ms=4, label="z, midpoint")
    axes[0, 0].set(xlabel="t [s]", ylabel="q [m], z [J s]", title="z' = L(q, v, z)")
    axes[0, 0].legend(fontsize=8)
    for name, own, line in three:
        traj = run(own, H)
        off = np.asarray(traj.q)[:, 0] - exact(np.asarray(traj.t))[0]
        axes[0, 1].plot(traj.t, off, line, lw=1.4, label=name)
    axes[0, 1].set(xlabel="t [s]", ylabel="error of q [m]", title="midpoint rule, h = 0.05 s")
    axes[0, 1].legend(fontsize=8)
    hs = np.array([0.2, 0.1, 0.05, 0.025])
    for name, own, line in three:
        axes[0, 2].loglog(hs, [error(own, h) for h in hs], "o" + line, label=name)
    four = Composition(Midpoint(), 4)
    axes[0, 2].loglog(hs, [error(system, h, four) for h in hs], "s-", label="Herglotz, order 4")
    step_axis(axes[0, 2], hs)
    axes[0, 2].set(ylabel="max error of q [m]", title="orders 2 and 4")
    axes[0, 2].legend(fontsize=8)
    return fig


entry = Entry(
    name="herglotz_oscillator",
    title="Damped oscillator by Herglotz, by a weight and by friction",
    source="Vermeeren, Bravetti and Seri 2019, cited by Colombo-Gamonal",
    text=(
        "The same equation q'' + gamma q' + omega^2 q = 0 three times: from the contact Lagrangian"
        " L = (v^2 - omega^2 q^2)/2 - gamma z with z' = L, from the weight e^{gamma t}, and from"
        " the dissipation gamma v^2/2. By the midpoint rule the first has the steps of the second"
        " with e^{gamma h} replaced by (1 + gamma h/2)/(1 - gamma h/2), and those of the third with"
        " gamma (1 + (omega h/2)^2): they agree to second order, and each decays at a rate of its"
        " own, the weight exactly. Only the contact Lagrangian does without time and without a"
        " force; its energy has the law dE/dt = -gamma E."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [Q0], "v0": [V0], "z0": Z0},
    h=H,
    steps=round(T / H),
    checks=checks,
    figure=figure,
    card=True,
)
