"""A crank that pulls a mass by a string over a pulley: Romero, Ex 1.2, made definite.

The crank, of radius a and balanced, turns about the origin; the pulley is small, at the distance b
> a; alpha = 0 points at it. The string from the tip of the crank to the pulley has the length
s(alpha), and the mass M on its other end rises with it:

    s^2 = a^2 + b^2 - 2 a b cos(alpha),    s' = ds/dalpha = a b sin(alpha) / s,
    (I + M s'^2) alpha'' + M s' s'' (dalpha/dt)^2 + M g s' = 0
"""

import jax.numpy as jnp
import numpy as np

from accion.analysis import order
from accion.gallery.base import Entry, compare, same_accelerations
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Torus
from accion.systems import System, particles, rigid_body

START, H = 2.0, 0.005
PARAMS = {"M": 2.0, "I": 0.5, "a": 0.3, "b": 0.8, "gravity": 9.81}
COORDINATES = ("alpha [rad]",)


def string(alpha, params):
    """The length of the string from the tip of the crank to the pulley."""
    a, b = params["a"], params["b"]
    return jnp.sqrt(a**2 + b**2 - 2 * a * b * jnp.cos(alpha))


def lagrangian(t, q, v, params):
    M, s = params["M"], string(q[0], params)
    slope = params["a"] * params["b"] * jnp.sin(q[0]) / s
    return 0.5 * (params["I"] + M * slope**2) * v[0] ** 2 - M * params["gravity"] * s


system = System(lagrangian, Torus(1), PARAMS, coordinates=COORDINATES, name="crank and pulley")


def hanging(t, q, params):
    """The mass, below the pulley; its height is counted from where it hangs when the tip is at the
    pulley.
    """
    return jnp.array([[params["b"], string(q[0], params)]])


def weight(t, q, params):
    return params["M"] * params["gravity"] * hanging(t, q, params)[0, 1]


def from_particles():
    """The same system from the position of the mass and the angle of the crank, balanced about its
    axis.
    """
    crank = rigid_body(
        0.0, lambda params: params["I"], lambda t, q, params: jnp.array([0.0, 0.0, q[0]])
    )
    options = {"params": PARAMS, "coordinates": COORDINATES, "name": "crank and pulley"}
    return particles(
        hanging, lambda params: params["M"], weight, Torus(1), bodies=[crank], **options
    )


def quarter_period():
    """The time from rest at alpha = START to alpha = 0, from the energy: the integral of dalpha /
    |dalpha/dt|, by Gauss-Legendre.

    With alpha = START cos(2 x) the integrand is smooth, and the difference of heights is written as
    a product, which does not cancel.
    """
    M, I, a, b, g = (PARAMS[key] for key in ("M", "I", "a", "b", "gravity"))
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x = np.pi / 8 * (nodes + 1)
    alpha = START * np.cos(2 * x)
    s, top = np.asarray(string(alpha, PARAMS)), float(string(START, PARAMS))
    drop = 4 * a * b * np.sin((START + alpha) / 2) * np.sin(START * np.sin(x) ** 2) / (s + top)
    inertia = I + M * (a * b * np.sin(alpha) / s) ** 2
    return np.pi / 8 * weights @ (np.sqrt(inertia / (2 * M * g * drop)) * 2 * START * np.sin(2 * x))


def tension(traj):
    """The force in the string, M (g + d2s/dt2), by differences of the height of the mass."""
    s = np.asarray(string(traj.q[:, 0], PARAMS))
    return PARAMS["M"] * (PARAMS["gravity"] + (s[2:] - 2 * s[1:-1] + s[:-2]) / float(traj.h) ** 2)


def checks():
    quarter = quarter_period()
    q, v = reference(system, q0=[START], v0=[0.0], ts=[0.0, quarter, 2 * quarter, 4 * quarter])
    fall = float(string(START, PARAMS)) - (PARAMS["b"] - PARAMS["a"])
    speed = np.sqrt(2 * PARAMS["M"] * PARAMS["gravity"] * fall / PARAMS["I"])
    rows = same_accelerations(system, from_particles())
    rows += compare(
        "(alpha, rate) after a quarter of the period, by quadrature",
        [q[1, 0], v[1, 0]],
        [0.0, -speed],
        1e-9,
    )
    rows += compare(
        "(alpha, rate) after half of the period", [q[2, 0], v[2, 0]], [-START, 0.0], 1e-9
    )
    rows += compare("(alpha, rate) after the period", [q[3, 0], v[3, 0]], [START, 0.0], 1e-9)
    traj = simulate(system, Midpoint(), q0=[START], v0=[0.0], h=H, steps=600)
    rows += compare(
        "the string is never slack: least tension below zero",
        min(0.0, np.min(tension(traj))),
        0.0,
        1e-12,
    )
    for method in (Midpoint(), Trapezoid()):
        measured = order(
            system, method, q0=[START], v0=[0.0], duration=0.8, h=[0.01, 0.005, 0.0025, 0.00125]
        )
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
    return rows


def figure():
    fig, axes = new_figure(1, 2, (9.5, 3.4))
    left, right = axes[0]
    traj = simulate(system, Midpoint(), q0=[START], v0=[0.0], h=H, steps=600)
    left.plot(traj.t, traj.q[:, 0])
    for k in range(1, 8):
        left.axvline(k * quarter_period(), color="#8d8d8d", lw=0.6)
    left.set(
        xlabel="t [s]",
        ylabel="alpha [rad]",
        title="quarters of the period by quadrature",
        xlim=(0, float(traj.t[-1])),
    )
    right.plot(traj.t[1:-1], tension(traj))
    right.set(xlabel="t [s]", ylabel="tension [N]", title="the string stays taut")
    return fig


def linkage(q, params=PARAMS):
    a, b, s = params["a"], params["b"], string(q[0], params)
    tip = a * jnp.array([jnp.cos(q[0]), jnp.sin(q[0])])
    return jnp.stack([jnp.zeros(2), tip, jnp.array([b, 0.0]), jnp.array([b, s - 1.5])])


entry = Entry(
    name="crank_pulley",
    title="Crank and pulley",
    source="Romero, Ex 1.2, with a geometry of its own",
    text=(
        "A balanced crank pulls a mass by a string over a small pulley beside it; the angle of the"
        " crank is the only coordinate. The mass draws the tip of the crank towards the pulley,"
        " about which it swings; the period is that of the quadrature of the energy."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [START], "v0": [0.0]},
    h=H,
    steps=600,
    checks=checks,
    figure=figure,
    positions=linkage,
)
