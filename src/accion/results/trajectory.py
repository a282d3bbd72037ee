"""Results: what a simulation returns, shows, saves and loads."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion import plot
from accion.checks import check_field
from accion.engines.auto import native
from accion.instant import constrained
from accion.methods import Method
from accion.results import storage
from accion.stepping.nodal import MomentumMap

AT_ONCE = 256  # rows of a trajectory, if they are not more than so many
NUMBERS = 16_384


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Trajectory:
    """A discrete trajectory. Arrays have one row for each saved time; those of an ensemble have its
    axis in front.

    `t`, `q`, `p`: times, configurations and momenta; `lam`: multipliers, the constraint forces at
    those times (None where there is no constraint); `S`: entropies, `supplied`: the energy that
    came from outside since the start, `laws`: the extremes of every step (of a thermal system, None
    for others); `jets`: the derivatives (q', ..., q^(r)) of a system of order r, shape (times, r,
    dim), whose `p` are the r momenta of Jacobi and Ostrogradsky, of the same shape (None for
    others); `iterations`: of Newton's method, the most in any step since the last saved one;
    `success`; `steps_completed`: how many steps were solved (after them every entry is NaN); `h`,
    `system`, `method`: what was run.
    """

    t: jax.Array
    q: Any
    p: jax.Array
    iterations: jax.Array
    success: jax.Array
    steps_completed: jax.Array
    h: jax.Array
    system: Any
    lam: Any = None
    S: Any = None
    supplied: Any = None
    laws: Any = None
    jets: Any = None
    # of a system of higher order, what the discrete motion itself has: `higher.Nodal`
    nodal: Any = None
    method: Method | None = field(default=None, metadata={"static": True})
    engine: str | None = field(default=None, metadata={"static": True})  # that made it
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
        return (
            f"Trajectory({name}, {self.method}, {runs}{times},"
            f" success={bool(np.all(self.success))})"
        )

    def each(self, f, *arrays):
        """`f(system, t, *rows)` at every saved time (and run)."""
        if self.system is None:
            raise ValueError(
                "this trajectory was loaded without its system; pass it: accion.load(path,"
                " system=...)."
            )
        return rows(
            f,
            self.is_ensemble,
            self.system,
            self.t,
            *arrays,
            engine="xla" if self.engine == "xla" else "auto",
        )

    @property
    def z(self):
        """The configurations, with the entropies where there are any."""
        return self.q if self.S is None else self.system.point(self.q, self.S)

    @property
    def v(self):
        """Velocities: the inverse Legendre transform of (q, p), shape (times, dim); computed
        once.
        """
        if self.jets is not None:
            return self.jets[..., 0, :]
        if self.stored is not None and "v" in self.stored:
            return self.stored["v"]
        if "_v" in self.__dict__:
            return self.__dict__["_v"]
        v = self.each(velocity, self.z, self.p, self.guess)
        if not isinstance(v, Tracer):  # one would outlive the transformation that it belongs to
            self.__dict__["_v"] = v
        return v

    def energy(self):
        """E = p.v - L(t, q, v) at each saved time; of a system of order r, sum_s p_s.q^(s+1) -
        L.
        """
        if self.stored is not None and "energy" in self.stored:
            return self.stored["energy"]
        if self.jets is not None:
            return self.each(energy_of, self.q, self.jets, self.p)
        more = () if self.lam is None else (self.lam,)
        return self.each(energy, self.z, self.v, *more)

    def thermal_system(self):
        """The system, if it is there and has entropies."""
        if self.S is None:
            raise ValueError("temperatures, heat and entropy production belong to a ThermalSystem.")
        if self.system is None:
            raise ValueError(
                "this trajectory was loaded without its system; pass it: accion.load(path,"
                " system=...)."
            )
        return self.system

    def thermal(self, f):
        """`f(system, t, z, v)` at each saved time: a number for each body."""
        return self.thermal_system().frame.as_given(self.each(f, self.z, self.v))

    def temperature(self):
        """T = -dL/dS at each saved time; with several entropies one for each, shape (times, m)."""
        if self.stored is not None and "T" in self.stored:
            return self.stored["T"]
        return self.thermal(temperature)

    @property
    def entropies(self):
        """The names of the entropies with their units, () where there are none."""
        if self.S is None:
            return ()
        return (
            tuple(self.stored["entropies"]) if self.stored is not None else self.system.frame.names
        )

    def heat(self):
        """The power P_H that flows into each body, at each saved time."""
        return self.thermal(heating)

    def dissipation(self):
        """The power -F_fr.v that friction turns into heat in each body, at each saved time."""
        return self.thermal(dissipation)

    def entropy_production(self, outside=None):
        """(-F_fr.v + P_ex) / T of each body: the entropy that friction and the heat exchanged
        between bodies make in unit time, at each saved time.

        From T S' = -F_fr.v + P_H (001 eq 3.2), with P_H = P_ex + P_out: the rate of the entropy
        without P_out / T, what heat from outside brings. Where heat flows from hot to cold the sum
        over the bodies is not negative, that of one body may be: between two, P_ex gives G (T_1 -
        T_2)^2 / (T_1 T_2) in all.

        All heat of a single body is from outside. That of several is taken to be exchanged, and
        must add up to zero; where it does not, `outside(t, q, v, S, params)` says how much of the
        power into each body comes from outside.
        """
        self.thermal_system()
        made, exchanged = self.each(Production(outside), self.z, self.v)
        if not isinstance(exchanged, Tracer):
            check_exchanged(np.asarray(exchanged))
        return self.system.frame.as_given(made)

    def first_law(self):
        """E - E_0 - (energy from outside) at each saved time: zero for the continuous motion, the
        error of the method here.
        """
        if self.S is None:
            raise ValueError("first_law belongs to a ThermalSystem; see `energy` for others.")
        E = self.energy()
        return E - E[..., :1] - self.supplied

    def momentum(self, X):
        """The momentum map p.X(q) of a vector field `X(q) -> (dim,)` on the configuration space, at
        each saved time.

        Of a system of order r it is Theta^+ of the r nodes that begin there, applied to X: kept to
        roundoff where X is a symmetry, and for every X to second order sum_s p_s.X_s, with X_s the
        change of q^(s) along X.

        The field of a one-parameter action is `Symmetry.from_action(action, space).X`.
        """
        check_field(
            X,
            jax.tree.map(lambda a: a[0, 0] if self.is_ensemble else a[0], self.q),
            self.p.shape[-1],
        )
        if self.jets is not None:
            return self.each(
                MomentumMap(X), self.q, self.first_nodes(), self.jets, *self.of_nodes()
            )
        pairing = jax.vmap(lambda q, p: p @ X(q))
        return (jax.vmap(pairing) if self.is_ensemble else pairing)(self.q, self.p)

    def of_nodes(self):
        """(lam, P, d, ahead, h) at each row of a system of higher order."""
        if self.nodal is None:
            raise ValueError(
                "this trajectory was saved without the momenta of its nodes, by an earlier accion;"
                " run it again."
            )
        shape = jnp.shape(self.nodal.ahead)
        lam = jnp.zeros((*shape, 0)) if self.lam is None else self.lam
        return lam, *self.nodal, jnp.broadcast_to(self.h, shape)

    def first_nodes(self):
        """The first of the nodes that each row of a system of higher order is seen from: its own,
        but near the end of a two-point problem.
        """
        if (
            self.is_ensemble
            or self.nodal is None
            or isinstance(self.nodal.ahead, Tracer)
            or not np.any(self.nodal.ahead)
        ):
            return self.q
        rows = np.arange(len(self)) - np.asarray(self.nodal.ahead).astype(int)
        return jax.tree.map(lambda a: a[rows], self.q)

    def to_xarray(self):
        """An xarray.Dataset with names, units and the versions that made it."""
        return storage.to_dataset(self)

    def save(self, path, *, overwrite=False):
        """Write a Zarr store, whole or not at all.

        An existing path is an error unless `overwrite`.
        """
        storage.write(self.to_xarray(), path, overwrite)

    def plot(self, axes=None):
        """Coordinates and energy over time; returns the matplotlib figure."""
        return plot.trajectory(self, axes)

    def animate(self, positions=None, path=None, *, fps=30, seconds=None):
        """The motion as a matplotlib animation; with `path` it is written as a GIF.

        `positions(q)` returns the points to draw, joined by a line, shape (k, 2). Without it a flat
        space of two dimensions shows its point with a trail, any other its coordinates over time.
        """
        return plot.animation(self, positions, path, fps, seconds)


def velocity(system, t, z, p, guess):
    return constrained.legendre(system, t, z, p, guess)[0]


def energy(system, t, z, v, lam=None):
    return system.energy(t, z, v, lam)


def energy_of(system, t, q, jets, p):
    return system.energy_of(t, q, jets, p)


def temperature(system, t, z, v):
    return system.temperature(t, z, v)


def heating(system, t, z, v):
    return system.heating(t, z, v)


def dissipation(system, t, z, v):
    return system.dissipation(t, z, v)


@dataclass(frozen=True)
class Production:
    """What is made of entropy in each body, and the heat that it exchanges with the others; see
    `Trajectory.entropy_production`.
    """

    outside: Any

    def __call__(self, system, t, z, v):
        heat = system.heating(t, z, v)
        if self.outside is not None:
            exchanged = heat - jnp.reshape(system.evaluate(self.outside, t, z, v), heat.shape)
        else:
            exchanged = jnp.zeros_like(heat) if system.frame.m == 1 else heat
        return (system.dissipation(t, z, v) + exchanged) / system.temperature(t, z, v), exchanged


def check_exchanged(heat):
    """Raise ValueError where what bodies exchange does not add up to zero, shape (..., m)."""
    net, size = np.abs(np.sum(heat, axis=-1)), np.sum(np.abs(heat), axis=-1)
    if np.any(net > 1e-9 * np.nanmax(size, initial=0.0)):
        raise ValueError(
            f"heat comes from outside: the powers into the bodies add up to {np.nanmax(net):.3g} W"
            " at a time, and which body it enters is not known. Say so:"
            " entropy_production(outside=lambda t, q, v, S, params: ...), the power from outside"
            " into each body."
        )


def rows(f, many, system, t, *arrays, engine="auto"):
    """`f(system, t, *rows)` at each time, for an ensemble of each run.

    Rows are taken some at a time, as many as `at_once` says, the last of them repeated to fill it
    up: so trajectories of all lengths share what is compiled.
    """
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((system, t, arrays))):
        return mapped(f, many, system, t, *arrays)
    found = native_rows(f, many, system, t, arrays, engine)
    if found is not None:
        return found
    count, axis = len(t), int(many)
    size = at_once(arrays, axis)

    def some(a, first, axis):
        a = np.asarray(a)
        return np.take(a, np.minimum(np.arange(first, first + size), count - 1), axis=axis)

    parts = []
    for first in range(0, count, size):
        here = jax.tree.map(lambda a, first=first: some(a, first, axis), arrays)
        parts.append(
            counted(f, many, np.asarray(min(size, count - first)), system, some(t, first, 0), *here)
        )
    kept = (slice(None),) * axis + (slice(count),)
    # Within a transformation of JAX what is computed is traced, even from numbers.
    join = jnp.concatenate if isinstance(jax.tree.leaves(parts)[0], Tracer) else np.concatenate
    return jax.tree.map(lambda *pieces: jnp.asarray(join(pieces, axis=axis)[kept]), *parts)


def native_rows(f, many, system, t, arrays, engine):
    """`rows` by the native engine, or None where XLA must serve."""
    t, arrays = np.asarray(t), jax.tree.map(np.asarray, arrays)
    runs = [(system, arrays)]
    if many:
        system = jax.tree.map(np.asarray, system)
        runs = [
            jax.tree.map(lambda a, i=i: a[i], (system, arrays))
            for i in range(len(jax.tree.leaves(arrays)[0]))
        ]
    row = jax.tree.map(lambda a: a[0], (t, *runs[0][1]))
    program = native(
        "folded",
        f,
        lambda system, _, row: ((), f(system, *row)),
        runs[0][0],
        (),
        row,
        engine=engine,
    )
    if program is None:
        return None
    found = [program(system, (), (t, *arrays), len(t))[1] for system, arrays in runs]
    return jax.tree.map(
        jax.device_put, jax.tree.map(lambda *leaves: np.stack(leaves), *found) if many else found[0]
    )


def at_once(arrays, axis):
    """How many rows are taken at a time: by the size of a row (of all runs) alone, so that it does
    not depend on how many there are.
    """
    leaves = jax.tree.leaves(arrays)
    numbers = sum(np.size(a) // max(1, np.shape(a)[axis]) for a in leaves)
    return min(AT_ONCE, 2 ** int(math.log2(max(1, NUMBERS // max(1, numbers)))))


@partial(jax.jit, static_argnums=(0, 1))
def counted(f, many, count, system, t, *arrays):
    """`f(system, t, *rows)` at the first `count` times, zero at the others."""
    # With a jit of its own `f` is traced once, for the shapes of its results and for the loop.
    one = jax.jit(lambda system, row: f(system, *row))

    def over_time(system, arrays):
        def pick(j):
            return jax.tree.map(
                lambda a: jax.lax.dynamic_index_in_dim(a, j, keepdims=False), (t, *arrays)
            )

        found = jax.eval_shape(one, system, pick(0))
        empty = jax.tree.map(lambda a: jnp.zeros((len(t), *a.shape), a.dtype), found)

        def write(j, out):
            return jax.tree.map(lambda a, b: a.at[j].set(b), out, one(system, pick(j)))

        return jax.lax.fori_loop(0, count, write, empty)

    return (
        jax.lax.map(lambda run: over_time(*run), (system, arrays))
        if many
        else over_time(system, arrays)
    )


@partial(jax.jit, static_argnums=(0, 1))
def mapped(f, many, system, t, *arrays):
    """`f(system, t, *rows)` at each time, in a loop of fixed length, which derivatives go through.

    Under vmap Newton's method would run its rare branches for every row.
    """

    def over_time(system, arrays):
        return jax.lax.map(lambda row: f(system, *row), (t, *arrays))

    return (
        jax.lax.map(lambda run: over_time(*run), (system, arrays))
        if many
        else over_time(system, arrays)
    )


def load(path, system=None):
    """The trajectory that `Trajectory.save` wrote. With its `system` everything can be computed
    from it again.

    For an ensemble this is the system that `ensemble` took; params that it varied are those that
    were saved.
    """
    fields: dict[str, Any] = storage.read(path, system)
    stored = {
        name: fields.pop(name) for name in ("v", "energy", "T", "entropies") if name in fields
    }
    return Trajectory(**fields, stored=stored)
