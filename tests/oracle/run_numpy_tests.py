"""NumPy's own tests with atoll in NumPy's place: how many pass.

``python tests/oracle/run_numpy_tests.py [--small N] [file ...] [-- pytest options]`` copies the
test files that are installed with NumPy to a temporary folder, lets ``np`` be atoll in them, and
runs each in a process of its own. Helpers such as ``numpy.testing`` stay NumPy's.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

FILES = (
    "_core/tests/test_indexing.py",
    "_core/tests/test_ufunc.py",
    "_core/tests/test_umath.py",
    "_core/tests/test_multiarray.py",
    "_core/tests/test_numeric.py",
    "_core/tests/test_shape_base.py",
    "lib/tests/test_function_base.py",
    "lib/tests/test_shape_base.py",
    "lib/tests/test_nanfunctions.py",
    "lib/tests/test_twodim_base.py",
)
LEFT_OUT = (
    "test_sort_degraded",  # writes a million single elements, each of them alone
    "test_huge_list_error",  # passes a list of 2**31 arrays, which we search through
    "test_extension_incref_elide",  # casts a Python object to a C struct without a question
    "test_count_nonzero_all",  # a million calls, each of them alone
)
LIMIT = 600
"""Seconds that one file may take."""


def with_atoll(text: str) -> str:
    """The text of a test file, with atoll as its ``np``."""
    text = re.sub(r"^import numpy as np$", "import atoll as np", text, flags=re.M)
    text = text.replace(
        "np._core.umath.__dict__.values()", "[getattr(np, name) for name in dir(np)]"
    )
    text = re.sub(
        r"^(\s*)import numpy\.(_core\.\w+|_core) as (\w+)$",
        r"\1import numpy.\2 as \3",
        text,
        flags=re.M,
    )
    return re.sub(
        r"^from numpy(\.testing|\.random|\.linalg|) import",
        r"from atoll\1 import",
        text,
        flags=re.M,
    )


def run(name: str, folder: Path, small: int, options: list[str]) -> tuple[dict[str, int], str]:
    """Run one file; counts by outcome, and what pytest wrote."""
    source = Path(numpy.__file__).parent / name
    target = folder / f"{name.split('/')[0].strip('_')}_{source.name}"
    target.write_text(with_atoll(source.read_text()))
    environment = {**os.environ, "ATOLL_SMALL": str(small)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(target),
        "-q",
        "-x",
        "--maxfail=100000",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "-p",
        "no:randomly",
        "-W",
        "ignore::atoll.errors.FallbackWarning",
        "--rootdir",
        str(folder),
        "--tb=short",
        "-k",
        " and ".join(f"not {name}" for name in LEFT_OUT),
    ]
    try:
        done = subprocess.run(
            [*command, *options],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        output = done.stdout + done.stderr
    except subprocess.TimeoutExpired as expired:
        output = str(expired.stdout) + "\n1 timeout"
    tail = output.strip().splitlines()[-1] if output.strip() else ""
    counts = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (\w+)", tail)}
    return counts, output


def main() -> int:
    """Run the files and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--small", type=int, default=0, help="the threshold below which arrays stay NumPy's"
    )
    parser.add_argument("--log", type=Path, help="a folder for what pytest wrote")
    parser.add_argument("files", nargs="*", default=FILES)
    known, options = parser.parse_known_args()
    passed = total = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text("")
        (folder / "pytest.ini").write_text(
            "[pytest]\nmarkers =\n    slow\n    leaks_references\n    thread_unsafe\n    parametrize_dtype\n"
        )
        for file in known.files or FILES:
            counts, output = run(file, folder, known.small, options)
            good = counts.get("passed", 0)
            bad = counts.get("failed", 0) + counts.get("error", 0) + counts.get("timeout", 0)
            passed, total = passed + good, total + good + bad
            print(
                f"{file:40} {good:6} of {good + bad:6}  {100 * good / max(good + bad, 1):5.1f} %",
                flush=True,
            )
            if known.log:
                known.log.mkdir(exist_ok=True)
                (known.log / (file.replace("/", "_") + ".txt")).write_text(output)
    print(f"{'together':40} {passed:6} of {total:6}  {100 * passed / max(total, 1):5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
