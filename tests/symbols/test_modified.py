"""Modified Lagrangians and Hamiltonians in letters: closed forms, and the numbers of
`analysis.modified_hamiltonian`.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.gallery import double_pendulum, henon_heiles, kepler, pendulum
from accion.symbols.polynomials import Polynomials

t = sp.Symbol("t")


def test_all_orders_of_an_oscillator():
    """Midpoint turns by 2 arctan(omega h/2) in a step: H~ = a H and L~ = v^2/(2 a) - a omega^2
    q^2/2 with a = arctan(omega h/2)/(omega h/2); the rectangle rules have a modified mass, too.
    """
    q, p, h, k = sp.Function("q")(t), sp.Function("p_q")(t), sp.Symbol("h"), sp.Symbol("k")
    system = ac.mechanical(
        1.0, lambda t, q, c: c["k"] * q @ q / 2, 1, params={"k": 2.0}, coordinates=("q",)
    )
    eqs = ac.symbolic(system)
    found = eqs.modified(ac.Midpoint(), 6)
    a = sp.series(sp.atan(h / 2) / (h / 2), h, 0, 8).removeO()
    v = q.diff(t)
    for i in range(7):
        c, one = a.coeff(h, i), sp.series(1 / a, h, 0, 8).removeO().coeff(h, i)
        w = k ** sp.Rational(i, 2)
        assert sp.simplify(found.hamiltonian_terms[i] - c * w * (p**2 + k * q**2) / 2) == 0
        assert sp.simplify(found.terms[i] - w * (one * v**2 - c * k * q**2) / 2) == 0
    first = eqs.modified(ac.LeftRectangle(), 2).hamiltonian_terms
    assert sp.simplify(first[1] + k * p * q / 2) == 0
    assert sp.simplify(first[2] - k * (p**2 + k * q**2) / 12) == 0


def lagrangian(t, R, xi, params):
    return 0.5 * xi @ (params["I"] * xi) - params["gravity"] * R[2, 2]


TOP = ac.System(lagrangian, ac.SO3(), {"I": jnp.array([1.0, 1.3, 0.5]), "gravity": 2.0}, name="top")
FREE = ac.System(lagrangian, ac.SO3(), {"I": TOP.params["I"], "gravity": 0.0}, name="free body")
RELATIVISTIC = ac.System(
    lambda t, q, v, params: (
        -jnp.sqrt(1 - v @ v / params["c"] ** 2) * params["c"] ** 2 - q[0] ** 4 * jnp.exp(-0.3 * t)
    ),
    ac.Euclidean(1),
    {"c": 2.0},
    name="relativistic, with time",
)
R = np.asarray(ac.SO3().retract(jnp.eye(3), jnp.array([0.3, 0.2, -0.5])))
MOTIONS = {  # system, method, order, start, step
    "pendulum": (pendulum.system, ac.Midpoint(), 4, ([0.7], [0.3]), 0.05),
    "Henon-Heiles": (henon_heiles.system, ac.Midpoint(), 4, ([0.3, 0.2], [0.4, 0.3]), 0.1),
    "Kepler": (kepler.system, ac.Trapezoid(), 4, ([0.7, 0.9], [0.9, 0.3]), 0.05),
    "double pendulum": (double_pendulum.system, ac.Midpoint(), 4, ([0.7, 0.9], [0.9, 0.3]), 0.02),
    "top": (TOP, ac.Midpoint(), 4, (R, [0.9, 0.3, 0.7]), 0.08),
    "top, first order": (TOP, ac.LeftRectangle(), 3, (R, [0.9, 0.3, 0.7]), 0.05),
    "with time": (RELATIVISTIC, ac.RightRectangle(), 3, ([0.7], [0.9]), 0.1),
}


def values_at(terms, eqs, t, q, p):
    """H_0, H_1, ... in numbers."""
    x = eqs.variables
    names = [s for part in x.parts for s in np.ravel(part)]
    at = {s: c for s, c in zip(names, np.ravel(q), strict=True) if s.is_Symbol}
    f = sp.lambdify([x.t, *at, *x.p, *x.numbers], terms, cse=True)
    return np.array(f(t, *at.values(), *p, *map(float, x.numbers.values())), float)


@pytest.mark.parametrize("name", MOTIONS)
def test_series_are_those_of_the_motion(name):
    """What the series leaves of the modified Hamiltonian in numbers, of order 16, falls like the
    first term that is left out.
    """
    system, method, order, (q0, v0), h = MOTIONS[name]
    eqs = ac.symbolic(system)
    terms = eqs.modified(method, order).inner_hamiltonian_terms
    numbers, off = ac.analysis.modified_hamiltonian(system, method, 16), []
    for k in (1, 2):  # at the same time, 8 h
        traj = ac.simulate(system, method, q0=q0, v0=v0, h=h / k, steps=8 * k + 8)
        q, p = (jax.tree.map(lambda a, k=k: np.asarray(a)[8 * k], a) for a in (traj.q, traj.p))
        series = values_at(terms, eqs, float(traj.t[8 * k]), q, p)
        there = np.asarray(numbers.along(traj))[8 * k - 8]
        off.append(abs(there - series @ (h / k) ** np.arange(order + 1)))
    first_left = order + (2 if method.symmetric else 1)
    assert np.log2(off[0] / off[1]) == pytest.approx(first_left, abs=0.5)


def test_terms_are_as_few_as_they_can_be():
    """No expression swells on the way: so they take seconds."""
    eqs = ac.symbolic(double_pendulum.system)
    modified = eqs.modified(ac.Midpoint(), 4)
    assert [len(p) for p in modified.polynomials] == [7, 0, 26, 0, 595]
    eqs = ac.symbolic(kepler.system)
    assert [len(p) for p in eqs.modified(ac.Midpoint(), 4).polynomials] == [3, 0, 6, 0, 16]


def test_a_free_body_has_its_angular_momentum_in_all_terms():
    """A symmetry of Ld is one of H_k: p^2 commutes with each, and the second is known from paper:
    -(I_2 - I_3)^2 w_2^2 w_3^2/24/I_1 and so on, the square of the moment p x w over I.
    """
    eqs = ac.symbolic(FREE)
    x = eqs.variables
    found = eqs.modified(ac.Midpoint(), 4).inner_hamiltonian_terms
    (g,) = (s for s in x.numbers if str(s) == "gravity")
    p = sp.Matrix(x.p)
    for term in found:
        slopes = sp.Matrix([term.xreplace({g: sp.Integer(0)}).diff(a) for a in p])
        assert sp.simplify(p.dot(p.cross(slopes))) == 0
    inertia = [s for s in x.numbers if s != g]
    moment = p.cross(sp.Matrix([a / I for a, I in zip(p, inertia, strict=True)]))
    squares = sp.Add(*(m**2 / I for m, I in zip(moment, inertia, strict=True)))
    assert sp.simplify(found[2].xreplace({g: sp.Integer(0)}) + squares / 24) == 0


def test_what_has_no_series_is_refused():
    flat = ac.System(lambda t, q, v, params: v[0] ** 2 + q[1], ac.Euclidean(2))
    modified = ac.symbolic(flat).modified(ac.Midpoint(), 2)
    with pytest.raises(ValueError, match="singular"):
        _ = modified.terms
    cayley = ac.symbolic(ac.System(lagrangian, ac.SO3("cayley"), TOP.params))
    with pytest.raises(ValueError, match="exp"):
        cayley.modified(ac.Midpoint(), 2)


def test_polynomials_are_one_form_of_many():
    """Sums that are equal are one polynomial; derivatives are those of SymPy."""
    x, y, a = sp.symbols("x y a", real=True)
    r = sp.sqrt(x**2 + y**2)
    same = [
        (sp.sin(x) ** 2 + sp.cos(x) ** 2, 1),
        (x**2 / r**3 + y**2 / r**3, 1 / r),
        (sp.exp(-a * x) * sp.exp(2 * a * x), sp.exp(a * x)),
        (sp.sqrt(2) * sp.sqrt(2) * a / a**2, 2 / a),
        (1 / (a + sp.cosh(y) ** 2) * (1 + a + sp.sinh(y) ** 2), 1),
    ]
    expressions = [e for pair in same for e in pair]
    ring = Polynomials(expressions, (x, y), 3)
    for left, right in same:
        assert ring.read(left) == ring.read(right)
    mixed = sp.tanh(x * y) ** 3 / r + sp.sqrt(1 + sp.exp(x / 2 + 1)) * sp.log(a + y**2)
    ring = Polynomials([mixed], (x, y), 3)
    second = ring.write(ring.derivative(ring.derivative(ring.read(mixed), x), y))
    at = {x: sp.Rational(3, 7), y: sp.Rational(2, 5), a: sp.Rational(5, 3)}
    assert abs(sp.N((second - mixed.diff(x, y)).xreplace(at), 30)) < 1e-25
    shallow = Polynomials([sp.besselj(0, x)], (x,), 1)
    p = shallow.derivative(shallow.read(sp.besselj(0, x)), x)
    with pytest.raises(ValueError, match="more than were prepared"):
        shallow.derivative(p, x)
