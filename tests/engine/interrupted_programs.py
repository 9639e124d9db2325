"""Random programs that are interrupted at random moments: ``python -m tests.engine.interrupted_programs 0:500 [word ...]``.

A signal handler raises once in each program, at a moment that a word selects:

* ``instants`` (the default): after an instruction at which Python handles signals, selected by number, in atoll or in what it calls;
* ``timer``: when ``signal.setitimer`` says;
* ``imports``: the same as ``instants`` while a forked child makes its first large array, so that llvmlite is imported;
* ``in_place``: by timer, in programs whose kernels write over memory that they read;
* ``memory``: no signal, but a limit of address space under which the program runs out of memory.

The exception has to reach the program, once. Nothing may be printed as ignored, no failure of planning may be counted, and every array
has its value before the interrupted line or after it, as in NumPy. Then the program goes on, to NumPy's values. A few programs run in
every test run (``test_interrupts.py``).
"""

from __future__ import annotations

import ast
import dis
import gc
import os
import random
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy

import atoll
from atoll import backend, policy
from atoll.backend import memory

from .interrupt_statements import SEEN, draw, environment, is_same, values

SIGNAL = signal.SIGALRM


class OfTheProgram(Exception):
    """An exception class that atoll cannot know."""


class WrongValue(ValueError):
    """A subclass of a class that NumPy and atoll raise."""


EXCEPTIONS: list[Callable[[], BaseException]] = [
    KeyboardInterrupt, TimeoutError, OfTheProgram, WrongValue, lambda: ValueError("late"), lambda: KeyError("late"), SystemExit,
]  # fmt: skip


class Handler:
    """A signal handler that raises an exception once it is armed, and counts."""

    def __init__(self) -> None:
        self.raised: BaseException | None = None
        self.make: Callable[[], BaseException] | None = None

    def arm(self, make: Callable[[], BaseException]) -> None:
        self.raised, self.make = None, make

    def __call__(self, number: int, frame: FrameType | None) -> None:
        make, self.make = self.make, None
        if make is not None:
            self.raised = make()
            raise self.raised


def settings() -> dict[str, Any]:
    """What an interrupted call has to leave as it was."""
    return {"of": atoll.config.settings(), "limits": policy.limits, "rules": numpy.geterr()}


CHECKS = {"RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "CALL_KW", "SEND"}
"""Instructions after which Python calls signal handlers."""


class Instants:
    """A trace function that raises a signal at the n-th moment at which Python would call its handler."""

    def __init__(self, moment: int, number: signal.Signals = SIGNAL) -> None:
        self.left = moment
        self.signal = number
        self.place: str | None = None
        self.codes: dict[CodeType, bytes] = {}

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        name = frame.f_globals.get("__name__", "")
        if (
            name.partition(".")[0] == "tests"
            or (name == __name__)
            or name == "importlib._bootstrap"
        ):
            return None
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return None  # whose own callbacks lose interrupts
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code = self.codes.get(frame.f_code)
        if code is None:
            code = self.codes[frame.f_code] = frame.f_code.co_code
        before = "RESUME"

        def local(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal before
            if event == "opcode":
                if before in CHECKS:
                    self.passed(frame)
                before = dis.opname[code[frame.f_lasti]]
            elif event == "exception":
                before = ""
            return local

        return local

    def passed(self, frame: FrameType) -> None:
        self.left -= 1
        if self.left == 0:
            sys.settrace(None)
            stack = traceback.extract_stack(frame)[-6:]
            self.place = " < ".join(
                f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in reversed(stack)
            )
            signal.raise_signal(self.signal)


class Report:
    """What programs came to."""

    def __init__(self) -> None:
        self.programs = self.raised = self.before = self.after = 0
        self.wrong: list[str] = []


@contextmanager
def watched(handler: Handler, ignored: list[str]) -> Iterator[None]:
    """With a signal handler, and with what Python prints as ignored noted."""
    hook, former = sys.unraisablehook, signal.signal(SIGNAL, handler)

    def ignore(what: Any) -> None:
        if getattr(what.object, "__module__", "").startswith("llvmlite"):
            return  # an object of its own, interrupted before it was whole
        ignored.append(f"ignored in {what.object!r}: {what.exc_type.__name__}: {what.exc_value}")

    sys.unraisablehook = ignore
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        signal.signal(SIGNAL, former)


def moments(start: dict[str, Any], codes: list[CodeType]) -> list[int]:
    """At how many moments each line could be interrupted, as a forked child counts them."""

    def count() -> str:
        names, counts = environment(atoll, start), []
        with atoll.errstate(all="ignore"):
            for code in codes:
                instants = Instants(-1)
                sys.settrace(instants.trace)
                exec(code, names)
                sys.settrace(None)
                counts.append(-1 - instants.left)
        return repr(counts)

    counts: list[int] = ast.literal_eval(in_child(count))
    return [max(count, 1) for count in counts]


def run(seed: int, way: str, report: Report) -> None:
    """Run one program, with one exception."""
    dice = random.Random(-seed - 1)
    lines, start = draw(seed, way)
    names, mirror = environment(atoll, start), environment(numpy, start)
    codes = [compile(line, f"<line {k}: {line}>", "exec") for k, line in enumerate(lines)]
    reference = [values(mirror)]
    with numpy.errstate(all="ignore"):
        for code in codes:
            exec(code, mirror)
            reference.append(values(mirror))
    first, handler, ignored = dice.randrange(len(lines)), Handler(), list[str]()
    most = moments(start, codes)[first] if way == "instants" else 1
    instants = Instants(
        dice.randint(1, most) if dice.random() < 0.5 else int(most ** dice.random())
    )
    make, failures = dice.choice(EXCEPTIONS), atoll.stats().planning_failures
    found: list[str] = []
    caught, error = 0, None
    k = 0
    with watched(handler, ignored), atoll.errstate(all="ignore"):
        before = settings()
        while k < len(lines):
            error = None
            try:
                while k < len(lines):
                    if k == first and handler.raised is None:
                        begin(way, handler, make, instants, dice)
                    exec(codes[k], names)
                    k += 1
                if way == "memory":
                    limit(None)
                sys.settrace(None)
                handler.make = None
            except BaseException as problem:
                sys.settrace(None)
                if way == "memory":
                    limit(None)
                error = problem
                if way == "memory" and isinstance(problem, MemoryError):
                    handler.raised, first = problem, len(lines)
                if problem is not handler.raised:
                    found.append(
                        "another exception: " + "".join(traceback.format_exception(problem))
                    )
                    break
                caught += 1
                if caught > 1:
                    break
            if error is not None:
                if dice.random() < 0.5:
                    error.__traceback__ = error.__context__ = error.__cause__ = None
                state = settings()
                changed = [name for name, value in state.items() if value != before[name]]
                if k == len(lines):
                    break
                if "linalg" in lines[k]:  # NumPy's own context manager may have been interrupted
                    numpy.seterr(all="ignore")
                elif changed:
                    found.append(f"changed {changed}: {[state[name] for name in changed]}")
                    break
                if lines[k].startswith("for ") and (
                    k == len(lines) - 1 or not lines[k].startswith("for _ in range(6): s")
                ):
                    report.before += 1  # a part of it is done
                    for code in codes[k:]:
                        exec(code, names)
                    break
                now = values(names)
                if is_same(now, reference[k]):
                    report.before += 1
                elif is_same(now, reference[k + 1]):
                    report.after += 1
                    k += 1
                else:
                    found.append(
                        f"neither before nor after line {k}: {differing(now, reference[k], reference[k + 1])}"
                    )
                    break
        else:
            if not is_same(now := values(names), reference[-1]):
                found.append(f"other values at the end: {differing(now, reference[-1])}")
        names.clear()
        gc.collect()
    report.programs += 1
    if handler.raised is not None:
        report.raised += 1
        if caught != 1:
            found.append(f"raised once, and arrived {caught} times")
    if backend._chosen is not None and backend._chosen.name != atoll.config.backend:
        found.append("another backend")
    if atoll.stats().planning_failures != failures:
        found.append("counted as a failure of planning")
    for problem in found + ignored:
        kind = type(handler.raised).__name__
        report.wrong.append(
            f"program {seed}, {kind} at {instants.place}, line {k} of {lines}: {problem}"
        )


def begin(way: str, handler: Handler, make: Any, instants: Instants, dice: random.Random) -> None:
    """From here on an exception may come."""
    if way == "memory":
        gc.collect()
        memory.pool.trim()
        limit(int(2 ** dice.uniform(22, 26)))  # LLVM ends the process where it has no memory
        return
    handler.arm(make)
    if way == "timer":
        signal.setitimer(signal.ITIMER_REAL, 10 ** dice.uniform(-5, -2.5))
    else:
        sys.settrace(instants.trace)


def differing(now: dict[str, Any], *others: dict[str, Any]) -> str:
    return "; ".join(
        f"{name} {now.get(name)!r} instead of {' or '.join(repr(other.get(name)) for other in others)}"
        for name in SEEN
        if not all(
            is_same({name: now.get(name)}, {name: other.get(name)})
            if name in now and name in other
            else name not in now and name not in other
            for other in others
        )
    )


def limit(more: int | None) -> None:
    """Leave so many bytes of address space beyond what is in use; None lifts the limit."""
    most = resource.RLIM_INFINITY
    if more is not None:
        with open("/proc/self/statm") as file:
            most = int(file.read().split()[0]) * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def in_child(work: Callable[[], str]) -> str:
    """What a forked child says."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        text = "the child ended otherwise"
        try:
            signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_VIRTUAL, 50)
            text = work()
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
        finally:
            os.write(writer, text.encode()[-60000:])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said if not status else f"{said}\nthe child ended with status {status}"


def first_values() -> list[float]:
    """What a process computes by kernels for the first time, which imports what makes them."""
    a = atoll.array(numpy.arange(200_000.0))
    b = a * 2 + 1
    b -= b.mean()
    return [float(b.sum()), float(a[a > 5].sum())]


def imports(seed: int, most: int) -> str:
    """Interrupt the first large arrays of a process: where, and what was wrong."""
    dice, handler, ignored = random.Random(seed), Handler(), list[str]()
    make, instants = dice.choice(EXCEPTIONS), Instants(dice.randint(1, most))
    expected = [0.0, numpy.arange(6.0, 200_000.0).sum()]
    wrong = []
    with watched(handler, ignored), warnings.catch_warnings():
        warnings.simplefilter("error")
        handler.arm(make)
        try:
            sys.settrace(instants.trace)
            first_values()
            sys.settrace(None)
            if handler.raised is not None:
                wrong.append("the exception did not arrive")
        except BaseException as error:
            sys.settrace(None)
            if error is not handler.raised:
                wrong.append("".join(traceback.format_exception(error)))
        handler.make, raised = None, handler.raised
        try:
            if not numpy.allclose(found := first_values(), expected):
                wrong.append(f"{found} afterwards")
        except BaseException as error:
            wrong.append("afterwards " + "".join(traceback.format_exception(error)))
    if backend.current().name != "llvm":
        wrong.append("another backend")
    place = "not reached" if instants.place is None else instants.place
    if wrong or ignored:
        wrong.insert(0, type(raised).__name__)
    return f"{place}\n" + "; ".join(wrong + ignored)


def count_imports() -> str:
    instants = Instants(-1)
    sys.settrace(instants.trace)
    first_values()
    sys.settrace(None)
    return str(-1 - instants.left)


IN_PLACE = [
    "a += b\ns = bool((a > -1e300).all())",
    "a[1:-1] = (a[:-2] + a[2:]) / 2\ns = float(a.sum())",
    "a *= 2\na[5:] += b[5:]\ns = float(a.max())",
]


def in_place(seed: int, report: Report) -> None:
    """Interrupt kernels that write over the memory that they read: nothing may be done twice, nor be left half done."""
    dice, handler, ignored = random.Random(seed), Handler(), list[str]()
    lines = IN_PLACE[seed % len(IN_PLACE)].splitlines()
    elements = numpy.random.default_rng(1).random(200_000)
    ours, mirror = ({"a": m.array(elements), "b": m.array(elements[::-1])} for m in (atoll, numpy))
    states = [elements]
    for line in lines:
        exec(line, mirror)
        states.append(mirror["a"].copy())
    for _ in range(6):
        float(abs(ours["a"] * 2).sum())
    code = compile("\n".join(lines), "<in place>", "exec")
    with watched(handler, ignored):
        try:
            begin("timer", handler, TimeoutError, Instants(-1), dice)
            exec(code, ours)
        except TimeoutError as error:
            error.__traceback__ = None
            report.before += 1
        handler.make = None
    found = numpy.array(ours["a"])
    report.programs += 1
    report.raised += handler.raised is not None
    if not any(numpy.allclose(found, state) for state in states):
        report.wrong.append(
            f"program {seed} {lines}: neither of the values before and after a line"
        )


def search(first: int, last: int, way: str) -> Report:
    report = Report()
    most = int(in_child(count_imports)) if way == "imports" else 0
    if way == "memory":
        first_values()
    for seed in range(first, last):
        if way == "imports":
            place, _, wrong = in_child(partial(imports, seed, most)).partition("\n")
            report.programs += 1
            report.raised += place != "not reached"
            if wrong:
                report.wrong.append(f"import {seed} at {place}: {wrong}")
        elif way == "in_place":
            in_place(seed, report)
        else:
            run(seed, way, report)
    return report


def main(seeds: str, *words: str) -> int:
    first, last = map(int, seeds.split(":"))
    way = words[0] if words else "instants"
    report = search(first, last, way)
    for wrong in report.wrong:
        print(wrong, flush=True)
    print(
        f"{report.programs} programs ({way}), {report.raised} exceptions, {report.before} lines undone, "
        f"{report.after} lines done, {len(report.wrong)} wrong"
    )
    return int(bool(report.wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
