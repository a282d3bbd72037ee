"""What a campaign is computed by: on these the last digits of its members depend."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from functools import cache

from accion._config import processor
from accion.results import store

PACKAGES = ("accion", "jax", "jaxlib", "numpy", "scipy")
COMPILERS = {"native": ("llvmlite",), "xla": ()}  # further packages, of each engine
BEFORE = {"engine": "xla", "lanes": "1"}  # of stores that do not say


def made_by(engine: str) -> dict[str, str]:
    """The versions, the engine, the processor and its features, by their names."""
    return json.loads(store.versions((*PACKAGES, *COMPILERS[engine]))) | {
        "engine": engine,
        "lanes": str(lanes(engine)),
        # Options of XLA say which instructions it may use, and the order of sums.
        "XLA_FLAGS": " ".join(sorted(os.environ.get("XLA_FLAGS", "").split())),
        "C library": " ".join(platform.libc_ver()).strip() or platform.system(),
        **processor_words(),
    }


def lanes(engine: str) -> int:
    """How many members go side by side in a vector."""
    if engine == "xla":
        return 1
    from accion.engines.machine import lanes_here  # llvmlite is imported where it is wanted

    return lanes_here()


@cache
def processor_words() -> dict[str, str]:
    told = [platform.machine(), *processor()]
    name = next((line.partition(":")[2].strip() for line in told if ":" in line), told[-1])
    features = hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]
    return {"processor": name or platform.machine(), "processor features": features}


def other_maker(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """In words, what differs between two of them."""
    return [
        f"{name} {there.get(name)} there, {here.get(name)} here"
        for name in dict.fromkeys([*there, *here])
        if there.get(name) != here.get(name)
    ]
