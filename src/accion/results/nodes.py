"""What the nodes of the discrete motion of a system of higher order have."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.stepping.nodal import MomentumMap, ThetaPlus
from accion.systems.arity import chosen
from accion.types import Array, Configuration, Function, Scalar

if TYPE_CHECKING:
    from accion.results.trajectory import Trajectory


def momentum_map(trajectory: "Trajectory", X: Function) -> Array:
    """Theta^+(X) of the nodes that begin at each saved time; see `Trajectory.momentum`."""
    q = jax.tree.map(lambda a: a[0, 0] if trajectory.is_ensemble else a[0], trajectory.q)
    if chosen("X", X, "q", "t, q") != "q" or len(jax.eval_shape(X, q).shape) != 1:
        kind = trajectory.system.kind
        raise ValueError(f"of {kind} X must be one field X(q) -> (dim,), without the time.")
    if trajectory.method is not None and trajectory.method.on_levels:
        arrays = (trajectory.q, trajectory.jets, trajectory.p)
        return trajectory.each(AtOnce(X), *arrays)
    first, rest = first_nodes(trajectory), data_of_nodes(trajectory)
    if trajectory.jets is None:
        _, P, d, _, _ = rest
        return trajectory.each(ThetaPlus(X), first, P, d)
    return trajectory.each(MomentumMap(X), trajectory.q, first, trajectory.jets, *rest)


@dataclass(frozen=True)
class AtOnce:
    """sum_s p_s.X_s at an instant: what a step from (q, ..., q^(r-1)) to the next keeps exactly
    where X is a symmetry.
    """

    X: Function

    def __call__(self, system: Any, t: Scalar, q: Configuration, jets: Array, p: Array) -> Scalar:
        return system.momentum_map(self.X, q, jets, p)


def data_of_nodes(trajectory: "Trajectory") -> tuple[Any, ...]:
    """(lam, P, d, ahead, h) at each saved time."""
    nodal = trajectory.nodal
    if nodal is None:
        raise ValueError(
            "this trajectory was saved without the momenta of its nodes, by an earlier accion;"
            " run it again."
        )
    shape = jnp.shape(nodal.ahead)
    lam = jnp.zeros((*shape, 0)) if trajectory.lam is None else trajectory.lam
    return lam, *nodal, jnp.broadcast_to(trajectory.h, shape)


def first_nodes(trajectory: "Trajectory") -> Configuration:
    """The first of the nodes that each saved time is read from: its own, but near the end of a
    two-point problem.
    """
    nodal = trajectory.nodal
    if (
        trajectory.is_ensemble
        or nodal is None
        or isinstance(nodal.ahead, Tracer)
        or not np.any(nodal.ahead)
    ):
        return trajectory.q
    first = np.arange(len(trajectory)) - np.asarray(nodal.ahead).astype(int)
    return jax.tree.map(lambda a: a[first], trajectory.q)
