"""A vertical disk that rolls, by two principles: d'Alembert's, of rolling bodies, and that of the
least action, whose motions are the shortest ways of a wheel, in elliptic functions.
"""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad
from scipy.special import ellipj

from accion.gallery import rolling_disk
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import System

# Without a mass of its own in the plane, the cost of a way is that of its turns alone.
PARAMS = rolling_disk.PARAMS | {"m": 0.0}
PULL, MODULUS = 0.9, 0.8
H, STEPS = 0.04, 150
COORDINATES = rolling_disk.COORDINATES

system = System(
    rolling_disk.lagrangian,
    Euclidean(4),
    PARAMS,
    nonholonomic=rolling_disk.rolling,
    coordinates=COORDINATES,
    name="vertical disk",
)
shortest = System(
    rolling_disk.lagrangian,
    Euclidean(4),
    PARAMS,
    vakonomic=rolling_disk.rolling,
    coordinates=COORDINATES,
    name="shortest ways of a vertical disk",
)
R, I, J = PARAMS["R"], PARAMS["I"], PARAMS["J"]
RATE = R * PULL / np.sqrt(I * J)  # of the elliptic functions
Q0 = np.array([0.0, 0.0, 0.0, np.pi / 2])
LAM0 = np.array([PULL, 0.0])
# I theta' = R PULL cos(phi), so the disk does not roll yet
V0 = np.array([0.0, 0.0, 0.0, RATE * MODULUS])


def heading(t):
    """phi of the shortest way: with phi = pi/2 + b, J b'' = -(R PULL)^2/I sin b cos b, so that
    sin b = k sn(RATE t, k), here with k = MODULUS.
    """
    sn, _, dn, _ = ellipj(RATE * np.asarray(t), MODULUS**2)
    return np.pi / 2 + np.arctan2(MODULUS * sn, dn)


def rolled(t):
    """theta' = R PULL cos(phi)/I = -(R PULL/I) k sn, whose integral is a logarithm."""
    _, cn, dn, _ = ellipj(RATE * np.asarray(t), MODULUS**2)
    k = MODULUS
    return R * PULL / (I * RATE) * np.log((dn + k * cn) / (1 + k))


def exact(t):
    """(x, y, theta, phi) at one time; x and y are integrals of R theta' (cos, sin)(phi)."""

    def rate(s, part):
        phi = heading(s)
        return R**2 * PULL / I * np.cos(phi) * part(phi)

    x, y = (
        quad(rate, 0, t, args=(part,), epsabs=1e-13, epsrel=1e-13, limit=200)[0]
        for part in (np.cos, np.sin)
    )
    return np.array([x, y, rolled(t), heading(t)])


@lru_cache
def marched(method, h, duration):
    return simulate(shortest, method, q0=Q0, v0=V0, lam0=LAM0, h=h, steps=round(duration / h))


def error(run):
    """The largest error of theta and phi over a run."""
    t = np.asarray(run.t)
    return max(
        np.max(np.abs(np.asarray(run.q)[:, 3] - heading(t))),
        np.max(np.abs(np.asarray(run.q)[:, 2] - rolled(t))),
    )


def checks():
    ts = np.array([0.0, 1.5, 3.0, 6.0])
    q, v, lam = reference(shortest, q0=Q0, v0=V0, lam0=LAM0, ts=ts)
    rows = compare("shortest way at t = 6, continuous", q[-1], exact(6.0), 1e-9)
    rows += compare("its multipliers are the momenta of x and y", lam[-1], LAM0, 1e-9)
    cost = 0.5 * I * v[:, 2] ** 2 + 0.5 * J * v[:, 3] ** 2
    rows += compare("its rate of cost is constant", cost, [0.5 * J * V0[3] ** 2] * 4, 1e-9)
    errors = [error(marched(Midpoint(), h, 6.0)) for h in (0.04, 0.02, 0.01)]
    rows += compare(
        "order of Midpoint() on the shortest way", np.log2(errors[0] / errors[2]) / 2, 2, 0.05
    )
    start = rolling_disk.Q0, rolling_disk.V0
    run = simulate(system, Midpoint(), q0=start[0], v0=start[1], h=H, steps=STEPS)
    rows += compare(
        "nonholonomic: theta and phi turn evenly",
        run.q[-1, 2:],
        rolling_disk.exact(H * STEPS)[2:],
        1e-11,
    )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (13, 3.9))
    plane, angles, orders = axes[0]
    ts = np.linspace(0, 5, 150)
    way = np.stack([exact(t) for t in ts])
    even = np.asarray(
        simulate(
            system,
            Midpoint(),
            q0=Q0,
            v0=[0.0, R * 2.2, 2.2, 2.2],
            h=0.02,
            steps=150,
        ).q
    )
    run = marched(Midpoint(), H, 5.0)
    line = plane.plot(way[:, 0], way[:, 1], label="vakonomic: shortest, closed form")[0]
    plane.plot(
        *np.asarray(run.q)[::4, :2].T, "o", ms=2.5, color=line.get_color(), label="h = 0.04 s"
    )
    plane.plot(even[:, 0], even[:, 1], label="nonholonomic: a circle")
    plane.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="point of contact")
    plane.set_ylim(-1.0, 1.6)
    plane.legend(fontsize=7, loc="upper right")
    angles.plot(ts, heading(ts), label="phi, heading")
    angles.plot(ts, rolled(ts), label="theta, rolled")
    angles.plot(run.t[::4], np.asarray(run.q)[::4, 2:], "k.", ms=2.5)
    angles.set(xlabel="t [s]", ylabel="[rad]", title="angles of the shortest way")
    angles.set_ylim(-2.6, 2.8)
    angles.legend(fontsize=7, loc="lower right")
    hs = np.array([0.16, 0.08, 0.04, 0.02])
    orders.loglog(hs, [error(marched(Midpoint(), h, 6.0 - 6.0 % h)) for h in hs], "o-")
    orders.loglog(hs, 1.5 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="largest error of the angles [rad]", title="Midpoint")
    orders.legend(fontsize=7)
    return fig


entry = Entry(
    name="vertical_disk",
    title="Shortest ways of a vertical disk",
    source="Vakonomic thesis, chapters 3 and 4; Bonich, Ex 2.28",
    text=(
        "A disk rolls upright, and a way costs I theta'^2/2 + J phi'^2/2. As the disk rolls by"
        " itself, both rates are constant and it runs on a circle. The cheapest ways, the vakonomic"
        " motions of the same Lagrangian, swing: the multipliers are the momenta of x and y,"
        " constant, and the heading is that of a pendulum, sin(phi - pi/2) = k sn(w t, k)."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": rolling_disk.Q0, "v0": rolling_disk.V0},
    h=H,
    steps=STEPS,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack(
        [
            q[:2] - 0.5 * jnp.array([jnp.cos(q[3]), jnp.sin(q[3])]),
            q[:2] + 0.5 * jnp.array([jnp.cos(q[3]), jnp.sin(q[3])]),
        ]
    ),
)
