"""The pages of the site that code writes, at each build, into the folder ``docs/generated``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import files

DOCS = Path(__file__).resolve().parents[1]


def of_the_repository(name: str) -> str:
    """A page that stands beside the folder of the site, with its links as they are seen from here."""
    text = (DOCS.parent / name).read_text()
    text = re.sub(r"\]\(docs/(generated/)?", lambda match: "](" + ("" if match[1] else "../"), text)
    return re.sub(r"\]\((?:CHANGELOG|SECURITY|CONTRIBUTING)\.md\)", lambda m: m[0].lower(), text)


def generated() -> dict[str, str]:
    """The text of each page, by its path in the folder of generated pages."""
    beside = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    return {
        **{name.lower(): of_the_repository(name) for name in beside},
        "files.md": files.page(),
    }


def write() -> None:
    """Write all pages anew."""
    folder = DOCS / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in generated().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
