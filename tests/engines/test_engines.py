"""The native engine: each primitive against JAX, programs against XLA, and what it leaves to
XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines import auto, programs
from accion.methods import GeneralizedAlpha
from tests.engines.native_cases import X
from tests.helpers import PENDULUM


def lagrangian(t, q, v, params):
    return 0.5 * (v @ v) * (1 + 0.1 * jnp.sin(t)) - jnp.cos(q[0]) * q[1] ** 2


def top(t, R, w, params):
    return 0.5 * (w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) - 9.81 * R[2, 2]


TWO = {"q0": [0.4, 1.0], "v0": [0.3, -0.2]}


THERMAL = ac.ThermalSystem(
    lambda t, q, v, S, params: 0.5 * v[0] ** 2 - 0.5 * q[0] ** 2 - jnp.exp(S),
    ac.Euclidean(1),
    friction=lambda t, q, v, S, params: -0.3 * v,
)


CASES = {
    "time and force": (
        ac.System(lagrangian, ac.Euclidean(2), force=lambda t, q, v, params: -0.1 * v),
        ac.Midpoint(),
        TWO,
    ),
    "explicit": (ac.mechanical(1.0, lambda t, q, params: jnp.sum(q**4), 2), ac.Trapezoid(), TWO),
    "holonomic": (
        ac.System(
            lambda t, q, v, p: 0.5 * v @ v - 9.81 * q[1],
            ac.Euclidean(2),
            holonomic=lambda t, q, p: jnp.array([q @ q - 1.0]),
        ),
        ac.Midpoint(),
        {"q0": [0.0, -1.0], "v0": [2.0, 0.0]},
    ),
    "group": (
        ac.System(top, ac.SO3("cayley")),
        ac.Midpoint(),
        {"q0": np.eye(3), "v0": [0.1, 2.0, 0.3]},
    ),
    "thermal": (THERMAL, ac.Midpoint(), {"q0": [1.0], "v0": [0.0], "S0": 0.2}),
    "second order": (
        ac.HigherOrderSystem(
            lambda t, q, v, a, p: 0.5 * a[0] ** 2 + 0.1 * q[0] ** 4, ac.Euclidean(1)
        ),
        ac.Midpoint(),
        {"q0": [0.1], "v0": [[0.2], [0.1], [0.0]]},
    ),
    "generalized alpha": (ac.System(lagrangian, ac.Euclidean(2)), GeneralizedAlpha(0.8), TWO),
}


@pytest.mark.parametrize("case", CASES)
def test_engines_agree(case, monkeypatch):
    """Every number of a trajectory to rounding, by both engines, also with rows in between left
    out.
    """
    system, method, start = CASES[case]
    ours = ac.simulate(system, method, **start, h=0.02, steps=12, save_every=3, engine="native")
    mine = [ours.q, ours.p, ours.lam, ours.S, ours.v, ours.energy()]
    monkeypatch.setattr(auto, "AVAILABLE", False)
    theirs = ac.simulate(system, method, **start, h=0.02, steps=12, save_every=3, engine="xla")
    yours = [theirs.q, theirs.p, theirs.lam, theirs.S, theirs.v, theirs.energy()]
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(yours), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-13 * np.max(np.abs(b)))
    np.testing.assert_array_equal(ours.iterations, theirs.iterations)


def test_a_member_of_an_ensemble_is_a_run():
    """To the bit: it does not depend on its company."""
    q0 = np.linspace(0.1, 2.0, 4)[:, None]
    many = ac.ensemble(PENDULUM, ac.Midpoint(), q0=q0, v0=[0.5], h=0.05, steps=30, engine="native")
    one = ac.simulate(
        PENDULUM, ac.Midpoint(), q0=q0[2], v0=[0.5], h=0.05, steps=30, engine="native"
    )
    for a, b in ((many.q, one.q), (many.p, one.p), (many.v, one.v), (many.energy(), one.energy())):
        np.testing.assert_array_equal(a[2], b)


def test_the_same_failure_at_the_same_step():
    """L = v^2/2 + log q falls into its pole."""
    falling = ac.System(lambda t, q, v, p: 0.5 * v[0] ** 2 + jnp.log(q[0]), ac.Euclidean(1))
    start = {"q0": [0.1], "v0": [-2.0], "h": 0.02, "steps": 40, "throw": False}
    a, b = (
        ac.simulate(falling, ac.Midpoint(), **start, engine=engine) for engine in ("native", "xla")
    )
    assert int(a.steps_completed) == int(b.steps_completed)
    np.testing.assert_array_equal(np.isnan(a.q), np.isnan(b.q))


def test_engine_is_checked(monkeypatch):
    start = {"q0": [0.1], "v0": [0.0], "h": 0.1, "steps": 1}
    with pytest.raises(ValueError, match="'auto', 'native', 'xla'; got 'gpu'"):
        ac.simulate(PENDULUM, ac.Midpoint(), **start, engine="gpu")
    sorted_forces = ac.System(lambda t, q, v, p: 0.5 * v @ v - jnp.sort(q)[0], ac.Euclidean(2))
    with pytest.raises(ValueError, match="does not know the primitive sort"):
        ac.simulate(
            sorted_forces,
            ac.Midpoint(),
            q0=[0.1, 0.2],
            v0=[0.0, 0.0],
            h=0.1,
            steps=1,
            engine="native",
        )
    assert bool(
        ac.simulate(
            sorted_forces, ac.Midpoint(), q0=[0.1, 0.2], v0=[0.0, 0.0], h=0.1, steps=1
        ).success
    )
    monkeypatch.setattr(auto, "AVAILABLE", False)
    with pytest.raises(ValueError, match="needs llvmlite"):
        ac.simulate(PENDULUM, ac.Midpoint(), **start, engine="native")


def test_an_error_of_the_engine_is_not_in_the_way(monkeypatch):
    """XLA serves; here, and where the engine is asked for by its name, it is raised."""

    def broken(*args, **named):
        raise ZeroDivisionError

    monkeypatch.setattr(programs, "Machine", broken)
    start = {"q0": [0.1, 0.2], "v0": [0.0, 0.0], "h": 0.1, "steps": 1}
    fresh = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(2))
    with pytest.raises(ZeroDivisionError):
        ac.simulate(fresh, ac.Midpoint(), **start)
    monkeypatch.setattr(auto, "STRICT", False)
    with pytest.raises(ZeroDivisionError):
        ac.simulate(fresh, ac.Midpoint(), **start, engine="native")
    assert ac.simulate(fresh, ac.Midpoint(), **start).engine == "xla"


def test_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(auto, "PROGRAMS", 2)
    for k in range(4):
        auto.native("compiled", k, lambda x: 2 * x, X)
    assert len(auto.programs) <= 2


def test_each_operation_takes_an_engine(monkeypatch):
    """By XLA no native program is made, by native code the result is the same."""
    duffing = ac.System(lambda t, q, v, p: v @ v / 2 - jnp.sum(q**4) / 4, ac.Euclidean(1))
    problem = ac.ControlProblem(
        duffing,
        lambda t, q, v, u, p: u @ u,
        actuated=[0],
        start=([0.0], [0.0]),
        end=([1.0], [0.0]),
        duration=1.0,
    )
    ends = {"qa": [0.0], "qb": [0.5], "duration": 1.0, "steps": 8}
    mesh = {"duration": 1.0, "h": [0.25, 0.125, 0.0625]}
    operations = {
        "connect": lambda e: ac.connect(duffing, ac.Midpoint(), **ends, engine=e).q,
        "optimize": lambda e: ac.optimize(problem, ac.Midpoint(), 8, engine=e).u,
        "reference": lambda e: ac.reference(duffing, q0=[1.0], v0=[0.0], ts=[0.0, 1.0], engine=e)[
            0
        ],
        "order": lambda e: (
            ac.analysis.order(duffing, ac.Midpoint(), q0=[1.0], v0=[0.0], **mesh, engine=e).errors
        ),
        "audit": lambda e: (
            ac.analysis.audit(
                duffing, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=20, engine=e
            ).order.errors
        ),
    }
    made, true = [], programs.Machine

    def counted(*args, **named):
        made.append(args)
        return true(*args, **named)

    monkeypatch.setattr(programs, "Machine", counted)
    auto.programs.clear()
    for name, run in operations.items():
        made.clear()
        by_xla = run("xla")
        assert not made, name
        np.testing.assert_allclose(run("native"), by_xla, rtol=1e-6, err_msg=name)
        assert made, name
        with pytest.raises(ValueError, match="'auto', 'native', 'xla'; got 'gpu'"):
            run("gpu")


def test_numbers_of_all_types_stand_in_memory_alike():
    """Filled into a memory that is there, or packed with leading axes; taken as parts of it, or as
    copies.
    """
    rng = np.random.default_rng(0)
    arrays = [
        rng.normal(size=(2, 3)),
        np.float64(1.5),
        np.array([3, -4]),
        np.int32(-7),
        np.array([[True], [False]]),
        np.True_,
        rng.normal(size=4),
    ]
    layout = programs.Layout([jax.typeof(jnp.asarray(a)) for a in arrays])
    memory = np.empty(layout.width)
    layout.fill(memory, arrays)
    rows = layout.packed([np.asarray(a)[None] for a in arrays], 1)
    assert memory.tobytes() == rows.tobytes()
    for found in (layout.taken(memory), [a[0] for a in layout.taken(rows)]):
        for a, b, c in zip(arrays, found, layout.unpacked(memory), strict=True):
            assert np.asarray(a).dtype == b.dtype == c.dtype
            assert np.shape(a) == b.shape == c.shape
            assert np.all(a == b)
            assert np.all(a == c)
    layout.fill(memory, [*arrays[:5], 2, arrays[6]])  # any whole number is a truth value
    assert memory[layout.parts[5]].view(np.int64).tolist() == [1]
