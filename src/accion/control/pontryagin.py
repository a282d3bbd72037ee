"""The necessary conditions of Pontryagin in Hamiltonian form (Vakonomic thesis, chapters 6 and 7),
solved near a discrete solution, which they refine and certify.
"""

import jax
import numpy as np

from accion.assembly.sqp import Found, feasible
from accion.control.extremal import Extremal
from accion.control.hamiltonian import Hamiltonian, at_nodes, control_hessians, is_regular
from accion.control.problem import ControlProblem
from accion.control.shooting import Nodes, solved, unknown_numbers, with_substeps
from accion.errors import OptimizeFailed

SUBSTEPS = 4  # of an interval of multiple shooting
INTERVALS = 64  # at least


def extremal(problem: ControlProblem, nodes: Nodes, substeps: int = SUBSTEPS) -> Extremal:
    """The extremal near a discrete solution.

    Arguments:
        problem: without constraints of the system.
        nodes: states, costates and controls to start from, as many as there shall be.
        substeps: of each interval; the error is seen by taking twice as many.

    Raises:
        OptimizeFailed: where d2H/du2 is singular, or the conditions are not solved.
    """
    system = problem.system
    if system.constraint is not None:
        raise ValueError(
            "the necessary conditions are for systems without constraints: costates of constrained"
            " ones are not unique."
        )
    hamiltonian, (least, most) = Hamiltonian(problem.cost, problem.law), problem.durations
    check_controls_follow(problem, hamiltonian, nodes)
    # On one of its bounds a duration is given, and H(T) is the price of the bound.
    on_bound = np.any(np.isclose(nodes.duration, (least, most), rtol=1e-6, atol=0.0))
    found = solved(problem, hamiltonian, nodes, substeps, bool(problem.free_time and not on_bound))
    last = unknown_numbers(system.space.dim, nodes.intervals)[-1, -1]
    if not least <= found.x[last] <= most:
        bound = nodes._replace(duration=float(np.clip(found.x[last], least, most)))
        found = solved(problem, hamiltonian, bound, substeps, False)
    finer = feasible(with_substeps(found.program, 2 * substeps), found.x)
    error = abs(finer.cost - found.cost)
    return extremal_of(problem, hamiltonian, finer, nodes, error)


def check_controls_follow(problem: ControlProblem, hamiltonian: Hamiltonian, nodes: Nodes) -> None:
    """Raise OptimizeFailed where dH/du = 0 does not determine the controls."""
    system = problem.system
    q = jax.tree.map(lambda a: a[:-1], nodes.q)
    t = times_of(problem, nodes.duration, nodes.intervals)[:-1]
    at = (t, q, nodes.v[:-1], nodes.u, nodes.p0[:-1], nodes.p1[:-1])
    hessians = control_hessians(hamiltonian, system, *at)
    good = is_regular(np.asarray(hessians))
    if not np.all(good):
        raise OptimizeFailed(
            f"d2H/du2 is singular at t = {t[np.argmin(good)]:.4g}: dH/du = 0 does not determine the"
            " controls, and W1 is not symplectic (Vakonomic thesis, Prop 7.1.2). Add a term to the"
            " cost that grows with all controls, such as 1e-3 * u @ u."
        )


def times_of(problem: ControlProblem, duration: float, intervals: int) -> np.ndarray:
    """The times of the nodes."""
    return problem.t0 + duration * np.linspace(0, 1, intervals + 1)


def extremal_of(
    problem: ControlProblem, hamiltonian: Hamiltonian, found: Found, nodes: Nodes, error: float
) -> Extremal:
    """What was found, with controls and the Hamiltonian at the nodes; `error` is that of the
    cost.
    """
    n = problem.system.space.dim
    numbers = unknown_numbers(n, nodes.intervals)
    t = times_of(problem, float(found.x[numbers[-1, -1]]), nodes.intervals)
    v, p0, p1 = (found.x[numbers[:, i * n : (i + 1) * n]] for i in (1, 2, 3))
    q = found.program.configurations(found.x)
    guess = np.concatenate([nodes.u, nodes.u[-1:]])
    u, H, slope, hessians = (
        np.asarray(a) for a in at_nodes(hamiltonian, problem.system, t, q, v, p0, p1, guess)
    )
    return Extremal(
        t=t,
        q=q,
        v=v,
        u=u,
        costates=np.stack([p0, p1], axis=1),
        cost=found.cost,
        H=H,
        optimality=float(np.max(np.abs(slope))),
        gap=found.violation,
        error=error,
        regularity=hessians,
        iterations=found.iterations,
    )
