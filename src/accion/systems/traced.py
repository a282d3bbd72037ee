"""A function of the user as it was when a system was built: its operations, traced once.

From then on nobody calls the function: what is evaluated, differentiated, compiled and printed are
its operations. Numbers that it closed over are copied and compiled in; those that JAX was tracing
at the time, as under `grad` and `vmap`, are leaves of a pytree: derivatives go through them.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer, eval_jaxpr
from jax.extend.core import jaxpr_as_fun

from accion.jaxprs import without_constants
from accion.systems.content import Content, content_of
from accion.systems.indices import check_indices
from accion.systems.mistakes import not_evaluable
from accion.systems.origin import functions_in, is_of_jax, operations
from accion.systems.owned import copied, is_float, owned
from accion.systems.tree import join, split

# Under another value of it JAX remembers nothing that it traced before.
make_context: Any = getattr(jax, "make_user_context", None)
ANEW = nullcontext if make_context is None else make_context(None)
occasions = count(1)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """What a function does at arguments of one structure. Two are equal if they do the same."""

    name: str  # what the user knows it by
    takes: str  # its arguments, in words
    jaxpr: Any  # of (own numbers, arguments, numbers of params)
    constants: tuple[Any, ...]  # None where a leaf stands
    inputs: Any  # the structure of the arguments before params
    frame: Any  # that of params, with what is not a number
    shapes: tuple[tuple[int, ...], ...]  # of the arguments and the numbers of params
    out: Any  # what is returned, in shape and type
    # how the function is put together from its own numbers; kept to be traced again
    source: Any
    content: Content

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """All that is compared."""
        leaves = tuple(constant is None for constant in self.constants)
        outs = jax.tree.structure(self.out)
        return self.content, leaves, self.inputs, self.frame, outs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self is other or self.identity == other.identity

    @cached_property
    def hashed(self) -> int:
        return hash(self.content.digest)

    def __hash__(self) -> int:
        return self.hashed

    def fitted(self, arguments: tuple[Any, ...]) -> list[Any] | None:
        """The numbers in arguments like those that it was traced at, None where they are others."""
        *before, params = arguments
        try:
            given = self.inputs.flatten_up_to(tuple(before))
            numbers, frame = split(params)
            values = [as_float(x) for x in (*given, *numbers)]
        except (TypeError, ValueError):
            return None
        same = frame == self.frame and len(values) == len(self.shapes)
        same = same and all(
            np.shape(x) == shape for x, shape in zip(values, self.shapes, strict=True)
        )
        return values if same else None


def as_float(x: Any) -> Any:
    """A number or an array of them as float64, as JAX has it in a trace."""
    if isinstance(x, int | float):
        return np.float64(x)
    dtype = getattr(x, "dtype", None)
    if dtype == np.float64:
        return x
    if dtype is not None and dtype.kind not in "fiu":
        raise TypeError(f"{dtype} is not real")
    return jnp.asarray(x, dtype=float)


class TracedFunction:
    """A function as it was when it was traced: a pytree, whose leaves are the numbers of the
    function's own, where it is one, and what JAX was tracing when it was built.

    Called with arguments of another structure, or of other shapes, the user's function is asked
    again.
    """

    def __init__(self, trace: Trace, own: tuple[Any, ...], held: tuple[Any, ...]) -> None:
        self.trace, self.own, self.held = trace, own, held

    def __repr__(self) -> str:
        return f"<{self.trace.name}, traced>"

    @property
    def out(self) -> Any:
        """What it returns, in shape and type."""
        return self.trace.out

    @property
    def source(self) -> Callable[..., Any]:
        """The function of the user, with the numbers that it has here."""
        return join(self.own, self.trace.source)

    def __call__(self, *arguments: Any) -> Any:
        trace = self.trace
        values = trace.fitted(arguments)
        if values is None:
            return self.source(*arguments)
        found = eval_jaxpr(trace.jaxpr, self.constants, *self.own, *values)
        # What does not depend on the arguments is a constant, which is NumPy's.
        found = [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in found]
        return jax.tree.unflatten(jax.tree.structure(trace.out), found)

    @property
    def constants(self) -> list[Any]:
        """The values of the constants of its operations."""
        held = iter(self.held)
        return [next(held) if c is None else c for c in self.trace.constants]

    def fits(self, examples: tuple[Any, ...]) -> bool:
        """Whether it was traced at arguments like these."""
        return self.trace.fitted(jax.tree.map(zeros, examples)) is not None

    # A copy is the same: nothing in it changes.

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        examples = (*jax.tree.unflatten(self.trace.inputs, self.shaped()[0]), self.shaped()[1])
        trace = self.trace
        return revived, (trace.name, self.source, examples, trace.takes, trace.content.digest)

    def shaped(self) -> tuple[list[Any], Any]:
        """Examples of its arguments, and of params."""
        count, shapes = self.trace.inputs.num_leaves, list(map(number, self.trace.shapes))
        return shapes[:count], join(shapes[count:], self.trace.frame)


jax.tree_util.register_pytree_node(
    TracedFunction,
    lambda f: ((*f.own, *f.held), (f.trace, len(f.own))),
    lambda aux, leaves: TracedFunction(aux[0], tuple(leaves[: aux[1]]), tuple(leaves[aux[1] :])),
)


def number(shape: tuple[int, ...] = ()) -> jax.ShapeDtypeStruct:
    """An example of an argument: float64 of this shape."""
    return jax.ShapeDtypeStruct(shape, np.dtype(np.float64))


def zeros(leaf: Any) -> Any:
    return np.zeros(leaf.shape) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf


def revived(
    name: str, f: Callable[..., Any], examples: tuple[Any, ...], takes: str, digest: str
) -> TracedFunction:
    """A traced function that was sent to another process: traced there, and compared."""
    found = traced(name, f, examples, takes)
    if found.trace.content.digest != digest:
        raise ValueError(
            f"{name} is not what it was when its system was built: something that it uses has"
            " changed since. Build the system again."
        )
    return found


def traced(
    name: str, f: Callable[..., Any], examples: tuple[Any, ...], takes: str
) -> TracedFunction:
    """The function `f`, traced at arguments like the `examples`, of which params are the last.

    Arguments:
        name: what the user calls it.
        f: the function; if it is a pytree, its floating point numbers stay leaves.
        examples: pytrees of `jax.ShapeDtypeStruct`; in params also texts, switches and functions.
        takes: its arguments, in words.

    Raises:
        ValueError: if it cannot be evaluated, or has a constant index that is out of range.
    """
    own, source = split(f, is_float)
    own = tuple(map(as_own, own))
    *before, params = examples
    given, inputs = jax.tree.flatten(tuple(before))
    numbers, frame = split(params, is_example)
    shapes = [jax.ShapeDtypeStruct(np.shape(a), jnp.result_type(a)) for a in own]

    def flat(own: Any, given: Any, numbers: Any) -> Any:
        return join(own, source)(*jax.tree.unflatten(inputs, given), join(numbers, frame))

    try:
        closed, out = operations_of(flat, shapes, given, numbers)
    except Exception as error:
        not_evaluable(name, error, takes)
    check_indices(name, closed)
    jaxpr = owned(without_constants(closed))
    held = tuple(c for c in closed.consts if isinstance(c, Tracer))
    constants = tuple(None if isinstance(c, Tracer) else copied(c) for c in closed.consts)
    content = content_of(jaxpr, constants, *derivatives(closed))
    sizes = tuple(tuple(x.shape) for x in (*given, *numbers))
    trace = Trace(name, takes, jaxpr, constants, inputs, frame, sizes, out, source, content)
    return TracedFunction(trace, own, held)


def is_example(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def as_own(value: Any) -> Any:
    """A number of a function that is a pytree, as an array that nobody else can change."""
    return value if isinstance(value, Tracer | jax.Array) else copied(np.asarray(value))


def operations_of(f: Callable[..., Any], *shapes: Any) -> tuple[Any, Any]:
    """The operations of `f`, and what it returns in shape and type.

    JAX remembers what it traced by the function, however the numbers have changed that the function
    uses: so it is given a new one each time. Of functions inside it (of a loop, a branch, or what
    the user compiled) this is not enough.
    """

    def new(*arguments: Any) -> Any:
        return f(*arguments)

    closed, out = jax.make_jaxpr(new, return_shape=True)(*shapes)
    if all(is_of_jax(inner) for eqn in operations(closed) for inner in functions_in(eqn)):
        return closed, out

    def newer(*arguments: Any) -> Any:
        return f(*arguments)

    with ANEW(next(occasions)):
        return jax.make_jaxpr(newer, return_shape=True)(*shapes)


def derivatives(closed: Any) -> list[Any]:
    """First and second derivatives of a traced function that holds rules of its own for them, whose
    content they are; and so that the rules, functions of the user, are traced, too.
    """
    if not any(eqn.primitive.name.startswith("custom_") for eqn in operations(closed)):
        return []
    f = jaxpr_as_fun(closed)
    xs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in closed.in_avals]
    ws = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in closed.out_avals]

    def first(xs: Any, ws: Any) -> Any:
        return jax.vjp(f, *xs)[1](ws)

    def second(xs: Any, ws: Any, dxs: Any) -> Any:
        return jax.jvp(lambda xs: first(xs, ws), (xs,), (dxs,))

    try:
        found = jax.make_jaxpr(first)(xs, ws), jax.make_jaxpr(second)(xs, ws, xs)
    except Exception:
        # Whoever needs a derivative will hear of it; until then the function is like no other.
        return [object()]
    return [
        (without_constants(each), [c for c in each.consts if not isinstance(c, Tracer)])
        for each in found
    ]
