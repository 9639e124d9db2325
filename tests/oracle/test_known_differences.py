"""NumPy's own tests of indexing and joining, with atoll in NumPy's place: the known failures can only get fewer."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from run_numpy_tests import run

KNOWN: dict[str, set[str]] = {
    "_core/tests/test_indexing.py": {
        # counts references, which a handle on a cell has in other places
        "TestMultiIndexingAutomated::test_1d",
        "TestMultiIndexingAutomated::test_multidim",
        # a memoryview of an array: Python offers it to classes from 3.12 on
        "TestIndexing::test_array_like_values",
        # from C a sequence written in Python is asked for -1 when it has 10 elements and -11 is wanted
        "TestCApiAccess::test_getitem",
        "TestCApiAccess::test_setitem",
        # the base of a view of a subclass's array is the array that the latter is a view of
        "TestSubclasses::test_basic",
        # a.flat indexed by the a.flat of an array of strings
        "TestFlatiterIndexing::test_empty_string_flat_index_on_flatiter",
        "TestFlatiterIndexing::test_nonempty_string_flat_index_on_flatiter",
    },
    "_core/tests/test_shape_base.py": set(),
}


@pytest.mark.timeout(200)
@pytest.mark.skipif(not numpy.__version__.startswith("2.4."), reason="the list is NumPy 2.4's")
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_known_differences(name: str) -> None:
    outcomes = run(name, limit=190)
    assert outcomes.complete, outcomes.output[-2000:]
    assert len(outcomes.passed) > 90
    new = outcomes.failed - KNOWN[name]
    assert not new, f"{sorted(new)} passed before\n{outcomes.output[-4000:]}"
    mended = KNOWN[name] & outcomes.passed
    assert not mended, f"take {sorted(mended)} off the list"
