"""Systems as one builds them on paper: where the particles and bodies are, what they weigh, what
acts on them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp

from accion.arguments import shown
from accion.errors import in_function
from accion.spaces import Space
from accion.systems.arity import check_function
from accion.systems.base import space_of
from accion.systems.bodies import RigidBody
from accion.systems.motion import check_numbers, displaced, floating, motion, read
from accion.systems.system import System
from accion.types import Configuration, Params, Scalar, Vector

FUNCTIONS = {
    "positions": "t, q, params",
    "potential": "t, q, params",
    "forces": "t, r, u, params",
    "velocity_potential": "t, q, v, params",
    "force": "t, q, v, params",
}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ParticleLagrangian:
    """L = sum_i 1/2 m_i |dr_i/dt|^2 + sum_b T_b - V(t, q) - U(t, q, v) (Romero, eq 10, 16, 20)."""

    positions: Callable[..., Any] | None
    masses: Any
    potential: Callable[..., Any] | None
    velocity_potential: Callable[..., Any] | None
    bodies: tuple[RigidBody, ...]
    space: Space = field(metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        L = sum((body(t, q, v, params) for body in self.bodies), jnp.zeros(()))
        if self.positions is not None:
            _, u = motion(points(self.positions), self.space, t, q, v, params)
            count = len(u)
            m = read(
                "masses",
                self.masses,
                params,
                [(), (count,)],
                f"a number or a vector of shape ({count},), one for each particle",
            )
            L += 0.5 * jnp.sum(m * jnp.sum(u**2, axis=1))
        if self.potential is not None:
            with in_function("potential"):
                L -= scalar("potential", self.potential(t, q, params))
        if self.velocity_potential is not None:
            with in_function("velocity_potential"):
                L -= scalar("velocity_potential", self.velocity_potential(t, q, v, params))
        return L


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ParticleForce:
    """Q_j = sum_i F_i .

    dr_i/dq_j (Romero, eq 7), with a generalised force beside it where there is one.
    """

    positions: Callable[..., Any]
    forces: Callable[..., Any]
    force: Callable[..., Any] | None
    space: Space = field(metadata={"static": True})

    def __call__(self, t: Scalar, q: Configuration, v: Vector, params: Params) -> Any:
        place = points(self.positions)
        r, u = motion(place, self.space, t, q, v, params)
        with in_function("forces"):
            F = floating(self.forces(t, r, u, params))
        if F.shape != r.shape:
            raise ValueError(
                f"forces must return one force for each particle, shape {r.shape}; it returned"
                f" shape {F.shape}."
            )
        zero = jnp.zeros(self.space.dim)
        (Q,) = jax.vjp(lambda eta: displaced(place, self.space, q, params)(t, eta), zero)[1](F)
        if self.force is None:
            return Q
        with in_function("force"):
            beside = jnp.asarray(self.force(t, q, v, params))
        if beside.shape != Q.shape:
            raise ValueError(
                f"force must return a covector of shape {Q.shape}; it returned shape"
                f" {beside.shape}."
            )
        return Q + beside


def points(positions: Any) -> Any:
    """`positions`, checked to return points."""

    def checked(t: Scalar, q: Configuration, params: Params) -> Any:
        with in_function("positions"):
            r = floating(positions(t, q, params))
        if r.ndim != 2:
            hint = " One particle needs brackets: [[x, y]]." if r.ndim == 1 else ""
            raise ValueError(
                "positions must return one point for each particle, shape (N, d); it returned"
                f" shape {r.shape}.{hint}"
            )
        return r

    return checked


def scalar(name: str, value: Any) -> Any:
    found = floating(value)
    if found.shape != ():
        raise ValueError(f"{name} must return a scalar; it returned shape {found.shape}.")
    if jnp.iscomplexobj(found):
        raise ValueError(f"{name} must return a real number; it returned {found.dtype}.")
    return found


def particles(
    positions: Any,
    masses: Any,
    potential: Any,
    n: Any,
    *,
    params: Params = None,
    forces: Any = None,
    velocity_potential: Any = None,
    bodies: Any = (),
    **options: Any,
) -> Any:
    """The system of particles at r_i(t, q), and rigid bodies, with

        L = sum_i 1/2 m_i |dr_i/dt|^2 + sum_b T_b - V(t, q) - U(t, q, v)
        Q_j = sum_i F_i . dr_i/dq_j

    `positions(t, q, params)` returns the points, shape (N, d); `masses` is a number, a vector of
    shape (N,), or a function of params that returns one (a particle of mass 0 is a point where a
    force acts). `potential(t, q, params)` is V, or None: loads and moments that depend on time
    belong there, V = -f(t).r(q) - m(t).theta(q). `velocity_potential(t, q, v, params)` is U.
    `forces(t, r, u, params)` are the forces on the particles at positions r with velocities u, all
    of shape (N, d). `bodies` are made by `rigid_body`; with them, positions and masses may be None.
    `n` is the number of coordinates or a space. `options` are those of `System`: force (a
    generalised one, such as `rayleigh`, which adds to that of `forces`), weight or log_weight,
    constraints, coordinates, name.

    References: Romero, eq 1, 2, 7, 10, 16-21, and 22-25 for `rayleigh`.
    """
    space = space_of(n, "n")
    bodies = tuple(bodies) if isinstance(bodies, tuple | list) else (bodies,)
    given = (positions, potential, forces, velocity_potential, options.get("force"))
    for (label, arguments), f in zip(FUNCTIONS.items(), given, strict=True):
        check_function(label, f, arguments, optional=True)
    if not all(isinstance(body, RigidBody) for body in bodies):
        raise ValueError(
            f"bodies must be made by rigid_body(mass, inertia, pose); got {shown(bodies)}."
        )
    if positions is None and not bodies:
        raise ValueError("there is nothing that moves: give positions and masses, or bodies.")
    if (positions is None) != (masses is None):
        raise ValueError(
            "positions and masses go together: give both, or, where there are only bodies, neither."
        )
    if positions is None and forces is not None:
        raise ValueError(
            "forces act on particles: give positions, with masses 0 where the forces act on points"
            " of bodies."
        )
    bodies = tuple(replace(body, space=space) for body in bodies)
    masses = None if masses is None else check_masses(masses)
    lagrangian = ParticleLagrangian(positions, masses, potential, velocity_potential, bodies, space)
    if positions is not None and forces is not None:
        options["force"] = ParticleForce(positions, forces, options.get("force"), space)
    named: Any = {"name": "particles", **options}
    return System(lagrangian, space, params, **named)


def check_masses(masses: Any) -> Any:
    masses = check_numbers("masses", masses, "a number or a vector, one for each particle")
    if not callable(masses) and masses.ndim > 1:
        raise ValueError(
            f"masses must be a number or a vector, one for each particle; got shape {masses.shape}."
        )
    return masses
