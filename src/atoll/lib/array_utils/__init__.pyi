# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from numpy.lib.array_utils import (
    byte_bounds as byte_bounds,
    normalize_axis_index as normalize_axis_index,
    normalize_axis_tuple as normalize_axis_tuple,
)
