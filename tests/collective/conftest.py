"""Matrices of these tests are small, and factored by ranks together all the same."""

import pytest

from atoll import policy


@pytest.fixture(autouse=True)
def factored_together():
    with policy.limited(step=0):
        yield
