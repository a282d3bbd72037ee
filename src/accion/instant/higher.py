"""A system of higher order at one instant."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.auto import small_jit
from accion.instant.continuous import OUTSIDE, ContinuousEquations, continuous, flat, unflat
from accion.instant.starts import Known, one
from accion.systems import HigherOrderSystem, Start
from accion.types import Array, Configuration, Scalar, Vector


def known_at(system: Any, t: Scalar, q: Configuration, jets: Array, lams: Any) -> Known:
    """What tells whether a motion can start there: the matrix of regularity, and Phi with its
    derivatives.
    """
    lam = jnp.zeros(system.multipliers) if lams is None else lams[0]
    rates = system.constraint_rates(t, q, jets, system.order - 1) if system.enters_action else None
    return Known(system.regularity(t, q, jets, lam), rates)


def check_start(system: Any, known: Any, start: Start) -> Any:
    """Raise ValueError where the start is not one that a motion can have; of an ensemble the first
    member is looked at.
    """
    system.check_regular(one(known.bordered, 2))
    if known.value is not None:
        check_higher_constraint(system, one(known.value, 2), start)


def check_higher_constraint(system: Any, rates: Any, start: Start) -> Any:
    """Raise ValueError where Phi or one of its derivatives along the motion, the rows of `rates`,
    is not zero at the start.
    """
    scale = 1 + max(float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves((start.q0, start.v0)))
    for k, row in enumerate(rates):
        if np.max(np.abs(row)) > 1e-8 * scale:
            what = "Phi" if k == 0 else "dPhi/dt" if k == 1 else f"d^{k}Phi/dt^{k}"
            raise ValueError(
                f"v0 is off the constraint of {system.name}: {what} = {np.asarray(row)}. Phi and"
                f" its first {system.order - 1} derivatives must be zero at the start; choose"
                f" q^({system.order + k}) so that this one is."
            )


solved = small_jit(HigherOrderSystem.highest)
known_once = small_jit(known_at)


class HigherEquations(ContinuousEquations):
    """sum_l (-1)^l d^l/dt^l dL/dq^(l) = 0."""

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

    def tolerance(
        self, system: Any, t: Scalar, z: Configuration, v: Vector, atol: Any, size: Any
    ) -> Any:
        return atol

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
