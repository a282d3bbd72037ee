"""The root finder of the hot path and its small dense solver.

Written by hand because a library's root finder makes a step of two unknowns several times as
expensive, one of ten twice (measured side by side in `benchmarks/step_cost.py`): LAPACK is called
through XLA for each small solve, and a loop that contains such a call cannot be compiled into one
function.
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.rarely import rarely
from accion.types import Array, Function, Vector

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
ITERATIONS = 40
ORDINARY = 3  # iterations, after which it is worth looking more closely
# Newton squares the relative error: a correction below sqrt(eps) leaves an error below eps.
QUADRATIC = EPS**0.5
# A residual this small against its terms is their rounding.
ROUNDING = 8 * EPS
# Once corrections no longer shrink they are roundoff, if they are this small against the unit of
# their component.
STALLED = 1e-11
LEAST = 0.25**9  # part of a Newton step; where a function levels off it may be 1e5 times too long
# Elimination is written out up to the first size, a loop up to the second; beyond it LAPACK is
# faster.
UNROLLED, SMALL = 8, 32


class Equations(ABC):
    """A few equations in as many unknowns, as Newton's method sees them.

    The last `multipliers` unknowns enter linearly and need no test of their own; as many equations,
    the last ones, are constraints. An object is compared by value and compiled in: what changes
    from one solution to the next is in `args`, and it must hold nothing that is traced.
    """

    multipliers: int

    @abstractmethod
    def residual(self, unknowns: jax.Array, args: Any) -> jax.Array:
        """What is left of the equations."""

    @abstractmethod
    def sizes(self, unknowns: jax.Array, J: jax.Array, args: Any) -> tuple[jax.Array, jax.Array]:
        """The size of an unknown that matters, and of the quantities that it is added to; for each
        unknown that is no multiplier. J are the derivatives of the residual.
        """


class Root(NamedTuple):
    x: jax.Array
    iterations: jax.Array
    converged: jax.Array


def solve(A: Array, b: Array) -> Array:
    """x with A x = b, shape (n,): Gaussian elimination with row pivoting; linear, and so
    transposable, in `b`. Several right-hand sides: `jax.vmap(solve, (None, 1), 1)`.
    """
    if b.ndim != 1:
        raise ValueError(f"b must be one right-hand side, shape (n,); got shape {b.shape}.")
    return accion_dense_solve(A, b)


@jax.jit  # The native engine knows it by its name, and makes it a function of its own.
def accion_dense_solve(A: Array, b: Array) -> Array:
    n = b.shape[0]
    if n > SMALL:
        return jnp.linalg.solve(A, b)
    row = np.arange(n)

    def eliminate(k: Any, system: Any) -> Any:
        A, b = system
        j = jnp.argmax(jnp.where(row < k, -1.0, jnp.abs(A[:, k])))
        A = A.at[j].set(A[k]).at[k].set(A[j])
        b = b.at[j].set(b[k]).at[k].set(b[j])
        factor = jnp.where(row > k, A[:, k] / A[k, k], 0.0)
        return A - factor[:, None] * A[k], b - factor * b[k]

    def substitute(i: Any, b: Array) -> Any:
        k = n - 1 - i
        x = b[k] / A[k, k]
        return jnp.where(row == k, x, jnp.where(row < k, b - A[:, k] * x, b))

    unroll = n <= UNROLLED
    A, b = jax.lax.fori_loop(0, n, eliminate, (A, b), unroll=unroll)
    return jax.lax.fori_loop(0, n, substitute, b, unroll=unroll)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def root(equations: Equations, guess: jax.Array, args: Any) -> Root:
    """x with equations.residual(x, args) = 0, to roundoff, by Newton's method from `guess`.

    It ends when each correction is below sqrt(eps) of its unknown. A component that is zero never
    gets there: after a few iterations it is asked whether what is left is rounding, measured by
    `equations.sizes`. From then on a step that makes the residual larger is shortened; and if the
    first iterations led nowhere, they are taken back.

    Derivatives are those of the implicit function, dx = -J^{-1} (dr/dargs) dargs, and do not pass
    through the iterations. Returns x, the number of iterations and whether they converged.
    """
    residual, n = equations.residual, guess.shape[0] - equations.multipliers

    def with_itself(x: Vector) -> Any:
        r = residual(x, args)
        return r, r

    def iterate(state: Any) -> Any:
        x, last, i = state
        J, r = jax.jacfwd(with_itself, has_aux=True)(x)
        # Below the least normal number digits are lost without a word; where those of one equation
        # are gone the others are not far.
        dx = jnp.where(jnp.sum(jnp.abs(J[0])) >= TINY, solve(J, r), jnp.nan)

        def ordinary() -> Any:
            return x - dx, correction((x - dx)[:n], dx[:n])

        look = partial(closely, equations)
        like = (x, last)
        return *jax.lax.cond(
            i < ORDINARY, ordinary, lambda: rarely(look, like, x, dx, r, J, last, i, guess, args)
        ), i + 1

    def unfinished(state: Any) -> Any:
        _, left, i = state
        # NaN ends it, unless it comes after the first iteration and before these are looked at:
        # they may be taken back.
        return ((left > 1) & (i < ITERATIONS)) | (jnp.isnan(left) & (i > 1) & (i <= ORDINARY))

    x, left, i = jax.lax.while_loop(unfinished, iterate, (guess, jnp.array(jnp.inf), jnp.array(0)))
    return Root(x, i, left <= 1)


def correction(new: Array, dx: Array) -> Array:
    """The largest of the corrections that led to `new`, in units of what leaves an error of
    rounding after it.
    """
    return jnp.max(jnp.abs(dx) / jnp.maximum(QUADRATIC * jnp.abs(new), TINY))


def closely(
    equations: Equations,
    x: Array,
    dx: Array,
    r: Array,
    J: Array,
    last: Array,
    i: Array,
    guess: Array,
    args: Any,
) -> tuple[Array, Array]:
    """An iteration that is looked at: the next x, and how large its correction is, 0 where what is
    left is rounding. Seldom needed, and so compiled apart from the others.
    """
    n = guess.shape[0] - equations.multipliers
    own, beside = equations.sizes(x, J, args)
    terms = jnp.sum(jnp.abs(J) * jnp.abs(x), axis=1)
    if equations.multipliers:
        terms = terms.at[n:].add(jnp.sum(jnp.abs(J[n:, :n]) * beside, axis=1))
    part, nowhere = damping(equations.residual, args, x, dx, r, J, terms, guess)
    new = x - part * dx
    size, left = jnp.abs(dx[:n]), correction(new[:n], dx[:n]) / part
    solved = jnp.all(jnp.abs(r) <= ROUNDING * terms)
    nothing = jnp.all(size <= EPS * own)
    stalled = (left >= 0.5 * last) & jnp.all(
        size <= STALLED * (own + jnp.abs(new[:n])) + 64 * EPS * beside
    )
    done = solved | nothing | stalled
    back = nowhere & (i == ORDINARY) & ~done
    return jnp.where(back, guess, new), jnp.where(done, 0.0, jnp.where(back, jnp.inf, left))


def own_size(numerator: Any, diagonal: Any) -> Array:
    """numerator / |diagonal|, the size of unknowns that matters; 0 where there is nothing to
    measure it by, as for a coordinate without mass.
    """
    diagonal = jnp.abs(diagonal)
    own = numerator / jnp.where(diagonal > 0, diagonal, 1.0)
    return jnp.where((diagonal > 0) & jnp.isfinite(own), own, 0.0)


def damping(
    residual: Function, args: Any, x: Vector, dx: Any, r: Any, J: Array, terms: Any, guess: Any
) -> Any:
    """The part of a Newton step to take: the largest with which the residual does not grow; where
    there is none, with which it is finite.

    And whether the way from the guess to x led nowhere: a step from here, J dx = r, is half of all
    that way, J (x - guess), or more.
    """
    row = 1 / (jnp.max(jnp.abs(J), axis=1) + TINY)
    size, floor = jnp.max(row * jnp.abs(r)), 64 * EPS * jnp.max(row * terms)

    def shortened(state: Any) -> Any:
        part, _, finite = state
        part = 0.25 * part
        left = jnp.max(row * jnp.abs(residual(x - part * dx, args)))
        finite = jnp.where((finite > 0) | ~jnp.isfinite(left), finite, part)
        return part, left <= (1 - 0.1 * part) * size + floor, finite

    def unfinished(state: Any) -> Any:
        part, good, _ = state
        return ~good & (part > LEAST)

    # One after the other: side by side the parts are ten residuals to compile for what is seldom
    # run.
    part, good, finite = jax.lax.while_loop(
        unfinished, shortened, (jnp.array(4.0), jnp.array(False), jnp.array(0.0))
    )
    way = jnp.max(row * jnp.sum(jnp.abs(J) * jnp.abs(x - guess), axis=1))
    return jnp.where(good, part, jnp.where(finite > 0, finite, 1.0)), ~(size <= 0.5 * way + floor)


@root.defjvp
def root_jvp(equations: Any, primals: Any, tangents: Any) -> Any:
    guess, args = primals
    out = root(equations, guess, args)
    return out, Root(implicit(equations, out, guess, args, tangents[1]), NONE, NONE)


NONE: Any = np.zeros((), jax.dtypes.float0)  # the tangent of what is no real number


def implicit(equations: Any, out: Any, guess: Array, args: Any, dargs: Any) -> Array:
    """The derivative of a root, dx = -J^{-1} (dr/dargs) dargs; zero where there is none."""
    x = somewhere(out.converged, out.x, guess)
    J = jnp.where(out.converged, jax.jacfwd(equations.residual)(x, args), jnp.eye(len(x)))
    _, dr = jax.jvp(lambda args: equations.residual(x, args), (args,), (dargs,))
    return jnp.where(out.converged, -solve(J, dr), 0.0)


def somewhere(good: Array, x: Array, guess: Array) -> Array:
    """Where to differentiate: at x or, where that is not `good` and derivatives are none, where
    they are numbers. In reverse mode zero times NaN would go back into all that was before.

    A step back by the guess leads where the step before came from.
    """
    return jnp.where(good, x, -guess)
