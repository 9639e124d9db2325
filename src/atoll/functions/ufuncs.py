"""NumPy's ufuncs, recorded where kernels can compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import front
from ..front import Function, Kind
from ..lazy.elementwise import known_of
from ..lazy.fallback import Given, by_numpy
from ..lazy.reductions import reduced
from ..lazy.ufunc_calls import call, method, overrides, takes_over
from ..ops.ufuncs import Ufunc
from .public import publish


class ufunc(Function):
    # An elementwise function. The docstring is that of the instance, which is NumPy's.

    __slots__ = (
        "__doc__",
        "__name__",
        "__qualname__",
        "_numpy",
        "accumulate",
        "at",
        "outer",
        "reduce",
        "reduceat",
    )

    def __new__(cls, numpy_ufunc: np.ufunc) -> Any:
        kind = Kind.ANY | Kind.LINES | (Kind.LARGE if numpy_ufunc is np.matmul else 0)
        function = Function.__new__(cls, numpy_ufunc, None, kind)
        function._python = function._called
        return function

    def __init__(self, numpy_ufunc: np.ufunc) -> None:
        self._numpy = numpy_ufunc
        self.__name__: str = numpy_ufunc.__name__
        self.__qualname__: str = numpy_ufunc.__name__
        self.__doc__: str | None = numpy_ufunc.__doc__
        simple = numpy_ufunc.signature is None and numpy_ufunc.nout == 1
        if simple and numpy_ufunc.nin < 3:
            self._known = known_of(numpy_ufunc)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ufunc

    def _called(self, *inputs: Any, **options: Any) -> Any:
        if takes_over(inputs, options):
            return self._numpy(*inputs, **options)
        return call(self._numpy, inputs, options)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> Any:
        return _ufunc_named, (self.__name__,)

    def __getattr__(self, name: str) -> Any:
        original = getattr(self._numpy, name)
        kind = _METHODS.get(name)
        if kind is not None:
            original = _method(self._numpy, original, kind)
            setattr(self, name, original)
        return original

    def _to_numpy(self, given: Given, write: bool) -> np.ufunc:
        return self._numpy

    def resolve_dtypes(self, *args: Any, **options: Any) -> Any:
        """The dtypes of the loop that would run."""
        return self._numpy.resolve_dtypes(*args, **options)


_METHODS = {
    "accumulate": Kind.ARRAYS,
    "at": Kind.LARGE | Kind.WRITES,
    "outer": Kind.OUTER,
    "reduce": Kind.LINES,
    "reduceat": Kind.ARRAYS,
}


def _method(ufunc: np.ufunc, original: Any, kind: Kind) -> Any:
    """A method of a ufunc: :func:`reduced`, or the result of :func:`method`."""
    name = original.__name__

    def called(*args: Any, **options: Any) -> Any:
        if takes_over(args, options):
            return original(*args, **options)
        given = (*args, *options.values())
        if any(map(overrides, given)) or any(value is ... for value in args[3:4]):
            return by_numpy(original, args, options)
        if name == "reduce":
            return reduced(ufunc, *args, **options)
        return method(ufunc, name, args, options)

    called.__name__ = called.__qualname__ = name
    called.__doc__ = original.__doc__
    return front.function(original, called, kind)


def _ufunc_named(name: str) -> Any:
    return ufuncs[name]


def frompyfunc(func: Any, /, nin: int, nout: int, **options: Any) -> ufunc:
    """A ufunc that calls a Python function; NumPy runs it on the data."""
    return ufunc(np.frompyfunc(func, nin, nout, **options))


def elementwise(like: np.ufunc) -> Callable[[Callable[..., Any]], ufunc]:
    """Declare a ufunc that NumPy does not have, by a function of NumPy arrays; its dtypes are those of ``like``.

    It is recorded like NumPy's own. Each rank computes its share by the function, unless kernels have code for the name.
    """

    def enter(body: Callable[..., Any]) -> ufunc:
        function = ufuncs[body.__name__] = ufunc(Ufunc(body, like))  # type: ignore[arg-type]
        return function

    return enter


ufuncs: dict[str, ufunc] = {}
"""Every public ufunc by name; aliases are the same object."""


def _publish_ufuncs() -> None:
    published: dict[int, ufunc] = {}
    for name, original in sorted(
        vars(np).items()
    ):  # dir() would import NumPy's lazily imported modules
        if isinstance(original, np.ufunc) and not name.startswith("_"):
            ours = published.get(id(original))
            if ours is None:
                ours = published[id(original)] = ufunc(original)
            ufuncs[name] = ours
            publish(name, ours, "native", original)
    publish("frompyfunc", frompyfunc, "native")
    publish("ufunc", np.ufunc, "same")


_publish_ufuncs()
