"""A heavy symmetric top with a fixed point, on SO(3): the benchmark of Bruels, Cardona and Arnold,
against Jacobi's function and Taylor series.
"""

from functools import cache

import numpy as np
from scipy.special import ellipj, ellipk

from accion.gallery.base import Entry, compare, data
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import SO3
from accion.systems import System

M, GRAVITY = 15.0, 9.81
J = np.array([0.234375, 0.46875, 0.234375])  # about the centre of mass
X = np.array([0.0, 1.0, 0.0])  # the centre of mass in the body, from the fixed point
# about the fixed point, the diagonal of J - m hat(X)^2; X is along an axis
INERTIA = J + M * (X @ X - X**2)
W0, R0 = np.array([0.0, 150.0, -4.61538]), np.eye(3)
H, STEPS, SAVES = 1e-3, 2000, 100


def lagrangian(t, R, omega, params):
    height = params["l"] * R[2, 1]
    return 0.5 * omega @ (params["I"] * omega) - params["m"] * params["gravity"] * height


PARAMS = {"I": INERTIA, "m": M, "gravity": GRAVITY, "l": X[1]}
# with their steps; see `cayley_lag`
RETRACTIONS = {
    "exp": np.array([1e-3, 5e-4, 2.5e-4]),
    "cayley": np.array([2.5e-4, 1.25e-4, 6.25e-5]),
}
SYSTEMS = {name: System(lagrangian, SO3(name), PARAMS, name="heavy top") for name in RETRACTIONS}
system = SYSTEMS["exp"]


def nutation():
    """(lowest height, rate, parameter): z = z1 - z1 sn^2(K + rate t) between z1 < 0 and 0, where
    the top starts at rest in height.

    With l = 1: z'^2 = (2/I_1)(E - m g z)(1 - z^2) - (p_z - p_2 z)^2/I_1^2, a cubic with the roots
    z1, 0 and z3 > 1.
    """
    pz, p2, mg = INERTIA[2] * W0[2], INERTIA[1] * W0[1], M * GRAVITY
    E = INERTIA[2] * W0[2] ** 2 / 2
    a = 2 * mg / INERTIA[0]
    b, c = -2 * E / INERTIA[0] - (p2 / INERTIA[0]) ** 2, -a + 2 * pz * p2 / INERTIA[0] ** 2
    root = np.sqrt(b**2 - 4 * a * c)
    z3 = (root - b) / (2 * a)
    z1 = c / (a * z3)
    return z1, np.sqrt(a * (z3 - z1)) / 2, -z1 / (z3 - z1)


def exact_height(ts):
    """z of the centre of mass at the times `ts`."""
    z1, rate, m = nutation()
    return z1 - z1 * ellipj(ellipk(m) + rate * np.asarray(ts, dtype=float), m)[0] ** 2


def centre(R):
    """The positions of the centre of mass, shape (times, 3)."""
    return np.asarray(R) @ X


def numbers(name, times=("0.5", "1", "2")):
    """Reference numbers as an array, its first axis the times."""
    table = data("heavy_top")[name]
    return np.array([np.asarray(table[t], dtype=float) for t in times])


@cache
def run(h=H, duration=2.0, retraction="exp"):
    steps = round(duration / h)
    return simulate(
        SYSTEMS[retraction], Midpoint(), q0=R0, v0=W0, h=h, steps=steps, save_every=steps // SAVES
    )


def order(retraction):
    """(orders, errors): the angle by which R is wrong at 0.5 s and the error of omega, for each of
    the steps, and the slopes of their logarithms.
    """
    runs = [run(h, 0.5, retraction) for h in RETRACTIONS[retraction]]
    angles = [np.linalg.norm(system.space.local(numbers("R")[0], traj.q[-1])) for traj in runs]
    rates = [np.linalg.norm(traj.v[-1] - numbers("omega")[0]) for traj in runs]
    errors = np.stack([angles, rates], axis=1)
    return np.polyfit(np.log(RETRACTIONS[retraction]), np.log(errors), 1)[0], errors


def cayley_lag(h, duration=0.5):
    """The angle by which the spin lags behind after `duration`, to first order in h^2; with the
    exponential map it does not.

    p_2 = I_2 x_2/h + (x.I x) x_2/(4 h), which is kept, gives omega_2 h - x_2 = h^3 omega_2 (omega.I
    omega)/(4 I_2), and an increment x turns by 2 arctan(|x|/2). Both squares of omega have the mean
    over time that the energy gives them, from the mean height.
    """
    across = INERTIA[2] * W0[2] ** 2 - 2 * M * GRAVITY * np.mean(
        exact_height(np.linspace(0, duration, 2001))
    )
    return (
        duration
        * h**2
        * W0[1]
        * ((W0[1] ** 2 + across / INERTIA[1]) / 4 + (W0[1] ** 2 + across / INERTIA[0]) / 12)
    )


def checks():
    R, w = reference(system, q0=R0, v0=W0, ts=[0.0, 0.5, 1.0, 2.0])
    rows = []
    for i, t in enumerate((0.5, 1.0, 2.0)):
        rows += compare(f"x({t:g}), continuous", centre(R[i + 1]), numbers("x")[i], 1e-9)
        rows += compare(
            f"R({t:g}), continuous, largest difference",
            np.max(np.abs(R[i + 1] - numbers("R")[i])),
            0.0,
            1e-9,
        )
        rows += compare(f"omega({t:g}), continuous", w[i + 1], numbers("omega")[i], 1e-8)
        rows += compare(f"z({t:g}), Jacobi's function", exact_height(t), numbers("x")[i, 2], 1e-12)
    for retraction in RETRACTIONS:
        rows += compare(
            f"order of the midpoint rule with {retraction}, for R and for omega",
            order(retraction)[0],
            [2, 2],
            0.05,
        )
    h = RETRACTIONS["cayley"][1]
    behind = system.space.local(run(h, 0.5, "cayley").q[-1], numbers("R")[0])[1]
    rows += compare(
        "cayley, h = 0.125 ms: lag of the spin over that in closed form",
        behind / cayley_lag(h),
        1,
        0.005,
    )
    far = [np.max(np.abs(centre(run(h).q)[[25, 50, 100]] - numbers("x"))) for h in (H, H / 2)]
    rows += compare("x at 0.5, 1 and 2 s, h = 1 ms, largest error [m]", far[0], 0.0, 0.015)
    rows += compare("order of that error", np.log2(far[0] / far[1]), 2, 0.05)
    for name, traj in (
        ("exp, 2 10^4 steps", run(H, 20.0)),
        ("cayley, 8000 steps", run(RETRACTIONS["cayley"][2], 0.5, "cayley")),
    ):
        p, pz = np.asarray(traj.p), np.einsum("kj,kj->k", traj.q[:, 2], traj.p)
        rows += compare(
            f"{name}: momentum about the vertical, relative change",
            np.max(np.abs(pz / pz[0] - 1)),
            0.0,
            1e-12,
        )
        rows += compare(
            f"{name}: momentum about the axis, relative change",
            np.max(np.abs(p[:, 1] / p[0, 1] - 1)),
            0.0,
            1e-12,
        )
    E = np.asarray(run(H, 20.0).energy())
    error = np.abs(E - E[0])
    half = len(E) // 2
    return rows + compare(
        "largest energy error of the last 10 s over that of the first",
        np.max(error[half:]) / np.max(error[:half]),
        1,
        0.05,
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 4.2))
    left, middle, right = axes[0]
    traj = run()
    x, t = centre(traj.q), np.asarray(traj.t)
    left.plot(x[:, 0], x[:, 1], label="midpoint rule, h = 1 ms")
    left.plot(
        *numbers("x")[:, :2].T, "ko", ms=5, mfc="w", label="Taylor series, t = 0.5, 1 and 2 s"
    )
    left.plot(0, 0, "k+", ms=8)
    left.set(
        aspect="equal",
        xlabel="x [m]",
        ylabel="y [m]",
        title="centre of mass, from above",
        xlim=(-1.2, 1.2),
        ylim=(-1.2, 1.65),
    )
    left.legend(fontsize=8, loc="upper center")
    middle.plot(t, x[:, 2], label="midpoint rule, h = 1 ms")
    middle.plot(t[::2], exact_height(t[::2]), "k.", ms=3, label="Jacobi's function")
    middle.set(
        xlabel="t [s]", ylabel="z [m]", title="height of the centre of mass", ylim=(-1.05, 0.3)
    )
    middle.legend(fontsize=8, loc="upper center", ncols=2)
    for retraction, hs in RETRACTIONS.items():
        found, errors = order(retraction)
        right.loglog(1e3 * hs, errors[:, 0], "o-", label=f"{retraction}, order {found[0]:.3f}")
    hs = np.array([5e-5, 1.2e-3])
    right.loglog(
        1e3 * hs, cayley_lag(hs), "k:", lw=1.2, label="lag of the spin with cayley, closed form"
    )
    step_axis(right, 1e3 * np.unique(np.concatenate(list(RETRACTIONS.values()))))
    right.set(
        xlabel="h [ms]",
        ylabel="error of the attitude at 0.5 s [rad]",
        title="the two retractions",
        ylim=(3e-5, 30),
    )
    right.legend(fontsize=8, loc="upper left")
    return fig


entry = Entry(
    name="heavy_top",
    title="Heavy top",
    source="Bruels, Cardona and Arnold, Mechanism and Machine Theory 48 (2012)",
    text=(
        "A symmetric top turns about a fixed point, its centre of mass 1 m from it, in the field of"
        " gravity: L = omega.I omega/2 - m g z on SO(3), with a spin of 150 rad/s. It starts"
        " horizontally, and as its momenta about the vertical and about its own axis are opposite"
        " it falls through the point below, where Euler's angles break down; rotation matrices do"
        " not notice. Both momenta are kept to roundoff. Cayley's map lags behind with the spin by"
        " a fraction (h omega)^2/3, the exponential map does not."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": R0, "v0": W0},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
)
