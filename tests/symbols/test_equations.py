"""The equations of a system as expressions: against the functions that are run, closed forms and
each other.
"""

import time
import unicodedata

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.instant.constrained import project_at
from tests.symbols.systems import SYSTEMS, equations, numbers, point, t


@pytest.mark.parametrize("name", SYSTEMS)
def test_against_the_functions_that_are_run(name, rng):
    system, eqs = SYSTEMS[name], equations(name)
    for _ in range(3):
        time, q, v, lam = point(system, rng)
        inner = jnp.array(lam) if name == "vakonomic" else None
        np.testing.assert_allclose(
            numbers(eqs, [eqs.L], time, q, v, lam)[0], system.L(time, q, v), rtol=1e-12
        )
        np.testing.assert_allclose(
            numbers(eqs, eqs.force, time, q, v, lam), system.F(time, q, v), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(
            numbers(eqs, eqs.momenta, time, q, v, lam),
            system.legendre(time, jnp.array(q), jnp.array(v), inner),
            rtol=1e-11,
        )
        np.testing.assert_allclose(
            numbers(eqs, [eqs.energy], time, q, v, lam)[0],
            system.energy(time, jnp.array(q), jnp.array(v), inner),
            rtol=1e-11,
        )
        H = jax.jacobian(system.legendre, 2)(time, jnp.array(q), jnp.array(v), inner)
        np.testing.assert_allclose(
            numbers(eqs, eqs.mass_matrix, time, q, v, lam).reshape(H.shape),
            H,
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_and_multipliers(name, rng):
    system, eqs = SYSTEMS[name], equations(name)
    run = jax.jit(ac.accelerations(system))
    for _ in range(3):
        time, q, v, lam = point(system, rng)
        args = (
            time,
            jnp.array(q),
            jnp.array(v),
            *((jnp.array(lam),) if name == "vakonomic" else ()),
        )
        found = run(*args)
        a, other = found if isinstance(found, tuple) else (found, ())
        np.testing.assert_allclose(
            numbers(eqs, eqs.accelerations, time, q, v, lam), a, rtol=1e-9, atol=1e-10
        )
        np.testing.assert_allclose(
            numbers(eqs, eqs.multipliers, time, q, v, lam), other, rtol=1e-9, atol=1e-10
        )


@pytest.mark.parametrize(
    "name", ["free", "forced", "holonomic", "nonholonomic", "nonlinear", "variational", "both"]
)
def test_equations_hold_for_the_accelerations(name, rng):
    system, eqs = SYSTEMS[name], equations(name)
    time, q, v, _ = point(system, rng)
    found = jax.jit(ac.accelerations(system))(time, jnp.array(q), jnp.array(v))
    a, lam = found if isinstance(found, tuple) else (found, ())
    residual = numbers(eqs, [e.lhs - e.rhs for e in eqs.equations], time, q, v, lam, a)
    np.testing.assert_allclose(residual, 0, rtol=1e-9, atol=1e-10)
    wrong = numbers(eqs, [e.lhs + e.rhs for e in eqs.equations], time, q, v, lam, a)
    assert name == "free" or np.max(np.abs(wrong)) > 1e-3


@pytest.mark.parametrize(
    "name", ["free", "forced", "holonomic", "nonholonomic", "variational", "both"]
)
def test_energy_rate(name):
    """dE/dt along the motion, against the derivative of the energy in the direction (1, v, a) at a
    point of the constraint.
    """
    system, eqs = SYSTEMS[name], equations(name)
    q, v = project_at(system, 0.5, jnp.array([0.3, -0.2, 0.4]), jnp.array([0.5, 0.2, -0.3]))
    found = jax.jit(ac.accelerations(system))(0.5, q, v)
    a, lam = found if isinstance(found, tuple) else (found, ())
    expected = jax.jvp(system.energy, (0.5, q, v), (1.0, v, a))[1]
    rate = numbers(eqs, [eqs.energy_rate], 0.5, q, v, lam)[0]
    assert rate == pytest.approx(float(expected), abs=1e-10)
    assert abs(rate) > 1e-3


def test_cyclic_coordinates():
    def lagrangian(t, q, v, p):
        return 0.5 * p["m"] * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2) + 0.5 * v[2] ** 2 + p["k"] / q[0]

    r, phi, z = sp.Function("r")(t), sp.Function("phi")(t), sp.Function("z")(t)
    params = {"m": 2.0, "k": 1.0}
    system = ac.System(lagrangian, ac.Euclidean(3), params, coordinates=("r", "phi", "z"))
    assert ac.symbolic(system).cyclic == {phi: sp.Symbol("m") * r**2 * phi.diff(t), z: z.diff(t)}
    pushed = ac.System(
        lagrangian,
        ac.Euclidean(3),
        params,
        coordinates=("r", "phi", "z"),
        force=lambda t, q, v, p: jnp.array([0.0, 0.0, 1.0]),
    )
    assert list(ac.symbolic(pushed).cyclic) == [phi]
    held = ac.System(
        lagrangian,
        ac.Euclidean(3),
        params,
        coordinates=("r", "phi", "z"),
        holonomic=lambda t, q, p: jnp.array([q[2] - q[0]]),
    )
    assert list(ac.symbolic(held).cyclic) == [phi]


def test_names_of_parameters():
    params = {"m": jnp.array([1.0, 2.0]), "body": {"x": 3.0, "m": 4.0}, "t": 5.0, "gravity": 6.0}
    system = ac.System(
        lambda t, q, v, p: (
            0.5 * p["m"][0] * v[0] ** 2
            - p["body"]["x"] * q[0] ** 2
            + p["body"]["m"] * p["t"] * p["gravity"] * q[0]
            + p["m"][1]
        ),
        ac.Euclidean(1),
        params,
        coordinates=("x [m]",),
    )
    eqs = ac.symbolic(system)
    assert {s.name: float(x) for s, x in eqs.values.items()} == {
        "m_1": 1.0,
        "m_2": 2.0,
        "params_body_x": 3.0,
        "m": 4.0,
        "params_t": 5.0,
        "gravity": 6.0,
    }
    alone = ac.System(lambda t, q, v, p: 0.5 * p * v[0] ** 2, ac.Euclidean(1), 3.0)
    assert list(ac.symbolic(alone).values) == [sp.Symbol("params")]


def test_reading():
    system = ac.mechanical(
        lambda p: p["m"],
        lambda t, q, p: 0.5 * p["k"] * q[0] ** 2,
        1,
        params={"m": 2.0, "k": 3.0},
        coordinates=("x",),
        name="spring",
    )
    eqs = ac.symbolic(system)
    assert unicodedata.normalize("NFC", "k⋅x + m⋅ẍ = 0") in unicodedata.normalize("NFC", eqs.text())
    assert str(eqs) == eqs.text()
    assert r"k \, x + m \, \ddot{x} = 0" in eqs.latex()
    assert eqs._repr_latex_().startswith("$\\displaystyle \\begin{aligned}")
    assert "xₖ₊₁" in eqs.discrete(ac.Midpoint()).text()


def test_bad_input():
    with pytest.raises(ValueError, match="must be a System"):
        ac.symbolic(lambda t: t)  # pyright: ignore[reportArgumentType]


def test_time_for_the_double_pendulum():
    from accion.gallery import double_pendulum

    ac.symbolic(SYSTEMS["free"]).equations  # noqa: B018
    start = time.process_time()
    ac.symbolic(double_pendulum.system).equations  # noqa: B018
    assert time.process_time() - start < 1.0
