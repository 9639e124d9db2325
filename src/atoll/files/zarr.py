"""Zarr stores, version 3: every rank writes whole chunks and reads its own part of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..context.interrupts import passed_on
from ..errors import FileFormatError
from .chunks import Stored, library, load_stored, named_sections, outgoing_boxes
from .collective import display
from .replacement import NewFolder

_zarr = partial(
    library, "zarr", "Zarr stores need zarr 3, which is not installed: pip install 'zarr>=3'"
)


@display("writing")
def save_zarr(
    path: Any, arrays: Any, *, chunks: int | tuple[int, ...] | None = None, **options: Any
) -> None:
    """Write an array, or a group of arrays by name, into a new Zarr store: the folder ``path``. Collective.

    Each rank writes whole chunks. ``chunks`` is their shape (by default zarr chooses it), and ``options`` go to
    ``zarr.create_array``, such as ``compressors=None``. The folder appears under its name when it is whole, and may replace a
    Zarr store.
    """
    zarr = _zarr()
    group = isinstance(arrays, Mapping)
    named: dict[str, Any] = dict(arrays) if group else {"": arrays}
    world, target, sections = named_sections("save_zarr", path, named, chunks)
    with NewFolder(world, target, "save_zarr", "zarr.json") as folder:
        with folder.attempt():
            if folder.is_first:
                if group:
                    zarr.create_group(folder.hidden, zarr_format=3)
                for name, section in sections.items():
                    zarr.create_array(
                        store=folder.hidden, name=name or None, shape=section.shape, dtype=section.dtype,
                        chunks="auto" if chunks is None else chunks, zarr_format=3, **options,
                    )  # fmt: skip
        folder.settle()
        for name, section in sections.items():
            array: Any = None
            with folder.attempt():
                array = zarr.open_array(store=folder.hidden, path=name or None, mode="r+")
            whole = folder.settle() and (array.shards or array.chunks)
            for start, block in outgoing_boxes(section, whole):
                if block.size:
                    with folder.attempt():
                        key = tuple(
                            [slice(s, s + n) for s, n in zip(start, block.shape, strict=True)]
                        )
                        array[key if key else ...] = block


@display("reading")
def load_zarr(path: Any, name: str = "", *, layout: Any = None) -> Any:
    """Read the Zarr array at ``path``, or the array ``name`` of the group there; each rank reads its own part. Collective.

    ``layout`` is the layout of the result, as for :func:`atoll.load`.
    """
    return load_stored("load_zarr", path, name, layout, _zarr(), _stored)


@contextmanager
def _stored(zarr: Any, path: str, name: str) -> Iterator[Stored]:
    try:
        array = zarr.open_array(store=path, path=name or None, mode="r")
    except Exception as error:
        passed_on(error)
        raise FileFormatError(
            f"load_zarr: {path} has no valid Zarr array {name!r}: {type(error).__name__}: {error}"
        ) from error
    if array.dtype.hasobject:
        raise FileFormatError(
            f"load_zarr: {path}/{name} has elements of different lengths, which ranks cannot divide; read them by zarr"
        )
    chunks = array.shards or array.chunks
    yield Stored(array.shape, array.dtype, chunks, None, lambda cut, _: array[cut])
