"""The schedule of a kernel: the level at which each value is computed, the vector width, and the order of the loops.

The two innermost axes are done by one of four *orders*:

* ``rows``: one row after the other;
* ``tiles``: narrow strips of all rows, where an operand runs across its memory, no result hangs on whole rows, and these are not short;
* ``batches``: several rows at a time, where all fold into the same results: each vector of results is loaded and stored
  once for them, and memory is read in several streams;
* ``streams``: several rows in turns, each with accumulators of its own (:mod:`.rows` says why).
"""

from __future__ import annotations

from ... import policy
from ..spec import (
    STREAMS,
    KernelSpec,
    accumulators,
    arguments,
    behind,
    common_mask,
    conflicting_pairs,
    is_flat,
    is_full,
    mask_of,
    rounds,
    whole,
    written_operands,
)
from .types import COMPONENT, KIND, itemsize
from .ufuncs import can_flag

NEST, ROW, ELEMENT = 0, 1, 2
"""Levels of computation of a value: once, once per row, or for every element."""

_QUICK = frozenset({
    "add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "fabs", "square", "sqrt", "conjugate",
    "maximum", "minimum", "fmax", "fmin", "clip", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
    "isnan", "isfinite", "isinf", "signbit", "copysign", "sign", "floor", "ceil", "trunc", "rint",
})  # fmt: skip
"""Operations that take about as long as reading an element that lies apart from others."""


class Schedule:
    """``members`` lists the instructions of each level; ``width`` is the number of elements that
    vector code takes at a time, ``tail`` that of the masked code at the end of a row; ``seeks`` is True
    if the kernel only searches positions, ``folds_only`` if its body is small and stores
    nothing. ``guard`` is the common mask of the masked stores, or -1. With a guard, the ``decides`` instructions
    run first, the ``guarded`` ones only if some element of a vector is wanted,
    and after them the ``others``. That changes the order of instructions, so the guarded part does not reload
    memory that the body stores to: ``kept`` are the loads whose memory is overwritten before it begins; they
    run once, among ``decides``. A body in which other reads and writes of one memory would change their order
    has no guard. ``counts`` has the truth value that a sum along the innermost axis
    counts; ``settles`` is True if one element can decide all results of the kernel.
    ``scopes`` has, for each reduction along the innermost axis, the outermost axis of the innermost run of axes that it
    folds; ``fresh`` is True if all of them begin anew with each row. ``flat`` tells whether chunks count elements, ``pairs`` lists the
    operands that may overlap. ``order`` is that of the two innermost axes; ``streams`` is True if several rows, or parts of one, may be
    read in turns, and ``quarters`` if rows may be cut for that."""

    def __init__(self, spec: KernelSpec, vector_bytes: int) -> None:
        self.spec = spec
        self.counts = self._counts()
        needed = self._needed()
        levels = self._levels()
        self.members = [
            [n for n, used in enumerate(needed) if used and levels[n] == level]
            for level in range(3)
        ]
        self.seeks = (
            bool(spec.reductions)
            and all(r.position >= 0 and spec.ndim - 1 in r.axes for r in spec.reductions)
            and not any(instruction.op == "store" for instruction in spec.body)
        )
        widest = self._widest()
        register = max(1, vector_bytes // widest)
        self.width = min(policy.limits.vector, register * self._registers(), *self._accumulators())
        if not spec.reductions:
            self.width = min(self.width, self._useful())
        several = STREAMS * len(self.members[ELEMENT]) <= policy.limits.registers
        self.folds_only = several and not any(i.op == "store" for i in spec.body)
        self.tail = 1 if self._is_quick() else min(self.width, register, policy.limits.part_vector)
        self.guard = self._guard(levels)
        self.decides: list[int] = []
        self.guarded: list[int] = []
        self.kept: list[int] = []
        self.others: list[int] = []
        if self.guard >= 0:
            self._separate()
        flags = can_flag(spec)
        self.settles = not any(flags) and self._settles()
        self.harmless = not any(flags[n] for n in self.guarded)
        """True if the guarded instructions raise no flags, whatever elements they are given."""
        self.twice = len(self.guarded) <= policy.limits.registers
        """True if vectors without unwanted elements are worth code of their own."""
        self.inner = spec.ndim - 1
        self.flat = is_flat(spec)
        self.pairs = conflicting_pairs(spec)
        along = [n for n, r in enumerate(spec.reductions) if self.inner in r.axes]
        self.scopes = {number: self._scope(number) for number in along}
        self.rounded = [n for n in along if n not in self.counts and rounds(spec.reductions[n])]
        """The reductions along the innermost axis whose order affects the result."""
        self.fresh = all(scope == self.inner for scope in self.scopes.values())
        self.streams = self._streams()
        # The elements of a product have to be in order.
        products = any(spec.reductions[n].op != "add" for n in self.rounded)
        self.quarters = self.streams and not self.seeks and not products
        self.order = self._order()

    def _counts(self) -> dict[int, int]:
        """For each sum of truth values along the innermost axis, which value these are.

        Numbers of eight bytes are compared, and added up, in lanes of their own as quickly.
        """
        counted = {}
        for number, reduction in enumerate(self.spec.reductions):
            value, exact = reduction.value, KIND[reduction.dtype] in "iu" or reduction.dtype == "f8"
            while self.spec.body[value].op == "cast" and self.spec.body[value].dtype != "b1":
                value = whole(self.spec.body[value].args[0])
            truth = self.spec.body[value].dtype == "b1"
            if reduction.op == "add" and exact and truth and self.spec.ndim - 1 in reduction.axes:
                counted[number] = value
        return counted

    def _accumulators(self) -> list[int]:
        """Maximum vector widths for each rounded sum or product along the innermost axis."""
        along = [n for n, r in enumerate(self.spec.reductions) if self.spec.ndim - 1 in r.axes]
        folds = [self.spec.reductions[n] for n in along if n not in self.counts]
        return [accumulators(fold.dtype) for fold in folds if rounds(fold)]

    def _scope(self, number: int) -> int:
        axis = self.inner
        while axis - 1 in self.spec.reductions[number].axes:
            axis -= 1
        return axis

    def _order(self) -> str:
        reductions, scopes = self.spec.reductions, self.scopes
        across = any(operand.inner == "any" for operand in self.spec.operands)
        if across and not self.spec.row and not self.rounded and self.inner not in scopes.values():
            return "tiles"
        several = all(self.inner - 1 in reduction.axes for reduction in reductions)
        if reductions and not scopes and not self.pairs and self.folds_only and several:
            return "batches"
        return "streams" if self.streams else "rows"

    def _streams(self) -> bool:
        loads = [
            self.spec.operands[whole(instruction.args[0])].inner
            for instruction in self.spec.body
            if instruction.op == "load"
        ]
        anew = self.inner in self.scopes.values()
        return (
            bool(self.scopes)
            and len(self.scopes) == len(self.spec.reductions)
            and not self.pairs
            and not self.settles
            and self.folds_only
            and (self.fresh or (self.seeks and not anew))
            and "unit" in loads
            and "any" not in loads
        )

    def _settles(self) -> bool:
        """True if there are only folds of everything by ``and`` and ``or``."""
        spec = self.spec
        return (
            bool(spec.reductions)
            and all(is_full(fold, spec.ndim) for fold in spec.reductions)
            and all(fold.op in ("logical_and", "logical_or") for fold in spec.reductions)
            and not any(instruction.op == "store" for instruction in spec.body)
        )

    def _guard(self, levels: list[int]) -> int:
        mask = common_mask(self.spec)
        return mask if mask >= 0 and levels[mask] == ELEMENT else -1

    def _separate(self) -> None:
        """Divide the instructions into three groups: they compute the mask, run under it, or run for all elements."""
        body = self.spec.body
        stores = [n for n in self.members[ELEMENT] if body[n].op == "store"]
        masked = [n for n in stores if mask_of(body[n]) >= 0]
        open_ = [n for n in stores if mask_of(body[n]) < 0]
        used = [n for r in self.spec.reductions for n in (r.value, r.position) if n >= 0]
        used += [whole(body[n].args[1]) for n in open_]
        self.guarded = sorted([*self._behind([whole(body[n].args[1]) for n in masked]), *masked])
        early = [n for n in open_ if n < masked[0]]
        self.kept = [
            n
            for n in self.guarded
            if body[n].op == "load" and any(n < k and self._meet(n, k) for k in early)
        ]
        for_all = sorted({*self._behind([self.guard, *used]), *open_, *self.kept})
        self.decides = [n for n in for_all if n < masked[0]]
        self.others = [n for n in for_all if n > masked[0]]
        again = [n for n in self.guarded if n not in self.kept]
        order = [n for n in self.decides + again + self.others if body[n].op in ("load", "store")]
        if any(a > b and self._meet(a, b) for k, a in enumerate(order) for b in order[k:]):
            self.guard, self.guarded, self.kept = -1, [], []

    def _meet(self, a: int, b: int) -> bool:
        """True if two instructions use the same memory, and one of them writes."""
        first, second = self.spec.body[a], self.spec.body[b]
        if "store" not in (first.op, second.op):
            return False
        operands = self.spec.operands
        return operands[whole(first.args[0])].alias == operands[whole(second.args[0])].alias

    def _behind(self, values: list[int]) -> list[int]:
        """The instructions computed in every element for these values, in order."""
        reached = behind(self.spec.body, values)
        return [n for n in self.members[ELEMENT] if n in reached]

    def _needed(self) -> list[bool]:
        needed = [instruction.op == "store" for instruction in self.spec.body]
        for k, reduction in enumerate(self.spec.reductions):
            value = self.counts.get(k, reduction.value)
            for number in (value, reduction.position):
                if number >= 0:
                    needed[number] = True
        for number in reversed(range(len(needed))):
            if needed[number]:
                for argument in arguments(self.spec.body[number]):
                    needed[argument] = True
        return needed

    def _levels(self) -> list[int]:
        spec = self.spec
        written = {spec.operands[k].alias for k in written_operands(spec)}
        levels: list[int] = []
        for instruction in spec.body:
            level = max([NEST, *(levels[a] for a in arguments(instruction))])
            if instruction.op == "load":
                operand = spec.operands[whole(instruction.args[0])]
                constant = operand.inner == "zero" and operand.alias not in written
                level = ROW if constant else ELEMENT
            elif instruction.op == "index":
                level = ELEMENT if instruction.args[0] == spec.ndim - 1 else ROW
            elif instruction.op == "store":
                level = ELEMENT
            levels.append(level)
        return levels

    def _useful(self) -> int:
        """Maximum useful vector width: if elements are read or written one by one,
        wider vectors only add code, and a row that writes to one location has one element."""
        inner = {
            (instruction.op, self.spec.operands[whole(instruction.args[0])].inner)
            for instruction in map(self.spec.body.__getitem__, self.members[ELEMENT])
            if instruction.op in ("load", "store")
        }
        if ("store", "zero") in inner:
            return 1
        runs = max([operand.run for operand in self.spec.operands], default=1)
        if runs > 1:
            return policy.limits.part_vector
        if not {("load", "any"), ("store", "any")} & inner:
            return policy.limits.vector
        if self._is_quick() and not {("load", "unit"), ("store", "unit")} & inner:
            return 1  # a column
        return policy.limits.part_vector

    def _is_quick(self) -> bool:
        """True if elements that lie apart take longer to read and write than to compute: then the last of a row are as
        quickly done one by one, with a tenth of the code."""
        body = [self.spec.body[number] for number in self.members[ELEMENT]]
        apart = any(operand.inner == "any" for operand in self.spec.operands)
        quick = all(i.op != "call" or i.name in _QUICK for i in body)
        return apart and quick and not self.spec.reductions

    def _widest(self) -> int:
        """Bytes of the largest number that is computed with in every element."""
        sizes = [1]
        members = self.members[ELEMENT]
        if self.seeks:  # positions are computed one by one
            members = self._behind([reduction.value for reduction in self.spec.reductions])
        for number in members:
            dtype = self.spec.body[number].dtype
            if dtype:
                dtype = COMPONENT.get(dtype, dtype)
                sizes.append(4 if dtype == "f2" else itemsize(dtype))
        for number, reduction in enumerate(self.spec.reductions):
            if number in self.counts:
                continue
            dtype = COMPONENT.get(reduction.dtype, reduction.dtype)
            sized = reduction.position >= 0 and not self.seeks
            sizes.append(8 if sized else 4 if dtype == "f2" else itemsize(dtype))
        return max(sizes)

    def _registers(self) -> int:
        """Number of vector registers per value.

        An operation waits for its operands. So several registers of elements are computed at a time if the body is small, or if its
        operations depend on each other, so that few could run in parallel; but only as many as fit into registers.
        """
        work = len(self.members[ELEMENT]) + len(self.spec.reductions)
        at_once, live = self._parallel()
        several = 4 if work <= 12 or at_once < 2 else 2 if work <= 24 or at_once < 4 else 1
        while several > 1 and work > 24 and several * live > policy.limits.registers:
            several //= 2
        return several

    def _parallel(self) -> tuple[float, int]:
        """Number of operations of an element that can run in parallel, and maximum number of live values."""
        body, members = self.spec.body, self.members[ELEMENT]
        depth: dict[int, int] = {}
        last = {argument: n for n in members for argument in arguments(body[n])}
        ending: dict[int, int] = {}
        alive = most = 0
        for n in members:
            depth[n] = 1 + max(
                [depth.get(argument, 0) for argument in arguments(body[n])], default=0
            )
            alive -= ending.pop(n, 0)
            if n in last:
                alive += 1
                ending[last[n]] = ending.get(last[n], 0) + 1
            most = max(most, alive)
        return len(members) / max([*depth.values(), 1]), most
