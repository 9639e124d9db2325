"""Pickled objects on their way: small ones in slots of one size, together with their length."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np

from .communicator import Array

SLOT = 128
"""Small pickled objects travel together with their length in slots of this many bytes."""


def packed(data: bytes) -> bytes:
    """The length of ``data``, and ``data`` itself if there is room for it."""
    room = SLOT - 8
    return len(data).to_bytes(8, sys.byteorder) + data[:room].ljust(room, b"\0")


def length_in(slots: bytearray, start: int) -> int:
    """The length of what begins at ``start``."""
    return int.from_bytes(slots[start : start + 8], sys.byteorder)


def unpacked(slots: bytearray, start: int) -> Any:
    """What travelled in the slot at ``start``; ``None`` if it had no room for all of it."""
    length = length_in(slots, start)
    return slots[start + 8 : start + 8 + length] if length <= SLOT - 8 else None


def starts_of(lengths: Array) -> Array:
    """Where each of several stretches begins that lie one behind the other."""
    return np.cumsum(lengths) - lengths


def loads(data: Any, lengths: Array, starts: Array) -> list[Any]:
    """The objects whose pickles lie one behind the other."""
    return [pickle.loads(data[i : i + n]) for i, n in zip(starts.tolist(), lengths.tolist())]
