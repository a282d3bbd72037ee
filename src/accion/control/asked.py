"""What a problem asks for besides costs and ends, read from what the user gave: integrals, points
on the way, conditions at the end.
"""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import finite, shown, wrong
from accion.control.bounds import Bounds, bounds_of
from accion.control.ends import configuration_of
from accion.systems.functions import check_returns, evaluate
from accion.types import Function

if TYPE_CHECKING:
    from accion.control.problem import ControlProblem

INTEGRALS = '{"name": (g, value)} with functions g(t, q, v, u, params), or (g, (lower, upper))'
VIA = "a dictionary {t: q} of times and configurations"


def totals_of(problem: "ControlProblem") -> dict[str, tuple[Function, Bounds]]:
    """{name: (g, bounds)} of the integrals; those that have one value have both bounds the same."""
    given, found = problem.integrals, {}
    if given is None:
        return {}
    if not isinstance(given, dict):
        wrong("integrals", INTEGRALS, given)
    for name, pair in given.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not callable(pair[0]):
            raise ValueError(f"integrals must be {INTEGRALS}; got {shown(pair)} for {name!r}.")
        where = f"integrals[{name!r}]"
        g = problem.form.motion(where, pair[0])
        size = size_of(problem, where, g)
        value = pair[1]
        if not isinstance(value, tuple | list) or len(value) != 2:
            value = np.atleast_1d(finite(value, where, "a number, or (lower, upper)"))
            value = (value.tolist(), value.tolist())
        found[str(name)] = g, bounds_of(value, size, where, (str(name),))
    return found


def size_of(problem: "ControlProblem", name: str, g: Function) -> int:
    """How many components a function of the whole motion has."""
    system = problem.system
    zero = jnp.zeros(system.space.dim)
    at = (jnp.zeros(()), system.space.identity(), zero, jnp.zeros(problem.control_count))
    out = evaluate(
        name,
        lambda s, *at: jnp.atleast_1d(g(*at, s.params)),
        system,
        *at,
        takes=f"({problem.form.running})",
    )
    return check_returns(name, out, None, "a number or a vector").shape[0]


def points_of(problem: "ControlProblem") -> dict[float, tuple[Any, np.ndarray]]:
    """{t: (q, fixed)} of the points on the way, in the order of their times."""
    given, found = problem.via, {}
    if given is None:
        return {}
    if not isinstance(given, dict):
        wrong("via", VIA, given)
    if problem.free_time:
        raise ValueError(
            "via points stand at given times, and the duration is free: give the duration."
        )
    end = problem.t0 + problem.longest
    for t, q in given.items():
        at = float(finite(t, "the times of via", "numbers"))
        if not problem.t0 < at < end:
            raise ValueError(
                f"via: t = {at:g} is not between the start and the end, {problem.t0:g} and {end:g}."
            )
        found[at] = configuration_of(problem.system.space, q, f"via[{t!r}]")
    return {t: found[t] for t in sorted(found)}


def conditions_of(problem: "ControlProblem") -> int:
    """How many conditions `at_end` has."""
    at_end, system = problem.at_end, problem.system
    if at_end is None:
        return 0
    at = (0.0, system.space.identity(), jnp.zeros(system.space.dim), system.params)
    return jax.eval_shape(lambda: jnp.atleast_1d(at_end(*at))).size
