"""The map of a region of attraction: the halos of 002 Figure 8."""

import numpy as np

from accion.formation.attraction import ANOTHER, CONGRUENT, DIVERGED, NOT_CONVERGED
from accion.plot import new_figure

# of the other shapes; the rest share the last
SHADES = ("#edae49", "#d1495b", "#2e933c", "#6a4c93", "#00798c", "#8d6a9f")
SAME, MIRRORED, LATE, LOST = "#1b6ca8", "#9cc5e6", "#d9d9d9", "#3d405b"


def plot_attraction(ds, axes=None):
    """Where the agent may start, by where the formation goes, and how long it takes; returns the
    figure. For two dimensions, or a slice of three.

    A slice is one value of an axis: ds.sel(z=0.0, method="nearest"). The crosses are the other
    agents, the ring is the agent's own place.
    """
    import json

    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    names = [name for name in ("x", "y", "z") if name in ds["outcome"].dims]
    if len(names) != 2:
        raise ValueError(
            f"a map has two axes; this region has {len(names)}. Choose a slice, such as"
            " ds.sel(z=0.0, method='nearest')."
        )
    if axes is None:
        _, grid = new_figure(1, 2, (12.5, 5.6))
        axes = grid[0]
    colours, legend = classes(ds)
    image, labels, handles = np.full(ds["outcome"].shape, -1), [], []
    for mask, colour, label in zip(*colours, strict=True):
        if np.any(mask):
            image[mask] = len(labels)
            labels.append(colour)
            handles.append(Patch(color=colour, label=f"{label}: {np.mean(mask):.1%}"))
    x, y = (ds[name].values for name in names)
    left, right = axes
    left.pcolormesh(
        x,
        y,
        image.T,
        cmap=ListedColormap(labels),
        vmin=-0.5,
        vmax=len(labels) - 0.5,
        shading="nearest",
        rasterized=True,
    )
    shown = right.pcolormesh(
        x, y, ds["time"].values.T, cmap="viridis_r", shading="nearest", rasterized=True
    )
    right.figure.colorbar(shown, ax=right, label="time to converge [s]", shrink=0.85)
    place, agent = ds["desired"].values, int(ds.attrs["agent"])
    columns = ["xyz".index(name) for name in names]
    for ax in axes:
        for i, j in json.loads(ds.attrs["edges"]):
            ax.plot(*place[[i, j]][:, columns].T, color="k", lw=0.7, alpha=0.6)
        ax.plot(*np.delete(place, agent, axis=0)[:, columns].T, "kx", ms=6, mew=1.6)
        ax.plot(*place[agent, columns], "o", ms=8, mfc="none", mec="k", mew=1.6)
        ax.set(
            xlabel=f"{names[0]} of agent {agent + 1} [m]",
            ylabel=f"{names[1]} of agent {agent + 1} [m]",
            aspect="equal",
        )
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        ax.grid(visible=False)
    left.set_title(legend, loc="left", fontsize=10)
    right.set_title("time until the desired shape is kept", loc="left", fontsize=10)
    left.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=2, fontsize=8
    )
    return left.figure


def classes(ds):
    """((masks, colours, labels), title): what the map distinguishes."""
    outcome, mirrored, number = ds["outcome"].values, ds["mirrored"].values, ds["shape"].values
    found = [
        ((outcome == CONGRUENT) & ~mirrored, SAME, "desired shape"),
        ((outcome == CONGRUENT) & mirrored, MIRRORED, "desired shape, mirrored"),
    ]
    count = int(np.max(number, initial=0))
    for k in range(1, min(count, len(SHADES) - 1) + 1):
        found.append(
            (
                (outcome == ANOTHER) & (number == k),
                SHADES[k - 1],
                f"another shape, {k}" + ("" if ds["stable"].values[k - 1] else " (unstable)"),
            )
        )
    found += [
        (
            (outcome == ANOTHER) & ((number >= len(SHADES)) | (number < 1)),
            SHADES[-1],
            "other shapes",
        ),
        (outcome == NOT_CONVERGED, LATE, "not converged"),
        (outcome == DIVERGED, LOST, "diverged"),
    ]
    return (
        zip(*found, strict=True),
        f"where the formation goes, from rest; {outcome.size} points, {ds.attrs['steps']} steps",
    )
