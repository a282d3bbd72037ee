"""A Lagrangian system: one scalar function and what acts on it."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import newton
from accion.spaces import Space
from accion.systems.lagrangians import MechanicalLagrangian
from accion.systems.tree import join, split


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class System:
    """A system with Lagrangian L(t, q, v) and, where given, a force F(t, q, v):

        d/dt dL/dv - dL/dq = F

    `lagrangian(t, q, v, params)` returns a scalar, `force(t, q, v, params)` a covector of shape (space.dim,). `params` is any pytree;
    its numbers are arguments of compiled code, so changing them compiles nothing and derivatives with respect to them exist.
    `coordinates` names the degrees of freedom for printing and plotting, with their units: ("alpha [rad]", "x [m]").

    References: 001 Thm 2.14; 002 eq (1) for L that depends on time.
    """

    lagrangian: Callable[..., Any]
    space: Space
    params: Any = None
    _: KW_ONLY
    force: Callable[..., Any] | None = None
    coordinates: tuple[str, ...] | None = None
    name: str | None = None

    def __post_init__(self):
        if not isinstance(self.space, Space):
            raise ValueError(f"space must be a Space, such as Euclidean(2) or Torus(1); got {self.space!r}.")
        for field in ("lagrangian", "force"):
            f = getattr(self, field)
            if not callable(f) and not (field == "force" and f is None):
                raise ValueError(f"{field} must be a function {field}(t, q, v, params); got {f!r}.")
        coordinates = self.space.coordinates() if self.coordinates is None else tuple(self.coordinates)
        if len(coordinates) != self.space.dim or not all(isinstance(name, str) for name in coordinates):
            raise ValueError(f"coordinates must be {self.space.dim} names, one for each degree of freedom; got {self.coordinates!r}.")
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "name", self.name or "system")

    def tree_flatten(self):
        numbers, frame = split((self.lagrangian, self.params, self.force))
        return numbers, (frame, self.space, self.coordinates, self.name)

    @classmethod
    def tree_unflatten(cls, aux, numbers):
        frame, space, coordinates, name = aux
        lagrangian, params, force = join(numbers, frame)
        self = object.__new__(cls)
        # Not through the constructor: while JAX transforms a system its numbers may be anything.
        self.__dict__.update(lagrangian=lagrangian, space=space, params=params, force=force, coordinates=coordinates, name=name)
        return self

    def with_params(self, params):
        """The same system with other parameters."""
        return replace(self, params=params)

    @property
    def names(self):
        """The coordinates without their units."""
        return tuple(name.split(" [")[0] for name in self.coordinates or ())

    @property
    def units(self):
        """The unit of each coordinate, "" where none was given."""
        return tuple(name.split(" [")[1].rstrip("]") if " [" in name else "" for name in self.coordinates or ())

    def L(self, t, q, v):
        return self.lagrangian(t, q, v, self.params)

    def F(self, t, q, v):
        """The force, shape (dim,); zero where there is none."""
        return jnp.zeros(self.space.dim) if self.force is None else self.force(t, q, v, self.params)

    def momentum(self, t, q, v):
        """The Legendre transform p = dL/dv."""
        return jax.grad(self.L, 2)(t, q, v)

    def energy(self, t, q, v):
        """E = dL/dv . v - L."""
        return self.momentum(t, q, v) @ v - self.L(t, q, v)

    def velocity(self, t, q, p, guess):
        """The inverse Legendre transform: v with dL/dv(t, q, v) = p, from a guess. NaN where none was found."""
        if isinstance(self.lagrangian, MechanicalLagrangian):
            return self.lagrangian.velocity(t, q, p, self.params)
        v, _, converged = newton.root(legendre_residual, guess, jnp.abs(guess), (self, t, q, p))
        return jnp.where(converged, v, jnp.nan)

    def check(self):
        """Raise ValueError unless the Lagrangian and the force return what they should; nothing is computed."""
        arguments = (jnp.zeros(()), self.space.identity(), jnp.zeros(self.space.dim))
        check_returns("lagrangian", jax.eval_shape(self.L, *arguments), (), "a scalar, such as jnp.sum(v**2) or v[0]**2")
        if self.force is not None:
            n = self.space.dim
            check_returns("force", jax.eval_shape(self.F, *arguments), (n,), f"a covector of shape ({n},)")

    def check_regular(self, H):
        """Raise ValueError where the Hessian H = d2L/dv2 is singular, naming the direction without inertia."""
        if not np.all(np.isfinite(H)):
            raise ValueError(f"the Lagrangian of {self.name} is not finite at the initial data: d2L/dv2 = {H.tolist()}.")
        _, s, Vt = np.linalg.svd(H)
        rank = int(np.sum(s > newton.EPS * len(s) * s[0]))
        if rank < len(s):
            direction = Vt[-1] * np.sign(Vt[-1][np.argmax(np.abs(Vt[-1]))])
            words = " + ".join(f"{c:.3g} d{name}" for c, name in zip(direction, self.names, strict=True) if abs(c) > 1e-8)
            raise ValueError(
                f"the Lagrangian of {self.name} is singular: d2L/dv2 has rank {rank} of {len(s)} at the initial data. The velocity "
                f"direction {words} has no inertia, so no acceleration follows from L. Give it a mass, or leave it out."
            )


def legendre_residual(v, args):
    system, t, q, p = args
    return system.momentum(t, q, v) - p


def check_returns(name, out, shape, words):
    if not hasattr(out, "shape") or out.shape != shape:
        raise ValueError(f"{name}(t, q, v, params) must return {words}; it returned {describe(out)}.")
    if not jnp.issubdtype(out.dtype, jnp.floating):
        raise ValueError(f"{name}(t, q, v, params) must return real numbers; it returned {out.dtype}.")


def describe(out):
    return f"an array of shape {out.shape}" if hasattr(out, "shape") else f"a {type(out).__name__}"
