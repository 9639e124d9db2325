"""The operators of arrays, their conversions, and their attributes."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import index
from typing import Any, ClassVar

import numpy as np

from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..front import Kind, attribute, boundary, method
from ..graph.geometry import Geometry
from ..ops.elementwise import FAST_SCALARS
from ..ops.ufuncs import BINARY, COMPARISONS, UNARY, UPDATING
from .agreement import place_of
from .conversion import answered, has_methods, of_node, plain
from .deferred import recorded
from .elementwise import apply, assign, defers, operate
from .fallback import by_numpy
from .float_errors import free
from .reductions import reduced
from .ufunc_calls import assigned_to, call, overrides, refuse, takes_over
from .ufunc_calls import method as method_called
from .views import Handle, any_deferred


def _number_by(convert: Callable[[Any], Any]) -> Callable[[Handle], Any]:
    """The method that Python's conversion to a number calls."""
    return boundary(lambda self: convert(self._array()))


class Operators(Handle):
    """Operators and conversions, under Python's names."""

    __slots__ = ()
    __array_priority__: ClassVar[float] = 0.0

    # -- what it is

    @attribute
    def ndim(self) -> int:
        """The number of axes."""
        return self._geometry.ndim if self._np is None else self._np.ndim

    @attribute
    def size(self) -> int:
        """The number of elements."""
        return self._geometry.size if self._np is None else self._np.size

    @property
    def device(self) -> str:
        """Position of the elements."""
        return "cpu"

    # -- looking

    __float__ = _number_by(float)
    __int__ = _number_by(int)
    __complex__ = _number_by(complex)
    __bool__ = _number_by(bool)
    __index__ = _number_by(index)

    @method(Kind.LARGE)
    def item(self: Any, *args: Any) -> Any:
        """An element as a Python number; its owner broadcasts an element of a distributed array."""
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

    @method(Kind.LARGE)
    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self._array().tolist()

    @method(Kind.LARGE)
    def tobytes(self, order: Any = "C") -> bytes:
        """The elements as bytes."""
        array, view = self._array(), self._shape_of_view()
        # the gathered array may have other strides than the view
        if str(order).upper() in ("A", "K"):
            order = "F" if view.f_contiguous and not view.c_contiguous else "C"
        return array.tobytes(order)

    # -- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc_called(ufunc, method, inputs, options)

    def __pow__(self, other: Any, modulo: None = None) -> Any:
        if modulo is not None:
            return NotImplemented
        kind = type(other)
        if self._np is not None and kind in FAST_SCALARS:  # NumPy's operator returns different bits
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
    for name, single in UNARY.items():
        setattr(Operators, f"__{name}__", _method(single))
    for name, ufunc in BINARY.items():
        if name != "pow":
            setattr(Operators, f"__{name}__", _method(ufunc))
            setattr(Operators, f"__r{name}__", _reflected(ufunc))
    for name, ufunc in UPDATING.items():
        setattr(Operators, f"__i{name}__", _in_place(ufunc))
    for name, relation in COMPARISONS.items():
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
    """Answer to a ufunc of NumPy with an array among its operands, or to a subclass's own method."""
    ufunc = getattr(ufunc, "_numpy", ufunc)
    if not hasattr(ufunc, method):
        raise TypeError("__array_ufunc__ needs a ufunc and the name of one of its methods")
    out = options.get("out")
    operands = (*inputs, *(out if type(out) is tuple else (out,)))
    if takes_over(inputs, options) or any(map(overrides, operands)):
        return NotImplemented
    if not isinstance(ufunc, np.ufunc):  # a ufunc of another library, such as Numba
        return by_numpy(getattr(ufunc, method), inputs, options)
    if method == "__call__":
        return call(ufunc, inputs, options)
    if method == "reduce":
        return reduced(ufunc, *inputs, **options)
    return method_called(ufunc, method, inputs, options)


def _in_place(ufunc: np.ufunc) -> Any:
    forward = partial(operate, ufunc)
    return lambda self, other: in_place(ufunc, self, other, forward)


def in_place(ufunc: np.ufunc, target: Any, other: Any, forward: Any = None) -> Any:
    """``ufunc(target, other, out=target)``; ``forward`` is the operator, if it is one's work."""
    if other is None or has_methods(type(other)):
        if defers(other, in_place=True):
            return NotImplemented
        return call(ufunc, (target, other), {"out": target})
    other = answered(other)
    if target._np is None and not free() and not any_deferred(target, other):
        # results are written before a floating-point error is reported
        return by_numpy(ufunc, (target, other), {"out": target})
    if target._np is None and target._cell.writeable and target._geometry.writeable:
        try:
            result = apply(ufunc, (target, other)) if forward is None else forward(target, other)
        except ValueError:  # of two broken rules, NumPy names the cast
            refuse(ufunc, (target, other), (target,))
            raise
        own: Geometry = target._geometry
        if isinstance(result, Handle) and result._np is None:
            form: Geometry = result._geometry
            if form.shape == own.shape and (
                form.dtype == own.dtype or np.can_cast(form.dtype, own.dtype, "same_kind")
            ):
                value = result._cell.node
                del result
                if value.geometry is own and not target._cell.held() and free():
                    target._cell.write(own, value, None, user_site(), shared=False)
                else:
                    assigned_to(target, of_node(value))
                return target
        elif target._cell.node.place is not None and isinstance(result, Handle):
            small = result._np  # every rank has it in memory
            fits = small is not None and np.broadcast_shapes(small.shape, own.shape) == own.shape
            if fits and assign(target._cell, own, result):
                return target
        del result
    if target._np is not None and any_deferred(other):
        recorded(target)
        return in_place(ufunc, target, other, forward)
    other = plain(other)

    def write(out: Any) -> None:
        if ufunc is np.power and forward is not None:  # the operator has other bits
            out **= other
        else:
            ufunc(out, other, out=out)

    target._mutate(write)
    return target


_add_operators()
