"""Lyapunov exponents: how fast neighbouring motions part, from the tangent maps of the steps."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.frames import (
    SEED,
    Carry,
    Coordinates,
    Run,
    folded,
    own_units_of,
    symplectic_frame,
    to_frame,
)
from accion.analysis.inputs import MOST_STEPS
from accion.analysis.nodes import configurations, levels_of, moving
from accion.analysis.phase import (
    allowed_changes,
    checked_start,
    first_increment,
    phase_point,
    structure_constants,
)
from accion.arguments import at_least, count, door, number, whole, wrong
from accion.checks import check_kind, check_method, check_system, check_times, refuse
from accion.engines.auto import check_engine
from accion.memory import check_room
from accion.methods import Method
from accion.numerics.dependence import depends
from accion.plot import exponents as picture
from accion.solve import loop as loops
from accion.solve.simulation import simulate
from accion.stepping import scheme_of
from accion.systems import AbstractSystem
from accion.systems.weights import check_in_range
from accion.told import Drawn
from accion.types import ArrayLike, Configuration, Covector, Params

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

TRIED = 64  # decompositions before the run, which tell its units
PARTS = 16  # of a run, whose growths are compared


@dataclass(frozen=True, repr=False)
class Lyapunov(Drawn):
    """The Lyapunov exponents of a motion, the largest first.

    `exponents`: shape (k,), in 1/time; `uncertainty`: of each, the standard error of its mean over
    sixteen parts of the run, which for a regular motion is about ln(T)/T, the exponent itself being
    zero; `t`, `running`: times, shape (rows,), and what the exponents were when the run had come so
    far, shape (rows, k); `pair_sums`: the sums of the first and the last exponent, of the second
    and the last but one, ..., shape (k // 2,): zero for a system without forces, -kappa where L has
    the weight exp(kappa t); empty where not all exponents were asked for; `pairing`: the largest
    distance of one of these sums from their mean, zero to rounding where the step keeps the
    symplectic form up to a factor; `q`, `p`: where the motion ended.
    """

    exponents: np.ndarray
    uncertainty: np.ndarray
    t: np.ndarray
    running: np.ndarray
    pair_sums: np.ndarray
    pairing: float
    q: Any
    p: np.ndarray
    h: float
    name: str
    method: Method | None

    def __float__(self) -> float:
        return float(self.exponents[0])

    def __str__(self) -> str:
        rows = [f"Lyapunov exponents of {self.name}, to t = {self.t[-1]:.6g}"]
        for value, error in zip(self.exponents, self.uncertainty, strict=True):
            rows.append(f"  {value: .6g} +- {error:.2g}")
        if len(self.pair_sums):
            rows.append(f"  sum of a pair {np.mean(self.pair_sums):.3g} +- {self.pairing:.2g}")
        return "\n".join(rows)

    def to_xarray(self) -> "xr.Dataset":
        """An xarray.Dataset with the exponents, their uncertainty and the running estimates."""
        import xarray

        data = {
            "exponents": ("exponent", self.exponents, {"units": "1/s"}),
            "uncertainty": ("exponent", self.uncertainty, {"units": "1/s"}),
            "running": (("time", "exponent"), self.running, {"units": "1/s"}),
            "pair_sums": ("pair", self.pair_sums, {"units": "1/s"}),
        }
        attributes = {"system": self.name, "method": str(self.method), "h": self.h}
        own = attributes | {"pairing": self.pairing}
        return xarray.Dataset(data, {"time": ("time", self.t, {"units": "s"})}, own)

    @door()
    def plot(self, axes: Any = None) -> "Figure":
        """The running estimates over time; returns the matplotlib figure."""
        title = f"{self.name}, {self.method}, h = {self.h:g}"
        return picture(self.t, self.running, self.uncertainty, title, axes)


@door(
    t0=number,
    h=number,
    every=count,
    count=count,
    transient=at_least(0),
    engine=check_engine,
)
def lyapunov(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    q0: Configuration,
    v0: ArrayLike | None = None,
    p0: ArrayLike | None = None,
    q1: Any = None,
    lam0: ArrayLike | None = None,
    t0: float = 0.0,
    h: float,
    steps: int,
    every: int = 1,
    transient: int | None = None,
    count: int | None = None,
    params: Params = None,
    engine: str = "auto",
) -> Lyapunov:
    """The Lyapunov exponents of a motion under `method`, from the variational equations of the
    discrete map itself,

        y_{k+1} = T_k y_k,        lambda_i = lim 1/(k h) sum log r_ii,        T_k Q_k = Q_{k+1} R_k

    with T_k the tangent map of a step in local coordinates (on a group those of the body). For
    steps h -> 0 they are those of the continuous motion.

    Under constraints the changes are those that are tangent to them: there are as many exponents
    as the states that satisfy them have dimensions.

    Arguments:
        system, method: whose states are (q, p); `method` is None for a system that is given in
            discrete time.
        q0, v0, p0, q1, lam0, params: a start, as those of `simulate`.
        t0, h, steps: the run that is measured, after the transient.
        every: after how many steps the frame is made orthonormal again, a divisor of `steps`. One
            is always right; more take less time where the frame grows little in so many steps.
        transient: steps before, which are not counted: in them the frame turns to the directions
            that the exponents belong to. A tenth of `steps` by default.
        count: how many exponents, the largest; by default all.
        engine: as for `simulate`.

    Returns:
        A `Lyapunov`, with running estimates, uncertainties, and how exactly the exponents are
        paired.

    Raises:
        StepFailed: where a step is not solved.
        ValueError: where states have entropies or an action, or a frame collapses.

    Reference: Benettin, Galgani, Giorgilli & Strelcyn, Meccanica 15 (1980) 9; Eckmann & Ruelle,
    Rev. Mod. Phys. 57 (1985) 617; Dressler, Phys. Rev. A 38 (1988) 2103 (pairs under friction).
    """
    check_kind(system)
    check_method(system, method)
    system = check_system(system, method, params)
    system.check()
    t0, h = check_times(t0, h, steps, 1)
    steps, every = whole_parts(steps, every)
    if system.beside:
        refuse("lyapunov", system.kind, "their states are not (q, p)")
    start = checked_start(system, "lyapunov", q0=q0, v0=v0, p0=p0, q1=q1, lam0=lam0)
    check_motion_starts(system, method, t0, h, start, engine)
    given = {name: value for name, value in start._asdict().items() if value is not None}
    again = partial(simulate, system, method, **given, t0=t0, h=h, engine=engine)
    q, p = phase_point(system, method, t0, h, start, "lyapunov")
    check_in_range(system, t0 + h * steps, "lyapunov")
    if system.constraint is not None and system.discrete_time and not system.enters_action:
        refuse("lyapunov", "nonholonomic systems given in discrete time", NOT_TANGENT)
    if transient is not None and transient > MOST_STEPS:
        wrong("transient", f"at most {MOST_STEPS:.0e} steps", transient)
    before = -(-(steps // 10 if transient is None else transient) // every)
    rows = steps // every
    check_room(8 * 4 * 2 * len(p) * rows, f"steps = {steps}", "Take every > 1.")
    first = Begun(t0, h, q, p, first_increment(system, method, t0, h, start))
    run = prepared(system, method, first, every, steps, count, engine)
    carry, _ = folded(run, engine, 0, before) if before else (run.carry, None)
    run = run._replace(carry=carry)
    carry, logs = folded(run, engine, before * every, rows)
    if not np.all(np.isfinite(logs)):
        made = (before + rows) * every
        again(steps=made, save_every=made)
        collapsed(logs)
    return summary(run, float(t0) + before * every * float(h), logs, carry)


NOT_TANGENT = "the states that satisfy the constraint are not known before the step"


class Begun(NamedTuple):
    """A start in (q, p), with a guess of the first increment."""

    t: Any
    h: Any
    q: Configuration
    p: Covector
    x: Any


def check_motion_starts(system: Any, method: Any, t: Any, h: Any, start: Any, engine: str) -> None:
    """Raise ValueError where no motion can start there."""
    scheme = scheme_of(system, method)
    begun = loops.native_begin(loops.ONE, scheme, t, h, start, engine)
    state, known = loops.ONE.begin(scheme, t, h, start) if begun is None else begun
    scheme.check_start(known, start)
    system.space.check_increment(state.x)


def prepared(
    system: Any, method: Any, begun: Begun, every: int, steps: int, count: int | None, engine: str
) -> Run:
    """The first frame, in units that are those of the motion: a few steps say what they are."""
    t, h, q, p, x = begun
    n, space = len(p), configurations(system, method)
    reference = None
    if not system.discrete_time:
        place = moving(system, method, h, q, x)
        if depends(lambda t: system.L(t, *place), jnp.zeros(())):
            reference = place
    brackets = None if space.flat else structure_constants(space)
    levels = levels_of(system, method, float(h))
    at = Coordinates(np.ones(2 * n), brackets, levels)
    allowed = allowed_changes(system, t, q, p)
    most = 2 * n if allowed is None else allowed.shape[1]
    if count is not None and count > most:
        raise ValueError(
            f"count must be at most {most}, as many exponents as there are; got {count}."
        )
    x, none = jnp.asarray(x, float), jnp.zeros((2, n))
    own = Carry(q, p, x, x, jnp.asarray(np.eye(2 * n, most)[:, :count]), none)
    run = Run(system, method, t, h, every, at, reference, own, count in (None, most))
    rows = min(TRIED, -(-steps // every))
    tried, _ = folded(run, engine, 0, rows)
    ahead, back = np.asarray(tried.slopes) / (rows * every)
    at = at._replace(units=own_units_of(ahead, back, steps))
    frame = symplectic_frame(n)
    if allowed is not None:
        K = np.asarray(to_frame(at, p, 1.0, jnp.asarray(allowed)))
        mixed = np.random.default_rng(SEED).normal(size=(most, most))
        frame = np.linalg.qr(K @ mixed)[0]
    own = own._replace(frame=jnp.asarray(frame[:, :count]))
    return run._replace(at=at, carry=own)


# ---------------------------------------------------------------- what is said of it


def summary(run: Run, t0: float, logs: np.ndarray, carry: Carry) -> Lyapunov:
    """The exponents from the logarithms of all decompositions, the first of which began at t0."""
    span = float(run.h) * run.every
    since = span * np.arange(1, len(logs) + 1)
    running = np.cumsum(logs, axis=0) / since[:, None]
    order = np.argsort(-running[-1], kind="stable")
    running, logs = running[:, order], logs[:, order]
    exponents = running[-1].copy()
    k = len(order)
    sums = (exponents + exponents[::-1])[: k // 2] if run.full else np.zeros(0)
    means = np.array(
        [np.mean(part, axis=0) for part in np.array_split(logs, min(PARTS, len(logs)))]
    )
    spread = np.full(k, np.inf)
    if len(means) > 1:
        spread = np.std(means, axis=0, ddof=1) / np.sqrt(len(means)) / span
    return Lyapunov(
        exponents,
        spread,
        t0 + since,
        running,
        sums,
        float(np.max(np.abs(sums - np.mean(sums)))) if len(sums) else float("nan"),
        jax.tree.map(np.asarray, carry.q),
        np.asarray(carry.p),
        float(run.h),
        run.system.name,
        run.method,
    )


def collapsed(logs: np.ndarray) -> NoReturn:
    """Raise the error of a run whose motion went well and whose frame did not."""
    row, column = np.argwhere(~np.isfinite(logs))[0]
    raise ValueError(
        f"lyapunov: the frame has no length along direction {column} after decomposition {row}: the"
        " tangent map of a step is singular there, or grows beyond all numbers in so many steps."
        " Take every=1, or a smaller count."
    )


def whole_parts(steps: Any, every: Any) -> tuple[int, int]:
    """Both as numbers, the steps a multiple of `every`."""
    steps, every = whole(steps, "steps"), whole(every, "every")
    if steps % every:
        wrong("steps", f"a multiple of every = {every}", steps)
    return steps, every
