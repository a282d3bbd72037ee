"""A system of higher order at one instant."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_jit
from accion.instant.constrained import BESIDE, GIVEN, ROUNDED, inertias
from accion.instant.continuous import OUTSIDE, ContinuousEquations, continuous, flat, unflat
from accion.instant.starts import Allowed, Known
from accion.numerics.terms import terms
from accion.systems import HigherOrderSystem, Start
from accion.types import Array, Configuration, Scalar, Vector


def known_at(system: Any, t: Scalar, q: Configuration, jets: Array, lams: Any) -> Known:
    """What tells whether a motion can start there: the matrix of regularity, and Phi with its
    derivatives.
    """
    lam = jnp.zeros(system.multipliers) if lams is None else lams[0]
    K = system.regularity(t, q, jets, lam)
    if not system.enters_action:
        return Known(K)

    def rates(system: Any, t: Scalar, q: Configuration, jets: Array) -> Any:
        return system.constraint_rates(t, q, jets, system.order - 1)

    point, mass = (system, t, q, jets), inertias(K, system.space.dim)
    found, slopes = terms(rates, *point), jnp.abs(jax.jacfwd(rates, 3)(*point))
    beside = jnp.max(jnp.abs(jets) * mass, axis=1, keepdims=True) / mass
    allowed = GIVEN * found.given + ROUNDED * found.inner
    allowed = allowed + BESIDE * jnp.sum(slopes * beside, axis=(-2, -1))
    return Known(K, rates(*point), allowed=Allowed(allowed, None))


def check_start(system: Any, known: Any, start: Start) -> Any:
    """Raise ValueError where the start is not one that a motion can have."""
    if start.p0 is not None and not np.all(np.isfinite(known.bordered)):
        r = system.order
        raise ValueError(
            f"no q^({r}) was found to which the momenta p0 of {system.name} belong: p_{r - 1} ="
            f" dL/dq^({r}) could not be solved for it."
        )
    system.check_regular(known.bordered)
    if known.value is not None and start.p0 is None:
        check_higher_constraint(system, known.value, known.allowed.value)


def check_higher_constraint(system: Any, rates: Any, allowed: Any) -> Any:
    """Raise ValueError where Phi or one of its derivatives along the motion, the rows of `rates`,
    is farther from zero at the start than is `allowed`.
    """
    for k, row in enumerate(rates):
        if not np.all(np.abs(row) <= allowed[k]):
            what = "Phi" if k == 0 else "dPhi/dt" if k == 1 else f"d^{k}Phi/dt^{k}"
            raise ValueError(
                f"v0 is off the constraint of {system.name}: {what} = {np.asarray(row)}. Phi and"
                f" its first {system.order - 1} derivatives must be zero at the start; choose"
                f" q^({system.order + k}) so that this one is."
            )


solved = small_jit(HigherOrderSystem.highest)
known_once = small_jit(known_at)


class HigherEquations(ContinuousEquations):
    """sum_l (-1)^l d^l/dt^l dL/dq^(l) + F = 0."""

    def accelerations(self, system: Any) -> Any:
        system.check()

        def function(t: Scalar, q: Configuration, jets: Array, lams: Any = None) -> Any:
            t, q = jnp.asarray(t, dtype=float), system.check_part("q0", q, "q")
            jets = system.check_part("v0", jets, "jets")
            if not system.enters_action:
                return solved(system, t, q, jets, None)[0]
            if lams is None:
                raise ValueError(
                    "the accelerations of a system with a vakonomic constraint are a function of"
                    " (t, q, jets, lams); lams is missing."
                )
            return solved(system, t, q, jets, system.check_part("lam0", lams, "lams"))

        return function

    def check_start(self, system: Any, t: Scalar, z: Configuration, start: Start) -> Any:
        check_start(system, known_once(system, t, z, start.v0, start.lam0), start)

    def rates(self, system: Any, t: Scalar, y: Any, z: Configuration) -> Any:
        """d/dt of (q, jets, lams)."""
        n, r = system.space.dim, system.order
        q, v, lam = unflat(y, z, (2 * r - 1) * n)
        jets, lams = v.reshape(-1, n), lam.reshape(r, system.multipliers)
        top, last = system.highest(t, q, jets, lams)
        dq = system.space.tangent(q, jets[0])
        change = flat(dq, jnp.concatenate([*jets[1:], top]), jnp.concatenate([*lams[1:], last]))
        return jnp.where(jnp.isfinite(change), change, OUTSIDE)

    def inertia(self, system: Any, t: Scalar, z: Configuration, v: Any) -> Any:
        return system.hessian(t, z, v)

    def is_projected(self, system: Any) -> Any:
        return False

    def obstacle(self, system: Any, t: Scalar, z: Configuration, v: Vector) -> Any:
        return ""

    def result(self, system: Any, q: Configuration, v: Vector, lam: Any, S: Any) -> Any:
        v = v.reshape(len(v), -1, system.space.dim)
        if not system.enters_action:
            return q, v
        return q, v, lam.reshape(len(v), system.order, system.multipliers)


@continuous.register
def _(system: HigherOrderSystem) -> ContinuousEquations:
    return HigherEquations()
