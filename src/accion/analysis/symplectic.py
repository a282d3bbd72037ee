"""Symplecticity, by tangent maps: of one step, along a trajectory, of time-dependent systems, and
of loops.
"""

from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from accion.checks import Start, check_mechanical, check_start, check_times
from accion.engines.auto import small_jit, small_map
from accion.stepping.views import discrete


def canonical(space, p):
    """The matrix J of the canonical form dq ^ dp at the momentum `p`, in displacements of the body
    and momenta.

    On a group it is J((e1, p1), (e2, p2)) = e1.p2 - e2.p1 + p.[e1, e2]; the last term is zero on a
    flat space.
    """
    n = space.dim
    brackets = np.zeros((n, n)) if space.flat else structure_constants(space) @ np.asarray(p)
    return np.block([[brackets, np.eye(n)], [-np.eye(n), np.zeros((n, n))]])


@lru_cache(maxsize=64)
def structure_constants(space):
    """[e_i, e_j]_k, shape (n, n, n)."""
    one = jnp.eye(space.dim)
    return np.asarray(jax.vmap(lambda a: jax.vmap(lambda b: space.ad(a, b))(one))(one))


def tangent_map(system, method):
    """A compiled function (t, h, q, p) -> (p1, T): the momentum after one step and its tangent map
    in local coordinates, shape (2n, 2n).
    """
    space, n = system.space, system.space.dim
    step = discrete(system, method).hamiltonian_flow

    @small_jit
    def tangent(t, h, q, p):
        q1, p1 = step(t, h, q, p)

        def local_step(z):
            end, momentum = step(t, h, space.retract(q, z[:n]), p + z[n:])
            return jnp.concatenate([space.displacement(q1, end), momentum])

        return p1, jax.jacfwd(local_step)(jnp.zeros(2 * n))

    return tangent


def form_defect(space, T, p0, p1):
    """max |T^T J(p1) T - J(p0)| relative to max |T|^2."""
    return float(
        np.max(np.abs(T.T @ canonical(space, p1) @ T - canonical(space, p0)))
        / np.max(np.abs(T)) ** 2
    )


def begin(system, q0, v0, p0, t0, h):
    check_mechanical(system, "symplecticity")
    t0, h = check_times(t0, h, 1, 1)
    start = check_start(system, Start(q0, v0, p0))
    p0 = start.p0 if start.p0 is not None else system.legendre(t0, start.q0, start.v0)
    return t0, h, start.q0, p0


def symplecticity(system, method, *, q0, v0=None, p0=None, t0=0.0, h):
    """The defect max |T^T J T - J| of one step (q, p) -> (q1, p1), where T is its tangent map,
    relative to max |T|^2.

    T is computed by automatic differentiation in local coordinates at both ends; J is the canonical
    form (on a group left trivialised). Zero, to roundoff, for every variational method on a system
    without force (002 Cor 1, corrected).
    """
    t0, h, q0, p0 = begin(system, q0, v0, p0, t0, h)
    p1, T = tangent_map(system, method)(t0, h, q0, p0)
    return form_defect(system.space, np.asarray(T), p0, p1)


@dataclass(frozen=True)
class Along:
    """Along a trajectory: the defect of each step and of all steps up to it, and the volume det T
    of each step.
    """

    steps: np.ndarray
    together: np.ndarray
    volume: np.ndarray


def symplecticity_along(trajectory) -> Along:
    """The defects of the form along a trajectory of which every step is kept, and the volume that
    each step makes of a unit one.
    """
    system, h = trajectory.system, trajectory.h
    if not np.isclose(float(trajectory.t[1] - trajectory.t[0]), float(h)):
        raise ValueError("symplecticity along a trajectory needs every step of it: save_every=1.")
    tangent = tangent_map(system, trajectory.method)
    starts = jax.tree.map(lambda a: a[:-1], (trajectory.t, trajectory.q, trajectory.p))
    maps = np.asarray(small_map(lambda h, z: tangent(z[0], h, z[1], z[2])[1])(h, starts))
    space, p = system.space, trajectory.p
    total, together, steps = np.eye(maps.shape[1]), [], []
    for i, T in enumerate(maps):
        total = T @ total
        together.append(form_defect(space, total, p[0], p[i + 1]))
        steps.append(form_defect(space, T, p[i], p[i + 1]))
    return Along(np.array(steps), np.array(together), np.linalg.det(maps))


@dataclass(frozen=True)
class Cosymplectic:
    """What one step on (t, q, p) does to the pair (dt, dq ^ dp): the defect of each, and the
    one-form beta of what time brings in.

    The pullback of dq ^ dp is dq ^ dp + beta ^ dt: on slices of equal time the form is kept.
    """

    time: float
    form: float
    beta: np.ndarray


def cosymplecticity(system, method, *, q0, v0=None, p0=None, t0=0.0, h) -> Cosymplectic:
    """The step of a time-dependent system on the extended phase space (t, q, p), whose structure is
    the pair (dt, dq ^ dp).
    """
    t0, h, q0, p0 = begin(system, q0, v0, p0, t0, h)
    space, n = system.space, system.space.dim
    step = discrete(system, method).hamiltonian_flow
    end, p1 = small_jit(step)(t0, h, q0, p0)

    def extended(z):
        q, p = step(t0 + z[0], h, space.retract(q0, z[1 : n + 1]), p0 + z[n + 1 :])
        return jnp.concatenate([z[:1] + t0 + h, space.displacement(end, q), p])

    T = np.asarray(small_jit(jax.jacfwd(extended))(jnp.zeros(2 * n + 1)))
    J = canonical(space, p0)
    pulled = T[1:].T @ canonical(space, p1) @ T[1:]  # of dq ^ dp, on (t, q, p)
    time = np.max(np.abs(T[0] - np.eye(2 * n + 1)[0]))
    return Cosymplectic(
        float(time),
        float(np.max(np.abs(pulled[1:, 1:] - J)) / np.max(np.abs(T)) ** 2),
        pulled[1:, 0],
    )


def poincare_invariant(system, method, loop, *, t0=0.0, h, steps, points=64):
    """(before, after): the integral of p dq over a closed loop of initial data and over its image
    after `steps` steps.

    `loop(s)`, 0 <= s < 1, returns (q, p); the loop is smooth and periodic, so that sums over its
    `points` are accurate beyond any power.
    """
    step = discrete(system, method).hamiltonian_flow
    q, p = jax.vmap(loop)(jnp.arange(points) / points)

    @small_map
    def end(count, z):
        return jax.lax.fori_loop(0, count, lambda k, z: step(t0 + k * h, h, *z), z)

    return area(q, p), area(*end(steps, (q, p)))


def area(q, p):
    """The integral of p dq over a periodic curve; q is differentiated by its Fourier series."""
    q, p = np.asarray(q), np.asarray(p)
    n = len(q)
    k = np.fft.fftfreq(n, 1 / n)
    k[n // 2] = 0  # the highest frequency has no derivative
    slope = np.real(np.fft.ifft(2j * np.pi * k[:, None] * np.fft.fft(q, axis=0), axis=0))
    return float(np.sum(p * slope) / n)
