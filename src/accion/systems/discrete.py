"""Systems that are given in discrete time, by their discrete Lagrangian."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from accion.spaces import Space, check_vector
from accion.systems.base import WithoutEntropy
from accion.systems.entropic import Entropic
from accion.systems.functions import check_returns, returned
from accion.systems.higher import check_order
from accion.systems.start import (
    Start,
    check_configurations,
    check_no_entropy,
    check_one_start,
    check_rows,
)
from accion.types import Array, Configuration, Function, Params, Scalar

NO_VELOCITIES = "is given in discrete time: it has no velocities and no energy"


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class DiscreteSystem(WithoutEntropy):
    """A system given by its discrete Lagrangian Ld(t, h, q0, q1), one for each step from q0 at the
    time t to q1 at t + h. Its motion satisfies (Marsden and West 2001, parts 1 and 3; Bonich, Def
    2.17 and 2.29, Thm 2.31)

        D2 Ld(q_{k-1}, q_k) + Fd^+ + D1 Ld(q_k, q_{k+1}) + Fd^- + h A(t_k, q_k)^T lam_k = 0
        c(t_k, h, q_k, q_{k+1}) = 0                        where there is a constraint

    With `order` k, Ld and the other functions are of k + 1 configurations, q_0, ..., q_k, and the
    equations are sum_j D_j Ld = 0 over the k + 1 windows that hold a configuration (Vakonomic
    thesis, section 8.3). It is simulated without a method: `simulate(system, q0=..., q1=..., h=...,
    steps=...)`.

    Arguments:
        lagrangian: `Ld(t, h, q0, q1, params)`, a scalar.
        space, params, coordinates, name: as those of a `System`.
        order: k, 1 or more.
        work: `work(t, h, q0, q1, params)`, the discrete forces (Fd^-, Fd^+), covectors of shape
            (dim,), one for each configuration.
        constraint: `constraint(t, h, q0, q1, params)`, m equations.
        variational: `variational(t, q, params)`, the matrix A of shape (m, dim) whose rows the
            virtual displacements of a configuration must satisfy. Without it the constraint is in
            the action, and the motion is the free one of Ld + h lam.c (Vakonomic thesis, eq 8.3).
    """

    lagrangian: Function
    space: Space
    params: Params = None
    _: KW_ONLY
    order: int = 1
    work: Function | None = None
    constraint: Function | None = None
    variational: Function | None = None
    coordinates: Any = None
    name: str | None = None

    kind: ClassVar[str] = "systems given in discrete time"
    required: ClassVar[tuple[str, ...]] = ("lagrangian",)
    static: ClassVar[tuple[str, ...]] = ("space", "order", "coordinates", "name")
    default_name: ClassVar[str] = "discrete system"
    discrete_time = True
    conformal = None
    holds_positions = False
    mechanical = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_order(self.order, "order"))
        self.check_fields()
        if self.variational is not None and self.constraint is None:
            raise ValueError(
                "`variational` goes with `constraint`: it says which virtual displacements that"
                " constraint allows."
            )
        if self.variational is not None and self.order > 1:
            raise ValueError(
                f"`variational` is for systems of order 1; this one is of order {self.order}."
                " Without it the constraint is in the action."
            )
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        points = ", ".join(f"q{i}" for i in range(self.order + 1))
        ends = f"t, h, {points}, params"
        return {
            "lagrangian": ends,
            "work": ends,
            "constraint": ends,
            "variational": "t, q, params",
        }

    @property
    def enters_action(self) -> bool:
        return self.constraint is not None and self.variational is None

    @property
    def holds_velocities(self) -> bool:
        return self.variational is not None

    @property
    def forced(self) -> bool:
        return self.work is not None

    @property
    def multipliers(self) -> int:
        if self.constraint is None:
            return 0
        out = returned(self.constraint)
        return check_returns("constraint", out, None, "m equations, shape (m,)").shape[0]

    # ------------------------------------------------------------ functions of (t, h, q0, q1, ...)

    def Ld(self, t: Scalar, h: Scalar, q: Sequence[Configuration], lam: Any = None) -> Scalar:
        """The discrete Lagrangian of order + 1 configurations; with `lam`, Ld + h lam.c where the
        constraint is in the action.
        """
        value = self.lagrangian(t, h, *q, self.params)
        if lam is None or not self.enters_action:
            return value
        return value + h * jnp.sum(lam * self.c(t, h, q))

    def c(self, t: Scalar, h: Scalar, q: Sequence[Configuration]) -> Array:
        """The discrete constraint, shape (m,)."""
        f = self.constraint
        return jnp.zeros(0) if f is None else f(t, h, *q, self.params)

    def Fd(self, t: Scalar, h: Scalar, q: Sequence[Configuration]) -> Array:
        """The discrete forces, shape (order + 1, dim); zero where there are none."""
        f = self.work
        if f is None:
            return jnp.zeros((self.order + 1, self.space.dim))
        return jnp.stack(f(t, h, *q, self.params))

    # ------------------------------------------------------------ checks

    def check_functions(self) -> None:
        n, count = self.space.dim, self.order + 1
        words = "a scalar, the discrete Lagrangian"
        check_returns("lagrangian", returned(self.lagrangian), (), words)
        if self.work is not None:
            words = f"{count} covectors of shape ({n},), one for each configuration"
            out = returned(self.work)
            if not isinstance(out, tuple | list) or len(out) != count:
                raise ValueError(f"work must return {words}; it returned {type(out).__name__}.")
            for part in out:
                check_returns("work", part, (n,), words)
        if (m := self.multipliers) > n:
            raise ValueError(f"{self.name} has more constraints than coordinates: {m} and {n}.")
        if self.variational is not None:
            words = f"a matrix of shape ({m}, {n})"
            check_returns("variational", returned(self.variational), (m, n), words)

    def check_regular(self, K: Any) -> None:
        """Nothing is known of it before the first step, whose failure says so."""

    def check_given(self, start: Start) -> None:
        check_one_start(start)
        check_no_entropy(start)
        if start.v0 is not None:
            raise ValueError(
                f"{self.name} {NO_VELOCITIES}. It starts from q0 and q1, the"
                f" {2 * self.order - 1} next configurations"
                f"{', or from q0 and p0' if self.order == 1 else ''}."
            )
        if start.p0 is not None and self.order > 1:
            raise ValueError(
                f"{self.name} is of order {self.order}: it starts from q0 and q1, the"
                f" {2 * self.order - 1} next configurations; not from p0."
            )
        wanted = self.enters_action and start.q1 is not None
        if wanted == (start.lam0 is None):
            raise ValueError(
                f"a start from q1 needs lam0, the multipliers of the first {self.order} windows,"
                f" shape ({self.order}, m), as the constraint is in the action."
                if wanted
                else "lam0 belongs to a start from q1 under a constraint that is in the action."
            )

    def check_part(self, part: str, value: Any, name: str) -> Any:
        r = self.order
        if part == "q0" or (part == "q1" and r == 1):
            return self.space.check(value, name)
        if part == "q1":
            return check_configurations(self.space, value, 2 * r - 1, name)
        if part == "lam0":
            return check_rows(value, r, self.multipliers, name, "the multipliers of the windows")
        return check_vector(value, self.space.dim, name, "degree of freedom")


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class DiscreteThermalSystem(Entropic):
    """A discrete thermomechanical system (Bonich, Def 3.12), whose motion satisfies (Bonich, Thm
    3.17)

        D1 Ld(k, k+1) + D2 Ld(k-1, k) + Fd^-(k, k+1) + Fd^+(k-1, k) = 0
        rho_d(k, k+1) = 0

    All functions are of (t, h, q0, q1, S0, S1, params), the step from (q0, S0) at time t to (q1,
    S1): `lagrangian` returns Ld, a scalar; `kinematic` returns rho_d, one number for each entropy;
    `friction` and `external` return the pair (Fd^-, Fd^+) of covectors. It is simulated without a
    method: `simulate(system, q0=..., q1=..., S0=..., h=..., steps=...)`, or from p0 in place of q1.
    """

    lagrangian: Function
    space: Space
    params: Params = None
    _: KW_ONLY
    kinematic: Function
    friction: Function | None = None
    external: Function | None = None
    entropies: Any = None
    coordinates: Any = None
    name: str | None = None

    kind: ClassVar[str] = "thermal systems given in discrete time"
    required: ClassVar[tuple[str, ...]] = ("lagrangian", "kinematic")
    discrete_time = True

    def __post_init__(self) -> None:
        self.check_fields()
        self.name_entropies()
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        fields = ("lagrangian", "kinematic", "friction", "external")
        return dict.fromkeys(fields, "t, h, q0, q1, S0, S1, params")

    @property
    def forced(self) -> bool:
        return self.friction is not None or self.external is not None

    def evaluate(
        self, f: Function, t: Scalar, h: Scalar, z0: Configuration, z1: Configuration
    ) -> Any:
        """`f` on the step from z0 to z1."""
        (q0, S0), (q1, S1) = self.parts(z0), self.parts(z1)
        return f(t, h, q0, q1, S0, S1, self.params)

    def check_functions(self) -> None:
        n, m, scalar = self.frame.n, self.frame.m, self.entropies is None
        check_returns("lagrangian", returned(self.lagrangian), (), "a scalar")
        shape = () if scalar else (m,)
        words = f"a number for each entropy, shape {shape}"
        check_returns("kinematic", returned(self.kinematic), shape, words)
        for field in ("friction", "external"):
            if getattr(self, field) is not None:
                pair = returned(getattr(self, field))
                if not isinstance(pair, tuple | list) or len(pair) != 2:
                    raise ValueError(
                        f"{field} must return the pair (Fd^-, Fd^+); it returned"
                        f" {type(pair).__name__}."
                    )
                for part in pair:
                    check_returns(field, part, (n,), f"two covectors of shape ({n},)")

    def check_regular(self, K: Any) -> None:
        """Nothing is known of it before the first step, whose failure says so."""

    def check_given(self, start: Start) -> None:
        self.check_start_has_entropy(start)
        if start.v0 is not None:
            raise ValueError(
                f"{self.name} is given in discrete time and has no velocities: it starts from q0,"
                " S0 and q1, the second configuration, or p0, the momentum -D1 Ld - Fd^-."
            )
