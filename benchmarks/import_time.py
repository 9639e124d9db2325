"""What ``import atoll`` costs on top of ``import numpy``: at most 60 ms is the promise.

Each measurement is a new process that imports both, one after the other. The median of the
differences is printed.

    python benchmarks/import_time.py [--smoke]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="measure twice only")
    repeats = 2 if parser.parse_args().smoke else 20
    numpy, atoll = zip(*measure(repeats)[1 if repeats > 2 else 0 :])
    print(
        f"import numpy {statistics.median(numpy):.1f} ms, import atoll after it "
        f"{statistics.median(atoll):.1f} ms (median of {len(atoll)}; the promise is {PROMISE:g} ms)"
    )


if __name__ == "__main__":
    main()
