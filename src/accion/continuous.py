"""The continuous side: accelerations, and trajectories of the continuous equations to high accuracy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from accion.newton import solve
from accion.spaces import check_vector


def accelerations(system):
    """The function (t, q, v) -> a, shape (dim,), from the Euler-Lagrange equations with force

    d2L/dv2 a = dL/dq + F - d/dq(dL/dv).v - d/dt(dL/dv)         (002 eq 1)
    """
    system.check()
    if not system.space.flat:
        raise ValueError(f"accelerations needs a flat space (Euclidean, Torus or a Product of them); got {system.space}.")
    return lambda t, q, v: acceleration(system, t, q, v)


def acceleration(system, t, q, v):
    space = system.space
    zero = jnp.zeros(space.dim)
    dL_dq = jax.grad(lambda e: system.L(t, space.retract(q, e), v))(zero)
    # p changes along the motion at fixed v: the time derivative of dL/dv without its part in a.
    _, dp = jax.jvp(lambda t, e: system.momentum(t, space.retract(q, e), v), (t, zero), (jnp.ones_like(t), v))
    H = jax.hessian(system.L, 2)(t, q, v)
    return solve(H, dL_dq + system.F(t, q, v) - dp)


def reference(system, *, q0, v0, ts, rtol=1e-12, atol=1e-12, max_steps=1_000_000):
    """The continuous trajectory through (q0, v0) at time ts[0], at the times `ts`: (q, v), shapes (len(ts), dim).

    Integrated by an explicit Runge-Kutta method of order 8 with step control (diffrax's Dopri8) to the tolerances `rtol`, `atol`.
    """
    system.check()
    space = system.space
    q0 = space.check(q0, "q0")
    v0 = check_vector(v0, space.dim, "v0")
    ts = jnp.asarray(ts, dtype=float)
    if ts.ndim != 1 or len(ts) < 2 or not bool(jnp.all(jnp.diff(ts) > 0)):
        raise ValueError(f"ts must be at least two increasing times, the first one that of q0; got {np.asarray(ts)}.")
    accelerations(system)
    e, v, result = integrate(system, q0, v0, ts, rtol, atol, max_steps)
    if not bool(result):
        raise RuntimeError(
            f"the continuous equations could not be integrated to t = {float(ts[-1]):g} with rtol = {rtol:g}: the solution may "
            "not exist that far, or max_steps is too small."
        )
    return jax.vmap(lambda e: space.retract(q0, e))(e), v


@partial(jax.jit, static_argnames="max_steps")
def integrate(system, q0, v0, ts, rtol, atol, max_steps):
    import diffrax

    numbers, treedef = jax.tree.flatten(system)

    # The unknown is the displacement from q0, a vector also where a configuration is a tuple.
    def field(t, y, numbers):
        e, v = y
        system = jax.tree.unflatten(treedef, numbers)
        return v, acceleration(system, t, system.space.retract(q0, e), v)

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        ts[0],
        ts[-1],
        None,
        (jnp.zeros(system.space.dim), v0),
        numbers,
        saveat=diffrax.SaveAt(ts=ts),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=max_steps,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    e, v = solution.ys  # pyright: ignore[reportGeneralTypeIssues]
    return e, v, (solution.result == diffrax.RESULTS.successful) & jnp.all(jnp.isfinite(v))
