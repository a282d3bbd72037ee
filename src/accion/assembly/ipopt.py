"""IPOPT, for problems with inequalities and bounds: interior points, by the library's own binaries
(the package ipyopt).
"""

import numpy as np

from accion.assembly.sqp import Found, Point, stationarity

INFINITY = 2e19  # what IPOPT takes for it
WORDS = {
    0: "a local minimum was found",
    1: "a local minimum was found, to the acceptable tolerance of IPOPT",
    2: "IPOPT found the constraints to be infeasible",
    3: "the search direction became too small",
    4: "the iterates diverge",
    -1: "no minimum was found in the allowed iterations",
    -2: "IPOPT's restoration of feasibility failed",
    -3: "IPOPT could not compute a step",
    -4: "the processor time allowed was used up",
    -10: "there are fewer unknowns than equations",
    -11: "the problem definition is not valid",
    -12: "an option is not valid",
    -13: "a number is not finite",
}


def load():
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


def solve(
    program,
    x,
    lam=None,
    *,
    tolerance=1e-9,
    max_iterations=1000,
    report=lambda *_: None,
    options=None,
):
    """The local minimum that is reached from `x`."""
    ipyopt = load()
    program, x = program.recentred(x)
    x = np.clip(np.array(x, dtype=float), program.lower, program.upper)
    seen = {}

    def at(x):
        """Values and slopes in one place, computed once."""
        key = x.tobytes()
        if seen.get("key") != key:
            seen.update(key=key, point=program.slopes(np.array(x)))
        return seen["point"]

    def value(x):
        return program.values(np.array(x)) if seen.get("key") != x.tobytes() else at(x)[:2]

    def gradient(x, out):
        out[:] = at(x)[2]

    def rows(x, out):
        out[:] = value(x)[1]

    def jacobian(x, out):
        out[:] = at(x)[3]

    i, j = program.sparsity.hessian
    low = i >= j

    def hessian(x, lam, weight, out):
        out[:] = program.hessian(np.array(x), weight, np.array(lam))[low]

    count = {"iterations": 0}

    def watch(mode, iteration, cost, off, slope, *_):
        count["iterations"] = iteration
        report(iteration, cost, off, slope)
        return True

    def finite(a):
        return np.clip(a, -INFINITY, INFINITY)

    problem = ipyopt.Problem(
        program.n,
        finite(program.lower),
        finite(program.upper),
        program.m,
        finite(program.row_lower),
        finite(program.row_upper),
        program.sparsity.jacobian,
        (i[low], j[low]),
        lambda x: value(x)[0],
        gradient,
        rows,
        jacobian,
        hessian,
        watch,
        ipopt_options={
            "print_level": 0,
            "sb": "yes",
            "tol": tolerance,
            "max_iter": int(max_iterations),
            **(options or {}),
        },
    )
    mult, lower, upper = np.zeros(program.m), np.zeros(program.n), np.zeros(program.n)
    if lam is not None:
        mult[:] = lam
        problem.set(warm_start_init_point="yes")
    x, _, status = problem.solve(x, mult_g=mult, mult_x_L=lower, mult_x_U=upper)
    return found(program, x, mult, (lower, upper), count["iterations"], status)


def found(program, x, lam, bounds, iterations, status):
    cost, g, *rest = program.slopes(x)
    point = Point(program, x, cost, g - program.row_lower, *rest)
    off = float(
        np.max(
            np.maximum(np.maximum(program.row_lower - g, g - program.row_upper), 0.0), initial=0.0
        )
    )
    shifted = point._replace(gradient=point.gradient - bounds[0] + bounds[1])
    message = WORDS.get(status, f"IPOPT ended with status {status}")
    return Found(
        x,
        lam,
        program,
        point.cost,
        off,
        stationarity(shifted, lam),
        iterations,
        status in (0, 1),
        message,
        bounds,
    )
