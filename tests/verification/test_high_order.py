"""Orders four to ten and what their methods keep; the bounds are those named in docs/audit.md."""

import mpmath
import numpy as np
import pytest

import accion as ac
from accion.methods.coefficients import SETS
from tests.verification.high_order import ends, measure
from tests.verification.high_order.ends import known, start_of
from tests.verification.high_order.equations import EQUATIONS, pull
from tests.verification.high_order.measure import CASES
from tests.verification.high_order.motions import DURATION, MOTIONS, system_of


@pytest.mark.parametrize("name", MOTIONS)
def test_equations_are_those_of_the_system(name):
    """At places along the motion, derived by hand and by accion."""
    system, motion = system_of(name), MOTIONS[name]
    run = ac.simulate(system, ac.Galerkin(3), **motion.start, h=0.25, steps=40, save_every=10)
    accelerations = ac.accelerations(system)
    for k in range(5):
        own = [run.q[k], run.v[k]] + ([] if run.S is None else [run.S[k]])
        found = accelerations(0.0, *own)
        found = found[: 1 if run.S is None else 2] if isinstance(found, tuple) else (found,)
        rates = [rate_of(own[0], own[1]), *(np.ravel(part) for part in found)]
        expected = EQUATIONS[name]([mpmath.mpf(float(x)) for x in listed(*own)])
        np.testing.assert_allclose(
            np.concatenate(rates), np.array(expected, float), rtol=0, atol=2e-14
        )


def rate_of(q, v):
    """dq/dt of a velocity of the body."""
    if q.shape == (3, 3):
        return np.ravel(q @ np.cross(v, -np.eye(3)))
    if q.shape == (4, 4):
        return np.concatenate([rate_of(q[:3, :3], v[:3]), q[:3, :3] @ v[3:]])
    return np.asarray(v)


def listed(q, *rest):
    if q.shape == (4, 4):
        q = np.concatenate([np.ravel(q[:3, :3]), q[:3, 3]])
    return np.concatenate([np.ravel(part) for part in (q, *rest)])


@pytest.mark.parametrize("name", MOTIONS)
def test_ends_are_those_of_these_starts(name):
    np.testing.assert_array_equal(known(name, "start"), np.array(start_of(MOTIONS[name]), float))


@pytest.mark.parametrize(
    ("name", "method"), CASES, ids=[f"{name}-{method}" for name, method in CASES]
)
def test_order_and_what_is_kept(name, method):
    row = measure.measure(name, method)
    assert abs(row.order - row.claimed) < 0.15
    assert row.momentum < 1e-12
    assert (row.symplectic is not None) == MOTIONS[name].symplectic
    assert row.symplectic is None or row.symplectic < 1e-12


# ---------------------------------------------------------------- of order ten, with more digits


def test_coefficients_of_order_ten_with_more_digits():
    """Beyond the rounding of floats: kicks and drifts, written out, in numbers of 34 digits."""
    counts, errors = (192, 288), []
    with mpmath.workdps(34):
        half = [mpmath.mpf(text) for text in SETS["Sofroniou-Spaletta 10"].half]
        parts = [*half, 1 - 2 * sum(half), *half[::-1]]
        exact = ends.kept("flat")
        for count in counts:
            z = kicked(start_of(MOTIONS["flat"]), parts, mpmath.mpf(DURATION) / count, count)
            errors.append(mpmath.norm([a - b for a, b in zip(z, exact, strict=True)]))
    slope = float(mpmath.log(errors[0] / errors[1])) / np.log(counts[1] / counts[0])
    assert errors[1] < 1e-16
    assert abs(slope - 10) < 0.05


def kicked(z, parts, h, steps):
    x, y, vx, vy = z
    for _ in range(steps):
        for part in parts:
            k = part * h / 2
            x, y = x + k * vx, y + k * vy
            ax, ay = pull(x, y)
            vx, vy = vx + 2 * k * ax, vy + 2 * k * ay
            x, y = x + k * vx, y + k * vy
    return [x, y, vx, vy]
