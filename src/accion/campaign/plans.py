"""Which members a campaign has: a table, a grid, or samples."""

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

import jax
import numpy as np

from accion.arguments import reals, shown, whole, wrong
from accion.memory import check_room

Named = TypeVar("Named", bound=Mapping[str, Any])

ROOTS = ("q0", "v0", "p0", "q1", "S0", "lam0", "z0", "params")
LARGEST_SEED = 2**128
LONG = 32  # numbers, beyond which a definition keeps a digest of them


class Plan(ABC):
    """Member i of a campaign, for i from 0 to size - 1: a function of i alone, so that any chunk
    can be made anywhere.

    A column is named by what it sets: "q0" (a whole configuration), "q0[1]" (one component), "S0",
    "params.k", "params.masses[2]". `rest` is the start of every member where no column sets it: q0,
    v0, p0, q1, S0, lam0, z0. Other params are the system's own.
    """

    size: int
    rest: dict[str, Any]

    @abstractmethod
    def rows(self, first: int, last: int) -> dict[str, np.ndarray]:
        """The columns of the members from `first` to `last` - 1, each with their axis in front."""

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """What the plan is, as text and numbers: equal if and only if the members are."""


@dataclass(frozen=True, eq=False)
class Table(Plan):
    """Members one by one."""

    columns: dict[str, np.ndarray]
    rest: dict[str, Any]
    size: int

    def rows(self, first: int, last: int) -> dict[str, np.ndarray]:
        return {name: column[first:last] for name, column in self.columns.items()}

    def definition(self) -> dict[str, Any]:
        return {
            "kind": "table",
            "columns": {name: described(column) for name, column in self.columns.items()},
            "rest": described_tree(self.rest),
        }


@dataclass(frozen=True, eq=False)
class Grid(Plan):
    """Every combination of the values of several axes."""

    axes: dict[str, np.ndarray]
    rest: dict[str, Any]
    shape: tuple[int, ...]
    size: int

    def rows(self, first: int, last: int) -> dict[str, np.ndarray]:
        index = np.unravel_index(np.arange(first, last), self.shape)
        return {name: values[i] for (name, values), i in zip(self.axes.items(), index, strict=True)}

    def definition(self) -> dict[str, Any]:
        # A list, because the order of the axes is that of the members.
        axes = [[name, described(values)] for name, values in self.axes.items()]
        return {
            "kind": "grid",
            "axes": axes,
            "shape": list(self.shape),
            "rest": described_tree(self.rest),
        }


@dataclass(frozen=True, eq=False)
class Sample(Plan):
    """Points drawn from a box."""

    size: int
    ranges: dict[str, tuple[float, float]]
    how: str
    seed: int
    rest: dict[str, Any]

    def rows(self, first: int, last: int) -> dict[str, np.ndarray]:
        u = HOW[self.how](self.size, len(self.ranges), self.seed, first, last)
        return {
            name: low + (high - low) * u[:, j]
            for j, (name, (low, high)) in enumerate(self.ranges.items())
        }

    def definition(self) -> dict[str, Any]:
        ranges = [[name, *pair] for name, pair in self.ranges.items()]
        return {
            "kind": "sample",
            "size": self.size,
            "ranges": ranges,
            "how": self.how,
            "seed": self.seed,
            "rest": described_tree(self.rest),
        }


def uniform(size: int, d: int, seed: int, first: int, last: int) -> np.ndarray:
    """Philox is a function of a counter: member i owns the blocks of four numbers from i * blocks
    on.
    """
    blocks = -(-d // 4)
    generator = np.random.Generator(np.random.Philox(key=seed, counter=first * blocks))
    return generator.random((last - first, 4 * blocks))[:, :d]


def sobol(size: int, d: int, seed: int, first: int, last: int) -> np.ndarray:
    from scipy.stats import qmc

    points = qmc.Sobol(d, scramble=True, rng=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The balance properties", category=UserWarning)
        return (points.fast_forward(first) if first else points).random(last - first)


def latin(size: int, d: int, seed: int, first: int, last: int) -> np.ndarray:
    return hypercube(size, d, seed)[first:last]


@lru_cache(maxsize=1)
def hypercube(size: int, d: int, seed: int) -> np.ndarray:
    """All points: each is a permutation's, so none can be had alone."""
    from scipy.stats import qmc

    return qmc.LatinHypercube(d, rng=seed).random(size)


HOW = {"uniform": uniform, "sobol": sobol, "latin": latin}


# ---------------------------------------------------------------- what people call


def table(columns: Mapping[str, Any], **rest: Any) -> Table:
    """Members one by one: each column has their axis in front.

        table({"q0": array (N, dim), "v0": array (N, dim), "params": {"k": array (N,)}})
        table({"q0[0]": array (N,), "params.k": array (N,)}, q0=[0.0, 0.3], v0=[0.0, 0.0])

    `params` may be built like the system's own, as far as it varies.
    """
    flat = {}
    for root, value in named(columns, "columns").items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(value, is_leaf=is_column)[0]:
            name = root + path_words(path)
            if name in flat:
                raise ValueError(
                    f"the table has two columns called {name!r}; leave one of them out."
                )
            flat[name] = numbers(leaf, name)
    lengths = {name: len(column) for name, column in flat.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ValueError(
            f"a table needs columns of one length, at least 1; got {lengths or 'none'}."
        )
    return Table(check_names(flat), check_rest(rest), lengths.popitem()[1])


def grid(axes: Mapping[str, Any], **rest: Any) -> Grid:
    """Every combination of the values of several axes, the last axis fastest.

        grid({"q0[0]": linspace(-3, 3, 100), "params.k": [1.0, 2.0]}, q0=[0.0], v0=[0.0])

    `campaign.unfold(dataset)` gives the result one dimension for each axis.
    """
    flat = {name: numbers(values, name) for name, values in named(axes, "axes").items()}
    empty = [name for name, values in flat.items() if not len(values)]
    if not flat or empty:
        raise ValueError(
            "a grid needs at least one axis, and a value on each;"
            f" {f'{empty[0]} has none' if empty else 'there is none'}."
        )
    shape = tuple(len(values) for values in flat.values())
    return Grid(check_names(flat), check_rest(rest), shape, prod(shape))


def sample(
    size: int,
    ranges: Mapping[str, Any],
    *,
    how: str = "uniform",
    seed: int,
    **rest: Any,
) -> Sample:
    """`size` members with numbers drawn between (low, high).

        sample(1000, {"q0[0]": (-3, 3), "params.k": (1, 2)}, how="sobol", seed=1, v0=[0.0])

    `how`: "uniform", independent of each other; "sobol", scrambled Sobol points, best for a power
    of two; "latin", a Latin hypercube.
    """
    size, seed = (
        whole(size, "the number of samples"),
        whole(seed, "seed, with which the samples can be made again,", 0),
    )
    if seed >= LARGEST_SEED:
        raise ValueError(f"seed must be below 2^128; got {seed}.")
    if not isinstance(how, str) or how not in HOW:
        raise ValueError(
            f"how: there is no way to sample called {shown(how)}. Try one of: {', '.join(HOW)}."
        )
    if not named(ranges, "ranges"):
        raise ValueError("ranges: samples need at least one range.")
    drawn = size * len(ranges) if how == "latin" else len(ranges)
    check_room(16 * drawn, f"size = {size}", 'Take fewer samples, or how="sobol".')
    pairs = {}
    for name, pair in check_names(ranges).items():
        pair = np.asarray(reals(pair, f"the range of {name} in ranges", "(low, high)"))
        if pair.shape != (2,) or not np.all(np.isfinite(pair)) or not pair[0] < pair[1]:
            raise ValueError(
                f"the range of {name} must be (low, high) with low < high; got {ranges[name]!r}."
            )
        pairs[name] = (float(pair[0]), float(pair[1]))
    return Sample(size, pairs, how, seed, check_rest(rest))


def named(given: Any, name: str) -> Mapping[str, Any]:
    """A dictionary by the names of what its entries set."""
    if isinstance(given, Mapping):
        return given
    wrong(name, 'a dictionary such as {"q0[0]": [0.1, 0.2]}', given)
    return None


def path_words(path: Iterable[Any]) -> str:
    """A path into a tree as a person writes it: .k of a dictionary or an object, [1] of a list."""
    words = ""
    for key in path:
        name = getattr(key, "key", getattr(key, "name", None))
        words += f".{name}" if isinstance(name, str) else f"[{getattr(key, 'idx', name)}]"
    return words


def is_column(value: Any) -> bool:
    """Whether `value` is numbers written as a list, not a list of arrays."""
    return isinstance(value, list) and not any(isinstance(a, np.ndarray | jax.Array) for a in value)


def numbers(values: Any, name: str) -> np.ndarray:
    array = np.asarray(reals(values, name, "real numbers"))
    if array.ndim == 0:
        raise ValueError(
            f"{name} must have a value for each member, or for each point of its axis; got the"
            f" single number {array}."
        )
    return array


def check_names(columns: Named) -> Named:
    for name in columns:
        if not isinstance(name, str) or name.split("[")[0].split(".")[0] not in ROOTS:
            raise ValueError(
                f"{shown(name)} sets nothing. Try one of: {', '.join(ROOTS[:-1])}, or a component"
                " such as q0[0], or params.NAME."
            )
    return columns


def check_rest(rest: Mapping[str, Any]) -> dict[str, Any]:
    for name in rest:
        if name not in ROOTS[:-1]:
            raise ValueError(
                f"{name!r} is no part of a start. Try one of: {', '.join(ROOTS[:-1])}."
            )
    return {name: as_arrays(value, name) for name, value in rest.items() if value is not None}


def as_arrays(value: Any, name: str) -> Any:
    """A part of a start as float64: a tuple stays one, and a list of parts of unequal length
    becomes one.
    """
    if isinstance(value, tuple):
        return tuple(as_arrays(part, name) for part in value)
    parts = isinstance(value, list) and all(isinstance(part, list) for part in value)
    if parts and name in ("q0", "q1") and len(set(map(len, value))) > 1:
        return as_arrays(tuple(value), name)
    return np.asarray(reals(value, name, "real numbers"))


# ---------------------------------------------------------------- definitions


def digest(data: bytes) -> str:
    """A short name for bytes, the same for the same ones."""
    return hashlib.sha256(data).hexdigest()[:16]


def described(array: Any) -> Any:
    """Numbers as a list, or what tells them apart if they are many."""
    array = np.ascontiguousarray(np.asarray(array, dtype=float))
    return (
        array.tolist()
        if array.size <= LONG
        else {"shape": list(array.shape), "sha256": digest(array.tobytes())}
    )


def described_tree(tree: Any) -> dict[str, Any]:
    return {
        path_words(path).lstrip("."): described(leaf)
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]
    }
