"""Import of the ranks' own blocks as one array over the same memory."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..comm.in_step import agree
from ..comm.world import World, world_of
from ..errors import LayoutError
from ..layout import BlockAxis, Layout, UnstructuredAxis
from .protocol import Imported


class Report(NamedTuple):
    """A rank's description of its block, or its error."""

    shape: tuple[int, ...]
    dtype: str
    layout: bytes
    problem: str


def import_local(block: Any, layout: Layout | None = None, *, comm: Any = None) -> Imported:
    """Import each rank's block, with the layout of all blocks. One allgather."""
    world = world_of(comm)
    array, problem = _array(block)
    if layout is not None and not problem:
        problem = _misfit(array, layout, world)
    dtype = array.dtype.str if array.dtype.names is None else str(array.dtype)
    report = Report(array.shape, dtype, _fingerprint(layout), problem)
    reports = agree(world.communicator, report, "from_local()")
    _agree(reports)
    return Imported(array, layout if layout is not None else _joined(reports), world)


def _array(block: Any) -> tuple[npt.NDArray[Any], str]:
    """The block as a plain array over its own memory, or an error text if it has no memory to share."""
    if isinstance(block, np.ndarray):
        return np.asarray(block), ""
    try:
        return np.asarray(memoryview(block)), ""
    except (TypeError, ValueError, BufferError) as error:
        return np.empty(
            0
        ), f"the block is a {type(block).__name__} without memory to share ({error})"


def _fingerprint(layout: object) -> bytes:
    """A digest that is equal on two ranks only if their layouts are equal; empty without a layout."""
    if layout is None:
        return b""
    from hashlib import blake2b  # hashlib loads a large library

    text = blake2b(repr(layout).encode(), digest_size=16)
    if isinstance(layout, Layout):
        for axis in layout.axes:
            if isinstance(axis, UnstructuredAxis):
                for indices in axis.sets:
                    text.update(indices.array().tobytes() + b"|")
    return text.digest()


def _misfit(array: npt.NDArray[Any], layout: Layout, world: World) -> str:
    if not isinstance(layout, Layout):
        return f"layout is a {type(layout).__name__}; it must be an atoll.Layout, as blocks do not say the shape of the whole"
    if layout.processes != world.size:
        return f"the layout is for {layout.processes} ranks, the world has {world.size}"
    expected = layout.padded_shape(world.rank)
    if array.shape != expected:
        return f"the block has shape {array.shape}; the layout asks for {expected} on this rank"
    return ""


def _agree(reports: list[Report]) -> None:
    """Raise the same error on every rank if some block does not fit."""
    wrong = [
        f"rank {rank}: {report.problem}" for rank, report in enumerate(reports) if report.problem
    ]
    model = reports[0]
    if not wrong:
        for rank, report in enumerate(reports[1:], 1):
            if report.dtype != model.dtype:
                wrong.append(
                    f"rank {rank}: dtype is {report.dtype!r}, on rank 0 it is {model.dtype!r}"
                )
            if report.layout != model.layout:
                wrong.append(f"rank {rank}: the layout is not the one of rank 0")
            elif not model.layout and (
                len(report.shape) != len(model.shape) or report.shape[1:] != model.shape[1:]
            ):
                wrong.append(
                    f"rank {rank}: the block has shape {report.shape}, on rank 0 {model.shape}; blocks join "
                    "along axis 0, the other extents must agree"
                )
        if not model.layout and not model.shape and len(reports) > 1:
            wrong.append("the blocks have no axis 0 to join along")
    if wrong:
        raise LayoutError("from_local: " + "; ".join(wrong))


def _joined(reports: list[Report]) -> Layout:
    """The layout of blocks of any length along axis 0, in the order of the ranks."""
    shape = reports[0].shape
    if not shape:
        return Layout.replicated((), 1)
    bounds = (0, *accumulate(report.shape[0] for report in reports))
    axes = [
        BlockAxis(bounds[-1], bounds),
        *(BlockAxis(extent, (0, extent)) for extent in shape[1:]),
    ]
    return Layout.of(
        axes, len(reports), np.arange(len(reports)).reshape(-1, *[1] * (len(shape) - 1))
    )
