"""Describes arrays to MPI: memory, count and datatype, and the operation of a reduction.

All data is sent as bytes: a contiguous array directly, one of long runs by a derived datatype, built once per shape and
strides, and any other through a packed copy, because NumPy gathers scattered elements faster than MPI. Reductions use
MPI's operations where these do what NumPy's ufunc does, and otherwise user-defined ones that call the ufunc.

The module mpi4py.MPI is an argument here: only ``mpi`` imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..context.caches import Recent
from ..errors import CommunicationError
from .communicator import PLAIN, UFUNCS, Array

Message = tuple[Any, int, Any]
Native = tuple[Any, Any]

LONG_RUN = 2048
"""From this many contiguous bytes on, MPI traverses strides faster than NumPy packs them."""


def _free(datatype: Any) -> None:
    if datatype is not None:
        datatype.Free()


class Datatypes:
    """The datatypes of messages. Counts above ``large`` use one large datatype."""

    def __init__(self, mpi: Any, large: int = 2**31 - 1) -> None:
        self.mpi = mpi
        self.large = large
        self._byte = mpi.BYTE
        self._made: Recent[tuple[Any, ...], Any] = Recent("caches_full", _free)

    def message(self, array: Array) -> Message:
        """The elements of ``array`` in C order, as MPI's buffer specification."""
        if array.flags.c_contiguous:
            nbytes = array.nbytes
            if nbytes <= self.large and array.dtype.char in PLAIN:
                return (array, nbytes, self._byte)
            return self.contiguous(array, nbytes)
        datatype = self._strided(array.itemsize, array.shape, array.strides)
        if datatype is None:
            packed = array.copy()
            return self.contiguous(packed, packed.nbytes)
        address = array.__array_interface__["data"][0]
        memory = self.mpi.buffer.fromaddress(address, array.nbytes, not array.flags.writeable)
        return (memory, 1, datatype)

    def contiguous(self, array: Array, nbytes: int) -> Message:
        """``nbytes`` of the memory of ``array``, per rank where a collective has many."""
        # The buffer protocol cannot describe every dtype, but bytes it can.
        memory = array if array.dtype.char in PLAIN else array.reshape(-1).view(np.uint8)
        if nbytes <= self.large:
            return (memory, nbytes, self._byte)
        return (memory, 1, self._many_bytes(nbytes))

    def receivable(self, array: Array) -> Array:
        """``array`` if MPI can write into it directly, or else a packed array to unpack."""
        if array.flags.c_contiguous:
            return array
        datatype = self._strided(array.itemsize, array.shape, array.strides)
        return np.empty(array.shape, array.dtype) if datatype is None else array

    def _remembered(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """A committed datatype, made when it is first used and freed when long not used."""
        try:
            datatype = self._made[key]
            self._made.move_to_end(key)
        except KeyError:
            datatype = self._made[key] = make()
        return datatype

    def _many_bytes(self, nbytes: int) -> Any:
        def make() -> Any:
            chunk = min(1 << 30, self.large)
            chunks, rest = divmod(nbytes, chunk)
            block = self._byte.Create_contiguous(chunk)
            datatype = self.mpi.Datatype.Create_struct(
                [chunks, rest], [0, chunks * chunk], [block, self._byte]
            )
            block.Free()
            return datatype.Commit()

        return self._remembered((nbytes,), make)

    def _strided(self, itemsize: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        """The datatype of these strides, or ``None`` where packing is faster."""

        def make() -> Any:
            axes = [(n, stride) for n, stride in zip(shape, strides) if n > 1]
            run = itemsize
            while axes and axes[-1][1] == run:
                run *= axes.pop()[0]
            if run < LONG_RUN or 0 in shape:
                return None
            if run > self.large:
                datatype = self._many_bytes(run).Dup()
            else:
                datatype = self._byte.Create_contiguous(run)
            for n, stride in reversed(axes):
                inner, datatype = datatype, datatype.Create_hvector(n, 1, stride)
                inner.Free()
            return datatype.Commit()

        return self._remembered((itemsize, shape, strides), make)


class Operations:
    """MPI's datatype and operation for a reduction of a dtype, where it has what is needed."""

    def __init__(self, mpi: Any) -> None:
        self._create = mpi.Op.Create
        self._made: dict[str, Any] = {}
        self._null = mpi.DATATYPE_NULL
        codes = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f", "d", "g", "F", "D"]
        datatypes = [mpi.C_BOOL, mpi.INT8_T, mpi.INT16_T, mpi.INT32_T, mpi.INT64_T]
        datatypes += [mpi.UINT8_T, mpi.UINT16_T, mpi.UINT32_T, mpi.UINT64_T]
        datatypes += [mpi.FLOAT, mpi.DOUBLE, mpi.LONG_DOUBLE]
        datatypes += [mpi.C_FLOAT_COMPLEX, mpi.C_DOUBLE_COMPLEX]
        self._datatypes = {np.dtype(code): datatype for code, datatype in zip(codes, datatypes)}
        inexact = {"sum": mpi.SUM, "prod": mpi.PROD}
        integer = inexact | {"max": mpi.MAX, "min": mpi.MIN, "band": mpi.BAND, "bor": mpi.BOR}
        boolean = dict.fromkeys(("sum", "max", "lor", "bor"), mpi.LOR)
        boolean |= dict.fromkeys(("prod", "min", "land", "band"), mpi.LAND)
        self._operations = {"b": boolean, "i": integer, "u": integer, "f": inexact, "c": inexact}
        self._found: dict[tuple[str, np.dtype[Any]], Native | None] = {}
        self.known = self._found.get
        """The same as :meth:`find`, but ``None`` for entries that do not exist yet."""

    def find(self, op: str, dtype: np.dtype[Any]) -> Native | None:
        """The datatype and the operation, or ``None`` if MPI has none like NumPy's."""
        if (op, dtype) not in self._found:
            self._found[op, dtype] = self._look_up(op, dtype)
        return self._found[op, dtype]

    def _look_up(self, op: str, dtype: np.dtype[Any]) -> Native | None:
        datatype = self._datatypes.get(dtype, self._null)
        if datatype == self._null:
            return None
        if dtype.kind == "f" and op in ("max", "min"):
            return datatype, self._keeping_nan(op)
        operation = self._operations[dtype.kind].get(op)
        return None if operation is None else (datatype, operation)

    def _keeping_nan(self, op: str) -> Any:
        """max or min as NumPy has it: MPI's own may lose NaN, depending on the order of ranks."""
        if op not in self._made:
            ufunc = UFUNCS[op]
            by_size = {np.dtype(code).itemsize: np.dtype(code) for code in "fdg"}

            def reduce(incoming: Any, result: Any, datatype: Any) -> None:
                dtype = by_size[datatype.Get_size()]
                total = np.frombuffer(result, dtype)
                ufunc(np.frombuffer(incoming, dtype), total, out=total)

            self._made[op] = self._create(reduce, commute=True)
        return self._made[op]


def words_of(error: Any) -> str:
    """MPI's error text, without the trace of its functions that MPICH appends."""
    text: str = error.Get_error_string()
    return text.partition(", error stack")[0]


def post_error(operation: str, error: Any) -> CommunicationError:
    """What to raise where MPI takes no operation."""
    return CommunicationError(f"MPI refuses the {operation}: {words_of(error)}")
