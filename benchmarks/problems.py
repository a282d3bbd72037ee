"""The systems of work_precision.py: each as accion takes it and as its peers do, with its start,
its duration and where it ends.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import chain
import fields
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import quaternions
import taylor

import accion as ac
from accion.gallery import andrews, heavy_top, henon_heiles, kepler


class Problem(NamedTuple):
    """One system and one motion of it."""

    key: str
    title: str
    family: str  # those of one family share all that is compiled
    system: ac.System
    q0: np.ndarray
    v0: np.ndarray
    duration: float
    y0: np.ndarray  # the same start for peers: (q, v), or what their equations have
    scipy: Callable[[], Callable]  # -> f(t, y), compiled
    jax: Callable  # y -> y'
    taylor: Callable[[], list]  # -> pairs of heyoka
    nodes: int  # evaluations with which a method of high order begins to be good
    pull: Any = None  # accelerations of positions alone, for Verlet's method
    saves: int = 1  # states that are kept: 1 is the end alone
    small: float = 1.0  # atol / rtol
    large: bool = False  # for which Kvaerno5 and heyoka's programs without loops are built for long
    orders: tuple[int, ...] = (4, 8, 12)  # numbers of stages for Galerkin
    limit: float = 0.4  # s; no candidate goes on to tighter settings after such a run
    read: Callable | None = None  # rows of y -> (q, v)
    place: Callable = lambda q: q  # what is compared at the end

    @property
    def end(self):
        return expected(self)

    def states(self, y):
        """(q, v) from rows of y."""
        n = len(self.v0)
        return self.read(y) if self.read else (y[:, :n], y[:, n:])

    def error(self, q):
        """The largest of what is compared at the end of rows q."""
        return float(np.max(np.abs(self.place(np.asarray(q[-1])) - self.end)))

    def energy_error(self, q, v):
        """The largest relative change of energy over the rows."""
        q = np.concatenate([self.q0[None], q])
        v = np.concatenate([self.v0[None], v])
        E = np.asarray(energies(self.family)(q, v))
        return float(np.max(np.abs(E / E[0] - 1)))


@cache
def energies(family):
    system = next(problem.system for problem in PROBLEMS if problem.family == family)
    return jax.jit(jax.vmap(lambda q, v: system.energy(0.0, q, v)))


def expected(problem):
    if problem.family != "kepler":
        import ends

        q = ends.ends()[problem.key]
        return problem.place(attitude(q[None])[0]) if problem.key == "heavy_top" else q
    # A whole number of periods of 2 pi, which no double is: the rest is flown at the first velocity
    mp.mp.dps = 40
    turns = round(problem.duration / (2 * math.pi))
    rest = float(mp.mpf(problem.duration) - 2 * mp.pi * turns)
    return problem.q0 + rest * problem.v0


# ---------------------------------------------------------------- Kepler


def kepler_start(e):
    return np.array([1 - e, 0.0]), np.array([0.0, math.sqrt((1 + e) / (1 - e))])


def kepler_problem(key, e, periods, **rest):
    q0, v0 = kepler_start(e)
    words = f"Kepler, e = {e:g}, {periods} periods"
    return Problem(
        key,
        words,
        "kepler",
        kepler.system,
        q0,
        v0,
        2 * math.pi * periods,
        np.concatenate([q0, v0]),
        partial(fields.from_scalars, fields.kepler),
        fields.on_arrays(fields.kepler),
        partial(taylor.first_order, fields.kepler, 4),
        pull=fields.kepler_pull,
        **rest,
    )


# ---------------------------------------------------------------- chains


def accelerated(system):
    """y -> y' by the accelerations that accion computes from the Lagrangian."""
    a, n = ac.accelerations(system), system.space.dim

    def field(y):
        found = a(0.0, y[:n], y[n:])
        return jnp.concatenate([y[n:], found[0] if isinstance(found, tuple) else found])

    return field


def chain_problem(n, **rest):
    system, q0 = chain.system(n), np.full(n, 0.8)
    explicit = fields.double_pendulum
    return Problem(
        f"chain_{n}",
        {2: "double pendulum", 5: "five links"}[n] + ", t = 100",
        f"chain_{n}",
        system,
        q0,
        np.zeros(n),
        100.0,
        np.concatenate([q0, np.zeros(n)]),
        partial(fields.from_scalars, explicit) if n == 2 else partial(fields.chain, n),
        fields.on_arrays(explicit) if n == 2 else accelerated(system),
        partial(taylor.lagrangian_chain, n, chain.GRAVITY),
        **rest,
    )


# ---------------------------------------------------------------- the heavy top


def attitude(q):
    """Rotations from rows of quaternions."""
    return np.asarray(jax.vmap(quaternions.rotation)(jnp.asarray(q)))


def read_top(y):
    return attitude(y[:, :4]), y[:, 4:]


def solar():
    q0, v0 = (
        np.concatenate([np.zeros(3), fields.PLANETS[:, part].ravel()])
        for part in (slice(0, 3), slice(3, 6))
    )
    masses = np.repeat(fields.MASSES, 3)
    system = ac.mechanical(masses, fields.solar_potential, 18, name="outer solar system")
    return Problem(
        "solar_system",
        "outer solar system, 200,000 days",
        "solar_system",
        system,
        q0,
        v0,
        200_000.0,
        np.concatenate([q0, v0]),
        partial(fields.from_pull, fields.solar_pull, 18),
        fields.solar_array,
        partial(taylor.first_order, fields.solar_system, 36),
        nodes=1_000,
        pull=fields.solar_pull,
        saves=10,
        small=1e-3,
        large=True,
        orders=(4, 8),
    )


def xla_field(system):
    """The function (t, y) of SciPy from accion's accelerations, compiled by XLA."""
    field = jax.jit(accelerated(system))
    return lambda t, y: np.asarray(field(y))


PROBLEMS = [
    kepler_problem("kepler", 0.5, 10, nodes=400),
    kepler_problem("kepler_1000", 0.5, 1000, nodes=60_000, saves=10, limit=0.6),
    kepler_problem("kepler_0.9", 0.9, 10, nodes=3200),
    Problem(
        "henon_heiles",
        "Henon-Heiles, E = 1/12, t = 10,000",
        "henon_heiles",
        henon_heiles.system,
        henon_heiles.Q0,
        henon_heiles.V0,
        10_000.0,
        np.concatenate([henon_heiles.Q0, henon_heiles.V0]),
        partial(fields.from_scalars, fields.henon_heiles),
        fields.on_arrays(fields.henon_heiles),
        partial(taylor.first_order, fields.henon_heiles, 4),
        nodes=60_000,
        pull=fields.henon_heiles_pull,
        saves=10,
        limit=0.6,
    ),
    chain_problem(2, nodes=2_000),
    chain_problem(5, nodes=4_000, orders=(4, 6), large=True),
    Problem(
        "heavy_top",
        "heavy top, 1 s",
        "heavy_top",
        heavy_top.system,
        heavy_top.R0,
        heavy_top.W0,
        1.0,
        np.concatenate([[1.0, 0.0, 0.0, 0.0], heavy_top.W0]),
        partial(fields.from_scalars, fields.heavy_top),
        fields.on_arrays(fields.heavy_top),
        partial(taylor.first_order, fields.heavy_top, 7),
        nodes=300,
        orders=(2, 4, 6),
        read=read_top,
        place=lambda R: R @ heavy_top.X,
    ),
    solar(),
    Problem(
        "andrews",
        "Andrews' mechanism, 0.03 s",
        "andrews",
        andrews.system,
        andrews.Q0,
        np.zeros(7),
        andrews.DURATION,
        np.concatenate([andrews.Q0, np.zeros(7)]),
        partial(xla_field, andrews.system),
        accelerated(andrews.system),
        partial(taylor.constrained, andrews.system),
        nodes=200,
        large=True,
        orders=(2, 4),
    ),
]
