"""What a program over single numbers consists of: values, and the regions that compute them."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Value:
    """One number: the operation and the values that it is computed from, and the region that
    computes it.

    `bounds` are the least and the largest that an integer can be, None where they are not known.
    """

    __slots__ = ("args", "bounds", "id", "kind", "op", "region")

    def __init__(
        self,
        op: str,
        args: tuple[Any, ...],
        kind: str,
        region: "Region",
        id: int,
        bounds: tuple[int, int] | None = None,
    ) -> None:
        self.op, self.args, self.kind, self.region, self.id = op, args, kind, region, id
        self.bounds = bounds

    @property
    def is_constant(self) -> bool:
        """Whether it is a number that is known, `args[0]`."""
        return self.op == "constant"


class Region:
    """Values, loops and branches in the order of their computation.

    `role`: top, header (test of a loop), body or branch.
    """

    def __init__(self, parent: "Region | None", role: str) -> None:
        self.parent, self.role = parent, role
        self.items: list[Item] = []
        self.computed: dict[Any, Value] = {}  # values by their operation and what it is applied to
        self.depth = 0 if parent is None else parent.depth + 1

    @property
    def outside(self) -> "Region | None":
        """The region before the loop that this one belongs to, None where it is no part of one."""
        header = self.parent if self.role == "body" else self if self.role == "header" else None
        return None if header is None else header.parent


@dataclass(eq=False)
class Loop:
    """while test(carried): carried = body(carried)"""

    id: int
    starts: list[Value]
    header: Region
    body: Region
    # Those below are filled in while it is built.
    carried: list[Value] = field(default_factory=list)
    test: Any = None
    ends: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Branches:
    """results = branches[index]()"""

    id: int
    index: Value
    regions: list[Region]
    outcomes: list[list[Value]]
    results: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class DenseSolve:
    """results = x with A x = b; `inputs` are the rows of A, then b."""

    id: int
    size: int
    inputs: list[Value]
    results: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Call:
    """results = later(inputs), `later` being compiled when it is first called"""

    id: int
    later: Any
    types: list[Any]  # of the arrays that the inputs are the entries of
    inputs: list[Value]
    results: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Abreast:
    """results = graph(shared, row) for each row; `graph` reads its buffers "shared", "table" (of
    numbers that are known) and "row", and writes to "found".
    """

    id: int
    graph: Any
    shared: list[Value]
    rows: list[list[Value]]
    table: list[list[Any]]  # numbers of each row
    results: list[Value] = field(default_factory=list)  # row after row

    @property
    def inputs(self) -> list[Value]:
        return [*self.shared, *(v for row in self.rows for v in row)]


# What stands in a region.
Item: TypeAlias = Value | Loop | Branches | DenseSolve | Call | Abreast
