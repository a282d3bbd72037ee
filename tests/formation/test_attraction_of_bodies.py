"""Regions of attraction of bodies on SE(2) and SE(3): those of points where bodies do not turn, the
pendulum that the angle between two of them is, and shapes that differ by their attitudes.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import accion as ac
from accion.formation import Formation, RigidFormation, Rule, attraction, refine, shapes
from accion.formation.endings import number_shapes
from accion.formation.teams import team_of
from accion.plot import save_figure

CONGRUENT, ANOTHER, NOT_CONVERGED, DIVERGED = range(4)
EDGES, TRIANGLE = shapes.polygon(3, 1.0)
KAPPA, A, J, H, STEPS = 3.0, 0.8, 0.2, 0.02, 400
RULE = Rule()
OPTIONS = {"damping": KAPPA, "alignment": A}
TEAM = RigidFormation.from_shape(EDGES, TRIANGLE, inertia=J, **OPTIONS)
IN_SPACE = RigidFormation.from_shape([(0, 1)], np.eye(3)[:2], inertia=[J] * 3, **OPTIONS)
# agent 1 before, on and behind the line of the others, on which the triangle stays flat
GRID = [np.array([-2.0, -0.5, 1.0]), np.array([-0.7, 0.0, 0.3])]


@pytest.fixture(scope="module")
def bodies():
    return attraction(TEAM, 0, GRID, h=H, steps=STEPS)


def test_bodies_that_do_not_turn_are_points(bodies):
    """Outcomes, times and shapes are those of `Formation`."""
    team = Formation.from_shape(EDGES, TRIANGLE, KAPPA)
    points = attraction(team, 0, GRID, h=H, steps=STEPS)
    for name in ("outcome", "mirrored", "shape", "stable"):
        np.testing.assert_array_equal(bodies[name], points[name])
    np.testing.assert_allclose(bodies.time, points.time, atol=1e-12)
    np.testing.assert_allclose(bodies.potential, points.potential, rtol=1e-6)
    assert len(np.unique(bodies.outcome)) > 1
    assert bodies.mirrored.values.any()
    np.testing.assert_allclose(
        bodies.other_attitudes, np.broadcast_to(np.eye(2), bodies.other_attitudes.shape), atol=1e-9
    )


def calm_from(phi):
    """When a pendulum is calm for good, J phi'' = -kappa J phi' - 2 a sin(phi): the angle between
    two bodies, which turn against each other at half its rate.
    """
    found = solve_ivp(
        lambda t, y: [y[1], -KAPPA * y[1] - 2 * A / J * np.sin(y[0])],
        (0.0, H * STEPS),
        [phi, 0.0],
        rtol=1e-10,
        atol=1e-12,
        dense_output=True,
    )
    t = np.linspace(0, H * STEPS, 40001)
    angle, rate = found.sol(t)
    restless = (np.abs(angle) > RULE.angle) | (np.abs(rate) > 2 * RULE.spin)
    return t[np.flatnonzero(restless)[-1]]


def test_the_angle_between_two_bodies_in_space():
    """Where one of two bodies is turned about any axis by phi the time is that of a pendulum, by
    the looks at the rule; at phi = pi they stay, which no small turn survives.
    """
    small = np.array([0.0, 0.9])
    grid = [np.array([0.0]), np.array([1.0]), np.array([0.0]), small, small, np.array([2.0, np.pi])]
    ds = attraction(IN_SPACE, 1, grid, h=H, steps=STEPS, shape=np.eye(3)[:2])
    assert ds.outcome.dims == ("x", "y", "z", "rx", "ry", "rz")
    assert ds.rz.attrs["units"] == "rad"
    look = RULE.every * H
    for i, j, k in np.ndindex(2, 2, 2):
        phi = np.linalg.norm([small[i], small[j], grid[5][k]])
        here = ds.isel(x=0, y=0, z=0, rx=i, ry=j, rz=k)
        if phi == np.pi:
            assert int(here.outcome) == ANOTHER
            assert not bool(ds.stable[int(here["shape"]) - 1])
            assert float(ds.potential[int(here["shape"]) - 1]) == pytest.approx(2 * A)
            continue
        phi = 2 * np.pi - phi if phi > np.pi else phi  # the short way round
        assert int(here.outcome) == CONGRUENT
        # the time of the last look before it; h^2 is the error of the motion
        assert -look - 0.02 < float(here.time) - calm_from(phi) < 0.02


def test_a_finer_map_from_a_store(bodies, tmp_path):
    """Of an angle, where one body spins: the runs are those of simulate; a slice is drawn."""
    axes = [np.array([-0.5, 1.0]), np.array([0.3]), np.array([0.0, 3.0])]
    ds = attraction(TEAM, 0, axes, v0=[2.0, 0.0, 0.5], h=H, steps=130)
    for i, k in np.ndindex(2, 2):
        turned = np.tile(np.eye(2), (3, 1, 1))
        turned[0] = Rotation.from_euler("z", axes[2][k]).as_matrix()[:2, :2]
        q0 = TEAM.poses([[axes[0][i], 0.3], *TRIANGLE[1:]], turned)
        v0 = np.zeros((3, 3))
        v0[0] = [2.0, 0.0, 0.5]
        run = ac.simulate(TEAM.system(), ac.Trapezoid(), q0=q0, v0=v0.ravel(), h=H, steps=130)
        far, angle = (np.abs(f(run.q))[-1] for f in (TEAM.errors, TEAM.angles))
        v = np.asarray(run.v[-1]).reshape(3, 3)
        formed = np.all(far < 0.01 * TEAM.distances) & np.all(angle < RULE.angle)
        slow = np.all(np.abs(v[:, 0]) < RULE.spin) & np.all(np.hypot(*v.T[1:]) < RULE.speed)
        assert int(ds.outcome[i, 0, k] == CONGRUENT) == int(formed & slow)
    assert len(np.unique(ds.outcome)) > 1
    ac.formation.save_attraction(bodies, tmp_path / "bodies")
    again = ac.formation.load_attraction(tmp_path / "bodies").load()
    fine = refine(again)
    np.testing.assert_array_equal(fine.outcome.values[::2, ::2], bodies.outcome)
    for figure in (
        ac.formation.plot_attraction(again),
        ac.formation.plot_attraction(ds.isel(y=0)),
    ):
        save_figure(figure, tmp_path / "map.png")
    assert figure.axes[0].get_ylabel() == "angle of agent 1 [rad]"


def test_a_ring_that_is_twisted():
    """Five bodies on a ring, each turned by 2 pi/5 from the next: an equilibrium of the attitudes
    with positive second derivatives a cos(2 pi/5), which is another shape; three of them, of which
    the derivatives are negative, are none that is stable.
    """
    for n, stable in ((5, True), (3, False)):
        ring = [(i, (i + 1) % n) for i in range(n)]
        centres = shapes.circle(n, 1.0)
        team = RigidFormation.from_shape(ring, centres, inertia=J, **OPTIONS)
        angles = 2 * np.pi * np.arange(n) / n + 0.01 * np.sin(np.arange(n))
        turned = Rotation.from_euler("z", angles[:, None]).as_matrix()[:, :2, :2]
        own = team_of(team)
        rows = own.in_rows(own.placed(centres[None], turned))
        outcome, number, (found,) = number_shapes(
            own, team.system(), centres, np.array([ANOTHER]), (np.array([0]), rows), 0, 2
        )
        assert (outcome[0], number[0], found.stable) == (ANOTHER, 1, stable)
        assert found.potential == pytest.approx(n * A * (1 - np.cos(2 * np.pi / n)))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((TEAM, 0, GRID * 2), {}, "or 3: after its coordinates the angles"),
        ((TEAM, 0, GRID), {"attitudes": np.ones((3, 2, 2))}, r"attitudes\[0\] is no rotation"),
        ((TEAM, 0, GRID), {"attitudes": np.eye(2)}, r"must have shape \(3, 2, 2\)"),
        ((TEAM, 0, GRID), {"v0": np.ones((3, 2))}, r"v0 must have shape \(3, 3\)"),
        ((TEAM, 0, GRID), {"shape": np.ones(3)}, r"have shape \(3, 2\)"),
        ((RigidFormation(EDGES, 1.0, 2), 0, GRID), {}, "needs the desired shape"),
    ],
)
def test_bad_input_is_named(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        attraction(*arguments, **{"h": H, "steps": 10, **options})
    team = Formation.from_shape(EDGES, TRIANGLE, KAPPA)
    with pytest.raises(ValueError, match="have none"):
        attraction(team, 0, GRID, h=H, steps=10, attitudes=np.eye(2))
