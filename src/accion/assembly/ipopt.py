"""IPOPT, for problems with inequalities and bounds: interior points, by the library's own binaries
(the package ipyopt).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from accion.assembly.interrupts import INTERRUPTED, Interrupt, noted
from accion.assembly.program import Program, Summed
from accion.assembly.scales import Scaled
from accion.assembly.sqp import Found, Point, silent, stationarity

INFINITY = 2e19  # what IPOPT takes for it
STOPPED = 5  # the status where it was asked to stop
WORDS = {
    0: "a local minimum was found",
    1: "a local minimum was found, to the acceptable tolerance of IPOPT",
    2: "IPOPT found the constraints to be infeasible",
    3: "the search direction became too small",
    4: "the iterates diverge",
    STOPPED: INTERRUPTED,
    -1: "no minimum was found in the allowed iterations",
    -2: "IPOPT's restoration of feasibility failed",
    -3: "IPOPT could not compute a step",
    -4: "the processor time allowed was used up",
    -10: "there are fewer unknowns than equations",
    -11: "the problem definition is not valid",
    -12: "an option is not valid",
    -13: "a number is not finite",
}


def load() -> Any:
    """The package ipyopt, or a ValueError that says how to have it."""
    try:
        import ipyopt
    except ImportError as error:
        raise ValueError(
            "bounds, inequalities and free durations need IPOPT, and its package ipyopt is not"
            " here. It is installed with accion where it has wheels: Linux on x86-64, Python 3.11"
            " to 3.13. Elsewhere install the library IPOPT, then pip install 'accion[control]'."
            " Problems with equations only are solved without it."
        ) from error
    return ipyopt


class Functions:
    """A program as IPOPT asks for it: functions that write into arrays."""

    def __init__(self, program: Scaled, report: Callable[..., None]) -> None:
        self.program, self.report = program, report
        self.iterations = 0
        self.interrupt, self.error = Interrupt(), None
        self.key: bytes | None = None
        self.point: Summed | None = None
        i, j = program.sparsity.hessian
        self.lower = i >= j  # IPOPT takes the lower triangle
        self.hessian_places = (i[self.lower], j[self.lower])

    def slopes(self, x: np.ndarray) -> Summed:
        """Values and slopes in one place, computed once."""
        if self.point is None or self.key != x.tobytes():
            self.key, self.point = x.tobytes(), self.program.slopes(np.array(x))
        return self.point

    def values(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if self.point is None or self.key != x.tobytes():
            return self.program.values(np.array(x))
        return self.point.cost, self.point.rows

    def cost(self, x: np.ndarray) -> float:
        return self.values(x)[0]

    def gradient(self, x: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.slopes(x).gradient

    def rows(self, x: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.values(x)[1]

    def jacobian(self, x: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.slopes(x).J

    def hessian(self, x: np.ndarray, lam: np.ndarray, weight: float, out: np.ndarray) -> None:
        out[:] = self.program.hessian(np.array(x), weight, np.array(lam))[self.lower]

    @property
    def asked(self) -> tuple[Callable[..., Any], ...]:
        """All of them, in IPOPT's order."""
        return self.cost, self.gradient, self.rows, self.jacobian, self.hessian

    def watch(
        self, mode: int, iteration: int, cost: float, off: float, slope: float, *_: Any
    ) -> bool:
        """Called after each iteration; whether to go on."""
        self.iterations = iteration
        self.report(iteration, cost * self.program.scales.cost, off, slope)
        return not self.stopped

    @property
    def stopped(self) -> bool:
        """Whether to end: Ctrl-C was pressed, or a function raised an error."""
        return self.interrupt.asked or self.error is not None

    def kept(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """`f` for IPOPT, which does not look at errors: they are kept, and what it gets from then
        on is no number, so that it ends.
        """

        def call(*given: Any) -> Any:
            if not self.stopped:
                try:
                    return f(*given)
                except Exception as error:
                    self.error = error
            if f != self.cost:
                given[-1][:] = np.nan
            return np.nan

        return call


def solve(
    program: Program,
    x: np.ndarray,
    lam: np.ndarray | None = None,
    *,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    report: Callable[..., None] = silent,
    options: dict[str, Any] | None = None,
) -> Found:
    """The local minimum that is reached from `x`.

    Arguments:
        program: with bounds and inequalities, or without.
        x: the unknowns to start from, shape (n,).
        lam: multipliers of the rows to start from, shape (m,).
        tolerance: IPOPT's own, of the scaled optimality conditions.
        max_iterations: after which it is given up.
        report: called as report(iteration, cost, largest row, slope).
        options: IPOPT's own, by name.

    Returns:
        Where it ended; `success` says whether that is a minimum.
    """
    ipyopt = load()
    centred, x = program.recentred(x)
    scaled = centred.scaled
    x = np.clip(np.array(x / scaled.scales.x, dtype=float), scaled.lower, scaled.upper)
    functions = Functions(scaled, report)

    def finite(a: np.ndarray) -> np.ndarray:
        return np.clip(a, -INFINITY, INFINITY)

    problem = ipyopt.Problem(
        scaled.n,
        finite(scaled.lower),
        finite(scaled.upper),
        scaled.m,
        finite(scaled.row_lower),
        finite(scaled.row_upper),
        scaled.sparsity.jacobian,
        functions.hessian_places,
        *map(functions.kept, functions.asked),
        functions.watch,
        ipopt_options={
            "print_level": 0,
            "sb": "yes",
            "tol": tolerance,
            "max_iter": int(max_iterations),
            **(options or {}),
        },
    )
    multipliers, lower, upper = np.zeros(program.m), np.zeros(program.n), np.zeros(program.n)
    if lam is not None:
        multipliers[:] = scaled.multipliers_in(lam)
        problem.set(warm_start_init_point="yes")
    with noted() as functions.interrupt:
        x, _, status = problem.solve(x, mult_g=multipliers, mult_x_L=lower, mult_x_U=upper)
    if functions.error is not None:
        raise functions.error
    if functions.interrupt.asked:
        status = STOPPED
    return ended(scaled, x, multipliers, (lower, upper), functions.iterations, status)


def ended(
    scaled: Scaled,
    x: np.ndarray,
    lam: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    iterations: int,
    status: int,
) -> Found:
    """Where IPOPT ended, with the multipliers of rows and of lower and upper bounds, in the units
    of the program.
    """
    cost, g, gradient, J, terms = scaled.slopes(x)
    point = Point(scaled, x, cost, g, gradient - bounds[0] + bounds[1], J, terms)
    beyond = np.maximum(np.maximum(scaled.row_lower - g, g - scaled.row_upper), 0.0)
    scales = scaled.scales
    return Found(
        x * scales.x,
        scaled.multipliers_out(lam),
        scaled.program,
        cost * scales.cost,
        float(np.max(beyond, initial=0.0)),
        stationarity(point, lam),
        iterations,
        status in (0, 1),
        WORDS.get(status, f"IPOPT ended with status {status}"),
        tuple(side * scales.cost / scales.x for side in bounds),
    )
