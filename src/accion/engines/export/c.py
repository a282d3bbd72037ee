"""The text of a program in C (C99)."""

import math
from collections.abc import Sequence

from accion.engines.export.text import Language, Text
from accion.engines.values import Value

TYPES = {"f": "double", "i": "int64_t", "b": "bool"}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
BITS = {"and": "&", "or": "|", "xor": "^"}
TESTS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# Functions of <math.h> that have other names than the operations.
FUNCTIONS = {"abs": "fabs", "round": "rint", "round_away": "round", "rem": "fmod"}
LEAST = -(2**63)
HELPERS = {
    "maximum": """static double maximum(double a, double b) {
    if (a != a || b != b) return a + b;
    return a > b || (a == b && !signbit(a)) ? a : b;
}""",
    "minimum": """static double minimum(double a, double b) {
    if (a != a || b != b) return a + b;
    return a < b || (a == b && signbit(a)) ? a : b;
}""",
    "integer": """static int64_t integer(double a) {
    if (a != a) return 0;
    if (a >= 9223372036854775808.0) return INT64_MAX;
    return a < -9223372036854775808.0 ? INT64_MIN : (int64_t)a;
}""",
}


class C(Language):
    """C of 1999, and nothing besides its library."""

    def number(self, v: Value) -> str:
        number = v.args[0]
        if v.kind == "b":
            return str(number).lower()
        if v.kind == "i":
            if number == LEAST:
                return "INT64_MIN"
            return f"(-INT64_C({-number}))" if number < 0 else f"INT64_C({number})"
        if math.isnan(number):
            return "((double)NAN)"
        text = "((double)INFINITY)" if math.isinf(number) else repr(abs(number))
        return f"(-{text})" if math.copysign(1, number) < 0 else text

    def fixed(self, kind: str, name: str, text: str) -> str:
        return f"const {TYPES[kind]} {name} = {text};"

    def variable(self, kind: str, name: str, text: str | None = None) -> str:
        return f"{TYPES[kind]} {name};" if text is None else f"{TYPES[kind]} {name} = {text};"

    def matrix(self, name: str, numbers: Sequence[str]) -> str:
        return f"double {name}[] = {{{', '.join(numbers)}}};"

    def equal(self, a: str, b: str) -> str:
        return f"{a} == {b}"

    def load(self, text: Text, kind: str, place: str) -> str:
        if kind == "i":
            return text.helper("integer", place)
        return place if kind == "f" else f"{place} != 0"

    def store(self, kind: str, text: str) -> str:
        return text if kind == "f" else f"(double){text}"

    def operation(self, text: Text, v: Value) -> str:
        op, r = v.op, [text.of(a) for a in v.args]
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
        if op in ("i_to_f", "b_to_f", "b_to_i"):
            return f"({TYPES[v.kind]}){r[0]}"
        if op in BITS:
            return f"{r[0]} {BITS[op]} {r[1]}"
        return real(text, op, r) if v.kind == "f" else whole(op, r)

    def module(
        self, name: str, comment: list[str], main: Text, solvers: list[Text], size: int
    ) -> str:
        signature = f"void {name}(const double *inputs, double *outputs)"
        used = set().union(*(t.helpers for t in (main, *solvers)))
        parts = [
            "\n".join(["/*", *(f" * {line}" for line in comment), " */"]),
            "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>",
            *(HELPERS[h] for h in sorted(used)),
        ]
        for n, t in zip(sorted(main.solvers), solvers, strict=True):
            parts.append("\n".join([f"static void solve{n}(double *A) {{", *t.lines, "}"]))
        # A function without inputs would have an argument that it does not use.
        parts.append("\n".join([f"{signature} {{", "    (void)inputs;", *main.lines, "}"]))
        return "\n\n".join(parts) + "\n"


def real(text: Text, op: str, r: list[str]) -> str:
    """An operation that gives a number."""
    if op in SIGNS:
        return f"{r[0]} {SIGNS[op]} {r[1]}"
    if op == "neg":
        return f"-{r[0]}"
    if op in ("max", "min"):
        return text.helper(f"{op}imum", *r)
    return f"{FUNCTIONS.get(op, op)}({', '.join(r)})"


def whole(op: str, r: list[str]) -> str:
    """An operation that gives an integer. Those that wrap around are done without signs, because C
    does not say what they are with them.
    """
    if op in ("div", "rem"):
        return f"{r[0]} {'/' if op == 'div' else '%'} {r[1]}"
    if op in SIGNS:
        return f"(int64_t)((uint64_t){r[0]} {SIGNS[op]} (uint64_t){r[1]})"
    if op in ("max", "min"):
        return f"{r[0]} {'>' if op == 'max' else '<'} {r[1]} ? {r[0]} : {r[1]}"
    if op == "narrow":
        return f"(int32_t){r[0]}"
    negative = f"(int64_t)(0 - (uint64_t){r[0]})"
    return negative if op == "neg" else f"{r[0]} < 0 ? {negative} : {r[0]}"
