"""Paths of a trajectory: in the plane or in space, and of a coordinate and its rate."""

from typing import Any

import numpy as np

from accion.plot.figures import (
    COLORS,
    by_run,
    check_axes,
    coordinates,
    legend,
    new_figure,
    said,
)
from accion.plot.motion import Motion
from accion.spaces import SE2, SE3, Product
from accion.systems.base import unit_of, word_of

MOST = 6  # coordinates that have a picture each


def phase(traj: Motion, axes: Any = None) -> Any:
    """Each coordinate against its rate: a panel for each, of at most six.

    Returns: the figure. Raises: ValueError where configurations are no vectors or angles.
    """
    if traj.system is None or not traj.system.space.flat or "v" not in traj.labels:
        raise ValueError(
            "kind='phase' draws each coordinate against its rate: it needs the system, with vectors"
            " or angles as configurations and velocities; kind='time' draws any run."
        )
    (values, names), rates = coordinates(traj), traj.labels["v"].components
    v, count = by_run(traj, traj.v), min(len(names), MOST)
    if axes is None:
        columns = min(count, 3)
        rows = -(-count // columns)
        axes = list(new_figure(rows, columns, (4.2 * columns, 3.4 * rows))[1].ravel())
        for ax in axes[count:]:
            ax.set_visible(False)
        axes = axes[:count]
    axes = check_axes(axes, count)
    for i, ax in enumerate(axes):
        color = COLORS[len(ax.lines) % len(COLORS)]
        ax.plot(values[:, :, i].T, v[:, :, i].T, color=color, lw=1.0 if len(v) == 1 else 0.5)
        ax.set(xlabel=names[i], ylabel=rates[i])
    axes[0].set_title(said(traj), loc="left", fontsize=10)
    return axes[0].figure


def path(traj: Motion, axes: Any = None) -> Any:
    """The way of each point in the plane or in space, from a ring to a dot.

    Points are those of `places`. Returns: the figure. Raises: ValueError where there are none.
    """
    points, labels = places(traj)
    dim = points[0][1].shape[-1]
    ax = check_axes(axes, 1)[0] if axes is not None else empty(dim)
    for name, way in points:
        color = COLORS[len(ax.get_lines()) // 3 % len(COLORS)]
        for i, run in enumerate(way):
            words = name if i == 0 and len(points) > 1 else ""
            ax.plot(*run.T, color=color, lw=1.2 if len(way) == 1 else 0.5, label=words)
            good = run[np.isfinite(run).all(axis=-1)]
            ax.plot(*good[:1].T, "o", color=color, ms=5, mfc="none")
            ax.plot(*good[-1:].T, "o", color=color, ms=5)
    ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), labels, strict=False)))
    ax.set_aspect("equal")
    ax.set_title(said(traj), loc="left", fontsize=10)
    if 1 < len(points) <= 8:
        legend(ax)
    return ax.figure


def empty(dim: int) -> Any:
    """Axes of the plane, or of space."""
    if dim == 2:
        return new_figure(1, 1, (5.5, 5.0))[1][0, 0]
    figure, axes = new_figure(1, 1, (6.0, 5.5))
    axes[0, 0].remove()
    return figure.add_subplot(projection="3d")


def places(traj: Motion) -> tuple[list[tuple[str, np.ndarray]], list[str]]:
    """(name, positions of shape (runs, times, 2 or 3)) of each point, and the labels of the axes.

    Two or three coordinates of one unit are a point, beside angles too, and so are those of each
    factor of a product; of a pose it is where the body is.
    """
    if traj.system is None:
        raise ValueError("kind='path' needs the system: accion.load(path, system=...).")
    space = traj.system.space
    parts = traj.q if isinstance(traj.q, tuple) else (traj.q,)
    factors = space.factors if isinstance(space, Product) else (space,)
    runs, times, first, found = len(np.atleast_1d(traj.success)), len(traj.t), 0, []
    for part, factor in zip(parts, factors, strict=True):
        names = traj.system.coordinates[first : first + factor.dim]
        first += factor.dim
        array = np.asarray(part).reshape(runs, times, *np.shape(part)[-1 if factor.flat else -2 :])
        if isinstance(factor, SE2 | SE3):
            found.append((array[..., :-1, -1], ("x", "y", "z")[: factor.size - 1]))
        elif factor.flat and (which := place_of(names)):
            found.append((array[..., which], tuple(names[i] for i in which)))
    dims = {way.shape[-1] for way, _ in found}
    if len(dims) != 1:
        raise ValueError(
            "kind='path' draws points of the plane or of space: two or three coordinates of one"
            " unit, not angles, or poses. This run has none: name the units of its coordinates,"
            ' coordinates=("x [m]", "y [m]", ...); kind=\'time\' draws any run.'
        )
    labels = list(found[0][1]) if len(found) == 1 else shared([names for _, names in found])
    named = [", ".join(map(word_of, names)) for _, names in found]
    return list(zip(named, (way for way, _ in found), strict=True)), labels


def place_of(names: Any) -> list[int]:
    """Which of the coordinates of these names are a point: two or three of one unit, which is no
    angle; beside others they need one. None where there is no such point, or several.
    """
    units = [unit_of(name) for name in names]
    groups = [[i for i, each in enumerate(units) if each == unit] for unit in dict.fromkeys(units)]
    points = [
        which
        for which in groups
        if len(which) in (2, 3)
        and "rad" not in units[which[0]]
        and (units[which[0]] or len(groups) == 1)
    ]
    return points[0] if len(points) == 1 else []


def shared(names: list[tuple[str, ...]]) -> list[str]:
    """Labels of axes that several points share."""
    unit = unit_of(names[0][0])
    return [f"{letter} [{unit}]" if unit else letter for letter in ("x", "y", "z")][: len(names[0])]
