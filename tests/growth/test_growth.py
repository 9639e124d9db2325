"""What a rank does to plan a step is the same among a hundred ranks and among a million, apart from its partners."""

from __future__ import annotations

import pytest

from atoll.backend.llvm import cache
from atoll.graph.identities import Interned

from .counting import cost
from .programs import PROGRAMS, of

FLAT = [
    "stencil in rows",
    "cyclic stencil",
    "strides",
    "sum of columns",
    "redistribution",
    "__partitioned__",
    "sync",
]
"""Those whose partners do not grow in number: all planning, and no table of ranks."""


@pytest.mark.parametrize("name", FLAT)
def test_a_rank_of_a_million_plans_as_one_of_a_hundred(name):
    few, many = cost(PROGRAMS[name], 100), cost(PROGRAMS[name], 10**6)
    assert many.lines <= 1.2 * few.lines, f"{few}; {many}"
    assert many.partners <= few.partners + 1
    assert many.nbytes <= 1.2 * few.nbytes + 32768


ROUNDS = ["cumsum", "fancy indexing", "boolean mask", "searchsorted", "histogram", "tall QR"]
"""Those that tell each other something in as many rounds as the number of ranks has binary digits."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUNDS)
def test_what_grows_is_a_line_for_each_round(name):
    few, many = cost(PROGRAMS[name], 100), cost(PROGRAMS[name], 10**6)
    assert many.partners <= 3 * few.partners
    assert many.lines <= 2 * few.lines, f"{few}; {many}"
    assert many.nbytes <= 2 * few.nbytes + 131072


def test_the_kernel_cache_does_not_count():
    source = compile("def evict(): return sum(k for k in range(10**5))", cache.__file__, "exec")
    exec(source, names := {})

    def step(u):
        names["evict"]()
        return u + 1

    found = cost(of("b", step), 100)
    assert 0 < found.lines == found.files.total() < 10**5
    assert "lines, most of them" in str(found)


def test_the_end_of_interned_objects_does_not_count():
    table = Interned()
    table.known.update({k: lambda: None for k in range(10**5)})

    def step(u):
        table._drop_dead()
        return u + 1

    assert 0 < cost(of("b", step), 100).lines < 10**5


def test_a_loop_over_the_ranks_is_seen():
    def looping(u):
        return sum(k for k in range(u.layout.processes)) + u

    few, many = (cost(of("b", looping), size) for size in (100, 10**5))
    assert many.lines > 10 * few.lines


@pytest.mark.slow
def test_a_table_of_the_ranks_is_seen():
    def listing(u):
        return u + len(u.layout.table)

    few, many = (cost(of("b", listing), size) for size in (100, 10**5))
    assert many.nbytes > 10 * few.nbytes
