"""The page that lists all files of the package, with the first sentences of their docstrings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "atoll"
ROOMS = (
    *(
        ".",
        "cli",
        "notebook",
        "dataflow",
        "global_access",
        "functions",
        "functions/linalg",
        "explaining",
        "profiling",
        "modelling",
        "files",
        "lazy",
    ),
    *("interchange", "interchange/distarray", "interchange/partitioned"),
    *(
        "plan",
        "backend",
        "backend/llvm",
        "backend/numpy",
        "collective",
        "execute",
        "exchange",
        "ops",
        "graph",
        "layout",
        "comm",
        "context",
    ),
)
"""In the order of docs/contributors/design.md."""


def about(file: Path) -> str:
    """The first sentence of a file's docstring, as Markdown."""
    words = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.?])\s", " ".join(words.split()))[0].rstrip(".")
    return re.sub(r":\w+:`[~.]*([^`]+)`", r"`\1`", sentence.replace("``", "`"))


def page() -> str:
    """The whole page."""
    lines = [
        "# The files",
        "",
        "What each file of `src/atoll/` is about, in the order of [the rooms](../contributors/design.md#the-rooms). Its docstring says more.",
    ]
    for room in ROOMS:
        title = "The package itself" if room == "." else f"{room}/"
        task = about(PACKAGE / room / "__init__.py")
        lines += ["", f"## {title}", "", f"{task}.", "", "| file | what it is about |", "|---|---|"]
        lines += [
            f"| `{file.name}` | {about(file)} |"
            for file in sorted((PACKAGE / room).glob("*.py"))
            if room == "." or file.name != "__init__.py"
        ]
    return "\n".join(lines) + "\n"
