"""`suggest_step`: the error after the duration is what was asked for."""

import numpy as np
import pytest

import accion as ac
from accion.gallery import heavy_top
from accion.instant.continuous import roots_of_inertia
from tests.helpers import PENDULUM
from tests.pairs.kinds import case

KEPLER = ac.System(lambda t, q, v, params: 0.5 * v @ v + 1 / (q @ q) ** 0.5, ac.Euclidean(2))
CASES = {
    "pendulum": (PENDULUM, [1.0], [0.3], 5.0),
    "Kepler": (KEPLER, [0.5, 0.0], [0.0, 3**0.5], 15.0),
    "heavy top": (heavy_top.system, np.eye(3), [1.0, 2.0, 15.0], 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_what_was_asked_for(name):
    system, q0, v0, duration = CASES[name]
    space, ts = system.space, np.linspace(0.0, duration, 40)
    q, _ = ac.reference(system, q0=q0, v0=v0, ts=ts, rtol=1e-12, atol=1e-12)
    mass = np.asarray(roots_of_inertia(system, 0.0, space.check(q0), np.array(v0)))
    way = max(np.linalg.norm(mass * space.local(q[0], each)) for each in q)
    for tolerance in (1e-3, 1e-6):
        h = ac.suggest_step(system, ac.Midpoint(), q0, v0, duration, tolerance)
        assert h * h.steps == pytest.approx(duration, rel=1e-14)
        run = ac.simulate(
            system, ac.Midpoint(), q0=q0, v0=v0, h=h, steps=h.steps, save_every=h.steps
        )
        error = np.linalg.norm(mass * space.local(q[-1], run.q[-1])) / way
        assert 0.5 < error / tolerance < 2, (tolerance, error)
        assert 0.5 < error / h.error < 2


def test_it_says_what_it_found():
    h = ac.suggest_step(PENDULUM, ac.Midpoint(), [1.0], [0.3], 5.0, 1e-3)
    assert repr(h).startswith("StepSize(0.0117")
    assert "steps=" in repr(h)
    assert h.order == 2


@pytest.mark.parametrize("kind", ["ThermalSystem", "System, holonomic", "HigherOrderSystem"])
def test_every_kind_in_continuous_time(kind):
    own = case(kind, "vectors")
    start = dict(own.start)
    given = (start.pop("q0"), start.pop("v0"))
    h = ac.suggest_step(own.system, own.method, *given, 0.5, 1e-4, **start)
    assert h.error == pytest.approx(1e-4, rel=0.3)


def test_what_has_no_step_says_so():
    own = case("DiscreteSystem", "vectors")
    with pytest.raises(ValueError, match="suggest_step does not support systems given in discrete"):
        ac.suggest_step(own.system, None, own.start["q0"], None, 0.5, 1e-4, p0=own.start["p0"])
    with pytest.raises(ValueError, match="tolerance must be"):
        ac.suggest_step(PENDULUM, ac.Midpoint(), [1.0], [0.3], 5.0, 1e-15)
    with pytest.raises(ValueError, match="tolerance must be a positive number"):
        ac.suggest_step(PENDULUM, ac.Midpoint(), [1.0], [0.3], 5.0, 0.0)
