"""Rules of the house: a class is abstract or final, nothing implemented is overridden, and nobody
asks an object what it has.
"""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cached_property

import accion
from tests.test_layers import ROOT

FILES = sorted(ROOT.rglob("*.py"))
# What only raises, still: a method without samples, a function that could not be traced.
RAISES = [
    "methods/composition.py: Composition.samples",
    "methods/energy_entropy.py: EnergyEntropyConsistent.samples",
    "methods/generalized_alpha.py: GeneralizedAlpha.samples",
    "systems/frozen.py: Untraced.out",
]


def classes() -> Iterator[type]:
    """Those that are defined in the library, but for the gallery's."""
    for found in pkgutil.walk_packages(accion.__path__, "accion."):
        if not found.name.startswith(("accion.gallery", "accion.__main__", "accion.cli")):
            for value in vars(importlib.import_module(found.name)).values():
                if inspect.isclass(value) and value.__module__ == found.name:
                    yield value


def is_implemented(attribute: object) -> bool:
    """Whether it is a method or a property with a body of its own."""
    kinds = (property, cached_property, classmethod, staticmethod)
    method = inspect.isfunction(attribute) or isinstance(attribute, kinds)
    return method and not getattr(attribute, "__isabstractmethod__", False)


def test_nothing_that_is_implemented_is_overridden() -> None:
    found = [
        f"{one.__module__}.{one.__name__}.{name} overrides that of {base.__name__}"
        for one in classes()
        for name, attribute in vars(one).items()
        if is_implemented(attribute) and not name.startswith("__")
        for base in one.__mro__[1:]
        if base.__module__.startswith("accion.") and is_implemented(vars(base).get(name))
    ]
    assert found == []


def calls(name: str) -> list[str]:
    """Where a function of this name is called."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def test_no_object_is_asked_what_it_has_and_no_class_calls_the_one_above_it() -> None:
    assert calls("hasattr") == []
    assert calls("super") == []


def only_raises(function: ast.FunctionDef) -> bool:
    """Whether it does nothing else, and does not say so."""
    if isinstance(function.returns, ast.Name) and function.returns.id == "NoReturn":
        return False
    body = [
        node
        for node in function.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def test_no_method_only_raises() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name}.{part.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef) and only_raises(part)
    ]
    assert found == RAISES


def test_no_library_is_an_argument() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if arg.arg in ("np", "jnp", "sp")
    ]
    assert found == []
