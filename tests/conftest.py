"""Loads the bench: the markers `ranks`, `simulated` and `timeout`; and what tests of several folders use."""

import pytest

pytest_plugins = ["tests.bench.plugin"]


@pytest.fixture
def by_numpy(monkeypatch):
    """NumPy runs the loops: nothing is compiled, for what is tested is recording, planning and messages."""
    from atoll import backend
    from atoll.backend import numpy
    from atoll.lazy import evaluate

    monkeypatch.setattr(backend, "_chosen", numpy.backend)
    monkeypatch.setattr(evaluate, "_programs", evaluate._Programs())
