"""The cart-pole of Kelly's tutorial: with bounds, and a better optimum than the one that the
straight line leads to.
"""

from functools import cache

import numpy as np

from accion.control import ControlProblem, optimize, refine
from accion.gallery import cart_pole
from accion.gallery.base import compare
from accion.gallery.controlled import control_entry, held, order
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis

STEPS, STARTS = 64, 6
FORCE, TRACK = 20.0, 2.0  # the largest |u| and |x|
# by Hermite-Simpson collocation on 400 intervals, with CasADi and IPOPT
LINE, BEST = 58.8076675, 57.9447803


def square(t, q, v, u, params):
    return u @ u


problem = ControlProblem(
    cart_pole.system,
    square,
    actuated=["x"],
    controls=["u [N]"],
    start=([0.0, np.pi], [0.0, 0.0]),
    end=([1.0, 0.0], [0.0, 0.0]),
    duration=2.0,
    control_bounds=(-FORCE, FORCE),
    state_bounds={"x": (-TRACK, TRACK)},
    name="Kelly's cart-pole",
)


@cache
def solutions():
    """(from the straight line, the best of several starts)."""
    return optimize(problem, Midpoint(), STEPS), optimize(problem, Midpoint(), STEPS, starts=STARTS)


@cache
def refined():
    return [refine(s, tolerance=3e-6) for s in solutions()]


def checks():
    rows = []
    for words, known, found in zip(
        ("from the straight line", f"best of {STARTS} starts"), (LINE, BEST), refined(), strict=True
    ):
        s = found.solution
        rows += compare(f"cost {words}, extrapolated", found.cost, known, 1e-6)
        rows += compare(
            f"order of the cost {words}", order(np.abs(np.array(found.costs[:4]) - known)), 2, 0.1
        )
        rows += compare(
            f"largest |u| {words}, beyond its bound",
            max(np.max(np.abs(s.u)) - FORCE, 0.0),
            0.0,
            1e-6,
        )
        rows += compare(
            f"largest |x| {words}, beyond its bound",
            max(np.max(np.abs(s.q[:, 0])) - TRACK, 0.0),
            0.0,
            1e-6,
        )
        rows += compare(
            f"replay of {s.steps} steps {words} misses the end by", s.replay_error, 0.0, 2e-3
        )
    return rows


def figure():
    fig, axes = new_figure(2, 2, (11, 7))
    (one, two), (push, orders) = axes
    for ax, found, words in (
        (one, refined()[0], "from the straight line"),
        (two, refined()[1], f"best of {STARTS} starts"),
    ):
        s = found.solution
        cart_pole.draw_cart(ax, s.t, s.q)
        ax.set_title(f"{words}, cost {found.cost:.4f}")
    for s, words in zip(solutions(), ("straight line", "best"), strict=True):
        held(push, s, 0, lw=1.2, label=f"{words}, {STEPS} steps")
    for side in (-FORCE, FORCE):
        push.axhline(side, color="k", ls=":", lw=1, label="bounds" if side > 0 else None)
    push.set(xlabel="t [s]", ylabel="u [N]", title="control", ylim=(-23, 36))
    hs = 2 / np.array(refined()[0].steps[:5])
    for found, words, known in zip(refined(), ("straight line", "best"), (LINE, BEST), strict=True):
        orders.loglog(hs, np.array(found.costs[:5]) - known, "o-", label=words)
    orders.loglog(hs, 400 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="error of the cost", title="finer and finer meshes")
    for ax in (push, orders):
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    search={"starts": STARTS},
    name="kelly_cart_pole",
    title="Kelly's cart-pole",
    source="Kelly, An introduction to trajectory optimization (2017), section 6",
    text=(
        "The cart has to end 1 m to the right, with |u| <= 20 N and |x| <= 2 m, and the least int"
        " u^2. From the straight line one optimum is reached; a few random starts find a better"
        " one, by 1.5 percent, in which the cart first draws back. The bounds are not reached."
        " Costs are extrapolated from meshes of up to 4096 steps and compared with those of another"
        " discretisation, Hermite-Simpson collocation."
    ),
    checks=checks,
    figure=figure,
    positions=cart_pole.entry.positions,
)
