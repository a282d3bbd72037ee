"""Systems and motions that several files of tests share."""

import jax.numpy as jnp
import numpy as np

import accion as ac

ANGLE = 1.1


def ball(t, q, v, params):
    return 0.5 * v @ v - 9.81 * q[1]


def string(t, q, params):
    return jnp.array([0.5 * (q @ q - 1)])


PENDULUM = ac.System(ball, ac.Euclidean(2), holonomic=string, name="pendulum on a string")


START = {"q0": [np.sin(ANGLE), -np.cos(ANGLE)], "v0": [0.6 * np.cos(ANGLE), 0.6 * np.sin(ANGLE)]}


def free(t, q, v, params):
    return 0.5 * v @ v
