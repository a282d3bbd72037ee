"""Which engine runs a function, and the programs that were made.

Native where nothing is traced, llvmlite is installed, and the program is small; else XLA. A program
is kept for arguments of the same structure: pytrees, shapes, and what the functions inside a system
were traced to.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from threading import Lock
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from accion.engines.xla import kept_jit, kept_jit_of

ENGINES = ("auto", "native", "xla")
# numbers that a native program is given; beyond, there are too many values at once for LLVM
LARGEST = 512
PROGRAMS = 256  # that are remembered; beyond, those that were used longest ago are made again
STRICT = False  # whether an error of the native engine itself is raised, or XLA serves

AVAILABLE = find_spec("llvmlite") is not None
programs: OrderedDict[Any, Any] = OrderedDict()
lock = Lock()


def check_engine(engine: str) -> None:
    """Look whether there is such an engine.

    Raises: ValueError where it is not known, or not installed.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}; got {engine!r}.")
    if engine == "native" and not AVAILABLE:
        raise ValueError(
            "engine='native' needs llvmlite, which is not installed: pip install llvmlite, or"
            " engine='xla'."
        )


def signature(args: Any) -> Any:
    """What a program is kept by: structure, shapes and types, not numbers."""
    leaves, tree = jax.tree.flatten(args)
    return tree, tuple(
        (aval.shape, aval.dtype.char, aval.weak_type) for aval in map(jax.typeof, leaves)
    )


def size(args: Any) -> int:
    """How many numbers a pytree has."""
    return sum(int(np.prod(np.shape(leaf), dtype=int)) for leaf in jax.tree.leaves(args))


def native(
    make: str, name: Any, f: Callable[..., Any], *examples: Any, engine: str = "auto"
) -> Any:
    """The native program `make(f, *examples)`, kept under `name`, or None where XLA must serve.

    Arguments: `make`, "compiled" or "folded", a function of `engines.native`; `name`, which tells
    apart functions that take arguments of the same structure, and is all that is compared of `f`.
    Raises: ValueError where `engine` is "native" and it does not serve.
    """
    if engine == "xla" or not AVAILABLE:
        return None
    # llvmlite is imported where it is wanted
    from accion.engines.errors import Traced, Unsupported
    from accion.engines.native import compiled, folded

    if size(examples) > LARGEST:
        found: Any = f"more than {LARGEST} numbers"
    else:
        key = (make, name, signature(examples))
        with lock:
            found = programs.get(key)
            if found is not None:
                programs.move_to_end(key)
        if found is None:
            try:
                found = {"compiled": compiled, "folded": folded}[make](f, *examples)
            except Unsupported as error:
                found = str(error)
            except Traced:
                return None
            except Exception as error:
                # An error of the user's function is raised once more by XLA. One of this engine
                # shall not be in the way of a result; tests see it.
                if STRICT or engine == "native":
                    raise
                found = f"what raises {type(error).__name__}: {error}"
            with lock:
                programs[key] = found
                while len(programs) > PROGRAMS:
                    programs.popitem(last=False)
    if not isinstance(found, str):
        return found
    if engine == "native":
        raise ValueError(f"engine='native' does not know {found}; try engine='xla'.")
    return None


def callable_of(
    name: Any, f: Callable[..., Any], *examples: Any, engine: str = "auto"
) -> Callable[..., Any]:
    """`f` for arguments like the examples, by the engine that serves."""
    return native("compiled", name, f, *examples, engine=engine) or kept_jit_of(f)


def small_jit(f: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.jit` for functions of a few numbers: native where nothing is traced and the program is
    small.
    """
    compiled = kept_jit(f)

    @wraps(f)
    def call(*args: Any) -> Any:
        # Not by `compiled`: what is traced is compiled with all that is around it.
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(args)):
            return f(*args)
        program = native("compiled", f, f, *args)
        return compiled(*args) if program is None else jax.tree.map(jax.device_put, program(*args))

    return call


def small_map(
    f: Callable[[Any, Any], Any], sizes: Sequence[int] | None = None
) -> Callable[[Any, Any], Any]:
    """The function (constants, rows) that is `f(constants, row)` for each row, along a new first
    axis of its results.

    Native, one row after the other, where it serves; else by XLA, all rows at once or in batches of
    `sizes`, see `in_batches`.
    """
    all_rows = kept_jit(jax.vmap(f, (None, 0)))

    def call(constants: Any, rows: Any) -> Any:
        leaves = jax.tree.leaves(rows)
        if any(isinstance(leaf, Tracer) for leaf in (*leaves, *jax.tree.leaves(constants))):
            return all_rows(constants, rows)
        if not len(leaves[0]):
            return all_rows(constants, rows)
        row = jax.tree.map(lambda a: np.asarray(a)[0], rows)
        program = native(
            "folded", f, lambda constants, _, row: ((), f(constants, row)), constants, (), row
        )
        if program is not None:
            return program(constants, (), rows, len(leaves[0]))[1]
        if sizes is None:
            return all_rows(constants, rows)
        return in_batches(all_rows, sizes, constants, rows)

    return call


def in_batches(
    f: Callable[[Any, Any], Any], sizes: Sequence[int], constants: Any, rows: Any
) -> Any:
    """`f(constants, rows)` on some rows at a time, the last repeated to fill the last batch: as
    many as the least of `sizes` that holds all, else the largest. So numbers of rows share what XLA
    compiles.
    """
    count = len(jax.tree.leaves(rows)[0])
    size = next((size for size in sizes if count <= size), sizes[-1])
    found = []
    for first in range(0, count, size):
        chosen = np.minimum(np.arange(first, first + size), count - 1)
        batch = jax.tree.map(lambda a, chosen=chosen: np.asarray(a)[chosen], rows)
        found.append(f(constants, batch))
    return jax.tree.map(lambda *a: np.concatenate([np.asarray(b) for b in a])[:count], *found)
