"""Search for loops whose turns atoll gets wrong: ``python -m tests.engine.irregular_loops 0:200 [turns] [medium]``.

A function of random lines runs turn after turn, in NumPy and in atoll, so that its plans are met again. Now and then a line is left out, another array stays referred to, an error ends the turn, the rules for
floating-point errors or the settings change, memory is shown and written through, or another thread looks.
"""

from __future__ import annotations

import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy

import atoll
from atoll import policy

from .campaign import campaign


class Stop(Exception):
    """Ends a turn in the middle."""


COMBINED = [
    "(E + E)", "(E - E)", "(E * E)", "(E OP E)", "(E OP NUMBER)", "(E / NUMBER)", "(NUMBER OP E)", "np.FUNCTION(E)",
    "((E)**2)", "np.where(E > 0.1, E, NUMBER)",
]  # fmt: skip
GRAMMAR = {
    "ARRAY": ["a", "b", "c"],
    "NUMBER": ["x", "x", "0.5", "0.25", "2", "k", "-1.0"],
    "OP": ["+", "-", "*"],
    "FUNCTION": ["sin", "abs", "negative", "tanh"],
    "FOLD": ["sum", "max", "min"],
    "INDEX": ["0", "1", "2", "3"],
    "REGION": ["1:-1, 1:-1", ":-2, 1:-1", "2:, 1:-1", "1:-1, :-2", "1:-1, 2:"],
    "BORDER": ["0, :", ":, 0", "-1, :", "1:-1, 1:-1", "2:, 1:-1"],
    "INNER": ["NAME[REGION]"] * 6 + [re.sub(r"\bE\b", "INNER", text) for text in COMBINED],
    "WHOLE": ["NAME"] * 5 + [re.sub(r"\bE\b", "WHOLE", text) for text in COMBINED],
    "LINE": [
        "t = WHOLE", "v = WHOLE", *["ARRAY = np.tanh(WHOLE)"] * 3, "old = NAME.copy()",
        *["NAME[1:-1, 1:-1] = INNER * 0.25"] * 4, "NAME[1:-1, 1:-1] += INNER", "NAME[1:-1, 1:-1] *= NUMBER",
        "NAME OP= NUMBER", "NAME OP= 0.1 * NAME", "NAME[BORDER] = NUMBER",
        "out.append(float(WHOLE.FOLD()))", "out.append(float(INNER.FOLD()))",
        "out.append(float(np.dot(NAME.ravel(), NAME.ravel())))", "out.append(float(NAME[INDEX, INDEX]))",
        "r = NAME.sum(axis=0); out.append(float(r[1]))", "r = NAME.sum(axis=1); out.append(float(r[1]))",
        "NAME = helper(NAME, NAME, x)", "keep.append(NAME)", "keep.append(NAME[1:-1])", "keep.append(WHOLE)",
        "ARRAY = np.roll(NAME, 1, 0)", "w = NAME[1:-1, 1:-1]; w *= 0.5", "NAME[...] = np.clip(NAME, -3, 3)",
    ],
}  # fmt: skip
"""What each word stands for; ``NAME`` is an array that the function has by then."""

EVENTS = {
    "stop": "raise Stop",
    "element": "array[1, 2] = 0.125",
    "fill": "array.fill(0.375)",
    "export": "exports.append(numpy.asarray(array)); del exports[:-2]",
    "read": "out.append(float(numpy.asarray(array)[1, 1]))",
    "error": "try: array + numpy.ones(7)\nexcept ValueError: out.append(1.0)",
    "thread": "out.append(in_thread(lambda: float(array[1, 1]) + float((array * 2.0).sum())))",
    "mean": "out.append(float(np.mean(array)))",
    "view": "view = array[2:5]; view[:] = 0.0625",
    "explanation": "if hasattr(np, 'explain'): str(np.explain(array))",
}
"""What may happen in the middle of an odd turn."""


def expand(dice, text, names, depth=0):
    """Replace each word of the grammar by one of its meanings, deep down by the first."""

    def meaning(word):
        if word[0] == "NAME":
            return dice.choice(names)
        choices = GRAMMAR[word[0]]
        return expand(dice, choices[0] if depth > 3 else dice.choice(choices), names, depth + 1)

    return re.sub("[A-Z]{2,}", meaning, text)


def program(dice):
    """The text of a function, and the number of lines that may be left out."""
    names = ["a", "b", "c"]
    lines = ["def helper(p, q, x):", "    return np.tanh(p * x + q)"]
    lines += ["def turn(np, a, b, c, x, k, out, keep, on, odd):", "  try:"]
    count = dice.randint(4, 14)
    for place in range(count):
        text = expand(dice, "LINE", names)
        new = re.match(r"(t|v|old) = ", text)
        if new and new[1] not in names:
            names.append(new[1])
        lines.append(f"    {text if new else f'if on[{place}]: {text}'}")
        lines.append(f"    if odd == {place}: event(np, {dice.choice(names)}, out)")
    lines += ["    out.append(float(a.sum()))"] if dice.random() < 0.6 else []
    lines += ["  except Stop: pass", "  return a, b, c"]
    return "\n".join(lines), count


def in_thread(work):
    """What another thread finds."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


class Contestant:
    """A program in NumPy or in atoll: its arrays, and what it keeps of earlier turns."""

    def __init__(self, module, text, start):
        self.module, self.start = module, start
        self.names = {"np": module, "Stop": Stop, "event": self.happen}
        self.exports = []
        self.event = ""
        exec(compile(text, "<turns>", "exec"), self.names)
        self.begin()

    def begin(self):
        """Take the arrays of the start again."""
        self.arrays = [self.module.array(each) for each in self.start]
        self.kept = []

    def happen(self, np, array, out):
        names = {"np": np, "numpy": numpy, "Stop": Stop, "in_thread": in_thread}
        exec(EVENTS[self.event], names | {"array": array, "out": out, "exports": self.exports})

    def turn(self, *given):
        """The numbers that a turn finds, and the name of an error that ends it."""
        x, k, on, odd = given
        out = []
        try:
            self.arrays = list(
                self.names["turn"](self.module, *self.arrays, x, k, out, self.kept, on, odd)
            )
        except UnboundLocalError as error:
            return out, type(error).__name__
        return out, ""


def alike(ours, theirs):
    return numpy.allclose(ours, theirs, rtol=1e-9, atol=1e-11, equal_nan=True)


def run(seed, turns):
    """Run a program; what went wrong, or ``None``."""
    dice = random.Random(seed)
    text, count = program(dice)
    n = 66 if "medium" in sys.argv else dice.choice([8, 12, 60, 70])
    shape = (n, n + dice.randrange(2))
    start = [numpy.random.default_rng(seed + k).uniform(-1, 1, shape) for k in range(3)]
    theirs, ours = both = [Contestant(module, text, start) for module in (numpy, atoll)]
    small = dice.choice([0, 0, 50]) if n < 50 else dice.choice([0, 1000])
    if "medium" in sys.argv:
        small = policy.limits.small
    with numpy.errstate(all="ignore"), atoll.config(small=small):
        for number in range(turns):
            calm = dice.random() < 0.75 or number < 12
            on = [calm or dice.random() < 0.8 for _ in range(count)]
            odd = -1 if calm or dice.random() < 0.5 else dice.randrange(count)
            event, forget = dice.choice([*EVENTS]), dice.random() < 0.6
            x, k = dice.uniform(-1, 1), dice.randrange(3)
            rules = dice.choice(["ignore", "warn"]) if dice.random() < 0.05 else None
            found = []
            for one in both:
                one.event = event
                if forget:
                    one.kept.clear()
                with nullcontext() if rules is None else numpy.errstate(over=rules):
                    found.append(one.turn(x, k, on, odd))
            where = f"turn {number} ({event} at {odd})"
            (right, ended), (out, end) = found
            if end != ended or len(out) != len(right) or not alike(out, right):
                return f"{where}: {found[1]} instead of {found[0]}\n{text}"
            if dice.random() < 0.1 or number == turns - 1:
                pairs = zip([*ours.arrays, *ours.kept], [*theirs.arrays, *theirs.kept], strict=True)
                if not all(alike(numpy.asarray(mine), other) for mine, other in pairs):
                    return f"{where}: an array differs\n{text}"
            if not all(numpy.abs(each).max() < 1000 for each in theirs.arrays):  # NaN, too
                ours.begin()
                theirs.begin()
    return None


if __name__ == "__main__":
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    campaign(sys.argv[1], lambda seed: run(seed, turns))
