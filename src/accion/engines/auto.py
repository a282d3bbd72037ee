"""Which engine runs a function, and the programs that were made.

Native where nothing is traced, llvmlite is installed, and the program is small; else XLA. A program
is kept for arguments of the same structure: pytrees, shapes, and what the functions inside a system
were traced to.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import wraps
from importlib.util import find_spec
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
from jax.core import Tracer
from jax.tree_util import tree_flatten

from accion.arguments import one_of
from accion.engines.xla import kept_jit, kept_jit_of
from accion.once import OncePerObject

P = ParamSpec("P")
T = TypeVar("T")
ENGINES = ("auto", "native", "xla")
# numbers that a native program is given; beyond, there are too many values at once for LLVM
LARGEST = 512
PROGRAMS = 256  # that are remembered; beyond, those that were used longest ago are made again
STRICT = False  # whether an error of the native engine itself is raised, or XLA serves

AVAILABLE = find_spec("llvmlite") is not None
CHOSEN: ContextVar[str] = ContextVar("CHOSEN", default="auto")
programs: OrderedDict[Any, Any] = OrderedDict()
lock = Lock()


def check_engine(engine: Any, name: str = "engine") -> str:
    """The engine of this name.

    Raises: ValueError where it is not known, or not installed.
    """
    one_of(*ENGINES)(engine, name)
    if engine == "native" and not AVAILABLE:
        raise ValueError(
            "engine='native' needs llvmlite, which is not installed: pip install llvmlite, or"
            " engine='xla'."
        )
    return engine


@contextmanager
def using(engine: str) -> Iterator[None]:
    """Inside it this engine serves wherever none other is asked for."""
    token = CHOSEN.set(engine)
    try:
        yield
    finally:
        CHOSEN.reset(token)


def by_chosen_engine(f: Callable[P, T]) -> Callable[P, T]:
    """A decorator: all that is computed in `f` is by the engine that its argument of this name
    says.
    """

    @wraps(f)
    def call(*args: P.args, **named: P.kwargs) -> T:
        with using(check_engine(named.get("engine", "auto"))):
            return f(*args, **named)

    return call


def signature(args: Any) -> Any:
    """What a program is kept by: structure, shapes and types, not numbers."""
    leaves, tree = tree_flatten(args)
    return tree, tuple(map(type_of, leaves))


def type_of(leaf: Any) -> tuple[Any, ...]:
    """(shape, type, whether the type is that of a number of Python) of an argument."""
    if type(leaf) is np.ndarray or isinstance(leaf, np.generic):
        return leaf.shape, leaf.dtype.char, False
    if type(leaf) is int:
        return WHOLE
    aval = jax.typeof(leaf)
    return aval.shape, aval.dtype.char, aval.weak_type


WHOLE = (*type_of(np.int64(0))[:2], True)  # of a whole number of Python


def size(args: Any) -> int:
    """How many numbers a pytree has."""
    return size_of(signature(args))


def size_of(signed: Any) -> int:
    """The same of one with this signature."""
    return sum(math.prod(shape) for shape, *_ in signed[1])


def native(
    make: str, name: Any, f: Callable[..., Any], *examples: Any, engine: str = "auto"
) -> Any:
    """The native program `make(f, *examples)`, kept under `name`, or None where XLA must serve.

    Arguments: `make`, "compiled", "folded", "mapped" or "side_by_side", a function of
    `engines.native` or `engines.folds`; `name`, which tells apart functions that take arguments of
    the same structure, and is all that is compared of `f`.
    Raises: ValueError where `engine` is "native" and it does not serve.
    """
    engine = CHOSEN.get() if engine == "auto" else engine
    if engine == "xla" or not AVAILABLE:
        return None
    signed = signature(examples)
    key = (make, name, signed)
    with lock:
        found = programs.get(key)
        if found is not None:
            programs.move_to_end(key)
    if found is None:
        found = made_or_refused(make, f, examples, size_of(signed), STRICT or engine == "native")
        if found is None:
            return None
        with lock:
            programs[key] = found
            while len(programs) > PROGRAMS:
                programs.popitem(last=False)
    if not isinstance(found, str):
        return found
    if engine == "native":
        raise ValueError(f"engine='native' does not know {found}; try engine='xla'.")
    return None


# programs with the numbers of an object that lives long, by what tells them apart
BOUND = OncePerObject(lambda own: {})


def native_with(
    own: Any,
    make: str,
    name: Any,
    f: Callable[..., Any],
    *examples: Any,
    engine: str = "auto",
) -> Any:
    """`native` of a program whose first argument, or whose first constant in a fold, is `own`: an
    object whose numbers nobody changes, and nothing in which is traced. They are put into memory
    once, and the program takes the others.
    """
    engine = CHOSEN.get() if engine == "auto" else engine
    if engine == "xla" or not AVAILABLE:
        return None
    kept, key = BOUND(own), (make, name, engine, signature(examples))
    found = kept.get(key)
    if found is None:
        first, *rest = examples
        with_own = ((own, *first), *rest) if make == "folded" else (own, *examples)
        program = native(make, name, f, *with_own, engine=engine)
        if program is None:
            return None
        found = kept[key] = program.with_first(own)
    return found


def made_or_refused(
    make: str, f: Callable[..., Any], examples: Sequence[Any], numbers: int, strict: bool
) -> Any:
    """The native program `make(f, *examples)` of so many numbers, or the words of why there is
    none; None where JAX is tracing. Where it is `strict`, errors of this engine are raised.
    """
    # llvmlite is imported where it is wanted
    from accion.engines.errors import Traced, Unsupported
    from accion.engines.folds import folded, mapped, side_by_side
    from accion.engines.native import compile

    if numbers > LARGEST:
        return f"more than {LARGEST} numbers"
    makers = {
        "compiled": compile,
        "folded": folded,
        "mapped": mapped,
        "side_by_side": side_by_side,
    }
    try:
        return makers[make](f, *examples)
    except Unsupported as error:
        return str(error)
    except Traced:
        return None
    except Exception as error:
        # An error of the user's function is raised once more by XLA. One of this engine shall not
        # be in the way of a result; tests see it.
        if strict:
            raise
        return f"what raises {type(error).__name__}: {error}"


def callable_of(
    name: Any, f: Callable[..., Any], *examples: Any, engine: str = "auto"
) -> Callable[..., Any]:
    """`f` for arguments like the examples, by the engine that serves."""
    return native("compiled", name, f, *examples, engine=engine) or kept_jit_of(f)


def is_known(leaf: Any) -> bool:
    """Whether this is a number, or an array of them, that JAX is not tracing."""
    if isinstance(leaf, np.ndarray | np.generic | jax.Array):
        return not isinstance(leaf, Tracer) and leaf.dtype.kind in "fiub"
    return isinstance(leaf, int | float)


def called(name: Any, f: Callable[..., Any], *args: Any) -> Any:
    """`f(*args)`: of known numbers by a native program, if there is one, kept under `name`."""
    known = all(is_known(leaf) for leaf in jax.tree.leaves(args))
    program = native("compiled", name, f, *args) if known else None
    return f(*args) if program is None else jax.device_put(program(*args))


def by_program(f: Callable[P, T]) -> Callable[P, T]:
    """A decorator of methods of a pytree: calls with objects and arguments of the same structure
    share a native program.
    """

    whole: Callable[..., Any] = f

    @wraps(f)
    def call(*args: P.args, **named: P.kwargs) -> T:
        return called(f, lambda args, named: whole(*args, **named), args, named)

    return call


def by_program_of(f: Callable[..., Any], own: Any, *args: Any, **named: Any) -> Any:
    """`f(own, *args, **named)` in the same way, of a dataclass with a `system`, a pytree; its other
    fields are compared.
    """
    rest = tuple(getattr(own, field.name) for field in fields(own) if field.name != "system")

    def at(system: Any, args: Any, named: Any) -> Any:
        return f(replace(own, system=system), *args, **named)

    return called((f, type(own), rest), at, own.system, args, named)


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

    Native, some rows side by side, where it serves; else by XLA, all rows at once or in batches of
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
        program = native("mapped", f, f, constants, row)
        if program is not None:
            return program(constants, rows, len(leaves[0]))
        if sizes is None:
            return all_rows(constants, rows)
        return in_batches(all_rows, sizes, constants, rows)

    return call


def each(f: Callable[..., Any], *columns: Any) -> Any:
    """`f(*row)` for each row of the columns, along a new first axis of its results, by `small_map`:
    for what is asked for once.
    """
    return small_map(lambda _, row: f(*row))((), columns)


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
