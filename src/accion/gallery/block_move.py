"""A block moved from rest to rest: the problem of optimal control with the shortest answer."""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.control import ControlProblem, optimize
from accion.gallery.base import compare
from accion.gallery.controlled import control_entry, half_square, held, order
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis
from accion.spaces import Euclidean
from accion.systems import System

STEPS = 50


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * v[0] ** 2


system = System(lagrangian, Euclidean(1), {"m": 1.0}, coordinates=("x [m]",), name="block")
problem = ControlProblem(
    system,
    half_square,
    actuated=["x"],
    controls=["u [N]"],
    start=([0.0], [0.0]),
    end=([1.0], [0.0]),
    duration=1.0,
    name="move of a block",
)


def exact(t):
    """(x, v, u, p0, p1): x = 3 t^2 - 2 t^3 and u = 6 - 12 t, with costates p0 = 12 and p1 = u."""
    u = 6 - 12 * t
    return 3 * t**2 - 2 * t**3, 6 * t - 6 * t**2, u, 12 + 0 * t, u


@cache
def solution(formulation, steps):
    return optimize(problem, Midpoint(), steps, formulation=formulation)


@cache
def extremal():
    return solution("direct", STEPS).extremal()


def checks():
    found = extremal()
    x, v, u, p0, p1 = exact(found.t)
    rows = compare("least cost, Pontryagin's conditions", found.cost, 6.0, 1e-10)
    ours = (
        found.q[:, 0],
        found.v[:, 0],
        found.u[:, 0],
        found.costates[:, 0, 0],
        found.costates[:, 1, 0],
    )
    for name, mine, theirs in zip(
        ("x", "v", "u", "p0", "p1"), ours, (x, v, u, p0, p1), strict=True
    ):
        rows += compare(
            f"{name} against the closed form, largest error",
            np.max(np.abs(mine - theirs)),
            0.0,
            1e-10,
        )
    rows += compare("Hamiltonian is p1^2/2 at the start", found.H[0], 18.0, 1e-10)
    for formulation in ("direct", "vakonomic"):
        costs = [abs(solution(formulation, n).cost - 6.0) for n in (STEPS // 2, STEPS)]
        rows += compare(f"order of the cost, {formulation} formulation", order(costs), 2, 0.05)
    mine = solution("direct", STEPS)
    rows += compare(
        "u is linear on the mesh too: largest second difference",
        np.max(np.abs(np.diff(mine.u[:, 0], 2))),
        0.0,
        1e-9,
    )
    return rows + compare("replay misses the end by", mine.replay_error, 0.0, 1e-9)


def figure():
    fig, axes = new_figure(1, 3, (13, 3.7))
    motion, push, orders = axes[0]
    mine, fine = solution("direct", STEPS // 5), np.linspace(0, 1, 200)
    x, v, u, _, _ = exact(fine)
    for name, values, nodes in (("x [m]", x, mine.q), ("v [m/s]", v, np.asarray(mine.v))):
        line = motion.plot(fine, values, label=name)[0]
        motion.plot(mine.t, nodes[:, 0], "o", ms=4, color=line.get_color())
    motion.set(xlabel="t [s]", title=f"closed form, and {STEPS // 5} steps (dots)")
    push.plot(fine, u, "k:", lw=1.2, label="u = 6 - 12 t")
    held(push, mine, 0, color="#1b6ca8", label=f"direct, {STEPS // 5} steps")
    nodes = solution("vakonomic", STEPS // 5)
    push.plot(nodes.t_u, nodes.u[:, 0], "o", ms=4, color="#d1495b", label="vakonomic")
    push.set(xlabel="t [s]", ylabel="u [N]", title="force")
    hs = 1 / np.array([10, 20, 40])
    for formulation in ("direct", "vakonomic"):
        orders.loglog(
            hs,
            [abs(solution(formulation, round(1 / h)).cost - 6) for h in hs],
            "o-",
            label=formulation,
        )
    orders.loglog(hs, 3 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="error of the cost", title="the least cost is 6")
    for ax in axes[0]:
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    name="block_move",
    title="Block moved from rest to rest",
    source=(
        "Kelly, An introduction to trajectory optimization (2017), section 2; Vakonomic thesis,"
        " chapter 6"
    ),
    text=(
        "A block of 1 kg is moved by 1 m in 1 s, from rest to rest, with the least int u^2/2. The"
        " force is u = 6 - 12 t and the cost 6: the costate of the position is constant, that of"
        " the velocity is the force itself."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([jnp.stack([q[0] - 0.05, 0.0]), jnp.stack([q[0] + 0.05, 0.0])]),
)
