"""Every method passes the same audit; the bounds are those named in docs/audit.md."""

from contextlib import nullcontext

import pytest

import accion as ac
from tests.verification import constrained, control, measure, thermal
from tests.verification.problems import CASES

# `make audit` measures every pair. Here every method is measured on the double pendulum and, where
# its steps can be explicit, on the quartic; the implicit steps on the time-dependent quartic by one
# method.
TESTED = [
    (problem, method)
    for problem, method in CASES
    if problem is not CASES[5][0] or method == ac.Midpoint()
]
HELD = [
    (held, method)
    for held in constrained.HELD
    for method in constrained.METHODS
    if method == ac.Midpoint() or held in constrained.HELD[::2]
]
THERMAL = [case for case in thermal.CASES if case[1] not in (ac.RightRectangle(), ac.Alpha(0.3))]
ids = [f"{problem.name}-{method}" for problem, method in TESTED]


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "method"), TESTED, ids=ids)
def test_audit(problem, method):
    row = measure.measure(problem, method)
    assert abs(row.order - row.claimed) < 0.35
    assert row.symplectic < 1e-12
    assert row.momentum < 1e-12
    assert abs(row.drift) < 0.1
    assert row.growth < 1.5
    assert row.energy < (1e-3 if row.claimed == 2 else 3e-2)
    assert (row.reversal is None) == (not method.symmetric)
    assert row.reversal is None or row.reversal < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held", "method"), HELD, ids=[f"{held.name}-{method}" for held, method in HELD]
)
def test_audit_of_constrained_systems(held, method):
    row = constrained.measure(held, method)
    assert abs(row.order - 2) < 0.1
    assert row.residual < 1e-12
    assert row.reversal < 1e-11
    assert row.energy < 1e-2
    if held.conserves:
        assert abs(row.drift) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "method"), THERMAL, ids=[f"{case[0].name}, {case[1]}" for case in THERMAL]
)
def test_audit_of_thermal_systems(problem, method):
    consistent = isinstance(method, ac.EnergyConsistent)
    with pytest.warns(ac.SecondLawViolated) if consistent else nullcontext():
        row = thermal.measure(problem, method)
    assert abs(row.order - row.claimed) < 0.35
    assert row.push <= 0
    if consistent:
        assert row.energy < 1e-14
        assert row.least < 0
    elif isinstance(method, ac.EnergyEntropyConsistent):
        assert row.energy < 1e-13  # a sum of a million roundings, which nothing takes back
        assert row.least > -1e-15
    else:
        assert row.energy < (1e-3 if row.claimed == 2 else 0.1)
        assert row.growth < 2
        assert row.least > -1e-15
        assert row.energy_order is not None
        assert abs(row.energy_order - row.claimed) < 0.35


def test_the_measurements_can_fail():
    """Friction: not symplectic, momentum lost."""
    problem = CASES[0][0]
    system = ac.System(
        problem.system.lagrangian,
        problem.system.space,
        problem.system.params,
        force=lambda t, q, v, params: -0.1 * v,
    )
    broken = type(problem)(**(problem.__dict__ | {"system": system}))
    assert measure.symplecticity(broken, ac.Midpoint()) > 1e-4
    assert measure.momentum_drift(broken, ac.Midpoint(), steps=100) > 1e-3
    energy, drift, _ = measure.long_run(broken, ac.Midpoint(), steps=10_000)
    assert energy > 0.1
    assert abs(drift) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["direct", "vakonomic"])
def test_audit_of_optimal_control(formulation):
    """`make audit` measures other methods too."""
    row = control.measure(ac.Midpoint(), formulation)
    assert abs(row.cost - 2) < 0.1
    assert abs(row.control - 2) < 0.35
    assert abs(row.costate - 2) < 0.35
    assert row.replay > 1.5
    assert row.iterations[0] <= 20
    assert max(row.iterations[1:]) <= 8
    assert row.violation < 1e-11
