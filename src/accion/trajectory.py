"""Results: what a simulation returns, shows, saves and loads."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion import plot, storage
from accion.methods import Method
from accion.systems import System


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Trajectory:
    """A discrete trajectory. Arrays have one row for each saved time; those of an ensemble have its axis in front.

    `t`, `q`, `p`: times, configurations and momenta; `lam`: multipliers, the constraint forces at those times (None where there is no
    constraint); `iterations`: of Newton's method, the most in any step since the last saved one;
    `success`; `steps_completed`: how many steps were solved (after them every entry is NaN); `h`, `system`, `method`: what was run.
    """

    t: jax.Array
    q: Any
    p: jax.Array
    iterations: jax.Array
    success: jax.Array
    steps_completed: jax.Array
    h: jax.Array
    system: System | None
    lam: Any = None
    method: Method | None = field(default=None, metadata={"static": True})
    guess: Any = None  # of v, for the inverse Legendre transform
    stored: Any = None  # v and energy of a trajectory that was loaded

    @property
    def is_ensemble(self):
        return jnp.ndim(self.success) == 1

    def __len__(self):
        """The number of saved times."""
        return len(self.t)

    def __repr__(self):
        runs = f"{len(self.success)} runs, " if self.is_ensemble else ""
        name = self.system.name if self.system else "loaded"
        times = f"{len(self)} times from {float(self.t[0]):g} to {float(self.t[-1]):g}"
        return f"Trajectory({name}, {self.method}, {runs}{times}, success={bool(np.all(self.success))})"

    def each(self, f, *arrays):
        """`f(system, t, *rows)` at every saved time (and run)."""
        if self.system is None:
            raise ValueError("this trajectory was loaded without its system; pass it: accion.load(path, system=...).")
        return rows(f, self.is_ensemble, self.system, self.t, *arrays)

    @property
    def v(self):
        """Velocities: the inverse Legendre transform of (q, p), shape (times, dim); computed once."""
        if self.stored is not None:
            return self.stored["v"]
        if "_v" in self.__dict__:
            return self.__dict__["_v"]
        more = () if self.lam is None else (self.lam,)
        v = self.each(System.velocity, self.q, self.p, self.guess, *more)
        if not isinstance(v, Tracer):  # one would outlive the transformation that it belongs to
            self.__dict__["_v"] = v
        return v

    def energy(self):
        """E = p.v - L(t, q, v) at each saved time."""
        if self.stored is not None:
            return self.stored["energy"]
        more = () if self.lam is None else (self.lam,)
        return self.each(System.energy, self.q, self.v, *more)

    def momentum(self, X):
        """The momentum map p.X(q) of a vector field `X(q) -> (dim,)` on the configuration space, at each saved time.

        The field of a one-parameter action is `Symmetry.from_action(action, space).X`.
        """
        pairing = jax.vmap(lambda q, p: p @ X(q))
        return (jax.vmap(pairing) if self.is_ensemble else pairing)(self.q, self.p)

    def to_xarray(self):
        """An xarray.Dataset with names, units and the versions that made it."""
        return storage.to_dataset(self)

    def save(self, path, *, overwrite=False):
        """Write a Zarr store, whole or not at all. An existing path is an error unless `overwrite`."""
        storage.write(self.to_xarray(), path, overwrite)

    def plot(self, axes=None):
        """Coordinates and energy over time; returns the matplotlib figure."""
        return plot.trajectory(self, axes)

    def animate(self, positions=None, path=None, *, fps=30, seconds=None):
        """The motion as a matplotlib animation; with `path` it is written as a GIF.

        `positions(q)` returns the points to draw, joined by a line, shape (k, 2). Without it a flat space of two dimensions shows its
        point with a trail, any other its coordinates over time.
        """
        return plot.animation(self, positions, path, fps, seconds)


@partial(jax.jit, static_argnums=(0, 1))
def rows(f, many, system, t, *arrays):
    """`f(system, t, *rows)` at each time, in a loop: under vmap Newton's method would run its rare branches for every row."""

    def over_time(system, arrays):
        return jax.lax.map(lambda row: f(system, *row), (t, *arrays))

    return jax.lax.map(lambda run: over_time(*run), (system, arrays)) if many else over_time(system, arrays)


def load(path, system=None):
    """The trajectory that `Trajectory.save` wrote. With its `system` everything can be computed from it again."""
    fields: dict[str, Any] = storage.read(path, system)
    stored = {"v": fields.pop("v"), "energy": fields.pop("energy")}
    return Trajectory(**fields, system=system, stored=stored)
