"""From a JAX function to SymPy: its operations (the jaxpr), carried out on arrays of
expressions.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
import sympy as sp
from jax.extend.core import ClosedJaxpr, Literal

from accion.errors import Untranslatable
from accion.symbols.linear_algebra import Undecided, cholesky, determinant, each, solve, triangular
from accion.symbols.exact_numbers import exact
from accion.symbols.source_lines import Unknown, is_of_jax, is_used_by_jax, located, place
from accion.symbols.primitives import CUMULATIVE, ELEMENTWISE, REDUCTIONS, as_number, is_condition

LONGEST_LOOP = 10_000
# operations in an expression; a loop that uses its state twice doubles it in each turn
LARGEST = 50_000


def translate(f, *arguments):
    """What `f` returns, as a NumPy array of SymPy expressions, or a pytree of them.

    `arguments` are arrays (or pytrees) of expressions; `f` is any function that JAX can trace at
    arrays of those shapes.
    """
    leaves, tree = jax.tree.flatten(arguments)
    leaves = [np.asarray(leaf, dtype=object) for leaf in leaves]
    shapes = [jax.ShapeDtypeStruct(leaf.shape, np.dtype(np.float64)) for leaf in leaves]
    closed, out = jax.make_jaxpr(f, return_shape=True)(*jax.tree.unflatten(tree, shapes))
    values = evaluate(closed, leaves)
    for value in values:
        if isinstance(value, Unknown):
            where = f" ({value.where})" if value.where else ""
            raise Untranslatable(
                f"the operation `{value.primitive}`{where} cannot be written as an expression:"
                f" {value.reason}."
            )
    return jax.tree.unflatten(jax.tree.structure(out), values)


def numbers(array) -> Any:
    """An array of numbers as exact SymPy numbers."""
    array = np.asarray(array)
    if np.iscomplexobj(array):
        return Unknown("complex", None, "complex numbers are not real")
    out = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        out[index] = exact(array[index])
    return out


def evaluate(closed, arguments):
    """The outputs of a (closed) jaxpr."""
    jaxpr, consts = (
        (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, [])
    )
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, map(numbers, consts), strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom):
        return numbers(atom.val) if isinstance(atom, Literal) else known[atom]

    for eqn in jaxpr.eqns:
        outs = [limited(out, eqn) for out in apply(eqn, [read(atom) for atom in eqn.invars])]
        known.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


@lru_cache(maxsize=4 * LARGEST)
def size(expr):
    """The number of operations in an expression written out."""
    return 1 + sum(map(size, expr.args))


def limited(value, eqn):
    """`value`, unknown where it is too long to be of use."""
    if isinstance(value, Unknown):
        return located(value, eqn)
    if any(size(x) > LARGEST for x in value.flat):
        return Unknown(
            eqn.primitive.name, place(eqn), f"it would have more than {LARGEST} operations"
        )
    return value


def apply(eqn, arguments):
    """The outputs of one operation."""
    name = eqn.primitive.name
    rule = RULES.get(name)
    inner = next(
        (eqn.params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in eqn.params), None
    )
    if name in TRANSPARENT or (
        rule is None and inner is not None and name not in ("scan", "while")
    ):
        known = not any(isinstance(argument, Unknown) for argument in arguments)
        # Its derivatives go by the same name, with other numbers of arguments and results.
        if (
            known
            and is_of_jax(inner)
            and (eqn.params.get("name"), len(arguments)) in NAMED
            and len(eqn.outvars) == 1
        ):
            return [NAMED[eqn.params["name"], len(arguments)](*arguments)]
        return evaluate(inner, arguments)
    if name not in LENIENT:
        for argument in arguments:
            if isinstance(argument, Unknown):
                return [argument] * len(eqn.outvars)
    try:
        if rule is not None:
            return rule(eqn, *arguments)
        if name in ELEMENTWISE:
            return [elementwise(ELEMENTWISE[name], *arguments)]
        return [Unknown(name, place(eqn), "there is no SymPy counterpart")] * len(eqn.outvars)
    except Undecided as error:
        return [Unknown(name, place(eqn), str(error))] * len(eqn.outvars)


def elementwise(f: Callable[..., Any], *arrays):
    return np.asarray(np.frompyfunc(f, len(arrays), 1)(*arrays), dtype=object)


def plain(array):
    """An array of plain integers, or Undecided."""
    if not all(getattr(x, "is_Integer", False) for x in array.flat):
        raise Undecided("an index or a count depends on the variables")
    return np.array([int(x) for x in array.flat], dtype=np.int64).reshape(array.shape)


def decided(condition):
    if isinstance(condition, Unknown):
        raise Undecided(f"whether a loop goes on depends on `{condition.primitive}`")
    condition = condition.item()
    if condition in (sp.true, sp.false):
        return bool(condition)
    raise Undecided("whether a loop goes on depends on the variables")


def moved(eqn, *arguments, indices=()):
    """An operation that only moves entries about, done once on their numbers to see where they go;
    `indices` are arguments by value.
    """
    pool, stand_ins = [], []
    for i, argument in enumerate(arguments):
        if i in indices:
            stand_ins.append(plain(argument).astype(np.dtype(eqn.invars[i].aval.dtype)))
            continue
        stand_ins.append(
            np.arange(len(pool), len(pool) + argument.size, dtype=np.int64).reshape(argument.shape)
        )
        pool.extend(argument.flat)
    out = eqn.primitive.bind(*map(jax.numpy.asarray, stand_ins), **eqn.params)
    outs = out if eqn.primitive.multiple_results else [out]
    return [take(pool, np.asarray(o)) for o in outs]


def take(pool, where):
    out = np.empty(where.shape, dtype=object)
    for index in np.ndindex(where.shape):
        k = int(where[index])
        if not 0 <= k < len(pool):
            raise Undecided("an index is out of bounds")
        out[index] = pool[k]
    return out


def by_value(*positions):
    """A rule: move entries, with the arguments at `positions` taken by value."""
    return lambda eqn, *arguments: moved(eqn, *arguments, indices=positions)


def dynamic_slice(eqn, operand, *starts):
    return moved(eqn, operand, *starts, indices=range(1, 1 + len(starts)))


def dynamic_update_slice(eqn, operand, update, *starts):
    return moved(eqn, operand, update, *starts, indices=range(2, 2 + len(starts)))


def scatter_add(eqn, operand, indices, updates):
    """Where each update lands is seen by sending them one at a time."""
    where = jax.numpy.asarray(plain(indices).astype(np.dtype(eqn.invars[1].aval.dtype)))
    zero = jax.numpy.zeros(operand.shape)
    out = operand.copy()
    for index in np.ndindex(updates.shape):
        one = jax.numpy.zeros(updates.shape).at[index].set(1.0)
        for target in np.argwhere(np.asarray(eqn.primitive.bind(zero, where, one, **eqn.params))):
            out[tuple(target)] += updates[index]
    return [out]


def broadcast_in_dim(eqn, operand, *_):
    shape = eqn.params["shape"]
    middle = [1] * len(shape)
    for axis, target in enumerate(eqn.params["broadcast_dimensions"]):
        middle[target] = operand.shape[axis]
    return [np.broadcast_to(operand.reshape(middle), shape)]


def slice_(eqn, operand):
    starts, limits, strides = (
        eqn.params[key] for key in ("start_indices", "limit_indices", "strides")
    )
    return [operand[tuple(map(slice, starts, limits, strides or [1] * operand.ndim))]]


def dot_general(eqn, x, y):
    (cx, cy), (bx, by) = eqn.params["dimension_numbers"]
    free_x = [i for i in range(x.ndim) if i not in (*cx, *bx)]
    free_y = [i for i in range(y.ndim) if i not in (*cy, *by)]
    batch = [x.shape[i] for i in bx]
    shape = batch + [x.shape[i] for i in free_x] + [y.shape[i] for i in free_y]
    size = int(np.prod([x.shape[i] for i in cx], dtype=int))
    X = x.transpose([*bx, *free_x, *cx]).reshape(int(np.prod(batch, dtype=int)), -1, size)
    Y = y.transpose([*by, *free_y, *cy]).reshape(int(np.prod(batch, dtype=int)), -1, size)
    out = np.empty((X.shape[0], X.shape[1], Y.shape[1]), dtype=object)
    for b, i, j in np.ndindex(out.shape):
        out[b, i, j] = sp.Add(*(p * q for p, q in zip(X[b, i], Y[b, j], strict=True)))
    return [out.reshape(shape)]


def reduction(f):
    def rule(eqn, x):
        axes = eqn.params["axes"]
        rest = [i for i in range(x.ndim) if i not in axes]
        rows = x.transpose([*rest, *axes]).reshape(
            int(np.prod([x.shape[i] for i in rest], dtype=int)), -1
        )
        out = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            out[i] = f(row)
        return [out.reshape([x.shape[i] for i in rest])]

    return rule


def cumulative(f):
    def rule(eqn, x):
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        rows = np.moveaxis(x, axis, -1)
        rows = rows[..., ::-1] if reverse else rows
        out = np.empty(rows.shape, dtype=object)
        for index in np.ndindex(rows.shape):
            out[index] = f(rows[index[:-1]][: index[-1] + 1])
        return [np.moveaxis(out[..., ::-1] if reverse else out, -1, axis)]

    return rule


def divide(eqn, x, y):
    if not np.issubdtype(eqn.outvars[0].aval.dtype, np.integer):
        return [elementwise(lambda a, b: a / b, x, y)]
    return [elementwise(lambda a, b: sp.sign(a / b) * sp.floor(sp.Abs(a / b)), x, y)]


def convert(eqn, x):
    kind = np.dtype(eqn.params["new_dtype"])
    if np.issubdtype(kind, np.floating):
        return [elementwise(as_number, x)]
    if np.issubdtype(kind, np.bool_):
        return [elementwise(lambda a: a if is_condition(a) else sp.Ne(a, 0), x)]
    if np.issubdtype(kind, np.integer):
        return [
            elementwise(
                lambda a: sp.sign(a) * sp.floor(sp.Abs(a)) if not a.is_integer else a,
                elementwise(as_number, x),
            )
        ]
    raise Undecided(f"numbers of type {kind} are not real")


def iota(eqn, *_):
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    return [
        numbers(
            np.broadcast_to(
                np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]),
                shape,
            )
        )
    ]


def linear_solve(eqn, *arguments):
    """x with A x = b. The matrix is read off `matvec`; how JAX factors it does not matter."""
    sizes, functions = eqn.params["const_lengths"], eqn.params["jaxprs"]
    matvec, b = functions.matvec, arguments[sum(sizes) :]
    consts = arguments[: sizes.matvec]
    for argument in (*consts, *b):
        if isinstance(argument, Unknown):
            return [argument] * len(eqn.outvars)
    shapes = [x.shape for x in b]
    n = sum(x.size for x in b)

    def image(column):
        parts = np.split(column, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
        outs = evaluate(
            matvec, [*consts, *(part.reshape(s) for part, s in zip(parts, shapes, strict=True))]
        )
        return np.concatenate([out.reshape(-1) for out in outs])

    identity = numbers(np.eye(n, dtype=int))
    A = sp.Matrix(n, n, lambda i, j: 0)
    for j in range(n):
        A[:, j] = sp.Matrix(image(identity[j]))
    x = np.array(
        solve(A, sp.Matrix(np.concatenate([x.reshape(-1) for x in b]))), dtype=object
    ).reshape(-1)
    parts = np.split(x, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
    return [part.reshape(s) for part, s in zip(parts, shapes, strict=True)]


def scan(eqn, *arguments):
    p = eqn.params
    consts, carry, xs = np.split(
        np.arange(len(arguments)), [p["num_consts"], p["num_consts"] + p["num_carry"]]
    )
    fixed, state = [arguments[i] for i in consts], [arguments[i] for i in carry]
    if p["length"] > LONGEST_LOOP:
        raise Undecided(f"a loop of {p['length']} turns is too long to write out")
    rows = []
    for k in range(p["length"])[:: -1 if p["reverse"] else 1]:
        outs = evaluate(
            p["jaxpr"], [*fixed, *state, *(np.asarray(arguments[i][k], dtype=object) for i in xs)]
        )
        state, ys = outs[: len(carry)], outs[len(carry) :]
        rows.append(ys)
    rows = rows[:: -1 if p["reverse"] else 1]
    return [*state, *(stack(column) for column in zip(*rows, strict=True))]


def stack(column):
    bad = next((x for x in column if isinstance(x, Unknown)), None)
    return bad if bad is not None else np.stack(column)


def while_(eqn, *arguments):
    p = eqn.params
    a, b = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    state = list(arguments[b:])
    for _ in range(LONGEST_LOOP):
        if not decided(evaluate(p["cond_jaxpr"], [*arguments[:a], *state])[0]):
            return state
        state = evaluate(p["body_jaxpr"], [*arguments[a:b], *state])
    raise Undecided(f"a loop of more than {LONGEST_LOOP} turns is too long to write out")


def cond(eqn, which, *arguments):
    branches = eqn.params["branches"]
    if which.item().is_Integer:
        return evaluate(branches[int(which.item())], arguments)
    if which.item() in (sp.true, sp.false):
        return evaluate(branches[1 if which.item() == sp.true else 0], arguments)
    outs = [evaluate(branch, arguments) for branch in branches]
    return [choose(which, cases) for cases in zip(*outs, strict=True)]


def choose(which, cases):
    bad = next((case for case in cases if isinstance(case, Unknown)), None)
    return (
        bad
        if bad is not None
        else elementwise(ELEMENTWISE["select_n"], np.broadcast_to(which, cases[0].shape), *cases)
    )


def stop_gradient(eqn, x):
    """Nothing in JAX's own functions, which use it where the derivative is the same; a user's own
    means another derivative.
    """
    if any(a.free_symbols for a in x.flat) and not is_used_by_jax(eqn, "stop_gradient"):
        raise Undecided("its derivative would not be that of its value")
    return [x]


def platform_index(eqn):
    platforms = eqn.params["platforms"]
    return [
        numbers(
            np.asarray(
                next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
            )
        )
    ]


TRANSPARENT = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "remat",
    "checkpoint",
}
LENIENT = {"custom_linear_solve"}  # looks at what it needs only
# Functions of jax.numpy, with the number of their arguments, that are simpler than what they are
# made of.
NAMED = {
    ("hypot", 2): lambda x, y: elementwise(lambda a, b: sp.sqrt(a**2 + b**2), x, y),
    ("det", 1): lambda A: each(determinant, A),
}
RULES: dict[str, Any] = {
    "broadcast_in_dim": broadcast_in_dim,
    "reshape": lambda eqn, x, *_: [x.reshape(eqn.params["new_sizes"])],
    "squeeze": lambda eqn, x: [x.reshape(eqn.outvars[0].aval.shape)],
    "expand_dims": lambda eqn, x: [x.reshape(eqn.outvars[0].aval.shape)],
    "transpose": lambda eqn, x: [x.transpose(eqn.params["permutation"])],
    "slice": slice_,
    "rev": lambda eqn, x: [np.flip(x, eqn.params["dimensions"])],
    "concatenate": lambda eqn, *xs: [np.concatenate(xs, axis=eqn.params["dimension"])],
    "split": by_value(),
    "stack": by_value(),
    "unstack": by_value(),
    "tile": by_value(),
    "device_put": lambda eqn, *xs: list(xs),
    "optimization_barrier": lambda eqn, *xs: list(xs),
    "pad": by_value(),
    "gather": by_value(1),
    "scatter": by_value(1),
    "scatter-add": scatter_add,
    "scatter_add": scatter_add,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "integer_pow": lambda eqn, x: [elementwise(lambda a: a ** eqn.params["y"], x)],
    "dot_general": dot_general,
    "div": divide,
    "convert_element_type": convert,
    "iota": iota,
    "custom_linear_solve": linear_solve,
    "cholesky": lambda eqn, A: [each(cholesky, A)],
    "triangular_solve": lambda eqn, A, b: [each(lambda T, c: triangular(T, c, eqn.params), A, b)],
    "stop_gradient": stop_gradient,
    "scan": scan,
    "while": while_,
    "cond": cond,
    "platform_index": platform_index,
    **{name: reduction(f) for name, f in REDUCTIONS.items()},
    **{name: cumulative(f) for name, f in CUMULATIVE.items()},
}
