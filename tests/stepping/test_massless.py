"""A coordinate without mass, which a constraint of the action moves: geodesics of Heisenberg's
group, also from its origin, where the terms of the constraint cancel.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import accion as ac
from accion.gallery.heisenberg import Q0, V0, H, exact, shortest

GALERKIN = ac.Galerkin(2)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_step_from_the_origin(engine):
    """Area is swept from nothing: where the increment of z is zero by cancellation alone its size
    is that of what cancels. The circle is closed, and z is its area.
    """
    lam = 2 * np.pi
    for steps in (20, 23, 29):
        traj = ac.simulate(
            shortest,
            ac.Midpoint(),
            q0=np.zeros(3),
            v0=[1.0, 0.0, 0.0],
            lam0=[lam],
            h=1 / steps,
            steps=steps,
            engine=engine,
        )
        assert_allclose(traj.q[-1], [0, 0, np.pi / lam**2], atol=0.6 / steps**2 * lam)


def test_flow_of_a_vakonomic_system_by_galerkin():
    """One step of the flow is that of a run, and symplectic; a function of two ends is
    refused, the run between two ends is found."""
    start = {"q0": Q0, "v0": V0, "lam0": [1.5]}
    traj = ac.simulate(shortest, GALERKIN, **start, h=H, steps=20)
    assert_allclose(traj.q[-1], exact(20 * H, 1.5), atol=1e-6)
    d = ac.discrete(shortest, GALERKIN)
    q, p = d.hamiltonian_flow(0.0, H, traj.q[0], traj.p[0])
    assert_allclose(q, traj.q[1], atol=1e-15)
    assert_allclose(p, traj.p[1], atol=1e-15)
    assert ac.analysis.symplecticity(shortest, GALERKIN, **start, h=H) < 1e-13
    with pytest.raises(ValueError, match="which its two ends do not give"):
        d.Ld(0.0, H, traj.q[0], traj.q[1])
    found = ac.connect(shortest, GALERKIN, qa=Q0, qb=traj.q[-1], duration=20 * H, steps=20)
    assert_allclose(found.q, traj.q, atol=1e-11)
