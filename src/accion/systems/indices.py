"""Constant indices that are out of range.

NumPy raises an error for q[2] where q has two entries. JAX cannot while it traces: it takes the
nearest entry, or writes nothing, and another system is simulated. So what was traced is read:
indices that are numbers are carried through the operations that JAX puts around them (negative ones
count from the end), and compared with the array that they go into. Indices that are computed from
t, q, v or params are not known here.
"""

import linecache
from typing import Any

import numpy as np
from jax.core import Tracer
from jax.extend.core import Literal
from jax.lax import GatherScatterMode

from accion.jaxprs import parameters, parts
from accion.systems.origin import functions_in, place, user_frame
from accion.types import Params

LARGEST = 65_536  # entries of an array of indices that is looked at
LINES = 20  # of a statement


def check_indices(name: str, closed: Any) -> None:
    """Raise ValueError where the traced function `closed`, which the user knows as `name`, has a
    constant index that is out of range.
    """
    walk(name, closed.jaxpr, closed.consts, [None] * len(closed.jaxpr.invars), None)


def walk(name: str, jaxpr: Any, consts: Any, arguments: Any, call: Any) -> Any:
    """The results of a jaxpr that are known whole numbers, None for the others; `arguments`
    likewise, `call` is the operation that it belongs to.
    """
    known = {}

    def write(variables: Any, values: Any) -> Any:
        known.update(
            (v, np.asarray(a)) for v, a in zip(variables, values, strict=True) if is_index(a)
        )

    def read(atom: Any) -> Any:
        if isinstance(atom, Literal):
            return np.asarray(atom.val) if is_index(atom.val) else None
        return known.get(atom)

    write(jaxpr.constvars, consts)
    write(jaxpr.invars, arguments)
    for eqn in jaxpr.eqns:
        values = [read(atom) for atom in eqn.invars]
        here = eqn if call is None or user_frame(eqn) is not None else call
        compare(name, eqn, values, here)
        write(eqn.outvars, results(name, eqn, values, here))
    return [read(atom) for atom in jaxpr.outvars]


def is_index(a: Any) -> bool:
    """Whether it is known, and consists of whole numbers or switches."""
    dtype = getattr(a, "dtype", None)
    if isinstance(a, Tracer) or (dtype is None and not isinstance(a, bool | int)):
        return False
    # Keys of random numbers have a type of their own, which NumPy does not know.
    kind = getattr(dtype, "kind", "i")
    return kind in "iub" and np.size(a) <= LARGEST


# ---------------------------------------------------------------- what follows from known numbers


def results(name: str, eqn: Any, values: Any, call: Any) -> list[Any]:
    """What an operation gives: known where NumPy gets it from known numbers, or where the function
    that it calls does.
    """
    inner = functions_in(eqn)
    if inner:
        return through(name, eqn, values, call, inner)
    known = FOLDED.get(eqn.primitive.name)
    if known is None or any(value is None for value in values):
        return [None] * len(eqn.outvars)
    return [np.asarray(known(eqn.params, *values)).astype(eqn.outvars[0].aval.dtype)]


def through(name: str, eqn: Any, values: Any, call: Any, inner: Any) -> list[Any]:
    """The same of an operation that holds functions: a call, a branch, a loop.

    What changes from turn to turn of a loop is not known.
    """
    outs: list[Any] = [None] * len(eqn.outvars)
    for each in inner:
        jaxpr, consts = parts(each)
        given: list[Any] = [None] * len(jaxpr.invars)
        if eqn.primitive.name == "cond":
            given = values[1:]
        elif eqn.primitive.name == "scan":
            count = parameters(eqn)["num_consts"]
            given[:count] = values[:count]
        elif eqn.primitive.name != "while" and len(given) == len(values):
            given = values
        found = walk(name, jaxpr, consts, given, call)
        if eqn.primitive.name in CALLS:
            outs = found
    return outs


CALLS = (
    "pjit",
    "jit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "remat",
    "checkpoint",
)


def broadcast(params: Params, a: Any, *_: Any) -> Any:
    shape = [1] * len(params["shape"])
    for axis, length in zip(params["broadcast_dimensions"], np.shape(a), strict=True):
        shape[axis] = length
    return np.broadcast_to(np.reshape(a, shape), params["shape"])


def counted(params: Params) -> Any:
    shape, axis = params["shape"], params["dimension"]
    return np.broadcast_to(
        np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
    )


def sliced(params: Params, a: Any) -> Any:
    strides = params["strides"] or (1,) * np.ndim(a)
    return a[
        tuple(
            slice(*ends)
            for ends in zip(params["start_indices"], params["limit_indices"], strides, strict=True)
        )
    ]


# What JAX does to an index before it is used.
FOLDED = {
    "lt": lambda _, a, b: a < b,
    "le": lambda _, a, b: a <= b,
    "gt": lambda _, a, b: a > b,
    "ge": lambda _, a, b: a >= b,
    "eq": lambda _, a, b: a == b,
    "ne": lambda _, a, b: a != b,
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": lambda _, a, b: a * b,
    "neg": lambda _, a: -a,
    "max": lambda _, a, b: np.maximum(a, b),
    "min": lambda _, a, b: np.minimum(a, b),
    "clamp": lambda _, low, a, high: np.clip(a, low, high),
    "select_n": lambda _, which, *cases: np.choose(np.asarray(which, dtype=int), cases),
    "convert_element_type": lambda params, a: a,
    "broadcast_in_dim": broadcast,
    "reshape": lambda params, a, *_: np.reshape(a, params["new_sizes"]),
    "squeeze": lambda params, a: np.squeeze(a, params["dimensions"]),
    "expand_dims": lambda params, a: np.expand_dims(a, params["dimensions"]),
    "transpose": lambda params, a: np.transpose(a, params["permutation"]),
    "concatenate": lambda params, *parts: np.concatenate(parts, axis=params["dimension"]),
    "slice": sliced,
    "iota": counted,
}


# ---------------- indices and the arrays they go into


def compare(name: str, eqn: Any, values: Any, call: Any) -> None:
    """Raise ValueError where a known index of this operation is out of range, and the user did not
    say what is to happen then.
    """
    for index, length, room in entries(eqn, values):
        wrong = (index < 0) | (index > length - room)
        if np.any(wrong) and not is_meant(eqn, call):
            raise ValueError(words(name, int(index[wrong][0]), length, room, call))


def entries(eqn: Any, values: Any) -> Any:
    """(index, length of the axis that it goes into, entries taken from there) for each axis with an
    index that is known.
    """
    kind = eqn.primitive.name
    shape = eqn.invars[0].aval.shape if eqn.invars else ()
    if kind in ("dynamic_slice", "dynamic_update_slice"):
        first = 1 if kind == "dynamic_slice" else 2
        sizes = eqn.params["slice_sizes"] if first == 1 else eqn.invars[1].aval.shape
        axes = range(len(shape))
        starts = values[first : first + len(shape)]
    elif kind == "gather" or kind.startswith("scatter"):
        numbers = eqn.params["dimension_numbers"]
        axes = [
            int(a)
            for a in (
                numbers.start_index_map
                if kind == "gather"
                else numbers.scatter_dims_to_operand_dims
            )
        ]
        sizes = eqn.params["slice_sizes"] if kind == "gather" else scatter_sizes(eqn, shape)
        starts = [None if values[1] is None else values[1][..., i] for i in range(len(axes))]
    else:
        return
    for axis, start in zip(axes, starts, strict=True):
        if start is not None:
            yield np.atleast_1d(start), shape[axis], sizes[axis]


def scatter_sizes(eqn: Any, shape: Any) -> Any:
    """How many entries a scatter writes along each axis."""
    numbers, updates = eqn.params["dimension_numbers"], eqn.invars[2].aval.shape
    single = {*map(int, numbers.inserted_window_dims), *map(int, numbers.operand_batching_dims)}
    window = iter(numbers.update_window_dims)
    return [1 if axis in single else updates[next(window)] for axis in range(len(shape))]


def is_meant(eqn: Any, call: Any) -> bool:
    """Whether what happens out of range was asked for, by `mode`.

    A plain index reads without a mode (`dynamic_slice`, which `vmap` makes a gather that collapses
    no axis; with an array of indices, a gather that promises). To leave out is what `at[...].set`
    and `take` do of themselves, so there it is the user's line that tells.
    """
    if eqn.primitive.name in ("dynamic_slice", "dynamic_update_slice"):
        return False
    mode = eqn.params["mode"]
    if mode == GatherScatterMode.CLIP:
        return eqn.primitive.name != "gather" or bool(
            eqn.params["dimension_numbers"].collapsed_slice_dims
        )
    if mode != GatherScatterMode.FILL_OR_DROP:
        return False
    text = line(call)
    if eqn.primitive.name == "gather":
        fill = eqn.params["fill_value"]
        # NaN is seen without help, where the line cannot be read.
        return (fill is not None and fill == fill) or "mode" in text or not text
    return "mode" in text


def line(call: Any) -> str:
    """The user's line, with those after it that its brackets reach to; "" where there is no file to
    read.
    """
    frame, text = user_frame(call), ""
    if frame is None:
        return text
    for number in range(frame.line_num, frame.line_num + LINES):
        text += linecache.getline(frame.file_name, number)
        if text.count("(") <= text.count(")"):
            break
    return " ".join(text.split())


def words(name: str, index: Any, length: Any, room: Any, call: Any) -> str:
    given = index if index >= 0 else index - length
    where, text = place(call), line(call)
    return (
        f"{name} has the index {given}{f' for {room} entries' if room > 1 else ''}, out of range on"
        " an axis of length"
        f" {length}{f': {where}' if where else ''}{f', `{text}`' if text else ''}. JAX would take"
        " another entry without a word, and another system would be simulated. If that is meant,"
        " say what is to happen: jnp.take(a, i, mode='clip'), a.at[i].get(mode='fill',"
        " fill_value=0.0), a.at[i].set(x, mode='drop')."
    )
