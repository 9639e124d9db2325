"""The gallery: the examples with pictures of what they compute, drawn at each build of the site."""

from __future__ import annotations

import ast
import contextlib
import runpy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TITLES = {"kmeans": "k-means", "gray_scott": "Gray and Scott", "laplace": "Laplace's equation", "ising": "Ising model",
    "fractal": "Mandelbrot set", "options": "Option prices", "diffusion": "Diffusion, with checkpoints", "onesided/read_increment": "Tickets", "distarray_exchange": "Distributed Array Protocol",
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


def diffusion(names: dict[str, Any], ax: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
        _field(ax, names["simulate"](200, 200, folder), cmap="inferno")


def unstructured_mesh(names: dict[str, Any], ax: Any) -> None:
    places, table = names["mesh"]()
    owner = names["owners"](places, 4)
    for point, near in enumerate(table):
        ends = places[near[near > point]]
        ax.plot(
            *numpy.stack([numpy.broadcast_to(places[point], ends.shape), ends], 1).T,
            "#bbbbbb",
            lw=0.5,
        )
    ax.scatter(*places.T, s=4, c=owner, cmap="tab10", zorder=2)
    ax.set_axis_off()


def ghosts(names: dict[str, Any], ax: Any) -> None:
    _field(
        ax, names["smoothed"](numpy.random.default_rng(3).random((100, 100)), 10), cmap="viridis"
    )


def mandelbrot(names: dict[str, Any], ax: Any) -> None:
    _field(ax, numpy.log1p(numpy.asarray(names["picture"](300, 8, True)[0])), cmap="magma")


def pi(names: dict[str, Any], ax: Any) -> None:
    x = numpy.linspace(0, 1, 200)
    edges = numpy.linspace(0, 1, 17)
    middles = (edges[1:] + edges[:-1]) / 2
    colours = [f"C{k * 4 // 16}" for k in range(16)]
    ax.bar(middles, 4 / (1 + middles**2), width=1 / 16, color=colours, alpha=0.5)
    ax.plot(x, 4 / (1 + x**2), "k")
    ax.set_title(f"area {names['pi'](10_000):.8f}", fontsize=10)


def _blocks(ax: Any, owner: Any, title: str = "") -> None:
    """Who owns which element of an array, for four ranks."""
    owner = numpy.atleast_2d(owner)
    ax.imshow(owner, cmap="tab10", vmin=0, vmax=9, alpha=0.6)
    ax.set_xticks(numpy.arange(owner.shape[1] + 1) - 0.5, [])
    ax.set_yticks(numpy.arange(owner.shape[0] + 1) - 0.5, [])
    ax.grid(color="white")
    for (row, column), rank in numpy.ndenumerate(owner):
        ax.text(column, row, rank, ha="center", va="center", fontsize=8)
    ax.set_title(title, fontsize=10)


def _rows(rows: int, columns: int) -> Any:
    return numpy.repeat(numpy.arange(rows) * 4 // rows, columns).reshape(rows, columns)


def _tiles(n: int) -> Any:
    half = numpy.arange(n) * 2 // n
    return half[:, None] * 2 + half


def hello(names: dict[str, Any], ax: Any) -> None:
    _blocks(ax, _rows(8, 8), "two rows on each of four ranks")


def distarray_exchange(names: dict[str, Any], ax: Any) -> None:
    _blocks(ax, _rows(8, 5), "slabs of rows")


def partitioned_exchange(names: dict[str, Any], ax: Any) -> None:
    _blocks(ax, numpy.repeat([0, 1, 1, 2, 2, 3, 3], 4).reshape(7, 4), "strips of rows")


def dask_exchange(names: dict[str, Any], ax: Any) -> None:
    _blocks(ax, _tiles(8), "chunks of Dask, by their ranks")


def transpose(names: dict[str, Any], ax: Any) -> None:
    _blocks(
        ax,
        numpy.stack([_rows(12, 1)[:, 0], _rows(12, 1)[::-1, 0]]),
        "owners before, and of what arrives",
    )


def matmul(names: dict[str, Any], ax: Any) -> None:
    _blocks(ax, _tiles(6), "each rank computes its block of the product")


def srumma(names: dict[str, Any], ax: Any) -> None:
    _blocks(
        ax, (_tiles(8) + numpy.arange(8) // 2) % 4, "panels of a factor, in the order of their use"
    )


def read_increment(names: dict[str, Any], ax: Any) -> None:
    _blocks(
        ax,
        numpy.random.default_rng(2).integers(0, 4, (6, 8)),
        "48 tickets, by the rank that drew them",
    )


PICTURES: tuple[Drawing, ...] = (
    laplace,
    gray_scott,
    shallow_water,
    fractal,
    ising,
    kmeans,
    conjugate_gradient,
    options,
    diffusion,
    unstructured_mesh,
    hello,
    distarray_exchange,
    partitioned_exchange,
    dask_exchange,
    ghosts,
    mandelbrot,
    matmul,
    pi,
    read_increment,
    srumma,
    transpose,
)
NOT_RUN = {"hello", "distarray_exchange", "partitioned_exchange", "dask_exchange"}
"""Programs whose module is the program itself: their pictures show what they exchange, and they are not run."""


def _name(picture: Drawing) -> str:
    """The path of the example of a picture, without its suffix."""
    name = picture.__name__
    return name if (EXAMPLES / f"{name}.py").exists() else f"onesided/{name}"


def draw(folder: Path) -> None:
    """Draw what the examples compute, or how it is divided."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    for picture in PICTURES:
        path = EXAMPLES / f"{_name(picture)}.py"
        names = {} if picture.__name__ in NOT_RUN else runpy.run_path(str(path))
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
    names = [_name(picture) for picture in PICTURES]
    for name in names:
        lines += [
            f":::{{grid-item-card}} {_title(name)}",
            f":img-top: {name.rpartition('/')[2]}.png",
            f":link: {name}",
            ":link-type: ref",
            _about(name),
            ":::",
        ]
    lines += ["::::", "", "## Programs", ""]
    for name in names:
        lines += [f"({name})=", f"### {_title(name)}", "", _about(name), ""]
        lines += [f"```{{dropdown}} examples/{name}.py"]
        lines += [f"```{{literalinclude}} ../../examples/{name}.py", ":language: python", "```"]
        lines += ["```", ""]
    return (
        "\n".join(lines)
        .replace("```{dropdown}", "````{dropdown}")
        .replace("```\n```\n", "```\n````\n")
    )
