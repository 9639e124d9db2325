"""Search for programs that atoll gets wrong: ``python -m tests.engine.search 0:5000 [ranks] [word ...]``.

With a number of ranks, or two that it lies between (``2-16``), programs run on simulated ranks that take turns in an order of the
program's own; under ``mpiexec``, on real ones. On one, plans that have moved are compared with those made anew
(``plan/proof.py``). A program that fails is cut down by leaving lines out, and printed. Words choose the statements:

- ``nested``: operands are views of views, and index arrays and masks on other ranks (``nested_statements.py``)
- ``loops``: lines run again and again, over rows and elements too, with a ``config.small`` of a few elements (``loop_statements.py``)
- ``local``: the same, and some ranks look where others do not (``local_statements.py``)
- ``masked``: arrays of one shape are assigned under masks, through views and by fields (``masked_statements.py``)

and how they run:

- ``kernels``: by kernels in place of NumPy
- ``medium``: small arrays, of which those of more than a few elements are recorded, and computed by NumPy's loops or by programs
- ``cache_loss``: caches drop entries at random, and each rank collects its garbage at times of its own (``cache_loss.py``)
- ``small_limits``: limits are as small as the arrays (``small_limits.py``)
"""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback

import atoll
from atoll import policy
from atoll.comm import simulated

from ..plan import proof
from . import (
    cache_loss,
    comparison,
    local_statements,
    loop_statements,
    masked_statements,
    nested_statements,
    random_layouts,
    small_limits,
    statements,
)
from .campaign import campaign
from .program import replay

KINDS = {
    "nested": nested_statements.NestedStatements,
    "loops": loop_statements.LoopStatements,
    "local": local_statements.LocalStatements,
    "masked": masked_statements.MaskedStatements,
}


class Late(BaseException):
    """A program that does not end."""


def late(*_):
    raise Late


def small_of(program):
    """Up to how many elements an array is small."""
    if "medium" in sys.argv:
        return policy.limits.small
    return (
        random.Random(program.seed).choice(loop_statements.SMALL)
        if {"loops", "local"} & {*sys.argv}
        else 0
    )


def recorded(program):
    """Run a program some times, with arrays of medium size recorded: by programs at once, from the third turn or so on, and never."""
    for planned in (0.0, 4_000.0, 1e12):
        with policy.limited(short=3, planned=planned, pending=max(300, int(planned))):
            comparison.check(program, policy.limits.small)


def run(program, ranks):
    """What is wrong with a program, or nothing."""
    small = small_of(program)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(200)
    try:
        if ranks > 1:
            waiting = program.seed % 3 == 1
            simulated.run(
                ranks, comparison.check, program, small, seed=program.seed, rendezvous=waiting
            )
        elif "medium" in sys.argv:
            recorded(program)
        elif "kernels" in sys.argv or atoll.world.size > 1:
            comparison.check(program, small)
        else:
            with atoll.config(debug=True), proof.proving():
                comparison.check(program, small)
    except Late:
        return "hangs:\n" + program.text() + traceback.format_exc()[-3000:]
    except Exception as error:
        place = traceback.format_exception(error.__cause__ or error)
        if error.__cause__ is None and isinstance(error, AssertionError):
            place = [""]
        text = "" if isinstance(error, AssertionError) else "\n" + program.text()
        return f"{type(error).__name__}: {error}{text}\n" + "".join(place)[-1800:]
    finally:
        signal.alarm(0)
    return None


def cut_down(program, ranks):
    """The same trouble with as few lines as possible."""
    texts = [line.text for line in program.lines]
    wrong = run(program, ranks)
    k = len(texts) - 1
    while k >= 0:
        fewer = texts[:k] + texts[k + 1 :]
        trial = replay(program.seed, program.start, fewer)
        if not any(line.error is NameError for line in trial.lines):
            found = run(trial, ranks)
            if found:
                texts, program, wrong = fewer, trial, found
        k -= 1
    for name in list(program.start):
        start = {k: v for k, v in program.start.items() if k != name}
        trial = replay(program.seed, start, texts)
        if not any(line.error is NameError for line in trial.lines):
            found = run(trial, ranks)
            if found:
                program, wrong = trial, found
    return wrong


def among(text):
    """The least and the largest number of ranks that ``5`` or ``2-16`` says."""
    least, _, most = text.partition("-")
    return int(least), int(most or least)


def main():
    least, most = among(sys.argv[2] if len(sys.argv) > 2 else "1")
    first = int(sys.argv[1].split(":")[0])
    real = atoll.world.size > 1
    if "kernels" not in sys.argv:
        atoll.config.backend = "numpy"
    if "small_limits" in sys.argv:
        print(small_limits.tighten(first))
    if "cache_loss" in sys.argv:
        cache_loss.begin(first + 1000 * atoll.world.rank)
    kind = next((KINDS[word] for word in sys.argv if word in KINDS), statements.Statements)

    def wrong(seed):
        ranks = random.Random(seed).randint(least, most)
        spread = ranks > 1 or real
        program = statements.draw(seed, 14, exports=not spread, ranks=spread, kind=kind)
        found = run(program, ranks)
        if found and real:
            print(f"rank {atoll.world.rank}", found, flush=True)
            os._exit(1)
        if not found:
            return None
        report = [f"on {ranks} ranks, small: {small_of(program)}"]
        report += [cut_down(program, ranks) or f"only once: {found}"]
        for name, data in program.start.items():
            drawn = random.Random(comparison.layout_seed(program, name))
            layout = random_layouts.random_layout(drawn, data.shape, ranks)
            report += [f"{name} lies as {layout}"]
        return "\n".join(report)

    campaign(sys.argv[1], wrong)


if __name__ == "__main__":
    main()
