"""Splines as motions of second order: cubic, in tension, and Riemannian cubics of rotations
(Vakonomic thesis, chapter 5 and section 8.3).
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.solve.two_point import connect
from accion.spaces import SO3, Euclidean
from accion.stepping.views import discrete
from accion.systems import HigherOrderSystem

H, DURATION = 0.02, 2.0
QA, VA = np.array([0.0, 0.0]), np.array([0.0, 3.0])
QB, VB = np.array([2.0, 0.5]), np.array([1.0, -4.0])
# velocity of the body, and two derivatives
TURN = np.array([[0.9, -0.4, 1.2], [0.5, 2.1, -0.7], [-1.5, 0.3, 1.0]])


def lagrangian(t, q, v, a, params):
    return 0.5 * jnp.sum(a**2) + 0.5 * params["s"] ** 2 * jnp.sum(v**2)


def turning(t, q, v, a, params):
    return 0.5 * jnp.sum(a**2)


system = HigherOrderSystem(
    lagrangian, Euclidean(2), {"s": 2.0}, coordinates=("x [m]", "y [m]"), name="spline in tension"
)
rotations = HigherOrderSystem(turning, SO3(), name="Riemannian cubic on SO(3)")


def basis(t, s):
    """The four solutions of q'''' = s^2 q'' and their first three derivatives, shape (4, 4) + that
    of t; cubics where s = 0.
    """
    t, one, zero = np.asarray(t, dtype=float), np.ones_like(t), np.zeros_like(t)
    line = [[one, zero, zero, zero], [t, one, zero, zero]]
    if s == 0:
        curved = [[t**2, 2 * t, 2 * one, zero], [t**3, 3 * t**2, 6 * t, 6 * one]]
    else:
        cosh, sinh = np.cosh(s * t), np.sinh(s * t)
        curved = [
            [cosh, s * sinh, s**2 * cosh, s**3 * sinh],
            [sinh, s * cosh, s**2 * sinh, s**3 * cosh],
        ]
    return np.array(line + curved)


@lru_cache
def coefficients(s):
    """Of the spline from (QA, VA) to (QB, VB) in the time DURATION."""
    rows = np.stack([*basis(0.0, s)[:, :2].T, *basis(DURATION, s)[:, :2].T])
    return np.linalg.solve(rows, np.stack([QA, VA, QB, VB]))


def exact(t, s):
    """q and three derivatives of that spline, shape (times, 4, 2)."""
    return np.einsum("ij...,ik->...jk", basis(t, s), coefficients(s))


def marched(method, steps, s):
    start = exact(0.0, s)
    params = {"s": s}
    return simulate(
        system, method, q0=start[0], v0=start[1:], h=DURATION / steps, steps=steps, params=params
    )


def clamped(steps, s):
    return connect(
        system,
        Midpoint(),
        qa=QA,
        va=VA,
        qb=QB,
        vb=VB,
        duration=DURATION,
        steps=steps,
        params={"s": s},
    )


def error(run, s):
    return np.max(np.abs(np.asarray(run.q) - exact(np.asarray(run.t), s)[:, 0]))


def order(errors):
    return np.log2(errors[0] / errors[-1]) / (len(errors) - 1)


@lru_cache
def turned():
    """A Riemannian cubic: the continuous one at 65 times, the discrete one from its start, and the
    discrete one between its ends.
    """
    q, jets = reference(rotations, q0=np.eye(3), v0=TURN, ts=np.linspace(0, 1, 65))
    forth = simulate(rotations, Midpoint(), q0=np.eye(3), v0=TURN, h=1 / 64, steps=64)
    between = connect(
        rotations,
        Midpoint(),
        qa=q[0],
        va=jets[0, 0],
        qb=q[-1],
        vb=jets[-1, 0],
        duration=1.0,
        steps=64,
    )
    return np.asarray(q), np.asarray(jets), forth, between


def about_one_axis():
    """Turned about one axis e, a Riemannian cubic is R = exp(angle e) with a cubic as its angle."""
    axis, rates = np.array([2.0, -1.0, 2.0]) / 3, np.array([0.7, -1.1, 2.4])
    run = simulate(
        rotations, Midpoint(), q0=np.eye(3), v0=np.outer(rates, axis), h=1 / 64, steps=64
    )
    angle = rates @ np.array([1.0, 1 / 2, 1 / 6])
    return compare(
        "Riemannian cubic about one axis: its end, an angle that is a cubic of time",
        np.max(
            np.abs(np.asarray(run.q[-1]) - SO3().retract(jnp.eye(3), jnp.asarray(angle * axis)))
        ),
        0.0,
        1e-10,
    )


def checks():
    rows = compare(
        "cubic spline, marched: largest error over 100 steps",
        error(marched(Midpoint(), 100, 0.0), 0.0),
        0.0,
        1e-10,
    )
    nodes = exact(np.linspace(0, DURATION, 51), 0.0)[:, 0]
    joined = connect(
        system,
        Midpoint(),
        qa=nodes[:2],
        qb=nodes[-2:],
        duration=DURATION,
        steps=50,
        params={"s": 0.0},
    )
    rows += compare(
        "cubic spline between two nodes at each end: largest error", error(joined, 0.0), 0.0, 1e-10
    )
    for method in (Midpoint(), Trapezoid()):
        rows += compare(
            f"order of {method} on the spline in tension, marched",
            order([error(marched(method, n, 2.0), 2.0) for n in (50, 100)]),
            2,
            0.1,
        )
    rows += compare(
        "order of Midpoint() on the spline in tension, clamped at both ends",
        order([error(clamped(n, 2.0), 2.0) for n in (50, 100)]),
        2,
        0.1,
    )
    run, start = marched(Midpoint(), 100, 2.0), exact(0.0, 2.0)
    rows += compare(
        "p_0 = s^2 v - q''' is kept: largest change",
        np.max(np.abs(run.p[:, 0] - run.p[0, 0])),
        0.0,
        1e-10,
    )
    rows += compare("p_0 at the start", run.p[0, 0], 4.0 * start[1] - start[3], 5e-2)
    theta = jax.jit(discrete(system, Midpoint()).theta_plus)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    kept = [
        float(
            np.sum(
                np.asarray(theta(0.0, H, *run.q[k : k + 4]))
                * (np.asarray(run.q[k : k + 4]) @ turn.T)
            )
        )
        for k in (0, 40, 97)
    ]
    rows += compare(
        "Theta^+ of a turn of the plane is kept: largest change", np.ptp(kept), 0.0, 1e-7
    )
    rows += about_one_axis()
    q, jets, forth, between = turned()
    rows += compare(
        "Riemannian cubic: R w'' is constant, largest change",
        np.max(np.abs(np.einsum("kij,kj->ki", q, jets[:, 2]) - jets[0, 2])),
        0.0,
        1e-9,
    )
    rows += compare(
        "Riemannian cubic marched, 64 steps, largest error", np.max(np.abs(forth.q - q)), 0.0, 5e-4
    )
    return rows + compare(
        "Riemannian cubic between its ends, 64 steps, largest error",
        np.max(np.abs(between.q - q)),
        0.0,
        5e-4,
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 3.9))
    plane, orders, sphere = axes[0]
    t = np.linspace(0, DURATION, 200)
    for s in (0.0, 2.0, 6.0):
        line = plane.plot(
            *exact(t, s)[:, 0].T, label="cubic, s = 0" if s == 0 else f"in tension, s = {s:g}"
        )[0]
        run = clamped(40, s)
        plane.plot(run.q[:, 0], run.q[:, 1], "o", ms=2.5, color=line.get_color())
    plane.plot(*np.stack([QA, QB]).T, "ks", ms=5)
    plane.set(xlabel="x [m]", ylabel="y [m]", title="clamped splines: closed form, 40 steps (dots)")
    hs = DURATION / np.array([25, 50, 100, 200])
    for name, run in (
        ("marched", lambda n: marched(Midpoint(), n, 2.0)),
        ("clamped at both ends", lambda n: clamped(n, 2.0)),
    ):
        orders.loglog(hs, [error(run(round(DURATION / h)), 2.0) for h in hs], "o-", label=name)
    orders.loglog(hs, 0.4 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="largest error of q [m]", title="in tension, s = 2, Midpoint")
    draw_sphere(sphere)
    for ax, place in zip(axes[0], ("lower right", "lower right", "lower left"), strict=True):
        ax.legend(fontsize=7, loc=place)
    return fig


def draw_sphere(ax):
    """The third axis of the body on the unit sphere, seen from one side."""
    q, _, _, between = turned()
    view = np.linalg.qr(np.array([[1.0, 1.0, 0.6], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).T)[0].T[1:]
    around = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(around), np.sin(around), color="0.7", lw=1)
    group = SO3()
    x = group.local(q[0], q[-1])
    straight = np.stack([group.retract(q[0], s * x) for s in np.linspace(0, 1, 33)])
    for R, style, name in (
        (q, "-", "Riemannian cubic"),
        (straight, "--", "turn about one axis"),
        (np.asarray(between.q)[::4], "o", "64 steps, every 4th"),
    ):
        ax.plot(*(R[:, :, 2] @ view.T).T, style, ms=3, label=name)
    ax.set(aspect="equal", title="the body's third axis, on the sphere")
    ax.set_axis_off()


entry = Entry(
    name="splines",
    title="Splines: cubic, in tension, and of rotations",
    source="Vakonomic thesis, chapter 5 and section 8.3, corrected",
    text=(
        "A curve of least curvature, L = |a|^2/2 + s^2 |v|^2/2, is a system of second order: its"
        " motion is a cubic polynomial (s = 0) or a line plus cosh and sinh (a spline in tension)."
        " It is determined by q and three derivatives at the start, or by q and v at both ends. On"
        " the rotations the same Lagrangian has the Riemannian cubics, w''' = w'' x w, along which"
        " R w'' is constant."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": QA, "v0": exact(0.0, 2.0)[1:]},
    h=H,
    steps=100,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([q, q + jnp.array([0.02, 0.0])]),
)
