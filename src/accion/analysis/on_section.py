"""The points of a Poincare section."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from accion.arguments import at_least, door, shown
from accion.methods import Method
from accion.plot import section as picture
from accion.results.channels import labels

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

MOVES = 1e-9  # of the largest spread of a component: one with less stands still
Axis = str | Callable[..., Any] | None


@dataclass(frozen=True)
class Section:
    """Where motions cross the surface g = 0, run after run and in the order of time.

    `t`, `q`, `v`, `p`, of a thermal system `S` and of a contact system `z`: the motion at the
    crossings, with a row for each; `run`: which of the runs it is, shape (rows,); `rises`: whether
    g rises there; `g`: what is left of it; `runs`: how many there were; `h`, `system`, `method`:
    what was run.
    """

    t: np.ndarray
    q: Any
    v: np.ndarray
    p: np.ndarray
    S: np.ndarray | None
    z: np.ndarray | None
    run: np.ndarray
    rises: np.ndarray
    g: np.ndarray
    runs: int
    h: float
    system: Any
    method: Method | None

    def __len__(self) -> int:
        """The number of crossings."""
        return len(self.t)

    def __repr__(self) -> str:
        return f"Section({self.system.name}, {self.runs} runs, {len(self)} crossings)"

    @door(run=at_least(0))
    def of(self, run: int) -> "Section":
        """The crossings of one run, by its number."""
        if run >= self.runs:
            raise ValueError(f"run must be below {self.runs}, the number of runs; got {run}.")
        here = self.run == run
        own = ("t", "q", "v", "p", "S", "z", "run", "rises", "g")
        fields = {name: jax.tree.map(lambda a: a[here], getattr(self, name)) for name in own}
        return replace(self, **fields)

    def components(self) -> dict[str, np.ndarray]:
        """The numbers that may be drawn, by their names: t, coordinates and velocities, of a group
        the velocity of the body.
        """
        known, found = labels(self.system), {"t [s]": self.t}
        parts = self.q if isinstance(self.q, tuple) else (self.q,)
        names = [name for name in known if name == "q" or name.startswith("q_")]
        for name, part in zip(names, parts, strict=True):
            for i, word in enumerate(known[name].components):
                found[word] = part[:, i]
        rates = known["v"].components
        return found | {word: self.v[:, i] for i, word in enumerate(rates)}

    def to_xarray(self) -> "xr.Dataset":
        """An xarray.Dataset of the crossings, with names and units."""
        import xarray

        known, own = labels(self.system), ("crossing",)
        beside = {name: a for name, a in (("S", self.S), ("z", self.z)) if a is not None}
        values = {"v": self.v, "p": self.p} | beside
        parts = self.q if isinstance(self.q, tuple) else (self.q,)
        names = [name for name in known if name == "q" or name.startswith("q_")]
        values |= dict(zip(names, parts, strict=True))
        data: dict[str, Any] = {
            name: ((*own, *known[name].dims), each, known[name].attrs)
            for name, each in values.items()
        }
        data |= {"run": (own, self.run), "rises": (own, self.rises), "g": (own, self.g)}
        attributes = {"system": self.system.name, "method": str(self.method), "h": self.h}
        return xarray.Dataset(data, {"time": (own, self.t, {"units": "s"})}, attributes)

    @door()
    def plot(self, x: Axis = None, y: Axis = None, axes: Any = None) -> "Figure":
        """The points of the section, a colour for each run; returns the matplotlib figure.

        Arguments:
            x, y: what is drawn: a name of `components()`, with or without its unit, or a function
                of (t, q, v). By default the first coordinate that moves on the section together
                with its velocity; on a group the first two velocities of the body that do.
            axes: one of matplotlib to draw in.
        """
        first, second = self.moving() if x is None or y is None else ("", "")
        title = f"{self.system.name}, {self.method}, h = {self.h:g}"
        across, up = self.axis(x, "x", first), self.axis(y, "y", second)
        return picture(across, up, self.run, title, axes)

    def moving(self) -> tuple[str, str]:
        """The names of a coordinate and its velocity that both move on the section, or of the two
        first components that do.
        """
        known = self.components()
        rates = labels(self.system)["v"].components
        spread = {name: float(np.ptp(a)) for name, a in known.items() if name != "t [s]"}
        least = MOVES * max(spread.values())
        pairs = zip(self.system.coordinates, rates, strict=True)
        both = [pair for pair in pairs if all(spread.get(name, 0.0) > least for name in pair)]
        if both:
            return both[0]
        names = [name for name in spread if spread[name] > least] or list(spread)
        return names[0], names[-1] if len(names) < 2 else names[1]

    def axis(self, given: Axis, letter: str, default: str) -> tuple[str, np.ndarray]:
        """(name, values) of one axis of the picture."""
        known = self.components()
        if given is None:
            return default, known[default]
        if callable(given):
            values = jax.vmap(given)(self.t, self.q, self.v)
            name = getattr(given, "__name__", letter)
            return name if name != "<lambda>" else letter, np.asarray(values)
        for name, values in known.items():
            if given in (name, name.split(" [")[0]):
                return name, values
        raise ValueError(
            f"{letter} must be a function of (t, q, v), or one of {', '.join(known)}; got"
            f" {shown(given)}."
        )
