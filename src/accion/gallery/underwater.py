"""Kirchhoff's body in an ideal fluid, on SE(3): an ellipsoid with its added masses, momenta,
Casimirs and the instability of going ahead.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import elliprd

from accion.gallery.base import Entry, compare
from accion.instant.continuous import accelerations, reference
from accion.methods import Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import SE3
from accion.systems import System

# [kg/m^3], of the water and of the body; half axes of the ellipsoid [m]
RHO, AXES = 1000.0, (0.5, 0.3, 0.2)
SPEED = 1.0  # [m/s]


def ellipsoid(rho, axes):
    """(J, M) along the axes of a homogeneous ellipsoid of the density of the fluid, its added
    inertia included (Lamb, Hydrodynamics, 114 and 115).
    """
    a2 = np.square(axes)
    mass = 4 / 3 * np.pi * rho * np.prod(axes)
    # alpha_i = abc int_0^inf dx / ((a_i^2 + x) sqrt((a^2 + x)(b^2 + x)(c^2 + x))); they add up to 2
    alpha = np.array(
        [2 / 3 * np.prod(axes) * elliprd(a2[i - 2], a2[i - 1], a2[i]) for i in range(3)]
    )
    J = []
    for i in range(3):
        plus, minus, skew = (
            a2[i - 2] + a2[i - 1],
            a2[i - 2] - a2[i - 1],
            alpha[i - 1] - alpha[i - 2],
        )
        added = minus**2 * skew / (2 * minus - plus * skew) if minus else 0.0
        J.append(mass / 5 * (plus + added))
    return np.array(J), mass * (1 + alpha / (2 - alpha))


J, M = ellipsoid(RHO, AXES)
PARAMS = {"J": J, "M": M}


def lagrangian(t, q, v, params):
    omega, u = v[:3], v[3:]
    return 0.5 * jnp.sum(params["J"] * omega**2) + 0.5 * jnp.sum(params["M"] * u**2)


COORDINATES = ("theta1 [rad]", "theta2 [rad]", "theta3 [rad]", "x [m]", "y [m]", "z [m]")
systems = {
    name: System(lagrangian, SE3(name), PARAMS, coordinates=COORDINATES, name="underwater body")
    for name in ("exp", "cayley")
}
system = systems["exp"]
Q0 = np.eye(4)
V0 = np.array([0.3, 0.02, -0.04, SPEED, 0.05, 0.1])  # going ahead, along the long axis, and rolling
H, SAVES = 0.05, 200  # times kept of every run, so that all of one retraction share a compilation


def growth():
    """The rates at which small deviations from going ahead grow, slower first: U sqrt(m1 (mi -
    m1)/(mi Jk)), (i, k) = (2, 3) and (3, 2).
    """
    return np.sort(
        [SPEED * np.sqrt(M[0] * (M[i] - M[0]) / (M[i] * J[k])) for i, k in ((1, 2), (2, 1))]
    )


slopes = jax.jit(jax.jacfwd(accelerations(system), 2))


def linear_rates(axis):
    """The eigenvalues of the accelerations at steady motion along one axis of the body, the largest
    by size first.
    """
    v = np.zeros(6)
    v[3 + axis] = SPEED
    eigenvalues = np.linalg.eigvals(np.asarray(slopes(0.0, Q0, v)))
    return eigenvalues[np.argsort(-np.abs(eigenvalues))]


def kirchhoff(ts):
    """(R, x, omega, v) by Kirchhoff's equations Pi' = Pi x omega + P x v, P' = P x omega, with a
    quaternion: Runge-Kutta 8 of SciPy.
    """

    def rates(t, y):
        # k = (vector, scalar), of any length: R does not depend on it
        Pi, P, k = y[:3], y[3:6], y[6:10]
        omega, v = Pi / J, P / M
        turn = np.append(k[3] * omega + np.cross(k[:3], omega), -k[:3] @ omega) / 2
        return np.concatenate(
            [
                np.cross(Pi, omega) + np.cross(P, v),
                np.cross(P, omega),
                turn,
                Rotation.from_quat(k).apply(v),
            ]
        )

    y0 = np.concatenate([J * V0[:3], M * V0[3:], [0, 0, 0, 1], np.zeros(3)])
    y = solve_ivp(rates, (0, ts[-1]), y0, "DOP853", ts, rtol=1e-13, atol=1e-13).y
    return Rotation.from_quat(y[6:10].T).as_matrix(), y[10:].T, y[:3].T / J, y[3:6].T / M


def spatial(g, p):
    """(pi, P) = Ad*_{g^-1} p of each row: angular momentum about the origin, linear momentum, in
    space.
    """
    g, p = np.asarray(g), np.asarray(p)
    turned = np.einsum("kij,knj->kni", g[:, :3, :3], p.reshape(-1, 2, 3))
    return turned[:, 0] + np.cross(g[:, :3, 3], turned[:, 1]), turned[:, 1]


@cache
def run(name, h, every):
    return simulate(
        systems[name], Midpoint(), q0=Q0, v0=V0, h=h, steps=SAVES * every, save_every=every
    )


def energy(traj):
    """The error of the energy, relative to its first value."""
    E = np.sum(np.asarray(traj.p) ** 2 / np.append(J, M), axis=1) / 2
    return E / E[0] - 1


def momenta(traj):
    """The changes of (pi, P) since the start, over the largest term of each: |x| |P| grows with the
    way that the body has gone.
    """
    pi, P = spatial(traj.q, traj.p)
    size = np.linalg.norm(P[0]) * (np.linalg.norm(np.asarray(traj.q)[:, :3, 3], axis=1) + AXES[0])
    return np.max(np.abs(pi - pi[0]), axis=1) / size, np.max(
        np.abs(P - P[0]), axis=1
    ) / np.linalg.norm(P[0])


def checks():
    (_, sphere), disk = ellipsoid(RHO, (0.3, 0.3, 0.3)), ellipsoid(RHO, (0.3, 0.3, 3e-7))[1]
    mass = 4 / 3 * np.pi * RHO * np.prod(AXES)
    rows = compare(
        "added mass of a sphere, over its mass",
        sphere / (4 / 3 * np.pi * RHO * 0.3**3) - 1,
        [0.5] * 3,
        1e-12,
    )
    rows += compare(
        "added mass of a disk broadside, over 8/3 rho a^3",
        disk[2] / (8 / 3 * RHO * 0.3**3),
        1,
        1e-5,
    )
    rows += compare(
        "its long axis has the least added mass, its short axis the most",
        np.argsort(M / mass),
        [0, 1, 2],
        1e-15,
    )
    ahead, across = linear_rates(0), linear_rates(2)
    rows += compare("growth rates of going ahead", np.sort(ahead[:4].real)[2:], growth(), 1e-12)
    stable = np.sort([SPEED * np.sqrt(M[2] * (M[2] - M[i]) / (M[i] * J[1 - i])) for i in (0, 1)])
    rows += compare(
        "frequencies about going broadside", np.sort(np.abs(across[:4].imag))[::2], stable, 1e-12
    )
    ts = np.array([0.0, 5.0, 20.0])
    g, xi = reference(system, q0=Q0, v0=V0, ts=ts)
    R, x, omega, v = kirchhoff(ts)
    for i, t in enumerate(ts[1:], 1):
        rows += compare(
            f"R({t:g}), continuous against Kirchhoff's equations with a quaternion",
            np.ravel(g[i, :3, :3]),
            np.ravel(R[i]),
            1e-9,
        )
        rows += compare(
            f"x({t:g}), continuous against Kirchhoff's equations", g[i, :3, 3], x[i], 1e-9
        )
        rows += compare(
            f"(omega, v)({t:g}), continuous against Kirchhoff's equations",
            xi[i],
            [*omega[i], *v[i]],
            1e-9,
        )
    for name in systems:
        errors = [
            np.max(
                np.abs(
                    np.asarray(
                        run(name, ts[1] / (SAVES * every), every).q[-1, :3]
                        - np.column_stack([R[1], x[1]])
                    )
                )
            )
            for every in (2, 4, 8)
        ]
        rows += compare(f"{name}: order", np.log2(errors[0] / errors[2]) / 2, 2, 0.05)
        traj = run(name, H, 47)
        angular, linear = momenta(traj)
        rows += compare(
            f"{name}: change of the angular momentum in space, relative",
            np.max(angular),
            0.0,
            1e-12,
        )
        rows += compare(
            f"{name}: change of the linear momentum in space, relative", np.max(linear), 0.0, 1e-12
        )
        Pi, P = np.split(np.asarray(traj.p), 2, axis=1)
        for label, casimir in (("P.P", np.sum(P * P, axis=1)), ("Pi.P", np.sum(Pi * P, axis=1))):
            rows += compare(
                f"{name}: change of the Casimir {label}, relative",
                np.max(np.abs(casimir / casimir[0] - 1)),
                0.0,
                1e-12,
            )
        size = np.abs(energy(traj))
        rows += compare(
            f"{name}: energy error, mean of the last quarter over that of the first",
            np.mean(size[-50:]) / np.mean(size[:51]),
            1,
            0.3,
        )
    return rows


def figure():
    fig, axes = new_figure(1, 4, (16.5, 3.9))
    first, second, third, fourth = axes[0]
    ts = np.linspace(0, 40, 401)
    x = kirchhoff(ts)[1]
    first.plot(x[:, 0], x[:, 2], "k-", lw=0.8, label="Kirchhoff's equations")
    g = np.asarray(run("exp", H, 4).q)[::3]
    first.plot(g[:, 0, 3], g[:, 2, 3], "o", ms=3, label=f"exp, h = {H} s")
    first.set(xlabel="x, ahead [m]", ylabel="z [m]", title="path of the centre, 40 s")
    first.legend(fontsize=8)
    small = np.array([0.0, 0.0, 0.0, SPEED, 1e-6, 1e-6])
    ts = np.linspace(0, 12, 121)
    _, xi = reference(system, q0=Q0, v0=small, ts=ts)
    for i, rate, name in ((4, 0, "v2"), (5, 1, "v3")):
        second.semilogy(ts, np.abs(xi[:, i]), label=f"|{name}|")
        second.semilogy(
            ts,
            small[i] * np.cosh(growth()[rate] * ts),
            "k:",
            lw=1,
            label="small deviations, closed form" if i == 5 else None,
        )
    second.set(
        xlabel="t [s]",
        ylabel="velocity across the long axis [m/s]",
        title="going ahead is unstable",
        ylim=(5e-7, 5),
    )
    second.legend(fontsize=8, loc="lower right")
    for name, color in zip(systems, ("#1b6ca8", "#d1495b"), strict=True):
        traj = run(name, H, 47)
        third.semilogy(traj.t[1:], np.abs(energy(traj))[1:], lw=0.9, color=color, label=name)
        for value, label, style in zip(
            momenta(traj), ("angular", "linear"), ("-", ":"), strict=True
        ):
            fourth.semilogy(
                traj.t[1:], value[1:], style, lw=1.2, color=color, label=f"{name}: {label}"
            )
    third.set(xlabel="t [s]", ylabel="|energy error|, relative", title=f"energy, h = {H} s")
    third.legend(fontsize=8)
    fourth.set(
        xlabel="t [s]",
        ylabel="change, relative to the largest term",
        title="momentum in space",
        ylim=(1e-18, 1e-10),
    )
    fourth.legend(fontsize=8, ncols=2, loc="upper left")
    return fig


entry = Entry(
    name="underwater",
    title="Kirchhoff's body in an ideal fluid",
    source=(
        "Leonard and Marsden, Stability and drift of underwater vehicle dynamics, Physica D 105"
        " (1997); Lamb, Hydrodynamics, ch. VI"
    ),
    text=(
        "An ellipsoid as heavy as the water that it displaces, on SE(3): the fluid adds to its mass"
        " and moments what Lamb's integrals give. Nothing depends on where it is, so that the"
        " momentum and the angular momentum in space are kept to roundoff, and with them the"
        " Casimirs P.P and Pi.P, with both retractions. Going ahead along the long axis, where the"
        " added mass is least, is unstable (the couple that turns a ship across the stream); going"
        " broadside is stable. The rates are those of small deviations, in closed form."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": Q0, "v0": V0},
    h=H,
    steps=1000,
    checks=checks,
    figure=figure,
    positions=lambda g: jnp.stack(
        [g[:3:2, 3] - AXES[0] * g[:3:2, 0], g[:3:2, 3] + AXES[0] * g[:3:2, 0]]
    ),
)
