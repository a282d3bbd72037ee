"""The map of a region of attraction: the halos of Colombo-Gamonal Figure 8."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accion.arguments import door
from accion.formation.places import own_names, placed
from accion.formation.settling import ANOTHER, CONGRUENT, DIVERGED, NOT_CONVERGED
from accion.formation.storage import a_map
from accion.plot import new_figure
from accion.plot.figures import check_axes

if TYPE_CHECKING:  # both are imported where they are wanted
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

# of the other shapes; the rest share the last
SHADES = ("#edae49", "#d1495b", "#2e933c", "#6a4c93", "#00798c", "#8d6a9f")
SAME, MIRRORED, LATE, LOST = "#1b6ca8", "#9cc5e6", "#d9d9d9", "#3d405b"


class Class(NamedTuple):
    """One colour of the map."""

    mask: np.ndarray
    colour: str
    label: str


@door(ds=a_map)
def plot_attraction(ds: "Dataset", axes: Any = None) -> "Figure":
    """Where the agent may start, by where the formation goes, and how long it takes. For two
    dimensions, or a slice of more.

    A slice is one value of an axis: ds.sel(z=0.0, method="nearest"). The crosses are the other
    agents, the ring is the agent's own place; where the two axes are those of different agents, or
    one is an angle, the map is not one of a plane, and none is drawn.

    Arguments: `ds`, what `attraction` or `refine` returned; `axes`, two of matplotlib to draw in.
    Returns: the figure. Raises: ValueError where it has not two dimensions.
    """
    own = own_names(ds)
    names = [name for name in own if name in ds["outcome"].dims]
    if len(names) != 2:
        raise ValueError(
            f"a map has two axes; this region has {len(names)}. Choose a slice, such as"
            f" ds.sel({own[-1]}=0.0, method='nearest')."
        )
    left, right = new_figure(1, 2, (12.5, 5.6))[1][0] if axes is None else check_axes(axes, 2)
    x, y = (ds[name].values for name in names)
    draw_outcomes(left, ds, x, y)
    times = right.pcolormesh(
        x, y, ds["time"].values.T, cmap="viridis_r", shading="nearest", rasterized=True
    )
    right.figure.colorbar(times, ax=right, label="time to converge [s]", shrink=0.85)
    right.set_title("time until the desired shape is kept", loc="left", fontsize=10)
    for ax in (left, right):
        draw_formation(ax, ds, names)
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        ax.grid(visible=False)
    return left.figure


def draw_outcomes(ax: "Axes", ds: "Dataset", x: np.ndarray, y: np.ndarray) -> None:
    """The map itself, with how much of it each colour has."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    image = np.full(ds["outcome"].shape, -1)
    there = [one for one in classes(ds) if np.any(one.mask)]
    for i, one in enumerate(there):
        image[one.mask] = i
    ax.pcolormesh(
        x,
        y,
        image.T,
        cmap=ListedColormap([one.colour for one in there]),
        vmin=-0.5,
        vmax=len(there) - 0.5,
        shading="nearest",
        rasterized=True,
    )
    ax.set_title(
        f"where the formation goes, {'moving' if 'v0' in ds.attrs else 'from rest'}; {image.size}"
        f" points, {ds.attrs['steps']} steps",
        loc="left",
        fontsize=10,
    )
    ax.legend(
        handles=[
            Patch(color=one.colour, label=f"{one.label}: {np.mean(one.mask):.1%}") for one in there
        ],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.11),
        ncols=2,
        fontsize=8,
    )


def draw_formation(ax: "Axes", ds: "Dataset", names: Sequence[str]) -> None:
    """The desired shape: edges, other agents, and the agent's own place; agents that are placed
    too, in this slice at one point, are where it is.
    """
    place, d = ds["desired"].values.copy(), ds.sizes["axis"]
    agents, own = placed(ds), own_names(ds)
    each = len(own) // len(agents)  # axes of an agent
    where = [(agents[i // each], i % each) for i in map(own.index, names)]
    ax.set(
        xlabel=label_of(ds, names[0], where[0][0]),
        ylabel=label_of(ds, names[1], where[1][0]),
    )
    (agent, *others), columns = {who for who, _ in where}, [column for _, column in where]
    if others or max(columns) >= d:
        return
    for i, name in enumerate(own):
        if agents[i // each] != agent and i % each < d and name in ds.coords:
            place[agents[i // each], i % each] = float(ds[name])
    for i, j in json.loads(ds.attrs["edges"]):
        ax.plot(*place[[i, j]][:, columns].T, color="k", lw=0.7, alpha=0.6)
    ax.plot(*np.delete(place, agent, axis=0)[:, columns].T, "kx", ms=6, mew=1.6)
    ax.plot(*place[agent, columns], "o", ms=8, mfc="none", mec="k", mew=1.6)
    ax.set(aspect="equal")


def label_of(ds: "Dataset", name: str, agent: int) -> str:
    """The words at an axis."""
    return f"{name.rstrip('0123456789')} of agent {agent + 1} [{ds[name].attrs['units']}]"


def classes(ds: "Dataset") -> list[Class]:
    """What the map distinguishes."""
    outcome, mirrored, number = ds["outcome"].values, ds["mirrored"].values, ds["shape"].values
    elsewhere = outcome == ANOTHER
    found = [
        Class((outcome == CONGRUENT) & ~mirrored, SAME, "desired shape"),
        Class((outcome == CONGRUENT) & mirrored, MIRRORED, "desired shape, mirrored"),
    ]
    count = int(np.max(number, initial=0))
    for k in range(1, min(count, len(SHADES) - 1) + 1):
        words = "" if ds["stable"].values[k - 1] else " (unstable)"
        found.append(Class(elsewhere & (number == k), SHADES[k - 1], f"another shape, {k}{words}"))
    rest = elsewhere & ((number >= len(SHADES)) | (number < 1))
    return [
        *found,
        Class(rest, SHADES[-1], "other shapes"),
        Class(outcome == NOT_CONVERGED, LATE, "not converged"),
        Class(outcome == DIVERGED, LOST, "diverged"),
    ]
