"""What the pictures of a run show: panels by unit, bands, paths, two runs in one."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac


def labels(figure):
    return [ax.get_ylabel() for ax in figure.axes]


CART = ac.mechanical(
    np.array([1.0, 0.5, 2.0]),
    lambda t, q, params: 0.5 * q @ q,
    ac.Euclidean(3),
    coordinates=("x [m]", "theta [rad]", "y [m]"),
    name="cart",
)
RUN = {"q0": [1.0, 0.5, -1.0], "v0": [0.0, 1.0, 0.0], "h": 0.1, "steps": 20}
ONE = ac.simulate(CART, ac.Midpoint(), **RUN)


def test_a_panel_for_each_unit():
    figure = ONE.plot()
    assert labels(figure) == ["coordinates [m]", "theta [rad]", "energy - first value [J]"]
    first, second, _ = figure.axes
    for line, i in zip((*first.lines, *second.lines), (0, 2, 1), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), ONE.q[:, i])
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["x [m]", "y [m]"]


def test_two_runs_in_one_picture_have_colours_of_their_own():
    figure = ONE.plot()
    other = ac.simulate(CART, ac.Trapezoid(), **RUN)
    other.plot(figure.axes)
    assert figure.axes[0].get_title(loc="left") == "cart, Midpoint(), h = 0.1"
    for ax in figure.axes:
        colors = [line.get_color() for line in ax.lines]
        assert len(set(colors)) == len(colors)
    words = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert words == ["theta [rad]", "theta [rad], Trapezoid(), h = 0.1"]


def test_many_runs_are_their_median_and_bands():
    starts = np.random.default_rng(7).normal(size=(40, 3))
    many = ac.ensemble(CART, ac.Midpoint(), **RUN | {"q0": starts})
    axis = many.plot().axes[1]
    assert len(axis.lines) == 1
    assert len(axis.collections) == 2
    np.testing.assert_allclose(
        axis.lines[0].get_ydata(), np.median(many.q[:, :, 1], axis=0), rtol=1e-13
    )
    few = ac.ensemble(CART, ac.Midpoint(), **RUN | {"q0": starts[:3]})
    assert len(few.plot().axes[1].lines) == 3


def test_phase_portraits():
    figure = ONE.plot(kind="phase")
    assert [ax.get_xlabel() for ax in figure.axes] == ["x [m]", "theta [rad]", "y [m]"]
    assert labels(figure) == ["x' [m/s]", "theta' [rad/s]", "y' [m/s]"]
    for i, ax in enumerate(figure.axes):
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), ONE.q[:, i])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), ONE.v[:, i])


def free(t, q, v, params):
    return 0.5 * v @ v


def test_paths_of_points_and_poses():
    space = ac.Product(ac.Euclidean(3), ac.SO3(), ac.SE3())
    names = ("x [m]", "y [m]", "z [m]", *"abcdefghi")
    system = ac.System(free, space, coordinates=names)
    q0 = (jnp.zeros(3), jnp.eye(3), jnp.eye(4))
    run = ac.simulate(system, ac.Midpoint(), q0=q0, v0=jnp.arange(12.0), h=0.05, steps=4)
    axis: Any = run.plot(kind="path").axes[0]
    first, second = axis.get_lines()[0], axis.get_lines()[3]
    np.testing.assert_array_equal(np.array(first.get_data_3d()).T, run.q[0])
    np.testing.assert_array_equal(np.array(second.get_data_3d()).T, run.q[2][:, :3, 3])
    assert axis.get_zlabel() == "z [m]"
    plane = ac.simulate(
        ac.System(free, ac.SE2()), ac.Midpoint(), q0=jnp.eye(3), v0=jnp.ones(3), h=0.1, steps=4
    )
    (axis,) = plane.plot(kind="path").axes
    np.testing.assert_array_equal(axis.lines[0].get_xdata(), plane.q[:, 0, 2])
    skate = ac.System(free, ac.Euclidean(3), coordinates=("x [m]", "y [m]", "angle [rad]"))
    way = ac.simulate(skate, ac.Midpoint(), q0=[0, 1, 2], v0=[1, 1, 1], h=0.1, steps=4)
    (axis,) = way.plot(kind="path").axes
    np.testing.assert_array_equal(axis.lines[0].get_xydata(), way.q[:, :2])
    turning = ac.simulate(
        ac.System(free, ac.SO3()), ac.Midpoint(), q0=jnp.eye(3), v0=jnp.ones(3), h=0.1, steps=4
    )
    with pytest.raises(ValueError, match=r"kind='path' draws points .* This run has none"):
        turning.plot(kind="path")
    with pytest.raises(ValueError, match=r"kind='phase' draws each coordinate against its rate"):
        turning.plot(kind="phase")
    with pytest.raises(ValueError, match=r"kind must be one of 'time', 'phase', 'path'"):
        turning.plot(kind="nothing")


def test_movies_by_their_ending(tmp_path, monkeypatch):
    from accion.plot import movies

    with pytest.raises(ValueError, match=r"a movie is written as .gif, or by the program ffmpeg"):
        ONE.animate(path=tmp_path / "cart.avi")
    if movies.shutil.which("ffmpeg") is not None:
        for ending, mark in ((".mp4", b"ftyp"), (".webm", b"\x1aE\xdf\xa3")):
            ONE.animate(path=tmp_path / f"cart{ending}", seconds=0.2, fps=10)
            assert mark in (tmp_path / f"cart{ending}").read_bytes()[:32]
    monkeypatch.setattr(movies.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r".mp4 needs the program ffmpeg, which is not here"):
        ONE.animate(path=tmp_path / "other.mp4")
