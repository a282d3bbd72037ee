"""Whether two versions of accion give the same motion: every gallery system, a sample of each kind.

    python tests/verification/unchanged.py OLD NEW [--engine OF_OLD [OF_NEW]] [--only WORDS ...]

OLD and NEW are folders of checkouts, such as a worktree of an earlier commit and this one; with
`. . --engine xla native` the two engines of one version are compared. Each
case runs for some steps in OLD; then a short run is restarted from a sample of its states in OLD
and in NEW, and what they find is compared. Two-point problems are solved with the same ends, and
problems of optimal control from the solution that OLD found.

Two results agree if no quantity (q, v, p, S, lam, derivatives) differs by more than 1e-14 of its
scale. The scale is the largest value of the quantity in the case, or its response to the start if
that is more: a start that is changed by a part d of its size changes the quantity by d times the
response. Rounding of the start itself, or of the last iteration of Newton's method, moves a result
by so much; momenta of short steps and multipliers respond by 10 to 10^4 times their own size.
Optimal controls end at the tolerance of their solver, so they agree to 1e-9. Whole runs are
compared for information only, since chaos makes more of every rounding.

It exits with 1 if a case differs by more, or fails in NEW only. A case that OLD cannot run, because
it lacks a name, is reported and not compared.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
WORKER = "tests.verification.unchanged_worker"
LIMITS = {"Motion": 1e-14, "Joined": 1e-14, "Best": 1e-9}


class Row(NamedTuple):
    """What was found of one case; the differences are the largest of any quantity and restart."""

    name: str
    same: int  # restarts that agree to the bit
    restarts: int
    values: int  # numbers that were compared
    same_values: int
    of_size: float  # the largest difference over the largest value of its quantity
    of_scale: float  # the largest difference over the scale of its quantity
    worst: str  # the quantity of the latter
    whole: float  # the largest difference between the whole runs, over the largest value
    iterations: bool  # whether Newton's method made as many iterations
    limit: float
    engines: str = ""  # where they are not the same
    problem: str = ""  # why there is nothing to compare
    compared: bool = True

    @property
    def passed(self) -> bool:
        return not self.compared or (not self.problem and self.of_scale <= self.limit)


def nothing(name: str, problem: str, compared: bool) -> Row:
    numbers = (0, 0, 0, 0, 0.0, 0.0, "", 0.0, True, 0.0)
    return Row(name, *numbers, problem=problem, compared=compared)


# ---------------------------------------------------------------- comparing


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two arrays are equal, zeros of either sign and NaN included."""
    return (a == b) | (np.isnan(a) & np.isnan(b))


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest, infinite where only one of them is finite or their shapes differ."""
    if a.shape != b.shape:
        return np.inf
    off = np.where(same_bits(a, b), 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(off), np.inf, off), initial=0.0))


def sizes(record: dict[str, Any]) -> dict[str, float]:
    """The largest finite value of each quantity in the case."""
    found: dict[str, float] = {}
    for values in (record["whole"], *record["restarted"]):
        for name, a in values.items():
            finite = np.abs(a[np.isfinite(a)])
            found[name] = max(found.get(name, 0.0), float(np.max(finite, initial=0.0)))
    return found


def over(difference: float, scale: float) -> float:
    return 0.0 if difference == 0 else difference / scale if scale > 0 else np.inf


def compare(before: dict[str, Any], after: dict[str, Any]) -> Row:
    """One row from the records of one case."""
    size, response = sizes(before), before["response"]
    pairs = list(zip(before["restarted"], after["restarted"], strict=True))
    of_size, worst, values, same_values, same = 0.0, (0.0, ""), 0, 0, 0
    for old, new in pairs:
        equal = set(old) == set(new)
        for name in old.keys() - {"iterations"}:
            off = difference(old[name], new[name]) if name in new else np.inf
            of_size = max(of_size, over(off, size[name]))
            # A response that is not finite, where a start fails when it is moved, is no scale.
            known = response.get(name, 0.0) if np.isfinite(response.get(name, 0.0)) else 0.0
            worst = max(worst, (over(off, max(size[name], known)), name))
            values += old[name].size
            equal = equal and off == 0
            if name in new and old[name].shape == new[name].shape:
                same_values += int(np.sum(same_bits(old[name], new[name])))
        same += equal
    counted = all(np.array_equal(old["iterations"], new["iterations"]) for old, new in pairs)
    whole = max(
        over(difference(a, after["whole"].get(name, np.zeros(0))), size[name])
        for name, a in before["whole"].items()
        if name != "iterations"
    )
    numbers = (same, len(pairs), values, same_values, of_size, *worst, whole, counted)
    pair = (str(before["engine"]), str(after["engine"]))
    engines = "" if pair[0] == pair[1] else " -> ".join(pair)
    return Row(before["name"], *numbers, LIMITS[before["kind"]], engines)


def row_of(folder: Path, number: int) -> Row:
    before = pickle.loads((folder / "first" / str(number)).read_bytes())
    if "error" in before:
        return nothing(before["name"], "OLD: " + last_line(before["error"]), compared=False)
    path = folder / "again" / str(number)
    if not path.exists():
        return nothing(before["name"], "NEW: its process ended before this case", compared=True)
    after = pickle.loads(path.read_bytes())
    if "error" in after:
        return nothing(before["name"], "NEW: " + last_line(after["error"]), compared=True)
    return compare(before, after)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


# ---------------------------------------------------------------- the two processes


def worker(pass_: str, folder: Path, tree: Path, engine: str, words: list[str]) -> subprocess.Popen:
    """A process with the accion of `tree`; what it says goes into a file of the folder."""
    command = [sys.executable, "-m", WORKER, pass_, str(folder), str(tree), engine, *words]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (folder / f"{pass_}.txt").open("w") as said:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=said, **pipes)


def run(folder: Path, old: Path, new: Path, engines: list[str], words: list[str]) -> list[int]:
    """Run all cases in OLD and, one after the other as they are ready, in NEW; their numbers."""
    numbers, deaf = [], False
    with (
        worker("first", folder, old, engines[0], words) as first,
        worker("again", folder, new, engines[-1], []) as again,
    ):
        assert first.stdout is not None
        assert again.stdin is not None
        for line in first.stdout:
            numbers.append(int(line))
            if sys.stderr.isatty():
                print(f"\r{len(numbers)} cases", end="", file=sys.stderr, flush=True)
            try:
                if not deaf:
                    again.stdin.write(line)
                    again.stdin.flush()
            except BrokenPipeError:
                deaf = True
        again.communicate()
    for process, tree, pass_ in ((first, old, "first"), (again, new, "again")):
        if process.returncode:
            said = (folder / f"{pass_}.txt").read_text()
            print(f"the process of {tree} ended with {process.returncode}:\n{said[-4000:]}")
    return numbers


# ---------------------------------------------------------------- what is shown


def table(rows: list[Row]) -> Table:
    heads = ("case", "same bits", "of the largest", "of its scale", "in", "whole run", "")
    out = Table(*heads, title="largest differences between OLD and NEW")
    for row in rows:
        if row.problem:
            word = "FAIL" if row.compared else "not compared"
            out.add_row(row.name, "", "", "", "", "", f"{word}: {row.problem}")
            continue
        numbers = (row.of_size, row.of_scale)
        cells = [f"{row.same}/{row.restarts}", *(f"{a:.1e}" if a else "0" for a in numbers)]
        word = "" if row.passed else f"FAIL, above {row.limit:g}"
        word += ("" if row.iterations else " other iterations") + f" {row.engines}"
        out.add_row(
            row.name,
            *cells,
            row.worst if row.of_scale else "",
            f"{row.whole:.1e}" if row.whole else "0",
            word,
        )
    return out


def summary(rows: list[Row]) -> list[str]:
    compared = [row for row in rows if row.compared and not row.problem]
    if not compared:
        return ["nothing was compared"]
    total = {
        name: sum(getattr(row, name) for row in compared)
        for name in ("same", "restarts", "values", "same_values")
    }
    exact = sum(row.same == row.restarts for row in compared)
    plain = sum(row.of_size <= LIMITS["Motion"] for row in compared)
    worst = max(compared, key=lambda row: row.of_scale / row.limit)
    where = f"in {worst.worst} of {worst.name}" if worst.of_scale else "everywhere"
    lines = [
        f"{len(compared)} cases compared: {exact} agree to the bit, {plain} to 1e-14 of the largest"
        " value of each quantity",
        f"{total['restarts']} restarts, {total['same']} of them the same to the bit;"
        f" {total['values']} numbers, {total['same_values']} of them",
        f"largest difference: {worst.of_scale:.1e} of its scale ({worst.of_size:.1e} of the largest"
        f" value), {where}; {worst.limit:g} is allowed",
        f"whole runs that agree to the bit: {sum(row.whole == 0 for row in compared)}",
    ]
    left = [row.name for row in rows if not row.compared]
    failed = [row.name for row in rows if not row.passed]
    if left:
        lines.append(f"not compared: {len(left)} ({'; '.join(left)})")
    lines.append(f"FAIL: {'; '.join(failed)}" if failed else "PASS")
    return lines


def first_error(folder: Path, numbers: list[int]) -> str | None:
    """The whole text of the first error of NEW."""
    for number in numbers:
        path = folder / "again" / str(number)
        found = pickle.loads(path.read_bytes()) if path.exists() else {}
        if "error" in found:
            return f"{found['name']} in NEW:\n{found['error']}"
    return None


def checkout(path: str) -> Path:
    """The folder of a checkout of accion."""
    if not Path(path, "src", "accion", "__init__.py").exists():
        raise argparse.ArgumentTypeError(f"there is no src/accion in {path}")
    return Path(path).resolve()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=checkout, help="folder of the checkout before a change")
    parser.add_argument("new", type=checkout, help="folder of the one after it")
    names = ("auto", "xla", "native")
    parser.add_argument("--engine", nargs="+", default=["auto"], choices=names)
    parser.add_argument("--only", nargs="+", default=[], help="cases that contain one of these")
    given = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = run(folder, given.old, given.new, given.engine, given.only)
        rows = [row_of(folder, number) for number in numbers]
        error = first_error(folder, numbers)
    console.print(table(rows), markup=False)
    if error:
        console.print(error, markup=False)
    for line in summary(rows):
        console.print(line, markup=False)
    done = any(row.compared and not row.problem for row in rows)
    return int(not done or not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
