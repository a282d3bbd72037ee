"""How far the result of an operation is from the same one in units of one."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import jax
import numpy as np

from tests.pairs.kinds import KINDS, Case, case
from tests.pairs.operations import OPERATIONS

SPACE = "vectors"
LARGEST = 40  # power of two of a unit
Powers = tuple[int, int, int]  # of the units of mass, length and time
UNITS: list[Powers] = [
    (int(mass), int(length), int(time))
    for mass, length, time in np.random.default_rng(19).integers(
        -LARGEST, LARGEST + 1, size=(20, 3)
    )
]
# What may be left, as a part of the size of a result: of `simulate` a few roundings; of `optimize`
# its own tolerance.
ALLOWED = dict.fromkeys(OPERATIONS, 1e-9) | {"simulate": 1e-14, "optimize": 1e-6}
# Many compilations each: a few kinds in the tests, all of them by the command.
COSTLY = (
    "optimize",
    "campaign",
    "symplecticity",
    "lyapunov",
    "Poincare section",
    "symmetries",
    "audit",
    "plot",
)
FEW = ("System, free", "System, holonomic")
# In letters, where units are params: one system of units says as much as twenty.
LETTERS = ("symbolic", "symbolic, discrete", "symbolic, modified")
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- units -->", "<!-- end of units -->"
HEAD = (
    "By `python -m tests.pairs --units`:",
    "",
    "| operation | compared | refused alike | largest difference | allowed |",
    "| --- | ---: | ---: | ---: | ---: |",
)


def units_of(operation: str, own: Case) -> list[Any]:
    """The units of the arrays that an operation returns, in their order."""
    m, length, time = (2.0**power for power in own.units)
    energy, r = m * (length / time) ** 2, own.system.order
    rate = length / time ** np.arange(1, 2 * r)[:, None]
    momentum = energy / length * time ** np.arange(1, r + 1)[:, None]
    # The momenta of windows that are given in discrete time all belong to configurations.
    momentum = momentum[:1] if own.system.discrete_time or r == 1 else momentum
    # rates of entropies or of the action, or multipliers
    second = {"S": 1 / time, "z": energy}.get(own.system.beside, energy / length)
    force = [energy / length] if own.system.beside and own.system.multipliers else []
    own_units = {
        "accelerations": [length / time ** (2 * r), *force, second],
        "reference": [length, rate if r > 1 else rate[0]],
        "lyapunov": [1 / time],
        "Poincare section": [length, rate[0]],
        "at": [length, rate[0], momentum if r > 1 else momentum[0], energy],
        "discrete": [energy * time],
        "exact Lagrangian": [energy * time],
        "modified Hamiltonian": [energy],
        "momentum map": [momentum[0]],
        "gradient": [momentum[-1]],
        "campaign": [momentum if r > 1 else momentum[0]],
        "audit": [momentum if r > 1 else momentum[0]],
    }
    numbers = ("order", "symplecticity", "symmetries", "regularity", "plot", *LETTERS)
    return own_units.get(operation, [1.0 if operation in numbers else length])


@cache
def in_units_of_one(operation: str, kind: str) -> list[np.ndarray] | str:
    """What an operation returns, or the words with which it refuses."""
    return tried(operation, case(kind, SPACE))


def tried(operation: str, own: Case) -> list[np.ndarray] | str:
    try:
        found = OPERATIONS[operation](own)
    except ValueError as error:
        return str(error)
    return [np.asarray(leaf, dtype=float) for leaf in jax.tree.leaves(found)]


def deviation(operation: str, kind: str, powers: Powers) -> float:
    """The largest difference to the result in units of one, as a part of its size; of `order` and
    `symplecticity`, which are parts themselves, as it is. 0 where both refuse with the same words.
    """
    own = case(kind, SPACE, powers)
    expected, found = in_units_of_one(operation, kind), tried(operation, own)
    if isinstance(expected, str) or isinstance(found, str):
        return 0.0 if found == expected else np.inf
    worst = 0.0
    pairs = zip(found, expected, strict=True)
    units = units_of(operation, own)[: len(found)]
    for (a, b), unit in zip(pairs, units, strict=True):
        size = 1.0 if operation in ("order", "symplecticity") else np.max(np.abs(b))
        off = float(np.max(np.abs(a / unit - b)))
        worst = max(worst, off / size if size > 0 else off)
    return worst


def sample(operation: str) -> Iterable[tuple[str, Powers]]:
    """Some kinds in some units: all of them of `simulate`."""
    if operation == "simulate":
        yield from ((kind, powers) for kind in KINDS for powers in UNITS)
    elif operation not in LETTERS:
        kinds = FEW if operation in COSTLY else tuple(KINDS)
        start = list(OPERATIONS).index(operation)
        for i, kind in enumerate(kinds):
            yield kind, UNITS[(start + i) % len(UNITS)]


class Row(NamedTuple):
    """What came of an operation in all kinds of systems and all units: how many pairs were compared
    and how many were refused in the same words, the largest deviation, and where.
    """

    compared: int
    refused: int
    largest: float
    where: tuple[str, Powers]


def row_of(operation: str) -> Row:
    """All kinds, in all units."""
    units = UNITS[:1] if operation in LETTERS else UNITS
    found = {
        (kind, powers): deviation(operation, kind, powers) for kind in KINDS for powers in units
    }
    worst = max(found, key=lambda pair: found[pair])
    refused = sum(isinstance(in_units_of_one(operation, kind), str) for kind, _ in found)
    return Row(len(found) - refused, refused, found[worst], worst)


def report(out: TextIO, operations: Iterable[str] = ()) -> None:
    """Every operation, or those that are named, counted and put into the page one by one."""
    for operation in operations or OPERATIONS:
        row, allowed = row_of(operation), ALLOWED[operation]
        verdict = "" if row.largest <= allowed else "  TOO LARGE"
        kind, powers = row.where
        print(
            f"{operation}: {row.largest:.2g} at most ({kind}, 2^{powers}) of {row.compared}, with"
            f" {row.refused} refusals; {allowed:g} allowed{verdict}",
            file=out,
            flush=True,
        )
        write(operation, row)


def write(operation: str, row: Row) -> None:
    """Put the row of an operation into the page, between the marks; the others stay."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    lines = dict(re.findall(r"^(\| ([^|]+) \|.*\d \|)$", old, flags=re.M))
    rows = {name: line for line, name in lines.items()}
    size = "0" if row.largest == 0 else f"{row.largest:.1e}"
    numbers = f"{row.compared} | {row.refused} | {size} | {ALLOWED[operation]:.0e}"
    rows[operation] = f"| {operation} | {numbers} |"
    table = [*HEAD, *(rows[name] for name in OPERATIONS if name in rows)]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(table) + f"\n\n{END}{after}")
