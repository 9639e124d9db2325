# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll._stubs.format_impl import (
    open_memmap as open_memmap,
    read_array as read_array,
)
from numpy.lib.format import (
    ARRAY_ALIGN as ARRAY_ALIGN,
    BUFFER_SIZE as BUFFER_SIZE,
    EXPECTED_KEYS as EXPECTED_KEYS,
    GROWTH_AXIS_MAX_DIGITS as GROWTH_AXIS_MAX_DIGITS,
    MAGIC_LEN as MAGIC_LEN,
    MAGIC_PREFIX as MAGIC_PREFIX,
    descr_to_dtype as descr_to_dtype,
    drop_metadata as drop_metadata,
    dtype_to_descr as dtype_to_descr,
    header_data_from_array_1_0 as header_data_from_array_1_0,
    isfileobj as isfileobj,
    magic as magic,
    read_array_header_1_0 as read_array_header_1_0,
    read_array_header_2_0 as read_array_header_2_0,
    read_magic as read_magic,
    write_array as write_array,
    write_array_header_1_0 as write_array_header_1_0,
    write_array_header_2_0 as write_array_header_2_0,
)
