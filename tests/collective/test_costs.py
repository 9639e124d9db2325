"""The cost of one collective operation beside its elements: Python calls outside of the transport, messages and joint steps."""

from __future__ import annotations

import os
import sys

import numpy
import pytest

import atoll

LENGTH = 40_000
NAMES = (
    "mask", "sort", "argsort", "cumsum", "nonzero", "searchsorted", "histogram", "unique", "median",
)  # fmt: skip
COMM = os.path.join(os.path.dirname(atoll.__file__), "comm")


def operations():
    """The operations by name, on arrays in memory, each with the most calls, and its messages and joint steps on a rank."""
    values = numpy.random.default_rng(1).standard_normal(LENGTH)
    a = atoll.array(values, layout="b")
    mask, line, few = a > 0.3, atoll.sort(a), (a * 2).round()
    for array in (mask, line, few):
        array._cell.settle()
    return {
        "mask": (lambda: a[mask], 95, 0, 1),
        "sort": (lambda: atoll.sort(a), 230, 1, 4),
        "argsort": (lambda: atoll.argsort(a), 250, 2, 4),
        "cumsum": (lambda: atoll.cumsum(a), 180, 0, 1),
        "nonzero": (lambda: atoll.nonzero(mask)[0], 130, 0, 2),
        "searchsorted": (lambda: atoll.searchsorted(line, a), 230, 2, 2),
        "histogram": (lambda: atoll.histogram(a, bins=10, range=(-4, 4))[0], 160, 0, 1),
        "unique": (lambda: atoll.unique(few), 250, 2, 6),
        "median": (lambda: atoll.median(a), 170, 0, 4),
    }


def calls_of(function):
    """The number of Python calls outside of the transport, where ranks wait."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call" and not frame.f_code.co_filename.startswith(COMM)

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.ranks(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_steady_operation_takes_few_calls_and_joint_steps(name):
    with atoll.config(everywhere=1000, small=30_000):
        work, most, messages, steps = operations()[name]

        def run():
            result = work()
            if getattr(result, "_np", result) is None:
                result._cell.settle()

        for _ in range(8):
            run()
        traffic = atoll.world.communicator.traffic
        before = traffic.messages_sent, traffic.collectives
        run()
        after = traffic.messages_sent, traffic.collectives
        calls = min(calls_of(run) for _ in range(3))
    assert calls <= most
    assert after[0] - before[0] <= messages
    assert after[1] - before[1] <= steps
