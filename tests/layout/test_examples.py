"""The examples of the documentation print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import atoll.layout

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "layouts.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_page() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 15
    assert failed == 0


def test_package() -> None:
    failed, tried = doctest.testmod(atoll.layout)
    assert tried >= 4
    assert failed == 0
