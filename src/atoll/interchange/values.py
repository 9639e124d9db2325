"""Conversion of foreign objects to plain values; a failure of their methods becomes a reason, as text.

Any method of an object of another library may raise, give inconsistent answers, or never return. So this module calls each
method once, requests no more than it needs, and returns objects of Python's own classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from operator import index
from typing import Any, TypeVar

import numpy as np

from ..context.interrupts import passed_on

T = TypeVar("T")
SHOWN = 200
"""Length limit of the text of a value, in characters."""
SHOWN_BITS = 128
"""Number of bits up to which the text of an integer has its digits."""
MOST_AXES = 64
"""Greatest number of axes of a NumPy array."""
MOST_KEYS = 64
"""Greatest number of keys that are read from a dictionary of a protocol."""
LARGEST = (1 << 63) - 1
"""The largest size or index."""

Plain = None | bool | int | float | str | tuple["Plain", ...]


class UnfitError(Exception):
    """Raised for a value of the wrong kind; the message is the reason."""


def printable(text: str) -> str:
    """The text in characters that every file accepts: unpaired surrogates are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def shortened(text: str) -> str:
    """The text, printable and cut to ``SHOWN`` characters."""
    return printable(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def exact(text: object) -> str | None:
    """The characters of a text as a plain ``str``; ``None`` for any other object."""
    return str.__str__(text) if is_a(text, str) else None


def a_kind(value: object) -> str:
    """The type of a value with its article: ``an int``, ``a list``."""
    name = kind_name(value)
    return f"{'an' if name[:1] in tuple('aeioAEIO') else 'a'} {name}"


def guarded(otherwise: T, call: Callable[..., T], *args: Any) -> T:
    """The result of a call of foreign code, or ``otherwise`` if it fails."""
    try:
        return call(*args)
    except Exception as problem:
        passed_on(problem)
        return otherwise


def kind_name(value: object) -> str:
    """The name of the type of a value, for errors."""
    kind = type(value)

    def name() -> str:
        prefix = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        return shortened(prefix + kind.__qualname__)

    return guarded("type without a name", name)  # the metaclass may raise


def error_text(error: BaseException) -> str:
    """An exception as text."""
    return shortened(f"{kind_name(error)}: {guarded('it has no text', str, error)}")


def value_text(value: object) -> str:
    """``repr`` of a value, shortened; it never fails."""
    if type(value) is int and value.bit_length() > SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    text = guarded(None, lambda: shortened(repr(value)))
    return f"<{kind_name(value)} that has no repr>" if text is None else text


def plain(value: object) -> Plain:
    """``value`` as a plain Python value that every process can unpickle, else a short text of it."""
    given: Any = value
    kind = type(value)
    if given is None or kind in (bool, float):
        return given  # type: ignore[no-any-return]
    if kind is int:
        return given if given.bit_length() <= SHOWN_BITS else value_text(given)
    if kind is str:
        return shortened(given)
    if issubclass(kind, np.integer | np.floating | np.bool_) and kind.__module__ == "numpy":
        number = given.item()
        return number if type(number) in (bool, int, float) else value_text(given)
    if kind is tuple and len(given) <= 16:
        return tuple([value_text(item) if type(item) is tuple else plain(item) for item in given])
    return value_text(given)


def is_a(value: object, *kinds: type) -> bool:
    """``isinstance``, also for objects whose ``__class__`` raises."""
    try:
        return isinstance(value, kinds)
    except Exception as problem:
        passed_on(problem)
        return False


def integer(value: object) -> int:
    """Convert a value to an ``int`` of 64 bits; :class:`UnfitError` describes any other value."""
    if is_a(value, bool, np.bool_) or not hasattr(type(value), "__index__"):
        raise UnfitError(f"is {plain(value)!r}; it must be an int")
    try:
        number = int(index(value))  # type: ignore[arg-type]
    except Exception as error:
        passed_on(error)
        raise UnfitError(f"is {a_kind(value)} whose __index__ raised {error_text(error)}") from None
    if abs(number) > LARGEST:
        raise UnfitError(f"is {value_text(number)}; it must fit 64 bits")
    return number


def items(value: Any, most: int) -> list[Any]:
    """The items of a sequence of at most ``most`` items; :class:`UnfitError` if it is longer or cannot be read."""
    try:
        listed = list(islice(iter(value), most + 1))
    except Exception as error:
        passed_on(error)
        raise UnfitError(
            f"is {a_kind(value)} whose items cannot be read ({error_text(error)})"
        ) from None
    if len(listed) > most:
        raise UnfitError(f"is {a_kind(value)} of more than {most} items")
    return listed


def entries(value: Any, most: int = MOST_KEYS) -> dict[Any, Any]:
    """The entries of a mapping of at most ``most`` entries, as a ``dict`` with plain keys."""
    if type(value) is dict:
        pairs: Iterable[Any] = items(value.items(), most)
    elif is_a(value, Mapping):
        try:
            pairs = [(key, value[key]) for key in items(value, most)]
        except UnfitError:
            raise
        except Exception as error:
            passed_on(error)
            raise UnfitError(
                f"is {a_kind(value)} whose items cannot be read ({error_text(error)})"
            ) from None
    else:
        raise UnfitError(f"is {a_kind(value)}; it must be a dict")
    mapping = {}
    for key, entry in pairs:
        mapping[_plain_key(key)] = entry
    return mapping


def _plain_key(key: Any) -> Any:
    """The key itself if it is a text, a tuple of integers as ``int``; for any other, a text that equals no valid key."""
    if type(key) is str:
        return key
    if type(key) is tuple and len(key) <= MOST_AXES:
        try:
            return tuple([integer(n) for n in key])
        except UnfitError:
            pass
    return f"<{value_text(key)}>"
