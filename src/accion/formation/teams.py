"""What a map of attraction asks of agents, be they points or rigid bodies: where they are placed,
and when they are slow, turned one way, and alike.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from accion.arguments import wrong
from accion.formation.formation import Formation
from accion.formation.graph import Graph
from accion.formation.potentials import quartic
from accion.formation.rigid import RigidFormation
from accion.formation.rigidity import pair_angles
from accion.types import Array, Vector


@dataclass(frozen=True)
class Team(ABC):
    """Agents on a graph; compared by value, because compiled programs are kept by it.

    A configuration is what the space of their system says, in many runs with an axis in front; in
    rows it is `numbers` numbers of each run.
    """

    graph: Graph
    dimension: int

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many numbers a configuration has."""

    @property
    @abstractmethod
    def speeds(self) -> int:
        """How many numbers the velocity of an agent has."""

    @property
    @abstractmethod
    def turns(self) -> bool:
        """Whether agents have attitudes."""

    @abstractmethod
    def centres(self, q: Any) -> Array:
        """Where the agents of one configuration are, shape (n, d)."""

    @abstractmethod
    def agree(self, q: Any, angle: Any) -> Any:
        """Whether the attitudes of one configuration differ by less than `angle` along the edges;
        True where none count.
        """

    @abstractmethod
    def slow(self, x: Vector, reach: Any, turn: Any) -> Array:
        """Whether each agent moves by less than `reach`, and turns by less than `turn`, in the
        increment `x` of a step.
        """

    @abstractmethod
    def placed(self, centres: np.ndarray, attitudes: np.ndarray | None) -> Any:
        """Configurations of centres, shape (runs, n, d), and attitudes, shape (runs, n, d, d)."""

    @abstractmethod
    def in_rows(self, q: Any) -> np.ndarray:
        """Configurations as rows, shape (runs, numbers)."""

    @abstractmethod
    def of_row(self, row: np.ndarray) -> Any:
        """The configuration of one row."""

    @abstractmethod
    def places(self, rows: np.ndarray) -> np.ndarray:
        """The centres of rows, shape (runs, n, d)."""

    @abstractmethod
    def attitudes(self, rows: np.ndarray) -> np.ndarray | None:
        """The attitudes of rows, shape (runs, n, d, d), where agents have them."""

    @abstractmethod
    def angles(self, rows: np.ndarray) -> np.ndarray:
        """The angles between all pairs of agents, where they count, shape (runs, pairs or 0)."""

    @abstractmethod
    def lengths(self) -> np.ndarray:
        """Which coordinates of a displacement are lengths; the others are angles."""


@final
@dataclass(frozen=True)
class Points(Team):
    """The agents of a `Formation`."""

    @property
    def numbers(self) -> int:
        return self.graph.n * self.dimension

    @property
    def speeds(self) -> int:
        return self.dimension

    @property
    def turns(self) -> bool:
        return False

    def centres(self, q: Any) -> Array:
        return q.reshape(self.graph.n, self.dimension)

    def agree(self, q: Any, angle: Any) -> Any:
        return True

    def slow(self, x: Vector, reach: Any, turn: Any) -> Array:
        return jnp.all(jnp.sum(self.centres(x) ** 2, axis=1) < reach**2)

    def placed(self, centres: np.ndarray, attitudes: np.ndarray | None) -> Any:
        return centres.reshape(len(centres), self.numbers)

    def in_rows(self, q: Any) -> np.ndarray:
        return np.asarray(q)

    def of_row(self, row: np.ndarray) -> Any:
        return row

    def places(self, rows: np.ndarray) -> np.ndarray:
        return rows.reshape(len(rows), self.graph.n, self.dimension)

    def attitudes(self, rows: np.ndarray) -> np.ndarray | None:
        return None

    def angles(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros((len(rows), 0))

    def lengths(self) -> np.ndarray:
        return np.full(self.numbers, True)


@final
@dataclass(frozen=True)
class Poses(Team):
    """The bodies of a `RigidFormation`; `aligned` where they are drawn to one attitude, so that a
    formation is one of attitudes, too.
    """

    aligned: bool

    @property
    def numbers(self) -> int:
        return self.graph.n * (self.dimension + 1) ** 2

    @property
    def speeds(self) -> int:
        return self.dimension * (self.dimension + 1) // 2

    @property
    def turns(self) -> bool:
        return True

    def centres(self, q: Any) -> Array:
        d = self.dimension
        return jnp.stack([each[:d, d] for each in q])

    def agree(self, q: Any, angle: Any) -> Any:
        if not self.aligned:
            return True
        d = self.dimension
        apart = [jnp.sum((q[i] - q[j])[:d, :d] ** 2) for i, j in self.graph.edges.tolist()]
        # |R_i - R_j|^2 = 8 sin^2(phi/2)
        return jnp.all(jnp.stack(apart) <= 8 * jnp.sin(0.5 * angle) ** 2)

    def slow(self, x: Vector, reach: Any, turn: Any) -> Array:
        xi, d = x.reshape(self.graph.n, -1), self.dimension
        far, round_ = (jnp.sum(part**2, axis=1) for part in (xi[:, -d:], xi[:, :-d]))
        return jnp.all((far < reach**2) & (round_ < turn**2))

    def placed(self, centres: np.ndarray, attitudes: np.ndarray | None) -> Any:
        runs, n, d = centres.shape
        g = np.zeros((runs, n, d + 1, d + 1))
        g[..., :d, :d] = np.eye(d) if attitudes is None else attitudes
        g[..., :d, d], g[..., d, d] = centres, 1.0
        return tuple(np.moveaxis(g, 1, 0))

    def in_rows(self, q: Any) -> np.ndarray:
        g = np.stack([np.asarray(each) for each in q], axis=1)
        return g.reshape(len(g), self.numbers)

    def of_row(self, row: np.ndarray) -> Any:
        return tuple(self.matrices(row[None])[0])

    def matrices(self, rows: np.ndarray) -> np.ndarray:
        """Shape (runs, n, d + 1, d + 1)."""
        return rows.reshape(len(rows), self.graph.n, self.dimension + 1, self.dimension + 1)

    def places(self, rows: np.ndarray) -> np.ndarray:
        return self.matrices(rows)[..., : self.dimension, self.dimension]

    def attitudes(self, rows: np.ndarray) -> np.ndarray | None:
        return self.matrices(rows)[..., : self.dimension, : self.dimension]

    def angles(self, rows: np.ndarray) -> np.ndarray:
        found = pair_angles(self.matrices(rows)[..., : self.dimension, : self.dimension])
        return found if self.aligned else found[:, :0]

    def lengths(self) -> np.ndarray:
        return np.tile(np.arange(self.speeds) >= self.speeds - self.dimension, self.graph.n)


@singledispatch
def team_of(formation: Any) -> Team:
    """What a map asks of the agents of a formation.

    Raises: ValueError where a force acts on it.
    """
    raise NotImplementedError


@team_of.register
def _(formation: Formation) -> Team:
    if formation.force is not None:
        raise ValueError(
            "attraction looks where agents come to rest under their bonds and damping alone; leave"
            " out the force of this formation."
        )
    return Points(formation.graph, formation.dimension)


@team_of.register
def _(formation: RigidFormation) -> Team:
    return Poses(formation.graph, formation.dimension, formation.alignment > 0)


def a_formation(value: Any, name: str) -> Any:
    """The check of a `door`: of points, or of bodies."""
    if isinstance(value, Formation | RigidFormation):
        return value
    wrong(name, "a Formation or a RigidFormation", value)
    return None


@singledispatch
def numbers_of(formation: Any) -> dict[str, Any]:
    """What a map says of its formation, besides edges and distances; see `rebuilt`."""
    raise NotImplementedError


@numbers_of.register
def _(formation: Formation) -> dict[str, Any]:
    return {"gains": formation.gains.tolist()}


@numbers_of.register
def _(formation: RigidFormation) -> dict[str, Any]:
    inertia = formation.inertia
    return {
        "gains": formation.damping,
        "mass": formation.mass.tolist(),
        "inertia": (inertia[:, 0] if formation.dimension == 2 else inertia).tolist(),
        "alignment": formation.alignment,
        "retraction": formation.retraction,
    }


def rebuilt(known: dict[str, Any], edges: Any, distances: Any, shape: np.ndarray) -> Any:
    """The formation of which `numbers_of` says this; its bonds are those of Colombo-Gamonal."""
    n, d = shape.shape
    if "inertia" in known:
        rest = {name: known[name] for name in ("mass", "inertia", "alignment", "retraction")}
        return RigidFormation(edges, distances, d, known["gains"], agents=n, shape=shape, **rest)
    return Formation(edges, distances, d, known["gains"], agents=n, shape=shape)


def quartic_or_own(formation: Formation | RigidFormation) -> str:
    """Whether the bonds are those of Colombo-Gamonal, eq 36, in a word."""
    return "quartic" if formation.bonds.potential is quartic else "own"
