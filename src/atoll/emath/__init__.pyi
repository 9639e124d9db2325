# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll._stubs.scimath_impl import (
    arccos as arccos,
    arcsin as arcsin,
    arctanh as arctanh,
    log as log,
    log10 as log10,
    log2 as log2,
    logn as logn,
    power as power,
    sqrt as sqrt,
)
