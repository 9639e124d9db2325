"""The reference of the names that NumPy does not have, from their docstrings."""

from __future__ import annotations

import inspect

from usage import EXAMPLES

import atoll
from atoll import dataflow, errors, graph, layout

SECTIONS = {
    "Arrays on ranks": "world World use Layout Block Cyclic Unstructured Undistributed from_local sync",
    "Files": "checkpoint restore save_hdf5 load_hdf5 save_zarr load_zarr",
    "Inspecting": "explain profile model coverage stats reset_stats config",
    "One-sided access": "onesided distribution tasks copy_between",
    "Exchange with other libraries": "from_distarray to_distarray check_distarray from_partitioned to_partitioned "
    "check_partitioned from_dask to_dask DaskPartitions from_ray to_ray RayPartitions",
}
CLASSES = {
    "One-sided access": [
        "atoll.global_access.onesided.OneSided",
        "atoll.global_access.onesided.Transfer",
    ],
    "Inspecting": [
        "atoll.context.statistics.Statistics",
        "atoll.modelling.Estimate",
        "atoll.modelling.Machine",
    ],
}
"""What the functions of a section return."""

METHODS = "layout local local_padded world redistribute exchange_halos access owns to_numpy"
MODULES = {
    "Graphs: `atoll.dataflow`": (dataflow, ""),
    "Pictures of expressions: `atoll.graph`": (graph, "show"),
    "Layouts: `atoll.layout`": (layout, "transfer needed halo_transfer"),
}
"""Modules with functions of their own: those that are named, or all."""


def _entry(name: str) -> str:
    value = getattr(atoll, name)
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    if name in ("config", "world"):
        kind = "data"
    members = "   :members:\n" if name in ("World", "Layout") else ""
    return f".. auto{kind}:: atoll.{name}\n{members}\n{_example(name)}"


def _example(name: str) -> str:
    """The example of a name, as a part of its entry."""
    lines = "".join(f"      {line}\n" for line in EXAMPLES[name].splitlines())
    return f"   .. code-block:: python\n\n{lines}"


def page() -> str:
    """The whole page."""
    lines = [
        "# atoll's own names",
        "",
        "All names of NumPy's are in `atoll` too, with NumPy's signatures: see [NumPy's reference](https://numpy.org/doc/stable/reference/)",
        "and [how atoll computes them](../reference/numpy.md). These are the others. Functions marked *collective* must be called",
        "by all ranks.",
    ]
    for title, names in SECTIONS.items():
        lines += ["", f"## {title}", "", "```{eval-rst}"]
        lines += [_entry(name) for name in names.split()]
        lines += [f".. autoclass:: {path}\n   :members:\n" for path in CLASSES.get(title, ())]
        lines += ["```"]
    lines += ["", "## Methods and attributes of arrays", "", "```{eval-rst}"]
    for name in METHODS.split():
        member = inspect.getattr_static(atoll.ndarray, name)
        kind = "property" if isinstance(member, property) else "method"
        lines.append(f".. auto{kind}:: atoll.ndarray.{name}\n\n{_example(f'ndarray.{name}')}")
    lines += ["```"]
    for title, (module, names) in MODULES.items():
        lines += ["", f"## {title}", "", "```{eval-rst}"]
        public = names.split() or [
            name
            for name, value in vars(module).items()
            if inspect.isfunction(value) and not name.startswith("_")
        ]
        lines += [f".. autofunction:: {module.__name__}.{name}\n" for name in public]
        lines += ["```"]
    lines += ["", "## Errors", "", "```{eval-rst}"]
    for name, value in vars(errors).items():
        if inspect.isclass(value) and value.__module__ == errors.__name__:
            lines.append(f".. autoexception:: atoll.errors.{name}\n   :show-inheritance:\n")
    lines += ["```", ""]
    return "\n".join(lines)
