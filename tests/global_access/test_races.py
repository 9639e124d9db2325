"""Puts and gets of all ranks in a random order with random delays: what each rank reads some rank has written."""

import time

import numpy as np
import pytest

import atoll
from atoll import Layout


@pytest.mark.ranks(3)
@pytest.mark.simulated(4, 16)
def test_what_is_read_was_written(rank, size):
    """Each writer marks a whole cell of four elements, and readers that hold the cell's lock see one writer's marks."""
    random = np.random.default_rng(100 + rank)
    a = atoll.zeros((2 * size, 4), int, layout=Layout((2 * size, 4), "bn"))
    turns = 40 if size < 16 else 15
    with atoll.onesided(a) as g:
        for turn in range(turns):
            row = int(random.integers(0, 2 * size))
            if random.random() < 0.1:
                time.sleep(random.random() * 1e-3)
            with g.lock(row // 2):
                if random.random() < 0.5:
                    mark = 1 + turn * size + rank
                    for column in random.permutation(4).tolist():
                        g.put((row, column), mark)
                else:
                    cell = g.get(row)
                    assert (cell == cell[0]).all(), cell
                    g.put(row, np.where(cell == 0, 0, cell[0]))
        g.fence()
        final = g.get(...)
        assert (final == final[:, :1]).all()
        writers = (final[:, 0] - 1) % size
        assert ((final[:, 0] == 0) | (writers < size)).all()


@pytest.mark.ranks(4)
@pytest.mark.simulated(16)
def test_every_rank_passes_a_token_by_compare_swap(rank, size):
    """A token goes around: rank k sets it to k + 1 when it is k."""
    token, trace = atoll.zeros(1, int), atoll.zeros(2 * size, int, layout=Layout((2 * size,), "b"))
    with atoll.onesided(token) as t, atoll.onesided(trace) as g:
        for lap in range(2):
            here = lap * size + rank
            while t.compare_swap(0, here, here + 1) != here:
                time.sleep(0)
            g.put(here, rank)
    assert np.asarray(trace).tolist() == list(range(size)) * 2
