"""A thermomechanical system: a Lagrangian that depends on entropies, friction that heats, and
heat.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from accion.numerics import newton
from accion.spaces import Euclidean, Product, Space
from accion.systems.arity import check_function
from accion.systems.rank import regular_or_raise
from accion.systems.system import (
    System,
    check_returns,
    evaluate,
    legendre_residual,
    legendre_units,
    unit_of,
    word_of,
)
from accion.systems.tree import join, split

CHECKED = set()  # systems whose functions were seen to return what they should


@dataclass(frozen=True)
class OfWhole:
    """A function of (t, q, v, S, params) as one of (t, z, w, params), where z = (q, S) and w = (v,
    S').
    """

    f: Callable[..., Any]
    frame: "Frame"

    def __call__(self, t, z, w, params):
        q, S = self.frame.parts(z)
        return self.f(t, q, w[: self.frame.n], self.frame.shown(S), params)


@dataclass(frozen=True)
class TotalForce:
    """Friction and external force as one force on (q, S), which has no component along S."""

    friction: Callable[..., Any] | None
    external: Callable[..., Any] | None
    frame: "Frame"

    def __call__(self, t, z, w, params):
        total = jnp.zeros(self.frame.n)
        for f in (self.friction, self.external):
            if f is not None:
                total = total + jnp.sum(
                    self.frame.as_rows(OfWhole(f, self.frame)(t, z, w, params)), axis=0
                )
        return jnp.concatenate([total, jnp.zeros(self.frame.m)])


@dataclass(frozen=True)
class Frame:
    """How configuration and entropies are put together: z = (q, S), on a Product (q_1, q_2, ...,
    S).
    """

    space: Any
    entropies: tuple[str, ...] | None  # None where S is a scalar

    @property
    def n(self):
        return self.space.dim

    @property
    def m(self):
        return 1 if self.entropies is None else len(self.entropies)

    @property
    def names(self):
        return ("S [J/K]",) if self.entropies is None else self.entropies

    @property
    def temperatures(self):
        """Names of the temperatures: T, T_gas of S_gas."""
        names = []
        for name in self.names:
            word = word_of(name)
            own = "T" + word[1:] if word == "S" or word.startswith("S_") else f"T_{word}"
            names.append(f"{own} [K]" if unit_of(name) == "J/K" else own)
        return tuple(names)

    @property
    def whole(self):
        factors = self.space.factors if isinstance(self.space, Product) else (self.space,)
        return Product(*factors, Euclidean(self.m))

    def join(self, q, S):
        """z of a configuration and entropies as the user has them."""
        S = jnp.asarray(S, dtype=float)
        S = S[..., None] if self.entropies is None else S
        return (*q, S) if isinstance(self.space, Product) else (q, S)

    def parts(self, z):
        """(q, S), with S of shape (m,)."""
        return (z[:-1] if isinstance(self.space, Product) else z[0]), z[-1]

    def shown(self, S):
        """S, or anything with one number for each body, as the user sees it: a scalar where hers
        is.
        """
        return S[..., 0] if self.entropies is None else S

    def as_rows(self, F):
        """A force of shape (dim,) or (m, dim) as rows."""
        return jnp.reshape(F, (-1, self.n))


class Entropic(ABC):
    """What systems with entropies share, in continuous and in discrete time."""

    space: Any
    params: Any
    entropies: Any
    coordinates: Any
    name: Any
    # names of the fields that are functions, those that must be given first
    functions: ClassVar[tuple[str, ...]]
    required: ClassVar[int]
    arguments: ClassVar[str]

    # Nothing holds it.
    constraint = None
    holonomic = None
    nonholonomic = None
    vakonomic = None
    multipliers = 0

    def check_fields(self):
        """Raise ValueError unless the fields are what they should be; names that were not given are
        put in.
        """
        if not isinstance(self.space, Space):
            raise ValueError(
                f"space must be a Space, such as Euclidean(2) or Torus(1); got {self.space!r}."
            )
        for i, field in enumerate(self.functions):
            check_function(field, getattr(self, field), self.arguments, optional=i >= self.required)
        coordinates = (
            self.space.coordinates() if self.coordinates is None else tuple(self.coordinates)
        )
        if len(coordinates) != self.space.dim or not all(
            isinstance(name, str) for name in coordinates
        ):
            raise ValueError(
                f"coordinates must be {self.space.dim} names, one for each degree of freedom; got"
                f" {self.coordinates!r}."
            )
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "entropies", check_entropies(self.entropies))
        object.__setattr__(self, "name", self.name or "thermal system")

    def tree_flatten(self):
        numbers, frame = split((self.params, *(getattr(self, field) for field in self.functions)))
        return numbers, (frame, self.space, self.entropies, self.coordinates, self.name)

    @classmethod
    def tree_unflatten(cls, aux, numbers):
        frame, space, entropies, coordinates, name = aux
        params, *functions = join(numbers, frame)
        self = object.__new__(cls)
        # Not through the constructor: while JAX transforms a system its numbers may be anything.
        fields = dict(zip(cls.functions, functions, strict=True)) | {
            "params": params,
            "space": space,
            "entropies": entropies,
        }
        vars(self).update(fields, coordinates=coordinates, name=name)
        return self

    def with_params(self, params):
        """The same system with other parameters."""
        return replace(self, params=params)  # pyright: ignore

    def with_entropies(self, S0):
        """The system with as many entropies as `S0` has, where it was not said how many there
        are.
        """
        return (
            self
            if self.entropies is not None or np.ndim(S0) != 1
            else replace(self, entropies=len(S0))
        )  # pyright: ignore

    @property
    def names(self):
        """The coordinates without their units."""
        return tuple(map(word_of, self.coordinates))

    @property
    def units(self):
        """The unit of each coordinate, "" where none was given."""
        return tuple(map(unit_of, self.coordinates))

    @property
    def frame(self):
        return Frame(self.space, self.entropies)

    @property
    def step_space(self):
        """Where a step moves: Q x R^m."""
        return self.frame.whole

    def together(self, q, S):
        """z = (q, S): what a step moves."""
        return self.frame.join(q, S)

    def apart(self, z):
        """(q, S) of z, as the user has them."""
        q, S = self.frame.parts(z)
        return q, self.frame.shown(S)

    def origin(self):
        """z at the origin, without entropy."""
        return self.together(
            self.space.identity(), jnp.zeros(() if self.entropies is None else (self.frame.m,))
        )

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError unless the functions return what they should."""


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class ThermalSystem(Entropic):
    """A system whose Lagrangian depends on the entropy S of a body, or on those of several bodies
    (001 Def 3.1 and Thm 3.9):

        d/dt dL/dv - dL/dq = F_fr + F_ext                    dL/dS S' = F_fr.v - P_H

    `lagrangian(t, q, v, S, params)` is a scalar; T = -dL/dS is the temperature, which must be
    positive. `friction(t, q, v, S, params)` is a covector of shape (dim,), whose work -F_fr.v heats
    the body; `external(...)` a covector that heats nothing; `heat(...)` the power P_H that flows
    into the body. With several bodies S, P_H and dL/dS are vectors, and friction has a row for the
    part that heats each, shape (m, dim).

    `entropies` names them with units, ("S_gas [J/K]", "S_wall [J/K]"), or says how many there are.
    Without it S is a scalar, or the vector that `S0` is. Reference: 001 chapter 3, with several
    entropies and heat.
    """

    lagrangian: Callable[..., Any]
    space: Space
    params: Any = None
    _: KW_ONLY
    friction: Callable[..., Any] | None = None
    external: Callable[..., Any] | None = None
    heat: Callable[..., Any] | None = None
    entropies: Any = None
    coordinates: tuple[str, ...] | None = None
    name: str | None = None

    functions = ("lagrangian", "friction", "external", "heat")
    required = 1
    arguments = "t, q, v, S, params"

    def __post_init__(self):
        self.check_fields()

    @property
    def whole(self):
        """The mechanical part as a System on Q x R^m, whose Lagrangian does not depend on S': what
        the pullback works on (001 eq 3.16-3.18).
        """
        frame = self.frame
        force = (
            None
            if self.friction is None and self.external is None
            else TotalForce(self.friction, self.external, frame)
        )
        names = (*(self.coordinates or ()), *frame.names)
        return System(
            OfWhole(self.lagrangian, frame),
            frame.whole,
            self.params,
            force=force,
            coordinates=names,
            name=self.name,
        )

    def hessian(self, t, z, v):
        """d2L/dv2."""
        return jax.hessian(self.L, 2)(t, z, v)

    # Functions of (t, z, v), with z = (q, S).

    def evaluate(self, f, t, z, v):
        q, S = self.frame.parts(z)
        return f(t, q, v, self.frame.shown(S), self.params)

    def L(self, t, z, v, lam=None):
        """The Lagrangian."""
        return self.evaluate(self.lagrangian, t, z, v)

    def momentum(self, t, z, v, lam=None):
        """The Legendre transform p = dL/dv."""
        return jax.grad(self.L, 2)(t, z, v)

    def energy(self, t, z, v, lam=None):
        """E = dL/dv . v - L: all energy, mechanical and internal."""
        return jnp.sum(self.momentum(t, z, v) * v) - self.L(t, z, v)

    def velocity(self, t, z, p, guess, lam=None):
        """The inverse Legendre transform: v with dL/dv(t, q, v, S) = p, from a guess.

        NaN where none was found.
        """
        v, _, converged = newton.root(
            legendre_residual, legendre_units, 0, guess, (self, t, z, p, lam)
        )
        return jnp.where(converged, v, jnp.nan)

    def temperature(self, t, z, v):
        """T = -dL/dS, shape (m,)."""
        q, S = self.frame.parts(z)
        return -jax.grad(lambda S: self.lagrangian(t, q, v, self.frame.shown(S), self.params))(S)

    def dissipation(self, t, z, v):
        """The power -F_fr.v that friction turns into heat in each body, shape (m,)."""
        if self.friction is None:
            return jnp.zeros(self.frame.m)
        return -jnp.sum(self.frame.as_rows(self.evaluate(self.friction, t, z, v)) * v, axis=1)

    def friction_size(self, t, z, v):
        """sum |F_fr| |v| over the components, for each body, shape (m,): what dissipation is
        measured by.
        """
        if self.friction is None:
            return jnp.zeros(self.frame.m)
        return jnp.sum(
            jnp.abs(self.frame.as_rows(self.evaluate(self.friction, t, z, v)) * v), axis=1
        )

    def capacities(self, t, z, v):
        """The heat capacities T / (dT/dS), shape (m,), all 1 where one is not positive and
        finite.
        """
        q, S = self.frame.parts(z)
        slopes = jax.jacfwd(
            lambda S: self.temperature(t, self.together(q, self.frame.shown(S)), v)
        )(S)
        C = self.temperature(t, z, v) / jnp.diagonal(slopes)
        return jnp.where(jnp.all((C > 0) & jnp.isfinite(C)), C, 1.0)

    def heating(self, t, z, v):
        """The power P_H that flows into each body, shape (m,)."""
        return (
            jnp.zeros(self.frame.m)
            if self.heat is None
            else jnp.reshape(self.evaluate(self.heat, t, z, v), (self.frame.m,))
        )

    def entropy_rates(self, t, z, v):
        """S' = (P_H - F_fr.v) / T, shape (m,)."""
        return (self.dissipation(t, z, v) + self.heating(t, z, v)) / self.temperature(t, z, v)

    def rho(self, t, z, w):
        """dL/dS S' - F_fr.v + P_H at w = (v, S'), shape (m,): zero on a motion (001 eq 3.2 and
        3.19).
        """
        v, dS = w[: self.frame.n], w[self.frame.n :]
        return -self.temperature(t, z, v) * dS + self.dissipation(t, z, v) + self.heating(t, z, v)

    def supply(self, t, z, v):
        """The power that comes from outside, F_ext.v + sum P_H - dL/dt: the rate of the energy
        E.
        """
        power = jnp.sum(self.heating(t, z, v)) - jax.grad(self.L)(jnp.asarray(t, float), z, v)
        if self.external is None:
            return power
        return power + jnp.sum(self.frame.as_rows(self.evaluate(self.external, t, z, v)) * v)

    def check(self):
        """Raise ValueError unless the functions return what they should; nothing is computed, and a
        system is looked at once.
        """
        key = (
            jax.tree.structure(self),
            tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves(self)),
        )
        if key in CHECKED:
            return
        n, m, scalar = self.frame.n, self.frame.m, self.entropies is None
        point = (jnp.zeros(()), self.origin(), jnp.zeros(n))
        expected: Any = {
            "lagrangian": ([()], "a scalar, such as jnp.sum(v**2) or v[0]**2"),
            "friction": (
                [(n,) if scalar else (m, n)],
                f"shape ({n},)"
                if scalar
                else f"a row for each body that it heats, shape ({m}, {n})",
            ),
            "external": ([(n,), (m, n)], f"a covector of shape ({n},)"),
            "heat": (
                [() if scalar else (m,)],
                "a scalar, the power into the body"
                if scalar
                else f"the power into each body, shape ({m},)",
            ),
        }
        for field, (shapes, words) in expected.items():
            if getattr(self, field) is not None:
                out = evaluate(field, Read(field), self, *point)
                shape = next((s for s in shapes if getattr(out, "shape", None) == s), shapes[0])
                hint = (
                    " (S is a scalar: for several bodies give S0 as a vector, or entropies=)"
                    if scalar and field != "lagrangian"
                    else ""
                )
                check_returns(field, out, shape, words + hint)
        CHECKED.add(key)

    def check_regular(self, H):
        """Raise ValueError where the Hessian H = d2L/dv2 is singular, naming the direction without
        inertia.
        """
        regular_or_raise(self, H)


@dataclass(frozen=True)
class Read:
    """One of the functions of a system, at (t, z, v)."""

    field: str

    def __call__(self, system, t, z, v):
        return system.evaluate(getattr(system, self.field), t, z, v)


def check_entropies(entropies):
    """Names of the entropies, None for a scalar S."""
    if entropies is None:
        return None
    if (
        isinstance(entropies, int | np.integer)
        and not isinstance(entropies, bool)
        and entropies >= 1
    ):
        return tuple(f"S_{i + 1} [J/K]" for i in range(entropies))
    if (
        isinstance(entropies, tuple | list)
        and entropies
        and all(isinstance(name, str) for name in entropies)
    ):
        return tuple(entropies)
    raise ValueError(
        'entropies must be names, such as ("S_gas [J/K]", "S_wall [J/K]"), or how many there are;'
        f" got {entropies!r}."
    )
