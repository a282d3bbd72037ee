"""The operations of programs over single numbers, carried out on constants."""

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from accion.engines.kinds import FLOAT


def round_away(a: float) -> float:
    """The nearest integer, of two the larger in size."""
    whole = np.trunc(a)
    return np.copysign(whole + (np.abs(a - whole) >= 0.5) * np.sign(a), a) if np.isfinite(a) else a


def fma(a: float, b: float, c: float) -> float:
    """a b + c, rounded once."""
    if all(map(math.isfinite, (a, b, c))) and (exact := Fraction(a) * Fraction(b) + Fraction(c)):
        return float(exact)
    return a * b + c


def bits_of(a: float) -> int:
    """The integer of the same 64 bits."""
    return struct.unpack("<q", struct.pack("<d", a))[0]


def number_of(i: int) -> float:
    """The float of the same 64 bits."""
    return struct.unpack("<d", struct.pack("<q", i))[0]


def whole(a: float) -> int:
    """The integer of 64 bits that is next to `a` and not beyond it; 0 for what is no number."""
    if math.isnan(a):
        return 0
    least, largest = -(2**63), 2**63 - 1
    return least if a <= least else largest if a >= largest else int(a)


UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "exp": np.exp,
    "log": np.log,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "round_away": round_away,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "cbrt": np.cbrt,
    "erf": lambda a: math.erf(a),
    "erfc": lambda a: math.erfc(a),
    "exp2": np.exp2,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rem": np.fmod,
    "pow": np.power,
    "atan2": np.arctan2,
    "max": np.maximum,
    "min": np.minimum,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
QUIET = {"add", "sub", "mul"}  # of Python's floats, which raise nothing and warn of nothing
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "above_or_nan": lambda a, b: not a <= b,
}
# On arguments of several kinds; shifts are of 64 bits without sign.
OTHER: dict[str, Callable[..., Any]] = {
    "fma": fma,
    "bits_of": bits_of,
    "number_of": number_of,
    "left": lambda a, n: a << n,
    "right": lambda a, n: (a % 2**64) >> n,
}


def folded(op: str, kind: str, x: Any, y: Any) -> Any:
    """The number that an operation of `BINARY` on two numbers of one kind gives."""
    if kind == FLOAT and op not in QUIET:
        with np.errstate(all="ignore"):
            return BINARY[op](np.float64(x), np.float64(y))
    if op in ("div", "rem"):
        quotient = int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)
        return quotient if op == "div" else x - quotient * y
    return BINARY[op](x, y)
