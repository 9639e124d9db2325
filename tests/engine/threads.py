"""Random programs of several threads that share arrays: what each of them sees is what NumPy says.

Each thread has a section of its own in arrays that all of them have: a half, a row in several, every n-th element. It
reads and writes there as it likes, and compares with a mirror of its own, made by NumPy. All read what nobody writes:
arrays that are pending when the threads begin, masks, index arrays. So every value is determined, whoever is first.
``python -m tests.engine.threads 0:500 [threads]`` searches; a few programs run in every test run
(``test_threads.py``). Each thread hands over to the next after a microsecond.
"""

from __future__ import annotations

import contextvars
import gc
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

import atoll as np

LENGTH = 120  # divisible by 2, 3, 4
STEPS = 12
Step = Callable[["Worker"], None]


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


class Worker:
    """One thread: its sections, its mirrors, and arrays that it has made."""

    def __init__(self, shared: Shared, number: int, threads: int, seed: int) -> None:
        self.shared = shared
        self.dice = random.Random(seed * 100 + number)
        which = self.dice.randrange(2)
        self.array = shared.section(shared.written[which], number, threads)
        self.mirror = shared.section(shared.whole_mirrors[which], number, threads)
        self.own, self.own_mirror = np.zeros(LENGTH), numpy.zeros(LENGTH)
        self.names: list[str] = []

    def run(self) -> None:
        for _ in range(STEPS):
            step = self.dice.choice(STEPS_OF_THREADS)
            self.names.append(step.__name__)
            step(self)
        compare(self.array, self.mirror)
        compare(self.own, self.own_mirror)

    def given(self) -> tuple[Any, Any]:
        number = self.dice.randrange(3)
        return self.shared.given[number], self.shared.mirrors[number]

    def span(self) -> slice:
        first = self.dice.randrange(LENGTH)
        return slice(first, self.dice.randint(first, LENGTH), self.dice.choice([1, 1, 2]))


def compare(array: Any, mirror: Any) -> None:
    numpy.testing.assert_array_equal(numpy.array(array), mirror)


def look(worker: Worker) -> None:
    array, mirror = worker.given()
    compare(array, mirror)


def add_up(worker: Worker) -> None:
    array, mirror = worker.given()
    assert float((array + 1).sum()) == (mirror + 1).sum()


def take_masked(worker: Worker) -> None:
    array, mirror = worker.given()
    compare(array[worker.shared.mask], mirror[worker.shared.mirror_mask])


def take_by_index(worker: Worker) -> None:
    array, mirror = worker.given()
    compare(array[worker.shared.order], mirror[worker.shared.order])


def grow(worker: Worker) -> None:
    array, mirror = worker.given()
    worker.own = worker.own * 0.5 + array
    worker.own_mirror = worker.own_mirror * 0.5 + mirror


def add_in_place(worker: Worker) -> None:
    worker.array += 1
    worker.mirror += 1


def add_to_span(worker: Worker) -> None:
    where = worker.span()
    array, mirror = worker.given()
    worker.array[where] += array[where]
    worker.mirror[where] += mirror[where]


def assign_span(worker: Worker) -> None:
    where = worker.span()
    worker.array[where] = worker.own[where] * 2
    worker.mirror[where] = worker.own_mirror[where] * 2


def assign_element(worker: Worker) -> None:
    place, number = worker.dice.randrange(LENGTH), worker.dice.randint(-9, 9)
    worker.array[place] = number
    worker.mirror[place] = number
    assert worker.array[place] == number


def assign_masked(worker: Worker) -> None:
    worker.array[worker.shared.mask] = 5
    worker.mirror[worker.shared.mirror_mask] = 5


def assign_by_index(worker: Worker) -> None:
    where = worker.shared.order[:7]
    worker.array[where] = worker.own[where]
    worker.mirror[where] = worker.own_mirror[where]


def add_at(worker: Worker) -> None:
    where = worker.shared.order[:9] // 2
    np.add.at(worker.array, where, 1.0)
    numpy.add.at(worker.mirror, where, 1.0)


def sort(worker: Worker) -> None:
    worker.array.sort()
    worker.mirror.sort()


def out(worker: Worker) -> None:
    array, mirror = worker.given()
    np.multiply(array, 3, out=worker.array)
    numpy.multiply(mirror, 3, out=worker.mirror)


def out_by_numpy(worker: Worker) -> None:
    np.cumsum(worker.own, out=worker.array)
    numpy.cumsum(worker.own_mirror, out=worker.mirror)


def export(worker: Worker) -> None:
    memory = numpy.asarray(worker.array)
    if memory.flags.writeable:
        memory[3] = 11
        worker.mirror[3] = 11
    compare(memory, worker.mirror)


def collect(worker: Worker) -> None:
    if worker.dice.random() < 0.2:
        gc.collect()


def look_at_own(worker: Worker) -> None:
    compare(worker.array, worker.mirror)


def settle(worker: Worker) -> None:
    np.sync()


STEPS_OF_THREADS: list[Step] = [
    look, add_up, take_masked, take_by_index, grow, grow, add_in_place, add_to_span, assign_span, assign_element,
    assign_masked, assign_by_index, add_at, sort, out, out_by_numpy, export, collect, look_at_own, settle,
]  # fmt: skip


def program(seed: int, threads: int) -> list[tuple[int, list[str], BaseException]]:
    """Run one program; what failed: the thread, its steps, the error."""
    dice = random.Random(seed)
    shared = Shared(dice, threads)
    workers = [Worker(shared, number, threads, seed) for number in range(threads)]
    everybody = threading.Barrier(threads)
    failed: list[tuple[int, list[str], BaseException]] = []

    def work(number: int) -> None:
        everybody.wait()
        try:
            workers[number].run()
        except BaseException as error:
            failed.append((number, workers[number].names, error))

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
            try:
                compare(written, mirror)
            except AssertionError as error:
                failed.append((-1, [shared.kind], error))
    return failed


def main(seeds: str = "0:200", threads: str = "4") -> int:
    first, last = map(int, seeds.split(":"))
    wrong = 0
    with hasty(), np.config(small=0):
        for seed in range(first, last):
            for number, names, error in program(seed, int(threads)):
                wrong += 1
                print(f"program {seed}, thread {number} after {' '.join(names)}:\n{error!r}")
    print(f"{last - first} programs of {threads} threads, {wrong} threads that saw something else")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
