"""The same for each row: a loop that either engine compiles once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from accion.engines.tracing import BY_ENTRIES


def repeated(f: Callable[[Any, Any], Any], carry: Any, rows: Any) -> Any:
    """f(...f(f(carry, row_0), row_1)..., row_last), `rows` being arrays with a leading axis.

    By XLA it has derivatives in reverse mode too. The native engine, which writes out short loops
    of fixed length, is given one that it does not know the length of.
    """
    rows = jax.tree.map(jnp.asarray, rows)
    if not BY_ENTRIES.get():
        return jax.lax.scan(lambda carry, row: (f(carry, row), None), carry, rows)[0]
    count = len(jax.tree.leaves(rows)[0])

    def turn(state: Any) -> Any:
        i, own = state
        return i + 1, f(own, jax.tree.map(lambda a: a[i], rows))

    return jax.lax.while_loop(lambda state: state[0] < count, turn, (jnp.array(0), carry))[1]
