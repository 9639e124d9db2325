"""Break one rule after the other in a copy of the source, and run its tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .edits import Stale, apply
from .rules import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300


def failing(copy: Path, tests: tuple[str, ...], **options: str) -> tuple[int, str]:
    """The exit status of pytest, and the line that sums up."""
    paths = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    settings = os.environ | paths | options
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=settings, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return 1, f"did not end in {SECONDS} seconds"
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, (lines or done.stdout.splitlines() or [done.stderr])[-1][:160]


def survives(mutation: Mutation) -> bool:
    """Try one mutation, and print whether its tests fail."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests", "examples", "docs"):
            if (ROOT / name).exists():
                shutil.copytree(
                    ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__")
                )
        shutil.copy(ROOT / "pyproject.toml", copy)
        try:
            for edit in mutation.edits:
                path, text = apply(copy / "src" / "atoll", edit)
                path.write_text(text)
        except Stale as stale:
            print(f"{mutation.rule}\n    STALE: {stale}", flush=True)
            return True
        code, line = failing(copy, mutation.tests)
        if code != 1:  # perhaps nothing has entered the Python that was broken
            code, line = failing(copy, mutation.tests, ATOLL_FRONT="python")
    print(f"{mutation.rule}\n    {'killed by ' + line if code == 1 else f'SURVIVES ({line})'}")
    sys.stdout.flush()
    return code != 1


def main() -> int:
    """Try all mutations, or those whose rules contain any of the words given."""
    words = sys.argv[1:]
    chosen = [m for m in MUTATIONS if not words or any(word in m.rule for word in words)]
    alive = [mutation for mutation in chosen if survives(mutation)]
    print(f"{len(chosen)} mutations, {len(alive)} survive")
    return len(alive)


if __name__ == "__main__":
    sys.exit(main())
