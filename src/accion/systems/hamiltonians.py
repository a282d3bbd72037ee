"""Systems that are given by a Hamiltonian."""

from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.spaces import Space
from accion.systems.arity import check_function
from accion.systems.base import space_of
from accion.systems.frozen import Untraced
from accion.systems.hamiltonian import Bound, HamiltonianLagrangian
from accion.systems.rank import relative_rank
from accion.systems.start import is_traced
from accion.systems.system import System
from accion.types import Params

SIZES = [1.0, *chain.from_iterable((10.0**-k, 10.0**k) for k in range(3, 34, 3))]  # of momenta


def HamiltonianSystem(
    hamiltonian: Any, space: Any, params: Params = None, **options: Any
) -> System:
    """The system with the Hamiltonian H(t, q, p): a `System` whose Lagrangian is its Legendre
    transform,

        L(t, q, v) = p.v - H(t, q, p),    v = dH/dp    <=>    q' = dH/dp,  p' = -dH/dq + F + A^T lam

    on a group with p the body's momentum, H(t, g, mu), and p' = ad*_v p - dH/dq + F + A^T lam.
    `hamiltonian(t, q, p, params)` returns a scalar, p of shape (space.dim,); a number as `space`
    means `Euclidean`. `options` are those of `System` but its weights: force(t, q, v, params),
    constraints, coordinates, name; F and A are those of `System`, functions of the velocity.

    Where H is quadratic in p, which is read off its operations, p(v) is in closed form; with a
    constant mass on a flat space steps are explicit as those of `mechanical`. Elsewhere each L is a
    root by Newton's method, and its derivatives are those of the implicit function. `symbolic`
    writes Hamilton's equations from H itself. Returns the `System`.

    Raises:
        ValueError: where d2H/dp2 is singular, naming the momentum that has no velocity of its own.

    References: Colombo-Gamonal, section 4; Vakonomic thesis, section 2.3.
    """
    check_function("hamiltonian", hamiltonian, "t, q, p, params")
    for word in ("weight", "log_weight"):
        if options.get(word) is not None:
            raise ValueError(
                f"{word} is a factor of a Lagrangian, which HamiltonianSystem has none of: write"
                " the time into hamiltonian(t, q, p, params), H = w H0(q, p / w)."
            )
    named: Any = {"name": "Hamiltonian system", **options}
    place = space_of(space, "space")
    found = System(HamiltonianLagrangian(hamiltonian), place, params, **named)
    check_hyperregular(found, place)
    return found


def check_hyperregular(system: System, space: Space) -> None:
    """Raise ValueError where d2H/dp2 is singular at each of some points at which it is finite, with
    momenta of all sizes: then H has no Legendre transform.
    """
    if isinstance(system.lagrangian, Untraced) or is_traced(system):
        return
    lagrangian: Any = system.lagrangian
    n, rng = space.dim, np.random.default_rng(0)
    t, q = 0.37, space.retract(space.identity(), jnp.asarray(rng.uniform(0.2, 0.6, n)))
    p = rng.uniform(0.5, 1.0, n) * rng.choice((-1.0, 1.0), n)
    H, curved = Bound(lagrangian.hamiltonian, system.params), jax.jit(Bound.curved)
    direction = None
    for size in SIZES[:1] if lagrangian.form.quadratic else SIZES:
        K = np.asarray(curved(H, t, q, jnp.asarray(size * p)))
        if not np.all(np.isfinite(K)):
            continue
        rank, direction = relative_rank(K)
        if rank == n:
            return
    if direction is None:
        return
    words = " + ".join(
        f"{c:.3g} dp_{name}"
        for c, name in zip(direction, system.names, strict=True)
        if abs(c) > 1e-8
    )
    raise ValueError(
        f"the hamiltonian of {system.name} has no Legendre transform: d2H/dp2 is singular, for"
        f" along {words} the velocity dH/dp does not change, and p does not follow from v. Where"
        " H allows some velocities only, as with fewer controls than coordinates, write their"
        " equations as `vakonomic` of a System: its multipliers are the momenta that are missing."
    )
