"""The methods by name: what is stored or typed as text becomes a method again.

A new method is a file of its own and an entry of `METHODS`; what is stored, the command line and
campaign files know it then.
"""

import ast
from dataclasses import fields
from typing import Any, NamedTuple

from accion.methods.adaptive import ReversibleSteps, TransformedTime
from accion.methods.adjoint import Adjoint
from accion.methods.base import Method
from accion.methods.composition import Composition
from accion.methods.energy_consistent import EnergyConsistent
from accion.methods.energy_entropy import EnergyEntropyConsistent
from accion.methods.finite_difference import FiniteDifference
from accion.methods.galerkin import Galerkin
from accion.methods.generalized_alpha import GeneralizedAlpha
from accion.methods.quadrature import Alpha, LeftRectangle, Midpoint, RightRectangle, Trapezoid


class Entry(NamedTuple):
    """A class of methods, with one of them as an example."""

    kind: type[Method]
    # None where a method of this class holds a function of the user, which no text can say
    example: Method | None


METHODS: dict[str, Entry] = {
    entry.kind.__name__: entry
    for entry in (
        Entry(LeftRectangle, LeftRectangle()),
        Entry(RightRectangle, RightRectangle()),
        Entry(Midpoint, Midpoint()),
        Entry(Trapezoid, Trapezoid()),
        Entry(Alpha, Alpha(0.3)),
        Entry(EnergyConsistent, EnergyConsistent(Midpoint())),
        Entry(EnergyEntropyConsistent, EnergyEntropyConsistent()),
        Entry(Composition, Composition(Midpoint(), 4)),
        Entry(GeneralizedAlpha, GeneralizedAlpha(0.8)),
        Entry(Galerkin, Galerkin(3)),
        Entry(Adjoint, Adjoint(LeftRectangle())),
        Entry(FiniteDifference, None),
        Entry(TransformedTime, None),
        Entry(ReversibleSteps, None),
    )
}


def choices() -> str:
    """Every method that text can say, as it is typed: "LeftRectangle, ..., Alpha:0.3, ..."."""
    return ", ".join(
        written(entry.example) for entry in METHODS.values() if entry.example is not None
    )


def written(method: Method) -> str:
    """A method as it is typed: Midpoint, Alpha:0.3, EnergyConsistent:Midpoint.

    One of several arguments is its repr, Name(field=value, ...). `parse` reads both.
    """
    values = arguments_of(method)
    name = type(method).__name__
    if len(values) > 1:
        return repr(method)
    return ":".join([name, *(written(a) if isinstance(a, Method) else repr(a) for a in values)])


def arguments_of(method: Any) -> list[Any]:
    """What the constructor of a method was given."""
    return [getattr(method, field.name) for field in fields(method) if field.init]


def parse(text: str) -> Method:
    """The method that `text` says, as `written` or `repr` write it.

    Arguments:
        text: "Midpoint", "Alpha:0.3", "EnergyConsistent:Alpha:0.3", or "Alpha(a=0.3)".

    Raises:
        ValueError: where there is no such method, or it does not take these arguments.
    """
    name, colon, argument = text.strip().partition(":")
    if name in METHODS:
        return made(name, [argument_of(argument)] if colon else [], {}, text)
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ValueError(unknown(text)) from error
    return method_of(call, text)


def stored(text: str) -> Method | None:
    """The method whose repr was stored, None where it holds a function of the user's own."""
    try:
        return parse(text)
    except ValueError:
        return None


def method_of(node: ast.expr, text: str) -> Method:
    """The method of a call, Name(value, field=value, ...), whose values are plain or methods."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(unknown(text))

    def value(node: ast.expr) -> Any:
        return method_of(node, text) if isinstance(node, ast.Call) else plain(node, text)

    named = {str(word.arg): value(word.value) for word in node.keywords}
    return made(node.func.id, [value(arg) for arg in node.args], named, text)


def made(name: str, values: list[Any], named: dict[str, Any], text: str) -> Method:
    """The method called `name`, of these arguments."""
    if name not in METHODS:
        raise ValueError(unknown(text))
    kind, example = METHODS[name]
    if example is None:
        raise ValueError(
            f"{name} holds a function of yours, which no text can say: make it in Python."
        )
    try:
        return kind(*values, **named)
    except (TypeError, AttributeError) as error:
        takes = "an argument, as in " + written(example) if arguments_of(example) else "no argument"
        raise ValueError(f"{name} takes {takes}; got {text!r}.") from error


def argument_of(text: str) -> Any:
    """What stands after a colon: a method, or a plain value such as a number."""
    if text.partition("(")[0].partition(":")[0].strip() in METHODS:
        return parse(text)
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"expected a number or a method, got {text!r}.") from error


def plain(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise ValueError(f"{text!r} has a value that is no number: {ast.unparse(node)}.") from error


def unknown(text: str) -> str:
    return f"there is no method {text!r} to choose here. Try one of: {choices()}."
