"""Inner points of a step have their place: a method of order four by two Gauss points."""

from dataclasses import dataclass
from math import sqrt

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.methods import Method, Sample


@dataclass(frozen=True)
class Parabola(Method):
    """The parabola through q0, an inner point and q1, sampled at two Gauss points (flat spaces)."""

    order = 4
    symmetric = True
    nodes = None
    variational = True
    inner_points = 1

    def check(self, system):
        """For tests on flat spaces."""

    def samples(self, space, t, h, q0, x, e0=None, e1=None, inner=None):
        moved = jnp.zeros_like(x) if e0 is None else e0
        end, y = x - moved if e1 is None else x + e1 - moved, inner[0] - moved
        found = []
        for c in ((1 - 1 / sqrt(3)) / 2, (1 + 1 / sqrt(3)) / 2):
            q = q0 + moved + 4 * c * (1 - c) * y + c * (2 * c - 1) * end
            v = (4 * (1 - 2 * c) * y + (4 * c - 1) * end) / h
            found.append(Sample(0.5, t + c * h, q, v))
        return found


def quartic(t, q, v, params):
    return 0.5 * v @ v - 0.25 * (q @ q) ** 2 - 0.3 * q[0] * q[1]


def drag(t, q, v, params):
    return -0.2 * v * (1 + v @ v)


Q0, V0 = [1.0, 0.2], [0.1, 0.7]


@pytest.mark.parametrize("force", [None, drag])
def test_inner_points_give_order_four(force):
    system = ac.System(quartic, ac.Euclidean(2), force=force)
    q, _ = ac.reference(system, q0=Q0, v0=V0, ts=[0.0, 2.0])
    errors = []
    for steps in (10, 20, 40):
        traj = ac.simulate(system, Parabola(), q0=Q0, v0=V0, h=2.0 / steps, steps=steps)
        errors.append(float(np.max(np.abs(traj.q[-1] - q[-1]))))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4.0, atol=0.35)


def test_both_engines_agree():
    system = ac.System(quartic, ac.Euclidean(2), force=drag)
    runs = [
        ac.simulate(system, Parabola(), q0=Q0, v0=V0, h=0.1, steps=20, engine=engine)
        for engine in ("native", "xla")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=1e-13, atol=1e-14)
