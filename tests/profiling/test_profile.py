"""Profiles: what is counted for which line, on one rank and on several, and what the files say."""

from __future__ import annotations

import inspect
import json
import os
import random

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.context import profiler
from atoll.profiling.table import bytes_text, seconds_text

N = 200


def step(u):
    old = u.copy()
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return float(((u - old) ** 2).sum())


def lines_of(function):
    """The numbers of a function's lines, by their text."""
    texts, first = inspect.getsourcelines(function)
    return {text.strip(): first + k for k, text in enumerate(texts)}


def by_text(profile):
    return {line.text: line for line in profile.lines}


def nested(events):
    """True if the spans of each thread lie in each other, or apart."""
    for thread in {event["tid"] for event in events}:
        open_until = []
        mine = [event for event in events if event["tid"] == thread]
        for event in sorted(mine, key=lambda e: (round(e["ts"] * 1000), -round(e["dur"] * 1000))):
            start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                return False
            open_until.append(end)
    return True


@pytest.mark.ranks(1, 2, 3)
def test_lines_have_what_was_done_for_them(tmp_path, rank):
    u = np.zeros((N, N))
    u[0] = 1.0
    for _ in range(3):  # what follows is run without Python, where one process computes
        step(u)
    before, traffic = np.stats(), np.world.communicator.traffic.copy()
    with np.profile() as profile:
        for _ in range(20):
            step(u)
        done, sent = np.stats(), np.world.communicator.traffic - traffic
    numbers, found = lines_of(step), by_text(profile)
    stencil, total = [text for text in numbers if text.startswith(("u[1:-1", "return"))]
    ranks = np.world.size
    assert found[stencil].source.number == numbers[stencil]
    assert found[stencil].place == f"test_profile.py:{numbers[stencil]}"
    assert found["old = u.copy()"].calls == 20 * ranks
    assert found[stencil].calls == 20 * 9 * ranks
    assert found[stencil].kernel_seconds > 0
    assert found[total].kernel_seconds > 0
    assert found[stencil].kernel_bytes > 20 * 8 * N * N / 2
    mine = next(one for one in profile.ranks if one.record.rank == rank)
    if ranks == 1 or rank == 0:  # which has the timeline
        events = mine.record.events
        kernels = events["count"][events["kind"] == profiler.Kind.KERNELS].sum()
        assert kernels == done.kernels_run - before.kernels_run
    assert 0 < profile.inside <= profile.seconds
    if ranks > 1:
        assert mine.record.peers[:, 0].sum() == sent.messages_sent
        assert mine.record.peers[:, 1].sum() == sent.bytes_sent
        assert found[total].messages > 0
        assert found[total].wait_seconds > 0
    if rank == 0:
        events = [event for one in profile.ranks for event in one.record.events]
        assert len(events) > 20 * 10 * ranks
        assert str(profile).splitlines()[2].split()[:3] == ["line", "time", "calls"]
    profile.save(tmp_path / f"{rank}.json")
    assert (tmp_path / f"{rank}.json").exists() is (rank == 0)


def test_timeline_is_chromes(tmp_path):
    u = np.ones((N, N))
    with np.profile(tmp_path / "out.json") as profile:
        step(u)
    assert os.listdir(tmp_path) == ["out.json"]
    with open(tmp_path / "out.json") as file:
        read = json.load(file)
    events = [event for event in read["traceEvents"] if event["ph"] == "X"]
    assert {event["cat"] for event in events} >= {"call", "kernels"}
    assert nested(events)
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in events)
    kernels = [event for event in events if event["cat"] == "kernels"]
    assert all(event["args"]["line"].startswith("test_profile.py:") for event in kernels)
    assert read["otherData"]["seconds"] == profile.seconds


def test_long_programs_keep_their_long_spans():
    u = numpy.ones(10)
    a = np.array(u)
    with policy.limited(held=32 * profiler.EVENT.itemsize), np.profile() as profile:
        for _ in range(100):
            a + a
    (line,) = [line for line in profile.lines if line.text == "a + a"]
    assert line.calls == 100
    assert len(profile.ranks[0].record.events) <= 32
    assert "lacks spans" in str(profile)


def test_more_lines_than_are_counted_apart():
    code = compile("\n".join(["a + a"] * 50), "many.py", "exec")
    with policy.limited(entries=8), np.profile() as profile:
        exec(code, {"a": np.ones(10)})
    assert sum(line.calls for line in profile.lines) >= 50
    assert len(profile.lines) <= 8


def test_profiles_in_profiles():
    a = np.ones(100)
    with np.profile() as outer:
        a + 1
        with np.profile() as inner:
            a + 2
        a + 3
    assert {"a + 1", "a + 2", "a + 3"} <= {*by_text(outer)}
    assert "a + 2" in by_text(inner)
    assert not {"a + 1", "a + 3"} & {*by_text(inner)}
    assert profiler.now.recording is None


def test_errors_end_a_profile():
    a = np.ones(100)
    with pytest.raises(ZeroDivisionError), np.profile() as profile:
        a + 1 / (a.sum() - 100).item()
    assert "a + 1 / (a.sum() - 100).item()" in by_text(profile)
    assert profiler.now.recording is None


def test_children_leave_the_record_alone():
    a = np.ones(100)
    with np.profile() as profile:
        a + 1
        child = os.fork()
        if not child:
            a * 2
            os._exit(profiler.now.recording is not None)
        assert os.waitpid(child, 0)[1] == 0
    assert "a * 2" not in by_text(profile)


def test_library_code_counts_for_the_line_that_calls_it():
    a = np.arange(50)
    with np.profile() as profile:
        random.shuffle(a)
    (line,) = [line for line in profile.lines if line.calls]
    assert line.text == "random.shuffle(a)"
    assert line.calls > 100


def test_paths_say_what_they_are(tmp_path):
    with pytest.raises(ValueError, match=r"\.json .*\.html"):
        np.profile(tmp_path / "out.txt")
    with np.profile() as profile:
        np.ones(3) + 1
    with pytest.raises(ValueError, match=r"\.json .*\.html"):
        profile.save("out.txt")


@pytest.mark.ranks(1, 2)
@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_loops_whose_slices_move(backend, monkeypatch):
    if backend == "numpy":
        from atoll import backend as backends

        monkeypatch.setattr(backends, "_chosen", backends.named("numpy"))
    expected = numpy.random.default_rng(1).random((40, 40)) + 40 * numpy.eye(40)
    before = np.stats().planning_failures
    with np.config(small=0), np.profile() as profile:
        a = np.array(expected)
        for k in range(39):
            a[k + 1 :, k:] -= a[k + 1 :, k : k + 1] / a[k, k] * a[k, k:]
        last = float(a[-1, -1])
    for k in range(39):
        expected[k + 1 :, k:] -= expected[k + 1 :, k : k + 1] / expected[k, k] * expected[k, k:]
    assert last == expected[-1, -1]
    assert np.stats().planning_failures == before
    (line,) = [line for line in profile.lines if line.text.startswith("a[k + 1 :, k:] -=")]
    assert line.kernels >= 39
    assert 0 < line.kernel_bytes < 39 * 40 * 40 * 8 * 4 * np.world.size


def test_figures_have_three_digits():
    times = [0, 4e-7, 9.996e-4, 1.2345e-2, 0.99951, 123.4, 98765.0]
    assert [*map(seconds_text, times)] == [
        "",
        "< 1 us",
        "1 ms",
        "12.3 ms",
        "1 s",
        "123 s",
        "98765 s",
    ]
    sizes = [0, 7, 999.7, 123_456, 999_600, 2.5e13]
    assert [*map(bytes_text, sizes)] == ["", "7 B", "1 kB", "123 kB", "1 MB", "25 TB"]


@pytest.mark.simulated(2)
def test_simulated_ranks_record_together(rank):
    a = np.ones((N, N), layout=np.Layout((N, N), "bn", size=2))
    with np.profile() as profile:
        total = float((a[1:] + a[:-1]).sum())
    assert total == 2 * (N - 1) * N
    assert len(profile.ranks) == 2
