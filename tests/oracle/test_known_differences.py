"""NumPy's own tests of indexing and joining, with atoll in NumPy's place: the known failures can only get fewer."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from run_numpy_tests import Way, known_differences, mended, run, unknown, with_atoll

WAY = Way(small=0, limit=190)


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.skipif(not numpy.__version__.startswith("2.4."), reason="the list is NumPy 2.4's")
@pytest.mark.parametrize("name", ["_core/tests/test_indexing.py", "_core/tests/test_shape_base.py"])
def test_known_differences(name: str) -> None:
    outcomes = run(name, WAY)
    known = known_differences(WAY).get(name, set())
    assert outcomes.complete, outcomes.output[-2000:]
    assert len(outcomes.passed) > 90
    new = unknown(outcomes.failed, known)
    assert not new, f"{new} passed before\n{outcomes.output[-4000:]}"
    better = mended(outcomes.passed, outcomes.failed, known)
    assert not better, f"take {better} off the list"


def test_imports_of_public_modules_become_ours() -> None:
    text = """
import numpy
import numpy as np
import numpy.linalg as linalg, sys
import numpy.ma
    from numpy.lib.stride_tricks import as_strided
from numpy._core import umath
import numpy._core.umath as ncu
from numpy.ma.tests import test_core
"""
    assert (
        with_atoll(text)
        == """
import atoll as numpy
import atoll as np
import atoll.linalg as linalg, sys
import atoll.ma, atoll as numpy
    from atoll.lib.stride_tricks import as_strided
from numpy._core import umath
import numpy._core.umath as ncu
from numpy.ma.tests import test_core
"""
    )


def test_the_list_covers_parameters() -> None:
    known = {"test_a", "test_b[1]"}
    assert unknown({"test_a[x]", "test_b[1]", "test_b[2]"}, known) == ["test_b[2]"]
    assert mended({"test_a[y]", "test_b[1]"}, {"test_a[x]"}, known) == ["test_b[1]"]
    assert mended({"test_a[y]"}, set(), known) == ["test_a"]
