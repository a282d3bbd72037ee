"""Bounds of what a function takes on a box: its jaxpr carried out on intervals, with outward
rounding (Moore 1966).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import jax
import numpy as np

from accion.engines.algebra import Algebra
from accion.engines.arrays import Equation, ValueArray as Array, of_shape
from accion.engines.errors import NoRule, Unsupported
from accion.engines.interpreter import Interpreter, Rule
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER
from accion.engines.primitives import STRUCTURE

INF = math.inf
LONGEST_LOOP = 10_000


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`."""

    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """Both."""
        return self.low, self.high


class Undecided(Unsupported):
    """What cannot be bounded: why, in words."""


ALL = Interval(-INF, INF)


def wider(low: float, high: float) -> Interval:
    """The interval between results that were rounded."""
    if math.isnan(low) or math.isnan(high):
        return ALL
    return Interval(math.nextafter(low, -INF), math.nextafter(high, INF))


def exact(number: float) -> Interval:
    return Interval(number, number)


def times(a: float, b: float) -> float:
    """A product of ends, of which zero times what has no bound is zero."""
    return 0.0 if a == 0 or b == 0 else a * b


def add(a: Interval, b: Interval) -> Interval:
    for one, other in ((a, b), (b, a)):
        if one.low == one.high == 0:
            return other
    if -INF < a.low == a.high == -b.low == -b.high:
        return exact(0.0)
    return above_zero(wider(a.low + b.low, a.high + b.high), a, b)


def above_zero(found: Interval, *parts: Interval) -> Interval:
    """A sum or a product of what is not negative."""
    return Interval(max(found.low, 0.0), found.high) if all(a.low >= 0 for a in parts) else found


def mul(a: Interval, b: Interval) -> Interval:
    for one, other in ((a, b), (b, a)):
        if one.low == one.high and abs(one.low) in (0.0, 1.0):  # nothing is rounded
            ends = times(one.low, other.low), times(one.low, other.high)
            return Interval(min(ends), max(ends))
    ends = [times(x, y) for x in a.ends for y in b.ends]
    return above_zero(wider(min(ends), max(ends)), a, b)


def neg(a: Interval) -> Interval:
    return Interval(-a.high, -a.low)


def div(a: Interval, b: Interval) -> Interval:
    if b.low <= 0 <= b.high:
        raise Undecided("it divides by what may be zero there")
    return mul(a, wider(1 / b.high, 1 / b.low))


def power(a: Interval, n: int) -> Interval:
    if n < 0:
        return div(exact(1.0), power(a, -n))
    ends = [times(1.0, x**n) if n else 1.0 for x in a.ends]
    if n % 2 == 0 and a.low < 0 < a.high:
        ends.append(0.0)
    found = wider(min(ends), max(ends))
    return Interval(max(found.low, 0.0), found.high) if n % 2 == 0 else found


def growing(f: Callable[[float], float], low: float = -INF, high: float = INF) -> Any:
    """The rule of a function that grows, between bounds that it keeps."""

    def of(a: Interval) -> Interval:
        first, last = (slightly(f, x, sign) for x, sign in ((a.low, -1), (a.high, 1)))
        return Interval(max(first, low), min(last, high))

    return of


def slightly(f: Callable[[float], float], x: float, sign: int) -> float:
    """f(x), and some units of the last place more or less."""
    try:
        y = f(x)
    except OverflowError:
        y = INF
    except ValueError:
        raise Undecided(f"its {f.__name__} is not defined everywhere there") from None
    for _ in range(4):
        y = math.nextafter(y, sign * INF)
    return y


def exponential(x: float) -> float:
    return 0.0 if x == -INF else math.exp(x)


def logarithm(x: float) -> float:
    return INF if x == INF else math.log(x)


def cosine(a: Interval) -> Interval:
    """Its largest and least values are at multiples of pi."""
    if not (a.high - a.low < 6.28 and abs(a.low) < 1e9):
        return Interval(-1.0, 1.0)
    ends = sorted((math.cos(a.low), math.cos(a.high)))
    low, high = ends[0] - 1e-15, ends[1] + 1e-15
    first, last = a.low / math.pi - 1e-6, a.high / math.pi + 1e-6
    for k in range(math.ceil(first), math.floor(last) + 1):
        low, high = (low, 1.0) if k % 2 == 0 else (-1.0, high)
    return Interval(max(low, -1.0), min(high, 1.0))


def sine(a: Interval) -> Interval:
    half = math.pi / 2
    return cosine(wider(a.low - half, a.high - half))


def hyperbolic_cosine(a: Interval) -> Interval:
    ends = [slightly(math.cosh, abs(x), 1) for x in a.ends if abs(x) < INF] or [INF]
    high = INF if INF in (abs(a.low), abs(a.high)) else max(ends)
    least = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(slightly(math.cosh, least, -1), high)


ENTRYWISE: dict[str, Callable[..., Any]] = {
    "neg": neg,
    "sin": sine,
    "cos": cosine,
    "cosh": hyperbolic_cosine,
    "exp": growing(exponential, low=0.0),
    "log": growing(logarithm),
    "sqrt": growing(math.sqrt, low=0.0),
    "tanh": growing(math.tanh, -1.0, 1.0),
    "sinh": growing(math.sinh),
    "atan": growing(math.atan),
    "expm1": growing(math.expm1, low=-1.0),
    "log1p": growing(math.log1p),
    "square": lambda a: power(a, 2),
    "div": div,
    "stop_gradient": lambda a: a,
    "copy": lambda a: a,
}
BINARY: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": add,
    "sub": lambda a, b: add(a, neg(b)),
    "mul": mul,
    "max": lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    "min": lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
}


class Intervals(Algebra[Any]):
    """Intervals; truth values are those that are known. What depends on a choice that is not known
    is undecided: functions are to be smooth.
    """

    count = 0

    def kind(self, dtype: Any) -> str:
        if np.issubdtype(dtype, np.bool_):
            return BOOLEAN
        return INTEGER if np.issubdtype(dtype, np.integer) else FLOAT

    def constant(self, number: Any, kind: str) -> Any:
        return bool(number) if kind == BOOLEAN else exact(float(number))

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, bool):
            return {"and": a and b, "or": a or b, "xor": a != b}[op]
        return BINARY[op](a, b)

    def fold(self, op: str, values: Sequence[Any]) -> Any:
        return reduce(lambda a, b: self.binary(op, a, b), values)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, bool):
            return (a == b) if op == "eq" else (a != b)
        below, above = a.high < b.low, a.low > b.high
        same = a.low == a.high == b.low == b.high
        known = {
            "lt": (below, above or same),
            "gt": (above, below or same),
            "le": (below or a.high == b.low, above),
            "ge": (above or a.low == b.high, below),
            "eq": (same, below or above),
            "ne": (below or above, same),
        }
        yes, no = known[op]
        if not yes and not no:
            raise Undecided("it chooses by a comparison that changes there")
        return yes

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    def clamp(self, i: Any, low: int, high: int) -> Any:
        return Interval(*(min(max(x, low), high) for x in i.ends))

    def narrow(self, a: Any) -> Any:
        return a

    def bounds(self, i: Any) -> tuple[int, int] | None:
        if i.low != i.high:
            raise Undecided("an index depends on where it is")
        return int(i.low), int(i.low)

    def filler(self, dtype: Any) -> Any:
        return ALL  # JAX fills with what is no number: nothing follows

    def unrolled(self, turns: int) -> bool:
        if turns > LONGEST_LOOP:
            raise Undecided(f"a loop of {turns} turns is too long")
        return True

    def loop(
        self,
        starts: Sequence[Any],
        test: Callable[[list[Any]], Any],
        body: Callable[[list[Any]], Sequence[Any]],
    ) -> list[Any]:
        values = list(starts)
        for _ in range(LONGEST_LOOP):
            if not test(values):
                return values
            values = list(body(values))
        raise Undecided(f"a loop of more than {LONGEST_LOOP} turns is too long")

    def branch(self, index: Any, branches: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
        which = int(index) if isinstance(index, bool) else (self.bounds(index) or (0, 0))[0]
        return list(branches[min(max(which, 0), len(branches) - 1)]())

    def settled(self, equation: Equation, result: Array) -> Array:
        return result

    def unknown(self, equation: Equation, obstacle: Unsupported) -> list[Array]:
        if isinstance(obstacle, NoRule):
            raise Undecided(f"no bounds are known of `{equation.primitive.name}`") from obstacle
        raise obstacle


def entrywise(f: Callable[..., Any]) -> Rule:
    """The rule of a primitive that is `f` of each entry."""
    return lambda run, equation, x: [run.each(f, *x)]


def binary(op: str) -> Rule:
    return lambda run, equation, x: [run.each(lambda a, b: run.algebra.binary(op, a, b), *x)]


def comparison(op: str) -> Rule:
    return lambda run, equation, x: [run.each(lambda a, b: run.algebra.compare(op, a, b), *x)]


def product(run: Any, equation: Equation, x: list[Array]) -> list[Array]:
    """A product, or the square of what is multiplied with itself."""
    if equation.invars[0] is equation.invars[1]:
        return [run.each(lambda a: power(a, 2), x[0])]
    return [run.each(mul, *x)]


def integer_power(run: Any, equation: Equation, x: list[Array]) -> list[Array]:
    return [run.each(lambda a: power(a, equation.params["y"]), x[0])]


def any_power(run: Any, equation: Equation, x: list[Array]) -> list[Array]:
    def of(a: Any, b: Any) -> Any:
        if b.low == b.high == int(b.low):
            return power(a, int(b.low))
        if a.low <= 0:
            raise Undecided("it takes a power of what may be zero or less there")
        return ENTRYWISE["exp"](mul(b, ENTRYWISE["log"](a)))

    return [run.each(of, *x)]


def converted(run: Any, equation: Equation, x: list[Array]) -> list[Array]:
    kind = run.algebra.kind(equation.params["new_dtype"])

    def of(a: Any) -> Any:
        if isinstance(a, bool):
            return a if kind == BOOLEAN else exact(float(a))
        if kind == BOOLEAN:
            return run.algebra.compare("ne", a, exact(0.0))
        if kind == INTEGER and not a.low == a.high == int(a.low):
            raise Undecided("it makes a whole number of what is none")
        return a

    return [run.each(of, x[0])]


def chosen(run: Any, equation: Equation, x: list[Array]) -> list[Array]:
    which, *cases = np.broadcast_arrays(*x)

    def of(w: Any, *each: Any) -> Any:
        return each[int(w) if isinstance(w, bool) else int(w.low)]

    return [run.each(of, which, *cases)]


RULES: dict[str, Rule] = {
    **STRUCTURE,
    **{name: entrywise(f) for name, f in ENTRYWISE.items()},
    **{name: binary(name) for name in (*BINARY, "and", "or", "xor")},
    **{name: comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "mul": product,
    "add_any": binary("add"),
    "integer_pow": integer_power,
    "pow": any_power,
    "convert_element_type": converted,
    "select_n": chosen,
}


def bounds(
    f: Callable[..., Any], *boxes: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) of what `f` of arrays returns, each of them in its box (low, high).

    Raises: Undecided where they are not known, with the reason.
    """
    closed = jax.make_jaxpr(f)(*[np.asarray(low, dtype=float) for low, _ in boxes])
    given = [
        of_shape(np.shape(low), list(map(Interval, flat(low), flat(high)))) for low, high in boxes
    ]
    (found,) = Interpreter(Intervals(), RULES).call(closed, given)
    ends = np.array([each.ends for each in found.ravel().tolist()])
    low, high = ends.reshape(*found.shape, 2).T
    return low.T, high.T


def flat(a: Any) -> list[float]:
    return np.asarray(a, dtype=float).ravel().tolist()
