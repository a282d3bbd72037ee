"""Shared by all tests: seeded randomness, and systems that are compiled once in each worker."""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings

import accion as ac
from accion.engines import auto

# Where a test says nothing, NumPy allows a relative 1e-7. Here it is 1e-9; a test that needs more
# says how much, and why.
np.testing.assert_allclose = partial(np.testing.assert_allclose, rtol=1e-9)

auto.STRICT = True

settings.register_profile(
    "accion", derandomize=True, deadline=None, max_examples=25, print_blob=True
)
settings.load_profile("accion")


def quick():
    """(room, file or test) of tests/quick.txt."""
    lines = (Path(__file__).parent / "quick.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def pytest_collection_modifyitems(items):
    """The tests of tests/quick.txt are marked: pytest -m quick."""
    chosen = {name for _, name in quick()}
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in chosen or name.partition("::")[0] in chosen:
            item.add_marker("quick")


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


def pendulum_lagrangian(t, q, v, params):
    return 0.5 * params["m"] * params["l"] ** 2 * v[0] ** 2 + params["m"] * params[
        "gravity"
    ] * params["l"] * jnp.cos(q[0])


PENDULUM = ac.System(
    pendulum_lagrangian,
    ac.Torus(1),
    {"m": 1.3, "l": 0.7, "gravity": 9.81},
    coordinates=("theta [rad]",),
    name="pendulum",
)


@pytest.fixture(scope="session")
def pendulum():
    return PENDULUM


def central_difference(f, x, e=1e-5):
    """The derivative of f at the vector x, column by column."""
    columns = [
        (np.asarray(f(x + e * d)) - np.asarray(f(x - e * d))) / (2 * e) for d in np.eye(len(x))
    ]
    return np.stack(columns, axis=-1)


def leaves_close(a, b, tolerance):
    return all(
        np.allclose(x, y, rtol=tolerance, atol=tolerance)
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )
