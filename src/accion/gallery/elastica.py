"""Euler's elastica: the curve of a bent rod, a system of second order whose curvature is an
elliptic function of the length.
"""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from scipy.special import ellipeinc, ellipj, ellipk

from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import HigherOrderSystem

W, MODULUS = 1.0, 0.75  # the root of the force over the stiffness, and the modulus
H, LENGTH = 0.05, 8.0
MODULI = (0.4, 0.75, 0.9089, 0.98)  # the third one closes to a figure of eight


def lagrangian(t, q, v, a, params):
    """The energy of bending, for each unit of length; t is the length."""
    return 0.5 * params["B"] * jnp.sum(a**2)


def inextensible(t, q, v, a, params):
    """|q'| does not change; at the start it is 1."""
    return jnp.array([v @ a])


system = HigherOrderSystem(
    lagrangian,
    Euclidean(2),
    {"B": 1.0},
    vakonomic=inextensible,
    coordinates=("x [m]", "y [m]"),
    name="elastica",
)


def start(k):
    """q, (q', q'', q''') and (lam, lam') of the rod that begins along x where it is bent most,
    under the force B W^2 along -x: B q''' + lam' q' is the force, and only lam' matters.
    """
    bend = 2 * k * W
    jets = np.array([[1.0, 0.0], [0.0, bend], [-(bend**2), 0.0]])
    return {"q0": np.zeros(2), "v0": jets, "lam0": np.array([[0.0], [bend**2 + W**2]])}


def curvature(s, k):
    """2 k W cn(W s, k): theta'' = -W^2 sin(theta), a pendulum."""
    return 2 * k * W * ellipj(W * np.asarray(s), k**2)[1]


def exact(s, k):
    """(x, y) of the elastica with inflections."""
    _, cn, _, am = ellipj(W * np.asarray(s), k**2)
    return np.stack([2 * ellipeinc(am, k**2) / W - s, 2 * k * (1 - cn) / W], axis=-1)


@lru_cache
def bent(k, h):
    return simulate(system, Midpoint(), **start(k), h=h, steps=round(LENGTH / h))


def error(run, k):
    return np.max(np.abs(np.asarray(run.q) - exact(np.asarray(run.t), k)))


def checks():
    s = np.linspace(0, LENGTH, 9)
    q, jets, _ = reference(system, **start(MODULUS), ts=s)
    rows = compare("elastica at its end, continuous", q[-1], exact(s, MODULUS)[-1], 1e-9)
    bend = jets[:, 0, 0] * jets[:, 1, 1] - jets[:, 0, 1] * jets[:, 1, 0]
    rows += compare(
        "curvature 2 k W cn(W s, k), largest difference",
        np.max(np.abs(bend - curvature(s, MODULUS))),
        0.0,
        1e-9,
    )
    rows += compare("its length is the time", np.linalg.norm(jets[:, 0], axis=1), np.ones(9), 1e-10)
    errors = [error(bent(MODULUS, h), MODULUS) for h in (0.1, 0.05, 0.025)]
    rows += compare("order of Midpoint()", np.log2(errors[0] / errors[2]) / 2, 2, 0.1)
    run = bent(MODULUS, H)
    rows += compare(
        "the force is kept: largest change of p_0",
        np.max(np.abs(run.p[:, 0] - run.p[0, 0])),
        0.0,
        1e-9,
    )
    rows += compare("the force B W^2 at the start", run.p[0, 0], [-(W**2), 0.0], 5e-3)
    inflection = ellipk(MODULUS**2) / W
    rows += compare(
        "at the quarter of a period the rod is straight", curvature(inflection, MODULUS), 0.0, 1e-12
    )
    return rows


def figure():
    fig, axes = new_figure(1, 3, (13, 3.9))
    rods, bends, orders = axes[0]
    s = np.linspace(0, LENGTH, 400)
    for k in MODULI:
        line = rods.plot(*exact(s, k).T, label=f"k = {k:g}")[0]
        bends.plot(s, curvature(s, k), color=line.get_color())
        run = bent(k, H)
        rods.plot(*np.asarray(run.q)[::4].T, "o", ms=2.5, color=line.get_color())
    rods.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="rods; h = 0.05 m (dots)")
    rods.legend(fontsize=7)
    bends.set(xlabel="length [m]", ylabel="curvature [1/m]", title="2 k W cn(W s, k)")
    hs = np.array([0.1, 0.05, 0.025])
    for k in MODULI[:3]:
        orders.loglog(hs, [error(bent(k, h), k) for h in hs], "o-", label=f"k = {k:g}")
    orders.loglog(hs, 0.2 * hs**2, "k:", lw=1, label="slope 2")
    step_axis(orders, hs)
    orders.set(ylabel="largest error [m]", title="Midpoint")
    orders.legend(fontsize=7)
    return fig


entry = Entry(
    name="elastica",
    title="Euler's elastica",
    source="Vakonomic thesis, sections 5.2 and 8.4; Euler 1744",
    text=(
        "A rod that cannot be stretched takes the shape of least bending energy: L = B |q''|^2/2"
        " with |q'| = 1, a vakonomic system of second order, in the length as time. The momentum of"
        " translations is the force in the rod; along it the heading is a pendulum, and the"
        " curvature 2 k W cn(W s, k)."
    ),
    system=system,
    method=Midpoint(),
    start=start(MODULUS),
    h=H,
    steps=160,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.stack([q, q + jnp.array([0.02, 0.0])]),
)
