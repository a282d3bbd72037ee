"""Equations with the dependent velocities eliminated, the connection and its curvature, and the
presymplectic system, in letters: against the accelerations that are run, brackets and closed forms.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac
from accion.gallery import rolling_disk, rolling_disk_se2
from tests.symbols.velocity_constraints import (
    CURVED,
    HEISENBERG,
    MOVING,
    SYSTEMS,
    area,
    number,
    values,
)

t = sp.Symbol("t")


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_equations_hold_along_the_motion(name, rng):
    system = SYSTEMS[name]
    reduced = ac.symbolic(system).reduced()
    at, (q, v, lam) = values(reduced, system, rng)
    np.testing.assert_allclose(number(reduced.inner_v, at), v, atol=1e-12)
    left, right = number(reduced.inner_operator, at), number(reduced.inner_right, at)
    np.testing.assert_allclose(left, right, atol=1e-10)
    assert any(e != 0 for e in reduced.inner_T)
    assert reduced.integrable is False
    if system.enters_action:
        rate = jax.grad(lambda e: system.L(0.4, system.space.retract(q, e), v, lam))(0 * v)
        p = system.legendre(0.4, q, v, lam)
        rate = rate + system.space.coad(v, p) + system.F(0.4, q, v)
        np.testing.assert_allclose(number(reduced.inner_P, at), p, atol=1e-11)
        np.testing.assert_allclose(
            number(reduced.inner_momentum_rates, at),
            rate[np.array(reduced.dependent_at)],
            atol=1e-11,
        )


def test_the_letters_of_heisenbergs_group():
    """Vakonomic: straight lines bent by p_z, which is constant; nonholonomic: straight lines."""
    reduced = ac.symbolic(HEISENBERG).reduced()
    x, y, z, pz = (sp.Function(name)(t) for name in ("x", "y", "z", "p_z"))
    assert reduced.dependent == (z.diff(t),)
    assert sp.Matrix([[y, -x]]) == reduced.A
    assert (sp.Matrix([[0, 2], [-2, 0]]),) == reduced.B
    assert reduced.gamma == (0,)
    assert reduced.Gamma == sp.zeros(1, 2)
    assert [str(e) for e in reduced.equations] == [
        str(sp.Eq(x.diff(t, 2), -2 * pz * y.diff(t))),
        str(sp.Eq(y.diff(t, 2), 2 * pz * x.diff(t))),
        str(sp.Eq(pz.diff(t), 0)),
        str(sp.Eq(z.diff(t), x * y.diff(t) - y * x.diff(t))),
    ]
    nonholonomic = ac.System(
        HEISENBERG.lagrangian, ac.Euclidean(3), nonholonomic=area, coordinates=("x", "y", "z")
    )
    other = ac.symbolic(nonholonomic).reduced("z")
    assert [e.rhs for e in other.equations[:2]] == [0, 0]
    assert "equations of motion" in other.text()


def test_the_curvature_of_the_rolling_disk():
    """B[a, b] = dA_a/dr_b - dA_b/dr_a, of x' = R cos(phi) theta', y' = R sin(phi) theta'; on SE(2)
    from the bracket [omega, v_1] = v_2 of the frame alone.
    """
    R, phi = sp.Symbol("R"), sp.Function("phi")(t)
    reduced = ac.symbolic(rolling_disk.system).reduced(["x", "y"])
    names = [str(v.args[0].func) for v in reduced.independent]
    across, along = names.index("phi"), names.index("theta")
    assert sp.simplify(reduced.B[0][along, across] - R * sp.sin(phi)) == 0
    assert sp.simplify(reduced.B[1][along, across] + R * sp.cos(phi)) == 0
    on_group = ac.symbolic(rolling_disk_se2.system).reduced()
    assert on_group.B[0] == sp.zeros(2, 2)
    assert on_group.B[1] == sp.Matrix([[0, R], [-R, 0]])


def test_holonomic_constraints_have_no_curvature():
    """Also where they are written with velocities, and move with time."""

    def differentiated(t, q, v, p):
        # of q2 (q0 + t) + sin(q1)
        return jnp.array([v[2] * (q[0] + t) + q[2] * (v[0] + 1) + jnp.cos(q[1]) * v[1]])

    free = ac.System(lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(3), nonholonomic=differentiated)
    reduced = ac.symbolic(free).reduced()
    assert reduced.integrable is True
    assert (sp.zeros(2, 2),) == reduced.B
    assert reduced.Gamma == sp.zeros(1, 2)
    held = ac.System(
        lambda t, q, v, p: 0.5 * v @ v,
        ac.Euclidean(2),
        holonomic=lambda t, q, p: jnp.array([q @ q - 1]),
    )
    assert ac.symbolic(held).reduced().integrable is True


def test_what_cannot_be_reduced():
    with pytest.raises(ValueError, match="not linear in the velocities: they have no connection"):
        _ = ac.symbolic(CURVED).reduced("q3").A
    flat = ac.System(
        HEISENBERG.lagrangian,
        ac.Euclidean(3),
        nonholonomic=lambda t, q, v, p: v[:1] - v[1:2],
        coordinates=("x", "y", "z"),
    )
    with pytest.raises(ValueError, match="do not determine z': choose other `dependent`"):
        _ = ac.symbolic(flat).reduced("z").Psi
    with pytest.raises(ValueError, match="dependent: 'w' is no velocity"):
        ac.symbolic(HEISENBERG).reduced("w")
    with pytest.raises(ValueError, match="dependent must be 1 different velocities"):
        ac.symbolic(HEISENBERG).reduced(["x", "y"])
    with pytest.raises(ValueError, match="presymplectic does not support holonomic and nonholo"):
        ac.symbolic(MOVING).presymplectic()


# ---------------------------------------------------------------- W0 and W1


def test_the_presymplectic_system_of_heisenbergs_group():
    w = ac.symbolic(HEISENBERG).presymplectic()
    x, y, px, py, pz = (sp.Function(name)(t) for name in ("x", "y", "p_x", "p_y", "p_z"))
    vx, vy = x.diff(t), y.diff(t)
    H = px * vx + py * vy + pz * (x * vy - y * vx) - (vx**2 + vy**2) / 2
    assert sp.expand(w.H_W0 - H) == 0
    assert sp.expand(w.H_W1 - ((px - y * pz) ** 2 + (py + x * pz) ** 2) / 2) == 0
    assert w.regularity == sp.eye(2)
    assert [sp.expand(e.rhs) for e in w.W1] == [vx + y * pz, vy - x * pz]
    assert w.Omega_W0.text() == "(1) dx ^ dp_x + (1) dy ^ dp_y + (1) dz ^ dp_z"
    assert w.Omega_W0.matrix.nullspace() == [sp.eye(8)[:, 6], sp.eye(8)[:, 7]]  # d/dv
    assert sp.simplify(w.Omega_W1.matrix.det()) == 1
    assert "Hamiltonian on W0" in w.text()


@pytest.mark.parametrize("name", ["curved", "vakonomic body", "vakonomic skate"])
def test_motions_are_hamiltonian_on_w1(name, rng):
    """i_X Omega_W1 = dH_W0 on W1, with X the motion itself; det Omega_W1 = (det C)^2."""
    system = SYSTEMS[name]
    w = ac.symbolic(system).presymplectic()
    r, form = w.reduced, w.Omega_W1
    at, _ = values(r, system, rng)
    own = {**dict(zip(r.for_reader((*r.x.v, *r.x.p)), (*r.x.v, *r.x.p), strict=True))}
    back = own | {r.for_reader(s): s for s in (*r.x.q, r.x.t)}

    def inner(expr):
        return expr.xreplace(back).xreplace({sp.Symbol(s.name): s for s in r.x.numbers})

    W = form.matrix.applyfunc(inner).xreplace(at)
    C = w.regularity.applyfunc(inner).xreplace(at)
    np.testing.assert_allclose(float(W.det()), float(C.det()) ** 2, rtol=1e-10)
    # H on W1 in the coordinates (q, v_r, p_s), and its derivatives.
    n, held = len(r.x.v), [r.x.p[i] for i in r.dependent_at]
    H = sp.Add(*(p * v for p, v in zip(r.inner_P, r.inner_v, strict=True))) - r.inner_L
    dH = [r.x.displaced(H, i) for i in range(n)]
    dH += [sp.diff(H, y) for y in (*r.r, *held)]
    force = number(r.inner_force, at)
    work = np.append(force, np.zeros(n))  # i_X Omega = dH - F
    rates = number((*r.inner_v, *(r.x.a[i] for i in r.independent_at), *r.inner_momentum_rates), at)
    change = number([sp.diff(P, r.x.t) for P in r.inner_P], at)  # Omega at fixed t
    left = rates @ np.array(W, float) - np.append(change, np.zeros(n))
    np.testing.assert_allclose(left, number(dH, at) - work, atol=1e-10)
