"""Discrete equations in letters: against the discrete objects that are run and closed forms."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from tests.symbols.systems import SYSTEMS

METHODS = [ac.LeftRectangle(), ac.RightRectangle(), ac.Midpoint(), ac.Trapezoid(), ac.Alpha(0.3)]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("name", ["forced", "nonholonomic"])
def test_discrete_equations(name, method, rng):
    """The printed discrete equations are zero where the discrete Euler-Lagrange operator is, and
    equal it elsewhere.
    """
    system = SYSTEMS[name]
    printed = ac.symbolic(system).discrete(method)
    d = ac.discrete(system, method)
    h, time = 0.1, 0.4
    q0, q1, q2 = (jnp.array(rng.normal(size=3)) for _ in range(3))
    lam = rng.normal(size=system.multipliers)
    at = {
        sp.Symbol("h"): h,
        sp.Symbol("t_k"): time,
        **dict(zip([sp.Symbol("lambda_k")] * len(lam), lam, strict=True)),
    }
    for suffix, q in (("k-1", q0), ("k", q1), ("k+1", q2)):
        at |= {
            sp.Symbol(f"{name}_{suffix}"): float(x)
            for name, x in zip(("x", "y", "theta"), q, strict=True)
        }
    values = printed.values

    def number(e):
        return float(e.xreplace(at).xreplace(values))

    expected = d.euler_lagrange(time - h, h, q0, q1, q2)
    if len(lam):
        constraint: Any = system.constraint
        expected = expected + h * constraint.reaction(
            system, time, q1, jnp.zeros(3), jnp.array(lam)
        )
        closure = constraint.closure(
            system,
            method.samples(system.space, time, h, q1, q2 - q1, jnp.zeros(3), jnp.zeros(3)),
            time + h,
            q2,
        )
        np.testing.assert_allclose(
            [number(e.lhs) for e in printed.constraints], closure, rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(
        [number(e.lhs) for e in printed.equations], expected, rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(number(printed.Ld), d.Ld(time, h, q1, q2), rtol=1e-12)
    np.testing.assert_allclose(
        [number(e) for e in printed.D1], d.D1(time, h, q1, q2), rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(
        [number(e) for e in printed.D2], d.D2(time, h, q1, q2), rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(
        [number(e) for e in printed.force_minus],
        d.force_minus(time, h, q1, q2),
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        [number(e) for e in printed.force_plus],
        d.force_plus(time, h, q1, q2),
        rtol=1e-9,
        atol=1e-12,
    )


def test_explicit_step():
    """Stoermer-Verlet, solved for q_k+1."""
    system = ac.mechanical(
        lambda p: p["m"],
        lambda t, q, p: p["k"] * q[0] ** 4 / 4,
        1,
        params={"m": 2.0, "k": 1.0},
        coordinates=("x",),
    )
    found = ac.symbolic(system).discrete(ac.Trapezoid()).explicit
    x0, x1, x2, h, k, m = sp.symbols("x_k-1 x_k x_k+1 h k m")
    assert sp.expand(found[x2] - (2 * x1 - x0 - h**2 * k * x1**3 / m)) == 0
    with pytest.raises(ValueError, match="is implicit"):
        _ = ac.symbolic(system).discrete(ac.Midpoint()).explicit
    with pytest.raises(ValueError, match="not solved in closed form"):
        _ = ac.symbolic(SYSTEMS["holonomic"]).discrete(ac.Trapezoid()).explicit


def test_vakonomic_discrete_equations_have_the_multiplier_of_both_steps():
    eqs = ac.symbolic(SYSTEMS["vakonomic"]).discrete(ac.Midpoint())
    names = {str(s) for e in eqs.equations for s in e.free_symbols}
    assert {"lambda_k-1", "lambda_k"} <= names
