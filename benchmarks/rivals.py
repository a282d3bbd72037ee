"""What accion is measured against: a library's root finder, a library's implicit solver, and a
step-controlled Runge-Kutta method.
"""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from chain import GRAVITY, H, lagrangian, start, system
from scipy.integrate import solve_ivp

import accion as ac

# The last correction is below sqrt(eps), as in accion, so both make the same number of iterations.
SQRT_EPS = 1e-8
# diffrax's own default, VeryChord, gives up at this h ("nonlinear solve diverged"); Newton does
# not.
STAGE_TOLERANCE = 1e-6


def ends(q, x):
    """(D1 Ld, D2 Ld) of Ld = h L(q + x/2, x/h) with respect to the two ends of the step."""

    def Ld(e0, e1):
        d = x + (e1 - e0)
        return H * lagrangian(0.0, q + e0 + d / 2, d / H, None)

    zero = jnp.zeros_like(x)
    return jax.grad(Ld, (0, 1))(zero, zero)


def optimistix_newton(n, steps):
    """The function () -> (q, iterations) that solves accion's equations, from accion's guess, by
    optimistix's Newton.
    """
    solver = optx.Newton(rtol=SQRT_EPS, atol=SQRT_EPS)

    def balance(x, args):
        q, p = args
        return p + ends(q, x)[0]

    def step(carry, _):
        q, p, last, guess = carry
        solution = optx.root_find(balance, solver, guess, (q, p), max_steps=25, throw=False)
        x = solution.value
        q1 = q + x
        return (q1, ends(q, x)[1], x, 2 * x - last), (q1, solution.stats["num_steps"])

    @jax.jit
    def run(q, v):
        p = jax.grad(lagrangian, 2)(0.0, q, v, None)
        return jax.lax.scan(step, (q, p, H * v, H * v), length=steps)[1]

    return lambda: run(*map(jnp.asarray, start(n)))


def diffrax_kvaerno3(n, steps):
    """The function () -> (q, v) by Kvaerno3 (order 3, implicit, three stages of 2n unknowns to
    solve) with the step of accion.
    """
    a = ac.accelerations(system(n))
    solver = diffrax.Kvaerno3(root_finder=optx.Newton(rtol=STAGE_TOLERANCE, atol=STAGE_TOLERANCE))

    @jax.jit
    def run(q, v):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: (y[1], a(t, *y))),
            solver,
            0.0,
            steps * H,
            H,
            (q, v),
            saveat=diffrax.SaveAt(steps=True),
            max_steps=steps + 1,  # the sum of the steps may end a roundoff early
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        return jax.tree.map(lambda y: y[:steps], solution.ys)

    return lambda: run(*map(jnp.asarray, start(n)))


def scipy_dop853(n, steps, rtol):
    """The function () -> (q, v) by DOP853 with step control, atol = rtol; it keeps the steps that
    it makes, not every h.
    """
    weight = n - np.maximum.outer(np.arange(n), np.arange(n)).astype(float)
    load = GRAVITY * np.arange(n, 0, -1)

    def field(t, y):
        q, v = y[:n], y[n:]
        d = q[:, None] - q
        a = np.linalg.solve(weight * np.cos(d), -(weight * np.sin(d)) @ v**2 - load * np.sin(q))
        return np.concatenate([v, a])

    y0 = np.concatenate(start(n))

    def run():
        y = solve_ivp(field, (0.0, steps * H), y0, method="DOP853", rtol=rtol, atol=rtol).y.T
        return y[:, :n], y[:, n:]

    return run


def energy_error(q, v):
    """max |E - E(0)| along rows of (q, v), by numpy alone."""
    across, down = np.cumsum(v * np.cos(q), axis=1), np.cumsum(v * np.sin(q), axis=1)
    T = 0.5 * np.sum(across**2 + down**2, axis=1)
    E = T - GRAVITY * np.sum(np.cumsum(np.cos(q), axis=1), axis=1)
    return float(np.max(np.abs(E - E[0])))


def loosest_dop853(n, steps, error):
    """(run, rtol) for the loosest power of ten with which DOP853 has at most the energy `error`
    over the same time.
    """
    for rtol in 10.0 ** -np.arange(3, 13):
        run = scipy_dop853(n, steps, rtol)
        if energy_error(*run()) <= error:
            return run, rtol
    raise RuntimeError(
        f"DOP853 does not reach an energy error of {error:.3g} with any rtol down to 1e-12."
    )
