"""The operations of a program in LLVM's language, on numbers or on vectors of them."""

from collections.abc import Sequence

from accion.engines.functions import OWN
from accion.engines.kinds import BOOLEAN, FLOAT, INTEGER
from accion.engines.text import TYPES, Text
from accion.engines.values import Value

INTRINSICS = {
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "exp": "exp",
    "log": "log",
    "floor": "floor",
    "ceil": "ceil",
    "round": "roundeven",
    "round_away": "round",
    "exp2": "exp2",
    "pow": "pow",
    "fma": "fma",
}
LIBRARY = {
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "log1p",
    "expm1",
    "cbrt",
    "erf",
    "erfc",
    "atan2",
}
# those of LLVM's names that processors have
PROCESSOR = {"sqrt", "floor", "ceil", "round", "round_away", "fma"}
# and of those that some processors do themselves
PERHAPS = {"fmod", "floor", "ceil", "round", "roundeven"}
# LLVM's own names of functions that it calls there
FROM_LIBRARY = {"sin", "cos", "exp", "log", "exp2", "pow"}
FLOATS = {
    "add": "fadd",
    "sub": "fsub",
    "mul": "fmul",
    "div": "fdiv",
    "rem": "frem",
}
INTEGERS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "sdiv",
    "rem": "srem",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "left": "shl",
    "right": "lshr",
}
FLOAT_TESTS = {
    "eq": "oeq",
    "ne": "une",
    "lt": "olt",
    "le": "ole",
    "gt": "ogt",
    "ge": "oge",
    "above_or_nan": "ugt",
}
INTEGER_TESTS = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
CONVERSIONS = {
    "i_to_f": "sitofp",
    "b_to_f": "uitofp",
    "b_to_i": "zext",
    "bits_of": "bitcast",
    "number_of": "bitcast",
}
ANGLES = ("sin", "cos")  # in the order of what `sincos` gives


def operation(text: Text, v: Value) -> str:
    """A value that is computed from others."""
    if v.id in text.fused:
        return sum_with_product(text, v)
    op, args, kind, of, wide = v.op, v.args, v.kind, v.args[0].kind, text.is_wide(v)
    if text.calls_own and op in ANGLES:
        return sine_or_cosine(text, v)
    if text.calls_own and op in OWN:
        return own_function(text, op, args[0], wide)
    if kind == FLOAT and (op in INTRINSICS or op in LIBRARY):
        return function_of_numbers(text, op, args, wide)
    t, given = text.type(kind, wide), text.type(of, wide)
    r = [text.reference(a, wide) for a in args]
    if op in ("max", "min"):
        name = f"{op}imum" if kind == FLOAT else f"s{op}"
        return intrinsic(text, name, [kind, kind], r, wide)
    if op in FLOATS and kind == FLOAT:
        return f"{FLOATS[op]} {t} {r[0]}, {r[1]}"
    if op in INTEGERS and kind != FLOAT:
        return f"{INTEGERS[op]} {t} {r[0]}, {r[1]}"
    if op in FLOAT_TESTS and of == FLOAT:
        return f"fcmp {FLOAT_TESTS[op]} {given} {r[0]}, {r[1]}"
    if op in INTEGER_TESTS:
        return f"icmp {INTEGER_TESTS[op]} {given} {r[0]}, {r[1]}"
    if op == "select":
        return f"select {given} {r[0]}, {t} {r[1]}, {t} {r[2]}"
    return of_one(text, op, kind, of, r[0], wide)


def of_one(text: Text, op: str, kind: str, of: str, a: str, wide: bool) -> str:
    """An operation on one value `a` of the kind `of`."""
    t, given = text.type(kind, wide), text.type(of, wide)
    if op == "neg":
        return f"fneg {t} {a}" if kind == FLOAT else f"sub {t} {filled(text, '0', wide)}, {a}"
    if op == "abs":
        if kind == FLOAT:
            return intrinsic(text, "fabs", [kind], [a], wide)
        name = f"llvm.abs.{suffix(text, kind, wide)}"
        text.declare(name, [t, "i1"], t)
        return f"call {t} @{name}({t} {a}, i1 false)"
    if op == "narrow":
        half = filled(text, "32", wide)
        return f"ashr {t} {text.temporary(f'shl {t} {a}, {half}')}, {half}"
    if op == "not":
        return f"xor {t} {a}, {filled(text, 'true', wide, BOOLEAN)}"
    if op in CONVERSIONS:
        return f"{CONVERSIONS[op]} {given} {a} to {t}"
    assert op == "f_to_i", op
    name = f"llvm.fptosi.sat.{suffix(text, kind, wide)}.{suffix(text, of, wide)}"
    text.declare(name, [given], t)
    return f"call {t} @{name}({given} {a})"


def sum_with_product(text: Text, v: Value) -> str:
    """a b + c with one rounding, where the processor can."""
    product, wide = text.fused[v.id], text.is_wide(v)
    (a, b), (first, second) = product.args, v.args
    c = second if product is first else first
    names = [text.reference(x, wide) for x in (a, b, c)]
    if v.op == "sub":
        k = 2 if product is first else 0
        names[k] = text.temporary(f"fneg {text.type(FLOAT, wide)} {names[k]}")
    return intrinsic(text, "fmuladd", [FLOAT] * 3, names, wide)


def own_name(op: str, lanes: int) -> str:
    """What a function of `functions.OWN` is called in a module."""
    return f"accion_{op}" if lanes == 1 else f"accion_{op}_v{lanes}"


def own_function(text: Text, op: str, x: Value, wide: bool) -> str:
    """A call of a function of `functions.OWN`."""
    lanes = text.lanes if wide else 1
    text.own.add((op, lanes))
    given, name = text.type(FLOAT, wide), own_name(op, lanes)
    t = text.several(2 if op == "sincos" else 1, wide)
    text.declare(name, [given], t)
    return f"call {t} @{name}({given} {text.reference(x, wide)})"


def sine_or_cosine(text: Text, v: Value) -> str:
    """The part of sincos(x) that is wanted: where one of the two is, so is the other, nearly
    always, and both cost as much as one.
    """
    x, wide = v.args[0], text.is_wide(v)
    key = x.id, id(v.region)  # what a region has computed is there in the rest of it
    if key not in text.angles:
        text.angles[key] = text.temporary(own_function(text, "sincos", x, wide))
    return f"extractvalue {text.several(2, wide)} {text.angles[key]}, {ANGLES.index(v.op)}"


def function_of_numbers(text: Text, op: str, args: Sequence[Value], wide: bool) -> str:
    """A function of the C library, or one that the processor has."""
    names = [text.reference(a, wide) for a in args]
    if op in PROCESSOR:
        return intrinsic(text, INTRINSICS[op], [FLOAT] * len(args), names, wide)
    name = f"llvm.{INTRINSICS[op]}.f64" if op in INTRINSICS else op
    text.declare(name, ["double"] * len(args), "double")

    def call(numbers: Sequence[str]) -> str:
        return f"call double @{name}({', '.join(f'double {n}' for n in numbers)})"

    if not wide:
        return call(names)
    # The library knows no vectors: one lane after the other.
    each = [[text.lane(FLOAT, n, k) for n in names] for k in range(text.lanes)]
    *most, last = [call(numbers) for numbers in each]
    found = text.joined(FLOAT, [text.temporary(one) for one in most])
    number, t = text.temporary(last), text.type(FLOAT, True)
    return f"insertelement {t} {found}, double {number}, i64 {text.lanes - 1}"


def intrinsic(text: Text, name: str, kinds: Sequence[str], names: Sequence[str], wide: bool) -> str:
    """A call of a function of LLVM's own, whose result is of the kind of its arguments."""
    types = [text.type(kind, wide) for kind in kinds]
    full = f"llvm.{name}.{suffix(text, kinds[0], wide)}"
    text.declare(full, types, types[0])
    pairs = ", ".join(f"{t} {n}" for t, n in zip(types, names, strict=True))
    return f"call {types[0]} @{full}({pairs})"


def suffix(text: Text, kind: str, wide: bool) -> str:
    """How the names of LLVM's functions tell types."""
    return f"{f'v{text.lanes}' if wide else ''}{'f64' if kind == FLOAT else 'i64'}"


def filled(text: Text, number: str, wide: bool, kind: str = INTEGER) -> str:
    """A constant, in all lanes."""
    return f"<{', '.join([f'{TYPES[kind]} {number}'] * text.lanes)}>" if wide else number
