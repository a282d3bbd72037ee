"""The pendulum and its modified Hamiltonians: what a variational method conserves, and how well."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ellipj, ellipk

from accion.analysis import ladder, modified_hamiltonian, order
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import Midpoint, Trapezoid
from accion.plot import new_figure, step_axis
from accion.solve.simulation import simulate
from accion.spaces import Torus
from accion.symbols import symbolic
from accion.systems import System

Q0, V0, H = 1.0, 0.0, 0.1
DURATION = 10.0
STEPS = (0.1, 0.05, 0.025)
ORDERS = (2, 4, 6, 8)
LONG, MANY, COARSE = 300, (2, 4, 8, 12, 16), (1.0, 0.8, 2 / 3, 0.5, 0.4, 1 / 3)


def lagrangian(t, q, v, params):
    m, l, gravity = params["m"], params["l"], params["gravity"]
    return 0.5 * m * l**2 * v[0] ** 2 + m * gravity * l * jnp.cos(q[0])


system = System(
    lagrangian,
    Torus(1),
    {"m": 1.0, "l": 1.0, "gravity": 1.0},
    coordinates=("theta [rad]",),
    name="pendulum",
)


def exact(ts):
    """(theta, theta') from rest at Q0: sin(theta/2) = k cd(t, k), k = sin(Q0/2) (m = l = g = 1)."""
    k = np.sin(Q0 / 2)
    sn, cn, dn, _ = ellipj(np.asarray(ts), k**2)
    return 2 * np.arcsin(k * cn / dn), -2 * k * np.cos(Q0 / 2) * sn / dn


def second_term(q, p):
    """The h^2 term of the modified Hamiltonian of the midpoint rule (m = l = g = 1)."""
    return -(p**2 * np.cos(q) + np.sin(q) ** 2) / 24


@cache
def rungs():
    """The drifts of H and of its modified Hamiltonians for steps that go to zero."""
    return ladder(system, Midpoint(), q0=[Q0], v0=[V0], duration=DURATION, h=STEPS, orders=ORDERS)


@cache
def best(h):
    """The drifts of the modified Hamiltonians of each order, with one step."""
    traj = simulate(system, Midpoint(), q0=[Q0], v0=[V0], h=h, steps=LONG)
    return np.array([modified_hamiltonian(system, Midpoint(), n).drift(traj) for n in MANY])


def second_term_in_numbers(q, p):
    """(H~ - H)/h^2 for h to zero, by one extrapolation, at the points (q, p)."""
    modified = modified_hamiltonian(system, Midpoint(), 4)
    look = jax.jit(jax.vmap(lambda h, q, p: modified(0.0, h, q[None], p[None]), (None, 0, 0)))
    coarse, fine = (
        (np.asarray(look(h, q, p)) - (p**2 / 2 - np.cos(q))) / h**2 for h in (0.01, 0.005)
    )
    return (4 * fine - coarse) / 3


def second_term_in_symbols(q, p):
    """The same from the formula that SymPy derives."""
    equations = symbolic(system)
    term = equations.modified(Midpoint(), 2).hamiltonian_terms[2]
    (theta,) = equations.q
    (momentum,) = (
        f for f in term.atoms(type(theta).__base__) if f != theta and f.args == theta.args
    )
    term = term.subs(equations.values)
    return np.array([float(term.subs({theta: a, momentum: b})) for a, b in zip(q, p, strict=True)])


def checks():
    period = 4 * ellipk(np.sin(Q0 / 2) ** 2)
    ts = [0.0, 1.0, 2.5, period]
    q, v = reference(system, q0=[Q0], v0=[V0], ts=ts)
    rows = compare(
        "theta(1, 2.5, period), continuous against the elliptic function",
        q[1:, 0],
        exact(ts[1:])[0],
        1e-9,
    )
    rows += compare("its velocity", v[1:, 0], exact(ts[1:])[1], 1e-9)
    for method in (Midpoint(), Trapezoid()):
        end = tuple(jnp.array([x]) for x in exact(5.0))
        measured = order(
            system, method, q0=[Q0], v0=[V0], duration=5.0, h=[0.1, 0.05, 0.025], exact=end
        )
        rows += compare(f"order of {method}", measured.slope, 2, 0.05)
    z = np.array([1.0, -2.0]), np.array([0.3, 1.1])
    rows += compare(
        "h^2 term of the midpoint rule, in numbers",
        second_term_in_numbers(*z),
        second_term(*z),
        1e-8,
    )
    rows += compare(
        "h^2 term of the midpoint rule, in symbols",
        second_term_in_symbols(*z),
        second_term(*z),
        1e-14,
    )
    for name, slope, target in zip(
        ("H", *(f"the modified Hamiltonian of order {n}" for n in ORDERS)),
        rungs().slopes,
        (2, *ORDERS),
        strict=True,
    ):
        rows += compare(f"drift of {name}, power of h", slope, target, 0.2)
    least = np.log([np.min(best(h)) for h in COARSE])
    return rows + compare(
        "log of the least drift over the orders against 1/h, correlation",
        np.corrcoef(1 / np.array(COARSE), least)[0, 1],
        -1,
        0.01,
    )


def figure():
    fig, axes = new_figure(1, 3, (13, 4.0))
    left, middle, right = axes[0]
    rung = rungs()
    for n, slope, drifts in zip(rung.orders, rung.slopes, rung.drifts, strict=True):
        left.loglog(
            rung.h,
            drifts,
            "o-" if n else "ks--",
            ms=4,
            label=f"{f'order {n}' if n else 'H itself'}: slope {slope:.2f}",
        )
    step_axis(left, rung.h)
    left.set(
        ylabel="largest change [J]",
        title=f"modified Hamiltonians over {DURATION:g} s",
        ylim=(3e-14, 20.0),
    )
    left.legend(fontsize=8, ncols=2, loc="upper center")
    for h in COARSE:
        middle.semilogy(MANY, best(h), "o-", ms=4, label=f"h = {h:.2g} s")
    middle.set(
        xlabel="order of truncation",
        ylabel=f"largest change over {LONG} steps [J]",
        title="the gain from more terms ends",
        xticks=MANY,
        ylim=(2e-7, 1.0),
    )
    middle.legend(fontsize=8, loc="lower left", ncols=2)
    x, least = 1 / np.array(COARSE), [np.min(best(h)) for h in COARSE]
    slope, height = np.polyfit(x, np.log(least), 1)
    right.semilogy(x, least, "o", label="least change over the orders")
    right.semilogy(x, np.exp(height + slope * x), "k:", lw=1, label=f"exp({slope:.1f} s/h)")
    right.set(
        xlabel="1/h [1/s]",
        ylabel=f"largest change over {LONG} steps [J]",
        title="exponentially small in 1/h",
    )
    right.legend(fontsize=8, loc="upper right")
    return fig


def positions(q, params=system.params):
    tip = params["l"] * jnp.array([jnp.sin(q[0]), -jnp.cos(q[0])])
    return jnp.stack([jnp.zeros(2), tip])


entry = Entry(
    name="pendulum",
    title="Pendulum: the ladder of modified Hamiltonians",
    source="Colombo-Gamonal, section 5, Thm 5.2; Hairer, Lubich and Wanner, IX.3 and IX.8",
    text=(
        "The midpoint rule does not keep the energy H of the pendulum, but, up to terms"
        " exponentially small in 1/h, a modified Hamiltonian H + h^2 H_2 + h^4 H_4 + ..., with H_2"
        " = -(p^2 cos q + sin^2 q)/24 (for mass, length and gravity 1), found here in numbers and"
        " in symbols. Computed from 2, 4, 6 or 8 neighbouring steps it is kept to that power of h"
        " (the one of order 2 is worse than H itself, by a constant). With a fixed step, more terms"
        " help only until the change levels off; the least change, of orders up to 16, falls like"
        " exp(-c/h)."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [Q0], "v0": [V0]},
    h=H,
    steps=200,
    checks=checks,
    figure=figure,
    card=True,
    positions=positions,
)
