"""Names of what a campaign stores: each is a variable of the Dataset and a folder of the store, so
that none may be lost because another has it, or because no folder can be called so.
"""

from collections.abc import Iterable, Mapping
from typing import Any

# Of the store itself: which chunks are complete, its axes, the names of the coordinates.
RESERVED = ("done", "member", "chunk", "coordinate")
LONGEST = 200  # bytes; file systems end at 255


def check_name(name: Any, what: str) -> None:
    """Raise ValueError where nothing can be stored under `name`, that of `what` ("a reduction")."""
    good = (
        isinstance(name, str)
        and name.strip()
        and name.isprintable()
        and not name.startswith(".")
        and not set(name) & set("/\\")
        and len(name.encode()) <= LONGEST
    )
    if not good:
        raise ValueError(
            f"{what} must not be called {name!r}: it is the name of a folder, a text without / and"
            f" \\ that does not begin with a dot, of at most {LONGEST} bytes. Choose another."
        )


def check_results(names: Iterable[Any], taken: Iterable[str]) -> None:
    """Raise ValueError where the name of a reduction's result is `taken`, by a column of the plan
    or by what is stored of every member.
    """
    taken = {*taken, *RESERVED}
    for name in names:
        if name in taken:
            raise ValueError(
                f"a reduction must not be called {name!r}: that is the name of something else that"
                " is stored. Choose another."
            )


def check_axes(variables: Mapping[str, Any]) -> None:
    """Raise ValueError where a variable has the name of an axis of another, which xarray would
    take for the coordinate of that axis.
    """
    for of, each in variables.items():
        for axis in each.dims:
            if axis in variables:
                raise ValueError(
                    f"a reduction must not be called {axis!r}: that is an axis of {of!r}. Choose"
                    " another."
                )


def check_columns(names: Iterable[Any]) -> None:
    """Raise ValueError where a column of a plan cannot be stored under its name."""
    for name in names:
        check_name(name, "a column of a plan")
