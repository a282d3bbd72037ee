"""Reduced equations of vakonomic systems whose Lagrangian and constraints do not see the group: on
the Lie algebroid g x TM of a product of a group and a flat space, with the structure constants of
the group, in letters and along motions.
"""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac

INERTIA = jnp.array([1.0, 1.5, 2.2])
t = sp.Symbol("t")


def lagrangian(t, q, v, params):
    """A body with a wheel on a line inside of it, at x."""
    x = q[1][0]
    omega, rate = v[:3], v[3]
    return 0.5 * omega @ (INERTIA * omega) + 0.5 * rate**2 + 0.4 * x * omega[0] * rate - jnp.sin(x)


def rolling(t, q, v, params):
    """omega_3 is tied to the slide."""
    return (v[2] - (1 + q[1][0] ** 2) * v[3] - 0.3 * v[0])[None]


BODY = ac.System(
    lagrangian,
    ac.Product(ac.SO3(), ac.Euclidean(1)),
    vakonomic=rolling,
    coordinates=("w_1", "w_2", "w_3", "x"),
)
START = {"v0": np.array([0.3, -0.2, 0.6, 0.0]), "lam0": np.array([0.4])}
START["v0"][3] = (0.6 - 0.09) / (1 + 0.25)
TURN = ac.SO3().tau(jnp.array([0.7, -1.1, 0.4]))


def structure_constants():
    """C with [e_a, e_b] = C[a, b, c] e_c, of so(3), typed."""
    return np.array(
        [[[sp.LeviCivita(a, b, c) for c in range(3)] for b in range(3)] for a in range(3)]
    )


def test_the_equations_are_those_of_the_algebroid():
    """p_a' = C^c_ab w^b p_c and p_x' = dL/dx of L + lam.Phi, with rho(e_a) = 0 on M: no entry of
    the rotation is left in them.
    """
    eqs = ac.symbolic(BODY, seconds=5)
    x, C = eqs.variables, structure_constants()
    total, p = eqs.inner_total, eqs.inner_p
    assert not any(sp.sympify(e).has(*x.q[:9]) for e in eqs.inner_operator)
    for a in range(3):
        turned = sum(C[b, a, c] * x.v[b] * p[c] for b in range(3) for c in range(3))
        left = sp.expand(eqs.inner_operator[a] - (x.rate(p[a]) - turned))
        assert sp.simplify(left) == 0
    assert sp.simplify(eqs.inner_operator[3] - (x.rate(p[3]) - sp.diff(total, x.q[9]))) == 0


@pytest.mark.slow
def test_motions_are_those_of_the_reduced_equations():
    """What they do in (w, x, lam) does not depend on the rotation; and the momenta turn by the
    coadjoint action: R p is kept, in continuous and in discrete time.
    """
    ts, runs, steps = [0.0, 0.5, 1.0], [], []
    for R in (jnp.eye(3), TURN):
        q0 = (R, jnp.array([0.5]))
        q, v, lam = ac.reference(BODY, q0=q0, **START, ts=ts, rtol=1e-12, atol=1e-12)
        p = np.array([BODY.legendre(t, (q[0][i], q[1][i]), v[i], lam[i]) for i, t in enumerate(ts)])
        kept = np.einsum("tij,tj->ti", np.asarray(q[0]), p[:, :3])
        np.testing.assert_allclose(kept, np.tile(kept[0], (3, 1)), atol=1e-10)
        runs.append((q[1], v, lam))
        run = ac.simulate(BODY, ac.Midpoint(), q0=q0, **START, h=0.05, steps=20)
        steps.append((run.q[1], run.v, run.lam))
        kept = np.asarray(run.momentum(lambda q, R=R: jnp.append(q[0].T @ jnp.ones(3), 0.0)))
        assert np.ptp(kept) < 1e-12
    for one, other in zip(runs[0] + steps[0], runs[1] + steps[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
