# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll._stubs.stride_tricks_impl import (
    as_strided as as_strided,
    sliding_window_view as sliding_window_view,
)
