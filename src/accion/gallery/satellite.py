"""A satellite that the gravity gradient turns, on SO(3): librations in closed form and the integral
of the orbiting frame.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

from accion.gallery.base import Entry, compare
from accion.instant.continuous import accelerations, reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import SO3
from accion.systems import System

N = 1.1e-3  # [rad/s], of the orbit
I = np.array([70.0, 100.0, 40.0])  # [kg m^2]: along the orbit, across its plane, to the Earth
PARAMS = {"I": I, "n": N}
PERIOD = 2 * np.pi / N
SPIN = np.array([0.0, -N, 0.0])  # of the orbiting frame, in its own axes
SAVES, H = 200, PERIOD / 100  # times kept of every run, so that all share one compilation


def lagrangian(t, q, v, params):
    phase = params["n"] * t
    # R^T r(t)
    earth = jnp.sum(q * jnp.stack([jnp.cos(phase), jnp.sin(phase), jnp.zeros(())])[:, None], axis=0)
    return 0.5 * jnp.sum(params["I"] * v**2) - 1.5 * params["n"] ** 2 * jnp.sum(
        params["I"] * earth**2
    )


system = System(lagrangian, SO3(), PARAMS, name="satellite")


def frame(t):
    """The orbiting frame: axes along the orbit, against its normal and to the Earth, as columns."""
    c, s = np.cos(N * t), np.sin(N * t)
    zero, one = np.zeros_like(c), np.ones_like(c)
    return np.moveaxis(
        np.array([[-s, zero, -c], [c, zero, -s], [zero, -one, zero]]), (0, 1), (-2, -1)
    )


def start(angles, rates=(0.0, 0.0, 0.0)):
    """q0 and v0 of a satellite turned by `angles` about the orbiting frame's axes (a rotation
    vector), at `rates` against it.
    """
    A = Rotation.from_rotvec(angles).as_matrix()
    return {"q0": frame(0.0) @ A, "v0": np.asarray(rates) + A.T @ SPIN}


START = start((0.2, 0.3, 0.1))


def librations():
    """The three frequencies about the equilibrium: pitch, then roll and yaw, of s^2 - (1 + 3a + ab)
    n^2 s + 4ab n^4 = 0 for their squares s.
    """
    a, b = (I[1] - I[2]) / I[0], (I[1] - I[0]) / I[2]
    pitch = N * np.sqrt(3 * (I[0] - I[2]) / I[1])
    return np.array([pitch, *np.sort(N * np.sqrt(np.roots([1, -(1 + 3 * a + a * b), 4 * a * b])))])


def linearised():
    """The matrix of (angles, rates) about the orbiting frame, from the accelerations: R = O(t) (1 +
    hat(x)), xi = SPIN + x' + SPIN x x.
    """
    frame0 = jnp.asarray(frame(0.0))

    def rates(y):
        x, dx = y[:3], y[3:]
        xi = jnp.asarray(SPIN) + dx + jnp.cross(SPIN, x)
        return jnp.concatenate(
            [
                dx,
                accelerations(system)(0.0, system.space.retract(frame0, x), xi)
                - jnp.cross(SPIN, dx),
            ]
        )

    return np.asarray(jax.jit(jax.jacfwd(rates))(jnp.zeros(6)))


def swing(amplitude):
    """The period of pitching by `amplitude`: the angle doubled is a pendulum's."""
    return 4 * ellipk(np.sin(amplitude) ** 2) / librations()[0]


def pitch(t, R):
    """The angle about the second axis, in the orbiting frame."""
    A = np.swapaxes(frame(np.asarray(t)), -1, -2) @ np.asarray(R)
    return np.arctan2(A[..., 0, 2], A[..., 2, 2])


def euler(ts, q0, v0):
    """(R, xi) from Euler's equations I xi' = I xi x xi + 3 n^2 c x I c with a quaternion:
    Runge-Kutta 8 of SciPy, time in units of 1/n.
    """

    def rates(t, y):
        k, w = y[:4], y[4:]  # k = (vector, scalar), of any length: R does not depend on it
        c = Rotation.from_quat(k).inv().apply([np.cos(t), np.sin(t), 0.0])
        turn = np.append(k[3] * w + np.cross(k[:3], w), -k[:3] @ w) / 2
        return np.concatenate([turn, (np.cross(I * w, w) + 3 * np.cross(c, I * c)) / I])

    y0 = np.concatenate([Rotation.from_matrix(q0).as_quat(), v0 / N])
    y = solve_ivp(
        rates, (0, N * ts[-1]), y0, "DOP853", N * np.asarray(ts), rtol=1e-13, atol=1e-13
    ).y
    return Rotation.from_quat(y[:4].T).as_matrix(), N * y[4:].T


def jacobi(t, R, p):
    """E - n p.(normal of the orbit), over n^2 times the moment about the normal: constant where the
    frame turns uniformly.
    """
    t, R, p = np.asarray(t), np.asarray(R), np.asarray(p)
    c = np.einsum("kij,ki->kj", R, -frame(t)[..., 2])
    E = np.sum(p**2 / I, axis=1) / 2 + 1.5 * N**2 * np.sum(I * c**2, axis=1)
    return (E - N * np.einsum("kj,kj->k", R[:, 2], p)) / (N**2 * I[1])


def run(h, every, initial=START):
    return simulate(system, Midpoint(), **initial, h=h, steps=SAVES * every, save_every=every)


@cache
def long_run(every):
    """A hundred orbits, kept twice in each."""
    return run(PERIOD / (2 * every), every)


def departure(every):
    """How far the integral of a long run is from its first value, at each kept time."""
    traj = long_run(every)
    values = jacobi(traj.t, traj.q, traj.p)
    return values - values[0]


def checks():
    eigenvalues = np.linalg.eigvals(linearised())
    rows = compare(
        "frequencies of small librations over n, linearised",
        np.sort(eigenvalues.imag)[3:] / N,
        np.sort(librations()) / N,
        1e-12,
    )
    rows += compare(
        "small librations: largest growth rate over n",
        np.max(np.abs(eigenvalues.real)) / N,
        0.0,
        1e-12,
    )
    quarter = swing(1.0) / 4
    q, v = reference(system, **start((0.0, 1.0, 0.0)), ts=[0.0, quarter, 3 * quarter])
    rows += compare(
        "pitch by 1 rad is zero after 1/4 and 3/4 of its period",
        pitch([quarter, 3 * quarter], q[1:]),
        [0.0, 0.0],
        1e-9,
    )
    fast = librations()[0] / N * np.sin(1.0)
    rows += compare("pitch rate over n there", (v[1:, 1] - SPIN[1]) / N, [-fast, fast], 1e-9)
    ts = np.array([0.0, 0.7, 2.0]) * PERIOD
    q, v = reference(system, **START, ts=ts)
    R, xi = euler(ts, **START)
    for i in (1, 2):
        rows += compare(
            f"R after {ts[i] / PERIOD:g} orbits, continuous against Euler's equations with a"
            " quaternion",
            np.ravel(q[i]),
            np.ravel(R[i]),
            1e-9,
        )
        rows += compare(
            f"xi over n after {ts[i] / PERIOD:g} orbits, continuous against Euler's equations",
            v[i] / N,
            xi[i] / N,
            1e-9,
        )
    rows += compare(
        "integral of the orbiting frame, continuous: largest change",
        np.ptp(jacobi(ts, q, I * v)),
        0.0,
        1e-10,
    )
    errors = []
    for every in (2, 4, 8):
        traj = run(ts[2] / (SAVES * every), every)
        errors.append(
            max(np.max(np.abs(traj.q[-1] - R[2])), np.max(np.abs(traj.p[-1] / I - xi[2])) / N)
        )
    rows += compare("order of Midpoint()", np.log2(errors[0] / errors[2]) / 2, 2, 0.05)
    sizes = [np.max(np.abs(departure(every))) for every in (50, 100)]
    rows += compare(
        "order of the error of the integral in a hundred orbits",
        np.log2(sizes[0] / sizes[1]),
        2,
        0.1,
    )
    size = np.abs(departure(50))
    return rows + compare(
        "its mean in the last 25 orbits over that in the first 25",
        np.mean(size[-50:]) / np.mean(size[:51]),
        1,
        0.3,
    )


def figure():
    fig, axes = new_figure(1, 3, (13.5, 3.9))
    left, middle, right = axes[0]
    traj = run(H, 2)
    orbits = np.asarray(traj.t) / PERIOD
    for values, style in ((np.asarray(traj.q), "-"), (euler(np.asarray(traj.t), **START)[0], "k:")):
        angles = Rotation.from_matrix(
            np.swapaxes(frame(np.asarray(traj.t)), 1, 2) @ values
        ).as_euler("YXZ", degrees=True)
        lines = left.plot(orbits, angles, style, lw=1.2)
        for line, label in zip(
            lines,
            ("pitch", "roll", "yaw") if style == "-" else ("Euler's equations", None, None),
            strict=True,
        ):
            line.set_label(label)
    left.set(
        xlabel="orbits",
        ylabel="angle to the orbiting frame [degrees]",
        title="libration, 100 steps an orbit",
        ylim=(-40, 55),
    )
    left.legend(fontsize=8, ncols=4, loc="upper center")
    for every in (50, 100):
        middle.plot(
            np.asarray(long_run(every).t) / PERIOD,
            departure(every),
            lw=0.9,
            label=f"{2 * every} steps an orbit",
        )
    middle.set(xlabel="orbits", ylabel="error over n^2 I2", title="integral of the orbiting frame")
    middle.legend(fontsize=8, loc="upper right")
    grid = np.linspace(0.01, 1.5, 200)
    right.plot(
        np.degrees(grid),
        [swing(a) / PERIOD for a in grid],
        "k:",
        lw=1.2,
        label="closed form, 4 K / omega",
    )
    for a in np.radians([10, 30, 50, 70, 80, 84]):
        traj = run(H, 2, start((0.0, a, 0.0)))
        t, x = np.asarray(traj.t), pitch(traj.t, traj.q)
        k = np.flatnonzero(x[:-1] * x[1:] < 0)[:2]
        zeros = t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])
        right.plot(
            np.degrees(a),
            2 * np.diff(zeros) / PERIOD,
            "o",
            color="#1b6ca8",
            label="100 steps an orbit" if a < 0.2 else None,
        )
    right.set(
        xlabel="amplitude [degrees]",
        ylabel="period of pitching [orbits]",
        title="pitching is a pendulum",
    )
    right.legend(fontsize=8, loc="upper left")
    return fig


entry = Entry(
    name="satellite",
    title="Satellite in the gravity gradient",
    source="Hughes, Spacecraft Attitude Dynamics, ch. 9; Goldstein, Classical Mechanics, 5.8",
    text=(
        "The attitude of a satellite on a circular orbit, as a rotation from its axes to those of"
        " space, turned by the gradient of gravity. The Lagrangian depends on time through the"
        " direction of the Earth; in the orbiting frame it does not, so that the energy minus n"
        " times the angular momentum about the orbit's normal is constant, and the midpoint rule"
        " keeps its error bounded. With the largest moment across the orbit and the smallest"
        " towards the Earth the satellite keeps pointing to the Earth and librates about it: in"
        " pitch as a pendulum in twice the angle, in roll and yaw with two frequencies of a"
        " quadratic equation."
    ),
    system=system,
    method=Midpoint(),
    start=START,
    h=H,
    steps=400,
    checks=checks,
    figure=figure,
)
