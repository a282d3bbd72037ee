"""What a picture asks of a trajectory."""

from collections.abc import Mapping
from typing import Any, Protocol

from accion.types import Array, Configuration, Covector, Vector


class Names(Protocol):
    """What is known of a channel besides its values."""

    @property
    def components(self) -> tuple[str, ...]: ...

    @property
    def unit(self) -> str: ...


class Motion(Protocol):
    """The part of a `Trajectory` that is drawn."""

    def __len__(self) -> int: ...

    @property
    def t(self) -> Array: ...

    @property
    def q(self) -> Configuration: ...

    @property
    def v(self) -> Vector: ...

    @property
    def reduced_p(self) -> Covector: ...

    @property
    def supplied(self) -> Array | None: ...

    @property
    def h(self) -> Array: ...

    @property
    def success(self) -> Array: ...

    @property
    def is_ensemble(self) -> bool: ...

    @property
    def system(self) -> Any: ...

    @property
    def method(self) -> Any: ...

    @property
    def labels(self) -> Mapping[str, Names]: ...

    def value(self, name: str) -> Any: ...
