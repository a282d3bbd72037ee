"""A contact (Herglotz) system: a Lagrangian that depends on its own action."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp

from accion.arguments import is_finite, reals, shown
from accion.spaces import Space, check_vector
from accion.systems.functions import check_returns, returned
from accion.systems.rank import regular_or_raise
from accion.systems.start import Start, check_multipliers_given, check_one_start
from accion.systems.system import System
from accion.systems.whole import Frame, InTime, OfWhole
from accion.types import Array, Configuration, Covector, Function, Params, Scalar, Vector


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ForceOnWhole:
    """A force of (t, q, v, z, params) as one on (q, z), which has no component along z."""

    f: Callable[..., Any]
    frame: Frame = field(metadata={"static": True})

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        return jnp.concatenate([OfWhole(self.f, self.frame)(t, z, w, params), jnp.zeros(1)])


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class ContactSystem(InTime):
    """A system whose Lagrangian depends on the action z that it makes (Herglotz 1930):

        z' = L(t, q, v, z)                    d/dt dL/dv - dL/dq = dL/dz dL/dv + F

    so that the energy E = dL/dv.v - L has the law dE/dt = dL/dz E - dL/dt + F.v: with dL/dz < 0
    the Lagrangian dissipates by itself. `lagrangian(t, q, v, z, params)` is a scalar;
    `force(t, q, v, z, params)`, where given, a covector of shape (dim,). z is a number; a run
    starts from `z0`, or from 0.

    References: Herglotz, Beruehrungstransformationen (1930); Vermeeren, Bravetti and Seri, Contact
    variational integrators (2019).
    """

    lagrangian: Function
    space: Space
    params: Params = None
    _: KW_ONLY
    force: Function | None = None
    coordinates: Any = None
    name: str | None = None

    kind: ClassVar[str] = "contact systems"
    required: ClassVar[tuple[str, ...]] = ("lagrangian",)
    static: ClassVar[tuple[str, ...]] = ("space", "coordinates", "name")
    default_name: ClassVar[str] = "contact system"
    discrete_time: ClassVar[bool] = False
    beside = "z"
    entropic = False
    contact = True
    entropy_shape = ()
    undecided = False

    def __post_init__(self) -> None:
        self.check_fields()
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        return dict.fromkeys(("lagrangian", "force"), "t, q, v, z, params")

    @property
    def forced(self) -> bool:
        return self.force is not None

    @property
    def frame(self) -> Frame:
        """How q and z are put together; z is an action."""
        unit = " [J s]" if all(self.units) else ""
        return Frame(self.space, None, f"z{unit}")

    def with_entropies(self, S0: Any) -> Self:
        return self

    @property
    def whole(self) -> Any:
        """The same Lagrangian as a System on Q x R, where it does not depend on z': what the
        pullback works on.
        """
        frame = self.frame
        force = None if self.force is None else ForceOnWhole(self.force, frame)
        return System.made_of(
            lagrangian=OfWhole(self.lagrangian, frame),
            space=frame.whole,
            params=self.params,
            force=force,
            coordinates=(*(self.coordinates or ()), *frame.names),
            name=self.name,
        )

    # Functions of (t, z, v), with (q, z) for z.

    def L(self, t: Scalar, z: Configuration, v: Vector, lam: Any = None) -> Scalar:
        """The Lagrangian."""
        q, action = self.parts(z)
        return self.lagrangian(t, q, v, action, self.params)

    def F(self, t: Scalar, z: Configuration, v: Vector) -> Covector:
        """The force, shape (dim,); zero where there is none."""
        if self.force is None:
            return jnp.zeros(self.space.dim)
        q, action = self.parts(z)
        return self.force(t, q, v, action, self.params)

    def hessian(self, t: Scalar, z: Configuration, v: Vector) -> Array:
        """d2L/dv2."""
        return jax.hessian(self.L, 2)(t, z, v)

    def growth(self, t: Scalar, z: Configuration, v: Vector) -> Scalar:
        """dL/dz, the rate at which momenta and energy grow."""
        q, action = self.parts(z)
        return jax.grad(self.lagrangian, 3)(t, q, v, action, self.params)

    # ------------------------------------------------------------ checks

    def check_functions(self) -> None:
        n, words = self.space.dim, "a scalar, such as jnp.sum(v**2) - params['c'] * z"
        check_returns("lagrangian", returned(self.lagrangian), (), words)
        if self.force is not None:
            check_returns("force", returned(self.force), (n,), f"a covector of shape ({n},)")

    def check_regular(self, K: Any) -> None:
        regular_or_raise(self, K)

    def check_given(self, start: Start) -> None:
        check_one_start(start)
        if start.S0 is not None:
            raise ValueError(f"S0 belongs to thermal systems; got {shown(start.S0)}.")
        check_multipliers_given(start, self.enters_action)

    def check_part(self, part: str, value: Any, name: str) -> Any:
        if part in ("q0", "q1"):
            return self.space.check(value, name)
        if part == "z0":
            return check_action(value, name)
        return check_vector(value, self.space.dim, name, "degree of freedom")


def check_action(z: Any, name: str) -> Any:
    """`z` as a float64 scalar."""
    value = jnp.asarray(reals(z, name, "a number, the action"))
    if value.shape != () or not is_finite(value):
        raise ValueError(f"{name} must be a finite number, the action; got {shown(z)}.")
    return value
