"""What ``import atoll`` costs on top of ``import numpy``: at most 60 ms is the promise.

Each measurement is a new process that imports both, one after the other. The median of the
differences is printed.

    python benchmarks/import_time.py [--smoke]
    python benchmarks/import_time.py --files 4

With ``--files`` it counts the files that this many ranks of one node open for a program with a kernel, from the first line of
the program on: each rank by itself (``mpiexec``), and under ``atoll run``, where they share (see ``context/node_store.py``).
"""

import argparse
import statistics
import subprocess
import sys

PROMISE = 60.0
PROGRAM = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import atoll
print(1e3 * (middle - start), 1e3 * (time.perf_counter() - middle))
"""


def measure(repeats: int) -> list[tuple[float, float]]:
    """Milliseconds for numpy, and for atoll after it, in each of ``repeats`` processes."""
    found = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
        )
        numpy, atoll = map(float, done.stdout.split())
        found.append((numpy, atoll))
    return found


FILES = """
import sys
opened = []
sys.addaudithook(lambda event, facts: opened.append(str(facts[0])) if event == "open" else None)
import atoll as np
x = np.ones(1_000_000)
float(np.sqrt(x * x + 1).sum())
counts = np.world.communicator.allgather_object(
    [len(opened), sum(path.endswith((".py", ".pyc")) for path in opened)]
)
if np.world.rank == 0:
    print(*map(sum, zip(*counts)))
"""


def count_files(ranks: int) -> None:
    """What the ranks open, together."""
    ways = {
        "mpiexec": ["mpiexec", "-n", str(ranks), sys.executable, "-c", FILES],
        "atoll run": [sys.executable, "-m", "atoll", "run", "-n", str(ranks), "-c", FILES],
    }
    for way, command in ways.items():
        for _ in range(2):  # the first run may write bytecode and kernels
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        files, modules = done.stdout.split()
        print(f"{way}, {ranks} ranks: {files} files opened, {modules} of them Python's")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="measure twice only")
    parser.add_argument("--files", type=int, metavar="RANKS", help="count opened files instead")
    arguments = parser.parse_args()
    if arguments.files:
        count_files(arguments.files)
        return
    repeats = 2 if arguments.smoke else 20
    numpy, atoll = zip(*measure(repeats)[1 if repeats > 2 else 0 :])
    print(
        f"import numpy {statistics.median(numpy):.1f} ms, import atoll after it "
        f"{statistics.median(atoll):.1f} ms (median of {len(atoll)}; the promise is {PROMISE:g} ms)"
    )


if __name__ == "__main__":
    main()
