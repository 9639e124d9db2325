# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll._stubs.ctypeslib import (
    ndpointer as ndpointer,
)
from numpy.ctypeslib import (
    as_array as as_array,
    as_ctypes as as_ctypes,
    as_ctypes_type as as_ctypes_type,
    c_intp as c_intp,
    load_library as load_library,
)
