"""The pool of buffers in trouble: no memory left, other threads, forks, the end of the interpreter."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest
from tests.execute.pools import Pool

import atoll
from atoll.backend import memory
from atoll.config import config
from atoll.errors import OutOfMemoryError

from .counting import counted

NAME = os.path.basename(__file__)


def run_python(source: str) -> subprocess.CompletedProcess[str]:
    """A process of its own for what would harm this one."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# -- failure


def test_a_request_beyond_the_limit_names_itself_and_harms_nothing() -> None:
    with counted():
        pool = Pool(limit=1 << 20)
        mine = pool.allocate(1 << 19)
        array = mine.array(1 << 19, np.uint8)
        array.fill(3)
        with pytest.raises(OutOfMemoryError) as caught:
            pool.allocate(1 << 40, "zeros of shape (131072, 1048576)")
        text = str(caught.value)
        for part in ("1 TiB", "zeros of shape (131072, 1048576)", "1 buffers", "512 KiB", "1 MiB"):
            assert part in text
        assert isinstance(caught.value, MemoryError)
        assert (array == 3).all()
        usage = pool.usage()
        assert (usage.used, usage.buffers) == (1 << 19, 1)
        assert atoll.stats().created == 1
        assert pool.allocate(1000).array(1000, np.uint8).size == 1000


@pytest.mark.parametrize("nbytes", [1 << 62, 1 << 64, 1 << 200])
def test_a_size_beyond_all_bounds_is_a_memory_error(nbytes: int) -> None:
    for pool in (Pool(), Pool(limit=1 << 300)):
        with pytest.raises(MemoryError):
            pool.allocate(nbytes)
        assert (pool.usage().used, pool.usage().buffers) == (0, 0)


def test_who_asked_is_formed_only_for_the_message() -> None:
    class Asked:
        def __str__(self) -> str:
            raise AssertionError("nobody reads it")

    Pool().allocate(1000, Asked())


def test_before_it_fails_the_pool_collects_cycles() -> None:
    pool = Pool(limit=1_000_000)
    gc.disable()
    try:
        cycle: list[object] = [pool.allocate(900_000).array(1, np.uint8)]
        cycle.append(cycle)
        del cycle
        assert pool.usage().buffers == 1
        assert pool.allocate(900_000).nbytes == 900_000
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_refusal_by_the_system_is_a_memory_error_and_everything_goes_on() -> None:
    pytest.importorskip("resource")
    done = run_python(
        """
        import resource
        import numpy as np
        from tests.execute.pools import Pool

        pool = Pool(limit=1 << 50)
        mine = pool.allocate(1 << 20).array(1 << 20, np.uint8)
        mine.fill(5)
        kept = pool.allocate(1 << 28)
        del kept
        now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 26), resource.RLIM_INFINITY))
        try:
            pool.allocate(1 << 30, "the sum in line 7")
        except MemoryError as error:
            assert "1 GiB for the sum in line 7" in str(error), error
        else:
            raise SystemExit("no error")
        assert pool.usage().used == 1 << 20
        assert (mine == 5).all()
        # what was kept has been given back, so this fits now
        large = pool.allocate(1 << 28).array(1 << 28, np.uint8)
        large[:: 1 << 12] = 1
        """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_program_goes_on_after_a_memory_error() -> None:
    done = run_python(
        """
        import resource
        import numpy as np
        import atoll

        a = atoll.ones((1000, 1000))
        a += 1
        assert float(a.sum()) == 2e6
        now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 28), resource.RLIM_INFINITY))
        b = a[:, None, :] + a[:, :, None]
        try:
            print(np.asarray(b).shape)
        except MemoryError as error:
            print("refused", error)
        assert float(a.sum()) == 2e6
        a *= 3
        assert float((a + a.T).sum()) == 12e6
        del b
        assert float(a[:10].sum()) == 6e4
        """
    )
    assert done.returncode == 0, done.stderr
    assert "refused out of memory: 7.45 GiB" in done.stdout
    assert "shape (1000, 1000, 1000) and dtype float64, at <string>:11" in done.stdout


@pytest.mark.parametrize("stepwise", [False, True])
def test_what_was_assigned_in_place_before_a_failure_is_assigned_once(stepwise: bool) -> None:
    """The update is done, then memory is refused: it must not be done again at the next look."""
    with config(small=0), pytest.MonkeyPatch.context() as patch:
        a = atoll.ones((100, 100))
        plain = np.ones((100, 100))
        b = atoll.zeros((100, 100))
        atoll.sync()
        for x in (a, plain):
            x += 1
            if stepwise:
                x[1:-1] *= 3
                x[:, 2:] += x[:, :-2].copy()
        total = (a * a).sum()
        large = (a[:, None, :] + a[:, :, None]) + b[:, :, None]
        allowed = 200_000
        usual = memory.pool.lend

        def lend(nbytes: int, what: object = "", *form: Any) -> tuple[Any, int]:
            if nbytes > allowed:
                raise OutOfMemoryError(f"no {nbytes} bytes for {what}")
            return usual(nbytes, what, *form)

        patch.setattr(memory.pool, "lend", lend)
        with pytest.raises(MemoryError, match=r"shape \(100, 100, 100\)"):
            np.asarray(large)
        with pytest.raises(MemoryError):
            atoll.sync()
        np.testing.assert_array_equal(np.asarray(a), plain)
        assert float(total) == (plain * plain).sum()
        patch.undo()
        expected = plain[:, None, :] + plain[:, :, None]
        np.testing.assert_array_equal(np.asarray(large), expected)


@pytest.mark.slow
def test_a_refusal_names_the_line_that_runs_though_the_plan_was_made_for_another() -> None:
    def one(x: Any) -> Any:
        return (x + 1.0)[:, None, :] * x[:, :, None]

    def other(x: Any) -> Any:
        return (x + 1.0)[:, None, :] * x[:, :, None]

    with config(small=0), pytest.MonkeyPatch.context() as patch:
        a = atoll.ones((40, 50))
        atoll.sync()
        for _ in range(3):
            np.asarray(one(a))
        for again in (other, one, other):
            large = again(a)
            made = atoll.stats().plans_made
            memory.pool.trim()
            patch.setattr(memory.pool, "limit", memory.pool.usage().used + 100_000)
            try:
                np.asarray(large)
            except MemoryError as error:
                text = str(error)
            else:
                pytest.fail("there was memory enough")
            assert atoll.stats().plans_made == made
            line = again.__code__.co_firstlineno + 1
            assert f"shape (40, 50, 50) and dtype float64, at {NAME}:{line}," in text
            patch.undo()
            expected = (np.full((40, 50), 2.0))[:, None, :] * np.ones((40, 50, 1))
            np.testing.assert_array_equal(np.asarray(large), expected)


# -- threads, processes, the end


def test_threads_share_a_pool_and_never_a_buffer() -> None:
    with counted():
        pool = Pool()
    wrong: list[str] = []

    def work(number: int) -> None:
        generator = np.random.default_rng(number)
        mine: list[np.ndarray] = []
        for _ in range(400):
            size = int(generator.choice([100, 5000, 200_000]))
            array = pool.allocate(size).array(size, np.uint8)
            array.fill(number)
            mine.append(array)
            if len(mine) > 5:
                gone = mine.pop(int(generator.integers(len(mine))))
                if not (gone == number).all():
                    wrong.append(f"thread {number} found {set(gone.tolist())}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    usage = pool.usage()
    assert (usage.used, usage.buffers) == (0, 0)
    assert usage.cached == sum(block.capacity for blocks in pool._free.values() for block in blocks)


def test_memory_that_dies_on_another_thread_comes_back() -> None:
    pool = Pool()
    hands = [pool.allocate(1000).array(1000, np.uint8)]
    address = hands[0].ctypes.data
    thread = threading.Thread(target=hands.clear)
    thread.start()
    thread.join()
    assert pool.allocate(1000).address == address


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_pool_of_its_own() -> None:
    done = run_python(
        """
        import os
        import numpy as np
        from atoll.backend.memory import pool

        mine = pool.lend(1 << 20)[0]
        mine.fill(1)
        pool._lock.acquire()  # as if another thread were at work in this moment
        child = os.fork()
        if child == 0:
            mine.fill(2)
            other = pool.lend(1 << 20)[0]
            other.fill(3)
            right = (mine == 2).all() and (other == 3).all() and pool.usage().buffers == 2
            os._exit(0 if right else 1)
        pool._lock.release()
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
        assert (mine == 1).all(), "what a child writes is not seen by its parent"
        """
    )
    assert done.returncode == 0, done.stderr


def test_arrays_that_outlive_the_interpreters_end_are_no_error() -> None:
    done = run_python(
        """
        import sys
        import numpy as np
        from atoll.backend.memory import pool

        sys.kept = [pool.lend(n)[0] for n in (100, 1 << 20)]
        sys.kept.append(sys.kept)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_pending_work_is_evaluated_where_memory_lacks() -> None:
    """Each term is kept alive by the sum alone: seven fit into memory."""
    n = 50_000
    with atoll.config(small=0, cache_bytes=0):
        base = atoll.arange(float(n))
        base.sum()
        memory.end_waiting()
        limit, memory.pool.limit = memory.pool.limit, memory.pool.usage().used + 7 * 8 * n
        try:
            total = atoll.zeros(n)
            for k in range(20):
                term = base * k
                float(term[k])
                atoll.sync() if k == 0 else term.any()
                total = total + term
                term[0] = k
            assert float(total[3]) == 3.0 * 190
        finally:
            memory.pool.limit = limit
