"""Tries every pair of a kind of system and an operation, and writes docs/matrix.md."""

import sys

from tests.pairs.table import PAGE, page, tried_all

if __name__ == "__main__":
    PAGE.write_text(page(tried_all("vectors", progress=sys.stderr)))
    print(f"written: {PAGE}")
