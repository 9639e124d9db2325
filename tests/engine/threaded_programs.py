"""Random programs of several threads that share arrays: what each of them sees is what NumPy says.

Each thread has a section of its own in arrays that all of them have: a half, a row in several, every n-th element. It
reads and writes there as it likes, and compares with a mirror of its own, made by NumPy. All read what nobody writes:
arrays that are pending when the threads begin, masks, index arrays. So every value is determined, whoever is first.
``python -m tests.engine.threaded_programs 0:500 [threads]`` searches; a few programs run in every test run
(``test_threads.py``). Each thread hands over to the next after a microsecond.
"""

from __future__ import annotations

import contextvars
import gc
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

import atoll as np

from .campaign import campaign

LENGTH = 120  # divisible by 2, 3, 4
STEPS = 12


@contextmanager
def hasty() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Shared:
    """What all threads have: ``given`` is read only, ``written`` has a section for each thread."""

    def __init__(self, dice: random.Random, threads: int) -> None:
        base = numpy.array([dice.randint(-40, 40) for _ in range(LENGTH)], float)
        lazy = np.array(base)
        self.mirrors = [base * 2 + 1, numpy.where(base > 0, base, -base), base[::-1] - base]
        self.given = [lazy * 2 + 1, np.where(lazy > 0, lazy, -lazy), lazy[::-1] - lazy]
        self.mirror_mask, self.mask = base > 3, lazy > 3
        self.order = numpy.array(dice.sample(range(LENGTH), LENGTH))
        self.kind = dice.choice(["halves", "strided", "rows"])
        shape = (threads, LENGTH) if self.kind == "rows" else (LENGTH * threads,)
        self.whole = numpy.arange(float(threads * LENGTH)).reshape(shape)
        self.written = [np.array(self.whole), np.array(self.whole) + 1]
        self.whole_mirrors = [self.whole.copy(), self.whole + 1]

    def section(self, array: Any, number: int, threads: int) -> Any:
        """The part of an array that one thread writes."""
        if self.kind == "rows":
            return array[number]
        if self.kind == "strided":
            return array[number::threads]
        return array[number * LENGTH : (number + 1) * LENGTH]


STEPS_OF_THREADS = """
given + 0
given[mask]
given[order]
mine + 0
own = own * 0.5 + given
own = own - given * 0.25
mine += 1
mine[{span}] += given[{span}]
mine[{span}] = own[{span}] * 2
mine[{place}] = {number}; same(mine[{place}])
mine[mask] = 5
mine[order[:7]] = own[order[:7]]
np.add.at(mine, order[:9] // 2, 1.0)
mine.sort()
np.multiply(given, 3, out=mine)
np.cumsum(own, out=mine)
write_through(numpy.asarray(mine))
float((given + 1).sum())
collect({number})
sync()
""".strip().splitlines()
"""Lines that a thread runs: a line without an assignment is a look, whose value is compared."""


def collect(number: int) -> None:
    """Collect garbage, now and then."""
    if number > 6:
        gc.collect()


class Worker:
    """One thread: its sections, in atoll and in NumPy, and arrays that it has made."""

    def __init__(self, shared: Shared, number: int, threads: int, seed: int) -> None:
        self.shared = shared
        self.dice = random.Random(seed * 100 + number)
        which = self.dice.randrange(2)
        self.looks: list[Any] = []
        names = {"numpy": numpy, "same": self.looks.append, "order": shared.order}
        self.worlds: list[dict[str, Any]] = [
            {
                **names,
                "np": module,
                "mask": mask,
                "mine": shared.section(written[which], number, threads),
                "own": module.zeros(LENGTH),
                "sync": getattr(module, "sync", list),
                "collect": collect,
                "write_through": write,
            }
            for module, mask, written, write in (
                (np, shared.mask, shared.written, self.write_through),
                (numpy, shared.mirror_mask, shared.whole_mirrors, self.write_as_well),
            )
        ]
        self.lines: list[str] = []
        self.writeable = False

    def write_through(self, memory: Any) -> Any:
        """Write into memory that atoll shows, where it may be written."""
        self.writeable = memory.flags.writeable
        return self.write_as_well(memory)

    def write_as_well(self, memory: Any) -> Any:
        if self.writeable:
            memory[3] = 11
        return memory

    def run(self) -> None:
        for _ in range(STEPS):
            self.step(self.dice.choice(STEPS_OF_THREADS))
        self.step("mine + 0")
        self.step("own + 0")

    def step(self, line: str) -> None:
        """Run a line in atoll and in NumPy, and compare the values that it shows."""
        number, first = self.dice.randrange(3), self.dice.randrange(LENGTH)
        span = f"{first}:{self.dice.randint(first, LENGTH)}:{self.dice.choice([1, 1, 2])}"
        line = line.format(span=span, place=first, number=self.dice.randint(-9, 9))
        self.lines.append(line)
        for names, given in zip(self.worlds, (self.shared.given, self.shared.mirrors)):
            names["given"] = given[number]
            exec(line if "=" in line else f"same({line})", names)
        shown = len(self.looks) // 2
        for ours, theirs in zip(self.looks[:shown], self.looks[shown:], strict=True):
            compare(ours, theirs)
        self.looks.clear()


def compare(array: Any, mirror: Any) -> None:
    numpy.testing.assert_array_equal(numpy.array(array), numpy.array(mirror))


def program(seed: int, threads: int) -> str:
    """Run one program; what failed: the thread, its lines, the error."""
    dice = random.Random(seed)
    shared = Shared(dice, threads)
    workers = [Worker(shared, number, threads, seed) for number in range(threads)]
    everybody = threading.Barrier(threads)
    failed: list[str] = []

    def work(number: int) -> None:
        everybody.wait()
        try:
            workers[number].run()
        except BaseException as error:
            lines = "; ".join(workers[number].lines)
            failed.append(f"thread {number} after {lines}:\n{error!r}")

    began = [  # settings belong to the context
        threading.Thread(target=contextvars.copy_context().run, args=(work, number))
        for number in range(threads)
    ]
    for thread in began:
        thread.start()
    for thread in began:
        thread.join()
    if not failed:
        for written, mirror in zip(shared.written, shared.whole_mirrors, strict=True):
            compare(written, mirror)
    return "\n".join(failed)


def main(seeds: str = "0:200", threads: str = "4") -> int:
    with hasty(), np.config(small=0):
        return campaign(seeds, lambda seed: program(seed, int(threads)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
