"""Source text in C and JavaScript against JAX: each primitive, and steps of systems."""

import ctypes
import json
import shutil
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines.errors import Unsupported
from accion.engines.export import to_c, to_javascript
from accion.numerics.newton import solve
from accion.stepping import scheme_of
from accion.systems.start import Start
from tests.engines.native_cases import X
from tests.engines.test_primitives import NAN, SPECIAL, UNARY, A
from tests.helpers import PENDULUM

RUN = """
import { f } from "./f.mjs";
import { readFileSync } from "node:fs";
const read = (a) => a.map(Number), rows = JSON.parse(readFileSync("rows.json"));
const written = (a) => Array.from(a, (x) => Object.is(x, -0) ? "-0" : String(x));
console.log(JSON.stringify(rows.map((row) => written(f(read(row))))));
"""


def numbers(tree):
    """All numbers of a pytree one after the other, as doubles."""
    leaves = [np.ravel(np.asarray(leaf)).astype(float) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([np.zeros(0), *leaves])


def in_c(f, rows, folder, size):
    """f of each row of arguments, compiled by a C compiler with its warnings as errors."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "f.c").write_text(to_c(f, *rows[0]))
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-ffp-contract=off"]
    subprocess.run(
        [compiler, *flags, "-shared", "-fPIC", "f.c", "-o", "f.so", "-lm"], cwd=folder, check=True
    )
    compiled = ctypes.CDLL(folder / "f.so").f
    results = []
    for row in rows:
        inputs, outputs = numbers(row), np.empty(size)
        compiled(*(ctypes.c_void_p(a.ctypes.data) for a in (inputs, outputs)))
        results.append(outputs)
    return results


def in_javascript(f, rows, folder, size):
    """f of each row of arguments, by node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    (folder / "f.mjs").write_text(to_javascript(f, *rows[0]))
    (folder / "run.mjs").write_text(RUN)
    texts = [[text_of(x) for x in numbers(row)] for row in rows]
    (folder / "rows.json").write_text(json.dumps(texts))
    done = subprocess.run([node, "run.mjs"], cwd=folder, check=False, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return [np.array([float(x) for x in row]) for row in json.loads(done.stdout)]


def text_of(x):
    """A number as JavaScript reads it."""
    return repr(float(x)).replace("inf", "Infinity").replace("nan", "NaN")


LANGUAGES = {"C": in_c, "JavaScript": in_javascript}


@pytest.fixture(params=LANGUAGES)
def assert_same(request, tmp_path):
    """That f has the same numbers in a language as in JAX, for each row of arguments."""

    def check(f, *rows, rtol=1e-13, atol=1e-300):
        expected = [numbers(f(*jax.tree.map(jnp.asarray, row))) for row in rows]
        # A library that is loaded must not be written over.
        folder = Path(mkdtemp(dir=tmp_path))
        found = LANGUAGES[request.param](f, rows, folder, expected[0].size)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)

    return check


def test_functions_of_one_number(assert_same):
    """At ordinary numbers, infinities, NaN and zeros of both signs."""
    small = np.array([-0.99, -0.3, 1e-9, 0.2, 0.999, 1.0, 1.001, 2.5, 6.0, 25.0, -3.0, 0.5, -0.5])
    assert_same(lambda x: [f(x) for f in UNARY], (SPECIAL,), (small,), rtol=4e-14)


def test_functions_of_two_numbers(assert_same):
    a, b = (m.ravel()[::3] for m in np.meshgrid(SPECIAL, SPECIAL))
    functions = [
        *(jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.minimum, jnp.arctan2),
        *(jax.lax.rem, jnp.less, jnp.less_equal, jnp.greater, jnp.greater_equal, jnp.equal),
        jnp.not_equal,
    ]
    assert_same(lambda a, b: [f(a, b) for f in functions], (a, b), (b, a))


def test_powers_and_signs_of_zero(assert_same):
    """1 / 0 and 1 / -0 tell the zeros apart."""
    special = np.array([2.0, 0.5, 0.0, 3.0, -2.0, np.inf, 1.0, 1.0, -1.0, -0.0])
    exponents = np.array([3.0, -0.5, 0.0, np.nan, 3.0, 2.0, np.nan, np.inf, -np.inf, 3.0])
    assert_same(lambda a, b: [jnp.power(a, b), 1 / jnp.power(a, b)], (special, exponents))
    halves = np.array([0.49999999999999994, 0.5, -0.5, -0.2, 2.5, -1.5, 2.0**52 + 1, -0.0, np.nan])

    def rounded(x):
        away = jax.lax.round(x, jax.lax.RoundingMethod.AWAY_FROM_ZERO)
        return [away, jnp.round(x), 1 / away, 1 / jnp.round(x), 1 / jnp.ceil(x), 1 / -x]

    assert_same(rounded, (halves,))
    zeros = np.array([0.0, -0.0])
    assert_same(lambda a, b: [1 / jnp.maximum(a, b), 1 / jnp.minimum(a, b)], (zeros, zeros))


def test_integers_and_truth(assert_same):
    """Of integers zero has no sign."""

    def f(n, m):
        some = [n // 3, n % 3, jax.lax.div(n, -3), jax.lax.rem(n, 3), abs(n), -n, n * n, n**3]
        logic = [(n > 0) & (n < 3), (n > 0) | (n < -2), (n > 0) ^ (n < 3), ~(n > 0), m > (n > 2)]
        zeros = [1 / x.astype(float) for x in (-n, n * -3, jax.lax.div(n, 9), jax.lax.rem(n, 2))]
        return some, logic, zeros, jnp.maximum(n, 1), jnp.where(m, n, 2), jnp.sum(m)

    n = np.arange(-4, 5)
    assert_same(f, (n, n > 1), (3 * n, n < 1))
    assert_same(lambda n: [n & 5, n | 1, n ^ 3, n & (3 << 32), n % 7], (n,), (2**33 + n,), (-n,))
    assert_same(lambda x: [x.astype(int), jnp.clip(x, -0.5, 0.5)], (np.array([2.7, -0.5, np.nan]),))


def test_integers_of_32_bits_stay_such(assert_same):
    def f(n):
        products = [n * 2000000000, n * n, n.sum()]
        return [n + 5, *products, (n + 1).astype(float), (n + 5) > 0, -n, n.astype(jnp.int64) * 3]

    assert_same(f, (np.array([-3, 2**31 - 1, 7], np.int32),))
    assert_same(
        lambda x: x.astype(jnp.int32), (np.array([1e300, -1e300, 3e9, np.nan, -2.7, -0.5]),)
    )


def test_sums_extrema_and_moving_entries(assert_same):
    assert_same(
        lambda A, x, i: [
            *(A @ x, A.prod(1), A.max(), A.min(1), jnp.cumsum(A, 1), jnp.linalg.norm(A)),
            *(A[i], jax.lax.dynamic_slice(A, (i, i), (2, 1)), A.at[i].set(7.0)),
            *(A.at[i, 1].add(2.0), x.at[i].get(mode="fill"), x.at[i + 7].get(mode="fill")),
        ],
        (A, X, 1),
        (A, X, -1),
        (A, X, 2),
    )
    assert_same(
        lambda a: [jnp.argmax(a), jnp.argmin(a), a.max(), a.min(), jnp.argmax(a > 2)],
        (NAN,),
        (NAN[::-1],),
        (np.arange(4.0),),
        (np.zeros(4),),
    )


def test_control_flow(assert_same):
    def newton(a):
        return jax.lax.while_loop(
            lambda s: jnp.abs(s[0] ** 2 - a) > 1e-12,
            lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1),
            (a, 0),
        )

    def f(a, i, x):
        exchanged = jax.lax.fori_loop(0, 100 + i, lambda k, s: (s[1], s[0] + k * s[2], s[2]), x)
        chosen = jax.lax.switch(i, [jnp.sin, jnp.cos, lambda x: x + 1], a)
        nested = jax.lax.fori_loop(
            0, i, lambda j, s: jax.lax.fori_loop(0, j, lambda k, r: 0.5 * r + k, s), a
        )
        return newton(a), exchanged, chosen, nested

    x = (0.1, 0.2, 0.3)
    assert_same(f, (2.0, 0, x), (3.0, 1, x), (4.0, 2, x))


@pytest.mark.parametrize("n", [3, 6])
def test_dense_solver(n, assert_same):
    """Written out, and as a function of its own; with a zero on the diagonal, which needs
    pivots.
    """
    rng = np.random.default_rng(n)
    M, b = rng.normal(size=(n, n)), rng.normal(size=n)
    M[0, 0] = 0.0
    assert_same(solve, (M, b), (M.T, 2 * b), rtol=1e-12)


def top(t, R, w, params):
    return 0.5 * (w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) - 9.81 * R[2, 2]


ROD = ac.System(
    lambda t, q, v, p: 0.5 * v @ v - 9.81 * q[1],
    ac.Euclidean(2),
    holonomic=lambda t, q, p: jnp.array([q @ q - 1.0]),
)
SYSTEMS = {
    "pendulum": (PENDULUM, [0.4], [1.0]),
    "top": (ac.System(top, ac.SO3("cayley")), np.eye(3), [0.1, 2.0, 0.3]),
    "constrained": (ROD, [0.0, -1.0], [2.0, 0.0]),
}


@pytest.mark.parametrize("case", SYSTEMS)
def test_steps_of_systems(case, assert_same):
    """Newton's method included, from the states of a run."""
    system, q0, v0 = SYSTEMS[case]
    scheme = scheme_of(system, ac.Midpoint())
    start = Start(np.asarray(q0, float), np.asarray(v0, float))
    state = scheme.prepare(scheme.begin(0.0, 0.05, start)[0], 1)
    step, rows = jax.jit(scheme.step), []
    for k in range(3):
        rows.append((state, 0.05 * k, 0.05))
        state, _ = step(*rows[-1])
    assert_same(step, *rows, rtol=0, atol=2e-13)


def test_the_order_of_numbers_is_said():
    def f(q, params):
        return {"energy": q[0, 0] * params["m"], "even": jnp.sum(q > 0) % 2 == 0}

    for text in (to_c(f, np.eye(2), {"m": 2.0}), to_javascript(f, np.eye(2), {"m": 2.0})):
        assert "inputs 0 to 3: q, float64[2,2]" in text
        assert "inputs 4: params['m'], float64[]" in text
        assert "outputs 0: result['energy'], float64[]" in text
        assert "outputs 1: result['even'], bool[]" in text


def test_what_cannot_be_written_is_named():
    with pytest.raises(ValueError, match="name must be that of a function"):
        to_c(jnp.sin, 1.0, name="two words")
    with pytest.raises(Unsupported, match="the primitive sort"):
        to_c(jnp.sort, X)
    with pytest.raises(Unsupported, match="9223372036854775807, which is no number of JavaScript"):
        to_javascript(lambda n: jnp.minimum(n, 2**63 - 1), 1)


def test_integers_beyond_those_of_javascript_throw(tmp_path):
    with pytest.raises(RuntimeError, match="RangeError: an integer beyond 2\\^53"):
        in_javascript(lambda n: n * n, [(2**40,)], tmp_path, 1)


def test_arguments_without_names_are_counted():
    assert "inputs 0: argument 0, float64[]" in to_c(jax.jit(lambda *a: a[0] + a[1]), 1.0, 2.0)
