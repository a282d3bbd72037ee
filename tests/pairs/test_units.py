"""Every operation in other units of mass, length and time: the same answer.

`python -m tests.pairs --units` tries all kinds in all units.
"""

import warnings

import pytest

from tests.pairs.in_units import ALLOWED, LETTERS, deviation, sample
from tests.pairs.operations import OPERATIONS


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in LETTERS])
def test_an_operation_does_not_depend_on_units(operation):
    for kind, powers in sample(operation):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = deviation(operation, kind, powers)
        assert found <= ALLOWED[operation], (kind, powers)


@pytest.mark.parametrize(
    ("operation", "kind", "powers"),
    [
        ("symplecticity", "DiscreteSystem, nonholonomic", (34, -21, -37)),
        ("symmetries", "System, free", (35, 14, -5)),
        ("symmetries", "System, free", (6, 22, 0)),
        ("symmetries", "DiscreteThermalSystem", (14, 10, 27)),
        ("regularity", "DiscreteThermalSystem", (-15, -38, 18)),
    ],
)
def test_units_in_which_an_answer_was_another_one(operation, kind, powers):
    assert deviation(operation, kind, powers) <= ALLOWED[operation]
