"""The page with the curves of ``atoll.model``: programs on machines that nobody here has, drawn at each build of the site."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

PAPER = (1, 8, 32, 128, 512, 1024, 2048)
LARGE = (64, 512, 4096, 20_000, 100_000)
COLOURS = {
    "memory": "#0b6e6e",
    "arithmetic": "#6a9f3a",
    "python": "#c2602a",
    "latency": "#7a5aa6",
    "network": "#b03060",
}
SHARE = 2000
"""The rows and columns of one rank's square where the work of a rank stays the same."""


def page() -> str:
    """The whole page."""
    return """# Scaling, modelled

[`np.model`](../guide/scaling.md) has drawn these curves, from dry runs and from the numbers of machines in `atoll/modelling/machines.py`.
The colour of a point is what bounds the step.

![Times of a step by the number of ranks](scaling.svg)

On the left `laplace.py` of GAiN's paper, for which the paper's figure 8 shows scaling up to 2,048 cores of the cluster chinook, four in each node;
in the middle the same to 100,000 ranks of a cluster with InfiniBand; on the right programs whose arrays grow with the number of ranks: a
flat line is perfect. Each step has a sum over all ranks. `python docs/generate/scaling.py PATH` draws the picture alone.
"""


def _grown(step: Callable[[int], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    """A program whose square grows with the number of ranks."""
    import atoll

    def program() -> Iterator[Any]:
        yield from step(round(SHARE * atoll.world.size**0.5))

    return program


def _fixed(step: Callable[[int], Iterator[Any]], n: int) -> Callable[[], Iterator[Any]]:
    def program() -> Iterator[Any]:
        yield from step(n)

    return program


def draw(folder: Path) -> None:
    """Draw the picture of the page."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import model

    import atoll

    laplace, cg = model.laplace, model.cg
    panels = (
        ("laplace, chinook", "chinook", PAPER, {f"N = {n:,}": _fixed(laplace, n) for n in (10_000, 100_000)}),
        ("laplace, infiniband", "infiniband", LARGE, {f"N = {n:,}": _fixed(laplace, n) for n in (10_000, 100_000)}),
        (
            f"{SHARE} x {SHARE} elements a rank, infiniband", "infiniband", LARGE[:4],
            {"laplace": _grown(laplace), "cg": _grown(cg)},
        ),
    )  # fmt: skip
    figure, axes = plt.subplots(1, len(panels), figsize=(13, 4.2), layout="constrained")
    for ax, (title, machine, ranks, programs) in zip(axes, panels, strict=True):
        for name, program in programs.items():
            estimates = atoll.model(program, ranks, machine)
            seconds = [each.seconds for each in estimates]
            (line,) = ax.loglog(ranks, seconds, "-", color="#999999", linewidth=1)
            ax.scatter(ranks, seconds, c=[COLOURS[each.bound] for each in estimates], zorder=3)
            ax.annotate(name, (ranks[0], seconds[0]), textcoords="offset points", xytext=(8, 6))
            if title.startswith("laplace"):
                ax.loglog(
                    ranks, [seconds[0] * ranks[0] / r for r in ranks], ":", color=line.get_color()
                )
        ax.set_title(title)
        ax.set_xlabel("ranks")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds of a step")
    marks = [
        plt.Line2D([], [], marker="o", linestyle="", color=c, label=part)
        for part, c in COLOURS.items()
    ]
    axes[-1].legend(handles=marks, title="bound by", fontsize="small")
    figure.savefig(folder / "scaling.svg")
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
