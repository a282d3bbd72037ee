"""Shared by all tests: seeded randomness, and systems that are compiled once in each worker."""

import gc
from functools import partial

import numpy as np
import pytest
from hypothesis import settings

from accion.engines import auto
from tests.helpers import PENDULUM, quick
from tests.memory import keep_small

# Where a test says nothing, NumPy allows a relative 1e-7. Here it is 1e-9; a test that needs more
# says how much, and why.
np.testing.assert_allclose = partial(np.testing.assert_allclose, rtol=1e-9)

auto.STRICT = True

# Tracing makes millions of objects that stay; to look for those that do not, after every 700 as
# Python does, takes a tenth of the time.
gc.set_threshold(10_000, 20, 20)

settings.register_profile(
    "accion", derandomize=True, deadline=None, max_examples=25, print_blob=True
)
settings.load_profile("accion")


def pytest_collection_modifyitems(items):
    """The tests of tests/quick.txt are marked: pytest -m quick."""
    chosen = {name for _, name in quick()}
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in chosen or name.partition("::")[0] in chosen:
            item.add_marker("quick")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    keep_small()


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def pendulum():
    return PENDULUM
