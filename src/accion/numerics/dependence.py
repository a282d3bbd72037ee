"""What is computed from what."""

from typing import Any

import jax
from jax.extend.core import Literal

from accion.types import Function


def depends(f: Function, *args: Any) -> bool:
    """Whether the result of `f` depends on its last argument: by what is computed from what, not by
    values.
    """
    *fixed, last = args
    jaxpr = jax.make_jaxpr(lambda last: f(*fixed, last))(last).jaxpr
    reached = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(v, Literal) and v in reached for v in equation.invars):
            reached.update(equation.outvars)
    return any(v in reached for v in jaxpr.outvars if not isinstance(v, Literal))
