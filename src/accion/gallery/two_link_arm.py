"""An arm of two links that turns in the plane with the least torques at its shoulder and elbow."""

from functools import cache

import jax.numpy as jnp
import numpy as np
from numpy.polynomial import legendre
from scipy.optimize import least_squares

from accion.control import ControlProblem, optimize
from accion.gallery.base import compare
from accion.gallery.controlled import control_entry, half_square, held, order, strobe
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.spaces import Euclidean
from accion.systems import System

STEPS, DURATION, TERMS = 64, 1.5, 40
# uniform rods; centres of mass at c1 and c2
PARAMS = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "c1": 0.5, "c2": 0.5, "I1": 1 / 12, "I2": 1 / 12}
START, END = np.array([0.0, 0.0]), np.array([2.0, 0.0])


def kinetic(q, v, params):
    """theta1 is the angle of the first link, theta2 that of the second against it."""
    p, d = params, v[0] + v[1]
    first, second = (
        p["I1"] + p["m1"] * p["c1"] ** 2 + p["m2"] * p["l1"] ** 2,
        p["I2"] + p["m2"] * p["c2"] ** 2,
    )
    return (
        0.5 * first * v[0] ** 2
        + 0.5 * second * d**2
        + p["m2"] * p["l1"] * p["c2"] * jnp.cos(q[1]) * v[0] * d
    )


def lagrangian(t, q, v, params):
    return kinetic(q, v, params)


system = System(
    lagrangian,
    Euclidean(2),
    PARAMS,
    coordinates=("theta1 [rad]", "theta2 [rad]"),
    name="arm of two links",
)
problem = ControlProblem(
    system,
    half_square,
    actuated=[0, 1],
    controls=["u1 [N m]", "u2 [N m]"],
    duration=DURATION,
    name="turn of an arm",
    start=(START, np.zeros(2)),
    end=(END, np.zeros(2)),
)


@cache
def moved(steps):
    """It folds to one side or, in the reversed motion, to the other, at the same cost: here to the
    same for all meshes.
    """
    guess = None if steps == STEPS else moved(STEPS)
    return optimize(problem, Midpoint(), steps, guess, tolerance=1e-12)


def torques(q, v, a):
    """Newton's equations of both links, by hand; q, v, a of shape (2, times)."""
    p, s, c = PARAMS, np.sin(q[1]), np.cos(q[1])
    k = p["m2"] * p["l1"] * p["c2"]
    second = p["I2"] + p["m2"] * p["c2"] ** 2
    first = p["I1"] + p["m1"] * p["c1"] ** 2 + p["m2"] * p["l1"] ** 2
    u1 = (
        (first + second + 2 * k * c) * a[0]
        + (second + k * c) * a[1]
        - k * s * (2 * v[0] * v[1] + v[1] ** 2)
    )
    return np.stack([u1, (second + k * c) * a[0] + second * a[1] + k * s * v[0] ** 2])


class Curve:
    """All polynomial motions from rest to rest: 3 s^2 - 2 s^3 of the way, s = t/T, plus (1 - x^2)^2
    times polynomials of x = 2 s - 1.
    """

    def __init__(self, t, terms=TERMS):
        bump = legendre.poly2leg([1, 0, -2, 0, 1])
        basis = [legendre.legmul(bump, np.eye(terms)[j]) for j in range(terms)]
        way = legendre.poly2leg([0.5, 0.75, 0, -0.25])
        x, rate = 2 * t / DURATION - 1, 2 / DURATION

        def at(series, k):
            return rate**k * legendre.legval(x, legendre.legder(series, k))

        self.parts = [(at(way, k), np.stack([at(series, k) for series in basis])) for k in range(3)]

    def __call__(self, c):
        """(q, v, a) with coefficients `c`, flat."""
        q, v, a = (
            (END - START)[:, None] * way + c.reshape(2, -1) @ basis for way, basis in self.parts
        )
        return q + START[:, None], v, a


@cache
def by_hand():
    """(cost, coefficients) of the best polynomial motion that folds to the same side: Gauss-Newton
    of SciPy on the torques by hand.
    """
    x, w = legendre.leggauss(3 * TERMS)
    curve, weight = Curve(DURATION * (x + 1) / 2), np.sqrt(w * DURATION / 4)
    c = np.zeros((2, TERMS))
    c[1, 0] = 2 * np.sign(moved(STEPS).q[STEPS // 2, 1])
    found = least_squares(
        lambda c: (weight * torques(*curve(c))).ravel(),
        c.ravel(),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return 2 * found.cost, found.x


def checks():
    coarse, fine = moved(STEPS // 2), moved(STEPS)
    cost, c = by_hand()
    rows = compare(
        "least cost, extrapolated, against that of polynomials",
        fine.cost + (fine.cost - coarse.cost) / 3,
        cost,
        5e-4,
    )
    rows += compare(
        "order of the cost", order([abs(s.cost - cost) for s in (coarse, fine)]), 2, 0.05
    )
    pairs = []
    for s in (coarse, fine):
        q, v, _ = Curve(s.t)(c)
        pairs.append(
            [
                np.max(np.abs(a - b))
                for a, b in ((s.q, q.T), (s.v, v.T), (s.u, torques(*Curve(s.t_u)(c)).T))
            ]
        )
    for name, pair in zip(("q", "v", "u"), np.array(pairs).T, strict=True):
        rows += compare(f"order of {name}", order(pair), 2, 0.15)
    h, p = DURATION / STEPS, np.asarray(fine.p)
    pushed = np.concatenate([[0.0], np.cumsum(h * fine.u[:, 0])])
    rows += compare(
        "angular momentum about the shoulder is int u1, largest difference",
        np.max(np.abs(p[:, 0] - pushed)),
        0.0,
        1e-11,
    )
    misses = [energy_balance(s) for s in (coarse, fine)]
    rows += compare("order of energy - work of the torques", order(misses), 2, 0.1)
    found = fine.extremal()
    rows += compare(
        "least cost, Pontryagin's conditions against polynomials", found.cost, cost, 2e-7
    )
    return rows + compare("Hamiltonian, largest change", found.drift, 0.0, 1e-9)


def energy_balance(s):
    """The largest difference between the energy and the work of the torques until then."""
    work = np.concatenate([[0.0], np.cumsum(np.sum(s.u * np.diff(s.q, axis=0), axis=1))])
    return np.max(np.abs(np.asarray(s.trajectory.energy()) - work))


def links(q, l1, l2):
    """(times, 3, 2): shoulder, elbow and hand."""
    elbow = l1 * np.stack([np.cos(q[:, 0]), np.sin(q[:, 0])], axis=1)
    both = q[:, 0] + q[:, 1]
    return np.stack(
        [np.zeros_like(elbow), elbow, elbow + l2 * np.stack([np.cos(both), np.sin(both)], axis=1)],
        axis=1,
    )


def figure():
    fig, axes = new_figure(1, 3, (13.5, 4.2))
    plane, push, power = axes[0]
    best, (cost, c) = moved(STEPS), by_hand()
    arm = links(best.q, 1.0, 1.0)
    plane.plot(*arm[:, 2].T, color="0.7", lw=1)
    strobe(plane, best.t, arm, 13, lw=2)
    plane.plot(0, 0, "ko", ms=5)
    plane.set(
        xlabel="x [m]",
        ylabel="y [m]",
        title=f"by {END[0]:g} rad in {DURATION:g} s, cost {cost:.4f}",
    )
    t = np.linspace(0, DURATION, 300)
    exact = torques(*Curve(t)(c))
    for j, (name, color) in enumerate((("shoulder", "#1b6ca8"), ("elbow", "#d1495b"))):
        push.plot(t, exact[j], "k:", lw=1.2, zorder=3, label=None if j else "best polynomial")
        held(push, best, j, color=color, label=name)
    push.set(xlabel="t [s]", ylabel="torque [N m]", title=f"torques, {STEPS} steps")
    work = np.concatenate([[0.0], np.cumsum(np.sum(best.u * np.diff(best.q, axis=0), axis=1))])
    power.plot(best.t, best.trajectory.energy(), label="energy [J]")
    power.plot(best.t[::3], work[::3], "o", ms=3, label="work of the torques [J]")
    power.plot(best.t, best.q[:, 1], label="elbow, theta2 [rad]")
    power.set(xlabel="t [s]", title="it folds while it turns")
    for ax in axes[0]:
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    name="two_link_arm",
    title="Turn of an arm of two links",
    source=(
        "Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 4.2;"
        " Vakonomic thesis, chapter 6"
    ),
    text=(
        "Two uniform rods of 1 m and 1 kg in a horizontal plane, with torques at the shoulder and"
        " the elbow, turn by 2 rad from stretched to stretched, from rest to rest, with the least"
        " int |u|^2/2. The arm folds on the way, to either side, which makes it easier to turn. The"
        " reference is the best polynomial motion with torques from Newton's equations by hand. The"
        " angular momentum about the shoulder is the impulse of its torque, on the mesh as well, to"
        " rounding."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [
            jnp.zeros(2),
            jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])]),
            jnp.stack([jnp.cos(q[0]) + jnp.cos(q[0] + q[1]), jnp.sin(q[0]) + jnp.sin(q[0] + q[1])]),
        ]
    ),
)
