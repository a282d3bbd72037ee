"""A system under a method as JavaScript: where it starts, one step, what is shown of a state.

    begin(numbers, t0, h, start) -> state
    step(numbers, t, h, state) -> state
    show(numbers, t, h, state) -> q, v, p, energy and the other channels
    points(q[, numbers]) -> what a picture joins by lines

All are of flat lists of doubles, and made from the scalar form of the very functions that
`simulate` runs, so a page agrees with Python to rounding.
"""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.arguments import reals
from accion.engines.errors import Unsupported
from accion.engines.export import to_javascript
from accion.errors import in_function
from accion.methods import Method, registry
from accion.pages.compact import compact
from accion.results.channels import labels
from accion.solve import loop as loops
from accion.solve.simulation import Run, collect, scheme_for
from accion.spaces import SE2, SE3, SO2, SO3, Product, Space
from accion.stepping import scheme_of
from accion.systems import Start
from accion.systems.base import word_of

# Channels that say how a run went, which a page sees by itself.
APART = ("iterations", "success", "steps_completed", "laws", "node")


class Row(NamedTuple):
    """What `collect` asks of saved rows, for the row of a single state."""

    last: Any = None

    def after(self, head: Any, own: Any) -> Any:
        return jax.tree.map(lambda a: own.asarray(a)[None], head)


@dataclass(frozen=True)
class Model:
    """A system under a method, for a page.

    Arguments:
        source: text of JavaScript, an expression whose value has the functions.
        facts: what the page needs to know besides, plain data.
    """

    source: str
    facts: dict[str, Any]

    @property
    def text(self) -> str:
        """An expression of JavaScript: functions and facts in one object."""
        return f"Object.assign({self.source},{{facts:{script_json(self.facts)}}})"


def script_json(value: Any) -> str:
    """JSON that may stand inside of a script element: no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def model_of(
    system: Any,
    method: Method | None,
    start: dict[str, Any],
    h: float,
    *,
    t0: float = 0.0,
    steps: int = 1000,
    positions: Callable[..., Any] | None = None,
    python: str = "",
) -> Model:
    """The model of a system under a method.

    Arguments:
        system, method, start, h, t0: those of `simulate`; `start` by the names of its parts.
        steps: how many a run of it has, for the pace of the page.
        positions: points to draw, of q or of (q, params), shape (k, 2) or (k, 3).
        python: the lines of Python that make `system`.

    Raises:
        ValueError: where a function of the system cannot be written as JavaScript.
    """
    scheme = scheme_for(system, method, None, start.get("S0"))
    system = scheme.system
    begun = checks.check_start(system, Start(**start))
    numbers, fill = divided(system.params)

    def scheme_with(given: list[Any]) -> Any:
        return scheme_of(system.with_params(fill(given)), method)

    def begin(numbers: list[Any], t0: Any, h: Any, start: Start) -> Any:
        own = scheme_with(numbers)
        return own.prepare(own.begin(t0, h, start)[0], 1)

    def step(numbers: list[Any], t: Any, h: Any, state: Any) -> Any:
        return scheme_with(numbers).step(state, t, h)[0]

    def show(numbers: list[Any], t: Any, h: Any, state: Any) -> dict[str, Any]:
        own = scheme_with(numbers)
        asked = Run(loops.ONE, own, own, begun, t, h, 0, 1)
        run = collect(asked, state, state, Row(), "xla")
        shown = {name: run.value(name) for name in run.labels if not name.startswith(APART)}
        return {name: value[0] for name, value in shown.items() if value is not None}

    h = float(h)
    state = jax.eval_shape(begin, numbers, t0, h, begun)
    functions = {
        "begin": (begin, numbers, t0, h, begun),
        "step": (step, numbers, t0, h, state),
        "show": (show, numbers, t0, h, state),
    }
    picture = None
    if positions is not None:
        picture, of_points = drawn(positions, numbers, fill, begun.q0)
        functions["points"] = of_points
    source = written(functions, str(system.name))
    rows = jax.eval_shape(show, numbers, t0, h, state)
    sizes = [int(np.prod(leaf.shape, dtype=int)) for leaf in jax.tree.leaves(state)]
    facts = {
        "name": system.name,
        "method": registry.written(method) if method is not None else "",
        "t0": float(t0),
        "h": h,
        "steps": int(steps),
        "numbers": of_params(system.params),
        "plain": isinstance(system.params, dict),
        "start": of_start(system, begun),
        "given": [name for name, value in begun._asdict().items() if value is not None],
        "state": sum(sizes),
        "channels": of_channels(system, rows),
        "points": picture,
        "bodies": bodies_of(system.space),
        "flat": bool(system.space.flat),
        "angles": any("rad" in unit for unit in system.units),
        "python": python or "system = ...  # yours",
        "methodPython": method_python(method),
    }
    return Model(source, facts)


# ---------------------------------------------------------------- the text


def written(functions: dict[str, tuple[Any, ...]], system: str) -> str:
    """One expression of JavaScript that has the functions, each with its arguments as examples."""
    parts: dict[str, None] = {}
    for name, (f, *examples) in functions.items():
        try:
            text = compact(to_javascript(f, *examples, name=name))
        except Unsupported as error:
            what = "positions" if name == "points" else system
            raise ValueError(
                f"{what} cannot be written as JavaScript: {error}. `traj.plot()` and"
                " `traj.show3d()` show what Python computed."
            ) from error
        parts |= dict.fromkeys(text.splitlines())
    return f"(()=>{{const M=Math;{''.join(parts)}return{{{','.join(functions)}}}}})()"


def divided(params: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The numbers of params, and the function that puts others in their place."""
    leaves, tree = jax.tree.flatten(params)
    where = [i for i, leaf in enumerate(leaves) if is_number(leaf)]

    def fill(numbers: list[Any]) -> Any:
        new = list(leaves)
        for i, number in zip(where, numbers, strict=True):
            new[i] = number
        return jax.tree.unflatten(tree, new)

    return [leaves[i] for i in where], fill


def is_number(leaf: Any) -> bool:
    """Whether a part of params is real numbers."""
    try:
        return np.issubdtype(np.asarray(leaf).dtype, np.floating)
    except (TypeError, ValueError):
        return False


def drawn(
    positions: Callable[..., Any], numbers: list[Any], fill: Callable[[list[Any]], Any], q0: Any
) -> tuple[dict[str, int], tuple[Any, ...]]:
    """(how many points, of which dimension), and the function that gives them."""
    try:
        with_params = "params" in inspect.signature(positions).parameters
    except (TypeError, ValueError):  # of what Python does not know the arguments
        with_params = False

    def points(numbers: list[Any], q: Any) -> Any:
        with in_function("positions"):
            found = positions(q, fill(numbers)) if with_params else positions(q)
        return jnp.asarray(reals(found, "what positions(q) returns"), float)

    shape = jax.eval_shape(points, numbers, q0).shape
    if len(shape) != 2 or shape[1] not in (2, 3) or not shape[0]:
        raise ValueError(
            f"positions(q) must return points, shape (k, 2) or (k, 3); it returned {shape}."
        )
    return {"count": shape[0], "dim": shape[1]}, (points, numbers, q0)


# ---------------------------------------------------------------- the facts


def entries_of(name: str, value: Any, names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Each number of an array with what it is called."""
    array = np.asarray(value, dtype=float)
    flat = array.ravel()
    if len(names) == len(flat):
        said = list(names)
    elif array.ndim == 0:
        said = [name]
    else:
        said = [f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(array.shape)]
    return [{"label": label, "value": float(x)} for label, x in zip(said, flat, strict=True)]


def of_params(params: Any) -> list[dict[str, Any]]:
    """The numbers of params: their names, values and shapes, in the order of the inputs."""
    found = []
    leaves = jax.tree_util.tree_flatten_with_path(params)[0]
    for i, (path, leaf) in enumerate(leaves):
        if is_number(leaf):
            name = ".".join(str(getattr(part, "key", getattr(part, "name", part))) for part in path)
            shape = list(np.shape(leaf))
            found.append(
                {"name": name, "leaf": i, "shape": shape, "entries": entries_of(name, leaf)}
            )
    return found


def of_start(system: Any, start: Start) -> list[dict[str, Any]]:
    """The numbers of the start. Points of a group are no free numbers, and are not to be moved."""
    known, found = labels(system), []
    channels = {"q0": "q", "v0": "v", "p0": "p", "S0": "S", "z0": "z", "lam0": "lam"}
    for name, value in start._asdict().items():
        if value is None:
            continue
        parts = value if isinstance(value, tuple) else (value,)
        for i, part in enumerate(parts):
            channel = channels.get(name, "")
            label = known.get(channel, known.get(f"{channel}_{i}"))
            names = label.components if label is not None else ()
            if name == "p0" and not names:
                names = tuple(f"p of {word_of(each)}" for each in system.coordinates)
            called = name if len(parts) == 1 else f"{name}.{i}"
            free = name not in ("q0", "q1") or np.ndim(part) == 1
            entries = entries_of(called, part, names)
            found.append(
                {"part": name, "shape": list(np.shape(part)), "free": free, "entries": entries}
            )
    return found


def of_channels(system: Any, rows: Any) -> list[dict[str, Any]]:
    """Where each channel is in a row, with the names of its components."""
    found, first, known = [], 0, labels(system)
    for name in sorted(rows):
        shape = rows[name].shape
        size = int(np.prod(shape, dtype=int))
        label = known[name]
        names = label.components
        if name == "p" and not names:
            names = tuple(f"p of {word_of(each)}" for each in system.coordinates)
        called = [entry["label"] for entry in entries_of(name, np.zeros(shape), names)]
        found.append(
            {"name": name, "at": first, "size": size, "labels": called, "unit": label.unit}
        )
        first += size
    return found


@singledispatch
def bodies_of(space: Space) -> list[dict[str, Any]]:
    """Which parts of a flat list of q are poses of bodies: where their matrices begin, which they
    are, and where the point of space is that stands before a rotation, None where there is none.
    """
    return []


@bodies_of.register(SO2)
@bodies_of.register(SO3)
@bodies_of.register(SE2)
@bodies_of.register(SE3)
def _(space: Space) -> list[dict[str, Any]]:
    return [{"at": 0, "kind": type(space).__name__, "point": None}]


@bodies_of.register
def _(space: Product) -> list[dict[str, Any]]:
    found, first, point = [], 0, None
    for factor in space.factors:
        own = bodies_of(factor)
        for body in own:
            found.append(body | {"at": first + body["at"], "point": point})
        size = sum(int(np.size(part)) for part in jax.tree.leaves(factor.identity()))
        point = first if factor.flat and size == 3 else None
        first += size
    return found


def method_python(method: Method | None) -> dict[str, str]:
    """The lines of Python that make a method."""
    if method is None:
        return {"imports": "", "text": "None"}
    text = repr(method)
    names = sorted(set(re.findall(r"\b([A-Z]\w*)\(", text)))
    return {"imports": f"from accion.methods import {', '.join(names)}", "text": text}
