"""A sample of the bench of libraries: those that are installed here, with a few elements."""

import pytest

from . import bench

SAMPLE = {"standard", "pandas", "xarray"}
USES = {f"{use.library}.{use.name}": use for use in bench.listed() if use.library in SAMPLE}


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_a_use(name):
    cases = bench.check(USES[name], bench.SIZES, ("pending", "view"))
    assert [f"{case.arrays}: {case.what}" for case in cases] == []
