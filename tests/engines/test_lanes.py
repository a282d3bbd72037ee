"""Many members side by side in the lanes of vectors: each is to the bit what it is alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import accion as ac
from accion.engines import folds, native
from accion.engines.folds import folded, mapped, side_by_side
from accion.engines.rarely import rarely
from accion.numerics.newton import solve
from tests.helpers import PENDULUM
from tests.interrupts import interrupted

WILD = [np.nan, np.inf, -np.inf, 1e300, -1e-300, 0.0, -0.0, 3.0]
ORDINARY = [0.3, 1.7, -0.4, 2.5, 9.0, -7.25, 0.9]


def assert_same_bits(a, b):
    """Equal numbers, the signs of zeros too; one NaN is as good as another."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)
        if np.asarray(x).dtype == np.float64:
            numbers = ~np.isnan(x)
            np.testing.assert_array_equal(np.signbit(x)[numbers], np.signbit(y)[numbers])


def of_members(f, *example, lanes=4):
    """The function of arrays that is `f(*args)` of each member, as one row of it: what does not
    change from row to row would be computed before them.
    """
    program = side_by_side(lambda *rest: ((), f(*rest[-1])), (), (), (), (), example, lanes)

    def call(*args):
        rows = tuple(a[:, None] for a in args)
        return jax.tree.map(lambda a: a[:, 0], program((), (), (), (), rows, 1)[1])

    return call


def one_by_one(f, *example):
    """The same, one member after the other."""
    program = folded(lambda _, carry, row: (carry, f(*row)), (), (), example)

    def call(*args):
        count = len(args[0])
        found = [program((), (), tuple(a[i : i + 1] for a in args), 1)[1] for i in range(count)]
        return jax.tree.map(lambda *a: np.concatenate(a), *found)

    return call


# ---------------------------------------------------------------- what differs from lane to lane


def halved(x):
    """A loop that ends after another number of turns for each x."""
    return jax.lax.while_loop(
        lambda s: (s[0] > 1) & (s[1] < 2000), lambda s: (0.5 * s[0], s[1] + 1), (x, 0)
    )


def nested(x):
    def outer(s):
        y, turns = s
        inner, more = halved(y * y)
        return y - inner, turns + more + 1

    return jax.lax.while_loop(lambda s: (s[0] > 0.1) & (s[1] < 100), outer, (x, 0))


def chosen(x):
    """Branches, one of them with a loop, one with none of its own operations."""
    i = jnp.clip(jnp.nan_to_num(x, nan=-5.0, posinf=3.0, neginf=-3.0), -1, 3).astype(int)
    cases = [lambda: (x, 1), lambda: (jnp.sin(x), 2), lambda: halved(3 * x), lambda: (x * x, i)]
    return jax.lax.switch(i, cases)


def branches_in_a_loop(x):
    def turn(k, s):
        y, n = s
        return jax.lax.cond(y > k, lambda: (y - jnp.exp(-y), n + 1), lambda: (y + 0.1 * x, n))

    return jax.lax.fori_loop(0, 7, turn, (x, 0))


def loop_of_own_length(x):
    n = jnp.where(jnp.isfinite(x), jnp.clip(x, 0, 10), 2.0).astype(int)
    return jax.lax.fori_loop(0, n, lambda k, s: (s[0] * 1.5 + k, s[1] ^ k), (x, n))


def rare(x):
    """A call in a branch, with a call inside it."""

    def deeper(y):
        return y - 1.0, y > 2

    def seldom(x, n):
        y, large = rarely(deeper, (0.0, True), x)
        return jnp.where(large, y * n, -y), n + 2

    return jax.lax.cond(x > 0.5, lambda: rarely(seldom, (0.0, 0), x, 3), lambda: (x, 1))


def rare_in_a_loop(x):
    def turn(s):
        y, n = s
        return jax.lax.cond(
            n % 3 == 1, lambda: rarely(lambda y, n: (0.3 * y, n + 1), s, y, n), lambda: (y, n + 1)
        )

    return jax.lax.while_loop(lambda s: (s[0] > 0.2) & (s[1] < 40), turn, (x, 0))


def always_called(x):
    return rarely(lambda x: 2 * x, 0.0, x)


def endless_for_others(x):
    """A loop that ends for those alone who come to it, where it stands and in a call."""

    def climb(x):
        return jax.lax.while_loop(lambda y: y < 100, lambda y: y + x, x)

    here = jax.lax.cond(x > 0.1, lambda: climb(x), lambda: x)
    return here, jax.lax.cond(x > 0.1, lambda: rarely(climb, 0.0, x), lambda: x)


def whole_numbers(x):
    n = jnp.clip(jnp.nan_to_num(100 * x), -1e4, 1e4).astype(int)
    small = n.astype(jnp.int32) * jnp.int32(2**30)
    found = [n // 7, n % 7, n * n - 3, jnp.abs(n), -n, jnp.maximum(n, 5), jnp.minimum(n, 5)]
    tests = [n == 30, n != 30, n < 5, n <= 30, n > 30, n >= 250, n & 12, n | 3, n ^ 5]
    return found, tests, small, n / 3, (1e300 * x).astype(int), jax.lax.rem(n, 9)


def truth(x):
    a, b = x > 0.5, x * x < 5
    found = [a & b, a | b, a ^ b, ~a, a == b, a != b, a < b, a <= b, jnp.where(a, b, ~b)]
    return found, a.astype(float), b.astype(int), jnp.isfinite(x), jnp.where(a, 3, 4)


def functions(x):
    y = jnp.abs(x)
    of_all = [jnp.sin, jnp.cos, jnp.tan, jnp.exp, jnp.tanh, jnp.arctan, jnp.expm1, jnp.cbrt]
    return [f(x) for f in of_all], jnp.log(y), jnp.sqrt(y), y**1.7, jnp.arctan2(x, 0.3), 1 / x


def rounded(x):
    found = [jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.sign(x), jnp.fmod(x, 0.7)]
    return found, jnp.maximum(x, 0.5), jnp.minimum(x, 0.5), jnp.argmax(jnp.stack([x, 1.0, -x]))


def sums_of_products(x):
    """Which products are added with one rounding must not depend on the number of lanes."""
    a = jnp.stack([x, x + 1, x * x])
    loop = jax.lax.fori_loop(0, 3, lambda k, s: s + a * s[0] - x * k, a)
    # A short branch is a block of its own for one member, and none for several.
    before = jnp.sin(x) * a[1]
    branch = jax.lax.cond(x > 0.5, lambda: before + jnp.cos(1.0) * x, lambda: x - 1)
    return a @ a, a[0] * a[1] - a[2] * x, a[0] - a[1] * a[2], loop, branch


FUNCTIONS = {
    f.__name__: f
    for f in (
        halved,
        nested,
        chosen,
        branches_in_a_loop,
        loop_of_own_length,
        rare,
        rare_in_a_loop,
        always_called,
        endless_for_others,
        whole_numbers,
        truth,
        functions,
        rounded,
        sums_of_products,
    )
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lanes_are_members_alone(name):
    f = FUNCTIONS[name]
    x = np.array([*ORDINARY, *WILD])
    assert_same_bits(of_members(f, 0.0)(x), one_by_one(f, 0.0)(x))


@pytest.mark.parametrize("lanes", [2, 8])
def test_any_number_of_lanes(lanes):
    def all_of_them(x):
        return [FUNCTIONS[name](x) for name in ("nested", "chosen", "rare_in_a_loop", "truth")]

    x = np.array([*ORDINARY, *WILD])
    assert_same_bits(of_members(all_of_them, 0.0, lanes=lanes)(x), one_by_one(all_of_them, 0.0)(x))


def everything(x, y):
    a, n = nested(x + 0.1 * y)
    b, _ = chosen(y)
    c, _ = rare(a * b)
    A = jnp.array([[1 + x * x, b, 0.1], [y, 2.0, a], [x, 0.3, 3.0]])
    return a, n, b, c, solve(A, jnp.stack([x, y, 1.0]))


EVERYTHING = of_members(everything, 0.0, 0.0)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=50)
@given(st.floats(-10, 10), st.floats(-10, 10), st.lists(st.tuples(NUMBERS, NUMBERS), max_size=7))
def test_a_member_does_not_depend_on_its_company(x, y, others):
    alone = EVERYTHING(np.array([x]), np.array([y]))
    for place in range(len(others) + 1):
        rows = np.array([*others[:place], (x, y), *others[place:]])
        together = EVERYTHING(rows[:, 0], rows[:, 1])
        assert_same_bits(jax.tree.map(lambda a, i=place: a[i : i + 1], together), alone)


@pytest.mark.parametrize("n", range(1, 13))
def test_dense_solvers(n, rng):
    """With pivots in other rows in each lane, a matrix that is singular, one that is NaN, and one
    with zeros that the others have not.
    """
    A, b = rng.normal(size=(6, n, n)), rng.normal(size=(6, n))
    A[1, :, 0] = 0.0
    A[4, 0, -1] = np.nan
    A[2] = np.tril(A[2])[rng.permutation(n)]
    found = of_members(solve, A[0], b[0])(A, b)
    assert_same_bits(found, one_by_one(solve, A[0], b[0])(A, b))
    for i in (0, 2, 3, 5):
        np.testing.assert_allclose(A[i] @ found[i], b[i], atol=1e-9)


def test_rows_and_what_is_carried():
    """What is shared and what is own, of constants and of rows, in folds of several turns."""

    def f(shared, own, carry, step, row):
        x, n = carry
        x = x + own * jnp.sin(row["a"]) + shared["h"] * step
        return (x, n + (x > 0)), {"x": x, "n": n * step, "flag": x > row["b"]}

    members, count = 5, 300
    rng = np.random.default_rng(1)
    shared, steps = {"h": 0.1}, np.arange(count)
    own, x = rng.normal(size=(2, members))
    rows = {name: rng.normal(size=(members, count)) for name in "ab"}
    program = side_by_side(f, shared, 0.0, (0.0, 0), 0, {"a": 0.0, "b": 0.0})
    n = np.arange(members)
    carry, ys = program(shared, own, (x, n), steps, rows, count)
    alone = folded(
        lambda c, carry, here: f(*c, carry, *here),
        (shared, 0.0),
        (0.0, 0),
        (0, {"a": 0.0, "b": 0.0}),
    )
    for i in range(members):
        mine = jax.tree.map(lambda a, i=i: a[i], rows)
        expected = alone((shared, own[i]), (x[i], n[i]), (steps, mine), count)
        assert_same_bits(jax.tree.map(lambda a, i=i: a[i], (carry, ys)), expected)


def test_any_number_of_threads(monkeypatch):
    x = np.linspace(-3, 9, 50)
    program = of_members(everything, 0.0, 0.0)
    found = []
    for count in (1, 2, 7):
        monkeypatch.setattr(folds, "cores", lambda count=count: count)
        found.append(program(x, x[::-1]))
    assert_same_bits(found[1], found[0])
    assert_same_bits(found[2], found[0])


def test_what_is_raised_in_a_thread_comes_out():
    def broken(x):
        raise RuntimeError("no such thing")

    program = of_members(lambda x: rarely(broken, 0.0, x), 0.0)
    with pytest.raises(RuntimeError, match="no such thing"):
        program(np.arange(20.0))


# ---------------------------------------------------------------- ensembles


def double_pendulum(t, q, v, params):
    across, down = jnp.cumsum(v * jnp.cos(q)), jnp.cumsum(v * jnp.sin(q))
    return 0.5 * jnp.sum(across**2 + down**2) + 9.81 * jnp.sum(jnp.cumsum(jnp.cos(q)))


def top(t, R, w, params):
    return 0.5 * (w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) - params["weight"] * R[2, 2]


SPREAD = np.linspace(0, 1, 9)
SYSTEMS = {
    "double pendulum": (
        ac.System(double_pendulum, ac.Torus(2)),
        {"q0": np.stack([2.5 * SPREAD, 1.5 - SPREAD], axis=1), "v0": np.zeros(2)},
    ),
    "top": (
        ac.System(top, ac.SO3("cayley"), params={"weight": 9.81}),
        {"q0": np.eye(3), "v0": np.stack([0.1 + SPREAD, 2 - SPREAD, 0 * SPREAD], axis=1)},
    ),
    "constrained": (
        ac.System(
            lambda t, q, v, p: 0.5 * v @ v - 9.81 * q[1],
            ac.Euclidean(2),
            holonomic=lambda t, q, p: jnp.array([q @ q - 1.0]),
        ),
        {"q0": [0.0, -1.0], "v0": np.stack([6 * SPREAD, 0 * SPREAD], axis=1)},
    ),
    "thermal": (
        ac.ThermalSystem(
            lambda t, q, v, S, params: 0.5 * v[0] ** 2 - 0.5 * q[0] ** 2 - jnp.exp(S),
            ac.Euclidean(1),
            friction=lambda t, q, v, S, params: -0.3 * v,
        ),
        {"q0": SPREAD[:, None], "v0": [0.5], "S0": 0.2},
    ),
}
RUN = {"h": 0.05, "steps": 60, "save_every": 3, "engine": "native"}


def numbers(trajectory):
    t = trajectory
    return [t.q, t.p, t.v, t.S, t.lam, t.iterations, t.steps_completed, t.energy()]


def member(start, i):
    """The start of one member."""
    wide = {name: a for name, a in start.items() if np.shape(a)[:1] == (9,)}
    return start | {name: a[i] for name, a in wide.items()}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_member_of_an_ensemble_is_a_run(name):
    system, start = SYSTEMS[name]
    many = numbers(ac.ensemble(system, ac.Midpoint(), **start, **RUN))
    for i in range(9):
        one = ac.simulate(system, ac.Midpoint(), **member(start, i), **RUN)
        assert_same_bits(jax.tree.map(lambda a, i=i: a[i], many), numbers(one))
    for count in range(1, 9) if name == "double pendulum" else (1, 5):
        few = {k: a[:count] if np.shape(a)[:1] == (9,) else a for k, a in start.items()}
        found = numbers(ac.ensemble(system, ac.Midpoint(), **few, **RUN))
        assert_same_bits(found, jax.tree.map(lambda a, n=count: a[:n], many))


def test_params_of_each_member():
    system, _ = SYSTEMS["top"]
    weights = np.linspace(1, 10, 6)
    start = {"q0": np.eye(3), "v0": [0.1, 2.0, 0.3]}
    many = ac.ensemble(system, ac.Midpoint(), **start, params={"weight": weights}, **RUN)
    for i in (0, 5):
        own = {"weight": weights[i]}
        one = ac.simulate(system, ac.Midpoint(), **start, params=own, **RUN)
        assert_same_bits(jax.tree.map(lambda a, i=i: a[i], numbers(many)), numbers(one))


def test_a_member_that_fails_is_alone_with_it():
    """L = v^2/2 - log q falls into its pole, from some starts sooner than from others."""
    falling = ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 - jnp.log(q[0]), ac.Euclidean(1))
    q0 = np.array([[0.3], [1.0], [20.0], [0.5], [2.0], [3.0]])
    run = RUN | {"throw": False}
    many = ac.ensemble(falling, ac.Midpoint(), q0=q0, v0=[-2.0], **run)
    assert len(set(many.steps_completed.tolist())) > 2
    assert not many.success[0]
    assert bool(many.success[2])
    for i in range(len(q0)):
        one = ac.simulate(falling, ac.Midpoint(), q0=q0[i], v0=[-2.0], **run)
        assert_same_bits(many.q[i], one.q)
        assert int(many.steps_completed[i]) == int(one.steps_completed)


def test_an_ensemble_is_interrupted():
    q0, steps = np.linspace(0.1, 2.0, 50)[:, None], 10**8
    start = {"q0": q0, "v0": [0.5], "h": 0.05, "engine": "native"}
    ac.ensemble(PENDULUM, ac.Midpoint(), **start, steps=1)  # nothing is compiled later
    interrupted(
        lambda: ac.ensemble(PENDULUM, ac.Midpoint(), **start, steps=steps, save_every=steps)
    )


def test_a_function_for_several_arguments_at_once():
    def f(x, n):
        return {"root": jnp.sqrt(x) + jnp.sin(x) * n, "more": jnp.where(n > 1, x, -x).sum() > 0}

    x, n = np.linspace(0.1, 2.0, 12).reshape(4, 3), np.arange(4)
    one, many = native.compile(f, x[0], n[0]), native.compile(f, x[0], n[0], lanes=4)
    found = many(x, n)
    for k in range(4):
        assert_same_bits(jax.tree.map(lambda a, k=k: a[k], found), one(x[k], n[k]))


@pytest.mark.parametrize("count", [1, 3, 4, 301])
def test_rows_side_by_side_are_the_rows_one_by_one(count):
    def f(k, x):
        return jax.lax.while_loop(lambda x: x < k, lambda x: 1.7 * x + jnp.sin(x), x), x > 1

    x, k = np.linspace(0.1, 9.0, count), 40.0
    one = folded(lambda k, carry, x: (carry, f(k, x)), k, (), x[0])
    assert_same_bits(mapped(f, k, x[0])(k, x, count), one(k, (), x, count)[1])


def test_a_long_program_over_rows_has_one_lane():
    """Machine code of a large solver takes several times as long for vectors."""
    n = 30
    A = np.random.default_rng(0).normal(size=(n, n))

    def f(A, b):
        return solve(A, b)

    b = np.random.default_rng(1).normal(size=(6, n))
    found = mapped(f, A, b[0])(A, b, len(b))
    np.testing.assert_allclose(found, np.linalg.solve(A, b.T).T, rtol=1e-10)
    for g, lanes in ((f, 1), (lambda A, b: A[0] * b, 4)):
        made = folds.fold(
            lambda A, own, c, s, b, g=g: ((), g(A, b)), (A, (), (), (), b[0]), 4, soon=True
        )
        assert made.code.lanes == lanes
