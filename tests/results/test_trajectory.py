"""Results: derived quantities, saving, loading, pictures."""

import errno
import json
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import methods
from accion.gallery import double_pendulum
from accion.methods import registry


@pytest.fixture(scope="module")
def traj():
    return ac.simulate(
        double_pendulum.system, ac.Midpoint(), q0=[1.0, 1.5], v0=[0.1, 0.0], h=0.01, steps=50
    )


@pytest.fixture(scope="module")
def many():
    return ac.ensemble(
        double_pendulum.system,
        ac.Midpoint(),
        q0=jnp.array([[1.0, 1.5], [0.5, 0.2]]),
        v0=[0.1, 0.0],
        h=0.01,
        steps=20,
    )


@pytest.fixture(scope="module")
def pair():
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - 0.5 * q[0] @ q[0] + jnp.cos(q[1][0]),
        ac.Product(ac.Euclidean(2), ac.Torus(1)),
    )
    return ac.simulate(
        system, ac.Midpoint(), q0=([0.1, 0.2], [0.3]), v0=[0.0, 0.0, 0.5], h=0.01, steps=20
    )


def test_energy_and_momentum_by_hand(traj):
    t, q, v = float(traj.t[7]), traj.q[7], traj.v[7]
    T = 0.5 * v @ np.asarray(mass_matrix(q)) @ v
    V = -9.81 * (1.7 * np.cos(q[0]) + 0.7 * 0.8 * np.cos(q[1]))
    np.testing.assert_allclose(traj.energy()[7], T + V, rtol=1e-13)
    np.testing.assert_allclose(traj.p[7], mass_matrix(q) @ v, rtol=1e-12)
    np.testing.assert_allclose(
        traj.momentum(lambda q: jnp.array([q[0], 1.0]))[7],
        traj.p[7] @ jnp.array([q[0], 1.0]),
        rtol=1e-14,
    )
    assert t == pytest.approx(0.07)


@pytest.mark.parametrize("which", ["traj", "many"])
@pytest.mark.parametrize(
    "X",
    [lambda q: 1.0, lambda q: q[:1], lambda q: (q[0], q[1]), "x"],
    ids=["number", "short", "tuple", "text"],
)
def test_a_field_that_is_none_is_named(X, which, request):
    with pytest.raises(ValueError, match=r"^X must be .*\(2,\)"):
        request.getfixturevalue(which).momentum(X)


def test_axes_that_are_none_are_named(traj):
    for axes in ("theta", 3, ["a", "b"]):
        with pytest.raises(ValueError, match="axes must be 2 axes of matplotlib"):
            traj.plot(axes)


def mass_matrix(q):
    c = 0.8 * 0.7 * np.cos(q[0] - q[1])
    return np.array([[1.7, c], [c, 0.7 * 0.64]])


def test_inverse_legendre_of_a_relativistic_particle():
    """A Lagrangian that is not quadratic in v: the velocity comes back from the momentum, near the
    speed of light too.
    """
    system = ac.System(
        lambda t, q, v, c: -(c**2) * jnp.sqrt(1 - v @ v / c**2) - 0.1 * q @ q, ac.Euclidean(2), 3.0
    )
    run = ac.simulate(system, ac.Midpoint(), q0=[0.5, 0.0], v0=[2.0, 2.1], h=0.01, steps=100)
    v, p = np.asarray(run.v), np.asarray(run.p)
    np.testing.assert_allclose(v[0], [2.0, 2.1], rtol=1e-13)
    np.testing.assert_allclose(
        v, p / np.sqrt(1 + np.sum(p**2, axis=1, keepdims=True) / 9), rtol=1e-12
    )


def test_what_reads_out_is_compiled_once_for_all_lengths(traj):
    """Velocities at 4, 51 and 301 times by one compiled function; the memory that it is given is
    bounded by the size of a row.
    """
    from accion.numerics.batches import at_times, batch_size, of_batch

    def speed(system, t, q, p):
        return jnp.sum(p**2), t

    cached: Any = of_batch
    before = cached.count()
    for count in (1, 4, 51, 256, 301, 700):
        pick = np.arange(count) % 51
        found, t = at_times(
            speed,
            False,
            traj.system,
            np.arange(1.0 * count),
            np.asarray(traj.q)[pick],
            np.asarray(traj.p)[pick],
        )
        np.testing.assert_allclose(found, np.sum(np.asarray(traj.p) ** 2, axis=1)[pick], rtol=1e-14)
        np.testing.assert_array_equal(t, np.arange(count))
    assert cached.count() <= before + 1
    assert batch_size((np.zeros((5, 2)),), 0) == batch_size((np.zeros((900, 2)),), 0) == 256
    assert batch_size((np.zeros((5, 1000)),), 0) == 16
    assert batch_size((np.zeros((3000, 5, 20)),), 1) == 1


def test_to_xarray_has_names_units_and_versions(traj):
    ds = traj.to_xarray()
    assert ds.q.dims == ("time", "coordinate")
    assert list(ds.coordinate.values) == ["alpha", "beta"]
    assert ds.q.attrs["units"] == "rad"
    assert ds.v.attrs["units"] == "rad/s"
    assert ds.time.attrs["units"] == "s"
    assert ds.energy.attrs["units"] == "J"
    assert ds.attrs["title"] == "double pendulum"
    assert ds.attrs["method"] == "Midpoint()"
    assert ds.attrs["h"] == 0.01
    assert "'gravity': 9.81" in ds.attrs["params"]
    assert set(json.loads(ds.attrs["versions"])) == {"python", "accion", "jax", "jaxlib", "numpy"}
    np.testing.assert_array_equal(ds.q.sel(coordinate="beta"), traj.q[:, 1])


@pytest.mark.parametrize("which", ["traj", "many", "pair"])
def test_save_and_load(which, tmp_path, request):
    run = request.getfixturevalue(which)
    path = tmp_path / "run.zarr"
    run.save(path)
    for system in (None, run.system):
        back = ac.load(path, system=system)
        for name in ("t", "p", "v", "iterations", "success", "steps_completed", "h"):
            np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
        for a, b in zip(
            back.q if isinstance(run.q, tuple) else [back.q],
            run.q if isinstance(run.q, tuple) else [run.q],
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(back.energy(), run.energy())
    assert [p.name for p in tmp_path.iterdir()] == ["run.zarr"]


def test_an_ensemble_is_loaded_with_the_system_that_it_took(many, tmp_path):
    """Params that vary come from the store, those that do not must be the system's own."""
    many.save(tmp_path / "many.zarr")
    back = ac.load(tmp_path / "many.zarr", double_pendulum.system)
    np.testing.assert_array_equal(
        back.each(lambda s, t, q, v: s.energy(t, q, v), back.q, back.v), many.energy()
    )
    own = {"m": jnp.array([1.0, 3.0]), "shape": jnp.ones((2, 2)), "how": "hard"}
    system = ac.System(
        lambda t, q, v, p: 0.5 * p["m"] * v @ v - jnp.sum(p["shape"]) * q @ q,
        ac.Euclidean(2),
        {"m": 2.0, "shape": jnp.ones(2), "how": "hard"},
    )
    run = ac.ensemble(
        system, ac.Midpoint(), q0=[1.0, 0.5], v0=[0.0, 0.0], h=0.1, steps=3, params=own
    )
    run.save(tmp_path / "run.zarr")
    for given in (
        system,
        run.system,
        system.with_params({"m": 7.0, "shape": jnp.ones(2), "how": "hard"}),
    ):
        back = ac.load(tmp_path / "run.zarr", given)
        np.testing.assert_array_equal(
            back.each(lambda s, t, q, v: s.energy(t, q, v), back.q, back.v), run.energy()
        )
        np.testing.assert_array_equal(back.system.params["m"], own["m"])
    for params, words in (
        (
            {"m": 2.0, "shape": 2 * jnp.ones(2), "how": "hard"},
            r"each of its runs has \[1.0, 1.0\] where the given one has \[2.0, 2.0\]",
        ),
        ({"m": 2.0, "shape": jnp.ones(2), "how": "soft"}, "another system: its params"),
        (
            {"m": 2.0, "shape": jnp.ones(3), "how": "hard"},
            r"shapes \[\(\), \(2,\)\], those of the given one \[\(\), \(3,\)\]",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            ac.load(tmp_path / "run.zarr", system.with_params(params))


def test_a_method_comes_back(tmp_path):
    alpha = methods.GeneralizedAlpha
    ac.simulate(
        double_pendulum.system, alpha(0.6), q0=[1.0, 1.5], v0=[0.1, 0.0], h=0.01, steps=2
    ).save(tmp_path / "run.zarr")
    assert ac.load(tmp_path / "run.zarr", double_pendulum.system).method == alpha(0.6)
    for method in (
        alpha(np.float64(0.5)),
        ac.Alpha(np.float64(0.3)),
        ac.Trapezoid(),
        ac.EnergyConsistent(ac.Alpha(0.3)),
        ac.EnergyEntropyConsistent(6),
        methods.Adjoint(ac.Midpoint()),
    ):
        assert registry.stored(repr(method)) == method
    own = ac.FiniteDifference(lambda h, q0, q1: [])
    for text in (repr(own), repr(ac.EnergyConsistent(own)), "print(1)", "Sample(w=1)"):
        assert registry.stored(text) is None


def test_save_refuses_what_exists_and_loses_nothing(traj, many, tmp_path):
    path = tmp_path / "run.zarr"
    traj.save(path)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        many.save(path)
    np.testing.assert_array_equal(ac.load(path).q, traj.q)
    many.save(path, overwrite=True)
    np.testing.assert_array_equal(ac.load(path).q, many.q)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        traj.save(tmp_path / "nowhere" / "run.zarr")


def test_save_to_a_folder_that_is_not_ours(traj):
    with pytest.raises(OSError, match=r"cannot write to /proc/run.zarr.*may write to"):
        traj.save("/proc/run.zarr")


@pytest.mark.parametrize("last", [0, 3, 20])
def test_a_save_that_is_cut_off_leaves_nothing(traj, tmp_path, monkeypatch, last):
    whole, begun = Path.open, []

    def broken(self, mode="r", *args, **more):
        if "w" in mode:
            begun.append(self.name)
            if len(begun) == last + 1:
                raise OSError(errno.ENOSPC, "no room")
        return whole(self, mode, *args, **more)

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(OSError, match=r"no room.*make room there"):
        traj.save(tmp_path / "run.zarr")
    # Zarr writes what it has begun to: nothing comes after.
    time.sleep(0.1)
    assert len(begun) == last + 1
    assert list(tmp_path.iterdir()) == []


def test_load_says_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ac.load(tmp_path / "nothing.zarr")
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="not a saved trajectory"):
        ac.load(tmp_path / "other")


def test_a_loaded_trajectory_without_system_says_so(traj, tmp_path):
    traj.save(tmp_path / "run.zarr")
    with pytest.raises(ValueError, match="system="):
        ac.load(tmp_path / "run.zarr").to_xarray()


@pytest.mark.parametrize("which", ["traj", "many", "pair"])
def test_plot_shows_coordinates_and_energy(which, request):
    run = request.getfixturevalue(which)
    figure = run.plot()
    top, *_, bottom = figure.axes
    shown = {tuple(np.asarray(line.get_ydata()).round(12)) for line in top.lines}
    first = run.q[0] if isinstance(run.q, tuple) else run.q
    expected = np.asarray(first if first.ndim == 2 else first[0])[:, 0]
    assert tuple(expected.round(12)) in shown
    assert bottom.get_xlabel() == "t [s]"
    if which == "traj":
        assert [text.get_text() for text in top.get_legend().get_texts()] == [
            "alpha [rad]",
            "beta [rad]",
        ]


@pytest.mark.parametrize("which", ["traj", "many"])
def test_a_notebook_shows_words_and_a_small_picture(which, request):
    run = request.getfixturevalue(which)
    text = run._repr_html_()
    assert text.startswith("<pre>Trajectory(double pendulum, Midpoint()")
    assert "data:image/png;base64," in text
    assert len(text) < 100_000
    assert run.plot()._repr_png_().startswith(b"\x89PNG")


def test_animate_writes_a_gif(traj, tmp_path):
    from PIL import Image

    path = tmp_path / "pendulum.gif"
    traj.animate(double_pendulum.positions, path, seconds=0.3)
    with Image.open(path) as image:
        assert getattr(image, "n_frames", 1) >= 8
    with pytest.raises(FileExistsError, match="exists"):
        traj.animate(double_pendulum.positions, path)
    with pytest.raises(ValueError, match=r"\.gif.*\.mp4"):
        traj.animate(double_pendulum.positions, tmp_path / "movie.avi")
    with pytest.raises(ValueError, match="points of the plane"):
        traj.animate(lambda q: q, tmp_path / "other.gif")


def test_a_movie_plays_in_a_notebook_without_the_network(pair):
    player = pair.animate(seconds=0.1)._repr_html_()
    assert "//maxcdn" not in player
    assert 'class="fa' not in player
    assert player.count("<button") == 9


def test_animate_without_positions(pair, many, tmp_path):
    pair.animate(path=tmp_path / "series.gif", seconds=0.2)
    assert (tmp_path / "series.gif").stat().st_size > 1000
    with pytest.raises(ValueError, match="one run"):
        many.animate()


def test_repr_tells_what_it_is(traj, many):
    assert (
        repr(traj)
        == "Trajectory(double pendulum, Midpoint(), 51 times from 0 to 0.5, success=True)"
    )
    assert "2 runs" in repr(many)
