"""Programs over single numbers: each entry of each array is a value; loops and branches are nested
regions.

Values are simplified and shared while they are made: constants are folded, terms with a factor of
zero vanish (so that derivatives are as sparse as they are on paper), equal terms are computed once,
and a term that does not change in a loop is computed before it. A constant zero times anything, or
divided by anything, is zero here, infinity and NaN included: derivatives are full of such terms,
and where they would be NaN the function itself is not finite, which is looked at.
"""

import math
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER


class Value:
    """One number: the operation and the values that it is computed from, and the region that
    computes it.

    `lo` and `hi` are the bounds of an integer, None where they are not known.
    """

    __slots__ = ("args", "hi", "id", "kind", "lo", "op", "region")

    def __init__(self, op, args, kind, region, id, lo=None, hi=None):
        self.op, self.args, self.kind, self.region, self.id = op, args, kind, region, id
        self.lo, self.hi = lo, hi

    @property
    def is_constant(self):
        return self.op == "constant"


class Region:
    """Values, loops and branches in the order of their computation.

    `role`: top, header (test of a loop), body or branch.
    """

    def __init__(self, parent, role):
        self.parent, self.role, self.items, self.known = parent, role, [], {}
        self.depth = 0 if parent is None else parent.depth + 1


@dataclass(eq=False)
class Loop:
    """while test(carried): carried = body(carried)"""

    id: int
    starts: list
    carried: list
    header: Region
    test: Any
    body: Any
    ends: list = field(default_factory=list)


@dataclass(eq=False)
class Branches:
    """results = branches[index]()"""

    id: int
    index: Value
    regions: list
    outcomes: list
    results: list = field(default_factory=list)


@dataclass(eq=False)
class DenseSolve:
    """results = x with A x = b; `inputs` are the rows of A, then b."""

    id: int
    size: int
    inputs: list
    results: list = field(default_factory=list)


def round_away(a):
    """The nearest integer, of two the larger in size."""
    whole = np.trunc(a)
    return np.copysign(whole + (np.abs(a - whole) >= 0.5) * np.sign(a), a) if np.isfinite(a) else a


UNARY = {
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
BINARY = {
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
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "above_or_nan": lambda a, b: not a <= b,
}
COMMUTES = {"add", "mul", "max", "min", "and", "or", "xor", "eq", "ne"}


class Graph:
    """A program under construction; methods return the value of an operation, simplified."""

    def __init__(self):
        self.count, self.constants = 0, {}
        self.outside = Region(None, "top")  # of constants
        self.top = self.current = Region(self.outside, "top")

    # ------------------------------------------------------------------ values

    def fresh(self, op, args, kind, region, lo=None, hi=None):
        self.count += 1
        return Value(op, args, kind, region, self.count, lo, hi)

    def constant(self, number, kind):
        number = (
            float(number)
            if kind == FLOAT
            else bool(number)
            if kind == BOOLEAN
            else (int(number) + 2**63) % 2**64 - 2**63
        )
        key = (kind, struct.pack("d", number) if kind == FLOAT else number)
        if key not in self.constants:
            bounds = (number, number) if kind == INTEGER else (None, None)
            self.constants[key] = self.fresh("constant", (number,), kind, self.outside, *bounds)
        return self.constants[key]

    def home(self, args):
        """(the outermost region in which the value is computed no more often than here, the depth
        of its arguments).
        """
        depth = max((a.region.depth for a in args), default=0)
        region = self.current
        while True:
            if region.role == "body" and depth <= region.parent.parent.depth:
                region = region.parent.parent
            elif region.role == "header" and depth <= region.parent.depth:
                region = region.parent
            else:
                return region, depth

    def value(self, op, args, kind):
        if op in COMMUTES and args[0].id > args[1].id:
            args = (args[1], args[0])
        region, depth = self.home(args)
        key = (op, kind, *[a.id for a in args])
        where = region
        while where is not None and where.depth >= depth:
            if key in where.known:
                return where.known[key]
            where = where.parent
        found = region.known[key] = self.fresh(op, args, kind, region)
        region.items.append(found)
        return found

    def load(self, buffer, slot, kind):
        """The number in `slot` (a number or an integer value) of a buffer."""
        found = self.fresh("load", (buffer, slot), kind, self.current)
        self.current.items.append(found)
        return found

    def store(self, buffer, slot, value):
        self.current.items.append(
            self.fresh("store", (buffer, slot, value), value.kind, self.current)
        )

    def argument(self, name):
        """An integer argument of the whole program."""
        found = self.fresh("argument", (name,), INTEGER, self.top)
        self.top.items.append(found)
        return found

    # ------------------------------------------------------------------ arithmetic

    def unary(self, op, a):
        if a.is_constant:
            with np.errstate(all="ignore"):
                return self.constant(
                    UNARY[op](np.float64(a.args[0]) if a.kind == FLOAT else a.args[0]), a.kind
                )
        if op == "neg" and a.op == "neg":
            return a.args[0]
        if op == "abs" and a.op in ("abs", "sqrt", "exp"):
            return a
        if op == "abs" and a.op == "neg":
            return self.unary("abs", a.args[0])
        return self.value(op, (a,), a.kind)

    def binary(self, op, a, b):
        if a.kind == BOOLEAN:
            op = {"max": "or", "add": "or", "min": "and", "mul": "and"}.get(op, op)
        if a.is_constant and b.is_constant:
            return self.constant(self.folded(op, a, b), a.kind)
        if a.kind == BOOLEAN:
            found = self.simple_logic(op, a, b)
        elif op in ("and", "or", "xor"):
            found = None
        else:
            found = (
                self.simple_sum(op, a, b) if op in ("add", "sub") else self.simple_product(op, a, b)
            )
        return self.value(op, (a, b), a.kind) if found is None else found

    def folded(self, op, a, b):
        x, y = a.args[0], b.args[0]
        if a.kind != FLOAT:
            if op in ("div", "rem"):
                quotient = int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)
                return quotient if op == "div" else x - quotient * y
            return BINARY[op](x, y)
        with np.errstate(all="ignore"):
            return BINARY[op](np.float64(x), np.float64(y))

    def simple_logic(self, op, a, b):
        if a is b and op in ("and", "or"):
            return a
        for one, other in ((a, b), (b, a)):
            if one.is_constant and op in ("and", "or"):
                return other if one.args[0] == (op == "and") else one
        return None

    def simple_sum(self, op, a, b):
        def zero(x):
            return x.is_constant and x.args[0] == 0

        if zero(b):
            return a
        if zero(a):
            if op == "sub" and a.kind == FLOAT:
                # 0 - 0 is 0, and -0 is not, on which side of a cut a function is
                return self.value(op, (a, b), FLOAT)
            return b if op == "add" else self.unary("neg", b)
        if b.op == "neg":
            return self.binary("sub" if op == "add" else "add", a, b.args[0])
        if op == "add" and a.op == "neg":
            return self.binary("sub", b, a.args[0])
        if a.kind == INTEGER and None not in (a.lo, a.hi, b.lo, b.hi):
            found = self.value(op, (a, b), INTEGER)
            low, high = (b.lo, b.hi) if op == "add" else (-b.hi, -b.lo)
            found.lo, found.hi = a.lo + low, a.hi + high
            return found
        return None

    def simple_product(self, op, a, b):
        x, y = (v.args[0] if v.is_constant else None for v in (a, b))
        if op == "mul":
            if x == 0 or y == 0:
                return self.constant(0, a.kind)
            for number, other in ((x, b), (y, a)):
                if number == 1:
                    return other
                if number == -1:
                    return self.unary("neg", other)
            if a.op == "neg" and b.op == "neg":
                return self.binary("mul", a.args[0], b.args[0])
            if a.op == "neg":
                return self.unary("neg", self.binary("mul", a.args[0], b))
            if b.op == "neg":
                return self.unary("neg", self.binary("mul", a, b.args[0]))
        elif op == "div" and a.kind == FLOAT:
            if x == 0:
                return a
            if y == 1:
                return a
            if y is not None and math.frexp(y)[0] in (0.5, -0.5) and 1e-300 < abs(y) < 1e300:
                return self.binary("mul", a, self.constant(1 / y, FLOAT))  # exact
        elif op in ("max", "min"):
            if a is b:
                return a
            if a.kind == INTEGER and None not in (a.lo, a.hi, b.lo, b.hi):
                found = self.value(op, (a, b), INTEGER)
                f = max if op == "max" else min
                found.lo, found.hi = f(a.lo, b.lo), f(a.hi, b.hi)
                return found
        return None

    def power(self, a, n):
        """a^n by multiplications; n an integer."""
        if n < 0:
            return self.binary("div", self.constant(1, a.kind), self.power(a, -n))
        result = None
        while n:
            if n & 1:
                result = a if result is None else self.binary("mul", result, a)
            n >>= 1
            if n:
                a = self.binary("mul", a, a)
        return self.constant(1, a.kind) if result is None else result

    def compare(self, op, a, b):
        if a.is_constant and b.is_constant:
            return self.constant(COMPARE[op](a.args[0], b.args[0]), BOOLEAN)
        # False < True; the truth values of LLVM have a sign
        if a.kind == BOOLEAN and op not in ("eq", "ne"):
            a, b = (b, a) if op in ("gt", "ge") else (a, b)
            return self.binary("and" if op in ("lt", "gt") else "or", self.negation(a), b)
        if a.kind == INTEGER and None not in (a.lo, a.hi, b.lo, b.hi):
            if op in ("lt", "ge") and (a.hi < b.lo or a.lo >= b.hi):
                return self.constant((a.hi < b.lo) == (op == "lt"), BOOLEAN)
            if op in ("gt", "le") and (a.lo > b.hi or a.hi <= b.lo):
                return self.constant((a.lo > b.hi) == (op == "gt"), BOOLEAN)
            if op in ("eq", "ne") and (a.lo > b.hi or a.hi < b.lo):
                return self.constant(op == "ne", BOOLEAN)
        return self.value(op, (a, b), BOOLEAN)

    def select(self, condition, a, b):
        """a where the condition holds, else b."""
        if condition.is_constant:
            return a if condition.args[0] else b
        if a is b:
            return a
        if a.kind == BOOLEAN and a.is_constant and b.is_constant:
            return condition if a.args[0] else self.negation(condition)
        if condition.op == "not":
            return self.select(condition.args[0], b, a)
        found = self.value("select", (condition, a, b), a.kind)
        if a.kind == INTEGER and None not in (a.lo, a.hi, b.lo, b.hi):
            found.lo, found.hi = min(a.lo, b.lo), max(a.hi, b.hi)
        return found

    def negation(self, a):
        if a.is_constant:
            return self.constant(not a.args[0], BOOLEAN)
        return a.args[0] if a.op == "not" else self.value("not", (a,), BOOLEAN)

    def convert(self, a, kind):
        if a.kind == kind:
            return a
        if a.is_constant and math.isfinite(a.args[0]):
            number = a.args[0]
            return self.constant(
                min(max(int(number), -(2**63)), 2**63 - 1) if kind == INTEGER else number, kind
            )
        if kind == BOOLEAN:
            return self.compare("ne", a, self.constant(0, a.kind))
        found = self.value(f"{a.kind}_to_{kind}", (a,), kind)
        if a.kind == BOOLEAN and kind == INTEGER:
            found.lo, found.hi = 0, 1
        return found

    def narrow(self, a):
        """The integer `a` as one of 32 bits."""
        half = 2**31
        if a.is_constant:
            return self.constant((a.args[0] + half) % (2 * half) - half, INTEGER)
        if a.lo is not None and a.hi is not None and -half <= a.lo and a.hi < half:
            return a
        found = self.value("narrow", (a,), INTEGER)
        found.lo, found.hi = -half, half - 1
        return found

    def is_finite(self, a):
        return self.compare("lt", self.unary("abs", a), self.constant(math.inf, FLOAT))

    def clamp(self, i, lo, hi):
        """The integer i, put between two numbers."""
        if i.lo is not None and i.hi is not None and i.lo >= lo and i.hi <= hi:
            return i
        found = self.binary(
            "min", self.binary("max", i, self.constant(lo, INTEGER)), self.constant(hi, INTEGER)
        )
        if not found.is_constant:
            found.lo = lo if i.lo is None else min(max(lo, i.lo), hi)
            found.hi = hi if i.hi is None else max(min(hi, i.hi), lo)
        return found

    # ------------------------------------------------------------------ control flow

    def loop(self, starts, test, body):
        """The values after `while test(values): values = body(values)`."""
        outer = self.current
        header = Region(outer, "header")
        self.count += 1
        made = Loop(self.count, list(starts), [], header, None, None)
        made.carried = [
            self.fresh("carried", (made, i), v.kind, header) for i, v in enumerate(starts)
        ]
        self.current = header
        made.test = test(made.carried)
        made.body = self.current = Region(header, "body")
        made.ends = list(body(made.carried))
        self.current = outer
        outer.items.append(made)
        results = [self.fresh("after", (c,), c.kind, outer) for c in made.carried]
        outer.items.extend(results)
        return results

    def branch(self, index, branches):
        """The values of the branch, a function without arguments, that the integer `index` names;
        the last one beyond them.
        """
        if index.is_constant:
            return branches[min(max(index.args[0], 0), len(branches) - 1)]()
        outer, regions, outcomes = self.current, [], []
        for f in branches:
            self.current = Region(outer, "branch")
            regions.append(self.current)
            outcomes.append(list(f()))
            self.current = outer
        self.count += 1
        made = Branches(self.count, index, regions, outcomes)
        outer.items.append(made)
        made.results = [
            self.fresh("result", (made, i), v.kind, outer) for i, v in enumerate(outcomes[0])
        ]
        outer.items.extend(made.results)
        return made.results

    def dense_solve(self, inputs, size):
        self.count += 1
        made = DenseSolve(self.count, size, inputs)
        self.current.items.append(made)
        made.results = [self.fresh("result", (made, i), FLOAT, self.current) for i in range(size)]
        self.current.items.extend(made.results)
        return made.results
