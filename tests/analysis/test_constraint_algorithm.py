"""The constraint algorithm: chains that are known, in numbers and in symbols."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.analysis.chains import Cut
from accion.control.chain import ExtremalChain
from accion.gallery import skate
from accion.symbols.constraint_levels import next_level
from accion.symbols.equations import Equations
from accion.symbols.simplification import Simplifier

t = sp.Symbol("t")


def system(lagrangian, n, vakonomic=None, name="test", **options):
    return ac.System(lagrangian, ac.Euclidean(n), vakonomic=vakonomic, name=name, **options)


def test_the_skate_is_symplectic_at_w1():
    """Vakonomic thesis, Prop 4.2.3: the determinant is that of the kinetic energy on the directions
    that the constraint allows.
    """
    vakonomic = ac.System(
        skate.system.lagrangian,
        skate.system.space,
        skate.system.params,
        vakonomic=skate.system.nonholonomic,
        coordinates=skate.system.coordinates,
    )
    found = ac.analysis.constraint_algorithm(vakonomic)
    assert found.dimensions == (8, 6)
    assert found.stabilises_at == 1
    assert found.symplectic
    assert found.determinant == -sp.Symbol("J") * sp.Symbol("m")
    assert "stabilises at W1, which is symplectic" in found.text()
    x, phi, lam = (sp.Function(name)(t) for name in ("x", "phi", "lambda"))
    assert (
        sp.expand(
            found.levels[1].equations[0].rhs - (sp.Symbol("m") * x.diff(t) + lam * sp.sin(phi))
        )
        == 0
    )


def test_the_determinant_is_that_of_4_11():
    """v2 = Psi(q, v1): the bordered determinant is, up to its sign, d2(L~ + lam Psi)/dv1^2 of the
    reduced Lagrangian, p2 = L_v2 - lam.
    """

    def L(t, q, v, p):
        return 0.5 * v[0] ** 2 + 0.25 * v[1] ** 4 + q[0] * v[1]

    found = ac.analysis.constraint_algorithm(
        system(L, 2, lambda t, q, v, p: jnp.array([v[1] - v[0] ** 3 - q[1]]))
    )
    v1, v2, q1, q2, lam = sp.symbols("v1 v2 q1 q2 lam")
    psi = v1**3 + q2
    reduced = v1**2 / 2 + psi**4 / 4 + q1 * psi
    p2 = psi**3 + q1 + lam  # dL/dv2 + lam dPhi/dv2, the multiplier of the Vakonomic thesis
    expected = sp.diff(reduced, v1, 2) - p2 * sp.diff(psi, v1, 2)
    q = [sp.Function(f"q{i}")(t) for i in (1, 2)]
    at = {q[0].diff(t): v1, q[1].diff(t): v2, q[0]: q1, q[1]: q2, sp.Function("lambda")(t): lam}
    ours = found.determinant.subs({q[0].diff(t): v1, q[1].diff(t): v2}).subs(at).subs(v2, psi)
    assert sp.expand(ours + expected) == 0


def test_a_chain_of_three():
    """L = q1^2/2 with q2' = q1: lam = q1 from p1' = 0, then v1 = 0."""
    found = ac.analysis.constraint_algorithm(
        system(lambda t, q, v, p: 0.5 * q[0] ** 2, 2, lambda t, q, v, p: v[1:] - q[:1])
    )
    assert found.dimensions == (5, 4, 3, 2)
    assert found.stabilises_at == 3
    assert found.symplectic
    assert found.determinant == 0
    q1, lam = sp.Function("q1")(t), sp.Function("lambda")(t)
    assert sp.expand(found.levels[2].equations[0].lhs) in (q1 - lam, lam - q1)
    assert found.levels[3].equations[0].lhs in (q1.diff(t), -q1.diff(t))
    assert "only initial data in W3" in found.text()


def test_a_chain_that_depends_on_time():
    """L = (q1 - t)^2/2 with q2' = q1: lam = q1 - t, then v1 = 1."""
    found = ac.analysis.constraint_algorithm(
        system(lambda t, q, v, p: 0.5 * (q[0] - t) ** 2, 2, lambda t, q, v, p: v[1:] - q[:1])
    )
    assert found.dimensions == (5, 4, 3, 2)
    assert sp.expand(found.levels[3].equations[0].lhs) in (
        sp.Function("q1")(t).diff(t) - 1,
        1 - sp.Function("q1")(t).diff(t),
    )


def test_an_equation_that_holds_at_one_time_only():
    """L = t q: p = 0 and p' = t leave t = 0, which time leaves."""
    assert (
        ac.analysis.constraint_algorithm(system(lambda t, q, v, p: t * q[0], 1)).stabilises_at
        is None
    )


def test_gauge_freedom_of_a_singular_lagrangian():
    found = ac.analysis.constraint_algorithm(
        system(lambda t, q, v, p: 0.5 * (v[0] - q[1]) ** 2, 2, name="gauge")
    )
    assert found.dimensions == (6, 4, 3)
    assert found.stabilises_at == 2
    assert not found.symplectic
    assert "is not unique" in found.text()


def test_contradiction():
    found = ac.analysis.constraint_algorithm(system(lambda t, q, v, p: q[0], 1))
    assert found.stabilises_at is None
    assert not found.symplectic
    assert "there is no motion" in found.text()


def test_a_regular_lagrangian_has_nothing_to_find():
    found = ac.analysis.constraint_algorithm(
        system(lambda t, q, v, p: 0.5 * v @ v - jnp.cos(q[0]) * t, 2)
    )
    assert found.dimensions == (6, 4)
    assert found.symplectic
    assert found.determinant == 1


def test_numbers_alone_where_sympy_cannot_follow():
    found = ac.analysis.constraint_algorithm(
        system(
            lambda t, q, v, p: jnp.sum(jnp.sort(v) ** 2) / 2,
            2,
            lambda t, q, v, p: v[:1] - t * v[1:],
        )
    )
    assert found.dimensions == (5, 4)
    assert found.symplectic
    assert found.determinant is None
    assert found.levels[1].equations is None
    assert "`sort`" in found.text()


def test_the_symplectic_verdict_is_the_rank_of_the_marching_step():
    """Where W1 is not symplectic, the step of the integrator is singular and says so."""
    singular = system(lambda t, q, v, p: 0.5 * q[0] ** 2, 2, lambda t, q, v, p: v[1:] - q[:1])
    with pytest.raises((ValueError, ac.StepFailed)):
        ac.simulate(
            singular,
            ac.Midpoint(),
            q0=np.array([0.5, 0.1]),
            v0=np.array([0.0, 0.5]),
            lam0=np.array([0.5]),
            h=0.1,
            steps=3,
        )


def test_bad_input():
    with pytest.raises(ValueError, match="does not support nonholonomic systems: "):
        ac.analysis.constraint_algorithm(skate.system)
    with pytest.raises(ValueError, match="must be a System"):
        ac.analysis.constraint_algorithm(3)


def test_a_body_on_a_group():
    """The chain and its equations on SO(3): without inertia along the first axis p_1 = 0, and then
    p_1' = (p x omega)_1 = 0, by hand; with it W1 is symplectic.
    """
    J = jnp.array([1.0, 2.0, 2.5])

    def body(J):
        return ac.System(
            lambda t, q, v, p: 0.5 * v @ (J * v),
            ac.SO3(),
            vakonomic=lambda t, q, v, p: v[2:],
            name="body",
        )

    found = ac.analysis.constraint_algorithm(body(J), samples=4)
    assert found.dimensions == (8, 6)
    assert found.symplectic
    assert found.determinant == -2
    lam, omega, third = (sp.Function(name)(t) for name in ("lambda", "omega_2", "omega_3"))
    eqs = Equations(body(J.at[0].set(0.0)), Simplifier(5.0))
    g = [
        *eqs.inner_constraints,
        *(p - m for p, m in zip(eqs.variables.p, eqs.inner_p, strict=True)),
    ]
    (new,) = next_level(eqs, g, Cut(((), ()), (1,)))
    p = 2 * omega, sp.Rational(5, 2) * third + lam
    assert sp.expand(eqs.for_reader(new) - (p[0] * third - p[1] * omega)) == 0


def control(cost, L=lambda t, q, v, p: 0.5 * v @ v, space=None, actuated=(0,), **more):
    space = ac.Euclidean(1) if space is None else space
    zero = np.zeros(space.dim)
    return ac.ControlProblem(
        ac.System(L, space),
        cost,
        actuated=list(actuated),
        start=(space.identity(), zero),
        end=(None, None),
        duration=1.0,
        **more,
    )


def test_of_control_problems():
    """Vakonomic thesis, section 7.1 and Obs 5.3.3: W1 has dimension 4n and is symplectic where
    d2C/du2 is regular; a control that the cost does not see has a singular arc, here of order two:
    p1 = 0, p0 = 0, q = 0, v = 0, u = 0 by five derivatives of dH/du.
    """
    regular = ac.analysis.constraint_algorithm(control(lambda t, q, v, u, p: 0.5 * u @ u))
    assert regular.dimensions == (5, 4)
    assert regular.symplectic
    singular = ac.analysis.constraint_algorithm(control(lambda t, q, v, u, p: 0.5 * q @ q))
    assert singular.dimensions == (5, 4, 3, 2, 1, 0)
    assert singular.stabilises_at == 5
    assert "In W1 the controls are not determined by (q, v, p0, p1)" in singular.text()
    free = ac.analysis.constraint_algorithm(control(lambda t, q, v, u, p: 0.0 * u[0]))
    # p1 = p0 = 0: what is left is (q, v, u), all free, on which the form is zero.
    assert free.dimensions == (5, 4, 3)
    assert free.stabilises_at == 2
    assert not free.symplectic
    # and in letters
    assert regular.determinant == -1
    assert "det d2H/du2 is -1" in regular.text()
    assert [str(level.equations) for level in singular.levels] == [
        "()",
        "(Eq(p_1_q1(t), 0),)",
        "(Eq(-p_0_q1(t), 0),)",
        "(Eq(-q1(t), 0),)",
        "(Eq(-Derivative(q1(t), t), 0),)",
        "(Eq(-u_q1(t), 0),)",
    ]
    assert singular.determinant == 0
    # q'' = u - sin q, at the cost of cos q: p1 = 0, p0 = 0, and dp0/dt = dC/dq = 0 in letters
    swing = ac.analysis.constraint_algorithm(
        control(
            lambda t, q, v, u, p: jnp.cos(q[0]),
            lambda t, q, v, p: 0.5 * v @ v + jnp.cos(q[0]),
        )
    )
    t = sp.Symbol("t")
    q, u, p0, p1 = (sp.Function(name)(t) for name in ("q1", "u_q1", "p_0_q1", "p_1_q1"))
    before = {q.diff(t): 0, p0: 0, p1: 0}  # on W4, before q = 0 is used
    slope, _, last = (level.equations[0].lhs.subs(before) for level in swing.levels[3:6])
    assert sp.simplify(slope**2 - sp.sin(q) ** 2) == 0
    # (-dp0/dt - q'') cos q = (sin q - (u - sin q)) cos q
    assert sp.simplify(sp.solve(last, u)[0] - 2 * sp.sin(q)) == 0


def test_of_a_control_problem_on_a_group(rng):
    """The rates along the chain are the canonical equations."""
    body = control(
        lambda t, q, v, u, p: 0.5 * u @ u,
        lambda t, q, v, p: 0.5 * v @ (jnp.array([1.0, 2.0, 2.5]) * v) - q[2, 2],
        ac.SO3(),
        (0, 1),
    )
    found = ac.analysis.constraint_algorithm(body, samples=4)
    assert found.dimensions == (14, 12)
    assert found.symplectic
    chain = ExtremalChain(body, np.random.default_rng(0), 4)
    z = rng.normal(size=chain.size)
    _, q, v, p0, p1, _ = chain.cut(jnp.asarray(z * chain.scale))
    z[chain.first :] = p1[:2] / np.array([1.0, 2.0]) / chain.scale[chain.first :]
    u = jnp.asarray(z * chain.scale)[chain.first :]
    np.testing.assert_allclose(chain.equations(jnp.asarray(z)), 0.0, atol=1e-12)
    rates = chain.own.rates(body.system, u, 0.0, (q, v, p0, p1, 0.0))
    drift = chain.drift(jnp.asarray(z)) * chain.scale / chain.time
    np.testing.assert_allclose(drift[4:13], jnp.concatenate(rates[1:4]), atol=1e-12)
    x = jnp.asarray(z * chain.scale)[1:4]
    moved = jax.jvp(lambda x: body.system.space.retract(jnp.eye(3), x), (x,), (drift[1:4],))[1]
    np.testing.assert_allclose(moved, rates[0], atol=1e-12)


def test_of_control_problems_in_other_units():
    """Lengths in millimetres, time in milliseconds: the same chain."""
    small = control(
        lambda t, q, v, u, p: 1e6 * q @ q,
        lambda t, q, v, p: 1e-9 * 0.5 * v @ v - 1e-15 * q[0] ** 2,
    )
    assert ac.analysis.constraint_algorithm(small, samples=4).dimensions == (5, 4, 3, 2, 1, 0)
