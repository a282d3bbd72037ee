"""The one function that differs by kind of system; each kind's file registers its own."""

from functools import singledispatch

from accion.symbols.render import Readable


@singledispatch
def derive(system: object, seconds: float) -> Readable:
    """The equations of a system in letters; simplification may take `seconds`."""
    raise ValueError(
        "symbolic needs a System, or another kind of system that accion has; got"
        f" {type(system).__name__}."
    )
