"""The pages of the site that code writes, at each build, into the folder ``docs/generated``."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import api
import gallery
import measured
import notebooks
import numpy_table
import scaling
import source_files

DOCS = Path(__file__).resolve().parents[1]


def of_the_repository(name: str) -> str:
    """A page that stands beside the folder of the site, with its links as they are seen from here."""
    text = (DOCS.parent / name).read_text()
    text = re.sub(r"\]\(docs/(generated/)?", lambda match: "](" + ("" if match[1] else "../"), text)
    return re.sub(r"\]\((?:CHANGELOG|SECURITY|CONTRIBUTING)\.md\)", lambda m: m[0].lower(), text)


BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
GENERATED: dict[str, Callable[[], str]] = {
    **{name.lower(): functools.partial(of_the_repository, name) for name in BESIDE},
    "files.md": source_files.page,
    "numpy.md": numpy_table.page,
    "api.md": api.page,
    "gallery.md": gallery.page,
    "measured.md": measured.page,
    "scaling.md": scaling.page,
    **{name: functools.partial(notebooks.page, path) for name, path in notebooks.NOTEBOOKS.items()},
}
"""What writes each page, by its path in the folder of generated pages."""


def write() -> None:
    """Write all pages and draw all pictures."""
    folder = DOCS / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, text_of in GENERATED.items():
        (folder / path).write_text(text_of())
    for drawn in (gallery, measured, notebooks, scaling):
        drawn.draw(folder)
