"""The ufuncs of operators; elementwise functions that NumPy lacks, as ufuncs over functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

UPDATING = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "pow": np.power,
}  # fmt: skip
"""The ufuncs of operators of two operands that can write into the first, by the names of their methods."""
BINARY = UPDATING | {"divmod": np.divmod, "matmul": np.matmul}
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


class Ufunc:
    # A function that is applied element by element, in the dtypes that NumPy's ufunc ``like`` has. Its text is the body's.

    __slots__ = (
        "__doc__", "__name__", "body", "identity", "like", "nargs", "nin", "nout", "signature",
    )  # fmt: skip

    def __init__(self, body: Callable[..., Any], like: np.ufunc) -> None:
        self.body = body
        self.like = like
        self.__name__ = body.__name__
        self.__doc__ = body.__doc__
        self.nin, self.nout, self.nargs = like.nin, like.nout, like.nargs
        self.signature = self.identity = None

    def resolve_dtypes(self, dtypes: tuple[Any, ...], **options: Any) -> tuple[np.dtype[Any], ...]:
        """The dtypes of the loop that runs."""
        resolve: Any = self.like.resolve_dtypes
        dtypes_of_loop: tuple[np.dtype[Any], ...] = resolve(dtypes, **options)
        return dtypes_of_loop

    def __call__(self, *inputs: Any, out: Any = None, where: Any = True) -> Any:
        """Compute it on NumPy arrays."""
        weak = [x if type(x) in (int, float, complex) else np.asarray(x) for x in inputs]
        given = tuple([x.dtype if isinstance(x, np.ndarray) else type(x) for x in weak])
        *dtypes, result = self.resolve_dtypes((*given, None))
        arrays = [np.asarray(x, dtype) for x, dtype in zip(weak, dtypes, strict=True)]
        elements = np.asarray(self.body(*arrays), result)[()]
        out = out[0] if type(out) is tuple else out
        if out is None:
            return elements
        np.copyto(out, elements, casting="same_kind", where=where)
        return out


def is_known(ufunc: Any) -> bool:
    """True if the name of a ufunc says what it computes."""
    name = ufunc.__name__
    return type(ufunc) is Ufunc or getattr(np, name, None) is ufunc or name == "clip"
