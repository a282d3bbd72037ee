"""What a picture asks of a trajectory."""

from typing import Any, Protocol

from accion.types import Array, Configuration, Covector, Vector


class Motion(Protocol):
    """The part of a `Trajectory` that is drawn: arrays have one row for each saved time, those of
    an ensemble its axis in front.
    """

    @property
    def t(self) -> Array: ...

    @property
    def q(self) -> Configuration: ...

    @property
    def v(self) -> Vector: ...

    @property
    def p(self) -> Covector: ...

    @property
    def S(self) -> Any: ...

    @property
    def supplied(self) -> Any: ...

    @property
    def h(self) -> Any: ...

    @property
    def success(self) -> Array: ...

    @property
    def is_ensemble(self) -> bool: ...

    @property
    def system(self) -> Any: ...

    @property
    def method(self) -> Any: ...

    @property
    def entropies(self) -> tuple[str, ...]: ...

    def energy(self) -> Array: ...

    def temperature(self) -> Array: ...
