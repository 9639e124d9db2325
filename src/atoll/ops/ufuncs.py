"""The ufuncs of operators, the costs of ufuncs, and elementwise functions that NumPy lacks, as ufuncs over functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Cost:
    """The cost of a ufunc for an element, and whether kernels and NumPy agree on it."""

    like: str = "add"
    """A ufunc whose rate a machine has."""
    times: float = 1.0
    """The cost as a multiple of that ufunc's."""
    is_settled: bool = False
    """True if the definition settles every bit of the result, and NumPy computes it about as quickly as kernels."""

    @property
    def is_heavy(self) -> bool:
        """True if it takes several times as long as the elements take to come from memory."""
        return self.like != "add" and (self.like != "divide" or self.times > 1)


COSTS = {
    **dict.fromkeys((
        "add", "subtract", "multiply", "negative", "positive", "absolute", "square",
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "logical_and", "logical_or", "logical_xor", "logical_not",
        "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
        "isnan", "isfinite", "isinf", "signbit", "floor", "ceil", "trunc", "rint",
    ), Cost(is_settled=True)),
    **dict.fromkeys(("divide", "sqrt"), Cost("divide", is_settled=True)),
    "reciprocal": Cost("divide"),
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), Cost("divide", 2)),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "cbrt", "arctan"), Cost("exp")),
    **dict.fromkeys(("tan", "tanh", "sinh", "cosh", "arcsin", "arccos", "hypot", "arctan2", "logaddexp"), Cost("exp", 2)),
    **dict.fromkeys(("power", "float_power", "arcsinh", "arccosh", "arctanh"), Cost("power")),
}  # fmt: skip
"""The ufuncs that are settled, or slower than an addition, by name."""


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
