"""The tutorial notebooks run from top to bottom: ``python -m tests.notebook.test_tutorials`` writes their outputs anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for _name in ("ipykernel", "ipyparallel", "matplotlib", "mpi4py"):
    pytest.importorskip(_name)

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """A notebook with the outputs that it has here."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )  # fmt: skip
    client.execute()
    return notebook


def kinds(cell: Any) -> list[str]:
    """What a cell shows: kinds of outputs, and the names of errors."""
    return sorted({output.get("ename", output.output_type) for output in cell.get("outputs", ())})


@pytest.mark.timeout(240)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_shows_what_it_says(path):
    expected = nbformat.read(path, as_version=4)
    for cell, written in zip(executed(path).cells, expected.cells, strict=True):
        assert kinds(cell) == kinds(written), cell.source


def main() -> None:
    """Write the outputs anew."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    main()
