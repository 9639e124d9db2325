"""Checks the types of programs that use atoll, with mypy and with pyright, as a user sees them.

    python stubs/check.py [PYTHON]

Every example and every program in ``tests/typed`` passes ``mypy --strict`` and pyright; ``wrong.py`` has an error in each line
that says so. ``PYTHON`` is the interpreter of the environment where atoll is installed; by default this one. A checker that is
not installed is skipped with a line that says so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WRONG = ROOT / "tests" / "typed" / "wrong.py"

Lines = dict[tuple[str, int], str]


def programs() -> list[str]:
    """The files to check, relative to the project."""
    files = [*ROOT.glob("examples/**/*.py"), *ROOT.glob("tests/typed/*.py")]
    return sorted(str(path.relative_to(ROOT)) for path in files)


def by_mypy(command: str, python: str) -> Lines:
    """What mypy reports, by file and line."""
    options = [
        "--strict",
        "--config-file=",
        f"--python-executable={python}",
        "--ignore-missing-imports",
    ]
    done = _run([command, *options, *programs()])
    found = re.findall(r"^(\S+?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode > 1 or done.stderr:
        sys.exit(f"mypy failed:\n{done.stdout}{done.stderr}")
    return {(name, int(line)): text for name, line, text in found}


def by_pyright(command: str, python: str) -> Lines:
    """What pyright reports, by file and line."""
    done = _run([command, "--outputjson", f"--pythonpath={python}", *programs()])
    if done.returncode > 1:
        sys.exit(f"pyright failed:\n{done.stdout}{done.stderr}")
    return {
        (str(Path(entry["file"]).relative_to(ROOT)), entry["range"]["start"]["line"] + 1): entry[
            "message"
        ]
        for entry in json.loads(done.stdout)["generalDiagnostics"]
        if entry.get("rule") != "reportMissingImports"  # of what only some environments have
        and not (entry["severity"] == "warning" and str(WRONG.name) in entry["file"])
    }


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)


def main() -> None:
    """Compare what the checkers report with what they should."""
    python = str(Path(sys.argv[1] if len(sys.argv) > 1 else sys.executable).absolute())
    name = str(WRONG.relative_to(ROOT))
    lines = WRONG.read_text().splitlines()
    expected = {(name, k) for k, line in enumerate(lines, 1) if line.endswith("# error")}
    failed = False
    for checker, check in (("mypy", by_mypy), ("pyright", by_pyright)):
        folders = [str(Path(python).parent), str(Path(sys.executable).parent), None]
        command = next(
            filter(None, (shutil.which(checker, path=folder) for folder in folders)), None
        )
        if command is None or _run([command, "--version"]).returncode:
            print(f"skipped: {checker} is not installed, or does not start")
            continue
        found = check(command, python)
        for place in sorted(found.keys() - expected):
            print(f"{checker}: {place[0]}:{place[1]}: {found[place]}")
        for place in sorted(expected - found.keys()):
            print(f"{checker}: {place[0]}:{place[1]}: should be an error")
        failed |= found.keys() != expected
        print(f"{checker}: {len(programs())} programs, {len(expected)} errors expected")
    sys.exit(failed)


if __name__ == "__main__":
    main()
