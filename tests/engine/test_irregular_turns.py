"""A sample of loops whose turns differ now and then: see ``turns.py``."""

import pytest

from . import turns


@pytest.mark.parametrize("seed", range(12))
def test_loops_whose_turns_differ(seed):
    assert turns.run(seed, 30) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 40))
def test_more_loops_whose_turns_differ(seed):
    assert turns.run(seed, 80) is None
