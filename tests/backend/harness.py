"""Build a specification from arrays, run it, and leave the results in the arrays."""

from __future__ import annotations

import math

import numpy as np

from atoll import backend
from atoll.backend.numpy import over
from atoll.backend.numpy.nest import Nest
from atoll.backend.spec import Instruction, KernelSpec, Operand, Reduction, is_flat, is_full


def code(dtype):
    """NumPy's dtype as kernels write it."""
    dtype = np.dtype(dtype)
    return f"{dtype.kind}{dtype.itemsize}"


class Block:
    """The arguments of a compiled kernel: ``words`` of 8 bytes, of which its ``layout`` says what is where."""

    def __init__(self, layout):
        self.layout, self.words = layout, np.zeros(layout.size, np.int64)
        self.view = memoryview(self.words)
        self.address = self.words.ctypes.data

    def set_scalar(self, slot, dtype, value):
        start = self.layout.scalars + 2 * slot
        bytes_ = self.words[start : start + 2].view(np.uint8)[: np.dtype(dtype).itemsize]
        bytes_.view(dtype)[0] = value


def run_block(function, block, chunks, threads):
    """Call compiled code on the chunks of a block, on ``threads`` threads."""
    from atoll import config
    from atoll.backend.llvm.workers import parallel_for

    parallel_for(function, block, chunks, threads or config.threads)


class Loop:
    """A kernel under construction over arrays that broadcast to ``shape``; ``row`` is that of the specification."""

    def __init__(self, shape, row=0):
        self.shape, self.row = tuple(shape), row
        self.body, self.operands, self.arrays, self.strides = [], [], [], []
        self.scalars, self.numbers, self.reductions = [], [], []

    def _emit(self, op, dtype, *args, name=""):
        self.body.append(Instruction(op, dtype, args, name))
        return len(self.body) - 1

    def operand(self, array, access="r", alias=None):
        """Add an operand; its own alias group unless told."""
        strides = [
            0 if size == 1 else stride
            for size, stride in zip(array.shape, array.strides, strict=True)
        ]
        strides = [0] * (len(self.shape) - array.ndim) + strides
        inner = {array.itemsize: "unit", 0: "zero"}.get(strides[-1], "any")
        number = len(self.operands)
        self.operands.append(
            Operand(code(array.dtype), access, inner, number + 1 if alias is None else alias)
        )
        self.arrays.append(array)
        self.strides.append(strides)
        return number

    def load(self, array, **options):
        return self._emit("load", code(array.dtype), self.operand(array, **options))

    def load_operand(self, number):
        return self._emit("load", self.operands[number].dtype, number)

    def scalar(self, value, dtype):
        self.scalars.append(dtype)
        self.numbers.append(value)
        return self._emit("scalar", dtype, len(self.scalars) - 1)

    def const(self, value, dtype):
        return self._emit("const", dtype, value)

    def index(self, axis):
        return self._emit("index", "i8", axis)

    def call(self, name, dtype, *values):
        return self._emit("call", dtype, *values, name=name)

    def cast(self, value, dtype):
        return self._emit("cast", dtype, value)

    def where(self, mask, a, b):
        return self._emit("where", self.body[a].dtype, mask, a, b)

    def part(self, which, value, dtype):
        return self._emit(which, dtype, value)

    def join(self, real, imag, dtype):
        return self._emit("complex", dtype, real, imag)

    def store(self, array, value, mask=None, alias=None):
        number = self.operand(array, "w", alias)
        return self._emit("store", "", number, value, *([] if mask is None else [mask]))

    def store_operand(self, number, value):
        return self._emit("store", "", number, value)

    def reduce(self, op, dtype, value, axes=None, operand=-1, position=-1):
        axes = tuple(range(len(self.shape))) if axes is None else axes
        self.reductions.append(Reduction(op, dtype, value, axes, operand, position))

    def spec(self):
        return KernelSpec(
            len(self.shape),
            tuple(self.operands),
            tuple(self.scalars),
            tuple(self.body),
            tuple(self.reductions),
            self.row,
        )

    def run(self, chunk=None, threads=1, origins=None, make=None):
        """Run; (flags, partials). ``make`` gives the compiled kernel of a specification."""
        ndim = len(self.shape)
        chunk = chunk or max(1, self.shape[0])
        origins = origins or [0] * ndim
        if make is None and backend.current().name == "numpy":
            return self._run_by_numpy(chunk, origins)
        if make is None:
            from atoll.backend.llvm.compile import compile_kernel as make
        addresses = [array.ctypes.data for array in self.arrays]
        return self._call(make(self.spec()), chunk, addresses, origins, threads)

    def _call(self, kernel, chunk, addresses, origins, threads):
        from atoll.backend.llvm.types import SETTLED

        layout, block = kernel.layout, Block(kernel.layout)
        words, chunks = block.words, -(-self.shape[0] // chunk)
        words[layout.chunk] = chunk * (math.prod(self.shape[1:]) if is_flat(kernel.spec) else 1)
        words[layout.extents : layout.extents + layout.ndim] = self.shape
        words[layout.pointers : layout.strides] = addresses
        words[layout.strides : layout.scalars] = [s for row in self.strides for s in row]
        for slot, (dtype, value) in enumerate(zip(kernel.spec.scalars, self.numbers)):
            block.set_scalar(slot, dtype, value)
        words[layout.origins : layout.origins + len(origins)] = origins
        partials = [np.empty(chunks, dtype) for dtype in layout.partial_dtypes]
        for number, array in enumerate(partials):
            words[layout.partials + number] = array.ctypes.data
        run_block(kernel.address, block.address, chunks, threads)
        return int(words[layout.flags]) & ~SETTLED, partials

    def _run_by_numpy(self, chunk, origins):
        spec, views = self.spec(), []
        for array, strides, operand in zip(self.arrays, self.strides, self.operands, strict=True):
            shape = self.shape
            if operand.run > 1:
                shape, strides = (*shape, operand.run), (*strides, array.itemsize)
            views.append(over(array, array.ctypes.data, shape, strides, array.dtype))
        partials = []
        chunks = -(-self.shape[0] // chunk)
        for reduction in self.reductions:
            if is_full(reduction, spec.ndim):
                partials.append(np.empty(chunks, np.dtype(reduction.dtype)))
                if reduction.position >= 0:
                    partials.append(np.empty(chunks, np.int64))
        if is_flat(spec):
            chunk *= math.prod(self.shape[1:])
        scalars = [np.asarray(n).astype(np.dtype(d)) for d, n in zip(self.scalars, self.numbers)]
        flags = Nest(spec).run(self.shape, chunk, views, scalars, origins, partials)
        return flags, partials


def same(a, b):
    """Equal bit for bit, but for which NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return same(a.real, b.real) and same(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    nan = np.isnan(a)
    whole = f"u{a.dtype.itemsize}"
    equal = (
        (a.view(whole) == b.view(whole))
        if a.ndim == 0
        else (np.ascontiguousarray(a).view(whole) == np.ascontiguousarray(b).view(whole))
    )
    return bool(np.all(np.where(nan, np.isnan(b), equal)))
