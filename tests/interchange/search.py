"""Search for descriptions that atoll does not refuse by name: ``python -m tests.interchange.search 0:5000 [protocol] [action]``.

The cases are those of ``mutated.py``, one for each number; the words are ``distarray`` or ``partitioned``, and an action such as ``from``,
``check`` or ``command``. A process of its own does them, with a limit of memory and a time for each: one that crashes, or hangs,
costs that process, and the next one goes on behind it. Prints what was wrong, and counts.
"""

from __future__ import annotations

import collections
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import traceback

MEMORY = 3 << 30
"""How much address space a process may have."""
SECONDS = 20
"""How long a case may take."""


class Late(BaseException):
    """A case that does not end."""


def late(*_):
    raise Late


def limited():
    """Run in the new process, before anything else."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def wrong(what: str | None) -> None:
    """Go wrong as a test of this search wants it to."""
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hang":
        signal.alarm(1)
        signal.pause()
    if what == "no memory":
        bytearray(2 * MEMORY)
    if what == "foreign":
        raise KeyError(what)


def work(first: int, last: int, words: list[str]) -> None:
    """Do the cases, and write a line before and after each."""
    from . import mutated

    signal.signal(signal.SIGALRM, late)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    for seed in range(first, last):
        print(f"begin {seed}", file=out)
        said = ""
        try:
            # not while Python's own warnings of objects that refuse to end are shown
            sys.unraisablehook = lambda _: None
            case = mutated.drawn(random.Random(seed), *words)
            signal.alarm(SECONDS)
            try:
                wrong(os.environ.get("MUTATED_GOES_WRONG"))
                word = mutated.outcome(case)
            finally:
                signal.alarm(0)
        except Late:
            word, said = "hang", traceback.format_exc()[-3000:]
        except BaseException as error:
            word = "no memory" if isinstance(error, MemoryError) else "foreign"
            said = f"{case.protocol} {case.action} on {case.size}\n{traceback.format_exc()[-3000:]}"
        print(f"end {word} {said!r}", file=out)


def search(first: int, last: int, words: list[str], show=print) -> collections.Counter[str]:
    """Do the cases from one number to another; how often each outcome came."""
    counts: collections.Counter[str] = collections.Counter()
    while first < last:
        command = [sys.executable, "-W", "ignore", "-m", __spec__.name if __spec__ else __name__, "work", f"{first}:{last}", *words]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limited)  # fmt: skip
        errors: list[str] = []
        reader = threading.Thread(target=errors.extend, args=(process.stderr,))
        reader.start()
        watch = None
        at = first
        for line in process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "begin":
                at = int(rest)
                watch = threading.Timer(3 * SECONDS, process.kill)
                watch.start()
            elif word == "end":
                watch.cancel()
                for kind in ("array", "checked", "refused", "hang", "no memory", "foreign"):
                    if rest.startswith(kind):
                        break
                counts[kind] += 1
                said = rest[len(kind) :].strip()
                if said != "''":
                    show(
                        f"case {at}: {kind}: "
                        + said[1:-1].encode().decode("unicode_escape", "replace")
                    )
                first = at + 1
        process.wait()
        reader.join()
        if watch is not None:
            watch.cancel()
        if process.returncode and first < last:
            counts["crash"] += 1
            show(
                f"case {at}: the process ended with {process.returncode}\n{''.join(errors)[-2000:]}"
            )
            first = at + 1
    return counts


def main(words: list[str]) -> int:
    """What the command line asks for."""
    if words[:1] == ["work"]:
        first, last = map(int, words[1].split(":"))
        work(first, last, words[2:])
        return 0
    if not words:
        print(__doc__)
        return 2
    first, last = map(int, words[0].split(":"))
    counts = search(first, last, words[1:])
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if set(counts) - {"array", "checked", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
