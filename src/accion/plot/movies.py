"""Moving pictures of a trajectory."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accion.arguments import reals
from accion.errors import in_function
from accion.memory import check_room
from accion.plot.figures import COLORS, coordinates, new_figure
from accion.plot.motion import Motion
from accion.types import Configuration

if TYPE_CHECKING:  # matplotlib is imported where it is wanted
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The codec of each kind of video, with arguments of its own.
VIDEOS = {".mp4": ("libx264", ["-crf", "20"]), ".webm": ("libvpx-vp9", ["-crf", "30", "-b:v", "0"])}
PER_FRAME = 8  # bytes of the number of a picture; the pictures themselves are drawn one by one


def animation(
    traj: Motion,
    positions: Callable[[Configuration], Any] | None = None,
    path: str | Path | None = None,
    fps: int = 30,
    seconds: float | None = None,
) -> "FuncAnimation":
    """A matplotlib animation of one run, written as a GIF where `path` is given.

    Arguments: `positions(q)` gives the points to draw, shape (k, 2); `fps`, pictures for each
    second; it lasts as long as the motion, or `seconds`.
    Raises: ValueError for an ensemble, a single time, or another kind of file; FileExistsError.
    """
    import jax

    from accion.plot.picture import Movie

    if np.ndim(traj.success) == 1:
        raise ValueError(
            "animate shows one run; this is an ensemble. Simulate the member that you want to see."
        )
    if path is not None:
        check_ending(Path(path))
    if path is not None and Path(path).exists():
        raise FileExistsError(f"the path {path} exists; choose another path, or remove it.")
    solved = np.isfinite(np.asarray(traj.reduced_p).reshape(len(traj), -1)).all(axis=-1)
    t = np.asarray(traj.t)[solved]
    length = seconds if seconds is not None else float(t[-1] - t[0])
    if not length > 0:
        raise ValueError("there is nothing to animate: the trajectory has one time only.")
    check_room(
        round(min(length * fps, 1e300)) * PER_FRAME,
        "a movie of fps x seconds pictures",
        "Take fewer.",
    )
    frames = np.unique(
        np.searchsorted(t, np.linspace(t[0], t[-1], max(2, round(length * fps)))).clip(
            0, len(t) - 1
        )
    )
    values, names = coordinates(traj)
    q = values[0][: len(t)]
    if positions is not None:
        with in_function("positions"):
            drawn = jax.vmap(positions)(jax.tree.map(lambda a: a[: len(t)], traj.q))
        points = np.asarray(reals(drawn, "what positions(q) returns"))
        if points.ndim != 3 or points.shape[-1] != 2:
            raise ValueError(
                "positions(q) must return points of the plane, shape (k, 2); it returned"
                f" {points.shape[1:]}."
            )
        figure, draw = linkage(t, points)
    elif (
        traj.system is not None
        and traj.system.space.flat
        and q.shape[1] == 2
        and not any("rad" in u for u in traj.system.units)
    ):
        figure, draw = linkage(t, q[:, None, :])
    else:
        figure, draw = series(names, t, q)
    # The layout of the first picture is that of all: to compute it is most of what a picture takes.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    movie = Movie(figure, draw, frames=[int(i) for i in frames], interval=1000 / fps, blit=False)
    movie.settle()
    if path is not None:
        write(movie, figure, draw, [int(i) for i in frames], Path(path), fps)
    return movie


def check_ending(path: Path) -> None:
    """Raise ValueError where no movie of this ending can be written here."""
    ending = path.suffix.lower()
    if ending not in (".gif", *VIDEOS):
        raise ValueError(
            "a movie is written as .gif, or by the program ffmpeg as"
            f" {' or '.join(VIDEOS)}; got the path {path}."
        )
    if ending in VIDEOS and shutil.which("ffmpeg") is None:
        raise ValueError(f"{path}: {ending} needs the program ffmpeg, which is not here; try .gif.")


def write(
    movie: Any, figure: Any, draw: Callable[[int], Any], frames: list[int], path: Path, fps: int
) -> None:
    """The file of a movie."""
    from accion.plot import gif

    if path.suffix.lower() == ".gif":
        gif.write(figure, draw, frames, path, fps)
        return
    from matplotlib.animation import FFMpegWriter

    codec, more = VIDEOS[path.suffix.lower()]
    # Even numbers of dots, which codecs ask for.
    even = ["-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p", *more]
    movie.save(str(path), writer=FFMpegWriter(fps=fps, codec=codec, extra_args=even))


def canvas(size: tuple[float, float]) -> tuple["Figure", "Axes"]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure, axes = new_figure(1, 1, size)
    FigureCanvasAgg(figure)
    return figure, axes[0, 0]


def linkage(t: np.ndarray, points: np.ndarray) -> tuple["Figure", Callable[[int], Any]]:
    """Points joined by a line, with the trail of the last one; a point that is NaN is a gap in the
    line.
    """
    figure, ax = canvas((4.6, 4.6))
    center = np.nanmean(points, axis=(0, 1))
    reach = 1.1 * np.nanmax(np.abs(points - center)) or 1.0
    thin = points.shape[1] > 50
    ax.set(
        xlim=(center[0] - reach, center[0] + reach),
        ylim=(center[1] - reach, center[1] + reach),
        aspect="equal",
    )
    (trail,) = ax.plot([], [], color=COLORS[1], lw=0.8, alpha=0.7)
    (body,) = ax.plot([], [], "o-", color=COLORS[0], lw=0.5 if thin else 2, ms=2 if thin else 6)
    clock = ax.set_title("t = 0 s", loc="left", fontsize=10)

    def draw(i: int) -> Any:
        body.set_data(points[i, :, 0], points[i, :, 1])
        trail.set_data(
            points[max(0, i - len(t) // 5) : i + 1, -1, 0],
            points[max(0, i - len(t) // 5) : i + 1, -1, 1],
        )
        clock.set_text(f"t = {t[i]:.2f} s")
        return body, trail, clock

    return figure, draw


def series(
    names: tuple[str, ...], t: np.ndarray, q: np.ndarray
) -> tuple["Figure", Callable[[int], Any]]:
    """Coordinates over time, with a marker that moves."""
    figure, ax = canvas((6.4, 3.6))
    for i, name in enumerate(names):
        ax.plot(
            t, q[:, i], color=COLORS[i % len(COLORS)], lw=1, label=name if len(names) <= 8 else None
        )
    if len(names) <= 8:
        ax.legend(loc="upper right")
    ax.set_xlabel("t [s]")
    markers = [ax.plot([], [], "o", color=COLORS[i % len(COLORS)])[0] for i in range(q.shape[1])]

    def draw(i: int) -> Any:
        for k, marker in enumerate(markers):
            marker.set_data([t[i]], [q[i, k]])
        return markers

    return figure, draw
