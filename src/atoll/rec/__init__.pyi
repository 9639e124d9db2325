# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from numpy.rec import (
    array as array,
    find_duplicate as find_duplicate,
    format_parser as format_parser,
    fromarrays as fromarrays,
    fromfile as fromfile,
    fromrecords as fromrecords,
    fromstring as fromstring,
    recarray as recarray,
    record as record,
)
