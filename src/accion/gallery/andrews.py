"""Andrews' squeezing mechanism: seven bodies, six loop constraints; the standard benchmark of constrained multibody dynamics.

Checked by a test (compiling it takes longer than the other systems of the gallery together), so it is not in the report.
"""

import jax.numpy as jnp
import numpy as np

from accion.spaces import Euclidean
from accion.systems import System

# Data in SI units, as in the literature (Giles and Manning, Schiehlen; Hairer and Wanner, Solving ODEs II, section VII.7).
MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIA = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, DA, E, EA, ZF, FA, RR, RA = 28e-3, 115e-4, 2e-2, 1421e-5, 2e-2, 1421e-5, 7e-3, 92e-5
SS, SA, SB, SC, SD, TA, TB = 35e-3, 1874e-5, 1043e-5, 18e-3, 2e-2, 2308e-5, 916e-5
U, UA, UB, ZT, C0, L0, MOM = 4e-2, 1228e-5, 449e-5, 4e-2, 4530.0, 7785e-5, 33e-3

NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
Q0 = np.array(
    [
        -0.0617138900142764496,
        0.0,
        0.455279819163070380,
        0.222668390165885884,
        0.487364979543842550,
        -0.222668390165885884,
        1.23054744454982119,
    ]
)
# The angles at t = 0.03 s, from the literature.
END = np.array(
    [15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304, 0.5347301163226948, 1.048080741042263]
)


def kinetic(q, v):
    _, theta, _, phi, _, omega, _ = q
    m, I = MASS, INERTIA
    db, dth, dg, dph, dde, dom, dep = v
    crank = (m[0] * RA**2 + m[1] * (RR**2 - 2 * DA * RR * jnp.cos(theta) + DA**2) + I[0] + I[1]) * db**2
    crank += 2 * (m[1] * (DA**2 - DA * RR * jnp.cos(theta)) + I[1]) * db * dth + (m[1] * DA**2 + I[1]) * dth**2
    lever = (m[2] * (SA**2 + SB**2) + I[2]) * dg**2
    a = E - EA
    left = (m[3] * a**2 + I[3]) * dph**2 + 2 * (m[3] * (a**2 + ZT * a * jnp.sin(phi)) + I[3]) * dph * dde
    left += (m[3] * (ZT**2 + 2 * ZT * a * jnp.sin(phi) + a**2) + m[4] * (TA**2 + TB**2) + I[3] + I[4]) * dde**2
    b = ZF - FA
    right = (m[5] * b**2 + I[5]) * dom**2 + 2 * (m[5] * (b**2 - U * b * jnp.sin(omega)) + I[5]) * dom * dep
    right += (m[5] * (b**2 - 2 * U * b * jnp.sin(omega) + U**2) + m[6] * (UA**2 + UB**2) + I[5] + I[6]) * dep**2
    return 0.5 * (crank + lever + left + right)


def lagrangian(t, q, v, params):
    """Kinetic energy, the spring at the lever, and the constant moment on the crank."""
    beta, gamma = q[0], q[2]
    x = SD * jnp.cos(gamma) + SC * jnp.sin(gamma) + XB - XC
    y = SD * jnp.sin(gamma) - SC * jnp.cos(gamma) + YB - YC
    return kinetic(q, v) - 0.5 * C0 * (jnp.sqrt(x**2 + y**2) - L0) ** 2 + MOM * beta


def loops(t, q, params):
    beta, theta, gamma, phi, delta, omega, epsilon = q
    x = RR * jnp.cos(beta) - D * jnp.cos(beta + theta)
    y = RR * jnp.sin(beta) - D * jnp.sin(beta + theta)
    return jnp.array(
        [
            x - SS * jnp.sin(gamma) - XB,
            y + SS * jnp.cos(gamma) - YB,
            x - E * jnp.sin(phi + delta) - ZT * jnp.cos(delta) - XA,
            y + E * jnp.cos(phi + delta) - ZT * jnp.sin(delta) - YA,
            x - ZF * jnp.cos(omega + epsilon) - U * jnp.sin(epsilon) - XA,
            y - ZF * jnp.sin(omega + epsilon) + U * jnp.cos(epsilon) - YA,
        ]
    )


COORDINATES = tuple(f"{name} [rad]" for name in NAMES)
system = System(lagrangian, Euclidean(7), holonomic=loops, coordinates=COORDINATES, name="Andrews' squeezing mechanism")
