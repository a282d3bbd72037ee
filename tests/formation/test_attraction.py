"""Regions of attraction (Colombo-Gamonal, section 6.4): outcomes that are known, refinement, the
map.
"""

import numpy as np
import pytest

import accion as ac
from accion.formation import OUTCOMES, Formation, attraction, plot_attraction, refine, shapes
from accion.plot import save_figure

CONGRUENT, ANOTHER, NOT_CONVERGED, DIVERGED = range(4)
TRIANGLE = Formation.from_shape(
    [(0, 1), (1, 2), (2, 0)], np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 3.0]]), 5.0
)
SQUARE = Formation.from_shape(*shapes.square(4.0), 8.0)
GRID = [np.linspace(-4, 4, 9), np.linspace(-4, 4, 9)]


@pytest.fixture(scope="module")
def triangle():
    return attraction(TRIANGLE, 2, GRID, h=0.02, steps=500)


def test_a_triangle_closes_from_either_side(triangle):
    """Off the line through the other two it becomes the triangle, mirrored from below; on the line
    it stays there, which no small push survives.
    """
    below, line, above = GRID[1] < 0, GRID[1] == 0, GRID[1] > 0
    assert set(triangle.attrs) >= {"edges", "distances", "gains", "agent", "h", "steps", "rule"}
    assert triangle["outcome"].attrs["outcomes"] == list(OUTCOMES)
    assert np.all(triangle.outcome.values[:, above] == CONGRUENT)
    assert np.all(triangle.outcome.values[:, below] == CONGRUENT)
    assert np.all(triangle.outcome.values[:, line] == ANOTHER)
    assert np.all(triangle.mirrored.values[:, below])
    assert not np.any(triangle.mirrored.values[:, above])
    assert not np.any(triangle.stable.values)
    for q in triangle.other.values:
        assert np.linalg.matrix_rank(q - q.mean(axis=0), tol=1e-9) == 1
        np.testing.assert_allclose(
            ac.accelerations(TRIANGLE.system())(0.0, q.ravel(), np.zeros(6)), 0, atol=1e-9
        )
    assert np.all(triangle["shape"].values[:, line] > 0)
    # The mirror image of a start takes as long.
    np.testing.assert_allclose(
        triangle.time.values[:, below], triangle.time.values[:, above][:, ::-1], atol=1e-12
    )
    np.testing.assert_allclose(
        triangle.time.values[:, above], triangle.time.values[::-1, above], atol=1e-12
    )
    assert np.all(np.isnan(triangle.time.values[:, line]))


def settled(q):
    """The time of the first look, every 10 steps, from which all distances are within 1 % and
    speeds below 0.1.
    """
    speed = np.max(np.linalg.norm(np.diff(q, axis=0).reshape(-1, 3, 2), axis=2), axis=1) / 0.02
    good = np.all(np.abs(TRIANGLE.errors(q[1:])) <= 0.01 * TRIANGLE.distances, axis=1) & (
        speed < 0.1
    )
    looks = good[9::10]
    assert looks[-1]
    return (np.flatnonzero(~looks)[-1] + 1) * 10 * 0.02


@pytest.mark.parametrize("point", [(0, 8), (3, 1)])
def test_each_run_is_that_of_simulate(triangle, point):
    """The time, from a trajectory with every step."""
    q0 = np.array([-2.0, 0.0, 2.0, 0.0, GRID[0][point[0]], GRID[1][point[1]]])
    q = np.asarray(
        ac.simulate(TRIANGLE.system(), ac.Trapezoid(), q0=q0, v0=np.zeros(6), h=0.02, steps=500).q
    )
    np.testing.assert_allclose(triangle.time.values[point], settled(q), atol=1e-12)
    assert TRIANGLE.classify(q[-1]) == ("mirrored" if GRID[1][point[1]] < 0 else "same")


def test_a_square_can_fold():
    """Agent 2 on the wrong side of the diagonal ends on top of agent 4: all five distances, another
    shape.
    """
    ds = attraction(SQUARE, 1, [np.array([0.5, 3.5]), np.array([0.5, 3.5])], h=0.014, steps=500)
    # (3.5, 0.5); the diagonal itself is a line of symmetry
    right = np.array([[False, False], [True, False]])
    assert np.all(ds.outcome.values[right] == CONGRUENT)
    assert ds.outcome.values[0, 1] == ANOTHER
    number = int(ds["shape"].values[0, 1])
    q = ds.other.values[number - 1]
    np.testing.assert_allclose(SQUARE.errors(q.ravel()), 0, atol=1e-9)
    np.testing.assert_allclose(q[1], q[3], atol=1e-6)
    assert ds.stable.values[number - 1]


def test_runs_that_do_not_end():
    early = attraction(TRIANGLE, 2, GRID, h=0.02, steps=3).outcome.values
    assert early[4, 7] == early[4, 1] == CONGRUENT  # its own place, and that of the mirror image
    assert np.sum(early == NOT_CONVERGED) == 79
    far = attraction(TRIANGLE, 2, [np.array([0.0, 500.0]), np.array([3.0, 4.0])], h=0.02, steps=500)
    assert np.all(far.outcome.values[1] == DIVERGED)
    assert np.all(far.outcome.values[0] == CONGRUENT)
    assert np.isnan(far.time.values[1]).all()


def test_refinement_is_the_whole_grid_with_fewer_runs():
    f = Formation.from_shape(*shapes.hexagon(5.0), 13.0)
    coarse = attraction(f, 0, [np.linspace(-15, 15, 21)] * 2, h=0.014, steps=357)
    fine = refine(coarse)
    whole = attraction(f, 0, [fine.x.values, fine.y.values], h=0.014, steps=357)
    assert 0.1 < fine.computed.values.mean() < 0.6
    assert fine.sizes["x"] == 41
    at = fine.computed.values
    np.testing.assert_array_equal(fine.outcome.values[at], whole.outcome.values[at])
    np.testing.assert_array_equal(fine.time.values[at], whole.time.values[at])
    assert np.mean(fine.outcome.values == whole.outcome.values) > 0.99
    assert np.mean(whole.outcome.values == CONGRUENT) > 0.2
    assert np.mean(whole.outcome.values == ANOTHER) > 0.4


def test_the_map(tmp_path, triangle):
    save_figure(plot_attraction(triangle), tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10000
    f = Formation.from_shape(*shapes.pyramid(3.0), 8.0)
    space = attraction(
        f,
        3,
        [np.array([-1.0, 1.0]), np.array([-1.0, 1.5]), np.array([0.3, 2.0])],
        h=0.014,
        steps=200,
    )
    with pytest.raises(ValueError, match="two axes"):
        plot_attraction(space)
    assert plot_attraction(space.isel(z=0)) is not None


def test_several_agents_are_placed(triangle, tmp_path):
    """Where one of two is at its own place the outcomes are those of the other alone; elsewhere
    those of simulate; a store, a slice and a finer grid keep them.
    """
    x1, y1 = np.array([1.0, 2.0]), np.array([-1.0, 0.0, 1.0])
    # agent 3 before agent 2, each with its own axes
    both = attraction(TRIANGLE, (2, 1), [GRID[0][::2], GRID[1], x1, y1], h=0.02, steps=500)
    assert both.outcome.dims == ("x3", "y3", "x2", "y2")
    assert both.outcome.shape == (5, 9, 2, 3)
    home = both.sel(x2=2.0, y2=0.0)
    for name in ("outcome", "time", "mirrored"):
        np.testing.assert_array_equal(home[name], triangle[name].values[::2])
    away = both.sel(x3=-2.0, y3=-1.0, x2=1.0, y2=1.0)
    q0 = np.array([-2.0, 0.0, 1.0, 1.0, -2.0, -1.0])
    q = ac.simulate(TRIANGLE.system(), ac.Trapezoid(), q0=q0, v0=np.zeros(6), h=0.02, steps=500).q
    words = {"same": (0, False), "mirrored": (0, True)}[TRIANGLE.classify(q[-1])]
    assert (int(away.outcome), bool(away.mirrored)) == words
    ac.formation.save_attraction(both, tmp_path / "both")
    again = ac.formation.load_attraction(tmp_path / "both").load()
    fine = refine(again)
    assert fine.outcome.shape == (9, 17, 3, 5)
    at = {"x3": 0.0, "y3": -1.0, "x2": 1.5, "y2": 0.5}
    point = fine.sel(at)
    assert bool(point.computed)
    alone = attraction(
        TRIANGLE, (2, 1), [np.array([value]) for value in at.values()], h=0.02, steps=500
    )
    np.testing.assert_array_equal(point.outcome, alone.outcome.values.item())
    with pytest.raises(ValueError, match=r"two axes; this region has 4.*y2=0"):
        plot_attraction(again)
    plane, mixed = again.isel(x2=1, y2=2), again.isel(x3=0, x2=0)
    left = plot_attraction(plane).axes[0]
    assert (left.get_xlabel(), left.get_aspect()) == ("x of agent 3 [m]", 1.0)
    drawn = [np.asarray(line.get_xydata()).tolist() for line in left.lines]
    assert any(points[1:2] == [[2.0, 1.0]] for points in drawn)
    left = plot_attraction(mixed).axes[0]
    assert (left.get_ylabel(), len(left.lines)) == ("y of agent 2 [m]", 0)
    with pytest.raises(ValueError, match="Refine the whole map"):
        refine(plane)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_agents_that_move(engine):
    """Outcomes and times are those of simulate from the same velocities, of all agents or of the
    one that is placed.
    """
    axes = [np.array([-1.0, 0.5]), np.array([0.3, 2.0])]
    v0 = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -9.0]])
    options = {"h": 0.02, "steps": 300, "engine": engine}
    ds = attraction(TRIANGLE, 2, axes, v0=v0, **options)
    own = attraction(TRIANGLE, 2, axes, v0=[1.0, -9.0], **options)
    np.testing.assert_array_equal(ds.outcome, own.outcome)
    np.testing.assert_array_equal(ds.time, own.time)
    assert ds.mirrored.values[1, 0]  # thrown through the line of the others
    assert not ds.mirrored.values[1, 1]
    for i, j in np.ndindex(2, 2):
        q0 = np.array([-2.0, 0.0, 2.0, 0.0, axes[0][i], axes[1][j]])
        run = ac.simulate(
            TRIANGLE.system(), ac.Trapezoid(), q0=q0, v0=v0.ravel(), h=0.02, steps=300
        )
        word = TRIANGLE.classify(run.q[-1])
        assert word == ("mirrored" if ds.mirrored.values[i, j] else "same")
        np.testing.assert_allclose(ds.time.values[i, j], settled(np.asarray(run.q)), atol=1e-12)
    if engine == "native":
        fine = refine(ds)
        assert fine.attrs["v0"] == ds.attrs["v0"]
        assert fine.mirrored.values[2, 0]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((TRIANGLE, (1, 1), GRID * 2), {}, "different ones"),
        ((TRIANGLE, (), GRID), {}, "different ones"),
        ((TRIANGLE, (0, 1), GRID), {}, "4 vectors of increasing"),
        ((TRIANGLE, 0, GRID), {"v0": np.ones((2, 2))}, "of those that are placed"),
        ((TRIANGLE, 3, GRID), {}, "from 0 to 2"),
        ((TRIANGLE, 2, GRID[:1]), {}, "2 vectors of increasing"),
        ((TRIANGLE, 2, [GRID[0][::-1], GRID[1]]), {}, "2 vectors of increasing"),
        ((TRIANGLE, 2, GRID), {"h": -1.0}, "h, the step, must be positive"),
        ((TRIANGLE, 2, GRID), {"shape": np.ones((3, 2))}, "does not have the distances"),
        ((Formation([(0, 1)], 1.0, 2, 1.0), 0, GRID), {}, "needs the desired shape"),
    ],
)
def test_bad_input_is_named(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        attraction(*arguments, **{"h": 0.02, "steps": 10, **options})


def test_bad_refinement_is_named(triangle):
    with pytest.raises(ValueError, match="factor must be a whole number >= 2"):
        refine(triangle, factor=1)
    with pytest.raises(ValueError, match="no boundary"):
        refine(triangle.isel(y=slice(5, 9)))


def test_engines_agree():
    """Where each run goes, and when; the last positions to rounding."""
    edges, positions = ac.formation.shapes.square(5.0)
    team = ac.formation.Formation.from_shape(edges, positions, 13.0)
    grid = [np.linspace(-8.0, 8.0, 7), np.linspace(-8.0, 8.0, 5)]  # axes of two lengths
    asked = {"h": 0.014, "steps": 300}
    native, by_xla = (
        ac.formation.attraction(team, 0, grid, engine=engine, **asked)
        for engine in ("native", "xla")
    )
    assert native.sizes["x"] == 7
    assert len(np.unique(native["outcome"])) > 1
    for name in ("outcome", "mirrored", "shape", "stable"):
        np.testing.assert_array_equal(native[name], by_xla[name])
    np.testing.assert_allclose(native["time"], by_xla["time"])
    np.testing.assert_allclose(native["other"], by_xla["other"], atol=1e-8)
    finer = [ac.formation.refine(native, engine=engine) for engine in ("native", "xla")]
    np.testing.assert_array_equal(finer[0]["outcome"], finer[1]["outcome"])
    with pytest.raises(ValueError, match="engine must be"):
        ac.formation.attraction(team, 0, grid, engine="fast", **asked)
