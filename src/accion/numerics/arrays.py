"""NumPy or JAX, whichever knows the numbers."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def module_of(tree: Any) -> ModuleType:
    """`jax.numpy` where something in `tree` is traced, NumPy elsewhere: it compiles nothing."""
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))
    return jnp if traced else np
