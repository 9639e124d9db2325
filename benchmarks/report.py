"""What ``users.py`` has measured, as lines, means, and the table and the picture of the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from plot import write_plot
from user_programs import CLASSES, PROGRAMS, SIZES

DOCS = Path(__file__).resolve().parent.parent / "docs" / "contributors"
NAMES = ("atoll", "jax", "numba")
Row = dict[str, Any]
HEAD = (
    f"{'program':18}{'n':>9} {'threads':>7}{'NumPy ms':>10}{'times':>8}{'wall':>8}{'first s':>9} "
    f"{'jax':>8}{'numba':>8}"
)


def trouble(row: Row) -> str:
    """What is wrong with atoll or refused by it; nothing where all is well. Peers may refuse."""
    ours = row["contestants"].get("atoll", {})
    for name in ("numpy", "atoll"):
        if name in row["refused"]:
            return f"{name}: {row['refused'][name]}"
    return f"WRONG: {ours['wrong']}" if ours.get("wrong") else ""


def slower_first(row: Row) -> float:
    """How many seconds longer than NumPy atoll takes in its first turn; 0 where it has had none."""
    lanes = row["contestants"]
    return lanes["atoll"]["first"] - lanes["numpy"]["first"] if "atoll" in lanes else 0.0


def line(row: Row) -> str:
    """A measurement for people to read."""
    lanes = row["contestants"]
    base, ours = lanes.get("numpy"), lanes.get("atoll")

    def cell(value: float | None, width: int, digits: int = 2) -> str:
        return " " * width if value is None else f"{value:{width}.{digits}f}"

    said = f"{row['program']:18}{row['n']:>9} {row['threads'] or '':>7}{cell(base and base['cpu'] * 1e3, 10)}"
    said += cell(ours and ours["ratio"], 8) + cell(ours and ours["ratio_wall"], 8)
    said += cell(slower_first(row), 9) + (">" if row["ended"] else " ")
    for name in NAMES[1:]:
        said += cell(lanes.get(name, {}).get("ratio"), 8)
    notes = [
        trouble(row),
        *[f"{name}: {why}" for name, why in row["refused"].items() if name in NAMES[1:]],
    ]
    notes += [
        f"{name}: {lanes[name]['wrong']}" for name in NAMES[1:] if lanes.get(name, {}).get("wrong")
    ]
    return (said + "  " + "; ".join(filter(None, notes))).rstrip()


def _mean(ratios: list[float]) -> str:
    return f"{geometric_mean(ratios):.2f} of {len(ratios)}" if ratios else "-"


def better_peer(row: Row) -> float | None:
    """The better of the peers that have taken part, relative to NumPy, and were right."""
    lanes = row["contestants"]
    ratios = [
        lanes[name]["ratio"] for name in NAMES[1:] if name in lanes and not lanes[name]["wrong"]
    ]
    return max(ratios) if ratios else None


def means(table: list[Row]) -> list[str]:
    """Geometric means of the ratios to NumPy, by classes, and against the better of the peers."""
    said = []
    for threads in dict.fromkeys(row["threads"] for row in table):
        mine = [r for r in table if r["threads"] == threads and "atoll" in r["contestants"]]
        ratio = "ratio" if threads < 2 else "ratio_wall"
        on = f" on {threads} threads" if threads > 1 else ""

        def of(rows: list[Row], ratio: str = ratio) -> str:
            return _mean([row["contestants"]["atoll"][ratio] for row in rows])

        for kind in CLASSES:
            rows = [row for row in mine if PROGRAMS[row["program"]].kind == kind]
            if rows and len(rows) < len(mine):
                said.append(f"{kind + on:34}{of(rows)}")
        said.append(f"{'all' + on:34}{of(mine)}")
        slow = sum(row["contestants"]["atoll"][ratio] < 0.95 for row in mine)
        said.append(f"{'below 0.95' + on:34}{slow} of {len(mine)}")
        for text, rows in (
            ("against the better peer", mine),
            (
                "the same, array expressions",
                [r for r in mine if PROGRAMS[r["program"]].expressions],
            ),
        ):
            pairs = [(row["contestants"]["atoll"]["ratio"], better_peer(row)) for row in rows]
            said.append(f"{text + on:34}{_mean([a / b for a, b in pairs if b])}")
    return said


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 0.95 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def markdown(kept: dict[str, Any]) -> str:
    """The table of all programs against all peers."""
    table: list[Row] = kept["rows"]
    by = {(row["program"], row["size"], row["threads"]): row for row in table}
    counts = sorted({row["threads"] for row in table})
    sizes = [size for size in SIZES[1:] if any(row["size"] == size for row in table)]
    said = [
        f"{kept['machine']}.",
        "Speed relative to NumPy in the same process: processor time on one thread, the clock on more. Figures are for the sizes",
        f"{', '.join(sizes)}; `-` is not measured or not translated, `!` a wrong result or an error. The last column is the first turn.",
        "",
        "| geometric means | |",
        "|---|---|",
        *[f"| {text[:34].strip()} | {text[34:]} |" for text in means(table)],
        "",
    ]
    heads = ["program", *[f"atoll, {count} thread{'s' if count > 1 else ''}" for count in counts]]
    heads += ["JAX", "Numba", "first run, s more"]
    said += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]

    def cell(name: str, contestant: str, count: int) -> str:
        shown = []
        for size in sizes:
            row = by.get((name, size, count))
            facts = row["contestants"].get(contestant) if row else None
            bad = bool(row) and (
                trouble(row) if contestant == "atoll" else facts and facts["wrong"]
            )
            figure = "-" if facts is None else _short(facts["ratio" if count < 2 else "ratio_wall"])
            shown.append("!" if bad else figure)
        return " / ".join(shown) if set(shown) != {"-"} else "-"

    for kind in CLASSES:
        names = [name for name, program in PROGRAMS.items() if program.kind == kind]
        names = [name for name in names if any(row["program"] == name for row in table)]
        if names:
            said.append(f"| *{kind}* |" + " |" * (len(heads) - 1))
        for name in names:
            cells = [f"`{name}`", *[cell(name, "atoll", count) for count in counts]]
            cells += [cell(name, peer, counts[0]) for peer in NAMES[1:]]
            first = [slower_first(row) for row in table if row["program"] == name]
            cells.append(f"{max(first):.1f}" if any(first) else "-")
            said.append(f"| {' | '.join(cells)} |")
    return "\n".join(said)


def picture(path: Path, kept: dict[str, Any]) -> None:
    """Draw the largest size of each program that was measured on one thread."""
    best: dict[str, Row] = {}
    for row in kept["rows"]:
        if (
            row["threads"] == min(r["threads"] for r in kept["rows"])
            and "atoll" in row["contestants"]
        ):
            last = best.get(row["program"])
            if last is None or SIZES.index(row["size"]) > SIZES.index(last["size"]):
                best[row["program"]] = row
    write_plot(path, [best[name] for name in PROGRAMS if name in best])


def write(table: list[Row], machine: str) -> None:
    """Put new measurements in place of old ones; the site is made from them."""
    file = DOCS / "benchmarks.json"
    kept = json.loads(file.read_text()) if file.exists() else {"rows": []}
    rows = {(row["program"], row["size"], row["threads"]): row for row in kept["rows"]}
    for row in table:
        rows[row["program"], row["size"], row["threads"]] = _rounded(row)
    ordered = [
        row
        for name in PROGRAMS
        for row in sorted(
            (row for row in rows.values() if row["program"] == name),
            key=lambda row: (SIZES.index(row["size"]), row["threads"]),
        )
    ]
    kept = {"machine": machine, "rows": ordered}
    lines = ",\n".join(json.dumps(row) for row in ordered)
    file.write_text(f'{{"machine": {json.dumps(machine)}, "rows": [\n{lines}\n]}}\n')


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return float(f"{value:.3g}") if isinstance(value, float) else value
