"""Results of slices that leave most ranks idle are laid out evenly, once they are computed with again."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import Block, Layout


def largest(layout: Layout) -> int:
    return max(int(numpy.prod(layout.local_shape(rank))) for rank in range(layout.processes))


def part(size: int):
    """Of an array in even blocks, what the first rank has, computed and in memory."""
    np.world.communicator.log.as_laid_out = False  # as in a program that begins
    a = np.arange(40.0 * size) + 1
    result = a[:40] * 2
    assert largest(result.layout) == 40
    np.sync()
    return a, result


@pytest.mark.ranks(2, 3, 4)
@pytest.mark.simulated(2, 3, 5)
def test_a_result_that_is_used_again_is_moved_once(size):
    _, result = part(size)
    view = result[10:]
    assert largest(result.layout) == 40  # as the slice does: nothing is moved before it is used
    for _ in range(3):
        twice = result * 2
        shifted = result[1:] + result[:-1]
        assert largest(twice.layout) == largest(result.layout) == -(-40 // size)
        assert largest(shifted.layout) <= -(-40 // size)
        np.sync()
    before = np.stats().bytes_moved
    again = result + 1
    np.sync()
    assert np.stats().bytes_moved == before
    wanted = (numpy.arange(40.0) + 1) * 2
    numpy.testing.assert_array_equal(numpy.asarray(again), wanted + 1)
    numpy.testing.assert_array_equal(numpy.asarray(shifted), wanted[1:] + wanted[:-1])
    result[12] = 5.0
    assert float(view[2]) == 5.0  # views see it wherever it lies


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_what_is_computed_together_moves_nothing(size):
    a = np.arange(40.0 * size) + 1
    np.sync()
    before = np.stats().bytes_moved
    a[:40] = a[:40] * 2 + np.sqrt(a[:40] * a[:40])
    lies = a[:40] + 1
    np.sync()
    a[:40] += lies  # beside what lies as the slice does
    np.sync()
    assert np.stats().bytes_moved == before
    assert largest(lies.layout) == 40
    x = numpy.arange(40.0) + 1
    numpy.testing.assert_array_equal(numpy.asarray(a)[:40], 3 * x + 3 * x + 1)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_what_a_program_lays_out_stays(size):
    a = np.ones(40, layout=Layout((40,), [Block((0, *[40] * size))]))
    np.sync()
    assert largest((a * 2).layout) == 40
    few = np.arange(40.0 * size)[:40] * 2
    np.sync()
    assert largest((few * 2).layout) == 40


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_memory_that_somebody_has_stays(rank, size):
    _, result = part(size)
    block = result.local
    more = result * 2
    assert largest(more.layout) == 40
    result += 1
    if rank == 0:
        numpy.testing.assert_array_equal(block, 2 * (numpy.arange(40.0) + 1) + 1)
    numpy.testing.assert_array_equal(numpy.asarray(more), 4 * (numpy.arange(40.0) + 1))


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_what_reads_a_result_that_was_moved_is_not_written_over(size):
    with np.config(
        small=10
    ):  # where a few elements are written at once, if nothing pending reads them
        _, result = part(size)
        twice = result * 2
        result[3] = 500.0
        difference = result[1:] - result[:-1]
        result[3] = 8.0
    wanted = (numpy.arange(40.0) + 1) * 2
    numpy.testing.assert_array_equal(numpy.asarray(twice), wanted * 2)
    numpy.testing.assert_array_equal(numpy.asarray(result), wanted)
    wanted[3] = 500.0
    numpy.testing.assert_array_equal(numpy.asarray(difference), numpy.diff(wanted))


def mixed(np, seed: int):
    """Slices of slices, kept, used again and assigned to, in an order that the seed says."""
    draw = numpy.random.default_rng(seed)
    x = np.arange(180.0).reshape(30, 6) / 7
    held = [x, x[:5] * 2, x[:, 4:] + 1, x[25:].copy()]
    for _ in range(14):
        one = held[int(draw.integers(len(held)))]
        rows = one.shape[0]
        low = int(draw.integers(0, max(rows - 2, 1)))
        high = int(draw.integers(low + 1, rows + 1))
        piece = one[low:high]
        way = int(draw.integers(5))
        if way == 0:
            held.append(piece * 0.5 + 1)
        elif way == 1:
            held.append(piece[::-1] - piece)
        elif way == 2:
            piece[...] = piece * 0.75 - 1
        elif way == 3:
            one += float(draw.integers(9))
        else:
            held.append(np.where(one > 2, one, -one))
        if draw.integers(2):
            if np is numpy:
                continue
            np.sync()
    return held


@pytest.mark.ranks(2, 3, 4)
@pytest.mark.simulated(2, 3, 5)
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_numpy(seed):
    for ours, right in zip(mixed(np, seed), mixed(numpy, seed), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(ours), right)
