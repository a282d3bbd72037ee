"""Discrete equations and forms on groups in letters: against the functions that are run, Cartan's
equation and the rigid body's own closed form.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac

T, H = 0.3, 0.2
INERTIA = jnp.array([1.0, 2.0, 2.7])


def body(t, g, xi, params):
    return 0.5 * xi @ (params["I"] * xi)


def turning(t, g, xi, params):
    """A term of first order in xi and a potential."""
    return body(t, g, xi, params) + params["a"] * g[2, 1] * xi[1] - jnp.exp(-0.3 * t) * g[2, 2]


def beside(t, q, v, params):
    R, x = q
    return 0.5 * v @ v + 0.3 * v[0] * v[1] * x[0] - params["a"] * R[0, 1] * x[0] ** 2


def damping(t, q, v, params):
    return -0.1 * v * (1 + v @ v)


PARAMS = {"I": INERTIA, "a": 0.6}
PLACES = {
    "exp": ac.System(turning, ac.SO3(), PARAMS),
    "cayley": ac.System(turning, ac.SO3("cayley"), PARAMS, force=damping),
    "rigid motions": ac.System(body, ac.SE2(), PARAMS),
    "a product": ac.System(beside, ac.Product(ac.SO2(), ac.Euclidean(1)), PARAMS, force=damping),
    "held": ac.System(
        body,
        ac.SO3("cayley"),
        PARAMS,
        nonholonomic=lambda t, g, v, p: (v[0] - g[0, 0] * v[1])[None],
    ),
}


def close(a, b):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-11, atol=1e-13)


def values(eqs, rows, at):
    numbers = {letter: sp.Float(float(c), 20) for letter, c in (eqs.values | at).items()}
    return [float(sp.N(sp.sympify(row).xreplace(numbers))) for row in rows]


def letters(eqs, space, nodes):
    """{letter: number} of three configurations, the velocities of the two steps, t and h."""
    at = {eqs.t: T, eqs.h: H}
    for i, q in zip((-1, 0, 1), nodes, strict=True):
        flat = np.concatenate([np.ravel(part) for part in jax.tree.leaves(q)])
        parts = eqs.step.letters.variables.parts
        free = [x.is_Symbol for part in parts for x in part.flat]
        at |= dict(zip(eqs.q(i), flat[free], strict=True))
    for i in (-1, 0):
        x = np.asarray(space.local(nodes[i + 1], nodes[i + 2])) / H
        moving = np.array(eqs.step.letters.variables.moving)
        at |= dict(zip(eqs.velocities(i), x[moving], strict=True))
    return at


@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, ac.Midpoint()) for name in PLACES), ("a product", ac.Trapezoid())],
    ids=str,
)
def test_discrete_equations(name, method, rng):
    system, space = PLACES[name], PLACES[name].space
    eqs, d = ac.symbolic(system, seconds=0.01).discrete(method), ac.discrete(system, method)
    steps = 0.3 * rng.normal(size=(3, space.dim))
    nodes = [space.retract(space.identity(), jnp.asarray(steps[0]))]
    for x in steps[1:]:
        nodes.append(space.retract(nodes[-1], jnp.asarray(x)))
    at, lam = letters(eqs, space, nodes), rng.normal(size=system.multipliers)
    at |= dict(zip(eqs.lam, lam, strict=True))
    v = jnp.asarray(steps[1] + steps[2]) / (2 * H)
    expected = d.euler_lagrange(T - H, H, *nodes)
    expected = expected + d.form.reaction(T, H, nodes[1], v, jnp.asarray(lam))
    close(values(eqs, [e.lhs for e in eqs.equations], at), expected)
    close(values(eqs, [eqs.Ld], at), d.Ld(T, H, *nodes[1:]))
    if system.multipliers:
        close(values(eqs, [e.lhs for e in eqs.constraints], at), d.Phi(T, H, *nodes[1:]))
    assert eqs.reduced is (name == "rigid motions")
    assert "tau(h*xi_k)" in str(eqs.reconstruction[0].rhs)


def test_the_equations_of_the_free_body_are_those_of_lie_and_poisson():
    """With cayley p_k = I w + h/2 w x I w + h^2/4 (w.I w) w at the start of a step, and with - h at
    its end (Bou-Rabee and Marsden 2009): polynomials of the velocities alone.
    """
    system = ac.System(body, ac.SO3("cayley"), {"I": INERTIA})
    eqs = ac.symbolic(system).discrete(ac.Midpoint())
    assert eqs.reduced
    assert eqs.complete
    inertia, h = sp.Matrix(3, 1, list(eqs.values)), eqs.h

    def momentum(i, sign):
        w = sp.Matrix(eqs.velocities(i))
        p = inertia.multiply_elementwise(w)
        return p + sign * h / 2 * w.cross(p) + h**2 / 4 * w.dot(p) * w

    left = momentum(-1, -1) - momentum(0, 1)
    for equation, row in zip(eqs.equations, left, strict=True):
        assert sp.expand(equation.lhs - row) == 0


def test_letters_leave_the_numbers_alone():
    """exp in letters has no series; the exp that is run has them before and after."""
    system = ac.System(body, ac.SO3(), PARAMS)
    d, q = ac.discrete(system, ac.Midpoint()), ac.SO3().tau(jnp.full(3, 1e-9))
    before = d.D1(0.0, H, jnp.eye(3), q)
    assert ac.symbolic(system, seconds=0.01).discrete(ac.Midpoint()).D1
    after = ac.discrete(system, ac.Midpoint()).D1(0.0, H, jnp.eye(3), q)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["cayley", "a product"])
def test_forms_solve_cartans_equation(name, rng):
    """i_X Omega_L = dE along a free motion X = (v, a), which needs the brackets of the group; and
    theta_L(X) = p.v.
    """
    system = ac.System(PLACES[name].lagrangian, PLACES[name].space, PARAMS)
    space, n = system.space, system.space.dim
    eqs = ac.symbolic(system, seconds=1.0)
    q = space.retract(space.identity(), jnp.asarray(0.4 * rng.normal(size=n)))
    v = jnp.asarray(rng.normal(size=n))
    a, *_ = jax.tree.leaves(ac.accelerations(system)(0.0, q, v))
    inner = eqs.variables
    flat = np.concatenate([np.ravel(part) for part in jax.tree.leaves(q)])
    names = np.concatenate([np.ravel(part) for part in inner.parts])
    at = {eqs.for_reader(x): c for x, c in zip(names, flat, strict=True) if x.is_Symbol}
    at |= dict(zip(eqs.v, map(float, v), strict=True))
    at = dict(sorted(at.items(), key=lambda pair: not pair[0].is_Derivative))
    W = np.array(values(eqs, eqs.Omega_L.matrix, at)).reshape(2 * n, 2 * n)
    dE = jax.grad(lambda e, v: system.energy(0.0, space.displace(q, e), v), (0, 1))
    close(np.concatenate([v, a]) @ W, np.concatenate(dE(jnp.zeros(n), v)))
    theta = np.array(values(eqs, eqs.theta_L.matrix, at))
    close(theta[:n] @ v, system.legendre(0.0, q, v) @ v)
    assert not np.any(theta[n:])
    assert "(g^-1 dg)_omega" in eqs.theta_L.text()
    assert r"\mathrm{d}g" in eqs.Omega_L.latex()
