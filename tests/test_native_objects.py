"""The objects that C makes: what Python sees of them, and what becomes of their memory."""

from __future__ import annotations

import gc
import signal
import threading
import time
import weakref

import numpy
import pytest

import atoll as np
from atoll import front
from atoll.graph.node import Node

pytestmark = pytest.mark.skipif(front.native is None, reason="the native front was not built")


@pytest.fixture
def u():
    with np.config(small=0):
        yield np.array(numpy.linspace(0, 1, 60).reshape(6, 10))


def recorded(work):
    """What work gives, and how many nodes C and Python have made meanwhile."""
    first, own = front.native.next_born(), front.native.recorded()
    result = work()
    own = front.native.recorded() - own
    return result, own, front.native.next_born() - first - 1 - own


def test_python_sees_a_tuple_of_operands_with_scalars_of_numpys(u):
    for _ in range(3):
        x = u * 2.5
    node = x._cell.node
    assert type(node) is Node
    first, number = node.args
    assert first is u._cell.node
    assert type(number) is numpy.float64
    assert number == 2.5
    assert node.args is node.args
    numpy.testing.assert_array_equal(
        numpy.asarray(x), numpy.linspace(0, 1, 60).reshape(6, 10) * 2.5
    )
    assert node.args == ()


def test_what_was_met_before_is_recorded_without_python(u):
    def work():
        x = u * 2.5 + u[::-1]
        return float((x - 1.0).sum())

    for _ in range(3):
        work()
    _, natively, by_python = recorded(work)
    assert natively >= 5
    assert by_python == 0


def test_a_long_chain_ends_without_recursion(u):
    x = u
    with np.config(fusion=True):
        for _ in range(50_000):
            x = x * 1.0
    del x
    assert float(u[5, 9]) == 1.0


def test_operands_that_the_collector_clears_are_let_go(u):
    class Held:
        pass

    for _ in range(100):
        held = Held()
        held.array, held.itself = u * 3.0 + u, held
    known = weakref.ref(held)
    del held
    gc.collect()
    assert known() is None


SHARED = {
    "a view": lambda z: z[2:5],
    "an array of NumPy's": numpy.asarray,
    "a buffer": memoryview,
    "another name": lambda z: z,
    "an export": lambda z: numpy.from_dlpack(numpy.asarray(z)),
}


@pytest.mark.parametrize("shared", SHARED)
def test_memory_that_anything_refers_to_serves_no_other_result(shared):
    x = np.arange(10.0)
    z = x + 1.0
    kept = SHARED[shared](z)
    wanted = numpy.array(kept)
    del z
    for k in range(50):
        x * k
    numpy.testing.assert_array_equal(numpy.asarray(kept), wanted)


@pytest.mark.parametrize("dtype", "?bhilfdFD")
def test_results_that_end_leave_their_memory_to_others_of_their_kind(dtype):
    one, other = np.ones(5, dtype), np.ones((1, 5), dtype)
    for _ in range(20):
        for x in (one, other):
            y = x + x
            assert y.shape == x.shape
            assert y.dtype == (numpy.ones(5, dtype) + numpy.ones(5, dtype)).dtype
            assert numpy.asarray(y).all()
    many = [one * k for k in range(30)]
    assert [complex(each[0]) for each in many] == [
        complex((numpy.ones(1, dtype) * k)[0]) for k in range(30)
    ]


def test_memory_of_numpys_results_is_recorded_over_unless_others_have_it(u):
    def work():
        return float(np.fft.ifft(np.fft.fft(u) * 2.0).real.sum())

    for _ in range(4):
        total = work()
    assert total == pytest.approx(60.0)
    base = numpy.arange(60.0)
    a = np.asarray(base)
    b = a * 2.0
    base[0] = 7.0
    assert float(b[0]) == 0.0
    assert float((a * 2.0)[0]) == 14.0


def test_a_setting_of_one_context_is_seen_there_alone():
    x = np.ones(100)

    def is_recorded():
        return (x + x)._np is None

    assert not is_recorded()
    with np.config(small=0):
        assert is_recorded() or (np.ones(100) + 1)._np is None
    found = []
    thread = threading.Thread(target=lambda: found.append((np.ones(100) + 1)._np is None))
    thread.start()
    thread.join()
    assert found == [False]
    assert (np.ones(100) + 1)._np is not None


def test_a_handler_of_signals_gets_values_or_an_error():
    """It may come in the middle of an evaluation: what that computes has no value there, and the program gets the right ones."""
    seen = {}

    def handler(number, frame):
        for known in list(seen.values()):
            numpy.asarray(known)

    before = signal.signal(signal.SIGALRM, handler)
    first = numpy.random.default_rng(1).standard_normal((40, 50))
    refused = 0
    try:
        for _ in range(150):
            u, wanted = np.array(first), first.copy()
            v, w = u * 0.5, wanted * 0.5
            signal.setitimer(signal.ITIMER_REAL, 0.0004)
            for _ in range(6):
                try:
                    x = u * 0.5 + v
                    seen["x"] = x
                    y = x * 0.25 - x[::-1]
                    seen["y"] = y
                    total = float((np.abs(y) + 1).sum())
                    u = y[::-1] * 0.5 + x
                except RuntimeError:
                    refused += 1
                    break
                other = wanted * 0.5 + w
                less = other * 0.25 - other[::-1]
                assert total == pytest.approx((abs(less) + 1).sum(), rel=1e-12)
                wanted = less[::-1] * 0.5 + other
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert refused < 150


def test_a_finaliser_of_a_cycle_may_look_at_arrays(u):
    """It comes before or after a native evaluation, never in its middle; planning is done before."""
    seen, looked = {}, []

    def look():
        looked.extend([float(numpy.asarray(known)[0, 0]) for known in list(seen.values())])

    class Looking:
        def __init__(self):
            self.itself = self

        def __del__(self):
            look()

    def turn(finally_look):
        x = u * 0.5 + u[::-1]
        seen["x"] = x
        finally_look()
        y = x * 0.25 - x[::-1]
        seen["y"] = y
        finally_look()
        return float((y + 1.0).sum())

    z = numpy.linspace(0, 1, 60).reshape(6, 10)
    z = z * 0.5 + z[::-1]
    wanted = pytest.approx((z * 0.25 - z[::-1] + 1.0).sum(), rel=1e-12)
    for _ in range(6):
        assert turn(lambda: None) == wanted
        assert turn(look) == wanted
    threshold = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for _ in range(60):
            assert turn(Looking) == wanted
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert len(looked) > 24


def test_a_lock_lets_one_thread_through_at_a_time():
    lock, total, taken = front.native.Lock(), 0, []

    def count():
        nonlocal total
        for _ in range(200):
            with lock, lock:  # it is re-entrant
                seen = total
                time.sleep(0)  # another thread may come now
                total = seen + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total == 800
    with lock:
        other = threading.Thread(target=lambda: taken.append(lock.acquire(False)))
        other.start()
        other.join()
    assert taken == [False]
    with pytest.raises(RuntimeError, match="has not taken it"):
        lock.release()
