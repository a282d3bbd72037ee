"""How runs are timed: candidates take turns in each round, so that a slow spell of the machine
falls on all of them.
"""

import os
import platform
import time
from importlib.metadata import version
from statistics import median

import jax
from rich.console import Console
from rich.progress import track

# s in each round, filled by as many runs as it takes: one run of the fast ones is too short to time
# well
SPAN = 0.2


def progress(items, what):
    return track(items, what, console=Console(stderr=True))


def timed(run):
    """The function () -> seconds of one call of `run`, until its arrays are there."""

    def seconds():
        begun = time.perf_counter()
        jax.block_until_ready(run())
        return time.perf_counter() - begun

    return seconds


def sample(seconds, steps):
    """us for each of the `steps` steps of a run that takes `seconds()`, the mean over one round."""
    total, runs = 0.0, 0
    while total < SPAN:
        total += seconds()
        runs += 1
    return total / (runs * steps) * 1e6


def spread(times, digits=2):
    """The shortest and the longest of `times`, as text."""
    return f"{min(times):.{digits}f}..{max(times):.{digits}f}"


def first_calls(runs, repeats):
    """For each of `runs` the seconds by which its first call exceeds its second, with nothing
    compiled before it; one list for each.
    """
    found = []
    for _ in progress(range(repeats), "compiling"):
        row = []
        for run in runs:
            jax.clear_caches()
            seconds = timed(run)
            row.append(seconds() - seconds())
        found.append(row)
    return [list(times) for times in zip(*found, strict=True)]


def verdict(what, value, target):
    word, sign = ("PASS", "<=") if value <= target else ("MISS", ">")
    return f"{word}  {what}: {value:.3g} {sign} {target:g}"


def machine(packages):
    """What a record of measurements says about where they were made."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
    return {"machine": platform.platform(), "cores": os.cpu_count(), "versions": versions}


def ratio(times, others):
    """The median over the rounds of `times` over `others`, which stand side by side."""
    return median(a / b for a, b in zip(times, others, strict=True))
