"""The examples of Romero: the equations as they are displayed hold, those printed with a
wrong sign do not; both ways of building agree.
"""

from functools import cache

import jax
import numpy as np
import pytest

import accion as ac
from accion.gallery import (
    atwood,
    crank_pulley,
    disk_on_wedge,
    double_pendulum,
    driven_mass,
    rotating_slot,
    slotted_disk,
    two_masses,
)
from accion.gallery.base import Check, same_accelerations

MODULES = {
    "slotted_disk": slotted_disk,
    "crank_pulley": crank_pulley,
    "double_pendulum": double_pendulum,
    "atwood": atwood,
    "disk_on_wedge": disk_on_wedge,
    "driven_mass": driven_mass,
    "two_masses": two_masses,
}
sin, cos = np.sin, np.cos


@cache
def samples(name, built):
    """Ten random points of a system by hand or from particles: t, q, v, a (and lam), as columns."""
    system = MODULES[name].system if built == "by hand" else MODULES[name].from_particles()
    rng = np.random.default_rng(5)
    t, (q, v) = rng.uniform(0, 5, 10), rng.normal(size=(2, 10, system.space.dim))
    a = jax.jit(jax.vmap(ac.accelerations(system)))(t, q, v)
    a, lam = a if isinstance(a, tuple) else (a, np.zeros((10, 0)))
    return t, q.T, v.T, np.asarray(a).T, np.asarray(lam).T


def slot(p, t, q, v, a, lam, sign=1):
    (l, al), (dl, dal), (ddl, ddal) = q, v, a
    m, I, g = p["m"], p["I"], sign * p["gravity"]
    return m * ddl - m * l * dal**2 + m * g * sin(al), (
        m * l**2 + I
    ) * ddal + 2 * m * l * dl * dal + m * g * l * cos(al)


def crank(p, t, q, v, a, lam):
    ab = p["a"] * p["b"]
    s = np.sqrt(p["a"] ** 2 + p["b"] ** 2 - 2 * ab * cos(q[0]))
    s1 = ab * sin(q[0]) / s
    s2 = ab * cos(q[0]) / s - s1**2 / s
    return (
        (p["I"] + p["M"] * s1**2) * a[0]
        + p["M"] * s1 * s2 * v[0] ** 2
        + p["M"] * p["gravity"] * s1,
    )


def pendulum(p, t, q, v, a, lam, sign=1):
    d = q[0] - q[1]
    g = sign * p["gravity"]
    upper = (
        p["a"] * (p["ma"] + p["mb"]) * a[0]
        + p["b"] * p["mb"] * (a[1] * cos(d) + v[1] ** 2 * sin(d))
        + (p["ma"] + p["mb"]) * g * sin(q[0])
    )
    return upper, p["a"] * a[0] * cos(d) - p["a"] * v[0] ** 2 * sin(d) + p["b"] * a[1] + g * sin(
        q[1]
    )


def pulley(p, t, q, v, a, lam, sign=1):
    return (
        (p["mA"] + p["mB"] + p["I"] / p["r"] ** 2) * a[0]
        + sign * (p["mB"] - p["mA"]) * p["gravity"],
    )


def wedge(p, t, q, v, a, lam):
    c = p["m"] * p["r"] * cos(p["alpha"])
    inertia = p["m"] * p["r"] ** 2 * 3 / 2
    return (p["M"] + p["m"]) * a[0] + c * a[1], inertia * a[1] + c * a[0] - p["m"] * p[
        "gravity"
    ] * p["r"] * sin(p["alpha"])


def driven(p, t, q, v, a, lam):
    return (p["M"] * a[0] + p["mu"] * v[0] + p["k"] * q[0] - p["A"] * cos(p["omega"] * t),)


def rod(p, t, q, v, a, lam, sign=1):
    m, g = p["m"], sign * p["gravity"]
    return m * a[0] + m * g - lam[0], m * a[1] + m * g + lam[0], lam[0]


EQUATIONS = {
    "slotted_disk": slot,
    "crank_pulley": crank,
    "double_pendulum": pendulum,
    "atwood": pulley,
    "disk_on_wedge": wedge,
    "driven_mass": driven,
    "two_masses": rod,
}


@pytest.mark.parametrize("built", ["by hand", "from particles"])
@pytest.mark.parametrize("name", MODULES)
def test_displayed_equations(name, built):
    residuals = EQUATIONS[name](MODULES[name].system.params, *samples(name, built))
    np.testing.assert_allclose(np.concatenate(residuals), 0.0, atol=2e-13)


@pytest.mark.parametrize("name", ["slotted_disk", "double_pendulum", "atwood", "two_masses"])
def test_printed_signs_of_gravity_fail(name):
    """Romero, eq (27), (31), (33) and, with q upwards, (52)."""
    residuals = EQUATIONS[name](MODULES[name].system.params, *samples(name, "by hand"), sign=-1)
    assert min(np.max(np.abs(r)) for r in residuals[:2]) > 1


def test_rotating_slot_in_one_coordinate():
    """l'' = Omega^2 l - g sin(Omega t), from a position that depends on time; and the equations in
    the plane with their multiplier.
    """
    p = rotating_slot.PARAMS
    t, q, v = np.array([0.3, 1.1]), np.array([[0.5], [-0.4]]), np.array([[0.2], [0.7]])
    a = jax.jit(jax.vmap(ac.accelerations(rotating_slot.from_particles())))(t, q, v)
    np.testing.assert_allclose(
        a[:, 0], p["Omega"] ** 2 * q[:, 0] - p["gravity"] * sin(p["Omega"] * t), atol=1e-13
    )
    plane = np.random.default_rng(1).normal(size=(2, 2))
    (ax, ay), lam = jax.jit(ac.accelerations(rotating_slot.system))(0.3, *plane)
    residual = (
        p["m"] * ax + lam[0] * sin(p["Omega"] * 0.3),
        p["m"] * (ay + p["gravity"]) - lam[0] * cos(p["Omega"] * 0.3),
    )
    np.testing.assert_allclose(residual, 0.0, atol=1e-13)


def test_a_difference_is_seen():
    (check,) = same_accelerations(
        atwood.system, atwood.from_particles().with_params({**atwood.PARAMS, "I": 0.1 + 1e-9})
    )
    assert not check.passed


def test_a_check_without_tolerance_is_refused():
    with pytest.raises(ValueError, match="tolerance must be positive"):
        Check("x", 0.0, 0.0, 0.0)
