"""A control problem near an equilibrium or along a solution, to first order."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door, number, positive, shown, vector
from accion.checks import check_mechanical, refuse
from accion.control.balance import AT_REST, balance, without_effect
from accion.control.problem import ControlProblem
from accion.control.solution import Solution
from accion.control.states import Slopes, StepSlopes, law_of
from accion.instant.constrained import inertias
from accion.numerics.batches import at_times
from accion.spaces import check_vector
from accion.told import Told
from accion.types import Configuration

COUPLED = 1e-10  # of what its terms are, the least that counts as acting at all
STABLE = 1e-9  # of the largest mode, below which a mode counts as neither growing nor decaying


class Motion(NamedTuple):
    """What is linearised about: times, states and controls, the last by their values at `places` of
    each step, shape (steps, places, controls). An equilibrium has one time.
    """

    t: np.ndarray
    q: Configuration
    v: np.ndarray
    u: np.ndarray
    places: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Linear(Told):
    """Small changes z = (e, w) of the state about a motion, and du of its controls:

        z' = A z + B du,      z_{k+1} = Phi z_k + Gamma du_k

    q is moved by the increment e (in the frame of the body, on a group) and v by w; the second is
    exact for controls that are held for a step of length h.

    A, B:        (2 dim, 2 dim) and (2 dim, controls); along a solution one at each node
    Phi, Gamma:  of a step; along a solution of each; None at an equilibrium without h
    h:           length of a step
    modes:       eigenvalues of A on what the constraints allow, 1/s, those that grow fastest first
    controllable, stabilisable, unreached:
                 whether the controls reach all directions, or all that do not die out; a basis of
                 those that they do not reach
    """

    problem: ControlProblem
    about: Motion
    A: np.ndarray
    B: np.ndarray
    Phi: np.ndarray | None
    Gamma: np.ndarray | None
    h: float | None
    units: np.ndarray = field(repr=False)  # sizes of z by which its components compare
    frames: np.ndarray = field(repr=False)  # orthonormal bases of what constraints allow

    @property
    def varying(self) -> bool:
        """Whether it is along a solution."""
        return self.A.ndim == 3

    def __str__(self) -> str:
        n, m = self.B.shape[-2:]
        if self.varying:
            where = f"along {len(self.A) - 1} steps"
        else:
            where = f"at rest, modes {', '.join(f'{mode:.4g}' for mode in self.modes)} 1/s"
        reach = "controllable" if self.controllable else f"{self.unreached.shape[1]} unreached"
        return f"{self.problem.name}, {n} states and {m} controls {where}: {reach}"

    # ------------------------------------------------------------ on what the constraints allow

    def inside(self, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """(E, R): the basis of the changes z that the constraints allow at a node, and its inverse
        on them.
        """
        N = self.frames[k]
        return self.units[:, None] * N, N.T / self.units

    @cached_property
    def reduced(self) -> tuple[np.ndarray, np.ndarray]:
        """(A, B) at an equilibrium on what the constraints allow."""
        self.check_at_rest("its modes are those of an equilibrium")
        E, R = self.inside()
        return R @ self.A @ E, R @ self.B

    @cached_property
    def reduced_steps(self) -> tuple[np.ndarray, np.ndarray]:
        """(Phi, Gamma) of all steps on what the constraints allow."""
        if self.Phi is None or self.Gamma is None:
            raise ValueError(
                "a linearisation without a step has no Phi and Gamma: give linearise its length,"
                " h=0.02."
            )
        steps = (self.Phi, self.Gamma) if self.varying else (self.Phi[None], self.Gamma[None])
        found = []
        for k, (Phi, Gamma) in enumerate(zip(*steps, strict=True)):
            E, R = self.inside(k)[0], self.inside(k + self.varying)[1]
            found.append((R @ Phi @ E, R @ Gamma))
        Phi, Gamma = (np.stack(part) for part in zip(*found, strict=True))
        return Phi, Gamma

    def check_at_rest(self, words: str) -> None:
        """Raise ValueError along a solution."""
        if self.varying:
            raise ValueError(
                f"{words}: this is along a solution; linearise(problem, at=(q, None))."
            )

    @cached_property
    def modes(self) -> np.ndarray:
        """Eigenvalues of A, those that grow fastest first."""
        return sorted_modes(np.linalg.eigvals(self.reduced[0]))

    @cached_property
    def beyond(self) -> np.ndarray:
        """An orthonormal basis of what no control reaches, in units of the state."""
        if not self.varying:
            return complement(staircase(*self.reduced))
        return unreached_along(*self.reduced_steps)

    @property
    def unreached(self) -> np.ndarray:
        """The directions z that no control reaches, one in each column, shape (2 dim, count)."""
        return self.inside(-1)[0] @ self.beyond

    @property
    def controllable(self) -> bool:
        """Whether controls lead from any small change to any other."""
        return self.beyond.shape[1] == 0

    @cached_property
    def fixed_modes(self) -> np.ndarray:
        """The modes of an equilibrium that no feedback changes."""
        A, U = self.reduced[0], self.beyond
        return sorted_modes(np.linalg.eigvals(U.T @ A @ U))

    @property
    def stabilisable(self) -> bool:
        """Whether what no control reaches dies out by itself."""
        size = np.max(np.abs(self.modes), initial=0.0)
        return bool(np.all(np.real(self.fixed_modes) < -STABLE * size))


def sorted_modes(values: Any) -> np.ndarray:
    """Those that grow fastest first, pairs side by side."""
    return values[np.lexsort((-values.imag, np.round(-values.real, 9)))]


# ---------------------------------------------------------------- what the controls reach


def normed(a: np.ndarray) -> np.ndarray:
    """Columns of length 1, or 0."""
    size = np.linalg.norm(a, axis=0)
    return a / np.where(size > 0, size, 1.0)


def directions(a: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the directions of the columns that count."""
    U, s, _ = np.linalg.svd(a, full_matrices=False)
    return U[:, s > COUPLED]


def staircase(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """An orthonormal basis of span(B, A B, A^2 B, ...), one power after the other."""
    A = A / (np.max(np.abs(A), initial=0.0) or 1.0)
    found = new = directions(normed(B))
    while new.shape[1]:
        more = A @ new
        for _ in range(2):  # the second time for what rounding left
            more = more - found @ (found.T @ more)
        new = directions(more)
        found = np.concatenate([found, new], axis=1)
    return found


def complement(basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what is orthogonal to one."""
    U = np.linalg.svd(basis, full_matrices=True)[0]
    return U[:, basis.shape[1] :]


def unreached_along(Phi: np.ndarray, Gamma: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what no controls of the steps reach at their end: the kernel of the
    root R of the Gramian, R_{k+1} R_{k+1}^T = Phi R_k R_k^T Phi^T + Gamma Gamma^T.

    What is reached after some of the steps is reached after all; so growth along a long motion
    hides nothing.
    """
    n = Phi.shape[1]
    root, missing = np.zeros((n, 0)), np.eye(n)
    unit = np.linalg.norm(Gamma, axis=(0, 1))
    for A, B in zip(Phi, Gamma / np.where(unit > 0, unit, 1.0), strict=True):
        root = np.asarray(np.linalg.qr(np.concatenate([A @ root, B], axis=1).T, mode="r")).T
        U, s, _ = np.linalg.svd(root, full_matrices=True)
        rank = int(np.sum(s > COUPLED * np.max(s, initial=0.0)))
        missing = U[:, rank:]
        if rank == n:
            break
    return missing


# ---------------------------------------------------------------- making one


@door(h=positive, t=number, u=vector)
def linearise(
    about: ControlProblem | Solution,
    *,
    at: Any = None,
    u: Any = None,
    t: float | None = None,
    h: float | None = None,
) -> Linear:
    """Small changes of the state and of the controls near an equilibrium of a problem, or along a
    solution.

    Arguments:
        about: a `ControlProblem`, or a `Solution` of one.
        at: of a problem, the equilibrium (q, v), v None or zero; its end where nothing is given.
        u: of a problem, the controls that hold it there, (controls,); found where they are not
            given.
        t: of a problem, when; t0 where it is not given.
        h: of a problem, the length of the steps for which controls are held; a solution has its
            own.

    Raises:
        ValueError: where it is no equilibrium.

    References: errors in the frame of the body are those of Bullo and Murray, Tracking for fully
    actuated mechanical systems, 1999.
    """
    if isinstance(about, Solution):
        given = {"at": at, "u": u, "t": t, "h": h}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is for a ControlProblem; a Solution has its own.")
        check_mechanical(about.problem.system, "linearise")
        return along(about)
    if not isinstance(about, ControlProblem):
        raise ValueError(f"about must be a ControlProblem or a Solution; got {shown(about)}.")
    check_mechanical(about.system, "linearise")
    return at_rest(about, at, u, about.t0 if t is None else t, h)


def along(solution: Solution) -> Linear:
    """About the nodes of a solution, and its steps."""
    s, (places, u) = solution, solution.control_pieces()
    if not s.success:
        raise ValueError(f"a Solution that failed is no motion to follow: {s.message}.")
    motion = Motion(np.asarray(s.t), s.q, np.asarray(s.v), np.asarray(u), places)
    at_nodes = np.concatenate([s.control(s.t[:-1]), s.control(s.t[-1:] - 1e-12 * s.duration)])
    before = jax.tree.map(lambda a: np.asarray(a)[:-1], s.q)
    steps = (motion.t[:-1], np.diff(motion.t), before, motion.v[:-1], motion.u)
    return made(s.problem, motion, (motion.t, s.q, motion.v, at_nodes), steps, None)


def at_rest(problem: ControlProblem, at: Any, u: Any, t: float, h: float | None) -> Linear:
    """About an equilibrium."""
    system, count = problem.system, problem.control_count
    q, v = equilibrium_of(problem, at)
    if u is not None:
        u = np.asarray(check_vector(u, count, "u", "control"), dtype=float)
    given = u is not None
    u, left, terms = balance(problem, t, q, u)
    if not left <= AT_REST * terms:
        idle = [] if given else without_effect(problem, t, q, u)
        if idle:
            raise ValueError(
                f"u: the controls that hold {system.name} at rest in q = {q} at t = {t:g} were not"
                f" found, because at u = {u}, where the search ended, {', '.join(idle)} changes no"
                " acceleration to first order. Give them, u=."
            )
        raise ValueError(
            f"at is no equilibrium: at rest in q = {q} at t = {t:g}, with the controls"
            f" u = {u}, {system.name} accelerates by {left:.3g}. Give the equilibrium to more"
            " digits, the controls that hold it as u=, or linearise a Solution."
        )
    point = jax.tree.map(lambda a: np.asarray(a)[None], (float(t), q, v))
    motion = Motion(point[0], point[1], point[2], u[None, None], (0.5,))
    steps = None if h is None else (point[0], np.array([h]), *point[1:], u[None, None])
    return made(problem, motion, (*point, u[None]), steps, h)


def equilibrium_of(problem: ControlProblem, at: Any) -> tuple[Configuration, np.ndarray]:
    """(q, v) at rest, from what the user gave or the end of the problem."""
    space, words = problem.system.space, "the equilibrium (q, v), v None or zero"
    if at is None:
        end = problem.ends[1]
        if problem.boundary != "velocities" or not np.all(end.q_fixed):
            raise ValueError(
                "at: the end of the problem is not given whole; say where, at=(q, None)."
            )
        at = (end.q, end.v)
    if not isinstance(at, tuple | list) or len(at) != 2:
        raise ValueError(f"at must be {words}; got {shown(at)}.")
    q = jax.tree.map(np.asarray, space.check(at[0], "at[0]"))
    v = np.zeros(space.dim)
    if at[1] is not None:
        v = np.asarray(check_vector(at[1], space.dim, "at[1]"), dtype=float)
    if np.any(v != 0):
        raise ValueError(
            f"at must be {words}; got v = {v}. Along a motion give linearise its Solution."
        )
    return q, v


def made(
    problem: ControlProblem, motion: Motion, points: Any, steps: Any, h: float | None
) -> Linear:
    """The `Linear` of a motion, its points (t, q, v, u) and its steps (t, h, q, v, u)."""
    system = problem.system
    A, B, held = (np.asarray(a) for a in at_times(Slopes(law_of(problem)), False, system, *points))
    for what, a in (("A", A), ("B", B)):
        if not np.all(np.isfinite(a)):
            refuse_singular(problem, what)
    Phi = Gamma = None
    if steps is not None:
        f = StepSlopes(law_of(problem), motion.places)
        Phi, Gamma = (np.asarray(a) for a in at_times(f, False, system, *steps))
        if not (np.all(np.isfinite(Phi)) and np.all(np.isfinite(Gamma))):
            raise ValueError(f"h: the motion is lost within {np.max(steps[1]):g} s; take less.")
    units = units_of(problem, points, A)
    frames = np.stack([allowed(c * units) for c in held])
    if len(A) == 1:
        A, B = A[0], B[0]
        Phi, Gamma = (None if a is None else a[0] for a in (Phi, Gamma))
    return Linear(problem, motion, A, B, Phi, Gamma, h, units, frames)


def refuse_singular(problem: ControlProblem, what: str) -> None:
    """Raise the error of an acceleration without derivatives."""
    why = f"its accelerations have no finite derivatives there ({what})"
    refuse("linearise", str(problem.system.name), why)


def units_of(problem: ControlProblem, points: Any, A: np.ndarray) -> np.ndarray:
    """Sizes of (e, w) by which they compare, shape (2 dim,): of equal energies, and with the
    quickest time of the motion.
    """
    n, system = problem.system.space.dim, problem.system
    first = jax.tree.map(lambda a: jnp.asarray(a)[0], points)
    M = np.asarray(jax.hessian(system.L, 2)(*first[:3]))
    mass = np.asarray(inertias(M, n))
    turned = A * (1 / np.concatenate([mass, mass])) * np.concatenate([mass, mass])[:, None]
    pull, drag, turn = turned[:, n:, :n], turned[:, n:, n:], turned[:, :n, :n]
    rate = max(np.sqrt(np.max(np.abs(pull))), np.max(np.abs(drag)), np.max(np.abs(turn))) or 1.0
    return np.concatenate([1 / mass, rate / mass])


def allowed(c: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the z with c z = 0, in its columns."""
    rows = normed(c.T).T
    _, s, V = np.linalg.svd(rows, full_matrices=True)
    return V[int(np.sum(s > COUPLED)) :].T
