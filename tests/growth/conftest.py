"""Collections of garbage between counts leave out what the tests before have left: they would take most of the time."""

import gc

import pytest


@pytest.fixture(autouse=True)
def _frozen():
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
