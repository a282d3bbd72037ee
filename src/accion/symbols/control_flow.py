"""Loops, branches and linear equations of JAX: operations that hold functions of their own.

Each rule takes `evaluate`, which carries out such a function, before the operation and its
arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp
from jax.extend.core import JaxprEqn

from accion.symbols.array_operations import Expressions, elementwise, exact_array
from accion.symbols.linear_algebra import Undecided, solve
from accion.symbols.primitives import ELEMENTWISE
from accion.symbols.source_lines import Unknown

LONGEST_LOOP = 10_000
Evaluate = Callable[[Any, Sequence[Any]], list[Any]]


def decided(condition: Any) -> bool:
    """A condition as True or False; raises Undecided where it is not known."""
    if isinstance(condition, Unknown):
        raise Undecided(f"whether a loop goes on depends on `{condition.primitive}`")
    condition = condition.item()
    if condition in (sp.true, sp.false):
        return bool(condition)
    raise Undecided("whether a loop goes on depends on the variables")


def linear_solve(evaluate: Evaluate, eqn: JaxprEqn, *arguments: Any) -> list[Any]:
    """x with A x = b. The matrix is read off `matvec`; how JAX factors it does not matter."""
    sizes, functions = eqn.params["const_lengths"], eqn.params["jaxprs"]
    matvec, b = functions.matvec, arguments[sum(sizes) :]
    consts = arguments[: sizes.matvec]
    for argument in (*consts, *b):
        if isinstance(argument, Unknown):
            return [argument] * len(eqn.outvars)
    shapes = [x.shape for x in b]
    n = sum(x.size for x in b)

    def image(column: Expressions) -> Expressions:
        parts = np.split(column, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
        outs = evaluate(
            matvec, [*consts, *(part.reshape(s) for part, s in zip(parts, shapes, strict=True))]
        )
        return np.concatenate([out.reshape(-1) for out in outs])

    identity = exact_array(np.eye(n, dtype=int))
    A = sp.Matrix(n, n, lambda i, j: 0)
    for j in range(n):
        A[:, j] = sp.Matrix(image(identity[j]))
    x = np.array(
        solve(A, sp.Matrix(np.concatenate([x.reshape(-1) for x in b]))), dtype=object
    ).reshape(-1)
    parts = np.split(x, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
    return [part.reshape(s) for part, s in zip(parts, shapes, strict=True)]


def scan(evaluate: Evaluate, eqn: JaxprEqn, *arguments: Any) -> list[Any]:
    """A loop of known length, turn by turn."""
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


def stack(column: Sequence[Any]) -> Any:
    """Rows as one array; unknown where one of them is."""
    bad = next((x for x in column if isinstance(x, Unknown)), None)
    return bad if bad is not None else np.stack(column)


def while_(evaluate: Evaluate, eqn: JaxprEqn, *arguments: Any) -> list[Any]:
    """A loop that goes on while a condition holds, which must not depend on the variables."""
    p = eqn.params
    a, b = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    state = list(arguments[b:])
    for _ in range(LONGEST_LOOP):
        if not decided(evaluate(p["cond_jaxpr"], [*arguments[:a], *state])[0]):
            return state
        state = evaluate(p["body_jaxpr"], [*arguments[a:b], *state])
    raise Undecided(f"a loop of more than {LONGEST_LOOP} turns is too long to write out")


def cond(evaluate: Evaluate, eqn: JaxprEqn, which: Expressions, *arguments: Any) -> list[Any]:
    """One of several branches; a Piecewise where it is not known which."""
    branches = eqn.params["branches"]
    if which.item().is_Integer:
        return evaluate(branches[int(which.item())], arguments)
    if which.item() in (sp.true, sp.false):
        return evaluate(branches[1 if which.item() == sp.true else 0], arguments)
    outs = [evaluate(branch, arguments) for branch in branches]
    return [choose(which, cases) for cases in zip(*outs, strict=True)]


def choose(which: Expressions, cases: Sequence[Any]) -> Any:
    """cases[which], entry by entry; unknown where one of them is."""
    bad = next((case for case in cases if isinstance(case, Unknown)), None)
    if bad is not None:
        return bad
    return elementwise(ELEMENTWISE["select_n"], np.broadcast_to(which, cases[0].shape), *cases)


CONTROL_RULES: dict[str, Callable[..., list[Any]]] = {
    "custom_linear_solve": linear_solve,
    "scan": scan,
    "while": while_,
    "cond": cond,
}
