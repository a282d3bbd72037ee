"""Forms and fields of a time-dependent system in letters, against those typed by hand."""

import jax.numpy as jnp
import pytest
import sympy as sp

import accion as ac

QUARTIC = ac.System(
    lambda t, q, v, k: jnp.exp(k * t) * (v[0] ** 2 / 2 - q[0] ** 4 / 4),
    ac.Euclidean(1),
    0.3,
    coordinates=("q",),
    name="quartic",
)


def test_forms_and_fields():
    """H = e^(-kt) p^2/2 + e^(kt) q^4/4."""
    equations = ac.symbolic(QUARTIC)
    found = equations.extended
    t, q, p = found.on_momenta
    (k,) = equations.hamiltonian.free_symbols - {t}
    w = sp.exp(k * t)
    H = p**2 / (2 * w) + w * q**4 / 4
    zero = sp.S.Zero
    expected = sp.Matrix([[0, -w * q**3, -p / w], [w * q**3, 0, 1], [p / w, -1, 0]])

    def same(a, b):
        return sp.simplify(sp.Matrix(a) - sp.Matrix(b)).is_zero_matrix

    assert same(found.Omega_H.matrix, expected)
    assert same(found.theta_H.matrix, [[-H, p, 0]])
    assert same(found.evolution, [1, p / w, -w * q**3])
    assert same(expected * sp.Matrix(found.evolution), [0, 0, 0])
    assert same(found.eta.matrix, [[1, 0, 0]])
    v = found.on_velocities[-1]
    assert found.liouville == (0, 0, v)
    assert found.vertical == sp.Matrix([[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    assert same(found.theta_L.matrix, [[-equations.energy, equations.momenta[0], zero]])
    assert "dt" in found.theta_H.text()


def test_on_a_group_they_are_in_numbers_only():
    top = ac.System(lambda t, R, w, p: w @ w / 2, ac.SO3())
    with pytest.raises(ValueError, match="extended"):
        _ = ac.symbolic(top).extended
