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
ITERATIONS = 25
# Newton squares the relative error: a correction below sqrt(eps) leaves an error below eps.
QUADRATIC = EPS**0.5
ROUNDING = 4 * EPS
# Once corrections no longer shrink they are roundoff, if they are this small.
STALLED = 1e-11
# Above this size LAPACK is faster than elimination in plain operations.
SMALL = 16


class Root(NamedTuple):
    x: jax.Array
    iterations: jax.Array
    converged: jax.Array


def solve(A, b):
    """x with A x = b, shape (n,): Gauss-Jordan elimination with row pivoting; linear, and so transposable, in `b`."""
    n = b.shape[0]
    if n > SMALL:
        return jnp.linalg.solve(A, b)
    rows = np.arange(n)
    for k in range(n):
        if k < n - 1:
            j = k + jnp.argmax(jnp.abs(A[k:, k]))
            # Swapped by masks, not by indices: under vmap an index that varies becomes a gather, which is slow.
            pivot = (rows == j) & (j != k)
            A = swap(A, k, pivot)
            b = swap(b, k, pivot)
        factor = (A[:, k] / A[k, k]).at[k].set(0.0)
        b = b - factor * b[k]
        A = A - factor[:, None] * A[k]
    return b / jnp.diagonal(A)


def swap(M, k, pivot):
    """Row `k` of `M` exchanged with the row where the mask `pivot` is true, if there is one."""
    mask = pivot.reshape((-1,) + (1,) * (M.ndim - 1))
    found = jnp.sum(jnp.where(mask, M, 0.0), axis=0)
    return jnp.where(mask, M[k], M).at[k].set(jnp.where(jnp.any(pivot), found, M[k]))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def root(residual, guess, scale, args):
    """x with residual(x, args) = 0, to roundoff, by Newton's method from `guess`.

    `scale`, of the shape of x, is the size against which roundoff is measured in each component. Derivatives are those of the
    implicit function, dx = -J^{-1} (dr/dargs) dargs, and do not pass through the iterations; `residual` must not close over traced
    values. Returns x, the number of iterations and whether they converged.
    """

    def with_itself(x):
        r = residual(x, args)
        return r, r

    def iterate(state):
        x, _, last, i = state
        J, r = jax.jacfwd(with_itself, has_aux=True)(x)
        # What is left is what rounding x alone would leave: the correction is noise, in a component that is zero all of it.
        solved = jnp.all(jnp.abs(r) <= ROUNDING * (jnp.abs(J) @ jnp.abs(x)))
        dx = solve(J, r)
        x = x - dx
        size = jnp.abs(dx)
        within = solved | jnp.all((size <= QUADRATIC * jnp.abs(x)) | (size <= EPS * scale))
        relative = jnp.max(size / (scale + jnp.abs(x) + np.finfo(float).tiny))
        stalled = (relative <= STALLED) & (relative >= 0.5 * last)
        return x, within | stalled, relative, i + 1

    def unfinished(state):
        _, done, relative, i = state
        return ~done & (i < ITERATIONS) & ~jnp.isnan(relative)

    x, done, _, i = jax.lax.while_loop(unfinished, iterate, (guess, jnp.array(False), jnp.array(jnp.inf), jnp.array(0)))
    return Root(x, i, done)


@root.defjvp
def root_jvp(residual, primals, tangents):
    guess, scale, args = primals
    out = root(residual, guess, scale, args)
    J = jax.jacfwd(residual)(out.x, args)
    _, dr = jax.jvp(lambda args: residual(out.x, args), (args,), (tangents[2],))
    none: Any = np.zeros((), jax.dtypes.float0)  # the tangent of what is no real number
    return out, Root(-solve(J, dr), none, none)
