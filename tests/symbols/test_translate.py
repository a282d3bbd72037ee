"""From JAX functions to SymPy expressions, operation by operation, and back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, strategies as st

import accion as ac
from accion.symbols.exact_numbers import exact
from accion.symbols.jax_to_sympy import translate
from accion.symbols.sympy_to_jax import compute

X = np.array(sp.symbols("x0:4", real=True), dtype=object)
A = np.array(sp.symbols("a0:16", real=True), dtype=object).reshape(4, 4)
POINT = np.array([0.3, -0.7, 1.1, 0.6])
MATRIX = np.array(
    [[2.0, 0.3, -0.2, 0.1], [0.3, 1.7, 0.4, -0.3], [-0.2, 0.4, 2.2, 0.5], [0.1, -0.3, 0.5, 1.9]]
)

VECTOR_FUNCTIONS = {
    "arithmetic": lambda x: x[0] * x[1] - x[2] / x[3] + x[0] ** 3 - (-x[1]),
    "trigonometric": (
        lambda x: (
            jnp.sin(x[0])
            + jnp.cos(x[1]) * jnp.tan(x[2])
            + jnp.arctan2(x[0], x[1])
            + jnp.arcsin(x[0])
            + jnp.arccos(x[3])
        )
    ),
    "hyperbolic": (
        lambda x: (
            jnp.sinh(x[0]) * jnp.cosh(x[1])
            + jnp.tanh(x[2])
            + jnp.arcsinh(x[3])
            + jnp.arctanh(x[0])
            + jnp.arccosh(1 + x[3])
        )
    ),
    "exponential": (
        lambda x: (
            jnp.exp(x[0])
            + jnp.log(x[3])
            + jnp.expm1(x[1])
            + jnp.log1p(x[2])
            + jnp.exp2(x[0])
            + jax.nn.sigmoid(x[1])
        )
    ),
    "powers": (
        lambda x: (
            x[0] ** 2.5
            + jnp.sqrt(x[2])
            + jax.lax.rsqrt(x[3])
            + jnp.cbrt(x[1])
            + jnp.power(x[2], x[0])
            + x[1] ** -2
            + jnp.square(x[0])
        )
    ),
    "sums and norms": (
        lambda x: jnp.sum(x) + jnp.prod(x) + jnp.linalg.norm(x) + x @ x + jnp.mean(x) + jnp.var(x)
    ),
    "extremes": (
        lambda x: (
            jnp.max(x)
            + jnp.min(x)
            + jnp.maximum(x[0], x[1])
            + jnp.abs(x[1])
            + jnp.sign(x[1])
            + jnp.clip(x[2], -1, 1)
        )
    ),
    "rounding": lambda x: jnp.floor(x[2]) + jnp.ceil(x[0]) + jnp.fmod(x[2], x[3]),
    "where": (
        lambda x: (
            jnp.where(x[0] > x[1], x[2], x[3])
            + jnp.where((x[0] > 0) & (x[1] > 0), 1.0, 2.0)
            + jnp.where(~(x[3] == 0), x[0], 0.0)
        )
    ),
    "selection": (
        lambda x: (
            jnp.select([x[0] < 0, x[0] < 0.5], [x[1], x[2]], x[3])
            + jax.lax.cond(x[1] > 0, lambda: x[0], lambda: x[2])
        )
    ),
    "indexing": lambda x: x[jnp.array([2, 0, 1])] * x[1:] + x[::-1][:3] + x[-1],
    "stacking": lambda x: (
        jnp.stack([x, x**2], axis=1)[1] @ jnp.concatenate([x[:1], x[3:]])
        + jnp.hstack([x, x])[5]
        + jnp.tile(x, 2)[6]
        + jnp.repeat(x, 2)[3]
    ),
    "shapes": (
        lambda x: (
            (x.reshape(2, 2).T @ x.reshape(2, 2))[None, :, 0]
            + jnp.roll(x, 1)[:2]
            + jnp.pad(x, 1)[1:3]
            + jnp.expand_dims(x, 0)[:, :2]
        )
    ),
    "updates": lambda x: x.at[1].set(3.0).at[2].add(x[0]).at[jnp.array([0, 0])].add(x[:2]),
    "updates by products and extremes": (
        lambda x: x.at[1].multiply(x[0]).at[2].max(x[3]).at[jnp.array([0, 3])].min(x[1])
    ),
    "cumulative": (
        lambda x: jnp.cumsum(x) + jnp.cumprod(x) + jnp.cumsum(x[::-1])[::-1] + jax.lax.cummax(x)
    ),
    "loops": (
        lambda x: (
            jax.lax.fori_loop(0, 4, lambda i, s: s * x[i] + 1, 1.0)
            + jax.lax.scan(lambda s, y: (s + y**2, s), 0.0, x)[0]
        )
    ),
    "scan outputs": lambda x: jax.lax.scan(lambda s, y: (s * y, s + y), 1.0, x, reverse=True)[1],
    "while": lambda x: jax.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x[0] + x[1]), (0, 1.0)
    )[1],
    "products": (
        lambda x: (
            jnp.outer(x, x)[0]
            + jnp.cross(x[:3], x[1:])[0]
            + jnp.einsum("i,j,ij->i", x, x, jnp.outer(x, x))
            + jnp.kron(x, x)[:4]
        )
    ),
    "batched": lambda x: jax.vmap(lambda a, b: a * jnp.sin(b))(x, x[::-1]),
    "gradient": lambda x: jax.grad(lambda y: jnp.sum(jnp.sin(y) * y[jnp.array([1, 0, 3, 2])]))(x),
    "second derivatives": lambda x: jax.hessian(lambda y: jnp.prod(y) + y[0] * jnp.exp(y[1]))(x),
    "tangent": lambda x: jax.jvp(lambda y: jnp.stack([y[0] * y[1], jnp.cos(y[2])]), (x,), (x**2,))[
        1
    ],
    "polynomial": (
        lambda x: (
            jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x[0]) + jnp.hypot(x[0], x[1]) + jnp.sinc(x[0])
        )
    ),
    "special": (
        lambda x: (
            jax.scipy.special.erf(x[0])
            + jax.scipy.special.erfc(x[1])
            + jax.scipy.special.gammaln(x[2])
            + jax.nn.softplus(x[1])
        )
    ),
    "compiled": jax.jit(lambda x: jax.checkpoint(lambda y: jnp.sin(y) * y[0])(x)),
    "parity": lambda x: jax.lax.fori_loop(
        0, 4, lambda i, s: s + jnp.where((i & 1) == 0, x[i], 0.0), 0.0
    ),
    "softmax": lambda x: jax.grad(lambda y: jax.nn.softmax(y)[0] + jax.scipy.special.logsumexp(y))(
        x
    ),
    "types": (
        lambda x: (
            (x > 0).astype(float)
            + x.astype(jnp.float32).astype(jnp.float64)
            + jnp.arange(4)
            + jnp.sum(x > 0)
        )
    ),
}
MATRIX_FUNCTIONS = {
    "solve": lambda a, x: jnp.linalg.solve(a, x),
    "solve one of three": lambda a, x: jnp.linalg.solve(a[:3, :3], x[:3]),
    "inverse": lambda a, x: jnp.linalg.inv(a) @ x,
    "determinant": (
        lambda a, x: jnp.linalg.det(a) + jnp.linalg.det(a[:2, :2]) * jnp.trace(a) + jnp.diag(a)[2]
    ),
    "several at once": lambda a, x: (
        jnp.linalg.det(jnp.stack([a[:2, :2], a[2:, 2:]]))
        + jnp.linalg.cholesky(jnp.stack([a[:2, :2], a[2:, 2:]]))[:, 1, 0]
    ),
    "several triangles": lambda a, x: jax.vmap(
        lambda b, y: jax.scipy.linalg.solve_triangular(b, y, lower=True)
    )(jnp.stack([a[:2, :2], a[2:, 2:]]), x.reshape(2, 2)),
    "derivative of a determinant": lambda a, x: jax.grad(
        lambda y: jnp.linalg.det(a[:2, :2] + jnp.eye(2) * y[0])
    )(x),
    "cholesky": lambda a, x: jnp.linalg.cholesky(a)[:2, :2],
    "triangular": (
        lambda a, x: (
            jax.scipy.linalg.solve_triangular(a, x, lower=True)
            + jax.scipy.linalg.solve_triangular(a, x, trans=1)
        )
    ),
    "derivative of a solve": lambda a, x: jax.grad(
        lambda y: jnp.sum(jnp.linalg.solve(a[:2, :2] + jnp.eye(2) * y[0] ** 2, y[:2]))
    )(x),
    "matrix product": lambda a, x: a @ a @ x + a.T[0] + jnp.tril(a)[2] + jnp.tensordot(a, a, 1)[1],
}


def value_of(expressions, **at):
    """The numbers that expressions have at X = POINT, A = MATRIX."""
    table = dict(zip((*X, *A.flat), map(sp.Float, (*POINT, *MATRIX.flat)), strict=True))
    return jax.tree.map(
        lambda array: np.vectorize(
            lambda e: float(sp.sympify(e).xreplace(table).evalf()), otypes=[float]
        )(array),
        expressions,
    )


@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_each_kind_of_operation(name):
    f = VECTOR_FUNCTIONS[name]
    np.testing.assert_allclose(
        value_of(translate(f, X)),
        f(jnp.asarray(POINT)),
        rtol=1e-6 if name == "types" else 1e-13,
        atol=1e-13,
    )


@pytest.mark.parametrize("name", MATRIX_FUNCTIONS)
def test_small_linear_algebra(name):
    f = MATRIX_FUNCTIONS[name]
    np.testing.assert_allclose(
        value_of(translate(f, A, X)),
        f(jnp.asarray(MATRIX), jnp.asarray(POINT)),
        rtol=1e-11,
        atol=1e-12,
    )


def test_what_a_person_would_write():
    assert translate(lambda x: jnp.linalg.norm(x[:2]), X).item() == sp.sqrt(X[0] ** 2 + X[1] ** 2)
    assert translate(lambda x: jnp.hypot(x[0], x[1]), X).item() == sp.sqrt(X[0] ** 2 + X[1] ** 2)
    assert translate(lambda x: jnp.where(x[0] > 0, x[1], x[2]), X).item() == sp.Piecewise(
        (X[1], X[0] > 0), (X[2], True)
    )
    assert (
        translate(lambda x: 0.5 * x[0] + jnp.pi / 2 + x[1] / 3, X).item()
        == X[0] / 2 + sp.pi / 2 + X[1] / 3
    )


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0.5, sp.Rational(1, 2)),
        (9.81, sp.Rational(981, 100)),
        (1 / 3, sp.Rational(1, 3)),
        (2, sp.Integer(2)),
        (-0.0, sp.Integer(0)),
    ],
)
def test_exact_numbers(number, expected):
    assert exact(number) == expected


def test_other_floats_stay_as_they_are():
    assert exact(np.pi / 6) == sp.pi / 6
    assert exact(np.sqrt(2)) == sp.Float(np.sqrt(2), 17)
    assert float(exact(6.67e-11)) == 6.67e-11
    assert exact(np.inf) == sp.oo
    assert exact(np.bool_(True)) is sp.true


def test_an_operation_without_counterpart_is_named_with_its_line():
    def f(x):
        y = x**2
        return jnp.sum(jnp.sort(y))

    line = f.__code__.co_firstlineno + 2
    with pytest.raises(
        ac.Untranslatable, match=rf"`sort` \(line {line} of .*test_translate.py, in .*f\)"
    ):
        translate(f, X)


def test_what_is_not_needed_may_be_untranslatable():
    assert translate(lambda x: (jnp.sort(x), x[0])[1], X).item() == X[0]


def test_an_entry_that_is_untranslatable_leaves_the_others():
    assert translate(lambda x: jnp.concatenate([jnp.sort(x), x])[4], X).item() == X[0]
    assert translate(lambda x: jnp.where(jnp.array([True, False]), x[:2], jnp.sort(x)[:2])[0], X)
    with pytest.raises(ac.Untranslatable, match="`sort`"):
        translate(lambda x: jnp.linalg.solve(jnp.diag(jnp.sort(x)), x), X)
    with pytest.raises(ac.Untranslatable, match="`sort`"):
        translate(lambda x: x[jnp.sort(x)[0].astype(int)], X)


def test_a_reduction_by_a_function_of_the_users_is_named():
    """It holds a function of two numbers, which is not a call."""
    with pytest.raises(ac.Untranslatable, match="`reduce`"):
        translate(lambda x: jax.lax.reduce(x, 0.0, lambda a, b: a + 2 * b, (0,)), X)


def test_an_index_that_depends_on_the_variables_is_an_error():
    with pytest.raises(ac.Untranslatable, match="an index or a count depends on the variables"):
        translate(lambda x: x[(x[0] > 0).astype(int)], X)
    with pytest.raises(ac.Untranslatable, match="whether a loop goes on depends on the variables"):
        translate(lambda x: jax.lax.while_loop(lambda y: y < 3, lambda y: y + x[0], x[1]), X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jax.lax.cond(x[0] > 0, lambda: jnp.sort(x)[0], lambda: x[0]),
        lambda x: jax.lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + jnp.sort(x)[3], 2 * c[1]), (0.0, x[0])
        )[1],
        lambda x: jax.lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, jnp.sort(c[1])), (0, x)
        )[1],
        lambda x: jax.lax.scan(lambda c, y: (jnp.sort(c), c[0]), x, x)[1],
    ],
)
def test_what_is_untranslatable_in_a_branch_or_a_loop_is_named(f):
    with pytest.raises(
        ac.Untranslatable, match=r"`sort`.*test_translate.py|test_translate.py.*`sort`"
    ):
        translate(f, X)


def test_complex_numbers_are_an_error_with_a_line():
    with pytest.raises(ac.Untranslatable, match=r"test_translate.py.*not real"):
        translate(lambda x: jnp.abs(x[0] + 1j * x[1]), X)


def test_a_function_of_the_user_is_not_taken_for_one_of_jax():
    @jax.jit
    def hypot(x, y):
        return x - y

    assert translate(lambda x: hypot(x[0], x[1]), X).item() == X[0] - X[1]


# ---------------- random expressions, there and back

UNARY = [
    jnp.sin,
    jnp.cos,
    jnp.tanh,
    jnp.exp,
    lambda x: x**2,
    lambda x: -x,
    lambda x: 1 / (2 + x**2),
    lambda x: jnp.sqrt(1 + x**2),
    jnp.abs,
]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - b,
    lambda a, b: a / (3 + jnp.cos(b)),
    jnp.maximum,
    lambda a, b: jnp.where(a < b, a, b),
]


@st.composite
def functions(draw, depth=4):
    """A random function of a vector of four numbers, as a tree of operations."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        i, c = draw(st.integers(0, 4)), draw(st.sampled_from([0.5, 2.0, -1.25, 1 / 3]))
        return (lambda x: x[i]) if i < 4 else (lambda x: jnp.asarray(c))
    if draw(st.booleans()):
        f, a = draw(st.sampled_from(UNARY)), draw(functions(depth=depth - 1))
        return lambda x: f(a(x))
    f, a, b = (
        draw(st.sampled_from(BINARY)),
        draw(functions(depth=depth - 1)),
        draw(functions(depth=depth - 1)),
    )
    return lambda x: f(a(x), b(x))


@given(f=functions())
def test_random_expressions_keep_their_value(f):
    expression = translate(f, X).item()
    np.testing.assert_allclose(value_of(np.asarray(expression)), f(POINT), rtol=1e-12, atol=1e-13)


@given(f=functions())
def test_random_expressions_come_back(f):
    expression = translate(f, X).item()

    def back(x):
        return jnp.asarray(compute(expression, dict(zip(X, x, strict=True))), dtype=float)

    np.testing.assert_allclose(back(jnp.asarray(POINT)), f(POINT), rtol=1e-12, atol=1e-13)
