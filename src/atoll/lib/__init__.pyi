# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll.lib import (
    array_utils as array_utils,
    format as format,
    introspect as introspect,
    mixins as mixins,
    npyio as npyio,
    recfunctions as recfunctions,
    scimath as scimath,
    stride_tricks as stride_tricks,
)
from numpy.lib import (
    Arrayterator as Arrayterator,
    NumpyVersion as NumpyVersion,
    add_docstring as add_docstring,
    add_newdoc as add_newdoc,
    tracemalloc_domain as tracemalloc_domain,
)
