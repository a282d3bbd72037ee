"""What the primitives of JAX are in SymPy, besides those that are the same for any scalars."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from accion.engines.arrays import Equation, ValueArray as Array, entries, unpack
from accion.engines.control_flow import called
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.primitives import STRUCTURE
from accion.engines.sums import found_by
from accion.symbols.algebra import Expressions, check_known
from accion.symbols.linear_algebra import (
    Undecided,
    cholesky,
    determinant,
    each,
    solve,
    triangular,
)
from accion.symbols.primitives import (
    ELEMENTWISE,
    as_number,
    first_largest,
    if_known,
    is_condition,
)
from accion.symbols.source_lines import Unknown, is_of_jax, is_used_by_jax

Run = Interpreter[Expressions]


def entrywise(f: Callable[..., Any]) -> Rule:
    """The rule of a primitive that is `f` of each entry."""
    return lambda run, equation, x: [run.each(f, *x)]


def matrices(f: Callable[..., Any]) -> Rule:
    """The rule of a primitive that is `f` of its parameters and of matrices."""

    def rule(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
        check_known(*x)
        return [each(lambda *A: f(equation.params, *A), *x)]

    return rule


def integer_power(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
    return [run.each(if_known(lambda a: a ** equation.params["y"]), x[0])]


def divide(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
    if not np.issubdtype(equation.outvars[0].aval.dtype, np.integer):
        return [run.each(if_known(lambda a, b: a / b), *x)]
    return [run.each(if_known(lambda a, b: sp.sign(a / b) * sp.floor(sp.Abs(a / b))), *x)]


def convert(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
    kind = np.dtype(equation.params["new_dtype"])
    if np.issubdtype(kind, np.floating):
        return [run.each(if_known(as_number), x[0])]
    if np.issubdtype(kind, np.bool_):
        return [run.each(if_known(lambda a: a if is_condition(a) else sp.Ne(a, 0)), x[0])]
    if not np.issubdtype(kind, np.integer):
        raise Undecided(f"numbers of type {kind} are not real")

    def whole(a: Any) -> Any:
        a = as_number(a)
        return a if a.is_integer else sp.sign(a) * sp.floor(sp.Abs(a))

    return [run.each(if_known(whole), x[0])]


def stop_gradient(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
    """Nothing in JAX's own functions, which use it where the derivative is the same; a user's own
    means another derivative.
    """
    letters = any(not isinstance(a, Unknown) and a.free_symbols for a in entries(x))
    if letters and not is_used_by_jax(equation, "stop_gradient"):
        raise Undecided("its derivative would not be that of its value")
    return x


def called_by_name(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
    """A call; some functions of JAX are known by their names."""
    name = (equation.params.get("name"), len(x))
    # Its derivatives go by the same name, with other numbers of arguments and results.
    if name in NAMED and len(equation.outvars) == 1 and is_of_jax(equation.params["jaxpr"]):
        return NAMED[name](run, equation, x)
    return called(run, equation, x)


def linear_solve(run: Run, equation: Equation, x: list[Array]) -> list[Array]:
    """x with A x = b. The matrix is read off `matvec`; how JAX factors it does not matter."""
    sizes, matvec = equation.params["const_lengths"], equation.params["jaxprs"].matvec
    consts, b = x[: sizes.matvec], x[sum(sizes) :]
    check_known(*consts, *b)
    shapes, n = [y.shape for y in b], sum(y.size for y in b)
    identity, A = run.constant(np.eye(n, dtype=int)), sp.zeros(n, n)
    for j in range(n):
        image = run.call(matvec, [*consts, *unpack(identity[j].tolist(), shapes)])
        check_known(*image)
        A[:, j] = sp.Matrix(entries(image))
    return unpack(list(solve(A, sp.Matrix(entries(b)))), shapes)


def first(algebra: Expressions, row: Sequence[Any], least: bool) -> Any:
    """The index of the first largest entry, or of the first of the least."""
    unknown = next((a for a in row if isinstance(a, Unknown)), None)
    if unknown is not None:
        return unknown
    return first_largest([-a for a in row] if least else row)


# Functions of jax.numpy, with the number of their arguments, that are simpler than what they are
# made of.
NAMED: dict[Any, Rule] = {
    ("hypot", 2): entrywise(if_known(lambda a, b: sp.sqrt(a**2 + b**2))),
    ("det", 1): matrices(lambda params, A: determinant(A)),
}
RULES: dict[str, Rule] = {
    **STRUCTURE,
    **{name: entrywise(f) for name, f in ELEMENTWISE.items()},
    "integer_pow": integer_power,
    "div": divide,
    "convert_element_type": convert,
    "stop_gradient": stop_gradient,
    "argmax": found_by(first),
    "argmin": found_by(first),
    "pjit": called_by_name,
    "jit": called_by_name,
    "custom_linear_solve": linear_solve,
    "cholesky": matrices(lambda params, A: cholesky(A)),
    "triangular_solve": matrices(lambda params, A, b: triangular(A, b, params)),
}
