"""Stores after accidents, counted: the tables in docs/reliability.md.

python -m tests.faults writes them; with --every N only each N-th kill is tried, and the page says
so.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.clusters import HOW, all_lost
from tests.faults.damage import damaged
from tests.faults.kills import all_kills
from tests.faults.kinds import KINDS
from tests.faults.signals import by_signal
from tests.faults.writers import campaigns, savers

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
FILES = 84  # damaged, of each kind
SIGNALS = 6  # processes that are killed, of each kind
KILLED = ("a trajectory", "a campaign")
GOOD = (
    "refused, named",
    "refused",
    "right",
    "computed again",
    "old",
    "new",
    "a part of the new",
    "whole",
    "the same twice: both succeed",
    "two: one whole",
    "done by others",
    "says so, goes on when run again",
)
DAMAGED = """
### Damaged files

Deleted, cut short, one bit turned, or the file of another store. *Refused, named*: the error names
the file; *refused* without that: the manifest itself was damaged. A campaign is also run again:
chunks and metadata are *computed again*, to the bit."""
KILLS = """
### Killed at every write

A store replaces another, and the process ends at each unlink, rename, mkdir and write (of which
half is done); nothing is cleaned up. Then it is loaded, gone on with and compared to the bit, and
nothing is left beside it. In some of them the process is another one, and the system kills it
(`SIGKILL`); in the others nothing that it calls changes the disk any more."""
FULL = """
### Disk full

The same with a disk that is full from each write on: an error that says so, nothing left behind."""
WRITERS = """
### Several writers"""
CLUSTERS = """
### Workers lost

A campaign of 40 chunks on a cluster, which after the first and after the 20th of them loses
something. *Done by others*: it goes on by itself. *Says so*: the error does, and what is kept; run
again, it goes on. In the end it is the same as without a cluster, to the bit."""
BEGIN, END = "<!-- faults -->", "<!-- end of faults -->"


def table(rows: dict[str, Counter[str]], what: str) -> list[str]:
    """The outcomes of each row, and how many there were."""
    lines = [
        "",
        f"| {what} | tried | outcome | lost or silently wrong |",
        "| --- | --- | --- | --- |",
    ]
    for name, seen in rows.items():
        seen = +seen
        words = ", ".join(f"{word} {count}" for word, count in seen.most_common())
        bad = sum(count for word, count in seen.items() if word not in GOOD)
        lines.append(f"| {name} | {seen.total()} | {words} | {bad} |")
    return lines


def counted(work: Callable[[str, Path], Counter[str]], names: tuple[str, ...]) -> dict:
    """What the accidents of each name led to."""
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = work(name, Path(folder))
        print(name, dict(found[name]), flush=True)
    return found


def tables(every: int) -> str:
    """What all accidents led to."""
    files = counted(lambda name, at: damaged(name, FILES, at), tuple(KINDS))
    again = counted(lambda name, at: damaged(name, FILES, at, again=True), ("a campaign",))
    files["a campaign, run again"] = again["a campaign"]
    kills = counted(lambda name, at: all_kills(name, at, every), KILLED)
    signals = counted(lambda name, at: by_signal(name, at, SIGNALS), KILLED)
    kills |= {f"{name}, by SIGKILL": seen for name, seen in signals.items()}
    full = counted(lambda name, at: all_kills(name, at, every, full=True), KILLED)
    both = counted(
        lambda name, at: savers(40, at) if "threads" in name else campaigns(5, at),
        ("two threads save, one loads", "two processes run campaigns"),
    )
    clusters = counted(all_lost, tuple(HOW))
    parts = [
        DAMAGED,
        *table(files, "store"),
        f"{KILLS}{part_words(every)}",
        *table(kills, "store"),
        FULL,
        *table(full, "store"),
        WRITERS,
        *table(both, "writers"),
        CLUSTERS,
        *table(clusters, "what happens"),
    ]
    return "\n".join(parts)


def part_words(every: int) -> str:
    return f"\nOf these and the next, one in {every} was tried here." if every > 1 else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{tables(every)}\n\n{END}{after}")


if __name__ == "__main__":
    main()
