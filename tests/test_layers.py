"""Imports go one way."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import accion
from tests.helpers import quick

# Each may import from those before it only.
ORDER = [
    "_config",
    "errors",
    "arguments",
    "memory",
    "types",
    "progress",
    "told",
    "once",
    "jaxprs",
    "engines",
    "numerics",
    "spaces",
    "systems",
    "methods",
    "checks",
    "discretise",
    "instant",
    "stepping",
    "symbols",
    "plot",
    "results",
    "assembly",
    "solve",
    "analysis",
    "thermo",
    "formation",
    "campaign",
    "control",
    "pages",
    "gallery",
    "report",
    "lab",
    "cli",
    "__main__",
]
ROOT = Path(accion.__file__).parent


def imports(path):
    """The parts of accion that the file imports, at any depth of it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "accion":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("accion."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("accion.")
            )


def test_imports_go_one_way():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer == "__init__":
            continue
        assert layer in ORDER, f"{layer} is not in the order of layers"
        for other in imports(path):
            if other != layer and ORDER.index(other) >= ORDER.index(layer):
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert wrong == []


def foreign(path):
    """The packages that the file imports from elsewhere, each with whether a function imports it,
    when it is called.
    """
    tree = ast.parse(path.read_text())
    later = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in (
            {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"accion"}
        ):
            yield name, id(node) in later


def test_nothing_is_imported_that_the_default_install_lacks():
    """Only what `dependencies` of pyproject.toml name. Functions may ask for Dask, where a campaign
    runs on a cluster, and for IPOPT's package, which has no wheel on every machine."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    always, sometimes, cluster = (
        {re.split(r"[^\w-]", text)[0].replace("-", "_") for text in texts}
        for texts in (
            # of matplotlib
            [*(text for text in project["dependencies"] if ";" not in text), "cycler", "PIL"],
            [text for text in project["dependencies"] if ";" in text],
            [*project["optional-dependencies"]["cluster"], "cloudpickle"],  # Dask depends on it
        )
    )
    assert sometimes == {"ipyopt", "llvmlite"}
    found = {
        (path.relative_to(ROOT).as_posix(), *name)
        for path in ROOT.rglob("*.py")
        for name in foreign(path)
    }
    asked = {
        (path, name) for path, name, in_function in found if in_function and name not in always
    }
    # The file that needs llvmlite is imported by a function, where it is installed.
    assert {
        (path, name) for path, name, in_function in found if not in_function and name not in always
    } == {("engines/machine.py", "llvmlite")}
    assert {path for path, name in asked if name in cluster} == {
        "campaign/cluster.py",
        "campaign/file.py",
    }
    assert {path for path, name in asked if name not in cluster} == {"assembly/ipopt.py"}
    assert {name for _, name in asked} <= cluster | sometimes


def test_what_is_missing_is_named(monkeypatch):
    import pytest

    from accion.assembly import ipopt
    from accion.campaign.cluster import a_client

    for name in ("ipyopt", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ValueError, match=r"need IPOPT.*Linux on x86-64.*pip install 'accion\[control\]'"
    ):
        ipopt.load()
    with pytest.raises(ImportError, match=r"needs dask: pip install 'accion\[cluster\]'"):
        a_client(None, "client")


def test_the_quick_tests_are_there_and_touch_every_room():
    chosen = quick()
    assert {room for room, _ in chosen} == set(ORDER)
    root = Path(__file__).parents[1]
    for _, name in chosen:
        path, _, test = name.partition("::")
        assert not test or f"def {test}(" in (root / path).read_text(), name


def test_files_are_short():
    assert [str(p) for p in ROOT.rglob("*.py") if len(p.read_text().splitlines()) > 400] == []


def test_import_sets_float64_and_the_options_of_xla():
    import os

    import jax.numpy as jnp

    assert jnp.ones(1).dtype == jnp.float64
    assert accion._config.LOOP_OPTION in os.environ["XLA_FLAGS"]
    assert accion._config.FUSION_OPTION in os.environ["XLA_FLAGS"]


def test_import_does_not_wait_for_sympy():
    """SymPy takes as long to import as JAX, and a simulation does not need it."""
    import subprocess
    import sys

    code = "import accion, sys; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
