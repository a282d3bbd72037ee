"""Numbers as a person writes them."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

LARGEST_DENOMINATOR = 10_000


def exact(x: Any) -> Any:
    """The SymPy number that `x` stands for: 0.5 is 1/2, 9.81 is 981/100, 1.5707963267948966 is
    pi/2; other floats stay floats.
    """
    if isinstance(x, sp.Basic):
        return x
    value = np.asarray(x).item()
    if isinstance(value, bool):
        return sp.true if value else sp.false
    if isinstance(value, int):
        return sp.Integer(value)
    if not math.isfinite(value):
        return sp.nan if math.isnan(value) else sp.oo * (1 if value > 0 else -1)
    for unit, symbol in ((1.0, sp.Integer(1)), (math.pi, sp.pi)):
        ratio = Fraction(value / unit).limit_denominator(LARGEST_DENOMINATOR)
        if ratio and float(ratio) * unit == value:
            return sp.Rational(ratio.numerator, ratio.denominator) * symbol
    return sp.Integer(0) if value == 0 else sp.Float(value, 17)
