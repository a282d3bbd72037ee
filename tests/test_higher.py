"""Systems of higher order: windows, momenta, marching, two-point problems, constraints."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.discretise import discretise, window as windows
from accion.methods import GeneralizedAlpha
from tests import textbook_higher as book

MID, TRAP, LEFT = ac.Midpoint(), ac.Trapezoid(), ac.LeftRectangle()


def spline(t, q, v, a, params):
    return 0.5 * jnp.sum(a**2) + 0.5 * params["s"] ** 2 * jnp.sum(v**2)


TENSION = ac.HigherOrderSystem(
    spline, ac.Euclidean(2), {"s": 1.5}, coordinates=("x [m]", "y [m]"), name="spline in tension"
)
CUBIC = TENSION.with_params({"s": 0.0})
START = np.array([[1.0, 0.2], [1.0, 2.0], [0.5, -1.0], [3.0, 1.0]])  # q and three derivatives


def bent(order):
    """A Lagrangian of this order with everything in it: nonlinear, dependent on time and on all
    derivatives.
    """

    def lagrangian(t, q, *rest):
        low, top = rest[0][0], rest[-2][0]
        return (
            0.5 * (1 + 0.3 * jnp.sin(q[0])) * top**2
            + 0.25 * low**4
            + jnp.cos(q[0])
            + 0.1 * t * low * q[0] ** 2
            + 0.2 * top * q[0] ** 2
        )

    return ac.HigherOrderSystem(lagrangian, ac.Euclidean(1), order=order, name=f"bent {order}")


BENT = {r: bent(r) for r in (1, 2, 3)}
JETS = np.array([[0.7], [-0.5], [0.4], [0.9], [-0.3]])


@lru_cache
def truth(r):
    """The continuous motion of BENT[r] at 0, 1 and 2."""
    return ac.reference(BENT[r], q0=[0.3], v0=JETS[: 2 * r - 1], ts=[0.0, 1.0, 2.0])


def order_of(error, counts):
    few, many = counts
    errors = error(few), error(many)
    return np.log(errors[0] / errors[1]) / np.log(many / few), errors[1]


# ---------------------------------------------------------------- windows


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


# ---------------------------------------------------------------- continuous


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
    with pytest.raises(ValueError, match="Euclidean"):
        ac.symbolic(TURNING)


def test_the_reference_keeps_the_energy():
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: BENT[2].lagrangian(0.0, q, v, a, params), ac.Euclidean(1)
    )
    q, jets = ac.reference(system, q0=[0.3], v0=JETS[:3], ts=np.linspace(0, 2, 5))
    E = jax.jit(jax.vmap(lambda q, jets: system.energy(0.0, q, jets)))(q, jets)
    np.testing.assert_allclose(E, E[0], rtol=1e-10)


# ---------------------------------------------------------------- closed forms


@lru_cache
def marched(n, s=1.5):
    # Between 64 and 128 rows are shown by one compiled program.
    return ac.simulate(TENSION, MID, q0=START[0], v0=START[1:], h=2 / n, steps=n, params={"s": s})


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


# ---------------------------------------------------------------- orders


@pytest.mark.parametrize(
    ("r", "method", "expected"),
    [
        (2, MID, 2),
        (2, TRAP, 2),
        (2, LEFT, 1),
        (3, MID, 2),
        pytest.param(3, TRAP, 2, marks=pytest.mark.slow),
    ],
)
def test_marching_has_the_order_of_the_method(r, method, expected):
    """Configurations, derivatives and momenta, on a nonlinear system that depends on time."""
    q, jets = (a[-1] for a in truth(r))
    run = lru_cache(
        lambda n: ac.simulate(
            BENT[r], method, q0=[0.3], v0=JETS[: 2 * r - 1], h=2 / n, steps=n, save_every=n
        )
    )
    p = BENT[r].momenta(2.0, q, jets)
    if (r, method) == (2, MID):
        measured = ac.analysis.order(
            BENT[r], method, q0=[0.3], v0=JETS[:3], duration=2.0, h=[2 / 64, 2 / 128, 2 / 256]
        )
        assert float(measured) == pytest.approx(2, abs=0.1)
    for error in (
        lambda n: abs(run(n).q[-1] - q)[0],
        lambda n: np.max(abs(run(n).jets[-1] - jets[:r])),
        lambda n: np.max(abs(run(n).p[-1] - p)),
    ):
        assert order_of(error, (128, 256))[0] == pytest.approx(expected, abs=0.35)


def test_order_one_is_the_ordinary_system():
    plain = ac.System(lambda t, q, v, params: BENT[1].lagrangian(t, q, v, params), ac.Euclidean(1))
    a = ac.simulate(plain, TRAP, q0=[0.3], v0=[0.7], h=0.1, steps=20)
    b = ac.simulate(BENT[1], TRAP, q0=[0.3], v0=[0.7], h=0.1, steps=20)
    np.testing.assert_allclose(b.q, a.q, rtol=1e-13)
    np.testing.assert_allclose(b.v, a.v, rtol=1e-12)
    np.testing.assert_allclose(b.p[:, 0], a.p, rtol=1e-12)
    np.testing.assert_allclose(b.energy(), a.energy(), rtol=1e-12)


@pytest.mark.slow
def test_two_points_of_order_one_are_those_of_the_ordinary_system():
    plain = ac.System(lambda t, q, v, params: BENT[1].lagrangian(t, q, v, params), ac.Euclidean(1))
    a, b = (
        ac.connect(system, TRAP, qa=[0.3], qb=[1.1], duration=2.0, steps=20)
        for system in (plain, BENT[1])
    )
    np.testing.assert_allclose(b.q, a.q, rtol=1e-12)
    np.testing.assert_allclose(b.p[:, 0], a.p, rtol=1e-10)


@pytest.mark.parametrize(("r", "method"), [pytest.param(2, TRAP, marks=pytest.mark.slow), (3, MID)])
def test_two_points_and_marching_agree(r, method):
    """The equations are the same, and so is what is shown of each node but the last r - 1, which
    have no r nodes after them.
    """
    run = ac.simulate(BENT[r], method, q0=[0.3], v0=JETS[: 2 * r - 1], h=0.1, steps=15)
    found = ac.connect(BENT[r], method, qa=run.q[:r], qb=run.q[-r:], duration=1.5, steps=15)
    np.testing.assert_allclose(found.q, run.q, atol=1e-12)
    np.testing.assert_allclose(found.p[: 1 - r], run.p[: 1 - r], atol=1e-8)
    np.testing.assert_allclose(found.p[-1], run.p[-1], atol=0.1)
    d = ac.discrete(BENT[r], method)
    left = jax.jit(d.euler_lagrange)(0.3, 0.1, *run.q[3 : 4 + 2 * r])
    np.testing.assert_allclose(left, 0.0, atol=1e-9)


@pytest.mark.parametrize("r", [pytest.param(2), pytest.param(3, marks=pytest.mark.slow)])
def test_two_points_with_derivatives_have_order_two(r):
    q, jets = truth(r)
    ends = {"qa": q[0], "qb": q[-1], "va": jets[0][: r - 1], "vb": jets[-1][: r - 1]}
    found = lru_cache(lambda n: ac.connect(BENT[r], MID, **ends, duration=2.0, steps=n))
    order, error = order_of(lambda n: np.max(abs(found(n).jets[n // 2] - jets[1][:r])), (32, 64))
    assert order == pytest.approx(2, abs=0.35)
    assert error < 2e-3
    assert abs(found(64).q[32] - q[1])[0] < 1e-3


def test_a_start_from_configurations_reproduces_them():
    run = ac.simulate(BENT[3], MID, q0=[0.3], v0=JETS, h=0.05, steps=15)
    again = ac.simulate(BENT[3], MID, q0=[0.3], q1=run.q[1:6], h=0.05, steps=15)
    np.testing.assert_allclose(again.q, run.q, atol=1e-11)


# ---------------------------------------------------------------- structure


def displaced(space, nodes, e):
    n = space.dim
    return [space.retract(q, e[i * n : (i + 1) * n]) for i, q in enumerate(nodes)]


def flow_defect(system, method, h, nodes):
    """(defect of F^* Omega = Omega, size of Omega): the derivative of the flow from that of the
    equations, as an implicit function.
    """
    d, space, r, n = ac.discrete(system, method), system.space, system.order, system.space.dim
    after = jax.jit(d.flow)(0.1, h, *nodes)
    EL = jax.jit(
        jax.jacfwd(lambda e: d.euler_lagrange(0.1, h, *displaced(space, [*nodes, after[-1]], e)))
    )(jnp.zeros((2 * r + 1) * n))
    A = np.zeros((2 * r * n, 2 * r * n))
    A[:-n, n:] = np.eye((2 * r - 1) * n)
    A[-n:] = -np.linalg.solve(EL[:, -n:], EL[:, :-n])
    omega = jax.jit(d.omega)
    before, later = omega(0.1, h, *nodes), omega(0.1 + h, h, *after)
    np.testing.assert_allclose(before, -np.asarray(before).T, atol=1e-9)
    return (
        np.max(np.abs(A.T @ later @ A - before)),
        float(jnp.max(jnp.abs(before))),
        abs(np.linalg.det(before)),
    )


@pytest.mark.parametrize(("r", "method"), [(2, MID), pytest.param(3, TRAP, marks=pytest.mark.slow)])
def test_the_flow_on_2r_configurations_is_symplectic(r, method):
    nodes = [jnp.array([x]) for x in (0.3, 0.35, 0.42, 0.47, 0.50, 0.56)[: 2 * r]]
    defect, size, det = flow_defect(BENT[r], method, 0.2, nodes)
    assert defect < 1e-12 * size
    assert det > 1


@pytest.mark.parametrize("r", [2, 3])
def test_theta_plus_minus_theta_minus_is_the_differential_of_the_sum(r):
    h, d = 0.2, ac.discrete(BENT[r], TRAP)
    e = jnp.array([0.3, 0.35, 0.42, 0.47, 0.50, 0.56])[: 2 * r]

    def total(e):
        return sum(d.Ld(i * h, h, *e[i : i + r + 1, None]) for i in range(r))

    plus, minus = d.theta_plus(0.0, h, *e[:, None]), d.theta_minus(0.0, h, *e[:, None])
    np.testing.assert_allclose((plus - minus)[:, 0], jax.grad(total)(e), rtol=1e-11)
    assert not np.any(plus[:r])
    assert not np.any(minus[r:])


def test_momentum_maps():
    """A rotation of the plane is a symmetry of the spline: Theta^+ applied to it, which is what
    `momentum` gives, is kept to roundoff.
    """

    def X(q):
        return jnp.array([-q[1], q[0]])

    run = marched(70)
    theta = jax.jit(ac.discrete(TENSION, MID).theta_plus)
    kept = [
        jnp.sum(theta(0.0, 2 / 70, *run.q[k : k + 4]) * jax.vmap(X)(run.q[k : k + 4]))
        for k in (0, 20, 60)
    ]
    # differences of configurations, divided by h^3
    np.testing.assert_allclose(kept, kept[0], rtol=1e-8)
    q, v, a, j = START
    s = TENSION.params["s"]

    def cross(a, b):
        return a[0] * b[1] - a[1] * b[0]

    first = cross(q, s**2 * v - j) + cross(v, a)
    J = np.asarray(run.momentum(X))
    np.testing.assert_allclose(J, J[0], rtol=1e-11)
    np.testing.assert_allclose(J[:3], first, rtol=1e-3)
    # The configurations from k on are led to by the momenta at k: Theta^+ of the four before them.
    np.testing.assert_allclose(J[[2, 22, 62]], kept, rtol=1e-8)
    between = ac.connect(
        TENSION, MID, qa=run.q[0], qb=run.q[-1], va=run.v[0], vb=run.v[-1], duration=2.0, steps=70
    ).momentum(X)
    np.testing.assert_allclose(between, between[0], rtol=1e-10)
    np.testing.assert_allclose(run.p[:, 0], np.broadcast_to(s**2 * v - j, (71, 2)), atol=2e-3)
    np.testing.assert_allclose(run.p[:, 0], np.broadcast_to(run.p[0, 0], (71, 2)), rtol=1e-11)


def test_the_momentum_along_a_field_that_is_no_symmetry_has_order_two():
    """Against sum_s p_s.X_s of the continuous motion; at the end of a two-point problem, where
    nodes are seen from behind, too.
    """

    def X(q):
        return jnp.array([q[0] * q[1], q[0] ** 2])

    q, jets = ac.reference(TENSION, q0=START[0], v0=START[1:], ts=[0.0, 1.0, 2.0])
    at = jax.jit(lambda q, jets: TENSION.momentum_map(X, q, jets, TENSION.momenta(0.0, q, jets)))
    exact = np.array([at(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(q, jets, strict=True)])
    ends = {"qa": q[0], "qb": q[2], "va": jets[0][0], "vb": jets[2][0]}
    for run in (marched, lambda n: ac.connect(TENSION, MID, **ends, duration=2.0, steps=n)):
        off = [np.abs(np.asarray(run(n).momentum(X))[[0, n // 2, n]] - exact) for n in (50, 100)]
        np.testing.assert_allclose(np.log2(off[0] / off[1]), 2.0, atol=0.2)


# ---------------------------------------------------------------- groups

TURNING = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * jnp.sum(a**2), ac.SO3(), name="Riemannian cubic"
)
TURN = np.array([[0.6, -0.3, 0.8], [0.5, 0.9, -0.4], [-0.7, 0.2, 0.6]])


def test_riemannian_cubics_satisfy_the_equation_of_noakes(rng):
    highest = jax.jit(ac.accelerations(TURNING))
    for jets in rng.normal(size=(3, 3, 3)):
        np.testing.assert_allclose(
            highest(0.0, jnp.eye(3), jets), np.cross(jets[2], jets[0]), atol=1e-12
        )
    R, jets = book.riemannian_cubic(TURN, [0.0, 0.5, 1.0])
    q, v = ac.reference(TURNING, q0=np.eye(3), v0=TURN, ts=[0.0, 0.5, 1.0])
    np.testing.assert_allclose(q, R, atol=1e-10)
    np.testing.assert_allclose(v, jets, atol=1e-10)


def test_the_momentum_map_of_turns_of_space():
    """X = R^T e turns space about e and changes no velocity of the body: its momentum is p_0.R^T
    e.
    """
    e, R = jnp.array([0.3, -0.5, 0.8]), ac.SO3().tau(jnp.array([0.4, 0.9, -0.2]))
    p = jnp.asarray(TURN[::2])
    J = jax.jit(lambda q: TURNING.momentum_map(lambda q: q.T @ e, q, jnp.asarray(TURN[1:]), p))(R)
    np.testing.assert_allclose(J, p[0] @ R.T @ e, rtol=1e-12)


@pytest.mark.slow
def test_riemannian_cubics_are_marched_and_found_with_order_two():
    R, jets = book.riemannian_cubic(TURN, [0.0, 0.5, 1.0])
    run = lru_cache(
        lambda n: ac.simulate(TURNING, MID, q0=np.eye(3), v0=TURN, h=1 / n, steps=n, save_every=n)
    )
    assert order_of(lambda n: np.max(np.abs(run(n).q[-1] - R[-1])), (32, 64))[0] == pytest.approx(
        2, abs=0.1
    )
    assert order_of(lambda n: np.max(np.abs(run(n).jets[-1] - jets[-1][:2])), (32, 64))[
        0
    ] == pytest.approx(2, abs=0.1)
    ends = {"qa": R[0], "qb": R[-1], "va": jets[0][:1], "vb": jets[-1][:1]}

    def found(n):
        return np.max(
            np.abs(ac.connect(TURNING, MID, **ends, duration=1.0, steps=n).q[n // 2] - R[1])
        )

    assert order_of(found, (16, 32))[0] == pytest.approx(2, abs=0.2)


@pytest.mark.slow
def test_the_flow_on_a_group_is_symplectic():
    def lagrangian(t, q, v, a, params):
        return (
            0.5 * (a[0] ** 2 + 2 * a[1] ** 2 + 3 * a[2] ** 2)
            + 0.5 * jnp.sum(v**2) * (1 + q[0, 0])
            - q[2, 2] * q[0, 1]
        )

    space = ac.SO3()
    nodes = [jnp.eye(3)]
    for x in ((0.2, 0.1, -0.1), (0.25, 0.12, -0.05), (0.27, 0.18, -0.02)):
        nodes.append(space.retract(nodes[-1], jnp.array(x)))
    defect, size, _ = flow_defect(ac.HigherOrderSystem(lagrangian, space), MID, 0.3, nodes)
    assert defect < 1e-12 * size


# ---------------------------------------------------------------- constraints of higher order


def held(t, q, v, a, params):
    return jnp.array([a[1] + jnp.sin(q[1]) - a[0] * jnp.cos(q[1])])


CURVE = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * a[0] ** 2 + 0.1 * v[1] ** 2,
    ac.Euclidean(2),
    vakonomic=held,
    coordinates=("x", "y"),
    name="held",
)


@lru_cache
def eliminated():
    """x'' = (y'' + sin y)/cos y put into L leaves a free problem in y alone; x and the multiplier
    lam = x''/cos y follow.

    Returns (q0, v0, lam0) of the constrained problem and y with its derivatives at 0, 1/2 and 1, by
    SymPy and the free problem.
    """
    free = ac.HigherOrderSystem(
        lambda t, q, v, a, params: (
            0.5 * ((a[0] + jnp.sin(q[0])) / jnp.cos(q[0])) ** 2 + 0.1 * v[0] ** 2
        ),
        ac.Euclidean(1),
        name="eliminated",
    )
    y, jets = ac.reference(free, q0=[0.3], v0=[[0.2], [-0.4], [0.5]], ts=[0.0, 0.5, 1.0])
    Y = sp.Function("y")(book.T)
    pull = (Y.diff(book.T, 2) + sp.sin(Y)) / sp.cos(Y)
    lam = pull / sp.cos(Y)

    def number(expr):
        return book.at(expr, [Y], [[0.3], [0.2], [-0.4], [0.5]])

    v0 = np.array([[0.0, 0.2], [number(pull), -0.4], [number(pull.diff(book.T)), 0.5]])
    return np.array([0.0, 0.3]), v0, np.array([[number(lam)], [number(lam.diff(book.T))]]), y, jets


def test_a_constraint_of_order_two_is_the_problem_with_a_variable_eliminated():
    q0, v0, lam0, y, jets = eliminated()
    q, v, lam = ac.reference(CURVE, q0=q0, v0=v0, lam0=lam0, ts=[0.0, 0.5, 1.0])
    np.testing.assert_allclose(q[:, 1], y[:, 0], atol=1e-10)
    np.testing.assert_allclose(v[:, :, 1], jets[:, :, 0], atol=1e-9)
    pull = (jets[:, 1, 0] + np.sin(y[:, 0])) / np.cos(y[:, 0])
    np.testing.assert_allclose(lam[:, 0, 0], pull / np.cos(y[:, 0]), atol=1e-9)
    run = lru_cache(
        lambda n: ac.simulate(CURVE, MID, q0=q0, v0=v0, lam0=lam0, h=1 / n, steps=n, save_every=n)
    )
    for error in (
        lambda n: np.max(abs(run(n).q[-1] - q[-1])),
        lambda n: abs(run(n).lam[-1] - lam[-1, 0])[0],
    ):
        assert order_of(error, (32, 64))[0] == pytest.approx(2, abs=0.2)


@lru_cache
def held_run():
    q0, v0, lam0, _, _ = eliminated()
    return ac.simulate(CURVE, MID, q0=q0, v0=v0, lam0=lam0, h=1 / 20, steps=20)


def test_a_constraint_of_order_two_between_two_points():
    run = held_run()
    found = ac.connect(CURVE, MID, qa=run.q[:2], qb=run.q[-2:], duration=1.0, steps=20)
    np.testing.assert_allclose(found.q, run.q, atol=1e-9)
    np.testing.assert_allclose(found.lam[:-1], run.lam[:-1], atol=1e-5)
    d = ac.discrete(CURVE, MID)
    np.testing.assert_allclose(
        [d.Phi(0.0, 1 / 20, *found.q[k : k + 3]) for k in (0, 7, 18)], 0.0, atol=1e-9
    )


def test_regularity_of_the_discrete_problem_is_that_of_the_next_unknowns():
    """The bordered matrix holds the derivatives of the step's equations by (q_2r, h lam), and the
    flow solves them.
    """
    run, d, h = held_run(), ac.discrete(CURVE, MID), 1 / 20
    mu = jnp.array([[0.5], [0.45], [0.4]])

    @jax.jit
    def equations(z, mu):
        q = [*run.q[:4], run.q[4] + z[:2]]
        return jnp.concatenate(
            [d.euler_lagrange(0.0, h, *q, lam=mu.at[2, 0].add(z[2] / h)), d.Phi(2 * h, h, *q[2:])]
        )

    e = 1e-4
    slopes = np.stack(
        [(equations(e * x, mu) - equations(-e * x, mu)) / (2 * e) for x in jnp.eye(3)], axis=1
    )
    K = jax.jit(d.regularity)(2 * h, h, *run.q[2:5], lam=mu[2:])
    np.testing.assert_allclose(K, slopes, rtol=1e-6, atol=1e-6)
    after, lam = jax.jit(d.flow)(0.0, h, *run.q[:4], lam=mu[:2])
    mu = jnp.concatenate([mu[:2], lam[1:]])
    np.testing.assert_allclose(
        equations(jnp.concatenate([after[-1] - run.q[4], jnp.zeros(1)]), mu), 0.0, atol=1e-10
    )


# ---------------------------------------------------------------- results and errors


def test_results_are_kept_saved_and_drawn(tmp_path):
    run = marched(100)
    run.save(tmp_path / "run.zarr")
    again = ac.load(tmp_path / "run.zarr", system=TENSION)
    for name in ("q", "p", "v", "jets"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    np.testing.assert_allclose(again.energy(), run.energy())

    def X(q):
        return jnp.array([-q[1], q[0]])

    np.testing.assert_array_equal(again.momentum(X), run.momentum(X))
    assert run.p.shape == run.jets.shape == (101, 2, 2)
    assert len(run.plot().axes) == 2


def test_campaigns_keep_what_a_trajectory_shows(tmp_path):
    from accion import campaign

    bent = campaign.mean(lambda t, q, v, a, params: a @ a, "bend")
    asked = [campaign.final("q", "p", "v", "energy", "jets"), campaign.extrema("energy", "E"), bent]
    plan = campaign.grid({"v0[0][1]": [2.0, 1.0]}, q0=START[0], v0=START[1:])
    found = campaign.run(
        TENSION,
        MID,
        plan,
        h=0.1,
        steps=20,
        reductions=asked,
        progress=False,
        store=tmp_path / "runs",
    )
    # as campaigns are run
    one = ac.simulate(TENSION, MID, q0=START[0], v0=START[1:], h=0.1, steps=20, engine="xla")
    for name, value in (
        ("q", one.q),
        ("p", one.p),
        ("v", one.v),
        ("jets", one.jets),
        ("energy", one.energy()),
    ):
        np.testing.assert_allclose(found[name][0], value[-1], rtol=1e-12)
    np.testing.assert_allclose(
        [found["E_min"][0], found["E_max"][0]], [one.energy().min(), one.energy().max()], rtol=1e-12
    )
    bend = np.sum(np.asarray(one.jets[:, 1]) ** 2, axis=1)
    np.testing.assert_allclose(
        found["bend_mean"][0], np.mean((bend[1:] + bend[:-1]) / 2), rtol=1e-12
    )
    with pytest.raises(ValueError, match="spline in tension has no T to keep"):
        campaign.run(
            TENSION, MID, plan, h=0.1, steps=20, reductions=campaign.final("T"), progress=False
        )


def test_campaigns_of_a_held_system():
    from accion import campaign

    q0, v0, lam0, _, _ = eliminated()
    plan = campaign.table(
        {"v0[0][0]": [0.0, 0.0], "v0[1][1]": [v0[1, 1], 0.3]}, q0=q0, v0=v0, lam0=lam0
    )
    found = campaign.run(
        CURVE,
        MID,
        plan,
        h=1 / 20,
        steps=20,
        reductions=campaign.final("q", "p", "lam"),
        progress=False,
    )
    run = held_run()
    for name, value in (("q", run.q), ("p", run.p), ("lam", run.lam)):
        # by two engines
        np.testing.assert_allclose(found[name][0], value[-1], rtol=1e-11, atol=1e-14)
    assert found["failure"].values.tolist() == [0, 1]
    assert "v0 is off the constraint of held: Phi = " in found["reason"].values[1]


def test_many_runs():
    starts = np.stack([START[1:], 2 * START[1:]])
    many = ac.ensemble(TENSION, MID, q0=START[0], v0=starts, h=0.1, steps=4)
    one = ac.simulate(TENSION, MID, q0=START[0], v0=starts[1], h=0.1, steps=70)
    np.testing.assert_allclose(many.q[1], one.q[:5], rtol=1e-12)


@pytest.mark.slow
def test_derivatives_of_a_run():
    def end(s):
        return ac.simulate(
            TENSION, MID, q0=START[0], v0=START[1:], h=0.1, steps=4, params={"s": s}
        ).q[-1, 0]

    assert float(jax.grad(end)(1.5)) == pytest.approx(
        float(end(1.5 + 1e-4) - end(1.5 - 1e-4)) / 2e-4, rel=1e-6
    )


def test_a_step_without_solution_says_so():
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: 0.5 * a[0] ** 2 + jnp.log(1 - q[0]), ac.Euclidean(1), name="wall"
    )
    start = {"q0": [0.5], "v0": [[2.0], [3.0], [4.0]], "h": 0.05, "steps": 20}
    with pytest.raises(ac.StepFailed):
        ac.simulate(system, MID, **start)
    run = ac.simulate(system, MID, **start, throw=False)
    k = int(run.steps_completed)
    assert 0 < k < 20
    assert np.all(np.isfinite(run.q[: k + 1]))
    assert np.all(np.isnan(run.q[k + 1 :]))


def bad(*args, **kwargs):
    return lambda: ac.HigherOrderSystem(*args, **kwargs)


def run(system=TENSION, method=MID, **start):
    return lambda: ac.simulate(
        system, method, **({"q0": START[0], "v0": START[1:], "h": 0.1, "steps": 4} | start)
    )


def join(**ends):
    return lambda: ac.connect(
        TENSION, MID, **({"qa": START[0], "qb": START[1], "duration": 1.0, "steps": 10} | ends)
    )


FLAT = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * a[0] ** 2 + 0.5 * v @ v, ac.Euclidean(2), name="half"
)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (bad(spline, ac.Euclidean(2), order=0), "order must be"),
        (bad(spline, ac.Euclidean(2), order=True), "order must be"),
        (bad(spline, 2), "space must be"),
        (bad(None, ac.Euclidean(2)), r"lagrangian\(t, q, v, a, params\)"),
        (bad(spline, ac.Euclidean(2), vakonomic=3), "vakonomic must be a function"),
        (bad(spline, ac.Euclidean(2), coordinates=("x",)), "2 names"),
        (
            bad(lambda t, q, v, params: v @ v, ac.Euclidean(2)),
            r"lagrangian takes 5 arguments, lagrangian\(t, q, v, a, params\)",
        ),
        (
            bad(lambda t, q, v, a, params: a, ac.Euclidean(2)),
            "must return a scalar",
        ),
        (run(v0=START[1]), r"shape \(3, 2\)"),
        (run(v0=np.full((3, 2), np.nan)), "finite"),
        (run(v0=None, p0=START[:2]), "not from p0"),
        (run(v0=None, q1=START[:2]), "3 configurations"),
        (run(v0=None, q1=START[0]), "3 configurations"),
        (run(lam0=[1.0]), "lam0 belongs to vakonomic"),
        (run(S0=1.0), "S0 belongs to thermal"),
        (run(FLAT), "singular"),
        (
            run(method=ac.FiniteDifference(lambda t, h, q0, q1: [])),
            "FiniteDifference does not support",
        ),
        (run(method=GeneralizedAlpha(0.8)), "GeneralizedAlpha does not support"),
        (run(method=ac.EnergyConsistent(MID)), "EnergyConsistent is for"),
        (run(CURVE, lam0=[[0.1], [0.0]]), "off the constraint.*Phi ="),
        (run(CURVE), "needs lam0"),
        (run(CURVE, v0=None, q1=START[1:]), "starts from v0 and lam0"),
        (join(), r"qa\[0\] must have shape"),
        (join(qa=START[:3]), "2 configurations"),
        (join(va=START[1]), "both ends"),
        (join(va=START[:3], vb=START[1]), r"va must have shape \(1, 2\)"),
        (join(qa=START[:2], qb=START[:2], steps=3), "steps must be a whole number >= 4"),
        (
            lambda: ac.discrete(TENSION, MID).Ld(0.0, 0.1, START[0], START[1]),
            "3 configurations are needed",
        ),
        (lambda: ac.discrete(TENSION, MID).D(4, 0.0, 0.1, *START[:3]), "got j = 4"),
        (lambda: ac.discrete(CURVE, MID).flow(0.0, 0.1, *START), "give lam"),
        (lambda: ac.project(CURVE, START[0], START[1]), "project is for a System"),
        (
            lambda: ac.analysis.symplecticity(TENSION, MID, q0=START[0], v0=START[1], h=0.1),
            "without entropies and higher derivatives",
        ),
        (
            lambda: ac.connect(
                BENT[1], MID, qa=[0.0], qb=[1.0], va=[1.0], vb=[1.0], duration=1.0, steps=5
            ),
            "order 2 or more",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_forces_are_not_supported():
    with pytest.raises(TypeError):
        ac.HigherOrderSystem(spline, ac.Euclidean(2), force=lambda t, q, v, params: v)  # pyright: ignore[reportCallIssue]
