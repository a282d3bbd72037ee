"""How many arguments a user's function takes, asked before it is called."""

import inspect
from typing import Any

from accion.arguments import shown


def check_function(name: str, f: Any, arguments: Any, optional: Any = False) -> None:
    """Raise ValueError unless `f` is a function that can be called with the `arguments`, a text
    such as "t, q, v, params".

    A function whose signature Python does not know is left to its first call.
    """
    if f is None and optional:
        return
    if not callable(f):
        raise ValueError(
            f"{name} must be a function {name}({arguments}){' or None' if optional else ''}; got"
            f" {shown(f)}."
        )
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    wanted = arguments.split(", ")
    try:
        signature.bind(*wanted)
    except TypeError as error:
        count = f"{len(wanted)} argument{'s' if len(wanted) > 1 else ''}"
        raise ValueError(
            f"{name} takes {count}, {name}({arguments}); the function that was given takes"
            f" {signature} ({error}). Write it as a function of ({arguments})."
        ) from error


def chosen(name: str, f: Any, *choices: str) -> str:
    """The first of some lists of arguments, such as "q" and "t, q", with which `f` can be called.

    Raises: ValueError where there is none. A function whose signature Python does not know takes
    the first.
    """
    errors = []
    for arguments in choices:
        try:
            check_function(name, f, arguments)
            return arguments
        except ValueError as error:
            errors.append(error)
    if not callable(f):
        raise errors[0]
    forms = " or ".join(f"{name}({arguments})" for arguments in choices)
    raise ValueError(
        f"{name} must be a function {forms}; the function that was given takes"
        f" {inspect.signature(f)}."
    )
