"""Compositions: their orders, what they keep, how they fail, and what they refuse."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.engines.auto import small_jit
from accion.methods import Adjoint, GeneralizedAlpha
from accion.methods.coefficients import SETS, parts, reach
from accion.stepping.base import scheme_of
from accion.systems import Start
from tests.stepping.composition_cases import (
    STEPS,
    distance,
    end,
    henon_heiles,
    measured,
    method_of,
    system_of,
)

FOUR = ac.Composition(ac.Midpoint(), 4)
NEAR = ("explicit", "SO(3)", "thermal")
EAGER, SLOW = ("flat", "explicit"), ("holonomic", "SO(3)", "thermal")  # to compile by XLA


@pytest.mark.parametrize("name", SETS)
def test_inner_steps_add_up_to_one_exactly(name):
    own = [Fraction(part) for part in parts(name)]
    assert sum(own) == 1
    assert own == own[::-1]
    assert len(own) == SETS[name].stages
    for part, text in zip(own, SETS[name].half, strict=False):
        assert abs(part - Fraction(text)) < Fraction(1, 2**52)
    # and so do their sums on the way, which are inner times
    assert np.all(np.cumsum(parts(name)) == [float(sum(own[: i + 1])) for i in range(len(own))])


@pytest.mark.parametrize("name", SETS)
def test_sets_satisfy_conditions_of_order(name):
    """sum gamma^3 = sum gamma^5 = ... = 0 are some of the conditions of order 4, 6, ..."""
    for power in range(3, SETS[name].order, 2):
        assert abs(sum(part**power for part in parts(name))) < 1e-15


@pytest.mark.parametrize(
    ("name", "order"), [(name, order) for name, (_, own) in STEPS.items() for order in own]
)
def test_order(name, order):
    assert abs(measured(name, order) - order) < 0.15


@pytest.mark.parametrize(
    "name", [*NEAR, *(pytest.param(n, marks=pytest.mark.slow) for n in STEPS if n not in NEAR)]
)
def test_they_go_where_the_continuous_motion_goes(name):
    (system, start), (duration, own) = system_of(name), STEPS[name]
    order = max(own)
    found = end(name, order, 5 * own[order][-1])
    ts = np.array([0.0, duration])
    at = ac.reference(system, **start, ts=ts, rtol=1e-11, atol=1e-11)
    parts = at[: len(found)]
    assert distance(found, [np.ravel(np.asarray(part[-1])) for part in parts]) < 1e-7


def test_every_set_has_its_order():
    """On Kepler's problem, e = 0.3, one period; at equal cost the set that is taken where none is
    named is the most accurate.
    """
    e, period = 0.3, 2 * np.pi
    system = ac.mechanical(1.0, lambda t, q, params: -1 / jnp.sqrt(q @ q), 2)
    start = {"q0": [1 - e, 0.0], "v0": [0.0, np.sqrt((1 + e) / (1 - e))]}
    work = {}
    for name, own in SETS.items():
        if own.order == 10:
            continue  # its order is not seen here before roundoff
        errors, counts = [], {4: (100, 200), 6: (80, 160), 8: (36, 54)}[own.order]
        for count in counts:
            method = ac.Composition(ac.Trapezoid(), own.order, name)
            run = ac.simulate(
                system, method, **start, h=period / count, steps=count, save_every=count
            )
            errors.append(np.max(np.abs(np.asarray(run.q[-1] - run.q[0]))))
        slope = np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])
        assert abs(slope - own.order) < 0.15
        work[name] = own.stages * (errors[0] / 1e-8) ** (1 / own.order) * counts[0]
    for order in (4, 6, 8):
        names = [name for name in work if SETS[name].order == order]
        assert names[0] == min(names, key=lambda name: work[name])


# ---------------------------------------------------------------- what they keep


@pytest.mark.parametrize("name", ["flat", "time-dependent", "holonomic", "SO(3)"])
def test_a_step_is_symplectic(name):
    system, start = system_of(name)
    assert ac.analysis.symplecticity(system, method_of(name, 4), **start, h=0.4) < 1e-13


def test_a_step_under_a_force_is_not():
    system, start = system_of("forced")
    assert ac.analysis.symplecticity(system, FOUR, **start, h=0.4) > 1e-3


def test_momentum_maps_are_kept():
    def L(t, q, v, params):
        return (1 + q @ q) * (v @ v) / 2 - (q @ q) ** 2

    system = ac.System(L, ac.Euclidean(2))
    run = ac.simulate(system, FOUR, q0=[1.0, 0.2], v0=[-0.3, 0.9], h=0.1, steps=2000)
    J = np.asarray(run.momentum(lambda q: jnp.array([-q[1], q[0]])))
    assert np.max(np.abs(J - J[0])) < 1e-12 * abs(J[0])
    E = np.asarray(run.energy())
    assert 1e-9 < np.max(np.abs(E - E[0])) < 1e-3  # of order four, and no drift
    assert abs(np.mean(E[-500:]) - np.mean(E[:500])) < 0.1 * np.max(np.abs(E - E[0]))


@pytest.mark.parametrize("name", ["flat", "explicit", "SO(3)", "holonomic"])
def test_they_are_reversible(name):
    """With the step -h back to the start, to roundoff."""
    system, start = system_of(name)
    method, h, count = method_of(name, 4), 0.3, 20
    flow = ac.discrete(system, method).hamiltonian_flow
    q0, v0 = jnp.asarray(start["q0"]), jnp.asarray(start["v0"])
    first = (q0, system.legendre(0.0, q0, v0))

    @small_jit
    def back_and_forth(z, count):
        z = jax.lax.fori_loop(0, count, lambda k, z: flow(k * h, h, *z), z)
        return z, jax.lax.fori_loop(0, count, lambda k, z: flow((count - k) * h, -h, *z), z)

    there, back = back_and_forth(first, count)
    run = ac.simulate(system, method, **start, h=h, steps=count)
    assert np.max(np.abs(there[0] - run.q[-1])) < 1e-12  # the flow is the step of `simulate`
    assert max(np.max(np.abs(a - b)) for a, b in zip(back, first, strict=True)) < 1e-11


@pytest.mark.parametrize("name", [*EAGER, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)])
def test_engines_agree(name):
    system, start = system_of(name)
    runs = [
        ac.simulate(system, method_of(name, 4), **start, h=0.2, steps=30, save_every=3, engine=e)
        for e in ("native", "xla")
    ]
    for part in ("q", "p", "v", "iterations"):
        a, b = (np.asarray(getattr(run, part), float) for run in runs)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_explicit_steps_evaluate_the_potential_once_for_each_stage():
    """As many calls of sin as there are inner steps in the program of a step."""
    system = ac.mechanical(1.0, lambda t, q, params: -jnp.cos(q[0]), 1)
    method = ac.Composition(ac.Trapezoid(), 8)
    scheme = scheme_of(system, method)
    start = Start(q0=jnp.array([1.0]), v0=jnp.array([0.5]))
    state = scheme.begin(0.0, 0.1, start)[0]
    program = jax.make_jaxpr(lambda state: scheme.step(state, 0.0, 0.1))(state)
    (loop,) = [e for e in deep(program.jaxpr) if e.primitive.name == "scan"]
    inside = [e.primitive.name for e in deep(loop.params["jaxpr"].jaxpr)]
    outside = [e.primitive.name for e in program.jaxpr.eqns]
    assert (inside.count("sin"), inside.count("cos"), outside.count("sin")) == (1, 1, 0)
    assert loop.params["length"] == method.stages == 17


def test_kicks_are_summed_with_what_they_lose():
    """The energy of a thousand periods of Kepler's problem is kept to roundoff, position to 1e-9:
    plain sums of kicks lose two digits of each.
    """
    system = ac.mechanical(1.0, lambda t, q, params: -1 / jnp.sqrt(q @ q), 2)
    method, periods, count = ac.Composition(ac.Trapezoid(), 10), 1000, 91
    run = ac.simulate(
        system,
        method,
        q0=[0.5, 0.0],
        v0=[0.0, 3**0.5],
        h=2 * np.pi / count,
        steps=count * periods,
        save_every=count * periods,
    )
    assert np.ptp(run.energy()) < 2e-14
    assert np.max(np.abs(run.q[-1] - run.q[0])) < 1e-9


def deep(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            if hasattr(value, "jaxpr") and equation.primitive.name != "scan":
                yield from deep(value.jaxpr)


@pytest.mark.parametrize("base", [ac.Midpoint(), ac.Trapezoid()])
def test_members_of_an_ensemble_are_runs(base):
    """Explicit by Trapezoid; under a force, and a constraint, that know the params."""

    def V(t, q, params):
        return params["k"] * henon_heiles(q)

    def push(t, q, params):
        return -params["k"] * q

    def force(t, q, v, params):
        return push(t, q, params)

    def kappa(t, q, v, params):
        return (v[1] - params["k"] * q[0] * v[0])[None]

    held = {} if base == ac.Trapezoid() else {"nonholonomic": kappa}
    system = ac.mechanical(1.0, V, 2, params={"k": 1.0}, force=force, **held)
    start = {"q0": [0.1, 0.2], "v0": [0.0, 0.0], "h": 0.2, "steps": 10}
    method, k = ac.Composition(base, 4), np.array([0.9, 1.1])
    many = ac.ensemble(system, method, **start, params={"k": k})
    for i in range(2):
        one = ac.simulate(system, method, **start, params={"k": k[i]})
        np.testing.assert_allclose(many.q[i], one.q, rtol=0, atol=1e-14)


# ---------------------------------------------------------------- heat


def test_both_laws_are_judged_for_whole_steps():
    system, start = system_of("thermal")
    run = ac.simulate(system, FOUR, **start, h=0.2, steps=300)
    assert run.laws.least > 0  # the entropy grows in every step, though inner steps go back
    assert run.laws.push < 0
    assert np.max(np.abs(run.first_law())) < 1e-5
    half = ac.simulate(system, FOUR, **start, h=0.1, steps=600)
    ratio = np.max(np.abs(run.first_law())) / np.max(np.abs(half.first_law()))
    assert 14 < ratio < 18


def test_energy_consistent_compositions_keep_the_first_law_to_roundoff():
    system, start = system_of("thermal")
    method = ac.Composition(ac.EnergyConsistent(ac.Midpoint()), 4)
    run = ac.simulate(system, method, **start, h=0.2, steps=300)
    assert np.max(np.abs(run.first_law())) < 1e-14
    runs = [ac.simulate(system, method, **start, h=20 / n, steps=n) for n in (100, 200, 800)]
    first, second, exact = (float(run.S[-1]) for run in runs)
    assert abs(np.log2(abs((first - exact) / (second - exact))) - 4) < 0.15


def two_bodies(conductance):
    """Two bodies of heat capacity 1 that exchange heat, and an oscillator."""

    def L(t, q, v, S, params):
        return v @ v / 2 - q @ q / 2 - jnp.sum(jnp.exp(S))

    def heat(t, q, v, S, params):
        T = jnp.exp(S)
        flow = params["k"] * (T[1] - T[0])
        return jnp.stack([flow, -flow])

    def friction(t, q, v, S, params):
        return jnp.stack([-0.1 * v, jnp.zeros_like(v)])

    return ac.ThermalSystem(
        L, ac.Euclidean(1), {"k": conductance}, friction=friction, heat=heat, entropies=2
    )


def test_stiff_conduction_is_refused():
    start = {"q0": [1.0], "v0": [0.0], "S0": [0.0, 0.5], "steps": 20}
    system = two_bodies(1.0)
    run = ac.simulate(system, FOUR, **start, h=0.2)
    assert run.laws.least > 0
    with pytest.raises(ValueError, match="is too fast for that: h must be"):
        ac.simulate(two_bodies(100.0), FOUR, **start, h=0.2)
    params = {"k": np.array([1.0, 100.0])}
    with pytest.raises(ValueError, match="member 1: Composition goes back in time"):
        ac.ensemble(system, FOUR, **start, h=0.2, params=params)
    # where it would not be, the second law would not hold
    for part, grows in ((0.99, False), (1.01, True)):
        z = -part * reach("Suzuki 4") * np.array(parts("Suzuki 4"))
        assert (abs(np.prod((1 + z / 2) / (1 - z / 2))) > 1) == grows


# ---------------------------------------------------------------- failures


def test_a_failure_names_the_inner_step():
    system = ac.System(lambda t, q, v, params: v @ v / 2 + jnp.log(1 - q[0]), ac.Euclidean(1))
    start = {"q0": [0.0], "v0": [3.0], "h": 0.3, "steps": 8}
    with pytest.raises(ac.StepFailed, match="in its inner step of") as error:
        ac.simulate(system, FOUR, **start)
    run = ac.simulate(system, FOUR, **start, throw=False)
    done = int(run.steps_completed)
    assert done == error.value.step < 8
    assert np.all(np.isfinite(run.q[: done + 1]))
    assert np.all(np.isnan(run.q[done + 1 :]))


@pytest.mark.parametrize(
    "base", [ac.Trapezoid(), pytest.param(ac.Midpoint(), marks=pytest.mark.slow)]
)
def test_derivatives_before_a_failure_are_numbers(base):
    system = ac.mechanical(
        1.0, lambda t, q, params: -jnp.log(1 - q[0]) * params["k"], 1, params={"k": -1.0}
    )
    method = ac.Composition(base, 4)

    def first(k):
        run = ac.simulate(
            system, method, q0=[0.0], v0=[3.0], h=0.3, steps=4, params={"k": k}, throw=False
        )
        return run.q[1, 0], run.success

    (value, success), slope = first(-1.0), jax.grad(lambda k: first(k)[0])(-1.0)
    assert not success
    e = 1e-5
    assert abs(slope - (first(-1.0 + e)[0] - first(-1.0 - e)[0]) / (2 * e)) < 1e-6
    assert np.isfinite(value)


# ---------------------------------------------------------------- what is refused


def test_cayley_has_no_middle():
    """Midpoint on SO(3) with it is not symmetric, and would compose to an odd order; Trapezoid,
    which looks only at the ends of a step, is.
    """
    system, start = system_of("SO(3)")
    cayley = ac.System(system.lagrangian, ac.SO3(retraction="cayley"))
    with pytest.raises(ValueError, match="needs a method that is symmetric"):
        ac.simulate(cayley, FOUR, **start, h=0.1, steps=1)
    method = ac.Composition(ac.Trapezoid(), 4)
    ends = [
        np.asarray(ac.simulate(cayley, method, **start, h=h, steps=round(4 / h)).q[-1])
        for h in (0.2, 0.1, 0.0125)
    ]
    errors = [np.max(np.abs(each - ends[-1])) for each in ends[:2]]
    assert abs(np.log2(errors[0] / errors[1]) - 4) < 0.15


def test_midpoint_with_cayley_would_be_of_order_three():
    system, start = system_of("SO(3)")
    cayley = ac.System(system.lagrangian, ac.SO3(retraction="cayley"))
    flow, gamma = ac.discrete(cayley, ac.Midpoint()).hamiltonian_flow, parts("Kahan-Li 6a")
    q0, v0 = jnp.asarray(start["q0"]), jnp.asarray(start["v0"])

    @small_jit
    def composed(h, steps, gamma, z):
        def step(k, z):
            return flow(0.0, gamma[k % len(gamma)] * h, *z)

        return jax.lax.fori_loop(0, steps * len(gamma), step, z)[0]

    first = (q0, cayley.legendre(0.0, q0, v0))

    exact = end_of_rotation(system, start, 2.0)
    errors = [
        np.max(np.abs(composed(2.0 / n, n, np.array(gamma), first) - exact)) for n in (16, 32)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - 3) < 0.3


def end_of_rotation(system, start, duration):
    run = ac.simulate(system, ac.Composition(ac.Midpoint(), 8), **start, h=duration / 64, steps=64)
    return np.asarray(run.q[-1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ac.Composition(ac.LeftRectangle(), 4), "LeftRectangle.. is not symmetric"),
        (lambda: ac.Composition(ac.Alpha(0.3), 4), "is not symmetric"),
        (lambda: ac.Composition(GeneralizedAlpha(0.8), 4), "is not symmetric"),
        (lambda: ac.Composition(FOUR, 6), "is of order 4"),
        (lambda: ac.Composition(ac.Midpoint(), 5), "one of the orders 4, 6, 8, 10; got 5"),
        (lambda: ac.Composition(ac.Midpoint(), np.ones(2)), "one of the orders"),
        (lambda: ac.Composition(3, 4), "needs a method"),
        (lambda: ac.Composition(ac.Midpoint(), 6, "Suzuki 4"), "Try one of: Sofroniou-Spaletta 6"),
    ],
)
def test_what_cannot_be_composed_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_what_can_be():
    assert ac.Composition(ac.Alpha(0.5), 4).stages == 5
    assert ac.Composition(Adjoint(ac.Midpoint()), np.int64(4)) == ac.Composition(
        Adjoint(ac.Midpoint()), 4, "Suzuki 4"
    )
    system, start = system_of("flat")

    def middle(h, q0, q1):
        return [(1.0, 0.5, (q0 + q1) / 2, (q1 - q0) / h)]

    def left(h, q0, q1):
        return [(1.0, 0.0, q0, (q1 - q0) / h)]

    own = ac.simulate(
        system, ac.Composition(ac.FiniteDifference(middle), 4), **start, h=0.2, steps=5
    )
    same = ac.simulate(system, FOUR, **start, h=0.2, steps=5)
    np.testing.assert_allclose(own.q, same.q, rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="needs a method that is symmetric"):
        ac.simulate(system, ac.Composition(ac.FiniteDifference(left), 4), **start, h=0.2, steps=5)


def test_systems_that_cannot_be_composed_are_named():
    def L(t, q, v, a, params):
        return a @ a / 2

    higher = ac.HigherOrderSystem(L, ac.Euclidean(1))
    with pytest.raises(ValueError, match="Composition has no discrete Lagrangian of the two ends"):
        ac.connect(higher, FOUR, qa=[0.0], va=[[0.1]], qb=[0.4], vb=[[0.5]], duration=1.0, steps=4)
    bodies = two_bodies(1.0)
    shared = ac.Composition(ac.EnergyConsistent(ac.Midpoint()), 4)
    with pytest.raises(ValueError, match="heat capacities at a step's start"):
        ac.simulate(bodies, shared, q0=[1.0], v0=[0.0], S0=[0.0, 0.5], h=0.1, steps=2)
    nonlinear = ac.System(
        lambda t, q, v, params: v @ v / 2,
        ac.Euclidean(2),
        nonholonomic=lambda t, q, v, params: (v @ v - 1)[None],
    )
    with pytest.raises(ValueError, match="constraints whose force depends on v"):
        ac.simulate(nonlinear, FOUR, q0=[0.0, 0.0], v0=[1.0, 0.0], h=0.1, steps=2)
    system, _ = system_of("flat")
    with pytest.raises(ValueError, match="Composition starts from v0 or p0, not from q1"):
        ac.simulate(system, FOUR, q0=[0.1, 0.2], q1=[0.1, 0.21], h=0.1, steps=2)
    with pytest.raises(ValueError, match="Composition has no discrete Lagrangian"):
        ac.connect(system, FOUR, qa=[0.1, 0.2], qb=[0.2, 0.2], duration=1.0, steps=5)
    with pytest.raises(ValueError, match="Composition has no discrete Lagrangian"):
        ac.discrete(system, FOUR).Ld(0.0, 0.1, [0.1, 0.2], [0.1, 0.21])
