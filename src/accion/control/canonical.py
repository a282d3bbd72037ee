"""The Hamiltonian face of a control problem: the flow on W1 from given costates, and the ways to
the faces without controls.

A point of W1 is (t, q, v, costates); the control follows from dH/du = 0. The costates are the
momenta of Jacobi and Ostrogradsky of L~ + lam.Phi (`control.faces`):

    p1 = d(L~ + lam.Phi)/da,    p0 = d(L~ + lam.Phi)/dv - dp1/dt,    lam = K^T M^-1 p1

and the momenta of two neighbouring nodes, the components of Theta^+ of the discrete Lagrangian, are
those of a point in the middle of them: P_0.dq_0 + P_1.dq_1 = p0.dq + p1.dv.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import count, door, number, positive, wrong
from accion.checks import a_method
from accion.control import faces, ways
from accion.control.elimination import Elimination, elimination_of
from accion.control.extremal import Extremal
from accion.control.hamiltonian import Hamiltonian, at_nodes, is_regular
from accion.errors import OptimizeFailed
from accion.memory import rows
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.spaces import check_vector
from accion.symbols import Written
from accion.systems import HigherOrderSystem, System
from accion.systems.start import check_configurations, check_rows, is_traced, stacked
from accion.types import Array, ArrayLike, Configuration, Function, Scalar

if TYPE_CHECKING:
    from accion.control.problem import ControlProblem

SUBSTEPS = 4  # of an interval between two times of a march


class Path(NamedTuple):
    """States and costates at some times, with guesses of the controls."""

    t: Any
    q: Configuration
    v: Any
    p0: Any
    p1: Any
    guess: Any


class Point(NamedTuple):
    """A point of W1: `costates` (2, dim) are (p0, p1)."""

    t: Any
    q: Configuration
    v: Array
    costates: Array


@dataclass(frozen=True)
class CanonicalSystem(Written):
    """The Hamiltonian system of a `ControlProblem` on W1 (Vakonomic thesis, sections 6.2 and 7.1):

        H = p0.v + p1.a(t, q, v, u) - C(t, q, v, u),    dH/du = 0
        q' = v,    v' = a,    p0' = ad*_v p0 - dH/dq,    p1' = -dH/dv

    `march` follows its flow from given costates; `to_vakonomic`, `from_vakonomic`, `to_discrete`
    and `from_discrete` lead to the other faces of the problem and back, `read` reads a whole
    trajectory of one of them. `ac.symbolic` writes its equations.
    """

    problem: "ControlProblem"

    @property
    def system(self) -> System:
        """The system that is controlled."""
        return self.problem.system

    @cached_property
    def eliminated(self) -> Elimination:
        """How its controls are eliminated."""
        return elimination_of(self.problem)

    @cached_property
    def vakonomic(self) -> HigherOrderSystem:
        """The face in continuous time without controls."""
        return self.problem.vakonomic()

    @property
    def hamiltonian(self) -> Hamiltonian:
        """H as a function of the control too."""
        return Hamiltonian(self.problem.cost, self.problem.law)

    def letters(self, seconds: float) -> Any:
        """What `ac.symbolic` returns."""
        from accion.control.letters import ControlEquations  # SymPy takes long to import
        from accion.symbols.simplification import Simplifier

        return ControlEquations(self.problem, Simplifier(seconds))

    # ------------------------------------------------------------ at a point

    def point(self, t: Any, q: Any, v: Any, costates: Any, at: str = "") -> Point:
        """What a user gave, as arrays; `at` is what follows the letters in its names."""
        system, n = self.system, self.system.space.dim
        v = check_vector(v, n, f"v{at}", "degree of freedom")
        p = check_rows(costates, 2, n, "costates", "p0 and p1, those of q and v")
        q = system.space.check(q, f"q{at}")
        return Point(number(t, f"t{at}"), q, jnp.asarray(v), jnp.asarray(p))

    def guess(self, u: Any, name: str = "u") -> Array:
        """Where the search for a control begins."""
        count = self.problem.control_count
        return jnp.zeros(count) if u is None else check_vector(u, count, name, "control")

    def control(
        self,
        t: Scalar,
        q: Configuration,
        v: ArrayLike,
        costates: ArrayLike,
        u: ArrayLike | None = None,
    ) -> Array:
        """The control with dH/du = 0, shape (controls,); NaN where none is found from the guess
        `u`.
        """
        return self.of_control(t, q, v, costates, u)[0]

    def H(
        self,
        t: Scalar,
        q: Configuration,
        v: ArrayLike,
        costates: ArrayLike,
        u: ArrayLike | None = None,
    ) -> Array:
        """The Hamiltonian on W1, with the control that is found from the guess `u`."""
        return self.of_control(t, q, v, costates, u)[1]

    def of_control(self, t: Any, q: Any, v: Any, costates: Any, u: Any) -> Any:
        """(u, H, dH/du, d2H/du2) at a point of W1."""
        t, q, v, p = self.point(t, q, v, costates)
        found = ways.OfControl(self.hamiltonian)
        return once(found, self.system, t, q, v, p, self.guess(u))

    # ------------------------------------------------------------ its flow

    @door(steps=rows(2000), duration=positive, t0=number, substeps=count)
    def march(
        self,
        costates: ArrayLike,
        *,
        q0: Configuration | None = None,
        v0: ArrayLike | None = None,
        steps: int,
        duration: float | None = None,
        t0: float | None = None,
        u0: ArrayLike | None = None,
        substeps: int = SUBSTEPS,
    ) -> Extremal:
        """The motion on W1 from given costates, to order 8.

        Arguments:
            costates: (p0, p1) at the start, shape (2, dim), such as `solution.costates[0]`.
            q0, v0: where it starts; the start of the problem.
            steps: the number of intervals between the times that are returned.
            duration, t0: those of the problem.
            u0: a guess of the first control, for costs that are not quadratic in it.
            substeps: of each interval; `error` is the change of the cost by half as many.

        Raises:
            OptimizeFailed: where dH/du = 0 does not determine the control, or the motion ends.
        """
        problem, start = self.problem, self.problem.ends[0]
        t0 = problem.t0 if t0 is None else t0
        duration = problem.longest if duration is None else duration
        q0, v0 = start.q if q0 is None else q0, start.v if v0 is None else v0
        t, q, v, p = self.point(t0, q0, v0, costates, "0")
        u, y0 = self.guess(u0, "u0"), (q, v, p[0], p[1], jnp.zeros(()))
        runs = [
            ways.marched(self.hamiltonian, steps, self.system, t, duration / steps, y0, u, pieces)
            for pieces in (substeps, 2 * substeps)
        ]
        y, guess = runs[1]
        times = t + duration * np.linspace(0, 1, steps + 1)
        self.check_followed(times, y, guess)
        error = jnp.abs(runs[1][0][4][-1] - runs[0][0][4][-1])
        return self.extremal(Path(times, y[0], y[1], y[2], y[3], guess), y[4][-1], error)

    def check_followed(self, t: np.ndarray, y: Any, u: Array) -> None:
        """Raise OptimizeFailed where a march ended before its time."""
        if is_traced(y):
            return
        good = np.isfinite(np.asarray(y[4])) & np.all(np.isfinite(np.asarray(u)), axis=1)
        if np.all(good):
            return
        k = int(np.argmin(good))
        raise OptimizeFailed(
            f"the motion on W1 was not followed beyond t = {t[max(k - 1, 0)]:.4g}: no control with"
            " dH/du = 0 was found there, or the motion grows without bound. Give a guess u0, more"
            " steps, or costates of a solution (solution.costates[0])."
        )

    def extremal(self, path: Path, cost: Any, error: Any) -> Extremal:
        """A path on W1 with its controls and Hamiltonian; `error` is that of the cost."""
        t, q, v, p0, p1, guess = path
        found = at_nodes(self.hamiltonian, self.system, t, q, v, p0, p1, guess)
        u, H, slope, hessians = (np.asarray(a) for a in found)
        if not np.all(is_regular(hessians)):
            raise OptimizeFailed(
                "d2H/du2 is singular: dH/du = 0 does not determine the controls, and W1 is not"
                " symplectic (Vakonomic thesis, Prop 7.1.2). Add a term to the cost that grows with"
                " all controls, such as 1e-3 * u @ u."
            )
        return Extremal(
            t=np.asarray(t),
            q=jax.tree.map(np.asarray, q),
            v=np.asarray(v),
            u=u,
            costates=np.stack([p0, p1], axis=1),
            cost=float(cost),
            H=H,
            optimality=float(np.max(np.abs(slope))),
            gap=float("nan"),
            error=float(error),
            regularity=hessians,
            iterations=0,
        )

    # ------------------------------------------------------------ to the other faces and back

    def to_vakonomic(
        self,
        t: Scalar,
        q: Configuration,
        v: ArrayLike,
        costates: ArrayLike,
        u: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """The start of `problem.vakonomic()` at a point of W1, arguments of `simulate` and
        `reference`: `v0`, the first three derivatives of q, and, where there is a constraint,
        `lam0`, its multipliers and their rates.

        Arguments:
            t, q, v, costates: the point, costates of shape (2, dim).
            u: a guess of its control, for costs that are not quadratic in it.
        """
        point, guess = self.point(t, q, v, costates), self.guess(u)
        found = once(ways.ToJets(self.hamiltonian, self.eliminated), self.system, *point, guess)
        given = {"t0": point.t, "q0": point.q, "v0": found.jets}
        return given | ({"lam0": found.lams} if self.eliminated.count else {})

    def from_vakonomic(
        self, t: Scalar, q: Configuration, jets: ArrayLike, lams: ArrayLike | None = None
    ) -> Point:
        """The point of W1 of a state of `problem.vakonomic()`: its costates are the momenta of
        Jacobi and Ostrogradsky.

        Arguments:
            t, q: time and configuration.
            jets: the first three derivatives of q, shape (3, dim).
            lams: (lam, lam'), shape (2, m), where there is a constraint.
        """
        system, n = self.vakonomic, self.system.space.dim
        jets = jnp.asarray(check_rows(jets, 3, n, "jets", "the first three derivatives of q"))
        own = self.multipliers(lams, "lams", "lam and lam'")
        t, q = number(t, "t"), system.space.check(q, "q")
        return Point(t, q, jets[0], once(ways.momenta_of, system, t, q, jets, own))

    def multipliers(self, lams: Any, name: str, words: str) -> Array:
        """Two rows of multipliers, as an array."""
        m = self.eliminated.count
        if lams is None:
            if m:
                wrong(name, f"{words}, shape (2, {m})", lams)
            return jnp.zeros((2, 0))
        return jnp.asarray(check_rows(lams, 2, m, name, words))

    @door(method=a_method, h=positive)
    def to_discrete(
        self,
        method: Method,
        h: float,
        t: Scalar,
        q: Configuration,
        v: ArrayLike,
        costates: ArrayLike,
        u: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """The start of `problem.discrete(method)` with steps h whose first two nodes have a point
        of W1 in their middle, arguments of `simulate`: `q0`, `q1`, and `lam0` where there is a
        constraint.

        Arguments:
            method, h: of the discrete face.
            t, q, v, costates, u: as for `to_vakonomic`; the first node is at t - h/2.

        Raises:
            OptimizeFailed: where the discrete equations have no solution next to the point.
        """
        face, start = self.problem.discrete(method), self.to_vakonomic(t, q, v, costates, u)
        point = self.point(t, q, v, costates)
        jets = ways.Jets(start["v0"], start.get("lam0", jnp.zeros((2, 0))))
        first = point.t - h / 2
        nodes, lams, good = ways.nodes_from(face, first, h, point.q, point.costates, jets)
        if not is_traced(good) and not bool(good):
            raise OptimizeFailed(
                f"no discrete motion with h = {h:g} was found through this point at t ="
                f" {float(point.t):.4g}: take shorter steps."
            )
        given = {"t0": first, "q0": nodes[0], "q1": stacked(nodes[1:])}
        return given | ({"lam0": lams} if self.eliminated.count else {})

    @door(method=a_method, h=positive, t0=number)
    def from_discrete(
        self,
        method: Method,
        h: float,
        q: Any,
        lam: ArrayLike | None = None,
        t0: float = 0.0,
    ) -> Point:
        """The point of W1 in the middle of the first two of four nodes of `problem.discrete(
        method)`; the inverse of `to_discrete`.

        Arguments:
            method, h: of the discrete face.
            q: four configurations, one after the other.
            lam: the multipliers of their two windows, shape (2, m), where there is a constraint.
            t0: the time of the first.
        """
        face, space = self.problem.discrete(method), self.system.space
        own = self.multipliers(lam, "lam", "the multipliers of two windows")
        stack = check_configurations(space, q, 4, "q")
        nodes = [jax.tree.map(lambda a, i=i: a[i], stack) for i in range(4)]
        return Point(t0 + h / 2, *ways.middle_from(face, t0, h, nodes, own))

    def read(self, motion: Trajectory) -> Extremal:
        """A trajectory of `problem.vakonomic()` or of `problem.discrete(method)` as a motion on W1.

        Of the first its rows are those of the trajectory, and `cost` is the integral over them by
        the trapezoidal rule; of the second they are the middles between its nodes, and `cost` is
        the discrete one, the sum over its windows.
        """
        face = faces.face_of(motion.system) if isinstance(motion, Trajectory) else None
        if face is None or not face.is_of(self.problem):
            words = "a Trajectory of problem.vakonomic() or problem.discrete(method)"
            wrong("motion", words, motion)
        if not bool(np.all(motion.success)):
            raise ValueError("motion ended before its time: the rows after that are no motion.")
        discrete = motion.system.discrete_time
        return self.read_discrete(motion) if discrete else self.read_vakonomic(motion)

    def read_vakonomic(self, motion: Trajectory) -> Extremal:
        """`read` of a trajectory in continuous time."""
        jets, p, t = np.asarray(motion.jets), np.asarray(motion.p), np.asarray(motion.t)
        guess = self.controls(t, motion.q, jets[:, 0], jets[:, 1])
        path = Path(t, motion.q, jets[:, 0], p[:, 0], p[:, 1], guess)
        found = self.extremal(path, np.nan, np.nan)
        cost = ways.RunningCostOf(self.problem.cost)
        C = at_times(cost, False, self.system, t, motion.q, found.v, found.u)
        return found._replace(cost=float(np.trapezoid(np.asarray(C), t)))

    def read_discrete(self, motion: Trajectory) -> Extremal:
        """`read` of a trajectory in discrete time."""
        nodal, t, h = motion.nodal, np.asarray(motion.t), float(motion.h)
        if nodal is None or len(t) < 4 or not np.allclose(np.diff(t), h, rtol=1e-6, atol=0.0):
            raise ValueError(
                "motion must be one of equal steps, of four rows or more, with every step saved"
                " (save_every=1)."
            )

        def part(first: int, last: int | None) -> Configuration:
            return jax.tree.map(lambda a: np.asarray(a)[first:last], motion.q)

        def at(f: Any, t: np.ndarray, *arrays: Any) -> Any:
            return at_times(f, False, motion.system, t, *arrays, np.full(len(t), h))

        pairs = (part(0, -1), part(1, None), np.asarray(nodal.P)[:-1])
        q, v, p = at(ways.middle_at, t[:-1], *pairs)
        windows = (part(0, -2), part(1, -1), part(2, None))
        cost = np.sum(np.asarray(at(ways.window_action, t[:-2], *windows)))
        middles, v = t[:-1] + h / 2, np.asarray(v)
        guess = self.controls(middles, q, v, np.gradient(v, h, axis=0))
        return self.extremal(Path(middles, q, v, p[:, 0], p[:, 1], guess), cost, np.nan)

    def controls(self, t: np.ndarray, q: Configuration, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The controls that accelerations ask for, at some times."""
        return np.asarray(at_times(ways.ControlOf(self.eliminated), False, self.system, t, q, v, a))


def once(f: Function, system: Any, t: Any, *arrays: Any) -> Any:
    """`f(system, t, *arrays)`, compiled as at the times of a trajectory."""
    rows = jax.tree.map(lambda a: jnp.asarray(a)[None], (t, *arrays))
    return jax.tree.map(lambda a: a[0], at_times(f, False, system, *rows))
