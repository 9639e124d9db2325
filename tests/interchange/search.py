"""Search for descriptions that atoll does not refuse by name: ``python -m tests.interchange.search 0:5000 [protocol] [action]``.

The cases are those of ``random_descriptions.py``, one for each number; the words are ``distarray`` or ``partitioned``, and an action such as ``from``,
``check`` or ``command``. A process of its own does them, with a limit of memory and a time for each. A case that crashes or hangs
ends that process, and the next process goes on behind it. Prints what was wrong, and counts.
"""

from __future__ import annotations

import collections
import faulthandler
import random
import resource
import subprocess
import sys
import traceback

MEMORY = 3 << 30
"""Bytes of address space that a process may have."""
SECONDS = 60
"""Seconds that a case may take."""
GOOD = {"array", "checked", "refused"}


def work(first: int, last: int, words: list[str]) -> None:
    """Do the cases in this process: each prints its number, and then its outcome or what was wrong."""
    from . import random_descriptions

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = sys.stdout
    for seed in range(first, last):
        # not while Python's own warnings of objects that refuse to end are shown
        sys.unraisablehook = lambda _: None
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        print(seed, end=" ", file=out, flush=True)
        case = random_descriptions.drawn(random.Random(seed), *words)
        try:
            said = random_descriptions.outcome(case)
        except BaseException as error:
            kind = "no memory" if isinstance(error, MemoryError) else "foreign"
            text = f"{case.protocol} {case.action} on {case.size}\n{traceback.format_exc()[-3000:]}"
            said = f"{kind}: {text!r}"
        print(said, file=out, flush=True)


def search(first: int, last: int, words: list[str], show=print) -> collections.Counter[str]:
    """Do the cases from one number to another; how often each outcome came."""
    counts: collections.Counter[str] = collections.Counter()
    while first < last:
        command = [sys.executable, "-W", "ignore", "-m", __spec__.name, "work", f"{first}:{last}"]
        done = subprocess.run([*command, *words], capture_output=True, encoding="utf-8")
        for line in done.stdout.splitlines():
            number, _, said = line.partition(" ")
            first = int(number) + 1
            kind = said.partition(":")[0] or "end of the process"
            counts[kind] += 1
            if kind not in GOOD:
                show(f"case {number}: {said or done.stderr[-3000:]}")
        assert done.stdout, done.stderr
    return counts


def main(words: list[str]) -> int:
    """What the command line asks for."""
    if not words:
        print(__doc__)
        return 2
    is_worker = words[0] == "work"
    seeds, *words = words[is_worker:]
    first, last = map(int, seeds.split(":"))
    if is_worker:
        work(first, last, words)
        return 0
    counts = search(first, last, words)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return int(bool(set(counts) - GOOD))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
