"""Which backend a process has, and that everything works without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy

import atoll as np
from atoll import backend

a = np.arange(100_000.0)
b = np.sqrt(a) + a[::-1]
b[1:-1] = (b[:-2] + b[2:]) / 2
x = numpy.arange(100_000.0)
y = numpy.sqrt(x) + x[::-1]
y[1:-1] = (y[:-2] + y[2:]) / 2
assert abs(float(b.sum()) / y.sum() - 1) < 1e-12
assert b[b > 99_999].size == (numpy.asarray(b) > 99_999).sum()
a[0] = 0.0
assert np.cumsum(a)[-1] == 99_999 * 50_000
print(backend.current().name, "llvmlite.binding" in sys.modules)
"""


def outcome(before: str = "", **settings: str) -> tuple[str, str]:
    program = f"import sys\n{textwrap.dedent(before)}\n{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.slow
def test_the_setting_chooses() -> None:
    assert outcome(ATOLL_BACKEND="llvm")[0] == "llvm True"
    assert outcome(ATOLL_BACKEND="numpy") == ("numpy False", "")


@pytest.mark.parametrize(
    "broken",
    [
        "sys.modules['llvmlite'] = None",
        """
        class Broken:
            def find_spec(self, name, path=None, target=None):
                if name == "llvmlite.binding":
                    raise OSError("libllvmlite.so: cannot open shared object file")

        sys.meta_path.insert(0, Broken())
        """,
    ],
    ids=["missing", "broken"],
)
def test_without_llvmlite_there_is_one_warning(broken: str) -> None:
    name, errors = outcome(broken, ATOLL_BACKEND="llvm")
    assert name == "numpy False"
    assert errors.count("RuntimeWarning") == 1
    assert "llvmlite" in errors


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_sample_of_the_suite_passes_by_numpy() -> None:
    """The whole suite does: ``ATOLL_BACKEND=numpy python -m pytest``."""
    files = (
        "tests/backend/test_nests.py",
        "tests/engine/test_medium_arrays.py",
        "tests/functions/test_positions.py",
        "tests/functions/test_scans.py",
        "tests/functions/test_masks.py",
    )
    assert all((ROOT / file).exists() for file in files)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "--alone", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=os.environ | {"ATOLL_BACKEND": "numpy"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
