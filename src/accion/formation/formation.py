"""Agents that hold their distances: the double integrator formation system of Colombo-Gamonal
section 6 as an ordinary `System`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis import decay
from accion.arguments import as_array, door, finite, positive, reals, shown, switch, text, whole
from accion.engines.xla import kept_jit
from accion.formation import rigidity
from accion.formation.graph import Graph, check_numbers
from accion.formation.potentials import quartic
from accion.results.trajectory import Trajectory, a_trajectory
from accion.spaces import Euclidean
from accion.systems import System, mechanical
from accion.systems.arity import check_function
from accion.systems.functions import check_returns, evaluate
from accion.types import Array, ArrayLike, Covector, Params, Scalar, Vector

WRITTEN_OUT = 64  # edges; below it a potential is written edge by edge, without gather and scatter


@final
@dataclass(frozen=True)
class Bonds:
    """V(q) = sum of `potential`(q_i - q_j, d_ij) over the edges; compared by value, so that equal
    formations share compiled code.
    """

    graph: Graph
    dimension: int
    potential: Callable[[Array, Scalar], Array]

    def __call__(self, t: Scalar, q: Vector, params: Params) -> Array:
        """V(q), with the distances params["d"]."""
        return jnp.sum(self.each(q, params["d"]))

    def each(self, q: Vector, d: Array) -> Array:
        """V of each edge, shape (m,). Cost and memory are linear in the number of edges."""
        g = self.graph
        if g.m <= WRITTEN_OUT:
            # its transpose is one concatenation, that of an index a padding for each edge
            x = jnp.split(q, g.n)
            z = [x[i] - x[j] for i, j in g.edges.tolist()]
            if self.potential is quartic:
                return 0.25 * (jnp.stack([jnp.sum(each * each) for each in z]) - d**2) ** 2
            return jnp.stack(
                [
                    self.potential(each, length)
                    for each, length in zip(z, jnp.unstack(d), strict=True)
                ]
            )
        x = q.reshape(g.n, self.dimension)
        return jax.vmap(self.potential)(x[g.tails] - x[g.heads], d)


def weight(t: Scalar, params: Params) -> Array:
    """e^{kappa t}, with which the Lagrangian gives the damping -kappa v (Colombo-Gamonal, eq
    39).
    """
    return jnp.exp(params["kappa"] * t)


@final
@dataclass(frozen=True)
class Damping:
    """The force -k_i v_i on each agent (Colombo-Gamonal, eq 38), where the gains differ."""

    dimension: int

    def __call__(self, t: Scalar, q: Vector, v: Vector, params: Params) -> Covector:
        """The force, with the gains params["k"]."""
        return -jnp.repeat(params["k"], self.dimension) * v


@final
class Formation:
    """`n` agents q_i in R^d, q_i'' = -k_i q_i' - grad_i V, V = sum over edges of (|q_i - q_j|^2 -
    d_ij^2)^2/4 (Colombo-Gamonal, eq 35 to 38).

    `edges`: pairs of agents, or a `Graph`; `distances`: one for each edge, or one for all;
    `dimension`: 2 or 3; `damping`: kappa > 0, or k_i, one for each agent. `potential(z, d) ->
    scalar` of one edge takes the place of (36). `agents` is their number, where some have no edge.
    `shape` are positions, shape (n, d), which have these distances: what `classify` compares with;
    see `from_shape`.

    A configuration is a flat vector, all coordinates of an agent together: q.reshape(n, d).
    """

    def __init__(
        self,
        edges: Any,
        distances: ArrayLike,
        dimension: int,
        damping: ArrayLike,
        *,
        potential: Callable[[Array, Scalar], Array] | None = None,
        agents: int | None = None,
        shape: ArrayLike | None = None,
        name: str = "formation",
    ) -> None:
        if isinstance(edges, Graph):
            self.graph = edges
        else:
            given: Any = as_array(edges)
            if agents is None:
                agents = 2
                if given is not None and given.size and np.issubdtype(given.dtype, np.integer):
                    agents = max(2, int(np.max(given)) + 1)
            self.graph = Graph(agents, edges)
        if whole(dimension, "dimension", 2) > 3:
            raise ValueError(f"dimension must be 2 or 3; got {shown(dimension)}.")
        check_function("potential", potential, "z, d", optional=True)
        self.dimension = int(dimension)
        self.distances = check_numbers("distances", distances, self.graph.m, "edge", least=0.0)
        self.gains = check_numbers("damping", damping, self.graph.n, "agent", least=0.0)
        self.potential = potential or quartic
        if potential is not None:
            z, d = jnp.zeros(self.dimension), jnp.ones(())
            found = evaluate("potential", potential, z, d, takes="(z, d) of one edge")
            check_returns("potential", found, (), "a scalar")
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
        points = np.asarray(finite(positions, "positions"))
        if points.ndim != 2 or len(points) < 2 or points.shape[1] not in (2, 3):
            raise ValueError(
                "positions must have shape (n, d), two agents or more in R^2 or R^3; got shape"
                f" {points.shape}."
            )
        graph = edges if isinstance(edges, Graph) else Graph(len(points), edges)
        distances = np.linalg.norm(rigidity.relative_positions(graph, points), axis=1)
        return cls(graph, distances, points.shape[1], damping, shape=points, **options)

    def __repr__(self) -> str:
        kappa = f"kappa = {self.gains[0]:g}" if self.uniform else "gains differ"
        return f"Formation({self.n} agents in R^{self.dimension}, {self.graph.m} edges, {kappa})"

    @property
    def n(self) -> int:
        """The number of agents."""
        return self.graph.n

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
        return Bonds(self.graph, self.dimension, self.potential)

    @door(forced=switch)
    def system(self, *, forced: bool = False) -> System:
        """An ordinary `System`: L = e^{kappa t} (|v|^2/2 - V) (Colombo-Gamonal, eq 39), of which
        `Trapezoid` is the explicit scheme (41) and (42).

        With gains that differ, or `forced`, it is L = |v|^2/2 - V under the force -k_i v_i: no
        method is explicit then, but momenta do not grow like e^{kappa t}, which overflows at kappa
        t = 709.
        """
        n = self.n * self.dimension
        letters = "xyz"[: self.dimension]
        options: Any = {
            "coordinates": tuple(f"{c}{i + 1} [m]" for i in range(self.n) for c in letters),
            "name": self.name,
        }
        if self.uniform and not forced:
            params = {"kappa": float(self.gains[0]), "d": jnp.asarray(self.distances)}
            return mechanical(1.0, self.bonds, n, weight=weight, params=params, **options)
        params = {"k": jnp.asarray(self.gains), "d": jnp.asarray(self.distances)}
        return mechanical(
            1.0, self.bonds, n, force=Damping(self.dimension), params=params, **options
        )

    @cached_property
    def rounded(self) -> System:
        """`system()` without compensated summation, built once: an outcome within 1 % needs no
        digits that rounding took, and building it takes as long as a thousand runs.
        """
        return replace(self.system(), space=Euclidean(self.n * self.dimension, compensated=False))

    def errors(self, q: ArrayLike) -> np.ndarray:
        """|q_i - q_j| - d_ij for each edge, shape (..., m), of configurations of shape (..., n
        d).
        """
        flat = self.flat_points(q)
        x = flat.reshape(*flat.shape[:-1], self.n, self.dimension)
        z = x[..., self.graph.tails, :] - x[..., self.graph.heads, :]
        return np.linalg.norm(z, axis=-1) - self.distances

    def shares(self, q: ArrayLike) -> np.ndarray:
        """Half of V_ij for each of its agents, summed: the potential energy of each agent, shape
        (..., n).
        """
        points = self.flat_points(q)
        flat = jnp.asarray(points.reshape(-1, points.shape[-1]))
        V = np.asarray(edge_energies(self.bonds, flat, jnp.asarray(self.distances)))
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
        q, h = np.asarray(trajectory.q), float(trajectory.h)
        t = np.asarray(trajectory.t)
        if len(t) < 2 or abs((t[1] - t[0]) / h - 1) > 1e-6:
            raise ValueError(
                "the energies of Colombo-Gamonal eq (43) belong to steps; simulate with"
                " save_every=1."
            )
        dq = np.diff(q, axis=-2).reshape(*q.shape[:-2], len(t) - 1, self.n, self.dimension)
        V = self.shares(q)
        return np.sum(dq**2, axis=-1) / (2 * h**2) + (V[..., :-1, :] + V[..., 1:, :]) / 2

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
    def laws(self, trajectory: Trajectory) -> dict[str, Any]:
        """How the linear and angular momenta sum v_i and sum q_i x v_i decay, by name: the rate
        measured, and -kappa (Colombo-Gamonal, Remark 2, eq 9 corrected).

        Momenta that are zero, to roundoff of their largest, have no rate and are left out.
        """
        if not self.uniform:
            raise ValueError(
                "momenta decay like e^{-kappa t} where all agents have the same damping; here the"
                " gains differ."
            )
        self.check_own(trajectory)
        v, q = np.asarray(trajectory.v[0]), np.asarray(trajectory.q[0])
        fields = {name: (X, np.asarray(X(jnp.asarray(q)))) for name, X in self.fields().items()}
        size = 1e-9 * np.linalg.norm(v)
        return {
            name: decay(trajectory, X)
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
        if self.potential is not quartic:
            raise ValueError(
                "this bound is for the potential (36); for another see accion.analysis.step_bound."
            )
        d = self.distances

        def pull(r: float | np.ndarray) -> np.ndarray:
            return r * np.abs(r**2 - d**2)

        # r |r^2 - d^2| is largest at the end of the interval or at its one maximum in between,
        # d/sqrt(3).
        with np.errstate(over="ignore"):
            far = np.float64(2.0 * R)
            most = np.maximum(pull(far), pull(np.minimum(d / np.sqrt(3), far)))
            gradient = np.sqrt(self.graph.laplacian_bound() * np.sum(most**2))
            found = float(np.hypot(c, np.max(self.gains) * c + gradient))
        if not np.isfinite(found):
            raise ValueError(f"R = {R:g} and c = {c:g} are so large that the speed has no bound.")
        return found

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
            else congruence_by_distances(self.shape, points, tolerance)
        )


def congruence_by_distances(shape: np.ndarray, points: np.ndarray, tolerance: float) -> str:
    """As `congruent`, by the rule of Colombo-Gamonal: all distances within `tolerance` of their
    own.

    The best motion reflects where the determinant is < 0.
    """
    wanted = rigidity.pair_distances(shape)
    if np.any(np.abs(rigidity.pair_distances(points) - wanted) > tolerance * wanted):
        return "different"
    turn = np.linalg.det((points - points.mean(axis=0)).T @ (shape - shape.mean(axis=0)))
    return "mirrored" if turn < 0 else "same"


def translation(d: int, a: int, q: Vector) -> Vector:
    """Every agent in direction a."""
    return jnp.tile(jnp.eye(d)[a], q.shape[-1] // d)


def rotation(d: int, a: int, b: int, q: Vector) -> Vector:
    """Every agent about the origin, from axis a to axis b."""
    x = q.reshape(-1, d)
    return jnp.zeros_like(x).at[:, a].set(-x[:, b]).at[:, b].set(x[:, a]).ravel()


@partial(kept_jit, static_argnums=(0,))
def edge_energies(bonds: Bonds, q: Array, d: Array) -> Array:
    """V of each edge in each configuration, shape (configurations, m)."""
    return jax.lax.map(lambda q: bonds.each(q, d), q)
