"""Swinging up a pole on a cart with the least force, Vakonomic thesis, sections 7.2 and 8.6,
corrected.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.control import ControlProblem, optimize, refine
from accion.gallery.base import compare, data
from accion.gallery.controlled import control_entry, half_square, held, order, strobe
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.two_point import connect
from accion.spaces import Euclidean
from accion.systems import System

STEPS = 64
DURATION = 2.0
PARAMS = {"M": 1.0, "m": 0.3, "l": 0.5, "gravity": 9.81}
HANGING, UPRIGHT, REST = np.array([0.0, np.pi]), np.zeros(2), np.zeros(2)
MESHES = (20, 40, 80, 160)  # of the Vakonomic thesis, section 8.6
# Sizes of the waves sin(pi s), sin(2 pi s), sin(3 pi s) that lead from the straight line to the
# other local optima of these costs, on a mesh on which the least cost is 33.3775.
WAVES = {
    111.2981: np.array([[-0.9, -1.5], [-0.6, -0.1], [0.0, -0.1]]),
    315.8962: np.array([[-1.7, -4.4], [-0.8, -0.1], [0.5, 0.9]]),
}


def lagrangian(t, q, v, params):
    """theta is measured from the upright pole; the mass m is at its tip."""
    m, l = params["m"], params["l"]
    c = jnp.cos(q[1])
    return (
        0.5 * (params["M"] + m) * v[0] ** 2
        + m * l * c * v[0] * v[1]
        + 0.5 * m * l**2 * v[1] ** 2
        - m * params["gravity"] * l * c
    )


system = System(
    lagrangian, Euclidean(2), PARAMS, coordinates=("x [m]", "theta [rad]"), name="cart-pole"
)
ends = {"start": (HANGING, REST), "end": (UPRIGHT, REST), "duration": DURATION}
problem = ControlProblem(
    system, half_square, actuated=["x"], controls=["u [N]"], name="swing-up of a cart-pole", **ends
)


def two_configurations(steps):
    """The discrete problem of the Vakonomic thesis, section 8.6: q_0 = q_1 and q_{N-1} = q_N are
    given, u_k = -(D2 Ld + D1 Ld)_x / h.
    """
    ends = {
        "start": (HANGING, HANGING),
        "end": (UPRIGHT, UPRIGHT),
        "duration": DURATION,
        "boundary": "configurations",
    }
    return optimize(
        ControlProblem(system, half_square, actuated=["x"], **ends),
        Midpoint(),
        steps,
        formulation="vakonomic",
    )


@cache
def discrete(formulation, steps):
    """From a line on one mesh, and from there on the others: the same optimum on all."""
    guess = None if steps == STEPS else discrete(formulation, STEPS)
    return optimize(problem, Midpoint(), steps, guess, formulation=formulation)


@cache
def of_the_document(steps):
    return two_configurations(steps)


@cache
def extremal():
    return discrete("direct", STEPS).extremal()


@cache
def without_controls(steps):
    """The problem as a second-order system in continuous time, between its ends, as a motion with
    costates.
    """
    ends = problem.conditions()
    return problem.hamiltonian().read(connect(problem.vakonomic(), Midpoint(), **ends, steps=steps))


@cache
def by_the_integrator(steps):
    """The problem as a system given in discrete time, the integrator F_d of section 8.6, from a
    straight line.
    """
    own = of_the_document(steps).problem
    return connect(own.discrete(Midpoint()), **own.conditions(), steps=steps)


@cache
def optima():
    """The best and other local optima, from waves around the straight line and the forces that
    these motions ask of the cart.
    """
    s = np.linspace(0, 1, STEPS + 1)
    h = DURATION / STEPS
    found = [discrete("direct", STEPS)]
    for sizes in WAVES.values():
        q = np.outer(1 - s, HANGING) + np.sin(np.pi * np.outer(s, [1, 2, 3])) @ sizes
        v = np.gradient(q, h, axis=0)
        p = (PARAMS["M"] + PARAMS["m"]) * v[:, 0]
        p += PARAMS["m"] * PARAMS["l"] * np.cos(q[:, 1]) * v[:, 1]
        guess = (q, np.diff(p)[:, None] / h)
        found.append(optimize(problem, Midpoint(), STEPS, guess))
    return found


def checks():
    known = data("004_sec7.2_8.6_inverted_pendulum_ocp")
    exact, found = known["continuous"], extremal()
    rows = compare("least cost, Pontryagin's conditions", found.cost, exact["cost"], 1e-8)
    rows += compare("costates (p0, p1) at the start", found.costates[0].ravel(), exact["p0"], 1e-8)
    rows += compare("Hamiltonian", found.H[0], exact["hamiltonian"], 1e-8)
    rows += compare("Hamiltonian, largest change", found.drift, 0.0, 1e-8)
    for time in exact["u"]:
        k = round(float(time) / DURATION * STEPS)
        rows += compare(f"control at {time} s", found.u[k], exact["u"][time], 1e-8)
        rows += compare(
            f"(q, v) at {time} s", [*found.q[k], *found.v[k]], exact["states"][time], 1e-8
        )
        rows += compare(
            f"(p0, p1) at {time} s", found.costates[k].ravel(), exact["costates"][time], 1e-8
        )
    for steps in MESHES:
        mine, other = of_the_document(steps), known["discrete_8_6"]["results"][str(steps)]
        rows += compare(
            f"Vakonomic thesis, section 8.6, N = {steps}: cost", mine.cost, other["cost"], 1e-8
        )
        rows += compare(
            f"Vakonomic thesis, section 8.6, N = {steps}: first controls",
            mine.u[:3, 0],
            other["u_first3"],
            1e-8,
        )
        rows += compare(
            f"Vakonomic thesis, section 8.6, N = {steps}: q in the middle",
            mine.q[steps // 2],
            other["q_mid"],
            1e-8,
        )
    rows += faces_agree(float(exact["cost"]))
    for formulation in ("direct", "vakonomic"):
        errors = [abs(discrete(formulation, n).cost - found.cost) for n in (STEPS // 2, STEPS)]
        rows += compare(f"order of the cost, {formulation} formulation", order(errors), 2, 0.1)
    refined = [refine(s, tolerance=1e-5) for s in optima()]
    last = refined[0].solution
    rows += compare(
        f"controls of {last.steps} steps applied to the continuous equations: how far off the"
        " end is",
        last.replay_error,
        0.0,
        5e-3,
    )
    rows += compare(
        "least cost, extrapolated from finer and finer meshes", refined[0].cost, exact["cost"], 1e-6
    )
    for cost in WAVES:
        rows += compare(
            f"another local optimum of cost {cost}",
            min((r.cost for r in refined), key=lambda c, cost=cost: abs(c - cost)),
            cost,
            0.02,
        )
    return rows


def faces_agree(least):
    """The other faces of the problem: marched from costates, without controls, in discrete time."""
    on_W1 = problem.hamiltonian().march(extremal().costates[0], steps=STEPS)
    rows = compare("least cost, marched on W1 from the costates", on_W1.cost, least, 1e-6)
    errors = [abs(without_controls(n).cost - least) for n in MESHES[-2:]]
    rows += compare(
        "order of the cost, second-order system without controls", order(errors), 2, 0.1
    )
    mine, other = by_the_integrator(MESHES[0]), of_the_document(MESHES[0])
    rows += compare(
        "section 8.6, N = 20: F_d and the optimum", np.ravel(mine.q), np.ravel(other.q), 1e-9
    )
    p = np.asarray(mine.momentum(lambda q: jnp.array([1.0, 0.0])))
    rows += compare("section 8.6, N = 20: discrete momentum", p[0], -6.599257, 1e-6)
    return rows + compare("section 8.6, N = 20: its largest change", np.ptp(p), 0.0, 1e-9)


def bodies(q):
    """The pole from the cart to its tip, (times, 2, 2)."""
    cart = np.stack([q[:, 0], np.zeros(len(q))], axis=1)
    l = PARAMS["l"]
    return np.stack([cart, cart + l * np.stack([np.sin(q[:, 1]), np.cos(q[:, 1])], axis=1)], axis=1)


def draw_cart(ax, t, q, frames=18):
    """The pole at times that are equally far apart, the path of its tip, and the cart at both
    ends.
    """
    poles = bodies(q)
    ax.axhline(0, color="0.6", lw=1)
    ax.plot(*poles[:, 1].T, color="0.75", lw=1)
    strobe(ax, t, poles, frames)
    for k in (0, -1):
        ax.plot(*poles[k, 0], "s", ms=9, color="0.25" if k else "0.7", zorder=3)
        ax.plot(*poles[k, 1], "o", ms=6, color="0.25" if k else "0.7", zorder=3)
    ax.set(xlabel="x [m]", ylabel="height [m]")
    ax.legend(fontsize=7, loc="upper right")


def figure():
    fig, axes = new_figure(2, 2, (11, 7.4))
    found, best = extremal(), discrete("direct", STEPS)
    scene, push, dual, orders = axes.ravel()
    draw_cart(scene, found.t, found.q)
    scene.set_title(f"swing-up in {DURATION:g} s, cost {found.cost:.4f}")
    push.plot(found.t, found.u[:, 0], "k", lw=1, label="Pontryagin")
    held(push, best, 0, color="#1b6ca8", lw=1, label=f"direct, {STEPS} steps")
    nodes = discrete("vakonomic", STEPS)
    push.plot(nodes.t_u, nodes.u[:, 0], "o", ms=2.5, color="#d1495b", label="vakonomic")
    for other in optima()[1:3]:
        held(
            push,
            other,
            0,
            color="0.75",
            lw=0.8,
            zorder=0,
            label=f"another optimum, cost {other.cost:.0f}",
        )
    push.set(xlabel="t [s]", ylabel="u [N]", title="control")
    for j, name in enumerate((r"$p_{0,x}$", r"$p_{0,\theta}$", r"$p_{1,x}$", r"$p_{1,\theta}$")):
        dual.plot(found.t, found.costates.reshape(-1, 4)[:, j], label=name)
    dual.plot(found.t, found.H, "k:", lw=1.2, label="H")
    dual.set(xlabel="t [s]", title=f"costates; H is constant to {found.drift:.0e}")
    hs = DURATION / np.array(MESHES)
    for formulation in ("direct", "vakonomic"):
        orders.loglog(
            hs,
            [abs(discrete(formulation, round(DURATION / h)).cost - found.cost) for h in hs],
            "o-",
            label=formulation,
        )
    orders.loglog(
        hs[1:],
        [abs(of_the_document(n).cost - found.cost) for n in MESHES[1:]],
        "s-",
        label="two configurations at each end (8.6)",
    )
    orders.loglog(
        hs[1:],
        [abs(without_controls(n).cost - found.cost) for n in MESHES[1:]],
        "^-",
        label="second-order system without controls",
    )
    orders.loglog(hs, 60 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="error of the cost", title="h to zero")
    for ax in (push, dual, orders):
        ax.legend(fontsize=7)
    return fig


entry = control_entry(
    problem,
    steps=STEPS,
    name="cart_pole",
    title="Swing-up of a pole on a cart",
    source="Vakonomic thesis, sections 7.2 and 8.6, corrected",
    text=(
        "A force on the cart, and none on the pole, swings it up in two seconds with the least int"
        " u^2/2. Pontryagin's conditions give the control, the costates and the constant"
        " Hamiltonian to ten digits. The discrete problem is posed in two ways, with the controls"
        " as unknowns (direct) or eliminated (vakonomic, of second order); with velocities at the"
        " ends both converge with h^2. With two equal configurations at each end, as in the"
        " Vakonomic thesis, section 8.6, the pole rests for a step at either end and the cost"
        " converges with h only. The same problem as a system without controls, in continuous and"
        " in discrete time, and as a Hamiltonian one, marched from its costates, has the same"
        " optimum. There are other local optima, several times as expensive, with"
        " more swings."
    ),
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [jnp.stack([q[0], 0.0]), jnp.stack([q[0] + 0.5 * jnp.sin(q[1]), 0.5 * jnp.cos(q[1])])]
    ),
)
