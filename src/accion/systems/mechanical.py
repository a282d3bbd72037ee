"""Systems of the form mass, potential, magnetic term: the ones whose explicit methods stay explicit."""

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.spaces import Euclidean, Space
from accion.systems.lagrangians import MechanicalLagrangian
from accion.systems.system import System, relative_rank


def mechanical(mass, potential, space_or_n, *, params=None, weight=None, magnetic=None, **options):
    """The system L = weight(t) (1/2 v.M v + A(q).v - V(t, q)), with constant mass.

    `mass` is a number, a vector of shape (n,) (the diagonal of M), a matrix of shape (n, n), or a function of params that returns one.
    `potential(t, q, params)` is V, or None; `weight(t, params)` a scalar, such as e^{-kappa t} (002 eq 17); `magnetic(q, params)` is A, shape (n,);
    `options` are those of `System`: force, constraints, coordinates, name. The space must be flat (`Euclidean`, `Torus` or a `Product`
    of them); a number n means `Euclidean(n)`. On a `Product`, q is a tuple and A a flat vector.

    Without a magnetic term and without a force that depends on v, `LeftRectangle`, `RightRectangle` and `Trapezoid` step explicitly.
    """
    space = space_or_n if isinstance(space_or_n, Space) else Euclidean(space_or_n)
    if not space.flat:
        raise ValueError(f"mechanical needs a flat space (Euclidean, Torus or a Product of them); got {space}. Write the Lagrangian for System.")
    if not callable(mass):
        mass = check_mass(mass, space.dim)
    for label, f in {"potential": potential, "weight": weight, "magnetic": magnetic}.items():
        if f is not None and not callable(f):
            raise ValueError(f"{label} must be a function or None; got {f!r}.")
    lagrangian = MechanicalLagrangian(mass, potential, weight, magnetic)
    return System(lagrangian, space, params, **{"name": "mechanical system", **options})  # pyright: ignore[reportArgumentType]


def check_mass(mass, n):
    try:
        M = jnp.asarray(mass, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"mass must be a number, a vector or a matrix of numbers, or a function of params; got {mass!r}.") from error
    if M.shape not in ((), (n,), (n, n)):
        raise ValueError(f"mass must be a number, a vector of shape ({n},) or a matrix of shape ({n}, {n}); got shape {M.shape}.")
    if isinstance(M, Tracer):
        return M
    if not np.all(np.isfinite(M)):
        raise ValueError(f"mass must be finite; got {np.asarray(M)}.")
    if M.ndim == 2 and not np.allclose(M, M.T, rtol=1e-12, atol=0):
        raise ValueError("a mass matrix must be symmetric; only its symmetric part acts in 1/2 v.M v: pass (M + M.T)/2.")
    if (M.ndim == 2 and relative_rank(M)[0] < n) or (M.ndim < 2 and np.any(M == 0)):
        where = f" (component {int(np.argmin(np.abs(M)))})" if M.ndim == 1 else ""
        raise ValueError(f"mass is singular{where}: a direction without mass has no acceleration. Leave it out, or give it a mass.")
    return M
