"""The ratios to NumPy as a drawing: a line for each program with a dot for each contestant, on a logarithmic scale.

The scale ends where 98% of the dots are. Outliers are triangles at its ends, with their numbers.
"""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2
from pathlib import Path
from typing import Any

LEFT, WIDTH, HEIGHT, TOP = 150, 560, 13, 56
COLORS = {
    "atoll": "#0b6e99", "numexpr": "#c98b2b", "numba": "#7a9e3f", "dask": "#b0564f", "jax": "#8663a5", "heat": "#777777",
}  # fmt: skip


def write_plot(path: Path, table: list[dict[str, Any]]) -> None:
    """Draw the measurements of a benchmark into ``path``."""
    lines = [
        (row["program"], {name: float(who["ratio"]) for name, who in row["contestants"].items()})
        for row in table
    ]
    ratios = sorted([ratio for _, of in lines for name, ratio in of.items() if name != "numpy"])
    ratios = ratios[len(ratios) // 100 : len(ratios) - len(ratios) // 100] or [1.0]
    low = min(-1, floor(log2(ratios[0])))
    high = max(1, ceil(log2(ratios[-1])))
    step = ceil((high - low) / 14)

    def across(ratio: float) -> float:
        return LEFT + WIDTH * (min(max(log2(ratio), low), high) - low) / (high - low)

    bottom = TOP + len(lines) * HEIGHT
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 50}" height="{bottom + 20}" '
        'font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="16" font-size="13">Times faster than NumPy in the same run</text>',
    ]
    taking_part = [name for name in COLORS if any(name in of for _, of in lines)]
    for k, name in enumerate(taking_part):
        x = LEFT + 6 + 80 * k
        drawn.append(f'<circle cx="{x}" cy="28" r="4" fill="{COLORS[name]}"/>')
        drawn.append(f'<text x="{x + 8}" y="32">{name}</text>')
    for power in range(low - low % step, high + 1, step):
        if power < low:
            continue
        x = across(2.0**power)
        color = "#444444" if power == 0 else "#dddddd"
        drawn.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="{color}"/>')  # fmt: skip
        drawn.append(f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{2.0**power:g}</text>')
    for k, (label, of) in enumerate(lines):
        y = TOP + k * HEIGHT + HEIGHT // 2
        drawn.append(f'<text x="{LEFT - 8}" y="{y + 3}" text-anchor="end">{escape(label)}</text>')
        drawn.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#eeeeee"/>')
        for name in reversed(taking_part):
            if name not in of:
                continue
            x, title = across(of[name]), f"{escape(label)}: {name} {of[name]:.2g}"
            if low <= log2(of[name]) <= high:
                shape = f'<circle cx="{x:.1f}" cy="{y}" r="4"'
            else:
                end = 5 if log2(of[name]) > high else -5
                shape = f'<path d="M{x:.1f},{y - 4}v8l{end},-4z"'
                drawn.append(
                    f'<text x="{x + 8:.1f}" y="{y + 3}" font-size="9">{of[name]:.3g}</text>'
                )
            drawn.append(
                f'{shape} fill="{COLORS[name]}"><title>{title}</title></{shape[1:].split()[0]}>'
            )
    drawn.append("</svg>")
    path.write_text("\n".join(drawn) + "\n")
