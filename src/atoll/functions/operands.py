"""The arguments that a declared function supports; a call with others is left to NumPy.

    @collective(np.searchsorted)
    @accepts(a=Operand(ndim=1, empty=False), v=Operand(), side=("left", "right"))
    def searchsorted(a, v, side="left", sorter=None, *, world): ...

An :class:`Operand` argument reaches the function as an array. A tuple lists the valid values of an argument,
and :data:`DEFAULT` only allows the default, which is never checked. A function with an argument ``world``
receives the world of its operands, and NumPy computes calls without distributed operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..lazy.agreement import place_of, world_of
from ..lazy.creation import asarray
from ..lazy.fallback import Unsupported, expect
from ..lazy.views import Handle
from ..ops.elementwise import is_native
from .public import array_of

DEFAULT: tuple[Any, ...] = ()
"""Of an argument that a function does not know: it has to be left out."""

_MISSING = object()


@dataclass(frozen=True)
class Operand:
    """An argument that is converted to an array, of a dtype that can be distributed."""

    kinds: str = ""
    """The kinds of dtypes that it may have; any if there are none."""
    types: str = ""
    """The characters of dtypes."""
    ndim: int | None = None
    least: int = 0
    """Minimum number of axes."""
    empty: bool = True
    """True if it may have no elements."""

    def array(self, value: Any) -> Any:
        """The array for a value."""
        array = value if type(value) is Handle.array_type else asarray(value)
        expect(is_native(array.dtype))
        return array

    def accept(self, value: Any) -> Any:
        """The array for a value that fits."""
        array = self.array(value)
        if (
            (self.kinds and array.dtype.kind not in self.kinds)
            or (self.types and array.dtype.char not in self.types)
            or (self.ndim is not None and array.ndim != self.ndim)
            or (self.least and array.ndim < self.least)
            or not (self.empty or array.size)
        ):
            raise Unsupported
        return array


class Operands(Operand):
    """A sequence of arrays, at least one."""

    def accept(self, value: Any) -> list[Any]:
        """The arrays for values that fit."""
        arrays = [super(Operands, self).accept(item) for item in value]
        expect(arrays)
        return arrays


class Array(Operand):
    """An argument that is converted to an array, of any dtype and class."""

    def array(self, value: Any) -> Any:
        """The array for a value."""
        return array_of(value)


@dataclass(frozen=True)
class Recorded(Array):
    """An argument that is a recorded array."""

    converts: bool = False
    """True if it is made an array first."""

    def array(self, value: Any) -> Any:
        """The array itself."""
        array = array_of(value) if self.converts else value
        if isinstance(array, Handle) and array._np is None:
            return array
        raise Unsupported


@dataclass(frozen=True)
class Target(Operand):
    """An array on ranks that a function writes into."""

    def array(self, value: Any) -> Any:
        """The array itself."""
        expect(place_of(value) is not None)
        return value


def is_writeable(array: Any) -> bool:
    """True if a large array may be written to."""
    return bool(array._cell.writeable and array._geometry.writeable)


def accepts(
    **rules: Operand | tuple[Any, ...],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Leave calls to NumPy whose arguments do not follow the ``rules``."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        code, defaults = function.__code__, function.__defaults__ or ()
        positional = code.co_varnames[: code.co_argcount]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        usual = dict(zip(positional[::-1], defaults[::-1])) | (function.__kwdefaults__ or {})
        checks = [
            (names.index(name), name, usual.get(name, _MISSING), rule)
            for name, rule in rules.items()
        ]
        on_world = "world" in names

        def of_first(first: Any = _MISSING, /, *args: Any, **options: Any) -> Any:
            if first is _MISSING:
                return call(**options)
            return function(rule.accept(first), *args, **options)  # type: ignore[union-attr]

        def call(*args: Any, **options: Any) -> Any:
            given, arrays = list(args), []
            for place, name, default, rule in checks:
                value = given[place] if place < len(given) else options.get(name, default)
                if value is default:
                    continue
                if type(rule) is tuple:
                    expect(not isinstance(value, Handle) and value in rule)
                    continue
                value = rule.accept(value)  # type: ignore[union-attr]
                if place < len(given):
                    given[place] = value
                else:
                    options[name] = value
                arrays += value if type(value) is list else [value]
            if on_world:
                expect("world" not in options)
                options["world"] = world_of(arrays)
                expect(options["world"])
            return function(*given, **options)

        if len(checks) == 1 and not on_world:
            place, _, default, rule = checks[0]
            if place == 0 and default is _MISSING:  # in a third of the time
                of_first.__name__ = function.__name__
                return of_first
        call.__name__ = function.__name__
        return call

    return enter
