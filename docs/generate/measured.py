"""The page with all measurements of ``benchmarks/users.py``, and their picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))


def _kept() -> dict[str, object]:
    kept: dict[str, object] = json.loads(
        (ROOT / "docs" / "contributors" / "benchmarks.json").read_text()
    )
    return kept


def page() -> str:
    """The whole page."""
    import report

    return (
        "# Programs of users, measured\n\n"
        "[What the programs are](../contributors/benchmarks.md#programs-of-users).\n\n"
        f"![Times faster than NumPy](measured.svg)\n\n{report.markdown(_kept())}\n"
    )


def draw(folder: Path) -> None:
    """Draw the picture of the page."""
    import report

    report.picture(folder / "measured.svg", _kept())
