"""Text files: each rank writes its own rows, and reads the lines that begin in its part of the bytes."""

from __future__ import annotations

import inspect
import io
import locale
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import policy
from ..collective import Section, redistributed
from ..collective.movement import even_part
from ..collective.operation import result_layout
from ..comm.world import World, current_world
from ..config import config
from ..context.interrupts import passed_on
from ..layout import BlockAxis, Layout
from ..lazy.agreement import in_step
from ..lazy.fallback import by_numpy
from ..lazy.layouts import laid_out
from ..lazy.sections import of_section, section_of
from ..lazy.views import Handle
from .archive import write_in_turn
from .collective import display, everywhere, on_rank_0, open_file
from .npy import path_of
from .replacement import NewFile
from .transport import outgoing
from .writers import collective_writer

Array = np.ndarray[Any, Any]
PACKED = (".gz", ".bz2", ".xz", ".lzma")
ENCODINGS = (None, "utf-8", "utf8", "latin1", "ascii", "bytes")
"""Encodings in which the byte of a newline is never part of another character."""
SHORTEST = 2
"""Least number of bytes of a number and its separator."""


def _save_parts(
    world: World, path: str, X: Any, fmt: Any = "%.18e", delimiter: str = " ", newline: str = "\n",
    header: str = "", footer: str = "", comments: str = "# ", encoding: Any = None,
) -> Any:  # fmt: skip
    """``np.savetxt`` on all ranks. Collective."""
    if not isinstance(X, Handle) or path.endswith(PACKED) or encoding not in ENCODINGS:
        return NotImplemented
    section = section_of(X, world)
    shape, dtype = section.shape, section.dtype
    columns = 1 if len(shape) < 2 else shape[1]
    if len(shape) not in (1, 2) or dtype.names is not None:
        return NotImplemented
    if columns * dtype.itemsize > policy.limits.held:
        return NotImplemented

    def text(rows: Array, **ends: str) -> bytes:
        stream = io.StringIO(newline="")
        np.savetxt(stream, rows, fmt, delimiter, newline, comments=comments, **ends)
        return stream.getvalue().encode(encoding or locale.getpreferredencoding(False))

    none = np.empty((0, *shape[1:]), dtype)
    with NewFile(world, path, "np.savetxt") as file:
        end = 0

        def add(rows: Array, **ends: str) -> int:
            data = b""
            with file.attempt():
                data = text(rows, **ends)
            return write_in_turn(file, end, data)

        end += add(none, header=header if file.is_first else "")
        for _, data in outgoing(section, ordered=True):
            end += add(data.reshape(-1, *shape[1:]))
        end += add(none, footer=footer if file.is_first else "")
    return None


savetxt = collective_writer(np.savetxt, 0, "fname", parts=_save_parts)


@display("reading")
def loadtxt(
    fname: Any, dtype: Any = float, comments: Any = "#", delimiter: Any = None, converters: Any = None,
    skiprows: int = 0, usecols: Any = None, unpack: bool = False, ndmin: int = 0, encoding: Any = None,
    max_rows: Any = None, *, quotechar: Any = None, like: Any = None, layout: Any = None,
) -> Any:  # fmt: skip
    """Load data from a text file, as ``numpy.loadtxt``.

    On several ranks, each parses the lines that begin in its part of the bytes of a large file. ``layout`` is the layout of
    the result: an :class:`atoll.Layout`, or its maps alone, such as ``"bn"``. With ``layout``, the call is collective.
    """
    options = {
        "dtype": dtype, "comments": comments, "delimiter": delimiter, "converters": converters, "usecols": usecols,
        "encoding": encoding, "quotechar": quotechar,
    }  # fmt: skip
    more = {"skiprows": skiprows, "unpack": unpack, "ndmin": ndmin, "max_rows": max_rows}
    if like is not None:
        more["like"] = like
    whole = max_rows is not None or quotechar is not None or like is not None
    path = _divisible(fname, dtype, encoding, whole, layout)
    parse = partial(np.loadtxt, **options)
    rows = None if path is None else _rows(path, skiprows, parse, dtype, "np.loadtxt")
    if rows is None:
        return laid_out(by_numpy(np.loadtxt, (fname,), options | more), layout)
    return laid_out(_shaped(rows, ndmin, unpack), layout)


@display("reading")
def genfromtxt(
    fname: Any, dtype: Any = float, comments: Any = "#", delimiter: Any = None, skip_header: int = 0,
    skip_footer: int = 0, *args: Any, layout: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Load data from a text file, with missing values handled as specified: see ``numpy.genfromtxt``.

    On several ranks, each parses the lines that begin in its part of the bytes of a large file, unless ``dtype`` is ``None``
    or ``names`` is ``True``. ``layout`` is the layout of the result, as for :func:`loadtxt`.
    """
    parsing = {"dtype": dtype, "comments": comments, "delimiter": delimiter}
    more = {"skip_header": skip_header, "skip_footer": skip_footer}
    changed = [options.get(name) for name in ("max_rows", "usemask", "like")]
    whole = bool(args or skip_footer or any(changed) or options.get("names") is True)
    whole = whole or dtype is None or not options.get("invalid_raise", True)
    path = _divisible(fname, dtype, options.get("encoding"), whole, layout)
    if path is None:
        names = ("fname", "dtype", "comments", "delimiter", "skip_header", "skip_footer")
        values = (fname, dtype, comments, delimiter, skip_header, skip_footer, *args)
        parsing = dict(zip(names[1:], values[1:], strict=True)) if not args else {}
        read = by_numpy(np.genfromtxt, values if args else (fname,), parsing | options)
        return laid_out(read, layout)
    parsing |= {name: value for name, value in options.items() if name not in ("unpack", "ndmin")}
    rows = _rows(path, skip_header, partial(np.genfromtxt, **parsing), dtype, "np.genfromtxt")
    if rows is None:
        return laid_out(by_numpy(np.genfromtxt, (fname,), parsing | more | options), layout)
    return laid_out(_shaped(rows, options.get("ndmin", 0), bool(options.get("unpack"))), layout)


_signature = inspect.signature(np.genfromtxt)
genfromtxt.__dict__["__signature__"] = _signature.replace(
    parameters=[*_signature.parameters.values(), inspect.signature(genfromtxt).parameters["layout"]]
)


def _divisible(file: Any, dtype: Any, encoding: Any, whole: bool, layout: Any) -> str | None:
    """The path of a file that the ranks read in parallel; ``None`` for a file that NumPy reads."""
    world, path = current_world(), path_of(file) if isinstance(file, str | os.PathLike) else None
    kind = np.dtype(dtype)
    fits = path is not None and not whole and not path.endswith(PACKED) and encoding in ENCODINGS
    if not fits or kind.hasobject or not kind.itemsize:
        return None
    if layout is None:
        if world.size == 1:
            return None
        try:
            size = os.stat(path).st_size  # type: ignore[arg-type]
        except OSError as problem:
            passed_on(problem)
            return None  # NumPy raises its own error
        if size < SHORTEST * max(config.everywhere, 1):
            return None
    return path


def _rows(
    path: str, skipped: int, parse: Callable[..., Any], dtype: Any, what: str
) -> Section | None:
    """Read a file into a section distributed by rows, one-dimensional for a structured dtype. ``None`` if empty. Collective."""
    world = current_world()
    if world.size > 1:
        in_step(world, what, path, skipped, str(np.dtype(dtype)))
    blocks: list[Array] = []

    def parse_lines() -> tuple[int, list[tuple[int, ...]]]:
        for offset, data in _pieces(descriptor, start, stop):
            blocks.append(_parsed(parse, data, offset, path))
        blocks[:] = [block for block in blocks if len(block)]
        return sum(map(len, blocks)), sorted({block.shape[1:] for block in blocks})

    with open_file(world.communicator, path, what) as descriptor:
        size = os.fstat(descriptor).st_size
        begin = on_rank_0(
            world.communicator, lambda: _behind_lines(descriptor, size, skipped), what
        )
        start, stop = [begin + part for part in even_part(size - begin, world.size, world.rank)]
        if world.rank:
            start = _next_line(descriptor, start, size)
        if world.rank < world.size - 1:
            stop = _next_line(descriptor, stop, size)
        every = everywhere(world.communicator, what, parse_lines)
    counts = [count for count, _ in every]
    forms = sorted({tuple(form) for _, some in every for form in some})
    if len(forms) > 1:
        raise ValueError(
            f"{path} has rows of different lengths: the numbers of columns are {[form[0] for form in forms]}; "
            "use `usecols` to select a subset and avoid this error"
        )
    if not sum(counts):
        return None
    block = np.concatenate(blocks) if blocks else np.empty((0, *forms[0]), np.dtype(dtype))
    bounds = [0, *np.cumsum(counts).tolist()]
    axes = [BlockAxis(bounds[-1], tuple(bounds)), *[BlockAxis(n, (0, n)) for n in forms[0]]]
    ranks = np.arange(world.size).reshape(-1, *[1] * len(forms[0]))
    return Section(block, Layout.of(axes, world.size, ranks), world.communicator)


def _parsed(parse: Callable[..., Any], data: bytes, offset: int, path: str) -> Array:
    """Parse lines into rows along the first axis."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*(no data|[Ee]mpty input)")
        try:
            rows: Array = np.asarray(parse(io.BytesIO(data), ndmin=2))
        except ValueError as error:
            raise ValueError(
                f"{error} (in {path}, rows and lines counted from byte {offset})"
            ) from error
    if rows.dtype.names is not None:
        return rows.reshape(-1)
    return rows if rows.size else rows[:0]


def _behind_lines(descriptor: int, size: int, count: int) -> int:
    """The byte offset behind the first ``count`` lines."""
    offset = 0
    for _ in range(count):
        if offset >= size:
            break
        offset = _next_line(descriptor, offset + 1, size)
    return offset


def _next_line(descriptor: int, offset: int, size: int) -> int:
    """The byte offset of the first line that begins at or behind ``offset``."""
    if not offset:
        return 0
    offset -= 1
    while offset < size:
        data = os.pread(descriptor, policy.limits.packed, offset)
        end = data.find(b"\n")
        if end >= 0 or not data:
            return offset + end + 1
        offset += len(data)
    return size


def _pieces(descriptor: int, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines of about one buffer each, with their byte offsets."""
    rest, offset = b"", start
    while start < stop:
        data = os.pread(descriptor, min(policy.limits.held, stop - start), start)
        if not data:
            break
        start += len(data)
        end = data.rfind(b"\n") + 1 if start < stop else len(data)
        if end:
            yield offset, rest + data[:end]
            rest, offset = data[end:], start - len(data) + end
        else:
            rest += data
    if rest:
        yield offset, rest


def _shaped(section: Section, ndmin: int, unpack: bool) -> Any:
    """The array of the rows, with the axes that NumPy would return."""
    world = current_world()
    shape = section.shape
    result = of_section(redistributed(section, result_layout(shape, world.size)), world)
    if len(shape) > 1 and ndmin < 2 and 1 in shape:
        squeezed = tuple([n for n in shape if n > 1])
        result = result.reshape(squeezed if len(squeezed) >= ndmin else (1,) * ndmin)
    elif len(shape) == 1 and ndmin == 2:
        result = result.reshape(-1, 1)
    elif shape == (1,) and not ndmin:
        result = result.reshape(())
    if unpack and section.dtype.names is not None:
        return [result[name] for name in section.dtype.names]
    return result.T if unpack else result
