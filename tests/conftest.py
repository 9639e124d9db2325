"""Loads the bench: the markers `ranks`, `simulated` and `timeout`; and what tests of several folders use."""

import os

import pytest

os.environ.setdefault(
    "ATOLL_TRACEBACK", "full"
)  # what fails in atoll itself is what the tests are for

pytest_plugins = ["tests.bench.plugin"]


@pytest.fixture
def by_numpy(monkeypatch):
    """NumPy runs the loops: nothing is compiled, for what is tested is recording, planning and messages."""
    from atoll import backend
    from atoll.backend import numpy
    from atoll.lazy import evaluation

    monkeypatch.setattr(backend, "_chosen", numpy.backend)
    monkeypatch.setattr(evaluation, "_programs", evaluation._Programs())


def pytest_configure(config):
    line = "compiled: tests what compiled kernels do, so it is skipped where NumPy computes"
    config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(items):
    from atoll import backend

    marked = [item for item in items if item.get_closest_marker("compiled")]
    if marked and backend.current().name != "llvm":
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="NumPy computes"))


@pytest.fixture(autouse=True)
def limits_are_left_as_they_were():
    from atoll import policy

    before = policy.limits
    yield
    assert policy.limits == before, (
        "the test has left other limits of the policy to those that follow"
    )
