"""Imports go one way."""

import ast
from pathlib import Path

import accion

# Each may import from those before it only.
ORDER = [
    "_config", "errors", "progress", "products", "newton", "spaces", "systems", "methods", "inputs", "nodes", "pullback", "windows", "symbolic",
    "step", "energy", "thermal", "higher", "schemes", "discrete_higher", "discrete", "continuous", "plot", "storage", "trajectory", "simulate", "boundary",
    "analysis", "thermo", "formation", "campaign", "control", "gallery", "report", "cli",
]  # fmt: skip
ROOT = Path(accion.__file__).parent


def imports(path):
    """The parts of accion that the file imports, at any depth of it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "accion":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("accion."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("accion."))


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


def test_files_are_short():
    assert [str(p) for p in ROOT.rglob("*.py") if len(p.read_text().splitlines()) > 400] == []


def test_import_sets_float64_and_the_loop_option():
    import os

    import jax.numpy as jnp

    assert jnp.ones(1).dtype == jnp.float64
    assert accion._config.LOOP_OPTION in os.environ["XLA_FLAGS"]


def test_import_does_not_wait_for_sympy():
    """SymPy takes as long to import as JAX, and a simulation does not need it."""
    import subprocess
    import sys

    code = "import accion, sys; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
