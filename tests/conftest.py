"""Loads the bench: the markers `ranks`, `simulated` and `timeout`; and what tests of several folders use."""

import pytest

pytest_plugins = ["tests.bench.plugin"]


@pytest.fixture
def by_numpy(monkeypatch):
    """NumPy runs the loops: nothing is compiled, for what is tested is recording, planning and messages."""
    from atoll.lazy import evaluate
    from tests.plan.reference import ReferenceLaunch

    monkeypatch.setattr(evaluate, "make_launch", ReferenceLaunch)
    monkeypatch.setattr(evaluate, "_programs", evaluate._Programs())
