"""Pages of a trajectory. `pages` registers how they are made, because results are below it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from accion import plot
from accion.arguments import door, path as path_of, positive
from accion.checks import a_function, a_method
from accion.methods import Method
from accion.systems.arity import chosen

MAKERS: dict[str, Callable[..., Any]] = {}


def maker(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function that makes a kind of page of a trajectory."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        MAKERS[name] = f
        return f

    return register


def new_page(value: Any, name: str) -> Path:
    """Where a page may be written, said before it is made."""
    path = path_of(value, name)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{name}: a page is written as .html; got the path {path}.")
    if path.exists():
        raise FileExistsError(f"the path {path} exists; choose another path, or remove it.")
    return path


def places(value: Any, name: str) -> Any:
    """A function of q, or of q and params."""
    chosen(name, value, "q", "q, params")
    return value


class Paged:
    """What a trajectory makes pages of itself with; abstract."""

    def _repr_html_(self: Any) -> str:
        return plot.shown(self)

    @door(path=new_page, positions=places, compare=a_method)
    def to_html(
        self: Any,
        path: str | Path | None = None,
        *,
        positions: Callable[..., Any] | None = None,
        compare: Method | None = None,
    ) -> str:
        """The system itself as a page: it moves in any browser, without Python, from where this run
        began, with sliders for parameters and start, energy and momenta, and its equations.

        Its steps are those of `simulate`, in JavaScript.

        Arguments:
            path: where the page is written; without it, it is returned only.
            positions: the points to draw, joined by a line: a function of q, or of q and params, of
                shape (k, 2) or (k, 3).
            compare: another method, whose motion is drawn beside.

        Raises:
            ValueError: where the run was not made by `simulate`, or its system cannot be written as
                JavaScript.
            FileExistsError: where something is at `path`.
        """
        self.check_system()
        return MAKERS["motion"](self, path, positions, compare)

    @door(path=new_page, positions=a_function("q"), trail=positive)
    def show3d(
        self: Any,
        path: str | Path | None = None,
        *,
        positions: Callable[..., Any] | None = None,
        trail: float = 0.3,
    ) -> Any:
        """The motion in space as a page that needs nothing else: bodies with their attitudes (SO3,
        SE3, products with them), points of flat spaces, all members of an ensemble.

        Arguments:
            path: where the page is written.
            positions: the points to draw, joined by a line: a function of q, of shape (k, 2) or (k,
                3).
            trail: which part of the motion stays visible, at most 1.

        Returns:
            A page: a notebook shows it, `save(path)` writes it, `text` is it.

        Raises:
            ValueError: where it is not known what its system looks like.
            FileExistsError: where something is at `path`.
        """
        self.check_system()
        return MAKERS["scene"](self, path, positions, trail)
