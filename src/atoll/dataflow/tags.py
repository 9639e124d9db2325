"""Tags as bytes that are the same on every rank.

A user's tag is any hashable object that can be pickled. Its pickle is not suitable: sets come in the order of hashes,
which differ from process to process, and strings that are one object are written differently from strings that are two.
So tags are decomposed by the rules of pickle (``__reduce_ex__``), and written part by part. Objects that are equal as
keys of a dict, such as ``1`` and ``True``, get equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ..errors import CommunicationTagError

_DEEPEST = 100


def tag_bytes(tag: Any) -> bytes:
    """The bytes of a tag; :class:`~atoll.errors.CommunicationTagError` where it has none."""
    try:
        return _bytes(tag, 0)
    except CommunicationTagError:
        raise
    except Exception as error:
        raise CommunicationTagError(f"the tag {tag!r} cannot be pickled: {error}") from error


def _joined(mark: bytes, parts: list[bytes]) -> bytes:
    return mark + b"%d:" % len(parts) + b"".join(b"%d:%s" % (len(part), part) for part in parts)


def _bytes(value: Any, depth: int) -> bytes:
    if depth > _DEEPEST:
        raise CommunicationTagError(f"a tag is nested more than {_DEEPEST} deep")
    kind = type(value)
    if value is None or value is Ellipsis or value is NotImplemented:
        return b"o" + repr(value).encode()
    if isinstance(value, Enum):
        return _joined(b"e", [_name(kind), value.name.encode()])
    if kind in (bool, int, float, complex):
        if kind is complex and value.imag == 0:
            value, kind = value.real, float
        if kind is not int and kind is not complex and value == value // 1:
            value = int(value)
        text = str(int(value) if type(value) is bool else value)
        return b"n" + text.encode()
    if kind is str:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if kind is bytes:
        return b"b" + bytes(value)
    if kind is tuple or kind is list:
        return _joined(b"t", [_bytes(v, depth + 1) for v in value])
    if kind is frozenset or kind is set:
        return _joined(b"f", sorted(_bytes(v, depth + 1) for v in value))
    if kind is dict:
        pairs = sorted((_bytes(k, depth + 1), _bytes(v, depth + 1)) for k, v in value.items())
        return _joined(b"d", [part for pair in pairs for part in pair])
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return b"c" + _name(value)
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return b"g" + reduced.encode()
    parts = [
        _bytes(part if i < 3 else list(part or ()), depth + 1) for i, part in enumerate(reduced[:5])
    ]
    return _joined(b"r", [_name(kind), *parts])


def _name(value: type | Callable[..., Any]) -> bytes:
    """The qualified name of a class or function, as pickle requires it."""
    name = f"{value.__module__}.{value.__qualname__}"
    if "<" in name:
        raise CommunicationTagError(
            f"the tag {name} cannot be pickled, because it cannot be imported"
        )
    return name.encode()
