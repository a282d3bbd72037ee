"""From a graph to source text: one statement for each value, in the order of computation."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from accion.engines.errors import Unsupported
from accion.engines.graph import Graph
from accion.engines.needed import arguments, needed
from accion.engines.values import Branches, DenseSolve, Item, Loop, Region, Value


class Language(ABC):
    """How a language writes what a program consists of; `a`, `b` are texts of values."""

    @abstractmethod
    def number(self, v: Value) -> str:
        """A constant."""

    @abstractmethod
    def fixed(self, kind: str, name: str, text: str) -> str:
        """The statement that gives a name to a value."""

    @abstractmethod
    def variable(self, kind: str, name: str, text: str | None = None) -> str:
        """The statement that declares a variable, which may begin with a value."""

    @abstractmethod
    def matrix(self, name: str, numbers: Sequence[str]) -> str:
        """The statement that declares memory with these numbers in it."""

    @abstractmethod
    def equal(self, a: str, b: str) -> str:
        """Whether two integers are equal."""

    @abstractmethod
    def load(self, text: "Text", kind: str, place: str) -> str:
        """A value from a place in memory, where all are numbers."""

    @abstractmethod
    def store(self, kind: str, text: str) -> str:
        """A value as a number for memory."""

    @abstractmethod
    def operation(self, text: "Text", v: Value) -> str | None:
        """A value that is computed from others; None where what it is for is written without it."""

    @abstractmethod
    def module(
        self, name: str, comment: list[str], main: "Text", solvers: list["Text"], size: int
    ) -> str:
        """The whole text; `size` is the number of outputs, and each of `solvers` is a function
        `solve<n>(A)` on the memory of a matrix.
        """


class Text:
    """The statements of one function in a language."""

    def __init__(self, graph: Graph, language: Language) -> None:
        self.language = language
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.helpers: set[str] = set()  # functions of the language's own library that it calls
        self.solvers: set[int] = set()  # numbers of unknowns
        self.indent = 1
        self.live = needed(graph)
        # Integers that are looked at as a whole, and not by their last 32 bits alone.
        self.whole = {
            a.id
            for item in inside(graph.top)
            if item.id in self.live and not (isinstance(item, Value) and item.op == "narrow")
            for a in arguments(item)
        }
        self.region(graph.top)

    def write(self, line: str) -> None:
        """A line of the program."""
        self.lines.append("    " * self.indent + line)

    def of(self, v: Value) -> str:
        """How a value is written where it is used."""
        return self.language.number(v) if v.is_constant else self.names[v.id]

    def helper(self, name: str, *args: str) -> str:
        """A call of a function that the text brings with it."""
        self.helpers.add(name)
        return f"{name}({', '.join(args)})"

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
                if type(item) not in emit:
                    raise Unsupported(f"the source text of {type(item).__name__}")
                emit[type(item)](item)

    def value(self, v: Value) -> None:
        """One value."""
        if v.op == "result":
            return
        if v.op == "after":
            self.names[v.id] = self.names[v.args[0].id]
        elif v.op == "store":
            buffer, slot, value = v.args
            text = self.language.store(value.kind, self.of(value))
            self.write(f"{self.place(buffer, slot)} = {text};")
        elif v.op == "load":
            self.name(v, self.language.load(self, v.kind, self.place(*v.args)))
        else:
            text = self.language.operation(self, v)
            if text is not None:
                self.name(v, text)

    def name(self, v: Value, text: str) -> None:
        """Give a name to the text of a value."""
        self.names[v.id] = f"v{v.id}"
        self.write(self.language.fixed(v.kind, f"v{v.id}", text))

    def place(self, buffer: str, slot: int | Value) -> str:
        """A slot of a buffer."""
        return f"{buffer}[{self.of(slot) if isinstance(slot, Value) else slot}]"

    def loop(self, loop: Loop) -> None:
        """A loop; what is carried are variables before it."""
        live = [i for i, v in enumerate(loop.carried) if v.id in self.live]
        for i in live:
            v, start = loop.carried[i], self.of(loop.starts[i])
            self.names[v.id] = f"c{v.id}"
            self.write(self.language.variable(v.kind, f"c{v.id}", start))
        self.write("for (;;) {")
        self.indent += 1
        self.region(loop.header)
        self.write(f"if (!{self.of(loop.test)}) break;")
        self.region(loop.body)
        pairs = [
            (loop.carried[i], loop.ends[i]) for i in live if loop.ends[i] is not loop.carried[i]
        ]
        # A variable that another one takes over is kept before it changes.
        taken = [end for _, end in pairs if end.op == "carried" and end.args[0] is loop]
        kept = {end.id: f"k{end.id}" for end in taken}
        for end in {end.id: end for end in taken}.values():
            self.write(self.language.fixed(end.kind, kept[end.id], self.of(end)))
        for v, end in pairs:
            self.write(f"{self.of(v)} = {kept.get(end.id) or self.of(end)};")
        self.indent -= 1
        self.write("}")

    def branches(self, made: Branches) -> None:
        """Branches, with variables for their results before them."""
        live = [i for i, v in enumerate(made.results) if v.id in self.live]
        for i in live:
            v = made.results[i]
            self.names[v.id] = f"r{v.id}"
            self.write(self.language.variable(v.kind, f"r{v.id}"))
        last = len(made.regions) - 1
        for j, (region, outcome) in enumerate(zip(made.regions, made.outcomes, strict=True)):
            test = f"if ({self.language.equal(self.of(made.index), str(j))}) " if j < last else ""
            self.write(f"{'} else ' if j else ''}{test}{{")
            self.indent += 1
            self.region(region)
            for i in live:
                self.write(f"{self.of(made.results[i])} = {self.of(outcome[i])};")
            self.indent -= 1
        self.write("}")

    def dense_solve(self, made: DenseSolve) -> None:
        """A call of a solver, on memory of its own."""
        n, space = made.size, f"A{made.id}"
        self.solvers.add(n)
        numbers = [
            self.of(v)
            for i in range(n)
            for v in (*made.inputs[i * n : (i + 1) * n], made.inputs[n * n + i])
        ]
        self.write(self.language.matrix(space, numbers))
        self.write(f"solve{n}({space});")
        for i, v in enumerate(made.results):
            if v.id in self.live:
                self.names[v.id] = f"{space}[{i * (n + 1) + n}]"


def inside(region: Region) -> Iterator[Item]:
    """All that stands in a region and in those inside it."""
    for item in region.items:
        yield item
        if isinstance(item, Loop):
            yield from (*item.carried, *inside(item.header), *inside(item.body))
        elif isinstance(item, Branches):
            for inner in item.regions:
                yield from inside(inner)
