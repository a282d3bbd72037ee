"""Where each unknown of a discrete control problem is in the vector x, and which values it may
have.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from accion.assembly.charts import is_vector, local_all
from accion.control.bounds import Bounds
from accion.control.mesh import Steps, places_of
from accion.control.problem import ControlProblem
from accion.methods import Method
from accion.spaces import Space
from accion.types import Array, Configuration


@dataclass(frozen=True)
class Layout:
    """Places `mesh` of the nodes, from 0 to 1, and numbers of the unknowns in x: displacements e (N
    + 1, dim) of the nodes, multipliers lam (N + 1, m) there, controls u (N, places, controls) of
    the steps (or none, where they are eliminated), increments (N, inner points, dim) of their inner
    points and multipliers inner_lam (N, inner points, m) there, velocities v (2, dim) at the ends,
    and the duration T (one, where it is free).
    """

    problem: ControlProblem
    mesh: np.ndarray
    e: np.ndarray
    lam: np.ndarray
    u: np.ndarray
    inner: np.ndarray
    inner_lam: np.ndarray
    v: np.ndarray
    T: np.ndarray
    size: int

    @property
    def steps(self) -> int:
        return len(self.mesh) - 1

    @property
    def spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the steps start and end, as parts of the duration."""
        return self.mesh[:-1], self.mesh[1:]

    def of_steps(self, k: np.ndarray) -> np.ndarray:
        """The numbers of what is unknown in the steps k, one row for each: u, inner points, and
        multipliers there.
        """
        blocks = (self.u, self.inner, self.inner_lam)
        return np.concatenate([block[k].reshape(len(k), -1) for block in blocks], 1)

    def bounds(self) -> Bounds:
        """(lower, upper) of x; a fixed unknown has both the same.

        On a curved space nodes are measured from the base path, so a fixed end is 0.
        """
        problem = self.problem
        lower, upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        lower[self.e], upper[self.e] = problem.q_bounds
        for block, bounds in (
            (self.u, problem.u_bounds),
            (self.v, problem.v_bounds),
            (self.T, problem.durations),
        ):
            if block.size:
                lower[block], upper[block] = bounds
        for side in (lower, upper):
            self.fix_ends(side)
        return lower, upper

    def fix_ends(self, values: np.ndarray) -> None:
        """Write what is given at the ends into a vector x.

        With two configurations at each end, those of the start are (q_0, q_1), those of the end
        (q_{N-1}, q_N).
        """
        problem, space = self.problem, self.problem.system.space
        (start, end), two = problem.ends, problem.boundary == "configurations"
        given = [(0, start.q, start.q_fixed), (-2 if two else -1, end.q, end.q_fixed)]
        if two:
            given += [(1, start.v, start.v_fixed), (-1, end.v, end.v_fixed)]
            values[self.lam[[0, -1]]] = 0.0  # the momentum balance there is not asked for
        else:
            for which, each in enumerate(problem.ends):
                values[self.v[which][each.v_fixed]] = each.v[each.v_fixed]
        for node, q, fixed in given:
            e = np.zeros(space.dim)
            if space.flat:
                e = np.asarray(space.local(space.identity(), q))
            values[self.e[node][fixed]] = e[fixed]

    def place(self) -> np.ndarray:
        """When each unknown acts, in steps."""
        place = np.zeros(self.size)
        place[self.e] = np.arange(self.steps + 1)[:, None]
        place[self.lam] = np.arange(self.steps + 1)[:, None] + 0.2
        for block in (self.u, self.inner, self.inner_lam):
            place[block] = np.arange(self.steps)[:, None, None] + 0.5
        if self.v.size:
            place[self.v[1]] = self.steps + 0.25
        return place


def layout_of(problem: ControlProblem, steps: Steps, method: Method | None = None) -> Layout:
    """The layout for `steps` steps by `method`; without it controls and multipliers are not among
    the unknowns.
    """
    mesh = places_of(steps)
    count, n = len(mesh) - 1, problem.system.space.dim
    m = 0 if method is None else problem.system.multipliers
    controls = 0 if method is None else problem.control_count
    places, inner = (1, 0) if method is None else (len(method.control_places), method.inner_points)
    sizes = {
        "e": (count + 1, n),
        "lam": (count + 1, m),
        "u": (count, places, controls),
        "inner": (count, inner, n),
        "inner_lam": (count, inner, m),
        "v": (2 if problem.boundary == "velocities" else 0, n),
        "T": (1 if problem.free_time else 0,),
    }
    first, blocks = 0, {}
    for name, shape in sizes.items():
        size = int(np.prod(shape))
        blocks[name] = first + np.arange(size).reshape(shape)
        first += size
    return Layout(problem, mesh, **blocks, size=first)


def split(x: Array, *sizes: int) -> list[Array]:
    """`x` cut into vectors of the given sizes; what is left comes last."""
    return jnp.split(x, [int(end) for end in np.cumsum(sizes)])


def base_of(space: Space, path: Configuration) -> Configuration:
    """The configurations that displacements are measured from: the origin on a flat space, the path
    itself on another.
    """
    if space.flat:
        length = len(jax.tree.leaves(path)[0])
        return jax.tree.map(
            lambda a: np.broadcast_to(np.asarray(a), (length, *np.shape(a))), space.identity()
        )
    return jax.tree.map(np.asarray, path)


def displacements(space: Space, q: Configuration) -> np.ndarray:
    """Those of the configurations `q` from the base that they make: zero on a curved space."""
    if is_vector(space):
        return np.asarray(q)
    if space.flat:
        return local_all(space, base_of(space, q), q)
    return np.zeros((len(jax.tree.leaves(q)[0]), space.dim))
