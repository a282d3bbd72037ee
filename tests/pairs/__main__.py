"""Tries every pair of a kind of system and an operation, and writes docs/matrix.md; with --units,
tries them in twenty systems of units (of the operations that are named, or of all).
"""

import sys

from tests.pairs.in_units import report
from tests.pairs.table import PAGE, page, tried_all, tried_methods

if __name__ == "__main__":
    if "--units" in sys.argv:
        report(sys.stdout, sys.argv[sys.argv.index("--units") + 1 :])
    else:
        found = tried_all("vectors", progress=sys.stderr)
        PAGE.write_text(page(found, tried_methods(progress=sys.stderr)))
        print(f"written: {PAGE}")
