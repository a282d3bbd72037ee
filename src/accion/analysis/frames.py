"""Changes of a state (q, p) under the tangent maps of many steps: a frame of them, made orthonormal
again and again.

They are written in coordinates in which the symplectic form is constant, whatever the space:
displacements e of the body and

    pi = (dp + 1/2 B(p) e) / s(t),        B(p)_ij = p.[e_i, e_j]  (zero on a flat space)

s(t) being by how much the inertia d2L/dv2 has grown since the start, the factor w(t)/w(t0) of a
Lagrangian with the weight w. A step of a variational method is then symplectic but for a factor,
the same for all changes. Its QR decompositions in an orthonormal frame u_1, ..., u_n, J u_n, ...,
J u_1 are those of Iwasawa, whose triangles have the diagonal a_1, ..., a_n, c/a_n, ..., c/a_1: the
exponents come in pairs of one sum at any time, not only in the limit, and to rounding.
"""  # fmt: skip

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.nodes import configurations
from accion.analysis.phase import step_and_tangent
from accion.engines.auto import native
from accion.engines.xla import kept_jit_of
from accion.numerics.products import written_out
from accion.types import Array, Configuration, Covector, Scalar

ROWS = 2**14  # of the logarithms that are computed in one call of XLA
UNROLLED = 8  # columns of a frame up to which its decomposition is written out
SEED = 7  # of the first frame, which is as good as any


class Coordinates(NamedTuple):
    """Those of changes: units of (e, pi), shape (2 dim,), and [e_i, e_j], None on a flat space; of
    windows also the matrix M of e = M delta, pi = M^-T rho.
    """

    units: Any
    brackets: Any
    levels: Any = None


class Carry(NamedTuple):
    """What is carried from one decomposition to the next."""

    q: Configuration
    p: Covector
    x: Any  # the last increment
    before: Any  # the one before it
    frame: Any  # orthonormal columns, shape (2 dim, k)
    slopes: Any  # sums of the sizes of de_i/dp_i and dp_i/de_i over all steps, shape (2, dim)


class Run(NamedTuple):
    """What is run: a system under a method, in which coordinates, from where."""

    system: Any
    method: Any
    t0: Any
    h: Any
    every: int
    at: "Coordinates"
    reference: Any  # (q, v) of the start where inertia changes in time, else None
    carry: Carry
    full: bool  # whether all exponents are asked for


# ---------------------------------------------------------------- coordinates of changes


def own_units_of(ahead: np.ndarray, back: np.ndarray, steps: int) -> np.ndarray:
    """Units of (e, pi) in which steps turn changes rather than stretch them, those of e_i and pi_i
    being inverse to each other, so that the form stays what it is.

    With `ahead` = h/m, the slopes of e by pi, and `back` = h k, those of pi by e, they are (m
    k)^(-1/4) and (m k)^(1/4); the time sqrt(m/k) is taken between one step and the whole run.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.clip(np.sqrt(ahead / back), ahead, steps * ahead)
    ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, 1.0)
    return np.concatenate([np.sqrt(ratio), 1 / np.sqrt(ratio)])


def symplectic_frame(n: int) -> np.ndarray:
    """Orthonormal columns u_1, ..., u_n, J u_n, ..., J u_1 of 2n numbers."""
    rng = np.random.default_rng(SEED)
    U: Any = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]
    u = np.concatenate([U.real, U.imag])
    Ju = np.concatenate([-U.imag, U.real])
    return np.concatenate([u, Ju[:, ::-1]], axis=1)


def on_levels(at: Coordinates, Y: Any, back: bool = False) -> Any:
    """Changes (e, pi) as (delta, rho); or, with `back`, these as (e, pi)."""
    if at.levels is None:
        return Y
    (e, pi), (M, inverse) = jnp.split(Y, 2), at.levels
    ahead, across = (M, inverse) if back else (inverse, M)
    return jnp.concatenate([ahead @ e, across.T @ pi])


def to_frame(at: Coordinates, p: Any, s: Any, Y: Any) -> Any:
    """Changes (e, dp), as columns, in the coordinates (e, pi) and their units."""
    e, dp = jnp.split(on_levels(at, sheared(at, p, Y, 0.5)), 2)
    return jnp.concatenate([e, dp / s]) / at.units[:, None]


def from_frame(at: Coordinates, p: Any, s: Any, Y: Any) -> Any:
    """The inverse of `to_frame`."""
    e, pi = jnp.split(at.units[:, None] * Y, 2)
    return sheared(at, p, on_levels(at, jnp.concatenate([e, s * pi]), back=True), -0.5)


def sheared(at: Coordinates, p: Any, Y: Any, part: float) -> Any:
    """(e, dp + part B(p) e)."""
    if at.brackets is None:
        return Y
    e, dp = jnp.split(Y, 2)
    return jnp.concatenate([e, dp + part * jnp.sum(at.brackets * p, axis=2) @ e])


def growth(system: Any, reference: Any, t0: Scalar, t: Scalar) -> Any:
    """s(t): by how much the inertia has grown since t0, the mean of the logarithms of its diagonal
    entries; one where it does not depend on time.
    """
    if reference is None:
        return 1.0
    q, v = reference

    def sizes(t: Scalar) -> Array:
        H = jax.hessian(system.L, 2)(t, q, v)
        # Of order r, whose v are r rows, that by the highest derivative.
        return jnp.abs(jnp.diagonal(H if v.ndim == 1 else H[-1, :, -1]))

    then, now = sizes(t0), sizes(t)
    there = (then > 0) & (now > 0)
    ratio = jnp.where(there, now, 1.0) / jnp.where(there, then, 1.0)
    return jnp.exp(jnp.sum(jnp.log(ratio)) / jnp.maximum(jnp.sum(there), 1))


# ---------------------------------------------------------------- the fold


@dataclass(frozen=True)
class Block:
    """Some steps, and the decomposition of what they make of the frame."""

    method: Any

    def __call__(self, constants: Any, carry: Carry, k: Any) -> tuple[Carry, Array]:
        system, t0, h, every, at, reference, first = constants
        begin, space = first + k * every, configurations(system, self.method)

        def one(i: Any, own: Any) -> Any:
            q, p, x, before, Y, slopes = own
            t = t0 + (begin + i) * h
            end, momentum, T = step_and_tangent(system, self.method, t, h, q, p, 2 * x - before)
            n, apart = len(p), T
            if at.levels is not None:
                apart = on_levels(at, T @ on_levels(at, jnp.eye(2 * n), back=True))
            sizes = jnp.stack([jnp.diagonal(apart[:n, n:]), jnp.diagonal(apart[n:, :n])])
            x, before = space.difference(q, end), x
            return end, momentum, x, before, T @ Y, slopes + jnp.abs(sizes)

        def s(steps: Any) -> Any:
            return growth(system, reference, t0, t0 + steps * h)

        Y = from_frame(at, carry.p, s(begin), carry.frame)
        start = (*carry[:4], Y, carry.slopes)
        q, p, x, before, Y, slopes = jax.lax.fori_loop(0, every, one, start)
        Y = to_frame(at, p, s(begin + every), Y)
        frame, sizes = orthonormal(Y)
        return Carry(q, p, x, before, frame, slopes), jnp.log(sizes)


def orthonormal(Y: Any) -> tuple[Array, Array]:
    """(Q, diagonal of R) of Y = Q R, by the method of Gram and Schmidt, each column twice: then it
    is orthogonal to rounding.
    """
    columns = Y.shape[1]

    def one(j: Any, own: Any) -> Any:
        Q, sizes = own
        column = Y[:, j]
        for _ in range(2):  # columns of Q that are not known yet are zero
            along = jnp.sum(Q * column[:, None], axis=0)
            column = column - jnp.sum(Q * along, axis=1)
        size = jnp.sqrt(jnp.sum(column * column))
        return Q.at[:, j].set(column / size), sizes.at[j].set(size)

    start = (jnp.zeros_like(Y), jnp.zeros(columns))
    return jax.lax.fori_loop(0, columns, one, start, unroll=columns <= UNROLLED)


@dataclass(frozen=True)
class Scanned:
    """A `Block` over numbers of blocks, for XLA."""

    block: Block

    def __call__(self, constants: Any, carry: Carry, k: Any) -> Any:
        one = written_out(self.block)
        return jax.lax.scan(lambda own, k: one(constants, own, k), carry, k)


def folded(run: Run, engine: str, first: int, rows: int) -> tuple[Carry, np.ndarray]:
    """What is carried after `rows` decompositions, and the logarithms of each, shape (rows, k);
    `first` steps were made before.
    """
    block = Block(run.method)
    constants = (run.system, run.t0, run.h, run.every, run.at, run.reference, first)
    program = native("folded", block, block, constants, run.carry, 0, engine=engine)
    if program is not None:
        carry, logs = program(constants, run.carry, np.arange(rows), rows)
        return carry, np.array(logs)
    carry, parts, scan = run.carry, [], kept_jit_of(Scanned(block))
    for at in range(0, rows, ROWS):
        carry, part = scan(constants, carry, np.arange(at, min(at + ROWS, rows)))
        parts.append(np.asarray(part))
    return carry, np.concatenate(parts)
