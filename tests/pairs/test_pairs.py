"""Every kind of system with every operation, and every method: it works, or one sentence says why
not.
"""

import warnings

import pytest

from tests.pairs.kinds import KINDS, case
from tests.pairs.operations import OPERATIONS, tried
from tests.pairs.table import OTHERS, PAGE, STEPPED, cells_of, cells_of_methods

LONGEST = 200  # letters of a refusal


def looked_at(operation, own, told):
    """Try a pair, of which the page tells whether it works."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refusal = tried(operation, own)
    assert told == (not refusal), f"{operation}, {own.label}, {own.by}: {refusal}"
    assert len(refusal) <= LONGEST
    assert "(lagrangian=" not in refusal  # no repr of a whole system
    if refusal:
        assert refusal.endswith(".")
        text = " ".join(PAGE.read_text().split())
        assert refusal in text, "docs/matrix.md gives another reason: python -m tests.pairs"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_pair_works_or_is_refused_in_a_sentence(operation):
    told = cells_of(PAGE.read_text())
    for kind in KINDS:
        looked_at(operation, case(kind, "vectors"), told[operation, kind])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_methods_work_or_are_refused_in_a_sentence(operation):
    told = cells_of_methods(PAGE.read_text())
    for by in OTHERS:
        looked_at(operation, case("System, free", "vectors", by=by), told[operation, by])


@pytest.mark.parametrize("kind", STEPPED)
def test_methods_step_a_kind_or_refuse_it_in_a_sentence(kind):
    told = cells_of_methods(PAGE.read_text())
    for by in OTHERS:
        looked_at("simulate", case(kind, "vectors", by=by), told[kind, by])
