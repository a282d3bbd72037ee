"""Dynamics that are given as rates: x' = f(t, x, u)."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import shown
from accion.memory import check_room
from accion.spaces import Euclidean, Space
from accion.systems.base import Mechanical
from accion.systems.functions import check_returns, returned
from accion.systems.start import Start
from accion.types import Covector, Function, Params, Scalar, Vector


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class Dynamics(Mechanical):
    """States with given rates, where no Lagrangian is known or wanted: what a `ControlProblem` may
    be about besides a `System`.

        x' = f(t, x, u)

    Arguments:
        f: f(t, x, u, params) -> (states,).
        states: their names, with units in brackets, or how many there are.
        controls: the names of the controls, or how many there are.
        params: any pytree.
        name: of the system.

    Raises:
        ValueError: where `f` does not return one rate for each state.
    """

    f: Function
    states: Any
    controls: Any
    params: Params = None
    _: KW_ONLY
    name: str | None = None
    space: Space = field(init=False)
    coordinates: Any = field(init=False)

    kind: ClassVar[str] = "dynamics without a Lagrangian"
    required: ClassVar[tuple[str, ...]] = ("f",)
    static: ClassVar[tuple[str, ...]] = ("states", "controls", "space", "coordinates", "name")
    default_name: ClassVar[str] = "dynamics"
    order = 1
    constraint = None
    multipliers = 0
    holds_velocities = False
    forced = True
    conformal = None
    mechanical = None
    force = None

    def __post_init__(self) -> None:
        states = names_of(self.states, "x", "states")
        known = {
            "states": states,
            "controls": names_of(self.controls, "u", "controls"),
            "space": Euclidean(len(states)),
            "coordinates": states,
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)
        self.check_fields()
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        return {"f": "t, x, u, params"}

    @property
    def inputs(self) -> int:
        return len(self.controls)

    def rates(self, t: Scalar, x: Vector, u: Vector) -> Vector:
        """x', shape (states,)."""
        return self.f(t, x, u, self.params)

    def L(self, t: Scalar, x: Vector, v: Vector, lam: Any = None) -> Scalar:
        """Half of the square of the rates, by which states of one unit compare."""
        return v @ v / 2

    def F(self, t: Scalar, x: Vector, v: Vector) -> Covector:
        """No force."""
        return jnp.zeros(self.space.dim)

    # ------------------------------------------------------------ checks

    def check_functions(self) -> None:
        n = self.space.dim
        words = f"one rate for each state, shape ({n},)"
        check_returns("f", returned(self.f), (n,), words)

    def check_regular(self, K: Any) -> None:
        """Nothing is solved for."""

    def check_given(self, start: Start) -> NoReturn:
        raise ValueError(ALONE.format(self.name))

    def check_part(self, part: str, value: Any, name: str) -> NoReturn:
        raise ValueError(ALONE.format(self.name))


def check_alone(system: Any) -> Any:
    """The system; ValueError where it moves under controls only."""
    if system.inputs:
        raise ValueError(ALONE.format(system.name))
    return system


ALONE = (
    "{} is a Dynamics, x' = f(t, x, u), which moves under controls only: ControlProblem and"
    " optimize take it, and what is about a System does not. A Lagrangian makes a System of it."
)


def names_of(given: Any, letter: str, where: str) -> tuple[str, ...]:
    """Names, or as many as a number says."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        count = int(given)
        check_room(8 * count**2, f"{where} = {count}", "Take fewer.")
        return tuple(f"{letter}_{i}" for i in range(count))
    names: tuple[Any, ...] = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{where} must be names, or a whole number >= 1; got {shown(given)}.")
    return names
