"""Formations of rigid bodies, such as drones in a joint task: agents on SE(2) or SE(3) that hold
their distances and turn one way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from accion.analysis import Law, Symmetry, law
from accion.arguments import door, finite, number, one_of, shown, text, whole
from accion.formation.bonds import Bonds, weight
from accion.formation.graph import check_numbers, graph_of
from accion.formation.potentials import check_potential
from accion.formation.rigidity import angles_between, shape_of
from accion.results.trajectory import Trajectory, a_trajectory
from accion.spaces import SE2, SE3, Product
from accion.systems import System
from accion.types import Array, ArrayLike, Params, Scalar, Vector


@final
@dataclass(frozen=True)
class Bodies:
    """L = sum of (m_i |u_i|^2 + omega_i.J_i omega_i)/2 - V(centres) - a/4 sum over edges of |R_i -
    R_j|^2, with (omega_i, u_i) the velocities in each body.
    """

    bonds: Bonds

    def __call__(self, t: Scalar, q: Any, v: Vector, params: Params) -> Array:
        d, g = self.bonds.dimension, self.bonds.graph
        xi = v.reshape(g.n, -1)
        omega, u = xi[:, :-d], xi[:, -d:]
        kinetic = jnp.sum(params["m"] * jnp.sum(u**2, axis=1)) + jnp.sum(params["J"] * omega**2)
        x = jnp.concatenate([each[:d, d] for each in q])
        turned = sum(jnp.sum((q[i] - q[j])[:d, :d] ** 2) for i, j in g.edges.tolist())
        return 0.5 * kinetic - self.bonds(t, x, params) - 0.25 * params["a"] * turned


@final
class RigidFormation:
    """`n` rigid bodies in the plane or in space whose centres hold distances along the edges of a
    graph, and whose attitudes agree where `alignment` draws them to each other:

        L = e^{kappa t} (T - V(r) - a/4 sum over edges of |R_i - R_j|^2),
        T = sum of (m_i |r_i'|^2 + omega_i.J_i omega_i)/2,

    on SE(2)^n or SE(3)^n, V the potential of `Formation`; an angle phi between two attitudes has
    the energy a (1 - cos phi). kappa damps all velocities. L does not see motions of the whole, so
    that e^{kappa t} times the linear and angular momentum is kept: see `laws`.

    Arguments:
        edges: pairs of agents, or a `Graph`.
        distances: one for each edge, or one for all.
        dimension: 2 or 3.
        damping: kappa >= 0.
        mass: m, one for each agent, or one for all.
        inertia: J about the centre: in the plane a number, or one for each agent; in space the
            principal moments, shape (3,), or (n, 3).
        alignment: a >= 0.
        potential: `potential(z, d)` of one edge, in the place of Colombo-Gamonal, eq (36).
        retraction: of the groups; "cayley", which is compiled in a tenth of the time of "exp".
        agents: their number, where some have no edge.
        shape: centres, shape (n, d), that have these distances: where `attraction` puts the agents
            that it does not place; see `from_shape`.

    A configuration is a tuple of n matrices [[R, r], [0, 1]]: see `poses`.
    """

    def __init__(
        self,
        edges: Any,
        distances: ArrayLike,
        dimension: int,
        damping: float = 0.0,
        *,
        mass: ArrayLike = 1.0,
        inertia: ArrayLike = 1.0,
        alignment: float = 0.0,
        potential: Callable[[Array, Scalar], Array] | None = None,
        retraction: str = "cayley",
        agents: int | None = None,
        shape: ArrayLike | None = None,
        name: str = "formation of rigid bodies",
    ) -> None:
        edges = graph_of(edges, agents)
        if whole(dimension, "dimension", 2) > 3:
            raise ValueError(f"dimension must be 2 or 3; got {shown(dimension)}.")
        self.graph, self.dimension = edges, int(dimension)
        n = self.graph.n
        self.distances = check_numbers("distances", distances, self.graph.m, "edge")
        self.mass = check_numbers("mass", mass, n, "agent")
        self.inertia = check_inertia(inertia, n, self.dimension)
        self.damping, self.alignment = number(damping, "damping"), number(alignment, "alignment")
        for word, value in (("damping", self.damping), ("alignment", self.alignment)):
            if value < 0:
                raise ValueError(f"{word} must be zero or above; got {value:g}.")
        self.bonds = Bonds(self.graph, self.dimension, check_potential(potential, self.dimension))
        self.retraction = one_of("cayley", "exp")(retraction, "retraction")
        self.name = text(name, "name")
        self.shape = None if shape is None else self.points(shape, "shape")

    @classmethod
    def from_shape(
        cls, edges: Any, positions: ArrayLike, damping: float = 0.0, **options: Any
    ) -> "RigidFormation":
        """The formation whose distances are those of the centres `positions`, shape (n, d).

        Arguments: `edges`, `damping` and the options as of `RigidFormation`.
        Raises: ValueError where positions have another shape.
        """
        graph, points, distances = shape_of(edges, positions)
        return cls(graph, distances, points.shape[1], damping, shape=points, **options)

    def points(self, q: ArrayLike, name: str = "q") -> np.ndarray:
        """Centres, flat or not, as an array of shape (n, d); `name` is what an error calls them.

        Raises: ValueError where they are of another number of agents.
        """
        found, (n, d) = np.asarray(finite(q, name, "centres")), (self.graph.n, self.dimension)
        if found.shape not in ((n, d), (n * d,)):
            raise ValueError(
                f"{name}: the centres of {n} agents have shape ({n}, {d}); got {found.shape}."
            )
        return found.reshape(n, d)

    def __repr__(self) -> str:
        group = f"SE({self.dimension})"
        return f"RigidFormation({self.graph.n} bodies on {group}, {self.graph.m} edges)"

    @property
    def group(self) -> SE2 | SE3:
        """SE(2) or SE(3), which moves all agents."""
        return SE2(self.retraction) if self.dimension == 2 else SE3(self.retraction)

    @cached_property
    def space(self) -> Product:
        """The group once for each agent."""
        return Product(*[self.group] * self.graph.n)

    def system(self) -> System:
        """An ordinary `System` on the product of the groups, with the weight e^{kappa t} where
        there is damping.
        """
        params = {"m": self.mass, "J": self.inertia, "d": self.distances, "a": self.alignment}
        options: Any = {} if self.damping == 0 else {"weight": weight}
        if self.damping:
            params |= {"kappa": self.damping}
        return System(Bodies(self.bonds), self.space, params, name=self.name, **options)

    @cached_property
    def rounded(self) -> System:
        """`system()`, built once: on groups there is none without compensated summation."""
        return self.system()

    def poses(self, positions: ArrayLike, attitudes: ArrayLike | None = None) -> tuple[Array, ...]:
        """A configuration: centres, shape (n, d), and rotations from body to space, shape (n, d,
        d), all the identity where they are not given.

        Raises: ValueError where they have another shape, or are no rotations.
        """
        n, d = self.graph.n, self.dimension
        r = np.asarray(finite(positions, "positions"))
        R = np.broadcast_to(np.eye(d), (n, d, d))
        R = R if attitudes is None else np.asarray(finite(attitudes, "attitudes"))
        for word, given, shape in (("positions", r, (n, d)), ("attitudes", R, (n, d, d))):
            if given.shape != shape:
                raise ValueError(f"{word} must have shape {shape}; got {given.shape}.")
        g = np.zeros((n, d + 1, d + 1))
        g[:, :d, :d], g[:, :d, d], g[:, d, d] = R, r, 1.0
        for i, each in enumerate(g):
            far, why = self.group.distance(each)
            if far > 1e-9:
                raise ValueError(f"attitudes[{i}] is no rotation: {why}.")
        return tuple(jnp.asarray(each) for each in g)

    def positions(self, q: Sequence[ArrayLike]) -> np.ndarray:
        """The centres, shape (..., n, d), of configurations such as those of a trajectory."""
        d = self.dimension
        return np.stack([np.asarray(each)[..., :d, d] for each in self.checked(q)], axis=-2)

    def attitudes(self, q: Sequence[ArrayLike]) -> np.ndarray:
        """The rotations, shape (..., n, d, d)."""
        d = self.dimension
        return np.stack([np.asarray(each)[..., :d, :d] for each in self.checked(q)], axis=-3)

    def checked(self, q: Any) -> Any:
        """`q` if it is a configuration, or many."""
        size, n = self.dimension + 1, self.graph.n
        if not isinstance(q, tuple | list) or len(q) != n:
            raise ValueError(f"q must be a tuple of {n} arrays, one for each agent.")
        shapes = [np.shape(each)[-2:] for each in q]
        if any(shape != (size, size) for shape in shapes):
            raise ValueError(f"q must have arrays of shape (..., {size}, {size}); got {shapes}.")
        return q

    def errors(self, q: Sequence[ArrayLike]) -> np.ndarray:
        """|r_i - r_j| - d_ij for each edge, shape (..., m)."""
        r = self.positions(q)
        z = r[..., self.graph.tails, :] - r[..., self.graph.heads, :]
        return np.linalg.norm(z, axis=-1) - self.distances

    def angles(self, q: Sequence[ArrayLike]) -> np.ndarray:
        """The angle between the attitudes along each edge, shape (..., m)."""
        R = self.attitudes(q)
        return angles_between(R[..., self.graph.tails, :, :], R[..., self.graph.heads, :, :])

    @cached_property
    def symmetry(self) -> Symmetry:
        """The action of SE(d) on all agents at once, g.(q_1, ..., q_n) = (g q_1, ..., g q_n)."""
        return Symmetry.from_action(moved, self.space, group=self.group)

    @door(trajectory=a_trajectory)
    def laws(self, trajectory: Trajectory) -> Law:
        """What the motions of the whole keep: the momentum map of SE(d), in space sum of r x p + R
        J omega, then in the plane and in space sum of p, each with its factor e^{kappa t}.
        """
        trajectory.check_system()
        if trajectory.system.space != self.space:
            raise ValueError(f"trajectory must be one of {self}; got {trajectory!r}.")
        return law(trajectory, self.symmetry)


def moved(g: Array, q: tuple[Array, ...]) -> tuple[Array, ...]:
    """All agents moved by g."""
    return tuple(g @ each for each in q)


def check_inertia(inertia: Any, n: int, dimension: int) -> np.ndarray:
    """Moments of inertia, shape (n, 1) in the plane and (n, 3) in space.

    Raises: ValueError where they have another shape, are not positive, or those of no body.
    """
    given = np.asarray(finite(inertia, "inertia"))
    axes = 1 if dimension == 2 else 3
    allowed = ((), (n,)) if dimension == 2 else ((), (3,), (n, 3))
    if given.shape not in allowed:
        words = f"a number or shape ({n},)" if dimension == 2 else f"shape (3,) or ({n}, 3)"
        raise ValueError(f"inertia must be {words}; got shape {given.shape}.")
    columns = given[:, None] if dimension == 2 and given.ndim else given
    found = np.broadcast_to(columns, (n, axes)).copy()
    if not np.all(found > 0):
        raise ValueError(f"inertia must be above 0; got {shown(given)}.")
    if axes == 3 and np.any(2 * np.max(found, axis=1) > np.sum(found, axis=1) * (1 + 1e-12)):
        raise ValueError(
            "inertia: a principal moment is larger than the sum of the two others, which no body"
            f" has; got {shown(given)}."
        )
    found.flags.writeable = False
    return found
