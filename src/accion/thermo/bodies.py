"""Equations of state with closed forms: solids, gases, radiation.

A body is a pytree: it may stand in the `params` of a system, and derivatives with respect to its
numbers exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import singledispatch
from typing import Any, Protocol, TypeVar, final, runtime_checkable

import jax
import jax.numpy as jnp

from accion.arguments import reals
from accion.types import Array, Scalar

# J/(mol K), exact since 2019: the product of the Avogadro and Boltzmann constants
R = 8.31446261815324
# J/(m^3 K^4), 4 sigma / c, exact since 2019
A_RADIATION = 7.565733250280007e-16
Made = TypeVar("Made")


@runtime_checkable
class Body(Protocol):
    """An equation of state: functions of the entropy and, of a gas, of the volume."""

    def U(self, S: Any, V: Any) -> Array: ...

    def T(self, S: Any, V: Any) -> Array: ...

    def P(self, S: Any, V: Any) -> Array: ...


@singledispatch
def fills_volume(body: Any) -> bool:
    """Whether the energy of a body depends on its volume, which must then be known."""
    return False


def body(cls: type[Made]) -> type[Made]:
    """A decorator: the class as a pytree of its constants. JAX puts other things in their place
    while it transforms a body, so what it makes is not looked at.
    """
    names = [each.name for each in fields(cls)]  # pyright: ignore[reportArgumentType]

    def flatten(made: Any) -> Any:
        keys = map(jax.tree_util.GetAttrKey, names)
        return [(key, getattr(made, key.name)) for key in keys], None

    def unflatten(_: Any, values: Iterable[Any]) -> Any:
        made = object.__new__(cls)
        vars(made).update(zip(names, values, strict=True))
        return made

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    return cls


def check_constants(made: Any) -> None:
    """Raise ValueError where a constant of a body is no real number."""
    for each in fields(made):
        value = getattr(made, each.name)
        found = reals(value, each.name, "a real number")
        object.__setattr__(
            made, each.name, float(found) if isinstance(value, int | float) else found
        )


def numbers_of(given: dict[str, Any]) -> list[Any]:
    """Constants of a body that are computed with: numbers, or arrays that fit together."""
    values = [reals(value, name) for name, value in given.items()]
    try:
        jnp.broadcast_shapes(*(jnp.shape(value) for value in values))
    except ValueError as error:
        shapes = ", ".join(
            f"{name} {jnp.shape(value)}" for name, value in zip(given, values, strict=True)
        )
        raise ValueError(
            f"the constants must be numbers, or of one shape; got {shapes}."
        ) from error
    return values


@final
@body
@dataclass(frozen=True)
class IdealGas:
    """N moles of an ideal gas with U = c N R T and P V = N R T, and its entropy S_ref at U_ref and
    V_ref (Bonich, eq C.5-C.9, corrected):

        U(S, V) = U_ref exp((S - S_ref) / (c N R)) (V / V_ref)^(-1/c)

    `c` is 3/2 for one atom in a molecule, 5/2 for two. `NR` is N R, in J/K.
    """

    NR: Scalar
    U_ref: Scalar
    V_ref: Scalar = 1.0
    S_ref: Scalar = 0.0
    c: Scalar = 1.5

    def __post_init__(self) -> None:
        check_constants(self)

    @classmethod
    def moles(
        cls, N: Scalar, T_ref: Scalar, V_ref: Scalar, S_ref: Scalar = 0.0, c: Scalar = 1.5
    ) -> "IdealGas":
        """N moles whose temperature is T_ref where its volume is V_ref and its entropy S_ref."""
        given = {"N": N, "T_ref": T_ref, "V_ref": V_ref, "S_ref": S_ref, "c": c}
        N, T_ref, V_ref, S_ref, c = numbers_of(given)
        return cls(N * R, c * N * R * T_ref, V_ref, S_ref, c)

    @classmethod
    def polytropic(
        cls, gamma: Scalar, NR: Scalar, T_ref: Scalar, V_ref: Scalar = 1.0, S_ref: Scalar = 0.0
    ) -> "IdealGas":
        """A gas with P V^gamma constant at constant entropy, c = 1/(gamma - 1): `NR` = P V / T."""
        given = {"gamma": gamma, "NR": NR, "T_ref": T_ref, "V_ref": V_ref, "S_ref": S_ref}
        gamma, NR, T_ref, V_ref, S_ref = numbers_of(given)
        c = 1 / (gamma - 1)
        return cls(NR, c * NR * T_ref, V_ref, S_ref, c)

    def U(self, S: Scalar, V: Scalar, N: Scalar | None = None) -> Array:
        """The internal energy; with `N`, in moles, that of another amount of the same gas."""
        r = 1.0 if N is None else N * R / self.NR
        return (
            self.U_ref
            * r
            * jnp.exp((S / r - self.S_ref) / (self.c * self.NR))
            * (V / (r * self.V_ref)) ** (-1 / self.c)
        )

    def T(self, S: Scalar, V: Scalar, N: Scalar | None = None) -> Array:
        """The temperature dU/dS."""
        return self.U(S, V, N) / (self.c * (self.NR if N is None else N * R))

    def P(self, S: Scalar, V: Scalar, N: Scalar | None = None) -> Array:
        """The pressure -dU/dV."""
        return self.U(S, V, N) / (self.c * V)

    def mu(self, S: Scalar, V: Scalar, N: Scalar) -> Array:
        """The chemical potential dU/dN of N moles, in J/mol: (U + P V - T S) / N."""
        return (self.U(S, V, N) + self.P(S, V, N) * V - self.T(S, V, N) * S) / N

    def S(self, U: Scalar, V: Scalar) -> Array:
        """The entropy of a gas with energy U (Bonich, eq C.8)."""
        return self.S_ref + self.NR * (self.c * jnp.log(U / self.U_ref) + jnp.log(V / self.V_ref))

    def S_of_T(self, T: Scalar, V: Scalar) -> Array:
        """The entropy of a gas with temperature T."""
        return self.S(self.c * self.NR * T, V)


@final
@body
@dataclass(frozen=True)
class Solid:
    """A body with constant heat capacity C, whose entropy is S_ref at the temperature T_ref
    (Bonich, eq 4.1): U = C T, S = S_ref + C log(T / T_ref).
    """

    C: Scalar
    T_ref: Scalar
    S_ref: Scalar = 0.0

    def __post_init__(self) -> None:
        check_constants(self)

    def T(self, S: Scalar, V: Scalar | None = None) -> Array:
        """The temperature dU/dS."""
        return self.T_ref * jnp.exp((S - self.S_ref) / self.C)

    def U(self, S: Scalar, V: Scalar | None = None) -> Array:
        """The internal energy."""
        return self.C * self.T(S)

    def P(self, S: Scalar, V: Scalar | None = None) -> Array:
        """The pressure -dU/dV: the energy does not depend on the volume."""
        return jnp.zeros_like(S)

    def S_of_T(self, T: Scalar, V: Scalar | None = None) -> Array:
        """The entropy at the temperature T."""
        return self.S_ref + self.C * jnp.log(T / self.T_ref)


@final
@body
@dataclass(frozen=True)
class VanDerWaals:
    """A gas whose molecules attract each other, a, and take room, b (van der Waals 1873):

        P = N R T / (V - b) - a / V^2        U = c N R T - a / V

    with the temperature T_ref where its volume is V_ref and its entropy S_ref. `a` and `b` are
    those of all N moles: N^2 a_mol and N b_mol. With a = b = 0 it is an `IdealGas`.
    """

    NR: Scalar
    T_ref: Scalar
    a: Scalar
    b: Scalar
    V_ref: Scalar = 1.0
    S_ref: Scalar = 0.0
    c: Scalar = 1.5

    def __post_init__(self) -> None:
        check_constants(self)

    def share(self, N: Scalar | None) -> Any:
        """How many times the amount of the gas there is."""
        return 1.0 if N is None else N * R / self.NR

    def T(self, S: Scalar, V: Scalar, N: Scalar | None = None) -> Array:
        """The temperature dU/dS; with `N`, in moles, that of another amount of the same gas."""
        r = self.share(N)
        # an array, whose powers are NaN where there is no room
        room = (jnp.asarray(V, float) / r - self.b) / (self.V_ref - self.b)
        return (
            self.T_ref * jnp.exp((S / r - self.S_ref) / (self.c * self.NR)) * room ** (-1 / self.c)
        )

    def U(self, S: Scalar, V: Scalar, N: Scalar | None = None) -> Array:
        """The internal energy."""
        r = self.share(N)
        return r * (self.c * self.NR * self.T(S, V, N) - self.a * r / V)

    def P(self, S: Scalar, V: Scalar, N: Scalar | None = None) -> Array:
        """The pressure -dU/dV."""
        v = V / self.share(N)
        return self.NR * self.T(S, V, N) / (v - self.b) - self.a / v**2

    def mu(self, S: Scalar, V: Scalar, N: Scalar) -> Array:
        """The chemical potential dU/dN of N moles, in J/mol: (U + P V - T S) / N."""
        return (self.U(S, V, N) + self.P(S, V, N) * V - self.T(S, V, N) * S) / N

    def S_of_T(self, T: Scalar, V: Scalar) -> Array:
        """The entropy at the temperature T."""
        room = (V - self.b) / (self.V_ref - self.b)
        return self.S_ref + self.NR * (self.c * jnp.log(T / self.T_ref) + jnp.log(room))


@final
@body
@dataclass(frozen=True)
class Radiation:
    """Light in equilibrium with its walls, in a volume V (Stefan and Boltzmann):

    U = a V T^4        S = 4/3 a V T^3        P = U / (3 V)
    """

    a: Scalar = A_RADIATION

    def __post_init__(self) -> None:
        check_constants(self)

    def T(self, S: Scalar, V: Scalar) -> Array:
        """The temperature dU/dS."""
        return jnp.cbrt(3 * S / (4 * self.a * V))

    def U(self, S: Scalar, V: Scalar) -> Array:
        """The internal energy."""
        return 0.75 * S * self.T(S, V)

    def P(self, S: Scalar, V: Scalar) -> Array:
        """The pressure -dU/dV."""
        return self.U(S, V) / (3 * V)

    def S_of_T(self, T: Scalar, V: Scalar) -> Array:
        """The entropy at the temperature T."""
        return 4 / 3 * self.a * V * jnp.asarray(T) ** 3


@fills_volume.register(IdealGas)
@fills_volume.register(VanDerWaals)
@fills_volume.register(Radiation)
def _(body: Any) -> bool:
    return True
