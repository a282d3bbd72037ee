"""Results: what a simulation returns, shows, saves and loads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion import plot
from accion._config import check_process
from accion.arguments import (
    count,
    door,
    instance,
    one_of,
    path as path_of,
    positive,
    shown,
    switch,
    text,
)
from accion.checks import a_function, a_method, a_system, check_field
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.results import between, continuation, nodes, readings, storage, thermal
from accion.results.channels import Channel, Label, labelled, labels, value_of
from accion.results.moments import Moments
from accion.results.paged import Paged
from accion.results.storage import Stored
from accion.results.tables import Tabular
from accion.stepping.laws import Laws
from accion.stepping.nodal import Nodal
from accion.stepping.weighted import Reduced
from accion.systems import AbstractSystem
from accion.systems.weights import in_full, reduced
from accion.types import Array, ArrayLike, Configuration, Function, Vector

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Trajectory(Tabular, Paged):
    """A discrete trajectory. Arrays have one row for each saved time; those of an ensemble have its
    axis in front.

    `t`, `q`, `p`: times, configurations and momenta; `lam`: multipliers, the constraint forces at
    those times (None where there is no constraint); `S`: entropies, `supplied`: the energy that
    came from outside since the start, `laws`: the extremes of every step (of a thermal system, None
    for others); `z`: the action of a contact system (None for others); `jets`: the derivatives (q',
    ..., q^(r)) of a system of order r, shape (times, r, dim), whose `p` are the r momenta of Jacobi
    and Ostrogradsky, of the same shape (None for others). Of a system with a weight, L = w(t) L0, p
    and lam have the weight in them, and are infinite, or 0, where that leaves floating point;
    `reduced_p`, p/w, and `log_weight`, log |w|, never do. `iterations`: of Newton's method, the
    most in any step since the last saved one; `success`; `steps_completed`: how many steps were
    solved (after them every entry is NaN); `h`, `system`, `method`: what was run. `channels()`
    gives all of it with names, units and words.
    """

    t: Array
    q: Configuration
    p: Array
    iterations: Array
    success: Array
    steps_completed: Array
    h: Array
    system: Any  # an `AbstractSystem` of any kind; None where it was loaded without
    lam: Array | None = None
    S: Array | None = None
    z: Array | None = None
    supplied: Array | None = None
    laws: Laws | None = None
    jets: Array | None = None
    # of a system of higher order, what the discrete motion itself has
    nodal: Nodal | None = None
    reduced: Reduced | None = None  # of a system with a weight, what its steps carry
    method: Method | None = field(default=None, metadata={"static": True})
    engine: str | None = field(default=None, metadata={"static": True})  # that made it
    # whether controls acted besides the system's own forces: in a solution of a control problem
    controlled: bool = field(default=False, metadata={"static": True})
    guess: Array | None = None  # of v, for the inverse Legendre transform
    stored: Stored | None = None  # what the file says, of a trajectory that was loaded
    carried: Any = None  # what it is gone on with, a `Carried` or a `Loaded`

    @property
    def is_ensemble(self) -> bool:
        return jnp.ndim(self.success) == 1

    def __len__(self) -> int:
        """The number of saved times."""
        return len(self.t)

    def __repr__(self) -> str:
        runs = f"{len(self.success)} runs, " if self.is_ensemble else ""
        name = self.system.name if self.system else "loaded"
        times = f"{len(self)} times from {float(self.t[0]):g} to {float(self.t[-1]):g}"
        return (
            f"Trajectory({name}, {storage.method_text(self.method, self.stored)}, {runs}{times},"
            f" success={bool(np.all(self.success))})"
        )

    def check_system(self) -> None:
        """Raise ValueError where the trajectory was loaded without its system."""
        if self.system is None:
            raise ValueError(
                "this trajectory was loaded without its system; pass it: accion.load(path,"
                " system=...)."
            )

    def check_velocities(self) -> None:
        """Raise ValueError where its system has none, being given in discrete time."""
        if self.system is not None and self.system.discrete_time:
            raise ValueError(readings.no_velocities(self.system))

    def each(self, f: Callable[..., Any], *arrays: Any) -> Any:
        """`f(system, t, *arrays)` at every saved time (and run), the arrays with what they have
        there.
        """
        self.check_system()
        check_process()
        engine = "xla" if self.engine == "xla" else "auto"
        return at_times(f, self.is_ensemble, self.system, self.t, *arrays, engine=engine)

    @property
    def points(self) -> Configuration:
        """What steps move: the configurations, with the entropies or the action where there are
        such.
        """
        beside = self.S if self.z is None else self.z
        return self.q if beside is None else self.system.point(self.q, beside)

    @property
    def v(self) -> Array:
        """Velocities: the inverse Legendre transform of (q, p), shape (times, dim); computed
        once.
        """
        if self.jets is not None:
            return self.jets[..., 0, :]
        if self.stored is not None and self.stored.v is not None:
            return self.stored.v
        if "_v" in self.__dict__:
            return self.__dict__["_v"]
        self.check_velocities()
        v = self.each(readings.velocity, self.points, self.reduced_p, self.guess)
        if not isinstance(v, Tracer):  # one would outlive the transformation that it belongs to
            self.__dict__["_v"] = v
        return v

    @property
    def weighted(self) -> bool:
        """Whether its system has a weight."""
        return self.system is not None and self.system.conformal is not None

    @property
    def reduced_p(self) -> Array:
        """p/w of a system with a weight, L = w(t) L0, finite at any time; else p."""
        if self.reduced is not None:
            return self.reduced.p
        return self.each(reduced, self.p) if self.weighted else self.p

    @property
    def reduced_lam(self) -> Array | None:
        """lam/w of a system with a weight, else lam."""
        if self.reduced is not None or self.lam is None:
            return None if self.reduced is None else self.reduced.lam
        return self.each(reduced, self.lam) if self.weighted else self.lam

    @property
    def log_weight(self) -> Array:
        """log |w(t)| at each saved time, of a system with a weight; else 0."""
        if self.reduced is not None:
            return self.reduced.log_weight
        return (
            self.each(readings.log_weight)
            if self.weighted
            else jnp.zeros(np.shape(self.iterations))
        )

    def energy(self) -> Array:
        """E = p.v - L(t, q, v) at each saved time; of a system of order r, sum_s p_s.q^(s+1) -
        L.
        """
        if self.stored is not None and self.stored.energy is not None:
            return self.stored.energy
        if self.jets is not None:
            return self.each(readings.energy_of, self.q, self.jets, self.p)
        more = () if self.lam is None else (self.reduced_lam,)
        return self.each(readings.energy, self.points, self.v, *more)

    def temperature(self) -> Array:
        """T = -dL/dS at each saved time; with several entropies one for each, shape (times, m)."""
        if self.stored is not None and self.stored.T is not None:
            return self.stored.T
        return thermal.of_each_body(self, readings.temperature)

    @property
    def entropies(self) -> tuple[str, ...]:
        """The names of the entropies with their units, () where there are none."""
        return () if self.S is None else self.labels["S"].components

    def heat(self) -> Array:
        """The power P_H that flows into each body, at each saved time."""
        return thermal.of_each_body(self, readings.heating)

    def dissipation(self) -> Array:
        """The power -F_fr.v that friction turns into heat in each body, at each saved time."""
        return thermal.of_each_body(self, readings.dissipation)

    @door(outside=a_function("t, q, v, S, params"))
    def entropy_production(self, outside: Function | None = None) -> Array:
        """(-F_fr.v + P_ex) / T of each body: the entropy that friction and the heat exchanged
        between bodies make in unit time, at each saved time.

        From T S' = -F_fr.v + P_H (Bonich, eq 3.2), with P_H = P_ex + P_out: the rate of the entropy
        without P_out / T, what heat from outside brings. Where heat flows from hot to cold the sum
        over the bodies is not negative, that of one body may be: between two, P_ex gives G (T_1 -
        T_2)^2 / (T_1 T_2) in all.

        All heat of a single body is from outside. That of several is taken to be exchanged, and
        must add up to zero; where it does not, `outside(t, q, v, S, params)` says how much of the
        power into each body comes from outside.
        """
        return thermal.entropy_production(self, outside)

    def first_law(self) -> Array:
        """E - E_0 - (energy from outside) at each saved time: zero for the continuous motion, the
        error of the method here.
        """
        return thermal.first_law(self)

    @door()
    def momentum(self, X: Callable[..., Vector]) -> Array:
        """The momentum map p.X of a vector field on the configuration space, at each saved time.

        Of a system of order r it is Theta^+ of the r nodes that begin there, applied to X: kept to
        roundoff where X is a symmetry, and for every X to second order sum_s p_s.X_s, with X_s the
        change of q^(s) along X.

        Arguments:
            X: `X(q)` or `X(t, q)`, of shape (dim,); of several fields at once, such as those of a
                group, (dim, k), and then there are k momenta. That of an action is
                `Symmetry.from_action(action, space).X`. Of a system of higher order one field X(q).
        """
        t, q = jax.tree.map(lambda a: a[0], (self.t, self.q))
        q = jax.tree.map(lambda a: a[0], q) if self.is_ensemble else q
        field = check_field(X, t, q, self.p.shape[-1])
        if self.p.ndim - self.is_ensemble > 2:
            return nodes.momentum_map(self, X)
        found = self.each(lambda system, t, q, p: p @ field(t, q), self.q, self.reduced_p)
        return self.each(in_full, found) if self.weighted else found

    # ------------------------------------------------------------ between the steps

    @door()
    def at(self, t: ArrayLike) -> Moments:
        """The motion at the time `t`, or at several: between the steps, to the order of the
        method.

        The method's own step leads there from the step before, with the length that is left: so a
        method of order k is as accurate between its steps as at them, and what a step satisfies (a
        constraint, the group) holds there too. For a system of higher order, whose steps are
        windows, and under controls a polynomial goes through q and v of the nearest steps. At saved
        times it is what was saved; where not every step was, those between are made again. After a
        step that failed it is NaN.

        Arguments:
            t: a number, or a list of them, within the run.

        Returns:
            `Moments`: t, q, v, p, energy(), and S, z, lam and jets where there are such. Of a
            number they have no axis of times.

        Raises:
            ValueError: where a time is outside of the run, or the system is given in discrete time.
        """
        return between.at(self, t)

    @door(steps=count, throw=switch, progress=switch)
    def extend(self, steps: int, *, throw: bool = True, progress: bool = False) -> "Trajectory":
        """The same run with `steps` steps more: to the bit what one long run is, by the same
        engine, also where it was saved and loaded in between.

        Arguments:
            steps: how many more, a multiple of the `save_every` of the run.
            throw, progress: as for `simulate`.

        Returns:
            A new `Trajectory`, from the start of the run to its new end.

        Raises:
            StepFailed: where a step is not solved.
            ValueError: where there is nothing to go on from: after a failure, or where it was made
                by `connect` or inside of a transformation of JAX.
        """
        self.check_system()
        return continuation.gone_on(self.carried, self, steps, throw, progress)

    # ------------------------------------------------------------ names and units

    @property
    def labels(self) -> dict[str, Label]:
        """The names, units and words of what it may show, by the kind of its system."""
        if self.system is None and self.stored is not None:
            return dict(self.stored.labels)
        return labels(self.system)

    @door(name=text)
    def value(self, name: str) -> Any:
        """The values of the channel called `name`, None where there are none.

        Arguments:
            name: one of `labels`, such as "q", "energy", "laws_push"; on a product "q_0".
        """
        match name:
            case "energy":
                return self.energy()
            case "T":
                return self.temperature()
            case _ if name in self.labels:
                return value_of(self, name)
            case _:
                known = ", ".join(self.labels)
                raise ValueError(f"name: there is no channel {shown(name)}. Try one of: {known}.")

    def channels(self) -> dict[str, Channel]:
        """Everything that it shows, by name: values with their axes, unit and words.

        The same channels, with the same names, units and words, are those of `to_xarray`, of a file
        that `save` writes, of `plot` and of a campaign.
        """
        found = {name: (label, self.value(name)) for name, label in self.labels.items()}
        return {
            name: labelled(label, values, self.is_ensemble)
            for name, (label, values) in found.items()
            if values is not None
        }

    # ------------------------------------------------------------ files and pictures

    def to_xarray(self) -> "xr.Dataset":
        """An xarray.Dataset with names, units and the versions that made it."""
        return storage.to_dataset(self)

    @door(kind=one_of(*plot.KINDS))
    def plot(self, axes: Any = None, *, kind: str = "time") -> "Figure":
        """Coordinates and energy over time, or of `kind` "phase" each coordinate against its rate,
        "path" the way in the plane or in space; returns the matplotlib figure. In `axes` that have
        a run, this one has colours of its own.
        """
        return plot.KINDS[kind](self, axes)

    @door(positions=a_function("q"), path=path_of, fps=count, seconds=positive)
    def animate(
        self,
        positions: Callable[[Configuration], Any] | None = None,
        path: str | Path | None = None,
        *,
        fps: int = 30,
        seconds: float | None = None,
    ) -> "FuncAnimation":
        """The motion as a matplotlib animation; with `path` it is written: .gif, .mp4 or .webm.

        `positions(q)` returns the points to draw, joined by a line, shape (k, 2). Without it a flat
        space of two dimensions shows its point with a trail, any other its coordinates over time.
        """
        return plot.animation(self, positions, path, fps, seconds)


a_trajectory = instance(Trajectory, "a Trajectory, such as simulate returns")


@door(path=path_of, system=a_system, method=a_method)
def load(
    path: str | Path, system: AbstractSystem | None = None, method: Method | None = None
) -> Trajectory:
    """The trajectory that `Trajectory.save` wrote. With its `system` everything can be computed
    from it again.

    Arguments:
        path: of the Zarr store.
        system: the one that `simulate` or `ensemble` took. Params that an ensemble varied are those
            that were saved.
        method: the one that it was made by, where that holds a function of yours, which no file
            can say; others come back by themselves.

    Raises:
        FileNotFoundError: where nothing is at `path`.
        ValueError: where what is there is no trajectory, is damaged, or was made with another
            system or method.
    """
    return Trajectory(**storage.fields_of(storage.read(path), path, system, method))
