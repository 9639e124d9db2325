"""A part's work as fused loops: what a kernel computes, and machine code that does it."""

from .builder import DIVIDE, INVALID, NEGATIVE_POWER, OVERFLOW, UNDERFLOW
from .compile import compile_kernel
from .kernel import Block, Kernel, run_block
from .spec import DTYPES, Instruction, KernelSpec, Operand, Reduction
from .ufuncs import can_flag, supported

__all__ = [
    "DIVIDE",
    "DTYPES",
    "INVALID",
    "NEGATIVE_POWER",
    "OVERFLOW",
    "UNDERFLOW",
    "Block",
    "Instruction",
    "Kernel",
    "KernelSpec",
    "Operand",
    "Reduction",
    "can_flag",
    "compile_kernel",
    "run_block",
    "supported",
]
