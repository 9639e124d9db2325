# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from numpy.ma.mrecords import (
    MaskedRecords as MaskedRecords,
    addfield as addfield,
    fromarrays as fromarrays,
    fromrecords as fromrecords,
    fromtextfile as fromtextfile,
    mrecarray as mrecarray,
)
