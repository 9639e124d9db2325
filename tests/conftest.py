"""Loads the bench: the markers `ranks`, `simulated` and `timeout`."""

pytest_plugins = ["tests.bench.plugin"]
