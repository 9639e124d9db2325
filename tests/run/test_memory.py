"""The pool of buffers: what comes back, what stays, and what happens when there is no more."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from atoll.config import config
from atoll.errors import AtollError
from atoll.run import statistics
from atoll.run.memory import ALIGNMENT, Pool, Usage, available_memory, in_words, rounded

SIZES = [0, 1, 63, 64, 65, 1000, 4096, 100_000, 131_072, 1_000_000, 2_097_152, 5_000_001]


@pytest.fixture
def pool():
    return Pool()


@pytest.mark.parametrize("nbytes", SIZES)
def test_memory_is_aligned_writable_and_as_large_as_asked(pool, nbytes):
    buffer = pool.allocate(nbytes)
    array = buffer.array(nbytes, "u1")
    assert (buffer.nbytes, buffer.device) == (nbytes, "cpu")
    assert buffer.address % ALIGNMENT == 0
    if nbytes:
        assert array.ctypes.data == buffer.address
    array[...] = 7
    assert array.sum() == 7 * nbytes
    assert pool.usage() == Usage(nbytes, 0, 1, 0)


def test_rounding_wastes_little():
    sizes = [*range(5000), *(2**k + d for k in range(13, 50) for d in (-1, 0, 1, 12345))]
    for nbytes in sizes:
        capacity = rounded(nbytes)
        assert capacity >= nbytes
        assert capacity <= max(64, nbytes + 64, nbytes * 9 / 8 + 1)
        assert rounded(capacity) == capacity


def test_buffers_do_not_overlap(pool):
    buffers = [pool.allocate(1000) for _ in range(20)]
    arrays = [buffer.array(1000, "u1") for buffer in buffers]
    for number, array in enumerate(arrays):
        array[...] = number
    assert all((array == number).all() for number, array in enumerate(arrays))


def test_an_array_with_strides_and_offset(pool):
    buffer = pool.allocate(80)
    buffer.array(10, "f8")[...] = np.arange(10)
    turned = buffer.array((2, 4), np.float64, strides=(8, 16), offset=8)
    assert turned.tolist() == [[1, 3, 5, 7], [2, 4, 6, 8]]
    for wrong in ({"shape": 11}, {"shape": 10, "offset": 8}, {"shape": 2, "strides": (80,)}):
        with pytest.raises((ValueError, TypeError)):
            buffer.array(dtype="f8", **wrong)


def test_memory_is_used_again(pool):
    address = pool.allocate(100_000).address
    with statistics.separate():
        assert pool.allocate(100_000).address == address
        # A little smaller fits as well; much smaller does not waste it.
        assert pool.allocate(99_000).address == address
        assert pool.allocate(10_000).address != address
        counted = statistics.stats()
    assert (counted.created, counted.reused, counted.destroyed) == (1, 2, 0)


def test_every_kind_of_reference_keeps_a_buffer(pool):
    array = pool.allocate(8000).array((100, 10), "f8")
    keepers = [array[3:], array.T, array.view("i8"), memoryview(array), array.reshape(-1)[::-1]]
    del array
    while keepers:
        assert pool.usage().buffers == 1
        keepers.pop()
    assert pool.usage() == Usage(0, rounded(8000), 0, 1)


def test_a_buffer_in_a_cycle_comes_back_with_the_collector(pool):
    cycle = [pool.allocate(1000)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.usage().buffers == 0


@pytest.mark.parametrize(
    ("begin", "end", "asked"), [("hold", "release", "held"), ("pin", "unpin", "pinned")]
)
def test_held_and_pinned_memory_stays(pool, begin, end, asked):
    buffer = pool.allocate(1000)
    buffer.array(4, "i8")[:] = 1, 2, 3, 4
    address = buffer.address
    getattr(buffer, begin)()
    getattr(buffer, begin)()
    getattr(buffer, end)()
    assert getattr(buffer, asked)
    weak = weakref.ref(buffer)
    del buffer
    assert pool.usage().buffers == 1
    assert pool.allocate(1000).address != address
    buffer = weak()
    assert buffer.array(4, "i8").tolist() == [1, 2, 3, 4]
    getattr(buffer, end)()
    assert not getattr(buffer, asked)
    del buffer
    assert pool.usage().buffers == 0
    assert pool.allocate(1000).address == address


def test_ending_what_did_not_begin(pool):
    buffer = pool.allocate(8)
    with pytest.raises(ValueError, match="not held"):
        buffer.release()
    with pytest.raises(ValueError, match="not pinned"):
        buffer.unpin()
    buffer.pin()
    buffer.unpin()
    del buffer
    assert pool.usage().buffers == 0


def test_the_number_of_blocks_of_a_size_is_limited(pool):
    with config(cache_depth=2), statistics.separate():
        buffers = [pool.allocate(1000) for _ in range(5)]
        buffers.clear()
        assert pool.usage().blocks == 2
        assert statistics.stats().destroyed == 3
    with config(cache_depth=0):
        pool.allocate(500)
        pool.allocate(1000)
        assert pool.usage().blocks == 1


def test_what_was_left_longest_ago_is_released_first(pool):
    sizes = [200_000, 300_000, 400_000]
    with config(cache_bytes=1_000_000):
        for size in sizes:
            pool.allocate(size)
        assert pool.usage().blocks == 3
        pool.allocate(sizes[0])
        pool.allocate(100_000)
        with statistics.separate():
            for size in (sizes[0], sizes[2], 100_000):
                pool.allocate(size)
            assert statistics.stats().created == 0
            pool.allocate(sizes[1])
            assert statistics.stats().created == 1
    with config(cache_bytes=0):
        pool.allocate(64)
        assert pool.usage().cached == 0


def test_trimming(pool):
    for size in (1_000_000, 1000, 100_000):
        pool.allocate(size)
    pool.trim(200_000)
    assert 0 < pool.usage().cached <= 200_000
    pool.trim()
    assert pool.usage() == Usage(0, 0, 0, 0)


def test_the_peak_is_counted(pool):
    with statistics.separate():
        buffers = [pool.allocate(1000) for _ in range(3)]
        buffers.clear()
        pool.allocate(10)
        assert statistics.stats().peak_bytes == 3000


def test_too_much_is_said_with_sizes_and_place():
    pool = Pool(limit=1 << 20)
    small = pool.allocate(1 << 19).array(1 << 16, "f8")
    small[...] = 1
    with pytest.raises(MemoryError) as caught:
        pool.allocate(1 << 20, "u + v at program.py:12")
    assert isinstance(caught.value, AtollError)
    message = str(caught.value)
    for word in ("1 MiB", "u + v at program.py:12", "512 KiB", "1 buffers"):
        assert word in message
    assert small.sum() == 1 << 16
    assert pool.allocate(1 << 19).nbytes == 1 << 19
    assert pool.usage().used == 1 << 19


def test_the_place_is_asked_only_on_failure():
    class Place:
        asked = 0

        def __str__(self):
            self.asked += 1
            return "here"

    place, pool = Place(), Pool(limit=1000)
    pool.allocate(1000, place)
    assert place.asked == 0
    with pytest.raises(MemoryError, match="for here"):
        pool.allocate(1001, place)


def test_cached_memory_makes_room():
    pool = Pool(limit=10_000_000)
    with statistics.separate():
        pool.allocate(6_000_000)
        pool.allocate(9_000_000)
        assert statistics.stats().destroyed == 1
    assert pool.usage().cached >= 9_000_000


def test_cycles_are_collected_before_giving_up():
    pool = Pool(limit=1000)
    cycle = [pool.allocate(900)]
    cycle.append(cycle)
    gc.disable()
    try:
        del cycle
        assert pool.allocate(900).nbytes == 900
    finally:
        gc.enable()


@pytest.mark.parametrize("nbytes", [1 << 62, 1 << 64, 1 << 200])
def test_a_size_beyond_all_bounds(nbytes):
    for pool in (Pool(), Pool(limit=1 << 300)):
        with pytest.raises(MemoryError):
            pool.allocate(nbytes)
        assert pool.usage() == Usage(0, 0, 0, 0)


def test_a_negative_size(pool):
    with pytest.raises(ValueError, match="-8 bytes"):
        pool.allocate(-8)
    assert pool.usage() == Usage(0, 0, 0, 0)


def test_threads_at_the_same_time(pool):
    wrong = []

    def user(number):
        for turn in range(400):
            arrays = [pool.allocate(size).array(size // 8, "i8") for size in (800, 8000, 200_000)]
            for array in arrays:
                array[...] = number * 1000 + turn
            wrong.extend(a for a in arrays if not (a == number * 1000 + turn).all())

    threads = [threading.Thread(target=user, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    usage = pool.usage()
    assert (usage.used, usage.buffers) == (0, 0)


def test_buffers_that_end_inside_a_collection_inside_the_pool(pool):
    """A collector that runs at every turn meets the pool with its lock taken."""
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            cycle = [pool.allocate(1000), pool.allocate(5000)]
            cycle.append(cycle)
            del cycle
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert pool.usage().buffers == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_computes_on_its_own_memory():
    script = """if True:
        import os
        from atoll.run.memory import pool
        array = pool.allocate(1 << 22).array(1 << 19, "f8")
        array[...] = 1
        child = os.fork()
        if child == 0:
            array[...] = 2
            del array
            assert pool.allocate(1 << 22).array(1, "f8")[0] == 2
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert array.sum() == 1 << 19
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_system_refuses():
    """Under a limit of the process, not of the pool."""
    pytest.importorskip("resource")
    script = """if True:
        import resource
        from atoll.run.memory import pool
        pool.limit = 1 << 60
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), used + (300 << 20)))
        first = pool.allocate(100 << 20).array(100 << 20, "u1")
        first[...] = 1
        pool.allocate(120 << 20)
        assert pool.allocate(140 << 20).nbytes == 140 << 20  # once the cached 120 MiB are gone
        try:
            pool.allocate(250 << 20, "w = u * v at line 7")
        except MemoryError as error:
            print(error)
        assert first.sum() == 100 << 20
        second = pool.allocate(100 << 20).array(100 << 20, "u1")
        second[...] = 2
        print(pool.usage().buffers)
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc here")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "250 MiB for w = u * v at line 7" in done.stdout
    assert done.stdout.endswith("\n2\n")


def test_arrays_that_outlive_everything_end_in_silence():
    script = """if True:
        import sys
        from atoll.run.memory import pool
        sys.kept = pool.allocate(1 << 22).array(10, "f8")
        import builtins
        builtins.kept = pool.allocate(100).array(10, "f8")
        pool.allocate(1000).hold()
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_sizes_in_words():
    assert [in_words(n) for n in (0, 1023, 1024, 1536 << 20, 3 << 40)] == [
        "0 bytes", "1023 bytes", "1 KiB", "1.5 GiB", "3 TiB",
    ]  # fmt: skip
    assert available_memory() > 1 << 20
