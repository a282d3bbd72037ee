"""The heavy top as a free body in SE(3) that is held at a point by a constraint: the same motion,
and the force at the pivot.
"""

from functools import cache

import jax
import numpy as np

from accion.gallery import heavy_top
from accion.gallery.base import Entry, compare
from accion.gallery.heavy_top import GRAVITY, R0, W0, J, M, X, centre, numbers
from accion.instant.continuous import accelerations
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import SE3
from accion.systems import System

H, STEPS = 2.5e-4, 8000


def lagrangian(t, g, xi, params):
    omega, v = xi[:3], xi[3:]
    return (
        0.5 * omega @ (params["J"] * omega)
        + 0.5 * params["m"] * v @ v
        - params["m"] * params["gravity"] * g[2, 3]
    )


def pivot(t, g, params):
    """x - R X, where the body is held; its multipliers are the force on the body there, in
    space.
    """
    return g[:3, 3] - g[:3, :3] @ params["X"]


PARAMS = {"J": J, "m": M, "gravity": GRAVITY, "X": X}
COORDINATES = ("theta1 [rad]", "theta2 [rad]", "theta3 [rad]", "x [m]", "y [m]", "z [m]")
system = System(
    lagrangian,
    SE3("cayley"),
    PARAMS,
    holonomic=pivot,
    coordinates=COORDINATES,
    name="heavy top in SE(3)",
)


def by_hand(R, w):
    """(accelerations in the body, force at the pivot in space) of the body that turns with `w` at
    the attitude `R`.

    I omega' = I omega x omega + X x R^T (0, 0, -m g) about the fixed point; v = omega x X; force =
    m (x'' + g e_z), x'' = R (v' + omega x v).
    """
    I = heavy_top.INERTIA
    dw = (np.cross(I * w, w) + np.cross(X, R.T @ [0.0, 0.0, -M * GRAVITY])) / I
    dv = np.cross(dw, X)
    return np.concatenate([dw, dv]), M * (
        R @ (dv + np.cross(w, np.cross(w, X))) + [0.0, 0.0, GRAVITY]
    )


def on_pivot(R, w):
    """(g, xi) of the body at the attitude `R` with the angular velocity `w`, held at the pivot."""
    return np.block([[R, (R @ X)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]), np.concatenate(
        [w, np.cross(w, X)]
    )


G0, XI0 = on_pivot(R0, W0)


def exact_force_along(ts):
    """The force at the times `ts` along the axis, away from the pivot, and along z: m (g z -
    |x'|^2) and m (z'' + g).

    Both are functions of the height alone: I_1 |x'|^2/2 + m g z is kept (l = 1), and z'' is half
    the derivative by z of the cubic of `heavy_top.nutation`.
    """
    I1, p2, pz = heavy_top.INERTIA[0], heavy_top.INERTIA[1] * W0[1], heavy_top.INERTIA[2] * W0[2]
    E, z = I1 * W0[2] ** 2 / 2, heavy_top.exact_height(ts)
    along_axis = M * (GRAVITY * z - 2 * (E - M * GRAVITY * z) / I1)
    ddz = (
        -M * GRAVITY * (1 - z**2) / I1
        - 2 * z * (E - M * GRAVITY * z) / I1
        + p2 * (pz - p2 * z) / I1**2
    )
    return np.stack([along_axis, M * (ddz + GRAVITY)], axis=-1)


def force_along(traj):
    """The same, of a discrete trajectory."""
    x, lam = np.asarray(traj.q)[:, :3, 3], np.asarray(traj.lam)
    return np.stack([np.sum(x * lam, axis=1), lam[:, 2]], axis=-1)


@cache
def run(h=H):
    steps = round(2.0 / h)
    return simulate(
        system, Midpoint(), q0=G0, v0=XI0, h=h, steps=steps, save_every=steps // heavy_top.SAVES
    )


def spatial_momentum(traj):
    """R p_omega + x x R p_v about the fixed point, shape (times, 3)."""
    R, x = np.asarray(traj.q)[:, :3, :3], np.asarray(traj.q)[:, :3, 3]
    turned, pushed = (
        np.einsum("kij,kj->ki", R, part) for part in np.split(np.asarray(traj.p), 2, axis=1)
    )
    return turned + np.cross(x, pushed)


def apart(traj):
    """The largest difference of R from that on SO(3), at each saved time."""
    return np.max(np.abs(traj.q[:, :3, :3] - heavy_top.run(H, 2.0, "cayley").q), axis=(1, 2))


def checks():
    times, names = (0.0, 0.5, 1.0, 2.0), ("x", "R", "omega", "force")
    points = [
        (X, R0, W0, by_hand(R0, W0)[1]),
        *zip(*(numbers(name) for name in names), strict=True),
    ]
    g, xi = (
        np.stack(part) for part in zip(*(on_pivot(R, w) for _, R, w, _ in points), strict=True)
    )
    a, lam = jax.jit(jax.vmap(accelerations(system)))(np.array(times), g, xi)
    rows = []
    for i, (t, (x, R, w, force)) in enumerate(zip(times, points, strict=True)):
        rows += compare(
            f"(omega', v')({t:g}), continuous, against Euler's equations about the fixed point",
            a[i],
            by_hand(R, w)[0],
            1e-9,
        )
        rows += compare(f"force({t:g}) at the pivot, continuous [N]", lam[i], force, 1e-9)
        rows += compare(
            f"force({t:g}) along the axis and along z, closed form [N]",
            exact_force_along(t),
            [force @ x, force[2]],
            1e-9,
        )
    traj = run()
    phi = jax.vmap(lambda g: pivot(0.0, g, PARAMS))(traj.q)
    rows += compare("largest |x - R X| of the discrete motion [m]", np.max(np.abs(phi)), 0.0, 1e-12)
    rows += compare(
        "R on SE(3) and on SO(3), 8000 steps: the same discrete motion, largest difference",
        np.max(apart(traj)),
        0.0,
        1e-10,
    )
    pz = spatial_momentum(traj)[:, 2]
    rows += compare(
        "momentum about the vertical, relative change", np.max(np.abs(pz / pz[0] - 1)), 0.0, 1e-12
    )
    runs = [traj, run(H / 2)]
    far = [np.max(np.abs(each.q[25, :3, 3] - numbers("x")[0])) for each in runs]
    rows += compare("order of the error of x at 0.5 s", np.log2(far[0] / far[1]), 2, 0.05)
    off = [np.max(np.abs(each.lam[25] - numbers("force")[0])) for each in runs]
    return rows + compare(
        "order of the error of the force at 0.5 s", np.log2(off[0] / off[1]), 2, 0.05
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 4.0))
    left, middle, right = axes[0]
    traj = run()
    t = np.asarray(traj.t)
    left.plot(t, traj.lam, label=["$\\lambda_x$", "$\\lambda_y$", "$\\lambda_z$"])
    left.plot([0.5, 1, 2], numbers("force"), "ko", ms=5, mfc="w")
    left.plot([], [], "ko", ms=5, mfc="w", label="Taylor series")
    left.set(
        xlabel="t [s]", ylabel="force at the pivot [N]", title="multipliers", ylim=(-900, 1100)
    )
    left.legend(fontsize=8, loc="upper center", ncols=4, columnspacing=1.2)
    middle.plot(t, force_along(traj), label=["along the axis", "vertical"])
    middle.plot(t[::2], exact_force_along(t[::2]), "k.", ms=3)
    middle.plot([], [], "k.", ms=3, label="closed form")
    middle.set(
        xlabel="t [s]",
        ylabel="force at the pivot [N]",
        title="parts that depend on the height alone",
        ylim=(-900, 1100),
    )
    middle.legend(fontsize=8, loc="upper center", ncols=3, columnspacing=1.2)
    phi = np.max(np.abs(jax.vmap(lambda g: pivot(0.0, g, PARAMS))(traj.q)), axis=1)
    pz = spatial_momentum(traj)[:, 2]
    floor = 1e-18
    right.semilogy(
        t,
        np.linalg.norm(traj.q[:, :3, 3] - centre(heavy_top.run(H, 2.0, "cayley").q), axis=1)
        + floor,
        label="x beside x on SO(3) [m]",
    )
    right.semilogy(t, apart(traj) + floor, label="R beside R on SO(3)")
    right.semilogy(t, phi + floor, label="x - R X [m]")
    right.semilogy(t, np.abs(pz / pz[0] - 1) + floor, label="momentum about the vertical, relative")
    right.set(
        xlabel="t [s]",
        ylabel="difference",
        title="SE(3) with a constraint is SO(3)",
        ylim=(1e-17, 1e-8),
    )
    right.legend(fontsize=8, loc="upper right")
    return fig


entry = Entry(
    name="heavy_top_se3",
    title="Heavy top in SE(3), held at a point",
    source="Bruels, Cardona and Arnold, Mechanism and Machine Theory 48 (2012)",
    text=(
        "The heavy top again, as a free body of space, L = omega.J omega/2 + m |v|^2/2 - m g z with"
        " J about the centre of mass, held by x = R X. The multipliers are the force at the pivot."
        " The discrete motion is that on SO(3), step by step to roundoff: a displacement in SE(3)"
        " that keeps the pivot is a rotation about it, for the exponential map and for Cayley's, so"
        " both have the same discrete Lagrangian on the constraint."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": G0, "v0": XI0},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
)
