"""Search for loops whose turns atoll gets wrong: ``python -m tests.engine.turns 0:200 [turns] [medium]``.

A function of random lines runs turn after turn, in NumPy and in atoll, so that its plans are met again. Now and then a line is left out, another array stays referred to, an error ends the turn, the rules for
floating-point errors or the settings change, memory is shown and written through, or another thread looks.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from contextlib import nullcontext

import numpy

import atoll
from atoll import policy


class Stop(Exception):
    """Ends a turn in the middle."""


PINNED = []
REGIONS = ["1:-1, 1:-1", ":-2, 1:-1", "2:, 1:-1", "1:-1, :-2", "1:-1, 2:"]
WHOLE = ["0, :", ":, 0", "-1, :", "1:-1, 1:-1", "2:, 1:-1"]


def number(drawn):
    return drawn.choice(["x", "x", "0.5", "0.25", "2", "k", "-1.0"])


def inner(drawn, names, depth=0):
    """An expression of the inner region."""
    if depth > 2 or drawn.random() < 0.4:
        return f"{drawn.choice(names)}[{drawn.choice(REGIONS)}]"
    return combined(drawn, names, depth, inner)


def whole(drawn, names, depth=0):
    """An expression of whole arrays."""
    if depth > 2 or drawn.random() < 0.35:
        return drawn.choice(names)
    return combined(drawn, names, depth, whole)


def combined(drawn, names, depth, of):
    way = drawn.randrange(9)
    a = of(drawn, names, depth + 1)
    if way < 4:
        return f"({a} {drawn.choice('+-*')} {of(drawn, names, depth + 1)})"
    if way < 6:
        return f"({a} {drawn.choice('+-*/')} {number(drawn)})"
    if way == 6:
        return f"({number(drawn)} {drawn.choice('+-*')} {a})"
    if way == 7:
        return f"np.{drawn.choice(['sin', 'abs', 'negative', 'tanh'])}({a})"
    return (
        f"(({a})**2)"
        if drawn.random() < 0.5
        else f"np.where({a} > 0.1, {of(drawn, names, depth + 1)}, {number(drawn)})"
    )


def line(drawn, names):
    """A random line; it may add a name."""
    way = drawn.randrange(22)
    target = drawn.choice(names)
    if way < 4:
        name = drawn.choice([*names[:3], "t", "v"])
        text = f"{name} = {whole(drawn, names)}"
        if name not in names:
            names.append(name)
        return text if name in ("t", "v") else f"{name} = np.tanh({whole(drawn, names)})"
    if way < 8:
        return f"{target}[1:-1, 1:-1] = {inner(drawn, names)} * 0.25"
    if way < 10:
        return f"{target} {drawn.choice(['+=', '-=', '*='])} {drawn.choice([number(drawn), f'0.1 * {drawn.choice(names)}'])}"
    if way == 10:
        return f"{target}[1:-1, 1:-1] {drawn.choice(['+=', '*='])} {drawn.choice([number(drawn), inner(drawn, names)])}"
    if way == 11:
        return f"{target}[{drawn.choice(WHOLE)}] = {number(drawn)}"
    if way == 12:
        if "old" not in names:
            names.append("old")
        return f"old = {target}.copy()"
    if way < 15:
        return f"out.append(float({drawn.choice([whole, inner])(drawn, names)}.{drawn.choice(['sum', 'max', 'min'])}()))"
    if way == 15:
        return f"out.append(float(np.dot({target}.ravel(), {drawn.choice(names)}.ravel())))"
    if way == 16:
        return f"out.append(float({target}[{drawn.randrange(4)}, {drawn.randrange(4)}]))"
    if way == 17:
        return f"{target} = helper({drawn.choice(names)}, {drawn.choice(names)}, x)"
    if way == 18:
        return f"keep.append({drawn.choice([target, f'{target}[1:-1]', whole(drawn, names)])})"
    if way == 19:
        return f"r = {target}.sum(axis={drawn.randrange(2)}); out.append(float(r[1]))"
    if way == 20:
        return (
            f"{target} = np.roll({target}, 1, 0)"
            if drawn.random() < 0.3
            else f"w = {target}[1:-1, 1:-1]; w *= 0.5"
        )
    return (
        f"{target}[...] = np.clip({target}, -3, 3)"
        if drawn.random() < 0.5
        else f"{target} = np.tanh({target})"
    )


def program(drawn):
    """The text of a function, and how many lines may be left out."""
    names = ["a", "b", "c"]
    lines = ["def helper(p, q, x):", "    h = p * x + q", "    return np.tanh(h)"]
    lines.append("def turn(np, a, b, c, x, k, out, keep, on, odd):")
    lines.append("  try:")
    count = drawn.randint(4, 14)
    for place in range(count):
        text = line(drawn, names)
        fresh = text.split(" ")[0] in ("t", "v", "old") and " = " in text
        guard = "" if fresh else f"if on[{place}]: "
        lines.append(f"    {guard}{text}")
        lines.append(f"    if odd == {place}: odd_one(np, {drawn.choice(names)}, out)")
    lines.append("    out.append(float(a.sum()))" if drawn.random() < 0.6 else "    pass")
    lines.append("  except Stop: pass")
    lines.append("  return a, b, c")
    return "\n".join(lines), count


def odd_one(kind):
    """What happens in an odd turn."""

    def happen(np, array, out):
        if kind == "stop":
            raise Stop
        if kind == "element":
            array[1, 2] = 0.125
        elif kind == "written":
            array.fill(0.375)
        elif kind == "pinned":
            PINNED.append(numpy.asarray(array))
            del PINNED[:-2]
        elif kind == "read":
            out.append(float(numpy.asarray(array)[1, 1]))
        elif kind == "error":
            try:
                array + numpy.ones(7)
            except ValueError:
                out.append(1.0)
        elif kind == "thread":
            found = []
            other = threading.Thread(
                target=lambda: found.append(float(array[1, 1]) + float((array * 2.0).sum()))
            )
            other.start()
            other.join()
            out += found
        elif kind == "gradient":
            out.append(float(np.mean(array)))
        elif kind == "view":
            view = array[2:5]
            view[:] = 0.0625
        elif kind == "explained" and np is atoll:
            str(atoll.explain(array))

    return happen


KINDS = [
    "stop",
    "element",
    "written",
    "pinned",
    "read",
    "error",
    "thread",
    "gradient",
    "view",
    "explained",
]


def alike(ours, theirs):
    return numpy.allclose(ours, theirs, rtol=1e-9, atol=1e-11, equal_nan=True)


def run(seed, turns):
    """Run a program; what went wrong, or ``None``."""
    drawn = random.Random(seed)
    text, count = program(drawn)
    n = 66 if "medium" in sys.argv else drawn.choice([8, 12, 60, 70])
    shape = (n, n + drawn.randrange(2))
    start = [numpy.random.default_rng(seed + k).uniform(-1, 1, shape) for k in range(3)]
    spaces = []
    for module in (numpy, atoll):
        space = {"np": module, "Stop": Stop}
        exec(compile(text, f"<turns {seed}>", "exec"), space)
        spaces.append(space)
    states = [[each.copy() for each in start], [atoll.array(each) for each in start]]
    keeps = [[], []]
    small = drawn.choice([0, 0, 50]) if n < 50 else drawn.choice([0, 1000])
    if "medium" in sys.argv:
        small = policy.limits.small
    with numpy.errstate(all="ignore"), atoll.config(small=small):
        for number_of_turn in range(turns):
            calm = drawn.random() < 0.75 or number_of_turn < 12
            on = [calm or drawn.random() < 0.8 for _ in range(count)]
            odd = -1 if calm or drawn.random() < 0.5 else drawn.randrange(count)
            kind = drawn.choice(KINDS)
            x, k = drawn.uniform(-1, 1), drawn.randrange(3)
            forget = drawn.random() < 0.6
            rules = drawn.choice(["ignore", "warn"]) if drawn.random() < 0.05 else None
            outs = []
            for which, module in enumerate((numpy, atoll)):
                spaces[which]["odd_one"] = odd_one(kind)
                out = []
                if forget:
                    keeps[which].clear()
                turn = spaces[which]["turn"]
                try:
                    with nullcontext() if rules is None else numpy.errstate(over=rules):
                        results = turn(module, *states[which], x, k, out, keeps[which], on, odd)
                        states[which] = list(results)
                except UnboundLocalError as error:
                    out.append(type(error).__name__)
                outs.append(out)
            if [o for o in outs[0] if type(o) is str] != [o for o in outs[1] if type(o) is str]:
                return f"turn {number_of_turn}: {outs}\n{text}"
            if not alike(
                [o for o in outs[1] if type(o) is float], [o for o in outs[0] if type(o) is float]
            ):
                return f"turn {number_of_turn} ({kind} at {odd}): {outs[1]} instead of {outs[0]}\n{text}"
            if drawn.random() < 0.1 or number_of_turn == turns - 1:
                for ours, theirs in [
                    *zip(states[1], states[0], strict=True),
                    *zip(keeps[1], keeps[0], strict=True),
                ]:
                    if not alike(numpy.asarray(ours), theirs):
                        return f"turn {number_of_turn} ({kind} at {odd}): an array differs\n{text}"
            if not all(numpy.abs(each).max() < 1000 for each in states[0]):  # NaN, too
                states = [[each.copy() for each in start], [atoll.array(each) for each in start]]
                keeps = [[], []]
    return None


def main():
    start, stop = map(int, sys.argv[1].split(":"))
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    wrong = 0
    for seed in range(start, stop):
        try:
            found = run(seed, turns)
        except Exception:
            found = traceback.format_exc()
        if found:
            wrong += 1
            print("=" * 80, f"seed {seed}", found, flush=True)
    print(f"{stop - start} programs, {wrong} wrong")


if __name__ == "__main__":
    main()
