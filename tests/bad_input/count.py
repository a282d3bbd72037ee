"""Many bad calls, counted."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tests.bad_input.doors import Change, Door, all_doors, changes
from tests.bad_input.judge import HANG, RAW, TAKEN, Verdict, judged

TWO = 0.15  # of the calls have two wrong arguments


def bad_calls(seed: int) -> Iterator[tuple[Door, list[Change]]]:
    """Bad calls without end, the same for the same seed."""
    rng = np.random.default_rng(seed)
    doors = list(all_doors().values())
    often = np.array([door.often * len(door.good) for door in doors])
    while True:
        door = doors[rng.choice(len(doors), p=often / often.sum())]
        ways = changes(door.name)
        chosen = [ways[i] for i in rng.integers(len(ways), size=2 if rng.random() < TWO else 1)]
        yield door, list({change.argument: change for change in chosen}.values())


def tried(door: Door, wrong: list[Change]) -> Verdict:
    """One bad call."""
    arguments = dict(door.good) | {change.argument: change.make() for change in wrong}
    names = {name for change in wrong for name in door.names(change.argument)}
    # an error may also name the file that an argument is
    names |= {str(x) for x in arguments.values() if isinstance(x, str | Path) and str(x)}
    refused = any(change.refused for change in wrong)
    return judged(lambda: door.f(**arguments), names, refused)


@dataclass
class Count:
    """How calls ended, by door, and those that did not end well."""

    doors: dict[str, Counter[str]] = field(default_factory=dict)
    bad: list[tuple[str, list[Change], Verdict]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, door: Door, wrong: list[Change], verdict: Verdict) -> None:
        self.doors.setdefault(door.name, Counter())[verdict.kind] += 1
        self.seconds[door.name] += verdict.seconds  # pyright: ignore[reportArgumentType]
        words = f"{door.name}: {', '.join(f'{c.argument} = {c.words}' for c in wrong)}"
        self.slowest = max(self.slowest, (verdict.seconds, words))
        if verdict.kind in (RAW, TAKEN, HANG):
            self.bad.append((door.name, wrong, verdict))

    @property
    def calls(self) -> int:
        """How many were made."""
        return sum(counts.total() for counts in self.doors.values())

    def longest(self, most: int) -> str:
        """The doors that took most of the time."""
        return ", ".join(f"{name} {s:.1f} s" for name, s in self.seconds.most_common(most))


def counted(calls: int, seed: int, report: Any = None) -> Count:
    """`calls` bad calls, counted; in a folder that is not the caller's. An interrupt ends it with
    those that were made.
    """
    from tests.bad_input.doors_results import folder

    here, found = os.getcwd(), Count()
    all_doors()
    os.chdir(folder().name)
    try:
        for i, (door, wrong) in enumerate(islice(bad_calls(seed), calls)):
            found.add(door, wrong, tried(door, wrong))
            if report is not None:
                report(i + 1, found)
    except KeyboardInterrupt:
        return found
    finally:
        os.chdir(here)
    return found
