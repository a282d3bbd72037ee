"""From a graph to a module: LLVM's intermediate language as text."""

from collections.abc import Collection, Iterable, Sequence
from threading import Lock
from typing import Any

from accion.engines import flow
from accion.engines.errors import Unsupported
from accion.engines.functions import function
from accion.engines.graph import Graph
from accion.engines.kinds import FLOAT
from accion.engines.machine import Machine, announce, has_fma, lanes_here, missing
from accion.engines.operations import operation, own_name
from accion.engines.solver import elimination
from accion.engines.text import Text, number
from accion.engines.values import Abreast, Branches, Call, DenseSolve, Loop, Region, Value


class Function:
    """The text of one function; `buffers` are pointers to 64-bit numbers, `integers` and `numbers`
    further arguments. With several lanes the numbers of all of them stand beside each other in a
    buffer, but in those that are `shared`.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        buffers: Sequence[str],
        integers: Sequence[str] = (),
        lanes: int = 1,
        shared: Collection[str] = (),
        numbers: Sequence[str] = (),
    ) -> None:
        # Functions of our own do not call each other.
        self.written = Text(graph, lanes, shared, calls_own=not numbers)
        self.result, self.end = "void", "ret void"
        self.region(graph.top)
        number = self.written.type(FLOAT, lanes > 1)
        args = ", ".join(
            [
                *[f"ptr noalias %{b}" for b in buffers],
                *[f"i64 %{i}" for i in integers],
                *[f"{number} %{x}" for x in numbers],
            ]
        )
        self.text = "\n".join(
            [
                f"define {self.result} @{name}({args}) {{",
                "entry:",
                *self.written.allocations,
                *self.written.lines,
                self.end,
                "}",
            ]
        )

    def region(self, region: Region) -> None:
        """What a region computes, as far as it is needed."""
        text = self.written
        emit: dict[type, Any] = {
            Value: self.value,
            Loop: lambda item: flow.loop(text, item, self.region),
            Branches: lambda item: flow.branches(text, item, self.region),
            DenseSolve: lambda item: flow.dense_solve(text, item),
            Call: lambda item: flow.call(text, item),
            Abreast: self.abreast,
        }
        for item in region.items:
            if item.id in text.live:
                emit[type(item)](item)

    def abreast(self, made: Abreast) -> None:
        """Rows side by side."""
        self.written.abreast.append(made)
        flow.abreast(self.written, made, lanes_here())

    def value(self, v: Value) -> None:
        """One value."""
        op, args, text = v.op, v.args, self.written
        if op == "result" or v.id in text.inside:
            return
        if op == "after":
            text.names[v.id] = text.names[args[0].id]
        elif op == "argument":
            text.names[v.id] = f"%{args[0]}"
        elif op == "load":
            text.load(v, *args)
        elif op == "store":
            text.store(*args, mask=text.mask)
        elif op == "give":
            self.give(args)
        else:
            line = operation(text, v)
            text.names[v.id] = f"%v{v.id}"
            text.lines.append(f"%v{v.id} = {line}")

    def give(self, results: Sequence[Value]) -> None:
        """The results of a function of numbers."""
        text, wide = self.written, self.written.lanes > 1
        self.result = text.several(len(results), wide)
        found = text.typed(results[0], wide)
        if len(results) > 1:
            both = "poison"
            for k, v in enumerate(results):
                both = text.temporary(
                    f"insertvalue {self.result} {both}, {text.typed(v, wide)}, {k}"
                )
            found = f"{self.result} {both}"
        self.end = f"ret {found}"


def program(
    graph: Graph,
    buffers: Sequence[str],
    integers: Sequence[str] = (),
    lanes: int = 1,
    shared: Collection[str] = (),
) -> tuple[str, int, list[Call]]:
    """The text of the module whose function `run` is the graph, its number of lines, and the calls
    of functions that are compiled later: the address of the k-th is the number `later{k}`, that of
    the function of Python which is called before is `python{k}`, see `flow.asking`.
    """
    function = Function(graph, "run", buffers, integers, lanes, shared)
    main = function.written
    inner = [(made, of_rows(made)) for made in main.abreast]
    texts = [main, *(each.written for _, each in inner)]
    parts = [function.text, *(each.text for _, each in inner)]
    declarations = {k: v for each in texts for k, v in each.declarations.items()}
    for n, width in sorted({(n, each.lanes) for each in texts for n in each.solvers}):
        solver = Function(elimination(n), f"solve{n}x{width}", ["A"], lanes=width)
        parts.append(solver.text)
        declarations |= solver.written.declarations
    check(declarations)
    for op, width in sorted(set[tuple[str, int]]().union(*(each.own for each in texts))):
        define(op, width)
    parts.extend(table(made) for made, _ in inner)
    cells = [f"@later{k} = global ptr @ask{k}" for k in range(len(main.calls))]
    if main.calls:
        cells.append("@lost = global i64 0")
        parts += [flow.asking(k, len(each.results)) for k, each in enumerate(main.calls)]
    if main.calls and lanes > 1:
        parts.append(flow.between_lanes(lanes))
    text = "\n".join([*cells, *declarations.values(), *parts])
    return text, sum(len(each.lines) for each in texts), main.calls


def of_rows(made: Abreast) -> Function:
    """The function of a vector of rows."""
    buffers = ("shared", "table", "row", "found")
    return Function(
        made.graph, f"abreast{made.id}", buffers, lanes=lanes_here(), shared=("shared",)
    )


def table(made: Abreast) -> str:
    """The numbers of all rows that are known, as a vector of rows has them in memory."""
    width, rows = lanes_here(), list(made.table)
    rows += [rows[-1]] * (-len(rows) % width)
    numbers = [
        row[j]
        for k in range(0, len(rows), width)
        for j in range(len(rows[0]))
        for row in rows[k : k + width]
    ]
    listed = ", ".join(f"double {number(x)}" for x in numbers)
    value = f"[{listed}]" if numbers else "zeroinitializer"
    return f"@table{made.id} = internal constant [{len(numbers)} x double] {value}, align 64"


def check(declarations: Iterable[str]) -> None:
    """Raise Unsupported where a program calls what there is not."""
    if lacking := missing(declarations):
        raise Unsupported(f"{', '.join(lacking)}, which the C library lacks")


DEFINED: dict[str, Machine] = {}  # kept as long as there are programs that may call them
DEFINING = Lock()


def define(op: str, lanes: int) -> None:
    """Compile a function of `functions.OWN`, once for all programs.

    A processor without fused products computes them too slowly; there it is the C library's.
    """
    name = own_name(op, lanes)
    with DEFINING:
        if name not in DEFINED:
            made = Function(function(op, has_fma()), name, (), lanes=lanes, numbers=("x",))
            check(made.written.declarations)
            text = "\n".join([*made.written.declarations.values(), made.text])
            DEFINED[name] = Machine(text, 0, 0, name=name)
            announce(name, DEFINED[name].address)
