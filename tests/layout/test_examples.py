"""The examples of the docstrings print what they say."""

from __future__ import annotations

import doctest

import atoll.layout


def test_package() -> None:
    failed, tried = doctest.testmod(atoll.layout)
    assert tried >= 4
    assert failed == 0
