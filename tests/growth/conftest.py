"""Collections of garbage between counts leave out what the tests before have left: they would take most of the time."""

import gc

import pytest


@pytest.fixture(autouse=True)
def _frozen():
    """Nothing is unfrozen afterwards: that would include what was frozen once the tests were collected."""
    gc.collect()
    gc.freeze()
