"""Contact systems that the tests share, and their equations by hand."""

import jax.numpy as jnp
import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

import accion as ac

PARAMS = {"c": 0.3, "b": 0.2}
Q0, V0, Z0 = np.array([0.7, -0.4]), np.array([0.2, 0.5]), 0.3
INERTIA = np.array([1.0, 2.0, 3.0])
W0, R0 = np.array([0.3, 0.5, -0.2]), np.asarray(ac.SO3().retract(np.eye(3), [0.4, 0.1, 0.2]))


def nonlinear(t, q, v, z, params):
    """Momenta depend on z, and the rate of decay on q and z, and all of it on t."""
    kinetic = 0.5 * v[0] ** 2 * (1 + 0.3 * jnp.sin(q[1])) + 0.5 * v[1] ** 2 * (2 + 0.1 * z)
    potential = 0.25 * q[0] ** 4 + 0.5 * q[1] ** 2 * (1 + 0.2 * jnp.cos(t)) + 0.3 * q[0] * q[1]
    return kinetic - potential - params["c"] * z * (1 + 0.1 * q[0]) - params["b"] * z**2


def push(t, q, v, z, params):
    return jnp.array([0.2 * jnp.sin(t) - 0.1 * v[0] * z, 0.1 * q[0]])


def spinning(t, g, w, z, params):
    """A top whose momenta depend on z."""
    return 0.5 * w @ (INERTIA * w) * (1 + 0.1 * z) - g[2, 2] - params["c"] * z


bent = ac.ContactSystem(nonlinear, ac.Euclidean(2), PARAMS, force=push)
free = ac.ContactSystem(nonlinear, ac.Euclidean(2), PARAMS, coordinates=("x [m]", "y [m]"))
top = ac.ContactSystem(spinning, ac.SO3(), PARAMS)


def bent_by_hand(duration):
    """(q, v, z) of `bent` at the end: d/dt dL/dv = dL/dq + dL/dz dL/dv + F by SymPy, with z' = L,
    integrated by SciPy.
    """
    t, x, y, u, w, z = sp.symbols("t x y u w z")
    kinetic = u**2 * (1 + 0.3 * sp.sin(y)) / 2 + w**2 * (2 + 0.1 * z) / 2
    potential = x**4 / 4 + y**2 * (1 + 0.2 * sp.cos(t)) / 2 + 0.3 * x * y
    L = kinetic - potential - PARAMS["c"] * z * (1 + 0.1 * x) - PARAMS["b"] * z**2
    q, v, F = (x, y), (u, w), (0.2 * sp.sin(t) - 0.1 * u * z, 0.1 * x)
    p = [L.diff(each) for each in v]
    M = sp.Matrix(2, 2, lambda i, j: p[i].diff(v[j]))
    right = [
        L.diff(q[i])
        + L.diff(z) * p[i]
        + F[i]
        - p[i].diff(t)
        - sum(p[i].diff(a) * b for a, b in zip(q, v, strict=True))
        - p[i].diff(z) * L
        for i in range(2)
    ]
    f = sp.lambdify((t, x, y, u, w, z), [u, w, *M.LUsolve(sp.Matrix(right)), L])
    return ended(lambda t, s: f(t, *s), duration, [*Q0, *V0, Z0])


def top_by_hand(duration):
    """(R, omega, z) of `top` at the end, by the equations of Euler, Poincare and Herglotz:
    m' = m x w + torque + dL/dz m, with m = dL/dw.
    """

    def rates(t, s):
        R, w, z = s[:9].reshape(3, 3), s[9:12], s[12]
        k, energy = 1 + 0.1 * z, 0.5 * w @ (INERTIA * w)
        m, L = k * INERTIA * w, energy * k - R[2, 2] - PARAMS["c"] * z
        # R_33 changes by R_31 eta_2 - R_32 eta_1 where the body turns by eta.
        torque = np.array([R[2, 1], -R[2, 0], 0.0])
        dm = np.cross(m, w) + torque + (0.1 * energy - PARAMS["c"]) * m
        dw = (dm - 0.1 * L * INERTIA * w) / (k * INERTIA)
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([np.ravel(R @ hat), dw, [L]])

    return ended(rates, duration, [*R0.ravel(), *W0, Z0])


def ended(rates, duration, start):
    return solve_ivp(rates, (0, duration), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
