"""Describes arrays to MPI: memory, count and datatype.

All data is sent as bytes: a contiguous array directly, one of long runs by a derived datatype, built once per shape and
strides, and any other through a packed copy, because NumPy gathers scattered elements faster than MPI.

The module mpi4py.MPI is an argument here: only ``mpi`` imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..context.caches import Recent
from ..errors import CommunicationError
from .communicator import PLAIN, Array

Message = tuple[Any, int, Any]

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
        """A strided ``array`` if MPI can write into it directly, or else a packed array to unpack."""
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


def words_of(error: Any) -> str:
    """MPI's error text, without the trace of its functions that MPICH appends."""
    text: str = error.Get_error_string()
    return text.partition(", error stack")[0]


def post_error(operation: str, error: Any) -> CommunicationError:
    """The error to raise if MPI refuses to post an operation."""
    return CommunicationError(f"MPI refuses the {operation}: {words_of(error)}")
