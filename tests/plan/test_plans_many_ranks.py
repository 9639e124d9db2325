"""Slices that move among any number of ranks: planned on one of them, which no other has to answer."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import backend
from atoll.comm.dry_run import dry_run_world
from atoll.lazy import evaluation
from tests.engine import random_layouts
from tests.engine.test_plans_on_ranks import kinds, pieces


def eliminated(which, size, rank):
    """The programs of an elimination's steps as one rank of so many finds them, and the words of its longest guard."""
    n, programs = 4096, []
    with np.config(small=0), dry_run_world(rank, size):
        values = numpy.broadcast_to(numpy.ones(()), (n, n))
        a = random_layouts.lying(values, np.Layout((n, n), which, size=size))
        for k in range(1000, 1012):
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
            node = a._cell.node
            programs.append(evaluation._new_program(evaluation.look_up([node]), [node]))
            node.settle(node.args[0].value)  # as if it had been computed
    plans = [plan for one in evaluation._programs.plans.values() for plan in one.known]
    return programs, max([len(plan.guard.words) for plan in plans])


@pytest.fixture
def fresh(monkeypatch):
    """No plans are known."""
    monkeypatch.setattr(evaluation, "_programs", evaluation._Programs())


@pytest.mark.parametrize("which", ["bn", "nc", "cc"])
@pytest.mark.parametrize("size", [4, 64, 256])
def test_a_step_is_bound_among_any_number_of_ranks(which, size, fresh):
    before = np.stats()
    programs, _ = eliminated(which, size, size * 3 // 4)
    after = np.stats()
    assert after.plans_made - before.plans_made <= 4
    assert after.plans_moved - before.plans_moved >= 8
    for program in programs[-2:]:
        planned = program.described(backend.current().step.of)
        assert pieces(program) == pieces(planned)
        assert kinds(program) == kinds(planned)


@pytest.mark.parametrize("which", ["bn", "nc", "cc"])
def test_what_is_calculated_does_not_grow_with_the_number_of_ranks(which, fresh):
    few = eliminated(which, 16, 13)[1]
    many = eliminated(which, 256, 200)[1]
    assert many <= few + 40
