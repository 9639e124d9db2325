"""The notebooks of the examples as pages, with the outputs that they hold."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
NOTEBOOKS = {f"notebook_{path.stem}.md": path for path in sorted(FOLDER.glob("*.ipynb"))}
"""The notebook of each page."""


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _error(output: dict[str, Any]) -> str:
    trace = "\n".join(output.get("traceback", [])) or output.get("evalue", "")
    return re.sub(r"\x1b\[[\d;]*m", "", trace)


def _images(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    cells = json.loads(path.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = [output["data"] for output in outputs if "image/png" in output.get("data", {})]
    for number, data in enumerate(shown):
        yield f"{path.stem}_{number}.png", data


def page(path: Path) -> str:
    """A notebook as Markdown."""
    images = iter([name for name, _ in _images(path)])
    lines: list[str] = []
    for cell in json.loads(path.read_text())["cells"]:
        source = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [re.sub(r"\]\((\w+)\.ipynb\)", r"](notebook_\1.md)", source), ""]
            continue
        language = "text" if source.startswith("%") else "python"
        lines += [f"```{language}", source, "```", ""]
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                lines += [f"![Output of the cell]({next(images)})", ""]
            elif "text/html" in data:
                html = _joined(data["text/html"])
                lines += ["```{raw} html", f'<div class="cell-output">{html}</div>', "```", ""]
            else:
                text = _joined(output.get("text") or data.get("text/plain") or _error(output))
                lines += ["```text", text.rstrip(), "```", ""]
    lines += [f"The notebook is `examples/notebooks/{path.name}` in the repository.", ""]
    return "\n".join(lines)


def draw(folder: Path) -> None:
    """Write the images of the notebooks."""
    for path in NOTEBOOKS.values():
        for name, data in _images(path):
            (folder / name).write_bytes(base64.b64decode(_joined(data["image/png"])))
