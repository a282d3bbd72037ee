"""A system is what it was when it was built, whatever happens later to what its functions use."""

import gc
import weakref
from functools import partial
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines import auto, xla
from accion.solve import loop

MARCH: Any = loop.ONE.march
RUN = {"q0": [1.0], "v0": [0.2], "h": 0.1, "steps": 5}
STIFFNESS = 2.0


def spring(t, q, v, params):
    return 0.5 * v[0] ** 2 - 0.5 * STIFFNESS * q[0] ** 2


def hardened(q):
    return q**2


def pull(q):
    return hardened(q) * STIFFNESS


@jax.jit
def compiled_pull(q):
    return 0.5 * STIFFNESS * q**2


def turn(i, x):
    return x * STIFFNESS


class Spring:
    """A Lagrangian with attributes."""

    def __init__(self, k):
        self.k = k

    def __call__(self, t, q, v, params):
        return 0.5 * v[0] ** 2 - 0.5 * self.k * q[0] ** 2


def change_global(monkeypatch, value=7.0):
    monkeypatch.setattr(f"{__name__}.STIFFNESS", value)


def seen(system):
    """What is seen of a system in every room, as numbers."""
    traj = ac.simulate(system, ac.Midpoint(), **RUN)
    by_xla = ac.simulate(system, ac.Trapezoid(), **RUN, engine="xla")
    q, v = jnp.array([0.7]), jnp.array([0.3])
    d = ac.discrete(system, ac.Midpoint())
    equations = ac.symbolic(system)
    energy = equations.energy.subs({equations.q[0].diff(): 0.3}).subs({equations.q[0]: 0.7})
    many = ac.ensemble(system, ac.Midpoint(), **RUN | {"q0": [[1.0], [2.0]]})
    return [
        traj.q,
        traj.energy(),
        by_xla.q,
        by_xla.energy(),
        many.q,
        system.L(0.0, q, v),
        system.energy(0.0, q, v),
        ac.accelerations(system)(0.0, q, v),
        d.Ld(0.0, 0.1, q, q + 0.1),
        ac.connect(system, ac.Midpoint(), qa=[0.0], qb=[1.0], duration=1.0, steps=4).q,
        float(energy),
    ]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# ---------------------------------------------------------------- what may change


def by_global(change):
    return partial(change_global, change), spring


def by_array(change):
    k = np.array([2.0, 5.0])
    return partial(k.__setitem__, 0, 7.0), lambda t, q, v, p: v[0] ** 2 / 2 - (k * q[0] ** 2)[0] / 2


def by_number(change):
    k = np.array(2.0)
    return partial(k.fill, 7.0), lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.5 * k * q[0] ** 2


def by_attribute(change):
    f = Spring(2.0)
    return partial(setattr, f, "k", 7.0), f


def by_array_of_an_attribute(change):
    f = Spring(np.array([2.0]))
    return partial(f.k.fill, 7.0), lambda t, q, v, p: f(t, q, v, p)[0]


def by_helper(change):
    def harder():
        change.setattr(f"{__name__}.hardened", lambda q: q**2 + 3 * q**4)

    return harder, lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.5 * pull(q[0])


def by_compiled_helper(change):
    return partial(change_global, change), lambda t, q, v, p: 0.5 * v[0] ** 2 - compiled_pull(q[0])


def by_loop(change):
    def lagrangian(t, q, v, p):
        return 0.5 * v[0] ** 2 - jax.lax.fori_loop(0, 2, turn, 0.25 * q[0] ** 2)

    return partial(change_global, change), lagrangian


def by_array_in_a_compiled_helper(change):
    k = np.array([2.0])
    helper = jax.jit(lambda x: 0.5 * k[0] * x**2 + jnp.sum(0 * k))
    return partial(k.fill, 7.0), lambda t, q, v, p: 0.5 * v[0] ** 2 - helper(q[0])


CHANGES = [
    by_global,
    by_array,
    by_number,
    by_attribute,
    by_array_of_an_attribute,
    by_helper,
    by_compiled_helper,
    by_loop,
    by_array_in_a_compiled_helper,
]


@pytest.mark.parametrize("what", CHANGES)
def test_an_old_system_stays_and_a_new_one_sees_the_change(what, monkeypatch):
    change, lagrangian = what(monkeypatch)
    old = ac.System(lagrangian, ac.Euclidean(1))
    start = jnp.array([1.0]), jnp.array([0.2])
    before = ac.simulate(old, ac.Midpoint(), **RUN)
    change()
    after = ac.simulate(old, ac.Midpoint(), **RUN)
    new = ac.simulate(ac.System(lagrangian, ac.Euclidean(1)), ac.Midpoint(), **RUN)
    assert same((before.q, before.energy()), (after.q, after.energy()))
    assert float(before.energy()[0]) == float(old.energy(0.0, *start))
    assert abs(float(new.q[-1, 0] - before.q[-1, 0])) > 0.1
    assert abs(float(new.energy()[0] - before.energy()[0])) > 0.1


def test_every_room_speaks_of_one_system(monkeypatch):
    old = ac.System(spring, ac.Euclidean(1))
    before = seen(old)
    change_global(monkeypatch)
    new = ac.System(spring, ac.Euclidean(1))
    assert same(before, seen(old))
    assert not any(np.array_equal(a, b) for a, b in zip(before, seen(new), strict=True))
    # What was not looked at before the change is what it was, too.
    change_global(monkeypatch, 2.0)
    fresh = ac.System(spring, ac.Torus(1))
    change_global(monkeypatch, 7.0)
    assert same(before[5:9], seen(fresh)[5:9])


def test_functions_are_called_once():
    calls = []

    def counted(f, name):
        def called(*arguments):
            calls.append(name)
            return f(*arguments)

        return called

    system = ac.System(
        counted(lambda t, q, v, p: 0.5 * v @ v - q[1], "L"),
        ac.Euclidean(2),
        force=counted(lambda t, q, v, p: -0.1 * v, "F"),
        holonomic=counted(lambda t, q, p: jnp.array([q @ q - 1.0]), "phi"),
    )
    start = {"q0": [0.0, -1.0], "v0": [1.0, 0.0], "h": 0.1, "steps": 3}
    ac.simulate(system, ac.Midpoint(), **start).energy()
    ac.simulate(system, ac.Trapezoid(), **start, engine="xla")
    assert ac.symbolic(system).equations
    assert sorted(calls) == ["F", "L", "phi"]


# ---------------------------------------------------------------- what is shared


def make(kind, k):
    """A new system of each kind, with functions that are new to Python, and its run."""
    plane = {"q0": [1.0], "v0": [0.2], "h": 0.1, "steps": 3}
    if kind == "mechanical":
        return ac.mechanical(1.0, lambda t, q, p: 0.5 * k * q[0] ** 2, 1), plane
    if kind == "particles":
        return ac.particles(
            lambda t, q, p: jnp.array([[q[0], 0.0]]), 1.0, lambda t, q, p: 0.5 * k * q[0] ** 2, 1
        ), plane
    if kind == "thermal":
        system = ac.ThermalSystem(
            lambda t, q, v, S, p: 0.5 * v[0] ** 2 - 0.5 * k * q[0] ** 2 - jnp.exp(S),
            ac.Euclidean(1),
            friction=lambda t, q, v, S, p: -0.1 * v,
        )
        return system, plane | {"S0": 0.0}
    if kind == "higher":
        system = ac.HigherOrderSystem(
            lambda t, q, v, a, p: 0.5 * a[0] ** 2 + k * q[0] ** 2, ac.Euclidean(1)
        )
        return system, plane | {"v0": [[0.2], [0.1], [0.0]]}
    return ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 + k * jnp.cos(q[0]), ac.Torus(1)), plane


@pytest.mark.parametrize("kind", ["plain", "mechanical", "particles", "thermal", "higher"])
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_equal_functions_share_what_is_compiled(kind, engine):
    def run(k):
        system, start = make(kind, k)
        found = ac.simulate(system, ac.Midpoint(), **start, engine=engine)
        found.energy()
        return system, found.q

    first, q = run(1.25)
    programs, marches = set(auto.programs), set(MARCH.programs)
    for _ in range(3):
        again, other = run(1.25)
        assert jax.tree.structure(again) == jax.tree.structure(first)
        np.testing.assert_array_equal(q, other)
    assert set(auto.programs) == programs
    assert set(MARCH.programs) == marches
    new, other = run(1.5)
    assert jax.tree.structure(new) != jax.tree.structure(first)
    assert not np.array_equal(q, other)
    assert (set(auto.programs) - programs) or (set(MARCH.programs) - marches)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_nothing_is_left_of_systems_whose_programs_were_dropped(engine, monkeypatch):
    """Memory does not grow with systems that differ: of no cache but the bounded ones."""
    monkeypatch.setattr(auto, "PROGRAMS", 4)
    monkeypatch.setattr(xla, "PROGRAMS", 2)
    left = []
    for k in range(7):
        system, start = make("plain", 3.0 + k / 16)
        ac.simulate(system, ac.Midpoint(), **start, engine=engine).energy()
        function: Any = system.lagrangian
        left.append(weakref.ref(function.trace))
        del system, function
    gc.collect()
    assert [trace() for trace in left[:-4]] == [None] * 3
    assert len(auto.programs) <= 4
    assert engine == "native" or MARCH.count() <= 2


# ---------------------------------------------------------------- derivatives


def shapes_of_closure(k):
    """Lagrangians that close over k in many ways."""
    row = jnp.stack([k, 2 * k])
    return {
        "plain": lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.5 * k * q[0] ** 2,
        "array": lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.25 * row[1] * q[0] ** 2,
        "jit": lambda t, q, v, p: 0.5 * v[0] ** 2 - jax.jit(lambda x: 0.5 * k * x**2)(q[0]),
        "loop": lambda t, q, v, p: (
            0.5 * v[0] ** 2 - jax.lax.fori_loop(0, 2, lambda i, x: x + 0.25 * k * q[0] ** 2, 0.0)
        ),
        "vmap": lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.5 * jnp.sum(jax.vmap(lambda x: k * x**2)(q)),
    }


def end_of(name, k, **rest):
    system = ac.System(shapes_of_closure(k)[name], ac.Euclidean(1))
    traj = ac.simulate(system, ac.Midpoint(), **RUN, **rest)
    return traj.q[-1, 0] + traj.energy()[-1]


def by_params(k):
    system = ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 - 0.5 * p * q[0] ** 2, ac.Euclidean(1), k)
    traj = ac.simulate(system, ac.Midpoint(), **RUN)
    return traj.q[-1, 0] + traj.energy()[-1]


@pytest.mark.parametrize("name", list(shapes_of_closure(jnp.array(1.0))))
def test_derivatives_by_what_a_function_closes_over(name):
    k = jnp.array([1.5, 2.0, 2.5])
    np.testing.assert_allclose(jax.grad(partial(end_of, name))(k[0]), jax.grad(by_params)(k[0]))
    np.testing.assert_allclose(
        jax.vmap(partial(end_of, name))(k), [by_params(x) for x in k], rtol=1e-13
    )
    np.testing.assert_allclose(jax.jit(partial(end_of, name))(k[0]), by_params(k[0]), rtol=1e-13)


def test_derivatives_by_what_other_kinds_close_over():
    def thermal(k):
        system = ac.ThermalSystem(
            lambda t, q, v, S, p: 0.5 * v[0] ** 2 - 0.5 * k * q[0] ** 2 - jnp.exp(S),
            ac.Euclidean(1),
            friction=lambda t, q, v, S, p: -0.1 * k * v,
        )
        found: Any = ac.simulate(system, ac.Midpoint(), **RUN, S0=0.1).S
        return found[-1]

    def mechanical(k):
        system = ac.mechanical(k, lambda t, q, p: jnp.cosh(k * q[0]), 1)
        return ac.simulate(system, ac.LeftRectangle(), **RUN).q[-1, 0]

    for end in (thermal, mechanical):
        slope = (end(1.5 + 1e-5) - end(1.5 - 1e-5)) / 2e-5
        np.testing.assert_allclose(jax.grad(end)(1.5), slope, rtol=1e-7)


# ---------------------------------------------------------------- copies, and what is sent away


def test_arrays_of_the_caller_are_not_shared():
    """Arrays that JAX could use as they are, by the chance of where they lie in memory."""
    for size in range(1, 21):
        k, m = np.full(size, 2.0), np.full(size, 1.0)
        system = ac.mechanical(
            m, lambda t, q, p: 0.5 * jnp.sum(p["k"] * q**2), size, params={"k": k}
        )
        before = system.L(0.0, jnp.ones(size), jnp.ones(size))
        k[:], m[:] = 9.0, 5.0
        assert float(system.L(0.0, jnp.ones(size), jnp.ones(size))) == float(before) == -0.5 * size


def test_arrays_of_jax_that_share_memory_are_copied():
    """As `jnp.asarray` makes them, by chance."""
    for size in range(1, 21):
        memory = np.full(size, 2.0)
        k = jnp.asarray(memory)
        system = ac.System(lambda t, q, v, p, k=k: v[0] ** 2 - k[0] * q[0] ** 2, ac.Euclidean(1))
        memory[:] = 7.0
        assert float(system.L(0.0, jnp.ones(1), jnp.zeros(1))) == -2.0


def test_a_system_that_is_sent_away_is_the_same_or_refused(monkeypatch):
    k = np.array([2.0])
    system = ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 - k[0] * q[0] ** 2, ac.Euclidean(1))
    there = cloudpickle.loads(cloudpickle.dumps(system))
    assert jax.tree.structure(there) == jax.tree.structure(system)
    k[0] = 3.0
    with pytest.raises(ValueError, match="lagrangian is not what it was when its system was built"):
        cloudpickle.loads(cloudpickle.dumps(system))
