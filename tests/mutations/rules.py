"""The rules that keep ranks in step and results right, and edits that break each."""

# fmt: off
from __future__ import annotations

from dataclasses import dataclass

from .edits import Edit


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule that the edits break, and the tests that must fail then."""

    rule: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


KNOWN = "tests/engine/test_known_traps.py"
HAZARDS = "tests/engine/test_hazards.py"

TRAPS = [
    Mutation(
        "trap 1: a neighbour reads the old values",
        (("_place_updates", "reads_safely(*ANY)", "True"),),
        (f"{KNOWN}::test_neighbours_read_what_was_there_before",),
    ),
    Mutation(
        "trap 2a: a persistent buffer is written again only after it was sent",
        (("PersistentBuffers._drain", "ANY.wait_all(self._requests)", "self.communicator.wait_all(self._requests[: len(self.arriving)])"),),
        (f"{KNOWN}::test_memory_is_not_used_again_while_somebody_may_read_it",),
    ),
    Mutation(
        "trap 2b: a message sent from an array's memory is waited for",
        (("Exchange._take", "completed(self.communicator, self._requests)", "completed(self.communicator, self._requests[: len(arriving)])"),),
        (f"{KNOWN}::test_memory_is_not_used_again_while_somebody_may_read_it",),
    ),
    Mutation(
        "trap 2c: a register lives until its messages are sent",
        (("registers_of", "{ANY.register for ANY in sends}", "set()"), ("registers_of", "{ANY.source for ANY in copies}", "set()"),),
        (f"{KNOWN}::test_memory_is_not_used_again_while_somebody_may_read_it",),
    ),
    Mutation(
        "trap 3 and rule 2: which values are alive on a rank decides nothing collective (buffers)",
        (("_place_updates", "kept or id(base) in roots", "seen"),),
        ("tests/agreement/test_garbage.py",),
    ),
    Mutation(
        "rule 3: which values are alive on a rank decides nothing collective (assigned values)",
        (("choose_stored", "not (part or fills(node)) if trace.together else seen", "seen"),),
        ("tests/agreement/test_garbage.py",),
    ),
    Mutation(
        "trap 4: the dtype of a result is its loop's",
        (("recorded", "result_geometry(geometries, loop.output)", "result_geometry(geometries, np.result_type(*loop.inputs))"),),
        (f"{KNOWN}::test_dtypes_of_results_are_not_those_of_operands",),
    ),
    Mutation(
        "trap 5: a slice of one element is an array",
        (("get", "geometry.ndim == 0", "geometry.size == 1"),),
        (f"{KNOWN}::test_slices_of_one_element_stay_arrays",),
    ),
    Mutation(
        "trap 6: no rank has an index array of global size",
        (("fetch", "count = len(indices)", "everything = np.arange(section.layout.size)\nassert everything.size >= 0\nMATCH"),),
        ("tests/collective/test_memory.py",),
    ),
    Mutation(
        "trap 7a: ranges run backwards",
        (("arange", "(stop - start) / step", "(stop - start) / abs(step)"),),
        (f"{KNOWN}::test_reshapes_ranges_backwards_and_parts_of_complex_numbers",),
    ),
    Mutation(
        "trap 7b: an imaginary part is not a real part",
        (("Geometry.part_of", "self.offset % self.base.dtype.itemsize", "0"),),
        (f"{KNOWN}::test_reshapes_ranges_backwards_and_parts_of_complex_numbers",),
    ),
    Mutation(
        "trap 7b: a field is a view",
        (("get", "handle._geometry.field(key)", "None"),),
        ("tests/interchange/test_structures.py",),
    ),
    Mutation(
        "trap 7b: a copy that no array sees is read-only",
        (("block_of_view", "part.flags.writeable = False", "pass"),),
        ("tests/interchange/test_sharing.py",),
    ),
    Mutation(
        "trap 7b: objects are not sent",
        (("_block", "if problem:\n    reader.stop('T3', problem, ANY)", "if problem and not dtype.hasobject:\n    reader.stop('T3', problem)"),),
        ("tests/interchange/test_random_descriptions.py::test_bounds_are_checked_before_anything_is_listed",),
    ),
    Mutation(
        "trap 7c: a reshape takes elements in C order",
        (("reshaped", "Section(section.block.reshape(-1), bounded_line(have), communicator)", "Section(section.block.T.reshape(-1), bounded_line(have), communicator)"),),
        (f"{KNOWN}::test_reshapes_ranges_backwards_and_parts_of_complex_numbers",),
    ),
    Mutation(
        "trap 8: text does not depend on the rank",
        (("text_of", "ends = ANY", "if __import__('atoll').world.rank:\n    return ''\nMATCH"),),
        (f"{KNOWN}::test_text_is_the_same_on_every_rank",),
    ),
    Mutation(
        "trap 9: a rank that fails ends all",
        (("Ender.end", "self.ending or ANY", "self.rank >= 0"),),
        ("tests/cli/test_run.py", "tests/cli/test_mpiexec.py"),
    ),
    Mutation(
        "trap 10: a rank's local access does not wait for other ranks",
        (("Distributed._block", "cell.pins += 1", "MATCH\nself.world.communicator.barrier()"),),
        (f"{KNOWN}::test_a_rank_goes_on_while_the_others_are_outside",),
    ),
    Mutation(
        "trap 11: random streams do not depend on the rank",
        (("_Position.at_block", "self.copy.jumped(number) if number else self.copy", "self.copy.jumped(number + 1 + current_world().rank)"),),
        ("tests/collective/test_random.py",),
    ),
    Mutation(
        "trap 12: no public name of NumPy's is missing",
        (("Registry.publish", "", "if name == 'vander':\n    return\nMATCH"),),
        ("tests/functions/test_namespace.py",),
    ),
]

RULES = [
    Mutation(
        "rule 1b: ranks compute a sum that all of them have when they come to it",
        (("entered", "node.place is None and ANY", "False"),),
        ("tests/agreement/test_reads_on_some_ranks.py",),
    ),
    Mutation(
        "rule 1a: a loop that repeats an assignment computes it",
        (("Cell.comes_round", "", "return False"), ("Cell.write", "ANY in sites and ANY", "not sites"),),
        ("tests/agreement/test_reads_on_some_ranks.py",),
    ),
    Mutation(
        "rule 6: a block that the program holds keeps its address",
        (("Distributed._block", "value.pinned = True", "pass"), ("Distributed._block", "cell.pins += 1", "pass"),),
        ("tests/agreement/test_exposed_blocks.py",),
    ),
    Mutation(
        "rule 6: operations on memory that the program holds are eager",
        (("Distributed._block", "cell.pins += 1", "pass"),),
        ("tests/agreement/test_exposed_blocks.py",),
    ),
    Mutation(
        "rule 13: ranks compare what they do",
        (("*.step", "self.hash ^ fingerprint", "self.hash ^ 1"),),
        ("tests/agreement/test_divergence.py",),
    ),
    Mutation(
        "rule 13: a message of another step is not used",
        (("PersistentBuffers.verify", "persistent.mark[0] != mark", "persistent.mark[0] == 1"),),
        ("tests/agreement/test_persistent_buffers.py",),
    ),
    Mutation(
        "rule 13: ranks compare the arguments of what they compute together",
        (("in_step", "ANY.step(*ANY)", "world.communicator.log.step(1, words)"),),
        ("tests/agreement/test_line_pairs.py",),
    ),
    Mutation(
        "rule 1: of equal views only one is alive",
        (("Interned.only", "self._newest.clear()", "MATCH\nself.known.clear()"),),
        ("tests/engine/test_random_programs.py",),
    ),
    Mutation(
        "rule 13: a barrier is a step",
        (("World._all_come", "allgather(*ANY)", "self.communicator.barrier(what)"),),
        ("tests/agreement/test_line_pairs.py",),
    ),
    Mutation(
        "rule 13: after a divergence every collective step fails",
        (("*.step", "self.parted", "False"),),
        ("tests/agreement/test_after_divergence.py",),
    ),
    Mutation(
        "rule 13: what ranks read directly does not depend on which values a rank has read",
        (("present", "ANY.size == 1", "True"),),
        ("tests/agreement/test_reads_on_some_ranks.py",),
    ),
    Mutation(
        "a guarded part is loaded before the same loop stores it",
        (("Schedule._separate", "any(n < k and self._meet(n, k) for k in early)", "False"), ("Schedule._separate", "a > b and self._meet(a, b)", "False"),),
        (f"{HAZARDS}::test_what_a_group_stores_is_read_under_a_mask",),
    ),
    Mutation(
        "a loop finds what it has stored by comparing",
        (("Body.value", "id(node) in self._stored", "MATCH and hash(outer) == hash(self._stored[id(node)][0])"), ("Body._source_of", "len(node.args) > 2", "False"),),
        (f"{HAZARDS}::test_a_moved_plan_is_what_would_be_planned", f"{HAZARDS}::test_a_moved_plan_reads_what_it_has_stored"),
    ),
    Mutation(
        "a mask is computed before its operands are overwritten",
        (("_place_updates", "reads_safely(*ANY)", "reads_safely(node.args[1:2], region, base, stored)"),),
        (f"{HAZARDS}::test_a_mask_is_made_before_what_it_is_read_from_is_written",),
    ),
    Mutation(
        "a pending value keeps its operands",
        (("_keep_sources", "reversed(nodes)", "reversed(trace.order)"),),
        (f"{HAZARDS}::test_a_value_that_a_reduction_reads_past_keeps_what_it_is_made_of",),
    ),
    Mutation(
        "only one thread evaluates at a time",
        (("_evaluate", "turn.lock", "__import__('contextlib').nullcontext()"),),
        ("tests/engine/test_threads.py",),
    ),
    Mutation(
        "only one thread of a rank communicates",
        (("*.step", "not (self._alone or communicating.here)", "False"),),
        ("tests/engine/test_threads.py::test_one_thread_of_a_rank_communicates",),
    ),
    Mutation(
        "memory is read-only unless the caller asks to write",
        (("_read_only", "array.flags.writeable = False", "pass"),),
        ("tests/functions/test_shared_memory.py::test_what_numpy_takes_for_a_temporary_is_a_copy",),
    ),
    Mutation(
        "an address stays valid for as long as the array lives",
        (("ctypes_of", "ANY.pin()", "None"),),
        ("tests/functions/test_shared_memory.py::test_an_address_is_one_for_as_long_as_the_array_lives",),
    ),    Mutation(
        "operations on elements of one rank take turns",
        (("OneSided._swap", "window.acquire(rank)", "pass"), ("OneSided._swap", "window.release(rank)", "pass")),
        ("tests/global_access/test_onesided.py::test_conflicting_updates_give_an_exact_sum",),
    ),
    Mutation(
        "accumulates of one rank take turns",
        (("OneSided._combine", "window.acquire(rank)", "pass"), ("OneSided._combine", "window.release(rank)", "pass")),
        ("tests/global_access/test_onesided.py::test_conflicting_updates_give_an_exact_sum",),
    ),
    Mutation(
        "copies of an open array follow its owner when it closes",
        (("OneSided.close", "self.layout.copies > 1 or self.layout.overlaps", "False"),),
        ("tests/global_access/test_onesided.py::test_elements_agree_with_numpy",),
    ),
    Mutation(
        "memory that the program holds does not move into a window",
        (("_may_move", "not cell.held()", "True"),),
        ("tests/global_access/test_onesided.py::test_what_the_array_shows_meanwhile_and_afterwards",),
    ),
    Mutation(
        "an array in a window is pinned",
        (("Placed._keep", "cell.pins += 1", "pass"),),
        ("tests/global_access/test_onesided.py::test_what_the_array_shows_meanwhile_and_afterwards",),
    ),
    Mutation(
        "each task is drawn from a fresh counter",
        (("Counters.begin", "self._next += 1", "pass"), ("Counters.begin", "self._open.put(place, 0)", "pass")),
        ("tests/global_access/test_blocks.py::test_each_task_is_done_by_one_rank",),
    ),
]

MUTATIONS = TRAPS + RULES
