"""Compares replicated scalars and arrays between ranks, for ``config.debug``.

Fingerprints include scalars and small arrays, inexact ones only where ranks compute alike. Here ranks compare a digest of
each scalar and array before a step, which costs a collective for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ..comm.communicator import Communicator
from ..context.call_sites import site_text
from ..errors import DivergenceError
from ..graph.node import Node


def compare_replicated(
    communicator: Communicator, scalars: Sequence[Any], leaves: Sequence[Node]
) -> None:
    """Raise on all ranks if a number, or a replicated array, differs between ranks. Collective."""
    mine = [_told(f"the number {value!r}", np.asarray(value)) for value in scalars]
    for leaf in leaves:
        if leaf.place is None and leaf.value is not None:
            where = f", made at {site_text(leaf.site)}" if leaf.site else ""
            shown = np.array2string(leaf.value.array, threshold=8, precision=17)
            words = f"{shown} in an array of shape {leaf.geometry.shape}{where}"
            mine.append(_told(words, leaf.value.array))
    every = communicator.allgather_object(mine, "replicated values, compared by config.debug")
    for rank, theirs in enumerate(every):
        if len(theirs) != len(every[0]):
            continue  # one rank has evaluated a leaf that the other has not
        for (words, digest), (other_words, other) in zip(every[0], theirs, strict=True):
            if digest != other:
                raise DivergenceError(
                    f"ranks have diverged: a replicated value differs between them, in {communicator.log.where()}: rank 0 has {words}, rank {rank} has {other_words}. Every rank must compute replicated values alike: look for what differs by rank, such as a random seed, a clock or a file"
                )


def _told(words: str, array: np.ndarray[Any, Any]) -> tuple[str, bytes]:
    return words, blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).digest()
