"""The discrete Poincare-Cartan forms of a discretised system, as components at its nodes."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from accion.discretise.base import Discretisation
from accion.discretise.window import differences
from accion.types import Array, Configuration, Scalar


def window_derivatives(
    form: Discretisation, t: Scalar, h: Scalar, nodes: Sequence[Configuration], lams: Any
) -> Any:
    """D_1 Ld, ..., D_{r+1} Ld, with the forces, of each window of r + 1 successive nodes, shape
    (windows, r + 1, dim).
    """
    r, found = form.system.order, []
    for i in range(len(nodes) - r):
        d = differences(form.system.space, nodes[i : i + r + 1])
        own = form.variation(t + i * h, h, nodes[i], d, lams[i])
        found.append(jnp.concatenate([own.start[None], own.end]))
    return jnp.stack(found)


def theta_minus(
    form: Discretisation, t: Scalar, h: Scalar, nodes: Sequence[Configuration], lams: Any
) -> Array:
    """sum over the windows that contain it of D_j Ld, at each of the first r of 2r nodes: minus the
    components of Theta^- (Vakonomic thesis, eq 8.5).
    """
    r, G = form.system.order, window_derivatives(form, t, h, nodes, lams)
    return jnp.stack([sum(G[i, k - i] for i in range(k + 1)) for k in range(r)])


def theta_plus(
    form: Discretisation, t: Scalar, h: Scalar, nodes: Sequence[Configuration], lams: Any
) -> Array:
    """The same at each of the last r: the components of Theta^+ (Vakonomic thesis, eq 8.6)."""
    r, G = form.system.order, window_derivatives(form, t, h, nodes, lams)
    return jnp.stack([sum(G[i, k - i] for i in range(k - r, r)) for k in range(r, 2 * r)])
