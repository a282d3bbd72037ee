"""Two-point problems: all windows at once, by Newton's method on a banded system."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import door, number, positive
from accion.assembly.implicit import solution_change, traced_residual
from accion.engines.auto import by_chosen_engine
from accion.errors import ConnectFailed
from accion.instant import constrained
from accion.instant.sizes import held_off, sizes_of
from accion.memory import check_room
from accion.methods import Method
from accion.numerics.batches import at_times
from accion.results.trajectory import Trajectory
from accion.solve.changes import displacements, path_change
from accion.solve.equations import Ends, Path, TwoPoint, increments
from accion.solve.joined import trajectory_of
from accion.solve.path_iterations import newton
from accion.solve.thermal_ends import connected
from accion.stepping.levels import shown
from accion.systems import AbstractSystem
from accion.systems.first_order import Levels, as_first_order
from accion.systems.start import check_configurations, check_rows, is_traced, stack_of, stacked
from accion.types import ArrayLike, Configuration, Params


@door()
@by_chosen_engine
def connect(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    qa: Configuration,
    qb: Configuration,
    va: ArrayLike | None = None,
    vb: ArrayLike | None = None,
    S0: ArrayLike | None = None,
    Sb: ArrayLike | None = None,
    duration: float,
    steps: int,
    t0: float = 0.0,
    guess: Trajectory | Configuration | None = None,
    params: Params = None,
    engine: str = "auto",
) -> Trajectory:
    """The discrete trajectory from `qa` at time t0 to `qb` at time t0 + duration: stationary for
    the whole discrete action.

        D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^- + h A^T lam_k = 0

    at each inner node, with phi(t_k, q_k) = 0 there (holonomic), or Phi = 0 sampled on each step
    and L + lam_k.Phi (vakonomic, Vakonomic thesis, eq 8.1-8.3).

    For a system of order r it is sum_j D_j Ld = 0 at q_r, ..., q_{N-r} (Vakonomic thesis, sections
    8.3 and 8.4). Its ends are either r configurations each, or one configuration each and the
    derivatives q', ..., q^(r-1) there: then those of the polynomial through the first (last) r + 1
    nodes are equal to them. By `Galerkin`, whose steps are those of `first_order(system)`, the
    derivatives are given, and hold exactly. All steps are solved at once, at a cost linear in their
    number.

    A thermal system needs its entropy at one end (Bonich, Def 3.16), and may have any method: its
    momenta at the start are found, by Newton's method on a run.

    Arguments:
        system: without nonholonomic constraints.
        method: a variational one; None for a system given in discrete time.
        qa, qb: the configurations at the ends; of a system of order r, the first and the last r
            ones, or with `va` and `vb` one each.
        va, vb: the derivatives q', ..., q^(r-1) at the ends, shape (r - 1, dim).
        S0, Sb: of a thermal system, the entropy at qa or that at qb.
        duration, steps: how long it takes, and in how many equal steps.
        t0: the time of `qa`.
        guess: a `Trajectory`, or configurations at the steps + 1 times; without it, the straight
            line.
        params: in place of those of the system.
        engine: as for `simulate`.

    Returns:
        The trajectory that Newton's method reaches from the guess; there may be several.

    Raises:
        ConnectFailed: where none is found.
        ValueError: where the ends are off a constraint, or do not determine a motion.
    """
    system = checks.check_system(system, method, params)
    system.check()
    if system.holds_velocities:
        why = "their velocities have fewer degrees of freedom than qb, so two ends are too many"
        checks.refuse("connect", "nonholonomic systems", why)
    if system.entropic:
        times = number(t0, "t0"), positive(duration, "duration")
        steps = checks.whole(steps, "steps", 2)
        checks.check_times(*times, steps, 1)
        return connected(system, method, qa, qb, S0, Sb, *times, steps, guess)
    if S0 is not None or Sb is not None:
        raise ValueError(f"S0 and Sb belong to thermal systems; {system.name} has no entropy.")
    check_variational(method)
    if system.contact:
        why = "the momenta of a step depend on its action, which its two ends do not give"
        checks.refuse("connect", system.kind, why)
    by_levels = system.order > 1 and method is not None and method.on_levels
    steps = checks.whole(steps, "steps", 2 if by_levels else 2 * system.order)
    points = 1 if method is None else 1 + method.inner_points
    width = 2 * system.order * (system.space.dim + system.multipliers) * points
    check_room(steps * 8 * 20 * width**2, f"steps = {steps}", "Take fewer steps.")
    t0, duration = number(t0, "t0"), positive(duration, "duration")
    start, length = checks.check_times(t0, duration, steps, 1)
    ends = check_ends(system, qa, qb, va, vb)
    nodes = guess.q if isinstance(guess, Trajectory) else guess
    if nodes is not None and (isinstance(nodes, list) or not is_traced(nodes)):
        nodes = stack_of(system.space, nodes, "guess")
    given = Given(system, start, length, ends, nodes)
    if by_levels:
        given = on_levels(given, method, steps)
    path, iterations = solved(method, steps, given)
    found = trajectory_of(given.problem(method, steps), path, iterations)
    return from_levels(system, found) if by_levels else found


def on_levels(given: "Given", method: Any, steps: int) -> "Given":
    """The problem of a system of order r on T^(r-1)Q, that of its system of first order."""
    system, _, length, ends, nodes = given
    if ends.va is None:
        raise ValueError(
            f"{type(method).__name__} steps {system.kind} from (q, ..., q^(r-1)) to the next: give"
            " one configuration at each end and the derivatives va and vb there."
        )
    levels = Levels(system.space, system.order)
    qa, qb = (levels.join(q, v[None]) for q, v in ((ends.qa, ends.va), (ends.qb, ends.vb)))
    if nodes is not None:
        x: Any = jnp.asarray(increments(system.space, nodes)) / (length / steps)
        rows: list[Any] = []
        x = jnp.concatenate([x[:1], (x[1:] + x[:-1]) / 2, x[-1:]])
        for _ in range(system.order - 1):
            rows.append(x)
            x = jnp.gradient(x, length / steps, axis=0)
        nodes = levels.join(nodes, jnp.stack(rows, axis=1))
    return given._replace(system=as_first_order(system), ends=Ends(qa, qb, None, None), guess=nodes)


def from_levels(system: Any, found: Trajectory) -> Trajectory:
    """What was found on T^(r-1)Q, as a trajectory of the system of order r."""
    z, p, levels = found.q, found.p, Levels(system.space, system.order)
    jets, lam = at_times(shown, False, system, found.t, z, p, found.guess)
    return replace(
        found,
        system=system,
        q=levels.parts(z)[0],
        p=p.reshape(len(p), system.order, system.space.dim),
        guess=None,
        jets=jets,
        lam=lam if system.multipliers else None,
    )


class Given(NamedTuple):
    """The numbers of a two-point problem; `guess` are configurations at all times, or None."""

    system: Any
    t0: Any
    duration: Any
    ends: Ends
    guess: Any

    def problem(self, method: Method | None, steps: int) -> TwoPoint:
        """The problem on so many steps."""
        t0, duration = self.t0, self.duration
        if not is_traced((t0, duration)):
            t0, duration = float(t0), float(duration)
        return TwoPoint(self.system, method, t0, duration / steps, steps, self.ends)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def solved(method: Method | None, steps: int, given: Given) -> tuple[Path, Any]:
    """The path that Newton's method finds, and its iterations.

    Derivatives are those of the implicit function, see `assembly.implicit`.
    """
    if is_traced(given):
        raise TypeError(
            "connect looks at the values of its problem, which jax.jit and jax.vmap do not know:"
            " call it outside of them, in a loop for many ends; jax.grad, jvp, jacfwd and jacrev go"
            " through it."
        )
    given = given._replace(ends=jax.tree.map(np.asarray, given.ends))
    check_on_constraint(given)
    problem = given.problem(method, steps)
    path, iterations = newton(problem, first_path(problem, given.guess))
    return path, iterations


@solved.defjvp
def solved_jvp(method: Any, steps: int, primals: Any, tangents: Any) -> Any:
    (given,), (change,) = primals, tangents
    path, iterations = solved(method, steps, given)
    space, problem = given.system.space, given.problem(method, steps)
    numbers, (equations, unknowns) = problem.numbers, problem.at(path)
    pairs = ((given.ends.qa, change.ends.qa), (given.ends.qb, change.ends.qb))
    head, tail = (displacements(space, q, dq) for q, dq in pairs)
    still = jnp.zeros((len(numbers.e) - len(head) - len(tail), space.dim))
    held = jnp.concatenate([head, still, tail]).ravel()
    held = jnp.concatenate([held, jnp.zeros(numbers.own.size)])

    def left(given: Given, unknowns: jax.Array) -> jax.Array:
        return traced_residual(given.problem(method, steps).at(path)[0], unknowns)

    _, push = jax.jvp(left, (given, unknowns), (change, held))
    moved = held + solution_change(equations, unknowns, push)
    dq, dx = path_change(space, path.q, path.x, moved[numbers.e])
    own: Any = moved[numbers.own]
    none = np.zeros((), jax.dtypes.float0)  # the tangent of what is no real number
    return (path, iterations), (Path(dq, dx, own), none)


def check_variational(method: Method | None) -> None:
    """Raise ValueError unless the method has a discrete Lagrangian of two configurations."""
    if method is None:
        return
    if not method.variational:
        raise ValueError(
            f"{type(method).__name__} is not variational: it has no discrete Lagrangian, which"
            " connect makes stationary; try Midpoint()."
        )


def first(q: Configuration) -> Configuration:
    """The first of some configurations."""
    return jax.tree.map(lambda a: a[0], q)


def last(q: Configuration) -> Configuration:
    """The last of some configurations."""
    return jax.tree.map(lambda a: a[-1], q)


def check_ends(
    system: AbstractSystem,
    qa: Configuration,
    qb: Configuration,
    va: ArrayLike | None,
    vb: ArrayLike | None,
) -> Ends:
    """The ends as arrays, or a ValueError that says what is wrong with them."""
    r, n, space = system.order, system.space.dim, system.space
    if (va is None) != (vb is None):
        raise ValueError("give derivatives at both ends, va and vb, or at none.")
    if va is not None and system.discrete_time:
        raise ValueError(
            f"{system.name} is given in discrete time: it has no velocities at its ends. Give qa"
            f" and qb with {r} configurations each."
        )
    if va is not None and r == 1:
        raise ValueError(
            "va and vb belong to systems of order 2 or more; a system of order 1 is determined by"
            " qa and qb."
        )
    pair = ((qa, "qa"), (qb, "qb"))
    if va is None and r > 1:
        first_nodes, last_nodes = (check_configurations(space, q, r, name) for q, name in pair)
        return Ends(first_nodes, last_nodes, None, None)
    start, end = (stacked([space.check(q, name)]) for q, name in pair)
    if va is None:
        return Ends(start, end, None, None)
    words = f"q', ..., q^(r-1) of a system of order r = {r}"
    va, vb = (check_rows(v, r - 1, n, name, words) for v, name in ((va, "va"), (vb, "vb")))
    return Ends(start, end, va, vb)


def check_on_constraint(given: Given) -> None:
    """Raise ValueError where an end is off a holonomic constraint."""
    system, start = given.system, float(given.t0)
    if not system.holds_positions:
        return
    pair = (first(given.ends.qa), last(given.ends.qb))
    times, rest = np.array([start, start + float(given.duration)]), np.zeros((2, system.space.dim))
    sizes = sizes_of(system, times, stacked(list(pair)), rest).q
    for t, q, name in zip(times, pair, ("qa", "qb"), strict=True):
        off = held_off(system, jnp.asarray(t), q, jnp.zeros(system.space.dim), sizes)
        if off.far:
            raise ValueError(
                f"{name} is off the constraint of {system.name} by {off.worst:.3g}. Move it there:"
                f" accion.project(system, {name}, v, t={float(t):g})."
            )


def first_path(problem: TwoPoint, guess: Configuration | None) -> Path:
    """Where Newton's method starts: the guess, or the straight line, projected to a holonomic
    constraint; the ends are the given ones.
    """
    system, ends, steps, space = problem.system, problem.ends, problem.steps, problem.system.space
    if guess is None:
        x = space.local(first(ends.qa), last(ends.qb))
        q = jax.vmap(lambda s: space.retract(first(ends.qa), s * x))(jnp.linspace(0, 1, steps + 1))
        if system.holds_positions:
            zero = jnp.zeros(space.dim)
            q, _ = constrained.all_projected(system, problem.times, q, zero)
    else:
        q = guess
    q = jax.tree.map(lambda a: np.array(a, dtype=float), q)
    if guess is not None:
        if any(len(leaf) != steps + 1 for leaf in jax.tree.leaves(q)):
            raise ValueError(f"guess must have a configuration at each of the {steps + 1} times.")
        space.check(first(q), "guess[0]")
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(q)):
        message = (
            "no path on the constraint was found between qa and qb to start from; pass one as"
            " guess=."
        )
        raise ConnectFailed(message, residual=float("nan"), t=float(problem.t0))

    def with_ends(a: np.ndarray, head: np.ndarray, tail: np.ndarray) -> np.ndarray:
        return np.concatenate([head, a[len(head) : len(a) - len(tail)], tail])

    q = jax.tree.map(with_ends, q, ends.qa, ends.qb)
    x, own = increments(space, q), np.zeros((problem.owners, problem.width))
    if system.enters_action and problem.method is not None and problem.method.inner_points:
        between = [c * x for c in problem.method.places[1:-1]]  # on the straight line
        own[:, : sum(part.shape[1] for part in between)] = np.concatenate(between, axis=1)
    return Path(q, x, own)
