"""The measurements of the audit: what each method does to each problem."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac

SAVES = 1000  # of every run but those of the order: what is compiled for one serves the others


@dataclass(frozen=True)
class Row:
    """One line of the audit."""

    problem: str
    method: str
    claimed: int
    order: float
    symplectic: float  # defect of one step, largest of several
    momentum: float  # relative drift over 10^4 steps
    energy: float  # largest relative error of the invariant over 10^6 steps
    drift: float  # change of the invariant's mean over the run, in units of that error
    growth: float  # largest error in the last tenth of the run over that in the first
    reversal: float | None  # distance from the start after 200 steps there and back, where claimed


def measure(problem, method):
    energy, drift, growth = long_run(problem, method)
    return Row(
        problem=problem.name,
        method=str(method),
        claimed=method.order,
        order=order(problem, method).slope,
        symplectic=symplecticity(problem, method),
        momentum=momentum_drift(problem, method),
        energy=energy,
        drift=drift,
        growth=growth,
        reversal=reversal(problem, method) if method.symmetric else None,
    )


def order(problem, method):
    return ac.analysis.order(
        problem.system, method, q0=problem.q0, v0=problem.v0, duration=problem.duration, h=problem.h
    )


def symplecticity(problem, method, steps=20_000, h=0.05):
    """The largest defect of a step at points along a trajectory, with a step large enough for
    errors of the method to show.
    """
    traj = ac.simulate(
        problem.system,
        method,
        q0=problem.q0,
        v0=problem.v0,
        h=h,
        steps=steps,
        save_every=max(1, steps // SAVES),
    )
    points = (0, 1, SAVES // 2)
    return max(
        ac.analysis.symplecticity(
            problem.system, method, q0=traj.q[k], p0=traj.p[k], t0=float(traj.t[k]), h=h
        )
        for k in points
    )


def momentum_drift(problem, method, steps=10_000):
    traj = ac.simulate(
        problem.system,
        method,
        q0=problem.q0,
        v0=[0.7, -0.4],
        h=0.01,
        steps=steps,
        params=problem.symmetric_params,
        save_every=max(1, steps // SAVES),
    )
    J = np.asarray(traj.momentum(problem.X))
    return float(np.max(np.abs(J - J[0])) / np.abs(J[0]))


def long_run(problem, method, steps=1_000_000):
    """(largest relative error, drift of the mean, growth) of the invariant over a million steps."""
    system = problem.system.with_params(problem.long_params)
    traj = ac.simulate(
        system,
        method,
        q0=problem.q0,
        v0=problem.v0,
        h=problem.long_h,
        steps=steps,
        save_every=max(1, steps // SAVES),
    )
    invariant = jax.jit(jax.vmap(lambda t, q, v: problem.invariant(system, t, q, v)))
    values = np.asarray(invariant(traj.t, traj.q, traj.v))
    error = np.abs(values - values[0])
    tenth = len(values) // 10
    slope = np.polyfit(np.linspace(0, 1, len(values)), values, 1)[0]
    return (
        float(np.max(error) / np.abs(values[0])),
        float(slope / np.max(error)),
        float(np.max(error[-tenth:]) / np.max(error[:tenth])),
    )


def reversal(problem, method, steps=200, h=0.02):
    """How far from its start a trajectory ends after running forwards and, with the step -h,
    backwards.
    """
    system, flow = problem.system, ac.discrete(problem.system, method).hamiltonian_flow
    q0 = jnp.array(problem.q0)
    p0 = system.legendre(0.0, q0, jnp.array(problem.v0))

    @jax.jit
    def there_and_back(q, p):
        ahead, _ = jax.lax.scan(lambda s, k: (flow(k * h, h, *s), None), (q, p), jnp.arange(steps))
        back, _ = jax.lax.scan(
            lambda s, k: (flow((steps - k) * h, -h, *s), None), ahead, jnp.arange(steps)
        )
        return back

    q, p = there_and_back(q0, p0)
    return float(jnp.maximum(jnp.max(jnp.abs(q - q0)), jnp.max(jnp.abs(p - p0))))
