"""Motion on groups: the continuous equations, the discrete ones, what they keep, and the comparison
with generalized-alpha."""

import numpy as np
import pytest

import accion as ac
from accion.methods import GeneralizedAlpha
from tests.stepping.group_motion_cases import XI, top


def test_generalized_alpha_damps_as_it_says():
    """Far above the frequencies that are resolved a step multiplies the motion by rho (with a
    double root: rho^k times a line in k).
    """
    for rho in (0.0, 0.5, 0.9):
        stiff = ac.System(
            lambda t, q, v, p: 0.5 * v @ v - 0.5 * p["k"] * q @ q, ac.Euclidean(1), {"k": 1e10}
        )
        traj = ac.simulate(stiff, GeneralizedAlpha(rho), q0=[1.0], v0=[0.0], h=1.0, steps=40)
        q = np.abs(np.asarray(traj.q)[:, 0])
        assert q[40] / q[39] == pytest.approx(rho, abs=0.06)


def test_generalized_alpha_on_a_constraint():
    """A pendulum held by x^2 + y^2 = 1: order 2, on the circle, and with the tension of the
    continuous motion.
    """
    held = ac.System(
        lambda t, q, v, p: 0.5 * v @ v - p["gravity"] * q[1],
        ac.Euclidean(2),
        {"gravity": 9.81},
        holonomic=lambda t, q, p: (q @ q - 1)[None],
    )
    start = {"q0": [0.6, -0.8], "v0": [0.8, 0.6]}
    found = ac.analysis.order(
        held, GeneralizedAlpha(0.8), **start, duration=1.0, h=[0.02, 0.01, 0.005]
    )
    assert abs(found.slope - 2) < 0.05
    traj = ac.simulate(held, GeneralizedAlpha(0.8), **start, h=0.005, steps=200)
    assert np.max(np.abs(np.sum(np.asarray(traj.q) ** 2, axis=1) - 1)) < 1e-12
    q, v = np.asarray(traj.q[0]), np.asarray(traj.v[0])
    # q'' = -g e_y + 2 lam q and q.q'' = -v.v, with |q| = 1.
    assert float(traj.lam[0, 0]) == pytest.approx(-(v @ v - 9.81 * q[1]) / 2, abs=1e-10)


def test_generalized_alpha_says_what_it_is_not():
    with pytest.raises(ValueError, match="0 <= rho <= 1"):
        GeneralizedAlpha(1.2)
    with pytest.raises(ValueError, match="not variational"):
        ac.discrete(top(), GeneralizedAlpha()).Ld(0.0, 0.1, np.eye(3), np.eye(3))
    vakonomic = ac.System(
        lambda t, q, v, p: 0.5 * v @ v, ac.Euclidean(2), vakonomic=lambda t, q, v, p: v[:1] - q[1:]
    )
    with pytest.raises(ValueError, match="does not support vakonomic"):
        ac.simulate(
            vakonomic, GeneralizedAlpha(), q0=[0.0, 0.0], v0=[0.0, 0.0], lam0=[0.0], h=0.1, steps=1
        )
    with pytest.raises(ValueError, match="not variational"):
        ac.simulate(
            top(), GeneralizedAlpha(), q0=np.eye(3), q1=ac.SO3().tau(0.1 * XI), h=0.1, steps=1
        )
