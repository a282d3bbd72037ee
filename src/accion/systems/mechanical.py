"""Systems of the form mass, potential, magnetic term: the ones whose explicit methods stay
explicit.
"""

from typing import Any

import numpy as np
from jax.core import Tracer

from accion.arguments import reals
from accion.systems.arity import check_function
from accion.systems.base import space_of
from accion.systems.lagrangians import PARTS, MechanicalLagrangian
from accion.systems.rank import relative_rank
from accion.systems.system import System
from accion.types import Params


def mechanical(
    mass: Any,
    potential: Any,
    space_or_n: Any,
    *,
    params: Params = None,
    weight: Any = None,
    magnetic: Any = None,
    **options: Any,
) -> Any:
    """The system L = weight(t) (1/2 v.M v + A(q).v - V(t, q)), with constant mass.

    `mass` is a number, a vector of shape (n,) (the diagonal of M), a matrix of shape (n, n), or a
    function of params that returns one. A direction may be without mass if a constraint ties it to
    one that has. `potential(t, q, params)` is V, or None; `weight(t, params)` a scalar, such as
    e^{-kappa t} (Colombo-Gamonal, eq 17); `magnetic(q, params)` is A, shape (n,); `options` are
    those of `System`: log_weight in place of weight, force, constraints, coordinates, name. The
    space must be flat (`Euclidean`, `Torus` or a `Product` of them); a number n means
    `Euclidean(n)`. On a `Product`, q is a tuple and A a flat vector.

    Without a magnetic term and without a force that depends on v, `LeftRectangle`, `RightRectangle`
    and `Trapezoid` step explicitly.
    """
    space = space_of(space_or_n, "space_or_n")
    if not space.flat:
        raise ValueError(
            f"mechanical needs a flat space (Euclidean, Torus or a Product of them); got {space}."
            " Write the Lagrangian for System."
        )
    held = any(options.get(kind) is not None for kind in ("holonomic", "nonholonomic", "vakonomic"))
    if callable(mass):
        check_function("mass", mass, "params")
    else:
        mass = check_mass(mass, space.dim, held)
    for label, f in (("potential", potential), ("magnetic", magnetic)):
        check_function(label, f, PARTS[label], optional=True)
    lagrangian = MechanicalLagrangian(mass, potential, magnetic)
    named: Any = {"name": "mechanical system", "weight": weight, **options}
    return System(lagrangian, space, params, **named)


def check_mass(mass: Any, n: Any, held: Any = False) -> Any:
    """`mass` as an array, regular unless the system is `held` by constraints, which may tie what is
    without mass to what is not.
    """
    words = "a number, a vector or a matrix of real numbers, or a function of params"
    M = reals(mass, "mass", words)
    if M.shape not in ((), (n,), (n, n)):
        raise ValueError(
            f"mass must be a number, a vector of shape ({n},) or a matrix of shape ({n}, {n}); got"
            f" shape {M.shape}."
        )
    if isinstance(M, Tracer):
        return M
    if not np.all(np.isfinite(M)):
        raise ValueError(f"mass must be finite; got {np.asarray(M)}.")
    if M.ndim == 2 and not np.allclose(M, M.T, rtol=1e-12, atol=0):
        raise ValueError(
            "a mass matrix must be symmetric; only its symmetric part acts in 1/2 v.M v: pass (M +"
            " M.T)/2."
        )
    singular = relative_rank(M)[0] < n if M.ndim == 2 else bool(np.any(M == 0))
    if singular and not held:
        where = f" (component {int(np.argmin(np.abs(M)))})" if M.ndim == 1 else ""
        raise ValueError(
            f"mass is singular{where}: a direction without mass has no acceleration. Leave it out,"
            " or give it a mass."
        )
    return M
