"""A charged particle with friction: Colombo-Eyrea, Ex 2 and 5, corrected."""

import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Trapezoid
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import mechanical

Q0, V0, H = np.array([1.0, 0.5, -0.2]), np.array([0.3, -0.4, 0.6]), 0.02


def vector_potential(q, params):
    x, y, z = q
    return jnp.array(
        [-params["B"] * y / 2, params["B"] * x / 2 + params["c"] * z**2, params["d"] * x * y]
    )


def weight(t, params):
    return jnp.exp(-params["kappa"] * t)


system = mechanical(
    1.0,
    None,
    Euclidean(3),
    weight=weight,
    magnetic=vector_potential,
    params={"kappa": -0.3, "B": 1.5, "c": 0.2, "d": 0.1},
    coordinates=("x [m]", "y [m]", "z [m]"),
    name="magnetic particle",
)


def run(h, steps):
    return np.asarray(simulate(system, Trapezoid(), q0=Q0, v0=V0, h=h, steps=steps).q)


def at_4(h):
    steps = round(4 / h)
    return np.asarray(
        simulate(system, Trapezoid(), q0=Q0, v0=V0, h=h, steps=steps, save_every=steps).q[-1]
    )


def checks():
    ref = data("000_ex2_ex5_magnetic")
    right = ref["continuous"]["qdd=kappa(A+v)+(J^T-J)v"]
    q, v = reference(system, q0=Q0, v0=V0, ts=[0.0, *map(float, right)])
    rows = []
    for i, (t, target) in enumerate(right.items()):
        rows += compare(
            f"(q, v)({t}), continuous", np.concatenate([q[i + 1], v[i + 1]]), target, 1e-9
        )
    x = run(H, 200)
    for k, target in ref["discrete_trapezoidal_momentum_start_h0p02"].items():
        rows += compare(f"q_{k}, trapezoid, matched start", x[int(k)], target, 1e-12)
    errors = ref["errors_at_t4"]
    for h, target in zip(errors["h"], errors["vs_lorentz"], strict=True):
        error = np.max(np.abs(at_4(h) - right["4"][:3]))
        rows += compare(f"error at t = 4, h = {h}", error, target, 1e-11)
    return rows


def figure():
    fig, axes = new_figure(1, 2, (10, 3.8))
    ts = np.linspace(0, 8, 800)
    q, _ = reference(system, q0=Q0, v0=V0, ts=ts)
    left, right = axes[0]
    left.plot(q[:, 0], q[:, 1], label="continuous")
    x = run(0.1, 80)
    left.plot(x[:, 0], x[:, 1], "o", ms=3, label="trapezoid, h = 0.1 s")
    left.plot(*Q0[:2], "k*", label="start")
    left.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    left.legend()
    hs = np.array([0.16, 0.08, 0.04, 0.02, 0.01])
    end = data("000_ex2_ex5_magnetic")["continuous"]["qdd=kappa(A+v)+(J^T-J)v"]["4"][:3]
    printed = data("000_ex2_ex5_magnetic")["continuous"]["printed (wrong) equation"]["4"][:3]
    finals = [at_4(h) for h in hs]
    right.loglog(
        hs,
        [np.max(np.abs(x - end)) for x in finals],
        "o-",
        label="against the equation with Lorentz force",
    )
    right.loglog(
        hs,
        [np.max(np.abs(x - printed)) for x in finals],
        "o-",
        label="against the printed equation",
    )
    right.loglog(hs, 0.2 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(right, hs)
    right.set(ylabel="distance at t = 4 s [m]")
    right.legend(fontsize=8)
    return fig


entry = Entry(
    name="magnetic_particle",
    title="Charged particle in a magnetic field, with friction",
    source="Colombo-Eyrea, Ex 2 and 5, corrected",
    text=(
        "The Lagrangian e^{-kappa t} (A(q).v + |v|^2/2) gives q'' = kappa (A + v) + (J^T - J) v,"
        " where J = dA/dq: the Lorentz force, which the document cancels by mistake, is there. The"
        " discrete system converges to this equation with order 2 and stays 2.38 m away from the"
        " printed one."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    card=True,
)
