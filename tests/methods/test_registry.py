"""Methods by name: what is typed or stored becomes the method again."""

import importlib
import pkgutil

import pytest

import accion as ac
from accion import methods
from accion.methods import Method, registry

EXAMPLES = [entry.example for entry in registry.METHODS.values() if entry.example is not None]


def classes():
    """The classes of methods that accion has: those of which there are no others."""
    for module in pkgutil.iter_modules(methods.__path__):
        importlib.import_module(f"accion.methods.{module.name}")
    found, left = [], [Method]
    while left:
        kind = left.pop()
        below = [each for each in kind.__subclasses__() if each.__module__.startswith("accion.")]
        left += below
        found += [] if below else [kind]
    return found


def test_no_method_is_forgotten():
    assert {kind.__name__: kind for kind in classes()} == {
        name: entry.kind for name, entry in registry.METHODS.items()
    }
    for kind in classes():
        assert getattr(methods, kind.__name__) is kind


@pytest.mark.parametrize("method", EXAMPLES, ids=registry.written)
def test_every_method_comes_back_from_its_text(method):
    for text in (registry.written(method), repr(method), f"  {method}  "):
        assert registry.parse(text) == method
        assert registry.stored(text) == method


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("Alpha:0.25", ac.Alpha(0.25)),
        ("Alpha(0.25)", ac.Alpha(0.25)),
        ("EnergyConsistent:Alpha:0.3", ac.EnergyConsistent(ac.Alpha(0.3))),
        ("EnergyConsistent:Alpha(a=0.3)", ac.EnergyConsistent(ac.Alpha(0.3))),
        ("GeneralizedAlpha", methods.GeneralizedAlpha()),
        ("Adjoint(method=Midpoint())", methods.Adjoint(ac.Midpoint())),
    ],
)
def test_ways_to_write_one(text, method):
    assert registry.parse(text) == method


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Middle", "there is no method 'Middle' to choose here. Try one of: LeftRectangle, "),
        ("", "there is no method ''"),
        ("print(1)", r"there is no method 'print\(1\)'"),
        ("Sample(w=1)", "there is no method"),
        ("1 +", "there is no method"),
        ("Alpha", "Alpha takes an argument, as in Alpha:0.3; got 'Alpha'"),
        ("Alpha(b=1)", "Alpha takes an argument, as in Alpha:0.3"),
        ("Alpha:x", "expected a number or a method, got 'x'"),
        ("Alpha:2", "0 <= a <= 1"),
        ("Alpha(a=x)", "has a value that is no number: x"),
        ("Midpoint:3", "Midpoint takes no argument; got 'Midpoint:3'"),
        ("Adjoint:3", "Adjoint takes an argument, as in Adjoint:LeftRectangle"),
        ("EnergyConsistent:3", "needs a method"),
        ("FiniteDifference:3", "holds a function of yours, which no text can say"),
    ],
)
def test_what_is_no_method_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        registry.parse(text)
    assert registry.stored(text) is None
