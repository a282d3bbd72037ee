"""Pages of the API reference: every public name, with its types and its docstring."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from textwrap import dedent
from types import ModuleType
from typing import Any

import accion as ac
from docs.making import links
from docs.making.docstrings import escaped, markdown
from docs.making.texts import write

# Pages of `accion` itself, by the rooms in which the names are made; what is left comes last.
OWN = (
    ("systems", "Systems", ("systems",)),
    ("spaces", "Spaces", ("spaces",)),
    ("methods", "Methods", ("methods",)),
    ("runs", "Runs and trajectories", ("solve", "results", "instant", "analysis", "stepping")),
    ("symbols", "Equations to read", ("symbols",)),
    ("errors", "Errors and warnings", ("errors",)),
)
REST = ("others", "Other names", ())
ROOMS = ("analysis", "campaign", "control", "formation", "thermo")
# What public functions return and nobody imports.
RETURNED = {
    "symbols": ("accion.symbols.equations", "accion.symbols.thermal", "accion.symbols.contact"),
    "runs": ("accion.results.moments",),
}


def is_own(value: Any) -> bool:
    """Whether it is a class or a function of accion."""
    made = getattr(value, "__module__", None) or ""
    return made.startswith("accion") and (inspect.isclass(value) or callable(value))


def public(module: ModuleType) -> dict[str, Any]:
    """The public classes and functions of `accion`, or of one of its rooms, by name."""
    names = ac.__dir__() if module is ac else vars(module)
    values = {name: getattr(module, name) for name in names if not name.startswith("_")}
    found = {name: value for name, value in values.items() if is_own(value)}
    spec = module.__spec__
    if spec is not None and spec.submodule_search_locations is None:  # a file: what it makes itself
        return {k: v for k, v in found.items() if v.__module__ == module.__name__}
    return found


def pages() -> dict[str, tuple[str, str, list[tuple[str, Any]]]]:
    """(title, words of the module, [(full name, value)]) of each page, by its name."""
    # Names that `accion` has of its rooms are on the pages of these.
    of_rooms = [v for room in ROOMS for v in public(import_module(f"accion.{room}")).values()]
    rest = {k: v for k, v in public(ac).items() if not any(v is other for other in of_rooms)}
    found = {}
    for page, title, rooms in (*OWN, REST):
        mine = {
            name: value
            for name, value in rest.items()
            if not rooms or value.__module__.split(".")[1] in rooms
        }
        rest = {name: value for name, value in rest.items() if name not in mine}
        names = [(f"accion.{name}", value) for name, value in mine.items()]
        for module in RETURNED.get(page, ()):
            names += [
                (f"{module}.{name}", value)
                for name, value in public(import_module(module)).items()
                if inspect.isclass(value) and value.__module__ == module
            ]
        if names:
            found[page] = (title, "", names)
    for room in ROOMS:
        module = import_module(f"accion.{room}")
        names = [(f"accion.{room}.{name}", value) for name, value in public(module).items()]
        found[f"accion.{room}"] = (f"accion.{room}", inspect.getdoc(module) or "", names)
    return found


def definition(value: Any) -> ast.FunctionDef | ast.ClassDef | None:
    """Where it is written, with types as they are written there."""
    try:
        tree = ast.parse(dedent(inspect.getsource(inspect.unwrap(value))))
    except (OSError, TypeError, SyntaxError):
        return None
    node = tree.body[0]
    return node if isinstance(node, ast.FunctionDef | ast.ClassDef) else None


def text_of(arguments: ast.arguments, drop: int) -> str:
    """Arguments, without the first `drop` of them."""
    for _ in range(drop):
        (arguments.posonlyargs or arguments.args).pop(0)
    return ast.unparse(arguments)


def signature(value: Any, bound: bool = False) -> str:
    """`(arguments) -> result` of a function; of a class those of its constructor."""
    node = definition(value)
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"({text_of(node.args, int(bound))}){returns}".replace("'", "")
    if isinstance(node, ast.ClassDef):
        own = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        if own:
            return f"({text_of(own[0].args, 1)})"
        given = dataclass_fields(value)
        return f"({', '.join(given)})" if given else ""
    return ""


def dataclass_fields(value: type) -> list[str]:
    """The arguments of a dataclass, as they are written, those of its bases in front."""
    found: dict[str, str] = {}
    for base in reversed(value.__mro__):
        node = definition(base) if base.__module__.startswith("accion.") else None
        if node is None or not any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            continue
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                default = "" if part.value is None else " = ..."
                if isinstance(part.value, ast.Constant):
                    default = f" = {ast.unparse(part.value)}"
                if "init=False" not in ast.unparse(part):
                    name = part.target.id
                    found[name] = f"{name}: {ast.unparse(part.annotation)}{default}"
    return [text for name, text in found.items() if not name.startswith("_")]


def members(value: type) -> Iterator[tuple[str, str, Any]]:
    """(kind, name, value) of the public methods and properties that accion wrote."""
    seen = set()
    for base in value.__mro__:
        if not base.__module__.startswith("accion"):
            continue
        for name, raw in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(raw, property | cached_property):
                yield "property", name, raw.fget if isinstance(raw, property) else raw.func
            elif isinstance(raw, staticmethod | classmethod):
                yield type(raw).__name__, name, raw.__func__
            elif inspect.isfunction(raw):
                yield "method", name, raw


def directive(kind: str, head: str, body: str, colons: int, options: str = "") -> str:
    fence = ":" * colons
    return f"{fence}{{py:{kind}}} {head}\n{options}\n{body}\n{fence}\n"


def member(kind: str, name: str, value: Any) -> str:
    words = markdown(inspect.getdoc(value) or "")
    node = definition(value)
    if kind == "property":
        returns = node.returns if isinstance(node, ast.FunctionDef) else None
        option = f":type: {ast.unparse(returns)}\n".replace("'", "") if returns else ""
        return directive("property", name, words, 3, option)
    option = {"staticmethod": ":staticmethod:\n", "classmethod": ":classmethod:\n"}.get(kind, "")
    head = name + signature(value, kind != "staticmethod")
    return directive("method", head, words, 3, option)


def entry(name: str, value: Any) -> str:
    """The part of a page that is about one name."""
    words = markdown(inspect.getdoc(value) or "")
    if not inspect.isclass(value):
        return directive("function", name + signature(value), words, 4)
    kind = "exception" if issubclass(value, Exception | Warning) else "class"
    parts = [member(*each) for each in members(value) if inspect.getdoc(each[2])]
    return directive(kind, name + signature(value), "\n\n".join([words, *parts]), 4)


def build() -> None:
    """The pages and their list."""
    found = pages()
    for page, (title, words, names) in found.items():
        parts = [f"# {title}\n", escaped(words), *(entry(*each) for each in names)]
        write(f"{links.MADE}/api/{page}", "\n".join(parts))
    listed = "\n".join(found)
    write(
        f"{links.MADE}/api/index",
        "# API reference\n\nEvery public name, with its types. `import accion as ac` is assumed on"
        " all other pages.\nArguments in brackets of a function of yours, such as `(t, q, v,"
        " params)`, are told apart by their\nplace, not by their name.\n\n"
        f"```{{toctree}}\n{listed}\n```\n\n" + table(found),
    )


def table(found: dict[str, tuple[str, str, list[tuple[str, Any]]]]) -> str:
    """Each name with the first sentence about it."""
    lines = []
    for title, _, names in found.values():
        lines += [f"\n## {title}\n"]
        for name, value in names:
            role = "func" if not inspect.isclass(value) else "class"
            role = "exc" if inspect.isclass(value) and issubclass(value, Exception) else role
            first = re.split(r"\n\n|(?<=[.:]) |(?<=[.:])\n", inspect.getdoc(value) or "")[0]
            first = escaped(first.replace("\n", " ").rstrip(":"))
            lines.append(f"- {{py:{role}}}`{name.removeprefix('accion.')} <{name}>`: {first}")
    return "\n".join(lines) + "\n"
