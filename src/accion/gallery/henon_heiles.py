"""The galactic potential of Henon and Heiles: regular and chaotic motion, and the energy of long
runs.
"""

from functools import cache
from itertools import chain, cycle, pairwise, repeat
from typing import Any

import jax
import numpy as np
from scipy.special import ellipj

from accion.analysis import order, poincare_section, rk4, symmetries
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure
from accion.plot.figures import COLORS
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import mechanical

E0, Y0 = 1 / 12, -0.15
H, STEPS, ROWS = 0.025, 1_000_000, 10_000
# of a step of the Runge-Kutta method; the trapezoid rule needs one, that at the end of a step is
# the first of the next
ACCELERATIONS = 4


def potential(t, q, params):
    x, y = q
    return (x**2 + y**2) / 2 + x**2 * y - y**3 / 3


system = mechanical(
    1.0, potential, Euclidean(2), params={}, coordinates=("x [m]", "y [m]"), name="Henon-Heiles"
)


def start(energy, y, vy=0.0):
    """(q, v) on x = 0 with the given energy, moving to the right."""
    return np.array([0.0, y]), np.array(
        [np.sqrt(2 * (energy - potential(0.0, (0.0, y), None)) - vy**2), vy]
    )


Q0, V0 = start(E0, Y0)


def straight(energy, ts):
    """y(t) of the motion on the line x = 0 from its lower end: y'^2 = 2/3 (y - a)(y - b)(y - c), an
    elliptic function.
    """
    a, b, c = np.sort(np.real(np.roots([1 / 3, -1 / 2, 0, energy])))
    sn = ellipj(np.sqrt((c - a) / 6) * np.asarray(ts), (b - a) / (c - a))[0]
    return a + (b - a) * sn**2


@cache
def variational(h=H):
    """(t, energy error) of the trapezoid rule."""
    traj = simulate(system, Trapezoid(), q0=Q0, v0=V0, h=h, steps=STEPS, save_every=STEPS // ROWS)
    E = np.asarray(traj.energy())
    return np.asarray(traj.t), E - E[0]


@cache
def runge_kutta(h=H):
    """(t, energy error) of the Runge-Kutta method with as many accelerations over the same time."""
    steps = STEPS // ACCELERATIONS
    t, q, v = rk4(system, q0=Q0, v0=V0, h=ACCELERATIONS * h, steps=steps, save_every=steps // ROWS)
    E = np.asarray(jax.jit(jax.vmap(lambda q, v: system.energy(0.0, q, v)))(q, v))
    return np.asarray(t), E - E[0]


def growth(t, error):
    """The slope of log(error) over log(t), the largest errors of ten stretches of time that grow by
    equal factors.
    """
    edges = np.geomspace(t[-1] / 100, t[-1], 11)
    sizes = [np.max(np.abs(error[(t > a) & (t <= b)])) for a, b in pairwise(edges)]
    return np.polyfit(np.log(edges[1:]), np.log(sizes), 1)[0]


def checks():
    rows = compare("number of affine symmetries", len(symmetries(system)), 0, 0.5)
    low = straight(E0, 0.0)
    q, _ = reference(system, q0=[0.0, low], v0=[0.0, 0.0], ts=[0.0, 1.0, 5.0, 10.0])
    rows += compare(
        "y(1, 5, 10) on the line x = 0, continuous against the elliptic function",
        q[1:, 1],
        straight(E0, [1.0, 5.0, 10.0]),
        1e-9,
    )
    for method in (Midpoint(), Trapezoid()):
        measured = order(system, method, q0=Q0, v0=V0, duration=10.0, h=[0.1, 0.05, 0.025])
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
    third = np.array([[-0.5, -np.sqrt(0.75)], [np.sqrt(0.75), -0.5]])
    one, two = (
        simulate(system, Midpoint(), q0=R @ Q0, v0=R @ V0, h=0.1, steps=500)
        for R in (np.eye(2), third)
    )
    rows += compare(
        "turned by 120 degrees: largest distance from the turned motion",
        np.max(np.abs(two.q - one.q @ third.T)),
        0.0,
        1e-12,
    )
    (t, trapezoid), (_, control) = variational(), runge_kutta()
    rows += compare(
        "a million steps of the trapezoid rule: growth of the energy error, power of t",
        growth(t, trapezoid),
        0,
        0.05,
    )
    trend = np.polyfit(t, trapezoid, 1)[0] * t[-1] / np.max(np.abs(trapezoid))
    rows += compare("its trend over the whole run, relative to the largest error", trend, 0, 0.02)
    rows += compare(
        "Runge-Kutta 4 of the same cost: growth of the energy error, power of t",
        growth(t, control),
        1,
        0.05,
    )
    # The first tenth, as long as little energy is lost; twice the step is twice the time.
    sizes = [
        np.max(np.abs(run(h)[1][: ROWS // 10]))
        for run in (variational, runge_kutta)
        for h in (H, 2 * H)
    ]
    rows += compare(
        "energy error of the trapezoid rule, power of h", np.log2(sizes[1] / sizes[0]), 2, 0.05
    )
    return rows + compare(
        "energy lost in a second by Runge-Kutta 4, power of h",
        np.log2(sizes[3] / sizes[2] / 2),
        5,
        0.2,
    )


def section(energy, begin, h=0.1, steps=60_000):
    """Points (y, dy/dt) where motions of one energy cross x = 0 to the right: an array for each (y,
    dy/dt) that they begin with.
    """
    q0, v0 = (np.array(x) for x in zip(*(start(energy, *z) for z in begin), strict=True))
    found = poincare_section(
        system, Trapezoid(), section=to_the_right, q0=q0, v0=v0, h=h, steps=steps
    )
    z = np.stack([found.q[:, 1], found.v[:, 1]], axis=1)
    return [z[found.run == i] for i in range(found.runs)]


def to_the_right(t, q, v, params):
    return q[0]


SEA = "#9a9a9a"  # the colour of chaotic motions, which share one region
# For each energy the starts (y, dy/dt) of motions on closed curves, and of chaotic ones.
SECTIONS = {
    1 / 12: (
        [
            *((y, 0.0) for y in (-0.32, -0.25, -0.17, -0.05, 0.05, 0.15, 0.25)),
            (0.1, 0.25),
            (0.1, -0.25),
        ],
        [],
    ),
    1 / 8: (
        [*((y, 0.0) for y in (-0.35, 0.0, 0.1, 0.2, 0.3)), (0.0, 0.19), (0.0, -0.19)],
        [(-0.15, 0.0), (0.08, 0.3), (0.08, -0.3)],
    ),
}


def figure():
    fig, axes = new_figure(1, 3, (13, 4.2))
    ax = axes[0, 0]
    dots: Any = {
        "ls": "none",
        "marker": "o",
        "ms": 1.7,
        "mew": 0,
        "snap": False,
        "rasterized": True,
    }
    (t, trapezoid), (t4, control) = variational(), runge_kutta()
    ax.loglog(
        t[1:], np.abs(trapezoid[1:]), color="#1b6ca8", label=f"trapezoid, h = {H:g} s", **dots
    )
    ax.loglog(
        t4[1:],
        np.abs(control[1:]),
        color="#d1495b",
        label=f"Runge-Kutta 4, h = {ACCELERATIONS * H:g} s",
        **dots,
    )
    ax.set(
        xlabel="t [s]",
        ylabel="energy error [J]",
        title="a million accelerations each",
        ylim=(1e-9, 1e-2),
    )
    ax.legend(fontsize=8, loc="upper left", markerscale=4)
    for ax, (energy, (curves, sea)), name in zip(
        axes[0, 1:], SECTIONS.items(), ("1/12 J", "1/8 J"), strict=True
    ):
        for points, color in zip(
            section(energy, [*sea, *curves]),
            chain(repeat(SEA, len(sea)), cycle(COLORS)),
            strict=False,
        ):
            ax.plot(points[:, 0], points[:, 1], color=color, **dots)
        ax.set(xlabel="y [m]", ylabel="dy/dt [m/s]", title=f"Poincare section x = 0, energy {name}")
    return fig


entry = Entry(
    name="henon_heiles",
    title="Henon-Heiles: a million steps",
    source="Henon and Heiles, Astronomical Journal 69 (1964) 73",
    text=(
        "A star in the plane of a galaxy. The energy is all that is kept: there is no affine"
        " symmetry. Over a million steps the energy error of the trapezoid rule stays below a bound"
        " proportional to h^2. That of the Runge-Kutta method of order 4 is smaller at first and"
        " grows in proportion to time, at a rate proportional to h^5; it passes the other's. Both"
        " take the same number of accelerations over the same time: the trapezoid rule one a step"
        " (that at the end of a step serves the next), Runge-Kutta four, with four times the step."
        " The sections, by the trapezoid rule with h = 0.1 s, show closed curves at the low energy,"
        " islands in a sea of chaos at the higher one."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=4000,
    checks=checks,
    figure=figure,
    card=True,
    positions=lambda q: q[None],
)
