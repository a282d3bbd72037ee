"""Every kind of system with every operation: it works, or one sentence says why not."""

import warnings

import pytest

from tests.pairs.kinds import KINDS, case
from tests.pairs.operations import OPERATIONS, tried
from tests.pairs.table import PAGE, cells_of

LONGEST = 200  # letters of a refusal


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_pair_works_or_is_refused_in_a_sentence(operation):
    told, text = cells_of(PAGE.read_text()), " ".join(PAGE.read_text().split())
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            refusal = tried(operation, case(kind, "vectors"))
        assert told[operation, kind] == (not refusal), f"{operation}, {kind}: {refusal}"
        assert len(refusal) <= LONGEST
        assert "(lagrangian=" not in refusal  # no repr of a whole system
        if refusal:
            assert refusal.endswith(".")
            assert refusal in text, "docs/matrix.md gives another reason: python -m tests.pairs"
