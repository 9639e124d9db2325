"""``a.flags``: the properties of an array's memory, under NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context.warn import come_first
from . import shapes
from .views import broadcast

_SHORT = {
    "C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned", "X": "writebackifcopy",
    "B": "behaved", "CA": "carray", "FA": "farray",
}  # fmt: skip


class Flags:
    """NumPy's flags of a small array or of the shadow; only ``writeable`` can be set."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Any) -> None:
        object.__setattr__(self, "_handle", handle)

    def _numpy(self) -> Any:
        handle = self._handle
        return handle._np.flags if handle._np is not None else handle._geometry.shadow.flags

    @property
    def writeable(self) -> bool:
        """True if elements may be assigned to."""
        handle = self._handle
        come_first()
        if handle._np is not None:
            return bool(handle._np.flags.writeable)
        if handle._geometry.warns:
            return bool(broadcast().flags.writeable)
        return bool(handle._cell.writeable and handle._geometry.writeable)

    @property
    def owndata(self) -> bool:
        """True if the memory belongs to this array."""
        handle = self._handle
        if handle._np is not None:
            return bool(handle._np.flags.owndata)
        return shapes.base_of(handle) is None and not handle._cell.held()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        flag = getattr(self._numpy(), name)  # of a shadow: the memory may be read-only
        return flag and self.writeable if name in ("behaved", "carray", "farray") else flag

    def __setattr__(self, name: str, value: Any) -> None:
        handle = self._handle
        if handle._np is not None:
            setattr(handle._np.flags, name, value)
        elif name != "writeable":
            setattr(np.empty(1).flags, name, value)
        elif not value:
            handle._geometry = handle._geometry.derived("read-only", shapes.read_only)
        elif not (handle._cell.writeable and handle._geometry.writeable):
            handle._geometry = shapes.writeable_again(handle)

    def __getitem__(self, key: str) -> Any:
        name = _SHORT.get(key, key.lower())
        if name not in _SHORT.values() and name not in ("contiguous", "fortran", "fnc", "forc"):
            raise KeyError("Unknown flag")
        return getattr(
            self, {"contiguous": "c_contiguous", "fortran": "f_contiguous"}.get(name, name)
        )

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _SHORT.get(key, key.lower()), value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self._handle._np is not None:
            return repr(self._handle._np.flags)
        warns = self._handle._geometry.warns
        texts = {"writeable": "True  (with WARN_ON_WRITE=True)"} if warns else {}
        names = [*_SHORT.values()][:6]
        return "".join(
            f"  {name.upper()} : {texts.get(name) or getattr(self, name)}\n" for name in names
        )
