"""What a step and a first call cost in two versions of accion, side by side.

    python benchmarks/side_by_side.py OLD NEW [--rounds 5] [--only WORDS ...] [--json PATH]

OLD and NEW are folders of checkouts. The systems are those of step_cost.py, constraints.py and
groups.py, measured by the same code, that of this folder. In each round both versions start in new
processes that keep nothing compiled (ACCION_CACHE=0); they take turns at each first call and then,
several times, at each run. Counted is the time of the processor. Other programs only make it
longer, so the shortest is compared. Beside each ratio new/old is the range over the rounds, each of
them the ratio of its own shortest times.

A ratio above 1.05 is marked. The exit code is always 0.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

TURNS = 5  # of each version at each run, in a round
SPAN = 0.05  # s of a turn, filled by as many runs as it takes
MARKED = 1.05
LINKS = {2: 20_000, 5: 5_000, 10: 1_000}  # and the steps of a run
ANDREWS_STEPS = 2_400
TOP_STEPS = 4_000  # in 1 s


class Job(NamedTuple):
    """A run whose time is measured; `make` imports accion, and compiles nothing yet."""

    name: str
    steps: int
    make: Callable[[], Callable[[], Any]]


# ---------------------------------------------------------------- what is measured, in a process


def chain_of(n: int, form: str, steps: int, save_every: int = 1) -> Callable[[], Any]:
    import chain

    make = {"angles": chain.simulation, "rods": chain.rods_simulation}[form]
    return make(n, steps, save_every)


def andrews() -> Callable[[], Any]:
    import accion as ac
    from accion.gallery import find

    entry = find("andrews")
    mesh = {"h": 0.03 / ANDREWS_STEPS, "steps": ANDREWS_STEPS, "save_every": ANDREWS_STEPS}
    return lambda: ac.simulate(entry.system, ac.Midpoint(), **entry.start, **mesh)


def heavy_top(i: int) -> Callable[[], Any]:
    import top

    cases = [top.MIDPOINT, top.MIDPOINT_CAYLEY, top.TRAPEZOID, top.ALPHA, *top.IN_SPACE]
    return top.motion(cases[i], TOP_STEPS)


TOPS = (
    "SO(3), Midpoint, exp",
    "SO(3), Midpoint, cayley",
    "SO(3), Trapezoid, exp",
    "SO(3), GeneralizedAlpha(0.8), exp",
    "SE(3), Midpoint, cayley",
    "SE(3), Midpoint, exp",
    "SE(3), GeneralizedAlpha(0.8), cayley",
    "SE(3), GeneralizedAlpha(0.8), exp",
)


def jobs() -> list[Job]:
    """All jobs, in the order in which they are compiled."""
    found = [Job("chain of 2, a call for one step", 1, partial(chain_of, 2, "angles", 1))]
    for n, steps in LINKS.items():
        for form in ("angles", "rods"):
            every = partial(chain_of, n, form, steps)
            found.append(Job(f"chain of {n}, {form}", steps, every))
            found.append(Job(f"chain of {n}, {form}, last kept", steps, partial(every, steps)))
    found.append(Job("Andrews' mechanism, last kept", ANDREWS_STEPS, andrews))
    tops = enumerate(TOPS)
    return found + [Job(f"heavy top, {name}", TOP_STEPS, partial(heavy_top, i)) for i, name in tops]


def serve(source: Path) -> None:
    """Answer each line "first i" and "again i" with the seconds of a run, or with an error.

    The first line of the answer is the time of the import.
    """
    begun = time.process_time()
    import jax

    import accion

    imported = time.process_time() - begun
    if not Path(accion.__file__).resolve().is_relative_to(source):
        sys.exit(f"accion was to be imported from {source}, and came from {accion.__file__}.")
    print(json.dumps(imported), flush=True)
    known, runs = jobs(), {}

    def seconds(i: int, span: float) -> float:
        begun, count = time.process_time(), 0
        while not count or time.process_time() - begun < span:
            jax.block_until_ready(runs[i]())
            count += 1
        return (time.process_time() - begun) / count

    for line in sys.stdin:
        word, number = line.split()
        i = int(number)
        try:
            if word == "first":
                runs[i] = known[i].make()
            answer = seconds(i, 0.0 if word == "first" else SPAN)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


# ---------------------------------------------------------------- rounds


class Server:
    """A process with the accion of `tree`, asked for one run at a time."""

    def __init__(self, tree: Path):
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "ACCION_CACHE": "0"}
        command = [sys.executable, __file__, "--serve", str(tree)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, text=True
        )
        self.imported = self.answer()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a process ended early; its own error is above.")
        return json.loads(line)

    def ask(self, words: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        self.process.communicate()


class Measured(NamedTuple):
    """Of one job: in each round the first call and the shortest run, as pairs (old, new) in s."""

    name: str
    steps: int
    first: list[tuple[float, float]]
    again: list[tuple[float, float]]
    errors: dict[str, str]


def both(servers: list[Server], words: str, turn: int) -> list[Any]:
    """What both say, the one that is asked first changing from turn to turn."""
    order = [0, 1] if turn % 2 == 0 else [1, 0]
    found = {which: servers[which].ask(words) for which in order}
    return [found[0], found[1]]


def one_round(trees: list[Path], rows: dict[int, Measured], turn: int) -> tuple[float, float]:
    """Add a round to each of `rows`; the times of the imports."""
    servers = [Server(tree) for tree in (trees if turn % 2 == 0 else trees[::-1])]
    servers = servers if turn % 2 == 0 else servers[::-1]
    for i, row in rows.items():
        pair = both(servers, f"first {i}", turn)
        errors = {w: a for w, a in zip(("OLD", "NEW"), pair, strict=True) if isinstance(a, str)}
        row.errors.update(errors)
        if not row.errors:
            row.first.append((pair[0], pair[1]))
    for i, row in rows.items():
        if not row.errors:
            turns = [both(servers, f"again {i}", turn + k) for k in range(TURNS)]
            row.again.append((min(a for a, _ in turns), min(b for _, b in turns)))
    for server in servers:
        server.close()
    return servers[0].imported, servers[1].imported


# ---------------------------------------------------------------- what is shown


def ratio_of(pairs: list[tuple[float, float]]) -> float:
    return min(b for _, b in pairs) / min(a for a, _ in pairs)


def cells(pairs: list[tuple[float, float]], factor: float, digits: int) -> list[str]:
    """old, new, ratio and its range, the shortest of all rounds."""
    old, new = min(a for a, _ in pairs) * factor, min(b for _, b in pairs) * factor
    ratios = sorted(b / a for a, b in pairs)
    mark = " <" if ratio_of(pairs) > MARKED else ""
    ends = f"{ratios[0]:.2f}..{ratios[-1]:.2f}"
    return [f"{old:.{digits}f}", f"{new:.{digits}f}", f"{ratio_of(pairs):.3f}{mark}", ends]


def table(rows: list[Measured], imports: list[tuple[float, float]]) -> Table:
    steps = ("us/step, old", "new", "new/old", "rounds")
    firsts = ("first call, s, old", "new", "new/old", "rounds")
    title = f"time of the processor, the shortest; < marks a ratio above {MARKED}"
    out = Table("system", *steps, *firsts, title=title)
    for row in rows:
        if row.errors:
            out.add_row(row.name, *(f"{who}: {what}" for who, what in row.errors.items()))
        else:
            out.add_row(row.name, *cells(row.again, 1e6 / row.steps, 2), *cells(row.first, 1, 2))
    out.add_row("import accion", "", "", "", "", *cells(imports, 1, 2))
    return out


def summary(rows: list[Measured]) -> list[str]:
    lines = []
    good = [row for row in rows if not row.errors]
    for what, of in (("us/step", lambda r: r.again), ("first call", lambda r: r.first)):
        if good:
            worst = max(good, key=lambda row: ratio_of(of(row)))
            above = sum(ratio_of(of(row)) > MARKED for row in good)
            most = f"the largest {ratio_of(of(worst)):.3f} ({worst.name})"
            lines.append(f"{what}: {above} of {len(good)} ratios above {MARKED}; {most}")
    failed = [row.name for row in rows if row.errors]
    return [*lines, f"not measured: {', '.join(failed)}"] if failed else lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=5, help="each with new processes")
    parser.add_argument("--only", nargs="+", default=[], help="systems that contain one of these")
    parser.add_argument("--json", type=Path, help="where to write everything that was measured")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds must be at least 1.")
    rows = {
        i: Measured(job.name, job.steps, [], [], {})
        for i, job in enumerate(jobs())
        if not given.only or any(word in job.name for word in given.only)
    }
    imports = []
    for turn in range(given.rounds):
        begun = time.perf_counter()
        imports.append(one_round([given.old.resolve(), given.new.resolve()], rows, turn))
        took = time.perf_counter() - begun
        print(f"round {turn + 1} of {given.rounds}: {took:.0f} s", file=sys.stderr, flush=True)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table(list(rows.values()), imports), markup=False)
    for line in summary(list(rows.values())):
        console.print(line, markup=False)
    if given.json:
        record = {"imports": imports, "rows": [row._asdict() for row in rows.values()]}
        given.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]).resolve())
    else:
        sys.exit(main())
