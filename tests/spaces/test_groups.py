"""Groups and their retractions: laws, accuracy near the identity and far from it, and what bad
input gets.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp
import jaxlie
import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

import accion as ac
from accion.spaces import rotations

SO3_BASIS = np.array(
    [
        [[0, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
    ],
    dtype=float,
)
SL2_BASIS = np.array([[[1, 0], [0, -1]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=float)
# x -> a x + b: not unimodular, ad is not antisymmetric
AFFINE_BASIS = np.array([[[1, 0], [0, 0]], [[0, 1], [0, 0]]], dtype=float)
RETRACTIONS = ("exp", "cayley")
GROUPS = [
    space(retraction) for space in (ac.SO2, ac.SO3, ac.SE2, ac.SE3) for retraction in RETRACTIONS
]
GROUPS += [
    ac.MatrixGroup(SL2_BASIS),
    ac.MatrixGroup(SL2_BASIS, "cayley"),
    ac.MatrixGroup(AFFINE_BASIS),
]
few = settings(max_examples=9)
group = pytest.mark.parametrize(
    "G", GROUPS, ids=[f"{type(G).__name__}{G.dim}-{G.retraction}-{i}" for i, G in enumerate(GROUPS)]
)
sizes = st.sampled_from([1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.4, 0.707, 0.708, 1.0])
seeds = st.integers(0, 10**6)
COMPILED = {}


def fast(G, name, change=None):
    """A method of a group, or what `change` makes of it, compiled once."""
    if (G, name, change) not in COMPILED:
        f = getattr(G, name)
        COMPILED[G, name, change] = jax.jit(f if change is None else change(f))
    return COMPILED[G, name, change]


def vectors(G, seed, size, count):
    """Random directions of a length."""
    x = np.random.default_rng(seed).normal(size=(count, G.dim))
    return size * x / np.linalg.norm(x, axis=1, keepdims=True)


def power_of_tau(G, x, count=1):
    """tau(x)^count with the digits of mpmath."""
    A, one = mpmath.matrix(np.asarray(G.hat(x)).tolist()), mpmath.eye(G.size)
    return (
        mpmath.expm(A, method="taylor")
        if G.retraction == "exp"
        else mpmath.inverse(one - A / 2) * (one + A / 2)
    ) ** count


def exact_tau(G, x):
    """tau(x) - 1 with fifty digits."""
    with mpmath.workdps(50):
        return np.array((power_of_tau(G, x) - mpmath.eye(G.size)).tolist(), dtype=float)


@group
@few
@given(seed=seeds, size=sizes)
def test_tau_to_relative_accuracy(G, seed, size):
    (x,) = vectors(G, seed, size, 1)
    E = np.asarray(fast(G, "tau_minus_one")(x))
    np.testing.assert_allclose(E, exact_tau(G, x), rtol=0, atol=2e-15 * size)


@group
@few
@given(seed=seeds, size=sizes)
def test_tau_and_its_inverse(G, seed, size):
    (x,) = vectors(G, seed, size, 1)
    g = np.asarray(fast(G, "tau")(x))
    np.testing.assert_allclose(fast(G, "tau_inverse")(g), x, rtol=0, atol=4e-15)
    np.testing.assert_allclose(
        g @ np.asarray(fast(G, "tau")(-x)), np.eye(G.size), rtol=0, atol=4e-15
    )
    np.testing.assert_allclose(fast(G, "inverse")(g) @ g, np.eye(G.size), rtol=0, atol=4e-15)
    assert G.distance(g)[0] < 1e-14


@group
@few
@given(seed=seeds)
def test_adjoint_representation(G, seed):
    x, y, z = vectors(G, seed, 0.7, 3)
    g, k = (np.asarray(fast(G, "tau")(v)) for v in (x, y))
    Ad, ad = fast(G, "Ad"), fast(G, "ad")
    np.testing.assert_allclose(Ad(g @ k), Ad(g) @ Ad(k), rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        G.hat(Ad(g) @ z), g @ np.asarray(G.hat(z)) @ np.linalg.inv(g), rtol=0, atol=1e-14
    )
    X, Y = np.asarray(G.hat(x)), np.asarray(G.hat(y))
    np.testing.assert_allclose(G.hat(ad(x, y)), X @ Y - Y @ X, rtol=0, atol=1e-14)
    jacobi = np.asarray(ad(x, ad(y, z)) + ad(y, ad(z, x)) + ad(z, ad(x, y)))
    np.testing.assert_allclose(jacobi, 0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(fast(G, "coad")(x, z) @ y, z @ ad(x, y), rtol=0, atol=1e-14)
    np.testing.assert_allclose(G.vee(G.hat(x)), x, rtol=0, atol=1e-15)


def dexp(ad, sign=1.0):
    """sum_k (-ad)^k/(k+1)!, from the exponential of a larger matrix."""
    n = len(ad)
    return scipy.linalg.expm(np.block([[-sign * ad, np.eye(n)], [np.zeros((n, 2 * n))]]))[:n, n:]


@group
@few
@given(seed=seeds, size=sizes)
def test_tangents_of_tau(G, seed, size):
    (x,) = vectors(G, seed, size / 2, 1)
    ad = np.stack([np.asarray(fast(G, "ad")(x, e)) for e in np.eye(G.dim)], axis=1)
    T = np.asarray(fast(G, "dtau")(x))
    if G.retraction == "exp":
        np.testing.assert_allclose(T, dexp(ad), rtol=0, atol=2e-14)
    else:
        X, one = np.asarray(G.hat(x)), np.eye(G.size)
        columns = [
            G.vee(np.linalg.inv(one + X / 2) @ np.asarray(G.hat(e)) @ np.linalg.inv(one - X / 2))
            for e in np.eye(G.dim)
        ]
        np.testing.assert_allclose(T, np.stack(columns, axis=1), rtol=0, atol=2e-14)
    back = np.stack([np.asarray(fast(G, "rate")(x, e)) for e in np.eye(G.dim)], axis=1)
    np.testing.assert_allclose(T @ back, np.eye(G.dim), rtol=0, atol=2e-13)
    inverse = np.stack([np.asarray(fast(G, "dtau_inverse")(x, e)) for e in np.eye(G.dim)], axis=1)
    np.testing.assert_allclose(T @ inverse, np.eye(G.dim), rtol=0, atol=2e-14)


def displaced(G):
    """(ours, by logarithms): the increment of a step after its ends are displaced by s a and r b,
    compiled once.
    """
    if ("relative", G) not in COMPILED:
        COMPILED["relative", G] = (
            jax.jit(lambda s, r, x, a, b: G.relative(x, s * a, r * b)),
            jax.jit(lambda s, r, x, a, b: G.local(G.tau(s * a), G.tau(x) @ G.tau(r * b))),
        )
    return COMPILED["relative", G]


def slopes(f, e=1e-2):
    """d/ds, d/dr and the mixed derivative of f(s, r) at 0, by differences with three
    extrapolations.
    """

    def once(e):
        mixed = (f(e, e) - f(e, -e) - f(-e, e) + f(-e, -e)) / (4 * e**2)
        return np.array(
            [(f(e, 0.0) - f(-e, 0.0)) / (2 * e), (f(0.0, e) - f(0.0, -e)) / (2 * e), mixed]
        )

    rows = [once(e / 2**k) for k in range(4)]
    for j in range(1, 4):
        rows = [(4**j * b - a) / (4**j - 1) for a, b in pairwise(rows)]
    return rows[0]


@group
@settings(max_examples=4)
@given(seed=seeds)
def test_relative_is_the_increment_between_displaced_ends(G, seed):
    """To first order in each end, and in their product."""
    x, a, b = vectors(G, seed, 0.6, 3)
    ours, exact = (slopes(lambda s, r, f=f: np.asarray(f(s, r, x, a, b))) for f in displaced(G))
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(G.relative(x, 0 * x, 0 * x), x)


FUNCTIONS = {
    "cos_half": lambda s: mpmath.cos(mpmath.sqrt(s) / 2),
    "sin_half": lambda s: mpmath.sin(mpmath.sqrt(s) / 2) / mpmath.sqrt(s),
    "versine": lambda s: (1 - mpmath.cos(mpmath.sqrt(s))) / s,
    "excess": lambda s: (mpmath.sqrt(s) - mpmath.sin(mpmath.sqrt(s))) / mpmath.sqrt(s) ** 3,
    "cotangent": lambda s: (1 - mpmath.sqrt(s) / 2 * mpmath.cot(mpmath.sqrt(s) / 2)) / s,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_three_derivatives(name):
    """Beside 0, on both sides of the limit between series and closed form, and far away."""
    f, g = FUNCTIONS[name], getattr(rotations, name)
    derivatives = [g, jax.grad(g), jax.grad(jax.grad(g)), jax.grad(jax.grad(jax.grad(g)))]
    derivatives = list(map(jax.jit, derivatives))
    for s in (1e-20, 1e-9, 1e-3, 0.1, 0.4999999, 0.5000001, 0.9999999, 1.0000001, 9.0, 30.0):
        for order, (d, tolerance) in enumerate(
            zip(derivatives, (2e-15, 1e-13, 1e-12, 1e-11), strict=True)
        ):
            with mpmath.workdps(60):
                x = mpmath.mpf(s)
                wanted = float(
                    mpmath.re(
                        mpmath.diff(f, x, order, h=mpmath.mpf(10) ** -12 * max(s, 1e-8))
                        if order
                        else f(x)
                    )
                )
            assert abs(float(d(s)) - wanted) < tolerance * max(abs(wanted), 0.01), (s, order)


@pytest.mark.parametrize("space", [ac.SO2(), ac.SO3(), ac.SE2(), ac.SE3()], ids=repr)
@pytest.mark.parametrize("angle", [np.pi - 1e-3, np.pi - 1e-9, np.pi - 1e-15, 3.0])
def test_near_half_a_turn(space, angle):
    """The logarithm is right and its derivatives are finite where the rotation matrix is nearly
    symmetric.
    """
    x = np.random.default_rng(1).normal(size=space.dim)
    x[: space.angles] *= angle / np.linalg.norm(x[: space.angles])
    tau, inverse = fast(space, "tau"), fast(space, "tau_inverse")
    g = tau(x)
    found = np.asarray(inverse(g))
    np.testing.assert_allclose(tau(found), g, rtol=0, atol=4e-15)
    if angle < np.pi - 1e-10:
        np.testing.assert_allclose(found, x, rtol=0, atol=1e-14)
    assert np.all(np.isfinite(fast(space, "tau_inverse", jax.jacrev)(g)))


def test_jaxlie_agrees():
    """Away from the identity, where it is right: near it its SE(3) exponential loses half of its
    digits.
    """
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.normal(size=6)
        R = np.asarray(jaxlie.SO3.exp(jnp.asarray(x[:3])).as_matrix())
        np.testing.assert_allclose(ac.SO3().tau(x[:3]), R, rtol=0, atol=1e-14)
        g = np.asarray(jaxlie.SE3.exp(jnp.concatenate([x[3:], x[:3]])).as_matrix())
        np.testing.assert_allclose(ac.SE3().tau(x), g, rtol=0, atol=1e-14)
        np.testing.assert_allclose(
            ac.SO3().tau_inverse(R), np.asarray(jaxlie.SO3.from_matrix(R).log()), rtol=0, atol=1e-13
        )


def test_many_at_once():
    """Under vmap."""
    x = np.random.default_rng(0).normal(size=(1000, 3))
    many = jax.vmap(ac.SO3().tau)(x)
    np.testing.assert_allclose(many[7], ac.SO3().tau(x[7]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        jax.vmap(lambda g: ac.SO3().tau(ac.SO3().tau_inverse(g)))(many), many, rtol=0, atol=4e-15
    )


@group
def test_projection(G):
    """Onto the group, and nothing moves that is on it."""
    rng = np.random.default_rng(3)
    g = np.asarray(G.tau(vectors(G, 5, 0.8, 1)[0]))
    np.testing.assert_allclose(G.project(g), g, rtol=0, atol=1e-13)
    near = np.asarray(G.project(g + 1e-3 * rng.normal(size=g.shape)))
    assert G.distance(near)[0] < 1e-10
    assert np.max(np.abs(near - g)) < 2e-2


@pytest.mark.parametrize(
    ("G", "tolerance"), [(ac.SO3("cayley"), 8e-15), (ac.SE3(), 1e-13)], ids=str
)
def test_compensated_summation(G, tolerance):
    """A hundred thousand equal increments against a power with forty digits; without what rounding
    left, twice to a hundred times as far off.
    """
    x, count = np.linspace(0.3, 1.1, G.dim) * 1e-3, 100_000

    def error(kept):
        def one(state, _):
            return G.accumulate(state[0], kept * state[1], x), None

        q, _ = jax.jit(
            lambda: jax.lax.scan(one, (G.identity(), jnp.zeros(G.dim)), None, length=count)[0]
        )()
        with mpmath.workdps(40):
            exact = np.array(power_of_tau(G, x, count).tolist(), dtype=float)
        return np.max(np.abs(np.asarray(q) - exact))

    assert error(1.0) < tolerance < error(0.0)
    assert error(-1.0) > tolerance


def test_a_product_of_both_kinds():
    Q = ac.Product(ac.Euclidean(2), ac.SO3(), ac.Torus(1))
    assert Q.dim == 6
    assert not Q.flat
    assert Q.coordinates() == (
        "q1",
        "q2",
        "theta1 [rad]",
        "theta2 [rad]",
        "theta3 [rad]",
        "q6 [rad]",
    )
    assert ac.Product(ac.SO3(), ac.SO3()).coordinates()[::3] == ("theta1_1 [rad]", "theta1_2 [rad]")
    x = np.arange(6) / 7
    q = Q.retract(Q.identity(), x)
    np.testing.assert_allclose(Q.local(Q.identity(), q), x, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        Q.ad(x, x[::-1])[2:5], np.cross(x[2:5], x[::-1][2:5]), rtol=0, atol=1e-15
    )
    assert not np.any(np.asarray(Q.ad(x, x[::-1]))[[0, 1, 5]])


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("space", "q", "message"),
    [
        (
            ac.SO3(),
            np.eye(3) + 1e-3 * np.ones((3, 3)),
            r"not in SO3.*R\^T R should be 1, off by 0\.002.*space.project\(q0\)",
        ),
        (ac.SO3(), np.diag([1.0, 1.0, -1.0]), "reflection"),
        (ac.SO3(), np.eye(4), r"shape \(3, 3\); got shape \(4, 4\)"),
        (ac.SO3(), "none", "must be a matrix of SO3"),
        (ac.SO2(), np.full((2, 2), np.nan), "finite"),
        (ac.SE3(), np.eye(4) + np.eye(4)[[3]].T @ np.array([[0.1, 0, 0, 0]]), "last row"),
        (
            ac.MatrixGroup(SL2_BASIS),
            2 * np.eye(2),
            "a form, a covector or the determinant is not kept",
        ),
        (ac.Product(ac.SO3(), ac.Euclidean(1)), (2 * np.eye(3), [0.0]), r"q0\[0\] is not in SO3"),
    ],
)
def test_a_matrix_that_is_not_in_the_group(space, q, message):
    with pytest.raises(ValueError, match=message):
        space.check(q, "q0")


@pytest.mark.parametrize(
    ("basis", "retraction", "message"),
    [
        ([[1.0, 2.0]], "exp", "square matrices"),
        ([np.eye(2), 2 * np.eye(2)], "exp", "not independent"),
        (SO3_BASIS[:2], "exp", "not span a Lie algebra"),
        ([[[1.0, 0.0], [0.0, 2.0]]], "cayley", "cayley does not map"),
        (SO3_BASIS, "log", "Try one of: exp, cayley"),
        ("abc", "exp", "matrices of numbers"),
    ],
)
def test_a_basis_that_is_none(basis, retraction, message):
    with pytest.raises(ValueError, match=message):
        ac.MatrixGroup(basis, retraction)


def test_groups_compare_by_value():
    assert ac.MatrixGroup(SO3_BASIS) == ac.MatrixGroup(SO3_BASIS.tolist())
    assert hash(ac.MatrixGroup(SO3_BASIS)) == hash(ac.MatrixGroup(SO3_BASIS.copy()))
    assert ac.MatrixGroup(SO3_BASIS) != ac.MatrixGroup(SO3_BASIS, "cayley")
    assert ac.SO3() != ac.SO3("cayley")
