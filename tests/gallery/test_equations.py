"""The equations that accion prints for the gallery are those of the documents, corrected, and those
that are solved.
"""

from typing import Any

import jax
import numpy as np
import pytest
import sympy as sp
from typer.testing import CliRunner

import accion as ac
from accion.cli import app
from accion.gallery import ENTRIES
from accion.gallery.base import equations_of
from tests.textbook.contact import CONTACT_PAGES
from tests.textbook.controlled import CONTROLLED_PAGES
from tests.textbook.formation import FORMATION_PAGES
from tests.textbook.groups import GROUP_PAGES
from tests.textbook.heat import HEAT_PAGES
from tests.textbook.higher import HIGHER_PAGES
from tests.textbook.mechanics import TEXTBOOK
from tests.textbook.thermal import THERMAL_PAGES

# The letters of the documents for the parameters of the gallery.
LETTERS = {
    "lam": "lambda",
    "gravity": "g",
    "ma": "m_a",
    "mb": "m_b",
    "mA": "m_A",
    "mB": "m_B",
    "slope": "alpha",
}
LETTERS |= {"T0": "T_0", "S0": "S_0", "U0": "U_0"}
SAMPLES = 5
PAGES = (
    TEXTBOOK
    | GROUP_PAGES
    | THERMAL_PAGES
    | CONTACT_PAGES
    | HEAT_PAGES
    | FORMATION_PAGES
    | CONTROLLED_PAGES
    | HIGHER_PAGES
)


@pytest.fixture(scope="module")
def equations():
    """Computed once for each system."""
    return {}


def derived(name, equations):
    if name not in equations:
        equations[name] = ac.symbolic(equations_of(ENTRIES[name]))
    return equations[name]


def test_every_entry_has_its_page_of_the_textbook():
    # Too long for a page, and checked by the numbers of the literature; and the equations of a
    # pyramid once more, with more agents, or with bodies (tests/formation/test_rigid.py).
    assert set(ENTRIES) - set(PAGES) == {"andrews", "attraction_region", "swarm", "vehicles"}


@pytest.mark.parametrize("name", PAGES)
def test_equations_are_those_of_the_documents(name, equations):
    """As a SymPy identity, and no equation is empty."""
    eqs, book = derived(name, equations), PAGES[name]()
    ours = [e.lhs - e.rhs for e in eqs.equations]
    letters = {s: sp.Symbol(LETTERS.get(s.name, s.name)) for e in ours for s in e.free_symbols}
    plain = {s: sp.Symbol(s.name) for e in book.equations() for s in e.free_symbols}
    for mine, printed in zip(ours, book.equations(), strict=True):
        difference = mine.xreplace(letters) - printed.xreplace(plain)
        assert sp.simplify(difference) == 0
        assert sp.simplify(printed) != 0


def solved(system, t, q, v, rng):
    """(a, S', lam, S): what `accelerations` finds at random points and, of a thermal system, at
    random entropies, of a contact system at random actions, as columns.
    """
    nothing = np.zeros((SAMPLES, 0))
    if system.beside:
        S = rng.uniform(0, 1, (SAMPLES, system.frame.m))
        shown = S[:, 0] if system.frame.entropies is None else S
        a, rates = jax.jit(jax.vmap(ac.accelerations(system)))(t, q, v, shown)
        return np.asarray(a), np.asarray(rates).reshape(SAMPLES, -1), nothing, S
    found = jax.jit(jax.vmap(ac.accelerations(system)))(t, q, v)
    a, lam = found if isinstance(found, tuple) else (found, nothing)
    return np.asarray(a), nothing, np.asarray(lam), nothing


# for those of higher order see test_higher.py
@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(HIGHER_PAGES)))
def test_numbers_are_those_that_are_solved(name, equations):
    """The printed equations are zero for the accelerations, multipliers and rates of entropy, to
    1e-10 of their size, at random points.
    """
    system, eqs = equations_of(ENTRIES[name]), derived(name, equations)
    rng = np.random.default_rng(3)
    t, (x, v) = rng.uniform(0, 2, SAMPLES), rng.normal(size=(2, SAMPLES, system.space.dim))
    if system.entropic:
        # near the start: a piston stays in its cylinder
        x = np.asarray(ENTRIES[name].start["q0"]) + 0.05 * x
    q = jax.jit(jax.vmap(lambda x: system.space.retract(system.space.identity(), x)))(x)
    a, rates, lam, S = solved(system, t, q, v, rng)
    # Derivatives before what they are derivatives of, entropies behind coordinates; of a group's
    # matrix the entries that have names.
    multipliers = () if system.beside else eqs.lam
    letters = [*(v.diff(eqs.t) for v in eqs.v[: system.space.dim]), *eqs.v, *eqs.q, *multipliers]
    parts = zip((*jax.tree.leaves(q), *([S] if S.size else [])), eqs.variables.parts, strict=True)
    entries = [
        np.asarray(part).reshape(SAMPLES, -1)[:, [x.is_Symbol for x in names.flat]]
        for part, names in parts
    ]
    plain = [sp.Symbol(f"z{i}") for i in range(len(letters))]
    columns = (t, *a.T, *v.T, *rates.T, *np.concatenate(entries, axis=1).T, *lam.T)

    def number(e):
        return sp.lambdify(
            (eqs.t, *plain), e.xreplace(dict(zip(letters, plain, strict=True))).xreplace(eqs.values)
        )(*columns)

    for e in eqs.equations:
        size = np.max(
            [
                np.abs(number(term)) + np.zeros(SAMPLES)
                for term in sp.Add.make_args(sp.expand(e.lhs - e.rhs))
            ],
            axis=0,
        )
        np.testing.assert_array_less(np.abs(number(e.lhs - e.rhs)), 1e-10 * size + 1e-300)


def nodes(names) -> Any:
    """The coordinates at t_k - h, t_k and t_k + h, as vectors."""
    return [sp.Matrix([sp.Symbol(f"{name}_{k}") for name in names]) for k in ("k-1", "k", "k+1")]


def test_discrete_equations_of_000_ex_4(equations):
    """As it is printed, with V = omega^2 q^2/2, divided by 2h."""
    a, b, c = (q[0, 0] for q in nodes(["q"]))
    kappa, omega, h, t = sp.symbols("kappa omega h t_k")

    def weight(s):
        return sp.exp(-kappa * (t + s * h))

    def printed(factor):
        return (
            weight(-1) * (b - a)
            - weight(1) * (c - b)
            - weight(0) * (factor * h**2 * omega**2 * b - 2 * b + a + c)
        )

    (ours,) = derived("caldirola_oscillator", equations).discrete(ac.Trapezoid()).equations
    assert sp.simplify(2 * h * ours.lhs - printed(2)) == 0
    assert sp.simplify(2 * h * ours.lhs - printed(1)) != 0


def test_discrete_equations_of_000_ex_5(equations):
    """With A at the three nodes; what stands as grad A (q_k+1 - q_k-1) is the transpose of dA/dq
    times it.
    """
    a, b, c = nodes("xyz")
    kappa, B, slope, d, h, t = sp.symbols("kappa B c d h t_k")

    def A(q):
        return sp.Matrix([-B * q[1] / 2, B * q[0] / 2 + slope * q[2] ** 2, d * q[0] * q[1]])

    def weight(s):
        return sp.exp(-kappa * (t + s * h))

    ours = sp.Matrix(
        [
            2 * e.lhs
            for e in derived("magnetic_particle", equations).discrete(ac.Trapezoid()).equations
        ]
    )
    J = A(b).jacobian(b)

    def printed(grad):
        return (
            weight(-1) * (A(a) + (b - a) / h)
            - weight(1) * (A(c) + (c - b) / h)
            + weight(0) * (grad * (c - a) + (2 * b - a - c) / h)
        )

    assert (ours - printed(J.T)).applyfunc(sp.simplify) == sp.zeros(3, 1)
    assert (ours - printed(J)).applyfunc(sp.simplify) != sp.zeros(3, 1)


def test_conserved_momenta_are_found(equations):
    def cyclic(name):
        return [str(x.func) for x in derived(name, equations).cyclic]

    assert cyclic("caldirola_particle") == ["x", "y", "z"]
    assert cyclic("rolling_disk") == ["phi"]
    assert cyclic("disk_on_wedge") == ["x"]
    assert cyclic("double_pendulum") == []
    assert cyclic("skate") == ["phi"]


def test_command_line():
    result = CliRunner().invoke(app, ["equations", "atwood", "--method", "Midpoint"])
    assert result.exit_code == 0
    assert "equations of motion" in result.output
    assert "discrete equations" in result.output
    assert "\\ddot{x}" in CliRunner().invoke(app, ["equations", "atwood", "--latex"]).output
    assert CliRunner().invoke(app, ["equations", "nothing"]).exit_code == 1
