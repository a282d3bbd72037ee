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
    sizes = {
        "holonomic": system.holonomic,
        "nonholonomic": system.nonholonomic,
        "vakonomic": system.vakonomic,
    }
    (kind,) = [kind for kind, f in sizes.items() if f is not None] or [None]
    if kind:
        functions[kind] = eqs.constraints
    return ac.from_sympy(eqs.L, eqs.q, eqs.values, space=system.space, **functions)


# One of each kind; the equations of all are compared elsewhere, and a run is compiled twice here.
KINDS = (
    "damped_spring",
    "double_pendulum",
    "magnetic_particle",
    "driven_mass",
    "rotating_slot",
    "rolling_disk",
)


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
    assert ac.accelerations(system)(0.0, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(
        -0.75
    )
    assert (
        jax.grad(
            lambda p: ac.accelerations(system.with_params(p))(
                0.0, jnp.array([0.5]), jnp.array([0.1])
            )[0]
        )(system.params)["k"]
        == -0.25
    )


def test_symbols():
    q, v, s = sp.symbols("q v t")
    system = ac.from_sympy(m * v**2 / 2 - sp.sin(s) * q, [q], {"m": 2.0}, velocities=[v])
    assert ac.accelerations(system)(0.7, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(
        -np.sin(0.7) / 2
    )
    clock = sp.Symbol("tau")
    system = ac.from_sympy(v**2 / 2 - clock * q, [q], velocities=[v], t=clock)
    assert ac.accelerations(system)(0.7, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(
        -0.7
    )


def test_all_that_acts_on_a_system():
    L = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - 9.81 * y
    rod = ac.from_sympy(
        L, [x, y], holonomic=[sp.Eq(x**2 + y**2, 4)], force=[-k * x.diff(t), 0], params={k: 0.5}
    )
    a, lam = ac.accelerations(rod)(0.0, jnp.array([0.0, -2.0]), jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(a, [-0.5, 0.5], rtol=1e-9, atol=1e-12)
    assert lam[0] == pytest.approx((9.81 + 0.5) / -4)
    edge = sp.Matrix([x.diff(t) * sp.sin(y) - y.diff(t)])
    held = ac.from_sympy(L, [x, y], nonholonomic=edge, variational=[[sp.sin(y), -1]])
    assert held.multipliers == 1
    assert ac.from_sympy(L, [x, y], vakonomic=edge).enters_action


def test_equal_expressions_share_compiled_code():
    def make(stiffness):
        return ac.from_sympy(m * x.diff(t) ** 2 / 2 - k * x**2 / 2, [x], {m: 2, k: stiffness})

    assert jax.tree.structure(make(3.0)) == jax.tree.structure(make(4.0))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("x**2", [x]), {}, "must be a SymPy expression; got 'x\\*\\*2'. Text is not evaluated"),
        (
            (x.diff(t) ** 2, [x]),
            {"holonomic": ["__import__('os')"]},
            "holonomic must be a SymPy expression",
        ),
        ((m * x.diff(t) ** 2, [x]), {}, "params must give a number to m"),
        ((x.diff(t) ** 2 + y, [x]), {}, "is neither a coordinate nor its velocity"),
        ((x.diff(t, 2) ** 2 + y.diff(t, 2), [x]), {}, "is neither a coordinate nor its velocity"),
        ((x.diff(t) ** 2, []), {}, "needs the coordinates"),
        ((m**2, [m]), {}, "with `velocities` a symbol for each"),
        ((x.diff(t) ** 2, [x, sp.Function("z")(sp.Symbol("s"))]), {}, "functions of the same time"),
        ((x.diff(t) ** 2, [x]), {"heat": 1}, "does not know \\['heat'\\]"),
        ((x.diff(t) ** 2, [x, x]), {}, "must be different symbols"),
        ((m**2 - k, [k]), {"velocities": [k]}, "must be different symbols"),
        ((m**2 - t, [t]), {"velocities": [m]}, "must be different symbols"),
        ((x.diff(t) ** 2, x), {}, "coordinates must be a list"),
        ((k * x.diff(t) ** 2, [x], {k: None}), {}, "params must give numbers; k is None"),
        ((k * x.diff(t) ** 2, [x], {k: 1j}), {}, "params must give numbers; k is 1j"),
        ((k * x.diff(t) ** 2, [x], [1.0]), {}, "params must be a dictionary"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ac.from_sympy(*arguments, **options)


ONE = x.diff(t) ** 2 / 2
TWO = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - y
POINT = (0.3, jnp.array([0.5, 0.2]), jnp.array([0.1, 0.3]))


def test_derivatives_that_are_not_carried_out():
    """d/dt sin(x) and d/dt cos(x), as one writes the position of a pendulum's bob; an integral and
    a sum.
    """
    bob = (sp.Derivative(sp.sin(x), t) ** 2 + sp.Derivative(sp.cos(x), t) ** 2) / 2
    for V in (x**3 / 3, sp.Integral(k**2, (k, 0, x)), sp.Sum(x**k / 3, (k, 3, 3))):
        system = ac.from_sympy(bob - V, [x])
        assert ac.accelerations(system)(0.0, jnp.array([0.5]), jnp.array([0.1]))[
            0
        ] == pytest.approx(-0.25)


def test_one_of_them_needs_no_brackets():
    rod = x**2 + y**2 - 1
    for given in (rod, sp.Eq(x**2 + y**2, 1), [rod], sp.Matrix([rod])):
        np.testing.assert_allclose(
            ac.accelerations(ac.from_sympy(TWO, [x, y], holonomic=given))(*POINT)[1],
            0.1 / 0.58,
            rtol=1e-12,
        )
    pushed = ac.from_sympy(ONE, [x], force=-x.diff(t))
    assert ac.accelerations(pushed)(0.0, jnp.array([0.5]), jnp.array([0.1]))[0] == pytest.approx(
        -0.1
    )
    velocity = sp.Matrix([x.diff(t)])
    assert ac.accelerations(ac.from_sympy(velocity.T * velocity / 2 - sp.Matrix([x]), [x]))(
        0.0, jnp.ones(1), jnp.ones(1)
    )[0] == pytest.approx(-1)


def test_a_row_of_a_matrix_is_a_variational_distribution():
    edge = x.diff(t) * sp.sin(y) - y.diff(t)
    rows = [
        ac.from_sympy(TWO, [x, y], nonholonomic=[edge], variational=v)
        for v in ([[sp.sin(y), -1]], sp.Matrix([[sp.sin(y), -1]]))
    ]
    np.testing.assert_allclose(
        ac.accelerations(rows[0])(*POINT)[0], ac.accelerations(rows[1])(*POINT)[0], rtol=1e-14
    )


@pytest.mark.parametrize(
    ("V", "expected"),
    [
        (sp.Mod(x, 1) ** 2, 1.0),
        (sp.loggamma(x), -1.96351002602142),
        (sp.gamma(x), -3.48023090670),
        (sp.sinc(x), -0.162537030636),
        (sp.polygamma(0, x), 4.93480220054),
    ],
)
def test_more_functions(V, expected):
    a = ac.accelerations(ac.from_sympy(ONE - V, [x]))(0.0, jnp.array([0.5]), jnp.array([0.1]))[0]
    assert a == pytest.approx(-expected, rel=1e-9)


def test_a_function_that_jax_does_not_have_is_named():
    with pytest.raises(ac.Untranslatable, match=r"airyai in airyai\(x\(t\)\) has no counterpart"):
        ac.from_sympy(x.diff(t) ** 2 - sp.airyai(x), [x])
    with pytest.raises(ac.Untranslatable, match="besselj"):
        ac.from_sympy(x.diff(t) ** 2, [x], force=[sp.besselj(0, x)])
