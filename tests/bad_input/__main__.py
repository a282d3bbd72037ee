"""Counts how bad calls end: python -m tests.bad_input --calls 100000."""

import argparse
import sys
from collections import Counter
from typing import Any

import matplotlib

from tests.bad_input.count import Count, counted
from tests.bad_input.doors import Change
from tests.bad_input.judge import Verdict
from tests.bad_input.page import PAGE, table, write

FULL = 100_000  # calls, the table of which is written into the page


def in_words(name: str, wrong: list[Change], verdict: Verdict) -> str:
    """A call and how it ended."""
    words = ", ".join(f"{c.argument} = {c.words}" for c in wrong)
    return f"{name}({words}): {verdict.words[:160]}"


def places(found: Count, most: int) -> str:
    """Calls that did not end well, by the place that they come from."""
    by_place: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for bad in found.bad:
        verdict = bad[2]
        key = verdict.kind, verdict.place
        by_place[key] += 1
        example.setdefault(key, in_words(*bad))
    return "\n".join(
        f"{n:6d} {kind:10s} {place}\n         {example[kind, place]!r}"
        for (kind, place), n in by_place.most_common(most)
    )


if __name__ == "__main__":
    matplotlib.use("Agg")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--places", type=int, default=60, help="how many are listed")
    parser.add_argument("--write", action="store_true", help=f"the table into {PAGE.name}")
    asked = parser.parse_args()

    told = 0

    def report(i: int, found: Count) -> None:
        # A long run tells what it finds at once, so that it may be mended meanwhile.
        global told
        for bad in found.bad[told:]:
            print(f"{bad[2].kind} {bad[2].place}: {in_words(*bad)!r}", file=sys.stderr, flush=True)
        told = len(found.bad)
        if i % 1000 == 0:
            print(f"{i} calls, {len(found.bad)} did not end well", file=sys.stderr)

    found: Any = counted(asked.calls, asked.seed, report)
    print(table(found))
    print("slowest call: {:.1f} s, {}".format(*found.slowest))
    print("longest doors:", found.longest(8))
    print(places(found, asked.places))
    if asked.write or asked.calls >= FULL:
        write(found, f"python -m tests.bad_input --calls {found.calls}")
