"""The one step: p_k + D1 Ld(q_k, q_{k+1}) + Fd^- = 0 gives q_{k+1}, then p_{k+1} = D2 Ld(q_k, q_{k+1}) + Fd^+."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from accion import newton
from accion.pullback import action, variation
from accion.systems import MechanicalLagrangian


class State(NamedTuple):
    """What is carried from step to step."""

    q: Any
    p: jax.Array
    c: jax.Array  # what compensated summation has not yet added to q
    x: jax.Array  # the last increment
    guess: jax.Array  # of the next increment
    scale: jax.Array  # the size against which the roundoff of increments is measured
    completed: jax.Array  # how many steps were solved
    ok: jax.Array  # False from the first step that was not


def start_state(system, q, p, x):
    """The state before the first step, `x` a guess of its increment."""
    return State(q, p, jnp.zeros_like(x), x, x, system.space.magnitude(q), jnp.array(0), jnp.array(True))


def balance(method, x, args):
    """The momentum balance at the start of a step with increment `x`."""
    system, t, h, q, p = args
    return p + variation(system, method, t, h, q, x)[0]


def depends(f, *args):
    """Whether the result of `f` depends on its last argument: by what is computed from what, not by values."""
    *fixed, last = args
    jaxpr = jax.make_jaxpr(lambda last: f(*fixed, last))(last).jaxpr
    reached = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(v, Literal) and v in reached for v in equation.invars):
            reached.update(equation.outvars)
    return any(v in reached for v in jaxpr.outvars if not isinstance(v, Literal))


def is_explicit(system, method):
    """Whether the momentum balance is linear in the increment, with the mass as its matrix: then no iteration is needed.

    So it is for a `mechanical` system without magnetic term, sampled only at the ends of the step, under no force or one of (t, q).
    """
    if not isinstance(system.lagrangian, MechanicalLagrangian) or system.lagrangian.magnetic is not None:
        return False
    if method.nodes is None or any(c not in (0, 1) for _, c in method.nodes):
        return False
    return system.force is None or not depends(system.F, jnp.zeros(()), system.space.identity(), jnp.zeros(system.space.dim))


def explicit_increment(system, method):
    """The increment from the momentum balance, which reads p + D1 Ld(x = 0) + Fd^- - (sum_i w_i weight(t_i)) M x / h = 0."""
    inertia = system.lagrangian.inertia(system.params)

    def increment(t, h, q, p, guess, scale):
        weight = sum(w * system.lagrangian.w(t + c * h, system.params) for w, c in method.nodes)
        x = h / weight * inertia.solve(balance(method, jnp.zeros_like(p), (system, t, h, q, p)))
        return newton.Root(x, jnp.array(0), jnp.all(jnp.isfinite(x)))

    return increment


def implicit_increment(system, method):
    """The increment from the momentum balance, by Newton's method."""

    def increment(t, h, q, p, guess, scale):
        return newton.root(partial(balance, method), guess, scale, (system, t, h, q, p))

    return increment


def increments(system, method):
    """The function (t, h, q, p, guess, scale) -> `newton.Root` that solves the momentum balance of one step."""
    return (explicit_increment if is_explicit(system, method) else implicit_increment)(system, method)


def stepper(system, method):
    """The function (state, t, h) -> (state, iterations) that makes one step. A step that fails leaves the state as it was."""
    space = system.space
    increment = increments(system, method)

    def step(state, t, h):
        # After a failure the guess is NaN, and Newton stops at once.
        guess = jnp.where(state.ok, state.guess, jnp.nan)
        x, iterations, converged = increment(t, h, state.q, state.p, guess, state.scale)
        _, p = variation(system, method, t, h, state.q, x)
        q, c = space.accumulate(state.q, state.c, x)
        # A Lagrangian may be undefined where its derivatives are not, beyond a logarithm's pole for one.
        defined = jnp.isfinite(action(system, method, t, h, state.q, x, jnp.zeros_like(x), jnp.zeros_like(x)))
        ok = state.ok & converged & defined & jnp.all(jnp.isfinite(p))
        scale = jnp.maximum(state.scale, jnp.maximum(jnp.abs(x), space.magnitude(q)))
        # Increments are smooth in time: extrapolated, they are right to O(h^3).
        new = State(q, p, c, x, 2 * x - state.x, scale, state.completed + 1, ok)
        return jax.tree.map(partial(jnp.where, ok), new, state._replace(ok=ok)), iterations

    return step
