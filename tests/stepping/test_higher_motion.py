"""Systems of higher order: windows, momenta, marching, two-point problems, constraints."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.discretise import discretise, window as windows
from tests.stepping.higher_cases import (
    BENT,
    CURVE,
    JETS,
    MID,
    START,
    TENSION,
    TRAP,
    marched,
    order_of,
)
from tests.textbook import higher as book

CUBIC = TENSION.with_params({"s": 0.0})


@pytest.mark.parametrize("method", [TRAP, ac.Alpha(0.3)])
def test_a_window_of_order_one_is_a_step(method, rng):
    def lagrangian(t, q, v, params):
        return 0.5 * jnp.sum(v**2) * (1 + q[0, 0]) + q[1, 2] * v[0] * t

    one = ac.HigherOrderSystem(lagrangian, ac.SO3(), order=1)
    system = ac.System(lagrangian, ac.SO3())
    q, x = (
        ac.SO3().retract(jnp.eye(3), jnp.array([0.3, -0.2, 0.5])),
        jnp.asarray(0.2 * rng.normal(size=3)),
    )
    G, plain = jax.jit(
        lambda q, x: (
            discretise(one, method).derivatives(0.4, 0.1, q, x[None]),
            discretise(system, method).derivatives(0.4, 0.1, q, x),
        )
    )(q, x)
    np.testing.assert_allclose(G, jnp.stack(plain), rtol=1e-13, atol=1e-13)
    Ld = jax.jit(
        lambda *q: (
            ac.discrete(one, method).Ld(0.4, 0.1, *q),
            ac.discrete(system, method).Ld(0.4, 0.1, *q),
        )
    )(q, q @ q)
    np.testing.assert_allclose(Ld[0], Ld[1], rtol=1e-13)


@pytest.mark.parametrize("r", [2, 3, 4])
def test_derivatives_along_a_window_are_those_of_the_polynomial_through_it(r, rng):
    p, h = np.polynomial.Polynomial(rng.normal(size=r + 1)), 0.2
    nodes = [jnp.array([p(h * i)]) for i in range(r + 1)]
    d = windows.differences(ac.Euclidean(1), nodes)
    for c in (0.0, (r - 1) / 2, (r - 1) / 2 + 0.3, r):
        np.testing.assert_allclose(
            windows.derivatives(d, c, h)[:, 0],
            [p.deriv(s + 1)(c * h) for s in range(r)],
            rtol=1e-11,
            atol=1e-11,
        )


def test_a_window_of_order_two_is_the_textbook_one():
    """Ld = h L(t + h, q1, (q2 - q0)/2h, (q2 - 2 q1 + q0)/h^2) by the midpoint rule; by the
    trapezoidal one half of it at t + h/2 and at t + 3h/2.
    """
    L, h, t = BENT[2].lagrangian, 0.1, 0.7
    q = [jnp.array([x]) for x in (0.3, 0.34, 0.41)]
    a = (q[2] - 2 * q[1] + q[0]) / h**2
    np.testing.assert_allclose(
        ac.discrete(BENT[2], MID).Ld(t, h, *q),
        h * L(t + h, q[1], (q[2] - q[0]) / (2 * h), a, None),
        rtol=1e-13,
    )
    ends = [
        L(t + (i + 0.5) * h, (q[i] + q[i + 1]) / 2, (q[i + 1] - q[i]) / h, a, None)
        for i in range(2)
    ]
    np.testing.assert_allclose(
        ac.discrete(BENT[2], TRAP).Ld(t, h, *q), h * sum(ends) / 2, rtol=1e-13
    )


@pytest.mark.parametrize("r", [2, 3])
def test_momenta_energy_and_equations_are_those_of_sympy(r, rng):
    q = [sp.Function("x")(book.T), sp.Function("y")(book.T)]
    d = [[x.diff(book.T, k) for x in q] for k in range(r + 1)]
    L = (
        (1 + sp.sin(q[0])) * d[r][0] ** 2 / 2
        + d[r][1] ** 2
        + d[r][0] * d[r][1] * q[1] / 3
        + d[1][0] ** 2 * d[1][1] ** 2
        + book.T * d[r][1] * q[0]
    )
    equations, momenta, energy = book.ostrogradsky(L, q, r)

    def lagrangian(t, q, *rest):
        v, top = rest[0], rest[r - 1]
        value = (
            (1 + jnp.sin(q[0])) * top[0] ** 2 / 2
            + top[1] ** 2
            + top[0] * top[1] * q[1] / 3
            + v[0] ** 2 * v[1] ** 2
        )
        return value + t * top[1] * q[0]

    system = ac.HigherOrderSystem(lagrangian, ac.Euclidean(2), order=r)
    values = 0.5 * rng.normal(size=(2 * r, 2))
    start, jets = jnp.asarray(values[0]), jnp.asarray(values[1:])
    p, highest = jax.jit(
        lambda q, jets: (system.momenta(0.4, q, jets), ac.accelerations(system)(0.4, q, jets))
    )(start, jets)
    np.testing.assert_allclose(
        p, [[book.at(p, q, values) for p in row] for row in momenta], rtol=1e-11
    )
    np.testing.assert_allclose(
        system.energy_of(0.4, start, jets, p), book.at(energy, q, values), rtol=1e-11
    )
    np.testing.assert_allclose(
        [book.at(row, q, [*values, np.asarray(highest)]) for row in equations], 0.0, atol=1e-10
    )


def test_symbolic_gives_the_equations_of_higher_order():
    equations = ac.symbolic(TENSION)
    x, s = sp.Function("x")(book.T), sp.Symbol("s")
    assert (
        sp.simplify(equations.equations[0].lhs - (x.diff(book.T, 4) - s**2 * x.diff(book.T, 2)))
        == 0
    )
    assert sp.simplify(equations.momenta[0][0] - (s**2 * x.diff(book.T) - x.diff(book.T, 3))) == 0
    assert "spline in tension" in str(equations)
    held = ac.symbolic(CURVE)
    lam, y = sp.Function("lam")(book.T), sp.Function("y")(book.T)
    assert (
        sp.simplify(
            held.equations[2].lhs - (y.diff(book.T, 2) + sp.sin(y) - sp.cos(y) * x.diff(book.T, 2))
        )
        == 0
    )
    assert sp.simplify(held.momenta[1][1] - lam) == 0
    assert [len(level) for level in held.momenta] == [2, 2]
    assert held.hessian.det() == -1
    assert held.lam == (lam,)
    assert list(held.cyclic) == [x]
    momenta = {
        sp.Function(f"p_{s}_{name}")(book.T): p
        for s, row in enumerate(held.momenta)
        for name, p in zip("xy", row, strict=True)
    }
    on_constraint = {y.diff(book.T, 2): sp.cos(y) * x.diff(book.T, 2) - sp.sin(y)}
    difference = held.hamiltonian.xreplace(momenta) - held.energy
    assert sp.simplify(difference.subs(on_constraint)) == 0


def test_the_reference_keeps_the_energy():
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: BENT[2].lagrangian(0.0, q, v, a, params), ac.Euclidean(1)
    )
    q, jets = ac.reference(system, q0=[0.3], v0=JETS[:3], ts=np.linspace(0, 2, 5))
    E = jax.jit(jax.vmap(lambda q, jets: system.energy(0.0, q, jets)))(q, jets)
    np.testing.assert_allclose(E, E[0], rtol=1e-10)


def test_a_cubic_spline_is_marched_to_roundoff():
    run = marched(100, 0.0)
    np.testing.assert_allclose(run.q, book.cubic(run.t, *START), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.p[:, 0], np.broadcast_to(-START[3], (101, 2)), rtol=1e-9)
    np.testing.assert_allclose(
        run.jets[:, 1], START[2] + START[3] * np.asarray(run.t)[:, None], rtol=1e-9, atol=1e-9
    )


def test_a_cubic_spline_between_nodes_is_found_to_roundoff():
    exact = book.cubic(np.linspace(0, 2, 71), *START)
    found = ac.connect(CUBIC, MID, qa=exact[:2], qb=list(exact[-2:]), duration=2.0, steps=70)
    np.testing.assert_allclose(found.q, exact, atol=1e-13)


def test_a_quintic_spline_of_many_steps_is_found_to_roundoff():
    """The condition of the matrix is 300^6; the ends do not move at all."""
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, j, params: 0.5 * j[0] ** 2, ac.Euclidean(1), order=3, name="quintic"
    )
    exact = np.polynomial.Polynomial([0.1, 0.3, 0.7, -0.5, 0.9, 0.4])(np.linspace(0, 1, 301))[
        :, None
    ]
    found = ac.connect(system, MID, qa=exact[:3], qb=exact[-3:], duration=1.0, steps=300)
    np.testing.assert_allclose(found.q, exact, atol=1e-10)
    np.testing.assert_array_equal(found.q[:3], exact[:3])
    # the fifth derivative, 120 x 0.4, from differences of increments
    np.testing.assert_allclose(found.p[:, 0], 48.0, atol=1e-3)


def tension_error(n, run):
    return np.max(np.abs(np.asarray(run(n).q) - book.tension(np.linspace(0, 2, n + 1), 1.5, START)))


def test_a_spline_in_tension_is_marched_with_order_two():
    order, error = order_of(lambda n: tension_error(n, marched), (70, 120))
    assert order == pytest.approx(2, abs=0.05)
    assert error < 3e-3


@lru_cache
def clamped(n):
    def exact(t):
        return book.tension(t, 1.5, START)

    def slope(t):
        return (exact(t + 1e-6) - exact(t - 1e-6)) / 2e-6

    return ac.connect(
        TENSION,
        MID,
        qa=START[0],
        va=[slope(0.0)],
        qb=exact(2.0),
        vb=slope(2.0),
        duration=2.0,
        steps=n,
    )


def test_a_clamped_spline_in_tension_is_found_with_order_two():
    order, error = order_of(lambda n: tension_error(n, clamped), (70, 120))
    assert order == pytest.approx(2, abs=0.1)
    assert error < 3e-3


def test_energy_of_a_long_run_is_bounded():
    """Pais and Uhlenbeck's oscillator: the energy stays where it is over 20000 steps, and the
    motion is that of two oscillations.
    """
    w1, w2 = 1.0, 0.6

    def lagrangian(t, q, v, a, params):
        return 0.5 * (
            jnp.sum(a**2) - (w1**2 + w2**2) * jnp.sum(v**2) + w1**2 * w2**2 * jnp.sum(q**2)
        )

    system = ac.HigherOrderSystem(lagrangian, ac.Euclidean(1), name="two oscillations")
    q, *jets = book.oscillations(0.0, w1, w2)
    run = ac.simulate(
        system, MID, q0=[q], v0=np.array(jets)[:, None], h=0.05, steps=20000, save_every=100
    )
    E = np.asarray(run.energy())
    assert np.ptp(E) < 2e-3  # of terms 1/2 a^2, 1/2 v^2, ... that are about 1/2
    assert abs(np.polyfit(np.asarray(run.t), E, 1)[0]) * 1000 < 1e-4
    short = np.asarray(run.t) <= 20
    np.testing.assert_allclose(
        run.q[short, 0], book.oscillations(np.asarray(run.t)[short], w1, w2)[0], atol=2e-2
    )
