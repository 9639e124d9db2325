"""The pool of buffers: what comes back, when, and what never may."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import atoll
from atoll.backend.memory import ALIGNMENT, in_words, rounded
from atoll.config import config

from .counting import counted
from .pools import Buffer, Pool

SIZES = (0, 1, 63, 64, 65, 513, 4096, (1 << 17) - 1, 1 << 17, (1 << 21) + 8, 5_000_001)


# -- blocks


@given(st.integers(0, 1 << 45))
def test_a_size_is_rounded_up_by_at_most_an_eighth(nbytes: int) -> None:
    capacity = rounded(nbytes)
    assert nbytes <= capacity <= max(64, nbytes + 64, nbytes * 9 / 8)
    assert capacity % 64 == 0
    assert rounded(capacity) == capacity


def test_larger_requests_never_get_smaller_blocks() -> None:
    capacities = [rounded(n) for n in range(0, 20_000, 7)]
    assert all(a <= b for a, b in pairwise(capacities))


@pytest.mark.parametrize("nbytes", SIZES)
def test_buffers_are_aligned_and_all_theirs(nbytes: int) -> None:
    pool = Pool()
    buffers = [pool.allocate(nbytes) for _ in range(3)]
    arrays = [buffer.array(nbytes, np.uint8) for buffer in buffers]
    for k, (buffer, array) in enumerate(zip(buffers, arrays, strict=True)):
        assert buffer.address % ALIGNMENT == 0
        assert array.nbytes == buffer.nbytes == nbytes
        if nbytes:
            assert array.ctypes.data == buffer.address
        array.fill(k)
    for k, array in enumerate(arrays):
        assert (array == k).all()


def test_arrays_are_placed_by_dtype_strides_and_offset() -> None:
    buffer = Pool().allocate(8 * 12)
    buffer.array(12, np.int64)[:] = np.arange(12)
    columns = buffer.array((3, 4), np.int64, (8, 24))
    assert columns.tolist() == np.arange(12).reshape(4, 3).T.tolist()
    assert buffer.array(2, np.int64, offset=80).tolist() == [10, 11]
    with pytest.raises((TypeError, ValueError)):
        buffer.array(13, np.int64)


def test_a_negative_size_is_refused_and_nothing_is_counted() -> None:
    pool = Pool()
    with pytest.raises(ValueError, match="-8 bytes"):
        pool.allocate(-8)
    assert pool.usage().used == 0


# -- coming back


@pytest.mark.parametrize("nbytes", SIZES)
def test_memory_is_used_again_for_the_same_size(nbytes: int) -> None:
    with counted():
        pool = Pool()
        address = pool.allocate(nbytes).address
        again = pool.allocate(nbytes)
        assert again.address == address
        seen = atoll.stats()
        assert (seen.created, seen.reused, seen.destroyed) == (1, 1, 0)


def test_sizes_that_round_to_the_same_share_memory() -> None:
    pool = Pool()
    address = pool.allocate(8_000_000).address
    assert rounded(7_900_000) == rounded(8_000_000)
    assert pool.allocate(7_900_000).address == address


def test_what_is_in_use_is_never_handed_out_twice() -> None:
    pool = Pool()
    first = pool.allocate(1000)
    second = pool.allocate(1000)
    assert first.address != second.address
    first.array(1000, np.uint8).fill(1)
    second.array(1000, np.uint8).fill(2)
    assert (first.array(1000, np.uint8) == 1).all()


@pytest.mark.parametrize("nbytes", [1000, 1 << 20])
def test_views_and_views_of_views_keep_the_memory(nbytes: int) -> None:
    pool = Pool()
    buffer = pool.allocate(nbytes)
    address = buffer.address
    array = buffer.array(nbytes // 8, np.int64)
    array[:] = np.arange(nbytes // 8)
    view = array[10:][::2].reshape(-1, 1).T
    expected = view.copy()
    del buffer, array
    assert pool.usage().buffers == 1
    other = pool.allocate(nbytes)
    other.array(nbytes, np.uint8).fill(0)
    assert other.address != address
    assert (view == expected).all()
    small = memoryview(view[0, :3])
    del view, other
    assert pool.usage().buffers == 1
    del small
    assert pool.usage().buffers == 0
    assert address in {pool.allocate(nbytes).address for _ in range(2)} | {
        kept.address for kept in [pool.allocate(nbytes)]
    }


def test_a_view_of_another_class_or_dtype_keeps_the_memory() -> None:
    class Own(np.ndarray):
        pass

    pool = Pool()
    array = pool.allocate(4096).array(512, np.float64)
    own = array.view(np.uint8).view(Own)[8:16]
    del array
    assert pool.usage().buffers == 1
    del own
    assert pool.usage().buffers == 0


def test_an_array_through_the_buffer_protocol_keeps_the_memory() -> None:
    pool = Pool()
    buffer = pool.allocate(4096)
    again = np.frombuffer(memoryview(buffer.array(4096, np.uint8)), np.uint8)
    del buffer
    assert pool.usage().buffers == 1
    del again
    assert pool.usage().buffers == 0


def test_memory_comes_back_from_a_garbage_cycle() -> None:
    pool = Pool()
    cycle: list[object] = [pool.allocate(5000).array(5000, np.uint8)]
    cycle.append(cycle)
    address = cycle[0].ctypes.data  # type: ignore[attr-defined]
    del cycle
    gc.collect()
    assert pool.usage().buffers == 0
    assert pool.allocate(5000).address == address


def test_a_collection_during_the_pools_own_work_is_no_deadlock() -> None:
    pool = Pool()
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for k in range(300):
            cycle: list[object] = [pool.allocate(64 * (k % 7 + 1)).array(1, np.uint8)]
            cycle.append(cycle)
            del cycle
            pool.usage()
            pool.trim()
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert pool.usage().buffers == 0


# -- limits


def test_a_step_that_leaves_many_of_a_size_finds_them_all_again() -> None:
    with counted():
        pool = Pool()
        for _ in range(3):
            several = [pool.allocate(1000) for _ in range(60)]
            del several
        assert pool.usage().blocks == 60
        assert (atoll.stats().created, atoll.stats().destroyed) == (60, 0)


def test_fewer_bytes_hold_from_the_next_return_on() -> None:
    with counted():
        pool = Pool()
        several = [pool.allocate(1000) for _ in range(4)]
        last = pool.allocate(1000)
        del several
        assert pool.usage().blocks == 4
        with config(cache_bytes=rounded(1000)):
            del last
            assert pool.usage().blocks == 1


def test_where_no_bytes_are_kept_every_buffer_is_new() -> None:
    with counted(), config(cache_bytes=0):
        pool = Pool()
        for _ in range(3):
            pool.allocate(1000)
        assert pool.usage().blocks == 0
        seen = atoll.stats()
        assert (seen.created, seen.reused, seen.destroyed) == (3, 0, 3)


def test_what_was_left_longest_ago_goes_first() -> None:
    with counted(), config(cache_bytes=rounded(1000) + rounded(3000)):
        pool = Pool()
        oldest, middle, newest = (pool.allocate(n) for n in (1000, 2000, 3000))
        addresses = [b.address for b in (oldest, middle, newest)]
        del oldest
        del middle
        del newest
        usage = pool.usage()
        assert usage.cached <= rounded(1000) + rounded(3000)
        assert pool.allocate(3000).address == addresses[2]
        created = atoll.stats().created
        pool.allocate(1000)
        assert atoll.stats().created == created + 1, "the oldest was released"


def test_a_buffer_beyond_the_bytes_to_keep_is_not_kept() -> None:
    with counted(), config(cache_bytes=1000):
        pool = Pool()
        pool.allocate(100_000)
        assert pool.usage().cached == 0


def test_trim_gives_everything_back() -> None:
    with counted():
        pool = Pool()
        for n in (100, 10_000, 1 << 20):
            pool.allocate(n)
        assert pool.usage().blocks == 3
        pool.trim()
        assert (pool.usage().blocks, pool.usage().cached) == (0, 0)
        assert atoll.stats().destroyed == 3


def test_the_limit_counts_what_is_in_use_and_makes_room_from_what_is_kept() -> None:
    pool = Pool(limit=10_000_000)
    pool.allocate(6_000_000)
    assert pool.usage().cached >= 6_000_000
    second = pool.allocate(9_000_000)
    usage = pool.usage()
    assert usage.used == 9_000_000
    assert usage.used + usage.cached <= 10_000_000
    del second


# -- pins and holds


# -- counting


def test_the_peak_is_what_was_in_use_at_one_time() -> None:
    with counted() as counters:
        pool = Pool()
        first = pool.allocate(3000)
        second = pool.allocate(5000)
        del first
        pool.allocate(2000)
        del second
        pool.allocate(100)
        assert atoll.stats().peak_bytes == 8000
        counters.reset()
        pool.allocate(100)
        assert atoll.stats().peak_bytes == 100


def test_every_buffer_is_created_or_reused_and_kept_or_destroyed() -> None:
    with counted(), config(cache_bytes=20_000):
        pool = Pool()
        generator = np.random.default_rng(1)
        mine: list[Buffer] = []
        for k in range(500):
            mine.append(pool.allocate(int(generator.integers(1, 6000))))
            if k % 3:
                mine.pop(int(generator.integers(len(mine))))
        usage = pool.usage()
        seen = atoll.stats()
        assert seen.created + seen.reused == 500
        assert seen.created - seen.destroyed == usage.buffers + usage.blocks
        assert usage.buffers == len(mine)
        assert usage.used == sum(buffer.nbytes for buffer in mine)
        assert usage.cached <= 20_000


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (1 << 30, "1 GiB"),
        (3 << 41, "6 TiB"),
    ],
)
def test_sizes_in_words(nbytes: int, words: str) -> None:
    assert in_words(nbytes) == words


def test_expressions_reuse_the_memory_of_earlier_steps() -> None:
    with counted():
        with config(small=0):
            x = atoll.ones(50_000)
            atoll.sync()
            for _ in range(5):
                x = x * 2 + 1
                atoll.sync()
            atoll.reset_stats()
            for _ in range(20):
                x = x * 2 + 1
                atoll.sync()
        seen = atoll.stats()
        assert (seen.created, seen.destroyed) == (0, 0)
        assert seen.kernels_run == 20


FAULTS = """
import resource
import numpy
import atoll

def step(u):
    return ((u + 1) * 2 - u).sum()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

u = numpy.zeros(30_000)
for _ in range(5):
    step(u)
before = faults()
for _ in range(100):
    step(u)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_temporaries_of_numpy_take_memory_that_was_used_before() -> None:
    environment = {
        k: v for k, v in os.environ.items() if "MALLOC" not in k and k != "GLIBC_TUNABLES"
    }
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1000  # of 8,500 pages, if each array got new ones
