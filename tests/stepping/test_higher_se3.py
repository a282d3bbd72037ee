"""A system of higher order on SE(3), under a force: its order, and the momentum of space that is
left.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from tests.stepping.higher_cases import MID, order_of

J = jnp.array([1.0, 2.0, 2.5, 1.0, 1.0, 1.0])
SYSTEM = ac.HigherOrderSystem(
    lambda t, g, v, a, p: 0.5 * a @ (J * a) + 0.5 * v @ v,
    ac.SE3(),
    # along the axis of space z, as the body sees it: horizontal momenta do not feel it
    force=lambda t, g, v, a, p: jnp.concatenate([jnp.zeros(3), -0.4 * g[2, :3]]),
    name="guided body",
)
V0 = 0.3 * np.array(
    [
        [0.4, -0.3, 0.2, 1.0, 0.2, 0.0],
        [0.1, 0.5, -0.2, 0.0, 0.3, 0.1],
        [0.2, 0.1, 0.3, 0.1, 0.0, 0.2],
    ]
)


def test_order_two_and_horizontal_momenta_on_se3():
    exact = ac.reference(SYSTEM, q0=np.eye(4), v0=V0, ts=[0.0, 0.8])[0][-1]

    def run(n):
        return ac.simulate(SYSTEM, MID, q0=np.eye(4), v0=V0, h=0.8 / n, steps=n)

    def error(n):
        return float(np.max(np.abs(run(n).q[-1] - exact)))

    order, least = order_of(error, (16, 32))
    assert order == pytest.approx(2, abs=0.15)
    assert least < 1e-3
    # Translations of space along x and along z, in the frame of the body.
    found = run(32)
    along = [lambda g, i=i: jnp.concatenate([jnp.zeros(3), g[i, :3]]) for i in (0, 2)]
    kept, pushed = (np.asarray(found.momentum(X)) for X in along)
    assert np.ptp(kept) < 1e-12 * np.max(np.abs(np.asarray(found.nodal.P)))
    rate = (pushed[-1] - pushed[0]) / 0.8
    assert rate == pytest.approx(-0.4, abs=1e-9)
