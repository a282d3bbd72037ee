"""The text of one function in LLVM's language: its lines, the names of its values, its memory.

With several lanes a value is a vector, one number for each lane, and a buffer has the numbers of
all lanes beside each other. Only lanes of the `mask` count; what the others compute is not looked
at.
"""

import struct
from collections.abc import Collection, Sequence

from accion.engines.fused import fused
from accion.engines.graph import Graph
from accion.engines.kinds import BOOLEAN, FLOAT
from accion.engines.needed import needed
from accion.engines.values import Abreast, Call, Value
from accion.engines.varying import varying

TYPES = {"f": "double", "i": "i64", "b": "i1"}


def number(x: float) -> str:
    """A real number as it is written."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016x}"


class Text:
    """The text of a function under construction; `shared` are the buffers that all lanes read, and
    `calls_own` is whether it calls functions of our own, `functions.OWN`.
    """

    def __init__(
        self, graph: Graph, lanes: int, shared: Collection[str], calls_own: bool = True
    ) -> None:
        self.lanes, self.shared, self.calls_own = lanes, shared, calls_own
        self.own: set[tuple[str, int]] = set()  # those that it calls, for so many lanes
        self.angles: dict[tuple[int, int], str] = {}  # sin and cos, by the angle and the region
        self.declarations: dict[str, str] = {}
        self.solvers: set[int] = set()
        self.abreast: list[Abreast] = []
        self.calls: list[Call] = []
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.label, self.temporaries = "entry", 0
        self.names: dict[int, str] = {}
        self.mask: str | None = None  # None where all lanes count
        self.live = needed(graph)
        self.fused = fused(graph.top, self.live)
        self.inside = {v.id for v in self.fused.values()}  # of a sum, and not written by itself
        self.varying = varying(graph, self.live, shared) if lanes > 1 else set[int]()

    # ------------------------------------------------------------------ values

    def is_wide(self, v: Value) -> bool:
        """Whether a value is a vector."""
        return v.id in self.varying

    def type(self, kind: str, wide: bool) -> str:
        """The type of a number of this kind, or of a vector of them."""
        return f"<{self.lanes} x {TYPES[kind]}>" if wide else TYPES[kind]

    def several(self, count: int, wide: bool) -> str:
        """The type of what a function of numbers returns."""
        t = self.type(FLOAT, wide)
        return t if count == 1 else f"{{ {', '.join([t] * count)} }}"

    def type_of(self, v: Value) -> str:
        """The type of a value."""
        return self.type(v.kind, self.is_wide(v))

    def reference(self, v: Value, wide: bool = False) -> str:
        """How a value is written where it is used; as a vector if that is what is wanted."""
        if not v.is_constant:
            name = self.names[v.id]
            return self.splat(v.kind, name) if wide and not self.is_wide(v) else name
        known = v.args[0]
        text = number(known) if v.kind == FLOAT else str(known).lower()
        return f"<{', '.join([f'{TYPES[v.kind]} {text}'] * self.lanes)}>" if wide else text

    def typed(self, v: Value, wide: bool = False) -> str:
        """The same with its type."""
        return f"{self.type(v.kind, wide or self.is_wide(v))} {self.reference(v, wide)}"

    def splat(self, kind: str, name: str) -> str:
        """The vector that has one number in all lanes."""
        wide = self.type(kind, True)
        first = self.temporary(f"insertelement {wide} poison, {TYPES[kind]} {name}, i64 0")
        return self.temporary(
            f"shufflevector {wide} {first}, {wide} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def lane(self, kind: str, vector: str, k: int) -> str:
        """The number in one lane of a vector."""
        return self.temporary(f"extractelement {self.type(kind, True)} {vector}, i64 {k}")

    def joined(self, kind: str, numbers: Sequence[str]) -> str:
        """The vector of these numbers."""
        found = "poison"
        for k, name in enumerate(numbers):
            found = self.temporary(
                f"insertelement {self.type(kind, True)} {found}, {TYPES[kind]} {name}, i64 {k}"
            )
        return found

    # ------------------------------------------------------------------ lines

    def temporary(self, text: str) -> str:
        """The name of a new line of the program."""
        self.temporaries += 1
        self.lines.append(f"%t{self.temporaries} = {text}")
        return f"%t{self.temporaries}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        """Go on with another block."""
        self.lines.append(f"br label %{label}")

    def declare(self, name: str, types: Sequence[str], result: str) -> None:
        """A function that is defined elsewhere."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(types)})"

    # ------------------------------------------------------------------ masks

    def select(self, mask: str, kind: str, a: str, b: str) -> str:
        """The vector `a` in the lanes of a mask, else `b`."""
        t = self.type(kind, True)
        return self.temporary(f"select {self.type(BOOLEAN, True)} {mask}, {t} {a}, {t} {b}")

    def of_mask(self, condition: str) -> str:
        """The lanes that count and in which a condition holds."""
        if self.mask is None:
            return condition
        return self.temporary(f"and {self.type(BOOLEAN, True)} {self.mask}, {condition}")

    def bits(self, mask: str) -> str:
        """A mask as one integer, a bit for each lane."""
        return self.temporary(f"bitcast {self.type(BOOLEAN, True)} {mask} to i{self.lanes}")

    def any(self, mask: str) -> str:
        """Whether there is a lane in a mask."""
        return self.temporary(f"icmp ne i{self.lanes} {self.bits(mask)}, 0")

    # ------------------------------------------------------------------ memory

    def allocate(self, name: str, size: int, lanes: int) -> None:
        """Memory for so many numbers in so many lanes."""
        self.allocations.append(f"%{name} = alloca [{size * lanes} x i64], align 64")

    def address(self, buffer: str, at: int | str) -> str:
        """The address of a number of a buffer."""
        return self.temporary(f"getelementptr i64, ptr %{buffer}, i64 {at}")

    def place(self, buffer: str, slot: int | Value) -> str:
        """The address of a slot of a buffer, in its first lane."""
        lanes = 1 if buffer in self.shared else self.lanes
        if not isinstance(slot, Value):
            return self.address(buffer, slot * lanes)
        at = self.reference(slot)
        return self.address(buffer, self.temporary(f"mul i64 {at}, {lanes}") if lanes > 1 else at)

    def places(self, buffer: str, slot: Value) -> list[str]:
        """The addresses of a slot that differs from lane to lane."""
        found = []
        for k in range(self.lanes):
            own = self.lane(slot.kind, self.names[slot.id], k)
            at = self.temporary(f"mul i64 {own}, {self.lanes}")
            found.append(self.address(buffer, self.temporary(f"add i64 {at}, {k}")))
        return found

    def load(self, v: Value, buffer: str, slot: int | Value) -> None:
        """A number from memory, where truth values are integers."""
        kind, wide = "i" if v.kind == BOOLEAN else v.kind, self.is_wide(v)
        if isinstance(slot, Value) and self.is_wide(slot):
            parts = [f"load {TYPES[kind]}, ptr {at}, align 8" for at in self.places(buffer, slot)]
            name = self.joined(kind, [self.temporary(text) for text in parts])
        else:
            own = wide and buffer not in self.shared
            at = self.place(buffer, slot)
            name = self.temporary(f"load {self.type(kind, own)}, ptr {at}, align 8")
            name = self.splat(kind, name) if wide and not own else name
        if v.kind == BOOLEAN:
            name = self.temporary(
                f"trunc {self.type('i', wide)} {name} to {self.type(BOOLEAN, wide)}"
            )
        self.names[v.id] = name

    def store(self, buffer: str, slot: int | Value, value: Value, mask: str | None = None) -> None:
        """A number to memory; of some lanes only, where there is a mask."""
        wide, kind = self.lanes > 1, value.kind
        name = self.reference(value, wide)
        if kind == BOOLEAN:
            types = self.type(BOOLEAN, wide), self.type("i", wide)
            name, kind = self.temporary(f"zext {types[0]} {name} to {types[1]}"), "i"
        if isinstance(slot, Value) and self.is_wide(slot):
            for k, at in enumerate(self.places(buffer, slot)):
                number = f"{TYPES[kind]} {self.lane(kind, name, k)}"
                self.lines.append(f"store {number}, ptr {at}, align 8")
            return
        at, t = self.place(buffer, slot), self.type(kind, wide)
        if mask is not None:
            before = self.temporary(f"load {t}, ptr {at}, align 8")
            name = self.select(mask, kind, name, before)
        self.lines.append(f"store {t} {name}, ptr {at}, align 8")
