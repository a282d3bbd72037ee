"""The text of a program in JavaScript: a module, without anything besides `Math`.

Integers are doubles there, which are exact up to 2^53.
"""

import math
from collections.abc import Sequence

from accion.engines.errors import Unsupported
from accion.engines.export.text import Language, Text
from accion.engines.values import Value

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%"}
TESTS = {"eq": "===", "ne": "!==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LOGIC = {"and": "&&", "or": "||", "xor": "!=="}
LARGEST = 2**53
# Functions that `Math` lacks, or has with other values at the ends.
HELPERS = {
    "power": """// pow as in C: 1 to any power is 1
function power(a, b) {
    return a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : Math.pow(a, b);
}""",
    "nearest": """// the nearest integer, of two the even one
function nearest(a) {
    if (!(Math.abs(a) < 4503599627370496)) return a;
    const b = Math.abs(a) + 4503599627370496 - 4503599627370496;
    return a < 0 || Object.is(a, -0) ? -b : b;
}""",
    "away": """// the nearest integer, of two the larger in size
function away(a) {
    const b = Math.trunc(a);
    return Math.abs(a - b) >= 0.5 ? b + Math.sign(a) : b;
}""",
    "integer": """// an integer as C has it: 0 for NaN, the ends for what is beyond them
function integer(a) {
    if (Number.isNaN(a)) return 0;
    return Math.min(Math.max(Math.trunc(a), -9223372036854775808), 9223372036854775808) + 0;
}""",
    "exact": """// an integer, which is exact below 2^53 only
function exact(a) {
    if (Math.abs(a) >= 9007199254740992) throw new RangeError("an integer beyond 2^53");
    return a + 0;
}""",
    "and": """// bit by bit; the signs of JavaScript know 32 bits
function and(a, b) {
    return (a | 0) === a && (b | 0) === b ? a & b : Number(BigInt(a) & BigInt(b));
}""",
    "or": """// bit by bit; the signs of JavaScript know 32 bits
function or(a, b) {
    return (a | 0) === a && (b | 0) === b ? a | b : Number(BigInt(a) | BigInt(b));
}""",
    "xor": """// bit by bit; the signs of JavaScript know 32 bits
function xor(a, b) {
    return (a | 0) === a && (b | 0) === b ? a ^ b : Number(BigInt(a) ^ BigInt(b));
}""",
    "erfc": """// 1 - erf, by a continued fraction where it is small
function erfc(a) {
    const x = Math.abs(a);
    if (x < 1) return 1 - erf(a);
    if (!(x < 28)) return Number.isNaN(a) ? a : a > 0 ? 0 : 2;
    let tail = x;
    for (let k = 200; k > 0; k--) tail = x + k / 2 / tail;
    // x^2 in two parts, of which the first is exact
    const y = Math.fround(x);
    const value = Math.exp(-y * y) * Math.exp((y - x) * (y + x)) / tail / Math.sqrt(Math.PI);
    return a > 0 ? value : 2 - value;
}""",
    "erf": """// the error function, by the series of exp(x^2) erf(x), whose terms have one sign
function erf(a) {
    if (!(Math.abs(a) < 1)) return 1 - erfc(a);
    let term = a, sum = a;
    for (let k = 1; k < 30; k++) {
        term *= 2 * a * a / (2 * k + 1);
        sum += term;
    }
    return 2 / Math.sqrt(Math.PI) * Math.exp(-a * a) * sum;
}""",
}
TOGETHER = {"erf", "erfc"}  # each needs the other


class JavaScript(Language):
    """A module of ECMAScript 2020."""

    def number(self, v: Value) -> str:
        number = v.args[0]
        if v.kind == "b":
            return str(number).lower()
        if v.kind == "i":
            if int(float(number)) != number:
                raise Unsupported(f"the integer {number}, which is no number of JavaScript")
            return f"({number})" if number < 0 else str(number)
        if math.isnan(number):
            return "NaN"
        text = "Infinity" if math.isinf(number) else repr(abs(number))
        return f"(-{text})" if math.copysign(1, number) < 0 else text

    def fixed(self, kind: str, name: str, text: str) -> str:
        return f"const {name} = {text};"

    def variable(self, kind: str, name: str, text: str | None = None) -> str:
        return f"let {name};" if text is None else f"let {name} = {text};"

    def matrix(self, name: str, numbers: Sequence[str]) -> str:
        return f"const {name} = [{', '.join(numbers)}];"

    def equal(self, a: str, b: str) -> str:
        return f"{a} === {b}"

    def load(self, text: Text, kind: str, place: str) -> str:
        # An integer has no zero below zero.
        return {"f": place, "i": f"{place} + 0", "b": f"{place} != 0"}[kind]

    def store(self, kind: str, text: str) -> str:
        return f"{text} ? 1 : 0" if kind == "b" else text

    def operation(self, text: Text, v: Value) -> str | None:
        op, (first, *_) = v.op, v.args
        if v.kind == "i" and op == "mul" and v.id not in text.whole:
            return None
        if op == "narrow" and first.op == "mul":
            # The last 32 bits of a product are those of its factors, however large it is.
            return f"Math.imul({', '.join(map(text.of, first.args))})"
        r = [text.of(a) for a in v.args]
        if op == "select":
            return f"{r[0]} ? {r[1]} : {r[2]}"
        if op == "not":
            return f"!{r[0]}"
        if op in TESTS:
            return f"{r[0]} {TESTS[op]} {r[1]}"
        if op == "above_or_nan":
            return f"!({r[0]} <= {r[1]})"
        if op == "f_to_i":
            return text.helper("integer", r[0])
        if op == "i_to_f":
            return r[0]
        if op in ("b_to_f", "b_to_i"):
            return f"{r[0]} ? 1 : 0"
        if v.kind == "b":
            return f"{r[0]} {LOGIC[op]} {r[1]}"
        if op in ("max", "min"):
            return f"Math.{op}({', '.join(r)})"
        return real(text, op, r) if v.kind == "f" else whole(text, v, r)

    def module(
        self, name: str, comment: list[str], main: Text, solvers: list[Text], size: int
    ) -> str:
        used = set().union(*(t.helpers for t in (main, *solvers)))
        if used & TOGETHER:
            used |= TOGETHER
        parts = ["\n".join(f"// {line}" for line in comment), *(HELPERS[h] for h in sorted(used))]
        for n, t in zip(sorted(main.solvers), solvers, strict=True):
            parts.append("\n".join([f"function solve{n}(A) {{", *t.lines, "}"]))
        begin = f"export function {name}(inputs, outputs = new Float64Array({size})) {{"
        parts.append("\n".join([begin, *main.lines, "    return outputs;", "}"]))
        return "\n\n".join(parts) + "\n"


def real(text: Text, op: str, r: list[str]) -> str:
    """An operation that gives a number."""
    if op in SIGNS:
        return f"{r[0]} {SIGNS[op]} {r[1]}"
    if op == "neg":
        return f"-{r[0]}"
    if op == "exp2":
        return f"Math.pow(2, {r[0]})"
    own = {"pow": "power", "round": "nearest", "round_away": "away", "erf": "erf", "erfc": "erfc"}
    return text.helper(own[op], *r) if op in own else f"Math.{op}({', '.join(r)})"


def whole(text: Text, v: Value, r: list[str]) -> str:
    """An operation that gives an integer, which has no zero below zero."""
    op = v.op
    if op == "narrow":
        return f"{r[0]} | 0"
    if op in ("and", "or", "xor"):
        return text.helper(op, *r)
    if op == "div":
        return f"Math.trunc({r[0]} / {r[1]}) + 0"
    if op == "rem":
        return f"{r[0]} % {r[1]} + 0"
    if op == "abs":
        return f"Math.abs({r[0]})"
    result = f"0 - {r[0]}" if op == "neg" else f"{r[0]} {SIGNS[op]} {r[1]}"
    small = v.bounds is not None and v.bounds[0] >= -LARGEST and v.bounds[1] <= LARGEST
    return result if small and op != "mul" else text.helper("exact", result)
