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
"""Some of those whose partners do not grow in number: all planning, and no table of ranks."""

FLAT_TOO = [
    "stencil in 1 dimension",
    "stencil in 2 dimensions",
    "stencil in 3 dimensions",
    "block-cyclic shift",
    "backwards",
    "assignments",
    "roll",
    "transpose",
    "broadcasting",
    "broadcast row",
    "broadcast column",
    "broadcast element",
    "broadcast cyclic row",
    "sum over all",
    "argmax",
    "cumsum",
    "reshape",
    "random",
    "matrix and vector",
    "tall QR",
    "FFT along lines",
    "median",
    "histogram",
    "gradient",
    "argmax of columns",
    "columns without their means",
    "rows and a block",
    "vector and rows",
    "vector and matrix",
    "Gram matrix",
    "bits",
    "print",
    "one element",
    "__distarray__",
]
"""The others."""

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in FLAT_TOO]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [*FLAT, *SLOW])
def test_a_rank_of_a_million_plans_as_one_of_a_hundred(name):
    few, many = cost(PROGRAMS[name], 100), cost(PROGRAMS[name], 10**6)
    assert many.lines <= 1.2 * few.lines, f"{few}; {many}"
    assert many.partners <= few.partners + 1
    assert many.nbytes <= 1.2 * few.nbytes + 32768


ROUNDS = [
    "fancy indexing",
    "fancy assignment",
    "boolean mask",
    "searchsorted",
    "rows at indices",
    "elements at two indices",
    "convolution",
]
"""Those that learn who sends to them, which may be any rank. A rank that hears from one rank at a time, which may have heard from
others, knows of all after as many rounds as the number of ranks has binary digits, and no sooner. Each round has two partners."""

DIGITS = (10**6 - 1).bit_length() - (100 - 1).bit_length()


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUNDS)
def test_partners_grow_by_two_for_each_round(name):
    few, many = cost(PROGRAMS[name], 100), cost(PROGRAMS[name], 10**6)
    assert many.lines <= max(1.2 * few.lines, few.lines + 80 * DIGITS), f"{few}; {many}"
    assert many.partners <= few.partners + 2 * DIGITS + 4
    assert many.nbytes <= 1.2 * few.nbytes + 32768


@pytest.mark.slow
def test_a_transform_of_lines_plans_alike():
    """Most ranks, which have no column of the matrix of a line. Those that have one get it from as many ranks as have a part of it."""
    few, many = [cost(PROGRAMS["FFT"], size) for size in (10**3, 10**6)]
    assert many.lines <= 1.2 * few.lines, f"{few}; {many}"
    assert many.partners <= few.partners + 2 * 10
    assert many.nbytes <= 1.2 * few.nbytes + 32768


LEVELS = ["sort", "unique", "percentile"]
"""Those that sort by levels of groups, each with rounds that narrow the boundaries of its parts. A round that counts the elements before
some samples leaves a part of them to the next one, so rounds grow with the logarithm of the number of elements."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("sizes", [(300, 60_000), (70_000, 10**6)])
def test_a_sort_of_as_many_levels_plans_alike(name, sizes):
    """Up to 256 ranks have one level, up to their square two."""
    few, many = [cost(PROGRAMS[name], size) for size in sizes]
    most = max(1.2 * few.lines, few.lines + 40 * (many.rounds - few.rounds))
    assert many.lines <= most, f"{few}; {many}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LEVELS)
def test_what_a_sort_adds_is_a_few_lines_for_each_round(name):
    few, many = cost(PROGRAMS[name], 100), cost(PROGRAMS[name], 10**6)
    rounds = many.rounds - few.rounds
    assert rounds <= 6 * DIGITS
    assert many.lines <= few.lines + 65 * rounds, f"{few}; {many}"
    assert many.partners <= few.partners + 2 * rounds
    assert many.nbytes <= 2 * few.nbytes + 131072


CHILDREN = {
    "sum over all": 120,
    "cumsum": 120,
    "argmax": 220,
    "broadcasting": 120,
    "broadcast row": 120,
    "broadcast column": 120,
    "broadcast element": 120,
    "broadcast cyclic row": 120,
    "argmax of columns": 240,
    "columns without their means": 200,
    "matrix and vector": 200,
    "rows and a block": 200,
    "vector and rows": 120,
    "vector and matrix": 150,
    "Gram matrix": 120,
    "gradient": 10,
}
"""Those that join or send values by a tree: lines for each child of the first rank, which has one for each binary digit of the ranks."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CHILDREN)
def test_the_first_rank_has_a_few_lines_more_for_each_child(name):
    few, many = [cost(PROGRAMS[name], size, rank=0) for size in (100, 10**6)]
    assert many.partners <= few.partners + DIGITS
    assert many.lines <= few.lines + CHILDREN[name] * DIGITS, f"{few}; {many}"
    assert many.nbytes <= 1.2 * few.nbytes + 32768


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transpose", "rows and a block", "Gram matrix"])
def test_a_rank_beside_the_diagonal_of_the_grid_plans_alike(name):
    few, many = [cost(PROGRAMS[name], size, rank=size // 3 + 1) for size in (100, 10**6)]
    assert many.lines <= 1.2 * few.lines, f"{few}; {many}"
    assert many.partners <= few.partners + 1
    assert many.nbytes <= 1.2 * few.nbytes + 32768


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(64, 1 << 20), (10**4, 10**6)])
def test_joins_whose_blocks_overlap_alike_are_planned_alike(sizes):
    """The grid of the result divides the blocks of its parts among a power of four ranks; among 90, 400, 10,000 or a million it does not."""
    few, many = [cost(PROGRAMS["concatenate"], size) for size in sizes]
    assert many.lines <= 1.2 * few.lines, f"{few}; {many}"
    assert many.partners <= few.partners
    assert many.nbytes <= 1.2 * few.nbytes + 32768


@pytest.mark.slow
def test_a_product_meets_a_row_and_a_column_of_ranks():
    """A rank whose share does not grow receives at least about as many shares as the root of the number of ranks (Irony, Toledo and
    Tiskin, 2004)."""
    few, many = [cost(PROGRAMS["matrix product"], size) for size in (100, 10**6)]
    assert many.partners <= 2 * 10**3
    assert many.lines <= few.lines + 110 * (many.partners - few.partners), f"{few}; {many}"


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
