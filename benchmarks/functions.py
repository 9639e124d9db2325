"""Single functions on a million elements: which are slower than NumPy's, in one process.

    python benchmarks/functions.py [words...] [--n N] [--below R] [--rounds N] [--json] [--smoke]
    python benchmarks/functions.py [words...] --calls 10,1000 [--above US] [--rounds N] [--json] [--smoke]

Each line of ``function_lines.py`` is one expression over the arrays that :func:`arrays` makes. NumPy and atoll take
turns; the best time of each counts, so that other work on the machine does not. The result is
looked at in full and compared with NumPy's; a wrong one makes the command fail, a slow one never
does. Words choose the expressions that contain one of them. ``--below`` prints only those that
are less than so many times as fast as NumPy; ``--smoke`` runs everything once and tiny.

``--calls`` measures what single calls cost on arrays of so many elements, and on rows and elements of a computed matrix: the
processor's microseconds of a call of NumPy's, of atoll's, and the difference. ``--above`` prints only those that cost so much more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import timeit
import warnings
from typing import Any

import numpy
from function_lines import CALLS, EXPRESSIONS, ROWS
from measuring import differences

import atoll


def arrays(n: int) -> dict[str, Any]:
    """What the expressions are about, by name."""
    random = numpy.random.default_rng(11)
    side = int(n**0.5)
    x = random.random(n)
    m = random.random(n) < 0.5
    made = {
        "x": x,
        "y": random.random(n) + 0.1,
        "s": x.astype("f4"),
        "h": (x - 0.5).astype("f2"),
        "i": random.integers(0, 1000, n),
        "u": random.integers(0, 256, n).astype("u1"),
        "c": random.integers(-100, 100, n).astype("i2"),
        "e": random.integers(0, 1000, n).astype("u4"),
        "g": random.integers(-1000, 1000, n).astype("i4"),
        "q": (x + 1j * x).astype("c8"),
        "z": x + 1j * random.random(n),
        "w": random.random(n) + 1j,
        "m": m,
        "k": random.random(n) < 0.5,
        "few": random.random(n) < 0.01,
        "none": numpy.zeros(n, bool),
        "every": numpy.ones(n, bool),
        "a": x[: side * side].reshape(side, side),
        "b": m[: side * side].reshape(side, side),
        "j": random.permutation(n),
        "p": random.integers(0, side, (side, side)),
        "t": numpy.linspace(0.0, 1.0, side),
        "v": random.random((n // 3, 3)),
    }
    return {name: numpy.ascontiguousarray(array) for name, array in made.items()}


def lines(words: list[str], n: int) -> list[str]:
    """The expressions that contain a word, or all of them."""
    side = int(n**0.5)
    every = [line.replace("1000", str(side)) for line in EXPRESSIONS.split("\n") if line.strip()]
    return [line for line in every if not words or any(word in line for word in words)]


def looked_at(result: Any) -> Any:
    """A result as NumPy has it, of its own."""
    if isinstance(result, (tuple, list)):
        return tuple(map(looked_at, result))
    return numpy.array(result)


def wrong_with(found: Any, expected: Any) -> str:
    """What is wrong with a result: rounded numbers may differ by their last digits."""
    if isinstance(expected, tuple):
        return "; ".join(filter(None, map(wrong_with, found, expected)))
    rounded = expected.dtype.kind in "fc"
    return differences(found, expected, 1e4 * numpy.finfo(expected.dtype).eps if rounded else 0.0)


def measured(
    line: str, theirs: dict[str, Any], ours: dict[str, Any], rounds: int
) -> dict[str, Any]:
    """The best times of both, and what is wrong with the result."""
    code = compile(line, line, "eval")

    def once(names: dict[str, Any]) -> float:
        start = time.perf_counter()
        result = eval(code, names)  # the lines above, and nothing else
        atoll.sync()
        del result
        return time.perf_counter() - start

    expected, found = looked_at(eval(code, theirs)), looked_at(eval(code, ours))
    wrong = wrong_with(found, expected)
    best = [float("inf"), float("inf")]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            for _ in range(3 if rounds > 1 else 1):
                best[which] = min(best[which], once((theirs, ours)[which]))
    return {
        "line": line,
        "numpy": best[0],
        "atoll": best[1],
        "ratio": best[0] / best[1],
        "wrong": wrong,
    }


def operands(np: Any, n: int, plain: dict[str, Any]) -> dict[str, Any]:
    """What single calls are about, by name, as arrays of a module."""
    names = {name: np.array(value) for name, value in plain.items()}
    small = np.array([[4.0, 1.0, 2.0], [0.5, 3.0, 1.0], [1.0, 0.0, 5.0]])
    matrix = np.array(numpy.arange(250_000.0).reshape(500, 500)) / 250_000.0 + 0.0
    result = matrix * 1.0
    float(result[0, 0])
    more = {
        "w": names["x"] + 1.0, "k": names["i"] + 1, "b": names["a"] + 1.0, "o": np.zeros(2), "o2": np.ones(2),
        "o3": np.ones(n // 2), "x2": names["x"][: n // 2] + 0.0, "t3": np.array([1.0, 2.0, 3.0]), "s": small,
        "s3": np.array([1.0, 2.0, 3.0]), "g": result, "row": np.array(numpy.arange(500.0)) + 0.0,
        "r": np.random.default_rng(5),
    }  # fmt: skip
    return {
        "np": np, "numpy": numpy, "n": n, "f": numpy.float64(1.5), "p": plain["y"], **names, **more
    }  # fmt: skip


def small_arrays(n: int) -> dict[str, Any]:
    """What single calls are about, as NumPy's."""
    random = numpy.random.default_rng(11)
    x = random.random(n) + 0.1
    few = min(n, 10)
    return {
        "x": x, "y": random.random(n) + 0.1, "i": random.integers(0, 10, n), "m": random.random(n) < 0.5,
        "a": x.reshape(-1, 2), "j": random.integers(0, n, few), "j2": random.integers(0, n // 2, few), "t": x[:few],
    }  # fmt: skip


def cost_of(line: str, names: list[dict[str, Any]], rounds: int) -> list[float]:
    """The processor's microseconds of a call with each of some names: the best of the rounds."""
    assigned = "w, k, row = globals()['w'], globals()['k'], globals()['row']"  # in place
    timers = [timeit.Timer(line, assigned, time.process_time, each) for each in names]
    number = 1
    while max(timer.timeit(number) for timer in timers) < 2e-3 and rounds > 1:
        number *= 4
    taken = [[timer.timeit(number) / number for timer in timers] for _ in range(rounds)]
    return [1e6 * min(each) for each in zip(*taken)]


def calls(given: argparse.Namespace) -> int:
    """Print what single calls cost."""
    table = []
    cases = [
        (line, n) for n in map(int, given.calls.split(",")) for line in CALLS.strip().split("\n")
    ]
    cases += [(line, 0) for line in ROWS.strip().split("\n")]
    made: dict[int, list[dict[str, Any]]] = {}
    for line, n in cases:
        if given.words and not any(word in line for word in given.words):
            continue
        if n not in made:
            plain = small_arrays(n or 10)
            made = {n: [operands(np, n or 10, plain) for np in (numpy, atoll)]}
        numpys, atolls = cost_of(line, made[n], given.rounds)
        table.append(
            {"line": line, "n": n, "numpy": numpys, "atoll": atolls, "more": atolls - numpys}
        )
        if not given.json and atolls - numpys > given.above:
            print(
                f"{n or 'rows':>6} {numpys:9.3f} {atolls:9.3f} {atolls - numpys:+8.3f}  {line}",
                flush=True,
            )
    if given.json:
        print(json.dumps({"calls": table}))
    else:
        dear = sum(each["more"] > (0.1 if each["n"] else 0.2) for each in table)  # type: ignore[operator]
        print(f"{len(table)} calls, {dear} cost more than 0.1 us (on rows 0.2 us) beyond NumPy's")
    return 0


def main() -> int:
    """Measure what the command line asks for; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "words", nargs="*", help="expressions that contain one of these; all by default"
    )
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--below", type=float, default=float("inf"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--calls", help="measure single calls on arrays of so many elements")
    parser.add_argument("--above", type=float, default=-float("inf"), help="microseconds")
    given = parser.parse_args()
    if given.calls:
        warnings.simplefilter("ignore")
        given.rounds = 1 if given.smoke else given.rounds
        return calls(given)
    n, rounds = (10_000, 1) if given.smoke else (given.n, given.rounds)
    plain = arrays(n)
    theirs = {"np": numpy, "n": n, **plain}
    failures = 0
    table = []
    warnings.simplefilter("ignore")
    with atoll.config(small=0 if given.smoke else atoll.config.small):
        ours = {"np": atoll, "n": n, **{name: atoll.array(value) for name, value in plain.items()}}
        for line in lines(given.words, n):
            found = measured(line, theirs, ours, rounds)
            table.append(found)
            failures += bool(found["wrong"])
            if not given.json and (found["wrong"] or found["ratio"] < given.below):
                print(
                    f"{found['ratio']:8.2f}  {found['numpy'] * 1e3:9.3f} ms {found['atoll'] * 1e3:9.3f} ms  "
                    f"{line}" + (f"  WRONG: {found['wrong']}" if found["wrong"] else ""),
                    flush=True,
                )
    if given.json:
        print(json.dumps({"n": n, "functions": table}))
    else:
        slow = sum(found["ratio"] < 0.95 for found in table)
        print(
            f"{len(table)} expressions on {n} elements, {slow} below 0.95 of NumPy, {failures} wrong"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
