"""The disk that rolls upright, on SE(2) x S1: rolling is linear in body velocities, with constant
coefficients. Circle and slope in closed form.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from accion.gallery import rolling_disk
from accion.gallery.base import Entry, compare, data
from accion.gallery.rolling_disk import PHI0, SPIN, TURN, H
from accion.instant.continuous import accelerations, reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.plot.figures import step_axis
from accion.solve.simulation import simulate
from accion.spaces import SE2, Product, Torus
from accion.systems import System

PARAMS = {**rolling_disk.PARAMS, "pull": 0.0}  # [m/s^2], of gravity down a slope, against x
SLOPE = {**PARAMS, "pull": 1.5}
R, M, I = PARAMS["R"], PARAMS["m"], PARAMS["I"]
V0 = np.array([TURN, R * SPIN, 0.0, SPIN])  # (omega, vx, vy, dpsi)
COLORS = {"exp": "#1b6ca8", "cayley": "#2e933c"}
HS, BIG = (0.05, 0.025, 0.0125), 0.5  # [s]; a long step, for the figure


def level(t, q, v, params):
    omega, vx, vy, dpsi = v
    return (
        0.5 * params["J"] * omega**2
        + 0.5 * params["m"] * (vx**2 + vy**2)
        + 0.5 * params["I"] * dpsi**2
    )


def slope(t, q, v, params):
    g, _ = q
    return level(t, q, v, params) - params["m"] * params["pull"] * g[0, 2]


def rolling(t, q, v, params):
    """No sliding along the disk, none across it."""
    _, vx, vy, dpsi = v
    return jnp.array([vx - params["R"] * dpsi, vy])


OPTIONS = {
    "nonholonomic": rolling,
    "coordinates": ("theta [rad]", "x [m]", "y [m]", "psi [rad]"),
    "name": "rolling disk on SE(2) x S1",
}
system = System(level, Product(SE2(), Torus(1)), rolling_disk.PARAMS, **OPTIONS)
tilted = System(slope, Product(SE2("cayley"), Torus(1)), PARAMS, **OPTIONS)
# on the level `tilted` is `system` with the other retraction
RUNS = {"exp": system, "cayley": tilted}


def placed(x, y, phi, psi):
    """The configuration ([[R(phi), (x, y)], [0, 1]], psi): place and heading phi, rolling angle
    psi.
    """
    c, s = np.cos(phi), np.sin(phi)
    return np.array([[c, -s, x], [s, c, y], [0.0, 0.0, 1.0]]), np.array([psi])


Q0 = placed(0.0, 0.0, PHI0, 0.0)


def exact(t, params=PARAMS):
    """(q, v, lam) of (m + I/R^2) u' = -m pull cos(phi) with the speed u and phi = PHI0 + TURN t: on
    the level a circle.
    """
    w, phi = TURN, PHI0 + TURN * t
    k = params["pull"] * M / (M + I / R**2)
    c = R * SPIN + k / w * np.sin(PHI0)  # u = c - k/w sin(phi)
    x, y, roll = (
        np.diff(f(np.array([PHI0, phi])))[0] / w
        for f in (
            lambda a: c * np.sin(a) - k / (2 * w) * np.sin(a) ** 2,
            lambda a: -c * np.cos(a) - k / w * (a / 2 - np.sin(2 * a) / 4),
            lambda a: (c * a + k / w * np.cos(a)) / R,
        )
    )
    u = c - k / w * np.sin(phi)
    lam = np.array([I / R**2 * k * np.cos(phi), M * w * u - M * params["pull"] * np.sin(phi)])
    return placed(x, y, phi, roll), np.array([w, u, 0.0, u / R]), lam


def end(each, steps, h=H, **start):
    """(x, y, psi) where the discrete disk is after so many steps; no step between is kept, so that
    all runs share one compilation.
    """
    g, psi = simulate(each, Midpoint(), q0=Q0, **start, h=h, steps=steps, save_every=steps).q
    return np.append(g[-1, :2, 2], psi[-1])


def turned(name, h):
    """The angle of a step with the increment h V0: both retractions go along the same circle."""
    return h * TURN if name == "exp" else 2 * np.arctan(h * TURN / 2)


def uniform_end(name, steps, h=H):
    """The same for the disk whose first step has the increment h V0; every other has it too."""
    x, y, *_ = rolling_disk.exact(turned(name, h) / TURN)
    return end(RUNS[name], steps, h, q1=placed(x, y, PHI0 + turned(name, h), h * SPIN))


@cache
def errors():
    """The largest error of (x, y, psi) after 2 s from matched momenta: of exp on the level, of
    cayley on the slope.
    """
    cases = {
        "exp, on the level": (system, PARAMS),
        "cayley, on the slope": (tilted.with_params(SLOPE), SLOPE),
    }
    goals = {name: exact(2.0, params)[0] for name, (_, params) in cases.items()}
    return {
        name: [
            np.max(
                np.abs(
                    end(each, round(2 / h), h, v0=V0) - [*goals[name][0][:2, 2], *goals[name][1]]
                )
            )
            for h in HS
        ]
        for name, (each, _) in cases.items()
    }


def order(found):
    return np.log2(found[0] / found[-1]) / 2


def checks():
    ref = data("001_ex2.28_2.32_rolling_disk")["continuous"]
    ts = [0.0, *(float(t) for t in ref["xy"])]
    rows = []
    q, _ = reference(tilted, q0=Q0, v0=V0, ts=ts)
    for i, (t, target) in enumerate(ref["xy"].items(), 1):
        rows += compare(
            f"(x, y)({t}), continuous, against the disk in coordinates",
            q[0][i, :2, 2],
            target,
            1e-9,
        )
    (g, psi), v = reference(tilted.with_params(SLOPE), q0=Q0, v0=V0, ts=ts)
    force = jax.jit(lambda params, *point: accelerations(tilted.with_params(params))(*point)[1])
    for i, t in enumerate(ts[1:], 1):
        (goal, roll), w, lam = exact(t, SLOPE)
        rows += compare(
            f"(x, y, psi)({t:g}) on a slope, continuous, against the closed form",
            [*g[i, :2, 2], *psi[i]],
            [*goal[:2, 2], *roll],
            1e-9,
        )
        rows += compare(f"(omega, vx, vy, psi')({t:g}) on a slope", v[i], w, 1e-9)
        rows += compare(
            f"force along and across the disk at {t:g} on a slope",
            force(SLOPE, t, (g[i], psi[i]), v[i]),
            lam,
            1e-9,
        )
    for name in RUNS:
        for k in (10, 50):
            place = uniform_end(name, k)
            rows += compare(
                f"{name}: radius of the discrete circle, step {k}",
                np.linalg.norm(place[:2] - ref["center"]),
                ref["radius"],
                1e-12,
            )
            rows += compare(
                f"{name}: (x, y)_{k}, discrete",
                place[:2],
                rolling_disk.exact(k * turned(name, H) / TURN)[:2],
                1e-12,
            )
            rows += compare(f"{name}: psi_{k}, discrete", place[2], k * H * SPIN, 1e-12)
    for name, found in errors().items():
        rows += compare(f"{name}: order", order(found), 2, 0.05)
    return rows


def figure():
    fig, axes = new_figure(1, 3, (13, 4.0))
    left, middle, right = axes[0]
    circle = rolling_disk.exact(np.linspace(0, 5.3, 400))
    left.plot(*circle[:, :2].T, "k:", lw=1.2, label="continuous")
    runs = [
        ("in coordinates", np.asarray(rolling_disk.printed_run(BIG, 10).q)[:, :2], "#d1495b", "s")
    ]
    for name, color in COLORS.items():
        runs.append(
            (
                f"SE(2), {name}",
                np.array([uniform_end(name, k, BIG)[:2] for k in range(1, 11)]),
                color,
                "o",
            )
        )
    for label, points, color, marker in runs:
        left.plot(points[:, 0], points[:, 1], marker, ms=4.5, color=color, label=label)
    left.set(
        aspect="equal", xlabel="x [m]", ylabel="y [m]", title=f"on the level, ten steps of {BIG} s"
    )
    left.legend(fontsize=8, loc="center")
    curve = np.array([exact(t, SLOPE)[0][0][:2, 2] for t in np.linspace(0, 15, 600)])
    middle.plot(*curve.T, "k:", lw=1.2, label="closed form")
    points = np.array(
        [end(tilted.with_params(SLOPE), k, H / 10, v0=V0)[:2] for k in range(50, 1501, 50)]
    )
    middle.plot(
        *points.T, "o", ms=2.5, color=COLORS["cayley"], label=f"SE(2), cayley, h = {H / 10:g} s"
    )
    middle.set(
        aspect="equal",
        xlabel="x, uphill [m]",
        ylabel="y [m]",
        title="on a slope: it drifts sideways",
    )
    middle.legend(fontsize=8, loc="upper center")
    middle.set(xlim=(-6, 4), ylim=(-7, 4.5))
    for (name, found), color in zip(errors().items(), COLORS.values(), strict=True):
        right.loglog(HS, found, "o-", color=color, label=f"{name}: order {order(found):.2f}")
    step_axis(right, HS)
    right.set(
        ylabel="largest error of (x, y, psi) after 2 s [m, rad]",
        title="order, from matched momenta",
    )
    right.legend(fontsize=8)
    return fig


def positions(q):
    g, _ = q
    return jnp.stack([g[:2, 2] - R * g[:2, 0], g[:2, 2] + R * g[:2, 0]])


entry = Entry(
    name="rolling_disk_se2",
    title="Vertical rolling disk on SE(2) x S1",
    source=(
        "Bonich, Ex 2.28 on the group of the plane's motions; Bloch, Nonholonomic Mechanics and"
        " Control, 1.4"
    ),
    text=(
        "The rolling disk again, its place and heading as one element of SE(2). In body velocities"
        " rolling is linear with constant coefficients, vx = R psi', vy = 0, and on the level"
        " nothing depends on where the disk is. Started with the increment h v the discrete disk"
        " repeats it for ever: with exp it is on the continuous motion at any h, with cayley on the"
        " same circle but turning by 2 arctan(h omega/2) in a step; in coordinates the circle is"
        " too large by (h omega/2)/sin(h omega/2). On a slope the disk does not descend: it loops"
        " and drifts sideways, at the rate m pull/(2 omega (m + I/R^2)). The multipliers are the"
        " forces along and across the disk."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=50,
    checks=checks,
    figure=figure,
    positions=positions,
)
