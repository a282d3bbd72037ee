"""From the row of a plan to the system and the start of one member."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.campaign.plans import Plan, path_words
from accion.methods import Method
from accion.systems import DiscreteSystem, HigherOrderSystem, Start
from accion.systems.entropic import Entropic
from accion.systems.start import is_traced
from accion.systems.tree import is_number

Shapes = Mapping[str, tuple[int, ...]]
INDEX = re.compile(r"(\[\s*\d+\s*(,\s*\d+\s*)*\])*")


class Target(NamedTuple):
    """Where a column goes: leaf number `leaf` of the start's part or of the params called `root`,
    or one component `at` of it.
    """

    root: str
    leaf: int
    at: tuple[int, ...]


def base_of(system: Any, plan: Plan) -> tuple[dict[str, Any], dict[str, Target]]:
    """What every member starts from, with NaN where columns must fill it in; and the target of each
    column.
    """
    shapes = {name: column.shape[1:] for name, column in plan.rows(0, 1).items()}
    roots = {re.split(r"[.\[]", name)[0] for name in shapes} | set(plan.rest)
    base: dict[str, Any] = {}
    for root in roots - {"params"}:
        value = plan.rest.get(root)
        if value is None:
            base[root] = jax.tree.map(
                lambda a: np.full(np.shape(a), np.nan), blank(system, root, shapes)
            )
        else:
            # Rows of equal length are parts too where there are several.
            base[root] = (
                tuple(value)
                if root in ("q0", "q1") and isinstance(system.space.identity(), tuple)
                else value
            )
    trees = base | {"params": system.params}
    targets = {name: target(trees, name, shape) for name, shape in shapes.items()}
    check_apart(targets)
    check_filled(base, targets)
    return base, targets


@singledispatch
def blank(system: Any, part: str, shapes: Shapes) -> Any:
    """Something of the shape that this part of a start ("q0", "v0", ...) has.

    `shapes` are those of the columns by their names, where a system does not say.
    """
    return blank_of_first_order(system, part, shapes)


def blank_of_first_order(system: Any, part: str, shapes: Shapes) -> Any:
    if part in ("q0", "q1"):
        return system.space.identity()
    if part in ("S0", "z0"):
        return np.zeros(shapes.get(part, ()))
    return np.zeros(system.multipliers if part == "lam0" else system.space.dim)


@blank.register
def blank_thermal(system: Entropic, part: str, shapes: Shapes) -> Any:
    if part == "S0" and system.entropies is not None:
        return np.zeros(shapes.get("S0", (len(system.entropies),)))
    return blank_of_first_order(system, part, shapes)


@blank.register
def blank_higher(system: HigherOrderSystem, part: str, shapes: Shapes) -> Any:
    """Rows of derivatives, of multipliers and theirs, or configurations one after the other."""
    r, n = system.order, system.space.dim
    if part == "v0":  # with momenta the first r - 1 rows alone
        return np.zeros(shapes.get(part, (2 * r - 1, n)))
    if part == "p0":
        return np.zeros((r, n))
    return blank_of_windows(system, part, shapes)


@blank.register
def blank_discrete(system: DiscreteSystem, part: str, shapes: Shapes) -> Any:
    if part == "q1" and system.order == 1:
        return system.space.identity()
    return blank_of_windows(system, part, shapes)


def blank_of_windows(system: Any, part: str, shapes: Shapes) -> Any:
    """Of a system of order r: 2r - 1 further configurations, the multipliers of r windows."""
    if part == "q1":
        count, origin = 2 * system.order - 1, system.space.identity()
        return jax.tree.map(lambda a: np.zeros((count, *np.shape(a))), origin)
    if part == "lam0":
        return np.zeros((system.order, system.multipliers))
    return blank_of_first_order(system, part, shapes)


def target(trees: dict[str, Any], name: str, shape: Iterable[int]) -> Target:
    """The target of the column `name`, whose entries have the `shape`."""
    root = re.split(r"[.\[]", name)[0]
    leaves = [
        (root + path_words(path), leaf)
        for path, leaf in jax.tree_util.tree_flatten_with_path(trees[root])[0]
    ]
    meant = [
        (i, word, leaf)
        for i, (word, leaf) in enumerate(leaves)
        if name.startswith(word) and INDEX.fullmatch(name.removeprefix(word))
    ]
    if len(meant) > 1:
        raise ValueError(
            f"{name!r} may mean several of the params, whose names have dots or brackets of their"
            " own; rename them."
        )
    for i, word, leaf in meant:
        if not is_number(leaf):
            raise ValueError(f"{word} is no number, so a campaign cannot vary it; it is {leaf!r}.")
        at = tuple(int(digits) for digits in re.findall(r"\d+", name.removeprefix(word)))
        return Target(root, i, fitting(np.shape(leaf), at, name, shape))
    known = (
        ", ".join(word for word, leaf in leaves if is_number(leaf))
        or "nothing: the system has no params of its own"
    )
    raise ValueError(f"{name!r} sets nothing of this system. There is: {known}.")


def fitting(
    whole: tuple[int, ...], at: tuple[int, ...], name: str, shape: Iterable[int]
) -> tuple[int, ...]:
    """`at`, if an entry of this shape goes there."""
    if len(at) > len(whole) or any(i >= n for i, n in zip(at, whole, strict=False)):
        raise ValueError(f"{name!r} is beyond what there is: its whole has shape {whole}.")
    if tuple(whole[len(at) :]) != tuple(shape):
        raise ValueError(
            f"{name!r} must have entries of shape {tuple(whole[len(at) :])}; got shape"
            f" {tuple(shape)}."
        )
    return at


def check_apart(targets: dict[str, Target]) -> None:
    """Raise ValueError where two columns set the same: one of them would be lost."""
    owner = {goal: name for name, goal in targets.items()}
    for name, goal in targets.items():
        for depth in range(len(goal.at) + 1):
            other = owner.get(goal._replace(at=goal.at[:depth]))
            if other is not None and other != name:
                raise ValueError(
                    f"the columns {other!r} and {name!r} of the plan set the same; leave one of"
                    " them out."
                )


def check_filled(base: dict[str, Any], targets: dict[str, Target]) -> None:
    """Raise ValueError where something of the start is set neither by a column nor by the rest."""
    for root, value in base.items():
        for i, leaf in enumerate(jax.tree.leaves(value)):
            left = np.array(leaf)
            for goal in targets.values():
                if (goal.root, goal.leaf) == (root, i):
                    left[goal.at] = 0.0
            if np.any(np.isnan(left)):
                at = "".join(f"[{k}]" for k in np.argwhere(np.isnan(left))[0])
                raise ValueError(
                    f"{root}{at} is set by no column of the plan: give its value for all members,"
                    f" {root}=[...]."
                )


def with_numbers(system: Any, method: Method | None, params: Any, S0: Any) -> Any:
    """The system with these params and as many entropies as `S0`, checked."""
    own = system if params is None else system.with_params(params)
    return checks.check_system(own, method, None, S0)


class Remembered:
    """`with_numbers` of one system and method, made once for the same numbers: members that fail
    often have the same params. Only for numbers that are known.
    """

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}

    def __call__(self, system: Any, method: Method | None, params: Any, S0: Any) -> Any:
        leaves, tree = jax.tree.flatten((params, S0))
        key = (tree, *(np.asarray(a, float).tobytes() if is_number(a) else a for a in leaves))
        if key not in self.made:
            try:
                self.made[key] = with_numbers(system, method, params, S0)
            except ValueError as error:
                self.made[key] = error
        if isinstance(self.made[key], ValueError):
            raise self.made[key]
        return self.made[key]


def member(
    system: Any,
    method: Method | None,
    base: dict[str, Any],
    targets: dict[str, Target],
    row: dict[str, Any],
    made: Callable[..., Any] = with_numbers,
) -> tuple[Any, Start]:
    """The system and the start of the member that `row` describes, checked in shape (in value too
    where they are known); `made` is `with_numbers`, or remembers it.
    """
    trees = {name: value for name, value in base.items() if value is not None} | {
        "params": system.params
    }
    for name, goal in targets.items():
        leaves, treedef = jax.tree.flatten(trees[goal.root])
        leaves[goal.leaf] = placed(leaves[goal.leaf], goal.at, row[name])
        trees[goal.root] = jax.tree.unflatten(treedef, leaves)
    params = trees.pop("params")
    start = Start(**{"q0": None} | trees)
    system = made(system, method, params, start.S0)
    return system, checks.check_start(system, start)


def placed(whole: Any, at: tuple[int, ...], value: Any) -> Any:
    """`whole` with `value` at the index `at`; all of it is `value` where there is no index."""
    if not at:
        return value
    if is_traced((whole, value)):
        return jnp.asarray(whole, dtype=float).at[at].set(value)
    whole = np.array(whole, dtype=float)
    whole[at] = value
    return whole
