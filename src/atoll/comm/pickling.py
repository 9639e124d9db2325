"""Packs pickled objects: small ones into slots of one size, together with their length."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np

from .communicator import Array

SLOT = 128
"""The size of a slot in bytes: a small pickled object and its length fit."""


def packed(data: bytes) -> bytes:
    """The length of ``data``, and ``data`` itself if it fits."""
    room = SLOT - 8
    return len(data).to_bytes(8, sys.byteorder) + data[:room].ljust(room, b"\0")


def length_in(slots: bytearray, start: int) -> int:
    """The length of what begins at ``start``."""
    return int.from_bytes(slots[start : start + 8], sys.byteorder)


def unpacked(slots: bytearray, start: int) -> Any:
    """The data of the slot at ``start``; ``None`` if it did not fit."""
    length = length_in(slots, start)
    return slots[start + 8 : start + 8 + length] if length <= SLOT - 8 else None


def starts_of(lengths: Array) -> Array:
    """The start of each of several consecutive ranges."""
    return np.cumsum(lengths) - lengths


def loads(data: Any, lengths: Array, starts: Array) -> list[Any]:
    """The objects of consecutive pickles."""
    return [pickle.loads(data[i : i + n]) for i, n in zip(starts.tolist(), lengths.tolist())]
