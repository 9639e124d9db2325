"""Compile a kernel's text, keep the machine code, and run it.

The object that LLVM emits is what counts: it is kept on disk, and it is loaded into an engine
without its module and its target machine, which would take a hundred times its memory.
"""

from __future__ import annotations

import threading
from typing import Any

from .. import _version
from ..run import statistics
from . import cache
from .block import Layout
from .machine import Machine, machine
from .nest import Nest
from .spec import KernelSpec

_FORMAT = 1


class Kernel:
    """One compiled loop nest: the address of its code, and where its argument block has what."""

    __slots__ = ("address", "layout", "spec")

    def __init__(self, spec: KernelSpec, address: int) -> None:
        self.spec = spec
        self.address = address
        self.layout = Layout.of(spec)


class Compiler:
    """Makes kernels, each once."""

    def __init__(self) -> None:
        self._kernels: dict[KernelSpec, Kernel] = {}
        self._lock = threading.Lock()
        self._engine: Any = None

    def kernel(self, spec: KernelSpec) -> Kernel:
        """The kernel of a specification."""
        found = self._kernels.get(spec)
        if found is None:
            with self._lock:
                found = self._kernels.get(spec)
                if found is None:
                    found = self._kernels[spec] = self._make(spec)
        return found

    def _make(self, spec: KernelSpec) -> Kernel:
        import llvmlite
        import llvmlite.binding as llvm

        this = machine()
        if self._engine is None:
            target = llvm.Target.from_triple(this.triple).create_target_machine(cpu=this.cpu, features=this.features)
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        digest = cache.key_of(
            _FORMAT, _version.__version__, llvmlite.__version__, llvm.llvm_version_info, this.cpu, this.features,
            this.library, this.isa, sorted(this.functions), repr(spec),
        )  # fmt: skip
        name = "kernel_" + digest[:32]
        code = cache.load(digest)
        if code is None:
            code = _emit(Nest(spec, name, this).text(), this)
            cache.store(digest, code)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        statistics.add("kernels_compiled")
        return Kernel(spec, self._engine.get_function_address(name))


def _emit(text: str, this: Machine) -> bytes:
    """Optimise a module and emit its object."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    target = llvm.Target.from_triple(this.triple).create_target_machine(cpu=this.cpu, features=this.features, opt=3)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = target.emit_object(module)
    return code


compiler = Compiler()
