"""The ratios to NumPy as a drawing: one bar for each program, on a logarithmic scale."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2
from pathlib import Path
from typing import Any

LEFT, WIDTH, HEIGHT, GAP, TOP = 130, 520, 14, 5, 40
COLORS = {
    "atoll": "#0b6e99", "numexpr": "#c98b2b", "numba": "#7a9e3f", "dask": "#b0564f", "jax": "#8663a5", "heat": "#777777",
}  # fmt: skip


def write_plot(path: Path, table: list[dict[str, Any]]) -> None:
    """Draw what ``suite.py`` found into ``path``."""
    bars = [
        (found["program"] if name == "atoll" else "", name, float(who["ratio"]))
        for found in table
        for name, who in found["contestants"].items()
        if name != "numpy"
    ]
    ratios = [ratio for *_, ratio in bars] or [1.0]
    low = min(-1, floor(log2(min(ratios))))
    high = max(1, ceil(log2(max(ratios))))

    def across(ratio: float) -> float:
        return LEFT + WIDTH * (log2(ratio) - low) / (high - low)

    bottom = TOP + len(bars) * (HEIGHT + GAP)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{bottom + 20}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="16" font-size="13">Times faster than NumPy in the same run</text>',
    ]
    for power in range(low, high + 1):
        x = across(2.0**power)
        color = "#444444" if power == 0 else "#dddddd"
        drawn.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="{color}"/>')  # fmt: skip
        drawn.append(f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{2.0**power:g}</text>')
    for k, (label, name, ratio) in enumerate(bars):
        y = TOP + k * (HEIGHT + GAP)
        start, stop = sorted((across(1.0), across(ratio)))
        drawn.append(f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(label)}</text>')
        drawn.append(
            f'<rect x="{start:.1f}" y="{y}" width="{max(1.0, stop - start):.1f}" height="{HEIGHT}" '
            f'fill="{COLORS[name]}"><title>{escape(name)}</title></rect>'
        )
        said = f"{ratio:.2g}" if name == "atoll" else f"{name} {ratio:.2g}"
        drawn.append(f'<text x="{max(stop, across(1.0)) + 5:.1f}" y="{y + 11}">{said}</text>')
    drawn.append("</svg>")
    path.write_text("\n".join(drawn) + "\n")
