"""The continuous equations of a `System`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_jit
from accion.instant.constrained import beyond_numbers, index_one
from accion.instant.continuous import OUTSIDE, ContinuousEquations, continuous, flat, unflat
from accion.instant.starts import (
    Known,
    check_inertia,
    check_mechanical_start,
    check_rank,
    known_at,
)
from accion.systems import Start, System
from accion.systems.start import is_traced
from accion.systems.weights import beyond, in_full, local, reduced
from accion.types import Configuration, Scalar, Vector


def accelerated(system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
    """`index_one`, in the units of the weight at t where there is one: of it the logarithmic
    derivative is all that matters.
    """
    here = local(system, t)
    a, found = index_one(here.system, here.t, q, v, reduced(system, t, lam))
    return a, in_full(system, t, found)


def known(system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any = None) -> Known:
    """`known_at`, likewise."""
    here = local(system, t)
    return known_at(here.system, here.t, q, v, reduced(system, t, lam))


# Compiled once for all systems built alike: what is traced anew in each call takes ten times as
# long.
solved, known_once = small_jit(accelerated), small_jit(known)


def accelerations_at(system: Any, t: Scalar, q: Configuration, v: Vector, lam: Any) -> Any:
    """(a, lam), and a sentence where the equations do not determine them."""
    q, v = system.check_part("q0", q, "q"), system.check_part("v0", v, "v")
    lam = None if lam is None else system.check_part("lam0", lam, "lam")
    t = jnp.asarray(t, dtype=float)
    if system.constraint is not None and not is_traced((system, t, q, v, lam)):
        # Equations that depend on each other need not give NaN: their rounding may give anything.
        here = jax.tree.map(lambda a: np.asarray(a).tolist(), q)
        where = f"at t = {float(t):g}, q = {here}"
        check_rank(system, np.asarray(known_once(system, t, q, v).bordered), where)
    found = solved(system, t, q, v, lam)
    if system.constraint is None and not is_traced(found) and not np.all(np.isfinite(found[0])):
        H = known_once(system, t, q, v).bordered
        check_inertia(system, None if H is None else np.asarray(H))
    return found


class MechanicalEquations(ContinuousEquations):
    """d/dt dL/dv - dL/dq = F + A^T lam."""

    def accelerations(self, system: Any) -> Any:
        system.check()
        if system.enters_action:
            return lambda t, q, v, lam: accelerations_at(system, t, q, v, lam)
        if system.constraint is not None:
            return lambda t, q, v: accelerations_at(system, t, q, v, None)
        return lambda t, q, v: accelerations_at(system, t, q, v, None)[0]

    def check_start(self, system: Any, t: Scalar, z: Configuration, start: Start) -> Any:
        found = known_once(system, t, z, start.v0, start.lam0)
        check_mechanical_start(system, found, start)

    def rates(self, system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
        q, v, lam = unflat(y, z, system.space.dim)
        state = lam if system.enters_action else None
        a, rate = accelerated(system, t, q, v, state)
        dlam = rate if system.enters_action else lam
        change = flat(system.space.tangent(q, v), a, dlam)
        # Where a trial step leads out of the domain the step control must see an error, which it
        # does not in NaN.
        return jnp.where(jnp.isfinite(change), change, OUTSIDE)

    def inertia(self, system: Any, t: Scalar, z: Configuration, v: Any) -> Any:
        here = local(system, t)
        return jax.hessian(here.system.L, 2)(here.t, z, v)

    def is_projected(self, system: Any) -> Any:
        return system.constraint is not None

    def obstacle(self, system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
        return beyond(system, float(t)) or beyond_numbers(system, t, z, v)

    def result(self, system: Any, q: Configuration, v: Vector, lam: Any, S: Any) -> Any:
        return (q, v, lam) if system.enters_action else (q, v)


@continuous.register
def _(system: System) -> ContinuousEquations:
    return MechanicalEquations()
