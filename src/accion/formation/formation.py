"""Agents that hold their distances: the double integrator formation system of Colombo-Gamonal
section 6 as an ordinary `System`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis import Law, law
from accion.arguments import (
    door,
    finite,
    positive,
    reals,
    shown,
    switch,
    text,
    whole,
)
from accion.formation import rigidity
from accion.formation.bonds import (
    Bonds,
    Damping,
    check_lengths,
    check_own_params,
    edge_energies,
    rotation,
    translation,
    weight,
)
from accion.formation.bounds import largest_speed
from accion.formation.graph import check_numbers, graph_of
from accion.formation.potentials import check_potential, quartic
from accion.formation.steering import steering
from accion.results.trajectory import Trajectory, a_trajectory
from accion.spaces import Euclidean
from accion.systems import System, mechanical
from accion.systems.arity import check_function
from accion.systems.weights import Weighed
from accion.types import Array, ArrayLike, Scalar, Vector


@final
class Formation:
    """`n` agents q_i in R^d, q_i'' = -k_i q_i' - grad_i V + u_i, V = sum over edges of (|q_i -
    q_j|^2 - d_ij^2)^2/4 (Colombo-Gamonal, eq 35 to 38).

    `edges`: pairs of agents, or a `Graph`; `distances`: one for each edge, or one for all, or a
    function of (t) or (t, params) that returns them; `dimension`: 2 or 3; `damping`: kappa >= 0, or
    k_i, one for each agent. `potential(z, d) -> scalar` of one edge takes the place of (36).
    `agents` is their number, where some have no edge. `shape` are positions, shape (n, d), which
    have these distances: what `classify` compares with; see `from_shape`. `force(t, q, v, params)
    -> (n d,)` is u, a force besides damping; see `steered`. `params` is a dictionary of what force
    and distances take.

    A configuration is a flat vector, all coordinates of an agent together: q.reshape(n, d).
    """

    def __init__(
        self,
        edges: Any,
        distances: ArrayLike | Callable[..., Any],
        dimension: int,
        damping: ArrayLike,
        *,
        potential: Callable[[Array, Scalar], Array] | None = None,
        agents: int | None = None,
        shape: ArrayLike | None = None,
        force: Callable[..., Any] | None = None,
        params: dict[str, Any] | None = None,
        name: str = "formation",
    ) -> None:
        self.graph = graph_of(edges, agents)
        if whole(dimension, "dimension", 2) > 3:
            raise ValueError(f"dimension must be 2 or 3; got {shown(dimension)}.")
        check_function("force", force, "t, q, v, params", optional=True)
        self.dimension, self.force = int(dimension), force
        self.own = check_own_params(params)
        self.gains = check_numbers("damping", damping, self.graph.n, "agent", zero=True)
        self.lengths, self.fixed = None, None
        if callable(distances):
            self.lengths = check_lengths(distances, self.own, self.graph.m, shape)
        else:
            self.fixed = check_numbers("distances", distances, self.graph.m, "edge")
        self.potential = check_potential(potential, self.dimension)
        self.name = text(name, "name")
        self.shape = None if shape is None else self.points(shape, "shape")

    @classmethod
    def from_shape(
        cls, edges: Any, positions: ArrayLike, damping: ArrayLike, **options: Any
    ) -> "Formation":
        """The formation whose distances are those of `positions`, shape (n, d).

        Arguments: `edges`, `damping` and the options as of `Formation`.
        Raises: ValueError where positions have another shape.
        """
        graph, points, distances = rigidity.shape_of(edges, positions)
        return cls(graph, distances, points.shape[1], damping, shape=points, **options)

    def __repr__(self) -> str:
        kappa = f"kappa = {self.gains[0]:g}" if self.uniform else "gains differ"
        return f"Formation({self.n} agents in R^{self.dimension}, {self.graph.m} edges, {kappa})"

    @property
    def n(self) -> int:
        """The number of agents."""
        return self.graph.n

    @property
    def distances(self) -> np.ndarray:
        """d_ij of each edge, shape (m,), where they do not change."""
        if self.fixed is None:
            raise ValueError(
                "the distances of this formation are a function of time, so that it has no one"
                " shape and no bound of its own; distances_at(t) has them at a time, errors(q, t)"
                " compares with them."
            )
        return self.fixed

    def distances_at(self, t: ArrayLike) -> np.ndarray:
        """d_ij of each edge at times of any shape: shape (..., m)."""
        times = np.asarray(finite(t, "t", "a time, or several"))
        if self.fixed is not None:
            return np.broadcast_to(self.fixed, (*times.shape, self.graph.m))
        wanted = jax.vmap(lambda t: self.bonds.wanted(t, self.own))
        return np.asarray(wanted(jnp.asarray(times.ravel()))).reshape(*times.shape, self.graph.m)

    @property
    def uniform(self) -> bool:
        """Whether all agents have the same damping."""
        return bool(np.all(self.gains == self.gains[0]))

    def points(self, q: ArrayLike, name: str = "q") -> np.ndarray:
        """`q`, flat or not, as an array of shape (n, d); `name` is what an error calls it.

        Raises: ValueError where it has another number of agents.
        """
        points = np.asarray(finite(q, name, "a configuration"))
        if points.size != self.n * self.dimension or points.ndim > 2:
            raise ValueError(
                f"{name}: a configuration has {self.n} agents in R^{self.dimension}; got shape"
                f" {points.shape}."
            )
        return points.reshape(self.n, self.dimension)

    def flat_points(self, q: ArrayLike) -> np.ndarray:
        """Configurations as they are given, flat, of shape (..., n d)."""
        points = np.asarray(reals(q, "q", "configurations of shape (..., n d)"))
        if points.shape[-1:] != (self.n * self.dimension,):
            raise ValueError(
                f"q: a configuration has {self.n} agents in R^{self.dimension}, flat, shape (...,"
                f" {self.n * self.dimension}); got shape {points.shape}."
            )
        return points

    @cached_property
    def bonds(self) -> Bonds:
        """V as a function of the configuration."""
        return Bonds(self.graph, self.dimension, self.potential, self.lengths)

    @door(forced=switch)
    def system(self, *, forced: bool = False) -> System:
        """An ordinary `System`: L = e^{kappa t} (|v|^2/2 - V) (Colombo-Gamonal, eq 39), of which
        `Trapezoid` is the explicit scheme (41) and (42).

        A force u acts as e^{kappa t} u on it; where u does not depend on v the scheme stays
        explicit. Momenta dL/dv grow like e^{kappa t}; steps carry them over that weight, so that a
        run may be as long as one likes (`Trajectory.reduced_p`). With gains that differ, or
        `forced`, it is L = |v|^2/2 - V under the force -k_i v_i + u: no method is explicit then.
        """
        n = self.n * self.dimension
        letters = "xyz"[: self.dimension]
        options: Any = {
            "coordinates": tuple(f"{c}{i + 1} [m]" for i in range(self.n) for c in letters),
            "name": self.name,
        }
        params = self.own if self.fixed is None else self.own | {"d": jnp.asarray(self.fixed)}
        if self.uniform and not forced:
            params = params | {"kappa": float(self.gains[0])}
            force = None if self.force is None else Weighed(self.force, weight)
            return mechanical(
                1.0, self.bonds, n, weight=weight, force=force, params=params, **options
            )
        params = params | {"k": jnp.asarray(self.gains)}
        damping = Damping(self.dimension, self.force)
        return mechanical(1.0, self.bonds, n, force=damping, params=params, **options)

    def steered(
        self,
        velocity: ArrayLike | Callable[[Scalar], Any],
        spin: ArrayLike | Callable[[Scalar], Any] | None = None,
    ) -> "Formation":
        """The same agents under the force u_i = k_i (c + omega x (q_i - centroid)), which damps
        them towards a motion of the whole instead of towards rest (Colombo-Gamonal, Remark 2).

        With one damping kappa the sums P of v_i and L of (q_i - centroid) x v_i obey
        P' = -kappa (P - n c) and L' = -kappa (L - I omega), I the moment of inertia about the
        centroid: the centroid takes the velocity c, and the shape turns with omega.

        Arguments: `velocity` c, shape (d,); `spin` omega, a number in the plane, shape (3,) in
        space, none where it is None; each of them may be a function of t.
        """
        if self.force is not None:
            raise ValueError("a force acts on these agents already; add the steering to that.")
        return Formation(
            self.graph,
            self.distances if self.lengths is None else self.lengths.f,
            self.dimension,
            self.gains,
            potential=self.potential,
            shape=self.shape,
            force=steering(self.dimension, velocity, spin),
            params=self.own,
            name=self.name,
        )

    @cached_property
    def rounded(self) -> System:
        """`system()` without compensated summation, built once: an outcome within 1 % needs no
        digits that rounding took, and building it takes as long as a thousand runs.
        """
        return replace(self.system(), space=Euclidean(self.n * self.dimension, compensated=False))

    def errors(self, q: ArrayLike, t: ArrayLike | None = None) -> np.ndarray:
        """|q_i - q_j| - d_ij for each edge, shape (..., m), of configurations of shape (..., n d);
        at times `t` where distances change with time.
        """
        flat = self.flat_points(q)
        x = flat.reshape(*flat.shape[:-1], self.n, self.dimension)
        z = x[..., self.graph.tails, :] - x[..., self.graph.heads, :]
        return np.linalg.norm(z, axis=-1) - self.wanted(t, flat.shape[:-1])

    def wanted(self, t: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
        """The distances, at times `t` where they are given, of configurations of this shape."""
        d = self.distances if t is None else self.distances_at(t)
        try:
            return np.broadcast_to(d, (*shape, self.graph.m))
        except ValueError:
            raise ValueError(
                f"t must be a number, or have the shape of the configurations, {shape}; got shape"
                f" {d.shape[:-1]}."
            ) from None

    def shares(self, q: ArrayLike, t: ArrayLike | None = None) -> np.ndarray:
        """Half of V_ij for each of its agents, summed: the potential energy of each agent, shape
        (..., n); at times `t` where distances change with time.
        """
        points = self.flat_points(q)
        return self.halves(points, self.wanted(t, points.shape[:-1]))

    def halves(self, points: np.ndarray, d: np.ndarray) -> np.ndarray:
        """`shares` with these distances, shape (..., m)."""
        flat = jnp.asarray(points.reshape(-1, points.shape[-1]))
        d = d.reshape(len(flat), self.graph.m)
        V = np.asarray(edge_energies(self.bonds, flat, jnp.asarray(d)))
        half = np.zeros((len(V), self.n))
        rows = np.arange(len(V))[:, None]
        np.add.at(half, (rows, self.graph.tails), V / 2)
        np.add.at(half, (rows, self.graph.heads), V / 2)
        return half.reshape(*points.shape[:-1], self.n)

    @door(trajectory=a_trajectory)
    def energies(self, trajectory: Trajectory) -> np.ndarray:
        """E_i of each agent over each step, shape (steps, n); the sum over agents is the total.

        E_i = |q_{k+1} - q_k|^2/(2 h^2) + 1/4 sum_j (V_ij(q_k) + V_ij(q_{k+1})) (Colombo-Gamonal, eq
        43, with V itself where V^d stands). Every step must have been saved.
        """
        self.check_own(trajectory)
        t = np.asarray(trajectory.t)
        if np.ndim(trajectory.h):
            raise ValueError(
                "the energies of Colombo-Gamonal eq (43) are those of steps of one length."
            )
        q, h = np.asarray(trajectory.q), float(trajectory.h)
        if len(t) < 2 or abs((t[1] - t[0]) / h - 1) > 1e-6:
            raise ValueError(
                "the energies of Colombo-Gamonal eq (43) belong to steps; simulate with"
                " save_every=1."
            )
        dq = np.diff(q, axis=-2).reshape(*q.shape[:-2], len(t) - 1, self.n, self.dimension)
        V = self.halves(self.flat_points(q), self.along(trajectory))
        return np.sum(dq**2, axis=-1) / (2 * h**2) + (V[..., :-1, :] + V[..., 1:, :]) / 2

    def along(self, trajectory: Trajectory) -> np.ndarray:
        """The distances at each saved time, by the params of the run where they are known."""
        shape = (*np.shape(trajectory.q)[:-1], self.graph.m)
        if trajectory.system is None:
            return np.broadcast_to(self.distances_at(np.asarray(trajectory.t)), shape)
        wanted = trajectory.each(lambda system, t: self.bonds.wanted(t, system.params))
        return np.broadcast_to(np.asarray(wanted), shape)

    def check_own(self, trajectory: Trajectory) -> None:
        """Raise ValueError where a trajectory is not one of these agents."""
        if isinstance(trajectory.q, tuple) or trajectory.q.shape[-1] != self.n * self.dimension:
            raise ValueError(f"trajectory must be one of {self}; got {trajectory!r}.")

    def fields(self) -> dict[str, Callable[[Vector], Vector]]:
        """The symmetries of SE(d) as vector fields X(q) on configurations, by name: translations
        and rotations (Colombo-Gamonal, Remark 2).
        """
        d, letters = self.dimension, "xyz"
        found = {f"translation {letters[a]}": partial(translation, d, a) for a in range(d)}
        planes = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (2, 0)]
        return found | {
            f"rotation {letters[a]}{letters[b]}": partial(rotation, d, a, b) for a, b in planes
        }

    @door(trajectory=a_trajectory)
    def laws(self, trajectory: Trajectory) -> dict[str, Law]:
        """What the linear and angular momenta sum v_i and sum q_i x v_i keep, by name: times
        e^{kappa t} they are constant, and `decay()` of each says the rate measured, and -kappa
        (Colombo-Gamonal, Remark 2, eq 9 corrected).

        Momenta that are zero, to roundoff of their largest, have no rate and are left out.
        """
        if not self.uniform:
            raise ValueError(
                "momenta decay like e^{-kappa t} where all agents have the same damping; here the"
                " gains differ."
            )
        self.check_own(trajectory)
        trajectory.check_system()
        if trajectory.is_ensemble:
            raise ValueError("the laws are those of one run; law(trajectory, X) has an ensemble's.")
        if trajectory.system.forced:
            raise ValueError(
                "a force acts in this trajectory, so that momenta follow d(p.X)/dt = F.X and no law"
                " of their own; trajectory.momentum(X) has them, for the X of fields()."
            )
        v, q = np.asarray(trajectory.v[0]), np.asarray(trajectory.q[0])
        fields = {name: (X, np.asarray(X(jnp.asarray(q)))) for name, X in self.fields().items()}
        size = 1e-9 * np.linalg.norm(v)
        return {
            name: law(trajectory, X)
            for name, (X, here) in fields.items()
            if abs(float(v @ here)) > size * np.linalg.norm(here)
        }

    @door(R=positive, c=positive)
    def largest_speed(self, R: float = 1.0, c: float = 1.0) -> float:
        """M with |f(q, p)| <= M for all |p| <= c and |q_i - q_j| <= 2R on every edge, f = (p, -k p
        - grad V).

        |grad V| = |B (e_w z_w)| <= sqrt(lambda) |(e_w z_w)| with lambda the largest eigenvalue of B
        B^T, so that
        M^2 = c^2 + (k c + sqrt(lambda sum_w max r^2 (r^2 - d_w^2)^2))^2. The inequality of
        Colombo-Gamonal section 6.4 does not hold (errata); this one does, and is attained on
        K_{3,3} with d = 0.
        """
        if self.potential is not quartic or self.force is not None:
            raise ValueError(
                "this bound is for the potential (36) without a force of one's own; for others see"
                " accion.analysis.step_bound."
            )
        return largest_speed(self.graph, self.distances, float(np.max(self.gains)), R, c)

    @door(R=positive, c=positive)
    def alpha(self, R: float = 1.0, c: float = 1.0) -> float:
        """alpha = R/(c M), the step that the estimates of backward error analysis allow
        (Colombo-Gamonal, section 6.4, corrected); no limit of stability.
        """
        return R / (c * self.largest_speed(R, c))

    @door(tolerance=positive)
    def classify(self, q: ArrayLike, *, tolerance: float = 0.01) -> str:
        """What a configuration is: "same", "mirrored" or "different" (another shape with these
        distances), or "not formed".

        Distances count as met within `tolerance` of each (Colombo-Gamonal: 1 %). Without a `shape`
        to compare with, "formed".
        """
        points = self.points(q)
        if not np.all(np.abs(self.errors(points.ravel())) <= tolerance * self.distances):
            return "not formed"
        return (
            "formed"
            if self.shape is None
            else rigidity.congruence_by_distances(self.shape, points, tolerance)
        )
