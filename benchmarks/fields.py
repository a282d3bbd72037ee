"""First-order equations y' = f(y) of the systems of work_precision.py, for those who take no
Lagrangian: on the scalars of any library that has sin, cos and powers, and on arrays.

Each function of `f`, a module with `sin` and `cos` (math, jax.numpy, heyoka), returns the function
of the entries of y; numba compiles it with math.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from chain import GRAVITY

from accion.gallery.heavy_top import GRAVITY as TOP_GRAVITY, INERTIA, M, X

# Hairer, Lubich and Wanner, Geometric Numerical Integration, I.2.4: the sun with the inner planets,
# Jupiter, Saturn, Uranus, Neptune, Pluto; AU, days, masses of the sun.
G = 2.95912208286e-4
MASSES = np.array(
    [
        1.00000597682,
        0.000954786104043,
        0.000285583733151,
        0.0000437273164546,
        0.0000517759138449,
        1 / 1.3e8,
    ]
)
PLANETS = np.array(
    [
        [-3.5023653, -3.8169847, -1.5507963, 0.00565429, -0.00412490, -0.00190589],
        [9.0755314, -3.0458353, -1.6483708, 0.00168318, 0.00483525, 0.00192462],
        [8.3101420, -16.2901086, -7.2521278, 0.00354178, 0.00137102, 0.00055029],
        [11.4707666, -25.7294829, -10.8169456, 0.00288930, 0.00114527, 0.00039677],
        [-15.5387357, -25.2225594, -3.1902382, 0.00276725, -0.00170702, -0.00136504],
    ]
)


def kepler(f):
    def field(z):
        x, y, u, w = z[0], z[1], z[2], z[3]
        pull = (x * x + y * y) ** -1.5
        return u, w, -x * pull, -y * pull

    return field


def henon_heiles(f):
    def field(z):
        x, y, u, w = z[0], z[1], z[2], z[3]
        return u, w, -x - 2 * x * y, -y - x * x + y * y

    return field


def double_pendulum(f):
    """Unit masses and lengths: [[2, c], [c, 1]] a = r, c the cosine of q1 - q2."""

    def field(z):
        q1, q2, v1, v2 = z[0], z[1], z[2], z[3]
        c, s = f.cos(q1 - q2), f.sin(q1 - q2)
        r1 = -s * v2 * v2 - 2 * GRAVITY * f.sin(q1)
        r2 = s * v1 * v1 - GRAVITY * f.sin(q2)
        det = 2 - c * c
        return v1, v2, (r1 - c * r2) / det, (2 * r2 - c * r1) / det

    return field


def heavy_top(f):
    """A unit quaternion (s, x, y, z) and the velocity in the body; the centre of mass is at X[1] on
    the second axis: q' = q w/2, I w' = I w x w - m g X x R^T e_z.
    """
    I1, I2, I3 = INERTIA.tolist()
    load = float(M * TOP_GRAVITY * X[1])

    def field(y):
        s, x, y_, z, a, b, c = y[0], y[1], y[2], y[3], y[4], y[5], y[6]
        R31, R33 = 2 * (x * z - s * y_), 1 - 2 * (x * x + y_ * y_)
        return (
            -0.5 * (x * a + y_ * b + z * c),
            0.5 * (s * a + y_ * c - z * b),
            0.5 * (s * b + z * a - x * c),
            0.5 * (s * c + x * b - y_ * a),
            ((I2 - I3) * b * c - load * R33) / I1,
            (I3 - I1) * c * a / I2,
            ((I1 - I2) * a * b + load * R31) / I3,
        )

    return field


def solar_system(f):
    """18 positions, then 18 velocities."""
    count = len(MASSES)

    def field(y):
        a = [[0.0, 0.0, 0.0] for _ in range(count)]
        for i in range(count):
            for j in range(i):
                d = [y[3 * j + k] - y[3 * i + k] for k in range(3)]
                pull = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) ** -1.5
                for k in range(3):
                    a[i][k] = a[i][k] + G * MASSES[j] * d[k] * pull
                    a[j][k] = a[j][k] - G * MASSES[i] * d[k] * pull
        return [*(y[18 + i] for i in range(18)), *(entry for row in a for entry in row)]

    return field


# ---------------------------------------------------------------- on arrays


def solar_potential(t, q, params):
    r = q.reshape(-1, 3)
    rows, columns = np.tril_indices(len(MASSES), -1)
    d = r[rows] - r[columns]
    return -jnp.sum(G * MASSES[rows] * MASSES[columns] / jnp.sqrt(jnp.sum(d**2, axis=1)))


def solar_array(y):
    force = -jax.grad(solar_potential, 1)(0.0, y[:18], None)
    return jnp.concatenate([y[18:], force / np.repeat(MASSES, 3)])


def on_arrays(field):
    """`field` with an array for its entries, in JAX."""
    return lambda y: jnp.stack(field(jnp)(y))


# ---------------------------------------------------------------- compiled by numba


@numba.njit(error_model="numpy")
def kepler_pull(q, a):
    pull = (q[0] * q[0] + q[1] * q[1]) ** -1.5
    a[0], a[1] = -q[0] * pull, -q[1] * pull


@numba.njit
def henon_heiles_pull(q, a):
    a[0], a[1] = -q[0] - 2 * q[0] * q[1], -q[1] - q[0] * q[0] + q[1] * q[1]


@numba.njit(error_model="numpy")
def solar_pull(q, a):
    a[:] = 0.0
    for i in range(6):
        for j in range(i):
            dx, dy = q[3 * j] - q[3 * i], q[3 * j + 1] - q[3 * i + 1]
            dz = q[3 * j + 2] - q[3 * i + 2]
            pull = G / ((dx * dx + dy * dy + dz * dz) * np.sqrt(dx * dx + dy * dy + dz * dz))
            for k, d in enumerate((dx, dy, dz)):
                a[3 * i + k] += MASSES[j] * pull * d
                a[3 * j + k] -= MASSES[i] * pull * d


def from_pull(pull, n):
    """The function (t, y) of SciPy from accelerations of positions alone."""

    @numba.njit
    def field(t, y):
        out = np.empty(2 * n)
        out[:n] = y[n:]
        pull(y[:n], out[n:])
        return out

    return field


def from_scalars(field):
    """The function (t, y) of SciPy from a function of scalars, with its constants written in."""
    import math

    entries = numba.njit(error_model="numpy")(field(math))

    @numba.njit
    def compiled(t, y):
        return np.array(entries(y))

    return compiled


def chain(n):
    """The function (t, y) of SciPy for a chain of n links: the mass matrix is solved by LAPACK."""
    weight = n - np.maximum.outer(np.arange(n), np.arange(n)).astype(float)
    load = GRAVITY * np.arange(n, 0, -1.0)

    @numba.njit
    def field(t, y):
        q, v = y[:n], y[n:]
        matrix, r = np.empty((n, n)), np.empty(n)
        for i in range(n):
            r[i] = -load[i] * np.sin(q[i])
            for j in range(n):
                matrix[i, j] = weight[i, j] * np.cos(q[i] - q[j])
                r[i] -= weight[i, j] * np.sin(q[i] - q[j]) * v[j] * v[j]
        out = np.empty(2 * n)
        out[:n] = v
        out[n:] = np.linalg.solve(matrix, r)
        return out

    return field
