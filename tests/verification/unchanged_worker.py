"""Runs the cases of `unchanged.py` with the version of accion that PYTHONPATH chooses.

    python -m tests.verification.unchanged_worker first FOLDER SOURCE ENGINE [WORDS ...]
    python -m tests.verification.unchanged_worker again FOLDER SOURCE ENGINE

`first` runs each case whose name contains one of WORDS (all cases, where there are none), restarts
it from a sample of its states, writes FOLDER/first/NUMBER and prints the number. `again` reads such
numbers from its input, restarts from the same states and writes FOLDER/again/NUMBER.
"""

import pickle
import sys
import traceback
import warnings
from functools import singledispatch
from pathlib import Path
from typing import Any

import jax
import numpy as np

import accion as ac
from tests.verification.unchanged_cases import CASES, Best, Case, Joined, Motion

RESTARTS = 4  # along a motion, besides its own start
# A start that is changed by this part of its size: how much more a result changes is how much more
# than its own last digit rounding may move it.
SMALL = 1e-13
CHANNELS = ("q", "v", "p", "S", "lam", "jets")

Start = dict[str, Any]
Values = dict[str, np.ndarray]


# ---------------------------------------------------------------- what is recorded


def values_of(result: Any, names: tuple[str, ...]) -> Values:
    """The arrays of a result by name; those of a configuration with several parts are numbered."""
    found = {}
    for name in names:
        leaves = jax.tree.leaves(getattr(result, name))
        for i, leaf in enumerate(leaves):
            found[name if len(leaves) == 1 else f"{name}[{i}]"] = np.asarray(leaf)
    return found


def seen(trajectory: Any, method: Any) -> Values:
    # What is given in discrete time has no velocities.
    names = tuple(name for name in CHANNELS if name != "v" or method is not None)
    return values_of(trajectory, (*names, "iterations"))


# ---------------------------------------------------------------- kinds of cases


@singledispatch
def run(case: Case, start: Start | None, engine: str) -> tuple[Any, Values]:
    """The case from its own start, or a short run of it from `start`."""
    raise TypeError(f"no case: {case!r}")


@singledispatch
def starts_of(case: Case, result: Any) -> list[Start]:
    """Where the case is restarted."""
    raise TypeError(f"no case: {case!r}")


@run.register
def _(case: Motion, start, engine):
    simulate = ac.ensemble if case.many else ac.simulate
    steps = case.steps if start is None else start["steps"]
    given = {name: a for name, a in (start or case.start).items() if name != "steps"}
    options = {"h": case.h, "steps": steps, "throw": False, "engine": engine}
    trajectory = simulate(case.system, case.method, **given, **options)
    return trajectory, seen(trajectory, case.method)


@starts_of.register
def _(case: Motion, result):
    # Of order r, a motion that starts from 2r configurations makes its first own step after them.
    r = 1 if result.jets is None else result.jets.shape[-2]
    given = case.starts or (case.start,)
    found: list[Start] = [{**start, "steps": 2 * r} for start in given]
    if case.starts:
        return found
    last = case.steps - 2 * r
    for k in sorted({round(1 + i * (last - 1) / (RESTARTS - 1)) for i in range(RESTARTS)}):
        at = {"q0": row(result.q, k), "t0": float(result.t[k]), "steps": 2 * r}
        if result.S is not None:
            at["S0"] = row(result.S, k)
        if r > 1:
            at["q1"] = row(result.q, slice(k + 1, k + 2 * r))
        elif case.method is None:
            at["q1"] = row(result.q, k + 1)
        elif result.jets is not None:
            at["v0"] = row(result.v, k)
        else:
            at["p0"] = row(result.p, k)
        found.append(at)
    return found


@run.register
def _(case: Joined, start, engine):
    given = start or case.ends
    mesh = {"duration": case.duration, "steps": case.steps}
    trajectory = ac.connect(case.system, case.method, **given, **mesh)
    return trajectory, seen(trajectory, case.method)


@starts_of.register
def _(case: Joined, result):
    return [dict(case.ends), {**case.ends, "guess": row(result.q, slice(None))}]


@run.register
def _(case: Best, start, engine):
    options = {"formulation": case.formulation, "throw": False}
    solution = ac.optimize(case.problem, case.method, case.steps, **(start or {}), **options)
    return solution, values_of(solution, ("q", "u", "cost", "duration", "iterations"))


@starts_of.register
def _(case: Best, result):
    u = np.asarray(result.u)
    # A guess has the controls of the steps; a vakonomic solution has those of the nodes.
    u = u if len(u) == case.steps else (u[:-1] + u[1:]) / 2
    return [{"guess": (row(result.q, slice(None)), u)}]


def row(tree: Any, k: Any) -> Any:
    return jax.tree.map(lambda a: np.asarray(a)[k], tree)


# ---------------------------------------------------------------- rounding


def moved(start: Start, rng: np.random.Generator) -> Start:
    """The start with each array changed by the part SMALL of its size."""

    def change(a):
        a = np.asarray(a, dtype=float)
        return a + SMALL * np.max(np.abs(a), initial=0.0) * rng.uniform(-1, 1, size=a.shape)

    kept = ("steps", "t0")
    return {name: a if name in kept else jax.tree.map(change, a) for name, a in start.items()}


def responses(case: Case, starts: list[Start], found: list[Values], engine: str) -> Values:
    """By how much more than SMALL each quantity changes where the start changes by SMALL."""
    rng, most = np.random.default_rng(1), {}
    for start, values in zip(starts, found, strict=True):
        try:
            others = run(case, moved(start, rng), engine)[1]
        except ValueError:
            continue  # a start that may not be moved, such as a q1 on a constraint
        for name, a in values.items():
            b = others[name]
            if a.shape == b.shape and np.issubdtype(a.dtype, np.floating):
                change = float(np.max(np.abs(a - b), initial=0.0)) / SMALL
                most[name] = max(most.get(name, 0.0), change) if np.isfinite(change) else np.inf
    return most


# ---------------------------------------------------------------- the two passes


def first(name: str, engine: str) -> dict[str, Any]:
    case = CASES[name]()
    result, whole = run(case, None, engine)
    if not all(np.all(np.isfinite(a)) for a in whole.values()):
        raise RuntimeError("the run is not finite")
    # NumPy's own arrays, which any version reads.
    starts = [arrays(start) for start in starts_of(case, result)]
    found = [run(case, start, engine)[1] for start in starts]
    return {
        "kind": type(case).__name__,
        "whole": whole,
        "starts": starts,
        "restarted": found,
        "response": responses(case, starts, found, engine),
        "engine": getattr(result, "engine", ""),
    }


def arrays(start: Start) -> Start:
    """The start with arrays for lists, which JAX takes for trees."""
    lists = {name: np.asarray(a) for name, a in start.items() if isinstance(a, list)}
    return jax.tree.map(lambda a: np.asarray(a) if np.ndim(a) else a, start | lists)


def again(name: str, engine: str, starts: list[Start]) -> dict[str, Any]:
    case = CASES[name]()
    result, whole = run(case, None, engine)
    found = [run(case, start, engine)[1] for start in starts]
    return {"whole": whole, "restarted": found, "engine": getattr(result, "engine", "")}


def recorded(path: Path, name: str, work: Any, *args: Any) -> None:
    """Write what `work` returns, or the error that it raises."""
    try:
        found = work(name, *args)
    except Exception:
        found = {"error": traceback.format_exc()}
    partial = path.with_suffix(".part")
    partial.write_bytes(pickle.dumps(found | {"name": name}))
    partial.rename(path)
    # A hundred systems, whose programs nobody needs again.
    jax.clear_caches()


def main(pass_: str, folder: Path, source: Path, engine: str, words: list[str]) -> None:
    where = Path(ac.__file__).resolve()
    if not where.is_relative_to(source.resolve()):
        sys.exit(f"accion was to be imported from {source}, and came from {where}.")
    warnings.simplefilter("ignore")
    here = folder / pass_
    here.mkdir()
    if pass_ == "first":
        for i, name in enumerate(CASES):
            if not words or any(word in name for word in words):
                recorded(here / str(i), name, first, engine)
                print(i, flush=True)
        return
    for line in sys.stdin:
        i = int(line)
        before = pickle.loads((folder / "first" / str(i)).read_bytes())
        if "error" not in before:
            # By name: a gallery that has grown has other numbers.
            recorded(here / str(i), before["name"], again, engine, before["starts"])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], sys.argv[5:])
