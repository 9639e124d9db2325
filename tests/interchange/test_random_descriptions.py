"""Descriptions changed at random give an array, a list of violations, or a refusal by name; never anything else."""

from __future__ import annotations

import ctypes
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import atoll
from atoll.errors import ProtocolError

from . import random_descriptions, search


@settings(max_examples=100)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(random_descriptions.ACTIONS)))
def test_what_is_wrong_is_refused_by_name(drawing: random.Random, protocol: str) -> None:
    assert random_descriptions.outcome(random_descriptions.drawn(drawing, protocol)) in search.GOOD


def test_a_process_with_little_memory_comes_to_no_harm() -> None:
    said: list[str] = []
    counts = search.search(0, 120, [], said.append)
    assert not set(counts) - search.GOOD, "\n".join(said)
    assert sum(counts.values()) == 120


def section(**changes: object) -> dict[str, object]:
    """Ten numbers in one block, with something changed in their dictionary."""
    block = {"dist_type": "b", "size": 10, "proc_grid_size": 1, "proc_grid_rank": 0, "start": 0, "stop": 10}  # fmt: skip
    return {"__version__": "1.0.0", "buffer": np.zeros(10), "dim_data": ({**block, **changes},)}


def partitions(**changes: object) -> dict[str, object]:
    """Ten numbers in one partition, with something changed."""
    entry = {"start": (0,), "shape": (10,), "data": np.zeros(10), "location": [("", 1)]}
    whole = {"shape": (10,), "partition_tiling": (1,), "partitions": {(0,): entry}, "locals": [(0,)]}  # fmt: skip
    return {**whole, "get": lambda handles: handles, **changes}


NULL = (ctypes.py_object * 3)()
"""References to no objects at all: who looks at one is gone."""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (section(proc_grid_size=10**9), "X1.*needs 1000000000 ranks"),
        (section(proc_grid_size=10**9, proc_grid_rank=5), "X1"),
        (section(dist_type="c", proc_grid_size=10**9), "C2|X1"),
        (section(size=10**30), "D5.*must fit 64 bits"),
        (section(size=range(10**12)), "D5.*range"),
        (section(padding=range(10**12)), "B3"),
        (section(dist_type="u", indices=range(10**12)), "U1.*more than 10 items"),
        (section(dist_type="u", indices=np.broadcast_to(np.int64(0), 10**12)), "U1.*lists 1000000000000"),
        ({**section(), "dim_data": [{}] * 10**6}, "T4.*more than 64"),
        ({**section(), "buffer": NULL}, "T3.*Python objects"),
        ({**section(), "buffer": memoryview(NULL)}, "T3.*Python objects"),
        ({**section(), "buffer": np.array([None] * 10)}, "T3.*Python objects"),
        ({**section(), "buffer": np.zeros(10, [("a", "O")])}, "T3.*Python objects"),
        ({**section(), "buffer": np.ma.masked_array(np.zeros(10))}, "T3.*masked"),
        (partitions(partition_tiling=(10**9,)), "P4.*missing"),
        (partitions(partition_tiling=(10**9, 10**9), shape=(3, 3)), "P4"),
        (partitions(shape=range(10**12)), "P3.*range"),
        (partitions(shape=(10**30,)), "P3"),
        (partitions(locals=range(10**12)), "P2"),
        (partitions(partitions={(0,): {**partitions()["partitions"][0,], "data": NULL}}), "D1.*objects"),
        (partitions(partitions={(0,): {**partitions()["partitions"][0,], "location": range(10**12)}}), "P9"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::atoll.errors.ProtocolWarning")
def test_bounds_are_checked_before_anything_is_listed(
    source: dict[str, object], words: str
) -> None:
    if "buffer" in source:
        read, check = atoll.from_distarray, atoll.check_distarray
    else:
        read, check = atoll.from_partitioned, atoll.check_partitioned
    with pytest.raises(ProtocolError, match=words):
        read(source)
    assert any(re.search(words, str(violation)) for violation in check(source))
