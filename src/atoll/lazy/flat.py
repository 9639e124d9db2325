"""``a.flat``: the elements of an array in C order, as in NumPy's flat iterator."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from .. import policy
from ..ops.ufuncs import COMPARISONS
from . import shapes
from .agreement import place_of
from .conversion import plain
from .elementwise import general
from .export import shown
from .fallback import Given, by_numpy
from .views import Handle


class flatiter:
    """An iterator over the elements in C order that can be indexed and assigned to."""

    __slots__ = ("_ahead", "_numpys", "_place", "base")

    def __init__(self, base: Any) -> None:
        self.base = base
        self._place = 0
        self._numpys: Any = None
        self._ahead: tuple[Any, int, Any] = (None, 0, None)
        """On ranks: the value that is iterated over, the number of the first prefetched element, and the prefetched elements."""

    __hash__ = None  # type: ignore[assignment]

    def _handle(self) -> Any:
        """The elements as an array of one axis: a view if possible."""
        return shapes.reshape(self.base, (-1,))

    def _to_numpy(self, given: Given, write: bool) -> Any:
        return given.array(self.base, write=write).flat

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return shown(self._handle(), dtype, copy)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __len__(self) -> int:
        return int(self.base.size)

    def _here(self) -> Any:
        """NumPy's iterator over the memory, which sees later assignments; ``None`` on ranks."""
        if self._numpys is None and place_of(self.base) is None:
            small = self.base._np
            self._numpys = (np.asarray(self.base) if small is None else small).flat
            deque(
                islice(self._numpys, self._place), 0
            )  # the elements returned while the array was divided
        return self._numpys

    def __iter__(self) -> Any:
        here = self._here()
        return self if here is None else here

    def __next__(self) -> Any:
        here = self._here()
        if here is not None:
            return next(here)
        if self._place >= self.base.size:
            raise StopIteration
        self._place += 1
        place = self._place - 1
        cell = self.base._cell
        cell.settle()
        value, start, ahead = self._ahead
        if value is not cell.node or cell.pins or not start <= place < start + len(ahead):
            start, ahead = (
                place,
                self._handle()[place : place + (1 if cell.pins else policy.limits.short)]._array(),
            )
            self._ahead = (cell.node, start, ahead)
        return ahead[place - start]

    def _restart(self) -> None:
        """Restart the iteration, as NumPy's iterator does when it is indexed."""
        self._numpys, self._place = None, 0

    def _index(self, key: Any) -> tuple[int, ...]:
        """The index of an element of the array."""
        place, size = key.__index__(), len(self)
        if not -size <= place < size:
            raise IndexError(f"index {place} is out of bounds for size {size}")
        return tuple([int(k) for k in np.unravel_index(place % size, self.base.shape)])

    def _is_usual(self, key: Any) -> bool:
        """True if a key selects the same elements from an array of one axis; NumPy handles the others."""
        if isinstance(key, (int, np.integer)):
            return not isinstance(key, bool)
        array: Any = np.asarray(plain(key)) if isinstance(key, list) else key
        if not hasattr(array, "dtype"):
            return isinstance(key, slice)
        mask = array.dtype == np.bool_ and array is key and array.shape == (len(self),)
        return mask or array.dtype.kind in "iu"

    def __getitem__(self, key: Any) -> Any:
        self._restart()
        if type(key) is slice:
            return self._handle()[key].copy()
        if place_of(self.base) is not None and self._is_usual(key):
            if isinstance(key, (int, np.integer)):
                return self.base[self._index(key)]
            return self._handle()[key]
        return by_numpy(lambda array, k: array.flat[k], (self.base, key), {})

    def _put_on_ranks(self, key: Any, value: Any) -> bool:
        """Write to elements of a distributed array; True if it was done."""
        from . import fancy_indexing

        if place_of(self.base) is None:
            return False
        if not self.base._may_be_written():
            raise ValueError("underlying array is read-only")
        if not self._is_usual(key):
            return False
        if isinstance(key, (int, np.integer)):
            key = self._index(key)
        given = value._handle() if isinstance(value, flatiter) else value
        return bool(fancy_indexing.put_in_line(self.base, key, given))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._restart()
        if type(key) is slice:
            line = self._handle()
            given = value._handle() if isinstance(value, flatiter) else value
            fits = np.isscalar(given) or getattr(given, "size", -1) == 1
            if not fits and isinstance(given, Handle):
                given = shapes.reshape(given, (-1,))
                fits = given.size == len(range(*key.indices(len(self))))
            if fits and shapes.is_view_of(line, self.base):
                line[key] = given
                return
        if self._put_on_ranks(key, value):
            return
        arguments = Given()
        where, what = arguments.give(key), arguments.give(value)
        self.base._mutate(lambda array: array.flat.__setitem__(where, what))

    @property
    def index(self) -> int:
        """The flat index of the next element."""
        return self._place if self._numpys is None else int(self._numpys.index)

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element."""
        line = np.unravel_index(min(self.index, self.base.size - 1), self.base.shape)
        if self.index >= self.base.size and line:
            return (self.base.shape[0], *[0] * (len(line) - 1))
        return tuple(int(k) for k in line)

    def copy(self) -> Any:
        """A copy of the elements as an array of one axis."""
        return shapes.flatten(self.base)


def _comparison(ufunc: np.ufunc) -> Callable[[flatiter, Any], Any]:
    def compare(self: flatiter, other: Any) -> Any:
        return general(ufunc, self._handle(), other)

    return compare


for _name, _ufunc in COMPARISONS.items():
    setattr(flatiter, f"__{_name}__", _comparison(_ufunc))
