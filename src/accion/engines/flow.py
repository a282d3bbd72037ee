"""Loops, branches and calls of a program in LLVM's language.

With several lanes a loop goes on while any lane does, and those that are done keep what they carry;
a branch is entered if any lane takes it. A lane is never asked for more than it would do alone, so
that one that is no number makes no loop endless.
"""

from collections.abc import Callable

from accion.engines.kinds import BOOLEAN
from accion.engines.operations import FROM_LIBRARY, LIBRARY
from accion.engines.text import TYPES, Text
from accion.engines.values import Abreast, Branches, Call, DenseSolve, Loop, Region, Value

Write = Callable[[Region], None]  # writes what a region computes

SHORT = 32  # operations of a branch that is computed for all lanes, whether one takes it or not


def loop(text: Text, made: Loop, write: Write) -> None:
    """A loop: its test, its body, and what is carried as phis of the test."""
    k, outer = made.id, text.mask
    live = [(v, i) for i, v in enumerate(made.carried) if v.id in text.live]
    starts = [text.reference(made.starts[i], text.is_wide(v)) for v, i in live]
    before = text.label
    for v, _ in live:
        text.names[v.id] = f"%v{v.id}"
    text.jump(f"test{k}")
    text.start(f"test{k}")
    spot = len(text.lines)
    write(made.header)
    test, mask = text.reference(made.test), None
    if text.is_wide(made.test):
        # What a lane carries stays when it is done, and so does the outcome of its test.
        mask = text.of_mask(test)
        text.mask, test = mask, text.any(mask)
    text.lines.append(f"br i1 {test}, label %body{k}, label %after{k}")
    text.start(f"body{k}")
    write(made.body)
    ends = [text.reference(made.ends[i], text.is_wide(v)) for v, i in live]
    if mask is not None:
        ends = [
            text.select(mask, v.kind, end, text.names[v.id])
            for (v, _), end in zip(live, ends, strict=True)
        ]
    text.lines[spot:spot] = [
        f"{text.names[v.id]} = phi {text.type_of(v)} [{start}, %{before}], [{end}, %{text.label}]"
        for (v, _), start, end in zip(live, starts, ends, strict=True)
    ]
    text.jump(f"test{k}")
    text.mask = outer
    text.start(f"after{k}")


def branches(text: Text, made: Branches, write: Write) -> None:
    """Branches, and their results where they meet."""
    if text.is_wide(made.index):
        branches_of_lanes(text, made, write)
        return
    k, last = made.id, len(made.regions) - 1
    cases = " ".join(f"i64 {j}, label %case{k}_{j}" for j in range(last))
    text.lines.append(f"switch i64 {text.reference(made.index)}, label %case{k}_{last} [{cases}]")
    results = [(i, v) for i, v in enumerate(made.results) if v.id in text.live]
    pairs: list[list[str]] = [[] for _ in results]
    for j, region in enumerate(made.regions):
        text.start(f"case{k}_{j}")
        write(region)
        names = [text.reference(made.outcomes[j][i], text.is_wide(v)) for i, v in results]
        for each, name in zip(pairs, names, strict=True):
            each.append(f"[{name}, %{text.label}]")
        text.jump(f"join{k}")
    text.start(f"join{k}")
    for (_, v), each in zip(results, pairs, strict=True):
        text.names[v.id] = f"%v{v.id}"
        text.lines.append(f"%v{v.id} = phi {text.type_of(v)} {', '.join(each)}")


def branches_of_lanes(text: Text, made: Branches, write: Write) -> None:
    """Branches one after the other, each for the lanes that take it."""
    outer = text.mask
    results = [(i, v) for i, v in enumerate(made.results) if v.id in text.live]
    # Every lane takes one of them: what is there before counts in none.
    found = ["zeroinitializer"] * len(results)
    for j, region in enumerate(made.regions):
        own = taken(text, made, j)
        text.mask, before, skipped = text.of_mask(own), text.label, found
        label = f"{made.id}_{j}"
        short = is_short(text, region)
        if not short:
            text.lines.append(
                f"br i1 {text.any(text.mask)}, label %case{label}, label %next{label}"
            )
            text.start(f"case{label}")
        write(region)
        found = [text.reference(made.outcomes[j][i], True) for i, _ in results]
        if j:
            found = [
                text.select(own, v.kind, new, old)
                for (_, v), new, old in zip(results, found, skipped, strict=True)
            ]
        if not short:
            tail = text.label
            text.jump(f"next{label}")
            text.start(f"next{label}")
            found = [
                text.temporary(f"phi {text.type_of(v)} [{old}, %{before}], [{new}, %{tail}]")
                for (_, v), old, new in zip(results, skipped, found, strict=True)
            ]
        text.mask = outer
    for (_, v), name in zip(results, found, strict=True):
        text.names[v.id] = name


def taken(text: Text, made: Branches, j: int) -> str:
    """The lanes that take the j-th of some branches: the last one, those that take no other."""
    t, truth, index = text.type("i", True), text.type(BOOLEAN, True), text.reference(made.index)

    def equal(i: int) -> str:
        numbers = ", ".join([f"i64 {i}"] * text.lanes)
        return text.temporary(f"icmp eq {t} {index}, <{numbers}>")

    if j < len(made.regions) - 1:
        return equal(j)
    others = equal(0) if j else "zeroinitializer"
    for i in range(1, j):
        others = text.temporary(f"or {truth} {others}, {equal(i)}")
    ones = ", ".join(["i1 true"] * text.lanes)
    return text.temporary(f"xor {truth} {others}, <{ones}>")


def is_short(text: Text, region: Region) -> bool:
    """Whether to compute a region costs less than to ask for whom."""
    items = [item for item in region.items if item.id in text.live]
    slow = LIBRARY | FROM_LIBRARY | {"store"}
    return len(items) <= SHORT and all(
        isinstance(item, Value) and item.op not in slow for item in items
    )


def dense_solve(text: Text, made: DenseSolve) -> None:
    """A call of a solver, on memory of its own."""
    n, space = made.size, f"A{made.id}"
    text.solvers.add(n)
    text.allocate(space, n * (n + 1), text.lanes)
    for i in range(n):
        row = [*made.inputs[i * n : (i + 1) * n], made.inputs[n * n + i]]
        for j, v in enumerate(row):
            text.store(space, i * (n + 1) + j, v)
    text.lines.append(f"call void @solve{n}x{text.lanes}(ptr %{space})")
    for i, v in enumerate(made.results):
        if v.id in text.live:
            text.load(v, space, i * (n + 1) + n)


def abreast(text: Text, made: Abreast, width: int) -> None:
    """Calls of a function of vectors, `width` rows at a time; for each lane by itself, where the
    program has several.
    """
    chunks, count = -(-len(made.rows) // width), len(made.results) // len(made.rows)
    sizes = {"shared": len(made.shared), "row": len(made.rows[0]), "found": count}
    wide = {
        name: size * (1 if name == "shared" else chunks * width) for name, size in sizes.items()
    }
    for name, size in wide.items():
        text.allocate(f"{name}{made.id}", size, 1)
    vectors = [text.reference(v, wide=text.lanes > 1) for v in made.inputs]
    parts: list[list[str]] = [[] for _ in made.results]

    def slot(name: str, row: int, j: int) -> int:
        chunk, lane = divmod(row, width)
        return (chunk * sizes[name] + j) * width + lane

    for lane in range(text.lanes):
        given = iter(
            vectors
            if text.lanes == 1
            else [text.lane(v.kind, a, lane) for v, a in zip(made.inputs, vectors, strict=True)]
        )
        for j, v in enumerate(made.shared):
            keep(text, f"shared{made.id}", [j], v.kind, next(given))
        for i, row in enumerate(made.rows):
            last = range(len(made.rows), chunks * width) if i == len(made.rows) - 1 else ()
            for j, v in enumerate(row):
                places = [slot("row", k, j) for k in (i, *last)]
                keep(text, f"row{made.id}", places, v.kind, next(given))
        for k in range(chunks):
            at = [
                text.address(f"{name}{made.id}", k * width * sizes[name])
                for name in ("row", "found")
            ]
            known = text.temporary(
                f"getelementptr i64, ptr @table{made.id}, i64 {k * width * len(made.table[0])}"
            )
            args = ", ".join(f"ptr {a}" for a in (f"%shared{made.id}", known, *at))
            text.lines.append(f"call void @abreast{made.id}({args})")
        for i, v in enumerate(made.results):
            if v.id in text.live:
                place = text.address(f"found{made.id}", slot("found", *divmod(i, count)))
                parts[i].append(read(text, v.kind, place))
    for v, names in zip(made.results, parts, strict=True):
        if names:
            text.names[v.id] = names[0] if text.lanes == 1 else text.joined(v.kind, names)


def keep(text: Text, buffer: str, slots: list[int], kind: str, name: str) -> None:
    """Write one number to some places of a buffer; truth values are integers there."""
    if kind == BOOLEAN:
        name, kind = text.temporary(f"zext i1 {name} to i64"), "i"
    for slot in slots:
        text.lines.append(f"store {TYPES[kind]} {name}, ptr {text.address(buffer, slot)}, align 8")


def read(text: Text, kind: str, place: str) -> str:
    """One number from memory."""
    stored = "i" if kind == BOOLEAN else kind
    name = text.temporary(f"load {TYPES[stored]}, ptr {place}, align 8")
    return text.temporary(f"trunc i64 {name} to i1") if kind == BOOLEAN else name


def call(text: Text, made: Call) -> None:
    """A call of a function whose address is in memory, on memory of its own."""
    given, found, k = f"given{made.id}", f"found{made.id}", len(text.calls)
    text.calls.append(made)
    for name, size in ((given, len(made.inputs)), (found, len(made.results))):
        text.allocate(name, size, text.lanes)
    for i, v in enumerate(made.inputs):
        text.store(given, i, v)
    address = text.temporary(f"load ptr, ptr @later{k}")
    if text.lanes > 1:
        call_of_lanes(text, made, address)
    else:
        text.lines.append(f"call void {address}(ptr %{given}, ptr %{found}) cold")
    for i, v in enumerate(made.results):
        if v.id in text.live:
            text.load(v, found, i)


def call_of_lanes(text: Text, made: Call, address: str) -> None:
    """The call for each lane that counts, in a loop over the lanes."""
    k, lanes = made.id, text.lanes
    sizes = {"given": len(made.inputs), "found": len(made.results)}
    for name, size in sizes.items():
        text.allocate(f"{name}_one{k}", size, 1)
    bits = text.bits(text.mask or f"<{', '.join(['i1 true'] * lanes)}>")
    before = text.label
    text.jump(f"each{k}")
    text.start(f"each{k}")
    text.lines += [
        f"%lane{k} = phi i64 [0, %{before}], [%further{k}, %made{k}]",
        f"%short{k} = trunc i64 %lane{k} to i{lanes}",
        f"%shifted{k} = lshr i{lanes} {bits}, %short{k}",
        f"%counts{k} = trunc i{lanes} %shifted{k} to i1",
        f"br i1 %counts{k}, label %make{k}, label %made{k}",
    ]
    text.start(f"make{k}")
    place, pairs = f"i64 %lane{k}, i64", ("given", "found")
    wide, one = ([f"ptr %{name}{end}{k}" for name in pairs] for end in ("", "_one"))
    text.lines += [
        f"call void @from_lane({wide[0]}, {one[0]}, {place} {sizes['given']})",
        f"call void {address}({one[0]}, {one[1]}) cold",
        f"call void @to_lane({wide[1]}, {one[1]}, {place} {sizes['found']})",
    ]
    text.jump(f"made{k}")
    text.start(f"made{k}")
    text.lines += [
        f"%further{k} = add i64 %lane{k}, 1",
        f"%left{k} = icmp ult i64 %further{k}, {lanes}",
        f"br i1 %left{k}, label %each{k}, label %called{k}",
    ]
    text.start(f"called{k}")


# A number that is not a number, and that no program computes.
UNTOUCHED = 0x7FF8ACC105ACC105


def asking(k: int, results: int) -> str:
    """What is behind the address of the k-th call at first: it calls a function of Python, and
    notes in `lost` where that has not written its results. So it is where a signal came meanwhile:
    Python raises what its handler raises before the first line of the function, and forgets it.
    """
    places = [f"%place{i} = getelementptr i64, ptr %found, i64 {i}" for i in range(results)]
    fill = [f"store i64 {UNTOUCHED}, ptr %place{i}, align 8" for i in range(results)]
    lines = [
        f"@python{k} = global ptr null",
        f"define internal void @ask{k}(ptr %given, ptr %found) {{",
        "entry:",
        *places,
        *fill,
        f"%function = load ptr, ptr @python{k}",
        "call void %function(ptr %given, ptr %found)",
        "%first = load i64, ptr %found, align 8",
        f"%untouched = icmp eq i64 %first, {UNTOUCHED}",
        "br i1 %untouched, label %unheard, label %heard",
        "unheard:",
        "store i64 1, ptr @lost, align 8",
        "br label %heard",
        "heard:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)


def between_lanes(lanes: int) -> str:
    """Two functions that copy numbers from one lane of a buffer, and to it."""
    return "\n".join(
        f"""define internal void @{name}(ptr %wide, ptr %one, i64 %lane, i64 %count) {{
entry:
br label %test
test:
%i = phi i64 [0, %entry], [%next, %body]
%more = icmp ult i64 %i, %count
br i1 %more, label %body, label %after
body:
%row = mul i64 %i, {lanes}
%at = add i64 %row, %lane
%there = getelementptr i64, ptr %wide, i64 %at
%here = getelementptr i64, ptr %one, i64 %i
%number = load i64, ptr {source}, align 8
store i64 %number, ptr {target}, align 8
%next = add i64 %i, 1
br label %test
after:
ret void
}}"""
        for name, source, target in (
            ("from_lane", "%there", "%here"),
            ("to_lane", "%here", "%there"),
        )
    )
