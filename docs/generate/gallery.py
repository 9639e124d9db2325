"""The gallery: the examples with pictures of what they compute, drawn at each build of the site."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TITLES = {"kmeans": "k-means", "gray_scott": "Gray and Scott", "laplace": "Laplace's equation", "ising": "Ising model",
    "fractal": "Mandelbrot set", "options": "Option prices", "distarray_exchange": "Distributed Array Protocol",
    "partitioned_exchange": "Partitions", "dask_exchange": "Dask", "onesided/mandelbrot": "Mandelbrot set, by tasks",
    "onesided/ghosts": "Ghost cells", "onesided/matmul": "Matrix product", "onesided/srumma": "Matrix product, SRUMMA",
    "onesided/pi": "Pi", "onesided/transpose": "Transpose"}  # fmt: skip
Drawing = Callable[[dict[str, Any], Any], None]


def _field(ax: Any, values: Any, **options: Any) -> None:
    ax.imshow(numpy.asarray(values), origin="lower", **options)
    ax.set_axis_off()


def laplace(names: dict[str, Any], ax: Any) -> None:
    u, dx, dy = names["start"](200)
    for _ in range(4000):
        names["advance"](u, dx, dy)
    _field(ax, u, cmap="coolwarm")


def conjugate_gradient(names: dict[str, Any], ax: Any) -> None:
    _field(ax, names["solve"](names["heat_source"](200))[0], cmap="inferno")


def shallow_water(names: dict[str, Any], ax: Any) -> None:
    _field(ax, names["simulate"](400, 300)[0], cmap="Blues_r")


def gray_scott(names: dict[str, Any], ax: Any) -> None:
    _field(ax, names["simulate"](256, 6000)[1], cmap="viridis")


def fractal(names: dict[str, Any], ax: Any) -> None:
    _field(ax, names["escape"](names["plane"](500), 80), cmap="magma")


def ising(names: dict[str, Any], ax: Any) -> None:
    spins, black, generator = names["start"](256)
    for _ in range(60):
        names["sweep"](spins, black, 0.45, generator)
    _field(ax, spins, cmap="gray")


def kmeans(names: dict[str, Any], ax: Any) -> None:
    points = names["clouds"](4000, 7)
    centers, labels, *_ = names["cluster"](points, 7)
    x, y = numpy.asarray(points).T
    ax.scatter(x, y, s=2, c=numpy.asarray(labels), cmap="tab10")
    ax.plot(*numpy.asarray(centers).T, "k+", markersize=14)
    ax.set_aspect("equal")
    ax.set_axis_off()


def options(names: dict[str, Any], ax: Any) -> None:
    spot, strike, years = names["market"](200_000)
    call = numpy.asarray(names["prices"](spot, strike, years)[0])
    ax.hexbin(numpy.asarray(spot / strike), call, gridsize=60, bins="log", cmap="cividis")
    ax.set_xlabel("spot / strike")
    ax.set_ylabel("price of the call")


PICTURES: tuple[Drawing, ...] = (
    laplace,
    gray_scott,
    shallow_water,
    fractal,
    ising,
    kmeans,
    conjugate_gradient,
    options,
)
WITHOUT = (
    "hello",
    "unstructured_mesh",
    "distarray_exchange",
    "partitioned_exchange",
    "dask_exchange",
    *(f"onesided/{path.stem}" for path in sorted((EXAMPLES / "onesided").glob("*.py"))),
)


def draw(folder: Path) -> None:
    """Run the examples that have a picture, and draw it."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    for picture in PICTURES:
        names = runpy.run_path(str(EXAMPLES / f"{picture.__name__}.py"))
        figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
        picture(names, ax)
        figure.savefig(folder / f"{picture.__name__}.png", dpi=90)
        plt.close(figure)


def _title(name: str) -> str:
    return TITLES.get(name, name.rpartition("/")[2].replace("_", " ").capitalize())


def _about(name: str) -> str:
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text())) or ""
    return " ".join(text.split("\n\n")[0].split())


def page() -> str:
    """The whole page."""
    lines = [
        "# Gallery",
        "",
        "Each example is a NumPy program in one file, and only its import names atoll. `python examples/laplace.py` runs it in one process,",
        "`atoll run -n 2 examples/laplace.py` on two ranks, and `python examples/laplace.py --numpy` with NumPy, to compare.",
        "",
        "::::{grid} 1 2 2 3",
        ":gutter: 3",
        "",
    ]
    names = [picture.__name__ for picture in PICTURES]
    for name in names:
        lines += [
            f":::{{grid-item-card}} {_title(name)}",
            f":img-top: {name}.png",
            f":link: {name}",
            ":link-type: ref",
            _about(name),
            ":::",
        ]
    lines += ["::::", "", "## Programs", ""]
    for name in (*names, *WITHOUT):
        lines += [f"({name})=", f"### {_title(name)}", "", _about(name), ""]
        lines += [f"```{{dropdown}} examples/{name}.py"]
        lines += [f"```{{literalinclude}} ../../examples/{name}.py", ":language: python", "```"]
        lines += ["```", ""]
    return (
        "\n".join(lines)
        .replace("```{dropdown}", "````{dropdown}")
        .replace("```\n```\n", "```\n````\n")
    )
