"""Equations of state, the flow of heat, and what a trajectory says about the laws of
thermodynamics.

An equation of state is a pytree: it may stand in the `params` of a system, and derivatives with
respect to its numbers exist.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from accion.arguments import at_least, door, reals, wrong
from accion.checks import a_function
from accion.results.trajectory import Trajectory, a_trajectory
from accion.stepping.laws import worst
from accion.systems.functions import check_returns, evaluate
from accion.types import Array, ArrayLike, Configuration, Scalar

if TYPE_CHECKING:  # it is imported where it is wanted
    from xarray import Dataset

# J/(mol K), exact since 2019: the product of the Avogadro and Boltzmann constants
R = 8.31446261815324
Made = TypeVar("Made")


@runtime_checkable
class Body(Protocol):
    """An equation of state: functions of the entropy and, of a gas, of the volume."""

    def U(self, S: Any, V: Any) -> Array: ...

    def T(self, S: Any, V: Any) -> Array: ...

    def P(self, S: Any, V: Any) -> Array: ...


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
        N, T_ref, V_ref, S_ref, c = (reals(value, name) for name, value in given.items())
        return cls(N * R, c * N * R * T_ref, V_ref, S_ref, c)

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


@door()
def conduction(T: ArrayLike, G: ArrayLike) -> Array:
    """Fourier's law: the power sum_b G[a, b] (T_b - T_a) into each body, shape (m,), for
    temperatures T and conductances G in W/K.

    `G` is a number for two bodies, or a symmetric matrix of shape (m, m).
    Raises: ValueError where it is neither.
    """
    T, G = jnp.asarray(reals(T, "T")), jnp.asarray(reals(G, "G"))
    if T.ndim != 1:
        raise ValueError(
            f"conduction needs the temperatures of the bodies, shape (m,); got shape {T.shape}."
        )
    if not isinstance(G, Tracer) and G.ndim == 2 and not np.array_equal(G, np.asarray(G).T):
        raise ValueError(
            "conductances must be symmetric, what flows from a to b comes from a; got"
            f" {np.asarray(G).tolist()}."
        )
    if G.shape not in ((), (len(T), len(T))) or (G.shape == () and len(T) != 2):
        raise ValueError(
            f"conduction between {len(T)} bodies needs a symmetric matrix of shape ({len(T)},"
            f" {len(T)}), or a number for two; got shape {G.shape}."
        )
    flow = G * (T[None, :] - T[:, None])
    # Half of it and of what flows back: exactly as much comes as goes.
    return jnp.sum((flow - flow.T) / 2, axis=1)


@door(T=reals, T_bath=reals, G=reals)
def bath(T: Scalar, T_bath: Scalar, G: Scalar) -> Scalar:
    """The power G (T_bath - T) from a bath into a body, with the conductance G in W/K."""
    try:
        return G * (T_bath - T)
    except (TypeError, ValueError) as error:
        raise ValueError("T, T_bath and G must be numbers, or arrays of one shape.") from error


@door(trajectory=a_trajectory, volume=a_function("q"), which=at_least(0))
def states(
    trajectory: Trajectory,
    body: Body,
    volume: Callable[[Configuration], Array] | None = None,
    which: int = 0,
) -> "Dataset":
    """T, P, U, V and S of one body along a trajectory, as an xarray.Dataset.

    Arguments: `body`, its equation of state; `volume(q)`, the volume that it fills; `which`, its
    number among several entropies.
    Raises: ValueError where the trajectory has no such body, or its volume is missing.
    """
    import xarray as xr

    if trajectory.S is None:
        raise ValueError("states needs a trajectory of a ThermalSystem, which has an entropy.")
    if not isinstance(body, Body):
        wrong("body", "an equation of state, such as IdealGas or Solid", body)
    if not 0 <= which < len(trajectory.entropies):
        raise ValueError(
            f"which must be the number of a body, from 0 to {len(trajectory.entropies) - 1}; got"
            f" {which!r}."
        )
    if volume is None and isinstance(body, IdealGas):
        raise ValueError("a gas needs its volume: states(trajectory, gas, volume=lambda q: ...).")
    S = trajectory.S if trajectory.S.ndim == trajectory.p.ndim - 1 else trajectory.S[..., which]
    V = jnp.full(S.shape, jnp.nan)
    if volume is not None:
        first = jax.tree.map(lambda a: a[(0,) * S.ndim], trajectory.q)
        found = evaluate("volume", volume, first, takes="(q), a configuration")
        check_returns("volume", found, (), "a number, the volume at q")
        over_time = jax.vmap(volume)
        V = (jax.vmap(over_time) if trajectory.is_ensemble else over_time)(trajectory.q)
    given = None if volume is None else V
    dims = ("run", "time") if trajectory.is_ensemble else ("time",)
    quantities = {
        "T": (body.T(S, given), "temperature", "K"),
        "P": (body.P(S, given), "pressure", "Pa"),
        "U": (body.U(S, given), "internal energy", "J"),
    }
    quantities["S"] = (S, "entropy", "J/K")
    if volume is not None:
        quantities["V"] = (V, "volume", "m^3")
    variables = {
        name: (dims, np.asarray(values), {"long_name": words, "units": unit})
        for name, (values, words, unit) in quantities.items()
    }
    return xr.Dataset(
        variables, {"time": ("time", np.asarray(trajectory.t), {"long_name": "time", "units": "s"})}
    )


@final
@dataclass(frozen=True)
class LawsKept:
    """How well a run keeps the two laws: see `laws`.

    `least_step` and `push_step` are the numbers of the steps of `least` and `push`.
    """

    first: float
    first_relative: float
    least: float
    least_step: int
    push: float
    push_step: int

    def __str__(self) -> str:
        least = (
            "every step was cooled"
            if not np.isfinite(self.least)
            else (
                f"total entropy changed by at least {self.least:+.3e} J/K in a step (step"
                f" {self.least_step})"
            )
        )
        return "\n".join(
            [
                (
                    f"first law:  |E - E_0 - energy from outside| <= {self.first:.3e} J,"
                    f" {self.first_relative:.1e} of the energy"
                ),
                (
                    f"second law: {least}; friction took at least {-self.push:+.3e} J in a step"
                    f" (step {self.push_step})"
                ),
            ]
        )


@door(trajectory=a_trajectory)
def laws(trajectory: Trajectory) -> LawsKept:
    """The largest error of the first law at the saved times, and the extremes of the second over
    all steps; of an ensemble the worst run.

    `least` is the least change of the total entropy in a step in which bodies exchange heat only
    among themselves (inf where there is none), `push` the largest energy that friction gave in a
    step; the second law wants least >= 0 and push <= 0.
    """
    error, E = np.abs(np.asarray(trajectory.first_law())), np.abs(np.asarray(trajectory.energy()))
    (least, least_step, _), (push, push_step, _) = worst(trajectory)
    first, size = float(np.nanmax(error)), float(np.nanmax(E))
    return LawsKept(first, first / size if first > 0 else 0.0, least, least_step, push, push_step)
