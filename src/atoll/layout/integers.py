"""The test for integers."""

from __future__ import annotations

from typing import SupportsIndex, TypeGuard


def is_index(value: object) -> TypeGuard[SupportsIndex]:
    """Whether a value serves as an integer. (``isinstance`` asks the same, and takes fifty microseconds.)"""
    return hasattr(type(value), "__index__")
