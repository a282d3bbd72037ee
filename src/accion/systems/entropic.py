"""What systems with entropies share, in continuous and in discrete time."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import as_array, is_finite, reals, shown
from accion.memory import check_room
from accion.spaces import check_vector
from accion.systems.base import structure
from accion.systems.start import Start, check_multipliers_given, check_no_action, check_one_start
from accion.systems.whole import Extended, Frame, OfWhole
from accion.types import Configuration, Params, Scalar, Vector

PER_ENTROPY = 100  # bytes: its name, and a number in a few vectors


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TotalForce:
    """Friction and external force as one force on (q, S), which has no component along S."""

    friction: Callable[..., Any] | None
    external: Callable[..., Any] | None
    frame: Frame = field(metadata={"static": True})

    def __call__(self, t: Scalar, z: Configuration, w: Vector, params: Params) -> Any:
        total = jnp.zeros(self.frame.n)
        for f in (self.friction, self.external):
            if f is not None:
                total = total + jnp.sum(
                    self.frame.as_rows(OfWhole(f, self.frame)(t, z, w, params)), axis=0
                )
        return jnp.concatenate([total, jnp.zeros(self.frame.m)])


class Entropic(Extended):
    """A system whose state has entropies: a step moves z = (q, S)."""

    entropies: Any

    beside = "S"
    entropic = True
    contact = False
    static: ClassVar[tuple[str, ...]] = ("space", "entropies", "coordinates", "name")
    default_name: ClassVar[str] = "thermal system"

    def name_entropies(self) -> None:
        """Put in the names of the entropies."""
        object.__setattr__(self, "entropies", check_entropies(self.entropies))

    def with_entropies(self, S0: Any) -> Self:
        """The system with as many entropies as `S0` has, where it was not said how many there
        are: its functions are traced once more, at a vector S.
        """
        given = None if self.entropies is not None else as_array(S0)
        if given is None or given.ndim != 1 or not len(given):
            return self
        count = len(given)
        found = self.traced_again(
            ("entropies", count, structure(self.params)),
            lambda: replace(self, entropies=count),  # pyright: ignore[reportArgumentType]
        )
        return found.altered(params=self.params)

    @property
    def entropy_shape(self) -> tuple[int, ...]:
        return () if self.entropies is None else (self.frame.m,)

    @property
    def undecided(self) -> bool:
        return self.entropies is None

    @property
    def frame(self) -> Frame:
        return Frame(self.space, self.entropies)

    def origin(self) -> Configuration:
        """z at the origin, without entropy."""
        return self.point(self.space.identity(), jnp.zeros(self.entropy_shape))

    def check_start_has_entropy(self, start: Start) -> None:
        """Raise ValueError unless q0, S0 and one of v0, p0, q1 are given."""
        check_one_start(start)
        if start.S0 is None:
            raise ValueError(
                "a thermal system needs S0, its entropy (or entropies) at the start; got None."
            )
        check_no_action(start)
        check_multipliers_given(start, self.enters_action)

    def check_part(self, part: str, value: Any, name: str) -> Any:
        if part in ("q0", "q1"):
            return self.space.check(value, name)
        if part == "S0":
            return check_entropy(self, value, name)
        return check_vector(value, self.space.dim, name, "degree of freedom")


def check_entropy(system: Any, S: Any, name: str) -> Any:
    """`S` as a float64 scalar, or a vector with one entropy for each body."""
    if system.entropies is not None:
        return check_vector(S, len(system.entropies), name, "body")
    value = reals(S, name, "a number, the entropy")
    if value.shape != () or not is_finite(value):
        raise ValueError(
            f"{name} must be a finite number, the entropy; got {shown(S)}. For several bodies say"
            " so: ThermalSystem(..., entropies=2)."
        )
    return value


def check_entropies(entropies: Any) -> Any:
    """Names of the entropies, None for a scalar S."""
    if entropies is None:
        return None
    if (
        isinstance(entropies, int | np.integer)
        and not isinstance(entropies, bool)
        and entropies >= 1
    ):
        count = int(entropies)
        check_room(count * PER_ENTROPY, f"entropies = {shown(count)}", "Take fewer bodies.")
        return tuple(f"S_{i + 1} [J/K]" for i in range(count))
    if (
        isinstance(entropies, tuple | list)
        and entropies
        and all(isinstance(name, str) for name in entropies)
    ):
        return tuple(entropies)
    raise ValueError(
        'entropies must be names, such as ("S_gas [J/K]", "S_wall [J/K]"), or how many there are;'
        f" got {shown(entropies)}."
    )
