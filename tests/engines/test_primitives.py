"""The native engine: each primitive against JAX, programs against XLA, and what it leaves to
XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.ad_checkpoint import checkpoint_name

from accion.engines import auto, native
from accion.engines.errors import Unsupported
from accion.numerics.newton import solve
from tests.engines.native_cases import X

A = np.array([[1.3, -0.4, 2.5], [0.2, 3.1, -1.7], [-2.2, 0.9, 0.6]])


SPECIAL = np.array(
    [0.0, -0.0, 1.5, -1.5, 0.5, 2.5, -2.5, 1e300, -1e300, np.inf, -np.inf, np.nan, 1e-300]
)


NAN = np.array([1.0, np.nan, 3.0, np.nan])


UNARY = [
    jnp.sin,
    jnp.cos,
    jnp.tan,
    jnp.exp,
    jnp.sqrt,
    jnp.tanh,
    jnp.sinh,
    jnp.cosh,
    jnp.arcsin,
    jnp.arccos,
    jnp.arctan,
    jnp.arcsinh,
    jnp.arctanh,
    jnp.log1p,
    jnp.expm1,
    jnp.abs,
    jnp.sign,
    jnp.floor,
    jnp.ceil,
    jnp.round,
    jnp.isfinite,
    jnp.isnan,
    jnp.square,
    jax.nn.sigmoid,
    jax.lax.rsqrt,
    jax.scipy.special.erf,
    jax.scipy.special.erfc,
    jnp.exp2,
    jnp.negative,
    jnp.reciprocal,
]


def assert_same(f, *args, rtol=1e-14):
    """As machine code, and carried out on numbers by the interpreter alone."""
    expected = f(*jax.tree.map(jnp.asarray, args))
    for got in (native.compile(f, *args)(*args), native.evaluate(f, *args)):
        assert jax.tree.structure(got) == jax.tree.structure(expected)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            assert a.shape == jnp.shape(b)
            assert a.dtype == jnp.asarray(b).dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-300)


def test_functions_of_one_number():
    """All in one program, at ordinary numbers, infinities, NaN and zeros."""
    for x in (X, SPECIAL):
        with np.errstate(all="ignore"):
            assert_same(lambda x: [f(x) for f in UNARY], x)


def test_the_cube_root_to_the_last_digit():
    """Of XLA it is a power, which loses two digits far from one."""
    for x in (X, SPECIAL):
        for got in (native.compile(jnp.cbrt, x)(x), native.evaluate(jnp.cbrt, x)):
            np.testing.assert_allclose(got, np.cbrt(x), rtol=3e-16, atol=0)


def test_functions_of_two_numbers():
    a, b = (m.ravel() for m in np.meshgrid(SPECIAL, SPECIAL))
    functions = [
        jnp.add,
        jnp.subtract,
        jnp.multiply,
        jnp.divide,
        jnp.maximum,
        jnp.minimum,
        jnp.arctan2,
        jax.lax.rem,
        jnp.less,
        jnp.less_equal,
        jnp.greater,
        jnp.greater_equal,
        jnp.equal,
        jnp.not_equal,
    ]
    assert_same(lambda a, b: [f(a, b) for f in functions], a[::3], b[::3])
    assert_same(
        lambda a, b: jnp.power(a, b),
        np.array([2.0, 0.5, 0.0, 3.0, -2.0, np.inf]),
        np.array([3.0, -0.5, 0.0, np.nan, 3.0, 2.0]),
    )


def test_integers_and_truth():
    n = np.arange(-4, 5)
    assert_same(
        lambda n: [
            n // 3,
            n % 3,
            jax.lax.div(n, -3),
            jax.lax.rem(n, 3),
            abs(n),
            -n,
            n * n,
            jnp.maximum(n, 1),
            n**3,
            n.astype(float),
        ],
        n,
    )
    assert_same(
        lambda n: [
            (n > 0) & (n < 3),
            (n > 0) | (n < -2),
            (n > 0) ^ (n < 3),
            ~(n > 0),
            jnp.any(n > 3),
            jnp.all(n > -9),
        ],
        n,
    )
    assert_same(lambda x: [x.astype(int), jnp.where(x > 0, 1, 2), jnp.clip(x, -0.5, 0.5)], X)
    with pytest.raises(Unsupported, match="integer division"):
        native.compile(lambda n, m: jax.lax.div(n, m), n, n)


def test_sums_products_and_extrema():
    assert_same(
        lambda A, x: [
            A @ x,
            x @ A,
            A @ A,
            x @ x,
            jnp.outer(x, x),
            jnp.einsum("ij,jk,k->i", A, A, x),
        ],
        A,
        X,
    )
    assert_same(
        lambda A: [
            A.sum(),
            A.sum(0),
            A.prod(1),
            A.max(),
            A.min(1),
            jnp.cumsum(A, 1),
            jnp.cumprod(A, 0),
            jnp.linalg.norm(A),
        ],
        A,
    )
    assert_same(
        lambda A: [jnp.argmax(A), jnp.argmin(A, 1), jnp.trace(A), jnp.cumsum(A[0][::-1])], A
    )
    assert_same(lambda a: [jnp.argmax(a), jnp.argmin(a), a.max(), a.min(), jnp.argmax(a > 2)], NAN)
    assert_same(lambda a: [a.sum(), a.prod(), jnp.sum(a, axis=0)], np.zeros((0, 2)))


def test_moving_entries():
    assert_same(
        lambda A: [
            A.T,
            A[::-1],
            A[1:, ::2],
            A.reshape(9),
            A[:, None],
            jnp.stack([A, A], 1),
            jnp.concatenate([A, A]),
            jnp.pad(A, 1),
        ],
        A,
    )
    assert_same(
        lambda A: [
            jnp.roll(A, 1),
            jnp.tile(A, 2),
            jnp.split(A, 3),
            jnp.diag(A),
            jnp.tril(A),
            jnp.eye(3) * A,
            list(A),
            jnp.arange(4.0),
        ],
        A,
    )
    assert_same(
        lambda A, i: [
            A[i],
            A[:, i],
            jax.lax.dynamic_slice(A, (i, i), (2, 1)),
            jnp.take(A, i, axis=1),
            A[i, 2 - i],
        ],
        A,
        1,
    )
    assert_same(
        lambda A, i: [
            A.at[i].set(7.0),
            A.at[i, 1].add(2.0),
            A.at[:, i].multiply(3.0),
            A.at[i].max(0.5),
            A.at[i].min(0.5),
        ],
        A,
        2,
    )
    assert_same(lambda A, x: jax.lax.dynamic_update_slice(A, x[None, :2], (1, 2)), A, X)


@pytest.mark.parametrize("i", [-5, -1, 0, 2, 3, 9])
def test_indices_out_of_range(i):
    """Gathers fill or clip, scatters drop, as in JAX."""
    assert_same(
        lambda x, i: [
            x.at[i].get(mode="fill"),
            x.at[i].get(mode="clip"),
            x.at[i].get(mode="fill", fill_value=2.0),
        ],
        X,
        i,
    )
    assert_same(lambda n, i: n.at[i].get(mode="fill"), np.arange(3, dtype=np.int32), i)
    assert_same(
        lambda x, i: [
            x.at[i].set(1.0),
            x.at[i].add(1.0, mode="clip"),
            jax.lax.dynamic_slice(x, (i,), (2,)),
        ],
        X,
        i,
    )


def test_control_flow():
    def newton(a):
        return jax.lax.while_loop(
            lambda s: jnp.abs(s[0] ** 2 - a) > 1e-12,
            lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1),
            (a, 0),
        )

    assert_same(newton, 2.0)
    assert_same(lambda x: jax.lax.scan(lambda c, y: (c * y, c + y), 1.0, x), X)
    assert_same(lambda x: jax.lax.scan(lambda c, y: (c * y, c + y), 1.0, x, reverse=True), X)
    assert_same(lambda x: jax.lax.fori_loop(0, 200, lambda i, c: 0.9 * c + i, x), X)
    assert_same(lambda x, n: jax.lax.fori_loop(0, n, lambda i, c: 0.9 * c + i, x), X, 7)
    for i in range(3):
        assert_same(lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, lambda x: x + 1], x), i, X)
    assert_same(lambda x: jax.vmap(lambda a: jax.lax.cond(a > 0, jnp.sin, jnp.cos, a))(x), X)


def test_calls_that_change_nothing():
    assert_same(jax.checkpoint(lambda x: jnp.sin(x) * x[0]), X)
    assert_same(lambda x: checkpoint_name(jax.device_put(x), "x") + 1, X)


@pytest.mark.parametrize("n", [1, 2, 4, 5, 9, 14])
def test_dense_solver(n):
    """Written out, and as a function of its own; with a zero on the diagonal, which needs
    pivots.
    """
    rng = np.random.default_rng(n)
    M, b = rng.normal(size=(n, n)), rng.normal(size=n)
    if n > 1:
        M[0, 0] = 0.0
    x = native.compile(solve, M, b)(M, b)
    np.testing.assert_allclose(M @ x, b, rtol=0, atol=1e-12 * np.abs(M).sum() * np.abs(x).max())
    np.testing.assert_allclose(x, solve(M, b), rtol=1e-10)


def test_dense_solver_of_zeros():
    """Rows that have a zero in a column are passed over; a singular matrix still has no solution,
    and infinities are not lost.
    """
    n, m = 6, 3
    rng = np.random.default_rng(3)
    A, b = np.kron(np.eye(m), rng.normal(size=(1, 2))), rng.normal(size=n + m)
    M = np.block([[np.diag(rng.normal(size=n)), A.T], [A, np.zeros((m, m))]])
    compiled = native.compile(solve, M, b)
    for permuted in (M, M[::-1], M[rng.permutation(n + m)]):
        np.testing.assert_allclose(compiled(permuted, b), np.linalg.solve(permuted, b), rtol=1e-12)
    for row, column, number in ((8, slice(None), 0.0), (slice(None), 2, 0.0), (0, 7, np.inf)):
        bad = M.copy()
        bad[row, column] = number
        assert not np.all(np.isfinite(compiled(bad, b)))


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=3), st.floats(-3, 3))
def test_derivatives(x, a):
    """Gradients and Jacobians are functions like any other."""
    x = np.array(x)
    np.testing.assert_allclose(GRADIENT(x, a), jax.grad(well)(x, a), rtol=1e-13, atol=1e-13)


def well(x, a):
    return jnp.sum(jnp.cos(x) * x**2) + a * jnp.exp(-x[0] * x[1] / 100) + jnp.sqrt(1 + x @ x)


GRADIENT = native.compile(jax.grad(well), X, 1.0)


def test_truth_values_have_an_order():
    b, c = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert_same(
        lambda b, c: [
            b < c,
            b > c,
            b <= c,
            b >= c,
            b == c,
            jnp.maximum(b, c),
            jnp.minimum(b, c),
            jnp.max(b),
            jnp.min(c),
            b @ c,
        ],
        b,
        c,
    )
    assert_same(lambda b, i: [b.at[i].max(True), b.at[i].min(False)], b, 1)


def test_integers_of_32_bits_stay_such():
    n = np.array([-3, 2**31 - 1, 7], np.int32)
    assert_same(
        lambda n: [
            n + 5,
            n * 2000000000,
            (n + 1).astype(float),
            (n + 5) > 0,
            n.sum(),
            -n,
            n.astype(jnp.int64) * 3,
        ],
        n,
    )
    assert_same(lambda x: x.astype(jnp.int32), np.array([1e300, -1e300, 3e9, np.nan, -2.7]))
    assert_same(lambda n: n.astype(jnp.int32).astype(float), np.array([2**40 + 5, -(2**31), 2**31]))
    assert_same(lambda n: [jnp.argmin(n), jnp.argmax(n)], np.array([5, -(2**63), 3]))


def test_a_batch_of_loops():
    """Each ends at its own time, and those that are done stay."""
    assert_same(
        jax.vmap(
            lambda a: jax.lax.while_loop(
                lambda s: s[0] < 3, lambda s: (s[0] + jnp.abs(a) + 0.1, s[1] + 1), (a, 0)
            )
        ),
        X,
    )


def test_derivatives_of_the_dense_solver():
    """What is left of it after differentiation is not taken for it, nor is a function of the user's
    with such a name.
    """
    rng = np.random.default_rng(5)
    M, b, c = rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=5)
    assert_same(
        lambda M, b, c: jax.grad(lambda M, b: solve(M, b) @ c, (0, 1))(M, b), M, b, c, rtol=1e-9
    )
    assert_same(lambda M, b: [jax.jacfwd(solve)(M, b), jax.jacrev(solve, 1)(M, b)], M, b, rtol=1e-9)

    @jax.jit
    def dense_solve(M, b):
        return M @ b

    assert_same(lambda M, b: dense_solve(M, b), M, b)


def test_signs_of_zero_and_rounding():
    assert_same(lambda y: [jnp.arctan2(0.0 - y, -1.0), jnp.arctan2(y + 0.0, -1.0)], 0.0)
    halves = np.array([0.49999999999999994, 0.5, -0.5, 2.5, 2.0**52 + 1])
    assert_same(lambda x: jax.lax.round(x, jax.lax.RoundingMethod.AWAY_FROM_ZERO), halves)
    assert_same(lambda: jax.lax.round(jnp.asarray(halves), jax.lax.RoundingMethod.AWAY_FROM_ZERO))
    assert_same(lambda a: [a.sum(1), a.max(1, initial=0.0)], np.zeros((0, 3)))


def test_rows_of_which_there_are_none_and_numbers_that_are_traced():
    assert auto.small_map(lambda c, x: c * x)(2.0, np.zeros((0, 3))).shape == (0, 3)
    slope = jax.grad(lambda k: auto.small_jit(lambda x: jnp.sum(x * k))(np.ones(2)))(3.0)
    assert float(slope) == 2.0


def test_what_is_not_known_is_named():
    with pytest.raises(Unsupported, match="a function of its own"):
        native.compile(lambda x, i: x.at[i].apply(jnp.sin), X, 1)
    with pytest.raises(Unsupported, match="sort"):
        native.compile(jnp.sort, X)
    with pytest.raises(Unsupported, match="float32"):
        native.compile(jnp.sin, X.astype(np.float32))
    with pytest.raises(Unsupported, match="entries"):
        native.compile(lambda x: jnp.outer(x, jnp.arange(1e5)).sum(), X)


def test_what_the_c_library_lacks_is_named(monkeypatch):
    from accion.engines import machine

    monkeypatch.setattr(machine, "library", lambda: {"asin"})
    native.compile(jnp.arcsin, X)
    with pytest.raises(Unsupported, match="cbrt, which the C library lacks"):
        native.compile(jnp.cbrt, X)
