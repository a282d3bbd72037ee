"""A traced function of time in logarithms: its size at t, and by how much that changes until t +
tau, where the function itself is beyond floating point.

Each operation is carried out on a `Moving` value: x(t), x(t + tau) - x(t) without cancellation, and
the same of log |x|. Products, quotients, powers, exponentials and sums of them never leave the
logarithms; of any other operation they are those of the values at both ends. So

    exp(13 t)     has the logarithm 13 t, and between t and t + tau it changes by 13 tau

whatever t is: no digits are lost where t is large.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from accion.jaxprs import is_jaxpr, parts
from accion.numerics.moving import (
    Logs,
    Moving,
    added,
    constant,
    from_ends,
    grown,
    in_logs,
    multiplied,
)
from accion.numerics.products import apply

# What moves entries about, or changes their type, and nothing else.
MOVES = ("broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "rev", "copy", "copy_p")
# What calls a function, with the name of its parameter.
CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
CALLERS = ("pjit", "jit", "closed_call", "core_call", "remat", "checkpoint")
CUSTOM = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")


# ---------------------------------------------------------------- operations


def product(a: Moving, b: Moving) -> Moving:
    def logs() -> Logs:
        m, n = a.logs, b.logs
        return Logs(
            m.sign * n.sign, m.log + n.log, added(m.change, n.change), multiplied(m.flip, n.flip)
        )

    def change() -> Any:
        # Not by adding nothing: what is constant in time must not bring the time in.
        if not (a.moves and b.moves):
            return a.dx * b.x if a.moves else a.x * b.dx
        return a.dx * b.x + a.later * b.dx

    # As a plain number it is the product of plain numbers: a rate times a time has no logarithm.
    return Moving(
        lambda: a.x * b.x,
        change if a.moves or b.moves else None,
        None,
        logs if a.in_logs or b.in_logs else None,
    )


def inverse(a: Moving) -> Moving:
    def logs() -> Logs:
        sign, log, more, flip = a.logs
        return Logs(sign, -log, None if more is None else -more, flip)

    change = (lambda: -a.dx / (a.x * a.later)) if a.moves else None
    return Moving(lambda: 1.0 / a.x, change, None, logs if a.in_logs else None)


def quotient(a: Moving, b: Moving) -> Moving:
    if a.in_logs or b.in_logs:
        return product(a, inverse(b))

    def change() -> Any:
        if not b.moves:
            return a.dx / b.x
        more = -a.x * b.dx if not a.moves else a.dx * b.x - a.x * b.dx
        return more / (b.x * b.later)

    return Moving(lambda: a.x / b.x, change if a.moves or b.moves else None)


def negative(a: Moving) -> Moving:
    def logs() -> Logs:
        return a.logs._replace(sign=-a.logs.sign)

    change = (lambda: -a.dx) if a.moves else None
    return Moving(lambda: -a.x, change, None, logs if a.in_logs else None)


def total(a: Moving, b: Moving) -> Moving:
    def logs() -> Logs:
        m, n = a.logs, b.logs
        # What is zero has the logarithm -inf, and nothing of it is left.
        most = jnp.maximum(m.log, n.log)
        most = jnp.where(jnp.isfinite(most), most, 0.0)
        first, second = m.sign * jnp.exp(m.log - most), n.sign * jnp.exp(n.log - most)
        whole = first + second
        sign, log = jnp.sign(whole), most + jnp.log(jnp.abs(whole))
        if not (a.moves or b.moves):
            return Logs(sign, log)
        more = moved(a, m, first, most) + moved(b, n, second, most)
        return Logs(sign, log, *grown(more / whole))

    def change() -> Any:
        return added(a.dx, b.dx)

    return Moving(
        lambda: a.x + b.x,
        change if a.moves or b.moves else None,
        None,
        logs if a.in_logs or b.in_logs else None,
    )


def moved(a: Moving, logs: Logs, share: Any, most: Any) -> Any:
    """How much more a term of a sum is later, in units of e^most, of which it is the `share` now:
    by a part of itself or, where it is zero, plainly.
    """
    if logs.change is None:
        return 0.0
    zero = jnp.isneginf(logs.log)
    own = logs._replace(change=jnp.where(zero, 0.0, logs.change))
    return jnp.where(zero, a.step * jnp.exp(-most), share * part(own))


def part(logs: Logs) -> Any:
    """By which part of itself a value grows."""
    if logs.change is None:
        return 0.0
    if logs.flip is None:
        return jnp.expm1(logs.change)
    return jnp.where(logs.flip > 0, jnp.expm1(logs.change), -jnp.exp(logs.change) - 1.0)


def exponential(a: Moving) -> Moving:
    def logs() -> Logs:
        return Logs(jnp.ones(()), a.x, a.dx)

    return in_logs(logs, a.moves)


def logarithm(a: Moving) -> Moving:
    if not a.in_logs:
        change = (lambda: jnp.log1p(a.dx / a.x)) if a.moves else None
        return Moving(lambda: jnp.log(a.x), change)
    change = (lambda: a.logs.change) if a.moves else None
    return Moving(lambda: jnp.where(a.logs.sign < 0, jnp.nan, a.logs.log), change)


def whole_power(a: Moving, n: int) -> Moving:
    """a^n, by squares: products of hundreds of factors are nested too deep for Python."""
    if n < 0:
        return inverse(whole_power(a, -n))
    if n < 2:
        return a if n else constant(jnp.ones_like(a.x))
    half = whole_power(a, n // 2)
    square = product(half, half)
    return product(square, a) if n % 2 else square


def power(a: Moving, b: Moving) -> Moving:
    """a^b of a positive a, or with b a whole number that does not move of any."""

    def logs() -> Logs:
        m = a.logs
        sign, flip = jnp.where(m.sign < 0, jnp.nan, jnp.ones_like(m.sign)), None
        if not b.moves:
            odd, whole = jnp.mod(b.x, 2) == 1, jnp.mod(b.x, 1) == 0
            of_odd = jnp.where(odd, -1.0, 1.0)
            sign = jnp.where((m.sign < 0) & whole, of_odd, sign)
            if m.flip is not None:
                flip = jnp.where(m.flip < 0, jnp.where(whole, of_odd, jnp.nan), 1.0)
        # (b + db) (log a + d log a) - b log a
        more = added(
            None if m.change is None else b.later * m.change, b.step * m.log if b.moves else None
        )
        return Logs(sign, b.x * m.log, more, flip)

    found = in_logs(logs, a.moves or b.moves)
    if not found.moves:
        return found

    def change() -> Any:
        # From zero it grows by all that it is then, not by a part of itself.
        return jnp.where(a.x == 0, jnp.power(a.later, b.later), found.dx)

    return Moving(lambda: found.x, change, None, logs)


def root(a: Moving, n: float) -> Moving:
    return power(a, constant(jnp.asarray(1.0 / n)))


def hyperbolic_cosine(a: Moving) -> Moving:
    both = total(exponential(a), exponential(negative(a)))
    return product(constant(jnp.asarray(0.5)), both)


def chosen(which: Moving, *cases: Moving) -> Moving:
    """The case that `which` says, at t and at t + tau."""

    def of(index: Any, values: Sequence[Any]) -> Any:
        index = jnp.asarray(index).astype(int)
        found = values[0]
        for i, value in enumerate(values[1:], 1):
            found = jnp.where(index == i, value, found)
        return found

    def between(now: Sequence[Any], steps: Sequence[Any]) -> Any:
        """How much the chosen one changes."""
        later = of(which.later, [a + b for a, b in zip(now, steps, strict=True)])
        same = jnp.asarray(which.x) == jnp.asarray(which.later)
        return jnp.where(same, of(which.x, steps), later - of(which.x, now))

    def logs() -> Logs:
        all = [case.logs for case in cases]
        steps = [jnp.zeros_like(m.log) if m.change is None else m.change for m in all]
        signs = [m.sign for m in all]
        flipped = [m.sign if m.flip is None else m.sign * m.flip for m in all]
        sign = of(which.x, signs)
        more = between([m.log for m in all], steps)
        return Logs(sign, of(which.x, [m.log for m in all]), more, sign * of(which.later, flipped))

    def change() -> Any:
        return between([case.x for case in cases], [case.step for case in cases])

    own = logs if any(case.in_logs for case in cases) else None
    return Moving(lambda: of(which.x, [case.x for case in cases]), change, None, own)


RULES: dict[str, Callable[..., Moving]] = {
    "mul": product,
    "div": quotient,
    "neg": negative,
    "add": total,
    "add_any": total,
    "sub": lambda a, b: total(a, negative(b)),
    "exp": exponential,
    "exp2": lambda a: exponential(product(a, constant(np.log(2.0)))),
    "log": logarithm,
    "square": lambda a: whole_power(a, 2),
    "pow": power,
    "sqrt": lambda a: root(a, 2.0),
    "rsqrt": lambda a: inverse(root(a, 2.0)),
    "cosh": hyperbolic_cosine,
    "select_n": chosen,
}


def moved_about(eqn: Any, a: Moving) -> Moving:
    """The entries in other places."""

    def of(values: Any) -> Any:
        if values is None:
            return None
        return apply(eqn, [jnp.broadcast_to(values, jnp.shape(a.x))])[0]

    def logs() -> Logs:
        return Logs(*map(of, a.logs))

    change = (lambda: of(a.dx)) if a.moves else None
    return Moving(lambda: of(a.x), change, None, logs if a.in_logs else None)


def at_both_ends(eqn: Any, values: Sequence[Moving]) -> list[Moving]:
    """Any operation, at t and at t + tau."""
    now = apply(eqn, [value.x for value in values])
    if not any(value.moves for value in values):
        return [constant(x) for x in now]
    later = apply(eqn, [value.later for value in values])
    return [from_ends(x, y) for x, y in zip(now, later, strict=True)]


def is_real(eqn: Any) -> bool:
    """Whether an operation is one of real numbers."""
    atoms = (*eqn.invars, *eqn.outvars)
    return all(np.issubdtype(atom.aval.dtype, np.floating) for atom in atoms)


def carried_out(eqn: Any, values: Sequence[Moving]) -> list[Moving]:
    """The results of one operation."""
    name = eqn.primitive.name
    if name in (*CALLERS, *CUSTOM):
        inner = next(eqn.params[word] for word in CALLS if is_jaxpr(eqn.params.get(word)))
        return evaluated(*parts(inner), values)
    if name == "select_n" and np.issubdtype(eqn.outvars[0].aval.dtype, np.floating):
        return [chosen(*values)]
    if not is_real(eqn):
        return at_both_ends(eqn, values)
    if name in ("integer_pow", "convert_element_type"):
        return [whole_power(values[0], eqn.params["y"])] if name == "integer_pow" else [values[0]]
    if name in MOVES:
        return [moved_about(eqn, values[0])]
    rule = RULES.get(name)
    if rule is None:
        return at_both_ends(eqn, values)
    return [rule(*values)]


def evaluated(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Moving]) -> list[Moving]:
    """The results of traced operations on such values."""
    given = (*map(constant, constants), *arguments)
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), given, strict=True))

    def read(atom: Any) -> Moving:
        return constant(jnp.asarray(atom.val)) if isinstance(atom, Literal) else known[atom]

    for eqn in jaxpr.eqns:
        found = carried_out(eqn, list(map(read, eqn.invars)))
        known.update(zip(eqn.outvars, found, strict=True))
    return list(map(read, jaxpr.outvars))
