"""From a graph to machine code: LLVM's intermediate language as text, compiled by llvmlite.

LLVM's own passes over the text are left out: they take as long as code generation and gain nothing
on graphs that are simplified already.
"""

import ctypes
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import llvmlite.binding as binding

from accion.engines.errors import Unsupported
from accion.engines.graph import Graph
from accion.engines.needed import needed
from accion.engines.solver import elimination
from accion.engines.values import Branches, DenseSolve, Loop, Region, Value

TYPES = {"f": "double", "i": "i64", "b": "i1"}
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
# and of those that some processors do themselves
PERHAPS = {"fmod", "floor", "ceil", "round", "roundeven"}
# LLVM's own names of functions that it calls there
FROM_LIBRARY = {"sin", "cos", "exp", "log", "exp2", "pow"}
FLOATS = {
    "add": "fadd contract",
    "sub": "fsub contract",
    "mul": "fmul contract",
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
CONVERSIONS = {"i_to_f": "sitofp", "b_to_f": "uitofp", "b_to_i": "zext"}


class Function:
    """The text of one function; `buffers` are pointers to 64-bit numbers, `integers` further
    arguments.
    """

    def __init__(
        self, graph: Graph, name: str, buffers: Sequence[str], integers: Sequence[str] = ()
    ) -> None:
        self.declarations: dict[str, str] = {}
        self.solvers: set[int] = set()
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.label, self.temporaries = "entry", 0
        self.names: dict[int, str] = {}
        self.live = needed(graph)
        self.region(graph.top)
        args = ", ".join(
            [*[f"ptr noalias %{b}" for b in buffers], *[f"i64 %{i}" for i in integers]]
        )
        self.text = "\n".join(
            [
                f"define void @{name}({args}) {{",
                "entry:",
                *self.allocations,
                *self.lines,
                "ret void",
                "}",
            ]
        )

    # ------------------------------------------------------------------ text

    def reference(self, v: Value) -> str:
        """How a value is written where it is used."""
        if not v.is_constant:
            return self.names[v.id]
        number = v.args[0]
        if v.kind == "f":
            return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016x}"
        return str(number).lower()

    def typed(self, v: Value) -> str:
        """The same with its type."""
        return f"{TYPES[v.kind]} {self.reference(v)}"

    def temporary(self, text: str) -> str:
        """The name of a new line of the program."""
        self.temporaries += 1
        self.lines.append(f"%t{self.temporaries} = {text}")
        return f"%t{self.temporaries}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.label = label

    def function(self, name: str, kind: str, args: Sequence[Value]) -> str:
        """A call of a function of numbers of one kind."""
        t = TYPES[kind]
        self.declarations[name] = f"declare {t} @{name}({', '.join([t] * len(args))})"
        return f"call {t} @{name}({', '.join(self.typed(a) for a in args)})"

    # ------------------------------------------------------------------ items

    def region(self, region: Region) -> None:
        """What a region computes, as far as it is needed."""
        emit: dict[type, Any] = {
            Value: self.value,
            Loop: self.loop,
            Branches: self.branches,
            DenseSolve: self.dense_solve,
        }
        for item in region.items:
            if item.id in self.live:
                emit[type(item)](item)

    def value(self, v: Value) -> None:
        """One value."""
        op, args = v.op, v.args
        if op == "result":
            return
        if op == "after":
            self.names[v.id] = self.names[args[0].id]
        elif op == "argument":
            self.names[v.id] = f"%{args[0]}"
        elif op == "load":
            self.load(v)
        elif op == "store":
            self.store(*args)
        else:
            text = self.operation(op, args, v.kind)
            self.names[v.id] = f"%v{v.id}"
            self.lines.append(f"%v{v.id} = {text}")

    def operation(self, op: str, args: Sequence[Value], kind: str) -> str:
        """An operation that is computed from other values."""
        t, r, of = TYPES[kind], [self.reference(a) for a in args], args[0].kind
        if op in ("max", "min"):
            return self.function(
                f"llvm.{op}imum.f64" if kind == "f" else f"llvm.s{op}.i64", kind, args
            )
        if op in FLOATS and kind == "f":
            return f"{FLOATS[op]} {t} {r[0]}, {r[1]}"
        if op in INTEGERS and kind != "f":
            return f"{INTEGERS[op]} {t} {r[0]}, {r[1]}"
        if op in FLOAT_TESTS and of == "f":
            return f"fcmp {FLOAT_TESTS[op]} double {r[0]}, {r[1]}"
        if op in INTEGER_TESTS:
            return f"icmp {INTEGER_TESTS[op]} {TYPES[of]} {r[0]}, {r[1]}"
        if op == "neg":
            return f"fneg double {r[0]}" if kind == "f" else f"sub {t} 0, {r[0]}"
        if op == "abs":
            if kind == "f":
                return self.function("llvm.fabs.f64", "f", args)
            self.declarations["llvm.abs.i64"] = "declare i64 @llvm.abs.i64(i64, i1)"
            return f"call i64 @llvm.abs.i64(i64 {r[0]}, i1 false)"
        if op == "narrow":
            return f"ashr i64 {self.temporary(f'shl i64 {r[0]}, 32')}, 32"
        if op == "select":
            return f"select i1 {r[0]}, {t} {r[1]}, {t} {r[2]}"
        if op == "not":
            return f"xor i1 {r[0]}, true"
        if op in CONVERSIONS:
            return f"{CONVERSIONS[op]} {TYPES[of]} {r[0]} to {t}"
        if op == "f_to_i":
            self.declarations[op] = "declare i64 @llvm.fptosi.sat.i64.f64(double)"
            return f"call i64 @llvm.fptosi.sat.i64.f64(double {r[0]})"
        if op in INTRINSICS:
            return self.function(f"llvm.{INTRINSICS[op]}.f64", "f", args)
        assert op in LIBRARY, op
        return self.function(op, "f", args)

    def place(self, buffer: str, slot: int | Value) -> str:
        """The address of a slot of a buffer."""
        at = self.reference(slot) if isinstance(slot, Value) else slot
        return self.temporary(f"getelementptr i64, ptr %{buffer}, i64 {at}")

    def load(self, v: Value) -> None:
        """A number from memory, where truth values are integers."""
        at = self.place(*v.args)
        self.names[v.id] = self.temporary(
            f"load {'i64' if v.kind == 'b' else TYPES[v.kind]}, ptr {at}, align 8"
        )
        if v.kind == "b":
            self.names[v.id] = self.temporary(f"trunc i64 {self.names[v.id]} to i1")

    def store(self, buffer: str, slot: int | Value, value: Value) -> None:
        """A number to memory."""
        at, what = self.place(buffer, slot), self.typed(value)
        if value.kind == "b":
            what = f"i64 {self.temporary(f'zext {what} to i64')}"
        self.lines.append(f"store {what}, ptr {at}, align 8")

    def loop(self, loop: Loop) -> None:
        """A loop: its test, its body, and what is carried as phis of the test."""
        k, before = loop.id, self.label
        live = [i for i, v in enumerate(loop.carried) if v.id in self.live]
        for i in live:
            self.names[loop.carried[i].id] = f"%v{loop.carried[i].id}"
        self.lines.append(f"br label %test{k}")
        self.start(f"test{k}")
        spot = len(self.lines)
        self.region(loop.header)
        self.lines.append(f"br i1 {self.reference(loop.test)}, label %body{k}, label %after{k}")
        self.start(f"body{k}")
        self.region(loop.body)
        phis = [
            f"{self.names[loop.carried[i].id]} = phi {TYPES[loop.carried[i].kind]}"
            f" [{self.reference(loop.starts[i])}, %{before}], [{self.reference(loop.ends[i])},"
            f" %{self.label}]"
            for i in live
        ]
        self.lines[spot:spot] = phis
        self.lines.append(f"br label %test{k}")
        self.start(f"after{k}")

    def branches(self, made: Branches) -> None:
        """Branches, and their results as phis where they meet."""
        k, last = made.id, len(made.regions) - 1
        cases = " ".join(f"i64 {j}, label %case{k}_{j}" for j in range(last))
        self.lines.append(
            f"switch i64 {self.reference(made.index)}, label %case{k}_{last} [{cases}]"
        )
        tails = []
        for j, region in enumerate(made.regions):
            self.start(f"case{k}_{j}")
            self.region(region)
            tails.append(self.label)
            self.lines.append(f"br label %join{k}")
        self.start(f"join{k}")
        for i, v in enumerate(made.results):
            if v.id in self.live:
                self.names[v.id] = f"%v{v.id}"
                pairs = ", ".join(
                    f"[{self.reference(o[i])}, %{t}]"
                    for o, t in zip(made.outcomes, tails, strict=True)
                )
                self.lines.append(f"%v{v.id} = phi {TYPES[v.kind]} {pairs}")

    def dense_solve(self, made: DenseSolve) -> None:
        """A call of a solver, on memory of its own."""
        n, space = made.size, f"%A{made.id}"
        self.solvers.add(n)
        self.allocations.append(f"{space} = alloca [{n * (n + 1)} x double], align 32")

        def at(i: int, j: int) -> str:
            return self.temporary(f"getelementptr double, ptr {space}, i64 {i * (n + 1) + j}")

        for i in range(n):
            row = [*made.inputs[i * n : (i + 1) * n], made.inputs[n * n + i]]
            for j, v in enumerate(row):
                self.lines.append(f"store {self.typed(v)}, ptr {at(i, j)}")
        self.lines.append(f"call void @solve{n}(ptr {space})")
        for i, v in enumerate(made.results):
            if v.id in self.live:
                self.names[v.id] = self.temporary(f"load double, ptr {at(i, n)}")


def program(graph: Graph, buffers: Sequence[str], integers: Sequence[str] = ()) -> tuple[str, int]:
    """The text of the module whose function `run` is the graph, and its number of lines."""
    main = Function(graph, "run", buffers, integers)
    parts, declarations = [main.text], dict(main.declarations)
    for n in sorted(main.solvers):
        solver = Function(elimination(n), f"solve{n}", ["A"])
        parts.append(solver.text)
        declarations |= solver.declarations
    if lacking := missing(declarations):
        raise Unsupported(f"{', '.join(lacking)}, which the C library lacks")
    return "\n".join([*declarations.values(), *parts]), len(main.lines)


@cache
def library() -> set[str]:
    """The functions of the C library that a program may call, told to LLVM by their addresses;
    their names.

    LLVM ends the process for a function that it does not find.
    """
    found = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    names: set[str] = set()
    for name in LIBRARY | FROM_LIBRARY | PERHAPS:
        with suppress(AttributeError):  # it lacks this one
            binding.add_symbol(name, ctypes.cast(found[name], ctypes.c_void_p).value)
            names.add(name)
    return names


def missing(declarations: Iterable[str]) -> list[str]:
    """The functions that a program calls and that the C library lacks."""
    called = {name.removeprefix("llvm.").removesuffix(".f64") for name in declarations}
    return sorted(called & (LIBRARY | FROM_LIBRARY) - library())


class Machine:
    """A compiled module; `run` is its function."""

    def __init__(self, text: str, pointers: int, integers: int) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(
            opt=2,
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
        )
        module = binding.parse_assembly(text)
        module.verify()
        self.engine = binding.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        types = [*[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * integers]
        self.run = ctypes.CFUNCTYPE(None, *types)(self.engine.get_function_address("run"))
