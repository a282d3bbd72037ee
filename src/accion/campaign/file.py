"""A campaign as a TOML file.

A campaign file is code: what it names as "module:attribute" is imported, which runs the file
module.py. It must lie beside the campaign file (or module/__init__.py, or, for "a.b:attribute",
a/b.py); nothing is imported from elsewhere. Run campaign files that you would run as programs.

    # of the gallery, or "module:attribute" of a file beside this one
    system = "pendulum"
    # method, h, steps and the start are those of the gallery where they are left out;
    # a method as "Alpha:0.3" or "EnergyConsistent:Midpoint", or "module:attribute"
    method = "Midpoint"
    h = 0.01
    steps = 1000
    store = "pendulums.zarr"                 # beside this file
    engine = "auto"                          # or "native", "xla"; it may be left out

    [start]                                  # of every member, where the plan does not set it
    v0 = [0.0]

    # "grid" with axes, "sample" with size, how, seed and ranges, "table" with file, a CSV file
    [plan]
    kind = "grid"
    [plan.axes]
    "q0[0]" = { from = -3.0, to = 3.0, count = 100 }
    "params.l" = [0.5, 1.0]

    # "final", "extrema", "event", "mean", or "module:attribute"
    [[reductions]]
    kind = "event"
    of = "q[0]"
    name = "down"
"""  # fmt: skip

import tomllib
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from accion import checks
from accion.campaign import plans, reductions, running
from accion.campaign.lines import line_of, words_of
from accion.campaign.members import base_of
from accion.campaign.modules import module_beside, own_modules
from accion.campaign.names import check_name
from accion.engines.auto import check_engine
from accion.methods import Method, registry
from accion.systems import Start

if TYPE_CHECKING:
    import xarray as xr

SETTINGS = ("h", "steps", "t0", "store", "chunk", "engine")
TOP = ("system", "method", *SETTINGS, "start", "plan", "reductions")
PLANS = {"grid": ("axes",), "sample": ("size", "how", "seed", "ranges"), "table": ("file",)}
KINDS = {
    "final": ("parts",),
    "extrema": ("of", "name"),
    "event": ("of", "name", "level"),
    "mean": ("of", "name"),
}
TYPES: dict[Any, str] = {
    str: "a text",
    float: "a number",
    int: "a whole number",
    dict: "a table",
    list: "a list",
}


class Source:
    """The file, which knows the lines of its keys."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.text = text_of(self.path)
        try:
            self.data = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{self.path} is not TOML: {error}.") from error
        except RecursionError as error:
            raise ValueError(f"{self.path} has too many brackets inside each other.") from error

    def wrong(self, path: Iterable[Any], message: str, cause: Exception | None = None) -> NoReturn:
        """Raise ValueError with the line of the key at `path`."""
        raise ValueError(
            f"{self.path}, line {line_of(self.text, path)}, key {words_of(path)}: {message}"
        ) from cause

    def get(self, path: Iterable[Any], kind: Any, default: Any = ...) -> Any:
        """The value at `path`, of the type `kind`; an error if it is missing and has no default."""
        value: Any = self.data
        path = tuple(path)
        for depth, key in enumerate(path):
            if not isinstance(value, list if isinstance(key, int) else dict):
                self.wrong(path[:depth], f"expected {TYPES[dict]}; got {value!r}.")
            if isinstance(value, dict) and key not in value:
                if default is ...:
                    self.wrong(path, "it is missing.")
                return default
            value = value[key]
        good = isinstance(value, int | float if kind is float else kind) and not isinstance(
            value, bool
        )
        return value if good else self.wrong(path, f"expected {TYPES[kind]}; got {value!r}.")

    def only(self, path: tuple[Any, ...], known: Iterable[str]) -> None:
        """Nothing but `known` keys in the table at `path`."""
        for key in self.get(path, dict) if path else self.data:
            if key not in known:
                self.wrong(
                    (*path, key), f"there is no such key here. Try one of: {', '.join(known)}."
                )

    def attempt(self, path: Iterable[Any], f: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """What `f` returns; its ValueError names the key."""
        try:
            return f(*args, **named)
        except (ValueError, TypeError, OSError, MemoryError, OverflowError) as error:
            self.wrong(path, str(error) or type(error).__name__, error)

    def attribute(self, path: Iterable[Any], text: str) -> Any:
        """What "module:attribute" names, of a module beside the file."""
        module, _, name = text.partition(":")
        try:
            found: Any = module_beside(self.path.absolute().parent, module)
            for word in name.split("."):
                found = getattr(found, word)
        except Exception as error:  # whatever the user's file raises
            last = traceback.extract_tb(error.__traceback__)[-1]
            own = Path(last.filename).is_relative_to(self.path.absolute().parent)
            at = f", line {last.lineno} of {last.filename}" if own else ""
            words = f"{type(error).__name__}: {error}{at}"
            self.wrong(path, f"{text!r} cannot be imported ({words}).", error)
        return found


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        OSError: where it is none that ends, such as a device or a pipe, or cannot be read.
        ValueError: where it is not UTF-8.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a file that can be read: a folder, a device or a pipe.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8: byte {error.start} ({error}).") from error


def read(path: str | Path, find: Callable[[str], Any]) -> dict[str, Any]:
    """The arguments of `campaign.run` that the file at `path` stands for; `find(name)` gives an
    entry of the gallery.
    """
    source = Source(path)
    source.only((), TOP)
    name = source.get(("system",), str)
    entry = None if ":" in name else source.attempt(("system",), find, name)
    system = source.attribute(("system",), name) if entry is None else entry.system
    default = {} if entry is None else {"h": entry.h, "steps": entry.steps}
    method = method_of(source, entry)
    rest = source.get(("start",), dict, {} if entry is None else entry.start)
    if "start" in source.data:
        source.only(("start",), plans.ROOTS[:-1])
    h, steps = (
        source.get(("h",), float, default.get("h", ...)),
        source.get(("steps",), int, default.get("steps", ...)),
    )
    t0, chunk = source.get(("t0",), float, 0.0), source.get(("chunk",), int, None)
    source.attempt(("h",), checks.check_times, t0, h, 1, 1)
    source.attempt(("steps",), checks.check_times, 0.0, 1.0, steps, 1)
    source.attempt(("chunk",), checks.whole, 1 if chunk is None else chunk, "chunk")
    source.attempt(("method",), checks.check_system, system, method)
    engine = source.get(("engine",), str, "auto")
    source.attempt(("engine",), check_engine, engine)
    plan = plan_of(source, rest)
    check_columns(source, system, plan)
    arguments = {
        "system": system,
        "method": method,
        "plan": plan,
        "reductions": reductions_of(source),
        "h": h,
        "steps": steps,
        "t0": t0,
    }
    store = source.path.absolute().parent / source.get(("store",), str)
    source.attempt(("store",), store.exists)
    return arguments | {"chunk": chunk, "store": store, "engine": engine}


def method_of(source: Source, entry: Any) -> Method | None:
    """The method that the file names, or that of the gallery."""
    if entry is not None and "method" not in source.data:
        return entry.method
    text = source.get(("method",), str)
    name, colon, _ = text.partition(":")
    if colon and name.strip() not in registry.METHODS:
        return source.attribute(("method",), text)
    return source.attempt(("method",), registry.parse, text)


def check_columns(source: Source, system: Any, plan: plans.Plan) -> None:
    """Every column sets something of this system, and nothing of the start is left open."""
    try:
        base, _ = base_of(system, plan)
    except ValueError as error:
        inside = {"grid": "axes", "sample": "ranges", "table": "file"}[source.data["plan"]["kind"]]
        named = [name for name in plan.rows(0, 1) if repr(name) in str(error)]
        source.wrong(("plan", inside, *named[:1]), str(error), error)
    else:
        source.attempt(("start",), system.check_given, Start(**{"q0": None} | base))


def plan_of(source: Source, rest: dict[str, Any]) -> plans.Plan:
    """The plan of the file; `rest` is the start of every member where it sets nothing."""
    kind = source.get(("plan", "kind"), str)
    if kind not in PLANS:
        source.wrong(
            ("plan", "kind"), f"there is no plan {kind!r}. Try one of: {', '.join(PLANS)}."
        )
    source.only(("plan",), ("kind", *PLANS[kind]))
    if kind == "grid":
        axes = {name: axis(source, name) for name in source.get(("plan", "axes"), dict)}
        return source.attempt(("plan", "axes"), plans.grid, axes, **rest)
    if kind == "sample":
        ranges = source.get(("plan", "ranges"), dict)
        for name in ranges:
            source.attempt(
                ("plan", "ranges", name),
                plans.sample,
                1,
                {name: source.get(("plan", "ranges", name), list)},
                seed=0,
            )
        size, seed = source.get(("plan", "size"), int), source.get(("plan", "seed"), int)
        return source.attempt(
            ("plan",),
            plans.sample,
            size,
            ranges,
            how=source.get(("plan", "how"), str, "uniform"),
            seed=seed,
            **rest,
        )
    file = source.path.absolute().parent / source.get(("plan", "file"), str)
    return source.attempt(("plan", "file"), lambda: plans.table(csv(file), **rest))


def csv(file: Path) -> dict[str, np.ndarray]:
    """The columns of a CSV file, whose first line names them."""
    first, *lines = text_of(file).removeprefix("\ufeff").splitlines() or [""]
    names = [name.strip().strip('"') for name in first.split(",")]
    if not lines:
        raise ValueError(f"{file.name} has no rows after its first line, which names the columns.")
    rows = np.loadtxt(lines, delimiter=",", ndmin=2)
    if rows.shape[1] != len(names):
        raise ValueError(
            f"{file.name} names {len(names)} columns in its first line and has {rows.shape[1]}."
        )
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"{file.name} has two columns called {twice[0]!r}; rename one of them.")
    return dict(zip(names, rows.T, strict=True))


def axis(source: Source, name: str) -> Any:
    """The values of an axis: a list, or from, to and count."""
    path = ("plan", "axes", name)
    if isinstance(source.data["plan"]["axes"][name], dict):
        source.only(path, ("from", "to", "count"))
        ends = [source.get((*path, key), float) for key in ("from", "to")]
        if not np.all(np.isfinite(ends)):
            source.wrong(path, f"from and to must be finite numbers; got {ends[0]} and {ends[1]}.")
        count = max(0, source.get((*path, "count"), int))
        values = source.attempt((*path, "count"), np.linspace, *ends, count)
    else:
        values = source.get(path, list)
    source.attempt(path, plans.grid, {name: values})
    return values


def reductions_of(source: Source) -> list[reductions.Reduction] | None:
    """None where the file does not say."""
    if "reductions" not in source.data:
        return None
    return [
        reduction(source, ("reductions", i)) for i in range(len(source.get(("reductions",), list)))
    ]


def reduction(source: Source, path: tuple[Any, ...]) -> reductions.Reduction:
    """The reduction at `path`."""
    kind = source.get((*path, "kind"), str)
    if ":" in kind:
        source.only(path, ("kind",))
        own = source.attribute((*path, "kind"), kind)
        return source.attempt((*path, "kind"), reductions.check_reductions, [own])[0]
    if kind not in KINDS:
        source.wrong(
            (*path, "kind"),
            f"there is no reduction {kind!r}. Try one of: {', '.join(KINDS)}, or module:attribute.",
        )
    source.only(path, ("kind", *KINDS[kind]))
    if kind == "final":
        return source.attempt(
            (*path, "parts"), reductions.final, *source.get((*path, "parts"), list, [])
        )
    of, name = source.get((*path, "of"), str), source.get((*path, "name"), str)
    source.attempt((*path, "name"), check_name, name, "a reduction")
    f = source.attribute((*path, "of"), of) if ":" in of else of
    more = {"level": source.get((*path, "level"), float, 0.0)} if kind == "event" else {}
    return source.attempt((*path, "of"), getattr(reductions, kind), f, name, **more)


def run(
    path: str | Path,
    find: Callable[[str], Any],
    scheduler: str | None = None,
    overwrite: bool = False,
) -> "xr.Dataset":
    """Run the campaign of the file at `path`, on the Dask cluster at the address `scheduler` if it
    is given.

    `find(name)` gives an entry of the gallery.
    """
    arguments = read(path, find)
    if scheduler is None:
        return running.run(**arguments, overwrite=overwrite)
    try:
        import cloudpickle
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "a campaign on a cluster needs dask: pip install 'accion[cluster]'."
        ) from error
    for module in own_modules():
        cloudpickle.register_pickle_by_value(module)  # workers need not have the file
    with Client(scheduler) as client:
        return running.run(**arguments, overwrite=overwrite, client=client)
