"""A sample of loops whose turns differ now and then: see ``irregular_loops.py``."""

import pytest

from . import irregular_loops


@pytest.mark.parametrize("seed", range(12))
def test_loops_whose_turns_differ(seed):
    assert irregular_loops.run(seed, 30) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 40))
def test_more_loops_whose_turns_differ(seed):
    assert irregular_loops.run(seed, 80) is None
