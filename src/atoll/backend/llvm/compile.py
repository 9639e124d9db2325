"""From a specification to machine code: a draft first, optimized code once that pays.

LLVM's code generator takes three times as long to make its best code of a kernel as to make any (30 ms and 9), and the loops
are hardly quicker for it: they are vectors already. So the engine's kernels begin as *drafts*. A kernel that has done
as much work as makes up for compiling it again is *finished*, in place: its caller asks for its address anew.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ... import policy
from ...comm import progress
from ...context import log, profiler, statistics
from ...context.caches import Recent
from ...context.profiler import Kind
from ...context.threads import process_lock
from ..spec import KernelSpec
from . import cache
from .kernel import Kernel, Layout
from .machine import Machine, machine
from .nest import build

_QUICK, _BEST = 0, 3
_DRAFT = "_draft"


class _Shelf:
    """The engine that holds the code of some kernels. It is freed with the last of them."""

    __slots__ = ("__weakref__", "_engine", "taken")

    def __init__(self, here: Machine) -> None:
        empty = llvm.parse_assembly(f'target triple = "{here.triple}"')
        self._engine = llvm.create_mcjit_compiler(empty, _target(here))
        self.taken = 0

    def add(self, name: str, code: bytes) -> int:
        """The address of ``name`` in an object file, which is taken into the process."""
        # The engine copies the sections; neither the object nor a module stays.
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.taken += 1
        address: int = self._engine.get_function_address(name)  # which makes it executable
        assert address, f"there is no function {name} in its own module"
        return address


class Compiler:
    """Compiler of kernels, each once while it is cached, and of functions of other modules, which stay.

    The code is for the machine of the settings, or for another that this processor can emulate.
    """

    def __init__(self, other: Machine | None = None) -> None:
        self._other = other
        self._kernels: Recent[KernelSpec | str, Kernel] = Recent("kernels_dropped")
        self._lock = process_lock
        self._newest: _Shelf | None = None
        self._functions: _Shelf | None = None
        self._addresses: dict[str, int] = {}

    @property
    def machine(self) -> Machine:
        """The machine that the code is for."""
        return self._other or machine()

    def kernel(self, spec: KernelSpec, work: float = inf) -> Kernel:
        """The kernel of ``spec``, compiled if this process has not met it, or taken from disk.

        It may be a draft, if there is no more ``work`` for it yet.
        """
        key = _key(spec)
        kernel = self._kernels.get(key)
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get(key)
                if kernel is None:
                    draft = work <= _work_of_drafts(spec) and self.machine.x86
                    kernel = self._make(spec, draft)
                    self._kernels[key] = kernel
        if kernel.draft and work > _work_of_drafts(spec):
            self.finish(kernel)
        return kernel

    def _make(self, spec: KernelSpec, draft: bool) -> Kernel:
        statistics.add("kernels_compiled")
        kernel = Kernel(spec, Layout.of(spec))
        self._put(kernel, _QUICK if draft else _BEST)
        return kernel

    def finish(self, kernel: Kernel) -> None:
        """Compile a draft kernel with full optimisation."""
        with self._lock:
            if kernel.draft:
                self._put(kernel, _BEST)

    def _put(self, kernel: Kernel, effort: int) -> None:
        """Take the code of a kernel into the process, for as long as the kernel is referenced."""
        spec, name = kernel.spec, name_of(kernel.spec)
        code, effort = self._code(name, lambda symbol: build(spec, symbol, self.machine), effort)
        if self._newest is None or self._newest.taken >= policy.limits.numbers:
            self._newest = _Shelf(self.machine)
        kernel.take(self._newest.add(_symbol(name, effort), code), self._newest)
        kernel.draft = effort < _BEST

    def function(self, name: str, text: str) -> int:
        """The address of the function ``name`` of a module; two modules must not have it."""
        with self._lock:
            known = self._addresses.get(name)
            if known is not None:  # two threads may ask for it at the same time
                return known
            statistics.add("kernels_compiled")
            if self._functions is None:
                self._functions = _Shelf(self.machine)
            address = self._functions.add(name, self._code(name, lambda name: text, _BEST)[0])
            self._addresses[name] = address
            return address

    def _code(self, name: str, text: Callable[[str], str], effort: int) -> tuple[bytes, int]:
        """The object file of a module, from disk or made now, and its effort; ``text`` returns the module for a symbol."""
        here = self.machine

        def compiled() -> bytes:
            started, symbol = perf_counter(), _symbol(name, effort)
            with profiler.span(Kind.COMPILE, "compile"):
                code = emit(text(symbol), here, effort)
            taken = 1e3 * (perf_counter() - started)
            log.kernels.debug("compiled %s in %.1f ms: %d bytes", symbol, taken, len(code))
            progress.advance(1)
            return bytes([effort]) + code

        key = cache.key_of(name, here, policy.limits.code, *_versions())
        code = cache.load_or_make(key, compiled, bytes([effort]))
        return code[1:], code[0]


def is_compiled(spec: KernelSpec) -> bool:
    """True if this process has the kernel of ``spec`` already."""
    return _key(spec) in compiler._kernels


def compile_kernel(spec: KernelSpec, work: float = inf) -> Kernel:
    """The kernel of ``spec``; the same one for the same specification. Where there is little ``work``, a draft will do."""
    return compiler.kernel(spec, work)


def _work_of_drafts(spec: KernelSpec) -> int:
    """Elements times operations for which a draft will do: a long kernel takes longer to compile well, and longer for each element."""
    return policy.limits.draft_work * len(spec.body)


def worked(kernel: Kernel, work: int, times: int = 1) -> bool:
    """Count ``times`` runs of a draft, and finish it once that pays; True if it is finished."""
    if kernel.draft:
        kernel.done += times * max(work, policy.limits.chunk)
        if kernel.done > _work_of_drafts(kernel.spec):
            kernel.done = 0
            statistics.attempted(compiler.finish, kernel)  # else the draft goes on
    return not kernel.draft


def compile_text(what: str, text: str) -> int:
    """Address of the function ``@NAME`` of a hand-written module.

    Its symbol contains ``what``, a readable description, and a digest of the text, which distinguishes modules.
    """
    name = f"atoll_{what}_" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return compiler.function(name, text.replace("NAME", name))


def kernel_text(spec: KernelSpec) -> str:
    """The LLVM text of a kernel, for people."""
    return build(spec, name_of(spec), machine())


def name_of(spec: KernelSpec) -> str:
    """The symbol of a kernel: the same in every process."""
    lists = [list(map(tuple, part)) for part in (spec.operands, spec.body, spec.reductions)]
    text = repr((spec.ndim, spec.scalars, lists, spec.row))
    return "atoll_" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _symbol(name: str, effort: int) -> str:
    """The symbol of a kernel's code: the draft and the finished code may lie on one shelf."""
    return name if effort == _BEST else name + _DRAFT


def _key(spec: KernelSpec) -> KernelSpec | str:
    """Key that distinguishes specifications: the specification itself, or its name if ``==`` is wrong about its constants.

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
    """Versions that machine code depends on besides this package and the processor."""
    # NumPy's release decides how complex products are rounded.
    return (llvmlite.__version__, str(llvm.llvm_version_info), np.__version__)


def emit(text: str, here: Machine, effort: int = _BEST) -> bytes:
    """The object file of a module.

    The text is vectorised already and has no redundancy worth a pass over it: LLVM's
    code generator alone is enough.
    """
    return bytes(_target(here, effort).emit_object(llvm.parse_assembly(text)))


def _target(here: Machine, effort: int = _BEST) -> Any:
    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=effort, jit=True
    )


compiler = Compiler()
