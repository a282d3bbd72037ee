"""Parking a skate sideways: a nonholonomic vehicle with a drive along its blade and a torque that
steers.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_bvp

from accion.control import ControlProblem, optimize, refine
from accion.gallery.base import compare
from accion.gallery.controlled import control_entry, half_square, held, order, strobe
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis
from accion.spaces import Euclidean
from accion.systems import System

STEPS, STARTS, DURATION, ASIDE = 64, 8, 4.0, 1.0
PARAMS = {"m": 1.0, "J": 2.0}


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * (v[0] ** 2 + v[1] ** 2) + 0.5 * params["J"] * v[2] ** 2


def edge(t, q, v, params):
    """No motion across the blade; phi is the heading."""
    return jnp.array([v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])])


def actuation(t, q, params):
    """A force along the blade and a torque."""
    zero, one = jnp.zeros(()), jnp.ones(())
    return jnp.stack(
        [jnp.stack([jnp.cos(q[2]), zero]), jnp.stack([jnp.sin(q[2]), zero]), jnp.stack([zero, one])]
    )


system = System(
    lagrangian,
    Euclidean(3),
    PARAMS,
    nonholonomic=edge,
    coordinates=("x [m]", "y [m]", "phi [rad]"),
    name="skate",
)
problem = ControlProblem(
    system,
    half_square,
    actuation=actuation,
    controls=["drive [N]", "turn [N m]"],
    name="parking a skate",
    duration=DURATION,
    start=([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    end=([0.0, ASIDE, 0.0], [0.0, 0.0, 0.0]),
)


@cache
def parked(steps):
    return optimize(problem, Midpoint(), steps, starts=STARTS)


@cache
def by_hand():
    """The least cost and the motion from the equations without the constraint, by SciPy.

    The speed s along the blade and the rate w of turning: x' = s cos phi, y' = s sin phi, m s' =
    u1, J w' = u2. Pontryagin's conditions are u1 = ps/m, u2 = pw/J, ps' = -(a cos phi + b sin phi),
    pphi' = s (a sin phi - b cos phi), pw' = -pphi with constant costates (a, b) of (x, y).
    """
    m, J = PARAMS["m"], PARAMS["J"]

    def rates(t, y, ab):
        _, _, phi, s, w, ps, pphi, pw, _ = y
        a, b = ab
        cos, sin = np.cos(phi), np.sin(phi)
        motion = (s * cos, s * sin, w, ps / m**2, pw / J**2)
        return np.stack(
            [
                *motion,
                -(a * cos + b * sin),
                s * (a * sin - b * cos),
                -pphi,
                (ps / m) ** 2 / 2 + (pw / J) ** 2 / 2,
            ]
        )

    def ends(first, last, ab):
        return np.concatenate(
            [first[:5], first[8:], last[:5] - np.array([0.0, ASIDE, 0.0, 0.0, 0.0])]
        )

    near = parked(STEPS)
    t, v, u = near.t, np.asarray(near.v), near.control(near.t)
    s = v[:, 0] * np.cos(near.q[:, 2]) + v[:, 1] * np.sin(near.q[:, 2])
    guess = np.stack(
        [
            *near.q.T,
            s,
            v[:, 2],
            m * u[:, 0],
            -J * np.gradient(u[:, 1], t),
            J * u[:, 1],
            near.cost * t / DURATION,
        ]
    )
    found = solve_bvp(rates, ends, t, guess, p=np.array([0.0, 1.0]), tol=1e-9, max_nodes=20000)
    return found.y[8, -1] if found.success else np.nan, found.sol


def checks():
    best = parked(STEPS)
    cost, sol = by_hand()
    finer = refine(best, tolerance=1e-5)
    rows = compare(
        "least cost, extrapolated, against Pontryagin's conditions of the system without the"
        " constraint",
        finer.cost,
        cost,
        1e-6,
    )
    exact = sol(finer.solution.t)[:3].T
    rows += compare(
        f"(x, y, phi) of {finer.solution.steps} steps, largest error",
        np.max(np.abs(finer.solution.q - exact)),
        0.0,
        1e-4,
    )
    rows += compare("order of the cost", order(np.abs(np.array(finer.costs[:3]) - cost)), 2, 0.05)
    q, h = best.q, DURATION / STEPS
    across = edge(0.0, ((q[1:] + q[:-1]) / 2).T, (np.diff(q, axis=0) / h).T, PARAMS)
    rows += compare(
        "velocity across the blade in the middle of the steps, largest",
        np.max(np.abs(across)),
        0.0,
        1e-11,
    )
    misses = [s.replay_error for s in (parked(STEPS // 2), best)]
    rows += compare("order of what the replay misses", order(misses), 2, 0.1)
    rows += compare("local optima that are found", len(best.optima), 2, 0.5)
    one, two = best.optima[:2]
    rows += compare("cost of the one and of the other", two.cost, one.cost, 1e-9)
    return rows + compare(
        "they are mirrored, (x, phi) -> -(x, phi): largest difference",
        np.max(np.abs(two.q - one.q * [-1, 1, -1])),
        0.0,
        1e-6,
    )


def blades(q, length=0.16):
    """(times, 2, 2): both ends of the blade."""
    along = length * np.stack([np.cos(q[:, 2]), np.sin(q[:, 2])], axis=1)
    return np.stack([q[:, :2] - along, q[:, :2] + along], axis=1)


def figure():
    fig, axes = new_figure(1, 3, (13.5, 4.2))
    plane, push, orders = axes[0]
    best, (cost, sol) = parked(STEPS), by_hand()
    plane.plot(*best.optima[1].q[:, :2].T, color="0.75", lw=1, ls="--", label="mirrored")
    plane.plot(*best.q[:, :2].T, color="0.6", lw=1)
    strobe(plane, best.t, blades(best.q), 17, lw=2.5)
    plane.plot(*blades(best.q)[[0, -1], 1].T, "ko", ms=4, label="front")
    plane.set(xlabel="x [m]", ylabel="y [m]", title=f"sideways by {ASIDE:g} m in {DURATION:g} s")
    fine = np.linspace(0, DURATION, 300)
    y = sol(fine)
    for j, (name, exact) in enumerate(
        (("drive [N]", y[5] / PARAMS["m"]), ("turn [N m]", y[7] / PARAMS["J"]))
    ):
        push.plot(fine, exact, "k:", lw=1.2, label=None if j else "without the constraint, SciPy")
        held(push, best, j, color=("#1b6ca8", "#d1495b")[j], label=name)
    push.set(xlabel="t [s]", title=f"controls, {STEPS} steps")
    hs = DURATION / np.array([16, 32, 64])
    orders.loglog(
        hs, [abs(parked(round(DURATION / h)).cost - cost) for h in hs], "o-", label="cost"
    )
    orders.loglog(
        hs,
        [parked(round(DURATION / h)).replay_error for h in hs],
        "s-",
        label="what the replay misses the end by",
    )
    orders.loglog(hs, 1.5 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="error", title=f"the least cost is {cost:.6f}")
    for ax in axes[0]:
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    search={"starts": STARTS},
    name="skate_parking",
    title="Parking a skate sideways",
    source=(
        "Vakonomic thesis, chapters 3 and 6; Bloch, Nonholonomic Mechanics and Control, ch. 6 and 7"
    ),
    text=(
        "A skate cannot move across its blade, and yet it can be brought to rest one metre to its"
        " side, by driving to and fro while turning. The straight line to the goal is forbidden all"
        " the way and too symmetric to start from; random starts find two solutions, mirror images"
        " of each other with the same cost. The reference has no constraint: Pontryagin's"
        " conditions in speed and heading, solved by SciPy."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [
            q[:2] - 0.16 * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])]),
            q[:2] + 0.16 * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])]),
        ]
    ),
)
