"""The rules that keep ranks in step and numbers right, and an edit that breaks each."""

# fmt: off
from __future__ import annotations

from dataclasses import dataclass

Edit = tuple[str, str, str]
"""A file under ``src/atoll``, a text that it has once, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule that is broken on purpose, and who must notice."""

    rule: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


KNOWN = "tests/engine/test_known_traps.py"
HAZARDS = "tests/engine/test_hazards.py"

TRAPS = [
    Mutation(
        "trap 1: a neighbour reads what was there before",
        (("plan/statements.py", "            reads_safely(arg, region, base, stored, safe) for arg in node.args[1:]\n", "            True for arg in node.args[1:]\n"),),
        (f"{KNOWN}::test_neighbours_read_what_was_there_before",),
    ),
    Mutation(
        "trap 2a: a parcel is written again only when it has gone",
        (("comm/persistent.py", "            self._communicator.wait_all(self._requests)\n", "            self._communicator.wait_all(self._requests[: len(self._arriving)])\n"),),
        (f"{KNOWN}::test_memory_is_not_used_again_while_somebody_may_read_it",),
    ),
    Mutation(
        "trap 2b: a message that lies in an array's memory is waited for",
        (("execute/exchange.py", "        waiting = list(range(len(requests)))\n", "        waiting = list(range(len(arriving)))\n"),),
        (f"{KNOWN}::test_memory_is_not_used_again_while_somebody_may_read_it",),
    ),
    Mutation(
        "trap 2c: a register lives until what was sent of it has gone",
        (("execute/exchange.py", "            | {one.register for one in self.outgoing}\n            | {one.source for one in self.inside}\n", ""),),
        (f"{KNOWN}::test_memory_is_not_used_again_while_somebody_may_read_it",),
    ),
    Mutation(
        "trap 3 and rule 2: what is alive decides nothing that ranks do together (buffers)",
        (("plan/statements.py", "needed = base.holders > 1 or id(base) in roots if trace.together else seen", "needed = seen"),),
        ("tests/instep/test_garbage.py",),
    ),
    Mutation(
        "rule 3: where ranks compute together, every assigned value is stored",
        (("plan/statements.py", "(trace.together or id(node) in trace.alive)", "id(node) in trace.alive"),),
        ("tests/instep/test_garbage.py",),
    ),
    Mutation(
        "trap 4: the dtype of a result is its loop's",
        (("ops/elementwise.py", "geometry = result_geometry(geometries, loop.output)", "geometry = result_geometry(geometries, np.result_type(*loop.inputs))"),),
        (f"{KNOWN}::test_dtypes_of_results_are_not_those_of_operands",),
    ),
    Mutation(
        "trap 5: a slice of one element is an array",
        (("lazy/indexing.py", "    if geometry.ndim == 0 and Ellipsis not in items:\n", "    if geometry.size == 1 and Ellipsis not in items:\n"),),
        (f"{KNOWN}::test_slices_of_one_element_stay_arrays",),
    ),
    Mutation(
        "trap 6: no index array of global size on a rank",
        (("collective/elements.py", "    return _asked(section, count, indices[0].size, _stretches(indices)).reshape(shape)\n", "    everything = np.arange(section.layout.size)\n    found = _asked(section, count, indices[0].size, _stretches(indices)).reshape(shape)\n    return found if everything.size else found[:0]\n"),),
        ("tests/collective/test_memory.py",),
    ),
    Mutation(
        "trap 7a: ranges run backwards",
        (("lazy/creation.py", "length = max(ceil((stop - start) / step), 0)", "length = max(ceil((stop - start) / abs(step)), 0)"),),
        (f"{KNOWN}::test_reshapes_ranges_backwards_and_parts_of_complex_numbers",),
    ),
    Mutation(
        "trap 7b: an imaginary part is no real one",
        (("graph/geometry.py", "elements.getfield(self.dtype, self.offset % self.base.dtype.itemsize)", "elements.getfield(self.dtype, 0)"),),
        (f"{KNOWN}::test_reshapes_ranges_backwards_and_parts_of_complex_numbers",),
    ),
    Mutation(
        "trap 7b: a field is a view",
        (("lazy/indexing.py", "            geometry = handle._geometry.field(key)\n", "            geometry = None\n"),),
        ("tests/interchange/test_structures.py",),
    ),
    Mutation(
        "trap 7b: what nobody sees is not written to",
        (("lazy/sections.py", "        part.flags.writeable = False", "        part.flags.writeable = True"),),
        ("tests/interchange/test_sharing.py",),
    ),
    Mutation(
        "trap 7b: objects do not travel",
        (("interchange/distarray/reading.py", "    elif dtype.hasobject:\n", "    elif False:\n"),),
        ("tests/interchange/test_mutated.py::test_bounds_are_checked_before_anything_is_listed",),
    ),
    Mutation(
        "trap 7c: a reshape takes elements in C order",
        (("collective/moving.py", "    values = section.block.reshape(-1)\n    outgoing = dict(_cut(", "    values = section.block.T.reshape(-1)\n    outgoing = dict(_cut("),),
        (f"{KNOWN}::test_reshapes_ranges_backwards_and_parts_of_complex_numbers",),
    ),
    Mutation(
        "trap 8: text does not depend on the rank",
        (("lazy/printing.py", "    ends = _ends(handle)\n", "    ends = _ends(handle)\n    if __import__('atoll').world.rank:\n        return ''\n"),),
        (f"{KNOWN}::test_text_is_the_same_on_every_rank",),
    ),
    Mutation(
        "trap 9: a rank that fails ends all",
        (("startup.py", "        if self.ending or os.getpid() != self.process:\n", "        if self.rank >= 0:\n"),),
        ("tests/cli/test_run.py", "tests/cli/test_mpiexec.py"),
    ),
    Mutation(
        "trap 10: nobody has to be inside for others to go on",
        (("lazy/distributed.py", "        value.pinned = True\n        cell.pins += 1\n", "        value.pinned = True\n        cell.pins += 1\n        self.world.communicator.barrier()\n"),),
        (f"{KNOWN}::test_a_rank_goes_on_while_the_others_are_outside",),
    ),
    Mutation(
        "trap 11: random streams do not depend on the rank",
        (("lazy/drawing.py", "self.copy.jumped(number) if number else self.copy", "self.copy.jumped(number + 1 + current_world().rank)"),),
        ("tests/collective/test_random.py",),
    ),
    Mutation(
        "trap 12: no public name of NumPy's is missing",
        (("functions/public.py", "def publish(name: str, value: Any, kind: str, original: Any = None) -> None:\n", "def publish(name: str, value: Any, kind: str, original: Any = None) -> None:\n    if name == 'vander':\n        return\n"),),
        ("tests/functions/test_namespace.py",),
    ),
]

RULES = [
    Mutation(
        "rule 1b: the next operation closes the window of a sum",
        (("ops/windows.py", "            if log.window is not None:\n                _close(log)\n                weigh(node)\n        return place\n", "        return place\n"),),
        ("tests/instep/test_windows.py",),
    ),
    Mutation(
        "rule 1a: a loop that comes round closes a window",
        (("lazy/views.py", "return self.sites is not None and site_number(site) in self.sites and self.node.weight >= 0", "return False"),
         ("lazy/views.py", "            elif place in sites and node.weight >= 0:  # the loop has come round\n", "            elif not sites:\n")),
        ("tests/instep/test_windows.py",),
    ),
    Mutation(
        "rule 6: a block that was handed out stays where it is",
        (("lazy/distributed.py", "        value.pinned = True\n        cell.pins += 1\n", ""),),
        ("tests/instep/test_pinned.py",),
    ),
    Mutation(
        "rule 6: operations on what was handed out run at the call",
        (("lazy/distributed.py", "        value.pinned = True\n        cell.pins += 1\n", "        value.pinned = True\n"),),
        ("tests/instep/test_pinned.py",),
    ),
    Mutation(
        "rule 13: what ranks do is told apart",
        (("context/divergence.py", "self.hash = rolled = ((self.hash ^ fingerprint) + number) * _ODD & HASH_MASK", "self.hash = rolled = ((self.hash ^ 1) + number) * _ODD & HASH_MASK"),),
        ("tests/instep/test_parted.py",),
    ),
    Mutation(
        "rule 13: a parcel of another step is not used",
        (("comm/persistent.py", "if parcel.mark[0] != mark:", "if parcel.mark[0] == 1:"),),
        ("tests/instep/test_parcels.py",),
    ),
    Mutation(
        "rule 13: what ranks compute together is told apart by its arguments",
        (("lazy/spread.py", 'log.step(zlib.crc32(f"{words} {exact}".encode()), words)', "log.step(1, words)"),),
        ("tests/instep/test_together.py",),
    ),
    Mutation(
        "rule 1: of equal views one only is alive",
        (("graph/interned.py", "                    self._newest.clear()\n", "                    self._newest.clear()\n                    self._known.clear()\n"),),
        ("tests/engine/test_drawn.py",),
    ),
    Mutation(
        "rule 13: a barrier is a step",
        (("comm/world.py", "            allgather(self.communicator, np.empty(0, np.uint8), what)", "            self.communicator.barrier(what)"),),
        ("tests/instep/test_together.py",),
    ),
    Mutation(
        "rule 13: ranks that have parted stay parted",
        (("context/divergence.py", "        if self.parted:\n            raise self._still_parted(what)\n        if not self._alone", "        if not self._alone"),),
        ("tests/instep/test_after_parting.py",),
    ),
    Mutation(
        "rule 13: what ranks have in hand does not depend on who has looked at it",
        (("lazy/making.py", "        if current_world().size == 1 and (geometry.size > SHORT or not cell.is_used_by_pieces()):", "        if geometry.size > SHORT or not cell.is_used_by_pieces():"),),
        ("tests/engine/test_everywhere.py",),
    ),
    Mutation(
        "what a guarded part reads is loaded before the same loop stores it",
        (("backend/llvm/levels.py", "body[n].op == \"load\" and any(n < k and self._meet(n, k) for k in early)", "False"), ("backend/llvm/levels.py", "any(a > b and self._meet(a, b)", "any(a > b and a < 0")),
        (f"{HAZARDS}::test_what_a_group_stores_is_read_under_a_mask",),
    ),
    Mutation(
        "what a loop has stored is found by comparing",
        (("plan/body.py", "        if id(node) in self._stored:\n", "        if id(node) in self._stored and hash(outer) == hash(self._stored[id(node)][0]):\n"), ("plan/body.py", " or len(node.args) > 2:\n", ":\n")),
        (f"{HAZARDS}::test_a_moved_plan_is_what_would_be_planned", f"{HAZARDS}::test_a_moved_plan_reads_what_it_has_stored"),
    ),
    Mutation(
        "a mask is made before what it is read from is written",
        (("plan/statements.py", "            reads_safely(arg, region, base, stored, safe) for arg in node.args[1:]\n", "            reads_safely(arg, region, base, stored, safe) for arg in node.args[1:2]\n"),),
        (f"{HAZARDS}::test_a_mask_is_made_before_what_it_is_read_from_is_written",),
    ),
    Mutation(
        "what stays pending keeps what it is made of",
        (("plan/statements.py", "    for node in reversed(met):\n", "    for node in reversed(trace.order):\n"),),
        (f"{HAZARDS}::test_a_value_that_a_reduction_reads_past_keeps_what_it_is_made_of",),
    ),
    Mutation(
        "one thread at a time evaluates",
        (("lazy/evaluate.py", "    with turn.lock:\n        if opened", "    if True:\n        if opened"),),
        ("tests/engine/test_threads.py",),
    ),
    Mutation(
        "one thread of a rank communicates",
        (("context/divergence.py", "        if not self._alone:\n", "        if False:\n"),),
        ("tests/engine/test_threads.py::test_one_thread_of_a_rank_communicates",),
    ),
    Mutation(
        "memory is read-only for who has not asked to write",
        (("lazy/showing.py", "    array.flags.writeable = False\n", ""), ("lazy/showing.py", "(low, True)", "(low, False)")),
        ("tests/functions/test_showing.py::test_what_numpy_takes_for_a_temporary_is_a_copy",),
    ),
    Mutation(
        "an address is one for as long as the array lives",
        (("lazy/showing.py", "        handle._cell.pin()\n", "        pass\n"),),
        ("tests/functions/test_showing.py::test_an_address_is_one_for_as_long_as_the_array_lives",),
    ),
]

MUTATIONS = TRAPS + RULES
