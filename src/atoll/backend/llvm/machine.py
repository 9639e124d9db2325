"""Properties of the machine for the code generator, detected at first use."""

from __future__ import annotations

import ctypes
import functools
import sys
from dataclasses import dataclass

import llvmlite.binding as llvm

from ... import system
from ...config import config
from ...context.interrupts import passed_on


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor and its mathematical library: a part of every kernel's key.

    ``vector_bytes`` is the size of a vector register; ``isa`` the letter of the vector
    function names of the GNU vector ABI (empty: no vector functions); ``functions`` the
    vector functions that exist.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    isa: str
    functions: tuple[str, ...]
    library: str

    @property
    def x86(self) -> bool:
        """True if this is a 64-bit x86 processor."""
        return self.triple.startswith("x86_64")

    @property
    def arm(self) -> bool:
        """True if this is a 64-bit ARM processor."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def half(self) -> bool:
        """True if the processor converts between half and single precision."""
        return self.arm or (self.x86 and "+f16c" in self.features.split(","))

    @property
    def fused(self) -> bool:
        """True if the processor multiplies and adds with one rounding."""
        return self.arm or (self.x86 and "+fma" in self.features.split(","))


_VECTOR_FUNCTIONS = (
    ("acos", 1), ("acosh", 1), ("asin", 1), ("asinh", 1), ("atan", 1), ("atanh", 1), ("cbrt", 1),
    ("cos", 1), ("cosh", 1), ("exp", 1), ("exp2", 1), ("expm1", 1), ("log", 1), ("log10", 1),
    ("log1p", 1), ("log2", 1), ("sin", 1), ("sinh", 1), ("tan", 1), ("tanh", 1),
    ("atan2", 2), ("hypot", 2), ("pow", 2),
)  # fmt: skip


def vector_name(isa: str, name: str, size: int, arity: int) -> str:
    """The vector ABI's name of the libm function ``name`` on elements of ``size`` bytes."""
    return f"_ZGV{isa}N{vector_lanes(isa, size)}{'v' * arity}_{name}{'f' if size == 4 else ''}"


def vector_lanes(isa: str, size: int) -> int:
    """Number of elements of ``size`` bytes that a vector function of ``isa`` takes."""
    return {"e": 64, "d": 32, "b": 16, "n": 16}[isa] // size


_LEVELS = ("sse3", "ssse3", "sse4.1", "sse4.2", "avx")
_LATER = ("avx2", "f16c", "fma", "avx512f")


def without(features: str, left_out: str) -> str:
    """LLVM's ``features`` without those of the setting ``left_out`` and without the features that build on them."""
    names = {word[1:] for word in left_out.split(",")} if left_out != "native" else set()
    for level in (*_LEVELS, *_LATER):
        below = _LEVELS if level in _LATER else _LEVELS[: _LEVELS.index(level)]
        if names.intersection(below) or (level == "avx512f" and names.intersection(_LATER)):
            names.add(level)
    kept = [word for word in features.split(",") if word[1:] not in names]
    # LLVM removes the features that build on a removed one if that comes last.
    return ",".join([*kept, *sorted("-" + name for name in names)])


@functools.cache
def machine() -> Machine:
    """The target machine of kernels: this one, without the features that the settings leave out. Loads LLVM."""
    return machine_without(config.cpu_features)


def machine_without(left_out: str) -> Machine:
    """The machine that this process runs on, less some of its features."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    features = without(llvm.get_host_cpu_features().flatten(), left_out)
    enabled = set(features.split(","))
    x86 = triple.startswith("x86_64")
    if x86 and "+avx512f" in enabled:
        vector_bytes, isa = 64, "e"
    elif x86 and "+avx2" in enabled:
        vector_bytes, isa = 32, "d"
    else:
        vector_bytes, isa = 16, "b" if x86 else "n"
    library = _load()
    functions = tuple(  # in an order that is the same in every process: kernels are kept by it
        vector_name(isa, name, size, arity)
        for name, arity in _VECTOR_FUNCTIONS
        for size in (4, 8)
        if system.has("libmvec") and llvm.address_of_symbol(vector_name(isa, name, size, arity))
    )
    return Machine(
        triple=triple,
        cpu=llvm.get_host_cpu_name(),
        features=(features + ",-prefer-256-bit").lstrip(",") if x86 else features,
        vector_bytes=vector_bytes,
        isa=isa if functions else "",
        functions=functions,
        library=library,
    )


def _load() -> str:
    """Make the mathematical libraries visible to compiled code; return their version."""
    for name in ("libm.so.6", "libmvec.so.1") if system.has("libmvec") else ():
        try:
            llvm.load_library_permanently(name)
        except RuntimeError as problem:
            passed_on(problem)
            continue
    try:
        version = ctypes.CDLL(None).gnu_get_libc_version
    except (AttributeError, OSError) as problem:
        passed_on(problem)
        return sys.platform
    version.restype = ctypes.c_char_p
    return "glibc " + str(version().decode())
