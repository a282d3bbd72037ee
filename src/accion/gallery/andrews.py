"""Andrews' squeezing mechanism: seven bodies, six loop constraints; the standard benchmark of
constrained multibody dynamics.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.plot.figures import COLORS, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System

# Data in SI units, as in the literature (Giles and Manning, Schiehlen; Hairer and Wanner, Solving
# ODEs II, section VII.7).
MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIA = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
DA, EA, FA, RA = 115e-4, 1421e-5, 1421e-5, 92e-5  # centres of mass along the rods d, e, f, r
SA, SB, TA, TB, UA, UB = 1874e-5, 1043e-5, 2308e-5, 916e-5, 1228e-5, 449e-5
SC, SD, XC, YC = 18e-3, 2e-2, 0.014, 0.072  # the hook of the spring on the lever, and its fixed end
POINTS = {"x_a": -0.06934, "y_a": -0.00227, "x_b": -0.03635, "y_b": 0.03273}
LENGTHS = {"d": 28e-3, "e": 2e-2, "f": 2e-2, "r": 7e-3, "s": 35e-3, "z": 4e-2, "u": 4e-2}

NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
Q0 = np.array(
    [
        -0.0617138900142764496,
        0.0,
        0.455279819163070380,
        0.222668390165885884,
        0.487364979543842550,
        -0.222668390165885884,
        1.23054744454982119,
    ]
)
# The angles at t = 0.03 s, from the literature.
END = np.array(
    [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ]
)
DURATION = 0.03
STEPS = 24_000  # with which the midpoint method has the angles to 1e-6
SAVES = 240  # the same in every run, so that the loop is compiled once
RUNS = (1_200, 2_400, 4_800, 9_600, STEPS)


def inertia():
    """Moments of inertia J_i of the bodies, each with what it carries, and the couplings k_i that
    turn with the angle between two.
    """
    m, I, a, b = MASS, INERTIA, LENGTHS["e"] - EA, LENGTHS["f"] - FA
    r, z, u = LENGTHS["r"], LENGTHS["z"], LENGTHS["u"]
    return {
        "J1": m[0] * RA**2 + m[1] * (r**2 + DA**2) + I[0] + I[1],
        "J2": m[1] * DA**2 + I[1],
        "J3": m[2] * (SA**2 + SB**2) + I[2],
        "J4": m[3] * a**2 + I[3],
        "J5": m[3] * (z**2 + a**2) + m[4] * (TA**2 + TB**2) + I[3] + I[4],
        "J6": m[5] * b**2 + I[5],
        "J7": m[5] * (u**2 + b**2) + m[6] * (UA**2 + UB**2) + I[5] + I[6],
        "k2": m[1] * DA * r,
        "k4": m[3] * z * a,
        "k6": m[5] * u * b,
    }


def spring():
    """Stiffness, length at rest, and the square of the length, g0 + g1 cos(gamma) + g2
    sin(gamma).
    """
    x, y = POINTS["x_b"] - XC, POINTS["y_b"] - YC
    return {
        "c": 4530.0,
        "l": 7785e-5,
        "g0": SD**2 + SC**2 + x**2 + y**2,
        "g1": 2 * (SD * x - SC * y),
        "g2": 2 * (SC * x + SD * y),
    }


PARAMS = {**inertia(), **spring(), "M": 33e-3, **POINTS, **LENGTHS}


def lagrangian(t, q, v, params):
    """Kinetic energy, less the spring at the lever and the constant moment on the crank."""
    sin, cos = jnp.sin, jnp.cos
    beta, theta, gamma, phi, _, omega, _ = q
    db, dth, dg, dph, dde, dom, dep = v
    J1, J2, J3, J4, J5, J6, J7 = (params[f"J{i}"] for i in range(1, 8))
    k2, k4, k6 = params["k2"], params["k4"], params["k6"]
    crank = (
        (J1 - 2 * k2 * cos(theta)) * db**2 / 2 + (J2 - k2 * cos(theta)) * db * dth + J2 * dth**2 / 2
    )
    lever = J3 * dg**2 / 2
    left = (
        J4 * dph**2 / 2 + (J4 + k4 * sin(phi)) * dph * dde + (J5 + 2 * k4 * sin(phi)) * dde**2 / 2
    )
    right = (
        J6 * dom**2 / 2
        + (J6 - k6 * sin(omega)) * dom * dep
        + (J7 - 2 * k6 * sin(omega)) * dep**2 / 2
    )
    length = jnp.sqrt(params["g0"] + params["g1"] * cos(gamma) + params["g2"] * sin(gamma))
    return (
        crank
        + lever
        + left
        + right
        - params["c"] * (length - params["l"]) ** 2 / 2
        + params["M"] * beta
    )


def loops(t, q, params):
    """Where the crank's rod ends, less where each of the three arms says it does."""
    sin, cos = jnp.sin, jnp.cos
    beta, theta, gamma, phi, delta, omega, epsilon = q
    d, e, f, r, s, z, u, xa, ya, xb, yb = (
        params[key] for key in (*"defrszu", "x_a", "y_a", "x_b", "y_b")
    )
    x = r * cos(beta) - d * cos(beta + theta)
    y = r * sin(beta) - d * sin(beta + theta)
    return jnp.array(
        [
            x - s * sin(gamma) - xb,
            y + s * cos(gamma) - yb,
            x - e * sin(phi + delta) - z * cos(delta) - xa,
            y + e * cos(phi + delta) - z * sin(delta) - ya,
            x - f * cos(omega + epsilon) - u * sin(epsilon) - xa,
            y - f * sin(omega + epsilon) + u * cos(epsilon) - ya,
        ]
    )


COORDINATES = tuple(f"{name} [rad]" for name in NAMES)
system = System(
    lagrangian,
    Euclidean(7),
    PARAMS,
    holonomic=loops,
    coordinates=COORDINATES,
    name="Andrews' squeezing mechanism",
)


@cache
def run(steps):
    """The trajectory to t = 0.03 s by the midpoint method."""
    return simulate(
        system,
        Midpoint(),
        q0=Q0,
        v0=np.zeros(7),
        h=DURATION / steps,
        steps=steps,
        save_every=steps // SAVES,
    )


def error(steps):
    """The largest difference of an angle at the end from the literature."""
    return float(np.max(np.abs(run(steps).q[-1] - END)))


def checks():
    fine = run(STEPS)
    rows = [
        row
        for name, a, b in zip(NAMES, fine.q[-1], END, strict=True)
        for row in compare(f"{name} at t = 0.03 s", a, b, 1e-6)
    ]
    phi = jax.vmap(lambda q: loops(0.0, q, PARAMS))(fine.q)
    rows += compare("largest gap of a loop [m]", np.max(np.abs(phi)), 0.0, 1e-14)
    slope = np.polyfit(np.log(RUNS), np.log([error(n) for n in RUNS]), 1)[0]
    return rows + compare("order of Midpoint()", -slope, 2, 0.05)


def figure():
    fig, axes = new_figure(1, 3, (13, 3.8))
    left, middle, right = axes[0]
    fine = run(STEPS)
    # The crank turns more than twice; its angles are shown within one turn, and not joined where
    # they jump.
    q = np.asarray(fine.q)
    turned = (q + np.pi) % (2 * np.pi) - np.pi
    turned[1:][np.abs(np.diff(turned, axis=0)) > np.pi] = np.nan
    for name, row in zip(NAMES, turned.T, strict=True):
        left.plot(1e3 * np.asarray(fine.t), row, lw=1.2, label=name)
    left.plot(
        np.full(7, 1e3 * DURATION),
        (END + np.pi) % (2 * np.pi) - np.pi,
        "k.",
        label="literature",
        clip_on=False,
    )
    left.set(xlabel="t [ms]", ylabel="angle within a turn [rad]", ylim=(-3.3, 5.6))
    left.legend(ncols=3, fontsize=8, loc="upper right")
    for k, alpha in ((0, 0.25), (SAVES * 2 // 3, 0.5), (SAVES, 1.0)):
        draw(middle, fine.q[k], alpha, f"t = {1e3 * float(fine.t[k]):.0f} ms")
    middle.set(
        xlabel="x [m]", ylabel="y [m]", aspect="equal", title="the seven bodies and the spring"
    )
    middle.legend(fontsize=8, loc="upper left")
    hs = [DURATION / n for n in RUNS]
    right.loglog(hs, [error(n) for n in RUNS], "o-", label="Midpoint()")
    right.loglog(
        hs,
        [error(RUNS[0]) * (h / hs[0]) ** 2 for h in hs],
        "--",
        color=COLORS[5],
        lw=1,
        label="h^2",
    )
    step_axis(right, hs)
    right.tick_params(axis="x", labelrotation=30)
    right.set(ylabel="largest error of an angle at 0.03 s")
    right.legend()
    return fig


def draw(ax, q, alpha, label):
    """The bodies at one instant: joints, rods, the plate of the lever, and the spring."""
    points = np.asarray(positions(q))
    ax.plot(*points.T, "o-", ms=3, lw=1.5, color=COLORS[0], alpha=alpha, label=label)
    ax.plot(*np.array([points[3], [XC, YC]]).T, ":", color=COLORS[1], alpha=alpha)


def positions(q, params=PARAMS):
    """The joints in one line: crank and its rod, the plate of the lever, one arm, the other arm."""
    beta, theta, gamma, _, delta, _, epsilon = q
    p = params

    def at(angle):
        return jnp.array([jnp.cos(angle), jnp.sin(angle)])

    def across(angle):
        return jnp.array([jnp.sin(angle), -jnp.cos(angle)])

    a, b = jnp.array([p["x_a"], p["y_a"]]), jnp.array([p["x_b"], p["y_b"]])
    crank = p["r"] * at(beta)
    joint = crank - p["d"] * at(beta + theta)
    hook = b + SD * at(gamma) + SC * across(gamma)
    return jnp.stack(
        [
            jnp.zeros(2),
            crank,
            joint,
            hook,
            b,
            joint,
            a + p["z"] * at(delta),
            a,
            a + p["u"] * across(epsilon),
            joint,
        ]
    )


entry = Entry(
    name="andrews",
    title="Andrews' squeezing mechanism",
    source="Hairer and Wanner, Solving ODEs II, section VII.7",
    text=(
        "Seven plane bodies that a motor drives and a spring holds back, joined in three loops:"
        " seven angles, six constraints, one degree of freedom, and a motion of 30 ms that is"
        " checked against the published angles at its end. J are moments of inertia, each of a body"
        " with what it carries, k couplings between two bodies, M the moment of the motor; the root"
        " is the length of the spring."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": np.zeros(7)},
    h=DURATION / STEPS,
    steps=STEPS,
    checks=checks,
    figure=figure,
    positions=positions,
)
