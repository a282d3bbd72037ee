"""What is tried with every system: functions of a case that raise, or return what came out."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import accion as ac
from accion.systems.first_order import Levels
from tests.pairs.kinds import STEPS, Case, case

A = ac.analysis


@cache
def trajectory(kind: str, space: str, units: tuple[int, int, int], by: str) -> Any:
    """The run that operations on trajectories share."""
    own = case(kind, space, units, by)
    return ac.simulate(own.system, own.method, **own.start, **own.run)


def run_of(own: Case) -> Any:
    return trajectory(own.kind, own.space, own.units, own.by)


def simulate(own: Case) -> Any:
    return run_of(own).q


def two(value: Any) -> Any:
    return jax.tree.map(lambda a: np.stack([a, a]), value)


def ensemble(own: Case) -> Any:
    params = own.system.params | {"k": np.array([0.6, 0.7])}
    return ac.ensemble(own.system, own.method, **own.start, params=params, **own.run).q


def connect(own: Case) -> Any:
    q, r = run_of(own).q, own.system.order
    ends = [jax.tree.map(lambda a, part=part: a[part], q) for part in (slice(r), slice(-r, None))]
    if r == 1:
        ends = [jax.tree.map(lambda a: a[0], end) for end in ends]
    else:
        ends = [[jax.tree.map(lambda a, i=i: a[i], end) for i in range(r)] for end in ends]
    beside = {"S0": own.start["S0"]} if own.system.entropic else {}
    times = {"duration": own.h * STEPS, "steps": STEPS}
    return ac.connect(own.system, own.method, qa=ends[0], qb=ends[1], **times, **beside, guess=q).q


def optimize(own: Case) -> Any:
    problem = ac.ControlProblem(
        own.system,
        lambda t, q, v, u, params: jnp.sum((u - 0.3 * own.u.forces[0]) ** 2),
        actuated=[0],
        start=(own.start["q0"], own.start.get("v0", np.zeros(own.system.space.dim))),
        end=(None, None),
        duration=own.h * STEPS,
    )
    return ac.optimize(problem, own.method, STEPS).q


def campaign(own: Case) -> Any:
    plan = ac.campaign.table({"params.k": np.array([0.6, 0.7])}, **own.start)
    found = ac.campaign.run(own.system, own.method, plan, progress=False, throw=True, **own.run)
    return found["p"].values


def discrete(own: Case) -> Any:
    d, q = ac.discrete(own.system, own.method), run_of(own).q
    nodes = [jax.tree.map(lambda a, i=i: a[i], q) for i in range(own.system.order + 1)]
    beside = own.system.beside
    return d.Ld(0.0, own.h, *nodes, *(getattr(run_of(own), beside)[:2] if beside else ()))


def symbolic(own: Case) -> Any:
    return written(ac.symbolic(own.system, seconds=0.5).equations)


def symbolic_discrete(own: Case) -> Any:
    equations = ac.symbolic(own.system, seconds=0.5)
    if not own.system.discrete_time:
        equations = equations.discrete(own.method)
    return written(equations.equations)


def symbolic_modified(own: Case) -> Any:
    return written(ac.symbolic(own.system, seconds=0.5).modified(own.method, 2).hamiltonian_terms)


def written(equations: Any) -> float:
    """How many equations there are, one or more."""
    assert all(str(equation) for equation in equations)
    return len(equations) or np.nan


def accelerations(own: Case) -> Any:
    start = own.start
    more = [start[name] for name in ("lam0", "S0", "z0") if name in start]
    return ac.accelerations(own.system)(0.0, start["q0"], start.get("v0"), *more)


def reference(own: Case) -> Any:
    start = {name: own.start.get(name) for name in ("q0", "v0", "S0", "lam0", "z0")}
    return ac.reference(own.system, **start, ts=[0.0, own.h], rtol=1e-11, atol=1e-11)[:2]


def order(own: Case) -> Any:
    sizes, start = own.h * np.array([4, 2, 1, 0.5]), dict(own.start)
    if "q1" in start:
        start["q1"] = lambda h, q1=start["q1"]: q1
    return A.order(own.system, own.method, **start, duration=4 * own.h, h=sizes).errors


def symplecticity(own: Case) -> Any:
    start = {name: value for name, value in own.start.items() if name not in ("S0", "z0")}
    return A.symplecticity(own.system, own.method, **start, h=own.h)


def lyapunov(own: Case) -> Any:
    start = {name: value for name, value in own.start.items() if name not in ("S0", "z0")}
    return A.lyapunov(own.system, own.method, **start, **own.run, transient=0).exponents


def section(own: Case) -> Any:
    def after(t: Any, *rest: Any) -> Any:
        return t / own.h - 2.3

    start = {name: value for name, value in own.start.items() if name != "q1"}
    found = A.poincare_section(own.system, own.method, section=after, **start, **own.run)
    return found.q, found.v


def symmetries(own: Case) -> Any:
    return len(A.symmetries(own.system, own.method))


def momentum_map(own: Case) -> Any:
    return run_of(own).momentum(lambda q: jnp.ones(own.system.space.dim))


def regularity(own: Case) -> Any:
    return A.regularity(own.system, own.method, **own.start, **own.run).condition


def exact_lagrangian(own: Case) -> Any:
    exact, r = A.exact_discrete_lagrangian(own.system), own.system.order
    q = run_of(own).q
    if r > 1:  # ends of a motion: a constraint of order r ties those that are merely near
        q, jets = reference(own)
        q = Levels(own.place.space, r).join(q, jets[:, : r - 1])
    return exact(0.0, own.h, *(jax.tree.map(lambda a, i=i: a[i], q) for i in range(2)))


def modified_hamiltonian(own: Case) -> Any:
    return A.modified_hamiltonian(own.system, own.method, 2).along(run_of(own))


def audit(own: Case) -> Any:
    card = A.audit(own.system, own.method, **own.start, **own.run)
    plt.close(card.figure())
    return card.trajectory.p


def save_and_load(own: Case) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.zarr"
        run_of(own).save(path)
        loaded = ac.load(path, own.system)
        np.testing.assert_array_equal(loaded.p, run_of(own).p)
        return loaded.q


def at(own: Case) -> Any:
    found = run_of(own).at([0.0, 2.3 * own.h])
    return found.q, found.v, found.p, found.energy()


def extend(own: Case) -> Any:
    return run_of(own).extend(2).q


def plot(own: Case) -> Any:
    figure = run_of(own).plot()
    count = len(figure.axes)
    plt.close(figure)
    return count


def gradient(own: Case) -> Any:
    def last(k: Any) -> Any:
        params = own.system.params | {"k": k}
        run = ac.simulate(own.system, own.method, **own.start, params=params, **own.run)
        return jnp.ravel(run.p[-1])[-1]

    return jax.grad(last)(0.7)


OPERATIONS: dict[str, Callable[[Case], Any]] = {
    "simulate": simulate,
    "ensemble": ensemble,
    "connect": connect,
    "optimize": optimize,
    "campaign": campaign,
    "discrete": discrete,
    "symbolic": symbolic,
    "symbolic, discrete": symbolic_discrete,
    "symbolic, modified": symbolic_modified,
    "accelerations": accelerations,
    "reference": reference,
    "order": order,
    "symplecticity": symplecticity,
    "lyapunov": lyapunov,
    "Poincare section": section,
    "symmetries": symmetries,
    "momentum map": momentum_map,
    "regularity": regularity,
    "exact Lagrangian": exact_lagrangian,
    "modified Hamiltonian": modified_hamiltonian,
    "audit": audit,
    "save and load": save_and_load,
    "at": at,
    "extend": extend,
    "plot": plot,
    "gradient": gradient,
}


def tried(operation: str, own: Case) -> str:
    """ "" where the operation works on a case, else the sentence with which it refuses.

    Raises whatever is no refusal, and AssertionError where what came out is not finite.
    """
    try:
        found = OPERATIONS[operation](own)
    except ValueError as error:
        return str(error)
    for leaf in jax.tree.leaves(found):
        assert np.all(np.isfinite(np.asarray(leaf, dtype=float))), (operation, own.label)
    return ""
