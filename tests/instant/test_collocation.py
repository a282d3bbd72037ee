"""Reference trajectories by collocation: its coefficients, motions known to 30 digits, and what it
has in common with the explicit method that serves where it does not.
"""

import json
from pathlib import Path

import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

import accion as ac
from accion.gallery import andrews, heavy_top, henon_heiles
from accion.instant import collocation, continuous
from accion.instant.collocation import STAGES, Marching, one_ahead, tables
from accion.instant.explicit import TIGHTEST
from tests.interrupts import interrupted
from tests.pairs.kinds import KINDS, case

ENDS = json.loads((Path(__file__).parents[1] / "data" / "ends.json").read_text())["ends"]
OSCILLATOR = ac.mechanical(1.0, lambda t, q, p: 0.5 * q[0] ** 2, 1)
PLANET = ac.mechanical(1.0, lambda t, q, p: -1 / jnp.linalg.norm(q), 2)
TURN = np.array([[0.8, -0.6], [0.6, 0.8]])


@pytest.fixture
def marches(monkeypatch):
    """All motions that were marched by collocation."""
    found = []

    def kept(*args):
        found.append(Marching(*args))
        return found[-1]

    monkeypatch.setattr(continuous, "Marching", kept)
    return found


def explicitly(monkeypatch):
    """From now on no native program for collocation can be had."""

    def refuse(*args):
        raise LookupError

    monkeypatch.setattr(continuous, "Marching", refuse)


def planet_at(q0, v0, t):
    """(q, v) of Kepler's motion from its apsis q0 = (r, 0), v0 = (0, v), from the doubles given and
    to 40 digits.
    """
    mp.mp.dps = 40
    r, v, t = mp.mpf(q0[0]), mp.mpf(v0[1]), mp.mpf(float(t))
    a, e = 1 / (2 / r - v**2), r * v**2 - 1
    n = a ** mp.mpf(-1.5)
    E = mp.findroot(lambda E: E - e * mp.sin(E) - n * t, n * t)
    b, rate = mp.sqrt(1 - e**2), n / (1 - e * mp.cos(E))
    q = [a * (mp.cos(E) - e), a * b * mp.sin(E)]
    return np.array([*q, -a * mp.sin(E) * rate, a * b * mp.cos(E) * rate], float)


def test_coefficients_integrate_polynomials():
    """sum_j a_ij c_j^k = c_i^(k+1) / (k + 1) below degree s, sum_j b_j c_j^k = 1 / (k + 1) below
    2s; V finds the coefficients of Legendre's polynomials, which go on beyond the step.
    """
    c, a, b, V = tables(STAGES)
    for k in range(2 * STAGES):
        np.testing.assert_allclose(b @ c**k, 1 / (k + 1), rtol=1e-14)
        if k < STAGES:
            np.testing.assert_allclose(a @ c**k, c ** (k + 1) / (k + 1), rtol=1e-13, atol=1e-16)
    shifted = [np.polynomial.legendre.Legendre.basis(k, [0, 1]) for k in range(STAGES)]
    for k, P in enumerate(shifted):
        np.testing.assert_allclose(V @ P(c), np.eye(STAGES)[k], atol=1e-14)
    weights = np.random.default_rng(1).normal(size=STAGES)
    for x in (0.3, 1.0, 1.4):
        exact = sum(w * P(x) for w, P in zip(weights, shifted, strict=True))
        np.testing.assert_allclose(one_ahead(weights[:, None], 2 * x - 1), [exact], rtol=1e-13)


def chain(t, q, v, params):
    across, down = jnp.cumsum(v * jnp.cos(q)), jnp.cumsum(v * jnp.sin(q))
    return 0.5 * jnp.sum(across**2 + down**2) + 9.81 * jnp.sum(jnp.cumsum(jnp.cos(q)))


def rotation(q):
    """That of a unit quaternion."""
    w, x = q[0], q[1:]
    hat = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return np.eye(3) + 2 * w * hat + 2 * hat @ hat


@pytest.mark.parametrize(
    ("key", "system", "q0", "v0", "error"),
    [
        ("henon_heiles", henon_heiles.system, henon_heiles.Q0, henon_heiles.V0, 2e-11),
        ("chain_2", ac.System(chain, ac.Torus(2)), [0.8, 0.8], [0.0, 0.0], 3e-14),
        ("heavy_top", heavy_top.system, heavy_top.R0, heavy_top.W0, 2e-14),
        pytest.param(
            "andrews", andrews.system, andrews.Q0, np.zeros(7), 4e-13, marks=pytest.mark.slow
        ),
    ],
)
def test_ends_known_to_thirty_digits(key, system, q0, v0, error, marches):
    """10,000 time units of Henon and Heiles, 100 of a chaotic double pendulum, 24 turns of a top on
    SO(3), seven bodies that are held together: errors near rounding, of which no less is said.
    """
    known = np.array(ENDS[key]["q"], dtype=float)
    known = rotation(known) if key == "heavy_top" else known
    ts = [0.0, ENDS[key]["duration"]]
    q, _, said = ac.reference(system, q0=q0, v0=v0, ts=ts, with_error=True)
    off = np.max(np.abs(np.asarray(q[-1]) - known))
    assert len(marches) == 3
    np.testing.assert_array_equal(ac.reference(system, q0=q0, v0=v0, ts=ts)[0], q)
    assert off < error
    assert off <= said[-1]


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("v", [1.2, 1.37])
def test_the_error_that_is_said_is_true(tolerance, v, marches):
    """Planets of eccentricity 0.44 and 0.88: what is off is told, and is not told a thousand times
    as large; with the tightest tolerance it is rounding alone.
    """
    start = {"q0": [1.0, 0.0], "v0": [0.0, v]}
    ts = np.array([0.0, 5.0, 60.0, 100.0, 200.0])
    q, rate, said = ac.reference(
        PLANET, **start, ts=ts, rtol=tolerance, atol=tolerance, with_error=True
    )
    exact = np.stack([planet_at(*start.values(), t) for t in ts])
    off = np.max(np.abs(np.hstack([q, rate]) - exact), axis=1)
    assert marches
    assert said[0] == 0
    assert np.all(off <= said)
    assert said[-1] < 1000 * np.max(off)
    assert tolerance > 1e-12 or np.max(off) < 1e-11


@pytest.mark.parametrize("tolerance", [1e-9, 1e-12, 1e-15])
def test_the_explicit_method_says_its_error_too(tolerance, monkeypatch):
    """What SciPy cannot be asked for it is not asked for, and no warning is seen."""
    explicitly(monkeypatch)
    start, ts = {"q0": [1.0, 0.0], "v0": [0.0, 1.2]}, np.array([0.0, 5.0, 200.0])
    q, rate, said = ac.reference(
        PLANET, **start, ts=ts, rtol=tolerance, atol=tolerance, with_error=True
    )
    exact = np.stack([planet_at(*start.values(), t) for t in ts])
    off = np.max(np.abs(np.hstack([q, rate]) - exact), axis=1)
    assert np.all(off <= said)
    assert said[-1] < 100 * off[-1]


def test_errors_are_told_by_runs_that_can_be_coarser():
    """SciPy takes no tolerances below 100 roundings: those of the other runs are larger still."""
    rtol, asked = 1e-17, []

    def motion(coarser, more):
        asked.append(coarser * rtol)
        return np.zeros((2, 1))

    said = continuous.estimated_error(motion, rtol, np.ones((2, 1)))
    np.testing.assert_allclose(said, [2.0, 2.0], rtol=1e-14)
    assert min(asked) > 2 * TIGHTEST


@pytest.mark.parametrize("space", ["vectors", "a group"])
@pytest.mark.parametrize("kind", [k for k in KINDS if not k.startswith("Discrete")])
def test_both_methods_agree_on_each_kind(kind, space, marches, monkeypatch):
    own = case(kind, space)
    given = {name: own.start.get(name) for name in ("q0", "v0", "S0", "lam0")}
    given |= {"ts": [0.0, 3 * own.h, 20 * own.h], "rtol": 1e-10, "atol": 1e-10}
    found = ac.reference(own.system, **given)
    assert len(marches) == 1
    explicitly(monkeypatch)
    for a, b in zip(found, ac.reference(own.system, **given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-15, 1e-60])
def test_tolerances_beyond_rounding_end_at_rounding(tolerance, marches):
    ts = [0.0, 0.5, 40.0]
    q, v = ac.reference(OSCILLATOR, q0=[1.0], v0=[0.0], ts=ts, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(q[:, 0], np.cos(ts), rtol=0, atol=2e-15)
    np.testing.assert_allclose(v[:, 0], -np.sin(ts), rtol=0, atol=2e-15)
    assert marches[0].now.count < 100


@pytest.mark.parametrize(
    "ts",
    [
        np.linspace(0, 10, 501),
        np.array([0.0, 1e-12, 3e-12, 10.0]),
        np.sort([0.0, *(5 + 1e-9 * np.arange(20)), *np.random.default_rng(3).uniform(0, 10, 30)]),
        np.array([1e6, np.nextafter(1e6, 2e6), 1e6 + 10]),
    ],
    ids=["dense", "early", "uneven", "late"],
)
def test_any_times_will_do(ts, marches):
    """No step is lost where a short one comes before a long one, and none is much too short."""
    q, v, said = ac.reference(OSCILLATOR, q0=[1.0], v0=[0.0], ts=ts, with_error=True)
    for found, exact in ((q, np.cos(ts - ts[0])), (v, -np.sin(ts - ts[0]))):
        off = np.abs(found[:, 0] - exact)
        assert np.all(off <= said)
        assert np.max(off) < 2e-14
    assert np.all(said[1:] > 0)
    assert marches[0].now.count < len(ts) + 25


@pytest.mark.parametrize("serves", [True, False])
def test_whole_and_neighbouring_times_will_do(serves, monkeypatch):
    if not serves:
        explicitly(monkeypatch)
    for ts in ([0, 1, 2], [1.0, np.nextafter(1.0, 2.0), 3.0]):
        q, _, said = ac.reference(OSCILLATOR, q0=[1.0], v0=[0.0], ts=ts, with_error=True)
        assert np.all(np.abs(q[:, 0] - np.cos(np.array(ts) - ts[0])) <= said)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("small", [1e-2, 1e-5, 1e-8])
def test_a_small_vibration_is_seen_beside_a_large_motion(small, tolerance):
    """Its error is below the tolerance, too, though the steps are as long as the large motion."""
    system = ac.mechanical(
        1.0,
        lambda t, q, w: 0.5 * (TURN @ q)[0] ** 2 + 0.5 * w**2 * (TURN @ q)[1] ** 2,
        2,
        params=60.0,
    )
    q0 = TURN.T @ np.array([1.0, small])
    q, _ = ac.reference(system, q0=q0, v0=[0.0, 0.0], ts=[0.0, 1.0], rtol=tolerance, atol=tolerance)
    exact = TURN.T @ np.array([np.cos(1.0), small * np.cos(60.0)])
    np.testing.assert_allclose(q[-1], exact, rtol=0, atol=tolerance)


def test_a_stiff_spring_is_followed(marches):
    """Steps are shortened until sweeps converge: 3,200 vibrations beside a slow motion."""
    w = 1e4
    system = ac.mechanical(1.0, lambda t, q, p: 0.5 * q[0] ** 2 + 0.5 * w**2 * (q[1] - 0.1) ** 2, 2)
    q, _, said = ac.reference(
        system, q0=[1.0, 0.2], v0=[0.0, 0.0], ts=[0.0, 2.0], rtol=1e-9, atol=1e-9, with_error=True
    )
    off = np.abs(q[-1] - np.array([np.cos(2.0), 0.1 + 0.1 * np.cos(2 * w)]))
    assert np.all(off < 1e-11)
    assert np.all(off <= said[-1])
    assert marches[0].now.count < 10_000


def test_stages_are_solved_to_rounding_whatever_the_tolerance():
    """A strongly damped oscillator, whose steps are limited by the sweeps alone."""
    system = ac.mechanical(
        1.0, lambda t, q, p: 0.5 * q[0] ** 2, 1, force=lambda t, q, v, p: -1e4 * v
    )
    q, _ = ac.reference(system, q0=[1.0], v0=[0.0], ts=[0.0, 5.0], rtol=1e-2, atol=1e-2)
    fast = (1e4 + np.sqrt(1e8 - 4)) / 2
    exact = np.exp(-5 / fast) / (1 - fast**-2)
    np.testing.assert_allclose(q[-1, 0], exact, rtol=5e-15)


def test_a_force_that_jumps_is_stepped_over():
    """Coulomb's friction: an oscillator about 0.1, and after it turns about -0.1."""
    system = ac.mechanical(
        1.0, lambda t, q, p: 0.5 * q[0] ** 2, 1, force=lambda t, q, v, p: -0.1 * jnp.sign(v)
    )
    q, _ = ac.reference(system, q0=[1.0], v0=[0.0], ts=[0.0, 5.0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(q[-1, 0], -0.1 - 0.7 * np.cos(5 - np.pi), rtol=0, atol=1e-9)


def test_steps_are_counted(marches):
    with pytest.raises(RuntimeError, match="max_steps is too small"):
        ac.reference(OSCILLATOR, q0=[1.0], v0=[0.0], ts=[0.0, 1e4], max_steps=50)
    assert marches[0].now.count == 50


def test_a_long_reference_is_interrupted():
    ac.reference(OSCILLATOR, q0=[1.0], v0=[0.0], ts=[0.0, 1.0])
    interrupted(
        lambda: ac.reference(OSCILLATOR, q0=[1.0], v0=[0.0], ts=[0.0, 1e12], max_steps=10**12)
    )


def test_an_engine_that_is_asked_for_serves(marches):
    """XLA has the explicit method; where a program would be too long, native has it as well."""
    given = {"q0": [1.0], "v0": [0.0], "ts": [0.0, 1.0]}
    for engine, count in (("auto", 1), ("native", 2), ("xla", 2)):
        q, _ = ac.reference(OSCILLATOR, **given, engine=engine)
        np.testing.assert_allclose(q[-1, 0], np.cos(1.0), rtol=1e-11)
        assert len(marches) == count
    many = ac.mechanical(1.0, lambda t, q, k: 0.5 * jnp.mean(k) * q[0] ** 2, 1, params=np.ones(490))
    q, _ = ac.reference(many, **given, engine="native")
    np.testing.assert_allclose(q[-1, 0], np.cos(1.0), rtol=1e-11)
    assert len(marches) == 2


def test_beyond_the_domain_there_is_no_motion(marches):
    """A mass that falls on a point, and one that is led out of where its force is known."""
    with pytest.raises(RuntimeError, match="may not exist that far"):
        ac.reference(PLANET, q0=[1.0, 0.0], v0=[0.0, 0.0], ts=[0.0, 2.0])
    root = ac.mechanical(1.0, lambda t, q, p: q[0] + q[0] ** 1.5, 1)
    with pytest.raises(RuntimeError, match="could not be integrated to t = 2"):
        ac.reference(root, q0=[1.0], v0=[0.0], ts=[0.0, 2.0])
    assert all(bool(march.now.stuck) for march in marches)
    assert all(march.now.count < 1000 for march in marches)


def test_the_error_of_a_step_is_estimated_from_above():
    """Along y' = y^2, whose coefficients fall like x^k, by long steps: x^(2s-4) is above the error
    x^2s, and below what would make steps half as long as they might be.
    """
    _, a, b, V = tables(STAGES)
    for h in (0.65, 0.7, 0.75):
        K = np.ones(STAGES)
        for _ in range(3000):
            K = (1 + h * a @ K) ** 2
        error = abs(1 + h * b @ K - 1 / (1 - h))
        estimate = float(collocation.error_of(h, jnp.asarray(V @ K)[:, None], jnp.ones(1)))
        assert 100 * error < estimate < 1e7 * error
