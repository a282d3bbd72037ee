"""From SymPy to a System, and the whole way round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.gallery import ENTRIES

t = sp.Symbol("t")
x, y = sp.Function("x")(t), sp.Function("y")(t)
m, k = sp.symbols("m k")


def round_trip(system):
    """function -> SymPy -> System."""
    eqs = ac.symbolic(system)
    functions = {"force": eqs.force if system.force is not None else None}
    sizes = {"holonomic": system.holonomic, "nonholonomic": system.nonholonomic, "vakonomic": system.vakonomic}
    (kind,) = [kind for kind, f in sizes.items() if f is not None] or [None]
    if kind:
        functions[kind] = eqs.constraints
    return ac.from_sympy(eqs.L, eqs.q, eqs.values, space=system.space, **functions)


# One of each kind; the equations of all are compared elsewhere, and a run is compiled twice here.
KINDS = ("damped_spring", "double_pendulum", "magnetic_particle", "driven_mass", "rotating_slot", "rolling_disk")


@pytest.mark.parametrize("name", KINDS)
def test_round_trip_gives_the_same_trajectory(name):
    entry = ENTRIES[name]
    options = {**entry.start, "h": entry.h, "steps": min(entry.steps, 100)}
    first = ac.simulate(entry.system, entry.method, **options)
    again = ac.simulate(round_trip(entry.system), entry.method, **options)
    np.testing.assert_allclose(again.q, first.q, rtol=1e-12, atol=1e-12)


def test_functions_of_time():
    system = ac.from_sympy(m * x.diff(t) ** 2 / 2 - k * x**2 / 2, [x], {m: 2, "k": 3.0})
    assert system.coordinates == ("x",)
    assert system.params == {"m": 2.0, "k": 3.0}
    assert ac.accelerations(system)(0.0, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(-0.75)
    assert jax.grad(lambda p: ac.accelerations(system.with_params(p))(0.0, jnp.array([0.5]), jnp.array([0.1]))[0])(system.params)["k"] == -0.25


def test_symbols():
    q, v, s = sp.symbols("q v t")
    system = ac.from_sympy(m * v**2 / 2 - sp.sin(s) * q, [q], {"m": 2.0}, velocities=[v])
    assert ac.accelerations(system)(0.7, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(-np.sin(0.7) / 2)
    clock = sp.Symbol("tau")
    system = ac.from_sympy(v**2 / 2 - clock * q, [q], velocities=[v], t=clock)
    assert ac.accelerations(system)(0.7, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(-0.7)


def test_all_that_acts_on_a_system():
    L = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - 9.81 * y
    rod = ac.from_sympy(L, [x, y], holonomic=[sp.Eq(x**2 + y**2, 4)], force=[-k * x.diff(t), 0], params={k: 0.5})
    a, lam = ac.accelerations(rod)(0.0, jnp.array([0.0, -2.0]), jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(a, [-0.5, 0.5], rtol=1e-9, atol=1e-12)
    assert lam[0] == pytest.approx((9.81 + 0.5) / -4)
    edge = sp.Matrix([x.diff(t) * sp.sin(y) - y.diff(t)])
    held = ac.from_sympy(L, [x, y], nonholonomic=edge, variational=[[sp.sin(y), -1]])
    assert held.multipliers == 1
    assert ac.from_sympy(L, [x, y], vakonomic=edge).vakonomic is not None


def test_equal_expressions_share_compiled_code():
    make = lambda stiffness: ac.from_sympy(m * x.diff(t) ** 2 / 2 - k * x**2 / 2, [x], {m: 2, k: stiffness})  # noqa: E731
    assert jax.tree.structure(make(3.0)) == jax.tree.structure(make(4.0))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("x**2", [x]), {}, "must be a SymPy expression; got 'x\\*\\*2'. Text is not evaluated"),
        ((x.diff(t) ** 2, [x]), {"holonomic": ["__import__('os')"]}, "holonomic must be a SymPy expression"),
        ((m * x.diff(t) ** 2, [x]), {}, "params must give a number to m"),
        ((x.diff(t) ** 2 + y, [x]), {}, "is neither a coordinate nor its velocity"),
        ((x.diff(t, 2) ** 2, [x]), {}, "is neither a coordinate nor its velocity"),
        ((x.diff(t) ** 2, []), {}, "needs the coordinates"),
        ((m**2, [m]), {}, "with `velocities` a symbol for each"),
        ((x.diff(t) ** 2, [x, sp.Function("z")(sp.Symbol("s"))]), {}, "functions of the same time"),
        ((x.diff(t) ** 2, [x]), {"heat": 1}, "does not know \\['heat'\\]"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ac.from_sympy(*arguments, **options)


def test_a_function_that_jax_does_not_have_is_named():
    system = ac.from_sympy(x.diff(t) ** 2 - sp.airyai(x), [x])
    with pytest.raises(ValueError, match="airyai"):
        system.check()
