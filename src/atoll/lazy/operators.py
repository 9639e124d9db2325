"""The operators of arrays, their conversions, and their attributes."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from importlib import import_module
from operator import index
from typing import Any, ClassVar

import numpy as np

from ..context.interrupts import passed_on
from ..front import leave_with
from ..ops.elementwise import FAST_SCALARS
from .calling import call, overrides, takes_over
from .calling import method as method_called
from .elementwise import defers, operate
from .fallback import by_numpy
from .making import answered, has_methods
from .reductions import reduced
from .spread import place_of
from .views import Handle


def _number_by(convert: Callable[[Any], Any]) -> Callable[[Handle], Any]:
    """The method that Python's conversion to a number calls; :func:`..front.boundary` without a call more."""

    def number(self: Handle) -> Any:
        try:
            return convert(self._array())
        except BaseException as error:
            leave_with(error)
            raise

    return number


class Operators(Handle):
    """Operators and conversions, by the names that Python gives them."""

    __slots__ = ()
    __array_priority__: ClassVar[float] = 0.0

    # -- what it is

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._geometry.ndim if self._np is None else self._np.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._geometry.size if self._np is None else self._np.size

    @property
    def device(self) -> str:
        """Where the elements are."""
        return "cpu"

    # -- looking

    __float__ = _number_by(float)
    __int__ = _number_by(int)
    __complex__ = _number_by(complex)
    __bool__ = _number_by(bool)
    __index__ = _number_by(index)

    def item(self: Any, *args: Any) -> Any:
        """An element as a Python number; of an array on ranks its owner tells it to the others."""
        if place_of(self) is not None and self.ndim:
            where = args[0] if len(args) == 1 else args
            if not isinstance(where, tuple):
                place = index(where)
                if not -self.size <= place < self.size:
                    raise IndexError(f"index {place} is out of bounds for size {self.size}")
                where = np.unravel_index(place % self.size, self.shape)
            elif not where and self.size == 1:
                where = (0,) * self.ndim
            if len(where) == self.ndim:
                return self[tuple([index(k) for k in where])].item()
        return self._array().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self._array().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements as bytes."""
        array, view = self._array(), self._shape_of_view()
        if str(order).upper() in (
            "A",
            "K",
        ):  # what is brought together lies otherwise than the view that was asked for
            order = "F" if view.f_contiguous and not view.c_contiguous else "C"
        return array.tobytes(order)

    # -- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc_called(ufunc, method, inputs, options)

    def __pow__(self, other: Any, modulo: None = None) -> Any:
        if modulo is not None:
            return NotImplemented
        kind = type(other)
        if self._np is not None and kind in FAST_SCALARS:  # NumPy's operator has other bits
            return by_numpy(python_operator.pow, (self, other), {})
        if kind is int or kind is float:
            quick = POWERS.get(other)
            if quick is not None and self._geometry.dtype.kind in (
                "fc" if kind is float or other != 2 else "biufc"
            ):
                return operate(quick, self)
        return operate(np.power, self, other)

    def __rpow__(self, other: Any, modulo: None = None) -> Any:
        return operate(np.power, other, self)


POWERS = {2: np.square, 1: np.positive, -1: np.reciprocal, 0.5: np.sqrt}
"""Of which exponents a power is another operation."""


def _add_operators() -> None:
    for name, single in (
        ("neg", np.negative), ("pos", np.positive), ("abs", np.absolute), ("invert", np.invert),
    ):  # fmt: skip
        setattr(Operators, f"__{name}__", _method(single))
    for name, ufunc in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
        ("floordiv", np.floor_divide), ("mod", np.remainder), ("and", np.bitwise_and),
        ("or", np.bitwise_or), ("xor", np.bitwise_xor), ("lshift", np.left_shift), ("rshift", np.right_shift),
        ("divmod", np.divmod), ("matmul", np.matmul),
    ):  # fmt: skip
        setattr(Operators, f"__{name}__", _method(ufunc))
        setattr(Operators, f"__r{name}__", _reflected(ufunc))
    for name, relation in (
        ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
        ("eq", np.equal), ("ne", np.not_equal),
    ):  # fmt: skip
        setattr(Operators, f"__{name}__", _compared(name, relation))


def _method(ufunc: np.ufunc) -> Any:
    return lambda self, *other: operate(ufunc, self, *other)


def _reflected(ufunc: np.ufunc) -> Any:
    return lambda self, other: operate(ufunc, other, self)


_NO_LOOP: type[TypeError] = import_module("numpy._core._exceptions").UFuncTypeError


def _compared(name: str, relation: np.ufunc) -> Any:
    """A comparison; NumPy's own operator answers where its ufunc has no loop."""
    operator = getattr(python_operator, name)

    def compare(self: Any, other: Any) -> Any:
        if has_methods(type(other)) and not defers(other):
            other = answered(other)
        try:
            return operate(relation, self, other)
        except _NO_LOOP as problem:  # another TypeError is the program's own
            passed_on(problem)
            return by_numpy(operator, (self, other), {})

    return compare


def ufunc_called(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """What NumPy's ufuncs ask of our arrays, or a subclass's own method by one of ours."""
    ufunc = getattr(ufunc, "_numpy", ufunc)
    if not hasattr(ufunc, method):
        raise TypeError("__array_ufunc__ needs a ufunc and the name of one of its methods")
    out = options.get("out")
    operands = (*inputs, *(out if type(out) is tuple else (out,)))
    if takes_over(inputs, options) or any(map(overrides, operands)):
        return NotImplemented
    if not isinstance(ufunc, np.ufunc):  # of another library, such as those that Numba compiles
        return by_numpy(getattr(ufunc, method), inputs, options)
    if method == "__call__":
        return call(ufunc, inputs, options)
    if method == "reduce":
        return reduced(ufunc, *inputs, **options)
    return method_called(ufunc, method, inputs, options)


_add_operators()
