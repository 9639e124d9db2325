"""From a specification to machine code in this process, once per specification."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..run import statistics
from . import cache
from .kernel import Kernel
from .machine import Machine, machine
from .nest import build
from .spec import KernelSpec


class Compiler:
    """Makes kernels, each once, and holds the engine that their code lives in."""

    def __init__(self) -> None:
        self._kernels: dict[KernelSpec | str, Kernel] = {}
        self._lock = threading.Lock()
        self._engine: Any = None

    def kernel(self, spec: KernelSpec) -> Kernel:
        """The kernel of ``spec``, compiled if this process has not met it, or taken from disk."""
        key = _key(spec)
        found = self._kernels.get(key)
        if found is None:
            with self._lock:
                found = self._kernels.get(key)
                if found is None:
                    found = self._kernels[key] = self._make(spec)
        return found

    def _make(self, spec: KernelSpec) -> Kernel:
        name = name_of(spec)
        return Kernel(spec, self._load(name, lambda: build(spec, name, machine())))

    def function(self, name: str, text: str) -> int:
        """The address of the function ``name`` of a module; the name tells modules apart."""
        with self._lock:
            return self._load(name, lambda: text)

    def _load(self, name: str, text: Callable[[], str]) -> int:
        import llvmlite.binding as llvm

        here = machine()
        key = cache.key_of(name, here, *_versions())
        code = cache.load(key)
        if code is None:
            code = emit(text(), here)
            cache.store(key, code)
        statistics.add("kernels_compiled")
        if self._engine is None:
            empty = llvm.parse_assembly(f'target triple = "{here.triple}"')
            self._engine = llvm.create_mcjit_compiler(empty, _target(here))
        # The engine copies the sections; neither the object nor a module stays.
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address: int = self._engine.get_function_address(name)
        return address


def is_compiled(spec: KernelSpec) -> bool:
    """Whether this process has the kernel of ``spec`` already."""
    return _key(spec) in compiler._kernels


def compile_kernel(spec: KernelSpec) -> Kernel:
    """The kernel of ``spec``; the same one for the same specification."""
    return compiler.kernel(spec)


def compile_text(name: str, text: str) -> int:
    """The address of ``name``, a function of a module that was written by hand."""
    return compiler.function(name, text)


def kernel_text(spec: KernelSpec) -> str:
    """The LLVM text of a kernel, for people."""
    return build(spec, name_of(spec), machine())


def name_of(spec: KernelSpec) -> str:
    """The symbol of a kernel: the same in every process."""
    return "atoll_" + hashlib.blake2b(repr(spec).encode(), digest_size=16).hexdigest()


def _key(spec: KernelSpec) -> KernelSpec | str:
    """What tells specifications apart: themselves, unless ``==`` is wrong about their constants.

    The two zeros are equal to each other, and a NaN is not equal to itself.
    """
    for instruction in spec.body:
        if instruction.op == "const":
            number = instruction.args[0]
            if number == 0 or number != number or isinstance(number, complex):
                return name_of(spec)
    return spec


@functools.cache
def _versions() -> tuple[str, ...]:
    """What machine code depends on besides this package and the processor."""
    import llvmlite
    import llvmlite.binding as llvm

    # NumPy's release decides how complex products are rounded.
    return (llvmlite.__version__, str(llvm.llvm_version_info), np.__version__)


def emit(text: str, here: Machine) -> bytes:
    """The object file of a module.

    The text is vectorised already and has no redundancy worth a pass over it: what LLVM's
    code generator does on its own is enough.
    """
    import llvmlite.binding as llvm

    return bytes(_target(here).emit_object(llvm.parse_assembly(text)))


def _target(here: Machine) -> Any:
    import llvmlite.binding as llvm

    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=3, jit=True
    )


compiler = Compiler()
