"""Whether both engines make the same steps: every gallery system, every kind by every method.

    python -m tests.verification.engines [--record FOLDER] [--only WORDS ...] [--again]

Each case goes 200 steps by the native engine; each of them is made by XLA too, from the same state
to the bit. Two steps agree if no quantity (q, p, S, multipliers, what else is saved) differs by
more than 1e-14 of its scale: its largest value in the run or, if that is more, its response to the
state, which is by how much more it changes than a state that is moved by 1e-13 of itself. Then the
steps are made 3, 10, 30, ... times as long until one is not solved: by both engines the same, or
rounding decides whether it is: of states that are moved so by chance the native engine alone solves
some and others not.

What was found of a case is kept in FOLDER as a file, and a case that has one is not run again: the
command goes on where it was stopped. A case in which it was stopped is passed over, because its
program may be one that XLA does not get done with; `--again` tries such ones. Exits with 1 if a
case differs by more.
"""

import argparse
import json
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from accion import checks
from accion.engines.auto import callable_of, native, programs, using
from accion.engines.xla import kept_jit_of
from accion.stepping.base import scheme_of
from accion.systems import Start
from tests.verification.unchanged_cases import CASES, Motion

STEPS = 200
LIMIT = 1e-14
SMALL = 1e-13
TRIALS = 300  # states near one, where the engines do not agree whether a step is solved
LONGER = (3.0, 10.0, 30.0, 100.0, 1000.0)  # than the steps of a case, until one is not solved
FOLDER = Path("build/engines")


def step(scheme: Any, state: Any, t: Any, h: Any) -> Any:
    return scheme.step(state, t, h)


def begin(scheme: Any, t: Any, h: Any, start: Any) -> Any:
    return scheme.begin(t, h, start)


def begun(scheme: Any, t: float, h: float, start: Start) -> Any:
    """The state before the first step, as `simulate` has it."""
    program = callable_of("begin", begin, scheme, t, h, start, engine="native")
    return scheme.prepare(program(scheme, t, h, start)[0], 1)


def quantities(scheme: Any, state: Any) -> dict[str, np.ndarray]:
    """What is compared of a state, by name."""
    q, S = scheme.system.parts(state.q)
    named = {"q": q, "S": S, "p": state.p, "saved": scheme.saved(state)}
    found = {}
    for name, value in named.items():
        for i, leaf in enumerate(jax.tree.leaves(value)):
            found[f"{name}[{i}]" if i else name] = np.asarray(leaf, float)
    return found


def moved(state: Any, rng: np.random.Generator, names: str = "q p x") -> Any:
    """The state with q, p and the last increment changed by the part SMALL of their sizes."""

    def change(a: Any) -> Any:
        a = np.asarray(a)
        if not np.issubdtype(a.dtype, np.floating):
            return a
        return a + SMALL * np.max(np.abs(a), initial=0.0) * rng.uniform(-1, 1, size=a.shape)

    return state._replace(
        **jax.tree.map(change, {name: getattr(state, name) for name in names.split()})
    )


def largest(a: np.ndarray) -> float:
    return float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))


def off(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, infinite where only one is finite."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    between = np.where(same, 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(between), np.inf, between), initial=0.0))


def happens(before: Any, after: Any) -> bool:
    """Whether a step was solved."""
    return bool(after.completed > before.completed)


class Pair:
    """One step by both engines."""

    def __init__(self, case: Motion):
        given = dict(case.start)
        self.t0 = float(given.pop("t0", 0.0))
        system = checks.check_system(case.system, case.method, None, given.get("S0"))
        start = Start(*(given.pop(name, None) for name in Start._fields))
        assert not given, given
        self.start = checks.check_start(system, start)
        self.scheme: Any = scheme_of(system, case.method)
        self.h = float(case.h)
        first = begun(self.scheme, self.t0, self.h, self.start)
        examples = (self.scheme, first, self.t0, self.h)
        self.native = native("compiled", "step", step, *examples, engine="native")
        self.xla = kept_jit_of(step)

    def steps(self, h: float) -> Iterator[Any]:
        """(state, t, after it by the native engine, by XLA), as long as steps are solved."""
        state = begun(self.scheme, self.t0, h, self.start)
        for k in range(STEPS):
            t = self.t0 + k * h
            own = self.native(self.scheme, state, t, h)
            other = jax.tree.map(np.asarray, self.xla(self.scheme, state, t, h))
            yield state, t, own, other
            if not happens(state, own[0]):
                return
            state = own[0]

    def on_edge(self, state: Any, t: float, h: float) -> bool:
        """Whether rounding, of the guess too, decides if the step from a state is solved."""
        rng = np.random.default_rng(1)
        near = [moved(state, rng, "q p x guess") for _ in range(TRIALS)]
        solved = [happens(each, self.native(self.scheme, each, t, h)[0]) for each in near]
        return any(solved) and not all(solved)


def compared(pair: Pair) -> dict[str, Any]:
    """What is found of a case's own steps."""
    rng, size, response, differences = np.random.default_rng(0), {}, {}, {}
    same, values, iterations, count, edge = 0, 0, 0, 0, None
    for state, t, (own, own_count), (other, other_count) in pair.steps(pair.h):
        near = pair.native(pair.scheme, moved(state, rng), t, pair.h)[0]
        a, b, c = (quantities(pair.scheme, each) for each in (own, other, near))
        if happens(state, own) != happens(state, other):
            if not pair.on_edge(state, t, pair.h):
                return {"problem": f"step {count} is solved by one engine only"}
            edge = count
            break
        for name in a:
            size[name] = max(size.get(name, 0.0), largest(a[name]))
            response[name] = max(response.get(name, 0.0), largest(a[name] - c[name]) / SMALL)
            differences[name] = max(differences.get(name, 0.0), off(a[name], b[name]))
            same += int(np.sum((a[name] == b[name]) | np.isnan(a[name]) & np.isnan(b[name])))
            values += a[name].size
        count += int(happens(state, own))
        iterations += int(own_count != other_count)
    over = {
        name: (d / max(size[name], response[name]) if d else 0.0, d / size[name] if d else 0.0)
        for name, d in differences.items()
    }
    worst = max(over, key=lambda name: over[name][0])
    return {
        "steps": count,
        "same": same,
        "values": values,
        "of_scale": over[worst][0],
        "of_size": max(one for _, one in over.values()),
        "worst": worst,
        "iterations": iterations,
        "edge": edge,
    }


def failures(pair: Pair) -> dict[str, Any]:
    """The first step that is not solved, of steps that are made longer until there is one."""
    for longer in LONGER:
        h = longer * pair.h
        for k, (state, t, (own, _), (other, _)) in enumerate(pair.steps(h)):
            solved = [happens(state, each) for each in (own, other)]
            if solved[0] != solved[1] and pair.on_edge(state, t, h):
                return {"failed": f"{longer:g} h, step {k}, by rounding", "alike": True}
            if solved[0] != solved[1]:
                word = f"step {k} of {longer:g} h is solved by {('native', 'xla')[solved[1]]} only"
                return {"failed": word, "alike": False}
            if not solved[0]:
                return {"failed": f"{longer:g} h, step {k}", "alike": True}
    return {"failed": "", "alike": True}


def record_of(name: str) -> dict[str, Any]:
    """What is found of a case."""
    begin_at = time.process_time()
    try:
        case = CASES[name]()
        if not isinstance(case, Motion) or case.many:
            return {"name": name, "left": "no steps of one motion"}
        with using("native"):
            pair = Pair(case)
            found = compared(pair)
            found |= failures(pair) if "problem" not in found else {}
    except ValueError as error:
        found = {"left": str(error)}
    except Exception:
        found = {"problem": traceback.format_exc().strip().splitlines()[-1]}
    return {"name": name, **found, "seconds": round(time.process_time() - begin_at, 1)}


# ---------------------------------------------------------------- what is kept and shown


def path_of(folder: Path, name: str) -> Path:
    return folder / (re.sub(r"\W+", "_", name) + ".json")


def run_all(folder: Path, names: list[str], again: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        path = path_of(folder, name)
        mark = path.with_suffix(".begun")
        if path.exists() or (mark.exists() and not again):
            continue
        mark.touch()
        found = record_of(name)
        path.write_text(json.dumps(found) + "\n")
        mark.unlink()
        print(f"{i + 1} of {len(names)}: {found}", file=sys.stderr, flush=True)
        jax.clear_caches()
        programs.clear()


def passed(found: dict[str, Any]) -> bool:
    if "problem" in found:
        return False
    return "left" in found or (found["of_scale"] <= LIMIT and found["alike"])


def table(all_found: list[dict[str, Any]]) -> Table:
    heads = ("case", "steps", "same numbers", "of the largest", "of its scale", "in", "not solved")
    out = Table(*heads, "", title="steps of XLA and of the native engine from the same states")
    for found in all_found:
        if "left" in found or "problem" in found:
            words = found.get("problem") or "not compared: " + found["left"]
            out.add_row(found["name"], "", "", "", "", "", "", words)
            continue
        words = f"{found['iterations']} with other iterations" if found["iterations"] else ""
        if found.get("edge") is not None:
            words = f"{words} rounding decides whether step {found['edge']} is solved".strip()
        out.add_row(
            found["name"],
            str(found["steps"]),
            f"{found['same'] / found['values']:.0%}",
            *(f"{found[key]:.1e}" if found[key] else "0" for key in ("of_size", "of_scale")),
            found["worst"] if found["of_scale"] else "",
            found["failed"] or "none",
            words if passed(found) else "FAIL " + words,
        )
    return out


def summary(all_found: list[dict[str, Any]], missing: list[str]) -> list[str]:
    done = [found for found in all_found if "of_scale" in found]
    lines = [f"{len(done)} cases compared, {sum(found['steps'] for found in done)} steps"]
    if done:
        worst = max(done, key=lambda found: found["of_scale"])
        lines.append(
            f"largest difference: {worst['of_scale']:.1e} of its scale, {worst['of_size']:.1e} of"
            f" the largest value, {worst['worst']} of {worst['name']}; {LIMIT:g} is allowed"
        )
        failed = sum(bool(found["failed"]) for found in done)
        alike = sum(bool(found["failed"]) and found["alike"] for found in done)
        lines.append(f"{failed} cases with a step that is not solved; {alike} the same in both")
    lines.append(f"not done: {len(missing)} ({'; '.join(missing)})" if missing else "all are done")
    wrong = [found["name"] for found in all_found if not passed(found)]
    return [*lines, f"FAIL: {'; '.join(wrong)}" if wrong else "PASS"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path, default=FOLDER, help="where what is found is kept")
    parser.add_argument("--only", nargs="+", default=[], help="cases that contain one of these")
    parser.add_argument("--again", action="store_true", help="try cases that were not got done")
    parser.add_argument("--show", action="store_true", help="only show what is kept")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    words = given.only or [""]
    names = [name for name in CASES if any(word in name for word in words)]
    if not given.show:
        run_all(given.record, names, given.again)
    kept = [path_of(given.record, name) for name in names]
    all_found = [json.loads(path.read_text()) for path in kept if path.exists()]
    missing = [name for name, path in zip(names, kept, strict=True) if not path.exists()]
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table(all_found), markup=False)
    for line in summary(all_found, missing):
        console.print(line, markup=False)
    return int(not all(map(passed, all_found)))


if __name__ == "__main__":
    sys.exit(main())
