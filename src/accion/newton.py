"""The root finder of the hot path and its small dense solver.

Written by hand because a library's root finder costs five to nine times as much for a problem of two unknowns (measured side by side
in `benchmarks/step_cost.py`): LAPACK is called through XLA for each small solve, and a loop that contains such a call cannot be
compiled into one function.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
ITERATIONS = 25
ORDINARY = 3  # iterations, after which it is worth looking whether what is left is noise
# Newton squares the relative error: a correction below sqrt(eps) leaves an error below eps.
QUADRATIC = EPS**0.5
ROUNDING = 8 * EPS
# Once corrections no longer shrink they are roundoff, if they are this small against the largest unknown.
STALLED = 1e-11
# Elimination is written out up to the first size, a loop up to the second; beyond it LAPACK is faster.
UNROLLED, SMALL = 8, 32


class Root(NamedTuple):
    x: jax.Array
    iterations: jax.Array
    converged: jax.Array


def solve(A, b):
    """x with A x = b, shape (n,): Gauss-Jordan elimination with row pivoting; linear, and so transposable, in `b`."""
    n = b.shape[0]
    if n > SMALL:
        return jnp.linalg.solve(A, b)

    def eliminate(k, system):
        A, b = system
        j = jnp.argmax(jnp.where(np.arange(n) < k, -1.0, jnp.abs(A[:, k])))
        A = A.at[j].set(A[k]).at[k].set(A[j])
        b = b.at[j].set(b[k]).at[k].set(b[j])
        factor = (A[:, k] / A[k, k]).at[k].set(0.0)
        return A - factor[:, None] * A[k], b - factor * b[k]

    A, b = jax.lax.fori_loop(0, n, eliminate, (A, b), unroll=n <= UNROLLED)
    return b / jnp.diagonal(A)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def root(residual, held, guess, scale, args):
    """x with residual(x, args) = 0, to roundoff, by Newton's method from `guess`.

    The last `held` unknowns are multipliers: they enter linearly and need no test of their own. The last `held` equations are constraints
    on configurations. `scale` is the size against which roundoff is measured in each of the other unknowns. Derivatives are those of the
    implicit function, dx = -J^{-1} (dr/dargs) dargs, and do not pass through the iterations; `residual` must not close over traced
    values. Returns x, the number of iterations and whether they converged.
    """
    n = guess.shape[0] - held

    def with_itself(x):
        r = residual(x, args)
        return r, r

    def iterate(state):
        x, last, i = state
        J, r = jax.jacfwd(with_itself, has_aux=True)(x)
        dx = solve(J, r)
        new = x - dx
        size, own = jnp.abs(dx[:n]), jnp.abs(new[:n])
        left = jnp.max(size / jnp.maximum(jnp.maximum(QUADRATIC * own, EPS * scale), TINY))

        def is_noise():
            # What is left is what rounding alone would leave, or corrections no longer shrink: in a component that is zero they are all noise.
            rounding = jnp.abs(J) @ jnp.abs(x)
            if held:
                rounding = rounding.at[n:].add(jnp.abs(J[n:, :n]) @ scale)
            solved = jnp.all(jnp.abs(r) <= ROUNDING * rounding)
            stalled = (left >= 0.5 * last) & (jnp.max(size) <= STALLED * jnp.max(scale + own))
            return jnp.where(solved | stalled, 0.0, left)

        return new, jax.lax.cond(i >= ORDINARY, is_noise, lambda: left), i + 1

    def unfinished(state):
        _, left, i = state
        return (left > 1) & (i < ITERATIONS)  # NaN ends it

    x, left, i = jax.lax.while_loop(unfinished, iterate, (guess, jnp.array(jnp.inf), jnp.array(0)))
    return Root(x, i, left <= 1)


@root.defjvp
def root_jvp(residual, held, primals, tangents):
    guess, scale, args = primals
    out = root(residual, held, guess, scale, args)
    J = jax.jacfwd(residual)(out.x, args)
    _, dr = jax.jvp(lambda args: residual(out.x, args), (args,), (tangents[2],))
    none: Any = np.zeros((), jax.dtypes.float0)  # the tangent of what is no real number
    return out, Root(-solve(J, dr), none, none)
