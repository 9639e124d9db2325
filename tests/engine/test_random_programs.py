"""Random programs: views of views, overlapping assignments, mixed dtypes, on one process and on ranks.

Most run with NumPy as the executor of every loop (``backend/numpy``): what they test is
recording, planning and messages, thousands of times. Some run with compiled kernels.
"""

import random

import numpy as np
import pytest

import atoll
from atoll import Cyclic, Layout
from atoll.comm.world import current_world
from atoll.context import statistics
from atoll.graph.geometry import dense
from atoll.graph.node import source
from atoll.lazy.making import of_view
from atoll.lazy.views import Cell
from atoll.ops.placement import Place

from . import programs, richer

pytestmark = pytest.mark.timeout(240)  # many programs: on a busy machine a minute is too short


def random_layout(rng, shape, size):
    if size == 1 or not shape or rng.random() < 0.2:
        return None
    maps = [rng.choice(["b", "b", "c", "n", Cyclic(2)]) for _ in shape]
    if all(m == "n" for m in maps):
        maps[0] = "b"
    return Layout(shape, maps, size=size)


def maker(seed):
    """Puts each new array on the ranks by some layout, or on all of them whole."""
    rng = random.Random(seed + 77)

    def make(array):
        world = current_world()
        layout = random_layout(rng, array.shape, world.size)
        place = None if layout is None else Place.of(layout, world)
        if place is None:
            block = array
        else:
            statistics.add("distributed")
            block = array[np.ix_(*[part.array() for part in layout.region(world.rank)])].copy()
        cell = Cell(source(block, dense(array.shape, array.dtype), place=place))
        return of_view(cell, cell.geometry)

    return make


def compare(seed, statements=12):
    with atoll.config(small=0), np.errstate(all="ignore"):
        pairs, text = programs.run(seed, maker(seed), lambda n: getattr(atoll, n), statements)
        agree(seed, pairs, text)


def compare_richer(seed, statements=10, *, exports=False):
    """A program of folds, masks, outputs and exports, on arrays that may be empty or 0-d."""
    with atoll.config(small=0), np.errstate(all="ignore"):
        rng, make = random.Random(seed), maker(seed)
        pairs = []
        for _ in range(3):
            values = richer.data(rng)
            pairs.append(programs.Pair(make(values.copy()), values))
        text = [
            f"a{k} = array({p.theirs.tolist()}, '{p.theirs.dtype.str}', {p.theirs.shape})"
            for k, p in enumerate(pairs)
        ]
        steps = richer.Statements(
            rng, pairs, text, make, lambda n: getattr(atoll, n), programs.Pair, exports=exports
        )
        for _ in range(rng.randint(2, statements)):
            try:
                steps.one()
            except AssertionError:
                raise
            except Exception as error:
                raise AssertionError(f"seed {seed}\n" + "\n".join(text)) from error
        steps.finish()
        agree(seed, pairs, text, strides=False)


def agree(seed, pairs, text, *, strides=True):
    """Compare all arrays: dtypes, shapes, values, and strides where they are said to be NumPy's.

    Those of a view are on ranks those of the memory that NumPy gets, in which a part has no gaps.
    """
    for number, pair in enumerate(pairs):
        got = pair.ours._array()
        report = f"seed {seed}, array {number}\n" + "\n".join(text)
        assert (got.dtype, got.shape) == (pair.theirs.dtype, pair.theirs.shape), report
        assert np.array_equal(got, pair.theirs, equal_nan=True), report
        if strides and got.size > 1:
            is_view = atoll.world.size > 1 and pair.theirs.base is not None
            ours, theirs = pair.ours.strides, (got if is_view else pair.theirs).strides
            long = [k for k, n in enumerate(got.shape) if n > 1]
            assert [ours[k] for k in long] == [theirs[k] for k in long], report


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("block", range(8))
def test_one_process(block, by_numpy):
    for seed in range(block * 250, block * 250 + 250):
        compare(seed)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_process_with_kernels():
    for seed in range(5000, 5040):
        compare(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.simulated(2, 3, 4, 7, 16)
@pytest.mark.parametrize("block", range(3))
def test_simulated_ranks(block, size, by_numpy):
    count = 30 if size < 5 else 12  # what ranks do takes turns in one process
    for seed in range(block * count, block * count + count):
        compare(seed, 8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.ranks(2, 3)
def test_ranks(rank, by_numpy):
    for seed in range(9000, 9040):
        compare(seed, 8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.ranks(2)
def test_ranks_with_kernels(rank):
    for seed in range(9100, 9106):
        compare(seed, 8)


def compare_again(seeds):
    """Programs that run several times: at the fourth their traces are recognised without a walk."""
    for seed in seeds:
        for _ in range(5):
            compare(seed, 8)
            compare_richer(seed, 6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_comes_again(by_numpy):
    compare_again(range(12_000, 12_060))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_comes_again_with_kernels():
    compare_again(range(12_100, 12_105))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.simulated(2, 3)
def test_what_comes_again_on_simulated_ranks(by_numpy):
    compare_again(range(12_200, 12_205))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.ranks(2, 3)
def test_what_comes_again_on_ranks(rank, by_numpy):
    compare_again(range(12_300, 12_306))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("block", range(4))
def test_richer_programs_on_one_process(block, by_numpy):
    for seed in range(block * 150, block * 150 + 150):
        compare_richer(seed, exports=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_richer_programs_with_kernels():
    for seed in range(5000, 5010):
        compare_richer(seed, exports=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.simulated(2, 3, 5)
def test_richer_programs_on_simulated_ranks(by_numpy):
    for seed in range(30):
        compare_richer(seed, 6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.ranks(2, 3)
def test_richer_programs_on_ranks(rank, by_numpy):
    for seed in range(9000, 9025):
        compare_richer(seed, 6)
