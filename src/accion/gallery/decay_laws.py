"""The laws of momentum and energy where the Lagrangian decays in time: Colombo-Gamonal, section 3,
corrected.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis import decay, symmetries
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.stepping.views import discrete
from accion.systems import mechanical

KAPPA, OMEGA = -0.4, 2.0
Q0, V0 = np.array([1.0, 0.0]), np.array([0.3, 1.2])
H, DURATION = 0.05, 10.0
STEPS = (0.1, 0.05, 0.025)


def potential(t, q, params):
    return 0.5 * params["omega"] ** 2 * q @ q


def weight(t, params):
    return jnp.exp(-params["kappa"] * t)


system = mechanical(
    1.0,
    potential,
    Euclidean(2),
    weight=weight,
    params={"kappa": KAPPA, "omega": OMEGA},
    coordinates=("x [m]", "y [m]"),
    name="Caldirola oscillator in the plane",
)


def exact(t):
    """q(t), the solution of q'' = kappa q' - omega^2 q."""
    w = jnp.sqrt(OMEGA**2 - KAPPA**2 / 4)
    return jnp.exp(KAPPA * t / 2) * (
        Q0 * jnp.cos(w * t) + (V0 - KAPPA * Q0 / 2) / w * jnp.sin(w * t)
    )


def motion(t):
    """(q, v) of the solution."""
    return jax.jvp(exact, (t,), (1.0,))


def turn(q):
    """The rotation of the plane."""
    return jnp.array([-q[1], q[0]])


@cache
def run(method, h):
    return simulate(system, method, q0=Q0, v0=V0, h=h, steps=round(DURATION / h))


def autonomous_momentum(traj):
    """J = x v_y - y v_x, the angular momentum of the Lagrangian without its weight."""
    q, v = np.asarray(traj.q), np.asarray(traj.v)
    return q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0]


@cache
def actions(method, h):
    """The action from the start to each time: the sums of Ld."""
    traj = run(method, h)
    Ld = jax.jit(jax.vmap(lambda t, a, b: discrete(system, method).Ld(t, h, a, b)))(
        traj.t[:-1], traj.q[:-1], traj.q[1:]
    )
    return np.concatenate([[0.0], np.cumsum(np.asarray(Ld))])


def energy_errors(method, h):
    """(E - E(0)) - kappa (action) at each time: zero for the motion itself."""
    E = np.asarray(run(method, h).energy())
    return E - E[0] - KAPPA * actions(method, h)


def checks():
    ts = [0.0, 1.0, 5.0, 10.0]
    q, v = reference(system, q0=Q0, v0=V0, ts=ts)
    rows = []
    for t, row in zip(ts[1:], q[1:], strict=True):
        rows += compare(f"q({t:g}), continuous against the closed form", row, exact(t), 1e-9)
    J = np.asarray(q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0])
    rows += compare(
        "J(10)/J(0) = e^{+10 kappa}, continuous", J[-1] / J[0], np.exp(10 * KAPPA), 1e-9
    )
    rate = jax.grad(lambda t: system.energy(t, *motion(t)))(3.0)
    rows += compare(
        "dE/dt = kappa L on the motion, t = 3",
        float(rate),
        KAPPA * float(system.L(3.0, *motion(3.0))),
        1e-12,
    )
    (rotation,) = symmetries(system)
    for method in (Midpoint(), Trapezoid()):
        traj = run(method, H)
        law = decay(traj, turn)
        rows += compare(f"{method}: rate of J, measured", law.measured, law.predicted, 1e-10)
        rows += compare(f"{method}: drift of p.X", rotation.symmetry.drift(traj), 0.0, 1e-13)
        errors = [np.max(np.abs(energy_errors(method, h))) for h in STEPS]
        rows += compare(
            f"{method}: order of E - E(0) - kappa (action)",
            np.polyfit(np.log(STEPS), np.log(errors), 1)[0],
            2,
            0.05,
        )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (13, 4.0))
    left, middle, right = axes[0]
    traj = run(Trapezoid(), H)
    t, J, E = np.asarray(traj.t), autonomous_momentum(traj), np.asarray(traj.energy())
    name = f"trapezoid, h = {H:g} s"
    left.semilogy(t[::5], J[::5], "o", ms=3.5, label=name)
    left.semilogy(t, J[0] * np.exp(KAPPA * t), "k-", lw=1, label="J(0) e^{+kappa t}")
    left.semilogy(
        t, J[0] * np.exp(-KAPPA * t), ":", color="#d1495b", label="J(0) e^{-kappa t}, as printed"
    )
    left.set(
        xlabel="t [s]", ylabel="J = x v_y - y v_x [m^2/s]", title=f"momentum, kappa = {KAPPA:g} 1/s"
    )
    middle.plot(t[::4], E[::4], "o", ms=3.5, label=name)
    middle.plot(t, E[0] + KAPPA * actions(Trapezoid(), H), "k-", lw=1, label="dE/dt = kappa L")
    middle.plot(
        t, E[0] * np.exp(KAPPA * t), ":", color="#d1495b", label="dE/dt = kappa E, as printed"
    )
    middle.set(
        xlabel="t [s]",
        ylabel="energy E = v dL/dv - L [J]",
        title="energy",
        ylim=(0, 1.45 * np.max(E)),
    )
    for method, label in ((Midpoint(), "midpoint"), (Trapezoid(), "trapezoid")):
        right.loglog(
            STEPS, [np.max(np.abs(energy_errors(method, h))) for h in STEPS], "o-", label=label
        )
    right.loglog(STEPS, 0.3 * np.array(STEPS) ** 2, "k:", lw=1, label="slope 2")
    step_axis(right, STEPS)
    right.set(ylabel="largest |E - E(0) - kappa (action)| [J]", title="the energy law, discretised")
    for ax in axes[0]:
        ax.legend(fontsize=8)
    return fig


entry = Entry(
    name="decay_laws",
    title="The laws of momentum and energy under exponential friction",
    source="Colombo-Gamonal, section 3, Ex 1 and (9), corrected",
    text=(
        "An oscillator in the plane with the Lagrangian e^{-kappa t} (|v|^2 - omega^2 |q|^2)/2. The"
        " rotation is a symmetry, so that p.X = e^{-kappa t} J is constant, in discrete time to"
        " roundoff: J = x v_y - y v_x follows e^{+kappa t}, where (9) has e^{-kappa t}. The energy"
        " obeys dE/dt = kappa L, where Ex 1 has kappa E; here it goes up and down about a constant,"
        " and does not decay. In discrete time E - E(0) differs from kappa times the discrete"
        " action by O(h^2)."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([jnp.zeros(2), q]),
)
