"""``atoll.onesided``: get, put, accumulate and atomic operations on any part of an array, from any rank at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np

from ..comm.communicator import Request
from ..comm.windows import MUTEX, Target
from ..comm.world import World
from ..context.call_sites import site_text, user_site
from ..errors import AtollError, LayoutIndexError, a_type
from ..layout import Layout
from ..lazy.agreement import place_of
from ..lazy.views import Handle
from .placement import Placed
from .regions import Blocks, Key, Part, Region, of_block, parts_of, read_region

Array = np.ndarray[Any, Any]

OPERATIONS: dict[str, Callable[..., Any] | None] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "replace": None,
}
"""NumPy function of each operation of ``accumulate``; ``None`` replaces the elements."""


_PLAIN = (None, np.add, np.minimum, np.maximum)
"""Functions whose result has the dtype of two operands of the same numeric dtype."""


_FITTING = {(int, "i"), (int, "u"), (float, "f")}
"""Pairs of a Python number type and a dtype kind that the numbers do not promote."""


class Transfer:
    """A get or put that may not be complete yet."""

    __slots__ = ("_finish", "_requests", "_result")

    def __init__(
        self, requests: Sequence[Request], finish: Callable[[], None], result: Array | None
    ) -> None:
        self._requests = list(requests)
        self._finish: Callable[[], None] | None = finish
        self._result = result

    def test(self) -> bool:
        """True if the operation is complete; never waits."""
        if all(request.test() for request in self._requests):
            self.wait()
            return True
        return False

    def wait(self) -> Any:
        """Wait until the operation is complete. Returns the elements of a get, ``None`` for a put."""
        for request in self._requests:
            request.wait()
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return self._result


class OneSided:
    """An array that is open to one-sided operations: see :func:`onesided`."""

    def __init__(self, array: Handle) -> None:
        self._what = f"onesided() at {site_text(user_site())}"
        self._placed = Placed(array)
        self._window = self._placed.window
        self._window.what = self._what
        self._blocks: list[Array | None] = self._placed.blocks
        self._short = Blocks.of(self._placed.layout, self._blocks)
        self._open = True
        self.layout: Layout = self._placed.layout
        """The layout of the array, which maps elements to their owners."""
        self.world: World = self._placed.world
        """The ranks that have opened the array."""
        self.shape = self.layout.shape
        self.dtype = self._placed.dtype

    # -- opening and closing

    def __enter__(self) -> OneSided:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._open:
            self._open = False
            self._placed.release()

    def close(self) -> None:
        """End one-sided access, after all operations of all ranks. Collective."""
        if not self._open:
            return
        self.fence()
        if self.layout.copies > 1 or self.layout.overlaps:
            self._update_copies()
        self._open = False
        self._placed.assign()
        self._placed.release()
        self._window.close()

    def _update_copies(self) -> None:
        """Update this rank's copies of elements that other ranks own."""
        if self.layout.coordinates(self.world.rank) is not None:
            region = of_block(self.layout, self.world.rank)
            mine = self.local
            for part in parts_of(region, self.layout):
                if part.rank != self.world.rank:
                    self._read([part], mine).wait()
        self.fence()

    @property
    def local(self) -> Array:
        """This rank's block without padding: a NumPy array over the memory that other ranks access."""
        block = self._blocks[self.world.rank]
        assert block is not None
        return block

    def fence(self) -> None:
        """Wait until all operations that any rank has begun before are complete and visible. Collective."""
        self._check_open()
        self._window.flush()
        self.world.communicator.barrier(f"the fence of {self._what}")

    def flush(self) -> None:
        """Wait until all operations that this rank has begun are complete and visible."""
        self._check_open()
        self._window.flush()

    # -- regions

    def get(self, region: Any, out: Array | None = None, *, periodic: bool = False) -> Any:
        """The elements of a region: a NumPy array, a scalar for one element, or ``out``."""
        place = self._near(region, periodic)
        if place is not None:
            self._window.begin()
            _, block, key = place
            near = block[key]
            if out is None:
                return (
                    near
                    if type(near) is not np.ndarray and self.dtype.names is None
                    else near.copy()
                )
            self._result(out, near.shape)[...] = near
            return out
        result = self.iget(region, out, periodic=periodic).wait()
        assert result is not None
        return result if out is not None or result.shape else result[()]

    def put(self, region: Any, values: Any, *, periodic: bool = False) -> None:
        """Write values into a region; NumPy's rules of broadcasting apply."""
        place = self._near(region, periodic)
        if place is None:
            self.iput(region, values, periodic=periodic).wait()
            self._window.flush()
            return
        _, block, key = place
        given = self._given(values, block[key].shape, None)
        self._check_writeable()
        self._window.begin()
        block[key] = given

    def accumulate(
        self, region: Any, values: Any, op: str = "add", *, periodic: bool = False
    ) -> None:
        """Combine a region with values, atomically for each element.

        ``op`` is one of add, min, max, and, or, xor, replace.
        """
        function = self._operation(op)
        place = self._near(region, periodic)
        if place is not None:
            rank, block, key = place
            given = self._given(values, block[key].shape, function)
            self._combine(rank, key, given, function)
            return
        wanted = self._read_region(region, periodic)
        given = self._given(values, wanted.shape, function)[wanted.full]
        for part in parts_of(wanted, self.layout):
            self._combine(part.rank, part.block, given[part.result], function)

    def iget(self, region: Any, out: Array | None = None, *, periodic: bool = False) -> Transfer:
        """Begin a get; ``out`` must not be read until the transfer is complete."""
        wanted = self._read_region(region, periodic)
        result = self._result(out, wanted.shape)
        return self._read(parts_of(wanted, self.layout), result[wanted.full], result)

    def iput(self, region: Any, values: Any, *, periodic: bool = False) -> Transfer:
        """Begin a put; the values must not change until the transfer is complete."""
        wanted = self._read_region(region, periodic)
        given = self._given(values, wanted.shape, None)[wanted.full]
        self._check_writeable()
        requests: list[Request] = []
        for part in parts_of(wanted, self.layout):
            self._window.begin()
            requests += self._written(part.rank, part.block, given[part.result])
        return Transfer(requests, lambda: None, None)

    # -- elements

    def gather(self, indices: Any) -> Array:
        """The elements at index arrays, one array for each axis, like ``a[indices]``."""
        shape, groups = self._located(indices)
        result = np.empty(shape, self.dtype)
        flat = result.reshape(-1)
        for rank, where, local in groups:
            self._window.begin()
            flat[where] = self._loaded(rank, local)
        return result

    def scatter(self, indices: Any, values: Any) -> None:
        """Write values to the elements at index arrays. The last of several values for one element stays."""
        shape, groups = self._located(indices)
        given = self._given(values, shape, None).reshape(-1)
        self._check_writeable()
        for rank, where, local in groups:
            self._write_elements(rank, local, given[where])
        self._window.flush()

    def scatter_add(self, indices: Any, values: Any) -> None:
        """Add values to the elements at index arrays, atomically; an element may occur several times."""
        shape, groups = self._located(indices)
        given = self._given(values, shape, np.add).reshape(-1)
        for rank, where, local in groups:
            self._add_elements(rank, local, given[where])

    # -- atomic operations on one element

    def fetch_add(self, index: Any, number: Any) -> Any:
        """Add to one element atomically, and return its previous value."""
        if not (type(number) is int and self.dtype.kind in "iu"):
            number = self._given(number, (), np.add)[()]
        return self._swap(index, number, None)

    def compare_swap(self, index: Any, old: Any, new: Any) -> Any:
        """Set one element to ``new`` if it equals ``old``, atomically. Returns the previous value in either case."""
        expected, wanted = self._given(old, (), None)[()], self._given(new, (), None)[()]
        return self._swap(index, wanted, expected)

    # -- the program's own locks

    @contextmanager
    def lock(self, rank: int = 0) -> Iterator[None]:
        """A mutex: ``with g.lock():`` runs on one rank at a time. Each ``rank`` has a mutex of its own."""
        self._check_open()
        self.world.communicator.check_peer(rank)
        self._window.acquire(rank, MUTEX)
        try:
            yield
        finally:
            self._window.flush()
            self._window.release(rank, MUTEX)

    # -- checks, before anything moves

    def _check_open(self) -> None:
        if not self._open:
            raise AtollError(
                f"{self._what} is closed, so it cannot be used; open the array again by atoll.onesided(a)"
            )

    def _check_writeable(self) -> None:
        if not self._placed.writeable:
            raise ValueError(
                f"onesided: the array of shape {self.shape} is read-only; copy it first"
            )

    def _near(self, region: Any, periodic: bool) -> Any:
        """The rank, its block and the local key of a region on the fast path (:mod:`.regions`); otherwise ``None``."""
        if periodic or self._short is None:
            return None
        self._check_open()
        return self._short.place(region)

    def _read_region(self, region: Any, periodic: bool) -> Region:
        self._check_open()
        return read_region(region, self.shape, periodic)

    def _result(self, out: Array | None, shape: tuple[int, ...]) -> Array:
        if out is None:
            return np.empty(shape, self.dtype)
        if not isinstance(out, np.ndarray):
            raise TypeError(f"onesided: out must be a NumPy array, not {a_type(out)}")
        if out.shape != shape:
            raise ValueError(
                f"onesided: out has shape {out.shape}; it must have the shape of the region, {shape}"
            )
        if not np.can_cast(self.dtype, out.dtype, "same_kind"):
            raise TypeError(
                f"onesided: out has dtype {out.dtype}; it must have that of the array, {self.dtype}"
            )
        if not out.flags.writeable:
            raise ValueError(
                f"onesided: out, of shape {out.shape}, is read-only; give a writable array"
            )
        return out

    def _cast_of(self, values: Any, function: Callable[..., Any] | None) -> np.dtype[Any]:
        """The dtype of the result of an operation by NumPy."""
        weak = isinstance(values, bool | int | float | complex)
        if function is None:
            return np.result_type(self.dtype, values) if weak else np.asarray(values).dtype
        other = values if weak else np.empty(0, np.asarray(values).dtype)
        result: np.dtype[Any] = function(np.empty(0, self.dtype), other).dtype
        return result

    def _given(
        self, values: Any, shape: tuple[int, ...], function: Callable[..., Any] | None
    ) -> Array:
        """The values in the dtype of the array, broadcast to a shape."""
        if isinstance(values, Handle) and place_of(values) is not None:
            raise TypeError(
                "onesided: the values are a distributed array, which one rank alone cannot read; give its local block "
                "(values.local), or assign on all ranks"
            )
        if type(values) is np.ndarray and values.dtype is self.dtype and function in _PLAIN:
            return values if values.shape == shape else self._broadcast(values, shape)
        kind = self.dtype
        if (type(values), kind.kind) not in _FITTING:
            kind = self._cast_of(values, function)
        if not np.can_cast(kind, self.dtype, "same_kind"):
            raise TypeError(
                f"onesided: values of dtype {kind} do not fit into an array of dtype {self.dtype}; convert them by astype"
            )
        return self._broadcast(np.asarray(values, self.dtype), shape)

    def _broadcast(self, array: Array, shape: tuple[int, ...]) -> Array:
        if array.shape == shape:
            return array
        try:
            return np.broadcast_to(array, shape)
        except ValueError:
            raise ValueError(
                f"onesided: values of shape {array.shape} do not broadcast to the region's shape {shape}; give as many values, or one"
            ) from None

    def _operation(self, op: str) -> Callable[..., Any] | None:
        if op not in OPERATIONS:
            raise ValueError(f"accumulate: op must be one of {', '.join(OPERATIONS)}, not {op!r}")
        return OPERATIONS[op]

    def _located(self, indices: Any) -> tuple[tuple[int, ...], list[tuple[int, Array, Key]]]:
        """The broadcast shape of index arrays; and for each rank, flat positions in it and local indices."""
        self._check_open()
        if not self.shape:
            raise LayoutIndexError(
                "onesided: an array without axes takes no index arrays; use get(()) and accumulate((), value)"
            )
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) != len(self.shape):
            raise LayoutIndexError(
                f"onesided: {len(items)} index arrays for {len(self.shape)} axes; there must be one for each axis, in a tuple"
            )
        arrays = []
        for axis, (item, extent) in enumerate(zip(items, self.shape, strict=True)):
            array = np.asarray(item)
            if array.size and array.dtype.kind not in "iu":
                raise TypeError(
                    f"onesided: the index array of axis {axis} has dtype {array.dtype}; it must have integers"
                )
            arrays.append(_from_start(array.astype(np.int64), axis, extent))
        arrays = list(np.broadcast_arrays(*arrays))
        shape = arrays[0].shape
        if not arrays[0].size:
            return shape, []
        flat = [array.reshape(-1) for array in arrays]
        ranks, local = self.layout.locate(tuple(flat))
        groups = []
        for rank in np.flatnonzero(np.bincount(ranks)).tolist():
            where = np.flatnonzero(ranks == rank)
            groups.append((rank, where, tuple([part[where] for part in local])))
        return shape, groups

    # -- moving

    def _target(self, rank: int, key: Key) -> Target:
        """The part that a key selects in a block that this process cannot address."""
        shadow = self._placed.shadow(rank)
        if any(isinstance(part, np.ndarray) for part in key):
            offsets = sum(
                np.asarray(part) * stride for part, stride in zip(key, shadow.strides, strict=True)
            )
            offsets = np.asarray(offsets) + self._start(rank, shadow)
            return Target(rank, 0, offsets.shape, (), self.dtype.itemsize, offsets)
        chosen = shadow[(*key, ...)]
        displacement = self._start(rank, shadow) + _address(chosen) - _address(shadow)
        return Target(rank, displacement, chosen.shape, chosen.strides, self.dtype.itemsize)

    def _start(self, rank: int, shadow: Array) -> int:
        """The byte offset of a rank's elements behind its padding."""
        before = (
            [width for width, _ in self.layout.halo(rank)] if self._placed.layout.is_padded else []
        )
        return sum(width * stride for width, stride in zip(before, shadow.strides))

    def _loaded(self, rank: int, key: Key) -> Array:
        """Read a part of a block; the result may be a view."""
        block = self._blocks[rank]
        if block is not None:
            chosen: Array = block[key]
            return chosen
        target = self._target(rank, key)
        memory = np.empty(target.shape, self.dtype)
        self._window.read(target, memory).wait()
        return memory

    def _written(self, rank: int, key: Key, values: Any) -> list[Request]:
        """Begin to write a part of a block, and return the pending requests."""
        block = self._blocks[rank]
        if block is not None:
            block[key] = values
            return []
        given = np.ascontiguousarray(values, self.dtype)
        return [self._window.write(self._target(rank, key), given)]

    def _store(self, rank: int, key: Key, values: Any) -> None:
        """Write a part of a block."""
        for request in self._written(rank, key, values):
            request.wait()

    def _read(self, parts: Any, into: Array, result: Array | None = None) -> Transfer:
        """Begin to read parts into an array that has all axes, dropped ones with length one."""
        requests: list[Request] = []
        arriving: list[tuple[Key, Array]] = []
        for part in parts:
            self._window.begin()
            block = self._blocks[part.rank]
            if block is not None:
                into[part.result] = block[part.block]
            else:
                target = self._target(part.rank, part.block)
                memory = np.empty(target.shape, self.dtype)
                requests.append(self._window.read(target, memory))
                arriving.append((part.result, memory))

        def finish() -> None:
            for key, memory in arriving:
                into[key] = memory

        return Transfer(requests, finish, result)

    def _combine(
        self, rank: int, key: Key, values: Array, function: Callable[..., Any] | None
    ) -> None:
        """Combine a part of a block with values, atomically."""
        self._check_writeable()
        window, block = self._window, self._blocks[rank]
        window.begin()
        window.acquire(rank)
        try:
            old = self._loaded(rank, key)
            in_place = block is not None and not window.takes_turns and old.base is not None
            if function is not None and in_place:
                function(old, values, out=old, casting="same_kind")
                return
            new = values if function is None else function(old, values)
            window.begin()
            self._store(rank, key, new)
        finally:
            window.release(rank)

    def _write_elements(self, rank: int, local: Key, values: Array) -> None:
        self._window.begin()
        if self._blocks[rank] is None:  # MPI does not define which of several values stays
            flat: Any = np.ravel_multi_index(local, self.layout.local_shape(rank))
            last: Array = np.unique(flat[::-1], return_index=True)[1]
            kept = len(flat) - 1 - last
            local, values = tuple([part[kept] for part in local]), values[kept]
        self._store(rank, local, values)

    def _add_elements(self, rank: int, local: Key, values: Array) -> None:
        self._check_writeable()
        window, block = self._window, self._blocks[rank]
        window.begin()
        window.acquire(rank)
        try:
            if block is not None:
                if block.flags.c_contiguous and len(local) > 1:
                    flat_places: Any = np.ravel_multi_index(local, block.shape)
                    block, local = block.reshape(-1), (flat_places,)
                # NumPy is much faster with an array of indices than with a tuple of one
                np.add.at(block, local[0] if len(local) == 1 else local, values)
                return
            shape = self.layout.local_shape(rank)
            flat, place = np.unique(np.ravel_multi_index(local, shape), return_inverse=True)
            key = np.unravel_index(flat, shape)
            sums = self._loaded(rank, key)
            np.add.at(sums, place, values)
            self._store(rank, key, sums)
        finally:
            window.release(rank)

    def _swap(self, index: Any, number: Any, expected: Any) -> Any:
        """Add to one element, or set it if it has the expected value, atomically. Returns the previous element."""
        self._check_open()
        self._check_writeable()
        short = self._short
        place = None if short is None else short.place(index)
        if place is None or not all(type(item) is int for item in place[2]):
            rank, local = self.layout.locate(self._element(index))
            place = rank, self._blocks[rank], local
        rank, block, local = place
        window = self._window
        window.begin()
        window.acquire(rank)
        try:
            old = self._loaded(rank, local)
            if block is None:
                old = old[()]
            elif self.dtype.names is not None:
                old = old.copy()  # a view would show the new value
            window.begin()
            if expected is None:
                new = old + number
            elif old == expected:
                new = number
            else:
                return old
            self._store(rank, local, new)
            return old
        finally:
            window.release(rank)

    def _element(self, index: Any) -> tuple[int, ...]:
        """The checked, non-negative index of one element; negative numbers count from the end."""
        items = index if isinstance(index, tuple) else (index,)
        if len(items) != len(self.shape):
            raise LayoutIndexError(
                f"onesided: the index {index!r} does not name one element of {len(self.shape)} axes; give an integer for each axis"
            )
        place = []
        for axis, (item, extent) in enumerate(zip(items, self.shape, strict=True)):
            number = item.__index__()
            if not -extent <= number < extent:
                raise _out_of_bounds(number, axis, extent)
            place.append(number + extent if number < 0 else number)
        return tuple(place)


def _out_of_bounds(number: int, axis: int, extent: int) -> LayoutIndexError:
    return LayoutIndexError(
        f"onesided: index {number} is out of bounds for axis {axis} with size {extent}; it must be from {-extent} to {extent - 1}"
    )


def _from_start(numbers: Array, axis: int, extent: int) -> Array:
    """Check the indices along an axis, and count negative ones from the end."""
    bad = numbers[(numbers < -extent) | (numbers >= extent)]
    if bad.size:
        raise _out_of_bounds(int(bad[0]), axis, extent)
    return np.where(numbers < 0, numbers + extent, numbers)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def onesided(array: Any) -> OneSided:
    """Open an array to one-sided operations: ``with atoll.onesided(a) as g:``. Collective, and so is the end.

    Inside, any rank calls ``g.get``, ``g.put``, ``g.accumulate`` and the others at any time, and no other rank takes
    part. Indices are those of ``array``, which may be a view. At the end all operations are complete, and the array has
    the written values.
    """
    if not isinstance(array, Handle):
        raise TypeError(
            f"onesided() takes an atoll array, not {a_type(array)}; atoll.asarray() makes one"
        )
    return OneSided(array)


__all__ = ["OneSided", "Part", "Transfer", "onesided"]
