"""A trajectory comes back with the system and the method that made it, or says what differs."""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import control


def lagrangian(t, q, v, params):
    return 0.5 * params["m"] * v @ v - 0.5 * params["k"] * q @ q


def spring(*coordinates, **params):
    return ac.System(
        lagrangian, ac.Euclidean(1), {"m": 1.0, "k": 2.0} | params, coordinates=coordinates or None
    )


RUN = {"h": 0.1, "steps": 4}
START = {"q0": [1.0], "v0": [0.0]}


@pytest.mark.parametrize(
    "varied",
    [
        {"q0": [[1.0], [2.0]]},
        {"params": {"m": 1.0, "k": jnp.array([1.0, 2.0, 3.0])}},
        {"params": {"m": jnp.array([1.0]), "k": jnp.array([2.0])}},
    ],
    ids=["starts", "params", "one run"],
)
def test_an_ensemble_loads_with_its_own_system(varied, tmp_path):
    """And with the one that `ensemble` took, and again when it is saved anew."""
    system = spring("x [m]")
    found = ac.ensemble(system, ac.Midpoint(), **(START | varied), **RUN)
    found.save(tmp_path / "many")
    for given in (found.system, system):
        there = ac.load(tmp_path / "many", given)
        np.testing.assert_array_equal(there.q, found.q)
        np.testing.assert_array_equal(there.system.params["k"], found.system.params["k"])
        there.save(tmp_path / "again", overwrite=True)
        np.testing.assert_array_equal(ac.load(tmp_path / "again", there.system).q, found.q)


def stiffer(t, q, v, params):
    return lagrangian(t, q, v, params) - 0.1 * q[0] ** 4


@pytest.mark.parametrize(
    "change", [{"lagrangian": stiffer}, {"force": lambda t, q, v, p: -0.2 * v}]
)
def test_another_function_is_noticed(change, tmp_path):
    """Of the same space, coordinates and params; written anew, it is the same."""
    kept = {"lagrangian": lagrangian, "force": lambda t, q, v, params: -0.1 * v}

    def made(**functions):
        space, params = ac.Euclidean(1), {"m": 1.0, "k": 2.0}
        return ac.System(**(kept | functions), space=space, params=params)

    run = ac.simulate(made(), ac.Midpoint(), **START, **RUN)
    run.save(tmp_path / "run")
    again = {"lagrangian": lambda s, x, w, p: lagrangian(s, x, w, p)}
    longer = ac.load(tmp_path / "run", made(**again)).extend(4)
    np.testing.assert_array_equal(longer.q, run.extend(4).q)
    (name,) = change
    with pytest.raises(ValueError, match=f"its {name} did other operations than that of the given"):
        ac.load(tmp_path / "run", made(**change))
    np.testing.assert_array_equal(ac.load(tmp_path / "run").q, run.q)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (spring("y [m]"), r"the coordinates are \['x'\], those of the given one are \['y'\]"),
        (spring("x [km]"), r"the units of its coordinates are \['m'\].*\['km'\]"),
        (spring("x [m]", k=3.0), r"its params is .*'k': 2\.0.*'k': 3\.0"),
    ],
    ids=["coordinates", "units", "params"],
)
def test_another_system_is_noticed(other, words, tmp_path):
    ac.simulate(spring("x [m]"), ac.Midpoint(), **START, **RUN).save(tmp_path / "run")
    with pytest.raises(ValueError, match=f"run was made with another system: {words}"):
        ac.load(tmp_path / "run", other)


def forward(h, q0, q1):
    return [(1.0, 0.0, q0, (q1 - q0) / h)]


def test_a_method_of_ones_own_is_named_and_may_be_given(tmp_path):
    method = ac.FiniteDifference(forward)
    system, path = spring(), tmp_path / "run"
    ac.simulate(system, method, **START, **RUN).save(path)
    nameless = ac.load(path, system)
    assert nameless.method is None
    assert "FiniteDifference(psi=<function forward>)" in repr(nameless)
    assert ac.load(path, system, method).method == method
    nameless.save(tmp_path / "again")  # nor is the name lost then
    assert ac.load(tmp_path / "again", system, method).method == method
    with pytest.raises(ValueError, match=r"made by FiniteDifference.*given method is Midpoint\(\)"):
        ac.load(path, system, ac.Midpoint())


def test_a_method_that_a_file_can_say_comes_back(tmp_path):
    system, path = spring(), tmp_path / "run"
    ac.simulate(system, ac.Alpha(0.3), **START, **RUN).save(path)
    assert ac.load(path, system).method == ac.load(path, system, ac.Alpha(0.3)).method
    with pytest.raises(ValueError, match=r"made by Alpha\(a=0\.3\), the given method is Alpha"):
        ac.load(path, system, ac.Alpha(0.4))


def test_a_control_by_a_method_of_ones_own(tmp_path):
    problem = ac.ControlProblem(
        spring(),
        lambda t, q, v, u, params: u @ u,
        actuated=[0],
        start=([0.0], [0.0]),
        end=([1.0], [0.0]),
        duration=1.0,
    )
    method, path = ac.FiniteDifference(forward), tmp_path / "found"
    found = ac.optimize(problem, method, 4)
    found.save(path)
    with pytest.raises(ValueError, match=r"psi=<function forward>.*pass it: load\(path, problem"):
        control.load(path, problem)
    np.testing.assert_array_equal(control.load(path, problem, method).u, found.u)
