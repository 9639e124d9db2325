"""Zarr stores, version 3: all ranks write one and read it, each its own chunks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..comm.world import current_world
from ..errors import FileFormatError
from ..lazy.creation import asarray
from ..lazy.making import must_travel
from ..lazy.sections import section_of
from ..lazy.spread import in_step
from .chunks import fill_by, outgoing_boxes
from .npy import arrived, empty_block, layout_for, path_of, place_for
from .shown import shown
from .together import NewFolder, agreed, settle


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ImportError(
            "Zarr stores need zarr 3, which is not installed: pip install 'atoll[zarr]'"
        ) from error
    return zarr


@shown("writing")
def save_zarr(
    path: Any, arrays: Any, *, chunks: int | tuple[int, ...] | None = None, **options: Any
) -> None:
    """Write an array, or a group of arrays by name, into a new Zarr store: the folder ``path``. Collective.

    Each rank writes whole chunks. ``chunks`` is their shape (by default zarr chooses it), and ``options`` go to
    ``zarr.create_array``, such as ``compressors=None``. The folder appears under its name when it is whole, and may replace a
    Zarr store.
    """
    zarr, world, target = _zarr(), current_world(), path_of(path)
    if target is None:
        raise TypeError(f"save_zarr: the first argument is {path!r}; it must be a path")
    group = isinstance(arrays, Mapping)
    named: dict[str, Any] = dict(arrays) if group else {"": arrays}
    if world.size > 1:
        in_step(world, "save_zarr", target, list(named.items()), chunks)
    sections = {
        name: section_of(value if hasattr(value, "_cell") else asarray(value), world)
        for name, value in named.items()
    }
    for section in sections.values():
        must_travel(section.dtype)
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


@shown("reading")
def load_zarr(path: Any, name: str = "", *, layout: Any = None) -> Any:
    """Read the Zarr array at ``path``, or the array ``name`` of the group there; each rank reads its own part. Collective.

    ``layout`` says where the array lies, as for :func:`atoll.load`.
    """
    zarr, world, source = _zarr(), current_world(), path_of(path)
    if source is None:
        raise TypeError(f"load_zarr: the first argument is {path!r}; it must be a path")
    if world.size > 1:
        in_step(world, "load_zarr", source, name, repr(layout))
    array, facts, error = None, None, None
    try:
        os.stat(source)
        array = _open(zarr, source, name)
        facts = (array.shape, array.dtype, array.shards or array.chunks)
    except Exception as raised:
        error = raised
    facts = agreed(world.communicator, error, "load_zarr", source, facts)
    assert array is not None
    shape, dtype, chunks = facts
    place = place_for(shape, dtype, layout_for(layout, shape))
    block, inner, region = empty_block(shape, dtype, place)
    try:
        fill_by(lambda cut, _: array[cut], shape, chunks, region, inner)
    except Exception as raised:
        error = FileFormatError(f"{source}/{name} is damaged: {type(raised).__name__}: {raised}")
    settle(world.communicator, error, "load_zarr")
    return arrived(block, shape, place)


def _open(zarr: Any, path: str, name: str) -> Any:
    try:
        array = zarr.open_array(store=path, path=name or None, mode="r")
    except Exception as error:
        raise FileFormatError(
            f"load_zarr: {path} has no valid Zarr array {name!r}: {type(error).__name__}: {error}"
        ) from error
    if array.dtype.hasobject:
        raise FileFormatError(
            f"load_zarr: {path}/{name} has elements of different lengths, which ranks cannot divide; read them by zarr"
        )
    return array
