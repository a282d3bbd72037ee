"""Bodies that are given by other variables than entropy and volume: temperature, pressure.

A potential is known by its own variables: U(S, V), the free energy F(T, V) = U - T S, the enthalpy
H(S, P) = U + P V, the free enthalpy G(T, P) = U - T S + P V. The others follow from its
derivatives, and a Lagrangian needs U(S, V): where S = -dF/dT, and where V = dH/dP, is solved.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import door, one_of, positive, wrong
from accion.numerics import newton
from accion.systems.arity import check_function
from accion.systems.mistakes import not_evaluable
from accion.thermo.bodies import fills_volume
from accion.types import Array, Params, Scalar

KINDS = ("T", "TV", "SP", "TP", "SV")
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)  # *args, **named
VOLUMES = (1e-3, 1e-2, 0.1, 1.0, 2.0, 10.0, 1e3)  # at which functions of V are tried
CLOSE = 1e-6  # of T: by how much dU/dT over dS/dT may be off it


@dataclass(frozen=True)
class InTurn(newton.Equations):
    """S and V of a body at its own variables, less those that are given; unknown are the logarithms
    of T and P, of which a body has one or both.
    """

    of: str
    multipliers: int = 0

    def residual(self, unknowns: Any, args: Any) -> Any:
        body, S, V = args
        found = body.found(unknowns, S, V)
        given = {"S": S, "V": V}
        rows = [found[name] - given[name] for name in body.solved_for.values()]
        return jnp.stack(rows)

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        return jnp.ones_like(unknowns), jnp.zeros_like(unknowns)


@final
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Potential:
    """A body given by a thermodynamic potential in its own variables: see `from_potential`."""

    f: Callable[..., Any] = field(metadata={"static": True})
    of: str = field(metadata={"static": True})
    params: Params
    T_ref: Scalar
    P_ref: Scalar

    @property
    def solved_for(self) -> dict[str, str]:
        """{variable: what it is found from}, for those that are solved for."""
        return {x: y for x, y in {"T": "S", "P": "V"}.items() if x in self.of}

    @property
    def references(self) -> list[Any]:
        """The guesses of T and P, of those that are solved for."""
        return [{"T": self.T_ref, "P": self.P_ref}[x] for x in self.solved_for]

    def value(self, *own: Scalar) -> Array:
        """The potential at its own variables."""
        return jnp.asarray(self.f(*own, *known(self.params)), float)

    def found(self, unknowns: Any, S: Scalar, V: Any) -> dict[str, Any]:
        """All of T, P, S, V, U at logarithms of T and P; what is known is taken as it is."""
        logs = dict(zip(self.solved_for, unknowns, strict=True))
        x = {"S": S, "V": V} | {name: jnp.exp(y) for name, y in logs.items()}
        own = tuple(jnp.asarray(x[name], float) for name in self.of)
        value, slopes = jax.value_and_grad(lambda own: self.value(*own))(own)
        by = dict(zip(self.of, slopes, strict=True))
        if "T" in by:
            x["S"] = -by["T"]
            value = value + x["T"] * x["S"]
        else:
            x["T"] = by["S"]
        if "P" in by:
            x["V"] = by["P"]
            value = value - x["P"] * x["V"]
        else:
            x["P"] = -by["V"] if "V" in by else jnp.zeros_like(value)
        return x | {"U": value}

    def at(self, S: Scalar, V: Any) -> dict[str, Any]:
        """T, P, U at (S, V), NaN where nothing belongs to them."""
        if not self.solved_for:
            return self.found((), S, V)
        V = 1.0 if V is None else V
        args = (self, jnp.asarray(S, float), jnp.asarray(V, float))
        guess = jnp.log(jnp.stack([jnp.asarray(x, float) for x in self.references]))
        y, _, converged = newton.root(InTurn(self.of), guess, args)
        return self.found(jnp.where(converged, y, jnp.nan), S, V)

    def each(self, name: str, S: Any, V: Any) -> Array:
        """One of them, of one body or of several."""
        S = jnp.asarray(S, float)
        V = S if V is None else jnp.asarray(V, float)
        shape = jnp.broadcast_shapes(S.shape, V.shape)
        if not shape:
            return self.at(S, V)[name]
        pairs = zip(*(jnp.broadcast_to(x, shape).reshape(-1) for x in (S, V)), strict=True)
        return jnp.stack([self.at(s, v)[name] for s, v in pairs]).reshape(shape)

    def U(self, S: Scalar, V: Scalar | None = None) -> Array:
        """The internal energy."""
        return self.each("U", S, V)

    def T(self, S: Scalar, V: Scalar | None = None) -> Array:
        """The temperature dU/dS."""
        return self.each("T", S, V)

    def P(self, S: Scalar, V: Scalar | None = None) -> Array:
        """The pressure -dU/dV; 0 of a body whose volume is not known."""
        return self.each("P", S, V)

    def S_of_T(self, T: Scalar, V: Scalar | None = None) -> Array:
        """The entropy at the temperature T, of a body that is given by T, or by T and V."""
        if self.of not in ("T", "TV"):
            raise ValueError(
                f"S_of_T is of a body given by T, or by T and V; this one is given by {self.of}."
            )
        own = (jnp.asarray(T, float), *(() if self.of == "T" else (jnp.asarray(V, float),)))
        return -jax.grad(self.value)(*own)


@fills_volume.register
def _(body: Potential) -> bool:
    return body.of != "T"


@final
@dataclass(frozen=True)
class FreeEnergy:
    """U - T S, of functions of T, or of T and V, and of params where there are some."""

    U: Callable[..., Any]
    S: Callable[..., Any]

    def __call__(self, T: Scalar, *rest: Any) -> Any:
        return self.U(T, *rest) - T * self.S(T, *rest)


@door(of=one_of(*KINDS), T_ref=positive, P_ref=positive)
def from_potential(
    f: Callable[..., Any],
    of: str,
    params: Params = None,
    T_ref: Scalar = 300.0,
    P_ref: Scalar = 1e5,
) -> Potential:
    """A body given by a thermodynamic potential in its own variables; its U(S, V), T and P are
    found from it.

    Arguments:
        f: the potential, a function of the variables `of` and, where there are some, of `params`:
            "TV" the free energy F(T, V), "SP" the enthalpy H(S, P), "TP" the free enthalpy G(T, P),
            "SV" the energy itself, "T" the free energy of a body whose volume does not matter.
        T_ref, P_ref: about where T and P will be: from there they are solved for.

    Raises: ValueError where f is no number at these, at S = 1 and any volume from 1e-3 to 1e3.
    """
    check_function("f", f, ", ".join([*of, *(() if params is None else ("params",))]))
    body = Potential(f, of, params, T_ref, P_ref)
    values = []
    for V in VOLUMES if "V" in of else (1.0,):
        at: dict[str, Any] = {"T": T_ref, "P": P_ref, "S": 1.0, "V": V}
        own = tuple(jnp.asarray(at[x], float) for x in of)
        values.append(evaluated("f", body.f, (*own, *known(params)), ", ".join(of)))
    if any(jnp.shape(value) != () for value in values) or not np.any(np.isfinite(values)):
        wrong("f", f"a potential that is a finite number at some {', '.join(of)}", f)
    return body


def evaluated(name: str, f: Callable[..., Any], arguments: tuple[Any, ...], takes: str) -> Any:
    """f(*arguments), or a ValueError that says where it went wrong."""
    try:
        return f(*arguments)
    except Exception as error:
        not_evaluable(name, error, f"({takes})")


def slope(name: str, f: Callable[..., Any], T: Scalar, rest: tuple[Any, ...]) -> float:
    """df/dT of a function of the user."""
    found = jax.grad(lambda T: jnp.asarray(f(T, *rest), float))
    takes = "T, V" if len(rest) > 1 else "T, and V or params" if rest else "T"
    return float(evaluated(name, found, (T,), takes))


def known(params: Params) -> tuple[Params, ...]:
    """The params of a function, where it has some."""
    return () if params is None else (params,)


@door(T_ref=positive)
def from_temperature(
    U: Callable[..., Any], S: Callable[..., Any], params: Params = None, T_ref: Scalar = 300.0
) -> Potential:
    """A body given by its energy U(T) and entropy S(T), or U(T, V) and S(T, V) of a gas; with
    `params` these come last. Its U(S), T(S) and S_of_T(T) are found from them (Bonich, eq 4.1-4.2).

    `T_ref` is about where T will be: from there it is solved for.
    Raises: ValueError where dU/dT = T dS/dT does not hold, so that no body has both.
    """
    rest = known(params)
    if not callable(U):
        wrong("U", "a function U(T), or U(T, V)", U)
    named = [p for p in inspect.signature(U).parameters.values() if p.kind not in OPEN]
    of = "TV" if len(named) - len(rest) == 2 else "T"
    for name, f in (("U", U), ("S", S)):
        check_function(name, f, ", ".join([*of, *(() if params is None else ("params",))]))
    for part, V in product((0.8, 1.0, 1.3), (None,) if of == "T" else VOLUMES):
        T, more = part * T_ref, () if V is None else (jnp.asarray(V, float),)
        dU, dS = (slope(name, f, T, (*more, *rest)) for name, f in (("U", U), ("S", S)))
        if V is not None and not np.isfinite(dU + dS):
            continue  # a volume that this gas does not have
        if not abs(dU - T * dS) <= CLOSE * max(abs(dU), abs(T * dS)):
            where = f"T = {T:.6g}" + ("" if V is None else f", V = {V:.6g}")
            raise ValueError(
                f"U and S belong to no body: dU/dT must be T dS/dT, but at {where} they are"
                f" {dU:.6g} and {T * dS:.6g}."
            )
    return from_potential(FreeEnergy(U, S), of, params, T_ref)
