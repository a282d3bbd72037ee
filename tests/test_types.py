"""Every function and every method that others call says what it takes and what it returns."""

import ast
from collections.abc import Iterator

import pytest

from accion import gallery
from tests.test_layers import ORDER, ROOT

# Rooms of which this is not true yet: one that is done fails here until it is taken off the list.
# Those of which it is true are held to it, nested functions too, by `make types` (pyproject.toml).
TO_DO = {"gallery"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function, bool]]:
    """(name, definition, whether its first argument is the object) of the functions of a module and
    of the methods of its classes, those with an underscore in front left out.
    """
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node.name, node, False
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for part in node.body:
                private = isinstance(part, Function) and part.name.startswith("_")
                if isinstance(part, Function) and (not private or part.name.endswith("__")):
                    static = any(
                        isinstance(d, ast.Name) and d.id == "staticmethod"
                        for d in part.decorator_list
                    )
                    yield f"{node.name}.{part.name}", part, not static


def lacking(function: Function, method: bool) -> list[str]:
    """The arguments without a type, and "return" where that has none; a constructor returns
    nothing.
    """
    given = function.args
    named = [*given.posonlyargs, *given.args][1 if method else 0 :]
    rest = [arg for arg in (given.vararg, given.kwarg) if arg is not None]
    found = [arg.arg for arg in (*named, *given.kwonlyargs, *rest) if arg.annotation is None]
    silent = function.returns is None and function.name != "__init__"
    return found + (["return"] if silent else [])


def untyped(source: str) -> list[str]:
    """Each function that lacks a type, with what it lacks."""
    return [
        f"{name}({', '.join(missing)})"
        for name, function, method in public_functions(ast.parse(source))
        if (missing := lacking(function, method))
    ]


@pytest.mark.parametrize(
    "room",
    [
        pytest.param(room, marks=pytest.mark.xfail(reason="to do") if room in TO_DO else ())
        for room in ORDER
    ],
)
def test_arguments_and_results_have_types(room: str) -> None:
    """But for the systems of the gallery, which are to be read as the physics is."""
    files = [*(ROOT / room).rglob("*.py"), *ROOT.glob(f"{room}.py")]
    assert files
    found = [
        f"{path.relative_to(ROOT)}: {function}"
        for path in files
        if not (room == "gallery" and path.stem in gallery.NAMES)
        for function in untyped(path.read_text())
    ]
    assert found == []


def test_what_lacks_a_type_is_found() -> None:
    source = """
def f(a, *b, c: int, **d) -> None: ...
def g(a: int): ...
def _private(a): ...
class A:
    def __init__(self, a): ...
    def h(self) -> int: ...
    def _private(self, a): ...
    @classmethod
    def k(cls, a: int) -> "A": ...
    @staticmethod
    def m(a) -> None: ...
"""
    assert untyped(source) == ["f(a, b, d)", "g(return)", "A.__init__(a)", "A.m(a)"]
