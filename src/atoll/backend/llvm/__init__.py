"""A part's work as fused loops: what a kernel computes, and machine code that does it.

What writes code is imported when the first kernel is made: a program that only ever holds
small arrays never pays for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .builder import DIVIDE, INVALID, NEGATIVE_POWER, OVERFLOW, UNDERFLOW
    from .compile import compile_kernel, worked
    from .kernel import Block, Kernel, run_block
    from .spec import DTYPES, Instruction, KernelSpec, Operand, Reduction
    from .ufuncs import can_flag, supported

_LATER = {
    "DIVIDE": "builder",
    "INVALID": "builder",
    "NEGATIVE_POWER": "builder",
    "OVERFLOW": "builder",
    "UNDERFLOW": "builder",
    "compile_kernel": "compile",
    "worked": "compile",
    "Block": "kernel",
    "Kernel": "kernel",
    "run_block": "kernel",
    "OPERATIONS": "scan",
    "can_convert": "scan",
    "can_scan": "scan",
    "is_noticed": "scan",
    "scanned": "scan",
    "can_select": "compress",
    "indices_of": "compress",
    "selected": "compress",
    "true_positions": "compress",
    "DTYPES": "spec",
    "Instruction": "spec",
    "KernelSpec": "spec",
    "Operand": "spec",
    "Reduction": "spec",
    "can_flag": "ufuncs",
    "supported": "ufuncs",
}


def __getattr__(name: str) -> Any:
    home = _LATER.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


__all__ = [
    "DIVIDE",
    "DTYPES",
    "INVALID",
    "NEGATIVE_POWER",
    "OPERATIONS",
    "OVERFLOW",
    "UNDERFLOW",
    "Block",
    "Instruction",
    "Kernel",
    "KernelSpec",
    "Operand",
    "Reduction",
    "can_convert",
    "can_flag",
    "can_scan",
    "can_select",
    "compile_kernel",
    "indices_of",
    "is_noticed",
    "run_block",
    "scanned",
    "selected",
    "supported",
    "true_positions",
    "worked",
]
