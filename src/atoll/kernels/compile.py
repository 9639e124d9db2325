"""From a specification to machine code in this process: a draft first, the best code once that pays.

LLVM's code generator takes three times as long to make its best code of a kernel as to make any (30 ms and 9), and the loops
are hardly quicker for it: they are vectors already. So the engine's kernels begin as *drafts*. A kernel that has done
as much work as makes up for compiling it again is *finished*, in place: whoever runs it asks for its address anew.
"""

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

DRAFT_WORK = 1 << 25
"""Elements times instructions that a draft does before the kernel is finished: the difference has cost some 20 ms then."""
LEAST_WORK = 1 << 15
"""What a call counts for at least."""
_QUICK, _BEST = 0, 3
_DRAFT = "_draft"


class Compiler:
    """Makes kernels, each once, and holds the engine that their code lives in.

    They are for the machine of the settings, or for another that this processor can stand for.
    """

    def __init__(self, other: Machine | None = None) -> None:
        self._other = other
        self._kernels: dict[KernelSpec | str, Kernel] = {}
        self._lock = threading.Lock()
        self._engine: Any = None

    @property
    def machine(self) -> Machine:
        """The machine that the code is for."""
        return self._other or machine()

    def kernel(self, spec: KernelSpec, work: int = DRAFT_WORK + 1) -> Kernel:
        """The kernel of ``spec``, compiled if this process has not met it, or taken from disk.

        It may be a draft, if there is no more ``work`` for it yet.
        """
        key = _key(spec)
        found = self._kernels.get(key)
        if found is None:
            with self._lock:
                found = self._kernels.get(key)
                if found is None:
                    draft = work <= DRAFT_WORK and self.machine.x86
                    found = self._kernels[key] = self._make(spec, draft)
        if found.draft and work > DRAFT_WORK:
            self.finish(found)
        return found

    def _make(self, spec: KernelSpec, draft: bool) -> Kernel:
        name = name_of(spec)
        statistics.add("kernels_compiled")
        if draft:
            code = cache.load(self._key_on_disk(name))
            if code is None:
                name += _DRAFT
                code = self._code(name, lambda: build(spec, name, self.machine), _QUICK)
                return Kernel(spec, self._linked(name, code), draft=True)
            return Kernel(spec, self._linked(name, code))
        code = self._code(name, lambda: build(spec, name, self.machine), _BEST)
        return Kernel(spec, self._linked(name, code))

    def finish(self, kernel: Kernel) -> None:
        """Make the best code for a kernel that is a draft."""
        with self._lock:
            if kernel.draft:
                name, spec = name_of(kernel.spec), kernel.spec
                code = self._code(name, lambda: build(spec, name, self.machine), _BEST)
                kernel.address = self._linked(name, code)
                kernel.draft = False

    def function(self, name: str, text: str) -> int:
        """The address of the function ``name`` of a module; two modules must not have it."""
        with self._lock:
            statistics.add("kernels_compiled")
            return self._linked(name, self._code(name, lambda: text, _BEST))

    def _code(self, name: str, text: Callable[[], str], effort: int) -> bytes:
        """The object file of a module whose function is called ``name``, from disk or made now."""
        key = self._key_on_disk(name)
        code = cache.load(key)
        if code is None:
            code = emit(text(), self.machine, effort)
            cache.store(key, code)
        return code

    def _key_on_disk(self, name: str) -> str:
        return cache.key_of(name, self.machine, *_versions())

    def _linked(self, name: str, code: bytes) -> int:
        """The address of ``name`` in an object file, which is taken into the process."""
        import llvmlite.binding as llvm

        if self._engine is None:
            here = self.machine
            empty = llvm.parse_assembly(f'target triple = "{here.triple}"')
            self._engine = llvm.create_mcjit_compiler(empty, _target(here))
        # The engine copies the sections; neither the object nor a module stays.
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address: int = self._engine.get_function_address(name)
        assert address, f"there is no function {name} in its own module"
        return address


def is_compiled(spec: KernelSpec) -> bool:
    """Whether this process has the kernel of ``spec`` already."""
    return _key(spec) in compiler._kernels


def compile_kernel(spec: KernelSpec, work: int = DRAFT_WORK + 1) -> Kernel:
    """The kernel of ``spec``; the same one for the same specification. Where there is little ``work``, a draft will do."""
    return compiler.kernel(spec, work)


def worked(kernel: Kernel, work: int) -> bool:
    """Note that a draft has worked, and finish it once that pays; whether it is finished."""
    if kernel.draft:
        kernel.done += max(work, LEAST_WORK)
        if kernel.done > DRAFT_WORK:
            compiler.finish(kernel)
    return not kernel.draft


def compile_text(what: str, text: str) -> int:
    """The address of the function ``@NAME`` of a module that was written by hand.

    It is called after ``what`` it does, which is for people, and after the text, which tells modules apart.
    """
    name = f"atoll_{what}_" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return compiler.function(name, text.replace("NAME", name))


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


def emit(text: str, here: Machine, effort: int = _BEST) -> bytes:
    """The object file of a module.

    The text is vectorised already and has no redundancy worth a pass over it: what LLVM's
    code generator does on its own is enough.
    """
    import llvmlite.binding as llvm

    return bytes(_target(here, effort).emit_object(llvm.parse_assembly(text)))


def _target(here: Machine, effort: int = _BEST) -> Any:
    import llvmlite.binding as llvm

    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=effort, jit=True
    )


compiler = Compiler()
