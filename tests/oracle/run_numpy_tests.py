"""NumPy's own tests with atoll in NumPy's place: how many pass, and which do not.

``python tests/oracle/run_numpy_tests.py [--small N] [--ranks N] [file ...]`` copies the test
files that are installed with NumPy to a temporary folder, lets their imports of NumPy's public
modules be imports of atoll's, and runs each in a process of its own, with limits of time and
memory. A test that takes the process with it is noted, and another process runs the rest. Only
tests that pass with NumPy itself count. Outcomes are kept by file (``build/numpy-tests``): a run
goes on where the last one ended, begins anew where atoll's source has changed, and runs only
what failed with ``--failed``. What is known to differ is in ``known_differences.txt``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy

HERE = Path(__file__).parent
NUMPY = Path(numpy.__file__).parent
SOURCE = HERE.parents[1] / "src" / "atoll"
KEPT = HERE.parents[1] / "build" / "numpy-tests"

KNOWN = HERE / "known_differences.txt"

FOLDERS = (
    "_core",
    "lib",
    "linalg",
    "fft",
    "ma",
    "random",
    "polynomial",
    "matrixlib",
    "testing",
    "",
)
NOT_OURS = (
    # compilers, SIMD intrinsics and CPU flags: no array of the public namespace comes into it
    "test_cpu_dispatcher", "test_cpu_features", "test_cython", "test_limited_api", "test_mem_policy",
    "test_simd", "test_simd_module", "test_extending", "test_configtool", "test_numpy_config", "test_scripts",
    "test_numpy_version", "test_reloading", "test_lazyloading", "test_warnings", "test_public_api",
    "test_argparse", "test__exceptions", "test_hashtable", "test_extint128", "test__version", "test_direct",
)  # fmt: skip
LEFT_OUT = (
    "test_sort_degraded",  # writes a million single elements, each of them alone
    "test_huge_list_error",  # passes a list of 2**31 arrays, which we search through
    "test_extension_incref_elide",  # casts a Python object to a C struct without a question
    "test_xerbla_override",  # forks, and hands C functions of LAPACK an array of ours in the child
    "test_count_nonzero_all",  # a million calls, each of them alone
    "test_small_regressions",  # counts the references to a dtype, which arrays in the pool have at times
)
LIMIT = 1800
"""Seconds that one file may take."""
MEMORY = 8
"""GB of addresses that a process may have."""


@dataclass(slots=True)
class Outcomes:
    """How the tests of one file ended."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    output: str = ""
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """What runs the tests: NumPy itself, or atoll with some settings, on some ranks."""

    small: int | None = None
    ranks: int = 1
    numpy: bool = False
    limit: float = LIMIT
    memory: float = MEMORY
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A folder's name."""
        if self.numpy:
            return "numpy"
        kind = "default" if self.small is None else f"small{self.small}"
        return kind + (f"-ranks{self.ranks}" if self.ranks > 1 else "")

    def source(self) -> str:
        """A digest of what the outcomes depend on."""
        digest = hashlib.sha256(numpy.__version__.encode())
        for file in () if self.numpy else sorted(SOURCE.rglob("*.py")):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]


def all_files() -> list[str]:
    """NumPy's test files that have to do with us."""
    return [
        str(file.relative_to(NUMPY))
        for folder in FOLDERS
        for file in sorted((NUMPY / folder / "tests").glob("test_*.py"))
        if file.stem not in NOT_OURS
    ]


def with_atoll(text: str) -> str:
    """The text of a test file, whose imports of NumPy's public modules are imports of atoll's."""
    ufuncs = "np._core.umath.__dict__"  # all of them, in NumPy's order, as ours
    text = text.replace(f"{ufuncs}.values()", f"[getattr(np, n, v) for n, v in {ufuncs}.items()]")
    public = r"numpy((?:\.(?!_|tests\b)\w+)*)"  # a private module stays NumPy's
    text = re.sub(rf"^(\s*)from {public} import", r"\1from atoll\2 import", text, flags=re.M)
    text = re.sub(rf"^(\s*)import {public} as", r"\1import atoll\2 as", text, flags=re.M)
    text = re.sub(r"^(\s*)import numpy$", r"\1import atoll as numpy", text, flags=re.M)
    return re.sub(rf"^(\s*)import {public}$", r"\1import atoll\2, atoll as numpy", text, flags=re.M)


def known_differences(way: Way) -> dict[str, set[str]]:
    """By file, the tests that are known to fail in this way: see the head of the list."""
    found: dict[str, set[str]] = {}
    wanted = True
    for line in KNOWN.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            wanted = {"engine": way.small is not None, "ranks": way.ranks > 1}.get(section, True)
        elif wanted and line and not line.startswith("#"):
            file, _, name = line.partition("::")
            found.setdefault(file, set()).add(name)
    return found


def without_parameters(name: str) -> str:
    """A test's name, for all of its parameters."""
    return name.partition("[")[0]


def unknown(failed: set[str], known: set[str]) -> list[str]:
    """The failed tests that are not on the list, by name or for all parameters."""
    return sorted(n for n in failed if n not in known and without_parameters(n) not in known)


def mended(passed: set[str], failed: set[str], known: set[str]) -> list[str]:
    """What is on the list, and passes."""
    names = {without_parameters(n) for n in failed}
    passing = passed | {without_parameters(n) for n in passed}
    return sorted(n for n in known & passing if n not in failed and n not in names)


def read(file: Path) -> Outcomes:
    """The outcomes that were written so far; a test that begun and never ended has failed."""
    found, begun = Outcomes(), ""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        word, _, name = line.partition(" ")
        if word == "begun":
            begun = name
            continue
        begun = ""
        found.complete = found.complete or word == "finished"
        sets = {"passed": found.passed, "failed": found.failed, "skipped": found.skipped}
        sets.get(word, set()).add(name)
    if begun:
        found.failed.add(begun)
    found.passed -= found.failed
    return found


def together(files: list[Path]) -> Outcomes:
    """The outcomes of all ranks: a test passes where it passes on all."""
    outcomes = [read(file) for file in files]
    found = Outcomes(
        failed=set().union(*(o.failed for o in outcomes)),
        skipped=set.intersection(*(o.skipped for o in outcomes)),
    )
    found.passed = set.intersection(*(o.passed for o in outcomes)) - found.failed
    found.complete = all(o.complete for o in outcomes)
    return found


def run(name: str, way: Way, kept: Path | None = None, only: set[str] | None = None) -> Outcomes:
    """Run one of NumPy's test files, in as many processes as it takes.

    ``kept`` is the file with the outcomes of runs before, which are not run again.
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source = NUMPY / name
        (folder / "pytest.ini").write_text(
            "[pytest]\nmarkers =\n    xslow\n    parametrize_dtype\n"
        )
        target = folder / source.name
        text = source.read_text(encoding="utf-8")
        target.write_text(text if way.numpy else with_atoll(text), encoding="utf-8")
        for beside in ("data", "examples"):
            if (source.parent / beside).is_dir():
                shutil.copytree(source.parent / beside, folder / beside)
        found = read(kept) if kept else Outcomes()
        for attempt in range(100):
            again = _run_once(target, way, found, f"{attempt}", only)
            more = len(again.passed | again.failed | again.skipped)
            found.passed |= again.passed
            found.failed |= again.failed
            found.skipped |= again.skipped
            found.output += again.output
            found.complete = again.complete
            if found.complete or not more or "\nout of time\n" in again.output:
                break
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.with_suffix(".log").write_text(found.output, encoding="utf-8", errors="replace")
        lines = [
            f"{word} {n}\n"
            for word in ("passed", "failed", "skipped")
            for n in sorted(getattr(found, word))
        ]
        kept.write_text(
            "".join([f"source {way.source() if found.complete else ''}\n", *lines]),
            encoding="utf-8",
        )
    return found


def _run_once(
    target: Path, way: Way, found: Outcomes, attempt: str, only: set[str] | None
) -> Outcomes:
    folder = target.parent
    written = folder / f"outcomes{attempt}.txt"
    left_out = folder / "left_out.txt"
    left_out.write_text("\n".join([*LEFT_OUT, *found.passed, *found.failed, *found.skipped]))
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {
        "ORACLE_OUTCOMES": str(written), "ORACLE_LEFT_OUT": str(left_out), "PYTHONPATH": path,
        "ATOLL_WAIT_ABORT": "15", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2",
    }  # fmt: skip
    if way.small is not None:
        environment |= {"ATOLL_SMALL": str(way.small)}
    if way.ranks > 1:
        environment |= {"ATOLL_EVERYWHERE": str(way.small or 0)}
    started = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(way.ranks)]
    command = [
        *(started if way.ranks > 1 else ()), sys.executable, "-m", "pytest", str(target), "-q", "--rootdir",
        str(folder), "--tb=short", "-p", "outcomes", "-p", "numpy.conftest", "-p", "no:cacheprovider",
        "-p", "no:randomly", *(() if way.numpy else ("-W", "ignore::atoll.errors.FallbackWarning")), *way.options,
    ]  # fmt: skip
    limit = int(way.memory * 2**30)
    try:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, timeout=way.limit, stdin=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )  # fmt: skip
        output = done.stdout + done.stderr
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"") + b"\nout of time\n"
    ranks = range(way.ranks) if way.ranks > 1 else ()
    again = together([Path(f"{written}.{rank}") for rank in ranks] or [written])
    again.output = output.decode(errors="replace")
    return again


def main() -> int:
    """Run the files and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, help="the threshold below which arrays stay NumPy's")
    parser.add_argument("--ranks", type=int, default=1, help="how many MPI ranks run the tests")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a file may take")
    parser.add_argument("--memory", type=float, default=MEMORY, help="GB that a process may take")
    parser.add_argument("--kept", type=Path, default=KEPT, help="a folder for the outcomes")
    parser.add_argument("--failed", action="store_true", help="run again only what did not pass")
    parser.add_argument("--table", action="store_true", help="run nothing: show what is kept")
    parser.add_argument("files", nargs="*", help="such as _core/tests/test_indexing.py")
    known, options = parser.parse_known_args()
    way = Way(known.small, known.ranks, False, known.limit, known.memory, tuple(options))
    itself = Way(numpy=True, memory=known.memory)
    listed = known_differences(way)
    passed = total = new = 0
    for name in known.files or all_files():
        should, good, failed = _line(name, way, itself, known)
        passed, total = passed + len(good), total + len(should)
        others = unknown(failed, listed.get(name, set()))
        new += len(others)
        for test in sorted({without_parameters(other) for other in others}):
            print(f"    new: {name}::{test}")
        if way.small is not None:
            for test in mended(good, failed, listed.get(name, set())):
                print(f"    take it off the list: {name}::{test}")
    print(f"{'together':42} {_rate(passed, total)}")
    return 1 if new else 0


def _rate(passed: int, total: int) -> str:
    return f"{passed:6} of {total:6}  {100 * passed / max(total, 1):6.2f} %"


def _line(
    name: str, way: Way, itself: Way, known: argparse.Namespace
) -> tuple[set[str], set[str], set[str]]:
    """Run a file where that is needed, and print its line of the table.

    Answers with the tests that pass with NumPy, those of them that pass in this way, and that fail.
    """
    stem = name.replace("/tests/", "-").replace("/", "-") + ".txt"
    paths = [known.kept / numpy.__version__ / each.name / stem for each in (itself, way)]
    for each, kept in zip((itself, way), paths):
        if known.table:
            continue
        first = kept.open().readline().split()[1:] if kept.exists() else []
        fresh = first == [each.source()]
        if known.failed and not each.numpy and kept.exists():
            before = read(kept)
            kept.write_text(
                "".join(
                    f"{word} {n}\n" for word in ("passed", "skipped") for n in getattr(before, word)
                )
            )
        elif fresh:
            continue
        elif first:  # complete, but of another source
            kept.unlink()
        run(name, each, kept)
    should, found = (read(kept).passed for kept in paths)
    good, failed = should & found, should - found
    complete = paths[1].exists() and paths[1].open().readline().split()[1:]
    more = "" if complete else "  (did not come to its end)"
    print(f"{name:42} {_rate(len(good), len(should))}{more}", flush=True)
    return should, good, failed if complete else set()


if __name__ == "__main__":
    sys.exit(main())
