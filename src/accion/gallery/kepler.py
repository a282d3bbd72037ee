"""A body in the field of a fixed one: angular momentum, energy and the slow turn of the ellipse,
beside the Runge-Kutta method of the same cost.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion.analysis import order, rk4, symmetries
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import mechanical

PARAMS = {"m": 1.0, "GM": 1.0}
A, ECC = 1.0, 0.6  # half the long axis, eccentricity
N = np.sqrt(PARAMS["GM"] / A**3)  # mean motion
PERIOD = 2 * np.pi / N
Q0, V0 = np.array([A * (1 - ECC), 0.0]), np.array([0.0, N * A * np.sqrt((1 + ECC) / (1 - ECC))])
STEPS, ORBITS = 400, 100  # steps in an orbit
# of a step of the Runge-Kutta method; the trapezoid rule needs one, that at the end of a step is
# the first of the next
ACCELERATIONS = 4


def potential(t, q, params):
    return -params["GM"] * params["m"] / jnp.sqrt(q @ q)


system = mechanical(
    lambda params: params["m"],
    potential,
    Euclidean(2),
    params=PARAMS,
    coordinates=("x [m]", "y [m]"),
    name="body in the field of a fixed one",
)


def exact(ts):
    """(q, v) at the times `ts`, from Kepler's equation E - e sin E = n t."""
    mean = N * np.asarray(ts, dtype=float)
    E = mean + ECC * np.sin(mean)
    for _ in range(20):
        E -= (E - ECC * np.sin(E) - mean) / (1 - ECC * np.cos(E))
    b, rate = A * np.sqrt(1 - ECC**2), N / (1 - ECC * np.cos(E))
    q = np.stack([A * (np.cos(E) - ECC), b * np.sin(E)], axis=-1)
    return q, np.stack([-A * np.sin(E) * rate, b * np.cos(E) * rate], axis=-1)


def precession_rate(method, h):
    """The rate at which the ellipse turns, to first order in h^2.

    The modified Hamiltonian adds h^2 (p.V'' p/12 - |V'|^2/24) with the trapezoid rule and -h^2
    (p.V'' p + |V'|^2)/24 with the midpoint rule (m = 1). On an orbit both terms have the mean n
    GM^4 (3/2 G^-5 - G^-3 L^-2/2); its derivative by the angular momentum G is the rate.
    """
    c = {Trapezoid(): 1 / 24, Midpoint(): -1 / 12}[method]
    return -c * h**2 * N**3 * (6 + 1.5 * ECC**2) / (1 - ECC**2) ** 3


def perihelion(q, v):
    """The direction of the Laplace-Runge-Lenz vector v x (q x v) - GM q/|q|, an angle without
    jumps.
    """
    q, v = np.asarray(q), np.asarray(v)
    swept = q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0]
    x, y = v[:, 1] * swept, -v[:, 0] * swept
    unit = PARAMS["GM"] * q / np.linalg.norm(q, axis=1, keepdims=True)
    return np.unwrap(np.arctan2(y - unit[:, 1], x - unit[:, 0]))


def energy(q, v):
    q, v = np.asarray(q), np.asarray(v)
    return PARAMS["m"] * (np.sum(v**2, axis=1) / 2 - PARAMS["GM"] / np.linalg.norm(q, axis=1))


@cache
def run(method, steps, orbits=ORBITS):
    """`orbits` turns of `steps` steps, all kept."""
    return simulate(system, method, q0=Q0, v0=V0, h=PERIOD / steps, steps=steps * orbits)


@cache
def run_rk4(steps, orbits=ORBITS):
    return rk4(system, q0=Q0, v0=V0, h=PERIOD / steps, steps=steps * orbits)


def by_orbit(values, steps):
    """The mean over each orbit."""
    return values[:-1].reshape(-1, steps).mean(axis=1)


def turning(q, v, steps):
    """(rate, bend): the slope of the perihelion over time, orbit by orbit, and its largest distance
    from a straight line relative to the turn.
    """
    w = by_orbit(perihelion(q, v), steps)
    t = PERIOD * np.arange(len(w))
    line = np.polyfit(t, w, 1)
    return line[0], np.max(np.abs(w - np.polyval(line, t))) / abs(w[-1] - w[0])


def checks():
    ts = PERIOD * np.array([0.0, 0.1, 0.25, 0.5, 1.0])
    q, v = reference(system, q0=Q0, v0=V0, ts=ts)
    rows = compare("distance after half a period, a (1 + e)", -q[3, 0], A * (1 + ECC), 1e-9)
    for i, t in enumerate(ts[1:], 1):
        rows += compare(
            f"(q, v)({t / PERIOD:g} T), continuous against Kepler's equation",
            np.concatenate([q[i], v[i]]),
            np.ravel(exact(t)),
            1e-9,
        )
    (rotation,) = symmetries(system, Midpoint())
    rows += compare(
        "the rotation that was found turns from x to y", rotation.A.ravel(), [0, -1, 1, 0], 1e-15
    )
    for method in (Midpoint(), Trapezoid()):
        measured = order(
            system,
            method,
            q0=Q0,
            v0=V0,
            duration=PERIOD,
            h=PERIOD / np.array([800, 1600, 3200]),
            exact=exact(PERIOD),
        )
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
        rates = []
        for steps in (STEPS, 2 * STEPS):
            traj = run(method, steps)
            rate, bend = turning(traj.q, traj.v, steps)
            rates.append(rate)
            h = PERIOD / steps
            rows += compare(
                f"{method}, {steps} steps an orbit: precession over its closed form",
                rate / precession_rate(method, h),
                1,
                40 * h**2,
            )
            rows += compare(
                f"{method}, {steps} steps an orbit: precession is linear, relative bend",
                bend,
                0.0,
                0.01,
            )
        rows += compare(f"{method}: order of the precession", np.log2(rates[0] / rates[1]), 2, 0.05)
        traj = run(method, STEPS)
        rows += compare(
            f"{method}: drift of the angular momentum", rotation.symmetry.drift(traj), 0.0, 1e-12
        )
        E = np.abs(by_orbit(np.asarray(traj.energy()), STEPS) - float(traj.energy()[0]))
        rows += compare(
            f"{method}: energy error of the last ten orbits over that of the first",
            np.mean(E[-10:]) / np.mean(E[:10]),
            1,
            0.01,
        )
    losses = [np.diff(energy(*run_rk4(n, 10)[1:])[[0, -1]])[0] for n in (200, 400)]
    rows += compare(
        "Runge-Kutta 4: order of the energy that is lost in ten orbits",
        np.log2(losses[0] / losses[1]),
        5,
        0.1,
    )
    E = energy(*run_rk4(STEPS // ACCELERATIONS)[1:])
    return rows + compare(
        "Runge-Kutta 4: loss in a hundred orbits over that in ten",
        (E[-1] - E[0]) / (E[len(E) // 10] - E[0]),
        10,
        1,
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 4.2))
    left, middle, right = axes[0]
    n = STEPS // ACCELERATIONS
    _, q4, v4 = run_rk4(n)
    runs = [(f"Runge-Kutta 4, {n} steps an orbit", n, q4, v4)]
    for method, name in ((Trapezoid(), "trapezoid"), (Midpoint(), "midpoint")):
        traj = run(method, STEPS)
        runs.append((f"{name}, {STEPS} steps an orbit", STEPS, traj.q, traj.v))
    angle = np.linspace(0, PERIOD, 400)
    left.plot(*exact(angle)[0].T, "k:", lw=1.2, label="exact", zorder=3)
    for (label, steps, q, v), color in zip(runs, ("#d1495b", "#1b6ca8", "#2e933c"), strict=True):
        last = np.asarray(q)[-steps - 1 :]
        left.plot(last[:, 0], last[:, 1], lw=1.2, color=color, label=label.split(",")[0])
        error = np.abs(by_orbit(energy(q, v), steps) - energy(q[:1], v[:1]))
        orbits = np.arange(len(error)) + 0.5
        middle.loglog(orbits, error, color=color, label=label)
        right.plot(
            orbits,
            np.degrees(by_orbit(perihelion(q, v), steps)),
            color=color,
            label=label.split(",")[0],
        )
    for method in (Trapezoid(), Midpoint()):
        rate = np.degrees(precession_rate(method, PERIOD / STEPS)) * PERIOD
        right.plot(
            [0, ORBITS],
            [0, rate * ORBITS],
            "k:",
            lw=1,
            label="closed form" if method == Midpoint() else None,
        )
    left.plot(0, 0, "o", color="#edae49", ms=7)
    left.set(
        xlabel="x [m]",
        ylabel="y [m]",
        aspect="equal",
        title=f"orbit {ORBITS}",
        xlim=(-1.95, 0.83),
        ylim=(-1.1, 1.7),
    )
    left.legend(fontsize=8, ncols=2, loc="upper center")
    middle.set(
        xlabel="orbits", ylabel="energy error, mean of an orbit [J]", title="energy: kept, or lost"
    )
    middle.set_ylim(2e-5, 3e-2)
    middle.legend(fontsize=8, loc="upper left")
    right.set(xlabel="orbits", ylabel="turn of the ellipse [degrees]", title="precession")
    right.legend(fontsize=8, loc="upper left")
    return fig


entry = Entry(
    name="kepler",
    title="Kepler's problem: what is kept, and what turns",
    source="Hairer, Lubich and Wanner, Geometric Numerical Integration, I.2 and X.1",
    text=(
        "A body in the field of a fixed one, on an ellipse of eccentricity 0.6. The rotation is"
        " found as its symmetry, and the angular momentum is kept to roundoff by both variational"
        " methods; their energy error stays what it is in the first orbit, while that of the"
        " Runge-Kutta method grows with time. What the variational methods get wrong is the"
        " direction of the ellipse (the Laplace-Runge-Lenz vector, for which there is no symmetry"
        " of space): it turns at a constant rate proportional to h^2, the mean of their modified"
        " Hamiltonians over the orbit gives it in closed form: -(h n)^2 n (4 + e^2)/(16 (1 -"
        " e^2)^3) for the trapezoid rule and -2 times that for the midpoint rule. Cost is counted"
        " in accelerations: one for each step of the trapezoid rule (the one at the end of a step"
        " serves the next), four for each step of Runge-Kutta, which has therefore a quarter of the"
        " steps. The midpoint rule is implicit: its two Newton iterations a step, each with a"
        " matrix, are worth about seven gradients, so that it is here for its precession and not at"
        " equal cost."
    ),
    system=system,
    method=Trapezoid(),
    start={"q0": Q0, "v0": V0},
    h=PERIOD / STEPS,
    steps=10 * STEPS,
    checks=checks,
    figure=figure,
    card=True,
    positions=lambda q: jnp.stack([jnp.zeros(2), q]),
)
