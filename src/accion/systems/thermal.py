"""A thermomechanical system: a Lagrangian with entropies, friction that heats, and heat."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from accion.numerics.dependence import depends
from accion.spaces import Space
from accion.systems.entropic import Entropic, TotalForce
from accion.systems.functions import check_returns, returned
from accion.systems.held import MOVING, Held, variational_arguments
from accion.systems.rank import regular_or_raise
from accion.systems.start import Start
from accion.systems.system import System
from accion.systems.whole import Frame, InTime, OfWhole
from accion.types import Array, Configuration, Function, Params, Scalar, Vector


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OfPositions:
    """phi(t, q, params) as a function of (t, z, params), where z = (q, S)."""

    f: Any
    frame: Frame = field(metadata={"static": True})

    @property
    def out(self) -> Any:
        """What it returns, in shape and type."""
        return self.f.out

    def __call__(self, t: Scalar, z: Configuration, params: Params) -> Any:
        return self.f(t, self.frame.parts(z)[0], params)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OfMotion:
    """kappa(t, q, v, params) as a function of (t, z, w, params), where w = (v, S')."""

    f: Any
    frame: Frame = field(metadata={"static": True})

    @property
    def out(self) -> Any:
        """What it returns, in shape and type."""
        return self.f.out

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        return self.f(t, self.frame.parts(z)[0], w[: self.frame.n], params)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Virtual:
    """A(t, q, params), or A(t, q, v, params), with a column of zeros for each entropy."""

    f: Any
    frame: Frame = field(metadata={"static": True})

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        q, v = self.frame.parts(z)[0], w[: self.frame.n]
        at = (t, q, v) if variational_arguments(self.f) == MOVING else (t, q)
        A = self.f(*at, params)
        return jnp.concatenate([A, jnp.zeros((len(A), self.frame.m))], axis=1)


HELD = {"holonomic": OfPositions, "nonholonomic": OfMotion, "variational": Virtual}


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class ThermalSystem(Held, InTime, Entropic):
    """A system whose Lagrangian depends on the entropy S of a body, or on those of several bodies
    (Bonich, Def 3.1 and Thm 3.9):

        d/dt dL/dv - dL/dq = F_fr + F_ext + A^T lam          dL/dS S' = F_fr.v - P_H

    `lagrangian(t, q, v, S, params)` is a scalar; T = -dL/dS is the temperature, which must be
    positive. `friction(t, q, v, S, params)` is a covector of shape (dim,), whose work -F_fr.v heats
    the body; `external(...)` a covector that heats nothing; `heat(...)` the power P_H that flows
    into the body. With several bodies S, P_H and dL/dS are vectors, and friction has a row for the
    part that heats each, shape (m, dim).

    Constraints are those of a `System`: `holonomic(t, q, params)`, `nonholonomic(t, q, v, params)`
    and `variational`, whose forces A^T lam stand beside F_fr and heat nothing.

    `entropies` names them with units, ("S_gas [J/K]", "S_wall [J/K]"), or says how many there are.
    Without it S is a scalar, or the vector that `S0` is. References: Gay-Balmaz and Yoshimura 2018;
    Bonich, chapter 3, with several entropies and heat.
    """

    lagrangian: Function
    space: Space
    params: Params = None
    _: KW_ONLY
    friction: Function | None = None
    external: Function | None = None
    heat: Function | None = None
    holonomic: Function | None = None
    nonholonomic: Function | None = None
    variational: Function | None = None
    entropies: Any = None
    coordinates: Any = None
    name: str | None = None

    kind: ClassVar[str] = "thermal systems"
    required: ClassVar[tuple[str, ...]] = ("lagrangian",)
    discrete_time: ClassVar[bool] = False
    vakonomic = None

    def __post_init__(self) -> None:
        self.check_fields()
        self.check_held()
        self.name_entropies()
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        names = ("lagrangian", "friction", "external", "heat")
        held = {"holonomic": "t, q, params", "nonholonomic": "t, q, v, params"}
        more = {"variational": variational_arguments(self.variational)}
        return dict.fromkeys(names, "t, q, v, S, params") | held | more

    @property
    def holds_positions(self) -> bool:
        return self.holonomic is not None

    @property
    def forced(self) -> bool:
        return any(f is not None for f in (self.friction, self.external, self.heat))

    @property
    def whole(self) -> Any:
        """The mechanical part as a System on Q x R^m, whose Lagrangian does not depend on S': what
        the pullback works on (Bonich, eq 3.16-3.18).
        """
        frame = self.frame
        force = (
            None
            if self.friction is None and self.external is None
            else TotalForce(self.friction, self.external, frame)
        )
        names = (*(self.coordinates or ()), *frame.names)
        held = {
            name: None if getattr(self, name) is None else kind(getattr(self, name), frame)
            for name, kind in HELD.items()
        }
        return System.made_of(
            lagrangian=OfWhole(self.lagrangian, frame),
            space=frame.whole,
            params=self.params,
            force=force,
            coordinates=names,
            name=self.name,
            **held,
        )

    def hessian(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """d2L/dv2."""
        return jax.hessian(self.L, 2)(t, z, v)

    # Functions of (t, z, v), with z = (q, S).

    def evaluate(self, f: Function, t: Scalar, z: Configuration, v: Vector) -> Any:
        q, S = self.frame.parts(z)
        return f(t, q, v, self.frame.as_given(S), self.params)

    def L(self, t: Scalar, z: Configuration, v: Vector, lam: Any = None) -> Scalar:
        """The Lagrangian."""
        return self.evaluate(self.lagrangian, t, z, v)

    def temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """T = -dL/dS, shape (m,)."""
        q, S = self.frame.parts(z)
        return -jax.grad(lambda S: self.lagrangian(t, q, v, self.frame.as_given(S), self.params))(S)

    def dissipation(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """The power -F_fr.v that friction turns into heat in each body, shape (m,)."""
        if self.friction is None:
            return jnp.zeros(self.frame.m)
        return -jnp.sum(self.frame.as_rows(self.evaluate(self.friction, t, z, v)) * v, axis=1)

    def friction_size(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """sum |F_fr| |v| over the components, for each body, shape (m,): what dissipation is
        measured by.
        """
        if self.friction is None:
            return jnp.zeros(self.frame.m)
        return jnp.sum(
            jnp.abs(self.frame.as_rows(self.evaluate(self.friction, t, z, v)) * v), axis=1
        )

    def capacities(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """The heat capacities T / (dT/dS), shape (m,), all 1 where one is not positive and
        finite.
        """
        q, S = self.frame.parts(z)
        slopes = jax.jacfwd(
            lambda S: self.temperature(t, self.point(q, self.frame.as_given(S)), v)
        )(S)
        C = self.temperature(t, z, v) / jnp.diagonal(slopes)
        return jnp.where(jnp.all((C > 0) & jnp.isfinite(C)), C, 1.0)

    def heating(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """The power P_H that flows into each body, shape (m,)."""
        return (
            jnp.zeros(self.frame.m)
            if self.heat is None
            else jnp.reshape(self.evaluate(self.heat, t, z, v), (self.frame.m,))
        )

    @property
    def idle(self) -> bool:
        """Whether nothing heats and L does not depend on S: then T = 0 is no mistake (Bonich, Lemma
        3.8), and S, which nothing determines, stays as it is.
        """
        if self.friction is not None or self.heat is not None:
            return False
        t, q, v, S, params = self.examples("t, q, v, S, params")
        return not depends(lambda params, S: self.lagrangian(t, q, v, S, params), params, S)

    def needed_temperature(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """T, or 1 where it may be zero, shape (m,)."""
        return jnp.ones(self.frame.m) if self.idle else self.temperature(t, z, v)

    def entropy_rates(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """S' = (P_H - F_fr.v) / T, shape (m,)."""
        gains = self.dissipation(t, z, v) + self.heating(t, z, v)
        return gains / self.needed_temperature(t, z, v)

    def rho(self, t: Scalar, z: Configuration, w: Vector) -> Any:
        """dL/dS S' - F_fr.v + P_H at w = (v, S'), shape (m,): zero on a motion (Bonich, eq 3.2 and
        3.19).
        """
        v, dS = w[: self.frame.n], w[self.frame.n :]
        T = self.needed_temperature(t, z, v)
        return -T * dS + self.dissipation(t, z, v) + self.heating(t, z, v)

    def cold(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """Which temperatures are not positive, shape (m,)."""
        return ~(self.needed_temperature(t, z, v) > 0)

    def supply(self, t: Scalar, z: Configuration, v: Vector) -> Scalar:
        """The power that comes from outside, F_ext.v + sum P_H - dL/dt: the rate of the energy
        E.
        """
        power = jnp.sum(self.heating(t, z, v)) - jax.grad(self.L)(jnp.asarray(t, float), z, v)
        return power + self.external_power(t, z, v)

    def external_power(self, t: Scalar, z: Configuration, v: Vector) -> Any:
        """F_ext.v."""
        if self.external is None:
            return 0.0
        return jnp.sum(self.frame.as_rows(self.evaluate(self.external, t, z, v)) * v)

    def check_functions(self) -> None:
        n, m, scalar = self.frame.n, self.frame.m, self.entropies is None
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
        for name, (shapes, words) in expected.items():
            if getattr(self, name) is not None:
                out = returned(getattr(self, name))
                shape = next((s for s in shapes if getattr(out, "shape", None) == s), shapes[0])
                hint = (
                    " (S is a scalar: for several bodies give S0 as a vector, or entropies=)"
                    if scalar and name != "lagrangian"
                    else ""
                )
                check_returns(name, out, shape, words + hint)
        self.check_constraints(self.name or "", n)

    def check_given(self, start: Start) -> None:
        self.check_start_has_entropy(start)

    def check_regular(self, K: Any) -> None:
        """Raise ValueError where the Hessian H = d2L/dv2 is singular, naming the direction without
        inertia.
        """
        regular_or_raise(self, K)
