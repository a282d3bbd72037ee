"""Heisenberg's group and Brockett's integrator: the simplest sub-Riemannian problem, with the
nonholonomic motion of the same Lagrangian under the same constraint beside it.
"""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.solve.two_point import connect
from accion.spaces import Euclidean
from accion.stepping.views import discrete
from accion.systems import System

H, STEPS = 0.05, 100
SPEED, HEADING = 1.0, 0.3
LAM = 1.5
Q0 = np.array([0.4, -0.3, 0.0])
V0 = SPEED * np.array([np.cos(HEADING), np.sin(HEADING), 0.0])
V0[2] = 0.5 * (Q0[0] * V0[1] - Q0[1] * V0[0])
ACROSS, UP = 0.3, 0.4  # where Brockett's integrator is steered to in time 1, in x and in z


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * (v[0] ** 2 + v[1] ** 2)


def area(t, q, v, params):
    """z is the area that the way in the plane sweeps, seen from the origin."""
    return jnp.array([v[2] - 0.5 * (q[0] * v[1] - q[1] * v[0])])


COORDINATES = ("x [m]", "y [m]", "z [m^2]")
system = System(
    lagrangian,
    Euclidean(3),
    {"m": 1.0},
    nonholonomic=area,
    coordinates=COORDINATES,
    name="nonholonomic motion on Heisenberg's group",
)
shortest = System(
    lagrangian,
    Euclidean(3),
    {"m": 1.0},
    vakonomic=area,
    coordinates=COORDINATES,
    name="Heisenberg's group",
)


def exact(t, lam):
    """The geodesic from Q0: v = SPEED (cos, sin)(HEADING + lam t), a circle of radius SPEED/lam in
    the plane; z changes by the area of its segment and of the triangle with the origin.
    """
    t = np.asarray(t, dtype=float)
    turn = lam * t
    far = SPEED * t * np.sinc(turn / (2 * np.pi))  # the chord
    along = HEADING + turn / 2
    x, y = far * np.cos(along), far * np.sin(along)
    segment = 0.5 * (SPEED / lam) ** 2 * (turn - np.sin(turn)) if lam else 0.0
    return Q0 + np.stack([x, y, segment + 0.5 * (Q0[0] * y - Q0[1] * x)], axis=-1)


def marched(method, h, duration, lam=LAM):
    steps = round(duration / h)
    return simulate(shortest, method, q0=Q0, v0=V0, lam0=[lam], h=h, steps=steps)


def angle(across, up):
    """By how much the heading turns on the way from the origin to (across, 0, up): the chord is 2 r
    sin(turn/2), the segment r^2 (turn - sin(turn))/2.
    """

    def off(turn):
        return (turn - np.sin(turn)) / (8 * np.sin(turn / 2) ** 2) - up / across**2

    found: Any = brentq(off, 1e-3, 2 * np.pi - 1e-9, xtol=1e-15)
    return found


def least(across, up):
    """The least cost, integral of m |v|^2/2 in time 1: half the square of the arc's length."""
    turn = angle(across, up)
    return 0.5 * (across * turn / (2 * np.sin(turn / 2))) ** 2


def arc(across, up, ts):
    """The geodesic from the origin to (across, 0, up) in time 1."""
    turn = angle(across, up)
    r, way = across / (2 * np.sin(turn / 2)), turn * np.asarray(ts) - turn / 2
    return np.stack(
        [
            r * (np.sin(way) + np.sin(turn / 2)),
            r * (np.cos(turn / 2) - np.cos(way)),
            0.5 * r**2 * (turn * np.asarray(ts) - np.sin(turn * np.asarray(ts))),
        ],
        axis=-1,
    )


@lru_cache
def steered(steps, method):
    """From the origin to (ACROSS, 0, UP) in time 1, and what it costs."""
    guess = arc(ACROSS, UP, np.linspace(0, 1, steps + 1)) * np.array([1.0, 0.8, 1.0])
    end = [ACROSS, 0.0, UP]
    run = connect(shortest, method, qa=np.zeros(3), qb=end, duration=1.0, steps=steps, guess=guess)
    d, q, h = discrete(shortest, method), jnp.asarray(run.q), 1 / steps
    each = jax.jit(jax.vmap(lambda a, b: d.Ld(0.0, h, a, b)))
    return run, float(jnp.sum(each(q[:-1], q[1:])))


def checks():
    ts = [0.0, 1.0, 3.0, 6.0]
    q, _, lam = reference(shortest, q0=Q0, v0=V0, lam0=[LAM], ts=ts)
    rows = compare("geodesic at t = 6, continuous", q[-1], exact(6.0, LAM), 1e-9)
    rows += compare("its multiplier is the momentum of z, constant", lam[-1], [LAM], 1e-9)
    errors = [
        np.max(np.abs(marched(Midpoint(), h, 3.0).q[-1] - exact(3.0, LAM)))
        for h in (0.1, 0.05, 0.025)
    ]
    rows += compare(
        "order of Midpoint() on the geodesic", np.log2(errors[0] / errors[2]) / 2, 2, 0.05
    )
    straight = simulate(system, Midpoint(), q0=Q0, v0=V0, h=H, steps=STEPS)
    rows += compare(
        "the nonholonomic motion is a straight line", straight.q[-1], exact(H * STEPS, 0.0), 1e-12
    )
    rows += compare("its multiplier is zero", np.max(np.abs(np.asarray(straight.lam))), 0.0, 1e-12)
    costs = [steered(n, Midpoint())[1] for n in (20, 40, 80)]
    rows += compare(
        "Brockett's integrator: cost by 20 and 40 steps, extrapolated",
        (4 * costs[1] - costs[0]) / 3,
        least(ACROSS, UP),
        2e-4,
    )
    off = [cost - least(ACROSS, UP) for cost in costs]
    rows += compare("order of the cost", np.log2(off[0] / off[2]) / 2, 2, 0.05)
    rows += compare(
        "straight up, a whole circle: 2 pi UP, the limit of the costs",
        least(1e-4, UP),
        2 * np.pi * UP,
        2e-3,
    )
    run, nodes = steered(80, Midpoint())[0], np.linspace(0, 1, 81)
    return rows + compare(
        "and its way, largest error in 80 steps",
        np.max(np.abs(np.asarray(run.q) - arc(ACROSS, UP, nodes))),
        0.0,
        1e-3,
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 3.9))
    plane, height, costs = axes[0]
    ts = np.linspace(0, 5, 300)
    for lam in (0.0, 0.75, LAM, 3.0):
        q = exact(ts, lam)
        label = "nonholonomic; vakonomic, 0" if lam == 0 else f"vakonomic, {lam:g}"
        shown = slice(0, 150 if lam == 0 else None)
        line = plane.plot(*q[shown, :2].T, label=label)[0]
        height.plot(ts, q[:, 2], color=line.get_color())
        if lam:
            run = marched(Midpoint(), 0.1, 5.0, lam)
            plane.plot(*np.asarray(run.q)[::3, :2].T, "o", ms=2.5, color=line.get_color())
            height.plot(run.t[::3], np.asarray(run.q)[::3, 2], "o", ms=2.5, color=line.get_color())
    plane.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="in the plane: circles")
    plane.legend(fontsize=7, title="lambda", title_fontsize=7, loc="upper right")
    plane.set_xlim(-1.3, 5.0)
    height.set(xlabel="t [s]", ylabel="z [m^2]", title="the area that is swept")
    across = np.linspace(0.02, 1.2, 80)
    costs.plot(across, [least(a, UP) for a in across], label="closed form")
    costs.plot([0], [2 * np.pi * UP], "ks", ms=5, label="whole circle, 2 pi z")
    costs.plot([ACROSS], [steered(20, Midpoint())[1]], "o", label="20 steps of Midpoint")
    costs.set(xlabel="x at the end [m]", ylabel="cost", title=f"Brockett: from 0 to (x, 0, {UP:g})")
    costs.legend(fontsize=7)
    return fig


entry = Entry(
    name="heisenberg",
    title="Heisenberg's group and Brockett's integrator",
    source="Vakonomic thesis, chapter 3, corrected; Brockett 1981",
    text=(
        "L = m |(x', y')|^2/2 with z' = (x y' - y x')/2. The vakonomic motions are the shortest"
        " ways: the multiplier is the momentum of z, the velocity turns at that rate, and the way"
        " is a circle; z is the area of its segment. The nonholonomic motion, under the same"
        " constraint with its reaction, is a straight line, whose reaction is zero. Steering the"
        " same system from one point to another at the least cost is Brockett's integrator."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([q[:2], q[:2] + jnp.array([0.02, 0.0])]),
)
