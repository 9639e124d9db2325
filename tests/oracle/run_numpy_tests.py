"""NumPy's own tests with atoll in NumPy's place: how many pass, and which do not.

``python tests/oracle/run_numpy_tests.py [--small N] [file ...] [pytest options]`` copies the
test files that are installed with NumPy to a temporary folder, lets ``np`` be atoll in them, and
runs each in a process of its own. Helpers such as ``numpy.testing`` stay NumPy's. The plugin in
``outcomes.py`` gives every test a limit of its own, so one that hangs is one failure.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy

HERE = Path(__file__).parent
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
    "_core/tests/test_getlimits.py",
    "_core/tests/test_item_selection.py",
    "_core/tests/test_einsum.py",
    "_core/tests/test_conversion_utils.py",
    "_core/tests/test_records.py",
    "_core/tests/test_array_coercion.py",
    "_core/tests/test_overrides.py",
    "_core/tests/test_dlpack.py",
    "_core/tests/test_arraymethod.py",
    "_core/tests/test_scalarmath.py",
    "lib/tests/test_index_tricks.py",
    "lib/tests/test_arraysetops.py",
    "lib/tests/test_histograms.py",
    "lib/tests/test_arraypad.py",
    "lib/tests/test_stride_tricks.py",
    "lib/tests/test_type_check.py",
    "lib/tests/test_ufunclike.py",
    "linalg/tests/test_linalg.py",
    "fft/tests/test_pocketfft.py",
    "ma/tests/test_core.py",
    "ma/tests/test_extras.py",
    "random/tests/test_random.py",
    "random/tests/test_generator_mt19937.py",
)
LEFT_OUT = (
    "test_sort_degraded",  # writes a million single elements, each of them alone
    "test_huge_list_error",  # passes a list of 2**31 arrays, which we search through
    "test_extension_incref_elide",  # casts a Python object to a C struct without a question
    "test_xerbla_override",  # forks, and hands C functions of LAPACK an array of ours in the child
    "test_count_nonzero_all",  # a million calls, each of them alone
)
LIMIT = 1800
"""Seconds that one file may take."""
MARKERS = ("slow", "leaks_references", "thread_unsafe", "parametrize_dtype", "xslow")


@dataclass(slots=True)
class Outcomes:
    """How the tests of one file ended."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    output: str = ""
    complete: bool = True

    @property
    def rate(self) -> str:
        """A line of the table."""
        good, total = len(self.passed), len(self.passed) + len(self.failed)
        cut = "" if self.complete else "  (did not come to its end)"
        return f"{good:6} of {total:6}  {100 * good / max(total, 1):5.1f} %{cut}"


def with_atoll(text: str) -> str:
    """The text of a test file, with atoll as its ``np``."""
    text = re.sub(r"^import numpy as np$", "import atoll as np", text, flags=re.M)
    text = text.replace(
        "np._core.umath.__dict__.values()", "[getattr(np, name) for name in dir(np)]"
    )
    return re.sub(
        r"^from numpy(\.testing|\.random|\.linalg|) import",
        r"from atoll\1 import",
        text,
        flags=re.M,
    )


def run(
    name: str, *, small: int = 0, options: tuple[str, ...] = (), limit: float = LIMIT
) -> Outcomes:
    """Run one of NumPy's test files."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        markers = "".join(f"    {marker}\n" for marker in MARKERS)
        (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n{markers}")
        source = Path(numpy.__file__).parent / name
        target = folder / f"{name.split('/')[0].strip('_')}_{source.name}"
        target.write_text(with_atoll(source.read_text()))
        found = folder / "outcomes.txt"
        found.touch()
        path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {
            "ATOLL_SMALL": str(small), "ORACLE_OUTCOMES": str(found), "PYTHONPATH": path,
        }  # fmt: skip
        command = [
            sys.executable, "-m", "pytest", str(target), "-q", "--rootdir", str(folder), "--tb=short",
            "-p", "outcomes", "-p", "no:cacheprovider", "-p", "no:randomly",
            "-W", "ignore::atoll.errors.FallbackWarning",
            "-k", " and ".join(f"not {left_out}" for left_out in LEFT_OUT), *options,
        ]  # fmt: skip
        outcomes = Outcomes()
        try:
            done = subprocess.run(
                command, env=environment, cwd=folder, capture_output=True, text=True, timeout=limit
            )
            outcomes.output = done.stdout + done.stderr
            outcomes.complete = done.returncode in (0, 1)
        except subprocess.TimeoutExpired as expired:
            outcomes.output = str(expired.stdout)
            outcomes.complete = False
        _read(found.read_text().splitlines(), outcomes)
    return outcomes


def _read(lines: list[str], outcomes: Outcomes) -> None:
    begun = ""
    for line in lines:
        word, _, name = line.partition(" ")
        if word == "begun":
            begun = name
        else:
            begun = ""
            {"passed": outcomes.passed, "failed": outcomes.failed}.get(word, set()).add(name)
    outcomes.passed -= outcomes.failed
    if begun and not outcomes.complete:  # it took the process with it
        outcomes.failed.add(begun)


def main() -> int:
    """Run the files and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--small", type=int, default=0, help="the threshold below which arrays stay NumPy's"
    )
    parser.add_argument("--log", type=Path, help="a folder for what pytest wrote")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a file may take")
    parser.add_argument("files", nargs="*", default=FILES)
    known, options = parser.parse_known_args()
    passed = total = 0
    for file in known.files or FILES:
        outcomes = run(file, small=known.small, options=tuple(options), limit=known.limit)
        passed += len(outcomes.passed)
        total += len(outcomes.passed) + len(outcomes.failed)
        print(f"{file:40} {outcomes.rate}", flush=True)
        if known.log:
            known.log.mkdir(exist_ok=True)
            failed = "".join(f"{name}\n" for name in sorted(outcomes.failed))
            stem = file.replace("/", "_")
            (known.log / f"{stem}.txt").write_text(outcomes.output)
            (known.log / f"{stem}.failed").write_text(failed)
    print(f"{'together':40} {passed:6} of {total:6}  {100 * passed / max(total, 1):5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
